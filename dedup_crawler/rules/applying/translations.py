"""A table of translated templates, which gives URLs their forms.

The network translates each template once, and the table keeps the translation. URLs with an unknown template keep their
own form. In the result of :meth:`TranslationTable.settled`, every target is its own target, so one lookup is enough.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from dedup_crawler.errors import BadInputError
from dedup_crawler.grouping import grouped
from dedup_crawler.json_values import JsonValue
from dedup_crawler.rules.applying.new_words import MAX_PAGES, USUAL, ValueReuseGuard
from dedup_crawler.rules.language.statistics import NO_EVIDENCE, MergeEvidence, merge_evidence_of
from dedup_crawler.rules.miners.targets import TemplatedUrl, mapping_between
from dedup_crawler.urls.normal import host_of, normal_form
from dedup_crawler.urls.templates import PLACEHOLDER, Arguments, Template, Templater, count_placeholders, writer_of

_MAX_PASSES = 10  # a form that still changes after so many translations is not used
_MAX_DIGITS = 6  # digits of an argument's number in a file


@dataclass(frozen=True, slots=True)
class Translation:
    """Translation of one template, and the evidence for it."""

    says: Template
    """The target, written with the placeholders of the source; the source itself if decoding failed."""
    n_urls: int
    """Number of crawled URLs with the source template."""
    evidence: MergeEvidence = NO_EVIDENCE
    is_used: bool = True
    """False if the evidence is not enough: URLs of this template keep their own form."""
    guarded: tuple[int, ...] = ()
    """Numbers of the dropped arguments that the value-reuse guard watches."""


class TranslationTable:
    """Gives URLs their forms: translates the templates into which *templater* splits them."""

    def __init__(self, templater: Templater, translations: Mapping[Template, Translation]) -> None:
        self.templater = templater
        self.translations = dict(translations)
        self._used = {
            template: (translation, writer_of(translation.says))
            for template, translation in self.translations.items()
            if translation.is_used and translation.says != template
        }
        self._guard = ValueReuseGuard()

    def form(self, url: str) -> str:
        """Form of a URL in normal form."""
        template, arguments = self.templater.split(url)
        used = self._used.get(template)
        if used is None:
            return url
        translation, write = used
        if translation.guarded:
            kept = _kept_arguments(arguments, translation.guarded)
            if not all(self._guard.allows(template, slot, arguments[slot - 1], kept) for slot in translation.guarded):
                return url
        return write(*arguments)

    def settled(self, urls: Sequence[TemplatedUrl]) -> TranslationTable:
        """Replace every target by its final target, found by translating one URL of each template repeatedly."""
        examples = {url.template: url for url in reversed(urls)}
        settled = {}
        for template, translation in self.translations.items():
            form = self._settled_form(examples[template].url)
            target = TemplatedUrl(form, *self.templater.split(form), examples[template].cluster)
            mapping = mapping_between(examples[template], target)
            settled[template] = replace(translation, says=mapping.written() if mapping is not None else template)
        return TranslationTable(self.templater, settled)

    def judged(
        self, urls: Sequence[TemplatedUrl], *, first_judged: int, min_groups: int, max_error: float
    ) -> TranslationTable:
        """Add evidence; only translations with enough merge groups, and few wrong ones, are used.

        The translator has not learnt from the *urls* (in crawl order) at the place *first_judged* and later.
        *max_error* bounds the share (0-1) of wrong groups at 95 % confidence.
        """
        write = {template: writer_of(translation.says) for template, translation in self.translations.items()}
        forms = [write[url.template](*url.arguments) for url in urls]
        changed = [url.template if form != url.url else None for url, form in zip(urls, forms, strict=True)]
        evidence_of = judge(forms, [url.cluster for url in urls], changed, first_judged=first_judged)
        judged = {}
        for template, translation in self.translations.items():
            evidence = evidence_of.get(template, NO_EVIDENCE)
            is_used = evidence.n_groups >= min_groups and evidence.error_bound() <= max_error
            judged[template] = replace(translation, evidence=evidence, is_used=is_used or translation.says == template)
        return TranslationTable(self.templater, judged)

    def guarded(self, urls: Sequence[TemplatedUrl]) -> TranslationTable:
        """Put a value-reuse guard on the dropped arguments."""
        arguments = grouped((url.template, url.arguments) for url in urls)
        guarded = {}
        for template, translation in self.translations.items():
            kept = {int(match[1]) for match in PLACEHOLDER.finditer(translation.says)}
            dropped = [number for number in range(1, count_placeholders(template) + 1) if number not in kept]
            guarded[template] = replace(translation, guarded=guarded_slots(arguments[template], dropped))
        return TranslationTable(self.templater, guarded)

    def to_json(self) -> dict[str, Any]:
        """Return the table as a JSON value that a person can read."""
        return {
            template: {
                "says": translation.says,
                "urls": translation.n_urls,
                "groups": translation.evidence.n_groups,
                "wrong": translation.evidence.n_wrong,
                "used": translation.is_used,
                "guarded": list(translation.guarded),
            }
            for template, translation in self.translations.items()
        }

    @staticmethod
    def translations_from_json(value: JsonValue) -> dict[Template, Translation]:
        """Read the result of :meth:`to_json`; BadInputError if *value* is not one, or cannot be applied."""
        return {template: _translation(template, entry) for template, entry in value.table().items()}

    def _settled_form(self, url: str) -> str:
        """Apply the table until the form no longer changes; in a circle, take the lexicographically smallest form."""
        passed = [url]
        for _ in range(_MAX_PASSES):
            form = self.form(passed[-1])
            # a translation may be nonsense: only a URL of the same host is taken
            if form == passed[-1] or host_of(form) != host_of(url) or normal_form(form) != form:
                return passed[-1]
            if form in passed:
                return min(passed[passed.index(form) :])
            passed.append(form)
        return url


def _translation(template: Template, entry: JsonValue) -> Translation:
    says, guarded = entry["says"].text(), entry["guarded"].integers()
    if any(len(match[1]) > _MAX_DIGITS for text in (template, says) for match in PLACEHOLDER.finditer(text)):
        raise BadInputError(f"{entry.place}: the number of an argument has more than {_MAX_DIGITS} digits.")
    numbers = [*guarded, count_placeholders(says)]
    if max(numbers) > count_placeholders(template) or 0 in guarded:
        raise BadInputError(f"{entry.place} has no argument {max(numbers)}.")
    return Translation(says, entry["urls"].count(), merge_evidence_of(entry), entry["used"].flag(), tuple(guarded))


def guarded_slots(urls: Sequence[Arguments], dropped: Sequence[int]) -> tuple[int, ...]:
    """Find the *dropped* arguments (numbers from 1) whose values few of the *urls* of one template share.

    A slug belongs to one id. A mapping that drops it from ``/questions/17/how-to-quit`` would also drop ``history``
    from ``/questions/17/history``, which is another page.
    """
    slots = []
    for slot in dropped:
        pages = {(arguments[slot - 1], _kept_arguments(arguments, dropped)) for arguments in urls}
        n_pages = Counter(value for value, _ in pages)
        n_reusing = sum(n_pages[arguments[slot - 1]] > MAX_PAGES for arguments in urls)
        if n_reusing <= USUAL * len(urls):
            slots.append(slot)
    return tuple(slots)


def _kept_arguments(arguments: Arguments, dropped: Sequence[int]) -> Arguments:
    return tuple(argument for i, argument in enumerate(arguments, start=1) if i not in dropped)


def judge(
    forms: Sequence[str], clusters: Sequence[int], sources: Sequence[Template | None], *, first_judged: int = 0
) -> dict[Template, MergeEvidence]:
    """Count the merge groups of each source that has any. A source is the template of URLs that are changed.

    *forms* and *clusters* are those of distinct URLs, in crawl order. ``sources[i]`` changed URL i to its form; it is
    None if nothing did. Only groups with a URL at the place *first_judged* or later count, so that sources learnt on
    the URLs before it are judged on unseen pages.
    """
    groups = grouped((form, i) for i, form in enumerate(forms))
    n_groups: Counter[Template] = Counter()
    n_wrong: Counter[Template] = Counter()
    for members in groups.values():
        if len(members) < 2 or members[-1] < first_judged:
            continue
        is_wrong = len({clusters[i] for i in members}) > 1
        for source in {sources[i] for i in members}:
            if source is not None:
                n_groups[source] += 1
                n_wrong[source] += is_wrong
    return {source: MergeEvidence(n, n_wrong[source]) for source, n in n_groups.items()}
