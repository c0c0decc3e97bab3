"""Models by host."""

import logging
import shutil

import pytest

from dedup_crawler.errors import DamagedModelError, ModelError
from dedup_crawler.live.models import live_models
from dedup_crawler.live.models.live_models import ModelShelf
from dedup_crawler.methods import make_method
from dedup_crawler.methods.model.training_data import default_model_folder
from dedup_crawler.urls.normal import host_of, normal_form


def trained(host, method="strip-query"):
    return make_method(method).fit([f"http://{host}/a?b=1", f"http://{host}/a"], [0, 0])


def shelve(models, host, method="strip-query"):
    """Train and save as the command line does by default."""
    return trained(host, method).save(models / default_model_folder([f"http://{host}/"]).name)


def form(shelf, url):
    model = shelf.of(host_of(normal_form(url)))
    return model.canonicalize(url) if model is not None else None


def test_each_host_has_its_model(tmp_path, caplog):
    """Also with a port; a host without a folder has no model, without a message."""
    shelve(tmp_path, "one.example")
    shelve(tmp_path, "two.example:8000", "keep-all")
    shelf = ModelShelf(tmp_path)

    assert form(shelf, "http://one.example/a?b=2") == "http://one.example/a"
    assert form(shelf, "http://two.example:8000/a?b=2") == "http://two.example:8000/a?b=2"
    assert form(shelf, "http://two.example/a?b=2") is form(shelf, "http://three.example/") is None
    assert shelf.folder_of("two.example:8000") == tmp_path / "two.example_8000"
    assert caplog.records == []


def test_one_model_folder(tmp_path):
    """One model answers for all its hosts, at any place."""
    folder = (
        make_method("strip-query").fit(["http://one.example/", "http://two.example/"], [0, 1]).save(tmp_path / "any")
    )
    shelf = ModelShelf(str(folder))

    assert shelf.of("one.example") is shelf.of("two.example")
    assert shelf.of("three.example") is None
    assert shelf.folder_of("one.example") == folder


@pytest.mark.parametrize("damage", ["altered", "emptied", "no description"])
def test_a_damaged_model_costs_its_host_alone(tmp_path, caplog, damage):
    """One line names the folder, and the URLs of its host pass; all other models work."""
    shelve(tmp_path, "good.example")
    folder = shelve(tmp_path, "bad.example")
    if damage == "altered":
        text = (folder / "model.json").read_text()
        (folder / "model.json").write_text(text.replace("bad.example", "bat.example"))
    elif damage == "emptied":
        (folder / "model.json").write_text("")
    else:
        (folder / "model.json").unlink()
    shelf = ModelShelf(tmp_path)

    assert [shelf.of("bad.example") for _ in range(3)] == [None] * 3
    assert shelf.of("good.example") is not None
    (record,) = caplog.records
    assert record.levelno == logging.ERROR
    assert str(folder) in record.getMessage()
    assert "\n" not in record.getMessage()


def test_one_damaged_model_folder_is_an_error(tmp_path):
    """So is a folder without models, or a missing one: a crawl must not start unfiltered by mistake."""
    folder = shelve(tmp_path / "models", "bad.example")
    (folder / "model.json").write_text("{}")
    (tmp_path / "empty" / "sub").mkdir(parents=True)

    with pytest.raises(DamagedModelError):
        ModelShelf(folder)
    for path in (tmp_path / "empty", tmp_path / "missing"):
        with pytest.raises(ModelError, match=f"{path}.*dedup-crawler train"):
            ModelShelf(path)


def test_few_models_are_in_memory(tmp_path, monkeypatch):
    """Of 100 hosts the last used models stay, any other is loaded again, and all answer correctly."""
    hosts = [f"h{number}.example" for number in range(100)]
    for host in hosts:
        shelve(tmp_path, host)
    monkeypatch.setattr(live_models, "MAX_MODELS", 5)
    shelf = ModelShelf(tmp_path)

    first = shelf.of(hosts[0])
    for _ in range(2):
        for host in hosts:
            assert form(shelf, f"http://{host}/a?b=3") == f"http://{host}/a"
            assert shelf._loaded.cache_info().currsize <= 5
    kept = [shelf.of(host) for host in hosts[-5:]]
    assert [shelf.of(host) for host in hosts[-5:]] == kept
    assert shelf.of(hosts[0]) is not first


def test_a_model_in_the_folder_of_another_host(tmp_path, caplog):
    """It affects neither that host nor the host that it was learnt from."""
    shelve(tmp_path, "one.example")
    shutil.copytree(tmp_path / "one.example", tmp_path / "two.example")
    shutil.rmtree(tmp_path / "one.example")
    shelf = ModelShelf(tmp_path)

    assert [shelf.of("two.example") for _ in range(2)] == [None, None]
    assert shelf.of("one.example") is None
    (record,) = caplog.records
    assert "two.example holds a model of one.example" in record.getMessage()


def test_a_model_of_several_hosts_answers_for_its_folder_s(tmp_path):
    """A model in the folder of one host is not used for another, although it knows it."""
    urls = ["http://one.example/", "http://one.example/a", "http://two.example/"]
    make_method("strip-query").fit(urls, [0, 1, 2]).save(tmp_path / "one.example")
    shelf = ModelShelf(tmp_path)

    assert shelf.of("one.example") is not None
    assert shelf.of("two.example") is None


def test_a_model_that_is_replaced_stays_while_it_is_in_use(tmp_path, monkeypatch, caplog):
    """Even if its folder is gone; when it is back, the new model is loaded."""
    shelve(tmp_path, "one.example")
    shelve(tmp_path, "two.example")
    monkeypatch.setattr(live_models, "MAX_MODELS", 1)
    shelf = ModelShelf(tmp_path)
    model = shelf.of("one.example")
    shelve(tmp_path, "one.example", "keep-all")

    assert shelf.of("one.example") is model
    shutil.rmtree(tmp_path / "one.example")
    assert form(shelf, "http://one.example/a?b=4") == "http://one.example/a"
    shelve(tmp_path, "one.example", "keep-all")
    assert shelf.of("two.example") is not None
    assert form(shelf, "http://one.example/a?b=4") == "http://one.example/a?b=4"
    assert caplog.records == []


def test_a_model_that_is_just_being_replaced_is_read_a_moment_later(tmp_path, monkeypatch, caplog):
    """The folder is missing for an instant."""
    shelve(tmp_path, "one.example")
    shelf = ModelShelf(tmp_path)
    (tmp_path / "one.example").rename(tmp_path / ".aside")
    monkeypatch.setattr(
        "dedup_crawler.live.models.live_models.time.sleep",
        lambda _: (tmp_path / ".aside").rename(tmp_path / "one.example"),
    )

    assert shelf.of("one.example") is not None
    assert caplog.records == []


@pytest.mark.parametrize("host", ["..", ".", "", ".hidden", "one.example\0", "x" * 5000, "one.example/../one.example"])
def test_no_host_leads_out_of_the_folder(tmp_path, host, caplog):
    """Sites choose host names: none that is not in the listing is looked up, however it is written."""
    shelve(tmp_path / "models", "one.example")
    shelve(tmp_path / "models", ".hidden")
    shutil.copytree(trained("..").save(tmp_path / "up"), tmp_path, dirs_exist_ok=True)
    shelf = ModelShelf(tmp_path / "models")

    assert shelf.of(host) is None
    assert caplog.records == []
