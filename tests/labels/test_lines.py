"""Lines of pages: their words and times, and comparison of two lists of lines."""

from __future__ import annotations

import calendar

import pytest

from dedup_crawler.labels.clusters import is_near
from dedup_crawler.labels.lines import WHEN, is_reordered, lines_of, masked_clock, n_words
from dedup_crawler.labels.signatures import Signature, SitePages
from label_pages import LONG, TEXT, page


def signature(text: str) -> Signature:
    return SitePages(lambda: [page("a", text)]).signatures[0]


def test_words_of_a_line() -> None:
    """Runs of letters, digits and underscores in any script."""
    assert n_words("It's 42 - été_1!\nЯ") == 5


def test_times_from_now_as_frameworks_write_them() -> None:
    """Django, Rails and shops of all kinds print them differently, some right behind a name; a line stays a line."""
    for left, right in (
        ("Anna5 minutes ago", "Anna7 minutes ago"),
        ("2\xa0days, 3\xa0hours ago", "4 weeks ago"),
        ("Added over 1 year ago", "Added almost 2 years ago"),
        ("posted about an hour ago", "posted less than a minute ago"),
        ("seen 5m ago", "seen a few seconds ago"),
        ("online just now", "online 1 hour and 5 mins ago"),
    ):
        assert lines_of(page("a", left)) == lines_of(page("b", right)), left
    for kept in (
        "Chicago is 5 days agora",
        "long ago",
        "5 minutes before",
        "at 10:07",
        "since 5 minutes\nago is a word",
    ):
        assert lines_of(page("a", kept)) == kept.split("\n")


LINES = LONG.split("\n")


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        # one or two lines with another number in 300 words are the same page
        (LONG, LONG, True),
        (LONG + "\nviews 17", LONG + "\nviews 18", True),
        (LONG + "\n17\nno", LONG + "\n18\n2", True),
        # more than 2 % of the words, more than two changed lines, or an entry more in a list are another page
        (LONG + "\nsome words about this thing", LONG + "\nother words about that thing", False),
        ("\n".join(["new", "newer", "newest", *LINES]), "\n".join(["old", "older", "oldest", *LINES]), False),
        (LONG, LONG + "\nentry", False),
        (LONG, TEXT, False),
    ],
)
def test_nearly_equal_pages(left: str, right: str, expected: bool) -> None:
    """A page with another counter is the same page."""
    assert is_near(signature(left), signature(right)) == expected


def test_a_sorted_table_is_reordered() -> None:
    """Three rows by name and by size are one list in two orders; one moved line shows another branch of a tree."""
    rows = ["Files", "a", "30", "b", "10", "c", "20", "end"]

    assert is_reordered(rows, ["Files", "b", "10", "c", "20", "a", "30", "end"])
    assert not is_reordered(["x", "mark", "a", "b", "end"], ["x", "a", "b", "mark", "end"])
    assert not is_reordered(["a", "b", "mark"], ["mark", "a", "b"])


@pytest.mark.parametrize("day", ["3", "3rd", "21st", "05"])
@pytest.mark.parametrize("month", [*calendar.month_name[1:], *calendar.month_abbr[1:], "Sept", "Feb."])
def test_dates_of_all_months(month: str, day: str) -> None:
    """In digits, or with each name and abbreviation of a month, before and after the day, and with the year."""
    named = (f"{day} {month}", f"{day}-{month}", f"{month} {day}", f"{day} {month} 2026", f"{month} {day}, 2026")
    for date in (*named, f"{day}-{month}-2026", "2026-11-28", "28/11/2026"):
        assert masked_clock(f"Written {date}, by Anna") == (f"Written {WHEN}, by Anna", True)


@pytest.mark.parametrize("text", ["November 2026", "2 marches", "page 7 mayor", "in May", "12 decisions", "Mark 3"])
def test_months_without_a_day_and_other_words_are_no_dates(text: str) -> None:
    """The name of a month alone names an archive, say."""
    assert masked_clock(text) == (text, False)
