"""Cost of the filter per dropped request, per passing request, and for a whole crawl.

    python benchmarks/live_cost.py [N]

First: the mean of five Scrapy crawls of one page with N links (default 60,000) or up to a quarter more: the garbage
collector scans all objects whenever they have grown by a quarter, and the moment must not matter. The unit is
microseconds and bytes per link, including building the request, until it is queued or dropped. Plain Scrapy drops only
repeated URLs, so it is measured with these; duplicate-url-discarder drops `utm_source`, our model a learnt session.
Our filter keeps drops for a while, in case their rule turns out wrong: 20,000 in all. A repeated URL passes our filter,
and Scrapy drops it.

Second: 1,000,000 links of one page, queued on disk as with a JOBDIR; one crawl each.

Third: the cost of a passing request from the link to the processed page: median, minimum and maximum of five crawls of
6,000 pages. Links are not extracted from pages, and none is a repeat; crawl_speed.py crawls recorded sites.

The difference between "Scrapy, once more" and Scrapy shows the noise. A computer may be slower for a minute, so the
filters run in rounds of random order. Pages are compared by round (median); the time of each thousand links is divided
by that of a reference loop. Each process has an environment of another size, because the memory layout changes the
speed of the same code by two percent.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import tempfile
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from statistics import mean, median
from typing import Any

from usage import arguments

from dedup_crawler.methods import make_method

HERE = Path(__file__).resolve().parent
N_RUNS = 5
N_QUEUED = 1_000_000
N_CRAWLS, N_PAGES = 5, 6000
_RANDOM = random.Random(6)
ADDON = {"ADDONS": json.dumps({"dedup_crawler.Addon": 500})}
DUD = {"REQUEST_FINGERPRINTER_CLASS": "duplicate_url_discarder.Fingerprinter"}
PAGE = b"<html><head><title>a page</title></head><body>" + b"<p>Some words of a page.</p>" * 200 + b"</body></html>"


class Handler(BaseHTTPRequestHandler):
    """Answers every request with the same page and a new number."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        """Answer a request."""
        body = PAGE.replace(b"a page", self.path.encode())
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: object) -> None:
        """Log nothing."""


def model_of(host: str, folder: Path) -> Path:
    """Return a model that has learnt to ignore `sid`."""
    urls, clusters = [], []
    for topic in range(60):
        for session in range(4):
            urls.append(f"http://{host}/topic.php?t={topic}&sid={topic * 7919 + session * 104729:08x}")
            clusters.append(topic)
        urls.append(f"http://{host}/topic.php?t={topic}")
        clusters.append(topic)
    return Path(make_method("verified").fit(urls, clusters).save(folder / "model"))


def measured(url: str, kind: str, n: int, settings: dict[str, Any], folder: Path, tracking: str) -> list[float]:
    """Return microseconds, loops and bytes per link."""
    out = folder / "out.json"
    own = dict(settings)
    if own.pop("JOBDIR", None):
        own["JOBDIR"] = tempfile.mkdtemp(dir=folder)
    scrapy("link_spider.py", {"url": url, "kind": kind, "n": n, "tracking": tracking, "out": out}, own, folder)
    found = json.loads(out.read_text(encoding="utf-8"))
    return [found["us"], found["loops"], found["bytes"]]


def scrapy(spider: str, arguments: dict[str, Any], settings: dict[str, Any], folder: Path) -> None:
    """Run a spider from outside the project, whose settings would always enable the filter."""
    command = [sys.executable, "-m", "scrapy", "runspider", str(HERE / spider)]
    command += [word for name, value in arguments.items() for word in ("-a", f"{name}={value}")]
    command += [word for name, value in settings.items() for word in ("-s", f"{name}={value}")]
    path = f"{HERE.parent}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"
    environment = {**os.environ, "PYTHONPATH": path, "SHIFTS_THE_STACK": "x" * _RANDOM.randrange(4096)}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(done.stderr[-2000:])


def pages_per_second(url: str, settings: dict[str, Any], folder: Path) -> float:
    """Return the speed of a crawl of different pages on loopback."""
    out = folder / "speed.json"
    scrapy("speed_spider.py", {"url": url, "n": N_PAGES, "out": out}, settings, folder)
    return float(json.loads(out.read_text(encoding="utf-8")))


def main(n: int = 60_000) -> None:
    """Print the tables."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    host = f"127.0.0.1:{server.server_port}"
    url = f"http://{host}/"
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        ours = {**ADDON, "DEDUP_MODEL": model_of(host, folder)}
        late = {
            "DOWNLOADER_MIDDLEWARES": json.dumps({"dedup_crawler.DuplicateFilterMiddleware": 120}),
            "DEDUP_MODEL": ours["DEDUP_MODEL"],
        }
        cases: list[tuple[str, str, str, dict[str, Any], str]] = [
            ("dropped", "Scrapy", "repeated", {}, ""),
            ("dropped", "duplicate-url-discarder", "tracked", DUD, "utm_source"),
            ("dropped", "ours", "tracked", {**ours, "DEDUP_EXPLORATION": 0}, "sid"),
            ("dropped", "ours, the same URL again", "repeated", ours, ""),
            ("passed", "Scrapy", "new", {}, ""),
            ("passed", "Scrapy, once more", "new", {}, ""),
            ("passed", "duplicate-url-discarder", "new", DUD, ""),
            ("passed", "ours", "new", ours, ""),
            ("passed", "ours, downloader middleware alone", "new", late, ""),
        ]
        print("| request | filter | JOBDIR | us | of Scrapy's | bytes |\n|---|---|---|---|---|---|")
        for jobs in ("", "yes"):
            costs: list[list[list[float]]] = [[] for _ in cases]
            for turn in range(N_RUNS):
                n_links = round(n * 1.25 ** (turn / N_RUNS))
                for place in _RANDOM.sample(range(len(cases)), len(cases)):
                    _, _, kind, settings, tracking = cases[place]
                    own = {**settings, **({"JOBDIR": "yes"} if jobs else {})}
                    costs[place].append(measured(url, kind, n_links, own, folder, tracking))
            plain: dict[str, float] = {}
            for (what, name, *_), measures in zip(cases, costs, strict=True):
                us, loops, size = map(mean, zip(*measures, strict=True))
                ratio = loops / plain.setdefault(what, loops)
                print(f"| {what} | {name} | {jobs} | {us:.1f} | {ratio:.2f} | {size:.0f} |", flush=True)
        print(f"\n| {N_QUEUED:,} queued links | us | of Scrapy's | bytes |\n|---|---|---|---|")
        queued: list[list[float]] = []
        for name, settings in (("Scrapy", {}), ("ours", ours)):
            queued.append(measured(url, "new", N_QUEUED, {**settings, "JOBDIR": "yes"}, folder, ""))
            us, loops, size = queued[-1]
            print(f"| {name} | {us:.1f} | {loops / queued[0][1]:.2f} | {size:.0f} |", flush=True)
        crawled: dict[str, dict[str, Any]] = {
            "Scrapy": {},
            "Scrapy, once more": {},
            "duplicate-url-discarder": DUD,
            "ours": ours,
        }
        speeds: dict[str, list[float]] = {name: [] for name in crawled}
        for _ in range(N_CRAWLS):
            for name in _RANDOM.sample([*crawled], len(crawled)):
                speeds[name].append(pages_per_second(url, crawled[name], folder))
        print(f"\n| crawl of {N_PAGES:,} pages | pages/s | least-most | us a page | of Scrapy's | least-most |")
        print("|---|---|---|---|---|---|")
        for name, found in speeds.items():
            ratios = [plainly / each for plainly, each in zip(speeds["Scrapy"], found, strict=True)]
            print(
                f"| {name} | {median(found):.0f} | {min(found):.0f}-{max(found):.0f} | {1e6 / median(found):.0f} "
                f"| {median(ratios):.2f} | {min(ratios):.2f}-{max(ratios):.2f} |",
                flush=True,
            )
    server.shutdown()


if __name__ == "__main__":
    main(*map(int, arguments(__doc__)))
