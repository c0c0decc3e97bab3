"""All methods by name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

from dedup_crawler.errors import BadInputError, DamagedModelError, did_you_mean
from dedup_crawler.methods.base import Canonicalizer
from dedup_crawler.methods.model.folder import read_model
from dedup_crawler.methods.model.method_options import options_of
from dedup_crawler.methods.wrapped import STATIC_FILE, StaticFront
from dedup_crawler.rules.exchange.static_rules import StaticLayer

_CLASSES = {
    "keep-all": "baselines:KeepAll",
    "scrapy": "baselines:ScrapyForm",
    "strip-query": "baselines:StripQuery",
    "duplicate-url-discarder": "baselines:DuplicateUrlDiscarder",
    "rewrite-rules": "miners:RewriteRules",
    "decision-tree": "miners:DecisionTree",
    "pattern-tree": "miners:PatternTree",
    "dustbuster": "miners:DustBuster",
    "duster": "miners:Duster",
    "seq2seq": "seq2seq:Seq2Seq",
    "siamese": "pairs.siamese:Siamese",
    "random-forest": "pairs.random_forest:RandomForest",
    "verified": "verified:Verified",
}


class _Methods(Mapping[str, type[Canonicalizer]]):
    """Imports a class only when it is needed: a crawl applies one method."""

    def __getitem__(self, name: str) -> type[Canonicalizer]:
        method: type[Canonicalizer] = resolve_name(f"dedup_crawler.methods.{_CLASSES[name]}")
        return method

    def __iter__(self) -> Iterator[str]:
        return iter(_CLASSES)

    def __len__(self) -> int:
        return len(_CLASSES)


METHODS: Mapping[str, type[Canonicalizer]] = _Methods()
"""Name -> class, in the order of the tables in the documentation."""


def make_method(name: str, **options: Any) -> Canonicalizer:
    """Build the method *name*.

    BadInputError if the method or an option is unknown.
    """
    method = find_method(name)
    try:
        return method(**options)
    except TypeError as error:
        raise BadInputError(f"{name}: {error}") from error


def method_from_spec(spec: str) -> Canonicalizer:
    """Build a method from text, such as ``keep-all`` or ``seq2seq:preset=paper,seed=1``.

    BadInputError if the method, an option or a value is unknown.
    """
    name, _, rest = spec.partition(":")
    known = {option.name: option for option in options_of(find_method(name))}
    values = {}
    for part in filter(None, rest.split(",")):
        written, equals, text = part.partition("=")
        option = written.replace("-", "_")
        if not equals:
            raise BadInputError(f"{spec!r}: option {written!r} has no value; write {name}:{written}=VALUE.")
        if option not in known:
            hint = did_you_mean(option, known)
            raise BadInputError(f"{name} has no option {option!r}; known: {', '.join(known) or 'none'}.{hint}")
        values[option] = known[option].read(text)
    return make_method(name, **values)


def load_model(folder: str | Path) -> Canonicalizer:
    """Read a model folder of any method; imports no training library.

    ModelError if the folder is missing, damaged or of another format.
    """
    description, files = read_model(Path(folder))
    model = find_method(description["method"]).from_files(description, files)
    if STATIC_FILE not in files.tables:
        return model
    try:
        return StaticFront(model, StaticLayer.from_json(files.tables[STATIC_FILE], STATIC_FILE))
    except BadInputError as error:
        raise DamagedModelError(f"{error} Import the rules again.") from error


def find_method(name: str) -> type[Canonicalizer]:
    """Class of the method *name*.

    BadInputError if the name is unknown; the text names the most similar one.
    """
    if name not in METHODS:
        raise BadInputError(f"unknown method {name!r}; known: {', '.join(METHODS)}.{did_you_mean(name, METHODS)}")
    return METHODS[name]
