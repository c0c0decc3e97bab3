"""One request, with all that is known of it before the seen set is asked who owns its form."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from scrapy import Request

    from dedup_crawler.live.requests.request_text import Kept
    from dedup_crawler.methods import Canonicalizer, Referrer


@dataclass(slots=True)
class Question:
    """A request with all that is known before the seen set is asked who owns its form; a :class:`Claimant`."""

    request: Request
    model: Canonicalizer
    url: str
    """In normal form."""
    referrer: Referrer | None
    form: str
    digest: bytes
    owner: int
    """Tag of the URL in normal form."""
    fired: tuple[str, ...]
    """Identifiers of the rules that lead from the URL to its form."""
    rules: int
    """Their code in the seen set."""
    is_covered: bool
    """True if its whole shape shows nothing new."""
    must_pass: bool
    is_redirected: bool
    """True if a redirect led to it."""
    is_tested: bool
    """True if it is sent to verify the rules that dropped it."""
    answers_again: bool
    """True if it is fetched, and answers for its form, though its very URL has claimed the form before."""
    may_be_noted: bool
    """True if a durable set may keep it apart from its form: from before there was a model, or was another one."""
    text_of: Callable[[Request], str | None]
    written: str | None = None
    """The request as text, once that was asked for."""

    def text(self) -> str | None:
        """The request as text; None where it cannot be written."""
        if self.written is None:
            self.written = self.text_of(self.request)
        return self.written

    def kept(self) -> Kept:
        """Return what is kept in place of the request: its text, or the request itself."""
        return self.text() or self.request
