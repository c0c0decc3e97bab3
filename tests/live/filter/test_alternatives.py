"""Dropped requests, kept by their form."""

from dedup_crawler.live.exploration import dropped_requests
from dedup_crawler.live.exploration.dropped_requests import Alternatives


def test_the_drops_of_a_form_come_back_oldest_first():
    """All requests of a form come back, each URL once, then nothing."""
    alternatives = Alternatives()
    for n in range(20):
        alternatives.add(b"a", f"/{n % 10}", n)
    assert alternatives._n == 10
    assert [alternatives.take(b"a") for _ in range(11)] == [*range(10), None]
    assert alternatives.take(b"b") is None
    assert alternatives._n == 0


def test_what_is_on_its_way_is_forgotten():
    """The other requests stay."""
    alternatives = Alternatives()
    for n in range(3):
        alternatives.add(b"a", f"/{n}", n)
    alternatives.forget(b"a", "/1")
    alternatives.forget(b"a", "/7")
    alternatives.forget(b"b", "/1")
    assert alternatives._n == 2
    assert [alternatives.take(b"a") for _ in range(3)] == [0, 2, None]


def test_the_bound_is_on_all_of_them(monkeypatch):
    """The forms with the oldest drops lose theirs first; a single form that is too large loses its oldest."""
    monkeypatch.setattr(dropped_requests, "MAX_ALL", 10)
    alternatives = Alternatives()
    for n in range(8):
        alternatives.add(n.to_bytes(4, "big"), "/", n)
        alternatives.add(b"kept", f"/{n}", n)
    assert alternatives._n <= 10
    assert alternatives.take((0).to_bytes(4, "big")) is None
    assert alternatives.take(b"kept") == 0
    for n in range(100):
        alternatives.add(b"one", f"/{n}", n)
    assert alternatives._n == 10
    assert alternatives.take(b"one") == 90
