"""Static rules in front of a model: their effects, their scope, and their limits."""

from __future__ import annotations

import json
from pathlib import Path
from urllib.parse import urljoin

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from command_line import run
from costs import at_most
from dedup_crawler.errors import BadInputError, DamagedModelError
from dedup_crawler.methods import load_model, make_method
from dedup_crawler.methods.wrapped import StaticFront, without
from dedup_crawler.rules.exchange.static_rules import StaticLayer, read_rule_files, rules_of
from dedup_crawler.urls.normal import normal_form
from live_site import Site, walk
from planted_site import HOST, session_ids
from url_strategies import urls

CRAWL = session_ids()
CLEARURLS = {
    "providers": {
        "forum": {
            "urlPattern": r"^https?:\/\/(?:[a-z0-9-]+\.)*?forum\.example",
            "completeProvider": False,
            "rules": ["ref_?", "[a-z]*tag"],
            "referralMarketing": ["partner"],
            "rawRules": [r"\/ref=[^/?]*"],
            "exceptions": [r"^https?:\/\/forum\.example\/api\/"],
            "redirections": [r"^https?:\/\/forum\.example\/out\?to=([^&]*)"],
            "forceRedirection": True,
        },
        "shop": {"urlPattern": r"^https?:\/\/shop\.example", "rules": ["t"]},
        "globalRules": {"urlPattern": ".*", "rules": [r"(?:%3F)?utm(?:_[a-z_]*)?", "fbclid"]},
    }
}
DISCARDER = [
    {"order": 1, "processor": "queryRemoval", "urlPattern": {"include": ["forum.example"]}, "args": ["lang", "view"]},
    {
        "order": 2,
        "processor": "subpathRemoval",
        "urlPattern": {"include": ["forum.example/go/*"], "exclude": ["forum.example/go/out"]},
        "args": [1],
    },
    {"order": 100, "processor": "normalizer", "urlPattern": {"include": []}},
]


def layer(*values):
    return StaticLayer([rules_of(value, f"file{place}.json") for place, value in enumerate(values)])


def front(model, *values):
    return StaticFront(model, layer(*values))


def fitted(name="verified", **options):
    return make_method(name, **options).fit(CRAWL.urls, CRAWL.clusters)


@pytest.mark.parametrize(
    ("url", "form"),
    [
        ("/a?t=1&utm_source=x&UTM_b=2&fbclid=3", "/a?t=1"),
        ("/a?ref=1&ref_=2&refer=3&partner=4", "/a?refer=3"),
        ("/a?mytag=1&my2tag=2", "/a?my2tag=2"),
        ("/book/ref=sr_1?t=1", "/book?t=1"),
        ("/a?utm=1", "/a"),
        ("/a?%3Futm_a=1", "/a"),
        ("/api/a?ref=1", "/api/a?ref=1"),
        ("/api/a?utm_a=1", "/api/a"),
        ("/out?to=http://b.example/", "/out?to=http://b.example/"),
        # `t` is dropped only on shop.example, also if this name is in another URL
        ("http://shop.example/?t=1&x=2", "http://shop.example/?x=2"),
        ("/?t=1", "/?t=1"),
        ("http://a.example/http://shop.example/b?t=1", "http://a.example/http://shop.example/b?t=1"),
    ],
)
def test_clearurls(url, form):
    """Names match completely and in any case, exceptions apply to their provider, redirections are ignored."""
    assert layer(CLEARURLS).trace(urljoin(HOST, url))[0] == urljoin(HOST, form)


@pytest.mark.parametrize(
    ("url", "form"),
    [
        ("http://forum.example/a?t=1&lang=de&view=2", "http://forum.example/a?t=1"),
        ("http://forum.example/go/x", "http://forum.example/go"),
        ("http://forum.example/go/x/y", "http://forum.example/go/x/y"),
        ("http://forum.example/go/out/x", "http://forum.example/go/out/x"),
        ("http://other.example/a/?lang=de", "http://other.example/a?lang=de"),
        ("http://www.other.example/a/", "http://www.other.example/a"),
    ],
)
def test_duplicate_url_discarder(url, form):
    """As in that package, general rules apply only to hosts without special ones; none changes the host."""
    assert layer(DISCARDER).trace(url)[0] == form


def test_what_cannot_be_matched_in_time_is_refused_and_counted():
    """Patterns with look-ahead are left out; if an exception is left out, so is everything that it protected from."""
    value = {
        "providers": {
            "one": {"urlPattern": ".*", "rules": ["a", "(?!b).*", "(", "x" * 3000]},
            "two": {"urlPattern": ".*", "rules": ["b"], "exceptions": [r"(?<=c)d"]},
            "three": {"urlPattern": r"(a)\1", "rules": ["c"]},
        }
    }
    rules = rules_of(value, "data.min.json")

    assert rules.applied("http://a/?a=1&b=2&c=3", ())[0] == "http://a/?b=2&c=3"
    assert len(rules.refused) == 5
    assert all(reason.startswith("data.min.json, provider ") for reason in rules.refused)
    stars = [{**DISCARDER[0], "urlPattern": {"include": ["a.example/*b*c*d"]}}, DISCARDER[0], {"order": 1}, 5]
    assert len(rules_of(stars, "rules.json").refused) == 3


def test_hostile_patterns_cost_nothing():
    """An exponential pattern, and one of many wildcards, take no time on a long URL."""
    evil = {"providers": {"evil": {"urlPattern": "^(a|a|.*)*x$", "rules": ["(a*)*b"], "rawRules": ["(a|aa)+$"]}}}
    stars = [{**DISCARDER[0], "urlPattern": {"include": ["forum.example/*a*b"]}}]
    rules = layer(evil, stars)
    with at_most(40):
        for length in (1_000, 100_000):
            rules.trace(f"{HOST}/{'a' * length}?{'a' * length}=1")


@settings(max_examples=100)
@given(urls)
def test_forms_are_their_own_forms_and_stay_at_home(url):
    """Law: in front of any model a form is its own form, on the same host, for any string."""
    for model in (KEEP_ALL, VERIFIED):
        form = model.canonicalize(url)
        assert model.canonicalize(form) == form
        assert model.explain(url).form == form
        assert bool(model.fired(url)) == (form != make_method("keep-all").fit([HOST + "/"], [0]).canonicalize(url))


KEEP_ALL = front(fitted("keep-all"), CLEARURLS, DISCARDER)
VERIFIED = front(fitted(), CLEARURLS, DISCARDER)


def test_the_model_sees_what_the_rules_leave():
    """Static and learnt rules both apply; the reason names the file and the rule, then the model's rule."""
    url = f"{HOST}/topic.php?t=900&utm_source=a&sid=00c0ffee00c0ffee"
    told = VERIFIED.explain(url)

    assert told.form == VERIFIED.canonicalize(url) == f"{HOST}/topic.php?t=900"
    assert told.reason.startswith(
        "file0.json, provider globalRules: drops parameters named (?:%3F)?utm(?:_[a-z_]*)?; then drop `sid`"
    )
    assert VERIFIED.rule_sentences().keys() >= set(VERIFIED.fired(url))
    assert VERIFIED.canonicalize("http://unknown.example/?utm_source=a") == "http://unknown.example/?utm_source=a"


def test_one_static_rule_can_be_switched_off():
    """A live crawl switches off a wrong rule; the others stay. The model knows no name that a static rule leaves."""
    url = f"{HOST}/topic.php?sid=00c0ffee00c0ffee&t=900&utm_source=a"
    [static, learnt] = VERIFIED.fired(url)

    assert without(VERIFIED, [static]).canonicalize(url) == url
    assert without(VERIFIED, [learnt]).canonicalize(url) == f"{HOST}/topic.php?sid=00c0ffee00c0ffee&t=900"
    assert without(VERIFIED, [static]).canonicalize(url.replace("&utm_source=a", "")) == f"{HOST}/topic.php?t=900"


def test_a_folder_keeps_its_static_rules(tmp_path):
    """Saved and loaded: the same forms and digest; without rules another digest; a damaged table is one line."""
    folder = VERIFIED.save(tmp_path / "model")
    loaded = load_model(folder)

    assert loaded.digest == VERIFIED.digest != VERIFIED.model.digest
    assert loaded.rule_sentences() == VERIFIED.rule_sentences()
    for url in (f"{HOST}/topic.php?t=9&utm_a=1&sid=00c0ffee00c0ffee", f"{HOST}/go/x/y", f"{HOST}/api/a?ref=1"):
        assert loaded.canonicalize(url) == VERIFIED.canonicalize(url)
    broken = front(fitted("keep-all"), CLEARURLS)
    broken.layer.to_json = lambda: [{"file": "x", "rules": {"providers": 5}}]
    with pytest.raises(DamagedModelError, match=r"x: expected the providers of ClearURLs.*Import the rules again"):
        load_model(broken.save(tmp_path / "broken"))


WRONG = {
    "no.json": (b"rubbish", "cannot be read as JSON .* Expected data.min.json of ClearURLs, or"),
    "other.json": (b'{"log": 5}', "is in no known format of rules: expected data.min.json of ClearURLs, or"),
    "new.json": (b'{"id": "core", "providers": []}', "expected the providers of ClearURLs by name"),
    "half.json": (b'{"providers": {"a": {"rules": ["b"]}}}', "provider a: expected a 'urlPattern'"),
    "list.json": (b"[1, 2]", "none of its rules is one of duplicate-url-discarder"),
    "deep.json": (b"[" * 100_000, "nested too deeply. Expected data.min.json"),
}


def test_arguments_that_are_no_list_are_refused():
    """A text is no list of names: each of its letters would be the name of a dropped parameter."""
    rules = rules_of([*DISCARDER, {**DISCARDER[0], "args": "view"}], "rules.json")

    assert rules.refused == [f"rules.json, rule {len(DISCARDER) + 1}: 'args' is a list"]
    assert rules.sentences == rules_of(DISCARDER, "rules.json").sentences


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_file_is_told_in_one_line(tmp_path, name):
    """The error names the problem of the file, and the expectation."""
    content, expected = WRONG[name]
    (tmp_path / name).write_bytes(content)
    with pytest.raises(BadInputError, match=expected) as told:
        read_rule_files([tmp_path / name])
    assert name in str(told.value)
    assert "\n" not in str(told.value)


def test_import_rules_and_all_that_ask_the_model(tmp_path):
    """The command stores them in the folder; canonicalize and explain apply them; --remove removes them."""
    folder = fitted("keep-all").save(tmp_path / "model")
    plain = load_model(folder).digest
    (tmp_path / "data.min.json").write_text(json.dumps(CLEARURLS))
    (tmp_path / "rules.json").write_text(json.dumps(DISCARDER))
    url = f"{HOST}/a?t=1&utm_source=x&lang=de"
    beside = run("canonicalize", "--model", folder, "--static-rules", tmp_path / "data.min.json", url)
    told = run("import-rules", tmp_path / "data.min.json", tmp_path / "rules.json", "--model", folder)
    forms = run("canonicalize", "--model", folder, url)
    why = json.loads(run("explain", "--model", folder, url, "--json").stdout)["explanations"][0]
    counts = json.loads(run("import-rules", tmp_path / "rules.json", "--model", folder, "--json").stdout)
    removed = run("import-rules", "--remove", "--model", folder)

    assert beside.stdout == f"{HOST}/a?t=1&lang=de\n"
    assert told.stdout.startswith("data.min.json: 7 rules (ClearURLs), 0 refused; ")
    assert forms.stdout == f"{HOST}/a?t=1\n"
    assert "data.min.json, provider globalRules" in why["reason"]
    assert len(why["evidence"]["static_rules"]) == 2
    assert counts["files"] == [{"file": "rules.json", "format": "duplicate-url-discarder", "rules": 3}]
    assert removed.exit_code == 0
    assert load_model(folder).digest == plain
    assert run("import-rules", "--model", folder).exit_code == 2


NAMES = [
    *("providers", "urlPattern", "rules", "order", "processor", "args"),
    *("include", "exclude", "queryRemoval", "subpathRemoval", "priority"),
]


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=5),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(NAMES), inner, max_size=4),
        max_leaves=12,
    )
)
def test_any_json_is_rules_or_one_line(value):
    """Law: any file is read or refused without another exception, and rules that were read work."""
    try:
        rules = rules_of(value, "file.json")
    except BadInputError:
        return
    rules.applied("http://forum.example/a?b=1", ())


def test_a_live_crawl_drops_what_they_merge(tmp_path):
    """A real crawl with DEDUP_STATIC_RULES: each page once, each drop with the rule's name; a wrong file: no crawl."""
    rules = tmp_path / "data.min.json"
    rules.write_text(json.dumps(CLEARURLS))
    with Site() as site:
        folder = make_method("keep-all").fit([f"{site.url}/"], [0]).save(tmp_path / "model")
        pages = [f"/page{n}" for n in range(5)]
        site.page("/", *pages, *(f"{page}?utm_source={n}" for page in pages for n in range(3)))
        for page in pages:
            site.page(page)
        dropped = tmp_path / "drops.jsonl"
        crawl = walk(site, tmp_path, DEDUP_MODEL=folder, DEDUP_STATIC_RULES=rules, DEDUP_DROPPED=dropped)
        wrong = walk(site, tmp_path, DEDUP_MODEL=folder, DEDUP_STATIC_RULES=tmp_path / "none.json")

    assert crawl.stats["dedup/request/dropped"] == 15, crawl.log
    assert {path: site.count(path) for path in pages} == dict.fromkeys(pages, 1)
    drops = [json.loads(line) for line in dropped.read_text().splitlines()]
    assert len(drops) == 15
    assert {tuple(drop["rules"]) for drop in drops} == {layer(CLEARURLS).trace("http://a/?utm_source=1")[1]}
    assert "data.min.json, provider globalRules: drops parameters named" in crawl.log
    assert "none.json cannot be read" in wrong.log
    assert wrong.stats.get("dedup/request/processed", 0) == 0


def test_public_rules_do_what_the_package_does():
    """Every public rule, on a URL made for it: the form is that of the package itself, on the URL's host."""
    public = pytest.importorskip("duplicate_url_discarder_rules")
    from duplicate_url_discarder.url_canonicalizer import UrlCanonicalizer

    values = [said for path in sorted(public.RULE_PATHS) for said in json.loads(Path(path).read_text())]
    rules = rules_of(values, "public.json")  # first, because it keeps the package from using the network
    package = UrlCanonicalizer(public.RULE_PATHS)
    ours = StaticLayer([rules])
    changed = 0
    for said in values:
        for pattern in said["urlPattern"]["include"]:
            if not pattern:
                continue
            name = next((arg for arg in said["args"] if isinstance(arg, str)), "x")
            place = pattern.replace("*", "a").rstrip("|")
            url = normal_form(f"https://{place}{'' if '/' in place else '/a/b'}".split("?")[0] + f"?{name}=1&keep=2")
            theirs = normal_form(package.process_url(url))
            changed += theirs != url
            assert ours.trace(url)[0] == theirs, said
    assert rules.refused == []
    assert changed > 300
