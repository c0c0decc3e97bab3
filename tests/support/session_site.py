"""A shop over HTTP that writes a new session id into the path of every link of every answer."""

from __future__ import annotations

import random
import re
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from live_site import Answer, Site

WORDS = [f"{first}{second}" for first in ("ba", "de", "ki", "lo", "mu", "na", "re") for second in ("ran", "sel", "tok")]
N_SECTIONS, N_ITEMS = 10, 70
PAGES = ["/", *(f"/shop/{n}" for n in range(N_SECTIONS)), *(f"/shop/{n % N_SECTIONS}/item/{n}" for n in range(N_ITEMS))]

Kind = tuple[Callable[[str, str], str], re.Pattern[str]]
KINDS: dict[str, Kind] = {
    "at the end": (lambda path, sid: f"{path};jsessionid={sid}", re.compile(";jsessionid=[^/?]*")),
    "in the middle": (
        lambda path, sid: re.sub("^/[^/]*", lambda first: f"{first[0]};jsessionid={sid}", path),
        re.compile(";jsessionid=[^/?]*"),
    ),
    "in parentheses": (lambda path, sid: f"/(S({sid})){path}", re.compile(r"^/\(S\([^)]*\)\)")),
    "a segment": (lambda path, sid: f"/s-{sid}{path}", re.compile("^/s-[^/]*")),
}
"""Kind -> template of a session in a path, and the pattern that removes it."""


class SessionSite(Site):
    """Serves *PAGES* under any session.

    Parameters
    ----------
    kind
        One of *KINDS*.
    n_at_first
        Number of requests that are answered at once; later ones wait until a model is in the folder *model*.
    """

    def __init__(self, kind: str, n_at_first: int = 0, model: Path | None = None) -> None:
        super().__init__()
        self._written, self._session = KINDS[kind]
        self._n_at_first, self._model = n_at_first, model
        self._draw = random.Random(0)

    def lookup(self, path: str) -> Answer:
        """Answer with the page, its links with a new session."""
        if path == "/robots.txt":
            return Answer(404)
        deadline = time.monotonic() + 150
        while self._model and len(self.asked) > self._n_at_first and not list(self._model.glob("*/model.json")):
            assert time.monotonic() < deadline, "no model was learnt"
            time.sleep(0.1)
        if self._model and len(self.asked) > self._n_at_first:
            time.sleep(0.03)  # the crawl looks for models once a second
        page = self.page_of(path)
        if page not in PAGES:
            return Answer(404)
        sid = f"{self._draw.getrandbits(96):024x}"
        links = "".join(f'<a href="{self._written(link, sid)}">{link}</a>' for link in links_of(page))
        text = " ".join(random.Random(page).choices(WORDS, k=120))
        return Answer(
            body=f"<html><head><title>{page}</title></head><body>{links}<p>{text}.</p></body></html>".encode()
        )

    def page_of(self, path: str) -> str:
        """Return the page that a path shows."""
        return self._session.sub("", path) or "/"

    def pages_asked(self) -> Counter[str]:
        """Return the number of fetches of each page."""
        return Counter(self.page_of(path) for path in self.asked if path != "/robots.txt")


def links_of(page: str) -> list[str]:
    """Return the links of a page: home, its section and two neighbours; a section links its pages."""
    if page == "/":
        return PAGES[: 1 + N_SECTIONS]
    if "item" not in page:
        return ["/", *(path for path in PAGES if path.startswith(f"{page}/"))]
    number = int(page.rpartition("/")[2])
    return ["/", page.partition("/item")[0], PAGES[1 + N_SECTIONS + (number + 1) % N_ITEMS]]
