"""Hypotheses about the URLs of a host."""

from dedup_crawler.rules.learning.columns import UrlColumns
from dedup_crawler.rules.learning.hypotheses import MIN_URLS, STAGES, hypotheses
from planted_visits import HOST, numbered


def asked(*paths):
    return {str(each.rule).partition(": ")[2]: each for each in hypotheses(UrlColumns(HOST, *numbered(pages(paths))))}


def pages(paths):
    return list(enumerate(paths))


def test_keys_of_the_query_are_asked_about_first():
    """Whole values of single keys; repeated keys also as bag and as set."""
    found = asked(*[f"/?sid={n}" for n in range(10)], *[f"/?f={n}&f={n + 1}" for n in range(10)])

    assert found["where query[sid] is there and no query[sid]#2: drop query[sid]"].key == "query[sid]"
    assert found["where query[f] is there and no query[f]#2: drop query[f]"].stage == 0
    assert {
        "where query[f]#2 is there: sort query[f]",
        "where query[f]#2 is there: sort query[f], each value once",
    } <= set(found)
    assert not any("sort query[sid]" in name for name in found)


def test_parts_of_the_path_are_asked_about():
    """Each part that varies, the last one of a length, the slash and the extension."""
    found = asked(*[f"/topic/{n}-title.html" for n in range(10)], *[f"/topic/{n}/" for n in range(10)])

    assert "where path[1] is there: ignore path[1]" in found
    assert "where path[0] is there: ignore path[0]" not in found
    assert "where path.length = '2': set path.length to '1', drop path[1]" in found
    assert "where slash is there: drop slash" in found
    assert "where ext is there: drop ext" in found


def test_pieces_come_last():
    """Parts of a value are tried after all hypotheses about whole values."""
    found = asked(*[f"/topic/{n}-title" for n in range(10)])
    cuts = [each for name, each in found.items() if ": cut path[1]" in name]

    assert len(cuts) == 4  # before and after the first and the last delimiter
    assert {each.stage for each in cuts} == {STAGES - 1}


def test_what_few_urls_have_is_not_asked_about():
    """Seven URLs with a key are too few."""
    plain = [f"/{n}" for n in range(20)]

    assert not any("sid" in name for name in asked(*plain, *[f"/?sid={n}" for n in range(MIN_URLS - 1)]))
    assert any("sid" in name for name in asked(*plain, *[f"/?sid={n}" for n in range(MIN_URLS)]))


def test_http_may_be_https():
    """Tried if both were seen."""
    urls = [f"http://{HOST}/{n}" for n in range(10)]
    names = [str(each.rule) for each in hypotheses(UrlColumns(HOST, [*urls, f"https://{HOST}/1"], range(11)))]

    assert any("set scheme to 'https'" in name for name in names)
    assert not any("scheme" in str(each.rule) for each in hypotheses(UrlColumns(HOST, urls, range(10))))
