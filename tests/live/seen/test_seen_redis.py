"""Several crawlers on one real Redis: single claims, crawlers that die, shared results."""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
import sys

import pytest

from dedup_crawler.live.seen.protocol import Claim, form_digest

pytest.importorskip("redis")

from dedup_crawler.live.seen.redis import RedisLink, RedisSeenSet
from redis_sets import on_a_loop, opened, standing, until
from seen_sets import AWAITED, NEW, OWN, SEEN, A, B

HEARTBEAT_S = 0.4

CLAIMER = """
import asyncio, json, sys
from dedup_crawler.live.seen.protocol import Claim, form_digest
from dedup_crawler.live.seen.redis import RedisSeenSet

async def crawl(url, tag, n_forms, heartbeat_s):
    seen = RedisSeenSet(url, heartbeat_s=heartbeat_s)
    await seen.open()
    sys.stdin.readline()
    claims = [Claim(form_digest(str(n)), tag, 0, f"{n} of {tag}") for n in range(n_forms)]
    new = []
    for start in range(0, n_forms, 10):
        holders = await seen.claim(claims[start : start + 10])
        new += [start + n for n, holder in enumerate(holders) if holder.standing == 0]
    print(json.dumps(new), flush=True)
    await asyncio.sleep(3600 if heartbeat_s < 30 else 0)

asyncio.run(crawl(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4])))
"""


def claimer(url, tag, n_forms, heartbeat_s=30.0):
    """A process that claims forms on command, and stays alive if its heartbeat is short."""
    command = [sys.executable, "-c", CLAIMER, url, str(tag), str(n_forms), str(heartbeat_s)]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def test_two_processes_claim_each_form_once(redis_server):
    """Both claim the same 1,000 forms at the same time: exactly one of them gets each form."""
    crawlers = [claimer(redis_server.url("two"), tag, 1_000) for tag in (1, 2)]
    for crawler in crawlers:
        crawler.stdin.write("\n")
        crawler.stdin.flush()
    first, second = (json.loads(crawler.communicate(timeout=600)[0]) for crawler in crawlers)

    assert sorted(first + second) == list(range(1_000))


def test_what_a_killed_crawler_awaits_is_free_and_handed_to_one(redis_server):
    """
    A crawler is killed. It keeps its forms until its heartbeat expires; then each of its requests is
    returned to exactly one of the two others, and the forms are free.
    """
    url = redis_server.url("killed")
    dying = claimer(url, 7, 50, HEARTBEAT_S)
    dying.stdin.write("\n")
    dying.stdin.flush()
    assert json.loads(dying.stdout.readline()) == list(range(50))

    async def rescue():
        others = [await opened(url), await opened(url)]
        assert await standing(others[0], form_digest("3"), 8) is AWAITED
        assert await others[0].wait(form_digest("3"), "3 of 8", 8)
        assert await others[0].abandoned(is_idle=False) == []
        dying.send_signal(signal.SIGKILL)
        dying.wait()

        async def given():
            parts = await asyncio.gather(*(other.abandoned(is_idle=False) for other in others))
            return [text for part in parts for text in part]

        texts = await until(given)
        assert sorted(texts) == sorted(f"{n} of 7" for n in range(50))
        assert await given() == []
        assert await standing(others[1], form_digest("3"), 7) is NEW
        assert await others[1].release(form_digest("3")) == "3 of 8"
        assert await standing(others[1], form_digest("4"), 9) is NEW
        for other in others:
            await other.close(is_clean=True)

    asyncio.run(rescue())
    dying.communicate()


@on_a_loop
async def test_a_claim_of_a_dead_crawler_is_free_before_anybody_looks(redis_server):
    """A claim takes over the form of a dead crawler, whose request becomes a substitute."""
    url = redis_server.url("dead")
    dead = await opened(url, heartbeat_s=HEARTBEAT_S)
    await dead.claim([Claim(A, 1, 0, "/a?1")])
    dead._task.cancel()
    other = await opened(url)
    assert await standing(other, A, 2) is AWAITED

    async def takes():
        return await standing(other, A, 2) is NEW

    await until(takes)
    assert not await other.abandoned(is_idle=False)
    dead.answered(A)  # it was only slow, so its answer counts
    assert await standing(dead, A, 3) is SEEN
    assert await dead.release(A) is None
    assert await other.release(A) == "/a?1"
    await dead._link.close()
    await other.close(is_clean=True)


@on_a_loop
async def test_a_page_is_seen_by_all_once_it_is_processed(redis_server):
    """One crawler's page is another's duplicate; a failing owner of one crawler returns the substitute of the other."""
    one, other = [await opened(redis_server.url("shared")) for _ in range(2)]
    assert await standing(one, A, 1) is NEW
    assert await standing(other, A, 1) is AWAITED  # the same URL, in another process
    assert await other.wait(A, "of the other", 3)
    assert await other.release(A) is None
    assert await other.abandoned() == []
    assert await one.release(A) == "of the other"
    assert await standing(one, A, 1) is NEW
    one.answered(A)
    assert await standing(other, A, 2) is AWAITED
    one.processed([A])

    async def is_seen():
        return await standing(other, A, 1) is SEEN

    await until(is_seen)
    assert len(other) == 1
    assert await other.release(A) is None
    assert await standing(other, A, 1) is NEW
    await one.close(is_clean=True)
    await other.close(is_clean=True)


@on_a_loop
async def test_a_claim_that_redis_lost_does_not_make_a_page_seen(redis_server):
    """Redis lost its data while a page was in flight.

    The rules of the owner are lost, so no rule could be blamed for drops by that form: the next
    URL of the form is fetched.
    """
    seen = await opened(redis_server.url("lost"))
    await seen.claim([Claim(A, 1, 7, "/a?1")])
    await seen._link.command("FLUSHDB")
    seen.answered(A)
    seen.processed([A])
    await seen._beat()
    assert await standing(seen, A, 2) is NEW
    await seen.close(is_clean=True)


@on_a_loop
async def test_drops_that_a_dead_crawler_kept_are_handed_to_one(redis_server):
    """
    A crawler dies, another one stops in order; their drops by unverified rules are returned once, to one
    of the others, which keeps them from then on. Drops of a living crawler stay its own.
    """
    url = redis_server.url("drops")
    dead = await opened(url, heartbeat_s=HEARTBEAT_S)
    stopped, living, heir = [await opened(url) for _ in range(3)]
    for number, crawler in enumerate((dead, stopped, living)):
        for n in range(1_500 if crawler is stopped else 2):
            crawler.keep_dropped(n % 3, f"{n} of {number}")
    dead.forget_dropped([1])
    await living._beat()
    await dead._beat()
    dead._is_closing = True  # stop its heartbeat
    await dead._task
    await stopped.close(is_clean=True)
    assert await heir.may_be_given_more()
    given = []

    async def is_all_given():
        given.extend(await heir.abandoned(is_idle=False))
        return len(given) == 1_501

    await until(is_all_given)
    assert sorted(given) == sorted(["0 of 0", *(f"{n} of 1" for n in range(1_500))])
    assert await heir.abandoned() == await living.abandoned() == []
    heir.forget_dropped([0, 2])
    await heir.close(is_clean=True)
    last = RedisSeenSet(url, timeout_s=2.0)
    assert sorted(await last.open()) == sorted(f"{n} of 1" for n in range(1, 1_500, 3))
    last.forget_dropped()
    await last.close(is_clean=True)
    await dead._link.close()
    await living.close(is_clean=True)


@on_a_loop
async def test_owners_of_the_forms_seen_last_are_known_to_all(redis_server):
    """One crawler reads the request that brought another one's page; the oldest of more than 20,000 is forgotten."""
    one, other = [await opened(redis_server.url("owners")) for _ in range(2)]
    digests = [form_digest(f"/{n}") for n in range(20_500)]
    await one.claim([Claim(digest, 1, 0, f"/{n}") for n, digest in enumerate(digests)])
    for digest in digests:  # as pages come: one command for all would take Redis seconds
        one.processed([digest])
    await one._beat()
    assert await other.owner(digests[-1]) == "/20499"
    assert await other.owner(digests[500]) == "/500"
    assert await other.owner(digests[499]) is None
    assert redis_server.ask("LLEN owners:owned") == ":20000"
    await one.close(is_clean=True)
    await other.close(is_clean=True)


def test_clearing_leaves_no_key_behind(redis_server):
    """Substitutes have a key a form: clearing removes them all."""

    async def crawl():
        seen = await opened(redis_server.url("cleared"))
        digests = [form_digest(f"/{n}") for n in range(1_200)]
        await seen.claim([Claim(digest, 1, 0, "/1") for digest in digests])
        for digest in digests:
            await seen.wait(digest, "/2", 2)
        await seen.release(digests[0])
        seen.processed(digests[1:600])
        await seen._beat()
        cleared = await seen.clear()
        await seen.close(is_clean=True)
        link = RedisLink(redis_server.url("cleared"), timeout_s=2.0)
        keys = await link.command("KEYS", "cleared:*")
        await link.close()
        return cleared, keys

    (awaited, waiting), keys = asyncio.run(crawl())

    assert sorted(awaited) == ["/1"] * 600 + ["/2"]
    assert waiting == ["/2"] * 600
    assert sorted(keys) == [b"cleared:facts", b"cleared:substitute"]


@on_a_loop
async def test_who_has_run_dry_waits_until_it_knows_who_lives(redis_server):
    """
    A crawler with unfinished forms may be dead: this is known when it gives a sign of life, or its time is over.
    """
    url = redis_server.url("dry")
    dead, living = [await opened(url, heartbeat_s=heartbeat_s) for heartbeat_s in (4 * HEARTBEAT_S, HEARTBEAT_S)]
    dry = await opened(url)
    assert not await dry.may_be_given_more()
    await standing(dead, A)
    await standing(living, B)
    dead._task.cancel()
    assert await dry.may_be_given_more()
    await asyncio.sleep(2 * HEARTBEAT_S)
    assert await dry.may_be_given_more()
    assert await dry.abandoned() == []

    given = []

    async def knows():
        given.extend(await dry.abandoned())
        return not await dry.may_be_given_more()

    await until(knows)
    assert "request 1" in given
    assert await standing(dry, B, 2) is AWAITED
    await dead._link.close()
    await living.close(is_clean=True)
    await dry.close(is_clean=True)


@on_a_loop
async def test_a_crawler_that_is_known_to_be_dead_is_not_waited_for(redis_server):
    """The next crawler receives at once its unfinished requests."""
    url = redis_server.url("known_dead")
    dead = await opened(url)
    await standing(dead, A)
    dead._task.cancel()
    other = RedisSeenSet(url, timeout_s=2.0)
    assert await other.open(killed=dead.process) == ["request 1"]
    await dead._link.close()
    await other.close(is_clean=True)


@on_a_loop
async def test_a_living_crawler_stays_alive(redis_server):
    """A crawler that is silent for several heartbeat lifetimes keeps its forms, because it sends heartbeats."""
    url = redis_server.url("quiet")
    quiet, other = await opened(url, heartbeat_s=HEARTBEAT_S), await opened(url)
    await standing(quiet, A)
    await asyncio.sleep(3 * HEARTBEAT_S)
    assert await other.abandoned(is_idle=False) == []
    assert await standing(other, A, 2) is AWAITED
    await quiet.close(is_clean=True)
    assert await other.abandoned(is_idle=False) == ["request 1"]  # it left without waiting for the answer
    await other.close(is_clean=True)


@on_a_loop
async def test_tests_of_rules_are_told_to_the_others(redis_server):
    """Each receives the sum of the others, including ended ones; repeating the same results changes nothing."""
    one, two, three = [await opened(redis_server.url("tests")) for _ in range(3)]
    await one.share_tests({"a": (3, 0, False), "b": (1, 1, False)})
    await two.share_tests({"a": (2, 1, False)})
    assert await three.share_tests({}) == {"a": (5, 1, False), "b": (1, 1, False)}
    await one.share_tests({"a": (4, 0, False)})
    await one.share_tests({"a": (4, 0, False), "b": (1, 2, True)})
    await one.close(is_clean=True)
    assert await two.share_tests({}) == {"a": (4, 0, False), "b": (1, 2, True)}
    assert await three.share_tests({}) == {"a": (6, 1, False), "b": (1, 2, True)}
    await two.close(is_clean=True)
    await three.close(is_clean=True)


@on_a_loop
async def test_crawls_with_different_names_share_nothing(redis_server):
    """The name in the URL is the prefix of all keys."""
    one, other = await opened(redis_server.url("name1")), await opened(redis_server.url("name2"))
    assert await standing(one, A) is NEW
    assert await standing(other, A) is NEW
    await one.clear()
    assert await standing(other, A) is OWN
    await one.close(is_clean=True)
    await other.close(is_clean=True)
