"""Options of a method: the keywords of its constructor, with the help in the docstring of its class."""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, get_args, get_type_hints

from dedup_crawler.errors import BadInputError, did_you_mean

_ENTRY = re.compile(r"^ {4}(\w[\w, ]*)\n((?: {8}.*\n?)+)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Option:
    """One keyword of a method's constructor."""

    name: str
    kind: type
    """bool, int, float or str."""
    default: Any
    help: str
    is_optional: bool = False
    """True if it may be None."""

    def read(self, text: str) -> Any:
        """Parse a value; BadInputError if *text* is not of the option's type."""
        if self.kind is bool:
            if text.lower() in ("true", "yes", "1", "false", "no", "0"):
                return text.lower() in ("true", "yes", "1")
        else:
            try:
                return self.kind(text)
            except ValueError:
                pass
        raise BadInputError(f"option {self.name}: {text!r} is not of type {self.kind.__name__}.")


def options_of(method: type[object]) -> list[Option]:
    """Options of a method in the order of its constructor."""
    constructor: Any = method.__init__
    hints = get_type_hints(constructor)
    helps = {
        name: " ".join(text.split())
        for names, text in _ENTRY.findall(method.__doc__ or "")
        for name in names.replace(" ", "").split(",")
    }
    found = []
    for name, parameter in inspect.signature(method).parameters.items():
        kinds = get_args(hints[name]) or (hints[name],)  # such as (int, None)
        found.append(Option(name, kinds[0], parameter.default, helps.get(name, ""), type(None) in kinds))
    return found


def check_values(method: type[object], values: Mapping[str, Any]) -> None:
    """Check the options of a saved model; BadInputError for an unknown option or a value of another type."""
    known = {option.name: option for option in options_of(method)}
    for name, value in values.items():
        if name not in known:
            raise BadInputError(f"there is no option {name!r}.{did_you_mean(name, known)}")
        kinds = (int, float) if known[name].kind is float else (known[name].kind,)
        if type(value) not in kinds and not (value is None and known[name].is_optional):
            raise BadInputError(f"option {name} is {value!r}; it has to be of type {known[name].kind.__name__}.")
