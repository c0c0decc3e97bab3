"""The screenshots in ``docs/screenshots/``: the report of the demo.

    python benchmarks/screenshots.py FOLDER

The demo crawls the recorded example forum into FOLDER, unless it has done so; the further commands are printed. It
needs the extra ``report``, playwright, and an installed Chromium.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from PIL import Image
from playwright.sync_api import Page, sync_playwright
from usage import arguments

ROOT = Path(__file__).resolve().parent.parent
SCREENSHOTS = ROOT / "docs" / "screenshots"
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
N_COLORS = 64  # enough for a page of text, and a quarter of the file size


def main(folder: Path) -> None:
    """Make all screenshots."""
    folder = folder.resolve()
    if not (folder / "drops.jsonl").is_file():
        run("demo", "--folder", folder)
    database, forest, comparison = folder / "first.db", folder / "forest", folder / "comparison.json"
    run("train", "random-forest", "--db", database, "--model", forest)
    methods = [part for name in ("keep-all", "strip-query", "pattern-tree", "verified") for part in ("--method", name)]
    comparison.write_text(run("evaluate", "--db", database, *methods, "--json"))
    given = ("--db", database, "--model", folder / "model", "--model", forest, "--dropped", folder / "drops.jsonl")
    report = folder / "report.html"
    run("report", *given, "--comparison", comparison, "--output", report)
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    with page_of(report, 1000, 860) as page:
        save(page.screenshot(), "report.png")
    with page_of(report, 1000, 860) as page:
        page.locator("section#rules .rule details").first.evaluate("each => each.open = true")
        page.locator("section#rules").scroll_into_view_if_needed()
        page.evaluate("document.querySelector('section#rules').scrollIntoView()")
        save(page.screenshot(), "report-rules.png")
    with page_of(report, 360, 740) as page:
        page.locator("section#waste li details").nth(1).evaluate("each => each.open = true")
        page.evaluate("document.querySelector('section#waste').scrollIntoView()")
        save(page.screenshot(), "report-phone.png")


@contextmanager
def page_of(report: Path, width: int, height: int) -> Iterator[Page]:
    """Open the report in a window."""
    browser_path = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser_path is None:
        sys.exit(f"none of {', '.join(BROWSERS)} is installed")
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=browser_path, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": width, "height": height})
        page.goto(report.as_uri())
        yield page
        browser.close()


def save(png: bytes, name: str) -> None:
    """Write a small PNG."""
    path = SCREENSHOTS / name
    path.write_bytes(png)
    Image.open(path).convert("RGB").quantize(N_COLORS).save(path, optimize=True)
    print(f"{path.relative_to(ROOT)}: {path.stat().st_size / 1000:.0f} kB")


def run(*arguments: object) -> str:
    """Run one of our commands."""
    print("dedup-crawler", *arguments)
    command = [sys.executable, "-m", "dedup_crawler", *map(str, arguments)]
    return subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout


if __name__ == "__main__":
    main(*map(Path, arguments(__doc__, 1)))
