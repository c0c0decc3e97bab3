"""Evidence of a crawl for a hypothesis, group by group."""

from dedup_crawler.rules.language.matchers import ANY
from dedup_crawler.rules.language.operations import Cut, Drop, Star, Unordered
from dedup_crawler.rules.language.rule import Rule
from dedup_crawler.rules.learning.belief import UNKNOWN
from dedup_crawler.rules.learning.columns import UrlColumns
from dedup_crawler.rules.learning.hypotheses import Hypothesis
from dedup_crawler.rules.learning.trials import trials_of
from planted_visits import HOST, numbered

SID = Hypothesis(Rule(HOST, {"query[sid]": ANY}, {"query[sid]": Drop()}), "query[sid]")


def asked(hypothesis, visits):
    """Return the trials of a hypothesis: path -> (is right, has a base, removed value)."""
    urls, pages = numbered(visits)
    columns = UrlColumns(
        HOST, urls, [UNKNOWN if page == "?" else n for (page, _), n in zip(visits, pages, strict=True)]
    )
    trials = trials_of(hypothesis, columns)
    answers = {}
    for place, row in enumerate(trials.rows.tolist()):
        said = bool(trials.is_right[place]), bool(trials.has_base[place])
        answers[visits[columns.first[row]][1]] = (*said, trials.gone_values[trials.gone[place]])
    return answers, trials


def all_of(trials):
    return trials.evidence(trials.is_right | ~trials.is_right)


def test_a_group_is_compared_with_the_url_that_has_the_form():
    """Of three URLs of one form the one without the key is the reference, at any place in the crawl."""
    visits = [(0, "/t?sid=a"), (0, "/t?sid=b"), (1, "/t?sid=c"), (0, "/t"), (2, "/u?sid=a")]
    answers, trials = asked(SID, visits)

    assert answers == {
        "/t?sid=a": (True, True, "a"),
        "/t?sid=b": (True, True, "b"),
        "/t?sid=c": (False, True, "c"),
    }
    assert len(trials) == 3


def test_without_such_a_url_the_first_is_the_reference():
    """The reference is no trial: it would be fetched in any case. A single URL in a group is no evidence."""
    visits = [(0, "/t?sid=a"), (0, "/t?sid=b"), (1, "/u?sid=a")] + [(n, f"/{n}") for n in range(5, 15)]
    answers, _ = asked(SID, visits)

    assert answers == {"/t?sid=b": (True, False, "b")}


def test_groups_that_show_one_page_count_once():
    """Nine empty lists are one page, so they say no more about the key than one; the wrong group still counts."""
    empty = [(0, f"/{n}{query}") for n in range(9) for query in ("", "?sid=a")]
    others = [(1, "/x"), (1, "/x?sid=a"), (2, "/y"), (3, "/y?sid=a")]
    _, trials = asked(SID, [*empty, *others])
    evidence = all_of(trials)
    assert (len(trials), evidence.n_groups, evidence.n_wrong) == (11, 3, 1)
    assert evidence.weight == 3 + 1 + 1  # nine trials of one page weigh the square root


def test_what_nobody_knows_is_no_trial_and_no_reference():
    """A redirect to an uncrawled URL is silent."""
    answers, _ = asked(SID, [("?", "/t"), (0, "/t?sid=a"), ("?", "/t?sid=b"), (0, "/t?sid=c")])

    assert answers == {"/t?sid=c": (True, False, "c")}


def test_a_dropped_value_moves_the_next_one_up():
    """``/t?s=a&s=b`` without its first ``s`` is ``/t?s=b``, which shows another page."""
    first = Hypothesis(Rule(HOST, {"query[s]": ANY, "query[s]#2": ANY}, {"query[s]": Drop()}), "query[s]")
    answers, _ = asked(first, [(0, "/t?s=b"), (1, "/t?s=a&s=b"), (1, "/t?s=c&s=b")])

    assert answers == {"/t?s=a&s=b": (False, True, "a"), "/t?s=c&s=b": (False, True, "c")}


def test_the_unit_of_evidence_is_the_group():
    """One page of 300 URLs is one group; 300 wrong URLs of one group count by their share."""
    right = [(t, f"/t?n={t}{sid}") for t in range(40) for sid in ("", "&sid=a")]
    crowd = [("login", f"/login?sid={n}") for n in range(301)]
    wrong = [(("index", n), f"/index?sid={n}") for n in range(361)]

    evidence = all_of(asked(SID, right + crowd)[1])
    assert (evidence.n_groups, evidence.n_wrong) == (41, 0)
    evidence = all_of(asked(SID, right + wrong)[1])
    assert (evidence.n_groups, evidence.n_wrong) == (41, 37)  # 360 of 400 trials are wrong: 90 % of 41 groups


def test_other_operations_are_asked_in_the_same_way():
    """Stars, cuts and orders: the merged URLs, and the removed part of the value."""
    star = Hypothesis(Rule(HOST, {"path[0]": ANY}, {"path[0]": Star()}), "path[0]")
    cut = Hypothesis(Rule(HOST, {"path[0]": ANY}, {"path[0]": Cut("-", is_last=False, keeps_head=True)}), None)
    order = Hypothesis(Rule(HOST, {"query[f]#2": ANY}, {"query[f]": Unordered(is_set=True)}), None)

    assert asked(star, [(0, "/a/x"), (0, "/b/x"), (1, "/b/y")])[0] == {"/b/x": (True, False, "b")}
    assert asked(cut, [(0, "/7-b"), (0, "/7-a"), (0, "/8"), (1, "/9-a")])[0] == {"/7-a": (True, False, "a")}
    trials = asked_order(order)
    assert trials.is_right.tolist() == [True, False]


def asked_order(order):
    urls, pages = numbered([(0, "/?f=a&f=b"), (0, "/?f=b&f=a"), (1, "/?f=b&f=a&f=a"), (2, "/?f=c")])
    return trials_of(order, UrlColumns(HOST, urls, pages))
