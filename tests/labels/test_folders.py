"""Folders with two addresses whose pages print their own address: joined if all pages below are alike, else apart."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dedup_crawler.labels.clusters import MIN_CONTENTS, cluster_pages
from dedup_crawler.labels.layout import address_free
from dedup_crawler.labels.lines import lines_of
from dedup_crawler.pages.records import LabelledPage
from label_pages import SITE, page


def listing(path: str, n: int) -> LabelledPage:
    """Return a folder's list of files with the folder's name; *n* distinguishes its content."""
    address = f"/{path.rstrip('/')}"
    files = "\n".join(f"file{n}-{name}.txt\n2026-01-{name + 10} 10:00\n{n}{name}k" for name in range(4))
    return page(path, f"Index of {address}\nName Last modified Size\n{files}", title=f"Index of {address}")


def two_folders(
    n_pages: int, n_unlike: int = 0, one: str = "mirror/", other: str = "pub/mirrors/"
) -> list[LabelledPage]:
    """Return the same lists below two folders, except for some that differ."""
    pages = [listing(f"{one}d{n}/", n) for n in range(n_pages)]
    return pages + [listing(f"{other}d{n}/", n if n >= n_unlike else -1 - n) for n in range(n_pages)]


def n_clusters(pages: list[LabelledPage]) -> int:
    return len(set(cluster_pages(lambda: pages).numbers()))


def test_a_folder_with_two_addresses() -> None:
    """Enough different lists, each the same below both folders except for the printed address, are joined."""
    pages = two_folders(MIN_CONTENTS)

    clustering = cluster_pages(lambda: pages)

    numbers = clustering.numbers()
    assert numbers[:MIN_CONTENTS] == numbers[MIN_CONTENTS:] == list(range(MIN_CONTENTS))
    (step,) = clustering.explain(0, MIN_CONTENTS)
    assert step.reason == "the same but for the page's own address, and so is all below /mirror/ and /pub/mirrors/"


@pytest.mark.parametrize(
    ("pages", "expected"),
    [
        # two packages of one source have some lists in common
        (two_folders(MIN_CONTENTS - 1), 2 * (MIN_CONTENTS - 1)),
        # two versions of one tree: most lists are equal, some are not, so none is joined
        (two_folders(2 * MIN_CONTENTS, n_unlike=6), 4 * MIN_CONTENTS),
        # a page that changed between two fetches stays apart and hinders nothing
        (two_folders(2 * MIN_CONTENTS, n_unlike=1), 2 * MIN_CONTENTS + 1),
        # a folder alias may end inside a path component: ``/~anna/`` is ``/people/anna/``
        (two_folders(MIN_CONTENTS, one="~", other="people/"), MIN_CONTENTS),
    ],
)
def test_how_much_evidence_is_needed(pages: list[LabelledPage], expected: int) -> None:
    """Folders are two addresses of one if nearly all of their lists are equal, and these are enough."""
    assert n_clusters(pages) == expected


def test_the_same_content_everywhere_is_one_piece_of_evidence() -> None:
    """Any number of ``/a/x was not found`` and ``/b/x was not found`` are no evidence about the folders."""
    pages = [
        page(f"{folder}/d{n}", f"The address /{folder}/d{n} was not found on this server, sorry.", title="Not found")
        for folder in ("a", "b")
        for n in range(3 * MIN_CONTENTS)
    ]

    assert n_clusters(pages) == 6 * MIN_CONTENTS


def test_orders_of_one_list_count_once() -> None:
    """The links that sort a list show it in other orders, which do not make two lists a folder."""
    pages = []
    for folder in ("one", "other"):
        for n in range(4):
            pages += [listing(f"{folder}/d{n}/?order={order}", 10 * n + order) for order in range(MIN_CONTENTS)]

    assert n_clusters(pages) == len(pages)


def test_other_hosts_are_other_sites() -> None:
    """The same addresses on another host prove nothing for this one."""
    pages = two_folders(MIN_CONTENTS)
    elsewhere = [replace(each, url=each.url.replace(SITE, "http://other.example/")) for each in pages[MIN_CONTENTS:]]

    assert n_clusters(pages[:MIN_CONTENTS] + elsewhere) == 2 * MIN_CONTENTS


def test_two_hosts_with_the_same_folders() -> None:
    """Two hosts, such as with and without ``www``, have the same two folders: neither hinders the other."""
    pages = two_folders(MIN_CONTENTS)
    elsewhere = [replace(each, url=each.url.replace(SITE, "http://other.example/")) for each in pages]

    assert n_clusters(pages) == MIN_CONTENTS
    assert n_clusters(pages + elsewhere) == n_clusters(pages)


def free(each: LabelledPage) -> int | None:
    return address_free(each, lines_of(each))


def test_the_address_is_masked_as_a_whole_word() -> None:
    """Escapes are decoded, longer words do not match, and a page without its address has none."""
    assert free(page("a%20b/", "Index of /a b")) == free(page("c", "Index of /c"))
    assert free(page("mirror", "/mirrors are folders")) is None
    assert free(page("", "Index of /")) is None
    assert free(page("x?y=/x", "in /x/1")) == free(page("z", "in /z/1"))
