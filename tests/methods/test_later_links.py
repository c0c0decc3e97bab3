"""Links that lead back to a page which the crawl fetches after it has queued them, in a crawl over real HTTP.

The posts of a topic are linked on the pages of their authors first. Only the page of the topic, which is fetched while
they wait in the queue, tells that they lead back to it.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from dedup_crawler.methods import Referrer, make_method
from dedup_crawler.methods.wrapped import without
from dedup_crawler.urls.page_links import MAX_KNOWN, MAX_PAGES, LinkedOn
from faulty_site import SLOWLY, status, text
from live_site import Site, walk

if TYPE_CHECKING:
    from collections.abc import Callable

N_TOPICS = 40
POSTS = 4


def post(topic: int, n: int) -> str:
    return f"/post/{1000 + topic * POSTS + n}"


def forum_model(folder: Path, host: str) -> Path:
    """A model that knows: a link to /post/* on /topic/* leads back; posts linked elsewhere may show other pages."""
    urls, pages, referrers = [f"http://{host}/"], [0], [None]
    for topic in range(60):
        place = f"http://{host}/topic/{topic}"
        urls.append(place)
        pages.append(1 + topic)
        referrers.append(urls[0])
        for n in range(3):
            urls.append(f"http://{host}/post/{10_000 + 3 * topic + n}")
            pages.append(1 + topic)
            referrers.append(place)
    for author in range(30):
        urls += [f"http://{host}/author/{author}", f"http://{host}/post/{20_000 + author}"]
        pages += [1000 + author, 2000 + author]
        referrers += [urls[0], f"http://{host}/author/{author}"]
    model = make_method("verified").fit(urls, pages, referrers)
    told = "\n".join(model.learnt())
    assert "a link to /post/* on /topic/* leads back" in told
    assert "shows only pages" not in told
    return Path(model.save(folder))


def build(site: Site, shows: Callable[[int, int], str]) -> None:
    """The start page links authors, then topics; *shows* names the page that a post of a topic shows."""
    topics, authors = [f"/topic/{t}" for t in range(N_TOPICS)], [f"/author/{a}" for a in range(POSTS)]
    site.page("/", *authors, *topics)
    for n, author in enumerate(authors):
        site.page(author, *[post(t, n) for t in range(N_TOPICS)], html=text(author))
    for t, topic in enumerate(topics):
        links = [post(t, n) for n in range(POSTS)]
        site.page(topic, *links, html=text(topic))
        for n in range(POSTS):
            site.page(post(t, n), *links, html=text(shows(t, n)))


@pytest.mark.parametrize("is_resumable", [False, True])
def test_queued_links_that_lead_back_to_a_later_page_are_not_fetched(tmp_path: Path, is_resumable: bool):
    """All posts are queued before their topics are fetched. Only tests fetch posts, and each topic is reached."""
    with Site() as site:
        build(site, lambda topic, n: f"/topic/{topic}")
        model = forum_model(tmp_path / "model", site.host)
        jobs = {"JOBDIR": tmp_path / "job"} if is_resumable else {}
        crawl = walk(site, tmp_path, DEDUP_MODEL=model, DEDUP_EXPLORATION="0.02", **SLOWLY, **jobs)
    fetched = sum(site.count(post(t, n)) for t in range(N_TOPICS) for n in range(POSTS))
    assert [status(crawl, f"/topic/{t}") for t in range(N_TOPICS)] == [200] * N_TOPICS
    assert 0 < fetched < N_TOPICS * POSTS / 2
    assert "dedup/explored/disagree" not in crawl.stats
    stats = {name: crawl.stats.get(f"dedup/request/{name}", 0) for name in ("processed", "kept", "dropped", "explored")}
    assert stats["processed"] == stats["kept"] + stats["dropped"] + stats["explored"]


@pytest.mark.parametrize("is_resumable", [False, True])
@pytest.mark.parametrize("exploration", ["0.5", "0.02"])
def test_links_dropped_from_the_queue_are_fetched_if_their_rule_was_wrong(
    tmp_path: Path, exploration: str, is_resumable: bool
):
    """In the second half of the topics each post has its own page. The rule is switched off, and all are fetched."""
    with Site() as site:
        build(site, lambda topic, n: f"/topic/{topic}" if topic < N_TOPICS / 2 else post(topic, n))
        model = forum_model(tmp_path / "model", site.host)
        jobs = {"JOBDIR": tmp_path / "job"} if is_resumable else {}
        crawl = walk(site, tmp_path, DEDUP_MODEL=model, DEDUP_EXPLORATION=exploration, **SLOWLY, **jobs)
    own = [post(t, n) for t in range(N_TOPICS // 2, N_TOPICS) for n in range(POSTS)]
    assert [status(crawl, path) for path in own] == [200] * len(own)
    assert [status(crawl, f"/topic/{t}") for t in range(N_TOPICS)] == [200] * N_TOPICS
    assert "switched off" in crawl.log


def test_a_topic_that_fails_does_not_take_its_posts_along(tmp_path: Path):
    """Nothing was seen on the page of the topic, so its posts are fetched."""
    with Site() as site:
        build(site, lambda topic, n: f"/topic/{topic}")
        site.page("/topic/3", status=500)
        model = forum_model(tmp_path / "model", site.host)
        crawl = walk(site, tmp_path, DEDUP_MODEL=model, DEDUP_EXPLORATION="0.02", **SLOWLY)
    assert sum(status(crawl, post(3, n)) == 200 for n in range(POSTS)) == POSTS


def test_the_first_pages_of_each_link_are_known_and_memory_is_bounded():
    """A link in the menu of all pages keeps the first ones; the oldest links are forgotten."""
    known = LinkedOn()
    menu = [f"http://a.example/{n}" for n in range(50)]
    for page in menu:
        known.saw(["http://a.example/menu"], page)
    assert list(known.pages("http://a.example/menu")) == menu[:MAX_PAGES]
    assert list(known.pages("http://a.example/start")) == []

    known.saw([f"http://a.example/{n}" for n in range(MAX_KNOWN)], "http://a.example/")
    assert list(known.pages("http://a.example/menu")) == []
    assert list(known.pages(f"http://a.example/{MAX_KNOWN - 1}")) == ["http://a.example/"]


def test_the_target_of_a_redirect_is_no_link_on_the_page(tmp_path: Path):
    """Each topic links to an archive, which redirects to a post with a page of its own. All of these are reached."""
    with Site() as site:
        build(site, lambda topic, n: f"/topic/{topic}")
        for t in range(N_TOPICS):
            for path in (f"/topic/{t}", *[post(t, n) for n in range(POSTS)]):
                site.page(path, *[post(t, n) for n in range(POSTS)], f"/archive/{t}", html=text(f"/topic/{t}"))
            site.redirect(f"/archive/{t}", f"/post/{9000 + t}")
            site.page(f"/post/{9000 + t}", html=text(f"/post/{9000 + t}"))
        model = forum_model(tmp_path / "model", site.host)
        crawl = walk(site, tmp_path, DEDUP_MODEL=model, DEDUP_EXPLORATION="0.02", **SLOWLY)
    assert all(site.count(f"/post/{9000 + t}") for t in range(N_TOPICS))
    assert "dedup/explored/disagree" not in crawl.stats


def test_a_referrer_rule_stays_when_the_rule_that_explains_its_links_is_switched_off():
    """Posts lose their `post`, by a rule of all sections. Without it only links on their topics lead to these."""
    host = "http://forum.example"
    urls, pages, referrers = [f"{host}/"], [0], [None]
    for topic in range(60):
        place = f"{host}/topic/{topic}"
        urls += [place, *(f"{place}?post={3 * topic + n}" for n in range(3))]
        pages += [1 + topic] * 4
        referrers += [urls[0], *[place] * 3]
    model = make_method("verified").fit(urls, pages, referrers)
    (drop,) = [rule for rule, said in model.rule_sentences().items() if said.startswith("drop `post`")]
    link, page = f"{host}/topic/500?post=7", f"{host}/topic/500"
    assert model.canonicalize(link) == page

    rest = without(model, {drop})
    assert rest.canonicalize(link) == link
    assert rest.canonicalize(link, Referrer(page, page)) == page
    assert rest.leads_back_to(link, [f"{host}/", page]) == page
    assert rest.leads_back_to(link, [f"{host}/", f"{host}/topic/501"]) is None
