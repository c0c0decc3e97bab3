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


def are_near(left: str, right: str) -> bool:
    return is_near(signature(left), signature(right))


def test_words_of_a_line() -> None:
    """Runs of letters, digits and underscores in any script."""
    assert n_words("It's 42 - été_1!\nЯ") == 5


def test_times_from_now_stay_in_their_line() -> None:
    """A line that ends in a number of minutes and one that starts with "ago" stay two lines."""
    assert lines_of(page("a", "since 5 minutes\nago is a word\n5 minutes ago")) == [
        "since 5 minutes",
        "ago is a word",
        "\2",
    ]


def test_times_from_now_as_frameworks_write_them() -> None:
    """Django, Rails and shops of all kinds print them differently, some right behind a name."""
    for left, right in (
        ("Anna5 minutes ago", "Anna7 minutes ago"),
        ("2\xa0days, 3\xa0hours ago", "4 weeks ago"),
        ("Added over 1 year ago", "Added almost 2 years ago"),
        ("posted about an hour ago", "posted less than a minute ago"),
        ("seen 5m ago", "seen a few seconds ago"),
        ("online just now", "online 1 hour and 5 mins ago"),
    ):
        assert lines_of(page("a", left)) == lines_of(page("b", right)), left
    for kept in ("Chicago is 5 days agora", "long ago", "5 minutes before"):
        assert lines_of(page("a", kept)) == [kept]


def test_nearly_equal_pages() -> None:
    """One or two lines with another number in 300 words are the same page."""
    assert are_near(LONG + "\nviews 17", LONG + "\nviews 18")
    assert are_near(LONG + "\n17\nno", LONG + "\n18\n2")
    assert are_near(LONG, LONG)


def test_too_many_differences_make_another_page() -> None:
    """More than 2 % of the words, or more than two changed lines, or an entry more in a list, are another page."""
    lines = LONG.split("\n")

    assert not are_near(LONG + "\nsome words about this thing", LONG + "\nother words about that thing")
    assert not are_near("\n".join(["new", "newer", "newest", *lines]), "\n".join(["old", "older", "oldest", *lines]))
    assert not are_near(LONG, LONG + "\nentry")
    assert not are_near(LONG, TEXT)


def test_a_sorted_table_is_reordered() -> None:
    """Three rows of name and size, by name and by size, are one list in two orders."""
    rows = ["Files", "a", "30", "b", "10", "c", "20", "end"]

    assert is_reordered(rows, ["Files", "b", "10", "c", "20", "a", "30", "end"])


def test_one_moved_line_is_not_a_reordering() -> None:
    """A mark at another place says which branch of a tree is open: another page."""
    assert not is_reordered(["x", "mark", "a", "b", "end"], ["x", "a", "b", "mark", "end"])
    assert not is_reordered(["a", "b", "mark"], ["mark", "a", "b"])


@pytest.mark.parametrize(
    "date",
    ["2026-11-28", "28/11/2026", "28 Nov", "28 Nov 2026", "28-Nov-2026", "28 November", "March 5", "Sept. 4th, 2026"],
)
def test_dates_with_a_day(date: str) -> None:
    """In digits or with the English name of the month, with or without the year."""
    assert masked_clock(f"Written on {date} by Anna") == f"Written on {WHEN} by Anna"


@pytest.mark.parametrize("day", ["3", "3rd", "21st", "05"])
@pytest.mark.parametrize("month", [*calendar.month_name[1:], *calendar.month_abbr[1:], "Sept", "Feb."])
def test_dates_of_all_months(month: str, day: str) -> None:
    """Each name and abbreviation, before and after the day."""
    for date in (f"{day} {month}", f"{day}-{month}", f"{month} {day}", f"{day} {month} 2026", f"{month} {day}, 2026"):
        assert masked_clock(f"Written {date}, by Anna") == f"Written {WHEN}, by Anna"


@pytest.mark.parametrize("text", ["November 2026", "2 marches", "page 7 mayor", "in May", "12 decisions", "Mark 3"])
def test_months_without_a_day_and_other_words_are_no_dates(text: str) -> None:
    """The name of a month alone names an archive, say."""
    assert masked_clock(text) is text
