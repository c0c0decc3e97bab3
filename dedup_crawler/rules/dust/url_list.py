"""The URLs of one host with what tells whether two of them may show the same page: all that DustBuster reads."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

from dedup_crawler.rules.applying.engine import read_url
from dedup_crawler.rules.language.rule import KEY_VALUES


class UrlList:
    """Distinct URLs, those that differ in the order of the query being one, in the order of the list.

    Parameters
    ----------
    host
        With its port.
    urls
        In normal form, all of this host.
    lows, highs
        Range of the sizes of each URL, in bytes; of a URL that comes twice, the ranges are joined. Where the page is
        known, both are the number of its cluster, and of a URL that comes twice the first one counts.
    are_clusters
        Whether they are.
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
        """Parts of the query of the URL at *place*, such as ``t=4``; no part where there is no query."""
        _, question, query = self.rests[place].partition("?")
        return query.split("&") if question else []

    def without_part(self, place: int, part: str) -> str:
        """The URL at *place* without the first such part of its query."""
        origin, _, _ = self.forms[place].partition("?")
        parts = self.query_parts(place)
        parts.remove(part)
        return f"{origin}?{'&'.join(parts)}" if parts else origin

    def with_rest(self, place: int, rest: str) -> str:
        """The URL at *place* with another path and query, its query sorted."""
        form = self.forms[place]
        return read_url(form[: len(form) - len(self.rests[place])] + rest, KEY_VALUES)[0]

    def may_be_same(self, left: int, right: int) -> bool:
        """Return True if the ranges of two URLs overlap."""
        return bool(self.lows[left] <= self.highs[right] and self.lows[right] <= self.highs[left])
