"""The translator: torch trains it, numpy asks it."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dedup_crawler.errors import BadInputError, DamagedModelError
from dedup_crawler.networks.inference import NumpyTranslator, _Gru
from dedup_crawler.networks.vocabulary import END, UNKNOWN, Vocabulary

torch = pytest.importorskip("torch", reason="networks are trained with torch")
from dedup_crawler.networks.training import Pair, Recipe, train  # noqa: E402
from dedup_crawler.networks.translator import Translator  # noqa: E402

RECIPE = Recipe(
    hidden=24, optimizer="adam", learning_rate=1e-2, batch_size=8, max_steps=400, init_range=0.2, count_power=0.5
)
TEN_PAIRS = [Pair((4 + i, 5 + i, 4, END), (5 + i, 4 + i, END), 1 + i) for i in range(10)]
N_TOKENS = 16


def random_model(hidden=16, seed=3):
    torch.manual_seed(seed)
    model = Translator(N_TOKENS, hidden)
    return model, {name: value.numpy() for name, value in model.state_dict().items()}


def test_a_gru_step_is_that_of_torch():
    """Our three gates and torch's GRUCell give the same state from the same weights."""
    cell = torch.nn.GRUCell(5, 7)
    embedding = torch.randn(3, 5)
    state = torch.randn(7)
    ours = _Gru(embedding.numpy(), *(parameter.detach().numpy() for parameter in cell.parameters()))

    with torch.no_grad():
        expected = cell(embedding[2], state)

    np.testing.assert_allclose(ours.step(2, state.numpy()), expected.numpy(), atol=1e-6)


@settings(max_examples=30)
@given(
    st.lists(st.integers(3, N_TOKENS - 1), min_size=1, max_size=20),
    st.lists(st.integers(3, N_TOKENS - 1), min_size=1, max_size=20),
)
def test_numpy_agrees_with_torch(source, target):
    """Scores of every token at every position are equal to 1e-5, whatever the sequences."""
    model, weights = random_model()
    source = [*source, END]
    shifted = torch.tensor([[1, *target[:-1]]])
    with torch.no_grad():
        expected = model(torch.tensor([source]), torch.tensor([len(source)]), shifted)[0]

    np.testing.assert_allclose(NumpyTranslator(weights, N_TOKENS).logits(source, target), expected.numpy(), atol=1e-5)


def test_learns_ten_pairs_by_heart_and_numpy_says_the_same():
    """The loop learns: ten pairs are translated to the letter, by torch and by numpy."""
    fit = train(TEN_PAIRS, N_TOKENS, RECIPE, seed=0)
    translator = NumpyTranslator(fit.weights, N_TOKENS)

    assert fit.exact == 1.0
    assert fit.losses[-1] < fit.losses[0]
    for pair in TEN_PAIRS:
        assert translator.translate(pair.source, 10) == list(pair.target[:-1])


def test_the_same_seed_gives_the_same_weights():
    """Bit for bit; another seed gives others; and the caller's own random numbers are left alone."""
    torch.manual_seed(1)
    before = torch.get_rng_state()
    first, second, other = (train(TEN_PAIRS, N_TOKENS, RECIPE, seed=seed).weights for seed in (0, 0, 1))

    assert all((first[name] == second[name]).all() for name in first)
    assert any((first[name] != other[name]).any() for name in first)
    assert (torch.get_rng_state() == before).all()


def test_batches_do_not_mix_their_sequences():
    """Padding changes nothing: a short sequence is translated alike alone and beside a long one."""
    model, _ = random_model()
    short, long = [4, 5, END], [6, 7, 8, 9, 10, 11, 12, END]
    padded = torch.tensor([short + [0] * 5, long])
    together = model.translate(padded, torch.tensor([3, 8]), 12)
    alone = model.translate(torch.tensor([short]), torch.tensor([3]), 12)

    n = min(together.shape[1], alone.shape[1])
    assert together[0, :n].tolist() == alone[0, :n].tolist()


def test_an_endless_translation_is_none():
    """A network that never says END has not answered."""
    _, weights = random_model()
    weights["output.bias"] = weights["output.bias"] - np.eye(1, N_TOKENS, END, dtype=np.float32)[0] * 1e6

    assert NumpyTranslator(weights, N_TOKENS).translate([4, END], 30) is None


@pytest.mark.parametrize("device", ["cuda", "nonsense"])
def test_a_missing_device_is_one_clear_line(device):
    """The error names the device and the way out."""
    if device == "cuda" and torch.cuda.is_available():
        pytest.skip("this machine has CUDA")
    with pytest.raises(BadInputError, match=rf"{device}.*cpu"):
        train(TEN_PAIRS, N_TOKENS, RECIPE, seed=0, device=device)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs an NVIDIA card")
def test_trains_on_cuda():
    """The same loop fits the same pairs on a card."""
    assert train(TEN_PAIRS, N_TOKENS, RECIPE, seed=0, device="cuda").exact == 1.0


@pytest.mark.parametrize("name", ["embedding.weight", "encoder.bias_hh_l0", "output.bias"])
def test_weights_of_the_wrong_shape_are_refused(name):
    """Weights come from files: a missing or misshapen array is an error, not an IndexError in a crawl."""
    _, weights = random_model()

    with pytest.raises(DamagedModelError):
        NumpyTranslator({key: value for key, value in weights.items() if key != name}, N_TOKENS)
    with pytest.raises(DamagedModelError):
        NumpyTranslator(weights | {name: weights[name][:-1]}, N_TOKENS)


def test_the_vocabulary_knows_what_it_does_not_know():
    """Unknown tokens have one number, which stands for no token; numbers are the same in any order of the data."""
    vocabulary = Vocabulary.of([["b", "a"], ["c"]])

    assert vocabulary.tokens == Vocabulary.of([["c"], ["a", "b"]]).tokens
    assert vocabulary.encode(["a", "new"]) == [4, UNKNOWN, END]
    assert vocabulary.decode([4, 5]) == ["a", "b"]
    assert vocabulary.decode([4, UNKNOWN]) is None
