"""The drops of a live crawl (the file of ``DEDUP_DROPPED``), and the explorations that test its rules.

The file has one line for each drop and may be of any size. It is read line by line, and few examples are kept.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from dedup_crawler.errors import BadInputError, EvidenceError
from dedup_crawler.methods.model.evidence_file import LostPages, RuleCounts, evidence_path, lost_pages, read_evidence
from dedup_crawler.pages.compression import Progress, bounded_lines, read_chunks

MAX_RULES = 500
"""Most rules whose drops are counted separately."""
MAX_SHOWN = 40
"""Most rules that are shown."""
N_EXAMPLES = 2
"""Most examples of a rule."""
N_SUSPECTED = 20
"""Most examples of a rule with explorations against it."""
MAX_LINE = 2**16
"""Bytes of the longest line that is read."""
_MAX_RULES_OF_DROP = 20
_MAX_NAME = 64  # characters of a rule's name
_NO_RULE = "(no rule: the form of a page that was fetched before)"
_OTHER_RULES = "(other rules)"


@dataclass(frozen=True)
class LoggedDrop:
    """One line of the file."""

    url: str
    owner: str | None
    """The URL that was fetched instead; None if it is not known."""
    rules: tuple[str, ...]
    time: float | None


@dataclass
class RuleLife:
    """One rule of live crawls, with its explorations and drops."""

    sentence: str
    counts: RuleCounts
    n_dropped: int = 0
    """Number of drops of which it is the first rule, as in the stats of a crawl."""
    examples: list[LoggedDrop] = field(default_factory=list)

    @property
    def is_suspected(self) -> bool:
        """Return True if explorations are against the rule."""
        return self.counts.is_switched_off or self.counts.n_disagreed > 0

    @property
    def lost(self) -> LostPages | None:
        """Estimate of the pages that the rule's drops lost; None without explorations."""
        its = self.counts
        return lost_pages(self.n_dropped, its.n_agreed, its.n_disagreed) if its.n_agreed + its.n_disagreed else None

    def add(self, drop: LoggedDrop) -> None:
        """Count one drop."""
        self.n_dropped += 1
        if len(self.examples) < (N_SUSPECTED if self.is_suspected else N_EXAMPLES):
            self.examples.append(drop)


@dataclass
class DropFacts:
    """Counts of the file of drops."""

    n_dropped: int = 0
    n_damaged: int = 0
    """Number of lines without a drop."""
    n_judged: int = 0
    """Number of drops for which a truth has the pages of both URLs."""
    n_wrong: int = 0
    """Number of judged drops whose URLs show two pages."""
    wrong: list[LoggedDrop] = field(default_factory=list)
    times: tuple[float, float] | None = None

    def add(self, drop: LoggedDrop, truth: Mapping[str, str]) -> None:
        """Count one drop."""
        self.n_dropped += 1
        if drop.time is not None:
            first, last = self.times or (drop.time, drop.time)
            self.times = min(first, drop.time), max(last, drop.time)
        pages = truth.get(drop.url), truth.get(drop.owner or "")
        if None not in pages:
            self.n_judged += 1
            if pages[0] != pages[1]:
                self.n_wrong += 1
                if len(self.wrong) < N_SUSPECTED:
                    self.wrong.append(drop)


@dataclass(frozen=True)
class LiveFacts:
    """Facts of live crawls."""

    drops: DropFacts | None
    """Counts of the file of drops; None without a file."""
    rules: Sequence[RuleLife]
    n_rules: int
    n_agreed: int
    n_disagreed: int
    lost: LostPages | None
    trouble: Sequence[str]
    """Reasons why evidence could not be read."""

    @property
    def n_explored(self) -> int:
        """Number of explored duplicates that could be judged."""
        return self.n_agreed + self.n_disagreed


def live_facts(
    dropped: Path | None,
    folders: Sequence[Path],
    sentences: Mapping[str, str],
    truth: Mapping[str, str],
    progress: Progress,
) -> LiveFacts:
    """Read the drops of a crawl (JSON lines, plain, gzip or zstd), and the evidence beside each model.

    *sentences* has the sentences of the rules of these models, *truth* the page of each URL, if there is a truth.
    BadInputError if the file of drops cannot be read, or has only other lines.
    """
    trouble: list[str] = []
    counts = {rule: its for folder in folders for rule, its in _counts_of(folder, trouble).items()}
    lives: dict[str, RuleLife] = {}

    def life_of(rule: str) -> RuleLife:
        if rule not in lives:
            name = rule if rule in (_NO_RULE, _OTHER_RULES) else f"rule {rule}, of another model"
            lives[rule] = RuleLife(sentences.get(rule, name), counts.get(rule, RuleCounts()))
        return lives[rule]

    drops = None
    if dropped is not None:
        drops = DropFacts()
        for drop in _lines(dropped, progress):
            if drop is None:
                drops.n_damaged += 1
                continue
            drops.add(drop, truth)
            rule = drop.rules[0] if drop.rules else _NO_RULE
            life_of(rule if rule in lives or len(lives) < MAX_RULES else _OTHER_RULES).add(drop)
        if drops.n_damaged and not drops.n_dropped:
            raise BadInputError(f"{dropped} holds no drops: give the file that DEDUP_DROPPED named in the crawl.")
    n_agreed = sum(its.n_agreed for its in counts.values())
    n_disagreed = sum(its.n_disagreed for its in counts.values())
    lost = None
    if drops is not None and n_agreed + n_disagreed > 0:
        lost = lost_pages(drops.n_dropped, n_agreed, n_disagreed)
    for rule in counts:
        life_of(rule)
    rules = sorted(
        lives.values(),
        key=lambda life: (not life.is_suspected, -life.n_dropped, -life.counts.n_agreed, life.sentence),
    )
    return LiveFacts(drops, rules[:MAX_SHOWN], len(rules), n_agreed, n_disagreed, lost, trouble)


def _counts_of(folder: Path, trouble: list[str]) -> Mapping[str, RuleCounts]:
    """Counts of each rule in the evidence beside a model; if it cannot be read, the reason goes to *trouble*."""
    try:
        evidence = read_evidence(evidence_path(folder))
    except EvidenceError as error:
        trouble.append(str(error))
        return {}
    return evidence.rules if evidence is not None else {}


def _lines(path: Path, progress: Progress) -> Iterator[LoggedDrop | None]:
    """Read the drops of a file; None for a line without a drop."""
    chunks = read_chunks(path, lambda _, n_read, n_bytes: progress("drops", n_read, n_bytes))
    for _, line in bounded_lines(chunks, MAX_LINE):
        if line not in (b"", b"\r"):
            yield _drop(line) if isinstance(line, bytes) else None


def _drop(line: bytes) -> LoggedDrop | None:
    try:
        value = json.loads(line)
        url, owner, rules, time = value["url"], value.get("owner"), value.get("rules"), value.get("time")
    except (ValueError, RecursionError, KeyError, TypeError, AttributeError):
        return None
    if not isinstance(url, str) or not isinstance(rules, list):
        return None
    return LoggedDrop(
        url,
        owner if isinstance(owner, str) else None,
        tuple(str(rule)[:_MAX_NAME] for rule in rules[:_MAX_RULES_OF_DROP]),
        float(time) if type(time) in (int, float) and 0 <= time < 1e11 else None,  # None if it is no date
    )
