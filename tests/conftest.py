"""Shared fixtures and settings of the tests."""

import gc
import os
import signal
import sys

import pytest
from hypothesis import HealthCheck, settings

# child processes read compiled modules: compiling would be a third of their start time
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

import chromium
from built_wheel import build_wheel
from postgres_server import PostgresServer, require_postgres
from redis_server import RedisServer, require_redis
from seen_sets import KINDS, sets_of
from tests.support import fork_server

sys.dont_write_bytecode = False  # nor do these tests have to be read anew by the next run

# No test depends on the machine's speed: examples have no deadline, and slow ones are no failure. Continuous
# integration tries the same examples each time, so that a change is to blame where it fails; half as many as the
# default, because a law that fails does so within a few.
settings.register_profile(
    "tests",
    deadline=None,
    max_examples=50,
    derandomize=bool(os.environ.get("CI")),
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("tests")

# a shell starts background jobs with SIGINT ignored, and their children inherit that: the tests that press Ctrl-C in a
# process of their own must work there too
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="module")
def redis_server(tmp_path_factory):
    """A Redis for the tests of one file; tests must not stop it."""
    require_redis()
    server = RedisServer(tmp_path_factory.mktemp("redis"))
    yield server
    server.stop()


@pytest.fixture(scope="session")
def postgres():
    """A Postgres for all tests, each with a database of its own."""
    require_postgres()
    server = PostgresServer()
    yield server
    server.remove()


@pytest.fixture(scope="session")
def wheel(tmp_path_factory):
    """The wheel of this tree."""
    return build_wheel(tmp_path_factory.mktemp("wheel"))


@pytest.fixture(params=KINDS)
def sets(request, tmp_path):
    """The three kinds of seen sets."""
    yield from sets_of(request, tmp_path)


@pytest.fixture
def seen(sets):
    """An empty set."""
    return sets.fresh()


@pytest.fixture
def durable(sets, seen):
    """The sets that outlive their process."""
    if not seen.is_durable:
        pytest.skip("dies with its process")
    return sets


@pytest.fixture(scope="module")
def browser():
    """A browser for the tests of one file."""
    with chromium.running() as started:
        yield started


def pytest_collection_finish():
    """Freeze imported objects: scanning them in each collection took a tenth of the time."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)


def pytest_unconfigure():
    """Stop the fork server of this process."""
    fork_server.stop()
