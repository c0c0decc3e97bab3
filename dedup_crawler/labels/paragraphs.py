"""The paragraphs of jusText, made a third faster.

J. Pomikalek, "Removing boilerplate and duplicate content from web corpora", PhD thesis, Brno 2011 (jusText).

Parsing into paragraphs and classifying them is jusText's own code, and the result is that of ``justext.justext`` (a
test holds the two together). Left out is what takes time and does not show in it: the document is cleaned where it
stands instead of in a copy, the path of an element grows with the element instead of being written out for each
paragraph, and the text of a paragraph is put together once.

Importing this module imports jusText, so :mod:`.html` does it at the first page.
"""

from __future__ import annotations

import functools
from typing import Any

from justext import core
from lxml_html_clean import Cleaner

# As justext.core.preprocessor makes it anew for each page.
_clean = Cleaner(
    processing_instructions=False,
    remove_unknown_tags=False,
    safe_attrs_only=False,
    page_structure=False,
    annoying_tags=False,
    frames=False,
    meta=False,
    links=False,
    javascript=False,
    scripts=True,
    comments=True,
    style=True,
    embedded=True,
    forms=True,
    kill_tags=("head",),
)


class _Path:
    """Path to the element being read; jusText classifies by *dom* alone."""

    xpath = ""

    def __init__(self) -> None:
        self._doms = [""]

    @property
    def dom(self) -> str:
        return self._doms[-1]

    def append(self, name: str) -> None:
        outer = self._doms[-1]
        self._doms.append(f"{outer}.{name}" if outer else name)

    def pop(self) -> None:
        self._doms.pop()


class _Paragraph(core.Paragraph):  # type: ignore[misc]  # jusText is not typed
    @functools.cached_property
    def text(self) -> str:
        """Asked for only when the paragraph is complete."""
        text: str = super().text
        return text


class _ParagraphMaker(core.ParagraphMaker):  # type: ignore[misc]  # jusText is not typed
    def __init__(self) -> None:
        super().__init__()
        self.path = _Path()
        self.paragraph = _Paragraph(self.path)

    def _start_new_pragraph(self) -> None:
        if self.paragraph is not None and self.paragraph.contains_text() and self.paragraph.text:
            self.paragraphs.append(self.paragraph)
        self.paragraph = _Paragraph(self.path)


def classified_paragraphs(document: Any, words: frozenset[str]) -> list[Any]:
    """Read the jusText paragraphs of an lxml document, which is changed; *words* are the language's stop words."""
    _clean(document)
    paragraphs: list[Any] = _ParagraphMaker.make_paragraphs(document)
    core.classify_paragraphs(paragraphs, words)
    core.revise_paragraph_classification(paragraphs)
    return paragraphs
