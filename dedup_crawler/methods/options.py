"""What options a method has, read off its constructor: one place says name, type, default and meaning."""

from __future__ import annotations

import inspect
import re
import typing
from dataclasses import dataclass
from typing import Any

from dedup_crawler.errors import BadInputError
from dedup_crawler.methods.base import Canonicalizer

_ENTRY = re.compile(r"^ {4}(\w[\w, ]*)\n((?: {8}.*\n?)+)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Option:
    """One keyword of a method's constructor."""

    name: str
    kind: type
    """bool, int, float or str."""
    default: Any
    help: str

    def read(self, text: str) -> Any:
        """The value that *text* stands for.

        Raises
        ------
        BadInputError
            If it stands for none.
        """
        if self.kind is bool:
            if text.lower() in ("true", "yes", "1", "false", "no", "0"):
                return text.lower() in ("true", "yes", "1")
        else:
            try:
                return self.kind(text)
            except ValueError:
                pass
        raise BadInputError(f"option {self.name}: {text!r} is no {self.kind.__name__}.")


def options_of(method: type[Canonicalizer]) -> list[Option]:
    """Options of a method in the order of its constructor."""
    constructor: Any = method.__init__
    hints = typing.get_type_hints(constructor)
    helps = {
        name: " ".join(text.split())
        for names, text in _ENTRY.findall(method.__doc__ or "")
        for name in names.replace(" ", "").split(",")
    }
    return [
        Option(name, _kind(hints[name]), parameter.default, helps.get(name, ""))
        for name, parameter in inspect.signature(method).parameters.items()
    ]


def read_spec(spec: str) -> tuple[str, dict[str, str]]:
    """Cut ``seq2seq:preset=paper,seed=1`` into a method's name and the texts of its options.

    Raises
    ------
    BadInputError
        If an option has no value.
    """
    name, _, rest = spec.partition(":")
    texts = {}
    for part in filter(None, rest.split(",")):
        option, equals, text = part.partition("=")
        if not equals:
            raise BadInputError(f"{spec!r}: option {option!r} has no value; write {name}:{option}=VALUE.")
        texts[option.replace("-", "_")] = text
    return name, texts


def _kind(hint: Any) -> type:
    kinds = [kind for kind in typing.get_args(hint) or (hint,) if kind is not type(None)]
    kind: type = kinds[0]
    return kind
