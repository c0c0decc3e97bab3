"""``verified`` with one part taken out, and with proposals of other methods beside it.

The product has no switches for its parts, for nobody should run it without one. Here a part is taken out by putting
something else in its place for the time of one fit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any
from unittest.mock import patch

from recorded import Crawl

from dedup_crawler.methods import Canonicalizer, Referrer, make_method
from dedup_crawler.methods.rule_based import RuleBased
from dedup_crawler.methods.verified import Verified
from dedup_crawler.rules import belief, contexts, host_crawl, verified_rules
from dedup_crawler.rules.belief import MIN_GROUPS, RISKS, Belief
from dedup_crawler.rules.columns import UrlColumns
from dedup_crawler.rules.contexts import ContextSearch
from dedup_crawler.rules.engine import RuleEngine
from dedup_crawler.rules.hypotheses import Hypothesis, hypotheses
from dedup_crawler.rules.merge_trials import Evidence
from dedup_crawler.rules.new_words import NewWords

Swap = tuple[Any, str, Any]
"""Where, what, and what stands there instead."""


def _without_stage(stage: int) -> Callable[[UrlColumns], Iterator[Hypothesis]]:
    return lambda columns: (each for each in hypotheses(columns) if each.stage != stage)


def _nothing(*_: object) -> Iterator[Any]:
    return iter(())


def _bounded(self: Belief, evidence: Evidence) -> bool:
    return self.may_hold(evidence.n_groups, evidence.n_wrong)


def _counted(self: Belief, n_groups: int, n_wrong: int) -> bool:
    return n_groups >= MIN_GROUPS and n_wrong <= self.risk.max_wrong * n_groups


PARTS: Mapping[str, tuple[Swap, ...]] = {
    "all of it": (),
    "no value conditions": ((ContextSearch, "_value_options", _nothing),),
    "no contexts": ((verified_rules, "MAX_DEPTH", 0),),
    "one condition at most": ((verified_rules, "MAX_DEPTH", 1),),
    "no crowds": ((ContextSearch, "_find_crowds", lambda self: None),),
    "no pieces": ((verified_rules, "hypotheses", _without_stage(2)),),
    "no joins": ((verified_rules, "hypotheses", _without_stage(1)),),
    "no referrer rules": ((host_crawl, "learn_referrer_rules", _nothing),),
    "no coverage rules": ((host_crawl, "learn_coverage_rules", _nothing),),
    "any value, however few were seen": ((contexts, "FEW_VALUES", 0),),
    "strange queries not left alone": ((Verified, "_query_keys", lambda self: {}),),
    "conditions that explain nothing": ((ContextSearch, "_explains", lambda self, live, chosen: True),),
    "new words taken for titles": ((NewWords, "is_one_in", lambda self, url, form: False),),
    "no budget": ((host_crawl, "within_budget", lambda rules, max_lost: list(rules)),),
    "no late confirmation": ((Belief, "holds", _bounded),),
    "no correction for hypotheses tried": ((Belief, "confidence", property(lambda self: 1 - belief.LEVEL)),),
    "no bound: 8 groups, 10 % wrong": ((Belief, "may_hold", _counted),),
    "neither bound nor late confirmation": ((Belief, "may_hold", _counted), (Belief, "holds", _bounded)),
}
"""What is taken out -> how."""


@contextmanager
def without(part: str) -> Iterator[None]:
    """Take a part out for a while."""
    with ExitStack() as stack:
        for place, name, instead in PARTS[part]:
            stack.enter_context(patch.object(place, name, instead))
        yield


@dataclass(frozen=True)
class Beyond:
    """What another method's proposals add to a crawl that ``verified`` steers."""

    n_saved: int
    """Fetches in vain that are saved besides."""
    n_lost: int
    """Pages that are lost besides."""


def judged_miner(name: str, crawl: Crawl) -> tuple[Canonicalizer, int, int]:
    """A miner with those of its rules that the bound of ``verified`` believes; how many, and of how many."""
    miner = make_method(name)
    crawl.fit(miner)
    assert isinstance(miner, RuleBased)
    belief_ = Belief(RISKS["balanced"])
    rules = miner.engine_.rules
    kept = [rule for rule in rules if belief_.may_hold(*_groups(rule.statistics.evidence))]
    miner.engine_ = RuleEngine(kept, miner.engine_.maps)
    return miner, len(kept), len(rules)


def _groups(evidence: Any) -> tuple[int, int]:
    return evidence.n_groups, evidence.n_wrong


def beyond(method: Canonicalizer, other: Canonicalizer, crawl: Crawl) -> Beyond:
    """Go on with a crawl twice: by *method*, and dropping also what *other* says was seen."""
    alone, both = _crawl_on(method, None, crawl), _crawl_on(method, other, crawl)
    n_lost = len(alone[1] - both[1])
    return Beyond(alone[0] - both[0] - n_lost, n_lost)


def _crawl_on(method: Canonicalizer, other: Canonicalizer | None, crawl: Crawl) -> tuple[int, set[object]]:
    """URLs fetched, and needed pages that were."""
    n = crawl.cut
    forms = method.canonicalize_many(crawl.urls[:n])
    form_of = dict(zip(crawl.urls[:n], forms, strict=True))
    seen, proposed = set(forms), set(other.canonicalize_many(crawl.urls[:n])) if other else set()
    covered: set[object] = set()
    n_fetched = 0
    for place in range(n, len(crawl.urls)):
        url, referrer = crawl.urls[place], crawl.referrers[place]
        if method.is_covered(url):
            continue
        found_on = form_of.get(referrer) if referrer is not None else None
        form = method.canonicalize(url, Referrer(referrer, found_on) if referrer and found_on is not None else None)
        proposal = other.canonicalize(url) if other else ""
        if form not in seen and proposal not in proposed:
            seen.add(form)
            form_of[url] = form
            n_fetched += 1
            covered.add(crawl.pages[place])
            if other:
                proposed.add(proposal)
    return n_fetched, covered - set(crawl.pages[:n])
