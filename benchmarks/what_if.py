"""Effect of one change to a method or its training: a table row, and the affected URLs."""

from __future__ import annotations

import re
from collections.abc import Hashable, Sequence
from dataclasses import replace
from urllib.parse import unquote

from recorded import Continued, Crawl, continued

from dedup_crawler.methods import Canonicalizer, method_from_spec


def head(method: str) -> None:
    """Print the head of a table."""
    print(
        f"\n## {method}\n\n| site | what is changed | rules | in vain | saved | lost | lost cold |\n" + "|---" * 7 + "|"
    )


def row(name: str, said: str, spec: str | Canonicalizer, crawl: Crawl) -> Continued:
    """Print one row; *spec* is trained on the crawl unless it is a fitted method."""
    method = crawl.fit(method_from_spec(spec)) if isinstance(spec, str) else spec
    way = continued(method, crawl)
    print(f"| {name} | {said} | {method.n_learnt()} | {cells(method, crawl, way)} |", flush=True)
    return way


def cells(method: Canonicalizer, crawl: Crawl, way: Continued) -> str:
    """Return the cells of a row: outcome of the method on the test part."""
    warm, cold = crawl.warm(method), crawl.cold(method)
    return f"{len(way.useless)} | {warm.saved:.1%} | {warm.n_lost} | {cold.n_lost}"


def true_labels(crawl: Crawl) -> Crawl:
    """Return the same crawl, its training part labelled by truth."""
    numbers: dict[Hashable, int] = {}
    return replace(crawl, labels=[numbers.setdefault(page, len(numbers)) for page in crawl.pages[: crawl.cut]])


def fitted(spec: str, crawl: Crawl, is_kept: Sequence[bool]) -> Canonicalizer:
    """Return a method trained on some URLs of the training part."""
    rows = [place for place in range(crawl.cut) if is_kept[place]]
    return method_from_spec(spec).fit([crawl.urls[place] for place in rows], [crawl.labels[place] for place in rows])


def gained(before: Continued, after: Continued) -> list[int]:
    """Return the places of wasted fetches that the change saves."""
    return sorted(set(before.useless) - set(after.fetched))


def before(crawl: Crawl, place: int) -> list[int]:
    """Return the places of the earlier URLs of the same page."""
    return [each for each in range(place) if crawl.pages[each] == crawl.pages[place]]


def show(title: str, crawl: Crawl, places: Sequence[int], others: Sequence[str | None] = ()) -> None:
    """Print the number of places, and an example pair: with an earlier URL of the page, or with one of *others*."""
    example = ""
    if places:
        url = crawl.urls[places[0]]
        earlier = [crawl.urls[each] for each in before(crawl, places[0])]
        alike = [(len(set(re.split(r"\W", url)) ^ set(re.split(r"\W", each))), each) for each in earlier]
        other = others[0] if others else min(alike)[1] if alike else None
        example = f", such as `{short(url)}`" + (
            f" {'taken for' if others else 'beside'} `{short(other)}`" if other else ""
        )
    print(f"- {title}: {len(places)} URLs{example}", flush=True)


def short(url: str) -> str:
    """Return a URL without scheme and host, unescaped."""
    return "/" + unquote(url.split("/", 3)[-1]).replace("|", "%7C").replace("`", "%60")
