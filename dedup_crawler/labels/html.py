"""Reads an HTML page with one parse: title, canonical link, and the paragraphs of jusText, one on each line.

J. Pomikalek, "Removing boilerplate and duplicate content from web corpora", PhD thesis, Brno 2011 (jusText).

The code of jusText classifies the paragraphs. The result is that of ``justext.justext`` (a test compares the two), in a
third of the time: the document is cleaned in place and not in a copy, and split in one walk and not by SAX events.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote, urljoin

import justext
import lxml.etree
import lxml.html
from justext import core
from justext.paragraph import HEADINGS_PATTERN
from lxml_html_clean import Cleaner

from dedup_crawler.errors import BadInputError
from dedup_crawler.labels.lines import MEDIA, digest

_XML_DECLARATION = re.compile(r"^\s*<\?xml[^>]*\?>", re.IGNORECASE)
_TOO_DEEP = "Excessive depth"
MAX_MEDIA = 200
"""Largest number of pictures, films and sounds of a page that are compared."""
_PIXELS = ("0", "1", "2", "0px", "1px", "2px")
_MEDIA = ("img", "video", "audio", "source", "embed", "object")
_LETTERS = str.maketrans("0123456789abcdef", "ghijklmnopqrstuv")  # no digits: they would make several words
_UNFOLDED = re.compile(r"[ \n]\s+|[^\S \n]\s*")  # white space that is neither one space nor one line feed

# the cleaner that justext.core.preprocessor makes for each page
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
    style=True,
    kill_tags=("head",),
)

# one class for all elements: lxml's own choice by tag is a call of Python for each of them, a tenth of the reading time
_CLASSES = lxml.etree.ElementDefaultClassLookup(
    element=lxml.html.HtmlElement,
    comment=lxml.html.HtmlComment,
    pi=lxml.html.HtmlProcessingInstruction,
    entity=lxml.html.HtmlEntity,
)

LANGUAGES = {
    "af": "Afrikaans", "ar": "Arabic", "az": "Azerbaijani", "be": "Belarusian", "bg": "Bulgarian", "ca": "Catalan",
    "cs": "Czech", "da": "Danish", "de": "German", "el": "Greek", "en": "English", "eo": "Esperanto", "es": "Spanish",
    "et": "Estonian", "eu": "Basque", "fa": "Persian", "fi": "Finnish", "fr": "French", "ga": "Irish",
    "gl": "Galician", "he": "Hebrew", "hi": "Hindi", "hr": "Croatian", "hu": "Hungarian", "hy": "Armenian",
    "id": "Indonesian", "is": "Icelandic", "it": "Italian", "ka": "Georgian", "kk": "Kazakh", "ko": "Korean",
    "la": "Latin", "lt": "Lithuanian", "lv": "Latvian", "mk": "Macedonian", "ms": "Malay", "nb": "Norwegian_Bokmal",
    "nl": "Dutch", "nn": "Norwegian_Nynorsk", "no": "Norwegian_Bokmal", "pl": "Polish", "pt": "Portuguese",
    "ro": "Romanian", "ru": "Russian", "sk": "Slovak", "sl": "Slovenian", "sq": "Albanian", "sr": "Serbian",
    "sv": "Swedish", "sw": "Swahili", "tr": "Turkish", "uk": "Ukrainian", "vi": "Vietnamese",
}  # fmt: skip
"""Code in ``<html lang>`` (ISO 639-1) -> name of jusText's list of stop words."""


@dataclass(frozen=True, slots=True)
class HtmlText:
    """Title, absolute canonical link and text of a page; text fields and media are the last lines.

    *is_cut* is True if the parser left out deeply nested parts.
    """

    title: str
    canonical_link: str | None
    text: str
    is_cut: bool


def read_html(html: str, url: str, language: str | None) -> HtmlText:
    """Parse *html*, found at *url*, with the stop words of its declared language, by default of *language*.

    A line that jusText calls boilerplate starts with a tab. Without a *language* none does, which is faster. See
    :func:`stop_words` for the names of languages.
    """
    parser = lxml.html.HTMLParser()
    parser.set_element_class_lookup(_CLASSES)
    try:
        # lxml refuses a str with an XML declaration, which has no meaning in decoded text
        document = lxml.html.fromstring(_XML_DECLARATION.sub("", html), parser=parser)
    except lxml.etree.ParserError:  # nothing but white space and comments
        return HtmlText("", None, "", is_cut=False)
    tree = document.getroottree()
    title, canonical_link = _title(tree), _canonical_link(tree, url)
    is_cut = any(_TOO_DEEP in entry.message for entry in parser.error_log)
    shown = [(line, False) for line in (*_typed_lines(tree), *_media(tree, url))]
    words = None if language is None else stop_words(language_of(tree) or language)
    folded = ((" ".join(text.split()), is_main) for text, is_main in (*_paragraphs(document, words), *shown))
    lines = (text if is_main or words is None else "\t" + text for text, is_main in folded if text)
    return HtmlText(title, canonical_link, "\n".join(lines), is_cut)


@functools.lru_cache(maxsize=64)
def stop_words(language: str) -> frozenset[str]:
    """Frequent words of a language, from the lists of jusText; BadInputError for a language without a list."""
    known = justext.get_stoplists()
    if language not in known:
        raise BadInputError(f"language = {language!r} has no stop words; known: {', '.join(sorted(known))}")
    return frozenset(justext.get_stoplist(language))


def language_of(tree: Any) -> str | None:
    """Name of the language that ``<html lang>`` declares; None if jusText has no stop words for it."""
    declared = tree.getroot().get("lang") or ""
    return LANGUAGES.get(re.split(r"[-_]", declared.strip().lower())[0])


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
        with contextlib.suppress(ValueError):  # such as an unclosed bracket in the host
            source = urljoin(url, source)
        yield MEDIA + f"{digest(source):016x}".translate(_LETTERS)


def _canonical_link(tree: Any, url: str) -> str | None:
    for link in tree.iter("link"):
        href = (link.get("href") or "").strip()
        if href and "canonical" in (link.get("rel") or "").lower().split():
            with contextlib.suppress(ValueError):  # such as an unclosed bracket in the host
                return str(urljoin(url, href))
            return None
    return None


class _Paragraph:
    """A paragraph with what jusText asks of it to classify it."""

    def __init__(self, text: str, dom_path: str, chars_count_in_links: int) -> None:
        self.text = text
        self.dom_path = dom_path
        self.chars_count_in_links = chars_count_in_links
        self.is_heading = _is_in_heading(dom_path)
        self.heading = False
        self.cf_class = self.class_type = ""

    def __len__(self) -> int:
        return len(self.text)

    def stopwords_density(self, words: frozenset[str]) -> float:
        """Share (0-1) of stop words among the words."""
        its = self.text.lower().split()
        return sum(map(words.__contains__, its)) / len(its)

    def links_density(self) -> float:
        """Share of the letters in links; more than 1 is possible."""
        return self.chars_count_in_links / len(self.text)


@functools.lru_cache(4096)
def _is_in_heading(dom_path: str) -> bool:
    return HEADINGS_PATTERN.search(dom_path) is not None


def _split(document: Any) -> list[_Paragraph]:
    """Split an lxml document at the elements at which jusText splits it, and at two line breaks in a row."""
    found: list[_Paragraph] = []
    nodes: list[str] = []  # texts of the current paragraph
    n_in_links = 0
    is_link = is_break = False
    doms = [""]
    dom = ""  # path to the element in which the current paragraph starts

    def end_paragraph() -> None:
        nonlocal nodes, n_in_links, dom
        if nodes and (text := _folded("".join(nodes).strip())):
            found.append(_Paragraph(text, dom, n_in_links))
        nodes, n_in_links, dom = [], 0, doms[-1]

    for event, element in lxml.etree.iterwalk(document, events=("start", "end", "pi")):
        if event == "start":
            tag = element.tag
            doms.append(f"{doms[-1]}.{tag}" if doms[-1] else tag)
            if tag in core.PARAGRAPH_TAGS or (is_break and tag == "br"):
                end_paragraph()
            else:
                is_break = tag == "br"
                if is_break:
                    nodes.append(" ")
                elif tag == "a":
                    is_link = True
            text = element.text
        else:
            if event == "end":
                tag = element.tag
                doms.pop()
                if tag in core.PARAGRAPH_TAGS:
                    end_paragraph()
                elif tag == "a":
                    is_link = False
            text = element.tail
        if text and not text.isspace():
            nodes.append(_folded(text))
            if is_link:
                n_in_links += len(nodes[-1])
            is_break = False
    end_paragraph()
    return found


def _folded(text: str) -> str:
    """Make each run of white space a line feed if it has a line end, and a space otherwise."""
    return _UNFOLDED.sub(lambda run: "\n" if "\n" in run[0] or "\r" in run[0] else " ", text)


def _paragraphs(document: Any, words: frozenset[str] | None) -> Iterator[tuple[str, bool]]:
    """Text of each paragraph of an lxml document, which is changed, and whether jusText calls it main text.

    *words* are the stop words of its language; without them nothing is main text.
    """
    _clean(document)
    paragraphs = _split(document)
    if words is not None:
        core.classify_paragraphs(paragraphs, words)
        core.revise_paragraph_classification(paragraphs)
    return ((each.text, each.class_type == "good") for each in paragraphs)
