"""Web-server logs: formats, invalid lines, endless lines, and the sizes of each URL."""

import gzip
import tracemalloc

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from dedup_crawler.errors import BadInputError
from dedup_crawler.pages.logs import MAX_LINE, NO_HOST, Access, SizeRange, read_accesses, read_logs

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
    """Each format, with its peculiarities in real servers."""
    assert read(line + "\r\n") == ([access], [])


@pytest.mark.parametrize(
    "line",
    [
        "hello",
        f"www.example.com:80 {COMMON}",  # a log of several sites, but rules are for one site
        '{"remote_addr": "10.0.0.1", "request": "GET /a HTTP/1.1", "status": 200, "bytes": 7}',
        "2021-03-01 10:11:12 10.0.0.1 GET /a - 443 - 10.0.0.2 Mozilla 200 0 0 15",  # W3C
        "2021/03/01 10:11:12 [error] 31#31: *1 open() failed, client: 10.0.0.1",
        "time,method,url,status,size",
        COMMON.replace("2326", "many"),
        COMMON.replace('"GET', "GET"),
        COMMON[:70],
    ],
)
def test_other_lines_are_damage(line):
    """Bad lines are reported with number, expectation and beginning; the lines around them are read."""
    accesses, damaged = read(f"{COMMON}\n{line}\n\n{COMBINED}")

    assert len(accesses) == 2
    ((offset, reason),) = damaged
    assert offset == len(COMMON) + 1
    assert reason.startswith("line 2: expected HOST IDENT USER [TIME]")
    assert line[:20] in reason or repr(line[:20])[1:-1] in reason


def test_columns_are_counted():
    """A line with another number of columns, or an invalid status, is damage that names the columns."""
    accesses, damaged = read(f"{HEADER}\nx\tGET\t/a\t200\nx\tGET\t/a\tfine\t1\t-\nx\tGET\t/a\t200\t1\t-\n")

    assert len(accesses) == 1
    assert [reason.partition(", found")[0] for _, reason in damaged] == [
        "line 2: expected the columns time, method, url, status, size, referrer",
        "line 3: expected the columns time, method, url, status, size, referrer",
    ]


def test_a_huge_line_is_never_held():
    """200 MB without a line end take the memory of one chunk, are reported, and the next line is read."""
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
    """Any file in any chunks: no exception, and the same result."""
    data = "\n".join(lines).encode("utf-8", "surrogatepass")
    chunks = [data[i : i + size] for i in range(0, len(data), size)]

    assert list(read_accesses(chunks, lambda *_: None)) == read(data)[0]


def test_a_hostile_line_takes_no_time():
    """Endless backslashes and quotes take linear time."""
    line = COMMON.replace("/apache_pb.gif", "/" + '\\"' * 30_000)

    assert read(line.replace('HTTP/1.0"', ""))[0] == []
    assert read('"' * 60_000)[0] == []


def test_sizes_are_a_range_over_all_accesses(tmp_path):
    """Only GET with status 200 counts; spellings of one URL are joined; plain, gzip and zstd are read alike."""
    rows = ["GET /a 200 10", "GET /a 200 14", "GET /%61 200 7", "POST /a 200 99", "GET /a 304 0", "GET /b 404 3"]
    lines = "".join(
        f'1.2.3.4 - - [t] "{method} {url} HTTP/1.1" {status} {size}\n'
        for method, url, status, size in (row.split() for row in rows)
    )
    (tmp_path / "log").write_text(lines)
    (tmp_path / "log.gz").write_bytes(gzip.compress(lines.encode()))
    (tmp_path / "log.zst").write_bytes(zstandard.compress(lines.encode()))

    for name in ("log", "log.gz", "log.zst"):
        report = read_logs([tmp_path / name], "A.example")
        assert report.sizes == {"http://a.example/a": SizeRange(7, 14, 3)}
        assert (report.n_accesses, report.n_counted, report.damages.n) == (6, 3, 0)


def test_the_host_is_that_of_most_referrers(tmp_path):
    """A log has only paths; most referrers name the host. Without referrers it is called localhost."""
    own = COMBINED.replace("http://www.example.com", "http://Forum.example:8080")
    (tmp_path / "log").write_text(f"{own}\n{own}\n{COMBINED}\n")
    (tmp_path / "bare").write_text(f"{COMMON}\n")

    report = read_logs([tmp_path / "log"])
    assert (report.host, report.is_guessed) == ("forum.example:8080", True)
    assert list(report.sizes) == ["http://forum.example:8080/apache_pb.gif"]
    assert read_logs([tmp_path / "bare"]).host == NO_HOST
    assert read_logs([tmp_path / "log"], "a.example").is_guessed is False


def test_a_file_without_accesses_is_one_error(tmp_path):
    """The error names the file, the first bad line, and the expected formats; so for a missing file."""
    (tmp_path / "photo.jpg").write_bytes(b"\xff\xd8\xff\xe0" * 50_000)
    (tmp_path / "empty").write_text("")

    with pytest.raises(BadInputError, match=r"photo.jpg has no accesses \(line 1 is the first.*METHOD URL PROTOCOL"):
        read_logs([tmp_path / "photo.jpg"])
    with pytest.raises(BadInputError, match=r"empty has no accesses .no lines"):
        read_logs([tmp_path / "empty"])
    with pytest.raises(BadInputError, match=r"no file .*nowhere"):
        read_logs([tmp_path / "nowhere"])


def test_overlong_urls_are_left_out(tmp_path):
    """Bad lines are counted, and the rest of the log is read."""
    (tmp_path / "log").write_text(f"{COMMON.replace('/apache_pb.gif', '/' + 'a' * 5000)}\n{COMMON}\n")

    report = read_logs([tmp_path / "log"], "a.example")

    assert (report.n_left_out, list(report.sizes)) == (1, ["http://a.example/apache_pb.gif"])
