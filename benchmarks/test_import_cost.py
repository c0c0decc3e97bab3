"""Time and memory of the imports that the filter adds to a crawl, in a separate process."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

# getrusage would report the peak of the parent process, so the program asks the kernel for its resident memory
PROGRAM = "import {modules}; print(open('/proc/self/status').read().split('VmRSS:')[1].split()[0])"


@pytest.mark.benchmark(group="imports of a process")
@pytest.mark.parametrize(
    "modules",
    [
        "sys",
        "dedup_crawler",
        "scrapy.crawler",
        "scrapy.crawler, dedup_crawler.live.middleware, dedup_crawler.live.middleware",
    ],
    ids=["python", "dedup_crawler", "scrapy", "scrapy-and-the-filter"],
)
def test_import(benchmark: Any, modules: str) -> None:
    """Time starting Python, importing and ending."""

    def run() -> str:
        code = PROGRAM.format(modules=modules)
        return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout

    benchmark.extra_info["MiB"] = int(benchmark.pedantic(run, rounds=7, warmup_rounds=1)) // 1024
