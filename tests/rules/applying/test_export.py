"""Exports for duplicate-url-discarder merge only URLs that the model merges; and the table."""

from __future__ import annotations

import json
from collections import defaultdict

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from command_line import run as command_line
from dedup_crawler.evaluation.quality import read_truth
from dedup_crawler.live.exploration.rule_evidence import RuleCounts
from dedup_crawler.methods import load_model, make_method
from dedup_crawler.methods.model.evidence_file import EvidenceFile, evidence_path, write_evidence
from dedup_crawler.methods.wrapped import StaticFront
from dedup_crawler.rules.applying.engine import RuleEngine
from dedup_crawler.rules.exchange.exports import ModelRules, to_discarder
from dedup_crawler.rules.exchange.static_rules import StaticLayer, rules_of
from dedup_crawler.rules.language.matchers import ANY, Literal, NoneOf, OfClass, OneOf
from dedup_crawler.rules.language.operations import Copy, Cut, Drop, Set
from dedup_crawler.rules.language.rule import Rule, SubstringRule
from dedup_crawler.urls.normal import normal_form
from export_strategies import any_rules, plain_urls
from planted_forum import forum
from planted_site import HOST, session_ids
from repository import ROOT

EXAMPLES = ROOT / "examples"
LAWS = settings(max_examples=150, suppress_health_check=list(HealthCheck))
HOST_NAME = HOST.partition("://")[2]


@pytest.fixture(scope="module")
def discarder(tmp_path_factory):
    """Return a function that gives a URL's form under an export, with the package itself."""
    pytest.importorskip("duplicate_url_discarder")
    from duplicate_url_discarder.url_canonicalizer import UrlCanonicalizer
    from tldextract import tldextract

    tldextract.TLD_EXTRACTOR.suffix_list_urls = ()
    file = tmp_path_factory.mktemp("rules") / "rules.json"

    def reader(export):
        file.write_text(export.text)
        return UrlCanonicalizer([file]).process_url

    return reader


def merged(form, urls):
    """Return the URLs by form, as sets."""
    groups = defaultdict(set)
    for url in urls:
        groups[form(url)].add(url)
    return {frozenset(group) for group in groups.values()}


@LAWS
@given(
    st.lists(any_rules() | any_rules(only_drops=True), min_size=1, max_size=4),
    st.lists(plain_urls, min_size=1, max_size=25),
)
def test_never_merges_what_the_rules_keep_apart(discarder, rules, urls):
    """
    Law: the package's form of a URL has the same form in the model as the URL itself. So URLs that the file merges
    have one form, for any exported rules in any order, except for URLs that the note of the export excludes.
    """
    step, engine = discarder(to_discarder(ModelRules(rules))), RuleEngine(rules)

    for url in urls:
        assert engine.form(normal_form(step(url))) == engine.form(normal_form(url)), (url, step(url))


@pytest.fixture(scope="module")
def models():
    """Models of planted sites."""
    crawls = {"session ids": session_ids(), "forum": forum(100)}
    names = ("verified", "pattern-tree", "rewrite-rules")
    return {
        (site, name): make_method(name).fit(*vars(crawl).values()) for site, crawl in crawls.items() for name in names
    }


def test_a_planted_site_comes_back_whole(models, discarder):
    """Round trip: without guards, exported session rules merge the same URLs in the package itself."""
    urls = [*session_ids().urls, *session_ids(seed=9).urls]
    for name in ("verified", "pattern-tree", "rewrite-rules"):
        model = models["session ids", name]
        export = to_discarder(model.model_rules(), with_guards=False)
        assert export.n_said == len(model.model_rules().rules)
        assert merged(discarder(export), urls) == merged(model.canonicalize, urls)


def test_verified_on_a_recorded_site(discarder):
    """Without guards, the package learns that `page=1` is dropped, and merges all that the exported rules merge."""
    truth = read_truth(EXAMPLES / "forum.truth.csv.gz")
    urls, numbers = list(truth), {}
    model = make_method("verified").fit(urls, [numbers.setdefault(page, len(numbers)) for page in truth.values()])
    rules = model.model_rules()
    careful, whole = to_discarder(rules), to_discarder(rules, with_guards=False)
    topic = f"{urls[0].split('/', 3)[0]}//{urls[0].split('/')[2]}/topic/7"
    drops = RuleEngine(
        [rule for rule in rules.rules if {type(each) for each in rule.transformation.values()} == {Drop}]
    )

    assert (careful.n_said, whole.n_said) == (0, 2)
    assert "the model leaves new words in the place of titles alone" in careful.left_out[0].reason
    assert merged(discarder(whole), urls) == merged(drops.form, urls)
    assert discarder(whole)(f"{topic}-title?page=1") == f"{topic}-title"
    assert discarder(whole)(f"{topic}-title?page=2") == f"{topic}-title?page=2"


def shown(context, absent=()):
    """A rule that drops `s` under conditions."""
    return Rule(HOST_NAME, context, {"query[s]": Drop()}, frozenset(absent))


@pytest.mark.parametrize(
    ("rule", "meant", "left_alone"),
    [
        (shown({}), ["/?s=1", "/a/b/?t=2&s=1"], ["/a?t=1"]),
        (shown({"path[0]": Literal("a")}), ["/a?s=1", "/a/b.html?s=1", "/a/?s=1"], ["/b/a?s=1", "/ab?s=1"]),
        (shown({"path[0]": OneOf(frozenset("ab"))}), ["/a?s=1", "/b/c?s=1"], ["/c?s=1"]),
        (shown({"path[0]": NoneOf(frozenset("b"))}), ["/a?s=1", "/a/b?s=1"], ["/b?s=1", "/?s=1"]),
        (
            shown({"path[0]": Literal("a"), "path.length": Literal("1"), "ext": Literal(".php")}),
            ["/a.php?s=1", "/a.php/?s=1"],
            ["/a?s=1", "/a.php/b?s=1"],
        ),
        (
            shown({"path[1]": ANY, "path.length": Literal("2"), "ext": Literal(".php")}),
            ["/a/b.php?s=1"],
            ["/b.php?s=1", "/a/.php?s=1", "/a/b/c.php?s=1", "/a/b?s=1"],
        ),
        (shown({"query[q]": NoneOf(frozenset("1"))}), ["/?q=2&s=1"], ["/?q=1&s=1", "/?s=1"]),
        (shown({"query[q]": Literal("1"), "scheme": Literal("http")}, ["query[x]"]), ["/?q=1&s=1"], ["/?q=1&s=1&x=2"]),
        (shown({}, ["ext", "slash", "path[2]"]), ["/a/b?s=1"], ["/a.b?s=1", "/a/?s=1", "/a/b/c?s=1"]),
    ],
)
def test_conditions(rule, meant, left_alone, discarder):
    """A rule is applied if its conditions hold, and only then."""
    export = to_discarder(ModelRules([rule]))
    step = discarder(export)

    assert (export.n_said, export.left_out) == (1, ())
    for url in (*meant, *left_alone):
        assert step(HOST + url) == RuleEngine([rule]).form(HOST + url)
    assert not any("s=1" in step(HOST + url) for url in meant)
    assert [step(HOST + url) for url in left_alone] == [HOST + url for url in left_alone]


@pytest.mark.parametrize(
    ("rules", "reason"),
    [
        ([SubstringRule(HOST_NAME, "sid=", "")], "the format only drops parameters"),
        ([Rule(HOST_NAME, {}, {"slash": Drop()})], "the format only drops parameters"),
        ([shown({}), SubstringRule(HOST_NAME, "sid=", "")], "a substring rule of its host"),
        ([shown({"query[a]#2": ANY})], "parameters that occur more than once"),
        ([shown({"path[0]@1": ANY})], "pieces of values"),
        ([shown({"query[q]": Literal("%2B")})], "the format reads %2B in another way"),
        ([shown({"path[0]": OfClass("digits")})], "the format cannot express a class of values"),
        ([shown({"path[1]": Literal("a")})], "a condition on a path part behind one"),
        ([shown({"path[0]": ANY}), Rule(HOST_NAME, {}, {"path[0]": Copy("query[a]")})], "the order of two rules"),
        ([shown({"query[q]": ANY}), Rule(HOST_NAME, {}, {"query[q]": Set("2")})], "the order of two rules"),
        ([shown({}), *[Rule(HOST_NAME, {}, {"slash": each}) for each in (Set("/"), Drop())]], "the order of two rules"),
        ([Rule(HOST_NAME, {}, {f"query[{n}]": Drop()}) for n in range(10)], "more than 9 rules of its host may meet"),
    ],
)
def test_what_cannot_be_said_is_told(rules, reason):
    """A rule that could do more in the other program is left out, with the reason."""
    export = to_discarder(ModelRules(rules))

    assert export.n_said == 0
    assert len(export.left_out) == len(rules)
    assert reason in export.left_out[0].reason


def test_these_rules_of_the_host_do_not_mind(discarder):
    """Rules about other keys, and rules that drop the same."""
    rules = [
        shown({"query[to]": Literal("register")}),
        shown({"path[0]": Literal("a")}),
        Rule(HOST_NAME, {"query[do]": Literal("")}, {"query[do]": Drop()}),
        Rule(HOST_NAME, {"path[1]": ANY}, {"path[1]": Cut("-", is_last=False, keeps_head=True)}),
    ]
    export = to_discarder(ModelRules(rules))

    assert export.n_said == 3
    assert discarder(export)(f"{HOST}/a/7-title?do=&s=1") == f"{HOST}/a/7-title"


def test_other_hosts_are_left_alone(discarder):
    """A pattern of the package also matches `www.` and similar hosts; the export excludes those."""
    step = discarder(to_discarder(ModelRules([Rule("a.example.com", {"path[0]": ANY}, {"query[s]": Drop()})])))

    assert step("http://a.example.com/b?s=1") == "http://a.example.com/b"
    for host in ("www.a.example.com", "www-a.example.com", "www2a.example.com", "b.a.example.com", "aXexample.com"):
        assert step(f"http://{host}/b?s=1") == f"http://{host}/b?s=1"


def run(*arguments):
    return command_line("export", *arguments)


def test_the_command(tmp_path, models):
    """The file goes to stdout or a given path, rules that were left out to stderr, one line each."""
    folder = models["forum", "verified"].save(tmp_path / "model")
    target = "duplicate-url-discarder"
    written = run("--model", folder, "--format", target, "--output", tmp_path / "rules.json")
    told = run("--model", folder, "--format", target)
    table = run("--model", folder, "--format", "table")

    assert written.stdout == ""
    assert told.stdout == (tmp_path / "rules.json").read_text()
    lines = told.stderr.strip().splitlines()
    n_left = len(models["forum", "verified"].model_rules().others)
    assert lines[0].startswith("0 rules written, ")
    assert sum("left out (it is not about single URLs): " in line for line in lines) == n_left > 0
    rows = [line.split("\t") for line in table.stdout.splitlines()]
    assert rows[0] == ["rule", "groups", "wrong", "switched_off", "sentence"]
    assert {row[0] for row in rows[1:]} == set(load_model(folder).rule_sentences())


def test_methods_without_rules_have_a_table_only(tmp_path):
    """Networks and baselines have no rules; the table has their known effects."""
    crawl = session_ids(n_pages=20)
    folder = make_method("strip-query").fit(crawl.urls, crawl.clusters).save(tmp_path / "model")
    refused = run("--model", folder, "--format", "duplicate-url-discarder")

    assert refused.exit_code == 1
    assert refused.stderr.strip().endswith("cannot express the rules of this method; use --format table.")
    assert run("--model", folder, "--format", "table").stdout.splitlines()[1].startswith("strip-query\t0\t0\t\t")


def test_rules_that_a_crawl_switched_off_stay_here(tmp_path, models):
    """A rule that was switched off is exported to no file, and marked in the table."""
    model = models["session ids", "pattern-tree"]
    folder = model.save(tmp_path / "model")
    wrong = model.engine_.identifiers[0]
    counts = {wrong: RuleCounts(1, 9, True)}
    write_evidence(evidence_path(folder), EvidenceFile(model.digest, counts))
    told = run("--model", folder, "--format", "duplicate-url-discarder")

    assert json.loads(told.stdout) == []
    assert "left out (a crawl switched it off): drop `sid`" in told.stderr
    assert f"{wrong}\t{model.rule_evidence()[wrong][0]}\t0\tyes\t" in run("--model", folder, "--format", "table").stdout


def test_static_rules_are_not_exported(tmp_path, models):
    """The export of a model ignores its static rules, and says so."""
    model = models["session ids", "pattern-tree"]
    front = StaticFront(
        model, StaticLayer([rules_of({"providers": {"a": {"urlPattern": ".*", "rules": ["t"]}}}, "a.json")])
    )
    told = run("--model", front.save(tmp_path / "model"), "--format", "duplicate-url-discarder")

    assert told.stdout == to_discarder(model.model_rules()).text
    assert "warning: the file does not contain the static rules in front of the model" in told.stderr
