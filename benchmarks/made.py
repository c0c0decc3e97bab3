"""A made-up forum of any size, to measure how time grows; its links have sessions, titles and sort orders."""

from __future__ import annotations

import random

from recorded import Crawl

_HOST = "https://forum.example"
_WORDS = ("engine", "pump", "paint", "saddle", "winter", "journey", "question", "answer", "manual", "brake")


def made_crawl(n_urls: int, seed: int = 0) -> Crawl:
    """Return a crawl that is all training part, with true labels; each URL occurs once, in random order."""
    rng = random.Random(seed)
    pages: dict[str, str] = {}
    topic = 0
    while len(pages) < n_urls:
        topic += 1
        for number in range(1, rng.choice((1, 1, 2, 4)) + 1):
            pages.update(dict.fromkeys(_topic_urls(rng, topic, number), f"topic {topic}, {number}"))
        pages[f"{_HOST}/index.php?topic={topic}&action=print&sid={rng.getrandbits(64):016x}"] = f"print {topic}"
        for order in rng.sample(("date", "name", "votes"), 2):  # orders that matter
            pages[f"{_HOST}/user/{topic}?order={order}"] = f"user {topic}, {order}"
    found = list(pages.items())[:n_urls]
    rng.shuffle(found)
    numbers: dict[str, int] = {}
    labels = [numbers.setdefault(page, len(numbers)) for _, page in found]
    urls = [url for url, _ in found]
    referrers: list[str | None] = [None, *(urls[rng.randrange(place)] for place in range(1, len(urls)))]
    return Crawl(f"made, {n_urls:,}", urls, referrers, [None] * len(urls), labels, labels)


def _topic_urls(rng: random.Random, topic: int, number: int) -> list[str]:
    title = "-".join(rng.sample(_WORDS, 3))
    session = f"{rng.getrandbits(64):016x}"
    page = f"page={number}"
    urls = [
        f"{_HOST}/topic/{topic}-{title}?{page}",
        f"{_HOST}/topic/{topic}?{page}",
        f"{_HOST}/topic/{topic}-{title}?{page}&sid={session}",
        f"{_HOST}/index.php?topic={topic}&{page}",
        f"{_HOST}/index.php?sid={session}&topic={topic}&{page}",
        f"{_HOST}/index.php?topic={topic}&{page}&view=flat",
    ]
    return rng.sample(urls, 3)
