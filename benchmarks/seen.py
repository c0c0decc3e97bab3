"""Cost of a seen form: bytes, and microseconds to claim and to confirm it, compared with Scrapy's dupefilter.

    python benchmarks/seen.py [N_FORMS...]      default: 100000 1000000

Each line is its own process. Memory is the growth of the resident set; for a file its size after closing; for Redis
``used_memory``. File and Redis also keep the requests of the latest 20,000 seen forms. Forms are claimed and confirmed
in batches of 50, as the links of a page; making the digests is not measured, on both sides.
"""

from __future__ import annotations

import asyncio
import json
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
KINDS = ("RFPDupeFilter", "memory", "sqlite", "redis")
BATCH = 50
MAX_BYTES = {"memory": 100, "sqlite": 40}


def main(sizes: list[int]) -> None:
    """Print the table."""
    print("| forms | kept in | bytes a form | wanted | us to claim | us to confirm | us to meet again |")
    print("|------:|---------|-------------:|-------:|------------:|--------------:|-----------------:|")
    for n_forms in sizes:
        for kind in KINDS:
            if kind == "redis" and shutil.which("redis-server") is None:
                continue
            command = [sys.executable, __file__, kind, str(n_forms)]
            cost = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, cwd=ROOT).stdout)
            times = " | ".join(f"{cost[name]:.2f}" for name in ("claim", "confirm", "again"))
            print(f"| {n_forms:,} | {kind} | {cost['bytes']:.1f} | {MAX_BYTES.get(kind, '-')} | {times} |", flush=True)


def measure(kind: str, n_forms: int) -> dict[str, float]:
    """Return the cost of one kind of set, in this process."""
    if kind == "RFPDupeFilter":
        return measure_dupefilter(n_forms)
    with tempfile.TemporaryDirectory() as folder:
        return asyncio.run(measure_set(kind, n_forms, Path(folder)))


def measure_dupefilter(n_forms: int) -> dict[str, float]:
    """Return the cost of a fingerprint in RFPDupeFilter: one look-up, one insertion."""
    from scrapy.dupefilters import RFPDupeFilter  # loaded before memory is measured

    seen: set[bytes] = set()
    assert RFPDupeFilter is not None

    def ask_all() -> float:
        taken_s = 0.0
        for numbers in batches(n_forms):
            fingerprints = [fingerprint(n) for n in numbers]
            start = time.perf_counter()
            for value in fingerprints:
                if value not in seen:
                    seen.add(value)
            taken_s += time.perf_counter() - start
        return taken_s

    before = resident()
    claim_s = ask_all()
    return costs(n_forms, resident() - before, claim_s, 0.0, ask_all())


async def measure_set(kind: str, n_forms: int, folder: Path) -> dict[str, float]:
    """Claim and confirm every form, then claim each by another URL."""
    from dedup_crawler.live.seen.opening import open_seen
    from dedup_crawler.live.seen.protocol import Claim

    server = start_redis(folder) if kind == "redis" else None
    setting = {"memory": "memory", "sqlite": str(folder / "dedup.seen"), "redis": f"unix://{folder}/redis?name=dedup"}
    seen = open_seen(setting[kind], None)
    await seen.open()
    before, claim_s, confirm_s, again_s = resident(), 0.0, 0.0, 0.0
    redis_before = used_memory(folder) if server else 0
    for numbers in batches(n_forms):
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
        claim_s += middle - start
    if server:
        start = time.perf_counter()
        await seen.abandoned(is_idle=True)  # sends pending changes
        confirm_s += time.perf_counter() - start
    size = used_memory(folder) - redis_before if server else resident() - before
    for numbers in batches(n_forms):
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
    return costs(n_forms, size, claim_s, confirm_s, again_s)


def costs(n_forms: int, size: int, claim_s: float, confirm_s: float, again_s: float) -> dict[str, float]:
    """Return the costs per form."""
    seconds = {"claim": claim_s, "confirm": confirm_s, "again": again_s}
    return {"bytes": size / n_forms, **{name: 1e6 * value / n_forms for name, value in seconds.items()}}


def batches(n_forms: int) -> list[range]:
    """Return the numbers of forms, in batches."""
    return [range(start, min(start + BATCH, n_forms)) for start in range(0, n_forms, BATCH)]


def fingerprint(n: int) -> bytes:
    """Return 20 bytes, as Scrapy's fingerprint."""
    import hashlib

    return hashlib.sha1(n.to_bytes(8, "big")).digest()


REQUEST = json.dumps({"url": "http://forum.example/viewtopic.php?f=17&t=12345", "callback": "parse", "depth": 3})


def resident() -> int:
    """Return the resident bytes of this process."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


def start_redis(folder: Path) -> subprocess.Popen[bytes]:
    """Start a Redis on a socket in *folder*, without persistence."""
    words = ["--port", "0", "--unixsocket", folder / "redis", "--save", "", "--appendonly", "no", "--dir", folder]
    server = subprocess.Popen(["redis-server", *words], stdout=subprocess.DEVNULL)
    while not (folder / "redis").exists():
        time.sleep(0.02)
    return server


def used_memory(folder: Path) -> int:
    """Return the bytes that Redis reports as used."""
    import redis

    with redis.Redis(unix_socket_path=str(folder / "redis")) as connection:
        return int(connection.info("memory")["used_memory"])


if __name__ == "__main__":
    if len(sys.argv) > 1 and sys.argv[1] in KINDS:
        print(json.dumps(measure(sys.argv[1], int(sys.argv[2]))))
    else:
        sys.path.insert(0, str(ROOT))
        main([int(word) for word in sys.argv[1:]] or [100_000, 1_000_000])
