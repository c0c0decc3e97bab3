"""MkDocs hook: what the pages link to outside of ``docs/`` comes along, so that every link of the site leads somewhere.

A page of Markdown becomes a page of the site, under ``repository/``; any other file is copied as it is, and the name of
a folder is no link. In the repository the links work as they are written.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

DOCS = Path(__file__).resolve().parent
ROOT = DOCS.parent
_LINK = re.compile(r"\[([^\]\[]*)\]\(((?![a-z]+:|#)[^)#\s]+)(#[^)\s]*)?\)")


def on_files(files: Files, config: Any) -> Files:
    """Add every file outside that a page, or a page that is added, links to."""
    waiting = [Path(str(file.abs_src_path)) for file in files.documentation_pages()]
    known = set(waiting)
    while waiting:
        page = waiting.pop()
        for link in _LINK.finditer(page.read_text(encoding="utf-8")):
            target = (page.parent / link[2]).resolve()
            if target not in known and target.is_file() and not target.is_relative_to(DOCS):
                known.add(target)
                files.append(File.generated(config, _place(target), abs_src_path=str(target)))
                if target.suffix == ".md":
                    waiting.append(target)
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Files) -> str:
    """Turn links to files of the repository into links to where they are in the site."""
    source = Path(page.file.abs_src_path)
    up = "../" * len(Path(page.file.src_uri).parent.parts)

    def moved(link: re.Match[str]) -> str:
        target = (source.parent / link[2]).resolve()
        if target.is_dir():
            return link[1]
        # a link to nowhere stays as it is, for MkDocs to complain of
        return f"[{link[1]}]({up}{_place(target)}{link[3] or ''})" if target.is_file() else link[0]

    return _LINK.sub(moved, markdown)


def _place(target: Path) -> str:
    """Where a file of the repository is in the site."""
    if target.is_relative_to(DOCS):
        return target.relative_to(DOCS).as_posix()
    return f"repository/{target.relative_to(ROOT).as_posix()}"
