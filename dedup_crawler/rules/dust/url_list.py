"""The input of DustBuster: the URLs of one host, with the page size or cluster of each."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

from dedup_crawler.rules.applying.engine import read_url
from dedup_crawler.urls.keyvalue import KEY_VALUES


class UrlList:
    """Distinct URLs, in the order of the list. URLs that differ only in the order of the query are the same.

    Parameters
    ----------
    host
        Host with its port.
    urls
        URLs of the host, in normal form.
    lows, highs
        Smallest and largest size of the page at each URL, in bytes; ranges of repeated URLs are joined. If the pages
        are known, both are the cluster number; the first one of a repeated URL counts.
    are_clusters
        True if *lows* and *highs* are cluster numbers.
    """

    def __init__(
        self, host: str, urls: Iterable[str], lows: Sequence[int], highs: Sequence[int], *, are_clusters: bool
    ) -> None:
        self.host = host
        self.forms: list[str] = []
        """Form of each URL: its query is sorted."""
        self.place: dict[str, int] = {}
        kept_lows: list[int] = []
        kept_highs: list[int] = []
        for url, low, high in zip(urls, lows, highs, strict=True):
            form = read_url(url, KEY_VALUES)[0] if "&" in url else url
            place = self.place.get(form)
            if place is None:
                self.place[form] = len(self.forms)
                self.forms.append(form)
                kept_lows.append(low)
                kept_highs.append(high)
            elif not are_clusters:
                kept_lows[place] = min(kept_lows[place], low)
                kept_highs[place] = max(kept_highs[place], high)
        self.lows: npt.NDArray[np.int64] = np.array(kept_lows, np.int64)
        self.highs: npt.NDArray[np.int64] = np.array(kept_highs, np.int64)
        origins = [form.partition("://") for form in self.forms]
        self.schemes = [scheme for scheme, _, _ in origins]
        self.rests = [behind[behind.find("/") :] for _, _, behind in origins]
        """Path and query."""

    def __len__(self) -> int:
        return len(self.forms)

    def query_parts(self, place: int) -> list[str]:
        """Parts of the query of the URL at *place*, such as ``t=4``; empty without a query."""
        _, question, query = self.rests[place].partition("?")
        return query.split("&") if question else []

    def without_part(self, place: int, part: str) -> str:
        """The URL at *place* without the first occurrence of *part* in its query."""
        origin, _, _ = self.forms[place].partition("?")
        parts = self.query_parts(place)
        parts.remove(part)
        return f"{origin}?{'&'.join(parts)}" if parts else origin

    def with_rest(self, place: int, rest: str) -> str:
        """The URL at *place* with another path and query, its query sorted."""
        form = self.forms[place]
        return read_url(form[: len(form) - len(self.rests[place])] + rest, KEY_VALUES)[0]

    def may_be_same(self, left: int, right: int) -> bool:
        """Return True if two URLs may show the same page: their ranges overlap."""
        return bool(self.lows[left] <= self.highs[right] and self.lows[right] <= self.highs[left])
