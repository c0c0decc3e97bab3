"""Rules that no URL alone can tell: hosts that are one, links that lead back, shapes that show nothing new.

How they are learnt is told in :mod:`dedup_crawler.rules.learning.host_aliases` and
:mod:`dedup_crawler.rules.learning.link_rules`.
"""

from __future__ import annotations

from dataclasses import dataclass

from dedup_crawler.rules.language.statistics import MergeEvidence
from dedup_crawler.rules.language.url_shapes import Shape


@dataclass(frozen=True)
class HostAlias:
    """A host that is another one."""

    host: str
    target: str
    evidence: MergeEvidence
    """Evidence counted in pages that were met on both hosts."""


@dataclass(frozen=True)
class ReferrerRule:
    """A link of one shape on a page of another shows that same page."""

    referrer: Shape
    shape: Shape
    evidence: MergeEvidence
    """Evidence counted in pages that hold such links."""
    n_urls: int


@dataclass(frozen=True)
class CoverageRule:
    """All pages of a shape are reached under other shapes."""

    shape: Shape
    evidence: MergeEvidence
    """Evidence counted in pages of the shape."""
    n_urls: int


SiteRule = HostAlias | ReferrerRule | CoverageRule
