"""Loops over weighted sets against dense matrices, in plain numbers and in logarithms."""

import numpy as np
import pytest
from lib.bounds import SEED, z_limit
from lib.size import draws

from luce import ConditionalCounts
from luce.counts.family import set_arrays
from luce.kernels.curvature import times_precision
from luce.kernels.densities_at import log_densities
from luce.kernels.grouped_outcomes import split_groups, split_space
from luce.kernels.jit import compiled
from luce.kernels.layouts import AnyProblem, Weighted, lean, loops_take
from luce.kernels.problem import Problem, make_problem
from luce.kernels.random import new_bits
from luce.kernels.set_sums import member_sums, set_sums, signed_member_sums
from luce.sampling.log_posterior import LogPosterior


def mixed() -> ConditionalCounts:
    """Weighted sets and groups, a ranking, a set stored by its complement, a pair."""
    counts = ConditionalCounts(7).observe({0: 2, 1: 1}, within={0: 1, 1: 0.5, 2: 0.1})
    counts = counts.observe_ranking([3, 2, 5, 6]).observe({4: 2}, without=[1])
    counts = counts.observe_group({1: 2, 4: 1, 6: 0.3}, 5, within=range(7))
    counts = counts.observe_group([0, 1], 2, within=[0, 1, 2, 5])
    return counts.observe({5: 1}, within=[5, 0])


def problem_of(counts: ConditionalCounts) -> Problem:
    shape = 1.0 + counts.category_counts
    sets = set_arrays(counts.sets)
    total = float(shape.sum() + counts.sets.exponent.sum())
    return make_problem(*sets, shape, total, weights=counts.sets.weights)


def dense(problem: Problem) -> np.ndarray:
    """The matrix of weights, one row a set."""
    assert problem.weights is not None
    table = np.zeros((len(problem.waits), len(problem.shape)))
    for k in range(len(problem.complement)):
        for t in range(problem.set_start[k], problem.set_start[k + 1]):
            places = slice(problem.nest_start[k], problem.set_end[t])
            table[t, problem.members[places]] = problem.weights[places]
    return table


def test_a_problem_holds_each_set_with_its_weights() -> None:
    counts = mixed()
    problem = problem_of(counts)
    assert not problem.complement.any()
    theirs = np.zeros((counts.sets.n_sets, 7))
    for t in range(counts.sets.n_sets):
        theirs[t, counts.sets.set_members(t)] = 1.0
        if counts.sets.weighted[t]:
            theirs[t, counts.sets.listed(t)] = counts.sets.listed_weights(t)
    mine = np.c_[dense(problem), problem.groups - problem.waits]
    theirs = np.c_[theirs, counts.sets.exponent]
    np.testing.assert_array_equal(mine[np.lexsort(mine.T)], theirs[np.lexsort(theirs.T)])
    assert isinstance(lean(problem), Weighted)
    assert isinstance(loops_take(problem), Weighted)


@compiled
def _sums(
    problem: AnyProblem, x: np.ndarray, w: np.ndarray, sets: np.ndarray, members: np.ndarray
) -> None:
    set_sums(problem, x, sets)
    member_sums(problem, w, members)


@compiled
def _signed(problem: AnyProblem, w: np.ndarray, members: np.ndarray) -> None:
    signed_member_sums(problem, w, members)


@pytest.mark.parametrize("wide", [None, True])
def test_sums_are_products_with_the_matrix(wide: bool | None) -> None:
    problem = problem_of(mixed())._replace(wide=wide)
    rng, table = np.random.default_rng(SEED), dense(problem)
    x, w = rng.random(7), rng.random(len(table))
    sets, members = np.empty(len(w)), np.empty(7)
    given = (np.log(x), np.log(w)) if wide else (x, w)
    _sums(lean(problem), *given, sets, members)
    if wide:
        sets, members = np.exp(sets), np.exp(members)
    np.testing.assert_allclose(sets, table @ x, rtol=1e-12)
    np.testing.assert_allclose(members, w @ table, rtol=1e-12)
    if not wide:
        signs = rng.standard_normal(len(w))
        _signed(lean(problem), signs, members)
        np.testing.assert_allclose(members, signs @ table, rtol=1e-10, atol=1e-12)


@compiled
def _split(bits, problem, x, space, counts):  # type: ignore[no-untyped-def]
    split_groups(bits, problem, x, space, counts)


@pytest.mark.parametrize("wide", [None, True])
def test_groups_are_split_by_weights_times_probabilities(wide: bool | None) -> None:
    problem = problem_of(mixed())._replace(wide=wide)
    rng = np.random.default_rng(SEED)
    x = rng.dirichlet(np.ones(7))
    bits, space, number = (
        new_bits(np.random.SeedSequence(SEED)),
        split_space(problem),
        draws(4000, 300),
    )
    found = np.zeros((number, 7))
    for row in found:
        _split(bits, lean(problem), np.log(x) if wide else x, space, row)
    weighed = dense(problem) * x
    shares = weighed / weighed.sum(axis=1, keepdims=True)
    np.testing.assert_array_equal(found.sum(axis=1), problem.groups.sum())
    mean, variance = problem.groups @ shares, problem.groups @ (shares * (1 - shares))
    inside = mean > 0
    assert (found[:, ~inside] == 0).all()
    z = (found.mean(axis=0) - mean)[inside] / np.sqrt(variance[inside] / number)
    assert np.abs(z).max() < z_limit(14)
    equal = problem.groups @ ((dense(problem) > 0) * x / ((dense(problem) > 0) @ x)[:, None])
    wrong = (found.mean(axis=0) - equal)[inside] / np.sqrt(variance[inside] / number)
    assert np.abs(wrong).max() > z_limit(14)  # a split that ignores weights


def test_slope_and_precision_are_derivatives() -> None:
    problem = problem_of(mixed())
    f, rng = LogPosterior(problem), np.random.default_rng(SEED)
    theta = rng.standard_normal(7)
    at, h = f.at(theta), 1e-5
    table = dense(problem)
    by_hand = problem.shape @ theta - np.exp(theta).sum() - f.power @ np.log(table @ np.exp(theta))
    assert at.value == pytest.approx(by_hand, rel=1e-12)
    ends = [(f.at(theta + h * e), f.at(theta - h * e)) for e in np.eye(7)]
    slope = [(up.value - down.value) / (2 * h) for up, down in ends]
    np.testing.assert_allclose(f.slope(at), slope, rtol=1e-6, atol=1e-6)
    bend = [(f.slope(down) - f.slope(up)) / (2 * h) for up, down in ends]
    np.testing.assert_allclose(f.precision(at), bend, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(f.precision_diagonal(at), np.diag(bend), rtol=1e-6, atol=1e-6)
    v, out = rng.standard_normal(7), np.empty(7)
    times_precision(loops_take(problem), theta, v, out)
    np.testing.assert_allclose(out, f.precision(at) @ v, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("wide", [None, True])
def test_densities_at_draws(wide: bool | None) -> None:
    problem = problem_of(mixed())._replace(wide=wide)
    p = np.random.default_rng(SEED).dirichlet(np.ones(7), 5)
    out = np.empty(5)
    log_densities(lean(problem), np.log(p) if wide else p, out)
    power = problem.groups - problem.waits
    expected = np.log(p) @ problem.shape + np.log(p @ dense(problem).T) @ power
    np.testing.assert_allclose(out, expected, rtol=1e-12)
