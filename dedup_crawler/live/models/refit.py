"""Learning a model from the pages collected so far, beside the crawl: texts, labels, fit, guard, save.

The texts of the pages are written to the crawl's database, a hundred at a time, so that no page is read twice however
often the crawl learns. Clusters stay in memory, because each new page may change them.

A new model replaces an existing one if it was learnt from at least as many pages, unless nearly all later URLs show one
page, such as a log-in form or a captcha. Its labels teach no wrong rule, because one cluster is one piece of evidence
however large it is, but they contradict right rules.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path

from dedup_crawler.errors import BadInputError, DamagedModelError
from dedup_crawler.evidence.comparing import PageEvidence
from dedup_crawler.labels.clusters import cluster_labelled
from dedup_crawler.labels.main_text import TextReader, stored_links
from dedup_crawler.live.models.learner import RefitReport
from dedup_crawler.methods import Canonicalizer, load_model, make_method
from dedup_crawler.methods.model.folder import MIN_PAGES, folder_name, is_plain_host
from dedup_crawler.methods.model.training_data import TrainingData
from dedup_crawler.pages.store import PageStore
from dedup_crawler.urls.normal import normal_form, places_by_host

METHOD = "verified"
_MAX_HOSTS = 1000  # those with most pages; a crawl of the whole web may have any number
_NEARLY_ALL = 0.9
"""Share (0-1) of the later URLs of a site that show one page if this has swallowed the crawl;"""
_MIN_LATER = 20
"""least number of later URLs."""
_SHOWN_LENGTH = 120


def refit(database: str, folder: Path) -> RefitReport:
    """Learn models from the pages in *database*, and save them.

    The database is a path or SQLAlchemy URL; the crawl may write to it meanwhile. A model *folder* (it holds
    ``model.json``) receives one model of all pages. Any other folder receives a model folder for each host with at
    least 50 pages, named as ``dedup-crawler train`` names it.

    DedupError or OSError if the database cannot be read, nothing can be learnt from it, or a model cannot be written.
    Existing models stay.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with PageStore(database, create=False) as store:
        n_pages = len(store)
        _read_texts(store)
        pages = list(islice(store.labelled_pages(), n_pages))  # pages added meanwhile have no text
        # no compared clusters: the comparer finds the other pairs while rules are learnt
        evidence = PageEvidence.of_pages(pages, store.rotating_text(), stored_links(store))
        data = TrainingData.of_pages(pages, cluster_labelled(pages, evidence.digests.meters), evidence)
        done = RefitReport()
        for place, part in _parts(folder, data):
            _learn(place, part, done)
    return done


def read_texts(database: str) -> None:
    """Read the texts of the pages in *database* in advance of :func:`refit`.

    DedupError or OSError if the database cannot be read or written.
    """
    with PageStore(database, create=False) as store:
        _read_texts(store)


def _read_texts(store: PageStore) -> None:
    with TextReader(n_workers=max((os.cpu_count() or 1) - 1, 1)) as reader:  # a core is left to the crawl
        store.write_texts(text for text, _ in reader.read(store.uncleaned_pages()))


def _parts(folder: Path, data: TrainingData) -> Iterator[tuple[Path, TrainingData]]:
    """Yield model folders, each with its training data."""
    if (folder / "model.json").is_file():
        yield folder, data
        return
    of_host = places_by_host(map(normal_form, data.urls))
    large = [(host, rows) for host, rows in of_host.items() if len(rows) >= MIN_PAGES and is_plain_host(host)]
    if not large:
        raise BadInputError(
            f"none of the {len(of_host)} hosts of the crawl has {MIN_PAGES} pages yet: too little to learn from."
        )
    for host, rows in sorted(large, key=lambda entry: -len(entry[1]))[:_MAX_HOSTS]:
        yield folder / folder_name(host), data.rows(rows)


def _learn(place: Path, data: TrainingData, done: RefitReport) -> None:
    """Fit one model, and save it unless it is refused."""
    n_urls, old = len(data.urls), None
    with suppress(DamagedModelError):  # the new model replaces a broken one
        old = load_model(place) if place.exists() else None
    if old is not None:
        if old.n_urls_ > n_urls:
            return
        if (reason := _objection(old, data)) is not None:
            done.refused.append(f"the model {place} stays; one learnt from {n_urls} pages was refused: {reason}")
            return
    new = make_method(METHOD)
    new.fit(*data)
    new.save(place)
    done.learnt.append(str(place))


def _objection(old: Canonicalizer, data: TrainingData) -> str | None:
    """Return the reason why a model of this *data* must not replace *old*, if any."""
    later = range(old.n_urls_ if old.n_urls_ < len(data.urls) else 0, len(data.urls))
    cluster, n_urls = Counter(data.clusters[place] for place in later).most_common(1)[0]
    if len(later) < _MIN_LATER or n_urls <= _NEARLY_ALL * len(later):
        return None
    url = normal_form(next(data.urls[place] for place in reversed(later) if data.clusters[place] == cluster))
    shown = url if len(url) <= _SHOWN_LENGTH else f"{url[:_SHOWN_LENGTH]}..."
    return f"{n_urls} URLs show one page, {shown}. Does the site ask to log in by now?"
