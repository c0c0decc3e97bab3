"""What a new model would no longer look at, though the one before it did.

Pinterest's MIQPS (2026) refuses a new map of important parameters when more than a share of them would turn
unimportant at once; the other direction is always allowed. A site seldom changes so much, bad labels do.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, TypeVar

from dedup_crawler.live.url_groups import MIN_URLS, Template, templates_of, varying_keys, written
from dedup_crawler.urls.keyvalue import KeyValues, key_values, url_of
from dedup_crawler.urls.normal import host_of, normal_form

if TYPE_CHECKING:
    from dedup_crawler.methods import Canonicalizer

REFUSED_SHARE = 0.10
"""Of the protected keys: more newly ignored ones than this are refused."""
_MAX_TEMPLATES = 500  # the most frequent ones; strangers' URLs may have any number
_MAX_KEYS = 50  # of a template
_N_TRIES = 20  # for one key
_KEPT = 0.5  # a model keeps a key if more than this share of the tries makes another form

T = TypeVar("T")


def newly_ignored(old: Canonicalizer, new: Canonicalizer, urls: Iterable[str]) -> tuple[list[str], int]:
    """Find the keys that *old* keeps and *new* ignores.

    A key is a name of the query, or a part of the path that varies, in one template
    (:mod:`dedup_crawler.live.url_groups`). A model keeps it if mostly another value, taken from another URL of the
    template, makes another form; where only one value was seen, if leaving it out does. A URL that is covered
    (:meth:`~dedup_crawler.methods.Canonicalizer.is_covered`) is not looked at, so that none of its keys is kept.

    Parameters
    ----------
    old, new
        Fitted. Of hosts that *old* does not know nothing is protected.
    urls
        Of the crawl.

    Returns
    -------
    list of str
        The keys, such as ``query[t] of http://forum.example/topic.php?f&t``, those of frequent templates first.
    int
        How many keys are protected: all that *old* keeps.
    """
    ignored: list[str] = []
    n_protected = 0
    for template, its_urls in _templates(_known_to(old, urls)):
        for key in varying_keys(template)[:_MAX_KEYS]:
            tries = _tries(its_urls, key)
            if not _is_kept(old, tries):
                continue
            n_protected += 1
            if not _is_kept(new, tries):
                ignored.append(f"{key} of {written(template)}")
    return ignored, n_protected


def is_refused(ignored: Sequence[str], n_protected: int) -> bool:
    """Whether a refit that newly ignores these keys is to be refused."""
    return len(ignored) > REFUSED_SHARE * n_protected


def _known_to(model: Canonicalizer, urls: Iterable[str]) -> list[KeyValues]:
    """Distinct URLs of the hosts of *model*, as maps."""
    known = dict.fromkeys(url for url in map(normal_form, urls) if host_of(url) in model.hosts)
    return [key_values(url) for url in known]


def _templates(urls: Sequence[KeyValues]) -> Iterator[tuple[Template, list[KeyValues]]]:
    """The most frequent templates with their URLs."""
    found: dict[Template, list[KeyValues]] = defaultdict(list)
    for url, template in zip(urls, templates_of(urls), strict=True):
        found[template].append(url)
    frequent = sorted(found.items(), key=lambda entry: -len(entry[1]))[:_MAX_TEMPLATES]
    return ((template, its_urls) for template, its_urls in frequent if len(its_urls) >= MIN_URLS)


def _tries(urls: Sequence[KeyValues], key: str) -> list[tuple[str, str]]:
    """URLs of one template, and what another value of *key* makes of each."""
    first: dict[str | None, KeyValues] = {}
    for url in urls:
        first.setdefault(url[key], url)
    if len(first) == 1:
        return [(url_of(url), url_of(_without(url, key))) for url in _spread(urls)]
    chosen = _spread(list(first))
    others = [*chosen[1:], chosen[0]]
    return [
        (url_of(first[value]), url_of({**first[value], key: other}))
        for value, other in zip(chosen, others, strict=True)
    ]


def _without(url: KeyValues, key: str) -> KeyValues:
    return {each: value for each, value in url.items() if each != key}


def _spread(values: Sequence[T]) -> list[T]:
    """A few of them, from the first to the last."""
    n = min(len(values), _N_TRIES)
    return [values[i * len(values) // n] for i in range(n)]


def _is_kept(model: Canonicalizer, tries: Sequence[tuple[str, str]]) -> bool:
    """Whether *model* tells the two URLs apart in most tries."""
    n_told_apart = sum(
        not model.is_covered(url) and model.canonicalize(url) != model.canonicalize(other) for url, other in tries
    )
    return n_told_apart > _KEPT * len(tries)
