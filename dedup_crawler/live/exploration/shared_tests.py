"""Exchange of test results between crawlers that share a seen set."""

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
        This crawler's evidence for its rules.
    seen
        The seen set; it may have no other crawlers.
    """

    def __init__(self, evidence: RuleEvidence, seen: SeenSet[Any]) -> None:
        self._evidence = evidence
        self._seen = seen
        self._told: dict[str, RuleCounts] = {}

    async def exchange(self) -> list[str]:
        """Send new results and take in those of the others; return the rules that another crawler switched off.

        If the set is unavailable, the next exchange catches up.
        """
        own = self._evidence.own_counts()
        news = {rule: counts for rule, counts in own.items() if self._told.get(rule) != counts}
        try:
            others = await self._seen.share_tests(news)
        except SeenUnavailableError:
            return []
        self._told |= news
        return self._evidence.take_in({rule: RuleCounts(*counts) for rule, counts in others.items()})
