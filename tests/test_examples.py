"""Rules learnt from URLs and given forms."""

from __future__ import annotations

from dedup_crawler.rules.applying.engine import RuleEngine
from dedup_crawler.rules.learning.joins import MIN_PAGES, rules_of_examples

HOST = "a.example"
SITE = f"http://{HOST}"


def forms(examples: list[tuple[str, str]], url: str) -> set[str]:
    """Return the forms that the rules give to a URL, each rule alone."""
    return {RuleEngine([rule]).form(url) for rule in rules_of_examples(HOST, examples, "somebody")}


def test_values_are_copied_written_and_dropped() -> None:
    """``/index.php?title=X&printable=yes`` is ``/X``, for any X."""
    examples = [(f"{SITE}/index.php?printable=yes&title=T{n}", f"{SITE}/T{n}") for n in range(MIN_PAGES)]

    assert f"{SITE}/New" in forms(examples, f"{SITE}/index.php?printable=yes&title=New")


def test_pieces_are_cut() -> None:
    """``/topic/7-a-title`` is ``/topic/7``: a delimiter separates the part to keep."""
    examples = [(f"{SITE}/topic/{n}-a-title-of-{n}", f"{SITE}/topic/{n}") for n in range(MIN_PAGES)]

    assert f"{SITE}/topic/99" in forms(examples, f"{SITE}/topic/99-another")


def test_too_few_examples_say_nothing() -> None:
    """No rule below the bound, nor if forms equal the URLs or leave the host."""
    examples = [(f"{SITE}/t?n={n}&s={n}{n}", f"{SITE}/t?n={n}") for n in range(MIN_PAGES)]

    assert rules_of_examples(HOST, examples, "somebody")
    assert rules_of_examples(HOST, examples[1:], "somebody") == []
    assert rules_of_examples(HOST, [(url, url) for url, _ in examples], "somebody") == []
    assert rules_of_examples(HOST, [(url, "http://b.example/") for url, _ in examples], "somebody") == []
