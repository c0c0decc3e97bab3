"""Inputs of the Siamese network: a URL as a short row of symbols, and numbers that say how two URLs agree.

A network that reads characters learns ids by heart. Here a frequent token is one symbol. A number is three symbols: its
rank among the numbers of the site, as three digits in base 8. Any other argument is one symbol that says its kind. The
network gets the distance between two ids as an input and need not learn it.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import takewhile
from operator import eq

from dedup_crawler.urls.templates import is_always_argument, split

HEX, WORD = "<hex>", "<any>"
_BASE, _DIGITS = 8, 3
PLACES = tuple(f"<{digit}:{value}>" for digit in range(_DIGITS) for value in range(_BASE))
"""Symbols for the rank of a number: one for each digit and its value."""
_MAX_DIGITS = 15  # a longer number is a hash
_DISTANCES = (0, 10, 100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000)
_RANKS = (0, 1, 4, 8, 16, 32, 64, 128, 256)
_STEPS = len(_DISTANCES) + len(_RANKS)
_N_ORDERS = 4
_N_FIXED = 7 + 3 * _STEPS + _N_ORDERS
_MIN_URLS, _MIN_SHARE = 5, 0.01
_MAX_NUMBERS = 20_000
_MAX_REMEMBERED = 10_000  # URLs


@dataclass(frozen=True, slots=True)
class _Parts:
    """A URL split into its parts."""

    all: list[str]
    frame: list[str]
    """All parts, with the empty string for those that are not frequent tokens."""
    arguments: list[str]
    numbers: list[int]
    counts: list[int]
    """Number of occurrences of each frequent token, in sorted order of the tokens."""


class UrlReader:
    """Reads URLs with the frequent tokens and the numbers of a site.

    Each of *tokens* is a symbol of its own. *numbers* is a sorted sample of the numbers in the URLs. The attribute
    *n_agreements* is the length of the list that :meth:`agreement` returns.
    """

    def __init__(self, tokens: Iterable[str], numbers: Sequence[int]) -> None:
        self.tokens = frozenset(tokens)
        self.numbers = list(numbers)
        self.n_agreements = _N_FIXED + 2 * len(self.tokens)
        self._places = {token: place for place, token in enumerate(sorted(self.tokens))}
        self._taken_apart: dict[str, _Parts] = {}

    @classmethod
    def learn(cls, urls: Iterable[str]) -> UrlReader:
        """Take the tokens that 1 % of *urls* have (at least 5 of them), and a sample of the numbers, evenly spaced."""
        counts: Counter[str] = Counter()
        n_urls = 0
        for url in urls:
            n_urls += 1
            counts.update({part for part in split(url, deep=True) if part})
        least = max(_MIN_SHARE * n_urls, _MIN_URLS)
        numbers = sorted({int(part) for part in counts if _is_number(part)})
        step = -(-len(numbers) // _MAX_NUMBERS) or 1
        return cls((t for t, n in counts.items() if n >= least and not is_always_argument(t)), numbers[::step])

    def symbols(self, url: str) -> list[str]:
        """Row of symbols of *url*.

        >>> UrlReader(["http://a.example", "/", "t"], [1, 2, 3, 4]).symbols("http://a.example/t/4")
        ['http://a.example', '/', 't', '/', '<0:6>', '<1:0>', '<2:0>']
        """
        symbols: list[str] = []
        for part in split(url, deep=True):
            if part in self.tokens:
                symbols.append(part)
            elif _is_number(part):
                symbols += self._place(int(part))
            elif part:
                symbols.append(HEX if is_always_argument(part) else WORD)
        return symbols or [WORD]

    def agreement(self, left: str, right: str) -> list[float]:
        """Agreement of two URLs: *n_agreements* numbers from 0 to 1, symmetric in *left* and *right*.

        In this order:

        * 1 if the frequent tokens are the same;
        * share of common arguments; 1 if all are common; 1 if all of the URL with fewer arguments are common;
        * length of the common beginning and of the common end, as shares of the longer URL;
        * 1 if both have numbers; then the distance of the first, of the last and of the nearest two numbers, a flag for
          each step;
        * if the frequent tokens differ: which URL has the larger first and last number;
        * for each frequent token: 1 if both have it;
        * for each frequent token: 1 if one has it more often.
        """
        first, second = sorted((self._take_apart(left), self._take_apart(right)), key=lambda parts: parts.frame)
        n_common = (Counter(first.arguments) & Counter(second.arguments)).total()
        fewer, more = sorted((len(first.arguments), len(second.arguments)))
        longer = max(len(first.all), len(second.all))
        is_alike = first.frame == second.frame
        return [
            float(is_alike),
            n_common / more if more else 1.0,
            float(n_common == more),
            float(n_common == fewer),
            _n_same(first.all, second.all) / longer,
            _n_same(first.all[::-1], second.all[::-1]) / longer,
            *self._compared(first.numbers, second.numbers),
            *([0.0] * _N_ORDERS if is_alike else _order(first.numbers, second.numbers)),
            *[float(n > 0 and m > 0) for n, m in zip(first.counts, second.counts, strict=True)],
            *[float(n != m) for n, m in zip(first.counts, second.counts, strict=True)],
        ]

    def _compared(self, numbers: Sequence[int], others: Sequence[int]) -> list[float]:
        if not numbers or not others:
            return [0.0] * (1 + 3 * _STEPS)
        both = ((a, b) for a in numbers[:8] for b in others[:8])
        nearest = min(both, key=lambda pair: (abs(pair[0] - pair[1]), min(pair)))
        found = [1.0]
        for a, b in ((numbers[0], others[0]), (numbers[-1], others[-1]), nearest):
            ranks = abs(self._rank(a) - self._rank(b))
            found += [float(abs(a - b) <= step) for step in _DISTANCES]
            found += [float(ranks <= step) for step in _RANKS]
        return found

    def _rank(self, number: int) -> float:
        """Rank of a number among those of the site; outside their range, ranks go on with the same density."""
        rank = bisect_left(self.numbers, number)
        if not self.numbers or 0 < rank < len(self.numbers):
            return rank
        first, last = self.numbers[0], self.numbers[-1]
        beyond = number - (last if rank else first)
        return rank + beyond * len(self.numbers) / (last - first + 1)

    def _place(self, number: int) -> list[str]:
        n_places = _BASE**_DIGITS
        place = min(bisect_left(self.numbers, number) * n_places // max(len(self.numbers), 1), n_places - 1)
        digits = [place // _BASE**power % _BASE for power in reversed(range(_DIGITS))]
        return [f"<{digit}:{value}>" for digit, value in enumerate(digits)]

    def _take_apart(self, url: str) -> _Parts:
        """Split *url* into its parts, and remember them."""
        if (known := self._taken_apart.get(url)) is not None:
            return known
        parts = split(url, deep=True)
        frame = [part if part in self.tokens else "" for part in parts]
        arguments = [part for part in parts[::2] if part and part not in self.tokens]
        numbers = [int(argument) for argument in arguments if _is_number(argument)]
        counts = [0] * len(self._places)
        for part in filter(None, frame):
            counts[self._places[part]] += 1
        if len(self._taken_apart) >= _MAX_REMEMBERED:
            self._taken_apart.clear()
        return self._taken_apart.setdefault(url, _Parts(parts, frame, arguments, numbers, counts))


def _is_number(part: str) -> bool:
    return part.isdigit() and part.isascii() and len(part) <= _MAX_DIGITS


def _order(numbers: Sequence[int], others: Sequence[int]) -> list[float]:
    """Four flags (0 or 1): is the first number below, above the other first one; is the last below, above the last."""
    if not numbers or not others:
        return [0.0] * _N_ORDERS
    ends = (numbers[0], others[0]), (numbers[-1], others[-1])
    return [float(is_so) for a, b in ends for is_so in (a < b, a > b)]


def _n_same(parts: Sequence[str], others: Sequence[str]) -> int:
    """Length of the common beginning."""
    return sum(takewhile(bool, map(eq, parts, others)))
