"""Model folders: damaged, foreign, hostile, half-written."""

import hashlib
import json

import pytest

from dedup_crawler.errors import BadInputError, DamagedModelError, ModelError
from dedup_crawler.methods import load_model, make_method
from planted_site import session_ids

CRAWL = session_ids()


@pytest.fixture(scope="module")
def trained():
    return make_method("seq2seq", hidden=24).fit(CRAWL.urls, CRAWL.clusters)


@pytest.fixture
def folder(trained, tmp_path):
    return trained.save(tmp_path / "model")


def rewrite(folder, change):
    """Change model.json as an attacker who recomputes its digest."""
    path = folder / "model.json"
    manifest = json.loads(path.read_text())
    del manifest["digest"]
    change(manifest)
    data = (json.dumps(manifest, indent=1, sort_keys=True) + "\n").encode()
    manifest["digest"] = hashlib.sha256(data).hexdigest()
    path.write_text(json.dumps(manifest))


def replace_table(folder, name, table):
    data = json.dumps(table).encode()
    (folder / name).write_bytes(data)
    rewrite(folder, lambda manifest: manifest["files"].update({name: hashlib.sha256(data).hexdigest()}))


@pytest.mark.parametrize("name", ["model.json", "translations.json", "tokens.json", "training.json"])
def test_a_missing_or_altered_file_is_named(folder, name):
    """Each file of a model is needed, and a changed byte is noticed."""
    data = (folder / name).read_bytes()
    (folder / name).write_bytes(data[:-2] + bytes([data[-2] ^ 1]) + data[-1:])
    with pytest.raises(DamagedModelError, match=name):
        load_model(folder)
    (folder / name).unlink()
    with pytest.raises(DamagedModelError, match=name):
        load_model(folder)


def test_a_missing_folder_says_how_to_train(tmp_path):
    """The error names the folder and the command."""
    with pytest.raises(ModelError, match=r"dedup-crawler train METHOD --model .*nowhere"):
        load_model(tmp_path / "nowhere")


@pytest.mark.parametrize("content", ["", "[]", "null", "{}", '{"format": "1"}', "\x00" * 40])
def test_a_description_that_is_none_is_one_clear_error(folder, content):
    """Empty, cut or foreign JSON."""
    (folder / "model.json").write_text(content)
    with pytest.raises(DamagedModelError, match="Train again"):
        load_model(folder)


def test_a_newer_format_is_not_guessed_at(folder):
    """The error names both formats."""
    rewrite(folder, lambda manifest: manifest.update(format=2))
    with pytest.raises(ModelError, match=r"format 2.*format 1"):
        load_model(folder)


@pytest.mark.parametrize(
    "change",
    [
        lambda manifest: manifest.update(method="nonsense"),
        lambda manifest: manifest.update(options={"nonsense": 1}),
        lambda manifest: manifest.update(options={"preset": "nonsense"}),
        lambda manifest: manifest.pop("hosts"),
        lambda manifest: manifest.update(counts={}),
        lambda manifest: manifest["files"].update({"../../secret": "0" * 64}),
    ],
)
def test_a_description_written_by_a_stranger_gives_a_clear_error(folder, change):
    """A model may come from an attacker: even with a right digest, its contents are checked."""
    rewrite(folder, change)
    with pytest.raises((ModelError, BadInputError)):
        load_model(folder)


@pytest.mark.parametrize(
    "translations",
    [
        [],
        {"http://forum.example/<num1>": {}},
        {"http://forum.example/<num1>": "x"},
        {
            "http://forum.example/<num1>": {
                "says": "<num2>", "urls": 1, "groups": 1, "wrong": 0, "used": True, "guarded": [],
            }
        },
        {
            "http://forum.example/<num1>": {
                "says": "<num1>", "urls": 1, "groups": 1, "wrong": 0, "used": True, "guarded": [9],
            }
        },
    ],
)  # fmt: skip
def test_a_table_that_could_not_be_applied_is_refused(folder, translations):
    """A translation with an argument that its template lacks would fail during a crawl: it fails at load."""
    replace_table(folder, "translations.json", translations)
    with pytest.raises(DamagedModelError, match=r"translations\.json"):
        load_model(folder)


def test_saving_replaces_a_model_and_nothing_else(trained, tmp_path):
    """A foreign folder is not overwritten, a model is, and no partial model is left beside it."""
    other = tmp_path / "photos"
    other.mkdir()
    (other / "cat.jpg").write_bytes(b"meow")
    with pytest.raises(BadInputError, match="photos"):
        trained.save(other)
    make_method("keep-all").fit(CRAWL.urls, CRAWL.clusters).save(tmp_path / "model")
    trained.save(tmp_path / "model")

    assert load_model(tmp_path / "model").name == "seq2seq"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model", "photos"]
    assert (other / "cat.jpg").read_bytes() == b"meow"
