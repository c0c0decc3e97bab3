"""What holds for every seen set: substitutes wait for a form until its page is there, in the next run too."""

from __future__ import annotations

import pytest

from dedup_crawler.live.seen.protocol import Claim, owner_tag
from seen_sets import AWAITED, KINDS, NEW, OWN, SEEN, A, B, needs_durable, sets_of


@pytest.fixture(params=KINDS)
def sets(request, tmp_path):
    """The three kinds of seen sets."""
    yield from sets_of(request, tmp_path)


def test_substitutes_take_over_one_after_the_other(sets):
    """
    Of the URLs that are dropped while the answer is awaited the oldest is given when the owner fails, then the next
    one; a URL that waits twice is given once. A form that is free is released already.
    """
    seen = sets.fresh()
    sets.claim(seen, A, "/a?1")
    sets.wait(seen, A, "/a?2", "/a?3", "/a?2", "/a?4")

    for url in ("/a?2", "/a?3", "/a?4"):
        assert sets.run(seen.release(A)) == url
        assert sets.run(seen.release(A)) is None
        assert sets.claim(seen, A, url).standing is NEW
    assert sets.run(seen.release(A)) is None
    assert sets.claim(seen, A, "/a?5").standing is NEW


def test_substitutes_stay_with_a_free_form(sets):
    """
    While a form is free its other substitutes stay with it, whoever claims it then: a new URL, or one of those that
    wait, which waits no more. The answer makes all of them wait no more.
    """
    seen = sets.fresh()
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


def test_no_substitute_is_lost_with_the_one_that_was_given(sets):
    """The one that was given is never claimed: the crawler that runs dry is given the others, one after the other."""
    seen = sets.fresh()
    sets.claim(seen, A, "/a?1")
    sets.wait(seen, A, "/a?2", "/a?3", "/a?4")
    given = [sets.run(seen.release(A))]
    while texts := sets.run(seen.abandoned()):
        assert len(texts) == 1
        given += texts
    assert list(dict.fromkeys(given)) == ["/a?2", "/a?3", "/a?4"]
    assert len(given) <= 6


def test_a_substitute_that_was_given_may_wait_again(sets):
    """Another URL was faster than the one that was given, which waits for it then, behind the others, and is given."""
    seen = sets.fresh()
    sets.claim(seen, A, "/a?1")
    sets.wait(seen, A, "/a?2", "/a?3")
    assert sets.run(seen.release(A)) == "/a?2"
    assert sets.claim(seen, A, "/a?4").standing is NEW
    assert sets.claim(seen, A, "/a?2").standing is AWAITED
    sets.wait(seen, A, "/a?2")
    assert sets.run(seen.release(A)) == "/a?3"
    assert sets.claim(seen, A, "/a?3").standing is NEW
    assert sets.run(seen.release(A)) == "/a?2"


def test_urls_of_a_form_are_told_apart_by_32_bits(sets):
    """Two URLs that share the 16 bits kept of an owner are two substitutes, and neither takes the other's place."""
    seen = sets.fresh()
    alike = [(1 << 16) + 7, (2 << 16) + 7]
    sets.claim(seen, A, "/a?1")
    for tag in alike:
        assert sets.run(seen.wait(A, f"tag {tag}", tag))
    assert sets.run(seen.release(A)) == f"tag {alike[0]}"
    assert sets.run(seen.claim([Claim(A, alike[0])]))[0].standing is NEW
    assert sets.run(seen.claim([Claim(A, alike[1])]))[0].standing is OWN  # it is fetched as well
    assert sets.run(seen.release(A)) == f"tag {alike[1]}"


def test_many_substitutes_of_one_form(sets):
    """A rule that makes one form of a whole template has hundreds wait for one answer; none is lost."""
    seen = sets.fresh()
    urls = [f"/a?{n}" for n in range(300)]
    sets.claim(seen, A, "/a")
    sets.wait(seen, A, *urls)
    for url in urls:
        assert sets.run(seen.release(A)) == url
        assert sets.claim(seen, A, url).standing is NEW
    assert sets.run(seen.release(A)) is None


def test_what_was_not_finished_is_given_until_it_is_claimed(sets):
    """
    After a stop in mid-crawl the requests without a processed page are given, run after run, until they are claimed;
    their forms are free, and substitutes go on waiting.
    """
    seen = sets.fresh()
    needs_durable(seen)
    sets.claim(seen, A, "/a?1")
    sets.run(seen.wait(A, "/a?2", owner_tag("/a?2")))
    sets.claim(seen, B, "/b?1")
    seen.answered(B)
    for _ in range(2):
        sets.stop(seen)
        seen, texts = sets.open()
        assert sorted(texts) == ["/a?1", "/b?1"]

    assert sets.claim(seen, A, "/a?1").standing is NEW
    assert sets.claim(seen, B, "/b?2").standing is NEW
    assert sets.run(seen.release(A)) == "/a?2"
    assert sets.run(seen.release(B)) == "/b?1"  # came from the earlier run, and another URL was faster


def test_a_substitute_that_takes_the_form_over_leaves_the_owner_waiting(sets):
    """After a stop the link of the substitute is met first. It fails, and the earlier owner's request comes back."""
    seen = sets.fresh()
    needs_durable(seen)
    sets.claim(seen, A, "/a?1")
    sets.run(seen.wait(A, "/a?2", owner_tag("/a?2")))
    sets.stop(seen)
    seen = sets.again()

    assert sets.claim(seen, A, "/a?2").standing is NEW
    assert sets.run(seen.release(A)) == "/a?1"
    assert sets.claim(seen, A, "/a?1").standing is NEW
    assert sets.run(seen.release(A)) is None


def test_a_substitute_whose_owner_cannot_be_written_is_given_itself(sets):
    """Where the owner's request has no text, a stop gives the substitute in its place."""
    seen = sets.fresh()
    needs_durable(seen)
    sets.run(seen.claim([Claim(A, 1, 0, None), Claim(B, 1, 0, None)]))
    sets.run(seen.wait(A, "/a?2", owner_tag("/a?2")))
    sets.stop(seen)

    seen, texts = sets.open()

    assert texts == ["/a?2"]
    assert sets.claim(seen, B, "/b").standing is NEW


@pytest.mark.parametrize("is_clean", [True, False])
@pytest.mark.parametrize("queue_survives", [True, False])
def test_all_substitutes_outlive_the_process(sets, is_clean, queue_survives):
    """
    Three URLs wait for the answer. The owner and the first of them fail, the crawl is stopped and goes on, again and
    again: each of the others comes when the one before it has failed, and none before.
    """
    seen = sets.fresh()
    needs_durable(seen)
    sets.claim(seen, A, "/a?1")
    sets.wait(seen, A, "/a?2", "/a?3", "/a?4")
    urls = ["/a?2", "/a?3", "/a?4"]
    for url in urls:
        assert sets.run(seen.release(A)) == url
        sets.stop(seen, is_clean=is_clean)
        seen, texts = sets.open(queue_survives=queue_survives)
        assert texts == [url]
        assert sets.claim(seen, A, url).standing is NEW
    assert sets.run(seen.release(A)) is None
    sets.stop(seen, is_clean=is_clean)
    seen, texts = sets.open(queue_survives=queue_survives)
    assert texts == []
    assert sets.claim(seen, A, "/a?5").standing is NEW


def test_substitutes_wait_for_an_owner_in_the_queue(sets):
    """After an orderly stop the queue brings the owner. It fails, and those that waited in the run before are given."""
    seen = sets.fresh()
    needs_durable(seen)
    sets.claim(seen, A, "/a?1")
    sets.wait(seen, A, "/a?2", "/a?3")
    sets.stop(seen, is_clean=True)
    seen, texts = sets.open(queue_survives=True)
    assert texts == ([] if seen.is_local else ["/a?1"])  # other crawlers do not have this one's queue
    assert sets.claim(seen, A, "/a?1").standing is NEW
    assert sets.run(seen.release(A)) == "/a?2"
    assert sets.claim(seen, A, "/a?2").standing is NEW
    assert sets.run(seen.release(A)) == "/a?3"


def test_a_request_that_the_queue_does_not_bring_is_given_when_the_crawl_runs_dry(sets):
    """Not all that is queued can be written to a queue on disk: the owner comes back, and all that wait for it."""
    seen = sets.fresh()
    needs_durable(seen)
    sets.claim(seen, A, "/a?1")
    sets.wait(seen, A, "/a?2", "/a?3")
    sets.claim(seen, B, "/b")
    sets.stop(seen, is_clean=True)
    seen, _ = sets.open(queue_survives=True)

    given = []
    while texts := sets.run(seen.abandoned()):
        given += texts
    assert set(given) == {"/a?1", "/a?2", "/a?3", "/b"}
    assert len(given) <= 8


def test_a_form_that_was_answered_and_not_processed_keeps_its_substitutes(sets):
    """The process dies before the spider is through with the page, which fails in the next one."""
    seen = sets.fresh()
    needs_durable(seen)
    sets.claim(seen, A, "/a?1")
    sets.wait(seen, A, "/a?2", "/a?3")
    seen.answered(A)
    assert sets.run(seen.abandoned()) == []
    sets.stop(seen)
    seen, texts = sets.open()
    assert texts == ["/a?1"]
    assert sets.claim(seen, A, "/a?1").standing is NEW
    assert sets.run(seen.release(A)) == "/a?2"
    assert sets.claim(seen, A, "/a?2").standing is NEW
    assert sets.run(seen.release(A)) == "/a?3"
