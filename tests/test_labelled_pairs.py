"""Files of labelled pairs: what is read, and what a broken file is told."""

import pytest

from dedup_crawler.errors import BadInputError
from dedup_crawler.methods.pairs.labelled import UrlPair, read_pairs, stream_pairs


def written(tmp_path, text):
    path = tmp_path / "pairs.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def test_a_score_of_99_hundredths_is_a_duplicate(tmp_path):
    """As in the capstone: a cosine from 0.99 on; further columns and a byte-order mark do not matter."""
    text = "\ufeffurl2,note,url1,score\nb,x,a,0.99\nd,y,c,0.989\nf,z,e,1.0\n"

    assert read_pairs(written(tmp_path, text)) == [
        UrlPair("a", "b", True),
        UrlPair("c", "d", False),
        UrlPair("e", "f", True),
    ]


def test_to_compare_no_score_is_needed(tmp_path):
    """Without the column a pair has no label, and cannot be learnt from."""
    path = written(tmp_path, "url1,url2\na,b\n")

    assert [pair.is_duplicate for pair in stream_pairs(path)] == [None]
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
    """Every mistake is one error that a person can act on."""
    with pytest.raises(BadInputError, match=told) as caught:
        read_pairs(written(tmp_path, text))

    assert "pairs.csv" in str(caught.value)


def test_a_missing_file_is_named(tmp_path):
    """No such file: its name is in the error."""
    with pytest.raises(BadInputError, match=r"nowhere\.csv"):
        read_pairs(tmp_path / "nowhere.csv")
