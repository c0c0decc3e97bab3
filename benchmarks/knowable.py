"""Classification of wasted fetches: some were avoidable by the URL alone, others only with the site's database.

A wasted fetch was knowable if the change from its URL to an earlier URL of the same page is of a *kind* that the
training part shows to be harmless: at least 18 merge groups of that kind, at most 10 % of them wrong with 95 %
confidence (none of 18). Kinds of change:

ignored   the keys that differ (dropped, added or with another value, all at once) do not matter;
written   keys get the value of another key, or one literal value;
replaced  one sequence of whole tokens is replaced by another one, in any surroundings.

The first two are tried between URLs of the same two shapes, of the same two sets of keys, and anywhere. Keys are read
twice: whole, and split as the site splits them (``7-a-title``). This is generous: there is no correction for the dozens
of kinds tried for each URL, and no confirmation on later pages.
"""

from __future__ import annotations

import random
import re
from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from recorded import Continued, Crawl

from dedup_crawler.rules.language.site_rules import Shapes
from dedup_crawler.rules.language.statistics import MergeEvidence
from dedup_crawler.urls.keyvalue import KEY_VALUES, KeyValues, UrlMap, learn_cuts

MAX_WRONG = 0.10
_MAX_OTHERS = 20  # most earlier URLs of one page that are compared
_TOKENS = re.compile(r"[^/?&=:.\-_]+|.", re.DOTALL)

Written = frozenset[tuple[str, str, "str | None"]]
"""Key, the key that its value is copied from (or empty), and the literal value."""


@dataclass(frozen=True)
class Vain:
    """A wasted fetch."""

    url: str
    other: str
    """An earlier fetched URL of the same page."""
    by_labels: str
    """The kind of change that is harmless by our labels of the training part; empty if there is none."""
    by_truth: str
    """The same with true labels of the training part."""


def fetches_in_vain(crawl: Crawl, way: Continued, most: int | None = None) -> list[Vain]:
    """Return the wasted fetches of the test part, at most *most* random ones, with their kinds of change."""
    ours, true = Changes(crawl, crawl.labels), Changes(crawl, crawl.pages[: crawl.cut])
    urls_of: dict[Hashable, list[str]] = defaultdict(list)
    for url, page in zip(crawl.urls[: crawl.cut], crawl.pages, strict=False):
        urls_of[page].append(url)
    draw = random.Random(0)
    useless = set(way.useless if most is None or len(way.useless) <= most else draw.sample(way.useless, most))
    found = []
    for place in way.fetched:
        url, page = crawl.urls[place], crawl.pages[place]
        if place in useless:
            others = sorted(urls_of[page], key=lambda other: -_alike(url, other))[:_MAX_OTHERS]
            (other, by_labels), (true_other, by_truth) = ours.explain(url, others), true.explain(url, others)
            shown = other if by_labels else true_other if by_truth else others[0]
            found.append(Vain(url, shown, by_labels, by_truth))
        urls_of[page].append(url)
    return found


class Changes:
    """Kinds of change between the URLs of the training part, judged by its labels."""

    def __init__(self, crawl: Crawl, labels: Sequence[Hashable]) -> None:
        urls = crawl.urls[: crawl.cut]
        self._label: dict[str, Hashable] = dict(zip(urls, labels, strict=True))
        self._shapes = Shapes.learn(urls)
        plain = KEY_VALUES
        self._maps: list[UrlMap] = [plain, UrlMap(learn_cuts(_read(url, plain) for url in urls))]
        self._values = [{url: _read(url, url_map) for url in self._label} for url_map in self._maps]
        self._kinds_of_url = {url: self._contexts(url) for url in self._label}
        self._label_of = [
            {frozenset(values.items()): self._label[url] for url, values in of_url.items()} for of_url in self._values
        ]
        self._judged: dict[Hashable, MergeEvidence] = {}

    def explain(self, url: str, others: Iterable[str]) -> tuple[str, str]:
        """Return the first of *others* from which the change to *url* is harmless, and the kind of change."""
        for other in others:
            for kind, evidence in self._kinds(url, other):
                if evidence.error_bound() <= MAX_WRONG:
                    return other, kind
        return "", ""

    def _contexts(self, url: str) -> tuple[Hashable, ...]:
        return self._shapes.of(url), frozenset(_read(url, self._maps[0])), "anywhere"

    def _kinds(self, url: str, other: str) -> Iterator[tuple[str, MergeEvidence]]:
        contexts = list(zip(self._contexts(url), self._contexts(other), strict=True))
        for number, url_map in enumerate(self._maps):
            source, target = _read(url, url_map), _read(other, url_map)
            ignored = frozenset(key for key, _ in source.items() ^ target.items())
            written, gone = _written(source, target), frozenset(source.keys() - target.keys())
            for level, pair in enumerate(contexts):
                yield "ignored " + ", ".join(sorted(ignored)), self._ignored(level, pair, ignored, number)
                if written:
                    shown = ", ".join(
                        f"{key} as {origin or value!r}" for key, origin, value in sorted(written, key=str)
                    )
                    yield f"written {shown}", self._rewritten(level, pair[0], written, gone, number)
        old, new = _replaced(url, other)
        yield f"replaced {old} by {new}", self._replacing(old, new)

    def _ignored(self, level: int, pair: tuple[Hashable, Hashable], keys: frozenset[str], number: int) -> MergeEvidence:
        """Return groups with URLs of both contexts (two of one context) that differ in these keys alone."""
        identity = (level, pair, keys, number)
        if identity not in self._judged:
            groups: dict[Hashable, list[tuple[Hashable, Hashable]]] = defaultdict(list)
            for url, contexts in self._kinds_of_url.items():
                if contexts[level] in pair:
                    values = self._values[number][url]
                    kept = frozenset([item for item in values.items() if item[0] not in keys])
                    groups[kept].append((contexts[level], self._label[url]))
            whole = [g for g in groups.values() if len(g) > 1 and {context for context, _ in g} == set(pair)]
            wrong = sum(len({label for _, label in group}) > 1 for group in whole)
            self._judged[identity] = MergeEvidence(len(whole), wrong)
        return self._judged[identity]

    def _rewritten(
        self, level: int, context: Hashable, written: Written, gone: frozenset[str], number: int
    ) -> MergeEvidence:
        identity = (level, context, written, gone, number)
        if identity not in self._judged:
            n_groups = n_wrong = 0
            for url, contexts in self._kinds_of_url.items():
                source = self._values[number][url]
                if contexts[level] == context and all(not origin or origin in source for _, origin, _ in written):
                    target = {key: value for key, value in source.items() if key not in gone}
                    target.update({key: source[origin] if origin else value for key, origin, value in written})
                    label = self._label_of[number].get(frozenset(target.items()))
                    if label is not None and target != source:
                        n_groups += 1
                        n_wrong += label != self._label[url]
            self._judged[identity] = MergeEvidence(n_groups, n_wrong)
        return self._judged[identity]

    def _replacing(self, old: str, new: str) -> MergeEvidence:
        identity = (old, new)
        if identity not in self._judged:
            pairs = [
                (label, self._label[other])
                for url, label in self._label.items()
                if len(old) > 1 and old in url and (other := url.replace(old, new, 1)) in self._label
            ]
            self._judged[identity] = MergeEvidence(len(pairs), sum(left != right for left, right in pairs))
        return self._judged[identity]


def _written(source: KeyValues, target: KeyValues) -> Written:
    written = set()
    for key, value in target.items():
        if key not in source or source[key] != value:
            origin = "" if key == "path.length" or not value else next((k for k, v in source.items() if v == value), "")
            written.add((key, origin, None if origin else value))
    return frozenset(written)


def _replaced(url: str, other: str) -> tuple[str, str]:
    """Return the tokens in which two URLs differ, with one common token on each side."""
    left, right = _TOKENS.findall(url), _TOKENS.findall(other)
    n_start = n_end = 0
    shorter = min(len(left), len(right))
    while n_start < shorter and left[n_start] == right[n_start]:
        n_start += 1
    while n_end < shorter - n_start and left[-1 - n_end] == right[-1 - n_end]:
        n_end += 1
    start, end = max(0, n_start - 1), max(0, n_end - 1)
    return "".join(left[start : len(left) - end]), "".join(right[start : len(right) - end])


def _alike(url: str, other: str) -> int:
    """Return the number of common tokens of two URLs, minus that of different ones."""
    left, right = set(_TOKENS.findall(url)), set(_TOKENS.findall(other))
    return len(left & right) - len(left ^ right)


def _read(url: str, url_map: UrlMap) -> KeyValues:
    scheme, _, behind = url.partition("://")
    return url_map.read(behind[behind.find("/") :], scheme)
