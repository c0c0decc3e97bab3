"""Access logs: the formats, what is no access, and lines that nobody can hold in memory."""

import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedup_crawler.pages.logs.access_log import MAX_LINE, Access, read_accesses

COMMON = '10.0.0.1 - frank [10/Oct/2000:13:55:36 -0700] "GET /apache_pb.gif HTTP/1.0" 200 2326'
COMBINED = f'{COMMON} "http://www.example.com/start.html" "Mozilla/4.08 [en] (Win98; I ;Nav)"'
HEADER = "time\tmethod\turl\tstatus\tsize\treferrer"


def read(text):
    damaged = []
    data = text.encode() if isinstance(text, str) else text
    return list(read_accesses([data], lambda offset, reason: damaged.append((offset, reason)))), damaged


@pytest.mark.parametrize(
    ("line", "access"),
    [
        (COMMON, Access("GET", "/apache_pb.gif", 200, 2326, "")),
        (COMBINED, Access("GET", "/apache_pb.gif", 200, 2326, "http://www.example.com/start.html")),
        (COMMON.replace("2326", "-"), Access("GET", "/apache_pb.gif", 200, 0, "")),
        (COMMON.replace(" HTTP/1.0", ""), Access("GET", "/apache_pb.gif", 200, 2326, "")),
        (COMMON.replace("/apache_pb.gif", "/a b"), Access("GET", "/a b", 200, 2326, "")),
        (COMMON.replace("/apache_pb.gif", r"/?q=\"a\"\xe9"), Access("GET", '/?q="a"%e9', 200, 2326, "")),
        (COMMON.replace("GET /apache_pb.gif HTTP/1.0", r"\x16\x03\x01"), Access("?", "-", 200, 2326, "")),
        (COMMON.replace("GET /apache_pb.gif HTTP/1.0", "-"), Access("?", "-", 200, 2326, "")),
        (f"{HEADER}\nx\tGET\t/a?b=1\t200\t-\t/c", Access("GET", "/a?b=1", 200, 0, "/c")),
        ("url\tsize\tstatus\tmethod\n/a\t7\t404\thead", Access("HEAD", "/a", 404, 7, "")),
    ],
)
def test_reads_an_access(line, access):
    """Each format, with the oddities that servers write into them."""
    assert read(line + "\r\n") == ([access], [])


@pytest.mark.parametrize(
    "line",
    [
        "hello",
        f"www.example.com:80 {COMMON}",  # a log of several sites: rules belong to one
        '{"url": "/a", "status": 200}',
        COMMON.replace("2326", "many"),
        COMMON.replace('"GET', "GET"),
        COMMON[:70],
    ],
)
def test_other_lines_are_damage(line):
    """They are told with their number, what was expected, and how they start; the lines around them are read."""
    accesses, damaged = read(f"{COMMON}\n{line}\n\n{COMBINED}")

    assert len(accesses) == 2
    ((offset, reason),) = damaged
    assert offset == len(COMMON) + 1
    assert reason.startswith("line 2: expected HOST IDENT USER [TIME]")
    assert line[:20] in reason or repr(line[:20])[1:-1] in reason


def test_columns_are_counted():
    """A line with another number of columns, or a status that is none, is damage that names the columns."""
    accesses, damaged = read(f"{HEADER}\nx\tGET\t/a\t200\nx\tGET\t/a\tfine\t1\t-\nx\tGET\t/a\t200\t1\t-\n")

    assert len(accesses) == 1
    assert [reason.partition(", found")[0] for _, reason in damaged] == [
        "line 2: expected the columns time, method, url, status, size, referrer",
        "line 3: expected the columns time, method, url, status, size, referrer",
    ]


def test_a_huge_line_is_never_held():
    """Two hundred megabytes without an end of line cost a chunk of memory, are told, and the next line is read."""
    chunks = (b"x" * 2**20 for _ in range(200))

    def all_chunks():
        yield from chunks
        yield b"\n" + COMMON.encode() + b"\n"

    damaged = []
    tracemalloc.start()
    accesses = list(read_accesses(all_chunks(), lambda offset, reason: damaged.append(reason)))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert len(accesses) == 1
    assert damaged == [f"line 1: more than {MAX_LINE} bytes"]
    assert peak < 8 * 2**20


@given(st.lists(st.one_of(st.just(COMMON), st.just(HEADER), st.text()), max_size=5), st.integers(1, 40))
def test_any_text_in_any_chunks_is_read(lines, size):
    """Whatever a file holds and however it is cut: no exception, and cutting changes nothing."""
    data = "\n".join(lines).encode("utf-8", "surrogatepass")
    chunks = [data[i : i + size] for i in range(0, len(data), size)]

    assert list(read_accesses(chunks, lambda *_: None)) == read(data)[0]


def test_a_hostile_line_takes_no_time():
    """Backslashes and quotes without end are answered at once: no pattern goes back and forth."""
    line = COMMON.replace("/apache_pb.gif", "/" + '\\"' * 30_000)

    assert read(line.replace('HTTP/1.0"', ""))[0] == []
    assert read('"' * 60_000)[0] == []
