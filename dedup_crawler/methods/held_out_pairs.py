"""Labelled pairs cut by URL: what is judged on the one part was not trained on the other.

Pairs drawn at random leak, for their URLs stand in other pairs too. A fifth of the URLs is put aside, and with them
every pair that one of them is in.
"""

from __future__ import annotations

from collections.abc import Sequence

from dedup_crawler.methods.labelled_pairs import UrlPair

_HELD_OUT = 0.2  # share of the URLs


def cut_by_url(pairs: Sequence[UrlPair], seed: int) -> tuple[list[UrlPair], list[UrlPair]]:
    """Pairs to learn from, and pairs of which a URL is new, as in a crawl; either may be empty."""
    import numpy as np  # only fitting cuts

    urls = list(dict.fromkeys(url for pair in pairs for url in (pair.left, pair.right)))
    draw = np.random.default_rng(seed)
    held_out = {url for url, drawn in zip(urls, draw.random(len(urls)), strict=True) if drawn < _HELD_OUT}
    seen = [pair for pair in pairs if pair.left not in held_out and pair.right not in held_out]
    new = [pair for pair in pairs if pair.left in held_out or pair.right in held_out]
    return seen, new
