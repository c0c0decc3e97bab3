"""``verified``: our own method. It tests coarse hypotheses first, and believes only what the crawl confirms.

``verified_learning`` fits it. Hypotheses are made and judged in ``rules/`` and ``evidence/``.
"""

from __future__ import annotations

import copy
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from dedup_crawler.errors import BadInputError, did_you_mean
from dedup_crawler.evidence.site_text import SiteText
from dedup_crawler.methods.base import Canonicalizer
from dedup_crawler.methods.model.explanations import Explanation, KnownRule, Referrer, known_rules
from dedup_crawler.methods.model.folder import ModelFiles
from dedup_crawler.methods.model.training_data import TrainingData
from dedup_crawler.rules.applying.engine import RuleEngine
from dedup_crawler.rules.applying.new_words import NewWords
from dedup_crawler.rules.applying.reading import Reading
from dedup_crawler.rules.exchange.exports import LeftOut, ModelRules
from dedup_crawler.rules.language.identifiers import (
    as_candidate,
    removed_values,
    rule_identifier,
    rule_of,
    site_identifier,
)
from dedup_crawler.rules.language.rule import AnyRule
from dedup_crawler.rules.language.rule_files import rules_from_json, rules_to_json
from dedup_crawler.rules.language.sentences import (
    Refusal,
    refusals_from_json,
    refusals_of,
    refusals_to_json,
    sentence_of,
)
from dedup_crawler.rules.language.site_rules import NO_LINKS, HostLinks, LateKind, ReferrerRule, SiteRule
from dedup_crawler.rules.learning.belief import RISKS, expected_lost
from dedup_crawler.urls.normal import host_of, normal_form
from dedup_crawler.urls.page_links import NamesOf, not_known

_RULES_FILE = "rules.json"
_LINKS_FILE = "links.json"
_TITLES_FILE = "titles.json"
_ALIASES_FILE = "host_aliases.json"
_REFUSED_FILE = "refused.json"
_CANDIDATES_FILE = "candidates.json"
_GRAMMAR_FILE = "grammar.json"
_TEXT_FILE = "site_text.json"


class Verified(Canonicalizer):
    """Rules that the crawl confirms, coarse to fine. Without evidence it changes nothing.

    Parameters
    ----------
    risk
        Largest expected error of a rule: safe (0.6 %), balanced (1.25 %) or eager (3 %).
    proposals
        Model folder of a miner or of seq2seq; its rules or translations are tested as hypotheses, too.
    """

    name = "verified"
    _applied: Mapping[str, AnyRule] = {}  # candidates that this copy applies, by identifier

    def __init__(self, *, risk: str = "balanced", proposals: str | None = None) -> None:
        self.risk = risk
        self.proposals = proposals

    def model_rules(self) -> ModelRules:
        """The rules, and the guards that keep some URLs as they are."""
        watched = {self.engine_.rules[number].host for number, _ in self.new_words_.shared}
        ordered = [host for host, links in self.links_.items() if links.is_ordered]
        return ModelRules(
            self.engine_.rules,
            unsayable=dict.fromkeys(self.reading_.grammars, "its host has names in paths, or lists in queries"),
            guards={
                **dict.fromkeys(watched, "the model leaves new words in the place of titles alone"),
                **dict.fromkeys(ordered, "the model leaves URLs alone whose query is not sorted"),
            },
            others=[
                LeftOut(sentence_of(rule), "it is not about single URLs" if host else "it changes the host")
                for host, rule in self._site_rules()
            ],
        )

    def learnt(self) -> list[str]:
        """Every rule as a sentence, with its evidence, and with its host if there are several."""
        site_rules = self._site_rules()
        found: list[tuple[str, AnyRule | SiteRule]] = [each for each in site_rules if not each[0]]
        found += [(rule.host, rule) for rule in sorted(self.engine_.rules, key=lambda rule: -rule.statistics.n_urls)]
        found += [each for each in site_rules if each[0]]
        has_many = len({host for host, _ in found if host}) > 1
        return [f"{host}: {sentence_of(rule)}" if has_many and host else sentence_of(rule) for host, rule in found]

    def _site_rules(self) -> list[tuple[str, SiteRule]]:
        """Host aliases, and the rules about links of each host; the host of an alias is ""."""
        aliases = [("", alias) for alias in self.reading_.aliases.values()]
        return [*aliases, *((host, rule) for host, links in self.links_.items() for rule in links.rules())]

    def refused(self) -> Sequence[Refusal]:
        """Hypotheses that the crawl did not confirm."""
        self._check_fitted()
        return self.refused_

    def explain(self, url: str, referrer: Referrer | None = None) -> Explanation:
        """Explain the form of *url*, on the page that holds the link if that is given."""
        self._check_fitted()
        read = self.reading_.read(normal_form(url))
        if referrer is not None and (again := self._again(read, referrer)) is not None:
            return Explanation(url, referrer.form, sentence_of(again))
        return super().explain(url, referrer)

    def _check_options(self) -> None:
        if self.risk not in RISKS:
            hint = did_you_mean(self.risk, RISKS)
            raise BadInputError(f"risk = {self.risk!r} is not known; choose one of {', '.join(RISKS)}.{hint}")

    def _fit(self, crawl: TrainingData) -> None:
        # a live crawl that only applies a model does not import the learner
        from dedup_crawler.methods.verified_learning import learn, site_text_with_habits

        learnt = learn(crawl, RISKS[self.risk], self.name, None if self.proposals is None else Path(self.proposals))
        self.reading_, self.links_, self.candidates_ = learnt.reading, learnt.links, learnt.candidates
        self.refused_, self.n_tried_ = refusals_of(learnt.refused), learnt.n_tried
        self.engine_ = learnt.engine
        self.new_words_ = NewWords.learn(self.engine_, learnt.urls)
        self._new_words_of_all = self.new_words_
        if self.candidates_:
            self._new_words_of_all = NewWords.learn(learnt.engine_of_all, learnt.urls)
        self.looks_back = any(links.referrer_rules for links in self.links_.values())
        self.site_text = None
        if crawl.evidence is not None:
            whole = self.with_candidates(learnt.engine_of_all)
            self.site_text = site_text_with_habits(whole, crawl.urls, crawl.evidence, learnt.linked)

    def _engine_of_all(self) -> RuleEngine:
        return RuleEngine([*self.engine_.rules, *self.candidates_])

    def with_candidates(self, engine: RuleEngine | None = None) -> Canonicalizer:
        """A copy that also applies the candidates (:mod:`~dedup_crawler.rules.language.identifiers`).

        A caller that has an *engine* of all rules already can give it, to save time.
        """
        if not self.candidates_:
            return self
        engine = engine or self._engine_of_all()
        whole = copy.copy(self)
        whole._applied = {as_candidate(rule_identifier(rule)): rule for rule in self.candidates_}
        engine.identifiers = [*self.engine_.identifiers, *whole._applied]
        whole.engine_, whole.new_words_ = engine, self._new_words_of_all
        whole.candidates_, whole._told_rules = [], None
        return whole

    def form_of(self, url: str, referrer: Referrer | None = None) -> str:
        """Form of a URL in normal form by all rules, unless it has to stay as it is."""
        is_plain = self.reading_.is_plain
        read = url if is_plain else self.reading_.read(url)
        if self.looks_back and referrer is not None and self._again(read, referrer) is not None:
            return referrer.form
        form = self.engine_.form(read)
        if form == read or self._links_of(read).why_left_alone(read) or self.new_words_.is_one_in(read, form):
            return url if is_plain else self.reading_.at_home(url)
        return form if is_plain else self.reading_.write(form, url)

    def leads_back_to(self, url: str, pages: Iterable[str], names_of: NamesOf = not_known) -> str | None:
        """First of the *pages* to which their link *url* leads back by a referrer rule, if any.

        Pages whose own links never lead back come first: the others may have been fetched under many URLs.
        """
        if not self.looks_back:
            return None
        read = self.reading_.read(url)
        found = [page for page in pages if self._again(read, Referrer(page, page, names_of(page))) is not None]
        links = self._links_of(read)
        last = (page for page in found if not links.may_lead_back(self.reading_.read(page)))
        return next(last, found[0] if found else None)

    def late_kind(self, url: str) -> LateKind | None:
        """The kind of *url*, if it mostly repeats pages (:mod:`dedup_crawler.rules.learning.host_crawl`) or is new."""
        read = self.reading_.read(url)
        return self._links_of(read).late_kind(read)

    def _again(self, url: str, referrer: Referrer) -> ReferrerRule | None:
        """The referrer rule by which *url* leads back to the page that holds it; both are on one host."""
        if not self.looks_back:
            return None
        links = self._links_of(url)
        if not links.may_lead_back(url):
            return None
        page = self.reading_.read(normal_form(referrer.url))
        if host_of(page) != host_of(url):
            return None
        return links.referrer_rule_of(url, page, referrer.link_names)

    def _fired(self, url: str, form: str, referrer: Referrer | None) -> tuple[str, ...]:
        alias, read = self._alias_fired(url), self.reading_.read(url)
        if referrer is not None and form == referrer.form and form != self.form_of(url, None):
            again = self._again(read, referrer)
            return (*alias, site_identifier(host_of(read), again)) if again is not None else alias
        form = self.reading_.read(form)
        if read == form:
            return alias
        fired = self.engine_.fired(read, form)
        return (*alias, *fired, *removed_values(self._applied, fired, read))

    def _alias_fired(self, url: str) -> tuple[str, ...]:
        alias = self.reading_.alias_of(url)
        return () if alias is None else (site_identifier("", alias),)

    def _covering(self, url: str) -> tuple[str, ...]:
        read = self.reading_.read(url)
        covered = self._links_of(read).coverage_of(read)
        if covered is None:
            return ()
        return (*self._alias_fired(url), site_identifier(host_of(read), covered))

    def _known_rules(self) -> Mapping[str, KnownRule]:
        return known_rules(self.hosts, self.engine_, self._site_rules())

    def _without(self, identifiers: Collection[str]) -> Canonicalizer:
        identifiers = set(map(rule_of, identifiers))
        left = copy.copy(self)
        left.engine_ = self.engine_.without(identifiers)
        left.new_words_ = self.new_words_.for_some(left.engine_, self.engine_.kept(identifiers))
        aliases = self.reading_.aliases.values()
        kept = [alias for alias in aliases if site_identifier("", alias) not in identifiers]
        left.reading_ = Reading(kept, self.reading_.grammars)
        return left

    def _links_of(self, url: str) -> HostLinks:
        """Link rules of a URL's host."""
        if len(self.links_) == 1 and not self.reading_.aliases:  # most models know one host
            return next(iter(self.links_.values()))
        return self.links_.get(host_of(url), NO_LINKS)  # a host whose alias was switched off has none

    def _explain(self, url: str, form: str) -> Explanation:
        reason, evidence = self._reason(self.reading_.read(url), self.reading_.read(form))
        alias = self.reading_.alias_of(url)
        reason = reason if alias is None else f"{sentence_of(alias)}; then {reason}"
        return Explanation(url, form, reason, {"rules": evidence} if evidence else {})

    def _reason(self, url: str, form: str) -> tuple[str, list[Any]]:
        """Why a URL has its form, both as the rules read them, and the statistics of the rules that fired."""
        links = self._links_of(url)
        if why := links.why_left_alone(url):
            return f"{why}: left alone", []
        covered = links.coverage_of(url)
        fired = [self.engine_.rules[number] for number in self.engine_.trace(url)[1]]
        if fired and form == url and self.engine_.form(url) != url:
            return "a rule would drop a value that other pages share: left alone", []
        said = [*map(sentence_of, fired), *([sentence_of(covered)] if covered is not None else [])]
        if not said:
            why = "no rule changes it" if form == url else "no rule changes it; the query is sorted"
            return f"{why} ({len(self.engine_.rules)} rules were learnt)", []
        return "; then ".join(said), [rule["statistics"] for rule in rules_to_json(fired)]

    def n_learnt(self) -> int:
        """Number of rules of all kinds."""
        return len(self.engine_.rules) + len(self._site_rules())

    def _quality(self) -> dict[str, Any]:
        rules = self.engine_.rules
        return {
            "host_aliases": len(self.reading_.aliases),
            "rules": len(rules),
            "referrer_rules": sum(len(links.referrer_rules) for links in self.links_.values()),
            "coverage_rules": sum(len(links.coverage_rules) for links in self.links_.values()),
            "hypotheses_tried": self.n_tried_,
            "expected_lost_pages": round(sum(expected_lost(rule.statistics) for rule in rules), 1),
            "merge_groups": sum(rule.evidence.n_groups for rule in rules),
            "wrong_merge_groups": sum(rule.evidence.n_wrong for rule in rules),
        }

    def _tables(self) -> dict[str, Any]:
        grammars = self.reading_.grammars_to_json()
        candidates = {"rules": rules_to_json(self.candidates_), "titles": self._new_words_of_all.to_json()}
        return {
            **({_GRAMMAR_FILE: grammars} if grammars else {}),
            _ALIASES_FILE: self.reading_.aliases_to_json(),
            _RULES_FILE: rules_to_json(self.engine_.rules),
            _TITLES_FILE: self.new_words_.to_json(),
            _LINKS_FILE: {host: links.to_json() for host, links in sorted(self.links_.items())},
            _REFUSED_FILE: refusals_to_json(self.refused_),
            **({_CANDIDATES_FILE: candidates} if self.candidates_ else {}),
            **({_TEXT_FILE: self.site_text.to_json()} if self.site_text is not None else {}),
        }

    def _restore(self, files: ModelFiles) -> None:
        self.reading_ = Reading.from_json(files.table(_ALIASES_FILE), files.table_if_any(_GRAMMAR_FILE))
        self.links_ = {host: HostLinks.from_json(links) for host, links in files.table(_LINKS_FILE).table().items()}
        self.engine_ = RuleEngine(rules_from_json(files.table(_RULES_FILE)))
        self.new_words_ = NewWords.from_json(files.table(_TITLES_FILE), self.engine_)
        self.candidates_, self._new_words_of_all = [], self.new_words_
        if candidates := files.table_if_any(_CANDIDATES_FILE):
            self.candidates_ = rules_from_json(candidates["rules"])
            self._new_words_of_all = NewWords.from_json(candidates["titles"], self._engine_of_all())
        refused, text = files.table_if_any(_REFUSED_FILE), files.table_if_any(_TEXT_FILE)
        self.refused_ = refusals_from_json(refused) if refused else []
        self.site_text = SiteText.from_json(text) if text else None
        self.looks_back = any(links.referrer_rules for links in self.links_.values())
        if missing := self.hosts - self.reading_.aliases.keys() - self.links_.keys():
            raise BadInputError(f"{_LINKS_FILE} has no entry for {min(missing)}.")
