"""The settings of a crawl: misspelt ones are reported, and all stats are documented."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from scrapy.settings import Settings

import dedup_crawler.live
from dedup_crawler.errors import BadInputError
from dedup_crawler.live.options import META_KEYS, STATS, Options, known_settings
from live_site import Crawl, Site, strip_query_model, walk, walk_filtered

if TYPE_CHECKING:
    from collections.abc import Iterator

SOURCES = sorted(Path(dedup_crawler.live.__file__).parent.rglob("*.py"))


def crawl(folder: Path, **settings: object) -> Crawl:
    with Site() as site:
        site.robots()
        site.page("/", "/a?1", "/a?2")
        site.page("/a?1")
        site.page("/a?2")
        return walk(site, folder, **settings)


def about_settings(crawl: Crawl) -> list[str]:
    return [line.partition("WARNING: ")[2] for line in crawl.lines("WARNING") if "is no setting of" in line]


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ("DEDUP_MODLE", "DEDUP_MODEL"),
        ("DEDUP_EXPLORE", "DEDUP_EXPLORATION"),
        ("DEDUPE_COLLECT", "DEDUP_COLLECT"),
        ("DEDUP_DRYRUN", "DEDUP_DRY_RUN"),
    ],
)
def test_a_misspelt_setting_is_one_warning_with_the_nearest_name(tmp_path: Path, given: str, meant: str) -> None:
    """A real crawl goes on, and suggests the right name once, for any number of components."""
    told = about_settings(crawl(tmp_path, **{given: "0.5", "DEDUP_COLLECT": tmp_path / "crawl.db"}))

    assert told == [f"{given} is no setting of dedup_crawler, and does nothing. Did you mean {meant}?"]


@pytest.mark.parametrize("addon", [True, False], ids=["add-on", "by hand"])
def test_a_name_that_is_near_to_none_is_said_with_all_that_there_are(tmp_path: Path, addon: bool) -> None:
    """However the filter is enabled; settings of other plugins with similar names are ignored."""
    by_hand = {} if addon else {"DOWNLOADER_MIDDLEWARES": '{"dedup_crawler.DuplicateFilterMiddleware": 120}'}
    told = about_settings(crawl(tmp_path, addon=addon, DEDUP_QQQQ=1, DEDUPLICATOR_MODE=2, **by_hand))

    assert len(told) == 1
    assert told[0].startswith("DEDUP_QQQQ is no setting")
    assert all(setting.name in told[0] for setting in known_settings())


def test_settings_that_there_are_are_no_warning(tmp_path: Path) -> None:
    """All at once, each with a value."""
    values = {
        "DEDUP_MODEL": strip_query_model(tmp_path / "model", "127.0.0.1"),
        "DEDUP_ENABLED": True,
        "DEDUP_DRY_RUN": True,
        "DEDUP_EXPLORATION": 0,
        "DEDUP_DROPPED": tmp_path / "drops.jsonl",
        "DEDUP_STATUS": tmp_path / "status.html",
        "DEDUP_DEBUG": True,
        "DEDUP_COLLECT": tmp_path / "crawl.db",
        "DEDUP_SEEN": "memory",
        "DEDUP_STATIC_RULES": "",
    }

    assert {*values, "DEDUP_LEARN_AFTER"} == {setting.name for setting in known_settings()}
    assert about_settings(crawl(tmp_path, **values)) == []


def names_given_to(*functions: str) -> Iterator[str]:
    """Return the first arguments of calls of these names in the source, with ``{}`` for inserted values."""
    for path in SOURCES:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.Call) or not node.args:
                continue
            name = getattr(node.func, "attr", getattr(node.func, "id", None))
            if name in functions:
                parts = node.args[0].values if isinstance(node.args[0], ast.JoinedStr) else [node.args[0]]
                texts = [str(part.value) if isinstance(part, ast.Constant) else "{}" for part in parts]
                yield "".join(texts)


def written_stats() -> set[str]:
    given = {name for name in names_given_to("count", "_count") if "/" in name}
    direct = {name for name in names_given_to("set_value", "inc_value") if name.startswith("dedup/")}
    given |= {name.removeprefix("dedup/") for name in direct - {"dedup/{}"}}
    return {name.replace("{}", "ID") for name in given}


def test_every_stat_that_is_written_has_a_meaning() -> None:
    """The documented names are exactly those in the source.

    One line of the source writes the stats of explorations, under computed names.
    """
    assert written_stats() | {"explored/agree", "explored/disagree"} == set(STATS)


def test_a_filtered_crawl_writes_no_other_stats(tmp_path: Path) -> None:
    """A real crawl that drops."""
    with Site() as site:
        site.robots()
        site.page("/", *(f"/a?{n}" for n in range(30)))
        for n in range(30):
            site.page(f"/a?{n}")
        stats = walk_filtered(site, tmp_path).stats
    names = {name.removeprefix("dedup/") for name in stats if name.startswith("dedup/")}

    assert "request/dropped" in names
    assert {"dropped/rule/ID" if name.startswith("dropped/rule/") else name for name in names} <= set(STATS)


def test_meta_keys_are_those_that_the_filter_writes_and_reads() -> None:
    """Each is a meta key in the source."""
    source = "\n".join(path.read_text(encoding="utf-8") for path in SOURCES)

    for key in META_KEYS:
        assert f'meta.get("{key}")' in source or f'meta["{key}"] = ' in source


@pytest.mark.parametrize("value", ["inf", "nan", "-1", "many", "1e999"])
@pytest.mark.parametrize("name", ["DEDUP_LEARN_AFTER", "DEDUP_EXPLORATION"])
def test_an_impossible_number_is_one_line(name: str, value: str):
    """Infinity and what is no number are refused as numbers out of range are: the line has the name and the value."""
    with pytest.raises(BadInputError, match=f"{name} = '{value}'"):
        Options.from_settings(Settings({name: value}))
