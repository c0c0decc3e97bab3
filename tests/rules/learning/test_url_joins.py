"""Proposals that one kind of URL is another, that a folder has two names, and what given forms propose."""

from __future__ import annotations

from dedup_crawler.methods import load_model
from dedup_crawler.methods.verified import Verified
from dedup_crawler.rules.applying.engine import RuleEngine
from dedup_crawler.rules.learning.belief import UNKNOWN
from dedup_crawler.rules.learning.columns import UrlColumns
from dedup_crawler.rules.learning.proposers import (
    MAX_JOINS,
    MIN_PAGES,
    index_files,
    prefix_aliases,
    rests_of_pages,
    rules_of_examples,
    template_joins,
)
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

    assert len(joins(visits)) == MAX_JOINS


FILES = "http://files.example"


def mirrored(n_files, aliases=("/pub/mirrors/", "/mirror/")):
    """Return URLs and pages: files at three depths under both names, and as many under one name."""
    urls, pages = [], []
    for n in range(n_files):
        below = "/".join([f"package{n}", f"release{n % 7}", f"file{n}.txt"][-1 - n % 3 :])
        for start in aliases:
            urls.append(f"{FILES}{start}{below}")
            pages.append(n)
        urls.append(f"{FILES}/docs/{below}")
        pages.append(10_000 + n)
    return urls, pages


def proposed(urls, pages):
    rests = rests_of_pages(UrlColumns("files.example", urls, pages))
    return [(rule.old, rule.new) for rule in prefix_aliases("files.example", rests)]


def test_the_longer_start_becomes_the_shorter():
    """For any path below, at any depth; a home folder keeps its tilde."""
    assert proposed(*mirrored(30)) == [("/pub/mirrors/", "/mirror/")]
    assert proposed(*mirrored(30, ("/people/", "/~"))) == [("/people/", "/~")]


def test_a_few_pages_propose_nothing():
    """Seven files that are equal by chance are no alias."""
    assert proposed(*mirrored(7)) == []


def test_an_alias_is_learnt_at_every_depth_and_nothing_else_moves(tmp_path):
    """The rule holds one level deeper than seen, survives saving, and leaves the rest of the site unchanged."""
    urls, pages = mirrored(120)
    method = Verified().fit(urls, pages)
    method = load_model(method.save(tmp_path / "model"))
    deep = "/a/b/c/d/e.txt"

    assert method.canonicalize(f"{FILES}/pub/mirrors{deep}") == f"{FILES}/mirror{deep}"
    assert method.canonicalize(f"{FILES}/docs{deep}") == f"{FILES}/docs{deep}"
    assert method.canonicalize(f"{FILES}/x/pub/mirrors{deep}") == f"{FILES}/x/pub/mirrors{deep}"
    assert any("/pub/mirrors/" in line for line in method.learnt())


def test_an_alias_that_is_often_wrong_is_not_believed():
    """Every third file differs between the two names."""
    urls, pages = mirrored(120)
    pages = [page + 5_000 if "/pub/" in url and page % 3 == 0 else page for url, page in zip(urls, pages, strict=True)]
    form = Verified().fit(urls, pages).canonicalize(f"{FILES}/pub/mirrors/x.txt")

    assert form == f"{FILES}/pub/mirrors/x.txt"


def indexed(n_folders, name="index.html"):
    """Return URLs and pages of folders at two depths, each with an index file, in pages of two parts."""
    urls, pages = [], []
    for n in range(n_folders):
        folder = f"/docs/topic{n}" + f"/part{n}" * (n % 2)
        for part in ("", "?page=2"):
            urls += [f"{FILES}{folder}/{part}", f"{FILES}{folder}/{name}{part}", f"{FILES}{folder}/notes.html{part}"]
            pages += [f"{n}{part}", f"{n}{part}", f"{n}{part} notes"]
    return urls, [sorted(set(pages)).index(page) for page in pages]


def test_an_index_file_is_its_folder_at_every_depth():
    """At a depth that was not crawled, too, and with any query; other files are not their folders."""
    method = Verified().fit(*indexed(24))

    assert method.canonicalize(f"{FILES}/docs/a/b/c/index.html?page=7") == f"{FILES}/docs/a/b/c/?page=7"
    assert method.canonicalize(f"{FILES}/docs/index.html") == f"{FILES}/docs/"
    assert method.canonicalize(f"{FILES}/docs/a/notes.html") == f"{FILES}/docs/a/notes.html"


def names(urls, pages):
    """Return the names that are proposed as index files."""
    rests = rests_of_pages(UrlColumns("files.example", urls, pages))
    return [rule.old for rule in index_files("files.example", rests)]


def test_a_name_is_proposed_as_index_file_for_folders_of_several_depths():
    """Six pages are too few; folders of one depth say nothing about others; a name without extension may be a value."""
    assert names(*indexed(8)) == ["/index.html"]
    assert names(*indexed(3)) == []
    assert names(*indexed(8, "1")) == []
    urls, pages = indexed(24)
    flat = [place for place, url in enumerate(urls) if "/part" not in url]
    assert names([urls[place] for place in flat], [pages[place] for place in flat]) == []


ANY_HOST = "a.example"
SITE = f"http://{ANY_HOST}"


def forms(examples: list[tuple[str, str]], url: str) -> set[str]:
    """Return the forms that the rules give to a URL, each rule alone."""
    return {RuleEngine([rule]).form(url) for rule in rules_of_examples(ANY_HOST, examples, "somebody")}


def test_values_are_copied_written_and_dropped() -> None:
    """``/index.php?title=X&printable=yes`` is ``/X``, for any X."""
    examples = [(f"{SITE}/index.php?printable=yes&title=T{n}", f"{SITE}/T{n}") for n in range(MIN_PAGES)]

    assert f"{SITE}/New" in forms(examples, f"{SITE}/index.php?printable=yes&title=New")


def test_pieces_are_cut() -> None:
    """``/topic/7-a-title`` is ``/topic/7``: a delimiter separates the part to keep."""
    examples = [(f"{SITE}/topic/{n}-a-title-of-{n}", f"{SITE}/topic/{n}") for n in range(MIN_PAGES)]

    assert f"{SITE}/topic/99" in forms(examples, f"{SITE}/topic/99-another")


def test_too_few_examples_say_nothing() -> None:
    """No rule below the bound, nor if forms equal the URLs or leave the host."""
    examples = [(f"{SITE}/t?n={n}&s={n}{n}", f"{SITE}/t?n={n}") for n in range(MIN_PAGES)]

    assert rules_of_examples(ANY_HOST, examples, "somebody")
    assert rules_of_examples(ANY_HOST, examples[1:], "somebody") == []
    assert rules_of_examples(ANY_HOST, [(url, url) for url, _ in examples], "somebody") == []
    assert rules_of_examples(ANY_HOST, [(url, "http://b.example/") for url, _ in examples], "somebody") == []
