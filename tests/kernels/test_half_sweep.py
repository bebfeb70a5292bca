"""Every kernel that draws waiting times makes the same sweep of the same bits."""

import numpy as np
import pytest
from lib.nests import Nest, bits, generator, problem_of
from lib.size import PLAIN_PYTHON

from luce.kernels import changing_counts, densities_at, random_concentration, shards, waiting_times
from luce.kernels.grouped_outcomes import split_space
from luce.kernels.jit import compiled
from luce.kernels.problem import Problem
from luce.kernels.random import gamma

NESTS = [
    Nest((0, 1), (2,), (-3.0,)),
    Nest((2, 3, 4), (3,), (-2.5,)),
    Nest((1,), (1,), (-4.0,), True),
    Nest((0, 2, 4), (2, 3), (-1.0, -2.0)),
]
GROUPED = [*NESTS, Nest((3, 1), (1, 2), (4.0, 2.5), True)]
# Compiling both kernels for groups and logarithms takes seconds; as Python they cost nothing.
IN_LOGARITHMS = GROUPED if PLAIN_PYTHON else pytest.param(GROUPED, marks=pytest.mark.slow)
SHAPE = [3.0, 2.5, 4.0, 6.0, 0.9]


def sweep(problem: Problem, p: np.ndarray, seed: int) -> tuple[np.ndarray, float, np.ndarray]:
    """One sweep of `waiting_times`: the new state, the statistic, and the generator after it."""
    state, own, out, stat = p.copy(), bits(seed), np.empty((1, 5)), np.empty(1)
    space = split_space(problem)
    waiting_times.advance(own, problem, None, state, np.zeros(4), False, out, stat, space)
    return state, stat[0], own


@pytest.mark.parametrize("nests", [NESTS, GROUPED], ids=["single", "grouped"])
def test_two_halves_are_a_sweep(nests: list[Nest]) -> None:
    problem, p = problem_of(nests, SHAPE), generator(1).dirichlet(np.ones(5))
    expected, log_waited, after = sweep(problem, p, 900)
    own, rates, grouped = bits(900), np.empty(5), np.zeros(5 if nests is GROUPED else 0)
    waited = shards.term_rates(own, problem, p.copy(), split_space(problem), rates, grouped)
    assert grouped.sum() == problem.groups.sum()
    shards.draw_strengths(own, problem.shape, grouped, rates, problem.total_shape, p)
    np.testing.assert_array_equal(p, expected)
    np.testing.assert_array_equal(own, after)
    assert np.log(waited) == pytest.approx(log_waited, rel=1e-15)


@compiled
def gammas(state: np.ndarray, shape: np.ndarray, out: np.ndarray) -> None:
    for i in range(len(out)):
        out[i] = gamma(state, shape[i])


@pytest.mark.parametrize("nests", [NESTS, GROUPED], ids=["single", "grouped"])
def test_gammas_of_the_next_draw_are_those_that_the_sweep_draws(nests: list[Nest]) -> None:
    problem, p = problem_of(nests, SHAPE), generator(2).dirichlet(np.ones(5))
    expected, _, after = sweep(problem, p, 901)
    own, shapes, log_rates = bits(901), np.empty((1, 5)), np.empty((1, 5))
    densities_at.next_gammas(own, problem, p[None], split_space(problem), shapes, log_rates)
    drawn = np.empty(5)
    gammas(own, shapes[0], drawn)
    drawn /= np.exp(log_rates[0])
    np.testing.assert_allclose(drawn / drawn.sum(), expected, rtol=1e-13)
    np.testing.assert_array_equal(own, after)


def test_changing_counts_make_the_same_sweep() -> None:
    problem, p = problem_of(NESTS, SHAPE), generator(3).dirichlet(np.ones(5))
    expected, _, after = sweep(problem, p, 902)
    own, concentration = bits(902), np.full(1, 0.5)
    arrays = changing_counts.pack(problem, np.arange(len(problem.waits)))
    counts = np.array(SHAPE) - 0.5
    code = changing_counts.sweep(own, arrays, p, counts, problem.waits, concentration, p, None)
    assert code == changing_counts.FINE
    np.testing.assert_allclose(p, expected, rtol=1e-13)
    np.testing.assert_array_equal(own, after)


@pytest.mark.parametrize("nests", [NESTS, IN_LOGARITHMS], ids=["single", "grouped"])
def test_a_random_concentration_is_drawn_after_the_same_sweep(nests: list[Nest]) -> None:
    a, weights = 0.7, np.array([1.0, 0.5, 1.0, 2.0, 1.0])
    counts = np.array(SHAPE) - a * weights
    problem = problem_of(nests, list(a * weights + counts), True)
    log_p = np.log(generator(4).dirichlet(np.ones(5)))
    net = problem.total_shape - a * weights.sum()
    hyper = random_concentration.make_hyperprior(counts, net, 2.0, 1.5, weights)
    expected, log_waited, _ = sweep(problem, log_p, 903)
    state, out, stat = np.r_[log_p, np.log(a)], np.empty((1, 6)), np.empty(1)
    own, tuning, space = bits(903), np.zeros(4), split_space(problem)
    random_concentration.advance(own, problem, hyper, state, tuning, False, out, stat, space)
    np.testing.assert_allclose(out[0, :5], expected, rtol=1e-12)
    assert stat[0] == pytest.approx(log_waited, rel=1e-12)
    np.testing.assert_array_equal(out[0, :5], state[:5])
    assert out[0, 5] == pytest.approx(np.exp(state[5]))
    assert out[0, 5] != pytest.approx(a)
