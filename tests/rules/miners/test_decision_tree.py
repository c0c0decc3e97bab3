"""The decision-tree approach of WSDM'10."""

from dedup_crawler.methods import load_model
from dedup_crawler.methods.miners import DecisionTree
from dedup_crawler.rules.language.matchers import Literal, NoneOf
from dedup_crawler.rules.language.operations import Drop, Star
from dedup_crawler.rules.miners.decision_tree import Cluster, TreeRow, rules_of_rows
from dedup_crawler.urls.keyvalue import KEY_VALUES
from planted_site import HOST, session_ids, slugs

STAY = frozenset()
DROP_ID = frozenset({("query[id]", Drop())})


def test_a_context_is_the_path_of_tests_to_a_leaf():
    """``id`` is dropped only if ``do`` is ``login``; a key with a value for every row is no condition."""
    rows = [
        TreeRow({"query[do]": do, "query[id]": f"{do}{i}"}, DROP_ID if do == "login" else STAY)
        for do in ("login", "edit", "show")
        for i in range(40)
    ]

    (leaf,) = rules_of_rows("forum.example", rows, "")

    assert (leaf.context, leaf.absent) == ({"query[do]": Literal("login")}, frozenset())
    assert leaf.transformation == dict(DROP_ID)


def test_a_missing_key_and_rare_values_are_branches_too():
    """Rows without the key, or with the frequent value, stay; the pooled rest takes any other value."""
    rows = [TreeRow({"query[v]": f"x{i}"}, DROP_ID) for i in range(60)]
    rows += [TreeRow({"query[v]": "keep"}, STAY)] * 60 + [TreeRow({}, STAY)] * 60

    (leaf,) = rules_of_rows("forum.example", rows, "")

    assert leaf.context == {"query[v]": NoneOf(frozenset({"keep"}))}


def test_an_impure_leaf_gives_no_rule():
    """Half of the rows drop the id, half do not, and no key separates them."""
    rows = [TreeRow({"query[id]": "1"}, DROP_ID if i % 2 else STAY) for i in range(100)]

    assert list(rules_of_rows("forum.example", rows, "")) == []


def rows_of(maps, cluster=0):
    return Cluster(cluster, maps, votes={}, constants=frozenset()).rows(seed=0)


def test_the_stage_of_a_cluster_is_a_pure_function():
    """Two calls with a key and its values give the same rows, independent of other clusters: MapReduce."""
    maps = [KEY_VALUES.read(f"/t/7?sid={i}", "http") for i in range(50)]
    first = rows_of(maps, cluster=7)
    rows_of(maps, cluster=8)

    assert rows_of(maps, cluster=7) == first
    assert len(first) == 11  # ten sources of one shape, and the target


def test_the_order_of_clusters_does_not_matter():
    """The same crawl in any order of clusters gives the same rules."""
    crawl = session_ids(n_visits=30)
    there = DecisionTree().fit(crawl.urls, crawl.clusters).engine_.rules
    places = sorted(range(len(crawl.urls)), key=lambda place: -crawl.clusters[place])
    back = DecisionTree().fit([crawl.urls[p] for p in places], [crawl.clusters[p] for p in places]).engine_.rules

    assert set(map(str, there)) == set(map(str, back))


def test_a_cluster_has_one_target_and_it_stays():
    """The URL without a query is the target; useless values of sources and target are dropped."""
    maps = [KEY_VALUES.read(rest, "http") for rest in ("/t/7?sid=a", "/t/7", "/t/7?sid=b&page=1")]
    rows = rows_of(maps)

    drop = frozenset({("query[sid]", Drop())})
    assert rows[0] == (maps[0], drop)
    assert rows[-1] == (maps[1], STAY)

    rows = rows_of([maps[0], KEY_VALUES.read("/t/7?sid=c", "http")])
    assert [row.transformation for row in rows] == [frozenset({("query[sid]", Star())})] * 2


def test_slugs_behind_an_id_in_one_component(tmp_path):
    """``/7-title`` is ``/7``: a rule about a part of a value, which survives saving."""
    crawl = slugs()
    asked = [(u, page) for u, page in zip(crawl.urls, crawl.clusters, strict=True) if "/questions/" in u]
    urls = ["-".join(url.rsplit("/", 1)) if url.count("/") == 5 else url for url, _ in asked]
    method = DecisionTree().fit(urls, [page for _, page in asked])
    loaded = load_model(method.save(tmp_path / "model"))

    for model in (method, loaded):
        assert model.canonicalize(f"{HOST}/questions/999-how-to") == f"{HOST}/questions/999"
