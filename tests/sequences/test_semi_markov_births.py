"""Births and deaths of states leave the joint law of states and data as it is.

States and a series are simulated from the model, and then states are moved: whatever is counted of
them has the same mean before and after.  That needs no oracle, so series can be long enough for
many windows.
"""

from collections.abc import Callable

import numpy as np
import pytest
from lib.bounds import SEED, z_limit

import luce
from luce.kernels.semi_markov import births
from luce.kernels.semi_markov.births import draw_windows
from luce.sequences import Gaussian, Poisson
from luce.sequences.semi_markov import new_bits

# A bias of a few hundredths of a segment is looked for, which takes many simulations.
pytestmark = [pytest.mark.slow, pytest.mark.compiled]

ROWS, CALLS, SIMULATIONS = 60, 10, 20_000  # five windows a call


def z_scores() -> np.ndarray:
    """Compare numbers of segments, of states and of segments of one row, before and after moves."""
    rng = np.random.default_rng(SEED + 20)
    emission = Gaussian(center=0.0, covariance=1.0, weight=0.5, degrees=4)
    model = luce.SemiMarkov(6, emission, Poisson(mean=3, shape=3), 2.0, 3.0, longest=ROWS)
    changes = np.empty((SIMULATIONS, 3))
    for k in range(SIMULATIONS):
        series, state = model.simulate(rng, ROWS)
        sweeper = model.sweeper(model.read(series, strict=False))
        now = before = sweeper.segments_of(state)
        for _ in range(CALLS):
            moved = sweeper.bear_and_bury(new_bits(rng), sweeper.series, state, *now)
            now = moved[0].copy(), moved[1].copy(), moved[2].copy()
        changes[k] = counted(now) - counted(before)
    return np.asarray(changes.mean(axis=0) / (changes.std(axis=0) / np.sqrt(SIMULATIONS)))


def counted(segments: tuple[np.ndarray, np.ndarray, np.ndarray]) -> np.ndarray:
    starts, lengths, states = segments
    return np.array([len(starts), len(np.unique(states)), np.count_nonzero(lengths == 1)])


def test_births_and_deaths_leave_the_joint_law_as_it_is() -> None:
    assert np.abs(z_scores()).max() < z_limit(3)


def apart(drawn: Callable[..., None]) -> Callable[..., None]:
    """Draw windows, and use none that shares rows with one before."""

    def draw(bits, limits, may_end, windows):  # type: ignore[no-untyped-def]
        drawn(bits, limits, may_end, windows)
        taken = np.zeros(limits.rows, np.bool_)
        for window in windows:
            rows = slice(*window)
            window[1] = window[0] if taken[rows].any() else window[1]
            taken[slice(*window)] = True

    return draw


def test_windows_that_avoid_each_other_are_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(births, "draw_windows", apart(draw_windows))
    assert z_scores().min() < -z_limit(3)
