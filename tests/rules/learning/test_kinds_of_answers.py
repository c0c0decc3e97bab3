"""A rule holds for the kinds of answers in which it was confirmed: pages say nothing of feeds and other files."""

import pytest

from dedup_crawler.evidence.comparing import PageEvidence
from dedup_crawler.labels.lines import file_digest
from dedup_crawler.methods import make_method
from dedup_crawler.pages.records import LabelledPage
from site_of_pages import words

HOST = "https://marks.example"
PAGES = {"list": "/list?tag=t{}", "gallery": "/gallery?tag=t{}"}
FEEDS = {"path": "/feed?tag=t{}", "name": "/list?tag=t{}&as=atom", "extension": "/list.atom?tag=t{}"}


def shown(rest: str, text: str, *, is_file: bool = False) -> LabelledPage:
    url = f"{HOST}{rest}"
    if is_file:
        return LabelledPage(url, None, 200, None, "", "", None, None, file_digest((text * 100).encode()))
    return LabelledPage(url, None, 200, None, f"About {text}", words(60, text), None, None)


def crawl(feed: str, *, feeds_repeat: bool = False) -> list[LabelledPage]:
    """Return forty lists, each also under an address with a space at the end of the tag, and the feed of each."""
    pages = []
    for number in range(40):
        for kind, rest in PAGES.items():
            found = rest.format(number)
            pages += [shown(each, f"{kind} {number}") for each in (found, found.replace(f"t{number}", f"t{number}+"))]
        pages.append(shown(feed.format(number), f"feed {number}", is_file=True))
        if feeds_repeat:
            spaced = feed.format(number).replace(f"t{number}", f"t{number}+")
            pages.append(shown(spaced, f"feed {number}", is_file=True))
    return pages


def learnt(pages: list[LabelledPage]):
    numbers: dict[str, int] = {}
    clusters = [numbers.setdefault(page.digest or page.title, len(numbers)) for page in pages]
    return make_method("verified").fit([page.url for page in pages], clusters, evidence=PageEvidence.of_pages(pages))


@pytest.mark.parametrize("feed", FEEDS.values(), ids=FEEDS)
def test_what_pages_confirm_says_nothing_of_feeds(feed: str) -> None:
    """Their addresses with a space at the end were never met: they keep their own forms."""
    method = learnt(crawl(feed))

    assert method.canonicalize(f"{HOST}/list?tag=new+") == method.canonicalize(f"{HOST}/list?tag=new")
    assert method.canonicalize(HOST + feed.format("new+")) != method.canonicalize(HOST + feed.format("new"))


@pytest.mark.parametrize("feed", FEEDS.values(), ids=FEEDS)
def test_feeds_can_confirm_a_rule_as_well(feed: str) -> None:
    """If feeds were met under both addresses, and their bytes are the same, the rule is about them, too."""
    method = learnt(crawl(feed, feeds_repeat=True))

    assert method.canonicalize(HOST + feed.format("new+")) == method.canonicalize(HOST + feed.format("new"))
