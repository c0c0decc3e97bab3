"""Pictures, films and sounds: pages that show another picture are other pages, even if no word differs."""

from __future__ import annotations

import pytest

from dedup_crawler.evidence.two_fetches import GrowingText
from dedup_crawler.labels.clusters import cluster_labelled
from dedup_crawler.labels.html import MAX_MEDIA, read_html
from dedup_crawler.labels.main_text import clean_page
from dedup_crawler.live.collecting.response_page import FetchedPage
from dedup_crawler.live.exploration.same_page import same_page
from dedup_crawler.pages.records import LabelledPage, Page
from site_of_pages import words

URL = "https://a.example/photos/view?id=7"
TEXT = f"<p>{words(200, 'gallery')}</p>"


def words_of(html: str, url: str = URL) -> list[str]:
    return read_html(f"<body>{html}</body>", url).text.splitlines()


@pytest.mark.parametrize(
    "html", ['<img src="{}">', '<video src="{}"></video>', '<object data="{}"></object>', '<embed src="{}">']
)
def test_each_of_them_is_one_word_made_of_its_address(html: str):
    """The same word for the same address, however the page writes it; another word for another address."""
    here = words_of(html.format("../pictures/7.jpg"))
    assert len(here) == 1
    assert here[0].isalpha()
    assert here == words_of(html.format("https://a.example/pictures/7.jpg"))
    assert here != words_of(html.format("/pictures/8.jpg"))
    assert here == words_of(html.format("/Pictures/7.jpg"))  # below a page that is known under both spellings


def test_what_shows_nothing_is_no_word():
    """Pictures without an address or of one pixel, and counters that are told where they stand.

    A broken address is a word.
    """
    assert words_of('<img src="/tasks?1" width="2" height="1"><img src="/seen.gif?2" height="1px">') == []
    assert words_of('<img><img src=""><img src="//count.example/?page=https%3A//a.example/photos/view%3Fid%3D7">') == []
    assert len(words_of('<img src="http://[broken/">')) == 1


def test_a_picture_named_like_its_page_is_no_counter():
    """The page /p shows the picture p.php?file=/pics/1.jpg."""
    assert len(words_of('<img src="p.php?pic=1"><img src="p.php?file=/pics/1.jpg">', "https://a.example/p?id=1")) == 2


def test_a_page_of_very_many_pictures_is_read_in_part():
    """The first 200 count."""
    assert len(words_of("".join(f'<img src="{n}.png">' for n in range(2 * MAX_MEDIA)))) == MAX_MEDIA


def gallery(n: int, picture: int) -> Page:
    body = f'<title>Gallery</title><h1>Photos</h1>{TEXT}<img src="/pictures/{picture}.jpg"><p>{words(20, "more")}</p>'
    return Page(f"https://a.example/photos/view?id={n}", content_type="text/html", content=body.encode())


def test_labels_tell_pages_by_their_pictures():
    """Of three pages with equal words, two show the same picture: these are one page. A picture is no small change."""
    texts = [clean_page(gallery(n, picture))[0] for n, picture in enumerate((1, 2, 1))]
    pages = [LabelledPage(t.url, None, 200, None, t.title, t.main_text, t.simhash, None) for t in texts]
    assert cluster_labelled(pages) == [0, 1, 0]


def test_a_crawl_does_not_confirm_a_rule_by_pages_with_other_pictures():
    """Neither picture is known on the site: the pages are not called the same."""
    growing = GrowingText()
    for n in range(40):
        body = f"<title>{words(3, n)}</title><p>{words(60, f'page {n}')}</p>"
        text = clean_page(Page(f"https://a.example/{n}", content_type="text/html", content=body.encode()))[0]
        growing.see(LabelledPage(text.url, None, 200, None, text.title, text.main_text, None, None))
    fetched = [
        FetchedPage.of(page.url, page.url, "text/html", page.content)
        for page in (gallery(1, 1), gallery(2, 2), gallery(3, 1))
    ]
    assert same_page(fetched[0], fetched[2], growing.text()) is True
    assert same_page(fetched[0], fetched[1], growing.text()) is not True
