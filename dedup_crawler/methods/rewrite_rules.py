"""The rewrite approach: a rule for every pair of duplicates, generalised where many rules differ in one key.

A. Dasgupta, R. Kumar, A. Sasturkar, "De-duping URLs via rewrite rules", KDD 2008; its text was read through T. Lei et
al., WWW 2010, who compare with it. *c* -> context, *t* -> transformation, *f* -> fan-out.

Every ordered pair of URLs of a cluster is a rule: the context is all of the first, the transformation says how the
second comes of it, by reference to a value of the first wherever there is one. Rules that are alike but for one key are
generalised in that key if it takes *f* values or more among them. Rules that are wrong in more than 10 % of their pairs
are discarded, and the naive selection of WWW'10 is made of the rest.

Decided here: a key that only the target has must be absent from the source; a rule that nothing was generalised in
(it speaks of one URL) is not kept; where generalised rules set a key to different literals, the key does not matter
(:class:`Star`).

Cost: c (c - 1) rules for a cluster of c URLs, so that at most *max_per_cluster* of them are taken, drawn evenly from
its URL shapes: O(R k) per level of generalisation for R rules of k keys, at most k levels; a level of more than
200,000 rules is sampled.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import ClassVar

from dedup_crawler.methods.rule_based import MapRuleBased
from dedup_crawler.rules.language.rule import Rule
from dedup_crawler.rules.miners.mapped_crawl import MappedCrawl
from dedup_crawler.rules.miners.pairs import stratified
from dedup_crawler.rules.miners.pairwise import PairwiseRule, as_rule, generalized, pairwise_rules
from dedup_crawler.rules.miners.selection import naive_selection, qualified

"""Keys of source and target; the context's values; operations, None for a key that stays; all in one order."""


@dataclass(kw_only=True, eq=False, repr=False)
class RewriteRules(MapRuleBased):
    """Rules from pairs of duplicates, generalised key by key (KDD'08).

    Parameters
    ----------
    fan_out
        Values that a key takes at least before it is generalised; smaller gives more and subtler rules. The papers
        use 10 and 5.
    max_fpr
        Share (0-1) of a rule's pairs that may be wrong on the training URLs.
    max_per_cluster
        URLs of one cluster that are compared with each other.
    seed
        Draws the URLs of larger clusters.
    """

    name = "rewrite-rules"
    _least: ClassVar = {"fan_out": 2, "max_per_cluster": 2}
    _shares: ClassVar = ("max_fpr",)

    fan_out: int = 10
    max_fpr: float = 0.10
    max_per_cluster: int = 50
    seed: int = 0

    def _mine(self, crawl: MappedCrawl) -> list[Rule]:
        draw = random.Random(self.seed)  # noqa: S311 - draws examples, guards nothing
        pairwise: set[PairwiseRule] = set()
        for places in crawl.clusters.values():
            if len(places) > 1:
                maps = stratified([crawl.urls[place].values for place in places], self.max_per_cluster, draw)
                pairwise.update(pairwise_rules(maps))
        rules = [as_rule(crawl.host, found, self.name) for found in generalized(pairwise, self.fan_out, draw)]
        return naive_selection(qualified(rules, crawl, max_fpr=self.max_fpr), crawl)
