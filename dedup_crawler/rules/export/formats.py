"""What an export says, and what it leaves out and why."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from dedup_crawler.rules.export.model_rules import ModelRules
from dedup_crawler.rules.rule_ids import alias_identifier, rule_identifier
from dedup_crawler.rules.sentences import alias_sentence, rule_sentence


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A rule that is not, or not wholly, in the file."""

    sentence: str
    reason: str


@dataclass(frozen=True, slots=True)
class Export:
    """A file in the format of another program."""

    text: str
    n_said: int
    """Rules that the file says, wholly or in part."""
    partly: tuple[LeftOut, ...]
    """Those of them that it says in part, and more cautiously."""
    left_out: tuple[LeftOut, ...]
    notes: tuple[str, ...] = ()
    """What the format cannot see, for the user to know."""


class Ledger:
    """Notes rule by rule what became of it.

    Parameters
    ----------
    model
        What is exported.
    switched_off
        Identifiers of rules that a crawl found wrong.
    """

    def __init__(self, model: ModelRules, switched_off: Collection[str] = ()) -> None:
        self._sentences = [rule_sentence(rule) for rule in model.rules]
        self._off = {number for number, rule in enumerate(model.rules) if rule_identifier(rule) in switched_off}
        self._off_aliases = {alias.host for alias in model.aliases if alias_identifier(alias) in switched_off}
        self._others: Mapping[str, str] = model.others
        self.n_said = 0
        self.partly: list[LeftOut] = []
        self.left_out: list[LeftOut] = []

    def is_off(self, number: int) -> bool:
        """Whether a crawl switched a rule off; then it is left out."""
        if number in self._off:
            self.leave_out(number, "a crawl switched it off")
        return number in self._off

    def is_alias_off(self, host: str) -> bool:
        """Whether a crawl found out that the host is not another one."""
        return host in self._off_aliases

    def say(self, number: int, *, is_whole: bool, what_is_missing: str = "") -> None:
        """Note that a rule is in the file."""
        self.n_said += 1
        if not is_whole:
            self.partly.append(LeftOut(self._sentences[number], what_is_missing))

    def leave_out(self, number: int, reason: str) -> None:
        """Note that it is not."""
        self.left_out.append(LeftOut(self._sentences[number], reason))

    def leave_out_aliases(self, model: ModelRules, reason: str) -> None:
        """Note that no host is read as another one."""
        self.left_out += [LeftOut(alias_sentence(alias), reason) for alias in model.aliases]

    def close(self, text: str, *notes: str) -> Export:
        """The export; what else the model knows is told as left out."""
        others = [LeftOut(sentence, "it is no rule about a URL alone") for sentence in self._others.values()]
        return Export(text, self.n_said, tuple(self.partly), (*self.left_out, *others), notes)
