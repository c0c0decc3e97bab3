"""Tests of the other crawlers that share a seen set: each crawler tells its own, and counts those of the others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dedup_crawler.errors import SeenUnavailableError
from dedup_crawler.methods.model.evidence_file import RuleCounts

if TYPE_CHECKING:
    from dedup_crawler.live.exploration.rule_evidence import RuleEvidence
    from dedup_crawler.live.seen.protocol import SeenSet


class SharedTests:
    """Exchanges the tests of a crawl with the other crawlers of its seen set.

    Parameters
    ----------
    evidence
        What this crawler knows of its rules.
    seen
        The set, which may have no other crawlers.
    """

    def __init__(self, evidence: RuleEvidence, seen: SeenSet[Any]) -> None:
        self._evidence = evidence
        self._seen = seen
        self._told: dict[str, RuleCounts] = {}

    async def exchange(self) -> list[str]:
        """Tell the others what is new, and count what they have tested; gives the rules that one of them switched off.

        Nothing happens while the set cannot be asked: the next exchange makes up for it.
        """
        own = self._evidence.own_counts()
        news = {rule: counts for rule, counts in own.items() if self._told.get(rule) != counts}
        try:
            others = await self._seen.share_tests(news)
        except SeenUnavailableError:
            return []
        self._told |= news
        return self._evidence.take_in({rule: RuleCounts(*counts) for rule, counts in others.items()})
