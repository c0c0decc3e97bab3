"""What every test may use."""

import signal

import pytest

from redis_server import RedisServer, require_redis

# a shell starts background jobs with SIGINT ignored, and their children inherit that: the tests that press Ctrl-C in a
# process of their own must work there too
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="module")
def redis_server(tmp_path_factory):
    """A Redis for the tests of one file, which must not stop it."""
    require_redis()
    server = RedisServer(tmp_path_factory.mktemp("redis"))
    yield server
    server.stop()
