"""Proposals of a trained model of another method, in the rule language.

Most rules are taken as they are. Translations, and rules about pieces of values, are applied to the training URLs, and
the results are turned into rules (:mod:`dedup_crawler.rules.learning.proposers`). The evidence of the other model is
not used: ``verified`` judges every proposal itself.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from dedup_crawler.errors import BadInputError, DamagedModelError
from dedup_crawler.json_values import JsonValue
from dedup_crawler.methods.model.folder import ModelFiles, method_of, read_model
from dedup_crawler.rules.applying.engine import RuleEngine
from dedup_crawler.rules.applying.translations import TranslationTable
from dedup_crawler.rules.language.rule import AnyRule
from dedup_crawler.rules.language.rule_files import rules_from_json
from dedup_crawler.rules.learning.proposers import rules_of_examples
from dedup_crawler.urls.keyvalue import UrlMap
from dedup_crawler.urls.templates import Templater

_RULES, _CUTS, _TRANSLATIONS, _TOKENS = "rules.json", "deep_keys.json", "translations.json", "tokens.json"


def read_proposals(folder: Path, urls: Mapping[str, Sequence[str]]) -> dict[str, list[AnyRule]]:
    """Rules that a model proposes for each host.

    BadInputError if the model has neither rules nor translations, or knows none of the hosts. ModelError if the folder
    is missing or damaged.

    Parameters
    ----------
    folder
        Folder of a model with rules or translations.
    urls
        Host -> training URLs, in normal form.
    """
    method = method_of(folder)
    description, files = read_model(folder, method)
    hosts = sorted(urls.keys() & set(description["hosts"]))
    if not hosts:
        known, wanted = ", ".join(description["hosts"]) or "no host", ", ".join(sorted(urls)) or "none"
        raise BadInputError(f"{folder} was trained on {known}, not on {wanted}; give a model of the same site.")
    try:
        propose = _proposer(method, description["options"], files)
    except BadInputError as error:
        raise DamagedModelError(f"{folder} cannot be read as proposals: {error} Train it again.") from error
    if propose is None:
        raise BadInputError(f"{folder} holds a {method} model, which has no rules and no translations to propose.")
    return {host: propose(host, urls[host]) for host in hosts}


def _proposer(
    method: str, options: Mapping[str, Any], files: ModelFiles
) -> Callable[[str, Sequence[str]], list[AnyRule]] | None:
    """A function that makes the rules of a host from its URLs; None if the model has nothing to propose."""
    if _RULES in files.tables:
        rules = [replace(rule, origin=method) for rule in rules_from_json(files.table(_RULES))]
        cut = files.table(_CUTS).table() if _CUTS in files.tables else {}
        maps = {host: UrlMap.from_json(cuts) for host, cuts in cut.items()}
        engine = RuleEngine(rules, maps)
        return lambda host, urls: (
            _shown(host, urls, engine.form, method)
            if host in maps and maps[host].cuts
            else [rule for rule in rules if rule.host == host]
        )
    if _TRANSLATIONS in files.tables:
        table = _all_translations(options, files)
        return lambda host, urls: _shown(host, urls, table.form, method)
    return None


def _all_translations(options: Mapping[str, Any], files: ModelFiles) -> TranslationTable:
    """The table with all translations of the network, including those that its gate refused."""
    tokens = files.table(_TOKENS)
    said = JsonValue(options, "the options")
    is_deep = said["preset"].text() != "paper" if said["deep"].raw is None else said["deep"].flag()
    translations = TranslationTable.translations_from_json(files.table(_TRANSLATIONS))
    return TranslationTable(
        Templater(tokens["function_tokens"].texts(), tokens["function_words"].texts(), deep=is_deep),
        {template: replace(said, is_used=True, guarded=()) for template, said in translations.items()},
    )


def _shown(host: str, urls: Sequence[str], form: Callable[[str], str], origin: str) -> list[AnyRule]:
    return [*rules_of_examples(host, ((url, form(url)) for url in urls), origin)]
