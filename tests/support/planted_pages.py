"""Pages for a planted crawl, with texts that agree with its clusters."""

from __future__ import annotations

import random
from collections.abc import Iterator

from dedup_crawler.pages.records import Page
from planted_site import Crawl, session_ids


def pages_of(crawl: Crawl, *, wall_after: int | None = None, host: str = "forum.example") -> Iterator[Page]:
    """Return one page per URL; from number *wall_after* on, all show the same log-in form."""
    for i, (url, cluster) in enumerate(zip(crawl.urls, crawl.clusters, strict=True)):
        body = _login() if wall_after is not None and i >= wall_after else _text(cluster)
        url = url.replace("forum.example", host)
        yield Page(url, referrer=f"http://{host}/", content=body, content_type="text/html; charset=utf-8")


def pages(n_topics: int = 60, *, wall_after: int | None = None, host: str = "forum.example") -> list[Page]:
    """Return topics, plain and with meaningless session ids, and members."""
    return list(pages_of(session_ids(n_topics), wall_after=wall_after, host=host))


def _text(cluster: int) -> bytes:
    draw = random.Random(cluster)
    words = ["".join(draw.choices("abcdefghiklmnoprstuvw", k=draw.randint(3, 9))) for _ in range(80)]
    sentences = [" ".join(("the", "thing", "is", *words[i : i + 8])) + "." for i in range(0, 80, 8)]
    title = f"Page about {words[0]} and {words[1]}"
    return (
        f"<html><head><title>{title}</title></head><body><h1>{title}</h1><p>{' '.join(sentences)}</p></body>".encode()
    )


def _login() -> bytes:
    text = "You have to log in to see this page. Give the name and the password that you have got from us, please."
    return f"<html><head><title>Log in</title></head><body><h1>Log in</h1><p>{text}</p></body></html>".encode()
