"""Redirects to another URL of a page that was fetched before, in a crawl over real HTTP."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from faulty_site import SLOWLY, build_chain, pair, status
from live_site import Answer, Site, walk_filtered

if TYPE_CHECKING:
    from pathlib import Path

N = 80


def build(site: Site, n_right: int) -> None:
    """The second URL of each item is linked only through a redirect; the last page links to all redirects once more."""
    build_chain(site, 0, N, [n < n_right for n in range(N)])
    for path, answer in [*site.answers.items()]:
        if isinstance(answer, Answer) and not path.startswith("/item"):
            body = answer.body
            for n in range(N):
                body = body.replace(pair(n)[1].encode(), f"/jump{n}".encode())
            site.answers[path] = replace(answer, body=body)
    for n in range(N):
        site.redirect(f"/jump{n}", pair(n)[1])
        site.redirect(f"/jump{n}?again", pair(n)[1])
    last = max((path for path in site.answers if path.startswith("/hub")), key=lambda path: int(path[4:]))
    site.page(last, "/later", html="<p>the last one</p>")
    site.page("/later", *[f"/jump{n}?again" for n in range(N)])


def test_the_target_of_a_redirect_is_dropped_if_its_page_is_known(tmp_path: Path):
    """
    Every redirect leads to another URL of an item. Only tests fetch these. The known page answers for the redirect:
    other URLs of its form are dropped, and all items are reached.
    """
    with Site() as site:
        build(site, N)
        crawl = walk_filtered(site, tmp_path, DEDUP_EXPLORATION="0.02", **SLOWLY)
    n_jumps = sum(site.count(f"/jump{n}") for n in range(N))
    n_targets = sum(site.count(pair(n)[1]) for n in range(N))
    assert [status(crawl, pair(n)[0]) for n in range(N)] == [200] * N
    assert n_jumps == N
    assert 0 < n_targets < N / 2
    assert sum(site.count(f"/jump{n}?again") for n in range(N)) < N / 2
    assert "dedup/explored/disagree" not in crawl.stats


@pytest.mark.parametrize("exploration", ["0.5", "0.02"])
def test_dropped_targets_of_a_wrong_rule_are_fetched_after_all(tmp_path: Path, exploration: str):
    """From one item on, each redirect leads to a page of its own. The rule is switched off, and all are fetched."""
    with Site() as site:
        build(site, N // 2)
        crawl = walk_filtered(site, tmp_path, DEDUP_EXPLORATION=exploration, **SLOWLY)
    assert [status(crawl, pair(n)[1]) for n in range(N // 2, N)] == [200] * (N // 2)
    assert [status(crawl, pair(n)[0]) for n in range(N)] == [200] * N
    assert "switched off" in crawl.log
