"""Report of the filter's actions to stats, log, the file of drops, and a signal."""

from __future__ import annotations

import json
import logging
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING

from scrapy.crawler import Crawler
from scrapy.utils.datatypes import LocalCache

from dedup_crawler import signals
from dedup_crawler.errors import BadInputError
from dedup_crawler.rules.language.identifiers import is_value

if TYPE_CHECKING:
    from dedup_crawler.live.requests.question import Question

logger = logging.getLogger("dedup_crawler.live")

MAX_OWNERS = 20_000
"""Number of owners that are remembered, those of the latest forms."""
_MAX_RULES = 200  # rules with a log line and a counter of their own


class DropReport:
    """Reports drops. Of a page only the URL gets into the log, with special characters escaped.

    The drops go to the file *path*, if there is one, in JSON lines. *is_debug* logs every drop, not only the first of
    each rule.

    BadInputError if the file cannot be opened.
    """

    def __init__(self, crawler: Crawler, path: str | None, *, is_debug: bool) -> None:
        self._crawler = crawler
        self._is_debug = is_debug
        self.owners: LocalCache[bytes, str] = LocalCache(MAX_OWNERS)
        """Form digest -> URL of its owner."""
        self._counts: Counter[str] = Counter()  # counts not in the stats yet
        self._told: set[tuple[str, ...]] = set()
        self._warned: set[str] = set()
        self._file: IO[str] | None = _opened(path)
        self._lines: list[str] = []  # not in the file yet

    def count(self, name: str, count: int = 1) -> None:
        """Add to a stat; :meth:`flush` writes the sums, because every link changes several stats."""
        self._counts[name] += count

    def counted(self, name: str) -> int:
        """Return a stat."""
        return int(self._crawler.stats.get_value(f"dedup/{name}", 0)) + self._counts[name]

    def restored(self, digest: bytes, url: str) -> None:
        """Remember the first fetched URL of a form; the seen set keeps its rules."""
        if len(self.owners) < MAX_OWNERS:
            self.owners.setdefault(digest, url)

    def dropped(self, question: Question, rules: tuple[str, ...], *, is_dry_run: bool = False) -> None:
        """Report a drop, or a would-be drop of a dry run."""
        rules = tuple(rule for rule in rules if not is_value(rule))
        request = question.request
        reason = _reason(question, rules)
        owner = None if question.is_covered else self.owners.get(question.digest)
        request.meta["dedup_canonical"] = question.form
        request.meta["dedup_reason"] = reason
        if rules and len(self._told) < _MAX_RULES:
            self.count(f"dropped/rule/{rules[0]}")
        self._log(question, rules, reason, owner, is_dry_run)
        if is_dry_run:
            return
        if self._file is not None:
            line = {
                "url": request.url,
                "form": question.form,
                "rules": list(rules),
                "owner": owner,
                "referrer": question.referrer and question.referrer.url,
                "time": round(time.time(), 3),
            }
            self._lines.append(json.dumps(line) + "\n")
        self._crawler.signals.send_catch_log(
            signals.request_dropped,
            request=request,
            spider=self._crawler.spider,
            reason=reason,
            form=question.form,
            rules=rules,
            owner=owner,
        )

    def switched_off(self, rule: str, sentence: str, reason: str, n_again: int) -> None:
        """Warn that a rule, or a value of a candidate, merged different pages."""
        if is_value(rule):
            self.count("values/switched_off")
        else:
            self.count("rules/switched_off")
        self.warn(
            f"Rule {rule} is switched off, it merges different pages ({reason}): {sentence}. "
            f"{n_again} requests that it dropped are sent again."
        )
        self._crawler.signals.send_catch_log(
            signals.rule_switched_off, spider=self._crawler.spider, rule=rule, reason=reason
        )

    def warn_once(self, kind: str, text: str) -> None:
        """Log a warning once, which would otherwise repeat with every request."""
        if kind not in self._warned:
            self._warned.add(kind)
            self.warn(text)

    def warn(self, text: str) -> None:
        """Log a warning."""
        self.say(text, logging.WARNING)

    def say(self, text: str, level: int = logging.INFO) -> None:
        """Log a line at a level of :mod:`logging`."""
        logger.log(level, "%s", text, extra={"spider": self._crawler.spider})

    def flush(self) -> None:
        """Write the stats and the drops so far."""
        for name, count in self._counts.items():
            self._crawler.stats.inc_value(f"dedup/{name}", count)
        self._counts.clear()
        lines, self._lines = self._lines, []
        if self._file is not None:
            try:
                self._file.writelines(lines)
                self._file.flush()
            except OSError as error:
                self.warn(f"DEDUP_DROPPED cannot be written: {error}; later drops are not listed.")
                self._close_file()

    def close(self) -> None:
        """Write the remaining drops and close the file."""
        self.flush()
        self._close_file()

    def _close_file(self) -> None:
        if self._file is not None:
            with suppress(OSError):
                self._file.close()
            self._file = None

    def _log(
        self, question: Question, rules: tuple[str, ...], reason: str, owner: str | None, is_dry_run: bool
    ) -> None:
        is_new = rules not in self._told and len(self._told) < _MAX_RULES
        if not is_new and not self._is_debug:
            return
        self._told.add(rules)
        logger.log(
            logging.INFO if is_new else logging.DEBUG,
            "Filtered duplicate-content request%s: %s (same as %s by its canonical form %r: %s) (referer: %s)%s",
            " (dry run, it is sent)" if is_dry_run else "",
            question.request,
            owner or "a page fetched before",
            question.form,
            reason,
            question.referrer and question.referrer.url,
            "" if self._is_debug else " - no more of this rule will be shown (see DEDUP_DEBUG)",
            extra={"spider": self._crawler.spider},
        )


def _reason(question: Question, rules: tuple[str, ...]) -> str:
    """Return the rules that led to the URL's form, or cover it; if only the owner's URL was changed, its rules."""
    sentences = question.model.rule_sentences()
    said = [sentences[rule] for rule in question.fired or rules if rule in sentences]
    return "; then ".join(said) or "it has the form of a page that was fetched before"


def _opened(path: str | None) -> IO[str] | None:
    if path is None:
        return None
    try:
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        return Path(path).open("a", encoding="utf-8")
    except OSError as error:
        raise BadInputError(f"DEDUP_DROPPED = {path!r} cannot be written: {error.strerror or error}.") from error
