"""The baseline with hand-written rules."""

import sys

import pytest

from dedup_crawler.errors import DamagedModelError, MissingExtraError, ModelError
from dedup_crawler.methods import make_method
from dedup_crawler.methods.model.folder import ModelFiles, read_model
from python_process import python

URLS = ["http://www.forum.example/topic/7/?utm_source=x&page=2", "http://www.forum.example/topic/7?page=2"]
NAME = "duplicate-url-discarder"


@pytest.fixture
def fitted():
    return make_method(NAME).fit(URLS, [0, 0])


def test_what_the_public_rules_say_of_every_host(fitted):
    """Tracking parameters, ``www.`` and trailing slashes go; a page number stays."""
    assert set(fitted.canonicalize_many(URLS)) == {"http://forum.example/topic/7?page=2"}
    assert fitted.n_learnt() > 300


def test_what_the_package_refuses_keeps_its_own_form(fitted):
    """A URL with an impossible port raises no error, though the package itself raises one."""
    url = "http://[www.forum.example/x"
    fitted.hosts |= {"[www.forum.example"}

    assert fitted.canonicalize(url) == url


def test_a_form_is_its_own_form_where_the_package_would_go_on(fitted):
    """Several trailing slashes are all dropped."""
    form = fitted.canonicalize("http://www.forum.example/x;/")

    assert fitted.canonicalize(form) == form == fitted.canonicalize("http://www.forum.example/x;")


def test_a_missing_package_names_the_way_out(monkeypatch):
    """Without the extra the method names the package to install."""
    monkeypatch.setitem(sys.modules, "duplicate_url_discarder_rules", None)

    with pytest.raises(MissingExtraError, match=r"duplicate_url_discarder_rules.*dedup-crawler\[peers\]"):
        make_method(NAME).fit(URLS, [0, 0])


def test_a_model_made_with_other_rules_is_refused(fitted, tmp_path):
    """Other versions of the rules give other forms, so the versions are stored."""
    description, files = read_model(fitted.save(tmp_path / "model"))
    assert set(files.tables["public_rules.json"]) == {"version", "sha256"}

    with pytest.raises(ModelError, match=r"rules 1999\.1, 20"):
        type(fitted).from_files(description, ModelFiles({"public_rules.json": {"version": "1999.1", "sha256": "0"}}))
    with pytest.raises(DamagedModelError, match="public_rules"):
        type(fitted).from_files(description, ModelFiles({"public_rules.json": []}))


def test_nobody_else_pays_for_it():
    """Loading all methods does not import the package, and its rules need no network."""
    code = (
        "import socket, sys\n"
        "import dedup_crawler.methods\n"
        "assert 'duplicate_url_discarder' not in sys.modules\n"
        "def refused(*args, **kwargs): raise AssertionError('asked the network')\n"
        "socket.getaddrinfo = socket.create_connection = refused\n"
        "made = dedup_crawler.methods.make_method('duplicate-url-discarder')\n"
        "print(made.fit(['http://new.example/x/'], [0]).canonicalize('http://new.example/x/'))"
    )

    done = python("-c", code)

    assert (done.stdout.strip(), done.stderr) == ("http://new.example/x", "")
