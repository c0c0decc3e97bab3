"""Translations of templates: their evidence, counted in merge groups, and the arguments that are watched."""

from dedup_crawler.rules.applying.translations import guarded_slots, judge


def test_counts_groups_not_pairs():
    """A group of four URLs is one piece of evidence; a group with two pages is wrong; one URL is no group."""
    forms = ["a", "a", "a", "a", "b", "b", "c"]
    clusters = [1, 1, 1, 1, 2, 3, 4]
    sources = ["drop", None, "drop", "drop", "drop", None, "drop"]

    evidence = judge(forms, clusters, sources)["drop"]

    assert (evidence.n_groups, evidence.n_wrong) == (2, 1)


def test_what_was_learnt_from_is_not_what_judges():
    """Only groups with a URL from the judged part count; their older members do show whether they are wrong."""
    forms = ["a", "a", "b", "b"]
    clusters = [1, 1, 2, 3]

    evidence = judge(forms, clusters, ["drop"] * 4, first_judged=3)["drop"]

    assert (evidence.n_groups, evidence.n_wrong) == (1, 1)
    assert judge(forms, clusters, ["drop"] * 4, first_judged=4) == {}


def test_a_slot_that_lives_on_reuse_is_not_guarded():
    """Session ids are dropped with many topics: the training has confirmed such reuse."""
    session_ids = [(str(topic), f"sid{topic % 3}") for topic in range(30)]
    slugs = [(str(topic), f"slug-{topic}") for topic in range(30)]

    assert guarded_slots(session_ids, [2]) == ()
    assert guarded_slots(slugs, [2]) == (2,)
