"""Reads an HTML page with one parse: title, canonical link, and the paragraphs of jusText, one on each line.

J. Pomikalek, "Removing boilerplate and duplicate content from web corpora", PhD thesis, Brno 2011 (jusText).

The paragraphs are those of ``justext.justext`` (a test compares the two), but the document is split in one walk and not
by SAX events, which take longer: a crawl that learns by itself reads its pages while it goes on. No paragraph is left
out as boilerplate: of lists, tables and code (half to three quarters of the pages of many sites) jusText would keep
nothing, and what it drops may be all that tells two pages apart. The capstone keeps it, too.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

import lxml.etree
import lxml.html
from justext import core

from dedup_crawler.labels.lines import MEDIA, digest
from dedup_crawler.urls.normal import joined

_XML_DECLARATION = re.compile(r"^\s*<\?xml[^>]*\?>", re.IGNORECASE)
_TOO_DEEP = "Excessive depth"
MAX_MEDIA = 200
"""Largest number of pictures, films and sounds of a page that are compared."""
MAX_NAMES = 200
"""Largest number of names in the scripts of a page whose numbers are compared."""
_MAX_SCRIPT = 200_000  # characters of a script
_NAMED_NUMBER = re.compile(
    r"(?<![\w-])([A-Za-z_][\w-]{0,40})[\"']?\s{0,4}[:=]\s{0,4}[\"']?(\d{1,8})(?![\w.-])", re.ASCII
)
_PIXELS = ("0", "1", "2", "0px", "1px", "2px")
_MEDIA = ("img", "video", "audio", "source", "embed", "object")
_LETTERS = str.maketrans("0123456789abcdef", "ghijklmnopqrstuv")  # no digits: they would make several words


@dataclass(frozen=True, slots=True)
class HtmlText:
    """Title, absolute canonical link and text of a page; text fields, media and data are the last lines.

    *is_cut* is True if the parser left out deeply nested parts.
    """

    title: str
    canonical_link: str | None
    text: str
    is_cut: bool


def read_html(html: str, url: str) -> HtmlText:
    """Parse *html*, found at *url*."""
    parser = lxml.html.HTMLParser()
    try:
        # lxml refuses a str with an XML declaration, which has no meaning in decoded text
        document = lxml.html.fromstring(_XML_DECLARATION.sub("", html), parser=parser)
    except lxml.etree.ParserError:  # nothing but white space and comments
        return HtmlText("", None, "", is_cut=False)
    tree = document.getroottree()
    title, canonical_link = _title(tree), _canonical_link(tree, url)
    is_cut = any(_TOO_DEEP in entry.message for entry in parser.error_log)
    shown = [*_typed_lines(tree), *_media(tree, url), *_data(tree)]
    lines = (" ".join(text.split()) for text in (*_paragraphs(core.preprocessor(document)), *shown))
    return HtmlText(title, canonical_link, "\n".join(filter(None, lines)), is_cut)


def _title(tree: Any) -> str:
    element = next(tree.iter("title"), None)
    return "" if element is None else " ".join("".join(element.itertext()).split())


def _typed_lines(tree: Any) -> Iterator[str]:
    """Lines of text areas, which jusText leaves out; a page may show nothing else, for example its source."""
    for field in tree.iter("textarea"):
        yield from filter(str.strip, (field.text or "").splitlines())


def _media(tree: Any, url: str) -> Iterator[str]:
    """One word for each picture, film or sound, made of its address; a page may show nothing else of its own.

    Pictures of a pixel or two are no content, and an address with the page's own address in its query is a counter's.
    """
    own_path = "/" + url.partition("://")[2].partition("/")[2].partition("?")[0]
    for element in itertools.islice(tree.iter(*_MEDIA), MAX_MEDIA):
        source = (element.get("src") or element.get("data") or "").strip()
        is_pixel = any((element.get(side) or "").strip() in _PIXELS for side in ("width", "height"))
        _, told, rest = unquote(source.partition("?")[2]).partition(own_path)
        is_counter = told != "" and len(own_path) > 1 and not rest[:1].isalnum()
        if not source or is_pixel or is_counter:
            continue
        source = joined(url, source) or source
        yield _word(source.lower())  # servers that ignore the letter case of a page write addresses below it as asked


def _data(tree: Any) -> Iterator[str]:
    """A word for each name of numbers in the scripts of the page, and one number made of all that have the name.

    A reader may see what scripts make of such data (``"revision": 2``), while the text is the same on many pages.
    Fractions, and numbers of nine digits or more, are left out: they are durations, moments and tokens.
    """
    found: dict[str, set[str]] = {}
    for script in tree.iter("script"):
        for name, number in _NAMED_NUMBER.findall((script.text or "")[:_MAX_SCRIPT]):
            found.setdefault(name, set()).add(number)
    for name, numbers in itertools.islice(found.items(), MAX_NAMES):
        yield f"{_word(name)} {digest(' '.join(sorted(numbers))) % 10**9}"


def _word(text: str) -> str:
    """A word that stands for what is no text."""
    return MEDIA + f"{digest(text):016x}".translate(_LETTERS)


def _canonical_link(tree: Any, url: str) -> str | None:
    for link in tree.iter("link"):
        href = (link.get("href") or "").strip()
        if href and "canonical" in (link.get("rel") or "").lower().split():
            return joined(url, href) or None
    return None


def _paragraphs(document: Any) -> list[str]:
    """Split a clean lxml document at the elements at which jusText does, and at two line breaks in a row."""
    found: list[str] = []
    nodes: list[str] = []  # texts of the current paragraph
    is_break = False
    for event, element in lxml.etree.iterwalk(document, events=("start", "end", "pi")):
        is_start = event == "start"
        if event != "pi" and (element.tag in core.PARAGRAPH_TAGS or (is_start and is_break and element.tag == "br")):
            found.append("".join(nodes))
            nodes = []
        elif is_start and (is_break := element.tag == "br"):
            nodes.append(" ")
        text = element.text if is_start else element.tail
        if text and not text.isspace():
            nodes.append(text)
            is_break = False
    return [*found, "".join(nodes)]
