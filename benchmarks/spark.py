"""Learning on Spark: against a plain loop, by size and cores, one large host, killed workers, the recorded sites.

    python benchmarks/spark.py SITES WORK [PART...] > benchmarks/results/spark.md

Each part takes minutes and leaves its figures in WORK/spark/PART.json; the page is printed of all that are there.
Without names all parts run; ``page`` runs none. Hosts are those of :mod:`made`, with 1,000 URLs and short pages of
their own words; one file holds two hosts, or 30,000 URLs of a large one. Needs Java.
"""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import json
import math
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

from made import made_crawl
from usage import arguments

from dedup_crawler.evidence.comparing import PageEvidence
from dedup_crawler.evidence.labelling import compared_clusters, label_store
from dedup_crawler.labels.main_text import clean_page
from dedup_crawler.methods import make_method
from dedup_crawler.methods.model.training_data import TrainingData, training_data
from dedup_crawler.pages.imports import Kind, Source, import_files
from dedup_crawler.pages.records import LabelledPage
from dedup_crawler.pages.store import PageStore
from dedup_crawler.urls.normal import host_of, normal_form

SIZES = (30, 100, 300, 1000, 3000, 10_000)
"""Numbers of hosts."""
URLS = 1000
"""URLs of a host."""
COMPARED = 300
"""Hosts of the comparison with a plain loop and with one core."""
KILLED = 30
"""Hosts of the job whose workers are killed."""
LARGE = 3_000_000
"""URLs of the one large host."""
SITES = ("forum", "dokuwiki", "ftp", "shop", "wordpress", "mediawiki", "trac", "qa")
MACHINES, CORES, EFFICIENCY = 100, 16, 0.8
"""Of the estimate."""
_HOSTS_A_FILE = 2
_URLS_A_FILE = 30_000  # at most, of one host: one task reads one file
_SYLLABLES = ("ba", "ce", "di", "fo", "gu", "ha", "ki", "lo", "mu", "ne", "pi", "ra", "so", "tu", "ve")


def made_hosts(folder: Path, n_hosts: int, n_urls: int = URLS) -> Path:
    """Files of made hosts, the same for the same numbers."""
    if folder.exists():
        return folder
    draft = folder.with_suffix(".new")
    shutil.rmtree(draft, ignore_errors=True)
    draft.mkdir(parents=True)
    with ProcessPoolExecutor() as pool:
        files = [range(n, min(n + _HOSTS_A_FILE, n_hosts)) for n in range(0, n_hosts, _HOSTS_A_FILE)]
        list(pool.map(partial(write_hosts, draft, n_urls), files, chunksize=10))
    return draft.rename(folder)


def write_hosts(folder: Path, n_urls: int, numbers: range) -> None:
    """The files of hosts that share them."""
    for number in numbers:
        crawl = made_crawl(n_urls, seed=number)
        rows = zip(crawl.urls, crawl.referrers, crawl.labels, strict=True)
        for part in range(math.ceil(n_urls / _URLS_A_FILE)):
            with (folder / f"{number // _HOSTS_A_FILE:04}-{part:03}.jsonl").open("a", encoding="utf-8") as file:
                for url, referrer, label in itertools.islice(rows, _URLS_A_FILE):
                    row = {"url": url, "referrer": referrer, "html": page_text(number, label)}
                    file.write(json.dumps(row).replace("forum.example", f"host{number}.example") + "\n")


def page_text(host: int, label: int) -> str:
    """The page of a label: a title and 60 words."""
    draw = random.Random(host * 10**7 + label)
    words = ["".join(draw.choices(_SYLLABLES, k=3)) for _ in range(60)]
    return f"<title>{words[0]} {words[1]}</title><h1>{words[0]}</h1><p>The text of it is {' '.join(words)}.</p>"


def job(files: Path | list[Path], models: Path, cores: int, *, kill: bool = False) -> dict[str, Any]:
    """Run the command from an empty folder; seconds, of the CPU too, most memory of all processes, rows of hosts."""
    shutil.rmtree(models, ignore_errors=True)
    paths = files if isinstance(files, list) else [files]
    command = [sys.executable, "-m", "dedup_crawler", "spark-train", *map(str, paths), "--models", str(models)]
    command += ["--master", f"local[{cores}]", "--json"]
    events = models.with_suffix(".events")
    shutil.rmtree(events, ignore_errors=True)
    events.mkdir()
    logged = {"enabled": "true", "dir": events.as_uri(), "rolling.enabled": "false", "compress": "false"}
    confs = " ".join(f"--conf spark.eventLog.{name}={value}" for name, value in logged.items())
    chosen = sorted(os.sched_getaffinity(0))[:cores]
    start = time.perf_counter()
    output = models.with_suffix(".out")  # a pipe would be full before the end
    with (
        output.open("w") as file,
        subprocess.Popen(
            command,
            stdout=file,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "PYSPARK_SUBMIT_ARGS": f"{confs} pyspark-shell"},
            preexec_fn=lambda: os.sched_setaffinity(0, chosen),
        ) as process,
    ):
        most, killed, used, looked = 0, 0, dict[int, float](), start
        while process.poll() is None:
            found = descendants(process.pid)
            used.update((pid, seconds) for pid in found if (seconds := cpu_seconds(pid)))
            if time.perf_counter() >= looked + 5:  # reading it costs more than the rest
                looked = time.perf_counter()
                most = max(most, sum(map(resident, found)))
            if kill and not killed and len(list((models / ".catalogue").glob("*.json"))) >= 5:
                killed = len(workers(found))  # all of them: some are idle, and killing those proves nothing
                for pid in workers(found):
                    os.kill(pid, signal.SIGKILL)
            time.sleep(1)
        told = json.loads(output.read_text())
    seconds = time.perf_counter() - start
    return {
        "s": seconds,
        "cpu": sum(used.values()),
        "mib": most / 2**20,
        "hosts": told["hosts"],
        "killed": killed,
        "digest": digest(models),
        "load": os.getloadavg()[0],
        **task_metrics(events),
    }


def task_metrics(events: Path) -> dict[str, int]:
    """Bytes that tasks spilled to disk and wrote for the shuffle, of the event log of Spark."""
    found = {"spilled": 0, "shuffled": 0}
    for path in events.iterdir():
        for line in path.read_text(encoding="utf-8").splitlines():
            event = json.loads(line)
            if event["Event"] == "SparkListenerTaskEnd" and (metrics := event.get("Task Metrics")):
                found["spilled"] += metrics["Disk Bytes Spilled"]
                found["shuffled"] += metrics["Shuffle Write Metrics"]["Shuffle Bytes Written"]
    return found


def descendants(root: int) -> list[int]:
    """Processes below *root*, and itself."""
    parents = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                parents[int(entry.name)] = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
    found = [root]
    for pid in found:
        found += [child for child, parent in parents.items() if parent == pid]
    return found


def cpu_seconds(pid: int) -> float:
    """Seconds of the CPU that a process has used."""
    with contextlib.suppress(OSError):
        fields = (Path("/proc") / str(pid) / "stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return 0.0


def resident(pid: int) -> int:
    """Bytes of memory of a process, with its share of what it shares."""
    with contextlib.suppress(OSError):
        for line in (Path("/proc") / str(pid) / "smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) * 1024
    return 0


def workers(pids: list[int]) -> list[int]:
    """The workers of Spark in Python: those that its daemon has forked."""
    daemons = []
    for pid in pids:
        with contextlib.suppress(OSError):
            if b"pyspark.daemon" in (Path("/proc") / str(pid) / "cmdline").read_bytes():
                daemons.append(pid)
    return daemons[1:]


def digest(models: Path) -> str:
    """Digest of all model folders."""
    found = hashlib.sha256()
    for path in sorted(models.glob("*/*.json")):
        if not path.parent.name.startswith("."):
            found.update(str(path.relative_to(models)).encode() + path.read_bytes())
    return found.hexdigest()


def loop(files: Path, models: Path) -> dict[str, Any]:
    """The same in one process, host after host: no store, no workers, nothing but the functions themselves."""
    shutil.rmtree(models, ignore_errors=True)
    start, cpu = time.perf_counter(), time.process_time()
    hosts: dict[str, list[LabelledPage]] = {}
    for path in sorted(files.iterdir()):
        for _, page in Source(path, Kind.JSON).steps(lambda offset, reason: None):
            if page is not None:
                text, _ = clean_page(page, with_fingerprint=False)
                labelled = LabelledPage(
                    page.url, page.referrer, page.status, page.redirect_to, text.title, text.main_text, None, None
                )
                hosts.setdefault(host_of(normal_form(page.url)), []).append(labelled)
    for host, pages in hosts.items():
        evidence = PageEvidence.of_pages(pages)
        labels = compared_clusters(lambda pages=pages: pages, evidence).numbers()
        fit(TrainingData.of_pages(pages, labels, evidence), models / host)
    spent = {"s": time.perf_counter() - start, "cpu": time.process_time() - cpu}
    return {**spent, "digest": digest(models), "load": os.getloadavg()[0]}


def fit(data: TrainingData, folder: Path) -> None:
    method = make_method("verified")
    method.fit(*data).save(folder)


def size(work: Path, sites: Path, n_hosts: int) -> dict[str, Any]:
    return job(made_hosts(work / f"made-{n_hosts}", n_hosts), work / f"models-{n_hosts}", 2)


def one_core(work: Path, sites: Path) -> dict[str, Any]:
    return job(made_hosts(work / f"made-{COMPARED}", COMPARED), work / "models-one-core", 1)


def plain(work: Path, sites: Path) -> dict[str, Any]:
    return loop(made_hosts(work / f"made-{COMPARED}", COMPARED), work / "models-loop")


def killed(work: Path, sites: Path) -> dict[str, Any]:
    return job(made_hosts(work / f"made-{KILLED}", KILLED), work / "models-killed", 2, kill=True)


def large(work: Path, sites: Path) -> dict[str, Any]:
    return job(made_hosts(work / "made-large", 1, LARGE), work / "models-large", 2)


def site(work: Path, sites: Path, name: str) -> dict[str, Any]:
    """One recorded site by both ways; ``import``, ``label`` and ``train`` use both cores for texts."""
    path = sites / name / "crawl.warc.zst"
    found = job([path], work / f"models-{name}", 2)
    database, folder = work / f"{name}.db", work / f"one-{name}"
    database.unlink(missing_ok=True)
    shutil.rmtree(folder, ignore_errors=True)
    start = time.perf_counter()
    with PageStore(database) as store:
        import_files([path], store)
        label_store(store, n_workers=2)
        fit(training_data(store), folder / found["hosts"][0]["host"].replace(":", "_"))
    return {**found, "one_s": time.perf_counter() - start, "one_digest": digest(folder)}


PARTS: dict[str, Callable[[Path, Path], dict[str, Any]]] = {
    **{f"size-{n}": (lambda work, sites, n=n: size(work, sites, n)) for n in SIZES},
    "one-core": one_core,
    "loop": plain,
    "killed": killed,
    "large": large,
    **{f"site-{name}": (lambda work, sites, name=name: site(work, sites, name)) for name in SITES},
}


def row(*cells: float | str, load: float) -> str:
    """A row of a table; seconds and MiB without decimals."""
    return f"| {' | '.join(f'{each:.0f}' if isinstance(each, float) else str(each) for each in cells)} | {load:.1f} |"


def page(parts: dict[str, dict[str, Any]]) -> Iterator[str]:
    """The page, of the parts that were measured."""
    yield "Seconds of the whole command, starting Spark included. *CPU s* is what all processes of the run used of both"
    yield "cores. Memory is the most that all of them held, read every five seconds. *Spilled* are the bytes that tasks"
    yield "wrote to disk because memory was full, *shuffled* those that went to another task: the sums of"
    yield "`Disk Bytes Spilled` and `Shuffle Bytes Written` of all tasks in the event log of Spark."
    yield ""
    yield "The machine was shared with other work. *Load* is its load at the end of a run, the run included. Other work"
    yield "makes the seconds longer. CPU seconds suffer less: the same learning took a fifth more of them at a load of"
    yield "8 than at one of 2.\n"
    yield "## Made hosts of 1,000 URLs, 2 cores\n"
    yield "| hosts | URLs | s | CPU s | CPU ms a host | MiB | spilled MiB | shuffled MiB | rules | URLs merged | load |"
    yield "|---|---|---|---|---|---|---|---|---|---|---|"
    for n in SIZES:
        if found := parts.get(f"size-{n}"):
            rules, merged = (sum(row[key] for row in found["hosts"]) for key in ("n_rules", "n_merged"))
            a_host = 1000 * found["cpu"] / n
            disk = found["spilled"] / 2**20, found["shuffled"] / 2**20
            cells = n, n * URLS, found["s"], found["cpu"], a_host, found["mib"], *disk, rules, merged
            yield row(*cells, load=found["load"])
    yield from growth(parts)
    yield "\n## The same hosts by other ways\n"
    yield "*The same models*: byte for byte those of 2 cores. The plain loop is one process that calls the functions"
    yield "host by host. In the last row all Python workers were killed with SIGKILL, once, after five hosts.\n"
    yield "| way | hosts | s | CPU s | s by 2 cores | CPU s by 2 cores | the same models | load |"
    yield "|---|---|---|---|---|---|---|---|"
    for name, told, n in (
        ("one-core", "Spark, 1 core", COMPARED),
        ("loop", "plain loop, 1 core", COMPARED),
        ("killed", "2 cores, workers killed", KILLED),
    ):
        if (two := parts.get(f"size-{n}")) and (found := parts.get(name)):
            same = "yes" if found["digest"] == two["digest"] else "no"
            if name == "one-core":
                shares = found["s"] / 2 / two["s"], found["cpu"] / two["cpu"]
            yield row(told, n, found["s"], found["cpu"], two["s"], two["cpu"], same, load=found["load"])
    if "one-core" in parts and f"size-{COMPARED}" in parts:
        yield f"\nEfficiency of two cores: {shares[0]:.2f} by the clock, which other work distorts in each run. CPU of"
        yield f"one core by that of two: {shares[1]:.2f}. This says what the second core costs, and not how long both"
        yield "wait, as at the start of Spark."
    if found := parts.get("large"):
        (host,) = found["hosts"]
        yield "\n## One large host, 2 cores\n"
        yield "| URLs | learnt from | s | CPU s | of the s learning | MiB | spilled MiB | rules | load |"
        yield "|---|---|---|---|---|---|---|---|---|"
        seconds = found["s"], found["cpu"], float(host["seconds"])
        disk = found["mib"], found["spilled"] / 2**20
        yield row(host["n_found"], host["n_pages"], *seconds, *disk, host["n_rules"], load=found["load"])
    yield "\n## The recorded sites, 2 cores\n"
    yield "One machine: `import`, `label` (two processes) and `train`, without starting Python.\n"
    yield "| site | URLs | rules | Spark s | CPU s | one machine s | the same models | load |"
    yield "|---|---|---|---|---|---|---|---|"
    for name in SITES:
        if found := parts.get(f"site-{name}"):
            (host,) = found["hosts"]
            same = "yes" if found["digest"] == found["one_digest"] else "no"
            seconds = found["s"], found["cpu"], found["one_s"]
            yield row(name, host["n_pages"], host["n_rules"], *seconds, same, load=found["load"])


def growth(parts: dict[str, dict[str, Any]]) -> Iterator[str]:
    """CPU time from each size to the next, by that of n log n."""
    measured = [n for n in SIZES if f"size-{n}" in parts]
    steps = []
    for n, more in itertools.pairwise(measured):
        grown = parts[f"size-{more}"]["cpu"] / parts[f"size-{n}"]["cpu"]
        expected = more * math.log(more * URLS) / (n * math.log(n * URLS))
        steps.append(f"{grown / expected:.2f} ({n:,} to {more:,})")
    if steps:
        yield f"\nGrowth of the CPU seconds, by that of n log n: {', '.join(steps)}."


def estimate(parts: dict[str, dict[str, Any]]) -> Iterator[str]:
    """A billion URLs on many machines, on paper."""
    measured = [found for name in SITES if (found := parts.get(f"site-{name}"))]
    if not measured:
        return
    n_pages = sum(row["n_pages"] for found in measured for row in found["hosts"])
    cpu_ms = 1000 * sum(found["cpu"] for found in measured) / n_pages
    hours = 1e9 * cpu_ms / 1000 / (MACHINES * CORES * EFFICIENCY) / 3600
    yield "\n## A billion URLs on 100 machines, on paper\n"
    yield f"Nobody has run this. {cpu_ms:.1f} ms of CPU a page, the mean of the recorded sites above with the start of"
    yield f"Spark in it, make {hours:.1f} hours on {MACHINES} machines of {CORES} cores, if all of this holds:\n"
    yield "- The pages are like those of the recorded sites, and a core is as fast as one of these."
    yield f"- The cores are busy to {EFFICIENCY:.0%}. Here two cores were tried, not {MACHINES * CORES}."
    yield "- No host has more than 20,000 pages, so nothing is sampled: say 500,000 hosts of 2,000 pages. Larger hosts"
    yield "  make it cheaper, for pages that are left out are read and not parsed."
    yield "- Files are many and of one size, since one task reads whole files: 100,000 files of 10,000 pages."
    yield "- Storage delivers 30 KB a page twice, 60 TB: 40 minutes at 250 MB/s a machine, during the parsing."
    yield "- Local disks take the texts once, about 5 KB a page before they are compressed: less than 50 GB a machine."
    yield "- The driver holds a row for each host, and the shared folder takes nine small files for each: 4.5 million."
    yield "- Nothing fails for good."


def main(arguments: list[str]) -> None:
    sites, work = Path(arguments[0]), Path(arguments[1]) / "spark"
    work.mkdir(parents=True, exist_ok=True)
    for name in [name for name in arguments[2:] or PARTS if name != "page"]:
        (work / f"{name}.json").write_text(json.dumps(PARTS[name](work, sites)))
    files = {name: work / f"{name}.json" for name in PARTS}
    parts = {name: json.loads(path.read_text()) for name, path in files.items() if path.exists()}
    print("\n".join([*page(parts), *estimate(parts)]))


if __name__ == "__main__":
    main(arguments(__doc__, 2))
