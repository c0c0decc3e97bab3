"""Signals of the filter, in addition to those of :mod:`scrapy.signals`.

::

    crawler.signals.connect(handler, signal=dedup_crawler.signals.request_dropped)
"""

from __future__ import annotations

request_dropped = object()
"""A request was not sent, because its page is fetched through another URL.

Sent as ``handler(request, spider, reason, form, rules, owner)``: the reason is a sentence, *rules* are identifiers of
the model's rules, *owner* is the URL that owns the form, or None if it is no longer remembered.
"""

rule_switched_off = object()
"""A rule was switched off because it merged different pages: ``handler(spider, rule, reason)``; its drops are sent."""
