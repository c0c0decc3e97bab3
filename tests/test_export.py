"""Rules in the formats of other programs: they never merge what the model keeps apart, and do merge what they say."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections import defaultdict
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dedup_crawler.cli import main
from dedup_crawler.evaluation.truth import read_truth
from dedup_crawler.live.exploration.rule_evidence import RuleCounts
from dedup_crawler.methods import load_model, make_method
from dedup_crawler.methods.model.evidence_file import Evidence, evidence_path, write_evidence
from dedup_crawler.methods.static_front import StaticFront
from dedup_crawler.pages.imports import import_files
from dedup_crawler.pages.store import PageStore
from dedup_crawler.rules.engine import RuleEngine
from dedup_crawler.rules.export.discarder import to_discarder
from dedup_crawler.rules.export.model_rules import ModelRules
from dedup_crawler.rules.export.nutch import applied, read_nutch, to_nutch
from dedup_crawler.rules.host_aliases import HostAlias
from dedup_crawler.rules.judge import MergeEvidence
from dedup_crawler.rules.rule import ANY, Copy, Cut, Drop, Literal, NoneOf, Rule, Set
from dedup_crawler.rules.static_rules.layer import StaticLayer, rules_of
from dedup_crawler.rules.substring_rule import SubstringRule
from dedup_crawler.urls.normal import normal_form
from export_strategies import any_rules, odd_urls, plain_urls
from planted_forum import forum
from planted_site import HOST, session_ids, slugs

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"
LAWS = settings(max_examples=150, suppress_health_check=list(HealthCheck))
HOST_NAME = HOST.partition("://")[2]


def nutch(export):
    """What Nutch makes of a URL with an export."""
    patterns = list(read_nutch(export.text))
    return lambda url: applied(patterns, url)


@pytest.fixture(scope="module")
def discarder(tmp_path_factory):
    """What the package itself makes of a URL with an export."""
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
    """The URLs that have one form, as sets."""
    groups = defaultdict(set)
    for url in urls:
        groups[form(url)].add(url)
    return {frozenset(group) for group in groups.values()}


@LAWS
@given(
    st.lists(any_rules(), min_size=1, max_size=4), st.lists(st.one_of(plain_urls, odd_urls), min_size=1, max_size=25)
)
def test_nutch_never_merges_what_the_rules_keep_apart(rules, urls):
    """
    Law: whatever a file of patterns makes of a URL, the model gives it the form that it gives the URL. So URLs that
    the file merges have one form, whichever rules could be said and in whatever order they are applied.
    """
    step, engine = nutch(to_nutch(ModelRules(rules))), RuleEngine(rules)

    for url in urls:
        assert engine.form(normal_form(step(url))) == engine.form(normal_form(url)), (url, step(url))


@LAWS
@given(
    st.lists(any_rules() | any_rules(only_drops=True), min_size=1, max_size=4),
    st.lists(plain_urls, min_size=1, max_size=25),
)
def test_discarder_never_merges_what_the_rules_keep_apart(discarder, rules, urls):
    """
    Law: the same of the package itself, for URLs without what the note says that it cannot see.
    """
    step, engine = discarder(to_discarder(ModelRules(rules))), RuleEngine(rules)

    for url in urls:
        assert engine.form(normal_form(step(url))) == engine.form(normal_form(url)), (url, step(url))


@pytest.fixture(scope="module")
def models():
    """Models of the miners and of `verified`, of planted sites."""
    crawls = {"session ids": session_ids(), "slugs": slugs(), "forum": forum(100)}
    names = ("verified", "pattern-tree", "rewrite-rules", "decision-tree", "duster", "dustbuster")
    return {
        (site, name): make_method(name).fit(*vars(crawl).values()) for site, crawl in crawls.items() for name in names
    }


SITE_PARTS = ["t=1", "t=2", "sid=0a1b2c3d4e5f6071", "sid=00c0ffee00c0ffee", "u=5", "utm=1", "t=1", "lang=", "x"]
SITE_PATHS = [
    "topic.php",
    "member.php",
    "questions/101",
    "questions/101/one-two",
    "tagged/one",
    "topic/4",
    "post/41",
    "",
]
site_urls = st.builds(
    lambda path, parts: f"{HOST}/{path}{'?' if parts else ''}{'&'.join(parts)}",
    st.sampled_from(SITE_PATHS),
    st.lists(st.sampled_from(SITE_PARTS), max_size=4),
)


@LAWS
@given(st.lists(site_urls, min_size=1, max_size=30))
def test_no_export_merges_what_a_model_keeps_apart(models, urls):
    """
    Law: with all guards of the model, for names that it never met, for titles that come again, for any method.
    """
    for key, model in models.items():
        step = nutch(to_nutch(model.model_rules()))
        for url in urls:
            if step(url) != url:
                assert model.canonicalize(step(url)) == model.canonicalize(url), (key, url, step(url))


def test_a_planted_site_comes_back_whole(models, discarder):
    """Round trip: what was learnt of session ids merges the same URLs in Nutch, and in the package itself."""
    urls = [*session_ids().urls, *session_ids(seed=9).urls]
    for name in ("verified", "pattern-tree", "rewrite-rules"):
        model = models["session ids", name]
        exports = to_nutch(model.model_rules()), to_discarder(model.model_rules().without_guards())
        for export, step in zip(exports, (nutch(exports[0]), discarder(exports[1])), strict=True):
            assert export.n_said == len(model.model_rules().rules)
            assert merged(step, urls) == merged(model.canonicalize, urls)


def test_titles_come_back_whole(models):
    """Round trip: what was learnt of titles merges the same URLs in Nutch, the guard of `verified` left aside."""
    urls = [*slugs().urls, *slugs(seed=9).urls]
    for name in ("verified", "pattern-tree"):
        model = models["slugs", name]
        whole = to_nutch(model.model_rules().without_guards())
        assert merged(nutch(whole), urls) == merged(RuleEngine(model.model_rules().rules).form, urls)
        assert len(merged(nutch(whole), urls)) < len(set(urls))
    careful = to_nutch(models["slugs", "verified"].model_rules())
    assert careful.n_said == 0
    assert careful.left_out[0].reason == "it leaves a URL alone when what it drops has come with a third page"


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """The recorded forum: its URLs in crawl order, and their clusters by its truth."""
    with PageStore(tmp_path_factory.mktemp("forum") / "forum.db") as store:
        import_files([EXAMPLES / "forum.warc.zst"], store)
        urls = list(store.urls())
    truth = read_truth(EXAMPLES / "forum.truth.csv.gz")
    numbers = {}
    return urls, [numbers.setdefault(truth[url], len(numbers)) for url in urls]


def test_a_recorded_site_comes_back_whole(recorded, discarder):
    """Round trip on 5,000 recorded URLs: each file merges exactly the URLs that its rules merge."""
    urls, clusters = recorded
    for name in ("pattern-tree", "decision-tree"):
        rules = make_method(name).fit(urls, clusters).model_rules()
        for export, reader in ((to_nutch(rules), nutch), (to_discarder(rules), discarder)):
            unsaid = {left.sentence for left in (*export.left_out, *export.partly)}
            left = make_method(name).fit(urls, clusters)
            said = [known for known, sentence in left.rule_sentences().items() if sentence not in unsaid]
            only_said = RuleEngine(
                [rule for known, rule in zip(left.engine_.identifiers, rules.rules, strict=True) if known in said],
                rules.maps,
            )
            groups = merged(only_said.form, urls)

            assert export.n_said >= 1
            assert merged(reader(export), urls) <= groups | {frozenset([url]) for url in urls}
            if reader is nutch or not export.left_out:
                assert merged(reader(export), urls) == groups
            assert len(groups) < len(urls)


def test_verified_on_a_recorded_site(recorded, discarder):
    """
    Of the forum's rules Nutch is told that `page=1` goes, where no title stands that may be none, and the usual order;
    with the guards left aside all are said, and all that they merge is merged.
    """
    urls, clusters = recorded
    model = make_method("verified").fit(urls, clusters)
    rules = model.model_rules()
    careful, whole = to_nutch(rules), to_nutch(rules.without_guards())
    package = to_discarder(rules), to_discarder(rules.without_guards())
    topic = f"{urls[0].split('/', 3)[0]}//{urls[0].split('/')[2]}/topic/7"

    assert (careful.n_said, whole.n_said, package[0].n_said, package[1].n_said) == (2, 3, 0, 2)
    assert merged(nutch(whole), urls) == merged(RuleEngine(rules.rules).form, urls)
    assert nutch(careful)(f"{topic}?page=1") == topic
    for left_alone in (f"{topic}-title?page=1", f"{topic}?page=1&new=1", f"{topic}?page=2", f"{topic}?PAGE=1"):
        assert nutch(careful)(left_alone) == left_alone
    assert discarder(package[1])(f"{topic}-title?page=1") == f"{topic}-title"
    assert "a URL with a parameter that the model never met is left alone" in package[0].left_out[0].reason


URLS_OF_HOST = {
    "drop": (Rule(HOST_NAME, {"path[0]": Literal("a")}, {"query[s]": Drop()}), "/a?s=1&t=2", "/a?t=2"),
    "drop the last": (Rule(HOST_NAME, {}, {"query[s]": Drop()}), "/a/b/?t=2&s", "/a/b/?t=2"),
    "drop the only one": (Rule(HOST_NAME, {}, {"query[s]": Drop()}), "/?s=1", "/"),
    "drop two": (
        Rule(HOST_NAME, {"query[s]": Literal("1"), "query[q]": Literal("")}, {"query[s]": Drop(), "query[q]": Drop()}),
        "/a?q=&t=2&s=1",
        "/a?t=2",
    ),
    "cut a title": (
        Rule(HOST_NAME, {"path[1]": ANY, "path[0]": NoneOf(frozenset("b"))}, {"path[1]": Cut("-", False, True)}),
        "/a/7-a-title/edit?x=1",
        "/a/7/edit?x=1",
    ),
    "drop a title": (
        Rule(HOST_NAME, {"path.length": Literal("3")}, {"path.length": Set("2"), "path[2]": Drop()}),
        "/a/7/a-title/?x=1",
        "/a/7/?x=1",
    ),
    "drop a page's title": (
        Rule(HOST_NAME, {"path.length": Literal("3")}, {"path.length": Set("2"), "path[2]": Drop()}),
        "/a/7/title.html",
        "/a/7.html",
    ),
    "slash": (Rule(HOST_NAME, {"path[1]": ANY}, {"slash": Set("/")}), "/a/b?x=1", "/a/b/?x=1"),
    "no slash": (Rule(HOST_NAME, {"slash": Literal("/")}, {"slash": Drop()}), "/a/b/?x=1", "/a/b?x=1"),
    "extension": (Rule(HOST_NAME, {"ext": Literal(".php")}, {"ext": Drop()}), "/a/b.php?x=1", "/a/b?x=1"),
    "value": (Rule(HOST_NAME, {"query[x]": Literal("$1\\")}, {"query[x]": Set("$2")}), "/a?x=$1\\", None),
    "dollars": (Rule(HOST_NAME, {"query[x]": ANY}, {"query[x]": Set("$2$9")}), "/a?x=1", "/a?x=$2$9"),
}


@pytest.mark.parametrize("case", URLS_OF_HOST)
def test_what_nutch_does(case):
    """Each kind of rule does to a URL what the model does; a URL that no normal form is, is left alone."""
    rule, url, expected = URLS_OF_HOST[case]
    export = to_nutch(ModelRules([rule]))

    assert (export.n_said, export.left_out) == (1, ())
    assert nutch(export)(HOST + url) == HOST + (expected or url)
    assert RuleEngine([rule]).form(normal_form(HOST + url)) == normal_form(HOST + (expected or url))


@pytest.mark.parametrize(
    ("rules", "reason"),
    [
        ([SubstringRule(HOST_NAME, "sid=", "")], "a substring may stand anywhere"),
        (
            [Rule(HOST_NAME, {"query[a]": ANY}, {"path[0]": Copy("query[a]")})],
            "it builds another path, or copies values",
        ),
        ([Rule(HOST_NAME, {"query[a]#2": ANY}, {"query[a]": Drop()})], "parameters that come more than once"),
        (
            [Rule(HOST_NAME, {}, {"query[a]": Set("1")}), Rule(HOST_NAME, {}, {"query[a]": Set("2")})],
            "it may meet another rule on one URL",
        ),
        ([Rule(HOST_NAME, {}, {f"query[{n}]": Drop()}) for n in range(10)], "more than 9 rules may meet on one URL"),
    ],
)
def test_what_cannot_be_said_is_told(rules, reason):
    """A rule that could do more in another program than it does here is left out, with the reason."""
    export = to_nutch(ModelRules(rules))

    assert export.n_said == 0
    assert len(export.left_out) == len(rules)
    assert all(reason in left.reason for left in export.left_out)


def test_rules_that_would_mind_are_kept_out_of_the_way():
    """Two rules that set one parameter to two values in two sections, and one everywhere: each where no other is."""
    rules = [
        Rule(HOST_NAME, {"path[0]": Literal("a")}, {"query[x]": Set("1")}),
        Rule(HOST_NAME, {"path[0]": Literal("b")}, {"query[x]": Set("2")}),
        Rule(HOST_NAME, {"query[y]": ANY}, {"query[x]": Drop()}),
    ]
    step = nutch(to_nutch(ModelRules(rules)))

    assert [step(f"{HOST}/{path}") for path in ("a?x=7", "b?x=7", "c?x=7&y=1", "a?x=7&y=1")] == [
        f"{HOST}/a?x=1",
        f"{HOST}/b?x=2",
        f"{HOST}/c?y=1",
        f"{HOST}/a?x=7&y=1",
    ]


def test_hosts_that_are_one():
    """`www.` is read as what it is, with the rules of its home; nobody else's host is touched."""
    alias = HostAlias(f"www.{HOST_NAME}", HOST_NAME, MergeEvidence(50, 0))
    rules = ModelRules([Rule(HOST_NAME, {}, {"query[s]": Drop()})], aliases=[alias])
    step = nutch(to_nutch(rules))

    assert step(f"http://www.{HOST_NAME}/a?s=1") == f"{HOST}/a"
    assert step(f"http://wwwx{HOST_NAME}/a?s=1") == f"http://wwwx{HOST_NAME}/a?s=1"
    assert to_discarder(rules).left_out[0].reason == "the format never changes the host alone"


def test_other_hosts_are_left_alone(discarder):
    """A pattern of the package also means `www.` and anything like it; the export keeps off from those."""
    step = discarder(to_discarder(ModelRules([Rule("a.example.com", {"path[0]": ANY}, {"query[s]": Drop()})])))

    assert step("http://a.example.com/b?s=1") == "http://a.example.com/b"
    for host in ("www.a.example.com", "www-a.example.com", "www2a.example.com", "b.a.example.com", "aXexample.com"):
        assert step(f"http://{host}/b?s=1") == f"http://{host}/b?s=1"


def hostile_rules():
    odd = "<&\"'>]]>-->%"
    return [
        Rule(HOST_NAME, {"query[a]": Literal(odd)}, {"query[s]": Drop()}),
        Rule(HOST_NAME, {"query[(x+)+]": ANY, "path[0]": Literal("a--b.*")}, {"query[--s$]": Drop()}),
        Rule(HOST_NAME, {"path[1]": Literal("\\d[&&[^a]]")}, {"query[s]": Drop()}),
    ]


def test_any_value_makes_a_valid_file():
    """What strangers put into values and names is escaped twice: for XML, and for patterns."""
    export = to_nutch(ModelRules(hostile_rules()))
    step = nutch(export)

    assert export.n_said == 3
    assert step(f"{HOST}/a--b.*?(x+)+=1&--s$=2&t=3") == f"{HOST}/a--b.*?(x+)+=1&t=3"
    assert step(f"{HOST}/a--bxx?xx=1&--s$=2&t=3") == f"{HOST}/a--bxx?xx=1&--s$=2&t=3"
    assert "--" not in "".join(line[4:-3] for line in export.text.splitlines() if line.startswith("<!--"))


@pytest.mark.skipif(shutil.which("javac") is None, reason="needs a Java compiler")
def test_java_reads_the_patterns_as_python_does(tmp_path, models, recorded):
    """The same file, read by Java's XML parser and applied by its regular expressions, gives the same URLs."""
    shown = [rule for rule, _, _ in URLS_OF_HOST.values()]
    alone = [ModelRules([rule]) for rule in [*shown, *hostile_rules()]]
    planted = [model.model_rules().without_guards() for model in models.values()]
    urls = [HOST + url for _, url, _ in URLS_OF_HOST.values()]
    urls += [*session_ids(n_pages=9).urls, *slugs(n_pages=9).urls, f"{HOST}/a--b.*?(x+)+=1&--s$=2", f"{HOST}/%41", HOST]
    urls += [url.replace(url.split("/")[2], HOST_NAME) for url in recorded[0][:200]]
    source = Path(__file__).parent / "java" / "RegexNormalize.java"
    subprocess.run(["javac", "-d", tmp_path, source], check=True, capture_output=True)
    exports = [to_nutch(rules) for rules in [*alone, *planted]]
    files = [tmp_path / f"{number}.xml" for number in range(len(exports))]
    for file, export in zip(files, exports, strict=True):
        file.write_text(export.text)
    command = ["java", "-cp", tmp_path, "RegexNormalize", *files]
    done = subprocess.run(command, input="\n".join(urls), capture_output=True, text=True, check=True)

    assert sum(export.n_said for export in exports) > 15
    assert done.stdout.splitlines() == [url for export in exports for url in map(nutch(export), urls)]


def run(*arguments):
    return CliRunner().invoke(main, ["export", *map(str, arguments)])


def test_the_command(tmp_path, models):
    """The file on stdout or where it is wanted, what could not be said on stderr, one line each."""
    folder = models["forum", "verified"].save(tmp_path / "model")
    written = run("--model", folder, "--format", "nutch", "--output", tmp_path / "regex-normalize.xml")
    told = run("--model", folder, "--format", "nutch")
    table = run("--model", folder, "--format", "table")

    assert written.stdout == ""
    assert told.stdout == (tmp_path / "regex-normalize.xml").read_text()
    lines = told.stderr.strip().splitlines()
    n_left = len(models["forum", "verified"].model_rules().others)
    assert lines[0].startswith("0 rules said, 0 of them in part; ")
    assert sum("not said (it is no rule about a URL alone): /post/*" in line for line in lines) == n_left > 0
    rows = [line.split("\t") for line in table.stdout.splitlines()]
    assert rows[0] == ["rule", "groups", "wrong", "switched_off", "sentence"]
    assert {row[0] for row in rows[1:]} == set(load_model(folder).rule_sentences())


def test_methods_without_rules_have_a_table_only(tmp_path):
    """Networks and fixed ways to write a URL are no rules; the table says so much of them as is known."""
    crawl = session_ids(n_pages=20)
    folder = make_method("strip-query").fit(crawl.urls, crawl.clusters).save(tmp_path / "model")
    refused = run("--model", folder, "--format", "duplicate-url-discarder")

    assert refused.exit_code == 1
    assert refused.stderr.strip().endswith("is no rules that duplicate-url-discarder could say; --format table can.")
    assert run("--model", folder, "--format", "table").stdout.splitlines()[1].startswith("strip-query\t0\t0\t\t")


def test_rules_that_a_crawl_switched_off_stay_here(tmp_path, models):
    """What exploration found wrong is in no file, and marked in the table."""
    model = models["session ids", "pattern-tree"]
    folder = model.save(tmp_path / "model")
    wrong = model.engine_.identifiers[0]
    counts = {wrong: RuleCounts(1, 9, True)}
    write_evidence(evidence_path(folder), Evidence(model.digest, counts))
    told = run("--model", folder, "--format", "duplicate-url-discarder")

    assert json.loads(told.stdout) == []
    assert "not said (a crawl switched it off): drop `sid`" in told.stderr
    assert f"{wrong}\t{model.rule_evidence()[wrong][0]}\t0\tyes\t" in run("--model", folder, "--format", "table").stdout


def test_static_rules_are_not_exported(tmp_path, models):
    """A model with static rules in front is written as if there were none, and says so."""
    model = models["session ids", "pattern-tree"]
    front = StaticFront(
        model, StaticLayer([rules_of({"providers": {"a": {"urlPattern": ".*", "rules": ["t"]}}}, "a.json")])
    )
    told = run("--model", front.save(tmp_path / "model"), "--format", "nutch")

    assert told.stdout == to_nutch(model.model_rules()).text
    assert "warning: the static rules in front of the model are not in the file" in told.stderr
