"""Evidence of the explorations for each rule, and the decision when a rule has to go.

A rule is promised to be wrong in at most 2 % of its drops, or in as many as it was while training. It is doubted when
more is to be expected of it, by its training and all explorations together
(:mod:`dedup_crawler.rules.judging.belief`): at the first wrong one if little is known of it, at the third after a
hundred. A comparison of two pages may err, so a doubted rule is on probation: it drops nothing, each link that it would
drop is a test, and it has to go at the next wrong one. It drops again when the right ones outweigh the wrong one.

A rule may also break, for the site has changed. So the last trials are looked at by themselves. A test repeated after
every trial raises a false alarm sooner or later, so the level falls with the age of the rule: after its t-th trial a
run of trials that ends now must be less likely than 0.001 / t under the promise. Runs of every length up to 50 are
looked at, and the whole life: an old rule that breaks goes at the fourth wrong trial.
"""

from __future__ import annotations

import math
from collections import OrderedDict, deque
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from dedup_crawler.live.exploration.drop_counts import DropCounts
from dedup_crawler.live.exploration.rule_life import HELD, SUSPECTED, WINDOW, Life, Trial
from dedup_crawler.live.exploration.worth import MAX_TESTS, share_that_holds, tests_worth
from dedup_crawler.methods.model.evidence_file import RuleCounts
from dedup_crawler.rules.judging.belief import expected_error
from dedup_crawler.rules.judging.bounds import tail

MIN_ERROR = 0.02
"""Least share (0-1) of wrong drops that a rule is granted: a comparison of two pages errs now and then."""
MAX_ERROR = 0.1
"""Largest share (0-1) of wrong drops that a rule is granted, whatever its training says."""
LEVEL = 0.001
"""Chance (0-1) of a false alarm at the first trial; at the t-th it is the t-th part of it."""

YOUNG_RATE = 0.1
"""Share (0-1) of a rule's drops that is explored at first; half of it after YOUNG explorations, a third after twice."""
YOUNG = 10
SUSPECTED_RATE = 0.25
"""Share (0-1) that is explored while one of the last SUSPECTED trials went wrong, to know soon."""

SETTLED = 20
"""Explorations of this process after which a kill may make the next one forget what a verified rule had dropped."""

MAX_UNDECIDED = 20
"""Undecided explorations in a row, after which a rule is held back."""

FIRST_RATE = 0.99
"""Share (0-1) of a rule's drops that is explored until HELD tests were decided, whatever its training, earlier
processes and other rules say. More are tested while that is worth it (:mod:`~dedup_crawler.live.exploration.worth`)."""
MORE_WRONG = 2
"""Multiple of its granted error; a rule whose explorations go wrong more often than that is not verified."""

MAX_WRONG_OF_FORM = 4
"""One form speaks once for a rule, and so often against it: a rule that gives all pages one form is to be found out."""
MAX_FORMS = 50_000
"""Pairs of rule and form that are remembered to have spoken; the least recently explored go first."""


class RuleState(NamedTuple):
    """State of a rule in this crawl."""

    rule: str
    standing: str
    """``verified``, ``being tested``, ``doubted``, ``held back``, ``not tested`` or ``switched off``."""
    n_dropped: int
    """Different URLs."""
    n_tested: int
    n_wrong: int


class RuleEvidence:
    """Counts explorations by rule, says how much to explore, and which rule fails.

    Parameters
    ----------
    epsilon
        Share (0-1) of the drops of a well-known rule that is explored; 0 explores nothing at all.
    training
        Rule -> merge groups and wrong ones at training.
    known
        Counts of earlier crawls.
    """

    def __init__(
        self,
        epsilon: float,
        training: Mapping[str, tuple[int, int]] | None = None,
        known: Mapping[str, RuleCounts] | None = None,
    ) -> None:
        self._epsilon = epsilon
        self._training = dict(training or {})
        self._lives = {rule: Life.of(counts) for rule, counts in (known or {}).items()}
        self._foreign = dict(known or {})  # counts of earlier crawls, or of the other crawlers of this one
        self._site_of: dict[str, str] = {}
        self._standard: set[str] = set()
        self._held_and_failed: dict[str, tuple[int, int]] = {}  # site -> how many of its rules
        self._spoken: OrderedDict[tuple[str, bytes], int] = OrderedDict()  # (rule, form): how often against the rule
        self.drops = DropCounts()
        """The drops of this crawl, by their rules."""
        self.n_agreed = 0
        """Explorations of this crawl, repeated forms included."""
        self.n_disagreed = 0

    @property
    def switched_off(self) -> frozenset[str]:
        """The rules that failed, in this crawl or an earlier one."""
        return frozenset(rule for rule, life in self._lives.items() if life.is_switched_off)

    def counts(self) -> dict[str, RuleCounts]:
        """Counts to remember, by rule."""
        return {
            rule: RuleCounts(life.n_agreed, life.n_disagreed, life.is_switched_off)
            for rule, life in self._lives.items()
            if life.n_agreed or life.n_disagreed or life.is_switched_off
        }

    def add_training(
        self, training: Mapping[str, tuple[int, int]], site: str = "", standard: Iterable[str] = ()
    ) -> None:
        """Take in the rules of one more model, or of a newer one; those of one *site* speak for each other.

        *standard* rules hold on the web at large: what goes wrong with them and others is the fault of the others.
        """
        self._standard.update(standard)
        self._training.update(training)
        self._site_of.update(dict.fromkeys(training, site))

    def add_known(self, known: Mapping[str, RuleCounts]) -> None:
        """Take in counts of earlier crawls; a rule that this crawl has explored keeps its own."""
        for rule, counts in known.items():
            if not (life := self._life_of(rule)).n_explored and not life.is_switched_off:
                self._lives[rule], self._foreign[rule] = Life.of(counts), counts

    def own_counts(self) -> dict[str, RuleCounts]:
        """Counts of this process alone, by rule."""
        own = {}
        for rule, counts in self.counts().items():
            foreign = self._foreign.get(rule, RuleCounts())
            n_agreed = max(0, counts.n_agreed - foreign.n_agreed)
            n_disagreed = max(0, counts.n_disagreed - foreign.n_disagreed)
            if n_agreed or n_disagreed or counts.is_switched_off:
                own[rule] = RuleCounts(n_agreed, n_disagreed, counts.is_switched_off)
        return own

    def take_in(self, others: Mapping[str, RuleCounts]) -> list[str]:
        """Count the tests of the other crawlers of this crawl; gives the rules that go because these switched them off.

        What an evidence file said may be theirs: the larger of both counts. Rules that no model here has are left out.
        """
        off = []
        for rule, counts in others.items():
            if rule not in self._training:
                continue
            life, known = self._life_of(rule), self._foreign.get(rule, RuleCounts())
            n_agreed = max(0, counts.n_agreed - known.n_agreed)
            n_disagreed = max(0, counts.n_disagreed - known.n_disagreed)
            life.n_agreed += n_agreed
            life.n_disagreed += n_disagreed
            life.n_wrong += n_disagreed
            life.n_here += n_agreed + n_disagreed
            life.n_explored += n_agreed + n_disagreed
            if n_agreed or n_disagreed:
                self._held_and_failed.clear()
            self._foreign[rule] = RuleCounts(known.n_agreed + n_agreed, known.n_disagreed + n_disagreed)
            if counts.is_switched_off and not life.is_switched_off:
                self.switch_off(rule)
                off.append(rule)
        return off

    def promised_error(self, rule: str) -> float:
        """Share (0-1) of wrong drops that the rule is granted."""
        n_groups, n_wrong = self._training.get(rule, (0, 0))
        return min(MAX_ERROR, max(MIN_ERROR, n_wrong / n_groups if n_groups > 0 else 0.0))

    def rate(self, rules: Iterable[str]) -> float:
        """Share (0-1) of the would-be drops by *rules* together that is to be explored: as the least known asks.

        1 for a rule that is doubted or held back: it drops nothing.
        """
        if self._epsilon <= 0:
            return 0.0
        return max((self._rate(rule) for rule in rules), default=self._epsilon)

    def dropped(self, rules: tuple[str, ...]) -> None:
        """Note a URL that is dropped for the first time."""
        self.drops.dropped(rules)
        for rule in rules:
            n_dropped = self.drops.of(rule)
            if n_dropped & (n_dropped - 1) == 0:  # a power of two
                life = self._life_of(rule)
                life.n_until_half, life.n_until_last = life.n_until_last, life.n_here

    def begun(self, rules: Iterable[str]) -> None:
        """Note that an exploration of *rules* is under way: before its verdict comes, fewer others are needed."""
        for rule in dict.fromkeys(rules):
            self._life_of(rule).n_under_way += 1

    def given_up(self, rules: Iterable[str]) -> None:
        """Note that an exploration of *rules* that was begun does not take place."""
        for rule in dict.fromkeys(rules):
            life = self._life_of(rule)
            life.n_under_way = max(0, life.n_under_way - 1)

    def undecided(self, rules: Iterable[str], *, is_suspicious: bool = False) -> None:
        """Note that an exploration of *rules* could not be decided, or cannot be yet.

        One that speaks against the rule, though not for certain (*is_suspicious*), keeps it from being verified.
        """
        for rule in dict.fromkeys(rules):
            life = self._life_of(rule)
            life.n_undecided += 1
            life.n_under_way = max(0, life.n_under_way - 1)
            life.n_wrong += is_suspicious
        if is_suspicious:
            self._held_and_failed.clear()

    def is_held(self, rule: str) -> bool:
        """Return True if so many explorations in a row were undecided that the rule may drop nothing."""
        life = self._lives.get(rule)
        return life is not None and life.n_undecided >= MAX_UNDECIDED

    def n_missing(self, rule: str) -> int:
        """Explorations that a rule lacks to be verified; 0: what it drops is not kept any more."""
        life = self._life_of(rule)
        n_good = 0
        for n_good, trial in enumerate(reversed(life.recent)):  # noqa: B007 - the place of the last wrong one
            if not trial.is_right:
                break
        else:
            n_good = SUSPECTED
        n_wanted = math.ceil(life.n_wrong / (MORE_WRONG * self.promised_error(rule)))
        # the site may have changed since the training, and since the first drops were tested
        n_late = life.n_here - life.n_until_half
        n_worth = tests_worth(n_late, min(life.n_wrong, n_late), self.drops.of(rule), self._share(rule))
        if not life.n_wrong:
            n_worth = min(n_worth, max(0, MAX_TESTS - life.n_here))
        n_missing = max(HELD - life.n_here, n_worth, n_wanted - life.n_explored, SUSPECTED - n_good)
        return max(int(self.is_doubted(rule)), n_missing)

    def states(self) -> Iterator[RuleState]:
        """The rules that have dropped something, were tested or are switched off."""
        for rule in {**self.drops.by_rule(), **self._lives}:
            life = self._life_of(rule)
            n_dropped = self.drops.of(rule)
            if life.is_switched_off:
                standing = "switched off"
            elif self.is_doubted(rule):
                standing = "doubted"
            elif self._epsilon <= 0:
                standing = "not tested"
            elif self.is_held(rule):
                standing = "held back"
            else:
                standing = "verified" if self.n_missing(rule) == 0 else "being tested"
            if n_dropped or life.n_here or life.is_switched_off:
                yield RuleState(rule, standing, n_dropped, life.n_here, life.n_wrong)

    def is_settled(self, rules: Iterable[str]) -> bool:
        """Return True if all *rules* are verified, and tested so often that a kill may forget their drops."""
        return all(self._life_of(rule).n_here >= SETTLED and self.n_missing(rule) == 0 for rule in rules)

    def is_verified(self, rules: Iterable[str]) -> bool:
        """Return True if all *rules* have been explored often enough, and well."""
        return all(self.n_missing(rule) == 0 for rule in rules)

    def record(self, rules: Iterable[str], form_digest: bytes, *, is_same: bool) -> str | None:
        """Take in one exploration of a drop that *rules* led to.

        Returns
        -------
        str | None
            The rule that has to go and counts as switched off from now on: it was doubted before, or is wrong too often
            for that. If more fail, the most suspicious alone is doubted or has to go, and what the others did wrong
            together with it is taken back.
        """
        sharing = tuple(dict.fromkeys(rules))
        if is_same:
            self.n_agreed += 1
        else:
            self.n_disagreed += 1
        self.drops.explored(sharing, is_same=is_same)
        if not is_same:
            sharing = tuple(rule for rule in sharing if rule not in self._standard) or sharing
        doubted = set() if is_same else {rule for rule in sharing if self.is_doubted(rule)}
        for rule in sharing:
            life = self._life_of(rule)
            life.n_explored += 1
            life.n_here += 1
            life.n_under_way = max(0, life.n_under_way - 1)
            life.n_wrong += not is_same
            life.n_undecided = 0
            if self._may_speak(rule, form_digest, is_same):
                life.recent.append(Trial(is_same, sharing))
                life.n_agreed += is_same
                life.n_disagreed += not is_same
            if life.n_here == HELD or not is_same:
                self._held_and_failed.clear()
        failing = [] if is_same else [rule for rule in sharing if self.is_doubted(rule)]
        if not failing:
            return None
        worst = min(failing, key=lambda rule: (-self.expected_error(rule), -self.suspicion(rule), rule))
        if worst not in doubted and self.suspicion(worst) <= 1:
            self._excuse_others(worst)
            return None
        self.switch_off(worst)
        return worst

    def suspicion(self, rule: str) -> float:
        """Return how many times less likely than allowed a rule's trials are under its promise; above 1 it fails."""
        life = self._lives.get(rule)
        if life is None:
            return 0.0
        error = self.promised_error(rule)
        chance = min((tail(n_wrong, n, error) for n_wrong, n in life.runs()), default=1.0)
        return LEVEL / (max(1, life.n_agreed + life.n_disagreed) * max(chance, 1e-300))

    def expected_error(self, rule: str) -> float:
        """Share (0-1) of wrong drops that is to be expected of a rule, by all that is known of it."""
        return expected_error(*self._known(rule, self._life_of(rule)))

    def is_doubted(self, rule: str) -> bool:
        """Return True if a rule that was not switched off, and was wrong in this life, breaks its promise."""
        life = self._lives.get(rule)
        if life is None or life.is_switched_off or not life.n_disagreed:
            return False
        return self.expected_error(rule) > self.promised_error(rule) or self.suspicion(rule) > 1

    def switch_off(self, rule: str) -> None:
        """Count a rule as switched off; it alone is to blame for what it did wrong together with others."""
        self._life_of(rule).is_switched_off = True
        self._held_and_failed.clear()
        self._excuse_others(rule)

    def _excuse_others(self, rule: str) -> None:
        """Blame on *rule* alone what it did wrong together with others."""
        for other, life in self._lives.items():
            if other != rule:
                kept = [trial for trial in life.recent if trial.is_right or rule not in trial.sharing]
                n_excused = len(life.recent) - len(kept)
                life.n_disagreed = max(0, life.n_disagreed - n_excused)
                life.n_wrong = max(0, life.n_wrong - n_excused)
                life.recent = deque(kept, maxlen=WINDOW)

    def _life_of(self, rule: str) -> Life:
        life = self._lives.get(rule)
        if life is None:
            life = self._lives[rule] = Life.of(RuleCounts())
        return life

    def _known(self, rule: str, life: Life) -> tuple[int, int]:
        """Merge groups and trials that are known of a rule, and how many of them were wrong."""
        n_groups, n_wrong = self._training.get(rule, (0, 0))
        return n_groups + life.n_agreed + life.n_disagreed, n_wrong + life.n_disagreed

    def _rate(self, rule: str) -> float:
        life = self._life_of(rule)
        if life.n_undecided >= MAX_UNDECIDED or self.is_doubted(rule):
            return 1.0
        if life.n_here + life.n_under_way < HELD:
            return max(self._epsilon, FIRST_RATE)
        floor = SUSPECTED_RATE if life.is_suspected() else self._epsilon
        return max(self._epsilon, floor, YOUNG_RATE * YOUNG / (YOUNG + life.n_explored + life.n_under_way))

    def _share(self, rule: str) -> float:
        """Share (0-1) of the rules of a rule's site that holds, by what this process has tested of the others."""
        site = self._site_of.get(rule, "")
        if (counts := self._held_and_failed.get(site)) is None:
            here = [life for each, life in self._lives.items() if self._site_of.get(each, "") == site]
            n_held, n_failed = sum(each.has_held() for each in here), sum(each.has_failed() for each in here)
            counts = self._held_and_failed[site] = n_held, n_failed
        life = self._life_of(rule)
        return share_that_holds(counts[0] - life.has_held(), counts[1] - life.has_failed())

    def _may_speak(self, rule: str, form_digest: bytes, is_same: bool) -> bool:
        key = rule, form_digest
        n_wrong = self._spoken.get(key)
        if n_wrong is not None and (is_same or n_wrong >= MAX_WRONG_OF_FORM):
            return False
        self._spoken[key] = (n_wrong or 0) + (not is_same)
        self._spoken.move_to_end(key)
        if len(self._spoken) > MAX_FORMS:
            self._spoken.popitem(last=False)
        return True
