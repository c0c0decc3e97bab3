"""URLs asked in the order of a crawl: the form of a page that only its link explains counts for the links on it too."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple, Protocol, TypedDict

from dedup_crawler.errors import BadInputError
from dedup_crawler.methods.model.answers import Explanation, Referrer


class Model(Protocol):
    """The part of a fitted method that is needed here."""

    def canonicalize(self, url: str, referrer: Referrer | None = None) -> str:
        """Canonical form of a URL."""

    def is_covered(self, url: str) -> bool:
        """Return True if a crawl that goes on has nothing to gain from a URL."""

    def fired(self, url: str, referrer: Referrer | None = None) -> tuple[str, ...]:
        """Identifiers of the rules that lead to the form."""

    def explain(self, url: str, referrer: Referrer | None = None) -> Explanation:
        """Explain the form of a URL."""


class Asked(NamedTuple):
    """A URL as it was asked, and its form."""

    url: str
    referrer: Referrer | None
    form: str


class Record(TypedDict):
    """Answer of a model about one URL; a row of a table."""

    url: str
    form: str
    covered: bool
    """True if a crawl that goes on has nothing to gain from it."""
    rules: list[str]
    """Identifiers of the rules that lead to the form, as in the stats of a crawl."""
    reason: str


def forms_in_order(model: Model, visits: Iterable[tuple[str, str | None]]) -> Iterator[Asked]:
    """Forms of (URL, URL of the page that holds the link) pairs, one by one."""
    told: dict[str, str] = {}  # forms that only the referrer explains
    for url, source in visits:
        referrer = Referrer(source, told.get(source) or model.canonicalize(source)) if source else None
        form = model.canonicalize(url, referrer)
        if referrer is not None and form == referrer.form:
            told[url] = form
        yield Asked(url, referrer, form)


def record_of(model: Model, asked: Asked) -> Record:
    """All that *model* says of one URL."""
    url, referrer, form = asked
    return Record(
        url=url,
        form=form,
        covered=model.is_covered(url),
        rules=list(model.fired(url, referrer)),
        reason=model.explain(url, referrer).reason,
    )


def checked_visits(urls: Iterable[str], referrers: Iterable[str | None] | None) -> list[tuple[str, str | None]]:
    """Pairs of URL and referrer.

    Raises
    ------
    BadInputError
        If something in *urls* is no string, or the lengths differ.
    """
    if isinstance(urls, str):
        raise BadInputError(f"records takes several URLs, and was given one text: write records([{urls[:200]!r}]).")
    listed = list(urls)
    for i, url in enumerate(listed):
        if not isinstance(url, str):
            raise BadInputError(f"urls[{i}] is {url!r}, no string: leave out what is missing, such as with dropna().")
    if referrers is None:
        return [(url, None) for url in listed]
    # what is missing in a column of pandas is a number that is none
    sources = [source if isinstance(source, str) else None for source in referrers]
    if len(sources) != len(listed):
        raise BadInputError(f"records got {len(listed)} URLs and {len(sources)} referrers; give one (or None) per URL.")
    return list(zip(listed, sources, strict=True))
