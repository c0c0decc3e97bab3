"""Rules about a whole site, not about single URLs: host aliases, referrer rules and coverage rules.

:mod:`dedup_crawler.rules.learning.host_aliases` and :mod:`dedup_crawler.rules.learning.link_rules` learn them.
"""

from __future__ import annotations

from dataclasses import dataclass

from dedup_crawler.rules.language.statistics import MergeEvidence
from dedup_crawler.rules.language.url_shapes import Shape


@dataclass(frozen=True)
class HostAlias:
    """A host that shows the pages of another host."""

    host: str
    target: str
    evidence: MergeEvidence
    """Evidence in pages that were found on both hosts."""


@dataclass(frozen=True)
class ReferrerRule:
    """Links of one shape on pages of another shape lead back to the page that holds them."""

    referrer: Shape
    shape: Shape
    """Shape of the links."""
    evidence: MergeEvidence
    """Evidence in pages that hold such links."""
    n_urls: int


@dataclass(frozen=True)
class CoverageRule:
    """URLs of a shape show only pages that URLs of other shapes show too."""

    shape: Shape
    evidence: MergeEvidence
    """Evidence in pages of the shape."""
    n_urls: int


SiteRule = HostAlias | ReferrerRule | CoverageRule
