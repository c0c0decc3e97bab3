"""Rules of DustBuster on the later half of real logs: their judgement there, and why most have no pairs.

    python benchmarks/later_half.py LOGS

LOGS holds ``*.tsv.gz``. Rules are learnt as ``benchmarks/logs.py`` does, from the first half of the accesses.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from logs import HOLDS, HOST, KINDS, counted, forms_by, pairs_of, right_share, size_list, sizes_of
from usage import arguments

from dedup_crawler.methods.miners import DustBuster
from dedup_crawler.pages.logs import Access
from dedup_crawler.rules.language.rule import AnyRule, SubstringRule
from dedup_crawler.rules.miners.url_list import PairsOfRule, UrlList, pairs_of_substrings

FATES = ("hold", "fail", "unseen")
REASONS = {
    "gone": "it changes no URL of the later half",
    "known": "the URLs of the later half that it changes were all in the first half, and the others were not asked for"
    " again",
    "alone": "it changes new URLs, but the log has no access to what they become",
}
N_EXAMPLES = 3
_MAX_SHOWN = 100  # most shown characters of a URL


@dataclass(frozen=True)
class Later:
    """One rule on the later half of a log."""

    log: str
    rule: str
    by_later_sizes: str
    """Fate by pairs of URLs that were both requested in the later half, with their sizes there."""
    by_new_urls: str
    """Fate by pairs with a URL that is first requested in the later half, with the sizes of the whole log."""
    reason: str
    """Reason why it is unseen both ways; empty if it is not."""
    example: str


def main(logs: Path) -> None:
    """Print the tables."""
    print("Rules are learnt from the first half of the accesses of a log. What speaks for or against them later can be")
    print("counted in two ways. *Later sizes*: pairs of URLs that were both asked for in the later half, with their")
    print(
        "sizes there. *New URLs*: pairs of which at least one URL is first asked for in the later half, with the sizes"
    )
    print(
        f"of the whole log. A rule holds if {HOLDS:.0%} of its pairs have sizes that overlap, it fails if fewer have,"
    )
    print("and without a pair it is unseen. Of a rule 5,000 URLs are looked at and 1,000 pairs kept at most. The last")
    print("columns say why rules are unseen in both ways:\n")
    for reason, said in REASONS.items():
        print(f"- *{reason}*: {said}.")
    print("\n*Likely*: every likely rule; *tried*: those that hold for the pairs of the first half.\n")
    heads = [f"{fate} by {way}" for way in ("later sizes", "new URLs") for fate in FATES]
    print(f"| log | new URLs | rules | found | {' | '.join(heads)} | unseen by both | {' | '.join(REASONS)} |")
    print("|---" * (5 + len(heads) + len(REASONS)) + "|")
    judged: dict[str, list[Later]] = {kind: [] for kind in KINDS}
    for path in sorted(logs.glob("*.tsv.gz")):
        log, accesses = path.name.partition(".")[0], list(counted(path))
        for kind in KINDS:
            found, n_new = judged_later(log, accesses, KINDS[kind])
            judged[kind] += found
            cells = [n_new, kind, len(found), *counts(each.by_later_sizes for each in found)]
            cells += counts(each.by_new_urls for each in found)
            reasons = Counter(each.reason for each in found if each.reason)
            cells += [reasons.total(), *(reasons[reason] for reason in REASONS)]
            print("|", log, "|", " | ".join(map(str, cells)), "|", flush=True)
    print_examples(judged["tried"], judged["likely"])


def counts(fates: Iterable[str]) -> list[int]:
    """Return how many rules hold, fail and are unseen."""
    counted_fates = Counter(fates)
    return [counted_fates[fate] for fate in FATES]


def judged_later(log: str, accesses: Sequence[Access], n_tried: int) -> tuple[list[Later], int]:
    """Return every rule of the first half, and the number of new URLs in the later one."""
    half = len(accesses) // 2
    earlier = sizes_of(accesses[:half], HOST)
    later, whole = sizes_of(accesses[half:], HOST), size_list(sizes_of(accesses, HOST))
    method = DustBuster(validate=n_tried)
    method.fit_sizes(list(earlier), [(sizes.low, sizes.high) for sizes in earlier.values()])
    rules = [rule for rule in method.engine_.rules if rule.host == HOST]
    known, asked = size_list(earlier), size_list(later)
    new = size_list({url: sizes for url, sizes in later.items() if url not in earlier})
    found = []
    ways = zip(
        rules,
        pairs_of(rules, asked),
        pairs_of(rules, whole),
        n_changed(rules, asked),
        n_changed(rules, new),
        strict=True,
    )
    for rule, by_sizes, pairs, n_asked, n_new in ways:
        fresh = [pair for pair in pairs.pairs if any(whole.forms[place] not in known.place for place in pair)]
        fates = fate(by_sizes, asked), fate(PairsOfRule(pairs.n_urls, fresh), whole)
        reason = "" if fates != ("unseen", "unseen") else "alone" if n_new else "known" if n_asked else "gone"
        example = shown_pair(pairs, whole) if not reason or reason != "alone" else shown_alone(rule, new)
        if fresh and fates[1] != "unseen":
            wrong = [pair for pair in fresh if not whole.may_be_same(*pair)]
            example = shown_pair(PairsOfRule(0, wrong if fates[1] == "fail" else fresh), whole)
        found.append(Later(log, str(rule).removeprefix(f"{HOST}: "), *fates, reason, example))
    return found, len(new)


def fate(pairs: PairsOfRule, urls: UrlList) -> str:
    """Return ``hold`` or ``fail``, by the pairs of the list; ``unseen`` without pairs."""
    share = right_share(pairs, urls)
    return "unseen" if share is None else "hold" if share >= HOLDS else "fail"


def n_changed(rules: Sequence[AnyRule], urls: UrlList) -> list[int]:
    """Return the number of URLs of a list that each rule changes (for a substring rule at most 5,000)."""
    substrings = [rule for rule in rules if isinstance(rule, SubstringRule)]
    of_substring = iter(pairs_of_substrings(substrings, urls, seed=0))
    return [
        next(of_substring).n_urls if isinstance(rule, SubstringRule) else len(list(changes(rule, urls)))
        for rule in rules
    ]


def changes(rule: AnyRule, urls: UrlList) -> Iterator[tuple[str, str]]:
    """Yield the URLs that a rule changes, with the results."""
    for url, form in zip(urls.forms, forms_by(rule, urls), strict=True):
        if url != form:
            yield url, form


def shown_pair(pairs: PairsOfRule, urls: UrlList) -> str:
    """Return a pair of URLs with both sizes."""
    return " and ".join(shown(urls.forms[at], f"{urls.lows[at]}-{urls.highs[at]}") for at in min(pairs.pairs))


def shown_alone(rule: AnyRule, new: UrlList) -> str:
    """Return a new URL, and its result by the rule."""
    url, form = next(changes(rule, new))
    return f"{shown(url, 'new')} and {shown(form, 'never asked for')}"


def shown(url: str, remark: str) -> str:
    """Return a URL without its host."""
    rest = url.removeprefix(f"http://{HOST}").replace("|", "%7C")
    return f"`{rest if len(rest) <= _MAX_SHOWN else rest[:_MAX_SHOWN] + '...'}` ({remark})"


def print_examples(*found: Sequence[Later]) -> None:
    """Print three rules of every fate by new URLs, and of every reason, from different logs if possible."""
    print("\n## Examples\n\nIn brackets the bytes that the log has of a URL, least and most.\n")
    kinds = {f"{fate_} by new URLs alone": ("unseen", fate_, "") for fate_ in FATES[:2]}
    kinds |= {f"{reason}": ("unseen", "unseen", reason) for reason in REASONS}
    for title, identity in kinds.items():
        by_log: dict[str, list[Later]] = defaultdict(list)
        for each in dict.fromkeys(each for some in found for each in some):
            if (each.by_later_sizes, each.by_new_urls, each.reason) == identity:
                by_log[each.log].append(each)
        print(f"*{title}*:{'' if by_log else ' none'}\n")
        turns = sorted((turn, log) for log, some in by_log.items() for turn in range(len(some)))
        for turn, log in turns[:N_EXAMPLES]:
            each = by_log[log][turn]
            print(f"- {log}: {each.rule}: {each.example}")
        print(flush=True, end="\n" if turns else "")


if __name__ == "__main__":
    main(*map(Path, arguments(__doc__, 1)))
