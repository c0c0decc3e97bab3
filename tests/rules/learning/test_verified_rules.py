"""Rules learnt from small sites with a planted truth: true ones are found, others are not."""

import itertools
import random

import pytest

from dedup_crawler.rules.applying.engine import RuleEngine
from dedup_crawler.rules.language.matchers import Literal
from dedup_crawler.rules.learning.belief import RISKS, Belief
from dedup_crawler.rules.learning.columns import UrlColumns
from dedup_crawler.rules.learning.verified_rules import RuleLearner
from planted_visits import HOST, forms_after, numbered, rules_of, shuffled


def ids(n, seed=0):
    draw = random.Random(seed)
    return [f"{draw.getrandbits(48):012x}" for _ in range(n)]


def topics(n=60):
    return [(page, f"/topic?t={page}") for page in range(n)]


def test_a_neutral_key_is_dropped_wherever_it_is():
    """A session id on two kinds of pages, with unique values; ``t`` and ``u`` tell pages apart and stay."""
    visits = topics() + [(f"m{u}", f"/member?u={u}") for u in range(60)]
    visits += [(t, f"/topic?t={t}&sid={sid}") for t, sid in zip([*range(60)] * 2, ids(120), strict=True)]
    visits += [(f"m{u}", f"/member?sid={sid}&u={u}") for u, sid in enumerate(ids(60, seed=1))]
    form = forms_after(shuffled(visits))

    assert form("/topic?t=5&sid=00c0ffee00c0") == form("/topic?sid=1&t=5") == "/topic?t=5"
    assert form("/member?u=5&sid=00c0ffee00c0") == "/member?u=5"
    assert form("/topic?t=6") != form("/topic?t=5")


def test_one_value_may_be_neutral_where_the_others_are_not():
    """``page=1`` is the topic itself; ``page=2`` is another page, and so are unseen numbers."""
    visits = topics(100) + [(t, f"/topic?page=1&t={t}") for t in range(100)]
    visits += [((t, page), f"/topic?page={page}&t={t}") for t in range(100) for page in (2, 3)]
    form = forms_after(shuffled(visits))

    assert form("/topic?t=200&page=1") == "/topic?t=200"
    assert form("/topic?t=200&page=2") == "/topic?page=2&t=200"
    assert form("/topic?t=200&page=17") == "/topic?page=17&t=200"


def test_where_other_values_matter_each_value_has_to_stand_by_itself():
    """
    Twelve texts that did not change are the same at two of eight revisions. This says nothing of the next text if
    other revisions of programs matter; it would if no revision mattered.
    """

    def after(*, matters):
        revisions = ids(8)
        visits = [(n, f"/text?p={n}&rev={rev}") for n in range(12) for rev in (revisions[n % 4], revisions[n % 4 + 4])]
        programs = [(n, f"/program?p={n}&rev={rev}") for n in range(20) for rev in ids(2, seed=n + 1)]
        visits += [((n, url), url) for n, url in programs] if matters else []
        form = forms_after(shuffled(visits))
        return form(f"/text?p=100&rev={revisions[0]}") == form(f"/text?p=100&rev={revisions[4]}")

    assert after(matters=False)
    assert not after(matters=True)


def test_the_newest_revision_of_each_repository_says_nothing_of_older_ones():
    """
    Each repository shows its files as ``tip`` and as the newest revision. Older revisions are not met yet, but files
    differ between revisions; the rule is refused for this. If they did not differ, the revision would not matter.
    """

    def after(*, matters):
        newest, older = ids(40), ids(40, seed=1)
        visits = [(n, f"/repo{n}/files/{rev}") for n in range(40) for rev in ("tip", newest[n])]
        visits += [
            ((n, "readme", rev if matters else ""), f"/repo{n}/files/{rev}/readme")
            for n in range(40)
            for rev in (newest[n], older[n])
        ]
        belief = Belief(RISKS["balanced"])
        engine = RuleEngine(RuleLearner(UrlColumns(HOST, *numbered(shuffled(visits))), belief, "test").learn())
        is_dropped = engine.form(f"http://{HOST}/repo5/files/{older[5]}") == engine.form(
            f"http://{HOST}/repo5/files/tip"
        )
        return is_dropped, {reason for _, reason in belief.refused.values()}

    assert after(matters=False)[0]
    is_dropped, reasons = after(matters=True)
    assert not is_dropped
    assert "its values tell pages apart elsewhere, and hardly any page was met with two of them" in reasons


def test_a_key_may_be_neutral_beside_one_value_of_another_key():
    """``id`` does not matter with ``do=recent``; it matters without ``do``, and with ``do=diff``."""
    visits = [(page, f"/doku.php?id={page}") for page in ids(80)]
    visits += [((page, "diff"), f"/doku.php?do=diff&id={page}") for page in ids(80)]
    visits += [
        (f"recent{ns}", f"/doku.php?do=recent&id={page}&ns={ns}") for ns in range(40) for page in ids(3, seed=ns)
    ]
    visits += [(page, f"/doku.php?id={page}&ns={ns}") for ns in range(40) for page in ids(3, seed=ns)]
    form = forms_after(shuffled(visits))

    assert form("/doku.php?do=recent&id=anything&ns=7") == form("/doku.php?do=recent&id=other&ns=7")
    assert form("/doku.php?do=recent&id=x&ns=7") != form("/doku.php?do=recent&id=x&ns=8")
    for rest in ("/doku.php?id=anything", "/doku.php?do=diff&id=anything", "/doku.php?id=anything&ns=7"):
        assert form(rest) == rest


def test_a_key_may_be_neutral_but_beside_one_value_of_another_key():
    """``id`` does not matter with any other ``do``, but ``do=diff`` shows another page for each id."""
    visits = [(do, f"/wiki?do={do}&id={page}") for do in ids(40) for page in ids(3, seed=int(do, 16))]
    visits += [((section, page), f"/wiki?do=diff&id={page}&s={section}") for section in range(40) for page in ids(3)]
    form = forms_after(shuffled(visits))

    assert form("/wiki?do=never-seen&id=5") == form("/wiki?do=never-seen&id=6")
    assert form("/wiki?do=diff&id=5&s=1") == "/wiki?do=diff&id=5&s=1"


def test_a_rule_that_waits_for_a_key_to_be_absent_applies_after_that_key_is_dropped():
    """
    The slash is dropped first, but not with ``reply``, for which there was no pair. Dropping ``reply`` leads to a URL
    with a slash, and so to the first rule: there are the pages to compare with.
    """
    visits = [(n, f"/{n}{slash}") for n in range(60) for slash in ("", "/")]
    visits += [(n, f"/{n}/?reply={n + 1000}") for n in range(0, 60, 2)]
    rules = rules_of(shuffled(visits))

    assert [set(rule.transformation) for rule in rules] == [{"slash"}, {"query[reply]"}]
    assert rules[0].absent == {"query[reply]"}
    assert rules[1].evidence.n_groups == 30


def repeated(n_topics, told):
    """Return lists filtered by a repeated key, each in all its orders; *told* names what the page depends on."""
    draw = random.Random(0)
    visits = []
    for topic in range(n_topics):
        chosen = draw.sample("abcdef", 2)
        orders = ([*chosen], [*reversed(chosen)], [chosen[0], *chosen])
        visits += [((topic, told(o)), f"/list{topic}?" + "&".join(f"f={value}" for value in o)) for o in orders]
    return shuffled(visits)


def test_a_repeated_key_may_be_a_set():
    """In any order, with or without repetition: one page, one form."""
    form = forms_after(repeated(80, lambda values: frozenset(values)))

    assert form("/list5?f=b&f=a") == form("/list5?f=a&f=b&f=a") == "/list5?f=a&f=b"
    assert form("/list5?f=b&f=c") != form("/list5?f=a&f=b")


def test_a_repeated_key_may_be_a_bag():
    """The order does not matter, but repetition does."""
    form = forms_after(repeated(80, lambda values: tuple(sorted(values))))

    assert form("/list5?f=b&f=a") == form("/list5?f=a&f=b") == "/list5?f=a&f=b"
    assert form("/list5?f=a&f=b&f=a") not in ("/list5?f=a&f=b", "/list5?f=a&f=b&f=b")


def test_a_repeated_key_may_be_a_list():
    """If each order is a page of its own, nothing is sorted."""
    form = forms_after(repeated(80, tuple))

    assert form("/list5?f=b&f=a") == "/list5?f=b&f=a"


def test_a_title_behind_an_id_is_cut():
    """Titles vary, the id decides: new titles are cut too, and another id is another page."""
    visits = [(t, f"/topic/{t}-{title}") for t in range(100) for title in ids(2, seed=t)]
    form = forms_after(shuffled(visits))

    assert form("/topic/500-a-new-title") == form("/topic/500-another") == "/topic/500"
    assert form("/topic/501-another") == "/topic/501"


def test_a_last_part_of_the_path_may_say_nothing():
    """``/questions/7/slug`` is ``/questions/7``; a tag after ``/tagged`` decides about the page."""
    visits = [(q, f"/questions/{q}") for q in range(60)] + [(q, f"/questions/{q}/{s}") for q, s in enumerate(ids(60))]
    visits += [(f"t{tag}", f"/tagged/{tag}") for tag in ids(60, seed=1)]
    form = forms_after(shuffled(visits))

    assert form("/questions/700/how-to-quit") == "/questions/700"
    assert form("/tagged/new") == "/tagged/new"


def test_one_kind_of_url_may_be_another():
    """The print view under ``index.php`` is the article under its name."""
    visits = [(a, f"/{a}") for a in ids(60)] + [(a, f"/index.php?printable=yes&title={a}") for a in ids(60)]
    form = forms_after(shuffled(visits))

    assert form("/index.php?title=New_one&printable=yes") == "/New_one"
    assert form("/index.php?title=New_one") == "/index.php?title=New_one"


def test_a_site_with_one_rule_needs_few_pages():
    """Two kinds of URLs, one rule: fewer than a hundred URLs are enough."""
    visits = [(t, f"/topic?t={t}") for t in range(30)] + [(t, f"/topic?sid={s}&t={t}") for t, s in enumerate(ids(30))]
    visits += [(f"m{u}", f"/member?u={u}") for u in range(30)]

    assert forms_after(shuffled(visits))("/topic?t=500&sid=00c0ffee00c0") == "/topic?t=500"


@pytest.mark.parametrize("n_others", [0, 300])
def test_a_login_page_says_nothing_about_other_pages(n_others):
    """Two hundred ids of one page are one group: ``id`` is dropped there, and nowhere else.

    Not on paths seen with one id only, without contradictions, nor on new paths.
    """
    visits = [("login", f"/login?id={page}") for page in ids(200)]
    visits += [(place, f"/item/{place}?id={page}") for place, page in enumerate(ids(n_others, seed=1))]
    visits += [(("plain", place), f"/item/{place}") for place in range(8)]
    form = forms_after(shuffled(visits))

    assert form("/login?id=new") == form("/login?id=other")
    assert form("/item/5?id=new") == "/item/5?id=new"
    assert form("/elsewhere?id=new") == "/elsewhere?id=new"


def test_many_small_groups_do_not_outvote_a_large_one():
    """``v`` is neutral in sixty topics, and names three hundred pages of an index: those stay apart."""
    visits = topics() + [(t, f"/topic?t={t}&v={v}") for t, v in enumerate(ids(60))]
    visits += [(("index", v), f"/index?v={v}") for v in ids(300, seed=1)]
    form = forms_after(shuffled(visits))

    assert form("/index?v=7") != form("/index?v=8")
    assert form("/topic?t=500&v=7") in ("/topic?t=500", "/topic?t=500&v=7")


def drifting(is_wrong_late):
    """``version=1`` is the article until its first edit."""
    early = [(a, f"/article?a={a}") for a in range(200)] + [(a, f"/article?a={a}&version=1") for a in range(200)]
    late = [(a, f"/article?a={a}") for a in range(200, 215)]
    late += [((a, "first") if is_wrong_late else a, f"/article?a={a}&version=1") for a in range(200, 215)]
    filler = [(f"m{u}", f"/member?u={u}") for u in range(100)]
    return shuffled(early) + shuffled(late + filler)


@pytest.mark.parametrize("risk", ["safe", "balanced"])
def test_what_later_pages_contradict_is_not_believed(risk):
    """Right in two hundred early groups and wrong in fifteen late ones: the crawl has drifted."""
    assert forms_after(drifting(is_wrong_late=True), risk)("/article?a=7&version=1") == "/article?a=7&version=1"
    assert forms_after(drifting(is_wrong_late=False), risk)("/article?a=7&version=1") == "/article?a=7"


@pytest.mark.parametrize("n_groups", [1, 5, 7])
def test_few_groups_are_no_evidence(n_groups):
    """A few pages seen twice teach nothing: the expected error is too large."""
    visits = topics(200) + [(t, f"/topic?sid={sid}&t={t}") for t, sid in enumerate(ids(n_groups))]

    assert rules_of(shuffled(visits)) == []


def test_a_rule_is_not_about_depths_that_it_was_hardly_tested_with():
    """``sid`` was tested on topics; one deeper URL has it, and nothing else shows that page."""
    visits = topics(60) + [(t, f"/topic?sid={sid}&t={t}") for t, sid in enumerate(ids(60))]
    form = forms_after(shuffled([*visits, ("deep", "/a/b/c?sid=7")]))

    assert form("/topic?sid=abc&t=7") == "/topic?t=7"
    assert form("/a/b/d?sid=8") == "/a/b/d?sid=8"


def test_a_rule_is_not_about_query_keys_that_it_never_met():
    """``sid`` was tested on topics; with ``token`` no two URLs tested it, so it stays there."""
    visits = topics() + [(t, f"/topic?sid={sid}&t={t}") for t, sid in enumerate(ids(60))]
    visits += [
        ((t, "token"), f"/topic?sid={s}&t={t}&token={o}")
        for t, (s, o) in enumerate(zip(ids(60, 1), ids(60, 2), strict=True))
    ]
    form = forms_after(shuffled(visits))

    assert form("/topic?t=500&sid=a") == "/topic?t=500"
    assert form("/topic?t=500&sid=a&token=b") == "/topic?sid=a&t=500&token=b"


def test_a_rule_is_not_about_sections_that_it_was_never_tested_in():
    """Titles after questions do not matter; after ``/posts`` no two URLs were compared: all titles stay."""
    visits = [(q, f"/questions/{q}") for q in range(60)] + [(q, f"/questions/{q}/{s}") for q, s in enumerate(ids(60))]
    visits += [(("revisions", p), f"/posts/{p}/{s}") for p, s in enumerate(ids(60, seed=1))]
    form = forms_after(shuffled(visits))

    assert form("/questions/700/how-to-quit") == "/questions/700"
    assert form("/posts/700/revisions") == "/posts/700/revisions"


def test_a_few_values_that_matter_somewhere_are_dropped_only_in_tested_sections():
    """
    A filter removes nothing from complete lists, but something from long ones: what it removes in a section that is
    met later is not known. If it matters nowhere, or if ten filters made no difference, it is dropped there as well.
    """

    def after(filters, *, matters):
        ways = ["", *(f"&f={each}" for each in filters)]
        visits = [(n, f"/list?g={n}{way}") for n in range(20) for way in ways]
        visits += [(("page", n), f"/page?p={n}") for n in range(20)]
        if matters:
            visits += [((n, way), f"/list?g={n}&long=1{way}") for n in range(20) for way in ways]
        form = forms_after(shuffled(visits))
        return form("/list?g=50&f=0"), form("/later?g=50&f=0")

    assert after([0], matters=True) == ("/list?g=50", "/later?f=0&g=50")
    assert after([0], matters=False) == ("/list?g=50", "/later?g=50")
    assert after(range(10), matters=True) == ("/list?g=50", "/later?g=50")


@pytest.mark.parametrize("seed", range(3))
def test_shuffled_pages_teach_nothing(seed):
    """The same URLs and pages, put together at random."""
    visits = [(t, f"/topic?t={t}&sid={sid}") for t, sid in zip([*range(100)] * 3, ids(300), strict=True)]
    visits += [(t, f"/topic/{t}-{title}?page={page}") for t in range(100) for page, title in enumerate(ids(3, seed=t))]
    pages = [page for page, _ in visits]
    random.Random(seed).shuffle(pages)

    assert rules_of(shuffled([(page, url) for page, (_, url) in zip(pages, visits, strict=True)], seed)) == []


@pytest.mark.parametrize("seed", range(3))
def test_pages_seen_once_teach_nothing(seed):
    """Every URL is a page of its own."""
    visits = [f"/topic?t={t}&page={page}" for t in range(50) for page in (1, 2)]
    visits += [f"/topic/{t}-{title}" for t, title in enumerate(ids(100))] + [
        f"/?f={a}&f={b}" for a in "abcd" for b in "abcd"
    ]

    assert rules_of(shuffled([(url, url) for url in visits], seed)) == []


def test_rules_are_found_one_after_the_other():
    """Two neutral keys always occur together with unique values: neither is neutral before the other is dropped."""
    draw = random.Random(0)
    visits = [
        (t, f"/topic?ref={draw.choice('abc')}&sid={sid}&t={t}")
        for t, sid in zip(itertools.chain(range(80), range(80), range(80), range(80)), ids(320), strict=True)
    ]
    form = forms_after(shuffled(visits))

    assert form("/topic?ref=a&sid=1&t=7") == form("/topic?ref=b&sid=2&t=7")


def test_a_rule_counts_what_it_was_tested_on():
    """A rule has its changed URLs, its merge groups, and the miner that found it."""
    visits = topics(50) + [(t, f"/topic?page=1&t={t}") for t in range(50)]
    (rule,) = rules_of(shuffled(visits))

    assert rule.context["query[page]"] == Literal("1")
    assert (rule.statistics.n_urls, rule.statistics.evidence.n_groups, rule.statistics.evidence.n_wrong) == (50, 50, 0)
    assert rule.origin == "verified"


class PartlySilent:
    """Judges pages by their numbers, as evidence does; lists in the order of their ids are too short to be compared."""

    def __init__(self, visits):
        self._visits = visits

    def alike(self, clusters):
        """Join none."""
        return clusters

    def has_own_page(self, place):
        """All URLs show pages."""
        return True

    def is_excerpt(self, one, other):
        """No page is part of another."""
        return False

    def judge(self, pairs, groups):
        """Say nothing about short lists."""
        return [self._verdict(self._visits[one], self._visits[other]) for one, other in pairs]

    def _verdict(self, one, other):
        is_short = any("max=3" in path and "order=id" in path for _, path in (one, other))
        return -1 if is_short else int(one[0] == other[0])


def test_values_that_are_right_each_and_wrong_together_are_not_both_dropped():
    """
    Whole lists are the same in the order of owners and of summaries. Those of at most three entries are not; but no
    trial compares these two orders, because the first one, by id, says nothing about either.
    """
    whole = [(n, f"/query?list={n}{order}") for n in range(30) for order in ("", "&order=owner", "&order=summary")]
    others = [((n, "id"), f"/query?list={n}&order=id") for n in range(30)]
    short = [((n, o), f"/query?list={n}&max=3&order={o}") for n in range(40, 46) for o in ("id", "owner", "summary")]
    visits = [*whole, *others, *short]
    columns = UrlColumns(HOST, *numbered(visits), PartlySilent(visits))
    engine = RuleEngine(RuleLearner(columns, Belief(RISKS["balanced"]), "test").learn())

    def form(path):
        return engine.form(f"http://{HOST}{path}")

    assert form("/query?list=5&order=owner") == form("/query?list=5")
    assert form("/query?list=40&max=3&order=owner") != form("/query?list=40&max=3&order=summary")
