"""16-bit codes for sets of rules, which a seen set stores with each form."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Collection, Iterable

_MAX_CODES = 10_000
BEHIND = 1
"""Code of a form that was reached only through a test of a coverage rule."""


class RuleCodes:
    """Rule identifiers -> code and back; knows the codes with switched-off rules.

    Two sets of rules share a code with a chance of 1 in 65,535: then a seen page may count as unseen, and is fetched
    again.
    """

    def __init__(self) -> None:
        self._codes: dict[tuple[str, ...], int] = {}
        self._rules: dict[int, tuple[str, ...]] = {}
        self._off: set[str] = set()
        self.invalid: set[int] = set()
        """Codes of rule sets with a switched-off rule."""

    def code_of(self, rules: tuple[str, ...]) -> int:
        """Return the code of *rules*: 1-65,535, the same in every process; 0 for no rule."""
        if not rules:
            return 0
        known = self._codes.get(rules)
        if known is not None:
            return known
        digest = hashlib.blake2b(",".join(sorted(rules)).encode(), digest_size=2).digest()
        code = int.from_bytes(digest, "big") or 1
        if len(self._codes) < _MAX_CODES:  # bounded, in case a hostile site causes many rule sets
            self._codes[rules] = code
            self._remember(code, rules)
        return code

    def rules_of(self, code: int) -> tuple[str, ...]:
        """Return the rules of *code*.

        A killed process may not have noted them. Then a name made from the code stands for them, so that their drops
        can be tested and sent after all, like those of any rule.
        """
        if code in (0, BEHIND):
            return ()
        if code not in self._rules:
            self._remember(code, [f"unknown-{code:04x}"])
        return self._rules[code]

    def codes_of(self, holds: Callable[[Iterable[str]], bool]) -> set[int]:
        """Return the codes for whose rules *holds* is true."""
        return {code for code, rules in self._rules.items() if holds(rules)}

    def switch_off(self, rules: Collection[str]) -> None:
        """Note that forms made by *rules* count as unseen."""
        self._off.update(rules)
        self.invalid |= self.codes_of(lambda its_rules: not self._off.isdisjoint(its_rules))
        for rule in rules:
            self.code_of((rule,))

    def to_text(self) -> str:
        """Return all codes as JSON, for a durable seen set."""
        return json.dumps(dict(sorted(self._rules.items())))

    def read(self, text: str) -> None:
        """Add the codes of an earlier process; unreadable text is ignored."""
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
