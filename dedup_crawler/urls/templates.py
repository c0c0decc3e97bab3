"""A URL as tokens, and as a template with numbered placeholders for its arguments; both back without loss.

K. Xu, Z. Liu, J. Callan, "De-duping URLs with Sequence-to-Sequence Neural Networks", SIGIR 2017: the static delimiter
``/`` splits and is left out, dynamic delimiters (``? = & . ;``) split and are tokens themselves. Scheme and host are
the first token together. Two neighbours that are not delimiters have a ``/`` between them; where that alone would not
bring back the URL (``//``, ``/?``), an empty token stands in the gap. *Deep* tokens are also split at ``- _ , : +
~``.

A token that at least 1 % of the site's URLs contain is a *function token*, any other an *argument token*. The n-th
argument from the left becomes the n-th placeholder; an argument that occurs twice has one placeholder. Pure numbers,
long hex strings and UUIDs are always arguments.

*Deep* templates go further than the paper:

* A token is also split at ``- _ , : + ~``.
* The words of a token from the first to the last argument word are *one* argument. Three function words in a row are
  one argument too, because a slug may consist of frequent words. Arguments joined by ``/`` or ``.`` are one argument.
  So slugs of any length and paths of any depth have one template.
* A placeholder says its kind: ``<num1>``, ``<hex1>``, ``<any1>``, ``<path1>`` (more than one path part: ``slug`` and
  ``slug/answers`` are two things), and ``<zero1>`` or ``<one1>`` for the two numbers that are often a default
  (``page=1``).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

_DYNAMIC = re.compile(r"([/?=&.;])")
_DEEP = re.compile(r"([/?=&.;\-_,:+~])")
_ORIGIN = re.compile(r"[^/?]*://[^/?]*")
_DYNAMIC_DELIMITERS = frozenset("?=&.;")
_DEEP_DELIMITERS = _DYNAMIC_DELIMITERS | frozenset("-_,:+~")
PLACEHOLDER = re.compile(r"<[a-z]+([0-9]+)>")
is_always_argument = re.compile(
    r"[0-9]+|(?=[a-f]*[0-9])[0-9a-f]{8,}|(?=[A-F]*[0-9])[0-9A-F]{8,}"
    r"|[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}",
    re.ASCII,
).fullmatch
_IN_TOKEN = re.compile(r"([-_,:+~])")
_LITERAL, _RUN, _PATH = "literal", "any", "path"
_MAX_REMEMBERED = 50_000  # tokens whose pieces are remembered
_MIN_URLS = 5  # a function token is in at least this many URLs: 1 % of fifty URLs would be half a URL
Template = str
Arguments = tuple[str, ...]
_Piece = tuple[str, str, str]
"""Text; kind (``literal``, or the name of its placeholder); the delimiter behind it."""


def split(url: str, *, deep: bool = False) -> list[str]:
    """Pieces and delimiters in turn: even places hold pieces (maybe empty), odd places one delimiter each.

    The first piece is scheme and host. ``"".join(split(url)) == url`` for every string.

    >>> split("http://a.example/t/prev.aspx")
    ['http://a.example', '/', 't', '/', 'prev', '.', 'aspx']
    """
    delimiters = _DEEP if deep else _DYNAMIC
    origin = _ORIGIN.match(url)
    if origin is None:
        return delimiters.split(url)
    parts = delimiters.split(url[origin.end() :])
    parts[0] = origin[0] + parts[0]  # what follows the host starts with a delimiter, so that this piece is empty
    return parts


def tokenize(url: str, *, deep: bool = False) -> list[str]:
    """Tokens of *url*; :func:`detokenize` is the exact inverse.

    >>> tokenize("http://a.example/t/prev.aspx?id=7")
    ['http://a.example', 't', 'prev', '.', 'aspx', '?', 'id', '=', '7']
    """
    parts = split(url, deep=deep)
    tokens: list[str] = []
    last = len(parts) - 1
    for i in range(0, last + 1, 2):
        piece = parts[i]
        if piece or (i > 0 and parts[i - 1] == "/") or (i < last and parts[i + 1] == "/"):
            tokens.append(piece)
        if i < last and parts[i + 1] != "/":
            tokens.append(parts[i + 1])
    return tokens


def detokenize(tokens: Sequence[str], *, deep: bool = False) -> str:
    """Join tokens with ``/``, except around delimiters.

    >>> detokenize(["http://a.example", "t", "prev", ".", "aspx"])
    'http://a.example/t/prev.aspx'
    """
    delimiters = _DEEP_DELIMITERS if deep else _DYNAMIC_DELIMITERS
    written: list[str] = []
    after_piece = False
    for token in tokens:
        is_piece = token not in delimiters
        if is_piece and after_piece:
            written.append("/")
        written.append(token)
        after_piece = is_piece
    return "".join(written)


def different_starts(one: str, other: str) -> tuple[str, str]:
    """Cut the longest common end from two addresses without hosts, and return the two starts that are left.

    The common end begins with a whole token. Without a common end both starts are empty.

    >>> different_starts("/pub/mirrors/a/x.txt", "/mirror/a/x.txt")
    ('/pub/mirrors/', '/mirror/')
    """
    n = 0
    shorter = min(len(one), len(other))
    while n < shorter and one[-1 - n] == other[-1 - n]:
        n += 1
    while n and one[len(one) - n].isalnum() and (_ends_in_word(one, n) or _ends_in_word(other, n)):
        n -= 1
    if n and one[len(one) - n] == "/":
        n -= 1  # the slash belongs to the folder
    return (one[: len(one) - n], other[: len(other) - n]) if n > 1 else ("", "")


def _ends_in_word(rest: str, n: int) -> bool:
    return n < len(rest) and rest[len(rest) - n - 1].isalnum()


@dataclass(frozen=True)
class TokenCounts:
    """Numbers of URLs, out of *n_urls*, that have each token, and each word inside a token."""

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
        words.update({word for token in in_url for word in _IN_TOKEN.split(token)[::2] if word != token})
    return TokenCounts(n_urls, tokens, words)


class Templater:
    """Finds the template of a URL, given the function tokens of its site.

    *function_tokens* stay in the template; scheme and host (``https://forum.example``) may be one of them.
    *function_words* stay inside a token; only *deep* templates use them.
    """

    def __init__(
        self, function_tokens: Iterable[str], function_words: Iterable[str] = (), *, deep: bool = False
    ) -> None:
        self.deep = deep
        self.function_tokens = frozenset(filter(_may_be_function, function_tokens)) | {""}
        self.function_words = frozenset(filter(_may_be_function, function_words))
        self._pieces: dict[str, tuple[_Piece, ...]] = {}

    @classmethod
    def learn(cls, counts: TokenCounts, *, min_document_frequency: float = 0.01, deep: bool = False) -> Templater:
        """Take the tokens that a share of at least *min_document_frequency* (0-1) of the URLs have."""
        least = max(min_document_frequency * counts.n_urls, _MIN_URLS)
        return cls(
            (token for token, n in counts.tokens.items() if n >= least),
            (word for word, n in counts.words.items() if n >= least) if deep else (),
            deep=deep,
        )

    def split(self, url: str) -> tuple[Template, Arguments]:
        """Template and arguments of *url*; :func:`writer_of` writes every string back exactly.

        >>> Templater(["http://a.example", "user"]).split("http://a.example/user/123/mike")
        ('http://a.example/user/<arg1>/<arg2>', ('123', 'mike'))
        >>> deep = Templater(["http://a.example", "topic", "page"], deep=True)
        >>> deep.split("http://a.example/topic/7-a-long-title?page=1")
        ('http://a.example/topic/<num1>-<any2>?page=<one3>', ('7', 'a-long-title', '1'))
        """
        parts = split(url)
        numbers: dict[str, int] = {}
        if self.deep:
            return "".join(self._deep_template(parts, numbers)), tuple(numbers)
        functions = self.function_tokens
        for i in range(0, len(parts), 2):
            part = parts[i]
            if part not in functions:
                parts[i] = f"<arg{numbers.setdefault(part, len(numbers) + 1)}>"
        return "".join(parts), tuple(numbers)

    def _deep_template(self, parts: list[str], numbers: dict[str, int]) -> list[str]:
        """Write the pieces and delimiters of a URL as a deep template, and fill *numbers* with the arguments."""
        functions, pieces_of = self.function_tokens, self._pieces
        written: list[str] = []

        def put(argument: str, kind: str) -> None:
            written.append(f"<{kind}{numbers.setdefault(argument, len(numbers) + 1)}>")

        if parts[0] in functions:
            written.append(parts[0])
        else:
            put(parts[0], _RUN)
        run = ""  # start of an argument that may go on behind the next "/" or "."
        for i in range(1, len(parts), 2):
            delimiter, token = parts[i], parts[i + 1]
            if token in functions:
                if run:
                    put(run, _PATH if "/" in run else _RUN)
                    run = ""
                written += (delimiter, token)
                continue
            pieces = pieces_of.get(token)
            if pieces is None:
                pieces = self._cut(token)
            for text, kind, delimiter_after in pieces:
                if kind is _RUN and run and delimiter in "/.":
                    run += delimiter + text
                    delimiter = delimiter_after
                    continue
                if run:
                    put(run, _PATH if "/" in run else _RUN)
                    run = ""
                written.append(delimiter)
                if kind is _RUN:
                    run = text
                elif kind is _LITERAL:
                    written.append(text)
                else:
                    put(text, kind)
                delimiter = delimiter_after
        if run:
            put(run, _PATH if "/" in run else _RUN)
        return written

    def _cut(self, token: str) -> tuple[_Piece, ...]:
        """Cut one argument token into numbers, function words and runs of words, and remember it."""
        words = _IN_TOKEN.split(token)
        if len(words) == 1 or is_always_argument(token):  # a UUID has delimiters inside
            pieces: tuple[_Piece, ...] = ((token, _kind(token), ""),)
        else:
            words.append("")
            start, end = self._run(words[:-1:2])
            before = [(words[i], self._word_kind(words[i]), words[i + 1]) for i in range(0, 2 * start, 2)]
            run = [("".join(words[2 * start : 2 * end - 1]), _RUN, words[2 * end - 1])] if start < end else []
            after = [(words[i], self._word_kind(words[i]), words[i + 1]) for i in range(2 * end, len(words), 2)]
            pieces = (*before, *run, *after)
        if len(self._pieces) >= _MAX_REMEMBERED:
            self._pieces.clear()
        self._pieces[token] = pieces
        return pieces

    def _word_kind(self, word: str) -> str:
        return _LITERAL if not word or word in self.function_words else _kind(word)

    def _run(self, words: list[str]) -> tuple[int, int]:
        """Find the words that are one argument: index of the first word, and the index behind the last.

        They reach from the first to the last argument word, and include the function words next to these. Three
        function words in a row are an argument too.
        """
        functions = self.function_words
        is_word = [word != "" and not is_always_argument(word) for word in words]
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


def writer_of(template: Template) -> Callable[..., str]:
    """A function that takes arguments and writes the template with them; IndexError if one is missing."""
    return PLACEHOLDER.sub(
        lambda match: f"{{{int(match[1]) - 1}}}", template.replace("{", "{{").replace("}", "}}")
    ).format


def count_placeholders(template: Template) -> int:
    """Number of arguments that a template takes (its highest placeholder)."""
    return max((int(match[1]) for match in PLACEHOLDER.finditer(template)), default=0)


def _may_be_function(token: str) -> bool:
    # "<" and ">" would look like a placeholder; a URL in normal form has neither
    return not is_always_argument(token) and "<" not in token and ">" not in token


def _kind(argument: str) -> str:
    if argument.isdigit():
        return {"0": "zero", "1": "one"}.get(argument, "num")
    return "hex" if is_always_argument(argument) else _RUN
