"""The parts of exploration without a crawl: texts of covered pages, waiting pages, empty pages."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedup_crawler.live.collecting.response_page import FetchedPage
from dedup_crawler.live.exploration import comparisons
from dedup_crawler.live.exploration.comparisons import AwaitedOwners, Comparisons, Duplicate
from dedup_crawler.live.exploration.covered_tests import MAX_WAITING, PATIENCE, CoveredTests
from dedup_crawler.live.exploration.rule_evidence import MAX_SETS, RuleEvidence
from dedup_crawler.live.exploration.shown_text import MIN_PAGES, ShownText, says_nothing, shown_texts
from dedup_crawler.live.walls.alike_answers import MAX_IN_VAIN, MAX_LEFT, AlikeAnswers, forms_left

HTML = "text/html; charset=utf-8"


def page(body: str, content_type: str = HTML) -> FetchedPage:
    return FetchedPage.of("http://a.example/", "http://a.example/", content_type, body.encode())


def words(seed: object, n: int = 12) -> str:
    draw = random.Random(str(seed))
    return " ".join("".join(draw.choices("bdfgklmnprst", k=6)) for _ in range(n))


def article(n: int, *, title: str = "", more: str = "") -> FetchedPage:
    paragraphs = "".join(f"<p>{words((n, i))}</p>" for i in range(5))
    menu = "<ul><li>Home of the example</li><li>All of our articles</li></ul>"
    return page(f"<html><title>{title}</title><body>{menu}{paragraphs}{more}</body></html>")


def crawled(n_pages: int = 40) -> ShownText:
    shown = ShownText()
    for n in range(n_pages):
        shown.add(article(n))
    return shown


def test_a_page_whose_text_others_show_says_nothing_new():
    """A printed view with its own title, and a feed with the paragraphs of three articles, show nothing new."""
    shown = crawled()
    assert shown.has_shown(shown_texts(article(3, title="Article 3, printed"))) is True
    feed = "".join(f"<entry><text>{words((n, i))}</text></entry>" for i in range(5) for n in (7, 2, 9))
    assert shown.has_shown(shown_texts(page(f"<feed>{feed}</feed>", "application/atom+xml"))) is True
    cdata = "".join(f"<text><![CDATA[<p>{words((4, i))}</p>]]></text>" for i in range(5))
    assert shown.has_shown(shown_texts(page(f"<rss>{cdata}</rss>", "application/rss+xml"))) is True


def test_a_page_with_a_text_of_its_own_says_something_new():
    """Another article, or an additional paragraph, is not shown; the menu of all pages does not count."""
    shown = crawled()
    assert shown.has_shown(shown_texts(article(99))) is False
    assert shown.has_shown(shown_texts(article(3, more=f"<p>{words('a comment')}</p>"))) is False


def test_what_cannot_be_told_of_a_page():
    """A page with only the menu is undecided. Before enough pages were seen, nothing counts as shown."""
    menu = page("<ul><li>Home of the example</li><li>All of our articles</li></ul><p>Sorry</p>")
    assert crawled().has_shown(shown_texts(menu)) is None
    young = crawled(MIN_PAGES - 1)
    assert not young.knows_frame
    assert young.has_shown(shown_texts(article(3))) is False


def test_a_picture_is_one_text():
    """Equal bytes count as shown, other bytes do not."""
    shown = crawled()
    shown.add(page("GIF89a" + 100 * "x", "image/gif"))
    assert shown.has_shown(shown_texts(page("GIF89a" + 100 * "x", "image/gif"))) is True
    assert shown.has_shown(shown_texts(page("GIF89a" + 100 * "y", "image/gif"))) is False


@given(st.binary(max_size=300), st.sampled_from(["", "text/html", "text/plain", "application/xml", "image/png"]))
def test_texts_of_anything(body: bytes, content_type: str):
    """For any body, texts are counted in bytes, and never exceed the body."""
    texts = shown_texts(FetchedPage.of("", "", content_type, body))
    assert sum(texts.values()) <= max(len(body), 1)


class Judged:
    """Tests of coverage rules in a crawl that has fetched forty articles, and their verdicts so far."""

    def __init__(self) -> None:
        self.verdicts: list[tuple[bytes, bool | None]] = []
        self.tests = CoveredTests(RuleEvidence(0.02), None, self._note, set())
        self.tests.shown = crawled()

    def _note(self, form: bytes, rules: list[str], is_same: bool | None, *, was_counted: bool = False) -> None:
        self.verdicts.append((form, is_same))

    def wait(self, n: int, *, in_place: bool = False) -> None:
        """Let the n-th page wait, when n answers have come."""
        self.tests.n_answers = n
        if in_place:
            self.tests.judge(b"%d" % n, (f"rule {n}",), article(n))
        else:
            self.tests.wait_for_link(b"%d" % n, (f"rule {n}",))

    def taken(self) -> list[tuple[bytes, bool | None]]:
        """Return the verdicts since the last call."""
        verdicts, self.verdicts = self.verdicts, []
        return verdicts


def test_a_page_that_waits_is_due_after_its_time():
    """A link to the form ends the waiting; unreached pages are lost, in their order."""
    judged = Judged()
    for n in range(5):
        judged.wait(n)
    for _ in range(2):
        judged.tests.reached(b"3", None)
    assert judged.taken() == [(b"3", True)]
    for n_answers, lost in ((PATIENCE, []), (PATIENCE + 2, [b"0", b"1"])):
        judged.tests.n_answers = n_answers
        judged.tests.run_dry(is_idle=False)
        assert judged.taken() == [(form, False) for form in lost]
    judged.tests.run_dry(is_idle=True)
    assert judged.taken() == [(b"2", False), (b"4", False)]
    assert not judged.tests.redirected


def test_a_page_that_answered_in_place_is_judged_by_its_text():
    """No link decides about a page that did not redirect; others may show its text meanwhile."""
    judged = Judged()
    for n in (99, 100, 101):
        judged.wait(n, in_place=True)
    assert not judged.tests.redirected
    judged.tests.reached(b"100", None)
    judged.tests.saw(article(101))
    assert judged.taken() == []
    judged.tests.run_dry(is_idle=True)
    assert judged.taken() == [(b"99", False), (b"100", False), (b"101", True)]


def test_texts_that_others_show_by_now_are_looked_for_now_and_then():
    """A page need not wait for its time: every twenty waiting pages, all are looked at."""
    judged = Judged()
    judged.wait(99, in_place=True)
    judged.tests.saw(article(99))
    for n in range(100, 118):
        judged.wait(n, in_place=True)
    assert judged.taken() == []
    judged.wait(118, in_place=True)
    assert judged.taken() == [(b"99", True)]


def test_the_pages_that_wait_are_bounded():
    """The oldest are judged early."""
    judged = Judged()
    for _ in range(MAX_WAITING + 3):
        judged.wait(0)
    judged.tests.run_dry(is_idle=False)
    assert len(judged.taken()) == 3


def test_a_duplicate_waits_for_its_owner_unless_that_is_unknown():
    """An owner that fails decides nothing. In place of an unknown one stands the first duplicate."""
    verdicts: list[tuple[bytes, list[str], bool | None]] = []
    pages = Comparisons(lambda form, rules, is_same: verdicts.append((form, [*rules], is_same)), None, None, None)
    text = page(words("a text", 60), "text/plain")
    for form in (b"late", b"fails"):
        pages.explored(form, Duplicate(("r",), text))
    assert verdicts == []
    pages.owner_came(b"late", text._replace(url="http://a.example/owner"))
    pages.has_no_owner(b"fails")
    for rule in ("r", "s"):
        pages.explored(b"fails", Duplicate((rule,), text._replace(url=f"http://a.example/{rule}")))
    unknown = (b"fails", ["r"], None)
    assert verdicts == [(b"late", ["r"], True), unknown, unknown, (b"fails", ["s", "r"], True)]


def test_a_page_that_is_fetched_twice_is_no_test_of_its_rules():
    """
    A URL may be fetched as a test, and once more as the owner of the same form. Compared with itself it confirmed its
    rule, and an untested rule was taken for verified.
    """
    verdicts: list[object] = []
    pages = Comparisons(lambda form, rules, is_same: verdicts.append((form, [*rules], is_same)), None, None, None)
    again = article(1)

    pages.owner_came(b"a", again)
    pages.explored(b"a", Duplicate(("page",), again))
    pages.explored(b"b", Duplicate(("page",), again))  # its owner comes later
    pages.owner_came(b"b", again)

    assert verdicts == [(b"a", ["page"], None), (b"b", ["page"], None)]


def test_duplicates_wait_for_their_owner_within_bounds(monkeypatch):
    """All duplicates of the longest waiting form are given up together."""
    monkeypatch.setattr(comparisons, "MAX_BYTES", 3_000)
    awaited = AwaitedOwners()
    duplicate = Duplicate(("r",), article(1))
    given_up = [awaited.add(b"%d" % n, duplicate) for n in (0, 0, 1, 2, 3, 4)]
    n_given_up = sum(map(len, given_up))
    assert n_given_up >= 2
    assert awaited.take(b"0") == []
    assert len(awaited.take(b"4")) == 1
    assert len(awaited.take_all()) == 6 - 1 - n_given_up
    assert awaited.take_all() == []


@pytest.mark.parametrize(
    ("body", "content_type", "is_nothing"),
    [
        (b"", "text/html", True),
        (b" \r\n\t", "text/plain", True),
        (b"<html><head></head><body><!-- x --></body></html>", HTML, True),
        (b"<html><head><style>p {}</style></head><body><div> </div></body></html>", HTML, True),
        (b"<html><title>Moved</title></html>", HTML, False),
        (b"<body><img SRC='a.png'></body>", HTML, False),
        (b"<script>render()</script>", HTML, False),
        (b"{}", "application/json", False),
        (b"<p></p>" * 1000, HTML, False),
    ],
)
def test_pages_that_say_nothing(body: bytes, content_type: str, is_nothing: bool):
    """An empty body, or short HTML with neither a word nor a link."""
    assert says_nothing(body, content_type) is is_nothing


def heard(pages: list[tuple[bytes, FetchedPage]]) -> AlikeAnswers:
    """Note answers in this order, of one site."""
    alike = AlikeAnswers()
    for form, each in pages:
        assert alike.answered(form, each) == ()
    return alike


def test_a_row_of_alike_answers_is_probed_once():
    """One form of each row with another URL is probed; if that shows another page, the others are fetched again."""
    log_in = page("<form>Please log in, visitor 17</form>")
    walled = [(b"a", log_in), (b"b", page("<form>Please log in, visitor 18</form>")), (b"c", log_in)]
    pages = [*walled, (b"d", article(1))]
    alike = heard(pages)
    assert alike.probes(pages, {b"a", b"c", b"d"}.__contains__) == [b"a"]
    assert alike.probes(pages, {b"a", b"c"}.__contains__) == []
    assert alike.answered(b"d", article(2)) == ()
    assert alike.answered(b"a", article(1)) == (b"c",)
    assert alike.answered(b"a", article(1)) == ()


def test_the_latest_rows_are_left_to_the_next_process():
    """
    A bounded number of forms in alike rows is stored as text, but no forms of different pages. The next process keeps
    them with their requests until they are answered, and damaged text is ignored.
    """
    walled = [(b"%d" % n, page(f"<form>Please log in, visitor {n}</form>")) for n in range(3)]
    alike = heard([(b"first", article(1)), *walled, (b"last", article(2))])
    assert forms_left(alike.left()) == dict.fromkeys([b"0", b"1", b"2"], "")

    later = heard([])
    later.go_on({b"0": "GET /0", b"1": "GET /1"})
    assert later.take_news()
    assert not later.take_news()
    later.answered(b"0", article(3))
    assert later.take_news()
    assert forms_left(later.left()) == {b"1": "GET /1"}

    many = heard([(b"%d" % n, page(f"<form>Please log in, visitor {n}</form>")) for n in range(3 * MAX_LEFT)])
    assert list(forms_left(many.left())) == [b"%d" % n for n in range(2 * MAX_LEFT, 3 * MAX_LEFT)]
    assert forms_left("no hex GET /") == forms_left("") == {}


def test_alike_answers_far_from_each_other_are_no_wall():
    """A wall answers for everything: if other pages came between, alike answers are real pages."""
    others = [(b"%d" % n, article(n)) for n in range(30)]
    same = [(b"same %d" % n, article(1000)) for n in range(6)]
    apart = [each for n, one in enumerate(same) for each in (*others[5 * n : 5 * n + 5], one)]
    assert heard(apart).probes(apart, lambda _: True) == []
    near = [*others, *same]
    assert len(heard(near).probes(near, lambda _: True)) == 1


def test_rows_that_are_what_they_seem_end_the_search():
    """A few rows are probed; after a wall was found, more."""
    pages = [(b"%d %d" % (n, i), article(n)) for n in range(4 * MAX_IN_VAIN) for i in range(3)]
    alike = heard(pages)
    probes = alike.probes(pages, lambda _: True)
    assert len(probes) == MAX_IN_VAIN
    wall, *same = probes
    assert len(alike.answered(wall, article(1000))) == 2
    for form in same[:-1]:
        assert alike.answered(form, dict(pages)[form]) == ()
    assert len(alike.probes(pages, lambda _: True)) == 2
    assert alike.answered(same[-1], dict(pages)[same[-1]]) == ()
    assert len(alike.probes(pages, lambda _: True)) == 1


def test_drops_are_verified_by_explorations_of_their_rules():
    """A drop counts as tested if each of its rules was; one sent after all, or decided anew, does not count."""
    evidence = RuleEvidence(0.02)
    for rules, n in ((("a",), 10), (("a", "b"), 5), (("c",), 3), ((), 2)):
        for _ in range(n):
            evidence.dropped(rules)
    assert evidence.verdicts() == (0, 20, 0, 0)
    evidence.record(("a",), b"1", is_same=True)
    assert evidence.verdicts() == (10, 10, 1, 0)
    evidence.record(("b",), b"2", is_same=False)
    assert evidence.verdicts() == (15, 5, 1, 1)
    assert evidence.untested_rules() == {"c"}
    evidence.switch_off("b")
    assert evidence.verdicts() == (10, 10, 1, 0)
    for is_sent in (True, True, False, False, False):  # a new model decides about three of them
        evidence.taken_back(("a", "b"), is_sent=is_sent)
    assert evidence.n_taken_back == 2
    assert evidence.n_dropped() == {"a": 10, "c": 3}
    assert evidence.verdicts() == (10, 5, 1, 0)


def test_sets_of_rules_are_bounded():
    """Later sets are counted together, and no drop is forgotten."""
    evidence = RuleEvidence(0.02)
    for n in range(MAX_SETS + 10):
        evidence.dropped((f"r{n}",))
    assert sum(evidence.verdicts()[:2]) == MAX_SETS + 10
