"""Templates: a URL with its argument tokens replaced by numbered placeholders, and back without loss.

SIGIR'17 (see :mod:`dedup_crawler.urls.tokens`): a token that at least 1 % of the site's URLs contain is a *function
token* (what the page does), any other an *argument token* (what it does it to). The n-th argument from the left becomes
the n-th placeholder; an argument that occurs twice has one placeholder. Pure numbers, long hex strings and UUIDs are
arguments however frequent they are.

*Deep* templates go on inside a token, where the paper stops:

* a token is split once more at ``- _ , : + ~``;
* from its first to its last argument word it is *one* argument (so are three function words in a row: a slug may be
  made of nothing but frequent words), and so are such runs joined by ``/`` or ``.``: slugs of any length and paths of any depth have one template;
* placeholders say what they stand for: ``<num1>``, ``<hex1>``, ``<any1>``, and ``<zero1>`` or ``<one1>`` for the two
  numbers that are often a default (``page=1``).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from dedup_crawler.urls.tokens import split

PLACEHOLDER = re.compile(r"<[a-z]+([0-9]+)>")
_ALWAYS_ARGUMENT = re.compile(
    r"[0-9]+|(?=[a-f]*[0-9])[0-9a-f]{8,}|(?=[A-F]*[0-9])[0-9A-F]{8,}"
    r"|[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}",
    re.ASCII,
).fullmatch
_DEEP_DELIMITERS = re.compile(r"([-_,:+~])")
_MIN_URLS = 5  # below this a share of 1 % means nothing: half of fifty URLs would be function tokens

Template = str
Arguments = tuple[str, ...]


@dataclass(frozen=True)
class TokenCounts:
    """In how many of *n_urls* URLs each token occurs, and in deep templates each word inside a token."""

    n_urls: int
    tokens: Counter[str]
    words: Counter[str]


def count_tokens(urls: Iterable[str]) -> TokenCounts:
    """Count document frequencies: one URL is one document."""
    tokens: Counter[str] = Counter()
    words: Counter[str] = Counter()
    n_urls = 0
    for url in urls:
        n_urls += 1
        in_url = set(split(url)[::2])
        tokens.update(in_url)
        words.update({word for token in in_url for word in _DEEP_DELIMITERS.split(token)[::2] if word != token})
    return TokenCounts(n_urls, tokens, words)


class _Piece(NamedTuple):
    text: str
    is_run: bool  # words, that may be joined with the words behind the next "/" or "."
    delimiter_after: str


class Templater:
    """Finds the template of a URL, given the function tokens of its site.

    Parameters
    ----------
    function_tokens
        Tokens that stay as they are, scheme and host (``https://forum.example``) among them.
    function_words
        Words inside a token that stay as they are; only read by deep templates.
    deep
        Whether to go on inside a token.
    """

    def __init__(self, function_tokens: Iterable[str], function_words: Iterable[str] = (), *, deep: bool = False) -> None:
        self.deep = deep
        self.function_tokens = frozenset(filter(_may_be_function, function_tokens)) | {""}
        self.function_words = frozenset(filter(_may_be_function, function_words))

    @classmethod
    def learn(cls, counts: TokenCounts, *, min_document_frequency: float = 0.01, deep: bool = False) -> Templater:
        """Take as function tokens those in a share of at least *min_document_frequency* (0-1) of the URLs."""
        least = max(min_document_frequency * counts.n_urls, _MIN_URLS)
        return cls(
            (token for token, n in counts.tokens.items() if n >= least),
            (word for word, n in counts.words.items() if n >= least) if deep else (),
            deep=deep,
        )

    def split(self, url: str) -> tuple[Template, Arguments]:
        """Template and arguments of *url*; :func:`join` is the exact inverse, for every string.

        >>> Templater(["http://a.example", "user"]).split("http://a.example/user/123/mike")
        ('http://a.example/user/<arg1>/<arg2>', ('123', 'mike'))
        >>> deep = Templater(["http://a.example", "topic", "page"], deep=True)
        >>> deep.split("http://a.example/topic/7-a-long-title?page=1")
        ('http://a.example/topic/<num1>-<any2>?page=<one3>', ('7', 'a-long-title', '1'))
        """
        parts = split(url)
        functions = self.function_tokens
        if self.deep:
            parts, literal = self._deep_parts(parts)
            places = [i for i in range(0, len(parts), 2) if i not in literal]
        else:
            places = [i for i in range(0, len(parts), 2) if parts[i] not in functions]
        numbers: dict[str, int] = {}
        for i in places:
            part = parts[i]
            number = numbers.setdefault(part, len(numbers) + 1)
            parts[i] = f"<{_kind(part)}{number}>" if self.deep else f"<arg{number}>"
        return "".join(parts), tuple(numbers)

    def _deep_parts(self, parts: list[str]) -> tuple[list[str], set[int]]:
        """Pieces and delimiters in turn, cut finer within tokens and joined where arguments run on.

        Also returns the places of the pieces that stay as they are.
        """
        functions = self.function_tokens
        literal = {0} if parts[0] in functions else set()
        joined = parts[:1]
        may_run_on = False
        for i in range(1, len(parts), 2):
            delimiter, token = parts[i], parts[i + 1]
            if token in functions:
                joined += (delimiter, token)
                literal.add(len(joined) - 1)
                may_run_on = False
                continue
            for piece in self._pieces(token):
                if piece.is_run and may_run_on and delimiter in "/.":
                    joined[-1] += delimiter + piece.text
                else:
                    joined += (delimiter, piece.text)
                    if piece.text in self.function_words and not piece.is_run or not piece.text:
                        literal.add(len(joined) - 1)
                may_run_on, delimiter = piece.is_run, piece.delimiter_after
        return joined, literal

    def _pieces(self, token: str) -> list[_Piece]:
        """Cut one argument token into numbers, function words and runs of words."""
        words = _DEEP_DELIMITERS.split(token)
        if len(words) == 1:
            return [_Piece(token, _ALWAYS_ARGUMENT(token) is None, "")]
        if _ALWAYS_ARGUMENT(token):  # a UUID has delimiters inside
            return [_Piece(token, False, "")]
        words.append("")
        start, end = self._run(words[:-1:2])
        pieces = [_Piece(words[i], False, words[i + 1]) for i in range(0, 2 * start, 2)]
        if start < end:
            pieces.append(_Piece("".join(words[2 * start : 2 * end - 1]), True, words[2 * end - 1]))
        pieces += [_Piece(words[i], False, words[i + 1]) for i in range(2 * end, len(words), 2)]
        return pieces

    def _run(self, words: list[str]) -> tuple[int, int]:
        """The words (first, behind the last) that are one argument: from the first to the last argument word.

        Function words beside them belong to them, and three function words in a row are a slug too.
        """
        functions = self.function_words
        is_word = [word != "" and not _ALWAYS_ARGUMENT(word) for word in words]
        places = [i for i, word in enumerate(words) if is_word[i] and word not in functions]
        if not places:
            places = [i + 1 for i in range(len(words) - 2) if all(is_word[i : i + 3])]
        if not places:
            return len(words), len(words)
        first, last = places[0], places[-1]
        while first > 0 and is_word[first - 1]:
            first -= 1
        while last + 1 < len(words) and is_word[last + 1]:
            last += 1
        return first, last + 1


def join(template: Template, arguments: Sequence[str]) -> str:
    """Put arguments in the place of their placeholders.

    Raises
    ------
    IndexError
        If the template names an argument that is not given.
    """
    return PLACEHOLDER.sub(lambda match: arguments[int(match[1]) - 1], template)


def count_placeholders(template: Template) -> int:
    """Number of arguments that a template takes (its highest placeholder)."""
    return max((int(match[1]) for match in PLACEHOLDER.finditer(template)), default=0)


def _may_be_function(token: str) -> bool:
    # "<" and ">" would be read as a placeholder; in a URL's normal form they do not occur
    return not _ALWAYS_ARGUMENT(token) and "<" not in token and ">" not in token


def _kind(argument: str) -> str:
    if argument.isdigit():
        return {"0": "zero", "1": "one"}.get(argument, "num")
    return "hex" if _ALWAYS_ARGUMENT(argument) else "any"
