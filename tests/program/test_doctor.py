"""``dedup-crawler doctor``: installed and missing parts, and never a password."""

from __future__ import annotations

import json
import subprocess
import sys
import sysconfig
from importlib import metadata
from pathlib import Path
from urllib.parse import quote_plus

import pytest
from click.testing import Result
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import URL

import dedup_crawler
from command_line import run
from dedup_crawler.methods import make_method
from dedup_crawler.methods.wrapped import with_static_files
from dedup_crawler.pages.database import shown_location, without_secrets
from dedup_crawler.pages.records import Page
from dedup_crawler.pages.store import PageStore
from planted_site import session_ids

PASSWORD = "Sesame4711"
RULES = [{"order": 1, "processor": "queryRemoval", "urlPattern": {"include": ["a.example"]}, "args": ["lang"]}]


def doctor(*arguments: object) -> Result:
    return run("doctor", *arguments)


def test_it_names_what_is_installed() -> None:
    """Versions and extras; no problem in the tests' environment."""
    found = json.loads(doctor("--json").stdout)

    assert found["version"] == dedup_crawler.__version__
    assert {"Scrapy", "SQLAlchemy", "click", "SQLite"} <= set(found["packages"])
    assert found["extras"]["train"] == []
    assert (found["database"], found["models"], found["problems"]) == (None, [], [])
    assert found["torch"]["threads"] > 0
    assert doctor().exit_code == 0


def test_a_database_and_a_model_are_looked_at(tmp_path: Path) -> None:
    """The progress of the database, the contents of the model; the text says the same."""
    with PageStore(tmp_path / "crawl.db") as store:
        store.add_many(Page(f"http://forum.example/{n}") for n in range(3))
        store.write_clusters({"http://forum.example/0": 0, "http://forum.example/1": 0})
    crawl = session_ids()
    make_method("verified").fit(crawl.urls, crawl.clusters).save(tmp_path / "models" / "forum")
    arguments = ("--db", tmp_path / "crawl.db", "--model", tmp_path / "models")
    found = json.loads(doctor(*arguments, "--json").stdout)
    text = doctor(*arguments).stdout

    database, (model,) = found["database"], found["models"]
    assert (database["n_pages"], database["n_labelled"], database["n_clusters"]) == (3, 2, 1)
    assert (model["method"], model["urls"], model["pages"]) == ("verified", 240, 120)
    assert "pages 3, read 0, labelled 2, clusters 1" in text
    assert str(tmp_path / "models" / "forum") in text


def test_a_model_behind_static_rules_is_looked_at(tmp_path: Path) -> None:
    """It has the counts of the model itself."""
    (tmp_path / "rules.json").write_text(json.dumps(RULES))
    model = make_method("keep-all").fit(["http://a.example/", "http://a.example/b"], [0, 0])
    with_static_files(model, [tmp_path / "rules.json"]).save(tmp_path / "model")
    found = json.loads(doctor("--model", tmp_path / "model", "--json").stdout)

    assert [(each["urls"], each["pages"]) for each in found["models"]] == [(2, 1)]


def test_what_cannot_work_is_a_problem_and_status_1(tmp_path: Path) -> None:
    """A foreign database, a damaged model, a missing file: each is one line, and the rest is still printed."""
    (tmp_path / "shopping.db").write_text("milk, bread")
    model = make_method("keep-all").fit(["http://a.example/"], [0]).save(tmp_path / "model")
    (model / "model.json").write_text("{")
    result = doctor("--db", tmp_path / "shopping.db", "--model", model)
    problems = [line for line in result.stdout.splitlines() if line.startswith("problem")]

    assert result.exit_code == 1
    assert len(problems) == 2
    assert "is not a database" in problems[0]
    assert "model.json cannot be read" in problems[1]
    assert "Scrapy" in result.stdout
    assert doctor("--db", tmp_path / "none.db").exit_code == 1
    assert doctor("--model", tmp_path / "none").exit_code == 1


@pytest.mark.parametrize(
    "location",
    [
        f"postgresql://me:{PASSWORD}@db.example:5432/crawl",
        f"postgresql:///crawl?host=db.example&password={PASSWORD}",
        f"mysql://me:{PASSWORD}",
        f"mysql://me:a@{PASSWORD}@db.example/crawl",
        f"sqlite:///nowhere/crawl.db?password={PASSWORD}",
    ],
)
@pytest.mark.parametrize("as_json", [[], ["--json"]])
def test_no_password_is_printed(location: str, as_json: list[str]) -> None:
    """At any place of a database URL, readable or not; nor in the errors of other commands."""
    told = doctor("--db", location, *as_json)
    failed = run("label", "--db", location)

    assert (told.exit_code, failed.exit_code) == (1, 1)
    assert "Traceback" not in failed.output
    assert PASSWORD not in told.output + failed.output


SECRETS = st.text(st.characters(codec="utf-8"), max_size=12).map(lambda text: f"\u00a7{text}\u00a7")


@given(SECRETS, SECRETS)
def test_no_secret_survives_in_an_address_or_in_what_a_driver_says(password: str, value: str) -> None:
    """For any characters, plain or escaped as in URLs or Python."""
    url = URL.create("postgresql", "me", password, "host", 5432, "name", {"sslpassword": value})
    location = url.render_as_string(hide_password=False)
    said = without_secrets(f"{password} {password!r} {value} {quote_plus(value)} at {location}", location)

    assert shown_location(location) == "postgresql://me:***@host:5432/name?sslpassword=..."
    for secret in (password, value):
        assert secret not in said
        assert quote_plus(secret) not in said


def without_torch(folder: Path) -> Path:
    """A folder of packages like the one in use, but for torch."""
    for entry in Path(sysconfig.get_path("purelib")).iterdir():
        if not entry.name.startswith(("torch", "functorch", "dedup", "__editable__")) and entry.suffix != ".pth":
            (folder / entry.name).symlink_to(entry)
    own = metadata.distribution("dedup-crawler")
    (folder / "dedup_crawler-0.dist-info").mkdir()
    (folder / "dedup_crawler-0.dist-info" / "METADATA").write_text(
        own.read_text("METADATA") or own.read_text("PKG-INFO")
    )
    (folder / "dedup_crawler").symlink_to(Path(dedup_crawler.__file__).parent)
    return folder


def test_where_torch_is_absent_it_says_so_and_nothing_fails(tmp_path: Path) -> None:
    """In a real Python without torch: this is no problem, and the extra names its missing package."""
    code = (
        f"import sys; sys.path.insert(0, {str(without_torch(tmp_path))!r}); from dedup_crawler.cli import main; main()"
    )
    command = [sys.executable, "-I", "-S", "-c", code, "doctor", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)

    assert found["torch"] is None
    assert [name for name in found["extras"]["train"] if name.startswith("torch")] == found["extras"]["train"] != []
    assert found["problems"] == []


def test_a_torch_that_cannot_be_imported_is_a_problem(tmp_path: Path) -> None:
    """If a shared library is missing: one line, status 1, no traceback."""
    folder = without_torch(tmp_path)
    (folder / "torch").mkdir()
    (folder / "torch" / "__init__.py").write_text(
        "raise ImportError('libcudart.so.99: cannot open shared object file')"
    )
    code = f"import sys; sys.path.insert(0, {str(folder)!r}); from dedup_crawler.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", code, "doctor"], capture_output=True, text=True, check=False
    )

    assert (done.returncode, done.stderr) == (1, "")
    assert "torch is installed and cannot be imported: libcudart.so.99" in done.stdout
