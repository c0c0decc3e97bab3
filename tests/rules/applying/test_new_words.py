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


def guard(rules, *training):
    """Return the answers for paths, in order."""
    engine = RuleEngine(rules)
    words = NewWords.learn(engine, [f"http://{HOST}{rest}" for rest in training])
    return lambda rest: words.is_one_in(f"http://{HOST}{rest}", engine.form(f"http://{HOST}{rest}"))


def titles(n=30):
    return [f"/questions/{q}/title-{q}" for q in range(n)]


def test_the_third_page_makes_a_word():
    """Two questions may share a title; for the third it is a new word, and stays one; the first two keep theirs."""
    is_word = guard([TITLE], *titles())

    assert [is_word(f"/questions/{q}/history") for q in (1, 2, 3, 4, 1, 3)] == [False, False, True, True, False, True]
    assert not is_word("/questions/3/a-title-of-its-own")


def test_what_the_query_asks_of_a_page_is_the_same_page():
    """A question sorted in three ways has one title."""
    is_word = guard([TITLE], *titles())

    assert not any(is_word(f"/questions/7/title-7{query}") for query in ("", "?sort=a", "?sort=b", "?sort=c"))


def test_a_value_that_training_met_with_many_pages_is_known():
    """Three questions in training had the title ``help``, rightly: so a fourth may have it."""
    is_word = guard([TITLE], *titles(60), *[f"/questions/{q}/help" for q in range(3)])

    assert not any(is_word(f"/questions/{q}/help") for q in range(10, 20))


def test_values_that_always_come_with_many_pages_are_not_watched():
    """A session id is on all pages of a visit, as intended."""
    is_word = guard([SID], *[f"/topic/{t}?sid={t // 10}" for t in range(100)])

    assert not any(is_word(f"/topic/{t}?sid=new") for t in range(10))


def test_the_piece_that_goes_is_the_word():
    """Of ``7-title`` the title is watched."""
    is_word = guard([CUT], *[f"/topic/{t}-title{t}" for t in range(30)])

    assert [is_word(f"/topic/{t}-history") for t in range(4)] == [False, False, True, True]


@pytest.mark.parametrize(("rest", "rules"), [("/x?page=1", [ONE_VALUE]), ("/x", []), ("/a/b/c", [ONE_VALUE])])
def test_rules_about_values_that_are_known_are_not_watched(rest, rules):
    """No new word is dropped, however often it occurs."""
    is_word = guard(rules, *[f"/{n}?page=1" for n in range(30)])

    assert not any(is_word(f"/{n}{rest}") for n in range(5))


def test_stars_are_watched_too():
    """The place of an ignored value."""
    rule = Rule(HOST, {"path[0]": Literal("t"), "path[1]": ANY}, {"path[1]": Star()})
    is_word = guard([rule], *[f"/t/title{n}/{n}" for n in range(30)])

    assert [is_word(f"/t/history/{n}") for n in range(4)] == [False, False, True, True]


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
