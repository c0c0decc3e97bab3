"""Codes for the rules that made a form, in the 16 bits that a seen set keeps of it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Collection, Iterable

_MAX_CODES = 10_000
BEHIND = 1
"""The code of a form to which only a URL behind a covered template has led, which was fetched to test that rule."""


class RuleCodes:
    """Rule identifiers -> code and back; what was switched off is known by its codes.

    Two sets of rules may share a code, 1 pair in 65,535: then a page that was seen counts as unseen, and is fetched
    again.
    """

    def __init__(self) -> None:
        self._codes: dict[tuple[str, ...], int] = {}
        self._rules: dict[int, tuple[str, ...]] = {}
        self._off: set[str] = set()
        self.invalid: set[int] = set()
        """Codes of forms that a switched-off rule has made."""

    def __len__(self) -> int:
        return len(self._rules)

    def code_of(self, rules: tuple[str, ...]) -> int:
        """1-65,535, the same in every process; 0 for no rule."""
        if not rules:
            return 0
        known = self._codes.get(rules)
        if known is not None:
            return known
        digest = hashlib.blake2b(",".join(sorted(rules)).encode(), digest_size=2).digest()
        code = int.from_bytes(digest, "big") or 1
        if len(self._codes) < _MAX_CODES:  # what a hostile site can make is bounded
            self._codes[rules] = code
            self._remember(code, rules)
        return code

    def rules_of(self, code: int) -> tuple[str, ...]:
        """The rules behind *code*.

        A process that was killed may not have noted them. Then the code itself stands for them, so that what it drops
        can be tested, and sent after all, like the drops of any rule.
        """
        if code in (0, BEHIND):
            return ()
        if code not in self._rules:
            self._remember(code, [f"unknown-{code:04x}"])
        return self._rules[code]

    def codes_of(self, holds: Callable[[Iterable[str]], bool]) -> set[int]:
        """The codes for whose rules *holds* is true."""
        return {code for code, rules in self._rules.items() if holds(rules)}

    def switch_off(self, rules: Collection[str]) -> None:
        """Note that forms which *rules* have made count as unseen."""
        self._off.update(rules)
        for code, its_rules in self._rules.items():
            if not self._off.isdisjoint(its_rules):
                self.invalid.add(code)
        for rule in rules:
            self.code_of((rule,))

    def to_text(self) -> str:
        """All of it as JSON, for a set that outlives the process."""
        return json.dumps({str(code): sorted(rules) for code, rules in sorted(self._rules.items())})

    def read(self, text: str) -> None:
        """Add what an earlier process knew; what cannot be read is left out."""
        try:
            told = json.loads(text)
            pairs = [(int(code), tuple(map(str, rules))) for code, rules in told.items()]
        except (TypeError, ValueError, AttributeError):
            return
        for code, rules in pairs[:_MAX_CODES]:
            self._remember(code, rules)

    def _remember(self, code: int, rules: Iterable[str]) -> None:
        self._rules[code] = tuple(sorted({*self._rules.get(code, ()), *rules}))
        if not self._off.isdisjoint(self._rules[code]):
            self.invalid.add(code)
