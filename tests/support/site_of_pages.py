"""A planted blog whose pages differ as on real sites: forms, side columns, names."""

import random

from dedup_crawler.live.collecting.response_page import FetchedPage
from dedup_crawler.pages.records import LabelledPage

HOST = "https://blog.example"
NAMES = ["Anna", "Bert", "Clara", "Dora", "Emil", "Frida", "Gerd", "Hanna", "Ivan", "Jana"]


def words(n, seed):
    """Return *n* made-up words."""
    draw = random.Random(seed)
    return " ".join("".join(draw.choices("abcdefghijklmnopqrstuvwxyz", k=draw.randint(4, 9))) for _ in range(n))


def page(rest, title, *lines, status=200, redirect_to=None):
    """Return a page with these lines inside the frame of the site."""
    text = "\n".join(["Home", "About this blog", *lines, "Powered by nothing at all"]) if lines else ""
    return LabelledPage(HOST + rest, None, status, redirect_to, title, text, None, None)


def article(n, *more):
    """Return the article with number *n*: three lines of its own."""
    own = [words(30, f"{n} {line}") for line in range(3)]
    return f"Article {words(3, n)}", [*own, *more]


def titled(n):
    """Return the title of an article, and its lines."""
    title, lines = article(n)
    return title, *lines


def fetched(path, title, *lines):
    """Return the answer with an article as HTML, without the frame of the site."""
    body = f"<html><title>{title}</title><body>{''.join(f'<p>{line}</p>' for line in lines)}</body></html>"
    return FetchedPage.of(f"{HOST}{path}", f"{HOST}{path}", "text/html", body.encode())


def blog(n=60):
    """Return articles, each also with a reply form: (pages, place of each URL)."""
    pages = []
    for number in range(n):
        title, lines = article(number, f"{NAMES[number % 10]} wrote this")
        pages.append(page(f"/{number}/", title, *lines, "Leave a comment"))
        answered = f"Leave a reply to {NAMES[number % 10]} {words(1, number)}"
        pages.append(page(f"/{number}/?reply={number}", title, *lines, answered))
    return pages, {each.url.removeprefix(HOST): place for place, each in enumerate(pages)}
