"""The quick convergence check, against arviz-stats."""

from __future__ import annotations

import warnings

import numpy as np
import numpy.typing as npt
import pytest
from arviz_stats.base import array_stats
from lib import bounds
from lib.toy_plans import check_draws
from scipy.signal import lfilter
from scipy.stats import rankdata

import luce
from luce.sampling.convergence import worst_rhat_and_ess

Floats = npt.NDArray[np.float64]

SEED = 1000 * bounds.SEED
AXES = {"chain_axis": 0, "draw_axis": 1}


def autoregressive(correlation: float, seed: int, chains: int = 4, draws: int = 2000) -> Floats:
    """x_d = r x_(d-1) + noise, started in equilibrium, shape (chain, draw, 1)."""
    noise = np.random.default_rng(SEED + seed).standard_normal((chains, draws))
    noise[:, 1:] *= np.sqrt(1 - correlation**2)
    return np.asarray(lfilter([1.0], [1.0, -correlation], noise, axis=1))[:, :, None]


def halves_ranked(x: Floats) -> Floats:
    """What the check looks at: halves of chains, as ranks scaled to (0, 1)."""
    half = x.shape[1] // 2
    halves = np.concatenate([x[:, :half, 0], x[:, -half:, 0]])
    return np.asarray(rankdata(halves, axis=None) / halves.size).reshape(halves.shape)[:, :, None]


@pytest.mark.parametrize("correlation", [-0.5, 0.0, 0.3, 0.7, 0.9, 0.97])
@pytest.mark.parametrize("draws", [500, 1999, 2000])
def test_ess_of_autoregressive_chains(correlation: float, draws: int) -> None:
    x = autoregressive(correlation, seed=1, draws=draws)
    _, ess = worst_rhat_and_ess(x)
    same = array_stats.ess(halves_ranked(x), method="identity", **AXES)
    assert ess == pytest.approx(float(same[0]), rel=0.05)


@pytest.mark.parametrize("correlation", [-0.5, 0.0, 0.3, 0.7, 0.9, 0.97])
def test_ranks_do_as_well_as_normal_scores(correlation: float) -> None:
    """Against ArviZ' normal scores, in the median of 25 noisy comparisons.

    Normal variates of correlation r have ranks of correlation (6 / pi) asin(r / 2), which moves
    the effective sample size by 3 % at most here, and by -6 % where r is negative.
    """
    powers = correlation ** np.arange(1, 1000)
    of_ranks = 1 + 2 * (6 / np.pi * np.arcsin(powers / 2)).sum()
    expected = (1 + correlation) / (1 - correlation) / of_ranks
    ess, rhat = [], []
    for seed in range(25):
        x = autoregressive(correlation, seed=100 + seed)
        ours = worst_rhat_and_ess(x)
        rhat.append(ours[0] - float(array_stats.rhat(x, **AXES)[0]))
        ess.append(ours[1] / float(array_stats.ess(x, **AXES)[0]))
    assert np.median(ess) == pytest.approx(expected, abs=0.03)
    assert np.abs(rhat).max() < 0.01


def test_negative_control_ess_that_ignores_correlation_is_not_close() -> None:
    x = autoregressive(0.7, seed=1)
    assert float(array_stats.ess(x, **AXES)[0]) != pytest.approx(x.size, rel=0.05)


@pytest.mark.parametrize("correlation", [0.0, 0.7])
def test_ess_of_autoregressive_chains_in_theory(correlation: float) -> None:
    """ESS / draws is (1 - r) / (1 + r); of ranks, a little more."""
    x = autoregressive(correlation, seed=2, chains=8, draws=4000)
    _, ess = worst_rhat_and_ess(x)
    assert ess / x.size == pytest.approx((1 - correlation) / (1 + correlation), rel=0.15)


def test_the_worst_of_many_variables_counts() -> None:
    one, other = autoregressive(0.3, seed=3), autoregressive(0.9, seed=4)
    _, slow = worst_rhat_and_ess(other)
    _, both = worst_rhat_and_ess(np.concatenate([one, other, one], axis=2))
    assert both == pytest.approx(slow, rel=1e-9)


@pytest.mark.parametrize("shift", [0.6, 3.0])
def test_a_shifted_chain_is_caught(shift: float) -> None:
    x = autoregressive(0.0, seed=5)
    x[2] += shift
    rhat, ess = worst_rhat_and_ess(x)
    assert rhat > 1.02
    assert ess < 400
    assert rhat == pytest.approx(float(array_stats.rhat(x, **AXES)[0]), rel=0.1)
    with pytest.warns(luce.ConvergenceWarning):
        check_draws(x)


def test_a_drifting_chain_is_caught() -> None:
    """All chains drift alike: only halves of chains, not whole chains, disagree."""
    x = autoregressive(0.0, seed=6) + np.linspace(-1, 1, 2000)[:, None]
    rhat, _ = worst_rhat_and_ess(x)
    assert rhat > 1.1


@pytest.mark.parametrize("spread", [0.2, 4.0])
def test_a_chain_of_another_spread_is_caught(spread: float) -> None:
    """Its location is that of the others, so only ranks of |x - median| show it."""
    x = autoregressive(0.0, seed=7)
    x[1] *= spread
    rhat, _ = worst_rhat_and_ess(x)
    assert rhat > 1.05
    assert float(array_stats.rhat(x, method="split", **AXES)[0]) < 1.01
    with pytest.warns(luce.ConvergenceWarning) as caught:
        check_draws(x)
    assert caught[0].message.rhat == pytest.approx(rhat)  # type: ignore[union-attr]


def test_heavy_tails_and_scales_do_not_matter() -> None:
    x = autoregressive(0.5, seed=8)
    assert worst_rhat_and_ess(1e-200 * np.exp(3 * x))[1] == pytest.approx(worst_rhat_and_ess(x)[1])


def test_equal_values_share_a_rank() -> None:
    x = (autoregressive(0.8, seed=9) > 0).astype(np.float64)
    _, ess = worst_rhat_and_ess(x)
    assert ess == pytest.approx(float(array_stats.ess(x, **AXES)[0]), rel=0.05)


def test_good_chains_are_not_warned_about() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_draws(autoregressive(0.5, seed=10))
        check_draws(autoregressive(0.5, seed=10, draws=9999))
        check_draws(np.ones((4, 100, 2)))


def test_short_chains_are_warned_about() -> None:
    with pytest.warns(luce.ConvergenceWarning, match="3 draws a chain are too few") as caught:
        check_draws(autoregressive(0.0, seed=11, draws=3))
    assert np.isnan(caught[0].message.rhat)  # type: ignore[union-attr]
    with pytest.warns(luce.ConvergenceWarning, match="effective sample size") as caught:
        check_draws(autoregressive(0.9, seed=11, draws=200))
    x = autoregressive(0.9, seed=11, draws=200)
    assert caught[0].message.ess == worst_rhat_and_ess(x)[1]  # type: ignore[union-attr]


def test_a_single_chain_can_be_judged() -> None:
    x = autoregressive(0.5, seed=12, chains=1, draws=1000)
    assert worst_rhat_and_ess(x)[1] == pytest.approx(float(array_stats.ess(x, **AXES)[0]), rel=0.05)


def test_at_most_two_thousand_draws_and_a_hundred_categories_are_looked_at() -> None:
    """Thinning makes slow chains look at their own pace: the count stays honest."""
    x = autoregressive(0.0, seed=13, chains=2, draws=20_000)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_draws(x)
    x[:, ::10] = autoregressive(0.995, seed=14, chains=2, draws=2000)
    with pytest.warns(luce.ConvergenceWarning, match="every 10th draw"):
        check_draws(x)


def test_draws_that_are_not_numbers_are_warned_about() -> None:
    x = autoregressive(0.0, seed=15)
    x[1, 100:] = np.nan
    with pytest.warns(luce.ConvergenceWarning, match="not finite"):
        check_draws(x)
