"""Small runs of the semi-Markov model: fitted ones, and one whose states are written by hand."""

import warnings
from typing import Any

import numpy as np
import xarray as xr

import luce
from luce.sequences import Gaussian, Poisson

# Two ways to cut sequence "a" of 7 rows and "b" of 5, under names of states that differ.
FIRST = [0, 0, 0, 0, 1, 1, 1, 1, 1, 0, 0, 0]
SECOND = [3, 3, 3, 2, 2, 2, 2, 2, 2, 3, 3, 3]

# Draws (chain, draw) that are cut the second way: a quarter of them.
SECOND_WAY = np.array([[False, True, False, False], [False, False, True, False]])


def fit(model: luce.SemiMarkov, series: Any, draws: int, **how: Any) -> xr.DataTree:
    """Fit a series without warnings of too few draws."""
    how = {"chains": 2, "seed": 5, "progress": False, **how}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", luce.ConvergenceWarning)
        return model.fit(series, draws, **how)


def by_hand(**how: Any) -> xr.DataTree:
    """Make a run of two chains of four draws, whose states are `FIRST` and `SECOND`.

    State k of a draw has mean 10 k plus the number of the draw in both channels, and a rate of
    duration of k + 1.
    """
    rng = np.random.default_rng(3)
    level = np.where(np.array(FIRST)[:, None] == 0, 0.0, 6.0) + rng.normal(size=(12, 2))
    level[1, 0] = level[2] = np.nan
    model = luce.SemiMarkov(4, Gaussian(), Poisson(mean=4.0), concentration=2.0)
    run = fit(model, {"a": level[:7], "b": level[7:]}, 4, **how)
    chains, draws = SECOND_WAY.shape
    states = run["states"].to_dataset()
    way = SECOND_WAY[:, :, None]
    states["states"][:] = np.where(way, SECOND, FIRST)
    number = np.arange(chains * draws).reshape(chains, draws, 1, 1)
    states["mean"][:] = 10.0 * np.arange(4)[:, None] + number
    states["covariance"][:] = np.eye(2) * 4.0
    states[duration_name(states, "rate")][:] = 1.0 + np.arange(4)
    rows = np.array([[0, 0.5, 0.3, 0.2], [0.6, 0, 0.3, 0.1], [0.1, 0.2, 0, 0.7], [0.2, 0, 0.8, 0]])
    states["rows"][:] = rows
    run["states"] = xr.DataTree(states)
    run["sample_stats"]["segments"][:] = 4.0
    run["sample_stats"]["states_used"][:] = 2.0
    run["sample_stats"]["at_longest"][:] = 0.0
    return run


def duration_name(states: Any, name: str) -> str:
    """Return the name that a parameter of the durations has in a run."""
    return f"duration_{name}" if f"duration_{name}" in states else name
