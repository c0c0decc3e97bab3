"""Laws of every seen set about substitutes: URLs that wait for the answer to another URL of their form."""

from __future__ import annotations

import pytest

from dedup_crawler.live.seen.protocol import Claim, owner_tag
from seen_sets import AWAITED, NEW, OWN, SEEN, A, B


def test_substitutes_take_over_one_after_the_other(sets, seen):
    """
    Of the URLs dropped while the answer is awaited the oldest is returned when the owner fails, then the next
    one; a URL that waits twice is returned once. Releasing a free form does nothing.
    """
    sets.claim(seen, A, "/a?1")
    sets.wait(seen, A, "/a?2", "/a?3", "/a?2", "/a?4")

    for url in ("/a?2", "/a?3", "/a?4"):
        assert sets.run(seen.release(A)) == url
        assert sets.run(seen.release(A)) is None
        assert sets.claim(seen, A, url).standing is NEW
    assert sets.run(seen.release(A)) is None
    assert sets.claim(seen, A, "/a?5").standing is NEW


def test_substitutes_stay_with_a_free_form(sets, seen):
    """
    While a form is free its other substitutes stay with it, whichever URL claims it: a new one, or one of those that
    wait, which then waits no more. The answer ends the waiting of all.
    """
    sets.claim(seen, A, "/a?1")
    sets.wait(seen, A, "/a?2", "/a?3", "/a?4", "/a?5")
    assert sets.run(seen.release(A)) == "/a?2"
    assert sets.claim(seen, A, "/a?9").standing is NEW
    assert sets.run(seen.release(A)) == "/a?3"
    assert sets.claim(seen, A, "/a?5").standing is NEW
    assert sets.run(seen.release(A)) == "/a?4"
    assert sets.claim(seen, A, "/a?4").standing is NEW
    sets.wait(seen, A, "/a?6", "/a?7")
    seen.answered(A)
    seen.processed([A])
    sets.claim(seen, B, "/b")
    assert sets.run(seen.abandoned()) == []
    assert sets.claim(seen, A, "/a?7").standing is SEEN


def test_no_substitute_is_lost_with_the_one_that_was_given(sets, seen):
    """If a returned request is never claimed, the idle crawler receives the others, one after the other."""
    sets.claim(seen, A, "/a?1")
    sets.wait(seen, A, "/a?2", "/a?3", "/a?4")
    given = [sets.run(seen.release(A))]
    while texts := sets.run(seen.abandoned()):
        assert len(texts) == 1
        given += texts
    assert list(dict.fromkeys(given)) == ["/a?2", "/a?3", "/a?4"]
    assert len(given) <= 6


def test_a_substitute_that_was_given_may_wait_again(sets, seen):
    """Another URL was faster than the returned one, which then waits behind the others, and is returned again."""
    sets.claim(seen, A, "/a?1")
    sets.wait(seen, A, "/a?2", "/a?3")
    assert sets.run(seen.release(A)) == "/a?2"
    assert sets.claim(seen, A, "/a?4").standing is NEW
    assert sets.claim(seen, A, "/a?2").standing is AWAITED
    sets.wait(seen, A, "/a?2")
    assert sets.run(seen.release(A)) == "/a?3"
    assert sets.claim(seen, A, "/a?3").standing is NEW
    assert sets.run(seen.release(A)) == "/a?2"


def test_urls_of_a_form_are_told_apart_by_32_bits(sets, seen):
    """Two URLs that share the 16 bits of an owner are two substitutes, and neither replaces the other."""
    alike = [(1 << 16) + 7, (2 << 16) + 7]
    sets.claim(seen, A, "/a?1")
    for tag in alike:
        assert sets.run(seen.wait(A, f"tag {tag}", tag))
    assert sets.run(seen.release(A)) == f"tag {alike[0]}"
    assert sets.run(seen.claim([Claim(A, alike[0])]))[0].standing is NEW
    assert sets.run(seen.claim([Claim(A, alike[1])]))[0].standing is OWN  # it is fetched as well
    assert sets.run(seen.release(A)) == f"tag {alike[1]}"


def test_many_substitutes_of_one_form(sets, seen):
    """A rule that gives a whole template one form has hundreds wait for one answer; none is lost."""
    urls = [f"/a?{n}" for n in range(300)]
    sets.claim(seen, A, "/a")
    sets.wait(seen, A, *urls)
    for url in urls:
        assert sets.run(seen.release(A)) == url
        assert sets.claim(seen, A, url).standing is NEW
    assert sets.run(seen.release(A)) is None


def test_a_substitute_that_takes_the_form_over_leaves_the_owner_waiting(durable, seen):
    """After a stop the substitute's link comes first. It fails, and the earlier owner's request comes back."""
    durable.claim(seen, A, "/a?1")
    durable.run(seen.wait(A, "/a?2", owner_tag("/a?2")))
    durable.stop(seen)
    seen = durable.again()

    assert durable.claim(seen, A, "/a?2").standing is NEW
    assert durable.run(seen.release(A)) == "/a?1"
    assert durable.claim(seen, A, "/a?1").standing is NEW
    assert durable.run(seen.release(A)) is None


def test_a_substitute_whose_owner_cannot_be_written_is_given_itself(durable, seen):
    """If the owner's request has no text, the next run receives the substitute instead."""
    durable.run(seen.claim([Claim(A, 1, 0, None), Claim(B, 1, 0, None)]))
    durable.run(seen.wait(A, "/a?2", owner_tag("/a?2")))
    durable.stop(seen)

    seen, texts = durable.open()

    assert texts == ["/a?2"]
    assert durable.claim(seen, B, "/b").standing is NEW


@pytest.mark.parametrize("is_clean", [True, False])
@pytest.mark.parametrize("queue_survives", [True, False])
def test_all_substitutes_outlive_the_process(durable, seen, is_clean, queue_survives):
    """
    Three URLs wait for the answer. The owner and the first of them fail, the crawl is stopped and resumed, again and
    again: each of the others comes when the previous one has failed, none earlier.
    """
    durable.claim(seen, A, "/a?1")
    durable.wait(seen, A, "/a?2", "/a?3", "/a?4")
    urls = ["/a?2", "/a?3", "/a?4"]
    for url in urls:
        assert durable.run(seen.release(A)) == url
        durable.stop(seen, is_clean=is_clean)
        seen, texts = durable.open(queue_survives=queue_survives)
        assert texts == [url]
        assert durable.claim(seen, A, url).standing is NEW
    assert durable.run(seen.release(A)) is None
    durable.stop(seen, is_clean=is_clean)
    seen, texts = durable.open(queue_survives=queue_survives)
    assert texts == []
    assert durable.claim(seen, A, "/a?5").standing is NEW


def test_substitutes_wait_for_an_owner_in_the_queue(durable, seen):
    """After a clean stop the queue brings the owner. It fails, and the substitutes of the earlier run are returned."""
    durable.claim(seen, A, "/a?1")
    durable.wait(seen, A, "/a?2", "/a?3")
    durable.stop(seen, is_clean=True)
    seen, texts = durable.open(queue_survives=True)
    assert texts == ([] if seen.is_local else ["/a?1"])  # other crawlers do not have this one's queue
    assert durable.claim(seen, A, "/a?1").standing is NEW
    assert durable.run(seen.release(A)) == "/a?2"
    assert durable.claim(seen, A, "/a?2").standing is NEW
    assert durable.run(seen.release(A)) == "/a?3"


def test_a_request_that_the_queue_does_not_bring_is_given_when_the_crawl_runs_dry(durable, seen):
    """Some queued requests cannot be written to disk: the owner comes back, and all its substitutes."""
    durable.claim(seen, A, "/a?1")
    durable.wait(seen, A, "/a?2", "/a?3")
    durable.claim(seen, B, "/b")
    durable.stop(seen, is_clean=True)
    seen, _ = durable.open(queue_survives=True)

    given = []
    while texts := durable.run(seen.abandoned()):
        given += texts
    assert set(given) == {"/a?1", "/a?2", "/a?3", "/b"}
    assert len(given) <= 8


def test_a_form_that_was_answered_and_not_processed_keeps_its_substitutes(durable, seen):
    """The process dies before the page is processed, which fails in the next process."""
    durable.claim(seen, A, "/a?1")
    durable.wait(seen, A, "/a?2", "/a?3")
    seen.answered(A)
    assert durable.run(seen.abandoned()) == []
    durable.stop(seen)
    seen, texts = durable.open()
    assert texts == ["/a?1"]
    assert durable.claim(seen, A, "/a?1").standing is NEW
    assert durable.run(seen.release(A)) == "/a?2"
    assert durable.claim(seen, A, "/a?2").standing is NEW
    assert durable.run(seen.release(A)) == "/a?3"
