"""What was dropped, by its form."""

from dedup_crawler.live.exploration.alternatives import MAX_FORMS, MAX_OF_FORM, Alternatives


def test_the_first_drops_of_a_form_come_back_oldest_first():
    """As many as are kept of one form, then nothing."""
    alternatives = Alternatives()
    for n in range(MAX_OF_FORM + 3):
        alternatives.add(b"a", n)
    assert [alternatives.take(b"a") for _ in range(MAX_OF_FORM + 1)] == [*range(MAX_OF_FORM), None]
    assert alternatives.take(b"b") is None
    assert len(alternatives) == 0


def test_what_is_on_its_way_is_forgotten():
    """The others stay."""
    alternatives = Alternatives()
    for n in range(3):
        alternatives.add(b"a", n)
    alternatives.forget(b"a", lambda n: n == 1)
    alternatives.forget(b"b", lambda n: True)
    assert [alternatives.take(b"a") for _ in range(3)] == [0, 2, None]


def test_forms_are_bounded():
    """Those that were dropped longest ago go first."""
    alternatives = Alternatives()
    for n in range(MAX_FORMS + 1):
        alternatives.add(n.to_bytes(4, "big"), n)
        alternatives.add(b"kept", n)
    assert len(alternatives) == MAX_FORMS
    assert alternatives.take((0).to_bytes(4, "big")) is None
    assert alternatives.take(b"kept") == 0
