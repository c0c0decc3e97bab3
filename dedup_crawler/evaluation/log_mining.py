"""DustBuster on web-server logs, from the files to the model: read, mine, try on the live site."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from dedup_crawler.errors import BadInputError
from dedup_crawler.evaluation.site_validation import SiteValidation, SiteValidator
from dedup_crawler.methods.dustbuster import DustBuster
from dedup_crawler.methods.model.training_data import default_model_folder
from dedup_crawler.pages.fetching.fetcher import PoliteFetcher
from dedup_crawler.pages.logs.url_sizes import LogReport, read_logs
from dedup_crawler.urls.normal import host_of, normal_form

Progress = Callable[[str, int, int], None]


class LogMiner:
    """Learns the rules of one site from its logs.

    Parameters
    ----------
    host
        Of the logged paths; None takes that of *site*, or that of most referrers.
    min_support
        Pairs of URLs that speak for a rule, at least.
    n_samples
        Pairs of pages that are fetched for each likely rule; None fetches nothing, and rules are tried on the sizes of
        the log instead.
    site
        Where to fetch.

    Raises
    ------
    BadInputError
        If there is something to fetch and no *site*, or the other way round.
    """

    def __init__(self, *, host: str | None, min_support: int, n_samples: int | None, site: str | None) -> None:
        if (site is None) != (n_samples is None):
            missing = "--site URL, where to fetch" if site is None else "--validate N, how many pairs to fetch"
            raise BadInputError(f"--validate and --site belong together: give {missing}.")
        self._host = host if host is not None or site is None else host_of(normal_form(site))
        self._n_samples = n_samples
        self._site = site
        options: dict[str, Any] = {"validate": 0} if n_samples is not None else {}
        self.method = DustBuster(min_support=min_support, **options)
        self._validator: SiteValidator | None = None

    def mine(
        self, logs: Sequence[Path], *, delay_s: float, max_fetches: int, progress: Progress | None = None
    ) -> LogReport:
        """Read *logs* and learn; with a site, keep what holds there."""
        with ExitStack() as cleanup:
            fetcher = None
            if self._site is not None:  # what cannot be asked is said before an hour of reading
                fetcher = cleanup.enter_context(PoliteFetcher(self._site, delay_s=delay_s, max_fetches=max_fetches))
            report = read_logs(logs, self._host, progress)
            self._host = report.host
            urls = list(report.sizes)
            self.method.fit_sizes(urls, [(sizes.low, sizes.high) for sizes in report.sizes.values()])
            if fetcher is not None and self._n_samples is not None:
                own = [url for url in urls if host_of(url) == report.host]
                rules = [rule for rule in self.method.engine_.rules if rule.host == report.host]
                self._validator = SiteValidator(own, fetcher, n=self._n_samples)
                try:
                    self._validator.validate(rules, progress)
                finally:
                    self.method.keep(self._validator.outcome.held)
        return report

    def save(self, folder: Path | None) -> Path | None:
        """Write the model, if something was learnt."""
        if not hasattr(self.method, "engine_"):
            return None
        return self.method.save(folder or default_model_folder([f"http://{self._host}/"]))

    def numbers(self, report: LogReport) -> dict[str, Any]:
        """Counts of the log and of the rules, for people and programs."""
        read = {
            "host": report.host,
            "accesses": report.n_accesses,
            "counted": report.n_counted,
            "left_out": report.n_left_out,
            "damaged_lines": report.damages.n,
            "urls": len(report.sizes),
        }
        tried: SiteValidation | None = self._validator.outcome if self._validator is not None else None
        of_site = (
            {
                "held_on_site": len(tried.held),
                "rejected": tried.n_rejected,
                "implied": tried.n_implied,
                "untried": tried.n_untried,
                "fetches": tried.n_fetches,
            }
            if tried is not None
            else {}
        )
        return {**read, **of_site, "rules": len(self.method.engine_.rules)}
