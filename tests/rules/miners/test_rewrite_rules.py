"""The rewrite approach of KDD'08."""

from dedup_crawler.methods.miners import RewriteRules
from dedup_crawler.rules.language.matchers import ANY, Literal
from dedup_crawler.rules.language.operations import Copy, Drop, Set, Star
from dedup_crawler.rules.miners.rewrite_rules import as_rule, generalized, pairwise_rules
from dedup_crawler.urls.keyvalue import KEY_VALUES, values_of
from planted_site import HOST

# eight URLs of one page: 3 and 5 do not matter; the last four differ in pairs in one key only
FIGURE_3 = ["5&y5", "6&y6", "7&y7", "8&y8", "1&y1", "2&y1", "3&y2", "4&y2"]


def figure_3_rules(names):
    import random

    urls = [f"http://a.example/?K1=a&K2=b&K3=x{x}&K4=c&K5={y}" for x, y in (name.split("&") for name in names)]
    keep = ("query[K1]", "query[K2]", "query[K3]", "query[K4]", "query[K5]")
    maps = [{key: values_of(url)[key] for key in keep} for url in urls]
    found = generalized(set(pairwise_rules(maps)), 2, random.Random(0))
    return [as_rule("a.example", rule, "rewrite-rules") for rule in found]


def is_r3(rule):
    literals = {"query[K1]": Literal("a"), "query[K2]": Literal("b"), "query[K4]": Literal("c")}
    stars = {"query[K3]": Star(), "query[K5]": Star()}
    return rule.context == {**literals, "query[K3]": ANY, "query[K5]": ANY} and rule.transformation == stars


def test_the_worked_example_of_the_literature():
    """WWW'10, figure 3: two pairs with one different key give, level by level, K1=a & K2=b & K4=c: K3 -> *, K5 -> *."""
    assert any(map(is_r3, figure_3_rules(FIGURE_3)))


def test_one_missing_example_breaks_the_chain():
    """The fragility that WWW'10 criticises: without the sixth URL the same rule is never found."""
    assert not any(map(is_r3, figure_3_rules([*FIGURE_3[:5], *FIGURE_3[6:]])))


def pair(left, right):
    maps = [KEY_VALUES.read(rest, "http") for rest in (left, right)]
    return as_rule("a.example", next(iter(pairwise_rules(maps))), "rewrite-rules")


def test_a_pair_refers_to_values_before_it_names_them():
    """A value of the source is copied, an unknown one is a literal, and a missing one is dropped."""
    rule = pair("/story?id=17&sid=x", "/news/17?print")

    assert rule.transformation == {
        "path.length": Set("2"),
        "path[0]": Set("news"),
        "path[1]": Copy("query[id]"),
        "query[print]": Set(None),
        "query[id]": Drop(),
        "query[sid]": Drop(),
    }
    assert rule.absent == {"path[1]", "query[print]"}


def test_a_default_value_is_found_with_the_papers_fan_out():
    """``page=1`` is the page without it; ``page=2`` is another page."""
    visits = [(f"{HOST}/t/{i}{more}", (i, more == "?page=2")) for i in range(30) for more in ("", "?page=1", "?page=2")]
    pages = {page: number for number, page in enumerate(dict.fromkeys(page for _, page in visits))}
    method = RewriteRules().fit([url for url, _ in visits], [pages[page] for _, page in visits])

    assert method.canonicalize(f"{HOST}/t/99?page=1") == method.canonicalize(f"{HOST}/t/99")
    assert method.canonicalize(f"{HOST}/t/99?page=2") != method.canonicalize(f"{HOST}/t/99")
