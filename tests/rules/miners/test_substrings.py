"""Likely substring rules: the steps of DustBuster, on a list small enough to count by hand."""

import itertools
import random
import time
from collections import Counter, defaultdict

from hypothesis import given, settings
from hypothesis import strategies as st

from dedup_crawler.rules.language.rule import END, START, split_tokens
from dedup_crawler.rules.miners.dust import is_implied, without_redundancies
from dedup_crawler.rules.miners.substrings import Substitution, likely_substitutions
from dedup_crawler.rules.miners.url_list import UrlList

ORIGIN = "http://a.example"


def listed(rests, sizes=None):
    """Return URLs of one host; all of one size by default."""
    sizes = sizes or [1] * len(rests)
    ranges = [size if isinstance(size, tuple) else (size, size) for size in sizes]
    lows, highs = zip(*ranges, strict=True)
    return UrlList("a.example", [ORIGIN + rest for rest in rests], lows, highs, are_clusters=False)


def likely(urls, max_tokens=35, max_bucket=11, min_support=5):
    return likely_substitutions(urls, max_tokens=max_tokens, max_bucket=max_bucket, min_support=min_support)


def told(rules):
    return [("".join(rule.old), "".join(rule.new), rule.support) for rule in rules]


def mined(urls, **options):
    return told(likely(urls, **options))


def kept(urls):
    return told(without_redundancies(likely(urls)))


def by_hand(urls, max_tokens, max_bucket):
    """The published algorithm, literally: all substrings of whole tokens, in buckets by their envelopes."""
    buckets = defaultdict(list)
    for place, rest in enumerate(urls.rests):
        tokens = (START, *split_tokens(rest), END)
        for start, end in itertools.combinations_with_replacement(range(len(tokens) + 1), 2):
            whole = (start, end) == (0, len(tokens))
            if end - start <= max_tokens and not whole and not start == end == 0 and start < len(tokens):
                buckets[tokens[:start], tokens[end:]].append((place, tokens[start:end]))
    instances = defaultdict(set)
    for bucket in buckets.values():
        if 2 <= len(bucket) <= max_bucket:
            for (one, old), (other, new) in itertools.combinations(bucket, 2):
                if urls.may_be_same(one, other):
                    key = [(len(urls.forms[place]), urls.forms[place]) for place in (one, other)]
                    rule = (old, new) if key[0] > key[1] else (new, old)
                    instances[rule].add(frozenset((one, other)))
    return Counter({rule: len(pairs) for rule, pairs in instances.items()})


def test_the_example_of_the_poster():
    """Ten stories in two sections, each with two kinds of URLs: the first rule translates them."""
    rests = [f"/{section}/story{mark}{n}" for n in range(10) for section in ("a", "b") for mark in ("?id=", "_")]
    sizes = [1000 + 10 * n + (section == "b") for n in range(10) for section in ("a", "b") for _ in range(2)]

    assert kept(listed(rests, sizes)) == [
        ("/story?id=", "/story_", 20),
        ("</a/story?id=", "</a/story_", 10),  # on clearly fewer pages: implied by the first, once that is valid
        ("</b/story?id=", "</b/story_", 10),
    ]


def test_sizes_that_never_overlap_speak_against_a_rule():
    """The range of all accesses counts: 90-110 and 105-120 may be one page, 90-100 and 105-120 are not."""
    rests = [f"/t{n}{end}" for n in range(6) for end in ("", ".html")]

    assert kept(listed(rests, [(90, 110), (105, 120)] * 6)) == [(".html>", ">", 6)]
    assert kept(listed(rests, [(90, 100), (105, 120)] * 6)) == []


def test_what_has_many_alternatives_is_an_id():
    """Twelve topics of one size differ in a number: the bucket is too large, and gives no rule."""
    urls = listed([f"/{section}/{n}" for section in "abcdefgh" for n in range(12)], [n // 12 for n in range(96)])

    assert likely(urls, max_bucket=11) == []
    assert ("11>", "10>", 8) in mined(urls, max_bucket=12)


def test_a_repeated_token_counts_once():
    """``//x`` and ``/x`` differ in one slash, either one: one instance, and a rule for the start."""
    rests = [f"{slash}{name}/{n}" for n in range(3) for name in ("images", "photos", "maps") for slash in ("//", "/")]

    assert ("<//", "</", 9) in kept(listed(rests, [n // 2 for n in range(18)]))


def test_the_more_specific_rule_stands_for_as_many():
    """Of rules with similar support the most specific one is kept; with more support the general one."""
    general = Substitution(("x",), ("y",), 100)
    nearly = Substitution(("/", "x"), ("/", "y"), 81)
    fewer = Substitution(("/", "x", "?"), ("/", "y", "?"), 60)

    assert without_redundancies([general, nearly, fewer]) == [nearly, fewer]
    assert is_implied(fewer.old, fewer.new, [(general.old, general.new)])
    assert not is_implied(general.old, general.new, [(fewer.old, fewer.new)])
    assert not is_implied(("a", "x"), ("b", "y"), [(general.old, general.new)])


@settings(max_examples=60)
@given(
    st.lists(st.lists(st.sampled_from(["a", "b", "/", "?", "-"]), max_size=5).map("".join), min_size=1, max_size=12),
    st.integers(0, 2**16),
    st.integers(1, 6),
    st.integers(2, 5),
)
def test_finds_what_the_algorithm_as_it_reads_finds(texts, seed, max_tokens, max_bucket):
    """The hashed sums give the rules of the published algorithm, and never more support."""
    rests = list(dict.fromkeys(f"/{text}" for text in texts))
    draw = random.Random(seed)
    urls = listed(rests, [draw.randint(1, 3) for _ in rests])
    expected = by_hand(urls, max_tokens, max_bucket)
    found = {(rule.old, rule.new): rule.support for rule in likely(urls, max_tokens, max_bucket, min_support=1)}

    assert found.keys() <= expected.keys()
    assert all(support <= expected[rule] for rule, support in found.items())
    missed = expected.keys() - found.keys()  # only if the same difference also occurs further to the left
    assert all(old[:1] == old[-1:] or new == () or old == () or len(set(old)) < len(old) for old, new in missed)


def test_the_parts_of_a_long_list_give_the_same(monkeypatch):
    """Envelopes that do not fit into memory at once are taken in parts."""
    rests = [f"/s{n % 7}/t{n}{end}" for n in range(200) for end in ("", "/", "?page=1")]
    urls = listed(rests, [n for n in range(200) for _ in range(3)])
    whole = mined(urls)
    monkeypatch.setattr("dedup_crawler.rules.miners.substrings._MAX_ENVELOPES", 2_000)
    monkeypatch.setattr("dedup_crawler.rules.miners.substrings._MAX_PAIRS", 100)

    assert mined(urls) == whole
    assert whole


def test_the_cost_is_about_that_of_sorting():
    """Eight times as many URLs take at most about twenty times as long; tokens bound long URLs."""

    def seconds(n):
        urls = listed(
            [f"/a/b/c{i // 2 % 97}/t{i // 2}{'.html' * (i % 2)}" for i in range(n)], [i // 2 for i in range(n)]
        )
        started = time.process_time()
        assert likely(urls)
        return time.process_time() - started

    assert min(seconds(16_000) for _ in range(2)) < 24 * max(min(seconds(2_000) for _ in range(2)), 0.02)
