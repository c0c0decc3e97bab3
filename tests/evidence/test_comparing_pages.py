"""Comparison of pages to which a rule gives one form, on a planted blog."""

from dataclasses import replace

import pytest

from dedup_crawler.evidence.comparing import PageEvidence, Verdict
from dedup_crawler.evidence.digests import PageDigests
from dedup_crawler.methods import make_method
from site_of_pages import HOST, article, blog, page, titled, words

SAME, DIFFERENT, SILENT = Verdict.SAME, Verdict.DIFFERENT, Verdict.SILENT


def judged(pages, asked):
    """Return the verdicts on pairs of URLs, each pair a merge group of its own."""
    place = {each.url.removeprefix(HOST): number for number, each in enumerate(pages)}
    pairs = [(place[one], place[other]) for one, other in asked]
    return PageEvidence.of_pages(pages).judge(pairs, range(len(pairs)))


def replies(n=60):
    return [(f"/{number}/", f"/{number}/?reply={number}") for number in range(n)]


def test_what_is_systematic_for_a_rule_is_no_difference():
    """Every reply form names its author with unique words: that belongs to the form, not to the page."""
    assert set(judged(blog()[0], replies())) == {SAME}


@pytest.mark.parametrize("n_titles", [1, 3])
def test_titles_that_do_not_name_pages_do_not_matter(n_titles):
    """The site has one title for all pages, or three: reply forms are the same, other articles are not.

    Redirects and images have no title, and say nothing about titles.
    """
    pages, _ = blog()
    pages = [replace(each, title=f"The blog {n // 2 % n_titles}") for n, each in enumerate(pages)]
    pages += [page(f"/old/{n}", "", status=301, redirect_to=HOST + "/elsewhere/") for n in range(400)]

    assert set(judged(pages, replies())) == {SAME}
    assert set(judged(pages, [(f"/{n}/", f"/{n + n_titles}/") for n in range(20)])) == {DIFFERENT}
    assert max(PageDigests(pages).n_of_line.values()) == 60  # the menu is on sixty articles


def test_groups_that_are_known_to_be_the_same_make_a_line_rare():
    """Ten forms among a thousand other groups are no habit of the rule."""
    assert judged(blog()[0], [*replies()[:10], *[("/50/", "/50/")] * 1000])[:10] == [DIFFERENT] * 10


def test_another_article_is_different_among_a_thousand_that_are_not():
    """A page with words unlike those of any other group contradicts the rule."""
    pages, _ = blog()
    title, _ = article(7)
    pages[15] = page("/7/?reply=7", title, *article(1007)[1], "Leave a reply to Hanna")

    found = judged(pages, replies())
    assert found[7] is DIFFERENT
    assert found.count(SAME) == 59


def test_an_edited_line_is_different():
    """A long page with one different sentence is another version."""
    pages, _ = blog()
    title, lines = article(7, "Hanna wrote this")
    pages[15] = page("/7/?reply=7", title, *lines[:2], words(28, "edited"), *lines[3:], "Leave a reply to Hanna")

    assert judged(pages, replies())[7] is DIFFERENT


def test_days_that_only_one_of_two_orders_prints_are_no_difference():
    """A thread prints the day where it changes: in the order of replies more often than in the order of time."""
    pages, _ = blog()
    for thread in range(1, 29):
        title, lines = article(f"thread {thread}")
        again = [f"{thread} Oct"] * (thread % 7 == 0)
        pages += [page(f"/thread/{thread}", title, *lines, f"{thread} Oct", "30 Oct", *again)]
        pages += [page(f"/thread/{thread}?sort=date", title, *lines, f"{thread} Oct", "30 Oct")]
    asked = [(f"/thread/{thread}", f"/thread/{thread}?sort=date") for thread in range(1, 29)]

    assert set(judged(pages, asked)) == {SAME}


def moved(rest, to):
    return page(rest, "", redirect_to=HOST + to, status=301)


ASKED = [("/one", "/two")]


@pytest.mark.parametrize(
    ("more", "asked", "expected"),
    [
        # the line of a form is no habit without other groups
        ([], replies(1), [DIFFERENT]),
        # two empty lists have only the frame of the site in common
        ([page(f"/{tag}", f"Tagged {tag}", f"Tagged {tag}") for tag in ("one", "two")], ASKED, [SILENT]),
        # a page that prints its own URL, under either of two URLs
        ([page(f"/{name}", *titled("named"), f"Permalink: {name}") for name in ("one", "two")], ASKED, [Verdict.NAMED]),
        # a short page has little but its date: that is rare on the site, and both URLs show it
        (
            [page(f"/42{end}", "Change 42", "Nov 28, 2026", "Anna") for end in ("", "/src")],
            [("/42", "/42/src")],
            [SAME],
        ),
        # a redirect is compared as its target; it is silent if the target was not crawled, or is itself
        (
            [moved("/p=7", "/7/"), moved("/p=8", "/nowhere"), moved("/p=9", "/p=9")],
            [("/7/", "/p=7"), ("/8/", "/p=8"), ("/7/", "/8/"), ("/9/", "/p=9")],
            [SAME, SILENT, DIFFERENT, DIFFERENT],
        ),
        # an error page, a page without text, and a text file, if two labels differ
        *(
            ([page("/one", *titled("kind")), other], ASKED, [DIFFERENT])
            for other in (
                page("/two", *titled("kind"), "a little more", status=404),
                page("/two", titled("kind")[0]),
                page("/two", "", *titled("kind")[1:], "a little more"),
            )
        ),
        # a file of three words may be the same as another by chance; one with another text is different
        ([page(f"/{name}", "", "shop = shop:main") for name in ("one", "two")], ASKED, [SILENT]),
        ([page("/one", "", "shop = shop:main"), page("/two", "", "a = b:c")], ASKED, [DIFFERENT]),
    ],
)
def test_pages_beside_a_blog(more, asked, expected):
    """What a pair shows without the help of other groups."""
    assert judged([*blog()[0], *more], asked) == expected


@pytest.mark.parametrize("n_often", [4, 20])
def test_a_habit_shows_in_lines_that_many_pages_have(n_often):
    """
    A few people wrote most comments, so that many pages have the line that offers a reply to one of them, or so many
    that it belongs to the frame. The same line with a name that the site hardly knows is no difference, either.
    """
    pages, often, seldom = [], [f"{name}xcancel" for name in words(n_often, "often").split()], words(30, "no").split()
    for number in range(300):
        title, lines = article(number)
        pages.append(page(f"/{number}/", title, *lines))
        name = f"{seldom[number // 10]}xcancel" if number % 10 == 0 else often[number % n_often]
        pages.append(page(f"/{number}/?reply={number}", title, *lines, f"Leave a reply to {name} reply"))

    assert set(judged(pages, replies(300))) == {SAME}


def test_empty_lists_that_differ_in_their_names_are_silent():
    """
    Nobody has tagged anything yet. The tags' pages differ only in the tag, but the next one may have an entry. The
    log-in form of the same site has one title for all pages, and is one page.
    """
    tags = [words(2, f"tag {n}") for n in range(4)]
    empty = "There is nothing here, or you may not see any of what is here"
    pages = blog()[0]
    pages += [page(f"/tag/{tag.replace(' ', '%20')}", f"Tag {tag}", f"Tag {tag}", empty) for tag in tags]
    pages += [page(f"/login?to={n}", "Log in", "Please log in here with your name and password to go on") for n in "ab"]
    urls = [each.url.removeprefix(HOST) for each in pages]

    assert judged(pages, [(urls[120], urls[121]), ("/login?to=a", "/login?to=b")]) == [SILENT, SAME]


@pytest.mark.parametrize("status", [302, 404, 500])
def test_errors_and_redirects_teach_no_rule(status):
    """
    Each ticket answers with the same error, or leads to the same form, whatever its number: the server may recover, or
    let the crawler in. With status 200 the same pages teach that the number does not matter.
    """

    def learnt(status):
        target = HOST + "/login" if status == 302 else None
        pages = [*blog()[0], page("/login", "Log in", words(30, "oops"))]
        lines = () if target else (words(30, "oops"),)
        pages += [page(f"/ticket?id={n}", "Oops", *lines, status=status, redirect_to=target) for n in range(60)]
        labels = [*range(121), *[120 if target else 121] * 60]
        redirects = [each.redirect_to for each in pages]
        method = make_method("verified")
        method.fit([each.url for each in pages], labels, None, redirects, PageEvidence.of_pages(pages))
        return method.canonicalize(f"{HOST}/ticket?id=7")

    assert learnt(200) != f"{HOST}/ticket?id=7"
    assert learnt(status) == f"{HOST}/ticket?id=7"


def test_some_of_the_pages_are_asked_by_their_places():
    """The pages of one host of two are renumbered: its third page is the fifth of the crawl."""
    pages, place = blog(4)
    evidence = PageEvidence.of_pages(pages)
    some = evidence.of([place["/0/"], place["/1/"], place["/2/"]]).of([0, 2])

    assert some.judge([(0, 0), (0, 1)], [0, 1]) == [SAME, DIFFERENT]
    assert some.alike([5, 6]) == [0, 1]


def test_pages_that_are_much_alike_are_found():
    """The article is alike with another form; another article is not; clusters stay together."""
    pages, place = blog()
    alike = PageEvidence.of_pages(pages).alike(range(len(pages)))

    assert all(alike[place[one]] == alike[place[other]] for one, other in replies())
    assert len(set(alike)) == 60
    assert len(set(PageEvidence.of_pages(pages).alike([0] * len(pages)))) == 1


def test_a_crowd_of_addresses_is_one_title():
    """A hundred URLs of one page do not make its lines the frame of the site."""
    pages = [page(f"/login?to={n}", "Log in", "Please log in to go on") for n in range(100)]
    digests = PageDigests([*pages, *blog(5)[0]])

    assert digests.n_titles == 6
    assert max(digests.n_of_line.values()) == 6
    assert digests.n_of_word["please"] == 1


def test_evidence_teaches_what_labels_do_not_see():
    """Labels separate every article from its form; the pages together show that ``reply`` does not matter."""
    pages, _ = blog()
    urls = [each.url for each in pages]
    by_labels = make_method("verified").fit(urls, range(len(urls)))
    by_pages = make_method("verified").fit(urls, range(len(urls)), evidence=PageEvidence.of_pages(pages))

    assert by_labels.canonicalize(f"{HOST}/7/?reply=9") == f"{HOST}/7/?reply=9"
    assert by_pages.canonicalize(f"{HOST}/7/?reply=9") == f"{HOST}/7/"


def test_evidence_contradicts_as_well():
    """If every URL has its own article, nothing is learnt, with or without evidence."""
    pages = [page(f"/{n}/?id={k}", *titled(f"{n} {k}")) for n in range(30) for k in range(3)]
    method = make_method("verified").fit(
        [each.url for each in pages], range(len(pages)), evidence=PageEvidence.of_pages(pages)
    )

    assert method.learnt() == []


def test_what_all_pages_of_one_time_show_is_no_difference():
    """
    Two hundred articles were fetched, and then their forms. All pages show the latest comments, which change with every
    fifteenth page. The frame of the site does not have these lines, but the pages before and after do. A paragraph
    that only one form has stays a difference.
    """

    def column(place):
        return [words(5, f"{place // 15} {n}") for n in range(6)]

    pages = []
    for number in range(200):
        title, lines = article(number, *column(number))
        pages.append(page(f"/{number}/", title, *lines))
    for number in range(200):
        title, lines = article(number, *column(200 + number))
        more = [words(30, "more")] * (number == 77)
        pages.append(page(f"/{number}/?reply={number}", title, *lines, *more))

    found = judged(pages, replies(200))
    assert found[77] is DIFFERENT
    assert found.count(SAME) >= 190  # the last pages have no later ones
