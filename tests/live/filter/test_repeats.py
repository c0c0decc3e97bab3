"""Repeated links to a URL that passed before: most links of a crawl."""

from __future__ import annotations

from pathlib import Path

import pytest

from live_site import Site, walk_filtered

NO_DUPEFILTER = {"DUPEFILTER_CLASS": "scrapy.dupefilters.BaseDupeFilter"}


def build_site(site: Site, status: int) -> None:
    """Three pages, the later ones slow, link to /twin?1, which answers with *status*; the last one also to /twin?2."""
    site.page("/", "/twin?1", "/second")
    site.page("/second", "/twin?1", "/third", delay_s=0.3)
    site.page("/third", "/twin?1", "/twin?2", delay_s=0.3)
    site.page("/twin?1", status=status)
    site.page("/twin?2")


@pytest.mark.parametrize(("settings", "n_asked"), [({}, 1), (NO_DUPEFILTER, 3)])
def test_a_repeat_is_the_business_of_the_dupefilter(tmp_path: Path, settings: dict[str, str], n_asked: int):
    """With a dupefilter that drops nothing, each is fetched; a duplicate under another URL is still dropped."""
    with Site() as site:
        build_site(site, 200)
        crawl = walk_filtered(site, tmp_path, **settings)

    assert crawl.status == 0, crawl.log
    assert site.asked.count("/twin?1") == n_asked
    assert site.asked.count("/twin?2") == 0
    assert crawl.stats["dedup/request/dropped"] == 1
    assert crawl.stats["dedup/request/processed"] == 7
    assert crawl.stats["dedup/request/kept"] == 6
    assert crawl.stats.get("dupefilter/filtered", 0) == (0 if settings else 2)


@pytest.mark.parametrize("settings", [{}, NO_DUPEFILTER])
def test_a_repeat_of_an_owner_that_failed_loses_nothing(tmp_path: Path, settings: dict[str, str]):
    """The page is fetched through its other URL."""
    with Site() as site:
        build_site(site, 404)
        crawl = walk_filtered(site, tmp_path, **settings)

    assert crawl.status == 0, crawl.log
    assert site.asked.count("/twin?2") == 1


def test_what_is_remembered_of_repeats_may_be_forgotten(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    """With a cache for one URL a crawl is the same."""
    path = tmp_path / "path"
    path.mkdir()
    (path / "sitecustomize.py").write_text(
        "from dedup_crawler.live import decisions\n"
        "decisions._MAX_OWNERS = 1\n"
        f"open({str(path / 'read')!r}, 'w').close()\n"
    )
    monkeypatch.setenv("PYTHONPATH", str(path))
    with Site() as site:
        build_site(site, 200)
        crawl = walk_filtered(site, tmp_path)

    assert crawl.status == 0, crawl.log
    assert (path / "read").exists()
    assert site.asked.count("/twin?1") == 1
    assert crawl.stats["dedup/request/dropped"] == 1
