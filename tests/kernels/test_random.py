"""The generator against its published stream, its variates against their distributions."""

import os

import numpy as np
import pytest
import scipy.stats as stats

from luce.kernels.jit import compiled
from luce.kernels.random import fill, new_bits, next_word

FALSE_ALARM = 1e-4
SEED = int(os.environ.get("LUCE_TEST_SEED", "0"))
DRAWS = 1_000_000

# Kind, parameter, distribution.  Shapes on both sides of 1, and large; the tail of a ziggurat is
# one draw in some thousands, so a million draws see it.
VARIATES = {
    "uniform": (0, 0.0, stats.uniform()),
    "normal": (1, 0.0, stats.norm()),
    "exponential": (2, 0.0, stats.expon()),
    "gamma 0.3": (3, 0.3, stats.gamma(0.3)),
    "gamma 1": (3, 1.0, stats.gamma(1.0)),
    "gamma 1.7": (3, 1.7, stats.gamma(1.7)),
    "gamma 12": (3, 12.0, stats.gamma(12.0)),
    "gamma 1e6": (3, 1e6, stats.gamma(1e6)),
}
TAILS = (1e-3, 1e-4)


@compiled
def words(bits: np.ndarray, out: np.ndarray) -> None:
    for i in range(len(out)):
        out[i] = next_word(bits)


def draw(kind: int, parameter: float, seed: int) -> np.ndarray:
    out = np.empty(DRAWS)
    fill(new_bits(np.random.SeedSequence(SEED + seed)), kind, parameter, out)
    return out


def assert_follows(draws: np.ndarray, distribution: stats.rv_continuous) -> None:
    """Chi-square over 1,000 cells of equal probability, and the weight of both tails."""
    comparisons = len(VARIATES) * (1 + 2 * len(TAILS))
    cells = np.bincount((distribution.cdf(draws) * 1000).astype(int).clip(max=999), minlength=1000)
    expected = DRAWS / 1000
    statistic = ((cells - expected) ** 2 / expected).sum()
    assert statistic < stats.chi2(999).isf(FALSE_ALARM / comparisons)
    for weight in TAILS:
        for beyond in (draws > distribution.isf(weight), draws < distribution.ppf(weight)):
            tail = stats.binom(DRAWS, weight)
            level = FALSE_ALARM / comparisons / 2
            assert tail.ppf(level) <= beyond.sum() <= tail.isf(level)


def test_the_published_stream() -> None:
    # First words of xoshiro256++ from the state 1, 2, 3, 4 (Blackman and Vigna's reference code).
    out = np.empty(4, np.uint64)
    words(np.array([1, 2, 3, 4], np.uint64), out)
    assert out.tolist() == [41943041, 58720359, 3588806011781223, 3591011842654386]


@pytest.mark.parametrize("name", VARIATES)
def test_variates_follow_their_distribution(name: str) -> None:
    kind, parameter, distribution = VARIATES[name]
    assert_follows(draw(kind, parameter, 11), distribution)


def test_a_slightly_wrong_distribution_is_rejected() -> None:
    # Negative controls: a shape off by 1 %, and a normal cut off where its ziggurat's tail begins.
    with pytest.raises(AssertionError):
        assert_follows(draw(3, 12.0, 12), stats.gamma(12.12))
    with pytest.raises(AssertionError):
        assert_follows(np.clip(draw(1, 0.0, 13), -3.1, 3.1), stats.norm())


def test_uniforms_have_a_logarithm() -> None:
    out = draw(0, 0.0, 14)
    assert out.min() > 0
    assert out.max() <= 1


def test_streams_of_spawned_seeds_differ() -> None:
    first, second = (new_bits(s) for s in np.random.SeedSequence(SEED).spawn(2))
    assert not np.array_equal(first, second)
    a, b = np.empty(10_000), np.empty(10_000)
    fill(first, 1, 0.0, a)
    fill(second, 1, 0.0, b)
    # Correlation of independent normals is within a few of its standard errors 1/100 of 0.
    assert abs(np.corrcoef(a, b)[0, 1]) < stats.norm.isf(FALSE_ALARM / 2) / 100
