"""Cost of a seen form: bytes, and microseconds to claim and to confirm it, compared with Scrapy's dupefilter.

    python benchmarks/seen.py [N_FORMS...]      default: 100000 1000000

Each line is its own process. Memory is the growth of the resident set; for a file its size after closing; for Redis
``used_memory``. File and Redis also keep the requests of the latest 20,000 seen forms. Forms are claimed and confirmed
in batches of 50, as the links of a page; making the digests is not measured, on both sides.

The second table is of Redis alone, with 1, 50 and 500 links at once. If there are more than a million forms, the others
are written into Redis before the measurement, as many into each of its buckets. A batch waits the given milliseconds:
the median, and the slowest of a hundred. "packed" is a server with ``hash-max-listpack-entries 2048``.
"""

from __future__ import annotations

import asyncio
import json
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from array import array
from collections.abc import Iterator
from pathlib import Path

from usage import arguments

ROOT = Path(__file__).resolve().parent.parent
KINDS = ("RFPDupeFilter", "memory", "sqlite", "redis")
BATCH = 50
MAX_BYTES = {"memory": 100, "sqlite": 40}
MOST_CLAIMED = 1_000_000
LARGE = 10_000_000
N_BUCKETS = 2**16
FILL = """
-- ARGV: first bucket, number of buckets, forms of each, seed; writes seen forms as the seen set does
local random = math.random
math.randomseed(ARGV[4])
for bucket = ARGV[1], ARGV[1] + ARGV[2] - 1 do
  local fields = {}
  for i = 1, 2 * ARGV[3], 2 do
    fields[i] = struct.pack('I4I4I4I2', random(0, 2147483647), random(0, 2147483647), random(0, 2147483647), i)
    fields[i + 1] = 'crawrrow'
  end
  redis.call('HSET', 'dedup:seen:' .. string.format('%04x', bucket), unpack(fields))
end
redis.call('INCRBY', 'dedup:size', ARGV[2] * ARGV[3])
"""
FILLED_AT_ONCE, BUCKETS_AT_ONCE = 100, 64  # more would take longer than the client waits


def main(sizes: list[int]) -> None:
    """Print the table."""
    print("| forms | kept in | bytes a form | wanted | us to claim | us to confirm | us to meet again |")
    print("|------:|---------|-------------:|-------:|------------:|--------------:|-----------------:|")
    has_redis = shutil.which("redis-server") is not None
    for n_forms in sizes:
        for kind in KINDS if n_forms <= MOST_CLAIMED else ():
            if kind != "redis" or has_redis:
                cost = costs_of(kind, n_forms)
                times = " | ".join(f"{cost[name]:.2f}" for name in ("claim", "confirm", "again"))
                print(
                    f"| {n_forms:,} | {kind} | {cost['bytes']:.1f} | {MAX_BYTES.get(kind, '-')} | {times} |", flush=True
                )
    if not has_redis:
        return
    print("\n| forms in Redis | links at once | bytes a form | us to claim | ms a batch | slowest of 100 |")
    print("|------:|------:|------:|------:|------:|------:|")
    for n_forms in sizes:
        for kind in ("redis", "redis, packed") if n_forms > LARGE else ("redis",):
            for batch in (1, BATCH, 500) if n_forms == min(sizes) else (BATCH,):
                cost = costs_of(kind, n_forms, batch)
                times = " | ".join(f"{cost[name]:.2f}" for name in ("claim", "median", "slow"))
                shown = f"{n_forms:,}{kind.removeprefix('redis')}"
                print(f"| {shown} | {batch} | {cost['bytes']:.1f} | {times} |", flush=True)


def costs_of(kind: str, n_forms: int, batch: int = BATCH) -> dict[str, float]:
    """Return the cost of one kind of set, measured in a process of its own."""
    command = [sys.executable, __file__, kind, str(n_forms), str(batch)]
    costs: dict[str, float] = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, cwd=ROOT).stdout)
    return costs


def measure(kind: str, n_forms: int, batch: int) -> dict[str, float]:
    """Return the cost of one kind of set, in this process."""
    if kind == "RFPDupeFilter":
        return measure_dupefilter(n_forms)
    with tempfile.TemporaryDirectory() as folder:
        return asyncio.run(measure_set(kind, n_forms, batch, Path(folder)))


def measure_dupefilter(n_forms: int) -> dict[str, float]:
    """Return the cost of a fingerprint in RFPDupeFilter: one look-up, one insertion."""
    from scrapy.dupefilters import RFPDupeFilter  # loaded before memory is measured

    seen: set[bytes] = set()
    assert RFPDupeFilter is not None

    def ask_all() -> array[float]:
        waits = array("d")
        for numbers in batches(n_forms):
            fingerprints = [fingerprint(n) for n in numbers]
            start = time.perf_counter()
            for value in fingerprints:
                if value not in seen:
                    seen.add(value)
            waits.append(time.perf_counter() - start)
        return waits

    before = resident()
    waits = ask_all()
    return costs((resident() - before) / n_forms, n_forms, waits, 0.0, sum(ask_all()))


async def measure_set(kind: str, n_forms: int, batch: int, folder: Path) -> dict[str, float]:
    """Claim and confirm every form, at most a million, then claim each by another URL."""
    from dedup_crawler.live.seen.memory import open_seen
    from dedup_crawler.live.seen.protocol import Claim

    server = start_redis(folder, is_packed="packed" in kind) if kind.startswith("redis") else None
    setting = {"memory": "memory", "sqlite": str(folder / "dedup.seen")}
    seen = open_seen(setting.get(kind, f"unix://{folder}/redis?name=dedup"), None)
    await seen.open()
    before, waits, confirm_s, again_s = resident(), array("d"), 0.0, 0.0
    redis_before = used_memory(folder) if server else 0
    n_claimed = min(n_forms, MOST_CLAIMED)
    if server:
        fill(folder, n_forms - n_claimed)
    for numbers in batches(n_claimed, batch):
        claims = [Claim(fingerprint(n)[:16], n & 0xFFFF, 0, REQUEST) for n in numbers]
        start = time.perf_counter()
        await seen.claim(claims)
        middle = time.perf_counter()
        for claim in claims:
            seen.answered(claim.digest)
        seen.processed([claim.digest for claim in claims])
        if server:
            await asyncio.sleep(0)
        confirm_s += time.perf_counter() - middle
        waits.append(middle - start)
    if server:
        start = time.perf_counter()
        await seen.abandoned(is_idle=True)  # sends pending changes
        confirm_s += time.perf_counter() - start
    size = used_memory(folder) - redis_before if server else resident() - before
    for numbers in batches(n_claimed, batch):
        claims = [Claim(fingerprint(n)[:16], ~n & 0xFFFF, 0, REQUEST) for n in numbers]
        start = time.perf_counter()
        await seen.claim(claims)
        again_s += time.perf_counter() - start
    await seen.close(is_clean=True)
    if kind == "sqlite":
        size = sum(path.stat().st_size for path in folder.iterdir())
    if server:
        server.kill()
        server.wait()
    return costs(size / n_forms, n_claimed, waits, confirm_s, again_s)


def costs(n_bytes: float, n_forms: int, waits: array[float], confirm_s: float, again_s: float) -> dict[str, float]:
    """Return the costs per form, and the wait of a batch."""
    return {
        "bytes": n_bytes,
        "claim": 1e6 * sum(waits) / n_forms,
        "confirm": 1e6 * confirm_s / n_forms,
        "again": 1e6 * again_s / n_forms,
        "median": 1e3 * statistics.median(waits),
        "slow": 1e3 * sorted(waits)[len(waits) * 99 // 100],
    }


def batches(n_forms: int, size: int = BATCH) -> Iterator[range]:
    """Return the numbers of forms, in batches."""
    return (range(start, min(start + size, n_forms)) for start in range(0, n_forms, size))


def fingerprint(n: int) -> bytes:
    """Return 20 bytes, as Scrapy's fingerprint."""
    import hashlib

    return hashlib.sha1(n.to_bytes(8, "big")).digest()


REQUEST = json.dumps({"url": "http://forum.example/viewtopic.php?f=17&t=12345", "callback": "parse", "depth": 3})


def resident() -> int:
    """Return the resident bytes of this process."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


def start_redis(folder: Path, *, is_packed: bool) -> subprocess.Popen[bytes]:
    """Start a Redis on a socket in *folder*, without persistence."""
    words = ["--port", "0", "--unixsocket", folder / "redis", "--save", "", "--appendonly", "no", "--dir", folder]
    words += ["--hash-max-listpack-entries", "2048"] if is_packed else []
    server = subprocess.Popen(["redis-server", *words], stdout=subprocess.DEVNULL)
    while not (folder / "redis").exists():
        time.sleep(0.02)
    return server


def fill(folder: Path, n_forms: int) -> None:
    """Write about so many seen forms into Redis, as many into each bucket."""
    import redis

    n_of_bucket = n_forms // N_BUCKETS
    with redis.Redis(unix_socket_path=str(folder / "redis")) as connection:
        for n_before in range(0, n_of_bucket, FILLED_AT_ONCE):
            for first in range(0, N_BUCKETS, BUCKETS_AT_ONCE):
                n = min(FILLED_AT_ONCE, n_of_bucket - n_before)
                connection.eval(FILL, 0, first, BUCKETS_AT_ONCE, n, n_before * N_BUCKETS + first)


def used_memory(folder: Path) -> int:
    """Return the bytes that Redis reports as used."""
    import redis

    with redis.Redis(unix_socket_path=str(folder / "redis")) as connection:
        return int(connection.info("memory")["used_memory"])


if __name__ == "__main__":
    given = arguments(__doc__)
    if given and not given[0].isdecimal():
        print(json.dumps(measure(given[0], int(given[1]), int(given[2]))))
    else:
        sys.path.insert(0, str(ROOT))
        main([int(word) for word in given] or [100_000, 1_000_000])
