"""The generator against its published stream, its variates against their distributions."""

from typing import Any

import numpy as np
import pytest
import scipy.special as special
import scipy.stats as stats
from lib.bounds import FALSE_ALARM, SEED
from lib.nests import bits, generator
from lib.size import PLAIN_PYTHON
from lib.size import draws as number_of

from luce.kernels.jit import compiled
from luce.kernels.random import binomial, fill, new_bits, next_word

DRAWS, CELLS = number_of(1_000_000, 20_000), number_of(1_000, 100)

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
def words(state: np.ndarray, out: np.ndarray) -> None:
    for i in range(len(out)):
        out[i] = next_word(state)


def draw(kind: int, parameter: float, seed: int) -> np.ndarray:
    out = np.empty(DRAWS)
    fill(bits(seed), kind, parameter, out)
    return out


def assert_follows(draws: np.ndarray, distribution: stats.rv_continuous) -> None:
    """Chi-square over cells of equal probability, and the weight of both tails."""
    comparisons = len(VARIATES) * (1 + 2 * len(TAILS))
    cell = (distribution.cdf(draws) * CELLS).astype(int).clip(max=CELLS - 1)
    cells, expected = np.bincount(cell, minlength=CELLS), DRAWS / CELLS
    statistic = ((cells - expected) ** 2 / expected).sum()
    assert statistic < stats.chi2(CELLS - 1).isf(FALSE_ALARM / comparisons)
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


@pytest.mark.compiled
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


@compiled
def many_binomial(state: np.ndarray, n: float, p: float, out: np.ndarray) -> None:
    for d in range(len(out)):
        out[d] = binomial(state, n, p)


def many_poisson(state: np.ndarray, mean: float, out: np.ndarray) -> None:
    fill(state, 5, mean, out)


def many_log_gamma(state: np.ndarray, shape: float, out: np.ndarray) -> None:
    fill(state, 4, shape, out)


def many_gamma(state: np.ndarray, shape: float, out: np.ndarray) -> None:
    fill(state, 3, shape, out)


def assert_uniform(u: np.ndarray, comparisons: int) -> None:
    """Chi-square over 50 equal cells: u is F(draw), randomised within the steps of F."""
    observed = np.histogram(u, 50, (0.0, 1.0))[0]
    expected = len(u) / 50
    statistic = ((observed - expected) ** 2 / expected).sum()
    assert statistic < stats.chi2(49).isf(FALSE_ALARM / comparisons)


def randomised_cdf(distribution: Any, draws: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    below, upto = distribution.cdf(draws - 1), distribution.cdf(draws)
    return np.asarray(below + rng.random(len(draws)) * (upto - below))


@pytest.mark.parametrize("mean", [0.0, 0.3, 7.0, 250.0, 3e6, 9e8, 5e9, 1e12])
def test_poisson(mean: float) -> None:
    rng, out = generator(101), np.empty(number_of(40_000, 1_000))
    many_poisson(bits(120), mean, out)
    assert (out == np.rint(out)).all()
    if mean == 0.0:
        assert (out == 0.0).all()
    else:
        assert_uniform(randomised_cdf(stats.poisson(mean), out, rng), 8)


def test_poisson_of_any_finite_mean() -> None:
    out = np.empty(100)
    for mean in (1e16, 1e19, 1e30, 1e300):
        many_poisson(bits(102), mean, out)
        assert (np.abs(out / mean - 1) < 10 / np.sqrt(mean) + 1e-15).all()


BINOMIALS = [(1.0, 0.3), (7.0, 0.9), (40.0, 0.5), (1000.0, 0.004), (1000.0, 0.37)]
BINOMIALS += [(5000.0, 0.999), (1e6, 0.2), (1e9, 3e-9), (1e9, 0.75)]


@pytest.mark.parametrize(("n", "p"), BINOMIALS)
def test_binomial(n: float, p: float) -> None:
    rng, out = generator(103), np.empty(number_of(40_000, 1_000))
    many_binomial(bits(121), n, p, out)
    assert (out == np.rint(out)).all()
    assert_uniform(randomised_cdf(stats.binom(int(n), p), out, rng), len(BINOMIALS))


def test_binomial_at_the_ends() -> None:
    out = np.empty(50)
    for n, p, value in ((0.0, 0.4, 0.0), (9.0, 0.0, 0.0), (9.0, 1.0, 9.0), (1e16, 1.0, 1e16)):
        many_binomial(bits(104), n, p, out)
        assert (out == value).all()


def test_binomial_of_a_huge_number() -> None:
    n, p, out = 1e15, 0.3, np.empty(number_of(20_000, 1_000))
    many_binomial(bits(105), n, p, out)
    # np = 3e14: the normal limit is exact to 1e-8, and is known without a sum of 1e15 terms.
    z = (out - n * p) / np.sqrt(n * p * (1 - p))
    assert_uniform(stats.norm.cdf(z), 1)


SHAPES = [1e-4, 0.03, 0.5, 1.0, 1.7, 40.0]


@pytest.mark.parametrize("shape", SHAPES)
def test_log_gamma(shape: float) -> None:
    out = np.empty(number_of(40_000, 1_000))
    many_log_gamma(bits(106), shape, out)
    assert np.isfinite(out).all()
    # P(G <= g) = g^a / Γ(a + 1) once g^a alone is representable.
    tail = np.exp(shape * out - special.gammaln(shape + 1))
    cdf = np.where(out > -600, special.gammainc(shape, np.exp(np.maximum(out, -600))), tail)
    assert_uniform(cdf, len(SHAPES))


@pytest.mark.parametrize("shape", SHAPES[1:])
def test_gamma(shape: float) -> None:
    out = np.empty(number_of(40_000, 1_000))
    many_gamma(bits(107), shape, out)
    assert_uniform(special.gammainc(shape, out), len(SHAPES))


def test_the_uniformity_test_rejects_a_wrong_distribution() -> None:
    rng, out = generator(108), np.empty(number_of(40_000, 1_000))
    many_poisson(bits(120), 7.0, out)
    wrong = 9.0 if PLAIN_PYTHON else 7.2  # of few draws the test sees only a larger error
    with pytest.raises(AssertionError):
        assert_uniform(randomised_cdf(stats.poisson(wrong), out, rng), 8)
