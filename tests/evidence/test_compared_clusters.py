"""Labels of pages that differ by something small and systematic, on a planted blog."""

from dataclasses import replace

import pytest

from dedup_crawler.evidence.comparing import PageEvidence
from dedup_crawler.evidence.labelling import compared_clusters
from dedup_crawler.labels.clusters import cluster_labelled
from site_of_pages import HOST, NAMES, article, page, words


def answered(number):
    """Return the heading of a reply form."""
    return f"Leave a reply to {NAMES[number % 10]} {NAMES[number // 10]}"


def blog(heading=answered, *, n=60, n_lines=3, is_same=lambda _: True):
    """Return articles with forms that have a heading; forms show the article that is the same, or another text."""
    pages = []
    for number in range(n):
        title, lines = article(number, f"{NAMES[number % 10]} wrote this")
        shown = lines[:n_lines] if is_same(number) else article(1000 + number)[1]
        pages.append(page(f"/{number}/", title, *lines[:n_lines], "Leave a reply to all"))
        pages.append(page(f"/{number}/?reply={1000 + number}", title, *shown, heading(number)))
    return pages


def joined(pages):
    """Return the numbers of the articles whose form has the label of the article."""
    clusters = compared_clusters(lambda: pages).numbers()
    return [place // 2 for place in range(0, len(pages), 2) if clusters[place] == clusters[place + 1]]


def test_forms_with_a_heading_of_their_own_are_labelled_as_their_article():
    """The text alone tells all forms from their articles: "Leave a reply to Anna" stands on the forms alone."""
    pages = blog()
    assert len(set(cluster_labelled(pages))) == 120
    assert joined(pages) == [*range(60)]


def test_labels_of_other_evidence_are_the_same():
    """The evidence that a method learns from is used again, and gives the same labels."""
    pages = blog()
    given = compared_clusters(lambda: pages, PageEvidence.of_pages(pages)).numbers()
    assert given == compared_clusters(lambda: pages).numbers()


@pytest.mark.parametrize(("n_same", "found"), [(30, 30), (20, 0)])
def test_pairs_of_a_key_that_often_does_not_matter_are_joined(n_same, found):
    """Of sixty forms, some show another text: the others are joined if they are two in five or more."""
    assert joined(blog(is_same=lambda number: number < n_same)) == [*range(found)]


def two_of_each(make):
    """Two pages of each of sixty articles, made of its number, title and lines."""
    return [made for number in range(60) for made in make(number, *article(number))]


@pytest.mark.parametrize(
    "pages",
    [
        # each form has a word that stands nowhere else: a rule may excuse that, a label does not
        blog(lambda number: f"Leave a reply to {words(1, f'form {number}')}"),
        # articles of one line of thirty words, and a heading that differs: too little to be sure
        blog(n_lines=1),
        # two forms of each article show which answer they are about: that may be all that they are there for
        two_of_each(
            lambda number, title, lines: [
                page(f"/{number}/?reply={each}", title, *lines, f"Answer {each}")
                for each in (1000 + number, 2000 + number)
            ]
        ),
        # two colours of a product have one title and one text, but each page prints the colour of its own URL
        two_of_each(
            lambda number, title, lines: [
                page(f"/{NAMES[number % 10]}-{number}-{colour}", title, *lines, f"Colour: {colour}")
                for colour in ("white", "black")
            ]
        ),
    ],
    ids=["new words", "hardly a common word", "forms that print their URL", "colours"],
)
def test_doubt_joins_nothing(pages):
    """A rule may be believed in spite of it; a label may not."""
    assert not joined(pages)


def test_the_reason_names_the_rule():
    """The user who asks why two pages have one label reads which URLs led to the comparison."""
    pages = blog()
    (step,) = compared_clusters(lambda: pages).explain(0, 1)
    assert step.reason.startswith("nothing of their own differs; proposed by the rule: blog.example:")
    assert "query[reply]" in step.reason


def test_labels_of_nothing_and_of_strange_urls():
    """An empty crawl and URLs without a host have labels as well."""
    assert compared_clusters(list).numbers() == []
    odd = [replace(page("", "A title", words(30, number)), url=f"strange:{number}") for number in range(2)]
    assert compared_clusters(lambda: odd).numbers() == [0, 1]


def forum(*, is_same=lambda _: True, n_with_pages=20):
    """Return topics, the first pages of some of them under another URL, and redirects to the first pages of all."""
    pages = []
    for number in range(60):
        title, lines = article(number)
        pages.append(page(f"/topic/{number}", title, *lines))
        pages.append(page(f"/post/{number}", "", status=302, redirect_to=f"{HOST}/topic/{number}?page=1"))
        if number < n_with_pages:
            shown = lines if is_same(number) else article(1000 + number)[1]
            pages.append(page(f"/topic/{number}?page=1", title, *shown))
            pages.append(page(f"/topic/{number}?page=2", title, *article(2000 + number)[1]))
    return pages


def redirected(pages):
    """Return the numbers of the topics that have the label of their redirect."""
    numbers = compared_clusters(lambda: pages).numbers()
    label = {each.url.removeprefix(HOST): number for each, number in zip(pages, numbers, strict=True)}
    return [number for number in range(60) if label[f"/topic/{number}"] == label[f"/post/{number}"]]


def test_a_redirect_out_of_the_crawl_is_labelled_by_a_value_that_does_not_matter():
    """Of forty topics `?page=1` was not crawled; on the others it never made another page, though `?page=2` does."""
    pages = forum()
    assert redirected(pages) == [*range(60)]
    steps = compared_clusters(lambda: pages).explain(len(pages) - 2, len(pages) - 1)
    assert "it redirects to https://blog.example/topic/59?page=1" in steps[0].reason


@pytest.mark.parametrize("few", [{"n_with_pages": 7}, {"is_same": lambda number: number > 0}])
def test_a_redirect_out_of_the_crawl_stays_apart_without_sure_evidence(few):
    """Seven examples are too few, and one first page that is another page is one too many."""
    pages = forum(**few)
    assert not [number for number in redirected(pages) if number >= 20]
