"""The URLs that a caller gives to a method: checks of their types and lengths, and their digest."""

from __future__ import annotations

import hashlib
from collections.abc import Hashable, Iterable, Sequence

from dedup_crawler.errors import BadInputError


def check_lengths(
    name: str,
    urls: Sequence[str],
    clusters: Sequence[int],
    referrers: Sequence[str | None] | None,
    redirects: Sequence[str | None] | None,
) -> None:
    """Check the arguments of a method's ``fit``; BadInputError if there are no URLs, or the lengths differ."""
    if len(urls) != len(clusters):
        raise BadInputError(f"{name}.fit got {len(urls)} URLs and {len(clusters)} clusters; give one cluster per URL.")
    for what, given in (("referrer", referrers), ("redirect", redirects)):
        if given is not None and len(given) != len(urls):
            raise BadInputError(
                f"{name}.fit got {len(urls)} URLs and {len(given)} {what}s; give one {what} (or None) per URL."
            )
    if not urls:
        raise BadInputError(f"{name}.fit got no URLs; there is nothing to learn from.")


def checked_visits(urls: Iterable[str], referrers: Iterable[str | None] | None) -> list[tuple[str, str | None]]:
    """Pair URLs with their referrers; BadInputError for an entry that is no string, or different lengths."""
    if isinstance(urls, str):
        raise BadInputError(f"records takes a list of URLs and got one text: write records([{urls[:200]!r}]).")
    listed = list(urls)
    for i, url in enumerate(listed):
        if not isinstance(url, str):
            raise BadInputError(f"urls[{i}] is {url!r}, not a string: remove missing values, for example by dropna().")
    if referrers is None:
        return [(url, None) for url in listed]
    # a missing value in a column of pandas is NaN
    sources = [source if isinstance(source, str) else None for source in referrers]
    if len(sources) != len(listed):
        raise BadInputError(f"records got {len(listed)} URLs and {len(sources)} referrers; give one (or None) per URL.")
    return list(zip(listed, sources, strict=True))


def training_digest(rows: Iterable[tuple[str, Hashable, str | None]]) -> str:
    """Digest of training data: URL in normal form, page and referrer of each row, in order."""
    digest = hashlib.sha256()
    for url, page, referrer in rows:
        digest.update(f"{url}\t{page}\t{referrer or ''}\n".encode("utf-8", "surrogatepass"))
    return digest.hexdigest()
