"""Moves of single items leave the posterior as it is, and hasten items that dominate."""

from typing import Any

import numpy as np
import pytest
import scipy.stats as stats
from lib.bounds import FALSE_ALARM
from lib.nests import Nest, bits, expand, generator, problem_of
from lib.size import PLAIN_PYTHON

from luce.kernels import waiting_times
from luce.kernels.jit import compiled
from luce.kernels.layouts import lean
from luce.kernels.problem import Problem
from luce.kernels.set_sums import set_sums
from luce.kernels.single_items import SingleItems, move_items

# Item 0 dominates; one set has two outcomes, one half of one.
THREE = [Nest((0, 1), (2,), (-9.0,)), Nest((0, 2), (2,), (-1.0,)), Nest((2, 1), (2,), (-0.5,))]
THREE_SHAPE = [11.5, 1.5, 1.2]
FOUR = [
    Nest((0, 2), (2,), (-5.0,)),
    Nest((0, 1, 3), (3,), (-1.0,)),
    Nest((3, 0, 1), (1, 2, 3), (-0.5, -1.0, -2.0)),
]
FOUR_SHAPE = [9.0, 2.0, 1.5, 2.5]
CASES = {"three": (THREE, THREE_SHAPE), "four": (FOUR, FOUR_SHAPE)}


def items_of(nests: list[Nest], problem: Problem, chosen: list[int], p: np.ndarray) -> SingleItems:
    table = expand(nests, len(p))
    held = [np.flatnonzero(table[:, i]) for i in chosen]
    sets = np.concatenate(held).astype(np.uint32)
    start = np.cumsum([0, *map(len, held)]).astype(np.uint32)
    odds = np.log(p[chosen] / (1 - p[chosen]))
    return SingleItems(np.array(chosen, np.uint32), odds, start, sets, problem.waits[sets])


def case(name: str, chosen: list[int]) -> tuple[Problem, SingleItems]:
    nests, shape = CASES[name]
    problem = problem_of(nests, shape, False)
    p = np.array(shape) / sum(shape)  # not the mode: any point that does not move will do
    return problem, items_of(nests, problem, chosen, p)


@compiled
def many_moves(
    state: np.ndarray, problem: Any, items: SingleItems, sums: np.ndarray, points: np.ndarray
) -> None:
    for d in range(len(points)):
        set_sums(problem, points[d], sums)
        move_items(state, items, problem.shape, problem.total_shape, sums, points[d])


def log_density(problem: Problem, nests: list[Nest], log_x: np.ndarray) -> np.ndarray:
    """Σ c_i θ_i - Σ m_t log λ(S_t) - A log Σ λ, for rows of θ = log λ of any scale."""
    x = np.exp(log_x)
    inside = np.log(x @ expand(nests, x.shape[-1]).T)
    total = np.log(x.sum(axis=-1))
    return log_x @ problem.shape - inside @ problem.waits - problem.total_shape * total


def grid_draws(name: str, rng: np.random.Generator, number: int) -> np.ndarray:
    """Exact draws: cells of a grid of log ratios to the last item, then rejection within cells."""
    problem, nests = case(name, [0])[0], CASES[name][0]
    step, low, high = (0.1, -12.0, 8.0) if name == "three" else (0.25, -9.0, 7.0)
    free = len(problem.shape) - 1
    axes = np.meshgrid(*[np.arange(low, high, step)] * free, indexing="ij")
    theta = np.stack([*map(np.ravel, axes), np.zeros(axes[0].size)], axis=1)
    height = log_density(problem, nests, theta)
    weight = np.exp(height - height.max())
    chosen = rng.choice(len(theta), 5 * number, p=weight / weight.sum())
    inside = theta[chosen]
    inside[:, :free] += rng.uniform(-0.5 * step, 0.5 * step, (len(chosen), free))
    gain = log_density(problem, nests, inside) - height[chosen]
    kept = inside[np.log(rng.random(len(chosen))) < gain - gain.max()][:number]
    assert len(kept) == number
    return np.asarray(np.exp(kept) / np.exp(kept).sum(axis=1, keepdims=True))


def scores(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """|z| of the means of log p and of their squares and products, between two samples."""
    found = []
    for rows in (one, other):
        log_p = np.log(rows)
        centred = log_p - np.log(np.r_[one, other]).mean(axis=0)
        products = (centred[:, :, None] * centred[:, None, :])[:, *np.triu_indices(one.shape[1])]
        found.append(np.hstack([log_p, products]))
    a, b = found
    error = np.sqrt(a.var(axis=0) / len(a) + b.var(axis=0) / len(b))
    return np.asarray(np.abs(a.mean(axis=0) - b.mean(axis=0)) / error)


def limit(size: int) -> float:
    return float(stats.norm.isf(FALSE_ALARM / size / 2))


DRAWS = 500 if PLAIN_PYTHON else 100_000


def moved(name: str, problem: Problem, items: SingleItems, times: int = 3) -> np.ndarray:
    """Move every one of many exact draws a few times."""
    points = grid_draws(name, generator(30), DRAWS)
    for k in range(times):
        many_moves(bits(31 + k), problem, items, np.empty(len(problem.waits)), points)
    np.testing.assert_allclose(points.sum(axis=1), 1.0, rtol=1e-12)
    return points


@pytest.mark.parametrize(("name", "chosen"), [("three", [0]), ("three", [2, 0]), ("four", [0, 1])])
def test_exact_draws_stay_exact(name: str, chosen: list[int]) -> None:
    problem, items = case(name, chosen)
    before, after = grid_draws(name, generator(30), DRAWS), moved(name, problem, items)
    share = (before[:, chosen[0]] != after[:, chosen[0]]).mean()
    assert share > 0.9
    z = scores(after, grid_draws(name, generator(40), DRAWS))
    assert z.max() < limit(z.size)


@pytest.mark.compiled
def test_negative_controls_of_a_move() -> None:
    """A total of other shape, as if the set of all were forgotten; a weight; a count."""
    problem, items = case("three", [0])
    exact = grid_draws("three", generator(40), DRAWS)
    wrong = [
        (problem._replace(total_shape=0.0), items),
        (problem, items._replace(waits=items.waits + np.array([0.0, 0.5]))),
        (problem._replace(shape=problem.shape + 0.3), items),
    ]
    for other, given in wrong:
        z = scores(moved("three", other, given), exact)
        assert z.max() > limit(z.size)


def python_moves(
    problem: Problem, rng: np.random.Generator, points: np.ndarray, forget: bool
) -> np.ndarray:
    """The move of item 0 in NumPy, for all rows at once; `forget` leaves out q(θ) / q(θ')."""
    x, table = points.copy(), expand(THREE, 3)
    here, held = np.log(x[:, 0]), table[:, 0]
    rest_t, rest = (x @ table.T)[:, held] - x[:, :1], 1 - x[:, 0]
    waits, a, c = problem.waits[held], problem.total_shape, problem.shape[0]

    def height(theta: np.ndarray) -> np.ndarray:
        e = np.exp(theta)
        inside = np.log(e[:, None] + rest_t) @ waits
        return np.asarray(c * theta - inside - a * np.log(e + rest))

    mean, bend = np.log(rest) + np.log(4.0), np.zeros(len(x))
    for _ in range(2):
        q, q_all = 1 / (1 + rest_t / np.exp(mean)[:, None]), 1 / (1 + rest / np.exp(mean))
        bend = (q * (1 - q)) @ waits + a * q_all * (1 - q_all)
        mean = mean + np.clip((c - q @ waits - a * q_all) / bend, -2, 2)
    z = rng.normal(size=len(x))
    there = mean + z / np.sqrt(bend)
    ratio = height(there) - height(here)
    if not forget:
        ratio += 0.5 * (z * z - bend * (here - mean) ** 2)
    accepted = np.log(rng.random(len(x))) < ratio
    x[accepted, 0] = np.exp(there[accepted])
    return np.asarray(x / x.sum(axis=1, keepdims=True))


@pytest.mark.compiled
def test_the_density_of_the_proposal_matters() -> None:
    """Written again in NumPy the move is right, and wrong without the proposal's density."""
    problem, exact = case("three", [0])[0], grid_draws("three", generator(40), DRAWS)
    found = {}
    for forget in (False, True):
        points, rng = grid_draws("three", generator(30), DRAWS), generator(41)
        for _ in range(3):
            points = python_moves(problem, rng, points, forget)
        found[forget] = scores(points, exact)
    assert found[False].max() < limit(found[False].size) < found[True].max()


def test_sums_are_kept_up_to_date() -> None:
    problem, items = case("four", [0, 3, 1])
    points, sums = grid_draws("four", generator(50), 1), np.empty(len(problem.waits))
    before = points.copy()
    for k in range(20):
        many_moves(bits(51 + k), problem, items, sums, points)
        np.testing.assert_allclose(sums, expand(FOUR, 4) @ points[0], rtol=1e-13)
    assert (points != before).any()


def run(problem: Any, fit: SingleItems | None, draws: int, seed: int) -> np.ndarray:
    n = len(problem.shape)
    state, out, stat = np.full(n, 1 / n), np.empty((draws, n)), np.empty(draws)
    waiting_times.advance(bits(seed), problem, fit, state, np.zeros(4), False, out, stat, None)
    return out


@pytest.mark.compiled
@pytest.mark.parametrize("name", CASES)
def test_sweeps_with_moves_meet_exact_draws(name: str) -> None:
    problem, items = case(name, [0, 2])
    draws = 100_000
    batches = np.log(run(lean(problem), items, draws, 60)).reshape(100, -1, len(problem.shape))
    exact = np.log(grid_draws(name, generator(61), draws))
    means = batches.mean(axis=1)
    error = np.sqrt(means.var(axis=0, ddof=1) / 100 + exact.var(axis=0) / draws)
    z = np.abs(means.mean(axis=0) - exact.mean(axis=0)) / error
    assert z.max() < stats.t(99).isf(FALSE_ALARM / 8 / 2)
    # The control: the same measure sees an item of a slightly larger shape.
    other = run(lean(problem._replace(shape=problem.shape + [0.2] * len(error))), items, draws, 60)
    wrong = np.abs(np.log(other).mean(axis=0) - exact.mean(axis=0)) / error
    assert wrong.max() > stats.t(99).isf(FALSE_ALARM / 8 / 2)


@pytest.mark.compiled
def test_moves_hasten_an_item_that_dominates() -> None:
    nests = [Nest((0, i), (2,), (-40.0,)) for i in range(1, 6)]
    nests += [Nest((i, 1 + i % 5), (2,), (-90.0,)) for i in range(1, 6)]
    problem = problem_of(nests, [191.0, *[93.0] * 5], False)
    items = items_of(nests, problem, [0], np.r_[0.95, np.full(5, 0.01)])

    def correlation(fit: SingleItems | None) -> float:
        log_p = np.log(run(lean(problem), fit, 40_000, 70))
        ratio = log_p[:, 0] - log_p[:, 1:].mean(axis=1)
        return float(np.corrcoef(ratio[1000:-1], ratio[1001:])[0, 1])

    assert correlation(None) > 0.8
    assert correlation(items) < 0.4
