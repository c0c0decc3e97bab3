"""Laws of every seen set: owners, substitutes, forgetting; and the setting that chooses a set."""

from __future__ import annotations

import asyncio
import itertools
import time
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedup_crawler.live.seen import memory
from dedup_crawler.live.seen.protocol import Claim, form_digest, owner_tag
from seen_sets import AWAITED, NEW, OWN, OWN_SEEN, SEEN, A, B


def test_the_first_url_owns_the_form(sets, seen):
    """Repeats of the owner differ from other URLs of the form; when the page comes, the others find a seen form."""
    assert sets.claim(seen, A, "/a?1", rules=7) == (NEW, 7)
    assert sets.claim(seen, A, "/a?1") == (OWN, 7)
    assert sets.claim(seen, A, "/a?2", rules=9) == (AWAITED, 7)
    seen.answered(A)
    for _ in range(2):
        assert sets.claim(seen, A, "/a?2") == (SEEN, 7)
        assert sets.claim(seen, A, "/a?1") == (OWN_SEEN, 7)
        seen.processed([A])
    assert len(seen) == 1


def test_claims_of_one_call_meet_each_other(sets, seen):
    """The second link of a page to a form finds that the first one owns it."""
    claims = [Claim(A, 1), Claim(A, 2), Claim(B, 3), Claim(A, 1)]

    assert [holder.standing for holder in sets.run(seen.claim(claims))] == [NEW, AWAITED, NEW, OWN]
    assert sets.run(seen.claim([])) == []


def test_nobody_waits_for_a_form_that_is_seen_or_free(sets, seen):
    """A URL may be dropped if its form was answered meanwhile; not if it was freed meanwhile."""
    assert not sets.run(seen.wait(A, "/a?2", owner_tag("/a?2")))
    sets.claim(seen, A, "/a?1")
    seen.answered(A)
    assert sets.run(seen.wait(A, "/a?2", owner_tag("/a?2")))
    assert sets.run(seen.release(A)) is None
    assert not sets.run(seen.wait(A, "/a?2", owner_tag("/a?2")))


def test_a_seen_form_can_be_forgotten(sets, seen):
    """A form whose page turned out to be a captcha is free again, for its own URL too."""
    sets.claim(seen, A, "/a?1")
    seen.answered(A)
    seen.processed([A])
    sets.claim(seen, B, "/b")  # sends what Redis has not heard yet

    assert sets.run(seen.release(A)) is None
    assert sets.claim(seen, A, "/a?1").standing is NEW


def test_an_answer_that_comes_late_says_nothing_of_the_next_owner(sets, seen):
    """A freed form that is claimed again is awaited, so that another URL waits in case it fails too."""
    sets.claim(seen, A, "/a?1")
    sets.run(seen.release(A))
    seen.answered(A)
    sets.claim(seen, B, "/b")  # sends what Redis has not heard yet

    assert sets.claim(seen, A, "/a?2").standing is NEW
    assert sets.claim(seen, A, "/a?3").standing is AWAITED
    assert sets.run(seen.wait(A, "/a?3", owner_tag("/a?3")))
    assert sets.run(seen.release(A)) == "/a?3"


def test_a_form_of_a_rule_that_was_switched_off_is_free(sets, seen):
    """The next URL takes the form over, awaited or seen, and substitutes go on waiting."""
    sets.claim(seen, A, "/a?1", rules=7)
    sets.run(seen.wait(A, "/a?3", owner_tag("/a?3")))
    assert sets.claim(seen, A, "/a?2", invalid=[8, 65535]) == (AWAITED, 7)
    assert sets.claim(seen, A, "/a?2", rules=9, invalid={7, 8}) == (NEW, 9)
    assert sets.claim(seen, A, "/a?2", invalid=[7]) == (OWN, 9)
    assert sets.run(seen.release(A)) == "/a?3"

    sets.claim(seen, B, "/b?1", rules=65535)
    seen.answered(B)
    seen.processed([B])
    sets.claim(seen, A, "/a?3")
    assert sets.claim(seen, B, "/b?2", rules=1, invalid=[65535]) == (NEW, 1)
    assert sets.claim(seen, B, "/b?1") == (AWAITED, 1)


def test_late_news_of_a_page_do_not_mark_the_form_of_its_successor(sets, seen):
    """Pages are noted as seen within a moment; meanwhile their forms go to other URLs, whose pages are awaited."""
    forms = [form_digest(f"/{number}") for number in range(30)]
    for form in forms:
        sets.claim(seen, form, "/1", rules=65535)
        seen.answered(form)
        seen.processed([form])
        assert sets.claim(seen, form, "/2", rules=1, invalid=[65535]) == (NEW, 1)
        sets.run(asyncio.sleep(0.01))
    assert {sets.claim(seen, form, "/3") for form in forms} == {(AWAITED, 1)}


def test_owners_that_were_swallowed_give_up_their_substitutes(sets, seen):
    """When nothing is in flight, every substitute is returned and its form is free; answered forms stay."""
    forms = [form_digest(letter) for letter in "abc"]
    for form, letter in zip(forms, "abc", strict=True):
        sets.claim(seen, form, f"{letter}1")
        sets.run(seen.wait(form, f"{letter}2", owner_tag(f"{letter}2")))
    seen.answered(forms[1])

    assert sets.run(seen.abandoned(is_idle=False)) == []
    assert sorted(sets.run(seen.abandoned())) == ["a2", "c2"]
    assert sets.claim(seen, forms[0], "a2").standing is NEW
    assert sets.claim(seen, forms[1], "b2").standing is SEEN
    assert sets.claim(seen, forms[2], "c2").standing is NEW
    assert sets.run(seen.abandoned()) == []
    assert sets.claim(seen, forms[0], "a3").standing is NEW


def test_a_restored_form_is_seen(sets, seen):
    """The form is seen; a local crawl may fetch its own URL again; an owner of this crawl keeps its form."""
    sets.claim(seen, B, "/b?1")
    seen.restore([Claim(A, owner_tag("/a?1"), 3), Claim(A, 0), Claim(B, owner_tag("/b?2"))])

    assert sets.claim(seen, A, "/a?1") == (OWN_SEEN if seen.is_local else SEEN, 3)
    assert sets.claim(seen, A, "/a?2") == (SEEN, 3)
    assert sets.claim(seen, B, "/b?1").standing is OWN
    assert sets.run(seen.wait(A, "/a?2", owner_tag("/a?2")))
    assert len(seen) == 2


def test_facts_are_kept_and_forms_can_be_forgotten(sets, seen):
    """
    Clearing forgets seen, awaited and waiting forms, not the facts; a durable set returns the awaited requests, every
    set the substitutes of unanswered forms, including free ones.
    """
    forms = [form_digest(letter) for letter in "abcd"]
    assert sets.run(seen.noted("model")) is None
    sets.run(seen.note("model", "ünïcode 'quoted'; DROP TABLE seen"))
    sets.run(seen.note("version", "1"))
    for form, letter in zip(forms, "abcd", strict=True):
        sets.claim(seen, form, f"{letter}1")
        sets.wait(seen, form, f"{letter}2", f"{letter}3")
    seen.answered(forms[1])
    seen.answered(forms[2])
    seen.processed([forms[2]])
    assert sets.run(seen.release(forms[3])) == "d2"

    awaited, waiting = sets.run(seen.clear())

    assert set(awaited) - {"c1"} == ({"a1", "b1", "d2"} if seen.is_durable else set())
    assert sorted(waiting) == ["a2", "a3", "d3"]
    assert sets.run(seen.noted("model")) == "ünïcode 'quoted'; DROP TABLE seen"
    assert len(seen) == 0
    assert sets.run(seen.abandoned()) == []
    for form, letter in zip(forms, "abcd", strict=True):
        assert sets.claim(seen, form, f"{letter}4").standing is NEW
        assert sets.run(seen.owner(form)) is None
    assert sets.run(seen.release(forms[0])) is None
    assert len(seen) == 3
    assert sets.run(seen.clear()).waiting == []


def test_the_owner_of_a_seen_form(durable, seen):
    """A durable set keeps the request that brought the page, also in the next run; none for a form without one."""
    durable.claim(seen, A, "/a?1")
    durable.claim(seen, B, "/b?1")
    assert durable.run(seen.owner(A)) is None
    seen.answered(A)
    assert durable.run(seen.owner(A)) == "/a?1"
    seen.processed([A])
    assert durable.run(seen.owner(A)) == "/a?1"
    assert durable.run(seen.owner(form_digest("/c"))) is None
    seen.restore([Claim(form_digest("/d"), 1)])
    assert durable.run(seen.owner(form_digest("/d"))) is None
    durable.stop(seen, is_clean=True)

    seen = durable.again()

    assert durable.run(seen.owner(A)) == "/a?1"
    assert durable.run(seen.owner(B)) is None
    durable.run(seen.release(A))
    assert durable.run(seen.owner(A)) is None
    durable.claim(seen, A, "/a?2")
    assert durable.run(seen.owner(A)) is None
    seen.answered(A)
    seen.processed([A])
    assert durable.run(seen.owner(A)) == "/a?2"


@pytest.mark.parametrize("is_clean", [True, False])
def test_drops_are_kept_until_they_are_forgotten(sets, seen, is_clean):
    """
    Every run receives the drops of earlier runs, each once, also after a clean stop, until its rules are verified;
    forgetting all includes received drops. Clearing leaves them alone.
    """
    options = {"queue_survives": True}
    for rules, text in [(5, "five"), (6, "six"), (5, "five"), (65535, "last"), (0, "none")]:
        seen.keep_dropped(rules, text)
    seen.forget_dropped([6, 7])
    for left in (["five", "last", "none"], ["five", "last", "more", "none"]):
        sets.stop(seen, is_clean=is_clean)
        seen, texts = sets.open(**options)
        assert sorted(texts) == (left if seen.is_durable else [])
        assert sets.run(seen.clear()) == ([], [])
        seen.keep_dropped(5, "five")
        seen.keep_dropped(8, "more")
    seen.forget_dropped([5])
    seen.keep_dropped(5, "five again")
    sets.stop(seen, is_clean=is_clean)
    seen, texts = sets.open(**options)
    assert sorted(texts) == (["five again", "last", "more", "none"] if seen.is_durable else [])
    seen.keep_dropped(9, "gone")
    seen.forget_dropped()
    seen.keep_dropped(9, "kept")
    sets.stop(seen, is_clean=is_clean)
    seen, texts = sets.open(**options)
    assert texts == (["kept"] if seen.is_durable else [])


def test_digests_that_look_alike_are_told_apart(sets, seen):
    """Forms whose digests share first or last bytes stay different."""
    alike = [bytes(15) + bytes([n]) for n in range(200)] + [bytes([n]) + bytes(15) for n in range(1, 200)]

    first = sets.run(seen.claim([Claim(digest, 1, 0, "x") for digest in alike]))
    assert {holder.standing for holder in first} == {NEW}
    for digest in alike[::2]:
        seen.answered(digest)
    seen.processed(alike[::2])
    for digest in alike[1::2]:
        sets.run(seen.release(digest))
    again = sets.run(seen.claim([Claim(digest, 2, 0, "x") for digest in alike]))
    assert [holder.standing for holder in again] == [SEEN if n % 2 == 0 else NEW for n in range(len(alike))]


def test_a_clock_that_goes_backwards_changes_nothing(sets, monkeypatch):
    """No decision depends on the time of day."""
    hours = itertools.count(2_000_000_000, -3600)
    monkeypatch.setattr(time, "time", lambda: float(next(hours)))
    test_the_first_url_owns_the_form(sets, sets.fresh())
    test_owners_that_were_swallowed_give_up_their_substitutes(sets, sets.fresh())


def test_the_next_run_knows_what_was_seen(durable, seen):
    """A processed page is seen in the next run, for its own URL too, with its rules; facts are there."""
    durable.claim(seen, A, "/a?1", rules=300)
    seen.answered(A)
    seen.processed([A])
    seen.restore([Claim(B, 1)])
    durable.run(seen.note("model", "abc"))
    durable.stop(seen, is_clean=True)

    seen, texts = durable.open()

    assert texts == []
    assert durable.run(seen.noted("model")) == "abc"
    assert durable.claim(seen, A, "/a?1") == (SEEN, 300)
    assert durable.claim(seen, B, "/b").standing is SEEN
    assert len(seen) == 2


def test_what_was_not_finished_is_given_until_it_is_claimed(durable, seen):
    """
    After a kill the requests without a processed page are returned, run after run, until they are claimed;
    their forms are free, and substitutes go on waiting.
    """
    durable.claim(seen, A, "/a?1")
    durable.run(seen.wait(A, "/a?2", owner_tag("/a?2")))
    durable.claim(seen, B, "/b?1")
    seen.answered(B)
    for _ in range(2):
        durable.stop(seen)
        seen, texts = durable.open()
        assert sorted(texts) == ["/a?1", "/b?1"]

    assert durable.claim(seen, A, "/a?1").standing is NEW
    assert durable.claim(seen, B, "/b?2").standing is NEW
    assert durable.run(seen.release(A)) == "/a?2"
    assert durable.run(seen.release(B)) == "/b?1"  # came from the earlier run, and another URL was faster


@given(st.lists(st.tuples(st.text("\x00\x01", min_size=16, max_size=16), st.none() | st.integers(0, 257)), max_size=40))
def test_packed_owners_are_a_dict(steps: list[tuple[str, int | None]]) -> None:
    """Law: what is put is found until it is removed, also if all share a bucket and one lies across two others."""
    packed, plain = memory.PackedOwners(), {}
    with patch.object(memory, "_N_BUCKETS", 1):
        for text, value in steps:
            digest = text.encode()
            if value is None:
                assert packed.discard(digest) == (plain.pop(digest, None) is not None)
            else:
                packed.put(digest, value)
                plain[digest] = value
        assert {digest: packed.get(digest) for digest in plain} == plain
        assert len(packed) == len(plain)
