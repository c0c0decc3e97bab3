"""A real headless Chromium, for tests that look at a page as a reader does."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from programs import require

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
BROWSER = next(filter(None, map(shutil.which, NAMES)), None)


def require_chromium() -> None:
    """Skip the test if no Chromium is installed (``apt-get install chromium``)."""
    require(BROWSER, "chromium", "playwright")


@dataclass
class Opened:
    """A page, and what happened while it was open."""

    page: Page
    requests: list[str] = field(default_factory=list)
    """Requested URLs, including that of the page."""
    complaints: list[str] = field(default_factory=list)
    """Console lines, script errors, and dialogs."""


@contextmanager
def running() -> Iterator[Browser]:
    """Start a browser; this thread can run no other event loop until it is closed."""
    require_chromium()
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver, driver.chromium.launch(executable_path=BROWSER, args=["--no-sandbox"]) as browser:
        yield browser


@contextmanager
def opened(browser: Browser, path: Path, *, width: int = 1280, height: int = 900) -> Iterator[Opened]:
    """Open a file in a window of *width* pixels, with scripts enabled, as a reader's browser would."""
    with browser.new_page(viewport={"width": width, "height": height}) as page:
        shown = Opened(page)
        page.on("request", lambda request: shown.requests.append(request.url))
        page.on("console", lambda message: shown.complaints.append(message.text))
        page.on("pageerror", lambda error: shown.complaints.append(str(error)))
        page.on("dialog", lambda dialog: (shown.complaints.append(dialog.message), dialog.dismiss()))
        page.goto(path.as_uri())
        yield shown
