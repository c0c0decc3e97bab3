"""The translator that torch trains."""

import pytest

from dedup_crawler.errors import BadInputError

torch = pytest.importorskip("torch", reason="networks are trained with torch")
from dedup_crawler.networks.translator import (  # noqa: E402
    END,
    UNKNOWN,
    Pair,
    Recipe,
    Translator,
    Vocabulary,
    train,
    translations,
)

RECIPE = Recipe(
    hidden=24, optimizer="adam", learning_rate=1e-2, batch_size=8, max_steps=400, init_range=0.2, count_power=0.5
)
TEN_PAIRS = [Pair((4 + i, 5 + i, 4, END), (5 + i, 4 + i, END), 1 + i) for i in range(10)]
N_TOKENS = 16
NEEDS_CUDA = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs an NVIDIA card")


def random_model(hidden=16, seed=3):
    torch.manual_seed(seed)
    return Translator(N_TOKENS, hidden)


@pytest.mark.parametrize("device", ["cpu", pytest.param("cuda", marks=NEEDS_CUDA)])
def test_learns_ten_pairs_by_heart(device):
    """The loop learns: ten pairs are translated to the letter."""
    fit = train(TEN_PAIRS, N_TOKENS, RECIPE, seed=0, device=device)

    assert fit.exact == 1.0
    assert fit.losses[-1] < fit.losses[0]
    said = translations(fit.model, [pair.source for pair in TEN_PAIRS], 10)
    assert said == [list(pair.target[:-1]) for pair in TEN_PAIRS]


def test_the_same_seed_gives_the_same_weights():
    """The same weights bit for bit; another seed gives others; the global random state is unchanged."""
    torch.manual_seed(1)
    before = torch.get_rng_state()
    first, second, other = (train(TEN_PAIRS, N_TOKENS, RECIPE, seed=seed).model.state_dict() for seed in (0, 0, 1))

    assert all((first[name] == second[name]).all() for name in first)
    assert any((first[name] != other[name]).any() for name in first)
    assert (torch.get_rng_state() == before).all()


def test_batches_do_not_mix_their_sequences():
    """Padding changes nothing: a short sequence has the same translation alone and beside a long one."""
    model = random_model()
    short, long = [4, 5, END], [6, 7, 8, 9, 10, 11, 12, END]
    padded = torch.tensor([short + [0] * 5, long])
    together = model.translate(padded, torch.tensor([3, 8]), 12)
    alone = model.translate(torch.tensor([short]), torch.tensor([3]), 12)

    n = min(together.shape[1], alone.shape[1])
    assert together[0, :n].tolist() == alone[0, :n].tolist()


def test_an_endless_translation_is_none():
    """A network without END gives no answer."""
    model = random_model()
    with torch.no_grad():
        model.output.bias[END] = -1e6

    assert translations(model, [[4, END]], 30) == [None]


@pytest.mark.parametrize("device", ["cuda", "nonsense"])
def test_a_missing_device_is_one_clear_line(device):
    """The error names the device and the way out."""
    if device == "cuda" and torch.cuda.is_available():
        pytest.skip("this machine has CUDA")
    with pytest.raises(BadInputError, match=rf"{device}.*cpu"):
        train(TEN_PAIRS, N_TOKENS, RECIPE, seed=0, device=device)


def test_the_vocabulary_knows_what_it_does_not_know():
    """Unknown tokens share one number, which no token has; numbers do not depend on the order of the data."""
    vocabulary = Vocabulary([["b", "a"], ["c"]])

    assert vocabulary.tokens == Vocabulary([["c"], ["a", "b"]]).tokens
    assert vocabulary.encode(["a", "new"]) == [4, UNKNOWN, END]
    assert vocabulary.decode([4, 5]) == ["a", "b"]
    assert vocabulary.decode([4, UNKNOWN]) is None
