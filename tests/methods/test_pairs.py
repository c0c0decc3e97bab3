"""Pairs of URLs: their files, drawing, encoding and comparison, and the candidates for a new URL."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given

from costs import at_most
from dedup_crawler.errors import BadInputError
from dedup_crawler.methods.pairs.url_pairs import (
    MAX_CANDIDATES,
    KnownUrls,
    UrlPair,
    read_pairs,
    sample_pairs,
    stream_pairs,
)
from dedup_crawler.networks import pair_inference
from dedup_crawler.networks.pair_inference import PADDING, UNKNOWN, Alphabet, Committee
from dedup_crawler.urls.templates import Templater, count_tokens
from planted_site import HOST, session_ids
from url_strategies import urls


def written(tmp_path, text):
    path = tmp_path / "pairs.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def test_a_score_of_99_hundredths_is_a_duplicate(tmp_path):
    """As in the capstone, duplicates have a cosine of at least 0.99; further columns and a byte-order mark are fine."""
    text = "\ufeffurl2,note,url1,score\nb,x,a,0.99\nd,y,c,0.989\nf,z,e,1.0\n"

    assert read_pairs(written(tmp_path, text)) == [
        UrlPair("a", "b", True),
        UrlPair("c", "d", False),
        UrlPair("e", "f", True),
    ]


def test_to_compare_no_score_is_needed(tmp_path):
    """Without the column pairs have no labels, and cannot be learnt from."""
    path = written(tmp_path, "url1,url2\na,b\n")

    assert list(stream_pairs(path)) == [("a", "b", None)]
    with pytest.raises(BadInputError, match=r"pairs\.csv has no column score: .*url1,url2,score"):
        read_pairs(path)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", r"is empty: a header url1,url2,score is expected"),
        ("url1,url2,score\n", r"holds no pairs"),
        ("url1,other,score\na,b,1\n", r"line 1: no column url2 in 'url1,other,score'; url1,url2,score are expected"),
        ("a;b;1\n", r"line 1: no column url1 and no column url2"),
        ("url1,url2,score\na,b,1\na,b,yes\n", r"line 3: score 'yes' is no number from 0 to 1"),
        ("url1,url2,score\na,b,1\na,b\n", r"line 3: score None"),
        ("url1,url2,score\na,b,nan\n", r"line 2: score 'nan'"),
        ("url1,url2,score\na,b,7\n", r"line 2: score '7'"),
        ("url1,url2,score\na,,1\n", r"line 2: url2 is empty"),
        ("url1,url2,score\na,b,1\nc,d,1\n", r"all 2 pairs of .* are identical"),
        ("url1,url2,score\na,b,0\n", r"all 1 pairs of .* are different"),
        (b"url1,url2,score\n\xff\xfe,b,0\n", r"is not UTF-8"),
        ("url1,url2,score\n" + "x" * 200_000 + ",b,0\n", r"is not a CSV file: field larger"),
    ],
)
def test_a_broken_file_names_file_line_and_what_is_expected(tmp_path, text, told):
    """Every mistake is one clear error."""
    path = written(tmp_path, text)
    with pytest.raises(BadInputError, match=told) as caught:
        read_pairs(path)
    assert str(path) in str(caught.value)
    with pytest.raises(BadInputError, match=r"nowhere\.csv"):
        read_pairs(tmp_path / "nowhere.csv")


CRAWL = session_ids()


def known(crawled):
    return KnownUrls(crawled, crawled, Templater.learn(count_tokens(crawled), deep=True))


def sampled(urls, clusters, referrers=None, seed=0, max_pairs=20_000):
    return sample_pairs(known(urls), clusters, referrers or [None] * len(urls), seed=seed, max_pairs=max_pairs)


def test_labels_are_those_of_the_clusters():
    """Every pair is labelled right, all pairs of small clusters are there, and negatives too; the seed decides."""
    cluster = dict(zip(CRAWL.urls, CRAWL.clusters, strict=True))
    pairs = sampled(CRAWL.urls, CRAWL.clusters)
    assert pairs == sampled(CRAWL.urls, CRAWL.clusters) != sampled(CRAWL.urls, CRAWL.clusters, seed=1)

    assert all(pair.is_duplicate == (cluster[pair.left] == cluster[pair.right]) for pair in pairs)
    assert len({frozenset((pair.left, pair.right)) for pair in pairs if pair.is_duplicate}) == 180
    assert sum(not pair.is_duplicate for pair in pairs) > 300
    assert all(pair.left != pair.right for pair in pairs)


def test_one_huge_page_does_not_swamp_the_others():
    """A page with 2,000 URLs gives few of its own duplicates; their number is bounded."""
    urls = [f"{HOST}/a?x={i}" for i in range(2000)] + [f"{HOST}/b?y={i}" for i in range(100)]
    pairs = sampled(urls, [0] * 2000 + [1 + i // 2 for i in range(100)], max_pairs=3000)

    assert len(pairs) <= 3000
    assert Counter("/b?" in pair.left and "/b?" in pair.right for pair in pairs if pair.is_duplicate)[True] >= 25


def test_each_url_is_paired_with_the_page_that_links_it():
    """As in the capstone, a request is compared with its referrer."""
    urls = [f"{HOST}/", *(f"{HOST}/p/{i}/{i}" for i in range(30))]
    pairs = sampled(urls, range(31), [None, *[f"{HOST}/"] * 30])

    assert {frozenset((f"{HOST}/", url)) for url in urls[1:]} <= {frozenset((pair.left, pair.right)) for pair in pairs}


def test_a_page_with_30_000_urls_costs_seconds():
    """Of 450 million pairs a bounded sample is drawn, at a cost that grows with the URLs."""
    urls = [f"{HOST}/trap?a={i}" for i in range(30_000)]
    known = KnownUrls(urls, urls, Templater.learn(count_tokens(urls[::100]), deep=True))
    with at_most(400):
        pairs = sample_pairs(known, [0] * len(urls), [None] * len(urls), seed=0, max_pairs=500)

    assert 0 < len(pairs) <= 500


KNOWN = known(CRAWL.urls)


def test_those_that_share_a_rare_argument_come_first():
    """The other URLs of topic 107 are compared before any other topic."""
    found = [KNOWN.urls[number] for number in KNOWN.candidates(f"{HOST}/topic.php?t=107&sid=00c0ffee00c0ffee")]
    sharing = [url for url in CRAWL.urls if "=107" in url]

    assert set(found[: len(sharing)]) == set(sharing)
    assert len(sharing) < len(found) <= MAX_CANDIDATES


def test_then_the_nearest_of_the_same_template():
    """Without a shared argument the alphabetical neighbours on both sides are compared."""
    numbers = known([f"{HOST}/topic.php?t={number}" for number in range(1000, 2000)])
    found = {int(numbers.urls[place][-4:]) for place in numbers.candidates(f"{HOST}/topic.php?t=1500")}

    assert found == set(range(1475, 1526)) - {1500}


def test_an_argument_of_many_urls_is_not_followed():
    """A session id of 200 URLs brings no candidates of other templates."""
    crawled = [f"{HOST}/topic.php?t={i}&sid=00c0ffee00c0ffee" for i in range(200)]

    assert known(crawled).candidates(f"{HOST}/member/00c0ffee00c0ffee") == []


@given(urls)
def test_any_string_has_few_candidates_and_never_itself(url):
    """At most 50, each once."""
    found = KNOWN.candidates(url)

    assert len(found) == len(set(found)) <= MAX_CANDIDATES
    assert url not in {KNOWN.urls[number] for number in found}


@pytest.mark.parametrize(
    ("is_faulty", "rows"),
    [
        (True, [[0, 1, 0], [0, 1, 0], [0, 1, 2]]),
        (False, [[2, 3, PADDING], [UNKNOWN, 3, PADDING], [2, 3, 4]]),
    ],
)
def test_symbols_are_numbered(is_faulty, rows):
    """In the capstone's faulty count the first character, an unknown one and the padding are all 0; here they differ.

    A URL longer than all seen ones loses its middle.
    """
    alphabet = Alphabet.of(["abc"], 10, is_faulty=is_faulty)

    assert alphabet.rows(["ab", "zb", "abc"]).tolist() == rows
    assert alphabet.rows(["abxyzc"]).tolist() == rows[2:]


class CountingNetwork:
    """Encodes a row as itself, and counts the rows."""

    encoding_size = 2

    def __init__(self):
        self.n_encoded = 0

    def encode(self, rows):
        """Return the rows unchanged."""
        self.n_encoded += len(rows)
        return rows.astype(np.float32)


def test_a_key_is_encoded_once_until_it_is_forgotten(monkeypatch):
    """A repeated key costs nothing; beyond the limit the least recently used key is removed."""
    monkeypatch.setattr(pair_inference, "_MAX_BYTES", 3 * 4 * 2)
    network = CountingNetwork()
    memory = Committee([network], lambda keys: np.array([[int(key), 0] for key in keys]))

    assert {key: row[0] for key, row in memory.encoded(["1", "2", "1", "3"]).items()} == {"1": 1, "2": 2, "3": 3}
    assert network.n_encoded == 3
    memory.encoded(["1", "4"])
    memory.encoded(["1", "3", "4"])
    assert network.n_encoded == 4
    assert memory.encoded(["2"])["2"].tolist() == [2.0, 0.0]
    assert network.n_encoded == 5


def test_more_than_can_be_kept_is_answered_all_the_same(monkeypatch):
    """One batch may be larger than the cache."""
    monkeypatch.setattr(pair_inference, "_MAX_BYTES", 1)
    memory = Committee([CountingNetwork()], lambda keys: np.array([[int(key), 0] for key in keys]))

    assert len(memory.encoded(map(str, range(9)))) == 9
