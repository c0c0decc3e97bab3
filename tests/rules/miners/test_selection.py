"""Choosing among rules."""

from dedup_crawler.rules.applying.engine import RuleEngine
from dedup_crawler.rules.language.matchers import ANY, Literal
from dedup_crawler.rules.language.operations import Drop, Set, Star
from dedup_crawler.rules.language.rule import Rule
from dedup_crawler.rules.miners.mapped_crawl import MappedCrawl
from dedup_crawler.rules.miners.selection import naive_selection, qualified, without_circles

HOST = "a.example"


def crawl(*visits):
    return MappedCrawl(HOST, [f"http://{HOST}{rest}" for rest, _ in visits], [page for _, page in visits])


def rule(context, transformation):
    return Rule(HOST, context, transformation)


DROP_SID = rule({"query[sid]": ANY}, {"query[sid]": Drop()})
SESSIONS = crawl(*((f"/{i}{sid}", i) for i in range(5) for sid in ("", "?sid=a", "?sid=b")))


def test_counts_what_a_rule_merges_and_only_that():
    """Five pages of three URLs each: three pairs per page, and one group; untouched URLs do not count."""
    statistics = SESSIONS.counted(DROP_SID).statistics

    assert (statistics.n_urls, statistics.n_support_pairs, statistics.n_false_pairs) == (10, 15, 0)
    assert (statistics.evidence.n_groups, statistics.evidence.n_wrong) == (5, 0)


def test_a_rule_that_is_wrong_too_often_is_discarded():
    """Dropping ``page`` merges different pages; dropping ``sid`` does not; a rule without matches merges nothing."""
    site = crawl(*((f"/x?page={i}&sid={sid}", i) for i in range(5) for sid in "ab"))
    drop_page = rule({"query[page]": ANY}, {"query[page]": Drop()})
    useless = rule({"query[other]": ANY}, {"query[other]": Drop()})

    assert qualified([drop_page, DROP_SID, useless], site, max_fpr=0.1) == [DROP_SID]


def test_one_rule_for_one_pattern():
    """Of two rules with one context the one with fewer errors stays."""
    wrong = rule({"query[sid]": ANY}, {"query[sid]": Drop(), "path[0]": Set("0")})
    rules = qualified([wrong, DROP_SID], SESSIONS, max_fpr=1)

    assert naive_selection(rules, SESSIONS) == [DROP_SID]


def test_the_more_general_rule_replaces_its_special_cases():
    """Also if they do the same to the same key in another way."""
    special = rule({"query[sid]": Literal("a")}, {"query[sid]": Drop()})
    other_way = rule({"query[sid]": ANY, "path[0]": Literal("1")}, {"query[sid]": Star()})
    rules = qualified([special, other_way, DROP_SID], SESSIONS, max_fpr=0.1)

    assert naive_selection(rules, SESSIONS) == [DROP_SID]


def test_of_a_circle_the_rule_with_the_smallest_support_goes():
    """Of two rules that reverse each other one stays, and every URL settles."""
    site = crawl(*((f"/{name}/{i}", i) for i in range(4) for name in "ab"), ("/a/9", 9))
    there = rule({"path[0]": Literal("a"), "path[1]": ANY}, {"path[0]": Set("b")})
    back = rule({"path[0]": Literal("b"), "path[1]": ANY}, {"path[0]": Set("a")})
    rules = qualified([there, back], site, max_fpr=0.1)

    (kept,) = without_circles(rules, site)
    engine = RuleEngine([kept])
    assert len({engine.form(f"http://{HOST}/{name}/7") for name in "ab"}) == 1
