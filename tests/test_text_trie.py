"""Many texts as one regular expression, and the rules that are found with it."""

import re

from hypothesis import given
from hypothesis import strategies as st

from costs import at_most
from dedup_crawler.rules.substring_index import MAX_LENGTH, SubstringIndex
from dedup_crawler.rules.substring_rule import END, START, SubstringRule
from dedup_crawler.rules.text_trie import whole_tokens

HOST = "a.example"
texts = st.text("ab%/&.<>", min_size=1, max_size=6)


def stands(text, line, place):
    """Whether a text stands there as whole tokens, said as plainly as can be."""
    before, behind = line[:place][-1:], line[place + len(text) :][:1]
    word = re.compile("[A-Za-z0-9%]").match
    return line.startswith(text, place) and not ((word(before) and word(text[0])) or (word(text[-1]) and word(behind)))


@given(st.lists(texts, max_size=8), st.text("ab%/&.<>", max_size=12))
def test_finds_the_longest_text_of_the_first_place(known, line):
    """For any texts and any line it finds what trying every text at every place finds."""
    found = whole_tokens(known).search(line)

    places = [
        (place, max(its, key=len))
        for place in range(len(line))
        if (its := [t for t in known if stands(t, line, place)])
    ]
    assert (found and (found.start(), found[0])) == (places[0] if places else None)


def test_texts_within_texts_without_end():
    """Two hundred texts of which each begins with the one before: more branches than may lie within one another."""
    known = ["/a" * n for n in range(1, 201)]

    assert whole_tokens(known).search("-" + "/a" * 70 + "/b")[0] == "/a" * 70


pieces = st.lists(st.sampled_from(["a", "b", "/", "/a", "?", "&", "-"]), min_size=1, max_size=4).map("".join)
rules = st.builds(
    lambda old, new, at_start, at_end: (
        SubstringRule(HOST, *sorted((f"{old}/", new), key=lambda t: (-len(t), t)), at_start, at_end)
        if len(new) != len(old) + 1
        else SubstringRule(HOST, f"{old}//", new, at_start, at_end)
    ),
    pieces,
    pieces,
    st.booleans(),
    st.booleans(),
)


def tried(rule, rest):
    """What a rule gives at the first place where it gives a path."""
    text = START * rule.at_start + rule.old + END * rule.at_end
    marked = f"{START}{rest}{END}"
    for place in range(len(marked)):
        if stands(text, marked, place):
            new = START * rule.at_start + rule.new + END * rule.at_end
            changed = (marked[:place] + new + marked[place + len(text) :])[1:-1]
            if changed.startswith("/"):
                return changed
    return None


@given(st.lists(rules, max_size=6), pieces.map(lambda text: f"/{text}"))
def test_the_index_finds_what_a_scan_finds(known, rest):
    """The first rule that can be applied, and all of them: the same as when each rule is tried by itself."""
    index = SubstringIndex(enumerate(known))
    expected = {number: changed for number, rule in enumerate(known) if (changed := tried(rule, rest)) is not None}

    assert index.matches(rest, {}, 1) == expected
    assert index.fire(rest) == (min(expected.items()) if expected else None)
    assert index.matches(rest, dict.fromkeys(expected, 1), 1) == {}


def test_a_longer_url_is_left_alone():
    """However much there would be to replace."""
    index = SubstringIndex([(0, SubstringRule(HOST, "/a", ""))])

    assert index.fire("/a" * (MAX_LENGTH // 2)) is not None
    assert index.fire("/a" * (MAX_LENGTH // 2 + 1)) is None


def test_hostile_texts_take_no_time():
    """Texts that are alike but for their ends, in a line that is alike too: nothing is gone through again and again."""
    known = ["/a" * 17 + f"/b{n}" for n in range(2_000)]

    with at_most(100):
        assert whole_tokens(known).search("/a" * 2_000) is None
