"""Requests as text: a request comes back unchanged after a kill, or is not written."""

from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scrapy import FormRequest, Request, Spider

from dedup_crawler.live.requests import request_marks as marks
from dedup_crawler.live.requests.request_text import RequestWriter, request_of


class Walker(Spider):
    """A spider with methods, one of them with two names, and one from elsewhere."""

    name = "walker"

    def parse(self, response):
        """A callback."""

    def failed(self, failure):
        """An errback."""

    def _page(self, response):
        """A callback with another name than its own."""

    page = _page


def loose(response):
    """A function that is no method."""


WALKER = Walker()
JSON_VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=5)),
    lambda inner: st.one_of(st.lists(inner, max_size=2), st.dictionaries(st.text(max_size=3), inner, max_size=2)),
    max_leaves=4,
)
VALUES = st.one_of(JSON_VALUES, st.tuples(st.integers()), st.binary(max_size=3), st.sets(st.integers(), max_size=2))
MAPPINGS = st.dictionaries(st.one_of(st.text(max_size=3), st.integers()), VALUES, max_size=3)
TEXT_KEYS = st.dictionaries(st.text("abc", min_size=1, max_size=3), VALUES, max_size=3)
CALLBACKS = st.sampled_from([None, WALKER.parse, WALKER.page, WALKER._page, Walker().parse, loose, partial(loose)])
REQUESTS = st.builds(
    Request,
    url=st.sampled_from(["http://a.example/", "http://a.example/?q=%ED%A0%80&b=1#c", "https://é.example/é"]),
    callback=CALLBACKS,
    errback=st.sampled_from([None, WALKER.failed]),
    method=st.sampled_from(["GET", "POST", "HEAD"]),
    headers=st.dictionaries(
        st.sampled_from(["Referer", "X-A"]), st.lists(st.binary(max_size=3), max_size=2), max_size=2
    ),
    body=st.binary(max_size=5),
    cookies=st.one_of(TEXT_KEYS, st.lists(TEXT_KEYS, max_size=2)),
    meta=MAPPINGS,
    encoding=st.sampled_from(["utf-8", "latin-1"]),
    priority=st.integers(-5, 5),
    dont_filter=st.booleans(),
    flags=st.lists(st.text(max_size=3), max_size=2),
    cb_kwargs=TEXT_KEYS,
)


def written(request):
    """Write a request as the first one of its kind."""
    return RequestWriter().text_of(request, WALKER)


@given(REQUESTS)
def test_what_is_written_is_read_as_it_was(request_):
    """Any contents of a request come back the same, including types, or nothing is written."""
    text = written(request_)
    if text is None:
        return
    told = request_of(text, WALKER)
    assert told is not None
    assert repr(told.to_dict(spider=WALKER)) == repr(request_.to_dict(spider=WALKER))


@given(st.lists(REQUESTS, max_size=3), st.lists(st.sampled_from([0, 1, 2, "meta", "headers", "priority"]), max_size=8))
def test_many_requests_are_written_as_each_alone_would_be(requests, steps):
    """Repeated and changed requests: an earlier text never shows in a later one."""
    writer = RequestWriter()
    for step in steps if requests else ():
        if isinstance(step, int):
            request = requests[step % len(requests)]
            assert writer.text_of(request, WALKER) == written(request)
            again = request.replace(url=f"{request.url}&again")
            assert writer.text_of(again, WALKER) == written(again)
        elif step == "meta":
            requests[0].meta["n"] = not requests[0].meta.get("n", 1)
        elif step == "headers":
            requests[0].headers.appendlist("X-A", "b")
        else:
            requests[0].priority = bool(requests[0].priority != 1)


def test_one_is_not_taken_for_true():
    """Python calls 1 and True equal; but after a kill the same value must come back."""
    writer = RequestWriter()
    texts = [writer.text_of(Request("http://a.example/", meta={"n": n}), WALKER) for n in (1, True, 1.0, "1")]
    told = [request_of(text or "", WALKER) for text in texts]
    assert [type(each.meta["n"]) for each in told if each is not None] == [int, bool, float, str]


@given(st.dictionaries(st.text(), st.one_of(st.none(), st.booleans(), st.integers(), st.text())))
def test_simple_meta_is_always_written(meta):
    """With strings, numbers and None under names, a kill loses no request."""
    assert written(Request("http://a.example/", WALKER.parse, meta=meta)) is not None


@pytest.mark.parametrize("callback", [WALKER.parse, WALKER.page, WALKER._page])
def test_methods_are_written_by_a_name_that_the_spider_has(callback):
    """Under its own name or another."""
    text = written(Request("http://a.example/", callback, errback=WALKER.failed))
    told = request_of(text or "", WALKER)
    assert told is not None
    assert (told.callback, told.errback) == (callback, WALKER.failed)


@pytest.mark.parametrize(
    "request_",
    [
        Request("http://a.example/", loose),
        Request("http://a.example/", partial(loose)),
        Request("http://a.example/", lambda response: None),
        FormRequest("http://a.example/"),
        Request("http://a.example/", meta={"lock": object()}),
        Request("http://a.example/", meta={1: "a"}),
        Request("http://a.example/", meta={"pair": (1, 2)}),
    ],
)
def test_what_json_cannot_say_is_not_written(request_):
    """No incomplete request: a callback that is no method, another class, values that would change."""
    assert written(request_) is None


def test_marks_of_the_filter_are_left_out():
    """The next process decides about the request again."""
    request = Request("http://a.example/", meta={"depth": 3, "dedup_canonical": "http://a.example/"})
    marks.decided(request, marks.new_crawl())
    marks.answers_for(request, [b"0123456789abcdef"])
    told = request_of(written(request) or "", WALKER)
    assert told is not None
    assert told.meta == {"depth": 3}
