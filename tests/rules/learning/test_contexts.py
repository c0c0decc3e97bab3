"""Contexts of one hypothesis."""

import random

from dedup_crawler.methods import make_method
from dedup_crawler.rules.language.matchers import ANY, Literal, NoneOf
from dedup_crawler.rules.language.operations import Drop
from dedup_crawler.rules.language.rule import Rule
from dedup_crawler.rules.learning.belief import RISKS, Belief
from dedup_crawler.rules.learning.columns import UrlColumns
from dedup_crawler.rules.learning.contexts import MAX_DEPTH, ContextSearch
from dedup_crawler.rules.learning.hypotheses import Hypothesis
from dedup_crawler.rules.learning.trials import trials_of
from planted_visits import HOST, numbered, shuffled

DROP_ID = Hypothesis(Rule(HOST, {"query[id]": ANY}, {"query[id]": Drop()}, frozenset({"query[id]#2"})), "query[id]")


def search(visits, depth=MAX_DEPTH):
    """Return contexts, by their conditions, and the number of tried ones."""
    columns = UrlColumns(HOST, *numbered(shuffled(visits)))
    belief = Belief(RISKS["balanced"])
    found = ContextSearch(trials_of(DROP_ID, columns), columns, DROP_ID, belief).search(depth)
    return found, belief


def visits_of(kind, n, *, same, ids=2):
    """Return groups of URLs that differ only in their id: one page each, or as many pages as ids."""
    draw = random.Random(kind)
    return [
        ((kind, group) if same else (kind, group, number), f"/{kind}?g={group}&id={draw.getrandbits(40):x}")
        for group in range(n)
        for number in range(ids)
    ]


def conditions(context):
    return {condition.key: condition.matcher for condition in context.conditions}


def test_the_coarsest_context_that_holds_is_taken():
    """Without contradictions the context is everything, for any value."""
    (found,), _ = search(visits_of("a", 40, same=True) + visits_of("b", 40, same=True))

    assert found.conditions == ()
    assert found.gone_values is None
    assert (found.evidence.n_groups, found.evidence.n_wrong) == (80, 0)


def test_a_value_is_compared_with_whatever_stands_in_its_place():
    """Five old ids beside five new ones on each of forty pages: ten ids do not matter, so other values are accepted.

    Of four and four, only these are: old and new ones, because only together do they get the form of a page.
    """

    def visits(n_ids):
        pairs = [(page, f"/a?g={page}&id={kind}{page % n_ids}") for kind in "xy" for page in range(40)]
        return UrlColumns(HOST, *numbered(pairs))

    def values(n_ids):
        columns = visits(n_ids)
        (found,) = ContextSearch(trials_of(DROP_ID, columns), columns, DROP_ID, Belief(RISKS["balanced"])).search(0)
        return found.gone_values

    assert values(5) is None
    assert values(4) == {f"{kind}{number}" for kind in "xy" for number in range(4)}


def test_a_contradicted_hypothesis_is_looked_at_more_closely():
    """Half of the site agrees, half contradicts: the condition is the half; without conditions nothing is found."""
    visits = visits_of("a", 40, same=True) + visits_of("b", 40, same=False)

    assert search(visits, depth=0)[0] == []
    (found,), _ = search(visits, depth=1)
    assert conditions(found) in ({"path[0]": Literal("a")}, {"path[0]": NoneOf(frozenset({"b"}))})


def test_two_conditions_may_be_needed():
    """Neutral under one path beside one value of another key, and nowhere else."""

    def both(kind, do, same):
        return [(page, f"{url}&do={do}") for page, url in visits_of(kind, 40, same=same, ids=3)]

    visits = both("a", "list", same=True)
    visits += [((page, "x"), url) for page, url in both("a", "edit", same=False) + both("b", "list", same=False)]

    assert search(visits, depth=1)[0] == []
    (found,), _ = search(visits, depth=2)
    assert set(conditions(found)) == {"path[0]", "query[do]"}


def test_a_condition_has_to_explain_the_contradictions():
    """If one list in six differs for no reason in its keys, no condition is found."""
    draw = random.Random(1)
    visits = [
        ((page, number) if group % 6 == 0 else page, f"{url}&colour={draw.choice('rgb')}")
        for number, (page, url) in enumerate(visits_of("a", 200, same=True))
        for group in [page[1]]
    ]

    assert search([(page, url) for page, url in visits])[0] == []


def test_a_crowd_is_told_by_all_that_it_has_in_common():
    """One page under two hundred ids, and no other evidence: path and query of that page are the context."""
    visits = visits_of("login", 1, same=True, ids=200) + visits_of("item", 300, same=True, ids=1)
    (found,), _ = search(visits)

    assert found.is_crowd
    assert conditions(found)["path[0]"] == Literal("login")
    assert conditions(found)["query[g]"] == Literal("0")


def test_that_a_key_repeats_another_which_has_one_value_is_no_relation():
    """That ``asc=1`` matters for list 1 is no statement about list 8, nor about a new order."""
    urls, clusters = [], []
    for n in range(14):
        for place, rest in enumerate((f"1?asc=1&sort=s{n}", f"8?USER=nobody&asc=1&sort=s{n}")):
            urls.append(f"https://site.example/report/{rest}")
            clusters.append(n if n < 12 or place == 0 else 100 + n)
    for n in range(40):
        urls.append(f"https://site.example/ticket/{n}")
        clusters.append(1000 + n)
    model = make_method("verified").fit(urls[:24] + urls[28:], clusters[:24] + clusters[28:])
    assert [line for line in model.learnt() if "as `asc`" in line] == []
