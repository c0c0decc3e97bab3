"""Pages and what was found out about them, as frozen records: the only shape in which they leave the store."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Page:
    """One response to one URL, as it was received.

    Redirects and errors are pages too: a redirect has its 3xx *status* and *redirect_to*, an error its 4xx or 5xx
    status and whatever body it came with.
    """

    url: str
    """URL as requested; unique in a store."""
    status: int = 200
    """HTTP status, 100-599."""
    referrer: str | None = None
    """URL of the page that held the link; None for a start URL or where it is not known."""
    redirect_to: str | None = None
    """Absolute URL that a redirect leads to."""
    content_type: str | None = None
    """``Content-Type`` header as received, charset included."""
    content: bytes = b""
    """Body with transfer and content encodings undone, charset untouched."""
    fetched_at: float | None = None
    """Seconds since 1970 (UTC)."""
    digest: str | None = None
    """``algorithm:digest`` of the body where an export tells that and not the body itself; equal ones are one body."""
    canonical_link: str | None = None
    """Target of ``<link rel=canonical>`` as an export tells it, where there is no body to read it from."""


@dataclass(frozen=True, slots=True)
class PageText:
    """Text of one page, as the labeller reads it."""

    url: str
    title: str
    """Text of ``<title>``, white space folded; empty where there is none."""
    canonical_link: str | None
    """Absolute URL of ``<link rel=canonical>``."""
    main_text: str
    """Text of the page, a line a paragraph, boilerplate lines with a tab in front; empty where the page has none."""
    simhash: int | None
    """64-bit fingerprint of the main text, 0 <= value < 2**64; None where there is not enough text."""


@dataclass(frozen=True, slots=True)
class LabelledPage:
    """A page without its body: what clustering, training and evaluation read, in crawl order."""

    url: str
    referrer: str | None
    status: int
    redirect_to: str | None
    title: str
    main_text: str
    simhash: int | None
    cluster: int | None
    """Number of its duplicate cluster; None while the page is not labelled."""
    digest: str | None = None
    """Digest of its body, where the body itself is not known."""


@dataclass(frozen=True, slots=True)
class Overview:
    """Progress of a crawl database."""

    n_pages: int
    n_read: int
    """Pages whose text was read."""
    n_labelled: int
    n_clusters: int
    n_scores: int


@dataclass(frozen=True, slots=True)
class PageFacts:
    """Facts of a page that reports count: neither its body nor its text."""

    url: str
    referrer: str | None
    status: int
    title: str
    cluster: int | None
    fetched_at: float | None
    n_bytes: int | None
    """Bytes of the body as it was received; None where nobody asked, or the stored body does not say it."""


Step = tuple[int, Page | None]
"""A step of a reader: entries of the file whose pages have all been given out, and the next page, if any."""
