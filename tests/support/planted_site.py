"""A site with a planted truth: a generator of URLs and clusters for tests."""

from __future__ import annotations

import random
from dataclasses import dataclass

HOST = "http://forum.example"


@dataclass(frozen=True)
class Crawl:
    """URLs in crawl order, and the page that each shows."""

    urls: list[str]
    clusters: list[int]


def session_ids(n_pages: int = 60, n_visits: int = 3, seed: int = 0) -> Crawl:
    """Return topics seen plain and with random session ids, and members seen once."""
    draw = random.Random(seed)
    visits = [(page, f"{HOST}/topic.php?t={page + 100}") for page in range(n_pages)]
    for page in range(n_pages):
        sids = [f"{draw.getrandbits(64):016x}" for _ in range(n_visits - 1)]
        visits += [(page, f"{HOST}/topic.php?t={page + 100}&sid={sid}") for sid in sids]
    visits += [(n_pages + i, f"{HOST}/member.php?u={i + 100}") for i in range(n_pages)]
    draw.shuffle(visits)
    return Crawl([url for _, url in visits], [page for page, _ in visits])


def slugs(n_pages: int = 120, seed: int = 0) -> Crawl:
    """Return questions with and without slugs, and tags without duplicates."""
    draw = random.Random(seed)
    words = ["".join(draw.choices("bcdfghklmnprstvwz", k=6)) for _ in range(400)]
    visits = []
    for page in range(n_pages):
        slug = "-".join(draw.sample(words, draw.randint(2, 6)))
        visits.append((page, f"{HOST}/questions/{page + 100}"))
        visits.append((page, f"{HOST}/questions/{page + 100}/{slug}"))
    visits += [(n_pages + i, f"{HOST}/tagged/{words[i]}") for i in range(n_pages)]
    draw.shuffle(visits)
    return Crawl([url for _, url in visits], [page for page, _ in visits])
