"""Rules read off examples: a URL and the form that somebody gives it, be it a network or rules of finer keys.

Each example is a rule between two maps: a value of the form that the URL has elsewhere is copied, one that a delimiter
cuts out of the URL's own value is cut, what else is new is written. What enough examples say alike is a hypothesis.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from dedup_crawler.rules.applying.engine import read_url
from dedup_crawler.rules.language.rule import ANY, Copy, Cut, KeyValueMap, Literal, Matcher, Operation, Rule, Set
from dedup_crawler.rules.miners.pairs import STRUCTURE, pair_operations
from dedup_crawler.urls.keyvalue import KeyValues

MIN_EXAMPLES = 8
"""URLs that say the same, at least."""
MAX_RULES = 60
_KEY_VALUES = KeyValueMap()


def rules_of_examples(host: str, examples: Iterable[tuple[str, str]], origin: str) -> list[Rule]:
    """Rules that turn URLs into their forms, those that most examples show first.

    Parameters
    ----------
    host
        Of all the URLs.
    examples
        URLs and forms, both in normal form; a form that is the URL itself, or of another host, shows nothing.
    origin
        Who said so.
    """
    votes: Counter[tuple[object, ...]] = Counter()
    rules: dict[tuple[object, ...], Rule] = {}
    for url, form in examples:
        source, target = read_url(url, _KEY_VALUES), read_url(form, _KEY_VALUES)
        if source[0] != target[0] and url.split("/", 3)[2:3] == form.split("/", 3)[2:3]:
            for rule in _rules_between(host, source[1], target[1], origin):
                votes[rule.identity()] += 1
                rules.setdefault(rule.identity(), rule)
    enough = [(-n, str(rules[identity]), identity) for identity, n in votes.items() if n >= MIN_EXAMPLES]
    return [rules[identity] for _, _, identity in sorted(enough, key=lambda entry: entry[:2])[:MAX_RULES]]


def _rules_between(host: str, source: KeyValues, target: KeyValues, origin: str) -> Iterator[Rule]:
    """For any value of the keys that change, for any of the query, and for these values alone."""
    operations = {
        key: _as_cut(source.get(key), operation) if key not in STRUCTURE else operation
        for key, operation in pair_operations(source, target, Counter(source.values())).items()
    }
    absent = frozenset(key for key in target if key not in source)
    copied: dict[str, Matcher] = {each.key: ANY for each in operations.values() if isinstance(each, Copy)}
    changed = [key for key in operations if key in source and key not in copied]
    seen = set()
    for any_of in (("path[", "query["), ("query[",), ()):
        context: dict[str, Matcher] = {
            key: ANY if key.startswith(any_of) or isinstance(operations[key], Cut) else Literal(source[key])
            for key in changed
        }
        rule = Rule(host, {**context, **copied}, operations, absent, origin)
        if rule.identity() not in seen:
            seen.add(rule.identity())
            yield rule


def _as_cut(value: str | None, operation: Operation) -> Operation:
    """A cut, if one leaves of *value* what the operation would write."""
    if isinstance(operation, Set) and value and operation.value and operation.value in value:
        for delimiter in sorted({each for each in value if not each.isalnum() and each != "%"}):
            for is_last in (False, True):
                for keeps_head in (True, False):
                    cut = Cut(delimiter, is_last, keeps_head)
                    if cut.parts(value)[0] == operation.value:
                        return cut
    return operation
