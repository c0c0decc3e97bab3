"""Pages and chains of pages for crawls over real HTTP in which something goes wrong."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

from live_site import Answer, Crawl, Site

if TYPE_CHECKING:
    from collections.abc import Iterable

_WORDS = ["".join(random.Random(n).choices("bcdfghklmnprstvwz", k=7)) for n in range(2000)]


def text(seed: object) -> str:
    """Return the words of a page, the same for the same seed."""
    draw = random.Random(str(seed))
    return "".join(f"<p>{' '.join(draw.choices(_WORDS, k=12))}</p>" for _ in range(5))


def pair(n: int) -> tuple[str, str]:
    """Two URLs of one form."""
    return f"/item{n}?v=1", f"/item{n}?v=2"


def show(site: Site, path: str, seed: object) -> None:
    """Serve a page that does not print its URL."""
    site.answers[path] = Answer(body=f"<html><title>About {seed}</title><body>{text(seed)}</body></html>".encode())


def build_chain(site: Site, first: int, last: int, is_right: Iterable[bool]) -> None:
    """Hubs in a chain, ten items each; the second URLs are two hubs later, when the first ones have been answered."""
    site.robots()
    hubs = range((last - first) // 10 + 3)
    for hub in hubs:
        owners = [pair(n)[0] for n in range(first + 10 * hub, min(last, first + 10 * hub + 10))]
        seconds = [pair(n)[1] for n in range(first + 10 * hub - 20, min(last, first + 10 * hub - 10)) if n >= first]
        onward = [f"/hub{hub + 1}"] if hub + 1 in hubs else []
        site.page(f"/hub{hub}" if hub else "/", *owners, *seconds, *onward, html=text(f"hub {hub}"))
    for n, right in zip(range(first, last), is_right, strict=True):
        one, other = pair(n)
        show(site, one, n)
        show(site, other, n if right else f"another {n}")


def status(crawl: Crawl, path: str) -> object:
    """Return the status that the spider's callback received, None if it was not called."""
    return crawl.seen.get(path, {}).get("status")


SLOWLY = {"CONCURRENT_REQUESTS": 4, "CONCURRENT_REQUESTS_PER_DOMAIN": 4}
