"""What counts as late in a crawl."""

import pytest

from dedup_crawler.errors import BadInputError
from dedup_crawler.methods import load_model, make_method

HOST = "forum.example"


def crawled(n_twice: int = 40, n_once: int = 860) -> tuple[list[str], list[int]]:
    """A crawl that shows topics twice; from then on a filter drops the second URL of each."""
    twice = [(f"http://{HOST}/t/{n}{end}", n) for n in range(n_twice) for end in ("", "?s=1")]
    once = [(f"http://{HOST}/t/{n}", n) for n in range(n_twice, n_twice + n_once)]
    urls, pages = zip(*twice, *once, strict=True)
    return list(urls), list(pages)


def test_a_rule_outlives_the_crawl_that_it_filters(tmp_path):
    """Learnt again, the rule is found, and the method keeps how far the crawl went unfiltered."""
    urls, pages = crawled()

    method = make_method("verified", unfiltered=80).fit(urls, pages)
    assert method.canonicalize(f"http://{HOST}/t/1000?s=1") == f"http://{HOST}/t/1000"
    assert load_model(method.save(tmp_path / "model")).options()["unfiltered"] == 80


def test_what_contradicts_a_rule_later_is_heard_all_the_same():
    """The session begins to matter when the crawl is filtered already."""
    urls, pages = crawled()
    urls += [f"http://{HOST}/t/{n}?s=1" for n in range(40, 100)]
    pages += range(10_000, 10_060)

    assert make_method("verified", unfiltered=80).fit(urls, pages).n_learnt() == 0


def test_a_wrong_number_is_refused():
    with pytest.raises(BadInputError, match="unfiltered = -1"):
        make_method("verified", unfiltered=-1).fit(*crawled())
