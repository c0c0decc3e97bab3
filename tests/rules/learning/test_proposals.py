"""Models of other methods as sources of hypotheses: rules, translations, and refused models."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from dedup_crawler.errors import BadInputError, DamagedModelError, ModelError
from dedup_crawler.methods import load_model, make_method
from dedup_crawler.methods.model.folder import write_model
from dedup_crawler.methods.verified import Verified
from dedup_crawler.rules.learning import host_crawl, hypotheses
from planted_visits import HOST, Visits, numbered, shuffled

SITE = f"http://{HOST}"


def titles(n: int = 80) -> Visits:
    """Return topics with and without a title after a dot, a delimiter that our own hypotheses rarely try."""
    visits: Visits = [(i, f"/story_{i}") for i in range(n)] + [(i, f"/story?id={i}") for i in range(0, n, 2)]
    return shuffled(visits)


def translator(
    folder: Path,
    template: str = "http://site.example/story?id=<num1>",
    says: str = "http://site.example/story_<num1>",
    words: Sequence[str] = ("story", "id"),
    **changes: Any,
) -> Path:
    """Return a trained translator's folder, with one template in its table that no gate accepted."""
    entry = {"says": says, "urls": 40, "groups": 0, "wrong": 0, "used": False, "guarded": []}
    tables = {
        "tokens.json": {
            "function_tokens": ["http://site.example", *words],
            "function_words": list(words),
        },
        "translations.json": {template: entry},
    }
    description = {
        "method": "seq2seq",
        "options": {"preset": "fast", "deep": None},
        "hosts": [HOST],
        "counts": {"urls": 1, "clusters": 1},
        "training_data_digest": "",
        "quality": {},
        **changes,
    }
    return write_model(folder, description, tables)


@pytest.fixture(autouse=True)
def _no_miners(monkeypatch: pytest.MonkeyPatch) -> None:
    """No other source proposes it."""
    monkeypatch.setattr(host_crawl, "proposals", lambda columns: [])


def test_rules_of_another_model_are_asked(tmp_path: Path) -> None:
    """A rule of DustBuster becomes a hypothesis, is believed, and survives saving and loading."""
    urls, pages = numbered(titles())
    folder = make_method("dustbuster").fit(urls, pages).save(tmp_path / "dust")
    assert Verified().fit(urls, pages).learnt() == []

    learnt = Verified(proposals=str(folder)).fit(urls, pages)

    assert [rule.origin for rule in learnt.engine_.rules] == ["dustbuster"]
    again = load_model(learnt.save(tmp_path / "verified"))
    assert again.canonicalize(f"{SITE}/story?id=999") == f"{SITE}/story_999"


def test_translations_are_asked_before_any_gate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    The table has the network's translations, accepted by its gate or not; the crawl decides. Our own joins of
    templates, which would find this one too, are disabled here.
    """
    monkeypatch.setattr(hypotheses, "template_joins", lambda columns: [])
    visits: Visits = [(i, f"/list?of={i}") for i in range(80)]
    visits += [(i, f"/show/{i}") for i in range(0, 80, 2)]
    urls, pages = numbered(shuffled(visits))
    model = translator(
        tmp_path / "t",
        template="http://site.example/show/<num1>",
        says="http://site.example/list?of=<num1>",
        words=["show", "list", "of"],
    )

    learnt = Verified(proposals=str(model)).fit(urls, pages)

    assert Verified().fit(urls, pages).learnt() == []
    assert [rule.origin for rule in learnt.engine_.rules] == ["seq2seq"]
    assert learnt.canonicalize(f"{SITE}/show/500") == f"{SITE}/list?of=500"


def test_a_model_of_another_host_is_refused(tmp_path: Path) -> None:
    """One line names both hosts."""
    folder = translator(tmp_path / "t", hosts=["other.example"])

    with pytest.raises(BadInputError, match=r"was trained on other\.example, not on site\.example"):
        Verified(proposals=str(folder)).fit(*numbered(titles()))


def test_a_model_without_rules_is_refused(tmp_path: Path) -> None:
    """Methods without learnt rules have no proposals."""
    urls, pages = numbered(titles())
    folder = make_method("keep-all").fit(urls, pages).save(tmp_path / "k")

    with pytest.raises(BadInputError, match="keep-all model, which has no rules and no translations"):
        Verified(proposals=str(folder)).fit(urls, pages)


def test_a_folder_that_is_no_model_is_an_error(tmp_path: Path) -> None:
    """A missing model, and a damaged one with a valid digest."""
    urls, pages = numbered(titles())

    with pytest.raises(ModelError, match="no model at"):
        Verified(proposals=str(tmp_path / "none")).fit(urls, pages)
    with pytest.raises(DamagedModelError, match="has no argument 7"):
        Verified(proposals=str(translator(tmp_path / "t", says="http://site.example/<any7>"))).fit(urls, pages)


def test_wrong_translations_do_no_harm(tmp_path: Path) -> None:
    """Wrong translations are not believed."""
    folder = translator(tmp_path / "t", says="http://site.example/story")

    assert Verified(proposals=str(folder)).fit(*numbered(titles())).learnt() == []
