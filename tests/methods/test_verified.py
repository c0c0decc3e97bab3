"""Our own method as a whole: what it learns, explains, saves and refuses."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dedup_crawler.errors import BadInputError, NotFittedError
from dedup_crawler.evaluation.quality import read_truth
from dedup_crawler.evaluation.simulated_crawl import crawl_on, replay
from dedup_crawler.methods import Referrer, load_model, make_method
from dedup_crawler.methods.verified import Verified
from dedup_crawler.urls.normal import normal_form
from planted_forum import HOST, LinkedCrawl, forum
from planted_site import session_ids
from planted_visits import numbered, question_site, shuffled
from repository import SITES
from url_strategies import urls as any_urls

CRAWL = session_ids(n_pages=120)


def fitted(crawl, risk="balanced"):
    return Verified(risk=risk).fit(
        crawl.urls, crawl.clusters, getattr(crawl, "referrers", None), getattr(crawl, "redirects", None)
    )


@pytest.fixture(scope="module")
def sessions():
    """A method fitted on session ids."""
    return fitted(CRAWL)


@pytest.fixture(scope="module")
def posts():
    """A method fitted on a forum whose posts are not covered."""
    return fitted(forum(with_alone=True))


@pytest.fixture(scope="module")
def covered():
    """A method fitted on a forum whose posts are covered."""
    return fitted(forum())


def test_a_query_name_that_was_not_learnt_with_leaves_the_url_alone(sessions):
    """With it, what rules change may mean something else: diff=2 compares with the oldid that a page drops."""
    url = f"{HOST}/topic.php?t=107&sid=00c0ffee&new=1"

    assert sessions.canonicalize(f"{HOST}/topic.php?t=107&sid=00c0ffee") == f"{HOST}/topic.php?t=107"
    assert sessions.canonicalize(url) == url
    assert "left alone" in sessions.explain(url).reason


def test_a_link_that_shows_its_own_page(posts):
    """A post on a topic is that topic; elsewhere, or without a referrer, it stays itself."""
    topic = f"{HOST}/topic/7777"
    on_topic = Referrer(topic, posts.canonicalize(topic))
    post = f"{HOST}/post/123456"

    assert posts.canonicalize(post, on_topic) == topic
    assert posts.canonicalize(post) == posts.canonicalize(post, Referrer(f"{HOST}/", f"{HOST}/")) == post
    assert posts.explain(post, on_topic).form == topic
    assert posts.explain(post, on_topic).reason.startswith("a link to /post/* on /topic/* leads back to that page: ")
    assert posts.explain(post).form == post
    assert not posts.is_covered(post)


def test_a_link_on_a_page_of_another_host(posts):
    """A referrer on another host has no effect, even with the shape of a topic: rules never cross hosts."""
    post, topic = f"{HOST}/post/123456", Referrer("http://other.example/topic/7777", "http://other.example/topic/7777")

    assert (posts.canonicalize(post, topic), posts.fired(post, topic)) == (post, ())
    assert posts.explain(post, topic).form == post


def test_referrers_need_not_be_in_normal_form():
    """A crawl with links in their published spelling teaches the same."""
    crawl = forum(with_alone=True)
    crawl.referrers = [
        each and each.replace("http://forum", "HTTP://Forum").replace("topic", "%74opic") for each in crawl.referrers
    ]

    assert fitted(crawl).quality_["referrer_rules"] == 1


def test_a_template_that_is_covered(covered):
    """The reason is about the URL, not its form, and names the evidence."""
    post = f"{HOST}/post/123456"

    assert covered.is_covered(post)
    assert not covered.is_covered(f"{HOST}/topic/7777")
    assert covered.canonicalize(post) == post
    assert "shows only pages that other URLs show" in covered.explain(post).reason
    assert not covered.is_covered(f"{post}?new=1")


def test_without_referrers_no_template_is_covered():
    """Without referrers it is unknown which pages are found through posts."""
    crawl = forum()

    assert Verified().fit(crawl.urls, crawl.clusters).quality_["coverage_rules"] == 0


def test_a_redirect_to_where_nobody_went_is_no_evidence():
    """Posts without crawled targets are unknown pages: rules are neither confirmed nor contradicted.

    The form of the target is the page of the redirect.
    """
    crawl = LinkedCrawl()
    for url, page, referrer, target in zip(*vars(forum(with_alone=True)).values(), strict=True):
        crawl.add(url, page if target is None else 10**7 + len(crawl.urls), referrer, target and f"{target}?page=1")
    unresolved = fitted(crawl)
    for topic in range(1000, 1050):
        crawl.add(f"{HOST}/topic/{topic}", topic, f"{HOST}/")
        crawl.add(f"{HOST}/topic/{topic}?page=1", topic, f"{HOST}/")
    resolved = fitted(crawl)

    assert (unresolved.quality_["rules"], unresolved.quality_["referrer_rules"]) == (0, 0)
    assert resolved.canonicalize(f"{HOST}/topic/9999?page=1") == f"{HOST}/topic/9999"
    on_topic = Referrer(f"{HOST}/topic/9999", f"{HOST}/topic/9999")
    assert resolved.canonicalize(f"{HOST}/post/123456", on_topic) == f"{HOST}/topic/9999"


def test_where_the_order_of_the_query_matters_it_is_kept():
    """Two orders, two pages: rules only apply to sorted queries."""
    visits = [((a, b, order), f"/?{'&'.join(order)}") for a in range(6) for b in range(6) for order in orders(a, b)]
    urls, pages = numbered(shuffled(visits))
    method = Verified().fit(urls, pages)
    unsorted = urls[0].partition("?")[0] + "?b=3&a=4"

    assert method.canonicalize(unsorted) == unsorted
    assert method.explain(unsorted).form == unsorted
    assert "order" in method.explain(unsorted).reason


def orders(a, b):
    return (f"a={a}", f"b={b}"), (f"b={b}", f"a={a}")


def test_a_site_without_duplicates_teaches_nothing():
    """Every URL is a page: no rule of any kind, every URL its own form, and no explanation."""
    urls = [f"{HOST}/topic/{n}?page={page}&sort=a" for n in range(100) for page in (1, 2)] + [
        f"{HOST}/{n}" for n in range(50)
    ]
    method = Verified().fit(urls, range(len(urls)), [None] + urls[:1] * (len(urls) - 1))

    assert method.n_learnt() == 0
    assert method.learnt() == []
    assert len(set(method.canonicalize_many(urls))) == len(urls)
    assert not any(map(method.is_covered, urls))


@pytest.mark.parametrize("seed", range(3))
def test_shuffled_pages_teach_nothing(seed):
    """The planted forum with shuffled pages: neither rules nor links."""
    crawl = forum(seed=seed)
    random.Random(seed).shuffle(crawl.clusters)
    crawl.redirects = [None] * len(crawl.urls)

    assert fitted(crawl).n_learnt() == 0


def test_what_was_learnt_is_told_in_sentences(sessions, posts, covered):
    """One line per rule, of each kind, with its evidence."""
    assert len(sessions.learnt()) == sessions.n_learnt() == 1
    assert sessions.learnt()[0].startswith("drop `sid` anywhere: ")
    (learnt,) = posts.learnt()
    assert learnt.startswith("a link to /post/* on /topic/* leads back to that page: ")
    assert "/post/* shows only pages that other URLs show" in [line.partition(":")[0] for line in covered.learnt()]
    assert "drop `sid`" in sessions.explain(f"{HOST}/topic.php?t=1&sid=2").reason


@pytest.mark.parametrize("name", ["sessions", "posts", "covered"])
def test_a_saved_model_says_the_same(name, request, tmp_path):
    """Forms, coverage, referrers, explanations and sentences equal those of the saved model."""
    method = request.getfixturevalue(name)
    loaded = load_model(method.save(tmp_path / "model"))
    on_topic = Referrer(f"{HOST}/topic/7777", f"{HOST}/topic/7777")

    assert loaded.learnt() == method.learnt()
    for rest in ("/post/123456", "/topic/7?sid=1", "/topic.php?sid=2&t=9", "/?new=1", "/%ff"):
        url = HOST + rest
        assert loaded.canonicalize(url, on_topic) == method.canonicalize(url, on_topic)
        assert loaded.is_covered(url) == method.is_covered(url)
        assert loaded.explain(url, on_topic) == method.explain(url, on_topic)


def test_an_unknown_risk_and_a_question_before_fitting():
    """The error names the value and those that are known, or the way out."""
    with pytest.raises(NotFittedError, match="call fit"):
        Verified().explain(f"{HOST}/post/7", Referrer(f"{HOST}/topic/1", f"{HOST}/topic/1"))
    with pytest.raises(BadInputError, match=r"risk = 'bold' is not known; choose one of safe, balanced, eager\."):
        Verified(risk="bold").fit([f"{HOST}/"], [0])


def test_the_more_risk_the_more_is_learnt():
    """Eight groups confirm a rule for an eager profile, but not for a careful one."""
    crawl = session_ids(n_pages=8)

    assert fitted(crawl, "safe").n_learnt() == 0
    assert fitted(crawl, "eager").n_learnt() == 1


@settings(max_examples=60)
@given(st.lists(any_urls, min_size=1, max_size=12), st.lists(any_urls, max_size=3))
def test_any_strings_can_be_learnt_from(urls, others):
    """For any strings: fit, forms and explanations never raise, and a form is its own form."""
    method = Verified().fit(urls, range(len(urls)), urls[1:] + urls[:1], urls[::-1])
    for url in urls + others:
        form = method.canonicalize(url, Referrer(urls[0], urls[0]))
        assert method.canonicalize(form) == form
        assert method.explain(url).form == method.canonicalize(url)
        assert method.is_covered(url) in (True, False)


def test_a_crawl_goes_on_through_links():
    """Posts of new topics are recognized by their referrer; topics are fetched, no page is lost."""
    earlier, later = forum(with_alone=True), forum(100, first=1000, with_alone=True, seed=1)
    method = fitted(earlier)
    outcome = crawl_on(
        method,
        later.urls[1:],
        later.referrers[1:],
        [page + 10**7 for page in later.clusters[1:]],
        crawled_urls=earlier.urls,
        crawled_clusters=set(earlier.clusters),
    )

    assert (outcome.n_lost, outcome.saved) == (0, 1.0)
    assert normal_form(later.urls[1]) == later.urls[1]


def new_templates(seed, name, n_questions=600):
    """A site of questions with new histories, timelines and tabs: outcome and losses."""
    training, test = question_site(n_questions, seed), question_site(200, seed + 10, first=2000, with_new=True)
    urls, pages = numbered(training + test)
    n = len(training)
    forms = make_method(name).fit(urls[:n], pages[:n]).canonicalize_many(urls[n:])
    first_of_form = {forms[place]: pages[n + place] for place in reversed(range(len(forms)))}
    kept = set(first_of_form.values())
    return replay(forms, pages[n:]), [url for url, page in zip(urls[n:], pages[n:], strict=True) if page not in kept]


@pytest.mark.parametrize(("seed", "most_lost"), [(0, 2), (1, 20)])
def test_templates_that_appear_after_training(seed, most_lost):
    """It saves fetches, and leaves untested sections and new keys alone: ``/questions/17/history`` is no title.

    Losses are only at the place of a title of the same question.
    """
    outcome, lost = new_templates(seed, "verified")

    assert outcome.f1 > new_templates(seed, "keep-all")[0].f1 + 0.02
    assert outcome.saved > 0.9
    assert outcome.n_lost <= most_lost
    assert {url.split("/")[3] for url in lost} <= {"questions", "q"}


def test_names_that_many_users_share_do_not_make_titles_common():
    """More questions, more users: shared words at the place of names stay, unique titles are still titles."""
    assert new_templates(0, "verified", n_questions=1000)[0].n_lost <= 2


@pytest.mark.skipif(not SITES.exists(), reason=f"needs the recorded sites in {SITES}")
@pytest.mark.parametrize(("site", "saved"), [("forum", 0.01), ("dokuwiki", 0.7), ("ftp", 0.7), ("shop", 0.5)])
def test_a_recorded_site_loses_hardly_anything(site, saved):
    """Rules alone, from URLs and true pages: at most 3 of 1,000 needed pages of the last quarter are lost.

    The forum's posts need link rules; a truth has no links.
    """
    truth = read_truth(SITES / site / "truth.csv.gz")
    urls, pages = list(truth), list(truth.values())
    numbers = {page: number for number, page in enumerate(dict.fromkeys(pages))}
    n = round(0.75 * len(urls))
    method = Verified().fit(urls[:n], [numbers[page] for page in pages[:n]])
    no_links = [None] * (len(urls) - n)
    outcome = crawl_on(method, urls[n:], no_links, pages[n:], crawled_urls=urls[:n], crawled_clusters=set(pages[:n]))

    assert outcome.n_lost <= 0.003 * outcome.n_needed
    assert outcome.saved >= saved
    assert method.quality_["coverage_rules"] == method.quality_["referrer_rules"] == 0


def test_the_explanation_is_that_of_the_form():
    """A link with an unknown query key is not its referrer's page, and the reason does not claim it."""
    crawl = forum()
    method = fitted(crawl)
    topic, post = next((r, u) for u, r in zip(crawl.urls, crawl.referrers, strict=True) if "/post/" in u)
    referrer = Referrer(topic, method.canonicalize(topic))

    for url in (post, f"{post}?unknown=1"):
        assert method.explain(url, referrer).form == method.canonicalize(url, referrer)
