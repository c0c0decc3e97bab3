"""Evidence of the explorations for each rule, and the decision to switch a rule off.

A rule promises to be wrong in at most 2 % of its drops, or in as many as in training. It is doubted if its expected
error, by training and all explorations together (:mod:`dedup_crawler.rules.learning.belief`), is larger: at the first
wrong exploration if there were few, at the third after a hundred. A comparison of two pages may err, so a doubted rule
is on probation: it drops nothing, each link that it would drop is a test, and the next wrong test switches it off. It
drops again when right tests outweigh the wrong one.

A rule may also break when the site changes. So the latest verdicts are judged separately. A significance test after
every verdict raises a false alarm sooner or later, so its level falls with the age of the rule: after the t-th verdict,
a run of verdicts that ends now must be less likely than 0.001 / t under the promise. Runs of every length up to 50 are
tested, and the whole life: an old rule that breaks is switched off at the fourth wrong verdict.
"""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from operator import itemgetter
from typing import NamedTuple

from dedup_crawler.live.exploration.rule_life import (
    HELD,
    WINDOW,
    Life,
    Outcome,
    RuleState,
    Speakers,
    ValueLives,
    share_that_holds,
)
from dedup_crawler.methods.model.evidence_file import LostPages, RuleCounts, lost_pages
from dedup_crawler.rules.language.identifiers import as_candidate, is_value, rule_of

MAX_SETS = 10_000
"""Sets of rules whose drops are counted separately."""
SETTLED = 20
"""Explorations in this process after which the drops of a verified rule need not survive a kill."""


class Verdicts(NamedTuple):
    """Drops that were not fetched, and the explorations for and against them."""

    n_tested: int
    """Drops by rules that each have a decided exploration."""
    n_untested: int
    """All other drops, and unsent drops of rules that were switched off."""
    n_right: int
    n_wrong: int

    def lost(self) -> LostPages:
        """Estimate how many pages the drops have lost."""
        return lost_pages(self.n_tested, self.n_right, self.n_wrong, self.n_untested)


@dataclass(slots=True)
class _Drops:
    """Drops of one set of rules, and the decided explorations of such drops."""

    n_dropped: int = 0
    n_right: int = 0
    n_wrong: int = 0


class RuleEvidence:
    """Counts explorations by rule; decides how much to explore and which rule fails.

    *epsilon* is the share (0-1) of a well-tested rule's drops that is explored; 0 explores nothing.
    """

    def __init__(self, epsilon: float) -> None:
        self._epsilon = epsilon
        self._lives: dict[str, Life] = {}
        self._standard: set[str] = set()
        self._rules_of: defaultdict[str, set[str]] = defaultdict(set)  # what rules do -> the rules of all models
        self._values: defaultdict[str, ValueLives] = defaultdict(ValueLives)  # by candidate
        self._held_and_failed: dict[str, tuple[int, int]] = {}  # site -> number of its rules that held, and that failed
        self.speakers = Speakers()
        """Forms whose verdicts have counted."""
        self._n_dropped: Counter[str] = Counter()  # by rule
        self._by_rules: dict[tuple[str, ...], _Drops] = {}
        self.n_taken_back = 0
        """Number of dropped requests that were sent after all."""
        self.n_agreed = 0
        """Right explorations of this crawl, repeated forms included."""
        self.n_disagreed = 0

    @property
    def switched_off(self) -> frozenset[str]:
        """Rules that failed, in this crawl or an earlier one."""
        return frozenset(rule for rule, life in self._lives.items() if life.is_switched_off)

    def counts(self) -> dict[str, RuleCounts]:
        """Return the counts to save, by rule."""
        return {rule: counts for rule, life in self._lives.items() if any(counts := life.counts())}

    def add_training(
        self,
        training: Mapping[str, tuple[int, int]],
        site: str = "",
        standard: Iterable[str] = (),
        effects: Mapping[str, str] | None = None,
        *,
        is_of_this_crawl: bool = False,
    ) -> None:
        """Add the rules of a model, each with its merge groups and contradictions in training.

        Rules of one *site* are evidence for each other.
        *standard* rules hold on the whole web: if a drop by them and other rules is wrong, the others are at fault.
        A rule that was a candidate so far, and was never wrong, keeps its tests. *effects* name what each rule does: if
        a rule of an earlier model did the same in another context, and a test of it was wrong, its tests are kept.

        If the training *is_of_this_crawl*, its merge groups are worth as much as tests, and a rule keeps the right
        tests of one that did the same in another context. Otherwise the site may have changed since then, and the rule
        is tested as if nothing were known.
        """
        effects = effects or {}
        for rule in sorted(training.keys() - self._lives.keys(), key=lambda rule: (-training[rule][0], rule)):
            life = self._lives.get(as_candidate(rule))
            if life is not None and not life.n_wrong and not life.is_switched_off:
                self._lives[rule] = life
            elif rule in effects:
                earlier = (self._rules_of[effects[rule]] - training.keys()) & self._lives.keys()
                worst = max((self._lives[each] for each in earlier), key=lambda life: life.n_disagreed, default=None)
                if worst is not None and worst.n_disagreed:
                    self._life_of(rule).begin_with(RuleCounts(worst.n_agreed, worst.n_disagreed))
                elif is_of_this_crawl and (held := [each for each in earlier if self._lives[each].has_held()]):
                    best = max(held, key=lambda each: (self._lives[each].n_here, each))
                    self._lives[rule] = self._lives[best].passed_on()
        for rule, effect in effects.items():
            self._rules_of[effect].add(rule)
        self._standard.update(standard)
        for rule, counts in training.items():
            life = self._life_of(rule)
            life.training, life.site = counts, site
            life.n_learnt_from = max(0, counts[0] - life.n_here) if is_of_this_crawl else 0

    def add_known(self, known: Mapping[str, RuleCounts]) -> None:
        """Add counts of earlier crawls; a rule that this crawl has explored keeps its own counts."""
        for rule, counts in known.items():
            if not (life := self._life_of(rule)).n_explored and not life.is_switched_off:
                life.begin_with(counts)

    def own_counts(self) -> dict[str, RuleCounts]:
        """Return the counts of this process alone, by rule."""
        return {rule: counts for rule, life in self._lives.items() if any(counts := life.own_counts())}

    def take_in(self, others: Mapping[str, RuleCounts]) -> list[str]:
        """Take in the tests of the other crawlers of this crawl; return the rules that they switched off.

        Counts from an evidence file may include theirs: the larger count is used. Rules of unknown models are ignored.
        """
        off = []
        for rule, counts in others.items():
            known = self._lives.get(rule_of(rule))
            if known is None or known.training is None:
                continue
            life = self._life_of(rule)
            if life.take_in(counts):
                self._held_and_failed.clear()
            if counts.is_switched_off and not life.is_switched_off:
                self.switch_off(rule)
                off.append(rule)
        return off

    def least_tested(self, rules: Iterable[str]) -> tuple[str, float]:
        """Return the least tested of *rules*, and the share (0-1) of would-be drops by them to explore.

        The share is 1 for a doubted or held-back rule, which drops nothing.
        """
        if self._epsilon <= 0:
            return "", 0.0
        return max(((rule, self._rate(rule)) for rule in rules), key=itemgetter(1), default=("", self._epsilon))

    def dropped(self, rules: tuple[str, ...]) -> None:
        """Note a URL that is dropped for the first time."""
        self._drops_by(rules).n_dropped += 1
        self._n_dropped.update(rules)
        for rule in rules:
            self._life_of(rule).dropped(self._n_dropped[rule])

    def taken_back(self, rules: tuple[str, ...], *, is_sent: bool) -> None:
        """Take back a dropped request: it is sent after all, or a new model decides about it anew."""
        self._drops_by(rules).n_dropped -= 1
        self._n_dropped.subtract(rules)
        self.n_taken_back += is_sent

    def n_dropped(self) -> Counter[str]:
        """Return the drops by rule, without those sent after all; a drop counts for each of its rules."""
        return Counter({rule: n for rule, n in self._n_dropped.items() if n > 0 and not is_value(rule)})

    def dropped_values(self) -> list[str]:
        """Return the names of the dropped values of candidates."""
        return [rule for rule, n in self._n_dropped.items() if n > 0 and is_value(rule)]

    def untested_rules(self) -> set[str]:
        """Return the rules with drops and without a decided exploration."""
        return {rule for rule in self.n_dropped() if not self._life_of(rule).is_tested}

    def verdicts(self) -> Verdicts:
        """Sum up drops and explorations; those of switched-off rules do not count as explorations."""
        n_tested = n_untested = n_right = n_wrong = 0
        for rules, drops in self._by_rules.items():
            lives = {rule: self._life_of(rule) for rule in rules}
            is_tested = all(life.is_tested for rule, life in lives.items() if not is_value(rule))
            if not rules:
                is_tested = drops.n_right + drops.n_wrong > 0
            if is_tested and not any(life.is_switched_off for life in lives.values()):
                n_tested += drops.n_dropped
                n_right += drops.n_right
                n_wrong += drops.n_wrong
            else:
                n_untested += drops.n_dropped
        return Verdicts(n_tested, max(0, n_untested), n_right, n_wrong)

    def begun(self, rules: Iterable[str]) -> None:
        """Note that an exploration of *rules* is under way, which lowers the rate of further ones."""
        for rule in dict.fromkeys(rules):
            self._life_of(rule).n_under_way += 1

    def given_up(self, rules: Iterable[str]) -> None:
        """Note that a begun exploration of *rules* does not take place."""
        for rule in dict.fromkeys(rules):
            life = self._life_of(rule)
            life.n_under_way = max(0, life.n_under_way - 1)

    def undecided(self, rules: Iterable[str], *, is_suspicious: bool = False) -> None:
        """Note that an exploration of *rules* is undecided, perhaps only for now.

        One that is probably wrong (*is_suspicious*) keeps the rules from being verified.
        """
        for rule in dict.fromkeys(rules):
            life = self._life_of(rule)
            life.n_undecided += 1
            life.n_under_way = max(0, life.n_under_way - 1)
            life.n_wrong += is_suspicious
        if is_suspicious:
            self._held_and_failed.clear()

    def is_held(self, rule: str) -> bool:
        """Return True if a rule is held back after too many undecided explorations in a row."""
        return self._life_of(rule).is_held()

    def n_missing(self, rule: str) -> int:
        """Return the number of explorations that a rule needs to be verified; at 0 its drops need not be kept."""
        if is_value(rule):
            return int(self._values[rule_of(rule)].lacks_test(rule))
        return self._life_of(rule).n_missing(max(0, self._n_dropped[rule]), self._share(rule))

    def states(self) -> Iterator[RuleState]:
        """Yield the rules that have drops, tests, or are switched off."""
        for rule, life in self._lives.items():
            if is_value(rule):
                continue
            n_dropped = max(0, self._n_dropped[rule])
            if life.is_switched_off:
                standing = "switched off"
            elif life.is_doubted:
                standing = "doubted"
            elif self._epsilon <= 0:
                standing = "not tested"
            elif life.is_held():
                standing = "held back"
            else:
                standing = "verified" if self.is_verified(rule) else "being tested"
            if n_dropped or life.n_here or life.is_switched_off:
                yield RuleState(rule, standing, n_dropped, life.n_here, life.n_wrong)

    def is_settled(self, rules: Iterable[str]) -> bool:
        """Return True if all *rules* are verified, and tested so often that their drops need not survive a kill."""
        return all(
            self.is_verified(rule) and (is_value(rule) or self._life_of(rule).n_here >= SETTLED) for rule in rules
        )

    def is_verified(self, rule: str) -> bool:
        """Return True if a rule had enough explorations, and these went well."""
        return self.n_missing(rule) == 0

    def record(self, rules: Iterable[str], form_digest: bytes, *, is_same: bool) -> str | None:
        """Record the verdict on one drop by *rules*; return the rule that is switched off from now on, if any.

        It was doubted before, or was wrong too often to be doubted. If several rules fail, only the most suspicious one
        is doubted or switched off, and the others' shared wrong verdicts are taken back. A wrong value of a candidate
        is switched off alone at first.
        """
        sharing = tuple(dict.fromkeys(rules))
        if any(is_value(rule) and self._life_of(rule).is_switched_off for rule in sharing):
            self.given_up(sharing)  # a second test of a wrong value says nothing new about its candidate
            return None
        self.n_agreed += is_same
        self.n_disagreed += not is_same
        drops = self._drops_by(sharing)
        drops.n_right += is_same
        drops.n_wrong += not is_same
        for rule in sharing:
            self._life_of(rule).is_tested = True
        if not is_same:
            sharing = tuple(rule for rule in sharing if rule not in self._standard) or sharing
            if off := tuple(rule for rule in sharing if self._lives[rule].is_switched_off):
                self.given_up(set(sharing).difference(off))  # this test was under way when the culprit was found
                sharing = off
        doubted = self._doubted(sharing)
        for rule in sharing:
            life = self._lives[rule]
            life.n_here += 1
            life.n_under_way = max(0, life.n_under_way - 1)
            life.n_wrong += not is_same
            life.n_undecided = 0
            if self.speakers.may_speak(rule, form_digest, is_same):
                life.recent.append(Outcome(is_same, sharing))
                life.n_agreed += is_same
                life.n_disagreed += not is_same
            if life.n_here == HELD or not is_same:
                self._held_and_failed.clear()
        if is_same:
            return None
        values = [rule for rule in sharing if is_value(rule)]
        if failing := self._doubted(sharing):
            worst = min(
                failing, key=lambda rule: (-self._lives[rule].expected_error, -self._lives[rule].suspicion(), rule)
            )
            if worst in doubted or self._lives[worst].suspicion() > 1:
                self.switch_off(worst)
                return worst
            self._excuse_others(worst)
            values = [value for value in values if rule_of(value) == worst]
        return self._switched_off_value(values[0]) if values else None

    def _switched_off_value(self, value: str) -> str:
        """Switch off a value of a candidate, or the candidate if it is the second one; return its name."""
        candidate = rule_of(value)
        is_first = not self._values[candidate].has_wrong()
        self._life_of(value).is_switched_off = True
        if is_first:
            return value
        self.switch_off(candidate)
        return candidate

    def _doubted(self, rules: Iterable[str]) -> set[str]:
        return {rule for rule in rules if not is_value(rule) and self._life_of(rule).is_doubted}

    def switch_off(self, rule: str) -> None:
        """Mark a rule as switched off, and excuse other rules that were wrong together with it."""
        self._life_of(rule).is_switched_off = True
        self._held_and_failed.clear()
        self._excuse_others(rule)

    def _excuse_others(self, rule: str) -> None:
        """Take back the wrong verdicts that other rules share with *rule*."""
        for other, life in self._lives.items():
            if other != rule:
                kept = [verdict for verdict in life.recent if verdict.is_right or rule not in verdict.sharing]
                n_excused = len(life.recent) - len(kept)
                life.n_disagreed = max(0, life.n_disagreed - n_excused)
                life.n_wrong = max(0, life.n_wrong - n_excused)
                life.recent = deque(kept, maxlen=WINDOW)

    def _life_of(self, rule: str) -> Life:
        life = self._lives.get(rule)
        if life is None:
            life = self._lives[rule] = Life()
            if is_value(rule):
                self._values[rule_of(rule)][rule] = life
        return life

    def _drops_by(self, rules: tuple[str, ...]) -> _Drops:
        """Return the counts of a set of rules; later sets than :data:`MAX_SETS` are counted without rules."""
        is_counted = rules in self._by_rules or len(self._by_rules) < MAX_SETS
        return self._by_rules.setdefault(rules if is_counted else (), _Drops())

    def _rate(self, rule: str) -> float:
        if is_value(rule):
            candidate = rule_of(rule)
            return self._values[candidate].rate(rule, self._n_dropped[candidate], self._epsilon)
        life = self._life_of(rule)
        if life.is_doubted:
            return 1.0
        return life.rate(self._epsilon) if self.n_missing(rule) else self._epsilon

    def _share(self, rule: str) -> float:
        """Return the expected share (0-1) of a site's rules that hold, by this process's tests of the other rules."""
        life = self._life_of(rule)
        if (counts := self._held_and_failed.get(life.site)) is None:
            here = [each for name, each in self._lives.items() if each.site == life.site and not is_value(name)]
            n_held, n_failed = sum(each.has_held() for each in here), sum(each.has_failed() for each in here)
            counts = self._held_and_failed[life.site] = n_held, n_failed
        return share_that_holds(counts[0] - life.has_held(), counts[1] - life.has_failed())
