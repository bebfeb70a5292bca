"""Kernels of rankings with ties: times before an end, and slopes of choices."""

from itertools import combinations
from typing import Any, Literal

import numpy as np
import pytest
from lib.bounds import FALSE_ALARM, SEED
from lib.nests import bits
from lib.size import draws
from scipy.stats import kstest

from luce.kernels.jit import compiled
from luce.kernels.rankings.blocks import time_before
from luce.kernels.rankings.choices import TieChoices, TieWeights, choices_slope


@compiled
def times(own: Any, rate: float, end: float, wide: Literal[True] | None, out: Any) -> None:
    for k in range(len(out)):
        out[k] = time_before(own, rate, end, wide)


@pytest.mark.parametrize("wide", [None, True], ids=["plain", "logarithms"])
@pytest.mark.parametrize(
    ("rate", "end"), [(0.3, 2.0), (1e-12, 5.0), (1e-150, 1e100), (3.0, 1e6), (1e-200, 1e205)]
)
def test_times_before_an_end_are_exponential(rate: float, end: float, wide: Any) -> None:
    out = np.empty(draws(compiled=20_000, plain=2000))
    given = (rate, end) if wide is None else (np.log(rate), np.log(end))
    times(bits(SEED + 5), *given, wide, out)
    found = out if wide is None else np.exp(out)
    assert (found <= end * (1 + 1e-12)).all()

    def below(t: Any) -> Any:
        return np.expm1(-rate * t) / np.expm1(-rate * end)

    assert kstest(found, below).pvalue > FALSE_ALARM
    assert kstest(found, lambda t: below(0.93 * t)).pvalue < FALSE_ALARM


SETS = [(0, 1, 2, 3), (1, 3), (0, 2, 3), (2, 4, 0, 1, 3)]


def value(theta: np.ndarray, deltas: list[float], waits: np.ndarray) -> float:
    """g without priors, over all subsets."""
    total = 0.0
    for members, m in zip(SETS, waits, strict=True):
        worths = [
            delta * np.exp(sum(theta[i] for i in some) / d)
            for d, delta in enumerate([1.0, *deltas], 1)
            for some in combinations(members, d)
        ]
        total -= m * float(np.log(sum(worths)))
    return total


@pytest.mark.parametrize("known", [False, True])
@pytest.mark.parametrize("spread", [1.0, 30.0])
def test_slopes_of_choices_are_differences_of_values(spread: float, known: bool) -> None:
    rng = np.random.default_rng(SEED)
    waits, ties = np.array([3.0, 1.5, 2.0, 4.0]), np.array([2.0, 1.0])
    shape, rate = np.array([1.5, 2.0]), np.array([0.5, 3.0])
    place, fixed = np.array([5, -1 if known else 6]), np.array([0.0, -0.4 if known else 0.0])
    choices = TieChoices(
        np.array([i for s in SETS for i in s], np.uint32),
        np.cumsum([0, *map(len, SETS)]).astype(np.int64),
        waits,
        ties,
        5,
    )
    weights = TieWeights(place, fixed, shape, rate)
    z = np.r_[rng.normal(0, spread, 5), rng.normal(0, 1, 1 if known else 2)]

    def f(z: np.ndarray) -> float:
        logs = [z[5], -0.4 if known else z[6]]
        own = value(z[:5], np.exp(logs).tolist(), waits) + float(ties @ logs)
        drawn = z[5:]
        return own + float(shape[: len(drawn)] @ drawn - rate[: len(drawn)] @ np.exp(drawn))

    out = np.empty(len(z))
    assert choices_slope(choices, weights, z, np.empty(0), out) == pytest.approx(f(z), rel=1e-12)
    step = 1e-5
    slope = [(f(z + step * e) - f(z - step * e)) / (2 * step) for e in np.eye(len(z))]
    np.testing.assert_allclose(out, slope, rtol=1e-5, atol=1e-6)
    # Worths grow in proportion to strengths, whatever the number of ties.
    assert out[:5].sum() == pytest.approx(-waits.sum(), rel=1e-12)
