"""Reads a report as a browser would, far enough to check its contents."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path

TAGS = frozenset(
    {"html", "head", "meta", "title", "style", "body", "header", "nav", "main", "section", "article", "footer"}
    | {"h1", "h2", "h3", "h4", "p", "br", "div", "span", "small", "strong", "bdi", "a", "ul", "ol", "li"}
    | {"dl", "dt", "dd", "figure", "img", "figcaption", "svg", "rect", "details", "summary"}
    | {"table", "thead", "tbody", "tr", "th", "td"}
)
"""All tags that the template writes: no script, form, frame or object."""
ATTRIBUTES = frozenset(
    {"lang", "charset", "name", "content", "http-equiv", "href", "rel", "id", "class", "aria-label", "aria-hidden"}
    | {"src", "alt", "data-label", "open", "viewbox", "preserveaspectratio", "width", "height"}
)
BLOCKS = frozenset({"h2", "h3", "h4", "p", "br", "div", "li", "dt", "dd", "tr", "th", "td", "summary", "figcaption"})
VOID = frozenset({"meta", "img", "br", "rect"})


class ReportHtml(HTMLParser):
    """Tags, attributes, links and the text of each section."""

    def __init__(self, path: Path) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.links: list[str] = []
        self.images: list[dict[str, str | None]] = []
        self.open: list[str] = []
        self.section = ""
        self.texts: dict[str, str] = {}
        self.feed(path.read_text(encoding="utf-8"))
        self.close()

    @property
    def text(self) -> str:
        """Return all visible text."""
        return "\n".join(self.texts.values())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note a tag with its attributes."""
        self.tags.add(tag)
        given = dict(attrs)
        self.attributes |= given.keys()
        if tag == "a":
            self.links.append(given["href"] or "")
        if tag == "img":
            self.images.append(given)
        if tag == "section":
            self.section = given["id"] or ""
        if tag in BLOCKS:
            self.handle_data(" ")
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note a self-closing tag."""
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        """Check that tags are closed in order."""
        assert self.open, f"</{tag}> closes nothing"
        assert self.open[-1] == tag, f"</{tag}> closes <{self.open[-1]}>"
        self.open.pop()

    def handle_data(self, data: str) -> None:
        """Note the text of the present section."""
        if "style" not in self.open:
            self.texts[self.section] = self.texts.get(self.section, "") + data
