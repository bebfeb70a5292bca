"""Kernels of rankings with ties: times before an end, and slopes of choices."""

from itertools import combinations, permutations
from typing import Any, Literal

import numpy as np
import pytest
from lib.bounds import FALSE_ALARM, SEED
from lib.nests import bits
from lib.size import draws
from scipy.stats import kstest

from luce.kernels.jit import compiled
from luce.kernels.rankings.block_slopes import OpenBlocks, blocks_slope
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


@pytest.mark.parametrize("spread", [1.0, 6.0])
@pytest.mark.parametrize("size", [1, 2, 4, 6])
def test_slopes_of_blocks_are_those_of_the_sum_over_orders(size: int, spread: float) -> None:
    rng = np.random.default_rng(SEED + size)
    theta, times = rng.normal(0, spread, size + 3), np.array([3.0, 1.0])
    parts = [list(range(size)), [size, size + 1], [size + 2], [0, size]]
    blocks = OpenBlocks(
        np.array([i for part in parts for i in part], np.uint32),
        np.cumsum([0, *map(len, parts)]).astype(np.int64),
        times,
        size,
    )

    def f(theta: np.ndarray) -> float:
        x, total = np.exp(theta), 0.0
        for block, rest, m in ((parts[0], parts[1], 3.0), (parts[2], parts[3], 1.0)):
            orders = 0.0
            for order in permutations(block):
                left = [x[[*order[k:], *rest]].sum() for k in range(len(order))]
                orders += 1.0 / np.prod(left)
            total += m * float(np.log(orders))
        return total

    out = np.empty(len(theta))
    found = blocks_slope(blocks, None, theta, np.exp(theta), out)
    assert found == pytest.approx(f(theta), rel=1e-11)
    step = 1e-5
    slope = [(f(theta + step * e) - f(theta - step * e)) / (2 * step) for e in np.eye(len(theta))]
    np.testing.assert_allclose(out, slope, rtol=1e-6, atol=1e-6)


def test_subsets_and_integrals_agree_where_they_meet() -> None:
    """A member that is far ahead changes nothing, whether there are ten of them or eleven."""
    rng = np.random.default_rng(SEED)
    theta = np.r_[rng.normal(0, 2, 10), 0.0, 60.0]
    values, slopes = [], []
    for block in (list(range(10)), [*range(10), 11]):
        members = np.array([*block, 10], np.uint32)
        start = np.array([0, len(block), len(members)])
        out = np.empty(12)
        one = OpenBlocks(members, start, np.ones(1), len(block))
        value = blocks_slope(one, None, theta, np.exp(theta), out)
        values.append(value + theta[block].sum())
        slopes.append(out)
    assert values[1] == pytest.approx(values[0], rel=1e-9)
    np.testing.assert_allclose(slopes[1][:11], slopes[0][:11], atol=1e-8)
    assert slopes[1][11] == pytest.approx(-1.0, abs=1e-12)
