"""Objections to a new model: one page has swallowed the crawl, or the model ignores keys that the old one keeps.

Swallowed means that a log-in form, a captcha or an error page answers for all URLs, which then get one label. Such
labels teach no wrong rule (one cluster is one piece of evidence, however large), but a model learnt from them has lost
the rules of the model before.

Pinterest's MIQPS (2026) refuses a new map of important parameters if more than a given share of them would become
unimportant at once; the opposite is always allowed. Sites seldom change so much, but bad labels do.

Both look at groups of URLs by coarse template: the fixed parts of the path and the query names. MIQPS groups by the set
of query names alone; here the path counts too. The groups need no model, so two models can be compared on them.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import repeat
from typing import TypeVar

from dedup_crawler.methods import Canonicalizer
from dedup_crawler.urls.keyvalue import KEY_VALUES, KeyValues, values_of
from dedup_crawler.urls.normal import host_of, normal_form
from dedup_crawler.urls.templates import is_always_argument

MIN_URLS = 10
"""Least number of URLs of a template that is used."""
ANY = "<any>"
"""A varying part of the path; no URL contains this, because its brackets would be escaped."""
_MIN_LITERAL = 0.01  # a path part on at least this share of the URLs is a fixed word of the site

Template = tuple[tuple[str, str], ...]
"""Pairs of key and value; query keys without values."""
REFUSED_SHARE = 0.10
"""Largest share (0-1) of the protected keys that a new model may newly ignore."""
_FEW = 2
"""Number of keys that may always be newly ignored unless they are most of the keys: two of ten keys do little harm."""
_MAX_TEMPLATES = 500  # the most frequent ones; a site may make up any number
_MAX_KEYS = 50  # of a template
_N_TRIES = 20  # for one key
_MIN_TRIALS = 3  # least number of groups of URLs that differ in one key only
_KEPT = 0.5  # a model keeps a key if more than this share of the tries give another form
T = TypeVar("T")
_Visit = tuple[KeyValues, int]
"""A URL and its page."""
_Try = tuple[str, list[str]]
"""A URL, and the same URL with other values of a key."""
_DIGITS, _LETTERS = "0123456789", "abcdefghijklmnopqrstuvwxyz"
_NEXT_DIGIT = str.maketrans(_DIGITS, _DIGITS[1:] + _DIGITS[0])
_NEXT_LETTER = str.maketrans(_LETTERS + _LETTERS.upper(), (_LETTERS[1:] + "a") + (_LETTERS[1:] + "a").upper())
SUDDENLY = 0.20
"""A cluster with more than this share (0-1) of the later pages swallows the crawl if it held few earlier ones."""
BEFORE = 0.05
"""Share (0-1) of the earlier pages that counts as few."""
MOSTLY = 0.50
"""A cluster with more than this share (0-1) of the later pages, of all templates, always swallows the crawl."""
_MIN_PAGES = 50  # least number of later pages for their share to count


def templates_of(urls: Sequence[KeyValues]) -> list[Template]:
    """Return the template of each URL; a URL is a key-value map."""
    counts = Counter(item for url in urls for item in url.items() if item[0].startswith("path["))
    least = max(_MIN_LITERAL * len(urls), MIN_URLS)
    return [tuple(sorted(_word(key, value, counts[key, value] >= least) for key, value in url.items())) for url in urls]


def varying_keys(template: Template) -> list[str]:
    """Return the keys that may tell its URLs apart."""
    return [key for key, value in template if value == ANY or _is_query(key)]


def written_template(template: Template) -> str:
    """Write a template as a URL with placeholders for varying parts.

    >>> written_template(templates_of([_read("http://a.example/topic/7?page=2")])[0])
    'http://a.example/<any>/<any>?page'
    """
    return _written({key: None if _is_query(key) else value for key, value in template})


def _read(url: str) -> KeyValues:
    """Read a URL in normal form as key-value map, with its scheme and host under one key more."""
    return {"origin": url[: url.find("/", url.find("://") + 3)], **values_of(url)}


def _written(url: KeyValues) -> str:
    return f"{url['origin']}{KEY_VALUES.write(url)}"


def _word(key: str, value: str | None, is_frequent: bool) -> tuple[str, str]:
    if _is_query(key):
        return key, ""
    is_argument = key.startswith("path[") and (not is_frequent or bool(is_always_argument(value or "")))
    return key, ANY if is_argument else value or ""


def _is_query(key: str) -> bool:
    return key.startswith("query[")


def newly_ignored(
    old: Canonicalizer, new: Canonicalizer, urls: Iterable[str], clusters: Iterable[int] | None = None
) -> tuple[list[str], int]:
    """Find the keys that *old* keeps and *new* ignores.

    A key is a query name, or a varying part of the path, in one template
    (:mod:`~dedup_crawler.live.learning.objections`). A model keeps it if other values (one of another
    URL and one that was never seen) mostly give other forms; if only one value was seen, if removing it does. None of
    the keys of a covered URL (:meth:`~dedup_crawler.methods.Canonicalizer.is_covered`) is kept.

    Parameters
    ----------
    old, new
        Fitted models. Hosts that *old* does not know have no protected keys.
    urls
        URLs of the crawl, preferably those that *old* was trained on: it could not learn about others.
    clusters
        Cluster of each URL. With clusters, a key is not protected if URLs that differ only in it mostly show one page:
        then *old* keeps it only for lack of evidence.

    Returns
    -------
    list of str
        The newly ignored keys, such as ``query[t] of http://forum.example/topic.php?f&t``; frequent templates first.
    int
        The number of protected keys.
    """
    ignored: list[str] = []
    n_protected = 0
    for template, visits in _templates(_known_to(old, urls, clusters)):
        its_urls = [url for url, _ in visits]
        for key in varying_keys(template)[:_MAX_KEYS]:
            tries = _tries(its_urls, key)
            if not _is_kept(old, tries) or (clusters is not None and _is_idle(visits, key)):
                continue
            n_protected += 1
            if not _is_kept(new, tries):
                ignored.append(f"{key} of {written_template(template)}")
    return ignored, n_protected


def is_refused(ignored: Sequence[str], n_protected: int) -> bool:
    """Return True if a model that newly ignores these keys is to be refused."""
    share = len(ignored) / n_protected if n_protected else 0.0
    return share > (0.5 if len(ignored) <= _FEW else REFUSED_SHARE)


def _known_to(model: Canonicalizer, urls: Iterable[str], clusters: Iterable[int] | None) -> list[_Visit]:
    """Return the distinct URLs of the hosts of *model*, as key-value maps, with their clusters."""
    pages = zip(map(normal_form, urls), clusters if clusters is not None else repeat(0), strict=False)
    known = {url: page for url, page in pages if host_of(url) in model.hosts}
    return [(_read(url), page) for url, page in known.items()]


def _templates(visits: Sequence[_Visit]) -> Iterator[tuple[Template, list[_Visit]]]:
    """Yield the most frequent templates with their URLs."""
    found: dict[Template, list[_Visit]] = defaultdict(list)
    for visit, template in zip(visits, templates_of([url for url, _ in visits]), strict=True):
        found[template].append(visit)
    frequent = sorted(found.items(), key=lambda entry: -len(entry[1]))[:_MAX_TEMPLATES]
    return ((template, its_visits) for template, its_visits in frequent if len(its_visits) >= MIN_URLS)


def _is_idle(visits: Sequence[_Visit], key: str) -> bool:
    """Return True if there are enough URLs that differ only in *key*, and they mostly show one page."""
    groups: dict[str, list[int]] = defaultdict(list)
    for url, page in visits:
        groups[_written(_without(url, key))].append(page)
    trials = [pages for pages in groups.values() if len(pages) > 1]
    return len(trials) >= _MIN_TRIALS and sum(len(set(pages)) == 1 for pages in trials) > _KEPT * len(trials)


def _tries(urls: Sequence[KeyValues], key: str) -> list[_Try]:
    """Return URLs of one template, each with the URLs that other values of *key* give."""
    first: dict[str | None, KeyValues] = {}
    for url in urls:
        first.setdefault(url[key], url)
    if len(first) == 1:
        return [(_written(url), [_written(_without(url, key))]) for url in _spread(urls)]
    chosen = _spread(list(first))
    others = [*chosen[1:], chosen[0]]
    return [
        (_written(first[value]), [_written({**first[value], key: each}) for each in (other, _unseen(value))])
        for value, other in zip(chosen, others, strict=True)
    ]


def _unseen(value: str | None) -> str:
    """Return a new value of the same kind; rules leave a known slug with the wrong number unchanged."""
    value = value or "0"
    return value.translate(_NEXT_DIGIT if any(map(str.isdigit, value)) else _NEXT_LETTER)


def _without(url: KeyValues, key: str) -> KeyValues:
    return {each: value for each, value in url.items() if each != key}


def _spread(values: Sequence[T]) -> list[T]:
    """Return a few of the values, evenly spaced."""
    n = min(len(values), _N_TRIES)
    return [values[i * len(values) // n] for i in range(n)]


def _is_kept(model: Canonicalizer, tries: Sequence[_Try]) -> bool:
    """Return True if *model* keeps the URL apart from all the others in most tries."""
    n_told_apart = sum(
        not model.is_covered(url) and model.canonicalize(url) not in model.canonicalize_many(others)
        for url, others in tries
    )
    return n_told_apart > _KEPT * len(tries)


def swallowing_cluster(urls: Sequence[str], clusters: Sequence[int], n_before: int) -> tuple[int, int] | None:
    """Find a cluster that suddenly takes pages of many kinds, or most of the later pages.

    Suddenly means: among URLs of templates with at least 10 earlier URLs, it holds more than 20 % of the later URLs and
    held less than 5 % of the earlier ones. A template that was one page from its beginning (such as late links to log
    in) does not count, unless it is most of the crawl.

    Parameters
    ----------
    urls, clusters
        URLs and clusters of one host, in crawl order, same length.
    n_before
        Number of URLs before the part in doubt; if no URL follows, all are in doubt.

    Returns
    -------
    tuple of int, or None
        The cluster, and the number of URLs in doubt that it holds.
    """
    if n_before >= len(urls):
        n_before = 0
    in_doubt = Counter(clusters[n_before:])
    for cluster, n in in_doubt.most_common(1):
        if n > MOSTLY * (len(urls) - n_before):
            return cluster, n
    templates = templates_of([_read(normal_form(url)) for url in urls])
    n_of_template = Counter(templates[:n_before])
    rows = [i for i, template in enumerate(templates) if n_of_template[template] >= MIN_URLS]
    earlier = Counter(clusters[i] for i in rows if i < n_before)
    later = Counter(clusters[i] for i in rows if i >= n_before)
    n_earlier, n_later = sum(earlier.values()), sum(later.values())
    for cluster, n in later.most_common(1):
        if n_later >= _MIN_PAGES and n > SUDDENLY * n_later and earlier[cluster] < BEFORE * n_earlier:
            return cluster, in_doubt[cluster]
    return None
