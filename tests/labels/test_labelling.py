"""Labelling a crawl in its database: results, storage, sinks, and resuming."""

from __future__ import annotations

import contextlib
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import pytest

from dedup_crawler.errors import BadInputError
from dedup_crawler.evaluation.quality import label_quality, read_truth
from dedup_crawler.evidence.labelling import explain_pair, find_sinks, label_store
from dedup_crawler.labels.clusters import cluster_labelled
from dedup_crawler.pages.imports import import_files
from dedup_crawler.pages.records import Page
from dedup_crawler.pages.store import PageStore
from label_pages import LONG, SITE, wiki
from label_pages import page as labelled_page
from python_process import ENVIRONMENT, python
from repository import SITES

PROSE = "This is the text of the page and it is long enough that it will be taken for what the page is about. " * 3

LABEL_IN_SUBPROCESS = """
import sys
from pathlib import Path
from dedup_crawler.evidence.labelling import label_store
from dedup_crawler.pages.store import PageStore

if __name__ == "__main__":
    try:
        with PageStore(sys.argv[1]) as store:
            label_store(store, n_workers=2, progress=lambda step, n_done: Path(sys.argv[2]).touch())
    except KeyboardInterrupt:
        sys.exit(77)
"""


def page(path: str, body: str, **fields: object) -> Page:
    html = f"<html><head><title>Title</title></head><body>{body}</body></html>"
    return Page(SITE + path, referrer=SITE, content_type="text/html", content=html.encode(), **fields)  # type: ignore[arg-type]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[PageStore]:
    """An empty database."""
    with PageStore(tmp_path / "crawl.db") as opened:
        yield opened


def crawl(store: PageStore) -> None:
    store.add_many(
        [
            page("", f"<p>{PROSE}</p>"),
            page("?sid=1", f"<p>{PROSE}</p>"),
            page("topic", f"<p>{PROSE} Another topic.</p>"),
            page("post/1", "", status=302, redirect_to=SITE + "topic#1"),
            page("empty1", ""),
            page("empty2", ""),
        ]
    )


def clusters(store: PageStore) -> list[int | None]:
    return [each.cluster for each in store.labelled_pages()]


def test_files_are_joined_by_their_bytes(store: PageStore) -> None:
    """
    A file is the same at two URLs, as text and as a download, or in two folders; another one is not, nor are two
    pixels. A second run, which reads no file again, says so too.
    """
    text, pdf, pixel = PROSE.encode(), b"%PDF-1.7 \0" + bytes(range(200)), b"GIF89a" + bytes(20)
    files = [
        ("notes.txt", "text/plain", text),
        ("download?name=notes", "application/x-download", text),
        ("a/manual.pdf", "application/pdf", pdf),
        ("b/manual.pdf", "application/pdf", pdf),
        ("other.pdf", "application/pdf", pdf + b"2"),
        ("pixel?1", "image/gif", pixel),
        ("pixel?2", "image/gif", pixel),
    ]
    store.add_many([Page(SITE + path, content_type=kind, content=body) for path, kind, body in files])
    for _ in range(2):
        label_store(store)
        assert clusters(store) == [0, 0, 1, 1, 2, 3, 4]
    store.add(Page(SITE + "c/manual.pdf", content_type="application/pdf", content=pdf))
    label_store(store)
    assert clusters(store)[-1] == 1


def test_labels_a_crawl(store: PageStore, tmp_path: Path) -> None:
    """Equal pages and a redirect are joined, empty pages are not; the report counts what the store then holds."""
    crawl(store)
    steps: list[tuple[str, int]] = []
    report = label_store(store, progress=lambda step, n_done: steps.append((step, n_done)))

    assert clusters(store) == [0, 0, 1, 1, 2, 3]
    assert cluster_labelled(list(store.labelled_pages())) == [0, 0, 1, 1, 2, 3]
    with contextlib.closing(sqlite3.connect(tmp_path / "crawl.db")) as connection:
        assert (SITE, SITE + "?sid=1", 1.0) in connection.execute("SELECT url1, url2, score FROM scores").fetchall()
    assert steps == [("main text", 6), ("scores", 6), ("clusters", 6)]
    assert (report.n_pages, report.n_cleaned, report.n_without_text, report.n_skipped) == (6, 6, 3, 0)
    assert (report.n_clusters, report.n_duplicates, report.skipped) == (4, 2, ())


def test_says_why_two_pages_are_the_same(store: PageStore) -> None:
    """The steps from one page to another, each with its evidence; none to another page; unknown URLs are reported."""
    crawl(store)
    with pytest.raises(BadInputError, match="6 pages of the crawl are not labelled yet: run label"):
        explain_pair(store, SITE, SITE + "?sid=1")
    label_store(store, n_workers=1)

    assert [step.reason for step in explain_pair(store, SITE, SITE + "?sid=1")] == ["the same title and text"]
    assert [step.url for step in explain_pair(store, SITE + "post/1", SITE + "topic")] == [SITE + "post/1"]
    assert explain_pair(store, SITE, SITE + "topic") == ()
    with pytest.raises(BadInputError, match="/far is not among the 6 pages of the crawl"):
        explain_pair(store, SITE, SITE + "far")


@pytest.mark.parametrize("labeller", ["cosine", "simhash"])
def test_other_labellers(store: PageStore, labeller: str) -> None:
    """The published labellers can be chosen; one that does not exist is refused before any page is read."""
    crawl(store)
    label_store(store, n_workers=1, labeller=labeller)

    assert clusters(store)[:2] == [0, 0]
    with pytest.raises(BadInputError, match="labeller = 'no' is not known; choose one of default, cosine, simhash"):
        label_store(store, labeller="no")


N_JUDGED = 600


class EnoughError(Exception):
    """No more pages are needed."""


def stop_after(n_pages: int, store: PageStore) -> None:
    """End an import."""
    if len(store) >= n_pages:
        raise EnoughError


@pytest.mark.skipif(not SITES.exists(), reason=f"needs the recorded sites in {SITES}")
@pytest.mark.parametrize(("site", "recall"), [("dokuwiki", 0.97), ("shop", 0.97)])
def test_quality_on_a_recorded_site(tmp_path: Path, site: str, recall: float) -> None:
    """
    Of the first 600 pages of a real crawl hardly any are joined wrongly (B-cubed precision at least .995 by a
    truth made with the site's own selectors), and nearly all duplicates are found.
    """
    with PageStore(tmp_path / "crawl.db") as whole, PageStore(tmp_path / "part.db") as store:
        with contextlib.suppress(EnoughError):
            import_files([SITES / site / "crawl.warc.zst"], whole, lambda *_: stop_after(N_JUDGED, whole))
        store.add_many(islice(whole.pages(), N_JUDGED))
        label_store(store, n_workers=1)
        found = {page.url: page.cluster for page in store.labelled_pages() if page.cluster is not None}
    quality = label_quality(found, read_truth(SITES / site / "truth.csv.gz"))

    assert quality.bcubed_precision >= 0.995
    assert quality.bcubed_recall >= recall


def test_labels_what_was_crawled_since(store: PageStore) -> None:
    """A second run reads only the new pages, and joins them with the old ones."""
    crawl(store)
    label_store(store, n_workers=1)
    store.add_many([page("topic?sid=2", f"<p>{PROSE} Another topic.</p>")])
    report = label_store(store, n_workers=1)

    assert (report.n_pages, report.n_cleaned) == (7, 1)
    assert clusters(store) == [0, 0, 1, 1, 2, 3, 1]
    assert label_store(store, n_workers=1).n_cleaned == 0


def test_a_site_behind_a_login(store: PageStore) -> None:
    """If every URL shows the log-in form, all pages are one, which is reported as a sink."""
    store.add_many(page(str(n), f"<p>Log in. {PROSE}</p>") for n in range(120))
    report = label_store(store, n_workers=1)

    assert (report.n_pages, report.n_clusters, report.n_duplicates, report.n_without_text) == (120, 1, 119, 0)
    assert [(sink.n_urls, sink.url) for sink in report.sinks] == [(120, SITE + "0")]


@pytest.mark.parametrize("n_pages", [0, 120])
@pytest.mark.parametrize("body", ["", "<p>{0} says {0} in the text of its own, and {0} once more. " + PROSE])
def test_a_site_without_duplicates(store: PageStore, n_pages: int, body: str) -> None:
    """Only empty pages, or only different ones, or none: each stays alone, and nothing is a sink."""
    store.add_many(page(str(n), body.format(f"word{n}")) for n in range(n_pages))
    report = label_store(store, n_workers=1)

    assert (report.n_pages, report.n_clusters, report.n_duplicates) == (n_pages, n_pages, 0)
    assert report.n_without_text == (0 if body else n_pages)
    assert report.sinks == ()


def test_pages_that_cannot_be_read_are_reported(store: PageStore) -> None:
    """A page of 20 MB and one nested 100,000 deep are skipped with URL and reason; binary data as HTML is a page."""
    binary = Page(SITE + "binary", content_type="text/html", content=b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 40)
    crawl(store)
    store.add_many([page("big", "word " * 4_000_000), page("deep", "<div>" * 100_000 + "x"), binary])
    report = label_store(store, n_workers=1)

    assert clusters(store) == [0, 0, 1, 1, 2, 3, 4, 5, 6]
    assert report.n_skipped == 2
    assert [url for url, _ in report.skipped] == [SITE + "big", SITE + "deep"]


def test_an_error_keeps_what_was_cleaned(store: PageStore) -> None:
    """If a run is interrupted, the written texts are kept, and the next run reads only the others."""

    def give_up(step: str, n_done: int) -> None:
        raise RuntimeError(f"{step} {n_done}")

    store.add_many(page(str(n), f"<p>page {n}</p>") for n in range(250))
    with pytest.raises(RuntimeError, match="main text 100"):
        label_store(store, n_workers=1, progress=give_up)

    assert label_store(store, n_workers=1).n_cleaned == 150


@pytest.mark.skipif(os.name == "nt", reason="Ctrl-C is sent as a POSIX signal")
def test_ctrl_c_keeps_what_was_cleaned(tmp_path: Path) -> None:
    """
    Ctrl-C to the whole process group during reading ends it without messages of the workers; the database
    opens, has the written texts, and a second run does the rest.
    """
    database, started = tmp_path / "crawl.db", tmp_path / "started"
    script = tmp_path / "label.py"
    script.write_text(LABEL_IN_SUBPROCESS)
    with PageStore(database) as store:
        body = "".join(f"<p>{PROSE} {n}</p>" for n in range(20))
        store.add_many(page(str(n), f"{body} {n}") for n in range(600))
    process = subprocess.Popen(
        [sys.executable, script, database, started],
        env=ENVIRONMENT,
        stderr=subprocess.PIPE,
        start_new_session=True,
        text=True,
    )
    deadline = time.monotonic() + 600
    while not started.exists() and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.02)
    os.killpg(process.pid, signal.SIGINT)
    _, errors = process.communicate(timeout=600)

    assert process.returncode == 77, errors
    assert errors == ""
    with PageStore(database) as store:
        report = label_store(store, n_workers=1)
        assert 0 < report.n_cleaned < 600
        assert report.n_pages == 600
        assert None not in clusters(store)


WITHOUT_EXTRAS = """
import sys
sys.modules.update(dict.fromkeys(["scipy", "sklearn", "simhash", "torch"]))
import dedup_crawler.evidence.labelling
from dedup_crawler.errors import MissingExtraError
from dedup_crawler.labels.clusters import cluster_pages
from dedup_crawler.labels.published import score_pairs
from dedup_crawler.labels.main_text import TextReader

assert cluster_pages(lambda: []).numbers() == []
for use in (TextReader, lambda: list(score_pairs([]))):
    try:
        use()
    except MissingExtraError as error:
        print(error)
"""


def test_needs_the_extra_only_where_it_is_used() -> None:
    """Without the extras all modules can be imported; using one names the package and the way out."""
    result = python("-c", WITHOUT_EXTRAS)

    assert result.stderr == ""
    assert result.stdout.splitlines() == [
        "Fingerprinting the text of pages needs simhash, which is not installed: pip install 'dedup-crawler[learn]'",
        "Scoring pages by cosine needs scikit-learn, which is not installed: pip install 'dedup-crawler[learn]'",
    ]


def test_a_login_form_is_a_sink() -> None:
    """On a wiki, the cluster without content that every page links to is a sink."""
    pages = wiki()
    sinks = find_sinks(lambda: pages, cluster_labelled(pages))

    assert [(sink.n_urls, sink.title, sink.url) for sink in sinks] == [
        (80, "Log in [Wiki]", SITE + "wiki?id=chapter:page0&do=login")
    ]


def test_error_pages_and_texts() -> None:
    """A long not-found page is a sink by its status; a long page with many URLs, or a short one with few, is not."""
    pages = [labelled_page(f"gone{n}", LONG.replace("word", "gone"), status=404) for n in range(40)]
    pages += [labelled_page(f"a{n}", LONG + "\nmore") for n in range(40)]
    pages += [labelled_page(f"b{n}", "short but with few URLs so it is not a sink") for n in range(9)]

    assert [sink.n_urls for sink in find_sinks(lambda: pages, cluster_labelled(pages))] == [40]
