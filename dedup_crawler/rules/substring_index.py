"""Finding the substring rules that may be applied to a URL: one search, whose cost does not grow with their number."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import NamedTuple

from dedup_crawler.rules.substring_rule import END, START, SubstringRule
from dedup_crawler.rules.text_trie import is_border, whole_tokens

MAX_LENGTH = 4_096
"""Characters of path and query up to which substring rules are applied: a longer one could be shrunk for seconds."""

FEW = 20
"""Rules that are looked for one by one, beside the other rules."""


class _Change(NamedTuple):
    """What a rule does where its text was found in a marked URL."""

    number: int
    length: int
    """Characters that it replaces, marks included."""
    new: str


class SubstringIndex:
    """Finds the substring rules of one host in a URL, however many rules.

    A search finds the longest text at each place; which others stand at the same place is known beforehand, as they are
    what it begins with.
    """

    def __init__(self, numbered: Iterable[tuple[int, SubstringRule]]) -> None:
        numbered = sorted(numbered, key=lambda pair: pair[0])
        self.starts = tuple({rule.old for _, rule in numbered if rule.at_start})
        """What the rules replace at the start of the path ..."""
        self.others = tuple({rule.old for _, rule in numbered if not rule.at_start})
        """... and anywhere."""
        self.are_few = len(numbered) <= FEW
        are_prefixes = self.are_few and all(rule.at_start and not rule.at_end for _, rule in numbered)
        self._prefixes = [(number, rule.old, rule.new) for number, rule in numbered] if are_prefixes else None
        self._own: dict[str, list[_Change]] = defaultdict(list)
        for number, rule in numbered:
            text = START * rule.at_start + rule.old + END * rule.at_end
            self._own[text].append(_Change(number, len(text), rule.new))
        self._search = whole_tokens(self._own).search

    def fire(self, rest: str) -> tuple[int, str] | None:
        """The first rule (by number) that may be applied to *rest* (path and query), and what it gives."""
        if len(rest) > MAX_LENGTH:
            return None
        if self._prefixes is not None:
            return self._fire_prefix(rest)
        marked = f"{START}{rest}{END}"
        search = self._search
        match = search(marked)
        best: tuple[int, str] | None = None
        while match is not None:
            start = match.start()
            for change in self._changes[match[0]]:
                if best is not None and best[0] <= change.number:
                    break
                if (changed := _changed(rest, start, change)) is not None:
                    best = change.number, changed
                    break
            match = search(marked, start + 1)
        return best

    def _fire_prefix(self, rest: str) -> tuple[int, str] | None:
        """As :meth:`fire`, where few rules all speak of the start: such ask for no search."""
        for number, old, new in self._prefixes or ():
            if rest.startswith(old):
                following = rest[len(old) : len(old) + 1]
                if (new[:1] or following) == "/" and not (_is_word(old[-1]) and _is_word(following)):
                    return number, new + rest[len(old) :]
        return None

    def matches(self, rest: str, asked: Mapping[int, int], max_asked: int) -> dict[int, str]:
        """Every rule that may be applied to *rest*, with what it gives where it is applied first.

        Rules that were *asked* for *max_asked* times are left out.
        """
        found: dict[int, str] = {}
        for start, changes in self._places(f"{START}{rest}{END}"):
            for change in changes:
                if change.number in found or asked.get(change.number, 0) >= max_asked:
                    continue
                if (changed := _changed(rest, start, change)) is not None:
                    found[change.number] = changed
        return found

    def _places(self, marked: str) -> Iterator[tuple[int, tuple[_Change, ...]]]:
        """Where texts stand, and the rules of all that stand there, the first rule first."""
        match = self._search(marked)
        while match is not None:
            yield match.start(), self._changes[match[0]]
            match = self._search(marked, match.start() + 1)

    @cached_property
    def _changes(self) -> dict[str, tuple[_Change, ...]]:
        """Text -> the rules of all texts that stand where it stands."""
        found: dict[str, tuple[_Change, ...]] = {}
        beginnings: list[str] = []
        for text in sorted(self._own):
            while beginnings and not text.startswith(beginnings[-1]):
                beginnings.pop()
            beginnings.append(text)
            there = [known for known in beginnings if is_border(text, len(known))]
            found[text] = tuple(sorted(change for known in there for change in self._own[known]))
        return found


def _changed(rest: str, start: int, change: _Change) -> str | None:
    """The URL's rest with what stands at a place of the marked one replaced; None where that would be no path."""
    before = start - 1 if start else 0
    changed = f"{rest[:before]}{change.new}{rest[start + change.length - 1 :]}"
    return changed if changed[:1] == "/" else None


def _is_word(character: str) -> bool:
    return character.isalnum() or character == "%"
