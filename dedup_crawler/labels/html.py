"""What the labeller reads off an HTML page, with one parse: title, canonical link, and jusText's paragraphs."""

from __future__ import annotations

import codecs
import functools
import re
from dataclasses import dataclass
from typing import Any
from urllib.parse import urljoin

from w3lib.encoding import html_to_unicode

from dedup_crawler.errors import BadInputError, MissingExtraError

_XML_DECLARATION = re.compile(r"^\s*<\?xml[^>]*\?>", re.IGNORECASE)
_TOO_DEEP = "Excessive depth"

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
class Paragraph:
    """One block of text; *is_main* where jusText does not call it boilerplate."""

    text: str
    is_main: bool


@dataclass(frozen=True, slots=True)
class HtmlText:
    """Title, absolute canonical link and paragraphs of a page; *is_cut* where the parser left deep parts out."""

    title: str
    canonical_link: str | None
    paragraphs: tuple[Paragraph, ...]
    is_cut: bool


def read_html(html: str, url: str, language: str) -> HtmlText:
    """Parse *html*, found at *url*, with the stop words of its language, or of *language* where it does not tell.

    See :func:`stop_words` for the names of languages.
    """
    import lxml.etree
    import lxml.html

    from dedup_crawler.labels.paragraphs import classified_paragraphs

    parser = lxml.html.HTMLParser()
    try:
        # lxml refuses a str with an XML declaration; without it the text means the same, for it is decoded already.
        document = lxml.html.fromstring(_XML_DECLARATION.sub("", html), parser=parser)
    except lxml.etree.ParserError:  # nothing but white space and comments
        return HtmlText("", None, (), is_cut=False)
    tree = document.getroottree()
    title, canonical_link = _title(tree), _canonical_link(tree, url)
    is_cut = any(_TOO_DEEP in entry.message for entry in parser.error_log)
    paragraphs = classified_paragraphs(document, stop_words(language_of(tree) or language))
    found = tuple(Paragraph(each.text, not each.is_boilerplate) for each in paragraphs)
    return HtmlText(title, canonical_link, found, is_cut)


@functools.lru_cache(maxsize=64)
def stop_words(language: str) -> frozenset[str]:
    """Give the frequent words of a language, from the lists of jusText.

    Raises
    ------
    MissingExtraError
        If jusText is not installed.
    BadInputError
        If it has no list of that name.
    """
    try:
        import justext
    except ImportError:
        raise MissingExtraError("Reading the main text of pages", "justext", "learn") from None
    known = justext.get_stoplists()
    if language not in known:
        raise BadInputError(f"language = {language!r} has no stop words; known: {', '.join(sorted(known))}")
    return frozenset(justext.get_stoplist(language))


def language_of(tree: Any) -> str | None:
    """JusText's name of the language that ``<html lang>`` declares, if it has stop words for it."""
    declared = tree.getroot().get("lang") or ""
    return LANGUAGES.get(re.split(r"[-_]", declared.strip().lower())[0])


def decode(body: bytes, content_type: str | None) -> str:
    """Decode a body by header, byte order mark or meta element, whatever they claim; never fails.

    Bytes that the charset does not have become U+FFFD. Without any claim: UTF-8 if it is that, else Windows-1252.
    """
    try:
        text: str = html_to_unicode(content_type, body, auto_detect_fun=_guess_charset)[1]
    except (LookupError, ValueError):  # a charset such as "hex" or "idna", which Python has but not for text
        text = body.decode("utf-8", "replace")
    return text.encode("utf-8", "replace").decode("utf-8")  # UTF-7 can spell lone surrogates, which no database takes


def _guess_charset(body: bytes) -> str:
    try:
        codecs.utf_8_decode(body, "strict", True)
    except UnicodeDecodeError:
        return "cp1252"
    return "utf-8"


def _title(tree: Any) -> str:
    element = next(tree.iter("title"), None)
    return "" if element is None else " ".join("".join(element.itertext()).split())


def _canonical_link(tree: Any, url: str) -> str | None:
    for link in tree.iter("link"):
        href = (link.get("href") or "").strip()
        if href and "canonical" in (link.get("rel") or "").lower().split():
            try:
                absolute: str = urljoin(url, href)
                return absolute
            except ValueError:  # such as an unclosed bracket in the host
                return None
    return None
