"""Pages, their texts and labels as frozen records. The store returns nothing else."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Page:
    """One response to one URL. Redirects and errors are pages too."""

    url: str
    """URL as requested; unique in a store."""
    status: int = 200
    """HTTP status, 100-599."""
    referrer: str | None = None
    """URL of the page with the link; None for a start URL, or if it is not known."""
    redirect_to: str | None = None
    """Absolute URL that a redirect leads to."""
    content_type: str | None = None
    """``Content-Type`` header as received, with the charset."""
    content: bytes = b""
    """Body, with transfer and content encodings undone, in its original charset."""
    fetched_at: float | None = None
    """Seconds since 1970 (UTC)."""
    digest: str | None = None
    """Digest of the body, from an export without bodies; equal digests mean equal bodies."""
    canonical_link: str | None = None
    """Target of ``<link rel=canonical>``, from an export without bodies."""


@dataclass(frozen=True, slots=True)
class PageText:
    """Text of one page, as the labeller reads it."""

    url: str
    title: str
    """Text of ``<title>``, with white space folded; empty without a title."""
    canonical_link: str | None
    """Absolute URL of ``<link rel=canonical>``."""
    main_text: str
    """Text of the page, one line for each paragraph; may be empty."""
    simhash: int | None
    """64-bit fingerprint of the main text, 0 <= value < 2**64; None for too little text."""
    digest: str | None = None
    """``algorithm:digest`` of the body, if it is not HTML; equal digests mean equal files."""


@dataclass(frozen=True, slots=True)
class ReloadedText:
    """Text of one page as it was fetched twice, one line for each paragraph."""

    url: str
    first: str
    second: str


@dataclass(frozen=True, slots=True)
class LabelledPage:
    """A page without its body, for clustering, training and evaluation."""

    url: str
    referrer: str | None
    status: int
    redirect_to: str | None
    title: str
    main_text: str
    simhash: int | None
    cluster: int | None
    """Number of its duplicate cluster; None if the page is not labelled yet."""
    digest: str | None = None
    """Digest of its body, if that is not known, or is not HTML."""


@dataclass(frozen=True, slots=True)
class Overview:
    """Progress of a crawl database."""

    n_pages: int
    n_read: int
    """Number of pages whose text was read."""
    n_labelled: int
    n_clusters: int
    n_scores: int


@dataclass(frozen=True, slots=True)
class PageFacts:
    """A page without its body and text, for reports."""

    url: str
    referrer: str | None
    status: int
    title: str
    cluster: int | None
    fetched_at: float | None
    n_bytes: int | None
    """Bytes of the uncompressed body; None if it was not asked for, or is not known."""


Step = tuple[int, Page | None]
"""A step of a reader: the next page, if any, and the number of entries of the file that are done with it."""
