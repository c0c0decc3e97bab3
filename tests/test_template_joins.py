"""Proposals that one kind of URL is another."""

from dedup_crawler.rules.applying.engine import RuleEngine
from dedup_crawler.rules.learning.belief import UNKNOWN
from dedup_crawler.rules.learning.columns import UrlColumns
from dedup_crawler.rules.learning.joins import MAX_PROPOSALS, MIN_PAGES, template_joins
from planted_visits import HOST, numbered


def joins(visits, known=True):
    urls, pages = numbered(visits)
    return template_joins(UrlColumns(HOST, urls, pages if known else [UNKNOWN] * len(pages)))


def articles(n, print_view="/index.php?printable=yes&title={a}"):
    names = [f"Article_{chr(97 + a)}" for a in range(n)]
    return [(a, f"/{a}") for a in names] + [(a, print_view.format(a=a)) for a in names]


def test_a_value_that_stands_in_both_is_copied():
    """The other keys of the source are dropped; the proposal holds for any title."""
    rules = joins(articles(20))

    forms = {RuleEngine([rule]).form(f"http://{HOST}/index.php?printable=yes&title=New") for rule in rules}
    assert f"http://{HOST}/New" in forms


def test_kinds_with_as_many_keys_are_joined_in_one_direction():
    """``view=print`` and ``lang=en`` show the same: one becomes the other, and never the reverse too."""
    rules = joins([visit for n in range(20) for visit in ((n, f"/t?a={n}&lang=en"), (n, f"/t?a={n}&view=print"))])

    views = [f"http://{HOST}/t?a=x&{view}" for view in ("lang=en", "view=print")]
    forms = [{RuleEngine([rule]).form(url) for url in views} for rule in rules]
    assert forms != []
    assert all(form == forms[0] and len(form) == 1 for form in forms)


def test_too_few_pages_propose_nothing():
    """Seven pages are too few, eight are enough; unknown pages do not count."""
    assert joins(articles(MIN_PAGES - 1)) == []
    assert joins(articles(MIN_PAGES)) != []
    assert joins(articles(MIN_PAGES), known=False) == []


def test_urls_of_other_pages_propose_nothing():
    """The print view shows something else."""
    assert joins([((n, page), url) for n, (page, url) in enumerate(articles(20))]) == []


def test_a_page_of_very_many_urls_speaks_once():
    """Three hundred URLs of one page are one vote."""
    assert joins([("login", f"/login/{n}?next=a") for n in range(150)] + [("login", f"/{n}") for n in range(150)]) == []


def test_few_proposals_are_made():
    """Bounded, for any site."""
    visits = [
        (f"p{kind}x{n}", url)
        for kind in range(60)
        for n in range(10)
        for url in (f"/p{kind}x{n}", f"/kind{kind}/p{kind}x{n}?k{kind}=1")
    ]

    assert len(joins(visits)) == MAX_PROPOSALS
