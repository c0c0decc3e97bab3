"""Rules about links: referrer rules and coverage rules, on a planted forum."""

import random
from dataclasses import replace

import pytest

from dedup_crawler.rules.language.site_rules import Shapes, shape_text
from dedup_crawler.rules.learning.belief import RISKS, Belief
from dedup_crawler.rules.learning.site_learning import Links, learn_coverage_rules, learn_referrer_rules

HOST = "http://forum.example"


def in_order(met):
    urls = [HOST + path for _, path, _ in met]
    shapes = Shapes.learn(urls)
    place = {path: number for number, (_, path, _) in reversed(list(enumerate(met)))}
    referrers = [place.get(referrer, -1) for _, _, referrer in met]
    numbers = {page: number for number, page in enumerate(dict.fromkeys(page for page, _, _ in met))}
    return Links(
        forms=urls,
        pages=[numbers[page] for page, _, _ in met],
        referrers=[referrer if referrer < number else -1 for number, referrer in enumerate(referrers)],
        shapes=[shapes.of(url) for url in urls],
        targets=[None] * len(urls),
        linked=(),
        names_on=lambda page: None,
        of_link=lambda page, link: shapes.of_link(urls[page], urls[link]),
        evidence=None,
        errors={number for page, number in numbers.items() if str(page).startswith("error")},
    )


def forum(n_topics=300, post_shows=lambda topic, post: topic):
    """A start page, its topics, three posts linked from each: each post shows its topic."""
    start = [("start", "/", None)]
    topics = [(topic, f"/topic/{topic}", "/") for topic in range(n_topics)]
    posts = [
        (post_shows(topic, post), f"/post/{topic * 10 + post}", f"/topic/{topic}")
        for topic in range(n_topics)
        for post in range(3)
    ]
    return start, topics, posts


def mixed(start, topics, posts, seed=0):
    """Return the crawl in an order in which posts come soon after their topics."""
    draw = random.Random(seed)
    when = {path: draw.random() for _, path, _ in topics}
    rest = sorted([*topics, *posts], key=lambda visit: when.get(visit[1], when.get(visit[2], 0) + 0.05))
    return in_order([*start, *rest])


def referrer_rules(links, risk="balanced"):
    return [(shape_text(r.referrer), shape_text(r.shape)) for r in learn_referrer_rules(links, Belief(RISKS[risk]))]


def coverage_rules(links, risk="balanced"):
    return [shape_text(rule.shape) for rule in learn_coverage_rules(links, Belief(RISKS[risk]))]


def test_a_link_that_leads_to_its_own_page():
    """Posts redirect to the topic that they are linked from; pages that hold links are counted, not links."""
    links = mixed(*forum())
    (rule,) = learn_referrer_rules(links, Belief(RISKS["balanced"]))

    assert (shape_text(rule.referrer), shape_text(rule.shape)) == ("/topic/*", "/post/*")
    # one post happens to have the number of its topic: a link of another shape
    assert (rule.evidence.n_groups, rule.evidence.n_wrong, rule.n_urls) == (300, 0, 899)


def test_links_that_often_lead_elsewhere():
    """If one of five topics has a post that shows another topic, there is no rule."""
    assert referrer_rules(mixed(*forum(post_shows=lambda t, p: t + 1 if p == 0 and t % 5 == 0 else t))) == []


def test_a_page_of_very_many_wrong_links_is_not_one_contradiction():
    """A list with a thousand posts of other topics counts by its links."""
    start, topics, posts = forum(60)
    wrong = [(("other", n), f"/post/{10_000 + n}", "/topic/7") for n in range(1000)]

    assert referrer_rules(mixed(start, topics, posts)) != []
    assert referrer_rules(mixed(start, topics, [*posts, *wrong])) == []


def one_form(links):
    return replace(links, forms=["one form"] * len(links.forms))


def test_links_that_other_rules_explain():
    """Link and page already have one form. If the other rule turns out wrong, the rule about posts still holds."""
    posts = mixed(*forum())
    assert referrer_rules(posts) == referrer_rules(one_form(posts)) == [("/topic/*", "/post/*")]


def lists(n_lists=40, is_long=lambda n: n % 2, shows_page=lambda n, order: order if n % 2 else "any"):
    """Lists that link themselves in another order; a long one also links its second page."""
    met = [("start", "/", None)]
    for n in range(n_lists):
        path = f"/list?tag=t{n}"
        met.append(((n, "any"), path, "/"))
        met.append(((n, shows_page(n, "by date")), f"{path}&order=date", path))
    links = in_order(met)
    names = {1 + 2 * n: frozenset({"tag", "order", *["page"][: is_long(n)]}) for n in range(n_lists)}
    return replace(links, names_on=names.get)


def test_links_to_sort_a_list_that_fits_on_one_page():
    """Another order shows the same entries, unless the list has further pages: its links tell."""
    (rule,) = learn_referrer_rules(lists(), Belief(RISKS["balanced"]))

    assert (shape_text(rule.referrer), shape_text(rule.shape)) == ("/list?tag==", "/list?order=date&tag==")
    assert (rule.unless, rule.evidence.n_groups, rule.evidence.n_wrong) == ("page", 20, 0)


def test_lists_that_their_links_do_not_tell_apart():
    """No rule if some of the short lists differ, if the links of the pages were not read, or if all lists are short."""
    assert referrer_rules(lists(shows_page=lambda n, order: order if n % 3 else "any")) == []
    assert referrer_rules(replace(lists(), names_on=lambda page: None)) == []
    assert referrer_rules(lists(is_long=lambda n: 0, shows_page=lambda n, order: "any")) == []


@pytest.mark.parametrize(("n_long", "is_learnt"), [(2, True), (20, True), (24, False)])
def test_links_that_mostly_lead_elsewhere_are_another_view(n_long, is_learnt):
    """The form for a review shows what the page of a product shows, unless that has reviews: no order of a list."""
    links = lists(is_long=lambda n: n < n_long, shows_page=lambda n, order: order if n < n_long else "any")

    assert [rule.unless for rule in learn_referrer_rules(links, Belief(RISKS["balanced"]))] == ["page"] * is_learnt


def test_links_that_name_nothing():
    """Tabs of topics have one of few values, about which a rule about single URLs says as much."""
    tabs = [(topic, f"{path}?tab=all", path) for topic, path, _ in forum()[1]]
    assert referrer_rules(in_order([*forum()[0], *forum()[1], *tabs])) == []


def test_a_name_that_stands_elsewhere_in_the_other_url():
    """A wiki links the permanent address of each article, and of other articles beside every third one."""
    crawl = [("start", "/", None)]
    for number in range(300):
        page = f"/wiki/Article_{number}"
        crawl += [(number, page, "/"), (number, f"/show?title=Article_{number}&rev={number + 7}", page)]
        if number % 3 == 0:
            crawl.append((("old", number), f"/show?title=Other_{number}&rev={number + 5000}", page))

    assert referrer_rules(in_order(crawl)) == [("/wiki/=", "/show?rev=*&title==")]


def test_a_number_that_stands_elsewhere_is_chance():
    """One post of each page has the number of that page: it is a post like the others."""
    start, topics, _ = forum()
    topics = [(topic, f"{path}?page={topic % 12 + 1}", "/") for topic, path, _ in topics]
    posts = [(topic, f"/post/{topic}/{n + 1}", page) for topic, page, _ in topics for n in range(12)]

    (rule,) = learn_referrer_rules(in_order([*start, *topics, *posts]), Belief(RISKS["balanced"]))
    assert (shape_text(rule.referrer), shape_text(rule.shape)) == ("/topic/=?page=*", "/post/=/*")
    assert rule.n_urls == len(posts)


def test_links_that_a_sample_of_pages_holds_are_evidence():
    """The crawl found all posts on a list. The pages of the topics link them as well."""
    start, topics, posts = forum()
    links = mixed(start, topics, [(topic, path, "/") for topic, path, _ in posts])
    place = {path: number for number, path in enumerate(links.forms)}
    linked = {(place[HOST + topic], place[HOST + path]) for _, path, topic in posts}

    assert ("/topic/*", "/post/*") not in referrer_rules(links)
    assert ("/topic/*", "/post/*") in referrer_rules(replace(links, linked=linked))


class SmallDifferences:
    """Judges pages by their text, as evidence does: small differences that a rule always makes are none."""

    def judge(self, pairs, groups):
        """Take all pairs for one page."""
        return [1 for _ in pairs]


def test_small_differences_count_for_links_of_few_values_only():
    """
    No two pages have the same text. Those of posts differ in little from their topic ("answer 7 is highlighted"), and
    are taken for it. A tab with the same small difference may be all that the value changes.
    """
    start, topics, posts = forum()
    own = [((path,), path, topic) for _, path, topic in posts]
    tabs = [((path, "tab"), f"{path}?tab=all", path) for _, path, _ in topics]
    links = in_order([*start, *topics, *own, *tabs])

    assert referrer_rules(links) == []
    judged = referrer_rules(replace(links, evidence=SmallDifferences()))
    assert judged == [("/topic/*", "/post/*")]


def test_a_template_that_shows_nothing_of_its_own_is_covered():
    """Every page of a post is that of a topic, found under its own URL."""
    assert coverage_rules(mixed(*forum())) == ["/post/*"]


def test_errors_behind_a_template_are_no_pages_that_it_shows():
    """Posts that were deleted answer with errors of their own: no page is lost with them, and they prove nothing."""
    start, topics, posts = forum(400)
    gone = [(f"error {path}" if n % 10 == 0 else page, path, r) for n, (page, path, r) in enumerate(posts)]
    assert coverage_rules(mixed(start, topics, gone)) == ["/post/*"]

    all_gone = [(f"error {path}", path, r) for _, path, r in posts]
    assert coverage_rules(mixed(start, topics, all_gone)) == []


@pytest.mark.parametrize(("every", "expected"), [(50, []), (10_000, ["/post/*"])])
def test_one_page_in_fifty_is_too_many(every, expected):
    """A wrong coverage rule loses a whole class of pages: 2 % alone are more than the bound allows."""
    start, topics, posts = forum(400)
    posts = [
        (("alone", path) if n % (3 * every) == 0 and n else page, path, r) for n, (page, path, r) in enumerate(posts)
    ]

    assert coverage_rules(mixed(start, topics, posts)) == expected


def test_what_covers_a_template_is_not_skipped_itself():
    """Two templates show the same pages: one of them stays."""
    start, topics, posts = forum(300)
    again = [(page, path.replace("/topic/", "/thread/"), "/") for page, path, _ in topics]

    assert sorted(coverage_rules(mixed(start, [*topics, *again], []))) in (["/thread/*"], ["/topic/*"])
    assert len(coverage_rules(mixed(start, [*topics, *again], posts))) == 2


def test_young_pages_need_not_have_been_reached_both_ways():
    """Posts at the end of the crawl, with topics not seen yet, do not contradict the rule.

    A template of the second half only is skipped if all of its pages are shown elsewhere.
    """
    start, topics, posts = forum(300)
    young = [(("young", n), f"/post/{10_000 + n}", "/topic/7") for n in range(60)]
    filler = [(("member", n), f"/member/{n}", "/") for n in range(1300)]

    old = mixed(start, topics, posts)
    assert coverage_rules(old) == ["/post/*"]
    met = list(zip(old.pages, [url.removeprefix(HOST) for url in old.forms], [None] * len(old.forms), strict=True))
    paths = [path for _, path, _ in met]
    met = [(p, path, paths[r] if r >= 0 else None) for (p, path, _), r in zip(met, old.referrers, strict=True)]
    assert coverage_rules(in_order([*met, *filler, *young])) == ["/post/*"]
    assert coverage_rules(in_order([*met[:1], *young, *met[1:], *filler])) == []
    assert coverage_rules(in_order([*start, *topics, *filler, *posts])) == ["/post/*"]
    assert coverage_rules(in_order([*start, *topics, *filler, *posts, *young])) == []


def test_a_template_that_other_pages_are_found_behind_is_never_skipped():
    """If attachments are linked on posts alone, a crawl without posts does not find them.

    If they are linked on topics as well, posts may be skipped.
    """
    start, topics, posts = forum(300)
    files = [(("file", path), path.replace("/post/", "/file/"), path) for _, path, _ in posts]
    elsewhere = [(("file", n), f"/attached/{n}", f"/topic/{n}") for n in range(300)]

    assert "/post/*" in coverage_rules(crawl_in_tree(start, topics, posts, elsewhere))
    assert "/post/*" not in coverage_rules(crawl_in_tree(start, topics, posts, files))


def crawl_in_tree(start, topics, posts, files):
    """Return each topic with its posts and their files, one after the other."""
    behind = {}
    for visit in [*posts, *files]:
        behind.setdefault(visit[2], []).append(visit)
    met = list(start)
    for topic in random.Random(0).sample(topics, len(topics)):
        met.append(topic)
        for visit in behind.get(topic[1], []):
            met += [visit, *behind.get(visit[1], [])]
    return in_order(met)


def test_without_referrers_nothing_is_said_of_coverage():
    """Without referrers it is unknown which pages are found through a template, so none may be skipped."""
    links = mixed(*forum())
    unknown = replace(links, referrers=[-1] * len(links.forms))

    assert coverage_rules(unknown) == []
    assert referrer_rules(unknown) == []


def test_a_link_from_an_unknown_page_is_no_way_to_a_page():
    """Attachments with unknown referrers do not count as reached otherwise."""
    start, topics, posts = forum(300)
    files = [(("file", path), path.replace("/post/", "/file/"), path) for _, path, _ in posts]
    links = crawl_in_tree(start, topics, posts, files)
    draw = random.Random(1)
    met = zip(links.forms, links.referrers, strict=True)
    forgotten = [-1 if "/file/" in form and draw.random() < 0.6 else referrer for form, referrer in met]

    assert "/post/*" not in coverage_rules(replace(links, referrers=forgotten))


def test_a_redirect_into_a_template_is_no_other_way_to_its_pages():
    """
    Each item is also linked as /old/N, which redirects to it: the alias may be skipped, the items may not, for any
    number of links to both.
    """
    items = [(item, f"/item/{item}", "/") for item in range(300)]
    aliases = [(item, f"/old/{item}", "/") for item in range(300)]
    links = in_order([("start", "/", None), *(visit for both in zip(items, aliases, strict=True) for visit in both)])
    assert coverage_rules(links) == ["/item/*"]  # as long as the redirect is unknown
    item_shape = links.shapes[1]
    redirected = [(item_shape, url.replace("/old/", "/item/")) if "/old/" in url else None for url in links.forms]
    assert coverage_rules(replace(links, targets=redirected)) == ["/old/*"]
