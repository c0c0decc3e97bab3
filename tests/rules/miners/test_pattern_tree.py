"""The pattern tree of WWW'10, and the columns of numbers in which it counts."""

import random
import re
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedup_crawler.methods.miners import PatternTree
from dedup_crawler.rules.language.operations import Copy, Drop, Set, Star
from dedup_crawler.rules.language.rule import Rule
from dedup_crawler.rules.miners import node_rules
from dedup_crawler.rules.miners.mapped_crawl import MISSING
from dedup_crawler.rules.miners.pattern_tree import ANY_DIGITS, ANY_HEX, Node, build_tree, key_columns, salient
from dedup_crawler.rules.miners.selection import _energy, chained
from dedup_crawler.urls.keyvalue import KEY_VALUES
from planted_site import HOST

WORDS = [
    f"{a}{b}{c}" for a in ("ba", "do", "ki", "lu", "me") for b in ("ran", "tos", "vip") for c in ("na", "ze", "wo")
]


def synthetic_site(n_pages=200, seed=0):
    """Nine kinds of URLs; ``archive0`` to ``archive4`` are mirrors, session id and number of results are noise."""
    draw = random.Random(seed)
    visits = []
    for page in range(1000, 1000 + n_pages):
        visits += [(("view", page), f"/view.php?id={page}")]
        visits += [(("view", page), f"/view.php?id={page}&sid={draw.getrandbits(64):016x}")]
        if page % 2:
            visits += [(("archive", page), f"/archive{m}/display.php?pageid={page}") for m in draw.sample(range(5), 2)]
        else:
            visits += [(("archive", page), f"/archive{page % 5}/display.php?pageid={page}")]
        visits += [(("user", page), f"/user/{page}"), (("posts", page), f"/user/{page}/posts")]
        visits += [(("friends", page), f"/user/{page}/friends")]
    for word in WORDS:
        for more in WORDS[:5]:
            visits += [(("news", word, more), f"/news/{word}-{more}")]
            visits += [(("search", word, more), f"/search?q={word}{more}")]
            visits += [(("search", word, more), f"/search?q={word}{more}&n={draw.randint(10, 90)}")]
    draw.shuffle(visits)
    return visits


def fit(visits, **options):
    numbers = {page: number for number, page in enumerate(dict.fromkeys(page for page, _ in visits))}
    return PatternTree(**options).fit([HOST + rest for _, rest in visits], [numbers[page] for page, _ in visits])


def test_the_nine_intended_leaves():
    """The mirrors share one leaf; the sign of the paper's equation 5 would separate them."""
    visits = synthetic_site()
    root = build_tree([KEY_VALUES.read(rest, "http") for _, rest in visits])

    kinds = []
    for leaf in (node for node in root.walk() if not node.children):
        kinds.append({"".join("0" if c.isdigit() else c for c in visits[place][1])[:9] for place in leaf.places})
        assert len({tuple(sorted(KEY_VALUES.read(visits[p][1], "http"))) for p in leaf.places}) == 1

    assert len(kinds) == 9
    assert sum(kind == {"/archive0"} for kind in kinds) == 1


@pytest.mark.parametrize("selection", ["graph", "naive"])
def test_the_synthetic_site_gets_one_form_per_page(selection):
    """Also for new pages; no two pages share a form."""
    visits = synthetic_site()
    method = fit(visits, selection=selection)
    new = synthetic_site(n_pages=230, seed=1)

    pages_of = {}
    for page, rest in new:
        pages_of.setdefault(method.canonicalize(HOST + rest), set()).add(page)

    assert all(len(pages) == 1 for pages in pages_of.values())
    assert len(pages_of) == len({page for page, _ in new})
    assert len(method.engine_.rules) < 8


def test_the_largest_drop_parts_salient_from_trivial():
    """One frequent value is salient, equal ones are not, two large ones are; a rare value never is."""
    assert salient(Counter(a=7), 7) == {"a"}
    assert salient(Counter(a=9, b=9, c=9), 27) == set()
    assert salient(Counter(a=90, b=30), 120) == {"a", "b"}
    assert salient(Counter(a=90, b=3), 93) == {"a"}
    assert salient(Counter(a=900, b=800, c=9, d=8, e=7), 1724) == {"a", "b"}
    assert salient(Counter(a=31, b=30, c=26, d=24), 111) == set()  # about equal is equal
    assert salient(Counter(a=4, b=1, c=1), 6) == set()


def test_the_papers_overlap_threshold_rejects_true_rules(monkeypatch):
    """Half of the archive pages have one URL: 0.5 is not reached, though mirrors never matter; ten pages suffice."""
    visits = synthetic_site()
    mirrors = [f"{HOST}/archive{m}/display.php?pageid=1234" for m in range(5)]
    assert len(set(fit(visits).canonicalize_many(mirrors))) == 1

    monkeypatch.setattr(node_rules, "_MIN_CLUSTERS", 10**9)  # leaves the threshold as printed
    assert len(set(fit(visits).canonicalize_many(mirrors))) == 5


def test_keys_are_mapped_page_by_page():
    """Columns of small numbers share all values; only the pages show which key corresponds to which."""
    visits = [
        ((i, j), rest) for i in range(1, 13) for j in range(1, 13) for rest in (f"/a?x={i}&y={j}", f"/b?u={j}&w={i}")
    ]
    method = fit(visits)

    assert method.canonicalize(f"{HOST}/a?x=50&y=60") == method.canonicalize(f"{HOST}/b?u=60&w=50")
    assert method.canonicalize(f"{HOST}/a?x=50&y=60") != method.canonicalize(f"{HOST}/b?u=50&w=60")


def test_the_walk_loses_no_energy_and_circles_do_not_oscillate():
    """As printed, a node without edges would lose all its pages, and two nodes that point to each other would swap."""
    nodes = [Node(list(range(n)), {}, frozenset()) for n in (30, 10, 5, 50)]
    sink = _energy(nodes[:3], {0: {1: None}, 2: {1: None}})
    circle = _energy(nodes, {0: {3: None}, 3: {0: None}})

    assert [round(energy, 6) for energy in sink] == [0, 45, 0]
    assert [round(energy, 6) for energy in circle] == [40, 10, 5, 40]


def test_chains_become_direct_rules():
    """The second rule copies a value that the first one wrote."""
    first = Rule("a", {}, {"query[id]": Copy("path[1]"), "query[v]": Set("1"), "path[1]": Drop(), "query[s]": Star()})
    second = Rule("a", {}, {"path[0]": Copy("query[id]"), "query[v]": Star(), "query[t]": Copy("query[s]")})

    assert chained(first, second).transformation == {
        "query[id]": Copy("path[1]"),
        "query[v]": Set("*"),
        "path[1]": Drop(),
        "query[s]": Star(),
        "path[0]": Copy("path[1]"),
        "query[t]": Set("*"),
    }
    assert chained(first, Rule("a", {}, {"path[0]": Copy("path[1]")})) is None


def test_a_stricter_filter_never_gives_more_wrong_pairs():
    """With half of the pages labelled wrongly no rule passes a filter of zero."""
    visits = [((page, draw % 2), rest) for draw, (page, rest) in enumerate(synthetic_site())]

    assert fit(visits, max_fpr=0.0).engine_.rules == []


def test_shuffled_clusters_teach_nothing():
    """Random labels give no rules."""
    visits = synthetic_site()
    pages = [page for page, _ in visits]
    random.Random(3).shuffle(pages)

    assert fit([(page, rest) for page, (_, rest) in zip(pages, visits, strict=True)]).engine_.rules == []


values = st.sampled_from(["", "7", "12345678", "cafe", "cafe0123beef", "CAFE0123BEEF", "word", "a-b", None])
maps = st.lists(st.dictionaries(st.sampled_from(["query[a]", "query[b]", "path[0]", "ext"]), values), max_size=40)


@given(maps, st.data())
def test_a_column_says_what_the_maps_say(crawl, data):
    """For any maps and places: each value has one number, and a missing key 0; rare keys have another storage."""
    crawl += [{}] * data.draw(st.sampled_from([0, 700]))
    columns = key_columns(crawl)

    assert columns.keys() == {key for values in crawl for key in values}
    for key, column in columns.items():
        assert len(set(column.values)) == len(column.values)
        places = data.draw(st.lists(st.integers(0, len(crawl) - 1), max_size=20))
        numbers = column.of(np.array(places, np.int32))
        assert [column.values[number] for number in numbers] == [crawl[place].get(key, MISSING) for place in places]
        assert column.n_having == sum(key in values for values in crawl)


@given(maps)
def test_classes_are_those_of_the_texts(crawl):
    """Numbers are numbers, hexadecimal strings have at least 8 characters, and a missing value has no class."""
    for column in key_columns(crawl).values():
        for value, *masks, pool in zip(column.values, *column.masks.values(), column.pools, strict=True):
            is_digits, is_hex = masks
            text = value if value not in (None, MISSING) else ""
            assert is_digits == bool(re.fullmatch("[0-9]+", text))
            long_hex = bool(is_hex) and len(text) >= 8
            assert pool == (ANY_DIGITS if is_digits else ANY_HEX if long_hex else 0)
            assert not is_hex or re.fullmatch("[0-9A-Fa-f]+", text)
