"""Imports point one way, and a crawl does not pay for training."""

import ast
import functools
from collections import Counter

import pytest

from dedup_crawler.methods import make_method
from dedup_crawler.methods.registry import _CLASSES
from dedup_crawler.urls.normal import host_of
from planted_site import session_ids
from python_process import python
from repository import ROOT

PACKAGE = ROOT / "dedup_crawler"
LAYERS = [
    {"errors"},
    {"grouping", "json_values"},
    {"urls"},
    {"pages", "rules", "networks"},
    {"labels"},
    {"evidence"},
    {"methods"},
    {"evaluation"},
    {"live", "report"},
    {"spark"},
    {"demo", "doctor"},
    {"cli"},
    {"__init__", "__main__", "settings"},
]
RANK = {name: rank for rank, layer in enumerate(LAYERS) for name in layer}


@functools.cache
def imports(path):
    return list(modules_of(path))


def modules_of(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import; the package is written out everywhere"
            yield node.module or ""
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


def own_imports():
    for path in sorted(PACKAGE.rglob("*.py")):
        here = path.relative_to(PACKAGE).with_suffix("").parts
        for module in imports(path):
            if module.startswith("dedup_crawler."):
                yield path, here, tuple(module.split(".")[1:])


def test_every_import_points_down():
    """A part may import only parts below it, none above or beside it."""
    for path, here, there in own_imports():
        if here[0] != there[0]:
            assert RANK[there[0]] < RANK[here[0]] or (RANK[here[0]] == 0 and there[0] == "errors"), (
                f"{path} (layer {here[0]!r}) imports {there[0]!r}, which does not lie below it"
            )


def test_methods_do_not_know_each_other():
    """A method imports the shared modules, never another method; the registry imports all methods."""
    methods = {("methods", *place.partition(":")[0].split(".")) for place in _CLASSES.values()}
    for path, here, there in own_imports():
        if here[0] == "methods" and here[-1] not in ("registry", "__init__") and here != there:
            assert there not in methods, f"{path} imports its sibling {there[-1]!r}"


@pytest.fixture(scope="module")
def translator(tmp_path_factory):
    """The folder of a model that was trained with torch."""
    crawl = session_ids()
    model = make_method("seq2seq", hidden=16, max_steps=30).fit(crawl.urls, crawl.clusters)
    return model.save(tmp_path_factory.mktemp("translator") / "model")


@pytest.mark.parametrize(
    "code",
    [
        "import dedup_crawler",
        "from dedup_crawler import Addon, DuplicateFilterMiddleware",
        "import dedup_crawler.cli",
        "from dedup_crawler.methods import load_model; load_model(MODEL).canonicalize('http://forum.example/topic.php')",
    ],
)
def test_a_crawl_imports_no_training_library(code, translator):
    """The live parts and the start of a command load neither torch, scikit-learn, scipy, numpy, jusText nor Spark."""
    code = f"MODEL = {str(translator)!r}; {code}\nimport sys\n" + (
        "heavy = ('torch', 'sklearn', 'scipy', 'numpy', 'justext', 'pyspark', 'pyarrow')\n"
        "print([name for name in heavy if name in sys.modules])"
    )

    done = python("-c", code)

    assert done.stdout.strip() == "[]", done.stderr


def test_a_filtered_crawl_imports_no_learner(tmp_path):
    """A crawl that drops links with ``verified`` loads neither numpy nor another method.

    Loaded modules cost more than memory: the garbage collector of a crawl scans them repeatedly.
    """
    crawl = session_ids()
    folder = make_method("verified").fit(crawl.urls, crawl.clusters).save(tmp_path / "model")
    code = (
        "import sys\nfrom dedup_crawler import Addon, DuplicateFilterMiddleware, DuplicateFilterSpiderMiddleware\n"
        "from dedup_crawler.live.models.live_models import ModelShelf\n"
        f"model = ModelShelf({str(folder)!r}).of({host_of(crawl.urls[0])!r})\n"
        f"print(len({{model.canonicalize(url) for url in {crawl.urls!r}}}))\n"
        "learners = ('numpy', 'dedup_crawler.rules.learning.host_crawl', 'dedup_crawler.methods.miners')\n"
        "print([name for name in learners if name in sys.modules])\n"
    )

    done = python("-c", code)

    assert done.stdout.splitlines() == [str(len(set(crawl.clusters))), "[]"], done.stderr


def test_only_stores_know_the_database():
    """Only the page store and the file of the durable seen set import SQLAlchemy."""
    for path in sorted(PACKAGE.rglob("*.py")):
        if any(module.split(".")[0] == "sqlalchemy" for module in imports(path)):
            place = path.relative_to(PACKAGE).as_posix()
            assert place.startswith("pages/") or place == "live/seen/sqlite_file.py", place


def test_only_one_folder_knows_spark():
    """Spark, and the tables that it needs, are imported by ``spark/`` and nowhere else."""
    for path in sorted(PACKAGE.rglob("*.py")):
        if not {module.split(".")[0] for module in imports(path)}.isdisjoint(("pyspark", "py4j", "pyarrow", "pandas")):
            assert path.parent.name == "spark", path


def test_a_seen_set_costs_what_it_needs():
    """The set in memory loads neither SQLAlchemy, Redis nor numpy; the others only their own library."""
    code = (
        "import sys\nfrom pathlib import Path\nfrom dedup_crawler.live.seen.memory import open_seen\n"
        "def loaded(): return [name for name in ('sqlalchemy', 'redis', 'numpy') if name in sys.modules]\n"
        "open_seen(None, None); print(loaded())\nopen_seen(None, Path('.')); print(loaded())\n"
    )

    done = python("-c", code)

    assert done.stdout.splitlines() == ["[]", "['sqlalchemy']"], done.stderr


def test_no_room_is_crowded():
    """A folder of the package holds at most 15 files."""
    for folder in {path.parent for path in PACKAGE.rglob("*.py")}:
        assert len(list(folder.glob("*.py"))) <= 15, folder


def test_no_two_files_have_one_name():
    """A file of the package, and a class, is found by its name alone; not ``__init__.py`` and ``__main__.py``."""
    files = Counter(path.name for path in PACKAGE.rglob("*.py") if not path.name.startswith("__"))
    trees = [ast.parse(path.read_text(encoding="utf-8")) for path in PACKAGE.rglob("*.py")]
    classes = Counter(node.name for tree in trees for node in tree.body if isinstance(node, ast.ClassDef))
    assert [name for name, n in (files + classes).items() if n > 1] == []
