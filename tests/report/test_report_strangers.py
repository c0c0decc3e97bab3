"""The report of a crawl whose titles, URLs, rules and names an attacker wrote."""

import base64
import json
from xml.etree import ElementTree

import pytest

from command_line import run
from dedup_crawler.methods import make_method
from dedup_crawler.methods.model.evidence_file import EvidenceFile, RuleCounts, evidence_path, write_evidence
from dedup_crawler.methods.model.training_data import training_data
from dedup_crawler.pages.records import Page, PageText
from dedup_crawler.pages.store import PageStore
from planted_site import HOST, session_ids
from report_html import ATTRIBUTES, TAGS, ReportHtml

HOSTILE = [
    "</script><script>window.hit=1;alert(1)</script>",
    '"><img src=x onerror="window.hit=1;alert(2)">',
    "'><svg/onload=alert(3)>",
    "<svg><script>alert(4)</script></svg>",
    "<svg><text>an SVG text</text></svg>",
    "</title></style><style>*{display:none}</style><base href=//evil.example>",
    "{{ 7*7 }}{% for x in y %}",
    "${alert(5)}$\\mathdefault{x}$",
    "]]><!--<!-- <iframe src=javascript:alert(6)>",
    "\u202egnp.exe \u2066\u2069\u200b\ufeff",
    "\x1b[2J\x07\x08\x9f\x01",
    "&lt;b&gt;&#60;script&#62;",
    "<a href='javascript:alert(7)'>click</a>",
    "😀" * 50 + "e" + "\u0301" * 200,
    "x" * 20_000,
]
"""Titles, parts of URLs, names and rules as an attacker might write them."""


def hostile_urls():
    for n, text in enumerate(HOSTILE):
        yield f"{HOST}/topic?id={n}&t={text}", n
        yield f"{HOST}/topic?id={n}&t={text}&again=1", n
        yield f"{HOST}/{text}/{n}", n
        yield text, 1000 + n
        yield f"javascript:alert({n})//{text}", 2000 + n
        yield f"http://{text}/", 3000 + n


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    """All input of a report, written by an attacker."""
    folder = tmp_path_factory.mktemp("hostile")
    visits = [(url, page, 200) for url, page in dict(hostile_urls()).items()]
    with PageStore(folder / "crawl.db") as store:
        store.add_many(Page(url, 200, HOSTILE[n % len(HOSTILE)], content=b"x") for n, (url, *_) in enumerate(visits))
        store.write_texts(
            PageText(url, HOSTILE[n % len(HOSTILE)], None, HOSTILE[n % len(HOSTILE)], None)
            for n, (url, *_) in enumerate(visits)
        )
        urls = list(store.urls())
        store.write_clusters({url: page for url, (_, page, _) in zip(urls, visits, strict=True)})
        store.write_scores((urls[n], urls[n - 1], (float("inf"), -5.0, 0.5)[n % 3]) for n in range(1, len(urls)))
        data = training_data(store)
    model = make_method("rewrite-rules", fan_out=2).fit(data.urls, data.clusters)
    model.save(folder / "model<b>&amp;")
    rules = list(model.rule_sentences())
    write_evidence(
        evidence_path(folder / "model<b>&amp;"),
        EvidenceFile("0", {rule[:64]: RuleCounts(1, 1, True) for rule in [*rules, *HOSTILE]}),
    )
    lines = [
        {"url": url, "owner": text, "rules": [rule, text], "time": 1e9}
        for (url, *_), text, rule in zip(visits * 3, HOSTILE * 20, [*rules, *HOSTILE] * 50, strict=False)
    ]
    (folder / "drops").write_text("".join(json.dumps(line) + "\n" for line in lines) + "\x00\n")
    crawl = session_ids()
    with PageStore(folder / "plain.db") as store:
        store.add_many(Page(url) for url in crawl.urls)
        store.write_clusters(dict(zip(crawl.urls, crawl.clusters, strict=True)))
    command = ["evaluate", "--db", str(folder / "plain.db"), "--method", "keep-all", "--json"]
    (row,) = json.loads(run(*command).stdout)["plain"]
    (folder / "comparison").write_text(json.dumps({text: [{**row, "method": text}] * 2 for text in HOSTILE}))
    given = ("--db", folder / "crawl.db", "--model", folder / "model<b>&amp;", "--dropped", folder / "drops")
    result = run("report", *given, "--comparison", folder / "comparison", "--output", folder / "report.html")
    assert result.exit_code == 0, result.output
    return folder / "report.html"


def test_what_strangers_write_is_text(hostile):
    """Titles, URLs, rules, names of sites and methods: not one of them becomes a tag, an attribute or a link."""
    page = ReportHtml(hostile)

    assert page.tags <= TAGS
    assert page.attributes <= ATTRIBUTES
    assert page.open == []
    assert all(link.startswith(("http://", "https://", "#")) for link in page.links)
    assert "</script><script>window.hit=1;alert(1)</script>" in page.text
    assert "{{ 7*7 }}{% for x in y %}" in page.text
    assert "49" not in [line.strip() for line in page.text.splitlines()]


def test_what_cannot_be_seen_is_written_out(hostile):
    """No control character and no direction override is left, in text or attributes."""
    text = hostile.read_text(encoding="utf-8")

    hidden = {character for character in text if not character.isprintable() and character != "\n"}
    assert hidden == set()
    assert "\\u202egnp.exe" in text


def test_figures_of_hostile_data_are_svg_all_the_same(hostile):
    """Names appear in the figure of a comparison as plain text, never as formulas."""
    images = ReportHtml(hostile).images

    assert len(images) > len(HOSTILE)
    for image in images:
        ElementTree.fromstring(base64.b64decode(image["src"].partition(",")[2]))


def test_a_hostile_report_is_small(hostile):
    """Strings of megabytes are cut, in all inputs."""
    assert hostile.stat().st_size < 2_000_000
