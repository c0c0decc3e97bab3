"""Labelled pages made by hand, for the tests of the labellers."""

from __future__ import annotations

from collections.abc import Sequence

from dedup_crawler.labels.published import fingerprint
from dedup_crawler.pages.records import LabelledPage

SITE = "http://site.example/"
TEXT = "a text of ten words says enough to compare by"
LONG = "\n".join(" ".join(f"word{line}x{n}" for n in range(20)) for line in range(15))


def page(path: str, text: str = "", *, title: str = "Title", status: int = 200, to: str | None = None) -> LabelledPage:
    return LabelledPage(SITE + path, SITE, status, to and SITE + to, title, text, fingerprint(text), None)


def redirect(path: str, to: str) -> LabelledPage:
    return page(path, title="", status=302, to=to)


def wiki(n_pages: int = 80) -> list[LabelledPage]:
    """Return a wiki that prints the page's name on every page: text, edit, log-in, folder and backlink pages.

    The log-in page is one page; each page has its own edit and backlink page, which differ only in the name; folder
    pages are one per folder, from whichever page they are opened.
    """
    pages = []
    for n in range(n_pages):
        name, author = f"chapter:page{n}", ("anna", "bob")[n % 2]
        frame = f"{name}\n{{}}\nchapter/page{n}.txt · changed 2026/01/{n % 28 + 1:02} 10:{n % 60:02} by {author}"
        folder = f"folder{n % 35}"
        contents = {
            "": (name, f"Text of number {n} in its own words and no others, all about the thing with the number {n}."),
            "&do=login": ("Log in", "Give your user name and your password to log in to this wiki."),
            "&do=edit": (name, "This page is read only. You can view the source, but not change it. Ask your admin."),
            "&do=links": (name, "These are the pages that link back to this page.\nchapter:start"),
            f"&do=media&ns={folder}": (name, f"The files that were uploaded to a folder\nFiles in {folder}"),
        }
        for query, (title, text) in contents.items():
            pages.append(page(f"wiki?id={name}{query}", frame.format(text), title=f"{title} [Wiki]"))
    return pages


def groups(pages: Sequence[LabelledPage], numbers: Sequence[int], part: str) -> set[frozenset[str]]:
    """Return the clusters, as sets of URLs, of the pages whose URL contains *part*."""
    found: dict[int, set[str]] = {}
    for each, number in zip(pages, numbers, strict=True):
        if part in each.url:
            found.setdefault(number, set()).add(each.url)
    return {frozenset(urls) for urls in found.values()}
