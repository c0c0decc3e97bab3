"""Turns a classifier of pairs into a canonicalizer: compares a URL with known URLs.

A URL gets the form of the known URL (or of its referrer) of which it is most probably a duplicate, if the probability
reaches the threshold; otherwise it keeps its normal form. The known URLs are at most 20,000 training URLs. The form of
a known URL is the first URL of its cluster, which is its own form. Nothing is remembered between calls: two URLs of a
page without known URLs have two forms.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from dedup_crawler.labels.joins import DisjointSets
from dedup_crawler.methods.base import Canonicalizer, training_digest
from dedup_crawler.methods.model.explanations import (
    FILE,
    Explanation,
    Referrer,
    TrainingHistory,
    history_from_json,
    history_to_json,
)
from dedup_crawler.methods.model.folder import ModelFiles
from dedup_crawler.methods.model.training_data import TrainingData
from dedup_crawler.methods.pairs.url_pairs import KnownUrls, UrlPair, check_kinds, sample_pairs
from dedup_crawler.urls.normal import host_of, normal_form
from dedup_crawler.urls.templates import Templater, count_tokens

if TYPE_CHECKING:
    from typing_extensions import Self

_FILE = "known_urls.json"
_MAX_KNOWN = 20_000
_RECALL_FOR_PAIRS = 1.0
_RECALL_FOR_CRAWLS = 0.1  # precision counts more: a lost page is worse than ten wasted fetches
_DIGITS = 4  # digits of a probability; further digits depend on the batch


class PairClassifier(Canonicalizer):
    """A canonicalizer that estimates the probability that two URLs show the same page."""

    threshold_: float | None
    """Smallest probability (0-1) with which two URLs count as the same page; None if there were no duplicates."""

    max_pairs: int
    seed: int

    def fit_pairs(self, pairs: Sequence[UrlPair]) -> Self:
        """Learn from labelled pairs instead of a crawl.

        BadInputError if there are no pairs, all are of one kind, or an option is out of range.
        """
        check_kinds(pairs, "the list given to fit_pairs")
        self._check_options()
        pairs = [UrlPair(normal_form(pair.left), normal_form(pair.right), pair.is_duplicate) for pair in pairs]
        urls = list(dict.fromkeys(url for pair in pairs for url in pair[:2]))
        places = {url: i for i, url in enumerate(urls)}
        sets = DisjointSets(len(urls))  # a chain of duplicate pairs is one page
        for pair in pairs:
            if pair.is_duplicate:
                sets.join(places[pair.left], places[pair.right])
        clusters = sets.numbers()
        digest = training_digest((left, right, f"{is_same:d}") for left, right, is_same in pairs)
        self._remember(urls, clusters, digest)
        self._know(urls[:_MAX_KNOWN], clusters[:_MAX_KNOWN])
        self._learn(pairs, _RECALL_FOR_PAIRS)
        self.quality_ = self._quality()
        return self

    def duplicate_probabilities(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        """Probabilities (0-1) that two URLs show the same page: 1 for equal normal forms, 0 if a host is unknown."""
        self._check_fitted()
        forms = [(normal_form(left), normal_form(right)) for left, right in pairs]
        asked = [
            pair for pair in dict.fromkeys(forms) if pair[0] != pair[1] and self.hosts.issuperset(map(host_of, pair))
        ]
        found = dict(zip(asked, self._asked(asked), strict=True))
        return [1.0 if left == right else found.get((left, right), 0.0) for left, right in forms]

    @abstractmethod
    def _learn(self, pairs: Sequence[UrlPair], recall_weight: float) -> None:
        """Train on pairs of both kinds, in normal form, and set the threshold.

        *recall_weight* is the weight of recall beside precision (beta of the F measure) for the threshold.
        """

    @abstractmethod
    def _probabilities(self, pairs: Sequence[tuple[str, str]]) -> Sequence[float]:
        """Probabilities of pairs of different URLs in normal form."""

    @abstractmethod
    def _learn_nothing(self) -> None:
        """Forget an earlier training, because there are no duplicates to learn from."""

    def _fit(self, crawl: TrainingData) -> None:
        first = {url: i for i, url in reversed(list(enumerate(crawl.urls)))}
        known = crawl.rows(sorted(first.values())[:_MAX_KNOWN])
        self._know(known.urls, known.clusters)
        found_on = [each and normal_form(each) for each in known.referrers]
        pairs = sample_pairs(self.known_, known.clusters, found_on, seed=self.seed, max_pairs=self.max_pairs)
        if len({pair.is_duplicate for pair in pairs}) == 2:
            self._learn(pairs, _RECALL_FOR_CRAWLS)
        else:
            self.threshold_, self.history_ = None, TrainingHistory()
            self._learn_nothing()

    def _know(self, urls: Sequence[str], clusters: Sequence[int]) -> None:
        first: dict[int, str] = {}
        forms = [first.setdefault(cluster, url) for url, cluster in zip(urls, clusters, strict=True)]
        self.known_ = KnownUrls(urls, forms, Templater.learn(count_tokens(urls), deep=True))

    def form_of(self, url: str, referrer: Referrer | None = None) -> str:
        """Form of the known URL of which a URL in normal form is a duplicate; without one, the URL itself."""
        found = self._best(url, referrer)
        return url if found is None else found[1]

    def _best(self, url: str, referrer: Referrer | None) -> tuple[str, str, float] | None:
        """The known URL of which *url* is a duplicate, its form, and the probability."""
        if url in self.known_.form_of:
            return url, self.known_.form_of[url], 1.0
        if self.threshold_ is None:
            return None
        candidates = [(self.known_.urls[i], self.known_.forms[i]) for i in self.known_.candidates(url)]
        if referrer is not None and (page := normal_form(referrer.url)) != url and host_of(page) in self.hosts:
            candidates.append((page, referrer.form))
        if not candidates:
            return None
        probabilities = self._asked([(known, url) for known, _ in candidates])
        best = max(range(len(candidates)), key=lambda i: (probabilities[i], -i))
        return (*candidates[best], probabilities[best]) if probabilities[best] >= self.threshold_ else None

    def _asked(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        if not pairs or self.threshold_ is None:
            return [0.0] * len(pairs)
        return [round(float(probability), _DIGITS) for probability in self._probabilities(pairs)]

    def _explain(self, url: str, form: str) -> Explanation:
        if self.threshold_ is None:
            reason = "the training data had no duplicates: only crawled URLs have the form of their page"
            return Explanation(url, form, reason)
        found = self._best(url, None)
        if found is None:
            n_asked = len(self.known_.candidates(url))
            reason = f"none of {n_asked} similar crawled URLs reaches the threshold of {self.threshold_}"
            return Explanation(url, form, reason, {"candidates": n_asked, "threshold": self.threshold_})
        known, _, probability = found
        if known == url:
            return Explanation(url, form, "it was crawled, and its label gives the form")
        reason = f"a duplicate of {known} with probability {probability} (threshold {self.threshold_})"
        evidence = {"known": known, "probability": probability, "threshold": self.threshold_}
        return Explanation(url, form, reason, evidence)

    def _quality(self) -> dict[str, Any]:
        return {"threshold": self.threshold_, "known_urls": len(self.known_.urls)}

    def _tables(self) -> dict[str, Any]:
        templater = self.known_.templater
        places = {url: number for number, url in enumerate(self.known_.urls)}
        return {
            FILE: history_to_json(self.history_),
            _FILE: {
                "threshold": self.threshold_,
                "urls": self.known_.urls,
                "forms": [places[form] for form in self.known_.forms],
                "function_tokens": sorted(templater.function_tokens),
                "function_words": sorted(templater.function_words),
            },
        }

    def _restore(self, files: ModelFiles) -> None:
        table = files.table(_FILE)
        urls, forms = table["urls"].texts(), table["forms"].integers()
        if len(forms) != len(urls) or max(forms, default=-1) >= len(urls):
            table["forms"].refuse(f"the places of {len(urls)} forms among the URLs")
        self.threshold_ = None if table["threshold"].raw is None else table["threshold"].number()
        templater = Templater(table["function_tokens"].texts(), table["function_words"].texts(), deep=True)
        self.known_ = KnownUrls(urls, [urls[place] for place in forms], templater)
        self.history_ = history_from_json(files.table_if_any(FILE))
