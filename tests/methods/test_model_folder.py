"""Model folders: damaged, foreign, half-written, and with changed values and right digests.

Each of them works, or gives one line, never an exception.
"""

from __future__ import annotations

import copy
import hashlib
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from safetensors.numpy import load, save

from dedup_crawler.errors import BadInputError, DamagedModelError, DedupError, ModelError
from dedup_crawler.json_values import MAX_DEPTH
from dedup_crawler.methods import load_model, make_method
from dedup_crawler.methods.model.explanations import Referrer
from dedup_crawler.methods.wrapped import without
from planted_site import session_ids

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dedup_crawler.methods import Canonicalizer

CRAWL, SMALL_CRAWL = session_ids(30), session_ids(8)
HOST = "http://forum.example"
URLS = [CRAWL.urls[0], CRAWL.urls[5], f"{CRAWL.urls[5]}&strange=1", f"{HOST}/never/5?x=1&a=2"]
METHODS = {
    "keep-all": {},
    "strip-query": {},
    "verified": {},
    "dustbuster": {},
    "duster": {},
    "random-forest": {"trees": 2},
    "siamese": {"hidden": 8, "max_pairs": 50, "epochs": 2},
    "seq2seq": {"hidden": 8, "max_steps": 30},
}
WRONG: list[Any] = [None, -1, 1.5, 10**30, float("nan"), True, "x", "\ud800", [], ["x"], {}, {"x": 1}]
WEIGHTS = "weights.safetensors"
Path_ = tuple[Any, ...]


@pytest.fixture(scope="module", params=METHODS)
def saved(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model folder of each kind."""
    method = make_method(request.param, **METHODS[request.param])
    # rules need evidence, but a pair classifier only remembers its URLs, and each load reads them all
    crawl = SMALL_CRAWL if request.param in ("random-forest", "siamese") else CRAWL
    referrers = [None, *[crawl.urls[0]] * (len(crawl.urls) - 1)]
    method.fit(crawl.urls, crawl.clusters, referrers)
    return Path(method.save(tmp_path_factory.mktemp(request.param) / "model"))


def test_a_value_of_another_type_is_one_line(saved: Path) -> None:
    """Each value in turn gets another type, is removed, or doubled: the model works or names the problem."""
    manifest = json.loads((saved / "model.json").read_bytes())
    described = {key: value for key, value in manifest.items() if key not in ("digest", "files")}
    n_refused = 0
    for changed in tamperings({**described, "files": manifest["files"]}):
        write_manifest(saved, changed)
        n_refused += not is_usable(saved)
    for name in manifest["files"]:
        if name != WEIGHTS:
            table = (saved / name).read_bytes()
            for changed in tamperings(json.loads(table)):
                write_file(saved, manifest, name, json_bytes(changed))
                n_refused += not is_usable(saved)
            (saved / name).write_bytes(table)

    write_manifest(saved, manifest)
    assert n_refused > 100
    assert is_usable(saved)


@pytest.mark.parametrize("saved", ["verified"], indirect=True)
def test_files_that_exhaust_the_stack_are_one_line(saved: Path) -> None:
    """Every JSON file, nested 100,000 deep, and just within the depth of Python's reader."""
    manifest = json.loads((saved / "model.json").read_bytes())
    for depth in (100_000, 900, MAX_DEPTH + 1):
        deep = b"[" * depth + b"]" * depth
        for name in {"model.json", *manifest["files"]} - {WEIGHTS}:
            whole = (saved / name).read_bytes()
            if name == "model.json":
                (saved / name).write_bytes(b'{"format": 1, "x": ' + deep + b"}")
            else:
                write_file(saved, manifest, name, deep)
            with pytest.raises(DamagedModelError, match=name) as refused:
                load_model(saved)
            assert "\n" not in str(refused.value)
            (saved / name).write_bytes(whole)
    write_manifest(saved, manifest)


@pytest.mark.parametrize("saved", ["verified"], indirect=True)
def test_a_pipe_is_no_file_of_a_model(saved: Path) -> None:
    """An archive may hold named pipes. Reading one would never end."""
    for name in ("model.json", "rules.json"):
        whole = (saved / name).read_bytes()
        (saved / name).unlink()
        os.mkfifo(saved / name)
        with pytest.raises(ModelError, match=name):
            load_model(saved)
        (saved / name).unlink()
        (saved / name).write_bytes(whole)


@pytest.mark.parametrize("saved", ["siamese"], indirect=True)
def test_weights_that_no_network_has_are_one_line(saved: Path) -> None:
    """Each array in turn has other numbers, another shape or type, or is missing."""
    manifest = json.loads((saved / "model.json").read_bytes())
    whole = (saved / WEIGHTS).read_bytes()
    arrays = load(whole)
    strange = [b"\0" * 100, b"\xff" * 8 + b"{}", save({})]
    for name, array in list(arrays.items())[:16]:
        others = (array * np.nan, array + np.inf, array.astype(np.int32), array > 0, array.reshape(-1, 1), array[:0])
        strange += [save({**arrays, name: other}) for other in others]
        strange.append(save({key: value for key, value in arrays.items() if key != name}))
    n_refused = 0
    for data in strange:
        write_file(saved, manifest, WEIGHTS, data)
        n_refused += not is_usable(saved)
    write_file(saved, manifest, WEIGHTS, whole)

    assert n_refused == len(strange)
    assert is_usable(saved)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A new model folder."""
    model = make_method("verified").fit(CRAWL.urls, CRAWL.clusters)
    return Path(model.save(tmp_path / "model"))


def test_a_missing_or_altered_file_is_named(folder: Path) -> None:
    """Each file of a model is needed, and a changed byte is noticed."""
    for path in list(folder.iterdir()):
        data = path.read_bytes()
        path.write_bytes(data[:-2] + bytes([data[-2] ^ 1]) + data[-1:])
        with pytest.raises(DamagedModelError, match=path.name):
            load_model(folder)
        path.unlink()
        with pytest.raises(DamagedModelError, match=path.name):
            load_model(folder)
        path.write_bytes(data)


def test_a_missing_folder_says_how_to_train(tmp_path: Path) -> None:
    """The error names the folder and the command."""
    with pytest.raises(ModelError, match=r"dedup-crawler train METHOD --model .*nowhere"):
        load_model(tmp_path / "nowhere")


@pytest.mark.parametrize("content", ["", "[]", "null", "{}", '{"format": "1"}', "\x00" * 40])
def test_a_description_that_is_none_is_one_clear_error(folder: Path, content: str) -> None:
    """Empty, cut or foreign JSON."""
    (folder / "model.json").write_text(content)
    with pytest.raises(DamagedModelError, match="Train again"):
        load_model(folder)


def test_a_newer_format_and_a_file_outside_the_folder_are_refused(folder: Path) -> None:
    """The error names both formats, or the file."""
    manifest = json.loads((folder / "model.json").read_bytes())
    write_manifest(folder, {**manifest, "format": 2})
    with pytest.raises(ModelError, match=r"format 2.*format 1"):
        load_model(folder)
    write_manifest(folder, {**manifest, "files": {"../../secret": "0" * 64}})
    with pytest.raises(DamagedModelError, match="outside its folder"):
        load_model(folder)


@pytest.mark.parametrize(
    ("name", "path", "value"),
    [
        ("seq2seq", ("translations.json", f"{HOST}/topic.php?t=<num1>", "says"), "<num2>"),
        ("seq2seq", ("translations.json", f"{HOST}/topic.php?t=<num1>", "guarded"), [9]),
        ("random-forest", ("trees.json", "trees", 0, "below", 0), 0),
        ("random-forest", ("trees.json", "trees", 0, "above", 0), 10**6),
        ("random-forest", ("trees.json", "trees", 0, "feature", 0), 10**6),
    ],
)
def test_what_would_fail_in_a_crawl_fails_at_load(tmp_path: Path, name: str, path: Path_, value: Any) -> None:
    """A translation with an argument that its template lacks; a node of a tree that leads to itself, or nowhere."""
    folder = make_method(name, **METHODS[name]).fit(CRAWL.urls, CRAWL.clusters).save(tmp_path / "model")
    manifest = json.loads((folder / "model.json").read_bytes())
    table = json.loads((folder / path[0]).read_bytes())
    write_file(folder, manifest, path[0], json_bytes(changed(table, path[1:], value)))
    with pytest.raises(DamagedModelError, match=path[0]):
        load_model(folder)


def test_saving_replaces_a_model_and_nothing_else(folder: Path) -> None:
    """A foreign folder is not overwritten, a model is, and no partial model is left beside it."""
    other = folder.with_name("photos")
    other.mkdir()
    (other / "cat.jpg").write_bytes(b"meow")
    model = make_method("keep-all").fit(CRAWL.urls, CRAWL.clusters)
    with pytest.raises(BadInputError, match="photos"):
        model.save(other)
    model.save(folder)

    assert load_model(folder).name == "keep-all"
    assert sorted(path.name for path in folder.parent.iterdir()) == ["model", "photos"]
    assert (other / "cat.jpg").read_bytes() == b"meow"


def is_usable(folder: Path) -> bool:
    """Return True if a model works; otherwise check that the refusal is one line of ours."""
    refusal = ""
    try:
        ask(load_model(folder))
    except DedupError as error:
        refusal = str(error)
    assert len(refusal.splitlines()) <= 1
    assert len(refusal) < 1000
    return not refusal


def ask(model: Canonicalizer) -> None:
    """Use everything that crawls and commands need of a model."""
    for url in URLS:
        model.canonicalize(url)
        model.explain(url, Referrer(URLS[0], URLS[0]))
        model.is_covered(url)
        model.fired(url)
    without(model, [*model.rule_sentences()][:1]).canonicalize(URLS[0])
    json.dumps([model.records(URLS), model.learnt(), model.n_learnt(), dict(model.rule_evidence())])
    assert [repr(model), model.refused(), model.history_, model.model_rules(), model.digest]


def tamperings(value: Any) -> Iterator[Any]:
    """Yield the JSON with one changed value, for each place; of a long list or table, for some."""
    for path in places(value):
        yield from (changed(value, path, wrong) for wrong in WRONG)
        there = value
        for step in path:
            there = there[step]
        if isinstance(there, list) and there:
            yield changed(value, path, there * 2)
        if isinstance(there, dict) and there:
            yield changed(value, path, {f"\ud800{key}": each for key, each in there.items()})
            for key in list(there)[:8]:
                yield changed(value, path, {other: each for other, each in there.items() if other != key})


def places(value: Any, path: Path_ = ()) -> Iterator[Path_]:
    """Yield the places of the values."""
    yield path
    inner: list[Any] = []
    if isinstance(value, dict):
        inner = list(value)[:8]
    elif isinstance(value, list) and value:
        inner = sorted({0, len(value) - 1})
    for step in inner:
        yield from places(value[step], (*path, step))


def changed(value: Any, path: Path_, new: Any) -> Any:
    """Return a copy with another value at one place."""
    if not path:
        return new
    value = copy.copy(value)
    value[path[0]] = changed(value[path[0]], path[1:], new)
    return value


def write_file(folder: Path, manifest: dict[str, Any], name: str, data: bytes) -> None:
    """Replace a file of a model, and recompute the digests, as an attacker would."""
    (folder / name).write_bytes(data)
    write_manifest(folder, {**manifest, "files": {**manifest["files"], name: hashlib.sha256(data).hexdigest()}})


def write_manifest(folder: Path, manifest: Any) -> None:
    """Write ``model.json`` with its right digest."""
    if isinstance(manifest, dict):
        manifest = {key: value for key, value in manifest.items() if key != "digest"}
        manifest["digest"] = hashlib.sha256(json_bytes(manifest)).hexdigest()
    (folder / "model.json").write_bytes(json_bytes(manifest))


def json_bytes(value: Any) -> bytes:
    """Return JSON as model files have it."""
    return (json.dumps(value, indent=1, sort_keys=True) + "\n").encode()
