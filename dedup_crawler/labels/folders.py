"""Joins folders with two addresses, on sites whose pages print their address (``Index of /pub/mirrors/x``).

Such pages differ only in the printed address. For a single page that is no evidence: ``/a/x was not found`` is the same
for every address. It is evidence if *all* pages below the one folder are below the other folder too, with many
different contents.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from dedup_crawler.labels.joins import Clustering
from dedup_crawler.labels.signatures import Signature
from dedup_crawler.urls.tokens import different_starts

MIN_CONTENTS = 20
"""Smallest number of different contents that two folders share; different orders of a list count once."""
MAX_UNLIKE = 0.05
"""Largest share (0-1) of the paths below both folders with different pages: some pages change during a crawl."""
MAX_TRIES = 20
"""Most pages with which one page is compared, to find folders."""
MAX_FOLDERS = 20
"""Most pairs of folders that are compared, those with most common contents first: each costs a pass over all URLs."""

Positions = Mapping[str, int]
Signatures = Mapping[int, Signature]


@dataclass(frozen=True)
class FolderAlias:
    """Two folders that seem to have the same pages."""

    origin: str
    """Scheme and host."""
    old: str
    """Longer start of the path."""
    new: str
    """Shorter start of the path."""

    def other(self, url: str) -> str | None:
        """Address below the new folder, for a URL below the old one; None for other URLs."""
        before = self.origin + self.old
        return f"{self.origin}{self.new}{url[len(before) :]}" if url.startswith(before) else None


def join_folders(clustering: Clustering, positions: Positions, signatures: Signatures) -> None:
    """Join the pages of folders with two addresses; pages that are already in one cluster count as alike.

    *positions* has the position of each URL in normal form, *signatures* the signatures of pages with text.
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
    """Pairs of folders that share enough contents, apart from the addresses."""
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
    """Path and positions of each two pages with text whose addresses differ only in the folder."""
    for url, position in positions.items():
        other = positions.get(alias.other(url) or "")
        if other is not None and position in signatures and other in signatures:
            yield url.partition("?")[0], position, other


def _content(signature: Signature) -> tuple[int, ...]:
    if signature.address_free is not None:
        return signature.status, signature.address_free
    return signature.status, signature.title, signature.text
