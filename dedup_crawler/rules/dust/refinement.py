"""Redundant substring rules: the same substitution with more or less of its surroundings.

Z. Bar-Yossef, I. Keidar, U. Schonfeld, WWW 2007 (poster: WWW 2006): *gamma alpha delta -> gamma beta delta* refines
*alpha -> beta*. Where the two are found on nearly as many pages, the refined one says where the rule holds and is kept;
where the general one is found on clearly more, both are, and it goes first.

The paper compares each rule with a window of 1,100 others of similar support. Here each rule is compared with those
that it refines by one token, which are looked up: a general rule has at least the support of its refinements, so that
one of nearly the same support with more tokens has one with one token in between.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from dedup_crawler.rules.dust.substrings import Substitution, Tokens

_RELATIVE, _ABSOLUTE = 0.2, 1
"""Supports are nearly the same if they differ by this share of the larger, or by this number."""


def without_redundancies(rules: Sequence[Substitution]) -> list[Substitution]:
    """The rules that no refinement stands for, in their order."""
    support = {(rule.old, rule.new): rule.support for rule in rules}
    redundant = set()
    for rule in rules:
        for general in generalized_once(rule.old, rule.new):
            known = support.get(general)
            if known is not None and known - rule.support <= max(_RELATIVE * known, _ABSOLUTE):
                redundant.add(general)
    return [rule for rule in rules if (rule.old, rule.new) not in redundant]


def is_implied(old: Tokens, new: Tokens, valid: Iterable[tuple[Tokens, Tokens]]) -> bool:
    """Return True if one of the *valid* rules does what this one does, in more places."""
    known = set(valid)
    seen: set[tuple[Tokens, Tokens]] = set()
    wanted = [(old, new)]
    while known and wanted:
        for general in generalized_once(*wanted.pop()):
            if general in known:
                return True
            if general not in seen:
                seen.add(general)
                wanted.append(general)
    return False


def generalized_once(old: Tokens, new: Tokens) -> Iterator[tuple[Tokens, Tokens]]:
    """The rule with one token less on either side, as long as both sides agree in it."""
    if old and new:
        if old[0] == new[0]:
            yield old[1:], new[1:]
        if old[-1] == new[-1]:
            yield old[:-1], new[:-1]
