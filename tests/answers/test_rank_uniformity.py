"""The exact test that ranks are uniform: its p-values, its band, and ranks of equal values."""

import itertools

import mpmath
import numpy as np
import pytest
from lib.bounds import FALSE_ALARM, SEED

from luce.answers.rank_uniformity import band_of, p_value_of, ranks_of


def brute_tails(n: int, draws: int) -> list[list[float]]:
    """Return the smaller binomial tail for each place and each number of ranks up to it."""
    found = []
    for k in range(draws):
        share = mpmath.mpf(k + 1) / (draws + 1)
        pmf = [mpmath.binomial(n, c) * share**c * (1 - share) ** (n - c) for c in range(n + 1)]
        found.append([float(min(sum(pmf[: c + 1]), sum(pmf[c:]))) for c in range(n + 1)])
    return found


@pytest.mark.parametrize(("replications", "draws"), [(4, 3), (3, 5), (1, 2), (6, 1)])
def test_p_values_are_those_of_all_samples_listed(replications: int, draws: int) -> None:
    samples = list(itertools.product(range(draws + 1), repeat=replications))
    tails = brute_tails(replications, draws)
    statistics = np.array(
        [min(tails[k][sum(r <= k for r in s)] for k in range(draws)) for s in samples]
    )
    for sample, own in zip(samples, statistics, strict=True):
        exact = np.mean(statistics <= own * (1 + 1e-9))
        assert p_value_of(np.array(sample), draws) == pytest.approx(exact, abs=1e-12)


def test_a_line_leaves_the_band_when_its_p_value_is_below_the_level() -> None:
    rng, left = np.random.default_rng(SEED), 0
    least, most = band_of(50, 15, 0.2)
    for _ in range(200):
        ranks = rng.integers(16, size=50)
        below = np.cumsum(np.bincount(ranks, minlength=16))[:-1]
        leaves = bool(((below < least) | (below > most)).any())
        assert leaves == (p_value_of(ranks, 15) <= 0.2)
        left += leaves
    assert 0 < left < 200


@pytest.mark.parametrize("shape", [(0.7, 0.7), (1.5, 1.5), (1.0, 1.4)], ids=str)
def test_ranks_that_are_not_uniform_are_rejected(shape: tuple[float, float]) -> None:
    """Too narrow, too wide and shifted posteriors; uniform ranks pass beside them."""
    rng = np.random.default_rng(SEED)
    assert p_value_of(np.minimum((64 * rng.beta(*shape, 1500)).astype(int), 63), 63) < FALSE_ALARM
    assert p_value_of(rng.integers(64, size=1500), 63) > FALSE_ALARM / 3


def test_the_smallest_p_values_keep_their_digits() -> None:
    ranks = np.zeros(40, np.int64)
    assert p_value_of(ranks, 63) == pytest.approx(2 * 64.0**-40, rel=1e-6, abs=0)
    assert p_value_of(np.arange(64), 63) == 1.0


def test_equal_values_are_ranked_at_random() -> None:
    rng = np.random.default_rng(SEED)
    ranks = np.array([ranks_of(np.zeros(1), np.zeros((7, 1)), rng)[0] for _ in range(2000)])
    assert p_value_of(ranks, 7) > FALSE_ALARM
    always_below = np.array([(np.zeros((7, 1)) < 0).sum() for _ in range(20)])
    assert p_value_of(always_below, 7) < FALSE_ALARM
    assert ranks_of(np.array([0.5]), np.array([[0.1], [0.9], [0.2]]), rng).tolist() == [2]
