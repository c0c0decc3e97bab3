"""Maps as columns: operations on all maps equal those on each map."""

from collections import Counter
from unittest.mock import patch

from hypothesis import given, settings
from hypothesis import strategies as st

from dedup_crawler.rules.applying.engine import read_url
from dedup_crawler.rules.language.matchers import ANY
from dedup_crawler.rules.language.operations import Drop
from dedup_crawler.rules.language.rule import Rule
from dedup_crawler.rules.learning import columns as columns_module
from dedup_crawler.rules.learning.belief import UNKNOWN
from dedup_crawler.rules.learning.columns import MAX_KEYS, UrlColumns, map_hash
from dedup_crawler.urls.keyvalue import KEY_VALUES, values_of
from dedup_crawler.urls.normal import normal_form
from rule_strategies import HOST, rules, site_urls

host_rules = rules.filter(lambda rule: rule.host == HOST)
crawls = st.lists(st.tuples(site_urls.map(normal_form), st.integers(UNKNOWN, 3)), min_size=1, max_size=12)


def maps_of(urls):
    return [read_url(url, KEY_VALUES)[1] for url in urls]


def columns_of(visits):
    return UrlColumns(HOST, [url for url, _ in visits], [page for _, page in visits])


def one_by_one(maps, pages, first):
    """Return the expected rows: one for each distinct map, with first known page and first place."""
    merged = {}
    for values, page, start in zip(maps, pages, first, strict=True):
        key = frozenset(values.items())
        if key not in merged:
            merged[key] = [values, page, start]
        else:
            row = merged[key]
            row[1] = page if row[1] == UNKNOWN else row[1]
    return list(merged.values())


def told(columns):
    rows = [columns.row(row) for row in range(len(columns))]
    return [list(row) for row in zip(rows, columns.clusters, columns.first, strict=True)]


@given(crawls)
def test_equal_maps_are_one_row(visits):
    """The first row keeps its place, with the first known page."""
    urls, pages = zip(*visits, strict=True)

    assert told(columns_of(visits)) == one_by_one(maps_of(urls), pages, range(len(urls)))


@settings(max_examples=100)
@given(crawls, host_rules)
def test_a_rule_matches_the_rows_that_it_matches_one_by_one(visits, rule):
    """Contexts, missing keys and copies: the mask of all rows agrees with the rule on each map."""
    columns = columns_of(visits)

    assert columns.matching(rule).tolist() == [rule.matches(columns.row(row)) for row in range(len(columns))]


@settings(max_examples=100)
@given(crawls, host_rules)
def test_a_rule_changes_the_rows_as_it_changes_maps(visits, rule):
    """A rule gives the same rows, applied to columns or to one map after the other with equal ones joined."""
    columns = columns_of(visits)
    before = told(columns)
    changed = [rule.apply(values) if rule.matches(values) else values for values, *_ in before]
    expected = one_by_one(changed, *zip(*[row[1:] for row in before], strict=True))

    columns.apply(rule)

    assert told(columns) == expected
    assert columns.hashes.tolist() == [map_hash(values) for values, *_ in expected]
    for key, column in columns.columns.items():
        written = [column.values[number] if number >= 0 else "missing" for number in column.numbers]
        assert written == [values.get(key, "missing") for values, *_ in expected]


def test_rare_keys_have_no_column_and_still_tell_urls_apart():
    """
    A stranger's site has a new key in each URL. The frequent keys have columns, and a rule about one of these joins
    URLs with the same rare key only.
    """
    urls = [f"http://{HOST}/t?sid={n}&k{n // 2}=v" for n in range(4 * MAX_KEYS)]
    columns = UrlColumns(HOST, urls, [n // 2 for n in range(len(urls))])
    assert len(columns.columns) == MAX_KEYS
    assert {"scheme", "path[0]", "query[sid]"} <= columns.columns.keys()
    assert not columns.matching(Rule(HOST, {f"query[k{2 * MAX_KEYS - 1}]": ANY}, {"query[sid]": Drop()})).any()

    columns.apply(Rule(HOST, {"query[sid]": ANY}, {"query[sid]": Drop()}))

    assert columns.clusters.tolist() == [*range(2 * MAX_KEYS)]
    assert columns.hashes.tolist() == [map_hash(columns.row(row)) for row in range(len(columns))]


@given(crawls, host_rules)
def test_columns_of_some_keys_change_as_those_of_all(visits, rule):
    """A rule about keys with a column gives the same rows, whichever other keys have none."""
    every = columns_of(visits)
    keys = {*rule.context, *rule.transformation, *rule.absent, *rule.copied, *rule.behind_dropped}
    n_of_key = Counter(key for url, _ in visits for key in values_of(url))
    known = sorted(n_of_key, key=lambda key: (-n_of_key[key], key))
    n_kept = max((place + 1 for place, key in enumerate(known) if key in keys), default=0)
    with patch.object(columns_module, "MAX_KEYS", n_kept):
        some = columns_of(visits)

    assert some.columns.keys() == set(known[:n_kept])
    for each in (every, some):
        each.apply(rule)
    assert told(some) == told(every)
