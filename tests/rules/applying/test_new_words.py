"""New words in the place of titles."""

import pytest

from dedup_crawler.methods import load_model
from dedup_crawler.methods.verified import Verified
from dedup_crawler.rules.applying.engine import RuleEngine
from dedup_crawler.rules.applying.new_words import NewWords, ValueReuseGuard
from dedup_crawler.rules.language.matchers import ANY, Literal
from dedup_crawler.rules.language.operations import Cut, Drop, Set, Star
from dedup_crawler.rules.language.rule import Rule
from planted_visits import HOST, numbered, shuffled

TITLE = Rule(HOST, {"path.length": Literal("3")}, {"path.length": Set("2"), "path[2]": Drop()})
SID = Rule(HOST, {"query[sid]": ANY}, {"query[sid]": Drop()})
CUT = Rule(HOST, {"path[1]": ANY}, {"path[1]": Cut("-", is_last=False, keeps_head=True)})
ONE_VALUE = Rule(HOST, {"query[page]": Literal("1")}, {"query[page]": Drop()})


TITLES = [f"/questions/{q}/title-{q}" for q in range(60)]
HELP = [f"/questions/{q}/help" for q in range(20)]
STAR = Rule(HOST, {"path[0]": Literal("t"), "path[1]": ANY}, {"path[1]": Star()})


@pytest.mark.parametrize(
    ("rule", "training", "asked", "words"),
    [
        # two questions may share a title; for the third it is a new word, and stays one; the first two keep theirs
        (TITLE, TITLES, [f"/questions/{q}/history" for q in (1, 2, 3, 4, 1, 3)], [0, 0, 1, 1, 0, 1]),
        (TITLE, TITLES, [f"/questions/{q}/title-of-{q}" for q in range(4)], [0, 0, 0, 0]),
        # a question sorted in three ways is one page
        (TITLE, TITLES, [f"/questions/7/title-7{query}" for query in ("", "?sort=a", "?sort=b")], [0, 0, 0]),
        # three questions in training had this title, rightly: so a fourth may have it
        (
            TITLE,
            [*TITLES, *(f"/questions/{q}/help" for q in range(3))],
            [f"/questions/{q}/help" for q in "789"],
            [0] * 3,
        ),
        # a session id is on all pages of a visit, as intended
        (SID, [f"/topic/{t}?sid={t // 10}" for t in range(100)], [f"/topic/{t}?sid=new" for t in range(4)], [0] * 4),
        # of ``7-title`` the title is watched
        (CUT, [f"/topic/{t}-title{t}" for t in range(30)], [f"/topic/{t}-history" for t in range(4)], [0, 0, 1, 1]),
        # the place of an ignored value is watched
        (STAR, [f"/t/title{n}/{n}" for n in range(30)], [f"/t/history/{n}" for n in range(4)], [0, 0, 1, 1]),
        # a rule about one value drops no new word, however often the value occurs
        (ONE_VALUE, [f"/{n}?page=1" for n in range(30)], [f"/{n}/x?page=1" for n in range(4)], [0] * 4),
    ],
)
def test_the_third_page_makes_a_word(rule, training, asked, words):
    """The answers for paths, in order: which of them are new words in the place of a title."""
    engine = RuleEngine([rule])
    guard = NewWords.learn(engine, [f"http://{HOST}{rest}" for rest in training])
    urls = [f"http://{HOST}{rest}" for rest in asked]

    assert [guard.is_one_in(url, engine.form(url)) for url in urls] == [bool(word) for word in words]


def test_a_rule_that_fires_behind_another_one_is_watched():
    """The title is dropped behind another name of the section, which another rule writes first. No word was noticed."""
    name = Rule(HOST, {"path[0]": Literal("q")}, {"path[0]": Set("questions")})
    title = Rule(HOST, {"path[0]": Literal("questions"), "path[2]": ANY}, {"path[2]": Star()})
    engine = RuleEngine([name, title])
    guard = NewWords.learn(engine, [f"http://{HOST}{path}" for path in TITLES])
    urls = [f"http://{HOST}/q/{q}/history" for q in range(4)]

    assert [engine.form(url) for url in urls] == [f"http://{HOST}/questions/{q}/*" for q in range(4)]
    assert [guard.is_one_in(url, engine.form(url)) for url in urls] == [False, False, True, True]


def test_memory_is_bounded(monkeypatch):
    """The oldest values are forgotten first."""
    monkeypatch.setattr("dedup_crawler.rules.applying.new_words.MAX_VALUES", 10)
    guard = ValueReuseGuard()
    for number in range(1000):
        guard.allows("/t/<num1>/<any2>", 2, f"slug-{number}", (str(number),))

    assert len(guard._pages) == 10


def test_a_method_leaves_new_words_alone_and_says_so(tmp_path):
    """Also after saving and loading, which begins a new crawl; the same questions give the same answers."""
    visits = [(q, f"/questions/{q}") for q in range(60)] + [(q, f"/questions/{q}/title-{q}") for q in range(60)]
    urls, pages = numbered(shuffled(visits))
    method = Verified().fit(urls, pages)

    for told in (method, load_model(method.save(tmp_path / "model"))):
        asked = [f"http://{HOST}/questions/{q}/history" for q in (700, 701, 702, 703)]
        forms = told.canonicalize_many(asked)
        assert forms == [url.removesuffix("/history") for url in asked[:2]] + asked[2:]
        assert told.canonicalize_many(asked) == forms
        assert "left alone" in told.explain(asked[3]).reason
        assert told.explain(asked[0]).form == forms[0]
