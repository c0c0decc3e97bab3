"""Decoration: names that pages print on themselves, lines that only look like names, and frequent items of a stream."""

from __future__ import annotations

import pytest

from dedup_crawler.labels.layout import ArgumentKinds, SiteLayout, arguments, name_forms
from dedup_crawler.labels.lines import lines_of
from dedup_crawler.labels.signatures import SitePages
from dedup_crawler.pages.records import LabelledPage
from label_pages import SITE, page, wiki


def learnt(pages: list[LabelledPage]) -> SiteLayout:
    return SitePages(lambda: pages).layout


def content(layout: SiteLayout, each: LabelledPage) -> list[str]:
    lines = lines_of(each)
    decoration = layout.decoration(each.url, lines)
    return [line for index, line in enumerate(lines) if index not in decoration]


def plain_title(layout: SiteLayout, each: LabelledPage) -> str | None:
    return layout.names(each.url).plain_title(each.title)


def test_label_and_footer_are_decoration() -> None:
    """The line with the page's name, and the one that names its file and its last change, are left out."""
    pages = wiki()
    layout = learnt(pages)

    assert layout.naming_keys == {"id"}
    assert content(layout, pages[1]) == ["Give your user name and your password to log in to this wiki."]
    assert content(layout, pages[4]) == ["The files that were uploaded to a folder", "Files in folder0"]


def test_a_name_that_stands_twice_is_decoration_once() -> None:
    """A label with the words of a list entry does not remove the entry."""
    pages = wiki()
    layout = learnt(pages)
    tree = page("wiki?id=start", "start\nabout\nstart\nother", title="Tree")

    assert content(layout, tree) == ["about", "start", "other"]


def test_masks_whole_words_only() -> None:
    """A page called "start" does not make "restart" decoration, nor is its title masked."""
    pages = [*wiki(), page("wiki?id=start", "restart\nstart", title="How to restart [Wiki]")]
    layout = learnt(pages)

    assert content(layout, pages[-1]) == ["restart"]
    assert plain_title(layout, pages[-1]) is None
    assert plain_title(layout, pages[0]) == plain_title(layout, pages[5])


def test_choices_and_open_keys() -> None:
    """A key with few values on many pages is a choice; one with many values is open; in between it is neither."""
    kinds = ArgumentKinds()
    for n in range(200):
        kinds.add([("do", ("edit", "login", "diff", "media")[n % 4]), ("id", str(n)), ("part", str(n % 25))])
    for n in range(10):
        kinds.add([("rare", str(n))])

    assert [kinds.is_choice(key) for key in ("do", "id", "part", "rare")] == [True, False, True, False]
    assert [kinds.is_open(key) for key in ("do", "id", "part", "rare")] == [False, True, False, False]


@pytest.mark.parametrize(
    ("url", "found"),
    [
        (SITE, ()),
        (SITE + "a?x=1&x=%3A&y=#z=1", (("x", "1"), ("x", ":"), ("y", ""))),
        (SITE + "a?" + "x&" * 200, ()),
        ("a?%ff=%00", (("\ufffd", "\0"),)),
    ],
)
def test_arguments(url: str, found: list[tuple[str, str]]) -> None:
    """Keys and values are decoded, empty and repeated ones kept; an invalid query gives nothing."""
    assert arguments(url) == (found, url.partition("?")[0])


def test_spellings() -> None:
    """A name may be written as a path; single characters do not count as names."""
    assert name_forms("a:b") == {"a:b", "a/b"}
    assert name_forms("7") == set()
