"""Answers that many forms of a site share: the pages themselves, or a short wall that nobody noticed.

A log-in page that answers for a few URLs, and is gone again, goes unnoticed by
:mod:`~dedup_crawler.live.exploration.freeze`, which wants a fifth of the last 200 pages. When nothing else is left
to do, one dropped URL is fetched for each group of forms with the same answer. If it shows another page, so may others.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import NamedTuple

from dedup_crawler.live.exploration.freeze import page_signature
from dedup_crawler.live.exploration.owner_pages import FetchedPage

MIN_FORMS = 2
"""Forms that share an answer, of which one at least has another URL."""
MAX_PROBES = 50
"""Groups that are looked at in one crawl, the largest first."""


class Probe(NamedTuple):
    """A form that is asked for under another URL, for all that had the same answer."""

    form: bytes
    signature: int
    """Of the answer that they had."""
    others: tuple[bytes, ...]


class AlikeAnswers:
    """Which groups of alike answers were probed, and what came of it."""

    def __init__(self) -> None:
        self._awaited: dict[bytes, Probe] = {}
        self._probed: set[int] = set()

    def probes(
        self, pages: Iterable[tuple[bytes, FetchedPage]], has_alternative: Callable[[bytes], bool]
    ) -> list[Probe]:
        """Choose the forms that are to be asked for once more; each group is probed once.

        Parameters
        ----------
        pages
            Form and page, of all pages that are kept.
        has_alternative
            Says whether another URL of a form was dropped.
        """
        if len(self._probed) >= MAX_PROBES:
            return []
        groups: dict[int, list[bytes]] = defaultdict(list)
        for form, page in pages:
            if "html" in page.content_type:
                groups[page_signature(page.body)].append(form)
        found = []
        for signature, forms in sorted(groups.items(), key=lambda group: -len(group[1])):
            if len(forms) < MIN_FORMS or len(self._probed) >= MAX_PROBES:
                break
            if signature not in self._probed and (replaceable := [*filter(has_alternative, forms)]):
                form, *others = replaceable
                self._probed.add(signature)
                self._awaited[form] = Probe(form, signature, tuple(others))
                found.append(self._awaited[form])
        return found

    def answered(self, form: bytes, page: FetchedPage) -> tuple[bytes, ...]:
        """Hear the answer to a form; gives the other forms of its group if it was probed and showed another page."""
        probe = self._awaited.pop(form, None)
        return probe.others if probe is not None and page_signature(page.body) != probe.signature else ()
