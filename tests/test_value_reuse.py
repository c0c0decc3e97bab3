"""The value-reuse guard."""

from dedup_crawler.rules.applying.value_reuse import ValueReuseGuard, guarded_slots


def test_the_third_company_of_a_value_makes_it_a_function_token():
    """A slug belongs to one id; with a third id it is a page of its own, and the first answers stay."""
    guard = ValueReuseGuard()

    allowed = [guard.allows("/questions/<num1>/<any2>", 2, "history", (number,)) for number in ("17", "18", "19")]

    assert allowed == [True, True, False]
    assert guard.allows("/questions/<num1>/<any2>", 2, "history", ("17",))
    assert guard.allows("/questions/<num1>/<any2>", 2, "a-real-slug", ("19",))


def test_memory_is_bounded(monkeypatch):
    """The oldest values are forgotten first."""
    monkeypatch.setattr("dedup_crawler.rules.applying.value_reuse._MAX_VALUES", 10)
    guard = ValueReuseGuard()
    for number in range(1000):
        guard.allows("/t/<num1>/<any2>", 2, f"slug-{number}", (str(number),))

    assert len(guard._companies) == 10


def test_a_slot_that_lives_on_reuse_is_not_guarded():
    """Session ids are dropped with many topics: the training has confirmed such reuse."""
    session_ids = [(str(topic), f"sid{topic % 3}") for topic in range(30)]
    slugs = [(str(topic), f"slug-{topic}") for topic in range(30)]

    assert guarded_slots(session_ids, [2]) == ()
    assert guarded_slots(slugs, [2]) == (2,)
