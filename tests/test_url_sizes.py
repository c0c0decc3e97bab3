"""What a log says of each URL."""

import gzip

import pytest
import zstandard

from dedup_crawler.errors import BadInputError
from dedup_crawler.pages.logs.url_sizes import NO_HOST, SizeRange, read_logs

COMMON = '10.0.0.1 - frank [10/Oct/2000:13:55:36 -0700] "GET /apache_pb.gif HTTP/1.0" 200 2326'
COMBINED = f'{COMMON} "http://www.example.com/start.html" "Mozilla/4.08 [en] (Win98; I ;Nav)"'


def test_sizes_are_a_range_over_all_accesses(tmp_path):
    """Only GET with status 200 counts; spellings of one URL are one; plain, gzip and zstd are read alike."""
    rows = ["GET /a 200 10", "GET /a 200 14", "GET /%61 200 7", "POST /a 200 99", "GET /a 304 0", "GET /b 404 3"]
    lines = "".join(
        f'1.2.3.4 - - [t] "{method} {url} HTTP/1.1" {status} {size}\n'
        for method, url, status, size in (row.split() for row in rows)
    )
    (tmp_path / "log").write_text(lines)
    (tmp_path / "log.gz").write_bytes(gzip.compress(lines.encode()))
    (tmp_path / "log.zst").write_bytes(zstandard.compress(lines.encode()))

    for name, times in (("log", 1), ("log.gz", 1), ("log.zst", 1)):
        report = read_logs([tmp_path / name], "A.example")
        assert report.sizes == {"http://a.example/a": SizeRange(7, 14, 3 * times)}
        assert (report.n_accesses, report.n_counted, report.damages.n) == (6, 3, 0)


def test_the_host_is_that_of_most_referrers(tmp_path):
    """A log has paths only; who comes from elsewhere is in the minority. Without referrers it is called localhost."""
    own = COMBINED.replace("http://www.example.com", "http://Forum.example:8080")
    (tmp_path / "log").write_text(f"{own}\n{own}\n{COMBINED}\n")
    (tmp_path / "bare").write_text(f"{COMMON}\n")

    report = read_logs([tmp_path / "log"])
    assert (report.host, report.is_guessed) == ("forum.example:8080", True)
    assert list(report.sizes) == ["http://forum.example:8080/apache_pb.gif"]
    assert read_logs([tmp_path / "bare"]).host == NO_HOST
    assert read_logs([tmp_path / "log"], "a.example").is_guessed is False


def test_a_file_without_accesses_is_one_error(tmp_path):
    """It names the file, the first line that does not fit, and what was expected; so does a file that is not there."""
    (tmp_path / "photo.jpg").write_bytes(b"\xff\xd8\xff\xe0" * 50_000)
    (tmp_path / "empty").write_text("")

    with pytest.raises(BadInputError, match=r"photo.jpg holds no access \(line 1 is the first.*METHOD URL PROTOCOL"):
        read_logs([tmp_path / "photo.jpg"])
    with pytest.raises(BadInputError, match=r"empty holds no access .no lines"):
        read_logs([tmp_path / "empty"])
    with pytest.raises(BadInputError, match=r"no file .*nowhere"):
        read_logs([tmp_path / "nowhere"])


def test_overlong_urls_are_left_out(tmp_path):
    """They are counted, and the log is read on."""
    (tmp_path / "log").write_text(f"{COMMON.replace('/apache_pb.gif', '/' + 'a' * 5000)}\n{COMMON}\n")

    report = read_logs([tmp_path / "log"], "a.example")

    assert (report.n_left_out, list(report.sizes)) == (1, ["http://a.example/apache_pb.gif"])


@pytest.mark.parametrize(
    "line",
    [
        '{"remote_addr": "10.0.0.1", "request": "GET /a HTTP/1.1", "status": 200, "bytes": 7}',
        "2021-03-01 10:11:12 10.0.0.1 GET /a - 443 - 10.0.0.2 Mozilla 200 0 0 15",
        "2021/03/01 10:11:12 [error] 31#31: *1 open() failed, client: 10.0.0.1",
        f"www.example.com:80 {COMMON}",
        "time,method,url,status,size",
        "x" * 100_000,
    ],
)
def test_a_log_in_another_format_is_one_line(tmp_path, line):
    """JSON, W3C, error logs, logs of several sites, commas, one line without end: which line, and what was expected."""
    (tmp_path / "log").write_text("\n" + f"{line}\n" * 3)

    with pytest.raises(BadInputError) as caught:
        read_logs([tmp_path / "log"])

    assert "log holds no access (line 2 is the first of those that do not fit): expected HOST IDENT" in str(
        caught.value
    )
    assert len(str(caught.value).splitlines()) == 1
