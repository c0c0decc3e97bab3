"""mine-log: from a log to a model, and validation on a live site."""

import json
import signal
import subprocess

import pytest

from command_line import run
from dedup_crawler.methods import load_model
from dedup_crawler.rules.language.rule import SubstringRule
from killing import wait_for
from live_site import Answer, Site
from python_process import ENVIRONMENT
from site_visits import validated
from tests.support import fork_server

N_TOPICS = 24


def text(n):
    words = " ".join(f"word{n}x{i}" for i in range(150))
    return f"<html><head><title>Topic {n}</title></head><body><p>{words}.</p></body></html>".encode()


@pytest.fixture
def site():
    """Topics and their print views; lists with other text of the same size; forbidden pages; and a shop."""
    with Site() as running:
        for n in range(N_TOPICS):
            shown = [
                f"/topic?id={n}",
                f"/topic?id={n}&print=1",
                f"/private/topic?id={n}",
                f"/wiki/{n}",
                f"/wiki/{n}.txt",
            ]
            for path in shown:
                running.answers[path] = Answer(body=text(n))
            running.answers[f"/list?id={n}"] = Answer(body=text(n).replace(b"word", b"name"))
        yield running


def command_line(*arguments):
    return [*fork_server.command("dedup_crawler"), *map(str, arguments)]


def run_on_site(*arguments):
    """Run a command in a process of its own, because Scrapy's reactor starts only once in a process."""
    return subprocess.run(command_line(*arguments), env=ENVIRONMENT, capture_output=True, text=True, check=False)


def logged(site, folder):
    """The access log of the site, with a size for each URL; ``/gone`` no longer exists."""
    urls = [*site.answers, *(f"/gone/{n}" for n in range(N_TOPICS))]
    lines = []
    for url in urls:
        n = int("".join(character for character in url.partition("print")[0] if character.isdigit()))
        lines.append(f'1.2.3.4 - - [10/Oct/2000:13:55:36 -0700] "GET {url} HTTP/1.1" 200 {5000 + n}')
    path = folder / "access.log"
    path.write_text("\n".join([*lines, "not a line of a log"]) + "\n")
    return path


def test_mines_a_log(site, tmp_path):
    """The output has the numbers, the rules, the damaged line and the guessed host; the model canonicalizes."""
    log = logged(site, tmp_path)
    result = run("mine-log", log, "--model", tmp_path / "model")
    found = json.loads(run("mine-log", log, "--host", "a.example", "--model", tmp_path / "json", "--json").stdout)

    assert result.exit_code == 0
    assert "urls: 168" in result.stdout
    assert "damaged lines: 1" in result.stdout
    assert "line 169: expected HOST IDENT USER" in result.stderr
    assert "the rules are for localhost" in result.stderr
    assert "print" in result.stdout
    assert (found["host"], found["urls"], found["rules"]) == ("a.example", 168, len(found["learnt"]))
    model = load_model(tmp_path / "json")
    assert model.canonicalize("http://a.example/topic?id=99&print=1") == model.canonicalize(
        "http://a.example/topic?id=99"
    )


def test_keeps_what_holds_on_the_site(site, tmp_path):
    """Print views are the same; a list of the same size is not; a forbidden or missing page is no page."""
    log = logged(site, tmp_path)
    site.robots("/private/")
    command = ("mine-log", log, "--model", tmp_path / "model", "--validate", 5, "--site", site.url, "--delay", 0)
    result = run_on_site(*command, "--json")
    found = json.loads(result.stdout)
    rules = json.loads((tmp_path / "model" / "rules.json").read_text())

    assert result.returncode == 0, result.stderr
    assert found["host"] == site.host
    assert found["held_on_site"] == found["rules"] == len(rules)
    assert found["rejected"] > 0
    assert found["fetches"] == len([path for path in site.asked if path != "/robots.txt"])
    assert not [path for path in site.asked if path.startswith("/private/")]
    assert {rule["statistics"]["wrong"] for rule in rules} == {0}
    assert all(rule["statistics"]["groups"] == 5 for rule in rules)
    form = load_model(tmp_path / "model").canonicalize
    topic, other = f"{site.url}/topic?id=77", f"{site.url}/list?id=77"
    assert form(f"{topic}&print=1") == form(topic)
    assert form(topic) != form(other)
    assert form(f"{site.url}/gone/77") != form(f"{site.url}/wiki/77")


def test_the_limit_of_fetches_is_kept(site, tmp_path):
    """Rules without a complete trial are not kept, but counted."""
    command = ("mine-log", logged(site, tmp_path), "--model", tmp_path / "model", "--validate", 20)
    found = json.loads(run_on_site(*command, "--site", site.url, "--delay", 0, "--max-fetches", 7, "--json").stdout)

    assert found["fetches"] == 7
    assert found["rules"] == 0
    assert found["untried"] > 0
    assert len([path for path in site.asked if path != "/robots.txt"]) == 7


def test_a_rule_that_is_implied_is_not_tried(site):
    """A rule that another rule implies costs no fetch."""
    general = SubstringRule(site.host, "&print=1", "")
    special = SubstringRule(site.host, "7&print=1", "7")
    urls = [f"{site.url}/topic?id={n}&print=1" for n in range(N_TOPICS)]
    outcome = validated(site.url, urls, [general, special], n=2)

    assert [rule.old for rule in outcome.held] == ["&print=1"]
    assert (outcome.n_implied, outcome.n_fetches) == (1, 4)


def test_a_page_is_asked_for_as_the_site_spells_it(site):
    """A form has a sorted query, which some servers do not know: the URL in the log is fetched instead."""
    for n in range(N_TOPICS):
        for path in (f"/t?z={n}&a=1", f"/t.php?z={n}&a=1"):
            site.answers[path] = Answer(body=text(n))
    urls = [site.url + path for path in site.answers if path.startswith("/t")]
    rule = SubstringRule(site.host, ".php", "")
    outcome = validated(site.url, urls, [rule], n=4)

    assert outcome.held == [rule]
    assert not [path for path in site.asked if path.startswith("/t") and "?a=1" in path]


def test_mistakes_are_one_line(site, tmp_path):
    """An invalid log, incomplete validation options, a site that does not answer."""
    (tmp_path / "photo.jpg").write_bytes(b"\xff\xd8\xff")
    log = logged(site, tmp_path)
    site.answers["/robots.txt"] = Answer(500)
    for arguments, said in [
        ((tmp_path / "photo.jpg",), "has no accesses"),
        ((tmp_path / "nowhere.log",), "no file"),
        ((log, "--validate", 5), "--validate and --site belong together: give --site"),
        ((log, "--site", site.url), "give --validate N"),
        ((log, "--min-support", 0), "min_support is 0"),
    ]:
        result = run("mine-log", *arguments, "--model", tmp_path / "model")
        assert result.exit_code == 1, result.output
        assert said in result.stderr
        assert len(result.stderr.strip().splitlines()) == 1
    done = run_on_site("mine-log", log, "--site", site.url, "--validate", 5, "--model", tmp_path / "model")
    assert (done.returncode, len(done.stderr.strip().splitlines())) == (1, 1)
    assert "robots.txt answered 500" in done.stderr
    assert not (tmp_path / "model").exists()


def test_ctrl_c_keeps_the_rules_that_held(site, tmp_path):
    """One line, status 130, and a complete model with the rules found so far."""
    log = logged(site, tmp_path)
    command = command_line("mine-log", log, "--model", tmp_path / "model", "--validate", 20, "--site", site.url)
    process = subprocess.Popen(
        [*command, "--delay", "0.3"], env=ENVIRONMENT, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    wait_for(site, 4)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=600)

    assert process.returncode == 130, errors
    assert len(errors.strip().splitlines()) == 1, errors
    assert load_model(tmp_path / "model").learnt() == []


def test_a_log_without_duplicates_is_one_line(tmp_path):
    """No two pages have one size: no rule, one message, and the model keeps every URL."""
    lines = [f'1.2.3.4 - - [10/Oct/2000:13:55:36 -0700] "GET /t/{n}?s={n} HTTP/1.1" 200 {5000 + n}' for n in range(60)]
    (tmp_path / "log").write_text("\n".join(lines))
    done = run("mine-log", tmp_path / "log", "--host", "a.example", "--model", tmp_path / "model")

    assert done.exit_code == 0
    assert done.stdout.count("no rules were found") == 1
    assert load_model(tmp_path / "model").learnt() == []
