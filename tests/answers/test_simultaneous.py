"""Intervals that hold for many quantities at once."""

import numpy as np
import pytest
import xarray as xr
from lib.bounds import SEED, z_limit
from scipy.stats import norm

import luce
from luce.answers import simultaneous_intervals
from luce.errors import DataError

DIMS = ("chain", "draw", "item")


def held(found: xr.Dataset, fresh: np.ndarray) -> float:
    """Share of fresh draws within all intervals, from the wanted one, in standard errors."""
    p = found.attrs["ci_prob"]
    inside = (fresh >= found["lower"].values) & (fresh <= found["upper"].values)
    return float((inside.all(axis=1).mean() - p) / np.sqrt(p * (1 - p) / len(fresh)))


@pytest.mark.parametrize("p", [0.5, 0.9])
def test_all_intervals_hold_at_once(p: float) -> None:
    """Skew and correlated quantities; the control is the interval of each alone."""
    rng = np.random.default_rng(SEED)
    draws, few = rng.dirichlet([0.5, 1.0, 3.0, 8.0, 0.7], (2, 40_000)), 10_000
    fresh = rng.dirichlet([0.5, 1.0, 3.0, 8.0, 0.7], few)
    array = xr.DataArray(draws, dims=DIMS)
    found = simultaneous_intervals(array, p)
    # The intervals themselves are estimated, from eight times as many draws.
    limit = z_limit(2) * np.sqrt(1 + few / 80_000)
    assert abs(held(found, fresh)) < limit
    assert held(luce.answers.intervals(array, p), fresh) < -limit
    inside = (draws >= found["lower"].values) & (draws <= found["upper"].values)
    assert abs(inside.all(axis=2).mean() - p) <= 2 / 80_000


def test_the_stretch_is_that_of_independent_normal_variables() -> None:
    """c = z((1 + p^(1/k)) / 2) / z((1 + p) / 2); the control is that of twice as many."""
    x = np.random.default_rng(SEED).normal(size=(4, 25_000, 20))
    c = simultaneous_intervals(xr.DataArray(x, dims=DIMS)).attrs["stretch"]
    wanted, other = (norm.ppf((1 + 0.9 ** (1 / k)) / 2) / norm.ppf(0.95) for k in (20, 40))
    assert abs(c - wanted) < 0.015 < abs(c - other)


def test_one_entry_alone_is_not_stretched() -> None:
    x = xr.DataArray(np.random.default_rng(1).gamma(0.5, size=(2, 2000, 1)), dims=DIMS)
    found, alone = simultaneous_intervals(x, 0.8), luce.answers.intervals(x, 0.8)
    assert found.attrs["stretch"] == pytest.approx(1, abs=2e-3)
    np.testing.assert_allclose(found["upper"], alone["upper"], rtol=0.01)


def test_entries_that_never_vary_or_are_missing() -> None:
    x = np.random.default_rng(1).normal(size=(2, 500, 4))
    x[..., 1], x[..., 2] = np.nan, 7.0
    found = simultaneous_intervals(xr.DataArray(x, dims=DIMS, name="x"))
    assert np.isnan(found["lower"].values).tolist() == [False, True, False, False]
    assert (found["lower"].values[2], found["upper"].values[2]) == (7.0, 7.0)
    assert 1 < found.attrs["stretch"] < 1.5
    with pytest.raises(DataError, match="ci_prob"):
        simultaneous_intervals(xr.DataArray(x, dims=DIMS), 2)
