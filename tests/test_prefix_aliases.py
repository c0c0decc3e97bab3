"""Folder aliases: two names of one folder."""

from dedup_crawler.methods.verified import Verified
from dedup_crawler.rules.learning.columns import UrlColumns
from dedup_crawler.rules.learning.joins import prefix_aliases

HOST = "http://files.example"


def mirrored(n_files, aliases=("/pub/mirrors/", "/mirror/")):
    """Return URLs and pages: files at three depths under both names, and as many under one name."""
    urls, pages = [], []
    for n in range(n_files):
        below = "/".join([f"package{n}", f"release{n % 7}", f"file{n}.txt"][-1 - n % 3 :])
        for start in aliases:
            urls.append(f"{HOST}{start}{below}")
            pages.append(n)
        urls.append(f"{HOST}/docs/{below}")
        pages.append(10_000 + n)
    return urls, pages


def proposed(urls, pages):
    columns = UrlColumns("files.example", urls, pages)
    return [(rule.old, rule.new) for rule in prefix_aliases(columns)]


def test_the_longer_start_becomes_the_shorter():
    """For any path below, at any depth; a home folder keeps its tilde."""
    assert proposed(*mirrored(30)) == [("/pub/mirrors/", "/mirror/")]
    assert proposed(*mirrored(30, ("/people/", "/~"))) == [("/people/", "/~")]


def test_a_few_pages_propose_nothing():
    """Seven files that are equal by chance are no alias."""
    assert proposed(*mirrored(7)) == []


def test_an_alias_is_learnt_at_every_depth_and_nothing_else_moves(tmp_path):
    """The rule holds one level deeper than seen, survives saving, and leaves the rest of the site unchanged."""
    urls, pages = mirrored(120)
    method = Verified().fit(urls, pages)
    method = Verified.load(method.save(tmp_path / "model"))
    deep = "/a/b/c/d/e.txt"

    assert method.canonicalize(f"{HOST}/pub/mirrors{deep}") == f"{HOST}/mirror{deep}"
    assert method.canonicalize(f"{HOST}/docs{deep}") == f"{HOST}/docs{deep}"
    assert method.canonicalize(f"{HOST}/x/pub/mirrors{deep}") == f"{HOST}/x/pub/mirrors{deep}"
    assert any("/pub/mirrors/" in line for line in method.learnt())


def test_an_alias_that_is_often_wrong_is_not_believed():
    """Every third file differs between the two names."""
    urls, pages = mirrored(120)
    pages = [page + 5_000 if "/pub/" in url and page % 3 == 0 else page for url, page in zip(urls, pages, strict=True)]
    form = Verified().fit(urls, pages).canonicalize(f"{HOST}/pub/mirrors/x.txt")

    assert form == f"{HOST}/pub/mirrors/x.txt"
