"""Folders that have two addresses, on pages that print their own: ``Index of /mirror/x``, ``Index of /pub/mirrors/x``.

Such pages differ in their address and in nothing else. That alone is no evidence: two packages built from one source
have the same files with the same dates, and ``/a/x was not found`` says of every address the same. It is evidence where
*all* that is below the one folder is below the other as well: page by page, with many different contents.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from dedup_crawler.labels.joins import Clustering
from dedup_crawler.labels.signatures import Signature
from dedup_crawler.urls.tokens import different_starts

MIN_CONTENTS = 20
"""Least number of different contents that two folders share; the orders of one list count once."""
MAX_UNLIKE = 0.05
"""Share (0-1) of the paths below both folders that may show different pages: some change while a crawl goes on."""
MAX_TRIES = 20
"""Most pages that one page is compared with, to find folders."""
MAX_FOLDERS = 20
"""Most pairs of folders that are looked at, those that share most first: each costs a look at every URL."""

Positions = Mapping[str, int]
Signatures = Mapping[int, Signature]


@dataclass(frozen=True)
class FolderAlias:
    """Two folders that seem to hold the same."""

    origin: str
    """Scheme and host."""
    old: str
    """Longer start of the path."""
    new: str
    """Shorter start of the path."""

    def other(self, url: str) -> str | None:
        """Address of a URL below the other folder; None if it is not below this one."""
        before = self.origin + self.old
        return f"{self.origin}{self.new}{url[len(before) :]}" if url.startswith(before) else None


def join_folders(clustering: Clustering, positions: Positions, signatures: Signatures) -> None:
    """Join the pages of folders that have two addresses; what is joined by then counts as alike.

    *positions* gives the position of each URL in normal form, *signatures* those of the pages with text.
    """
    for alias in _proposed(positions, signatures):
        alike: list[tuple[int, int]] = []
        contents: dict[str, tuple[int, ...]] = {}
        unlike: set[str] = set()
        for path, left, right in _pairs(alias, positions, signatures):
            if clustering.are_same(left, right) or _content(signatures[left]) == _content(signatures[right]):
                alike.append((left, right))
                contents.setdefault(path, _content(signatures[left]))
            else:
                unlike.add(path)
        if len({*contents.values()}) >= MIN_CONTENTS and len(unlike) <= MAX_UNLIKE * len(contents.keys() | unlike):
            for left, right in alike:
                reason = f"the same but for the page's own address, and so is all below {alias.new} and {alias.old}"
                clustering.join(left, right, reason)


def _proposed(positions: Positions, signatures: Signatures) -> list[FolderAlias]:
    """Pairs of folders that share enough contents but for the addresses."""
    seen: defaultdict[tuple[str, int], list[str]] = defaultdict(list)
    contents: defaultdict[FolderAlias, set[int]] = defaultdict(set)
    for url, position in positions.items():
        signature = signatures.get(position)
        if signature is None or signature.address_free is None or "?" in url:
            continue
        origin = url[: url.index("/", url.index("//") + 2)]
        others = seen[origin, signature.address_free]
        for other in others[:MAX_TRIES]:
            starts = sorted(
                different_starts(url[len(origin) :], other[len(origin) :]), key=lambda each: (len(each), each)
            )
            if starts[0] and starts[0] != starts[1]:
                contents[FolderAlias(origin, starts[1], starts[0])].add(signature.address_free)
        others.append(url)
    enough = [
        (-len(its), alias.old, alias.new, alias) for alias, its in contents.items() if len(its) >= MIN_CONTENTS // 2
    ]
    return [alias for *_, alias in sorted(enough)[:MAX_FOLDERS]]


def _pairs(alias: FolderAlias, positions: Positions, signatures: Signatures) -> Iterator[tuple[str, int, int]]:
    """Path, and positions of two pages with text whose addresses differ in the folder alone."""
    for url, position in positions.items():
        other = positions.get(alias.other(url) or "")
        if other is not None and position in signatures and other in signatures:
            yield url.partition("?")[0], position, other


def _content(signature: Signature) -> tuple[int, ...]:
    if signature.address_free is not None:
        return signature.status, signature.address_free
    return signature.status, signature.title, signature.text
