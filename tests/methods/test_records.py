"""``from dedup_crawler import load``: a model in a script or a notebook, and its answers as rows of a table."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING

import pandas
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dedup_crawler
from dedup_crawler import load
from dedup_crawler.errors import BadInputError, ModelError, NotFittedError
from dedup_crawler.methods import make_method
from planted_forum import forum
from planted_site import HOST, session_ids
from python_process import python

if TYPE_CHECKING:
    from dedup_crawler.methods import Canonicalizer


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model of a site with session ids."""
    crawl = session_ids()
    learner = make_method("verified").fit(crawl.urls, crawl.clusters)
    return Path(learner.save(tmp_path_factory.mktemp("models") / "forum"))


@pytest.fixture(scope="module")
def model(folder: Path) -> Canonicalizer:
    """Return the loaded model."""
    return load(folder)


URLS = [f"{HOST}/topic.php?t=107&sid=a1a1a1a1a1a1a1a1", f"{HOST}/topic.php?t=107", "http://elsewhere.example/?sid=1"]


def test_a_model_is_one_line_away(folder: Path) -> None:
    """A path may be text; two URLs of a page have one form; the model describes itself."""
    model = load(str(folder))

    assert model.canonicalize(URLS[0]) == model.canonicalize(URLS[1]) == URLS[1]
    assert repr(model) == "<Verified of forum.example: learnt from 240 URLs of 120 pages>"
    assert repr(make_method("verified")) == "<Verified: has learnt nothing yet>"
    assert "load" in dir(dedup_crawler)


def test_records_are_a_table_of_pandas(model: Canonicalizer) -> None:
    """A column of URLs gives a data frame; grouped by form it has the pages."""
    frame = pandas.DataFrame({"url": URLS})
    table = pandas.DataFrame(model.records(frame["url"]))

    assert list(table.columns) == ["url", "form", "covered", "rules", "reason"]
    assert list(table["url"]) == URLS
    assert table.groupby("form").size().to_dict() == {URLS[1]: 2, URLS[2]: 1}
    assert "drop `sid` anywhere" in table["reason"][0]
    assert [len(rules) for rules in table["rules"]] == [1, 0, 0]


def test_a_column_of_referrers_is_a_crawl_in_order(tmp_path: Path) -> None:
    """A missing value of pandas counts as no referrer; a post found on its topic is that topic."""
    crawl = forum(with_alone=True)
    forums = make_method("verified").fit(crawl.urls, crawl.clusters, crawl.referrers, crawl.redirects)
    post, topic = f"{HOST}/post/7770", f"{HOST}/topic/777"
    frame = pandas.DataFrame({"url": [topic, post, post], "referrer": [None, topic, math.nan]})

    assert [each["form"] for each in forums.records(frame["url"], frame["referrer"])] == [topic, topic, post]


def test_what_is_no_table_of_urls_is_said(model: Canonicalizer) -> None:
    """The error has place and value of an item that is no string; one text instead of several; lengths that differ."""
    with pytest.raises(BadInputError, match=r"urls\[1\] is nan"):
        model.records(pandas.Series([URLS[0], math.nan]))
    with pytest.raises(BadInputError, match=r"a list of URLs"):
        model.records(URLS[0])
    with pytest.raises(BadInputError, match="3 URLs and 1 referrers"):
        model.records(URLS, [None])
    with pytest.raises(NotFittedError):
        make_method("verified").records(URLS)
    with pytest.raises(ModelError, match="dedup-crawler train"):
        load("models/nowhere")
    assert model.records([]) == []


@given(st.lists(st.text() | st.sampled_from(URLS), max_size=8))
def test_records_say_what_the_model_says(model: Canonicalizer, urls: list[str]) -> None:
    """Row by row: the same form, and the rules that fired."""
    records = model.records(urls)

    assert [each["url"] for each in records] == urls
    assert [each["form"] for each in records] == model.canonicalize_many(urls)
    assert [tuple(each["rules"]) for each in records] == [model.fired(url) for url in urls]


def test_load_needs_neither_scrapy_nor_what_trains(folder: Path) -> None:
    """A notebook that only uses a model loads no crawler."""
    code = (
        f"import sys; from dedup_crawler import load; load({str(folder)!r}).records([{URLS[0]!r}]); "
        "print([name for name in ('scrapy', 'torch', 'sklearn', 'pandas') if name in sys.modules])"
    )
    done = python("-c", code)

    assert done.stdout.strip() == "[]", done.stderr
