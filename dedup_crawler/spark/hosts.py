"""Learns the model of one host from its texts, in a worker."""

from __future__ import annotations

import time
from collections.abc import Iterable
from operator import itemgetter
from pathlib import Path

from dedup_crawler.errors import BadInputError, DedupError
from dedup_crawler.evidence.comparing import PageEvidence
from dedup_crawler.evidence.labelling import compared_clusters
from dedup_crawler.methods import make_method
from dedup_crawler.methods.model.training_data import TrainingData
from dedup_crawler.pages.records import LabelledPage
from dedup_crawler.pages.store import is_better
from dedup_crawler.pages.tables import storable
from dedup_crawler.spark.catalogue import HostRow, model_folder
from dedup_crawler.spark.frames import Row
from dedup_crawler.spark.texts import Text, unpacked

METHOD = "verified"
MAX_TEXT = 2**30
"""Most characters of text of a host; more would not fit into the memory of a worker."""


def learn_host(host: str, packs: Iterable[Row], n_found: int, folder: Path) -> HostRow:
    """Learn the model of a host and write it to its place in *folder*; never raises an error because of the pages.

    *packs* are rows of :data:`~dedup_crawler.spark.texts.PACKS`. *n_found* is the number of pages that were found of
    the host, which may be more than their texts.
    """
    start = time.monotonic()
    try:
        kept = _in_order(packs)
        pages = list(map(_page_of, kept))
        links = {text.url: text.links for text in kept}
        evidence = PageEvidence.of_pages(pages, links_of=lambda url: links.get(url, ()))
        data = TrainingData.of_pages(pages, compared_clusters(lambda: pages, evidence).numbers(), evidence)
        model = make_method(METHOD).fit(data.urls, data.clusters, data.referrers, data.redirects, data.evidence)
        model.save(model_folder(folder, host))
    except Exception as error:  # noqa: BLE001 - one host must not end the job for all others
        reason = str(error) if isinstance(error, DedupError) else f"{type(error).__name__}: {error}"
        return HostRow(host, n_found=n_found, refused=storable(" ".join(reason.split())))
    counts = model.rule_evidence().values()
    forms = {asked.form for asked in model.forms_in_order(zip(data.urls, data.referrers, strict=True))}
    return HostRow(
        host,
        n_found=n_found,
        n_pages=len(pages),
        n_clusters=len(set(data.clusters)),
        n_rules=model.n_learnt() or 0,
        n_groups=sum(n_groups for n_groups, _ in counts),
        n_contradictions=sum(n_wrong for _, n_wrong in counts),
        n_skipped=sum(text.is_skipped for text in kept),
        n_merged=len(pages) - len(forms),
        seconds=round(time.monotonic() - start, 2),
    )


def _in_order(packs: Iterable[Row]) -> list[Text]:
    """Texts in crawl order, each URL once, with the answer that a store keeps."""
    found: list[Text] = []
    n_letters = 0
    for pack in packs:
        n_letters += pack["n_letters"]
        if n_letters > MAX_TEXT:
            raise BadInputError(f"its texts have more than {MAX_TEXT} characters: give a smaller --max-pages")
        found += unpacked(pack["texts"])
    kept: dict[str, Text] = {}
    for text in sorted(found, key=itemgetter(0, 1)):
        known = kept.get(text.url)
        if known is None or is_better((text.status, text.has_body), (known.status, known.has_body)):
            kept[text.url] = text
    return list(kept.values())


def _page_of(text: Text) -> LabelledPage:
    return LabelledPage(
        url=text.url,
        referrer=text.referrer,
        status=text.status,
        redirect_to=text.redirect_to,
        title=text.title,
        main_text=text.main_text,
        simhash=None,
        cluster=None,
        digest=text.digest,
    )
