"""New words in the place of titles: ``history`` in ``/questions/17/history`` is no title of question 17.

A rule that drops titles was learnt from values that each belong to one page. If a new value occurs with a third page,
it is a word of the site. From then on, its URLs keep their own forms. The translator of templates drops slugs in the
same way, and asks the same guard.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any

from dedup_crawler.grouping import grouped
from dedup_crawler.json_values import JsonValue
from dedup_crawler.rules.applying.engine import RuleEngine
from dedup_crawler.rules.language.matchers import ANY
from dedup_crawler.rules.language.operations import Cut, Drop, Star
from dedup_crawler.rules.language.rule import Rule
from dedup_crawler.urls.keyvalue import values_of

MAX_PAGES = 2
"""Two pages may have the same title; a value with more pages is a word of the site."""
USUAL = 0.10
"""If a larger share (0-1) of the URLs has a value with more pages, the key holds no titles (session ids)."""
MAX_VALUES = 200_000
"""Values that are remembered, about 60 MB; the oldest are forgotten first."""
_MIN_URLS = 8  # a section with fewer URLs is not watched by itself

Watched = tuple[int, str]
"""Number of a rule that drops titles, and the first path part of the watched section; "" for all other sections."""
Shared = Mapping[Watched, frozenset[str]]
"""Values that more than two pages had in training; dropping them is right."""


class ValueReuseGuard:
    """Remembers the pages of each dropped value, up to three.

    Its memory is bounded. The answer for a URL does not change while its value is remembered.
    """

    def __init__(self) -> None:
        self._pages: dict[tuple[Hashable, int, str], list[int]] = {}

    def allows(self, where: Hashable, slot: int, value: str, page: Hashable) -> bool:
        """Return True if *value* in a *slot* of a kind of URLs (*where*) may be dropped from a URL of this *page*."""
        pages = self._pages.setdefault((where, slot, value), [])
        shown = hash(page)
        if shown in pages:
            return True
        if len(pages) >= MAX_PAGES:
            return False
        pages.append(shown)
        if len(self._pages) > MAX_VALUES:
            del self._pages[next(iter(self._pages))]
        return True


class NewWords:
    """Tells new words from titles, for the rules of an engine. Remembers a bounded number of values."""

    def __init__(self, engine: RuleEngine, shared: Shared) -> None:
        self.shared = shared
        self._met = ValueReuseGuard()
        self._engine = engine
        watched = {number: engine.rules[number] for number, _ in shared}
        self._keys = {  # number of a watched rule -> the path part whose value it drops
            number: key
            for number, rule in watched.items()
            if isinstance(rule, Rule) and (key := _open_key(rule)) is not None
        }

    @classmethod
    def learn(cls, engine: RuleEngine, urls: Iterable[str]) -> NewWords:
        """Find the rules that drop titles, by the values that they drop from the training *urls*."""
        found = cls(engine, dict.fromkeys([(number, "") for number in range(len(engine.rules))], frozenset()))
        dropped = [each for url in urls for each in found._dropped(url, engine.form(url))]
        n_of_section = Counter((number, section) for number, section, _, _ in dropped)
        of_watched = grouped(
            ((number, section if n_of_section[number, section] >= _MIN_URLS else ""), (value, page))
            for number, section, value, page in dropped
        )
        shared = {}
        for watched, its in of_watched.items():
            if len({page for _, page in its}) <= MAX_PAGES:
                continue  # for example a log-in page: no value can occur with a third page
            n_pages = Counter(value for value, _ in set(its))
            reused = frozenset(value for value, n in n_pages.items() if n > MAX_PAGES)
            if sum(value in reused for value, _ in its) <= USUAL * len(its):
                shared[watched] = reused
        return cls(engine, shared)

    def to_json(self) -> list[dict[str, Any]]:
        """Return the shared values as JSON values."""
        return [
            {"rule": number, "section": section, "shared": sorted(values)}
            for (number, section), values in sorted(self.shared.items())
        ]

    @classmethod
    def from_json(cls, value: JsonValue, engine: RuleEngine) -> NewWords:
        """Read the result of :meth:`to_json`; BadInputError if *value* is not one."""
        last = len(engine.rules) - 1
        shared = {
            (entry["rule"].count(last), entry["section"].text()): frozenset(entry["shared"].texts())
            for entry in value.values()
        }
        return cls(engine, shared)

    def for_some(self, engine: RuleEngine, kept: Sequence[int]) -> NewWords:
        """New words for an *engine* that has only the rules with the numbers *kept*, in their order."""
        places = {number: place for place, number in enumerate(kept)}
        shared = {(places[number], section): its for (number, section), its in self.shared.items() if number in places}
        return NewWords(engine, shared)

    def is_one_in(self, url: str, form: str) -> bool:
        """Return True if a rule that leads from *url* to *form* drops a new word."""
        if not self.shared:
            return False
        for number, section, value, page in self._dropped(url, form):
            watched = (number, section) if (number, section) in self.shared else (number, "")
            known = self.shared.get(watched)
            if known is not None and value not in known and not self._met.allows(watched[1], number, value, page):
                return True
        return False

    def _dropped(self, url: str, form: str) -> list[tuple[int, str, str, str]]:
        """Number of each rule that drops a title from *url*, the section, the title, and the rest of the path."""
        if url == form or self._keys.keys().isdisjoint(self._engine.trace(url)[1]):
            return []
        found: list[tuple[int, str, str, str]] = []
        for number, before in self._engine.steps(url):
            rule, key = self._engine.rules[number], self._keys.get(number)
            if key is None or not isinstance(rule, Rule):
                continue
            values = values_of(before)
            operation, value = rule.transformation[key], values.get(key)
            gone = operation.parts(value)[1] if isinstance(operation, Cut) else value
            if gone:
                # a title belongs to the path; the query does not matter
                section = values.get("path[0]") or "" if key != "path[0]" else ""
                found.append((number, section, gone, form.partition("?")[0]))
        return found


def _open_key(rule: Rule) -> str | None:
    """The path part whose value a rule drops for any value; None if there is no such part."""
    keys = [key for key, operation in rule.transformation.items() if isinstance(operation, (Drop, Star, Cut))]
    is_open = len(keys) == 1 and keys[0].startswith("path[") and rule.context.get(keys[0], ANY) == ANY
    return keys[0] if is_open else None
