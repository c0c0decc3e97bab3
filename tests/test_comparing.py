"""When two texts say the same."""

from __future__ import annotations

from dedup_crawler.labels.comparing import is_nearly_equal, is_reordered, n_words, word_counts

BODY = "\n".join(" ".join(f"word{line}x{n}" for n in range(20)) for line in range(15))  # 300 words, 15 lines


def test_words() -> None:
    """Words are runs of letters, digits and underscores in any script; counting ignores case."""
    assert n_words("It's 42 - été_1!\nЯ") == 5
    assert word_counts("A a b") == {"a": 2, "b": 1}


def test_a_counter_does_not_make_another_page() -> None:
    """One line with another number, or one line more, in 300 words is the same page."""
    assert is_nearly_equal(BODY + "\nviews 17", BODY + "\nviews 18")
    assert is_nearly_equal(BODY, BODY + "\n2 guests")


def test_too_many_differences_make_another_page() -> None:
    """More than 1 % of the words, or more than two changed lines, or a text under 200 words: not the same."""
    lines = BODY.split("\n")
    changed_words = "\n".join([*lines[:-1], "something else altogether now"])
    changed_lines = "\n".join(["new", "new", "new", *lines]), "\n".join(["old", "older", "oldest", *lines])
    short = "\n".join(lines[:9])

    assert not is_nearly_equal(BODY, changed_words)
    assert not is_nearly_equal(*changed_lines)
    assert not is_nearly_equal(short + "\nviews 17", short + "\nviews 18")


def test_a_sorted_table_is_reordered() -> None:
    """Three rows of name and size, by name and by size, are one list in two orders."""
    assert is_reordered("Files\na\n30\nb\n10\nc\n20\nend", "Files\nb\n10\nc\n20\na\n30\nend")


def test_one_moved_line_is_not_a_reordering() -> None:
    """A mark that stands elsewhere, up or down, says which branch of a tree is open: another page."""
    assert not is_reordered("x\nmark\na\nb\nend", "x\na\nb\nmark\nend")
    assert not is_reordered("a\nb\nmark", "mark\na\nb")
