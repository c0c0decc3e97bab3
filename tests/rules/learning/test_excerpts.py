"""Keys that show more or less of a page: whether they matter depends on how much there is to show."""

from collections.abc import Sequence

import pytest

from dedup_crawler.evidence.comparing import PageEvidence
from dedup_crawler.methods import make_method
from site_of_pages import HOST, page, words

SHORT, LIMIT = 20, 50
"""Number of changes that a log shows, and that it shows with a limit in its URL."""


def log(project: str, n_changes: int, limit: int):
    """Return the newest changes of a project, at most *limit* of them."""
    shown = [words(12, f"{project} {number}") for number in range(n_changes, max(0, n_changes - limit), -1)]
    return f"Log of {project} at {n_changes}", shown


def learnt(changes: dict[str, Sequence[int]], ignoring: str = ""):
    """Learn from the logs of projects, each with and without a limit, at these numbers of changes."""
    pages = []
    for project, numbers in changes.items():
        for number in numbers:
            rest = f"/{project}/log?at={number}"
            limit = SHORT if project == ignoring else LIMIT
            pages.append(page(rest, *_titled(log(project, number, SHORT))))
            pages.append(page(f"{rest}&limit={LIMIT}", *_titled(log(project, number, limit))))
    clusters: dict[object, int] = {}
    numbered = [clusters.setdefault((each.title, each.main_text), len(clusters)) for each in pages]
    urls = [each.url for each in pages]
    referrers = [None if url.partition("&")[0] == url else url.partition("&")[0] for url in urls]
    return make_method("verified").fit(urls, numbered, referrers, evidence=PageEvidence.of_pages(pages))


def _titled(shown):
    title, lines = shown
    return title, title, *lines


def is_dropped(method, rest: str) -> bool:
    return method.canonicalize(f"{HOST}/{rest}&limit={LIMIT}") == method.canonicalize(f"{HOST}/{rest}")


@pytest.mark.parametrize("is_long", [False, True], ids=["all short", "some long"])
def test_short_lists_of_one_section_say_nothing_of_its_next_list_if_others_are_long(is_long: bool) -> None:
    """
    The logs of ``tools`` were short so far, and the limit did not matter. Half of the logs of the manual are longer,
    and there the limit matters; so it may with the next change of ``tools``. Without any long log, it is dropped.
    """
    manual = [*range(2, SHORT), *(range(2 * LIMIT, 20 * LIMIT, LIMIT) if is_long else ())]
    method = learnt({"manual": manual, "tools": range(2, SHORT)})

    assert is_dropped(method, "tools/log?at=30") != is_long
    assert (method.quality_["referrer_rules"] == 0) == is_long


def test_a_section_that_ignores_a_limit_is_told_by_its_name() -> None:
    """All logs of the manual are longer than a page, but ``tools`` has another program, which ignores the limit."""
    long = range(LIMIT, 30 * LIMIT, LIMIT)
    method = learnt({"manual": long, "tools": long}, ignoring="tools")

    assert is_dropped(method, "tools/log?at=70")
    assert not is_dropped(method, "manual/log?at=70")
