"""Rules as ``regex-normalize.xml`` of Apache Nutch (its plugin urlnormalizer-regex).

Nutch applies one pattern after the other, in the order of the file, each to what the ones before have left, and
replaces whatever matches. So each pattern matches whole URLs, says all conditions of its rule in look-aheads, and may
stand alone (:mod:`~dedup_crawler.rules.export.meeting`). A URL that is not in normal form is left alone:
urlnormalizer-basic goes first. The order of a query is not sorted here; urlnormalizer-querystring does that.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from xml.sax.saxutils import escape

from dedup_crawler.rules.export.formats import Export, Ledger
from dedup_crawler.rules.export.meeting import Unsaid, plan_steps
from dedup_crawler.rules.export.model_rules import ModelRules
from dedup_crawler.rules.export.regexes import UnsayableError, is_whole, rule_patterns
from dedup_crawler.rules.sentences import alias_sentence, rule_sentence

_HEAD = """<?xml version="1.0" encoding="UTF-8"?>
<!-- Written by dedup-crawler for the plugin urlnormalizer-regex of Apache Nutch. The order matters. -->
<regex-normalize>
"""
_NO_COMMENT = re.compile(r"-(?=-)|[^\x20-\x7e]")


def to_nutch(model: ModelRules, switched_off: Collection[str] = ()) -> Export:
    """Write what a model says, as far as patterns can say it."""
    ledger = Ledger(model, switched_off)
    parts = [_HEAD]
    for alias in model.aliases:
        if ledger.is_alias_off(alias.host):
            ledger.leave_out_aliases(ModelRules((), aliases=[alias]), "a crawl switched it off")
            continue
        pattern = rf"^(https?://){re.escape(alias.host)}(/.*)$"
        parts.append(_comment(alias_sentence(alias)) + _regex(pattern, f"$1{alias.target}$2"))
        ledger.n_said += 1
    for step in plan_steps(model):
        if ledger.is_off(step.number):
            continue
        if isinstance(step, Unsaid):
            ledger.leave_out(step.number, step.reason)
            continue
        try:
            patterns = list(rule_patterns(step))
        except UnsayableError as error:
            ledger.leave_out(step.number, str(error))
            continue
        parts.append(_comment(rule_sentence(step.rule)))
        parts += [_regex(pattern, substitution) for pattern, substitution in patterns]
        missing = "only " + ", ".join(sorted(step.separable))
        ledger.say(step.number, is_whole=is_whole(step), what_is_missing=missing)
    parts.append("</regex-normalize>\n")
    return ledger.close("".join(parts))


def read_nutch(text: str) -> Iterator[tuple[str, str]]:
    """Patterns and substitutions of such a file, for those who want to apply them."""
    from defusedxml.ElementTree import fromstring

    for regex in fromstring(text):
        yield regex.findtext("pattern", ""), regex.findtext("substitution", "")


def applied(patterns: Collection[tuple[str, str]], url: str) -> str:
    """What Nutch makes of a URL with these patterns, as far as Python and Java read them alike: those written here."""
    for pattern, substitution in patterns:
        url = re.sub(pattern, _of_python(substitution), url)
    return url


def _of_python(substitution: str) -> str:
    r"""A substitution of Java in the writing of Python: ``$2`` is ``\g<2>``."""
    return re.sub(
        r"\$(\d)|\\(.)|\\",
        lambda found: rf"\g<{found[1]}>" if found[1] else "\\\\" if found[2] == "\\" else found[2] or "",
        substitution,
    )


def _regex(pattern: str, substitution: str) -> str:
    return (
        "<regex>\n"
        f"  <pattern>{escape(pattern)}</pattern>\n"
        f"  <substitution>{escape(substitution)}</substitution>\n"
        "</regex>\n"
    )


def _comment(sentence: str) -> str:
    return f"\n<!-- {_NO_COMMENT.sub('?', sentence)} -->\n"
