"""A stranger's spider: follows every link, and appends to a file which page each callback was given."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from html import unescape
from typing import Any

from scrapy import Request, Spider

_PAGE = re.compile(rb'<meta name="page" content="([^"]*)">')
_HREF = re.compile(r'<a href="([^"]*)">')


class Stranger(Spider):
    """Follows all links; notes ``PAGE<TAB>URL``, and no page for what failed or is none."""

    name = "stranger"

    def __init__(self, url: str, out: str, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.start_urls = [f"{url}/"]
        self._url = url
        self._out = os.open(out, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)

    def parse(self, response: Any) -> Iterator[Request]:
        """Note and follow."""
        page = _PAGE.search(response.body)
        self._note(page[1].decode() if page is not None and response.status == 200 else "", response.url)
        for href in _HREF.findall(response.text) if page is not None else ():
            yield Request(self._url + unescape(href), errback=self.failed)

    def failed(self, failure: Any) -> None:
        """Note that nothing came."""
        self._note("", failure.request.url)

    def _note(self, page: str, url: str) -> None:
        os.write(self._out, f"{page}\t{url.removeprefix(self._url)}\n".encode())
