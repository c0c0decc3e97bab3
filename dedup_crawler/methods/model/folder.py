"""Model folders: ``model.json``, tables in JSON, weights in safetensors. No pickle.

``model.json`` holds a digest of every other file and of itself, so a missing or altered file is a clear error and never
a wrong answer. A folder is written under another name and renamed, so a reader never sees half of it.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dedup_crawler.errors import BadInputError, DamagedModelError, DedupError, ModelError
from dedup_crawler.json_values import JsonValue, read_json

FORMAT = 1
DESCRIPTION = "model.json"
"""The file that makes a folder a model."""
MIN_PAGES = 50
"""Least number of pages that a host needs for its own model; with fewer no rule has enough evidence."""
is_plain_host = re.compile(r"(?:[a-z0-9_][a-z0-9._\-]*|\[[0-9a-f:]+\])(?::[0-9]+)?").fullmatch
"""Hosts come from strangers and become names of folders: matches those that may."""
WEIGHTS = "weights.safetensors"
"""File with the weights of a network."""
_WAY_OUT = "Train again with `dedup-crawler train`, or restore the folder."


@dataclass(frozen=True)
class ModelFiles:
    """Content of a model: file name -> JSON value, or the bytes of :data:`WEIGHTS`."""

    tables: Mapping[str, Any]

    def table(self, name: str) -> JsonValue:
        """Content of the file *name*; BadInputError if there is no such file."""
        if name not in self.tables:
            raise BadInputError(f"the model lacks {name}.")
        return JsonValue(self.tables[name], name)

    def table_if_any(self, name: str) -> JsonValue | None:
        """Content of the file *name*; None if there is no such file."""
        return self.table(name) if name in self.tables else None


def folder_name(host: str) -> str:
    """Name of the folder for the model of a host; a port is written as ``_8000``.

    >>> folder_name("127.0.0.1:8000")
    '127.0.0.1_8000'
    """
    return host.replace(":", "_") or "unknown-host"


def write_model(folder: Path, description: Mapping[str, Any], tables: Mapping[str, Any]) -> Path:
    """Write a model folder, and replace the model that was in *folder*; the same contents give the same bytes.

    *tables* has the files: name -> JSON value, or the bytes of :data:`WEIGHTS`.

    BadInputError if *folder* holds anything but a model. ModelError if it cannot be written; the old model stays.
    """
    check_place(folder)
    manifest, contents = _packed(description, tables)
    with _writing(folder):
        new = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
        try:
            new.chmod(0o755)
            for name, data in {**contents, DESCRIPTION: _json_bytes(manifest)}.items():
                (new / name).write_bytes(data)
            _replace(folder, new)
        finally:
            shutil.rmtree(new, ignore_errors=True)
    return folder


def check_place(folder: Path) -> None:
    """Check that a model can be written to *folder*, before hours of learning; creates the parent folder.

    BadInputError or ModelError as :func:`write_model`.
    """
    with _writing(folder):
        is_other = folder.is_dir() and any(folder.iterdir()) and not (folder / DESCRIPTION).is_file()
        if is_other or (folder.exists() and not folder.is_dir()):
            raise BadInputError(f"{folder} is not a model folder and would be overwritten; give another --model.")
        folder.parent.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryDirectory(prefix=f".{folder.name}-", dir=folder.parent).cleanup()


@contextlib.contextmanager
def _writing(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if isinstance(error, DedupError):
            raise
        reason = error.strerror or type(error).__name__
        raise ModelError(
            f"{folder} cannot be written ({reason}); a model that was there stays. "
            "Free some space, or give a folder that you can write to."
        ) from error


def digest_of(description: Mapping[str, Any], tables: Mapping[str, Any]) -> str:
    """Digest of a model folder with these contents."""
    return str(_packed(description, tables)[0]["digest"])


def _packed(description: Mapping[str, Any], tables: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, bytes]]:
    """The description with the digests of all files, and file name -> bytes."""
    contents = {name: table if isinstance(table, bytes) else _json_bytes(table) for name, table in tables.items()}
    manifest = {"format": FORMAT, **description, "files": {name: _sha256(data) for name, data in contents.items()}}
    return {**manifest, "digest": _sha256(_json_bytes(manifest))}, contents


def read_model(folder: Path) -> tuple[dict[str, Any], ModelFiles]:
    """Description and verified contents of a model folder.

    DamagedModelError if a file is missing, altered or unreadable. ModelError if there is no folder, or it was written
    in another format.
    """
    if not folder.exists():
        raise ModelError(f"no model at {folder}: train one with `dedup-crawler train METHOD --model {folder}`.")
    try:
        manifest = _read_manifest(folder)
        contents = {name: _verified(folder, name, digest) for name, digest in manifest["files"].items()}
        tables = {
            name: data if name == WEIGHTS else read_json(data, str(folder / name)).raw
            for name, data in contents.items()
        }
    except BadInputError as error:
        raise DamagedModelError(f"{error} {_WAY_OUT}") from error
    return manifest, ModelFiles(tables)


def _read_manifest(folder: Path) -> dict[str, Any]:
    path = folder / DESCRIPTION
    try:
        manifest = read_json(_bytes_of(path), str(path)).raw
    except OSError as error:
        raise BadInputError(f"{path} cannot be read ({type(error).__name__}).") from error
    if not isinstance(manifest, dict) or type(manifest.get("format")) is not int:
        raise BadInputError(f"{path} is not a model description.")
    if manifest["format"] != FORMAT:
        raise ModelError(
            f"{folder} was written in format {manifest['format']}; this version reads format {FORMAT}. "
            "Train again, or install the version of dedup-crawler that wrote it."
        )
    digest = manifest.pop("digest", None)
    if digest != _sha256(_json_bytes(manifest)):
        raise BadInputError(f"{path} was altered: its digest does not match.")
    _check_manifest(JsonValue(manifest, str(path)))
    return {**manifest, "digest": digest}


def _check_manifest(manifest: JsonValue) -> None:
    """Check the types of all values of a description."""
    for key in ("method", "training_data_digest"):
        manifest[key].text()
    manifest["hosts"].texts()
    for key in ("urls", "clusters"):
        manifest["counts"][key].count()
    for digest in manifest["files"].table().values():
        digest.text()
    for value in [*manifest["options"].table().values(), *manifest["quality"].table().values()]:
        value.scalar()


def _verified(folder: Path, name: str, digest: str) -> bytes:
    if Path(name).name != name or not name.isprintable():
        raise BadInputError(f"{folder / DESCRIPTION} names a file outside its folder: {name!r}.")
    try:
        data = _bytes_of(folder / name)
    except OSError as error:
        raise BadInputError(f"{folder} lacks {name}.") from error
    if _sha256(data) != digest:
        raise BadInputError(f"{folder / name} was altered: its digest does not match.")
    return data


def _bytes_of(path: Path) -> bytes:
    """Read a file; OSError also for anything else: reading a pipe, which an archive may hold, would never end."""
    if not path.is_file():
        raise FileNotFoundError
    return path.read_bytes()


def _replace(folder: Path, new: Path) -> None:
    # a folder cannot be renamed over a folder with files, so the old one is moved away first
    if not folder.exists():
        new.rename(folder)
        return
    aside = Path(tempfile.mkdtemp(prefix=f".{folder.name}-old-", dir=folder.parent))
    try:
        folder.rename(aside / "model")
        new.rename(folder)
    finally:
        if not folder.exists():  # the second rename failed: put the old model back
            (aside / "model").rename(folder)
        shutil.rmtree(aside, ignore_errors=True)


def _json_bytes(value: Any) -> bytes:
    return (json.dumps(value, indent=1, sort_keys=True, ensure_ascii=True) + "\n").encode("ascii")


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def write_whole(path: Path, data: bytes) -> None:
    """Write *data* to a temporary file and rename it; write directly to a *path* that is no file, such as a pipe.

    OSError if it cannot be written; an existing file is then left unchanged.
    """
    if path.exists() and not path.is_file() and not path.is_dir():
        path.write_bytes(data)
        return
    path = path.resolve()  # keep a link to the file
    number, name = tempfile.mkstemp(prefix=f".{path.name}-", dir=path.parent)
    try:
        with os.fdopen(number, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        Path(name).chmod(0o644)
        Path(name).replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            Path(name).unlink()
        raise
