"""Signatures in the making: all that is read off a page's text, before it is known what is decoration on its site.

So the texts, which are not kept, are read once; and once more on sites that name their pages in decoration.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from dedup_crawler.labels.addresses import address_free
from dedup_crawler.labels.arguments import Argument, arguments
from dedup_crawler.labels.layout import SiteLayout
from dedup_crawler.labels.lines import LineFacts, digest, digest_of_all, lines_of, numbers_of
from dedup_crawler.labels.signatures import MAIN_SHARE, MAX_LINES, NO_LINES, NO_WORDS, TOO_MANY, Signature
from dedup_crawler.pages.records import LabelledPage

_LINE = np.dtype([("digest", np.uint64), ("n_words", np.uint32), ("is_id", np.bool_), ("is_main", np.bool_)])
_NO_SHAPES = np.empty((0, 2), np.uint64)


@dataclass(slots=True)
class Draft:
    """One page with a title; 14 bytes a line, or 38 where lines hold times and names."""

    status: int
    title: int
    lines: npt.NDArray[np.void]
    """Of each its digest, its words, whether it has a number of the URL, and whether jusText keeps it."""
    clocks: npt.NDArray[np.uint64]
    """Of each line, if one of them holds a time."""
    shapes: npt.NDArray[np.uint64] = field(default_factory=lambda: _NO_SHAPES)
    """(lines with a name, 2): index of the line, and its shape."""
    plain_title: int | None = None
    template: int = 0
    open_arguments: tuple[Argument, ...] = ()
    address_free: int | None = None

    @classmethod
    def read(cls, page: LabelledPage, facts: LineFacts) -> Draft:
        """Make the draft of a page whose lines are known."""
        known = np.empty(len(facts.digests), _LINE)
        known["digest"], known["n_words"] = facts.digests, facts.n_words
        known["is_id"] = _ids(page.url, facts.numbers)
        known["is_main"] = [line[:1] != "\t" for line in page.main_text.split("\n")]
        clocks = facts.clocks if facts.clocks.any() else NO_LINES
        return cls(page.status, digest(page.title), known, clocks, address_free=address_free(page))

    def find_name(self, page: LabelledPage, layout: SiteLayout) -> None:
        """Look for the page's name in its title and lines, once the layout knows the naming keys."""
        names = layout.names(page.url)
        shapes = names.shapes_of(lines_of(page))
        self.shapes = np.array([*shapes.items()], np.uint64) if shapes else _NO_SHAPES
        plain_title = names.plain_title(page.title)
        if plain_title is not None:
            found, before = arguments(page.url)
            self.plain_title = digest(plain_title)
            self.template = digest("\n".join(layout.kinds.template(before, found, layout.naming_keys)))
            self.open_arguments = layout.open_arguments(found)

    def signature(self, layout: SiteLayout) -> Signature:
        """The signature, once the layout knows what is decoration."""
        is_content = layout.content(len(self.lines), dict(self.shapes.tolist()), self.clocks)
        content = self.lines[is_content]
        digests = np.ascontiguousarray(content["digest"])
        n_words = int(content["n_words"].sum(dtype=np.int64))
        is_compared = len(content) <= MAX_LINES
        words = np.where(content["is_id"], TOO_MANY, np.minimum(content["n_words"], TOO_MANY)).astype(np.uint16)
        return Signature(
            status=self.status,
            title=self.title,
            text=digest_of_all(self.lines["digest"]),
            content=digest_of_all(digests),
            main=self._main(content, n_words),
            n_text_words=int(self.lines["n_words"].sum(dtype=np.int64)),
            n_words=n_words,
            lines=digests if is_compared else NO_LINES,
            words=words if is_compared else NO_WORDS,
            plain_title=self.plain_title,
            template=self.template,
            open_arguments=self.open_arguments,
            address_free=self.address_free,
        )

    def _main(self, content: npt.NDArray[np.void], n_content_words: int) -> int | None:
        main = content[content["is_main"]]
        if len(main) == len(self.lines) or not len(main):
            return None
        if main["n_words"].sum(dtype=np.int64) < MAIN_SHARE * n_content_words:
            return None
        return digest_of_all(main["digest"])


def _ids(url: str, numbers: list[str]) -> list[bool]:
    """Whether each line has a number of the URL."""
    found = [False] * len(numbers)
    for number in numbers_of(url):
        for index, of_line in enumerate(numbers):
            if number in of_line and f" {number} " in of_line:
                found[index] = True
    return found
