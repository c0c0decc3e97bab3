"""Signals of the filter, beside those of :mod:`scrapy.signals`.

::

    crawler.signals.connect(handler, signal=dedup_crawler.signals.request_dropped)
"""

from __future__ import annotations

request_dropped = object()
"""A request was not sent, because its page is fetched through another URL.

Sent as ``handler(request, spider, reason, form, rules, owner)``: the reason is a sentence, *rules* are identifiers of
the model's rules, *owner* is the URL that stands for the form, or None where it is not remembered any more.
"""

rule_switched_off = object()
"""A rule was caught merging different pages: ``handler(spider, rule, reason)``; what it dropped is sent again."""
