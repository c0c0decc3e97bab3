"""Rules about a whole site, not about single URLs: host aliases, referrer rules and coverage rules.

:mod:`dedup_crawler.rules.learning.site_learning` learns them. The link rules of a host are tables to look them up, and
JSON that a person can read (``links.json``).

Link rules speak of the *shape* of a URL: its map, with ``*`` for the values that tell pages apart.
``/topic/7-a-title?page=2`` has the shape ``/topic/*?page=*``. A value stays if many URLs have it and it is no number:
numbers tell pages apart, however frequent they are. A referrer rule compares two URLs: its shapes have ``=`` for values
that both share.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Set
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, TypeVar

from dedup_crawler.grouping import grouped
from dedup_crawler.json_values import JsonValue
from dedup_crawler.rules.language.operations import STAR
from dedup_crawler.rules.language.statistics import MergeEvidence, merge_evidence_of
from dedup_crawler.urls.keyvalue import KEY_VALUES, query_names, values_of

MIN_URLS = 8
"""Smallest number of URLs with a value that stays in shapes."""
MIN_SHARE = 0.01
"""Smallest share (0-1) of the URLs with a value that stays in shapes."""
MAX_KNOWN = 10_000
"""Most URLs about which something is remembered: links repeat, and a crawl asks about each link three times."""
MAX_URL = 300
"""Characters of the longest URL that is remembered: a query with hundreds of names would have a large shape."""

SAME = "="
"""Stands in the shapes of a page and a link for a value that both share."""

STRUCTURAL = frozenset({"path.length", "slash", "ext"})
"""Keys whose values name nothing."""

Shape = tuple[tuple[str, str], ...]
Said = TypeVar("Said")


class Shapes:
    """Finds the shapes of URLs; *literals* holds the values of each key that stay."""

    def __init__(self, literals: Mapping[str, frozenset[str]]) -> None:
        self.literals = dict(literals)
        self._known: dict[str, Shape] = {}

    @classmethod
    def learn(cls, urls: Iterable[str]) -> Shapes:
        """Learn from URLs of one host, in normal form."""
        urls = list(urls)
        counts = Counter((key, value or "") for url in urls for key, value in values_of(url).items())
        least = max(MIN_URLS, MIN_SHARE * len(urls))
        frequent = [item for item, n in counts.items() if n >= least]
        literals = grouped((key, value) for key, value in frequent if key == "path.length" or not value.isdigit())
        return cls({key: frozenset(values) for key, values in literals.items()})

    def of(self, url: str) -> Shape:
        """Shape of a URL in normal form."""
        shape = self._known.get(url)
        if shape is None:
            shape = self._written(values_of(url), ())
            remember(self._known, url, shape)
        return shape

    def of_link(self, page: str, url: str) -> tuple[Shape, Shape]:
        """Shapes of a page and of the link *url* on it, with :data:`SAME` for values that both share.

        Not for the number of path parts, a slash at the end, an extension or a section: a first path part that stays. A
        name may also stand elsewhere in the other URL (``/wiki/Name`` and ``?title=Name``); equal numbers are chance.
        """
        values, other = values_of(url), values_of(page)
        kept = STRUCTURAL.union(self._section(values))
        same = {key for key, value in values.items() if key not in kept and other.get(key, STAR) == value}
        rest, its_rest = ({key: each[key] for key in each.keys() - kept - same} for each in (values, other))
        names = names_among(rest) & names_among(its_rest)
        moved, its_moved = ({key for key, value in each.items() if value in names} for each in (rest, its_rest))
        return self._written(other, same | its_moved), self._written(values, same | moved)

    def kind_of(self, url: str) -> Shape:
        """The names of the parts of a URL without their values, and its section."""
        values = values_of(url)
        return tuple((key, self._section(values).get(key, "")) for key in sorted(values))

    def _section(self, values: Mapping[str, str | None]) -> dict[str, str]:
        first = values.get("path[0]") or ""
        return {"path[0]": first} if first in self.literals.get("path[0]", ()) else {}

    def _written(self, values: Mapping[str, str | None], same: Collection[str]) -> Shape:
        def shown(key: str, value: str) -> str:
            if key in same:
                return SAME
            return value if value in self.literals.get(key, ()) or key == "path.length" else STAR

        return tuple([(key, shown(key, value or "")) for key, value in sorted(values.items()) if key != "scheme"])

    def to_json(self) -> dict[str, list[str]]:
        """Key -> values."""
        return {key: sorted(values) for key, values in sorted(self.literals.items())}

    @classmethod
    def from_json(cls, value: JsonValue) -> Shapes:
        """Read the result of :meth:`to_json`; BadInputError if *value* is not one."""
        return cls({key: frozenset(values.texts()) for key, values in value.table().items()})


def names_among(values: Mapping[str, str | None]) -> set[str]:
    """Return the values that are no numbers."""
    return {value for value in values.values() if value and not value.isdigit()}


def query_shape(url: str) -> Shape:
    """The query names of a URL, without the rest of its shape; empty without a query.

    >>> query_shape("http://a.example/list/7?sort=up")
    (('query[sort]', '*'),)
    """
    return tuple((key, STAR) for key in sorted(values_of(url)) if key.startswith("query["))


def remember(known: dict[str, Said], url: str, said: Said) -> None:
    """Note what was found out about a URL, unless it is long; forget all URLs if there are too many."""
    if len(url) <= MAX_URL:
        if len(known) >= MAX_KNOWN:
            known.clear()
        known[url] = said


def shape_text(shape: Shape) -> str:
    """Write a shape as a URL without scheme and host.

    >>> shape_text((("path.length", "2"), ("path[0]", "topic"), ("path[1]", "*"), ("query[page]", "*")))
    '/topic/*?page=*'
    """
    return KEY_VALUES.write(dict(shape))


@dataclass(frozen=True)
class HostAlias:
    """A host that shows the pages of another host."""

    host: str
    target: str
    evidence: MergeEvidence
    """Evidence in pages that were found on both hosts."""


@dataclass(frozen=True)
class ReferrerRule:
    """Links of one shape on pages of another shape lead back to the page that holds them (:meth:`Shapes.of_link`).

    With *unless* only on pages without any link that has this name in it, such as lists of a single page.
    """

    referrer: Shape
    shape: Shape
    """Shape of the links."""
    evidence: MergeEvidence
    """Evidence in pages that hold such links."""
    n_urls: int
    unless: str = ""
    """Name in links (:mod:`dedup_crawler.urls.page_links`); empty for a rule about all such pages."""


@dataclass(frozen=True)
class CoverageRule:
    """URLs of a shape show only pages that URLs of other shapes show too."""

    shape: Shape
    evidence: MergeEvidence
    """Evidence in pages of the shape."""
    n_urls: int


SiteRule = HostAlias | ReferrerRule | CoverageRule


class LateKind(NamedTuple):
    """A kind of URLs that a crawl which learns fetches last."""

    kind: Shape
    """Query names, or a shape."""
    repeats: bool
    """True if it mostly repeats pages, False if training had few URLs of it."""


@dataclass(frozen=True)
class HostLinks:
    """Rules about the links of one host."""

    query_names: frozenset[str]
    """Names in the queries of enough training URLs. The rules know nothing about URLs with others."""
    is_ordered: bool
    """True if the order of the query matters. Then a URL whose query is not sorted keeps its own form."""
    shapes: Shapes
    referrer_rules: Mapping[tuple[Shape, Shape], ReferrerRule]
    coverage_rules: Mapping[Shape, CoverageRule]
    repeating: frozenset[Shape] = frozenset()
    """Kinds that mostly repeat pages of others (``repeating_kinds`` of ``host_crawl.py``): shapes, query names."""
    known: frozenset[Shape] | None = None
    """Shapes of enough training URLs to say whether they repeat pages; None if an older model does not tell."""

    def rules(self) -> list[ReferrerRule | CoverageRule]:
        """All rules of the host."""
        return [*self.referrer_rules.values(), *self.coverage_rules.values()]

    def why_left_alone(self, url: str) -> str:
        """Return why the rules must not change *url*; empty if they may."""
        names = query_names(url)
        if not self.query_names.issuperset(names):
            return "too few training URLs have a name of its query"
        return "the order of the query matters on this site" if self.is_ordered and names != sorted(names) else ""

    def referrer_rule_of(self, url: str, referrer: str, link_names: Set[str] | None) -> ReferrerRule | None:
        """The rule by which the link *url* on the page *referrer* leads back to it.

        *link_names* are the names in the links of the page; None if they are not known.
        """
        rule = self.referrer_rules.get(self.shapes.of_link(referrer, url))
        if rule is None or (rule.unless and (link_names is None or rule.unless in link_names)):
            return None
        return rule

    def may_lead_back(self, url: str) -> bool:
        """Return True if *url* leads back on some pages."""
        if not self.referrer_rules:
            return False
        keys, values = zip(*self.shapes.of(url), strict=True)
        links = self._links_back.get(keys, ())
        return any(all(known in (SAME, value) for known, value in zip(link, values, strict=True)) for link in links)

    @cached_property
    def _links_back(self) -> Mapping[tuple[str, ...], list[tuple[str, ...]]]:
        """Keys of the shape of a link -> values of such shapes."""
        links = {link for _, link in self.referrer_rules}
        return grouped((tuple(key for key, _ in link), tuple(value for _, value in link)) for link in links)

    def coverage_of(self, url: str) -> CoverageRule | None:
        """The rule that covers *url*."""
        return self.coverage_rules.get(self.shapes.of(url)) if self.coverage_rules else None

    def late_kind(self, url: str) -> LateKind | None:
        """The kind of *url*, if it mostly repeats pages, or if training had few URLs of it."""
        shape = self.shapes.of(url)
        for kind in (query_shape(url), shape):
            if kind in self.repeating:
                return LateKind(kind, repeats=True)
        return None if self.known is None or shape in self.known else LateKind(shape, repeats=False)

    def to_json(self) -> dict[str, Any]:
        """Return the rules as JSON values."""
        counts = {
            rule: {"pages": rule.evidence.n_groups, "wrong": rule.evidence.n_wrong, "urls": rule.n_urls}
            for rule in self.rules()
        }
        return {
            "query_names": sorted(self.query_names),
            "is_ordered": self.is_ordered,
            "literals": self.shapes.to_json(),
            "referrer_rules": [
                {"referrer": dict(rule.referrer), "link": dict(rule.shape), "unless": rule.unless, **counts[rule]}
                for rule in self.referrer_rules.values()
            ],
            "coverage_rules": [{"link": dict(rule.shape), **counts[rule]} for rule in self.coverage_rules.values()],
            "repeating": [dict(shape) for shape in sorted(self.repeating)],
            **({} if self.known is None else {"known": [dict(shape) for shape in sorted(self.known)]}),
        }

    @classmethod
    def from_json(cls, value: JsonValue) -> HostLinks:
        """Read the result of :meth:`to_json`; BadInputError if *value* is not one."""
        referrer_rules = [
            ReferrerRule(
                _shape(entry["referrer"]),
                *_shape_and_counts(entry),
                unless=entry["unless"].text() if "unless" in entry else "",
            )
            for entry in value["referrer_rules"].values()
        ]
        coverage_rules = [CoverageRule(*_shape_and_counts(entry)) for entry in value["coverage_rules"].values()]
        return cls(
            frozenset(value["query_names"].texts()),
            value["is_ordered"].flag(),
            Shapes.from_json(value["literals"]),
            {(rule.referrer, rule.shape): rule for rule in referrer_rules},
            {rule.shape: rule for rule in coverage_rules},
            frozenset(map(_shape, value["repeating"].values())) if "repeating" in value else frozenset(),
            frozenset(map(_shape, value["known"].values())) if "known" in value else None,
        )


NO_LINKS = HostLinks(frozenset(), False, Shapes({}), {}, {})
"""No link rules."""


def _shape_and_counts(entry: JsonValue) -> tuple[Shape, MergeEvidence, int]:
    return _shape(entry["link"]), merge_evidence_of(entry, "pages"), entry["urls"].count()


def _shape(value: JsonValue) -> Shape:
    return tuple(sorted((key, said.text()) for key, said in value.table().items()))
