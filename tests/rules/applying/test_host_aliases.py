"""Host aliases: hosts of one site become one; hosts that only look alike, or were not crawled, stay apart."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedup_crawler.errors import BadInputError
from dedup_crawler.json_values import JsonValue
from dedup_crawler.methods import Referrer, load_model
from dedup_crawler.methods.verified import Verified
from dedup_crawler.rules.applying.reading import Reading
from dedup_crawler.rules.learning.belief import RISKS, UNKNOWN, Belief
from dedup_crawler.rules.learning.site_learning import learn_host_aliases

HOME, WWW = "http://site.example", "http://www.site.example"
Visits = list[tuple[str, int]]


def two_hosts(n: int = 100, n_both: int = 60, first: str = HOME, second: str = WWW) -> Visits:
    """Topics with and without a session; the first *n_both* were crawled on both hosts."""
    visits: Visits = []
    for i in range(n):
        visits += [(f"{first}/topic?t={i}", i), (f"{first}/topic?sid={i * 7919:x}&t={i}", i)]
        if i < n_both:
            visits.append((f"{second}/topic?t={i}", i))
        else:
            visits.append((f"{second}/user/{i}", 10_000 + i))
    random.Random(0).shuffle(visits)
    return visits


def fitted(visits: Visits) -> Verified:
    return Verified().fit([url for url, _ in visits], [page for _, page in visits])


def aliases(visits: Visits) -> dict[str, str]:
    found = learn_host_aliases([url for url, _ in visits], [page for _, page in visits], Belief(RISKS["balanced"]))
    return {alias.host: alias.target for alias in found}


def test_two_names_of_a_host_are_one() -> None:
    """A URL of the longer name has the form of the shorter, and rules learnt on either apply to both."""
    learnt = fitted(two_hosts())

    assert learnt.canonicalize(f"{WWW}/topic?t=5000") == f"{HOME}/topic?t=5000"
    assert learnt.canonicalize(f"{WWW}/topic?sid=00c0ffee&t=5000") == f"{HOME}/topic?t=5000"
    assert learnt.quality_["host_aliases"] == 1
    assert learnt.learnt()[0] == (
        "host www.site.example shows the pages of site.example: "
        "60 pages met on both, 0 contradictions, at most 3.1 % wrong (95 %)"
    )
    reason = learnt.explain(f"{WWW}/topic?t=5000").reason
    assert reason.startswith("host www.site.example shows the pages of site.example: ")
    assert learnt.explain(f"{WWW}/topic?t=5000").url == f"{WWW}/topic?t=5000"


def test_a_host_that_was_not_crawled_is_left_alone() -> None:
    """For any name: no third host is guessed, no other site is touched."""
    learnt = fitted(two_hosts())

    for url in ("http://www2.site.example/topic?t=1", "http://www.other.example/topic?sid=1&t=1"):
        assert learnt.canonicalize(url) == url
        assert "the model has not learnt" in learnt.explain(url).reason


@pytest.mark.parametrize(
    "visits",
    [
        pytest.param([(url, page + 500 * (WWW in url)) for url, page in two_hosts()], id="two languages"),
        pytest.param(
            [(url, page + 5_000 * (WWW in url and page % 10 == 0)) for url, page in two_hosts()],
            id="an outdated copy, in which one page of ten differs",
        ),
        pytest.param(two_hosts(n_both=30), id="thirty equal pages, but half of the site differs"),
        pytest.param(
            [(f"{host}/p/{i}", 0) for i in range(200) for host in (HOME, WWW)],
            id="a parked host with one page under every path",
        ),
        pytest.param(
            [(f"{host}/p/{i}", -5 if host == WWW and i >= 100 else i) for i in range(200) for host in (HOME, WWW)],
            id="a host that shows a log-in page at last",
        ),
        pytest.param([(url, UNKNOWN) for url, _ in two_hosts()], id="redirects to pages that were not crawled"),
    ],
)
def test_what_is_no_evidence_for_an_alias(visits: Visits) -> None:
    """Hosts that only look alike stay two."""
    assert aliases(visits) == {}


def test_three_names_become_the_shortest() -> None:
    """Also if two of them were never compared; ports are part of a name."""
    third = "https://www.site.example:8443"
    visits = two_hosts() + two_hosts(first=WWW, second=third)

    assert aliases(visits) == {"www.site.example": "site.example", "www.site.example:8443": "site.example"}


def test_scheme_and_slash_are_aliases_as_well() -> None:
    """``http`` is ``https`` and ``/x/`` is ``/x`` if the crawl shows it, on one host and across two."""
    visits: Visits = []
    for i in range(400):
        visits += [(f"https://site.example/d/{i}", i), (f"http://site.example/d/{i}", i)]
        visits += [(f"https://site.example/d/{i}/", i), (f"http://www.site.example/d/{i}", i)]
    random.Random(1).shuffle(visits)
    learnt = fitted(visits)

    forms = {
        learnt.canonicalize(f"{start}/d/9999{end}")
        for start in ("http://site.example", "https://site.example", "http://www.site.example")
        for end in ("", "/")
    }
    assert forms == {"https://site.example/d/9999"}


def test_links_know_the_host_that_they_stand_on() -> None:
    """A referrer at the other host name is the same page; coverage is decided for the main host."""
    from planted_forum import HOST, forum

    crawl = forum(with_alone=True)
    other = HOST.replace("://", "://www.")
    topics = sorted({url for url in crawl.urls if "/topic/" in url and "?" not in url})[:80]
    page_of = dict(zip(crawl.urls, crawl.clusters, strict=True))
    urls = crawl.urls + [url.replace(HOST, other) for url in topics]
    learnt = Verified().fit(
        urls,
        crawl.clusters + [page_of[url] for url in topics],
        crawl.referrers + [None] * len(topics),
        crawl.redirects + [None] * len(topics),
    )
    topic, post = f"{other}/topic/7777", f"{other}/post/123456"

    assert learnt.quality_["host_aliases"] == 1
    assert learnt.canonicalize(post, Referrer(topic, learnt.canonicalize(topic))) == f"{HOST}/topic/7777"
    assert "leads back to that page" in learnt.explain(post, Referrer(topic, f"{HOST}/topic/7777")).reason
    assert not learnt.is_covered(post)


def test_a_model_keeps_its_aliases(tmp_path: Path) -> None:
    """Saved and loaded, forms and sentences are the same."""
    learnt = fitted(two_hosts())
    again = load_model(learnt.save(tmp_path / "model"))

    for url in (f"{WWW}/topic?sid=1&t=9", f"{HOME}/topic?t=9", f"{WWW}/user/7", "http://a.example/"):
        assert again.canonicalize(url) == learnt.canonicalize(url)
        assert again.explain(url) == learnt.explain(url)
    assert again.learnt() == learnt.learnt()


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (None, r"host_aliases\.json"),
        ([{"host": "a"}], r"host_aliases\.json"),
        ([{"host": "a", "is": "b", "pages": "many", "wrong": 0}], r"host_aliases\.json"),
        ("ab", r"host_aliases\.json"),
        # otherwise forms of forms would change
        ([{"host": a, "is": b, "pages": 60, "wrong": 0} for a, b in ("cb", "ba")], r"host_aliases\.json: b is both"),
    ],
)
def test_what_is_no_list_of_aliases_is_an_error(value: object, said: str) -> None:
    """A damaged file never becomes an alias, nor does a host that is an alias and a target."""
    with pytest.raises(BadInputError, match=said):
        Reading.from_json(JsonValue(value, "host_aliases.json"))


@given(
    st.lists(st.tuples(st.sampled_from(["a.example", "b.example", "c.example"]), st.integers(0, 3), st.integers(0, 3)))
)
def test_forms_of_forms_stay(visits: list[tuple[str, int, int]]) -> None:
    """For any rules, URLs of the main host stay there."""
    urls = [f"http://{host}/{path}" for host, path, _ in visits] or ["http://a.example/"]
    found = Reading(learn_host_aliases(urls, [page for *_, page in visits] or [0], Belief(RISKS["eager"])), {})

    for url in urls:
        assert found.at_home(found.at_home(url)) == found.at_home(url)
