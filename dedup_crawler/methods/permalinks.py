"""Permalinks: the page that shows an answer, a comment or the present revision holds a link to it.

So a URL that a page does not hold shows something else, whatever the rules say: ``/question/7?answer=9`` may be on the
second page of the answers. Only links about which a referrer rule was learnt are permalinks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from dedup_crawler.methods.base import Canonicalizer
from dedup_crawler.urls.normal import normal_form
from dedup_crawler.urls.page_links import LinkedOn


def is_missing(
    model: Canonicalizer,
    linked_on: LinkedOn,
    link: str,
    form: str,
    owner: str,
    holders: Iterable[str],
    form_of: Callable[[str], str],
) -> bool:
    """Return True if *owner*, the fetched page with this *form*, should hold *link*, and does not.

    *holders* are the pages that are known to hold it; *form_of* gives their forms. If one has the same form, the link
    is not missing.
    """
    url = normal_form(link)
    if not model.looks_back or url == form or not linked_on.lacks(owner, link):
        return False
    if model.leads_back_to(url, [form]) is None:
        return False
    return all(form_of(page) != form for page in holders)
