"""Site text and habits in a model, with which a crawl compares pages as training does."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedup_crawler.errors import BadInputError
from dedup_crawler.evidence.comparing import PageEvidence, Verdict
from dedup_crawler.evidence.digests import PageDigests
from dedup_crawler.evidence.site_text import ANY, Habits, Line, SiteText
from dedup_crawler.evidence.two_fetches import compare_fetches
from dedup_crawler.json_values import JsonValue
from dedup_crawler.live.exploration.same_page import frames_of_time, same_page
from dedup_crawler.methods import load_model, make_method
from site_of_pages import HOST, article, blog, fetched, page, titled, words

SAME, DIFFERENT, SILENT = Verdict.SAME, Verdict.DIFFERENT, Verdict.SILENT


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """The model of a blog, saved and loaded."""
    pages, _ = blog()
    urls = [each.url for each in pages]
    fitted = make_method("verified").fit(urls, range(len(urls)), evidence=PageEvidence.of_pages(pages))
    return load_model(fitted.save(tmp_path_factory.mktemp("models") / "blog"))


ARTICLE, OTHER = titled(1099), titled(1100)
LONG = [*ARTICLE, *(words(30, f"{n} long") for n in range(20))]
REPLY = "Leave a reply to Zacharias"


@pytest.mark.parametrize(
    ("shown", "form", "expected"),
    [
        (ARTICLE, [*ARTICLE, REPLY], SAME),
        # a paragraph that only the form has is no habit
        (ARTICLE, [*ARTICLE, REPLY, words(28, "more")], DIFFERENT),
        # another article, with the rule's own URLs and its habit
        (ARTICLE, [*OTHER, REPLY], DIFFERENT),
        # a new entry in a list beside a long text
        (LONG, [*LONG, REPLY, "Yvonne on Open Thread"], SILENT),
    ],
)
def test_a_model_knows_what_its_rules_always_change(model, shown, form, expected):
    """By these two pages alone, a new article and its form are one page: the form's heading is a habit of the rule."""
    pages = page("/99/", *shown), page("/99/?reply=99", *form)
    rules = model.fired(pages[1].url)
    assert rules
    assert compare_fetches(PageDigests(pages), model.site_text, model.site_text.habits_of(rules)) is expected


def column(day):
    """Return the latest comments of one day, shown on every page of the blog."""
    return [f"{words(4, f'{day} {n}')} on Open Thread" for n in range(6)]


def test_what_all_pages_of_one_time_show_is_no_difference(model):
    """
    An article and its form were fetched on two days with different latest comments. The pages fetched just before and
    after show them as well, so they belong to the frame of the time. Other URLs of one page are no evidence
    for that, and the form's own paragraph stays a difference.
    """
    rules = model.fired(f"{HOST}/99/?reply=99")
    owner = fetched("/99/", *ARTICLE, *column("monday"))
    form = fetched("/99/?reply=99", *ARTICLE, REPLY, *column("friday"))
    other = fetched("/99/?reply=99", *ARTICLE, words(28, "more"), words(28, "again"), *column("friday"))
    days = "monday", "friday"
    beside = [[fetched(f"/{n}/", *titled(n), *column(day)) for n in range(1200, 1208)] for day in days]
    again = [[fetched(f"/{n}/", "One", *article(1200)[1], *column(day)) for n in range(8)] for day in days]

    def is_same(duplicate, beside=()):
        return same_page(owner, duplicate, model.site_text.with_frame(frames_of_time(owner, duplicate, beside)), rules)

    assert not is_same(form)
    assert is_same(form, beside)
    assert not is_same(form, again)
    assert is_same(other, beside) is False


def test_what_a_model_keeps_is_small_and_comes_back(model):
    """Lines of the site are hashes, only of frequent ones; they survive a file."""
    told = model.site_text.to_json()
    again = SiteText.from_json(JsonValue(json.loads(json.dumps(told)), "site_text.json"))
    assert again.to_json() == told
    assert again.habits == {rule: habits for rule, habits in model.site_text.habits.items() if any(habits)}
    assert len(told["lines"]) < 20


def test_a_model_without_pages_has_no_text_of_its_site():
    """Learnt from clusters alone."""
    assert make_method("verified").fit([f"{HOST}/{n}" for n in range(20)], range(20)).site_text is None


_words = st.lists(st.sampled_from(["leave", "a", "reply", "to", "anna"]), min_size=1, max_size=5).map(tuple)


@given(_words, _words)
def test_a_habit_excuses_lines_that_begin_or_end_so(line, other):
    """Law: a line is excused by its own begin, for any rest, and by no habit without its words."""
    begin = Habits(old=frozenset({(0, line[:2])}))
    assert begin.excuse(Line(0, line, is_new=False))
    assert begin.excuse(Line(1, (*line[:2], *other), is_new=False)) or len(line) < 2
    assert not begin.excuse(Line(0, line, is_new=True))
    assert not Habits(old=frozenset({(1, ("elsewhere",)), (0, ("no", ANY))})).excuse(Line(0, line, is_new=False))


@pytest.mark.parametrize(
    "damage",
    [
        {"titles": -1},
        {"lines": {"no hash": 3}},
        {"lines": {"00ff": "three"}},
        {"words": [1]},
        {"habits": {"r": {"known words": [[2, "a"]], "new words": []}}},
        {"habits": {"r": {"known words": [[0]], "new words": []}}},
        {"habits": {"r": {"known words": [[0, "a", "b", "c"]], "new words": []}}},
        {"habits": {"r": {"known words": [[]], "new words": []}}},
        {"habits": {"r": {}}},
        {"habits": []},
    ],
)
def test_a_damaged_file_is_refused(damage):
    """One line names the place."""
    whole = {"titles": 3, "lines": {"00ff": 3}, "words": ["a"], "habits": {}}
    with pytest.raises(BadInputError, match=r"site_text\.json"):
        SiteText.from_json(JsonValue({**whole, **damage}, "site_text.json"))
