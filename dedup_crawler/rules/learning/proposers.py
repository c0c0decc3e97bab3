"""Proposes rules from pages that several URLs show: between kinds of URLs, between folders, and those of the miners.

A rule between two kinds of URLs (``/index.php?title=X&printable=yes`` is ``/X``) comes from pairs of URLs of one page,
as in A. Dasgupta, R. Kumar, A. Sasturkar, "De-duping URLs via rewrite rules", KDD 2008: a value of the target that the
source also has is copied, other values of the target are set, and other keys of the source are dropped. Such rules also
come from examples of the forms of another model; there a value may be cut too.

If a folder has an alias of another depth (``/pub/...`` is ``/...``), all path keys move. One substring rule at the
start of the path says that (Z. Bar-Yossef, I. Keidar, U. Schonfeld, "Do not crawl in the DUST", WWW 2007). Another one
drops the name of an index file from folders of all depths (``/a/b/index.html`` is ``/a/b/``).

The miners of the literature read only the URLs of the duplicates that no rule explains yet, which keeps them cheap.
Their own filters are not used. Whatever enough pages propose is judged like any other hypothesis.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import chain, combinations
from typing import NamedTuple

import numpy as np

from dedup_crawler.errors import BadInputError
from dedup_crawler.grouping import grouped
from dedup_crawler.rules.applying.engine import read_url
from dedup_crawler.rules.language.matchers import ANY, Literal, Matcher
from dedup_crawler.rules.language.operations import Copy, Cut, Operation, Set, cuts_at
from dedup_crawler.rules.language.rule import AnyRule, Rule, SubstringRule
from dedup_crawler.rules.learning.belief import MIN_GROUPS, UNKNOWN
from dedup_crawler.rules.learning.columns import UrlColumns, item_hash
from dedup_crawler.rules.miners.decision_tree import leaf_rules
from dedup_crawler.rules.miners.dust import DustSearch
from dedup_crawler.rules.miners.duster import consensus_rules
from dedup_crawler.rules.miners.mapped_crawl import STRUCTURE, MappedCrawl, pair_operations
from dedup_crawler.rules.miners.node_rules import node_rules
from dedup_crawler.rules.miners.rewrite_rules import rewrite_rules
from dedup_crawler.rules.miners.url_list import UrlList
from dedup_crawler.urls.keyvalue import KEY_VALUES, KeyValues
from dedup_crawler.urls.templates import different_starts

MIN_PAGES = 8
"""Smallest number of pages (or examples) behind a proposal."""
MAX_JOINS = 60
MAX_ALIASES = 10
_MAX_URLS = 6  # URLs of one page
MAX_UNEXPLAINED = 2_000
"""Most URLs of unexplained duplicates that miners read; of more, whole pages are drawn."""
MAX_PROPOSALS = 10
"""Most proposals of one miner, those with most right merge groups."""
_MAX_PER_PAGE = 6
_FAN_OUT = 10  # of KDD'08
_SEED = 0


def template_joins(columns: UrlColumns) -> list[Rule]:
    """Rules between different kinds of URLs, those that most pages propose first."""
    pages = []
    for rows in _kinds_of_pages(columns):
        # rules lead from the larger map to the smaller one; of equally large maps, to the first one
        maps = sorted((columns.row(row) for row in rows), key=lambda values: (-len(values), sorted(values)))
        pages.append([proposal for pair in combinations(maps, 2) for proposal in _joins(*pair)])
    return _most_proposed(columns.host, pages)


def rules_of_examples(host: str, examples: Iterable[tuple[str, str]], origin: str) -> list[Rule]:
    """Rules that turn URLs into their forms, those of most examples first; *origin* is the method with these forms.

    *examples* are URLs and forms, both in normal form. A form that is the URL itself, or has another host, is ignored.
    """
    shown = []
    for url, form in examples:
        source, target = read_url(url, KEY_VALUES), read_url(form, KEY_VALUES)
        if source[0] != target[0] and url.split("/", 3)[2:3] == form.split("/", 3)[2:3]:
            operations = {
                key: _as_cut(source[1].get(key), operation) if key not in STRUCTURE else operation
                for key, operation in pair_operations(source[1], target[1]).items()
            }
            kinds = (("path[", "query["), ("query[",), ())
            shown.append(_proposals(source[1], target[1], operations, kinds))
    return _most_proposed(host, shown, origin)


def rests_of_pages(columns: UrlColumns) -> list[list[str]]:
    """Path and query of a few URLs of each page; pages of one URL propose nothing and are left out."""
    return [list(map(columns.rest, rows[:_MAX_URLS])) for rows in _rows_of_pages(columns)]


def prefix_aliases(host: str, rests: Iterable[list[str]]) -> list[SubstringRule]:
    """Rules from the longer to the shorter start of a path, those that most pages propose first.

    *rests* are those of :func:`rests_of_pages`.
    """
    votes: Counter[tuple[str, str]] = Counter()
    for its in rests:
        votes.update(set(_starts(sorted(its))))
    enough = sorted(((-n, old, new) for (old, new), n in votes.items() if n >= MIN_PAGES))
    folders = [
        (old, new)
        for _, old, new in enough[:MAX_ALIASES]
        if "?" not in old and new.startswith("/") and not (old[-1].isalnum() or new[-1].isalnum())
    ]
    return _substring_rules(host, folders, at_start=True)


def index_files(host: str, rests: Iterable[list[str]]) -> list[SubstringRule]:
    """Rules that drop the name of an index file from paths of any length, those that most pages propose first.

    Servers show a folder by its index file (``DirectoryIndex`` of Apache, ``index`` of nginx). A name with an extension
    is proposed if it is found in folders of several depths; other names are left to the rules about one path part.
    *rests* are those of :func:`rests_of_pages`.
    """
    changes = ({(name, slash): folder.count("/") for folder, name, slash in _folders(its)} for its in rests)
    depths_of = grouped(chain.from_iterable(each.items() for each in changes))  # one depth of each page
    found = [(-len(its), *change) for change, its in depths_of.items() if len(its) >= MIN_PAGES and len(set(its)) > 1]
    return _substring_rules(host, [(f"/{name}", slash) for _, name, slash in sorted(found)[:MAX_ALIASES]])


class _Proposal(NamedTuple):
    """Parts of a rule that is not made yet: most proposals have too few pages, and making a rule of each takes time."""

    context: Mapping[str, Matcher]
    operations: Mapping[str, Operation]
    absent: frozenset[str]

    def identity(self) -> Hashable:
        """Equal for two proposals of the same rule."""
        return frozenset(self.context.items()), frozenset(self.operations.items()), self.absent


def _most_proposed(host: str, proposed: Iterable[Iterable[_Proposal]], origin: str = "") -> list[Rule]:
    """Rules that enough pages propose, those of most pages first."""
    votes: Counter[Hashable] = Counter()
    first: dict[Hashable, _Proposal] = {}
    for its in proposed:
        of_page = {proposal.identity(): proposal for proposal in its}
        votes.update(of_page.keys())
        for identity, proposal in of_page.items():
            first.setdefault(identity, proposal)
    rules = [(n, Rule(host, *first[identity], origin)) for identity, n in votes.items() if n >= MIN_PAGES]
    return [rule for _, rule in sorted(rules, key=lambda each: (-each[0], str(each[1])))[:MAX_JOINS]]


def _rows_of_pages(columns: UrlColumns) -> list[list[int]]:
    """Rows of each page that several rows show."""
    rows_of_page = grouped((page, row) for row, page in enumerate(columns.alike.tolist()) if page != UNKNOWN)
    return [rows for rows in rows_of_page.values() if len(rows) > 1]


def _kinds_of_pages(columns: UrlColumns) -> Iterator[list[int]]:
    """Yield a few rows of each page, one of each of its kinds (by their keys)."""
    of_keys = np.zeros(len(columns), np.uint64)
    for key, column in columns.columns.items():
        of_keys[column.numbers >= 0] += np.uint64(item_hash(key, None))
    kinds = of_keys.tolist()
    for rows in _rows_of_pages(columns):
        first: dict[int, int] = {}
        for row in rows:
            first.setdefault(kinds[row], row)
        yield list(first.values())[:_MAX_URLS]


def _joins(source: KeyValues, target: KeyValues) -> Sequence[_Proposal]:
    operations = pair_operations(source, target)
    if len(operations) < 2:
        return ()  # a rule about one key is among the other hypotheses
    return _proposals(source, target, operations, (("query[",), ()))


def _proposals(
    source: KeyValues, target: KeyValues, operations: Mapping[str, Operation], any_of: Iterable[tuple[str, ...]]
) -> list[_Proposal]:
    """A rule for each entry of *any_of*: any value for changed keys with these prefixes, literals for the others."""
    absent = frozenset([key for key in target if key not in source])
    copied: dict[str, Matcher] = {each.key: ANY for each in operations.values() if isinstance(each, Copy)}
    changed = [key for key in operations if key in source and key not in copied]
    proposals = []
    for kinds in any_of:
        context: dict[str, Matcher] = {
            key: ANY if key.startswith(kinds) or isinstance(operations[key], Cut) else Literal(source[key])
            for key in changed
        }
        proposals.append(_Proposal({**context, **copied}, operations, absent))
    return proposals


def _as_cut(value: str | None, operation: Operation) -> Operation:
    """Replace an operation by a cut of *value* with the same result, if there is one."""
    if isinstance(operation, Set) and value and operation.value and operation.value in value:
        cuts = cuts_at(sorted({each for each in value if not each.isalnum() and each != "%"}))
        return next((cut for cut in cuts if cut.parts(value)[0] == operation.value), operation)
    return operation


def _folders(rests: Sequence[str]) -> Iterator[tuple[str, str, str]]:
    """Yield folder, name and the slash (or nothing) in its place, for files whose folder is among *rests* too."""
    for rest in rests:
        path, mark, query = rest.partition("?")
        folder, _, name = path.rpartition("/")
        if "." in name:
            for slash in ("/", "") if folder else ("/",):
                if f"{folder}{slash}{mark}{query}" in rests:
                    yield folder, name, slash


def _starts(rests: list[str]) -> Iterator[tuple[str, str]]:
    for one, other in combinations(rests, 2):
        left, right = different_starts(one, other)
        if left and right and left != right:
            yield (left, right) if (len(left), left) > (len(right), right) else (right, left)


def _substring_rules(host: str, changes: Iterable[tuple[str, str]], *, at_start: bool = False) -> list[SubstringRule]:
    """Rules for these changes, without those that are not in normal form."""
    rules = []
    for old, new in changes:
        with suppress(BadInputError):
            rules.append(SubstringRule(host, old, new, at_start))
    return rules


def _dust(crawl: MappedCrawl) -> list[AnyRule]:
    search = DustSearch(
        "dustbuster", min_support=MIN_GROUPS, max_tokens=35, max_bucket=11, n_tried=100, epsilon=0.1, seed=_SEED
    )
    return search.rules_of(UrlList(crawl.host, crawl.forms, crawl.pages, crawl.pages, are_clusters=True))


PROPOSERS: Mapping[str, Callable[[MappedCrawl], Iterable[AnyRule]]] = {
    "rewrite-rules": lambda crawl: rewrite_rules(
        crawl, "rewrite-rules", fan_out=_FAN_OUT, max_per_cluster=_MAX_PER_PAGE, seed=_SEED
    ),
    "decision-tree": lambda crawl: leaf_rules(crawl, "decision-tree", seed=_SEED),
    "pattern-tree": lambda crawl: [found.rule for found in node_rules(crawl, "pattern-tree")],
    "dustbuster": _dust,
    "duster": lambda crawl: consensus_rules(
        crawl, "duster", min_clusters=MIN_GROUPS, max_per_cluster=_MAX_PER_PAGE, seed=_SEED
    ),
}
"""Name of the method -> its miner, without the filter of the method."""


def proposals(columns: UrlColumns) -> list[AnyRule]:
    """Rules of all miners about the duplicates that are left, in a fixed order."""
    crawl = _unexplained(columns)
    if not crawl.forms:
        return []
    found: dict[tuple[object, ...], AnyRule] = {}
    for propose in PROPOSERS.values():
        rated = []
        for rule in propose(crawl):
            evidence = (crawl.counted(rule) if isinstance(rule, Rule) else rule).evidence
            n_right = evidence.n_groups - evidence.n_wrong
            if n_right >= MIN_GROUPS:
                rated.append((-n_right, str(rule), rule))
        for _, _, rule in sorted(rated, key=lambda entry: entry[:2])[:MAX_PROPOSALS]:
            found.setdefault(rule.identity(), rule)
    return list(found.values())


def _unexplained(columns: UrlColumns) -> MappedCrawl:
    """Rows whose page other rows show too; a sample of the pages if there are many."""
    pages = _rows_of_pages(columns)
    random.Random(_SEED).shuffle(pages)  # noqa: S311 - draws examples, guards nothing
    taken: list[int] = []
    for rows in pages:
        if len(taken) < MAX_UNEXPLAINED:
            taken += rows[:MAX_UNEXPLAINED]
    taken.sort()
    urls = [f"{columns.row(row)['scheme']}://{columns.host}{columns.rest(row)}" for row in taken]
    return MappedCrawl(columns.host, urls, [int(columns.alike[row]) for row in taken])
