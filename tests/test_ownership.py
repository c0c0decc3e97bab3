"""Who owns a form, and what happens when the owner fails."""

from __future__ import annotations

import tracemalloc

from hypothesis import given
from hypothesis import strategies as st

from dedup_crawler.live.ownership import Ownership


def test_the_first_url_owns_the_form():
    """Its own repeats are none of the filter's business; any other URL of the form does not own it."""
    forms: Ownership[str] = Ownership()
    assert forms.claim("/a", "/a?1")
    assert forms.claim("/a", "/a?1")
    assert not forms.claim("/a", "/a?2")
    assert len(forms) == 1


def test_one_substitute_waits_and_takes_over_when_the_owner_fails():
    """Of two URLs that are dropped while the answer is awaited the first is given back; then the form is free."""
    forms: Ownership[str] = Ownership()
    forms.claim("/a", "/a?1")
    assert forms.may_drop("/a", "/a?2")
    assert forms.may_drop("/a", "/a?3")
    assert forms.release("/a") == "/a?2"
    assert forms.claim("/a", "/a?2")


def test_a_confirmed_form_cannot_be_released():
    """A late failure (of a copy of the request) changes nothing: the page was fetched."""
    forms: Ownership[str] = Ownership()
    forms.claim("/a", "/a?1")
    forms.may_drop("/a", "/a?2")
    forms.confirm("/a", "/a?1")
    assert forms.release("/a") is None
    assert not forms.claim("/a", "/a?2")


def test_when_no_more_substitutes_fit_nothing_is_dropped():
    """The number of waiting substitutes is bounded over all forms; a place is free again after an answer."""
    forms: Ownership[str] = Ownership(max_substitutes=1)
    forms.claim("/a", "/a?1")
    forms.claim("/b", "/b?1")
    assert forms.may_drop("/a", "/a?2")
    assert not forms.may_drop("/b", "/b?2")
    forms.confirm("/a", "/a?1")
    assert forms.may_drop("/b", "/b?2")


def test_a_restored_form_is_confirmed_and_belongs_to_its_url():
    """The URL that an earlier crawl fetched passes, another URL of its form does not, and none waits for it."""
    forms: Ownership[str] = Ownership()
    forms.restore("/a", "/a?1")
    assert forms.claim("/a", "/a?1")
    assert not forms.claim("/a", "/a?2")
    assert forms.may_drop("/a", "/a?2")
    assert forms.release("/a") is None


def test_owners_that_were_swallowed_give_up_their_substitutes():
    """When nothing is in flight, every waiting substitute is given back, once; confirmed forms stay."""
    forms: Ownership[str] = Ownership()
    for form in "abc":
        forms.claim(form, f"{form}1")
        forms.may_drop(form, f"{form}2")
    forms.confirm("b", "b1")
    assert forms.release_awaited() == ["a2", "c2"]
    assert forms.release_awaited() == []
    assert not forms.claim("b", "b2")
    assert forms.claim("a", "a2")


events = st.lists(st.tuples(st.sampled_from(["ask", "good", "bad"]), st.integers(0, 3), st.integers(0, 3)), max_size=60)


@given(events)
def test_a_page_is_lost_only_if_it_was_answered_or_two_urls_of_it_failed(history: list[tuple[str, int, int]]):
    """
    Whatever the order of requests and answers: a URL is dropped only while its form has an owner that was fetched or
    is on its way, and a failing owner always hands over to a URL that was dropped meanwhile, if there is one.
    """
    forms: Ownership[str] = Ownership()
    owner: dict[str, str] = {}
    waiting: dict[str, str] = {}
    fetched: set[str] = set()
    for event, form_number, url_number in history:
        form, url = f"/{form_number}", f"/{form_number}?{url_number}"
        if event == "ask":
            if forms.claim(form, url):
                assert owner.setdefault(form, url) == url
            else:
                assert form in owner
                assert forms.may_drop(form, url)
                if form not in fetched:
                    waiting.setdefault(form, url)
        elif event == "good" and form in owner:
            forms.confirm(form, owner[form])
            fetched.add(form)
            waiting.pop(form, None)
        elif event == "bad":
            assert forms.release(form) == waiting.pop(form, None)
            if form not in fetched:
                owner.pop(form, None)
    assert len(forms) == len(owner)


def test_a_seen_form_costs_about_a_hundred_bytes():
    """A million pages fit in about 100 MB: the form itself is not kept."""
    n_forms = 50_000
    tracemalloc.start()
    forms: Ownership[str] = Ownership()
    for n in range(n_forms):
        form = f"http://forum.example/viewtopic.php?f=17&t={n}&some=more&and=still&more=text"
        forms.claim(form, form)
        forms.confirm(form, form)
    n_bytes, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert n_bytes / n_forms < 110
