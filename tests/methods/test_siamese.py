"""The Siamese networks: numpy agrees with torch, and the faults of the capstone are cured."""

import numpy as np
import pytest
import torch

from dedup_crawler.errors import BadInputError, DamagedModelError
from dedup_crawler.methods import Referrer, load_model, make_method
from dedup_crawler.methods.model.folder import read_model
from dedup_crawler.methods.pairs.siamese import best_threshold
from dedup_crawler.methods.pairs.url_pairs import UrlPair
from dedup_crawler.networks.pair_inference import NumpyCuredSiamese, NumpyPaperSiamese
from dedup_crawler.networks.siamese_network import CuredSiamese, PaperSiamese
from planted_site import HOST, session_ids
from python_process import python

QUICK = {"hidden": 16, "epochs": 12, "members": 1}
PAIRS = [
    UrlPair(
        f"{HOST}/topic.php?t={i}", f"{HOST}/topic.php?t={i if i % 2 else 100 + i * 37 % 300}&sid={i:016x}", i % 2 == 1
    )
    for i in range(100, 400)
]
ASKED = [(pair.left, pair.right) for pair in PAIRS]


@pytest.fixture(scope="module")
def told():
    return []


@pytest.fixture(scope="module")
def cured(told):
    model = make_method("siamese", **QUICK)
    model.progress = lambda step, steps, fit: told.append((step, steps))
    return model.fit_pairs(PAIRS)


@pytest.fixture(scope="module")
def paper():
    return make_method("siamese", preset="paper", hidden=8, epochs=1).fit_pairs(PAIRS)


@pytest.fixture(scope="module")
def crawled():
    crawl = session_ids()
    return make_method("siamese", **QUICK).fit(crawl.urls, crawl.clusters)


def rows(n_symbols, length):
    drawn = np.random.default_rng(0).integers(2, n_symbols, size=(20, length))
    drawn[np.arange(length)[None, :] >= np.arange(1, 21)[:, None] % length + 1] = 0
    return drawn


@pytest.mark.parametrize("network", ["paper", "cured"])
def test_numpy_says_what_torch_says(network):
    """The same probabilities to 1e-5, for rows of any length."""
    torch.manual_seed(0)
    urls, left, right = rows(9, 12), np.arange(0, 20, 2), np.arange(1, 20, 2)
    n_agreements = 5 if network == "cured" else 0
    agreement = np.random.default_rng(1).random((10, n_agreements), dtype=np.float32)
    model = CuredSiamese(9, 5, 7, 4) if network == "cured" else PaperSiamese(9, 12, 7, 4)
    model.eval()
    tensors = [torch.from_numpy(array) for array in (urls, left, right, agreement)]
    theirs = torch.softmax(model(*tensors), 1)[:, 1].detach().numpy()
    weights = {name: value.numpy() for name, value in model.state_dict().items()}
    ours = NumpyCuredSiamese(weights, 9, 5) if network == "cured" else NumpyPaperSiamese(weights, 9, 12)
    encoded = ours.encode(urls)

    assert ours.compare(encoded[left], encoded[right], agreement) == pytest.approx(theirs, abs=1e-5)


def test_padding_is_not_read():
    """Cured: a longer row of padding changes nothing. As published: it does."""
    torch.manual_seed(0)
    short = torch.from_numpy(rows(9, 6))
    long = torch.nn.functional.pad(short, (0, 6))
    model = CuredSiamese(9, 0, 7, 4).eval()

    assert torch.allclose(model.encode(short), model.encode(long), atol=1e-6)


def test_left_and_right_are_alike_to_the_cured_network_alone(cured, paper):
    """The order of the URLs does not matter; with the published head it does."""
    turned = [(right, left) for left, right in ASKED]

    assert cured.duplicate_probabilities(turned) == cured.duplicate_probabilities(ASKED)
    assert paper.duplicate_probabilities(turned) != paper.duplicate_probabilities(ASKED)


def test_learns_which_argument_matters(cured):
    """The topic decides, the session id does not, also for new topics and sessions."""
    asked = [(f"{HOST}/topic.php?t=907", f"{HOST}/topic.php?t={n}&sid=00c0ffee00c0ffee") for n in (907, 950)]
    same, other = cured.duplicate_probabilities(asked)

    assert same >= cured.threshold_ > other


def test_any_url_can_be_asked_about(cured, paper):
    """A URL longer than all seen ones, two spellings of one normal form, and hosts of which nothing is believed."""
    for model in (cured, paper):
        long, same, foreign = model.duplicate_probabilities(
            [
                (f"{HOST}/topic.php?t=1", f"{HOST}/{'é%~' * 500}"),
                (f"{HOST}/a b#x", f"{HOST.upper()}/a%20b"),
                ("http://other.example/1", "http://other.example/2"),
            ]
        )
        assert (0 <= long <= 1, same, foreign) == (True, 1.0, 0.0)


@pytest.mark.parametrize("preset", ["cured", "paper"])
def test_a_saved_network_gives_the_same_answers(preset, cured, paper, tmp_path):
    """Probabilities and threshold come back; weights are safetensors."""
    model = {"cured": cured, "paper": paper}[preset]
    loaded = load_model(model.save(tmp_path / "model"))

    assert loaded.duplicate_probabilities(ASKED) == model.duplicate_probabilities(ASKED)
    assert loaded.threshold_ == model.threshold_


def test_a_crawl_asks_the_network_without_torch(crawled, tmp_path):
    """A process that uses a saved network loads neither torch nor scikit-learn."""
    folder = crawled.save(tmp_path / "model")
    asked = f"{HOST}/topic.php?t=107&sid=00c0ffee00c0ffee"
    code = (
        "import sys; from dedup_crawler.methods import load_model\n"
        f"print(load_model({str(folder)!r}).canonicalize({asked!r}), "
        "[name for name in ('torch', 'sklearn', 'scipy') if name in sys.modules])"
    )
    done = python("-c", code)

    assert done.stdout.split() == [crawled.canonicalize(asked), "[]"], done.stderr


def test_weights_of_another_network_are_refused(cured, tmp_path):
    """A file with wrong shapes is one clear error."""
    description, files = read_model(cured.save(tmp_path / "model"))
    others = {**description, "options": {**description["options"], "preset": "paper"}}
    with pytest.raises(DamagedModelError, match=r"weights\.safetensors"):
        type(cured).from_files(others, files)


def test_progress_is_told(cured, told):
    """Every epoch of every network, up to the announced number."""
    assert told == [(step, 24) for step in range(1, 25)]


def test_a_crawled_url_has_the_form_of_its_page(crawled):
    """The form is the first URL of the labelled page; explain says that the URL was crawled."""
    crawl = session_ids()
    first = {}
    for url, cluster in zip(crawl.urls, crawl.clusters, strict=True):
        assert crawled.canonicalize(url) == first.setdefault(cluster, url)
    assert "was crawled" in crawled.explain(crawl.urls[0]).reason


def test_explains_with_the_known_url_and_its_probability(crawled):
    """A new URL gets the crawled URL of which it is a duplicate, with the probability."""
    explained = crawled.explain(f"{HOST}/topic.php?t=107&sid=00c0ffee00c0ffee")

    assert "t=107" in explained.evidence["known"]
    assert explained.evidence["probability"] >= crawled.threshold_
    assert "none of" in crawled.explain(f"{HOST}/topic.php?t=999&sid=00c0ffee00c0ffee").reason


def test_the_page_that_holds_the_link_is_a_candidate(crawled):
    """A URL of an uncrawled page takes the form of its referrer if it is its duplicate."""
    new, page = f"{HOST}/topic.php?t=999&sid=00c0ffee00c0ffee", f"{HOST}/topic.php?t=999"
    other = Referrer(f"{HOST}/member.php?u=1", f"{HOST}/member.php?u=1")

    assert crawled.canonicalize(new, Referrer(page, page)) == page
    assert crawled.canonicalize(new, other) == crawled.canonicalize(new) == new


def test_a_site_without_duplicates_teaches_nothing(tmp_path):
    """No network is trained, no URL changed, and the model can still be saved and loaded."""
    urls = [f"{HOST}/topic.php?t={i}" for i in range(30)]
    model = make_method("siamese").fit(urls, range(30))

    assert model.canonicalize_many(urls) == urls
    assert (
        load_model(model.save(tmp_path / "model")).canonicalize(f"{HOST}/topic.php?t=7&x") == f"{HOST}/topic.php?t=7&x"
    )
    assert "the training data had no duplicates" in model.explain(f"{HOST}/new").reason


def test_precision_counts_more_when_recall_weighs_less():
    """With little weight on recall the threshold rises above the last wrong answer."""
    answers, is_same = np.array([0.9, 0.8, 0.7, 0.6]), np.array([True, False, True, True])

    assert best_threshold(answers, is_same, 0.1) == 0.85
    assert best_threshold(answers, is_same, 2.0) == 0.3


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"preset": "papers"}, "papers.*cured, paper"),
        ({"epochs": 0}, "epochs is 0"),
        ({"recall_weight": 0.0}, r"recall_weight is 0\.0"),
        ({"max_pairs": 1}, "max_pairs is 1"),
    ],
)
def test_an_option_out_of_range_is_named(options, named):
    """Before any training."""
    with pytest.raises(BadInputError, match=named):
        make_method("siamese", **options).fit_pairs(PAIRS)
