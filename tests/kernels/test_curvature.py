"""Slope and curvature of the log density, against differences and sums over sets by hand."""

import numpy as np
import pytest
from lib.maximum_cases import MIXED, in_a_circle

from luce import ConditionalCounts
from luce.kernels.curvature import precision, slope, times_precision
from luce.kernels.problem import Problem
from luce.model.shapes import raw_problem


def raw(counts: ConditionalCounts) -> Problem:
    problem = raw_problem(counts, np.full(counts.n_categories, 1.5))
    return problem._replace(wide=None)


@pytest.mark.parametrize(
    "counts",
    [
        MIXED,
        MIXED.observe_group("bd", 3),
        in_a_circle("abcde"),
        ConditionalCounts("abcde").observe({"a": 900}, without="bc").observe({"b": 1}, without="a"),
    ],
    ids=["single", "grouped", "pairs", "complements"],
)
def test_slope_and_curvature_are_differences(counts: ConditionalCounts) -> None:
    problem, n, h = raw(counts), 5, 1e-5
    theta = np.random.default_rng(2).normal(0.0, 0.7, n)
    gradient, step = np.empty(n), np.eye(n) * h
    slope(problem, theta, gradient)
    ends = np.empty((2, n))
    numeric, turned = np.empty(n), np.empty((n, n))
    for i in range(n):
        up, down = (slope(problem, theta + s * step[i], ends[k]) for k, s in enumerate((1, -1)))
        numeric[i], turned[i] = (up - down) / (2 * h), -(ends[0] - ends[1]) / (2 * h)
    np.testing.assert_allclose(gradient, numeric, rtol=1e-5, atol=1e-5)
    matrix = np.empty((n, n))
    precision(problem, theta, matrix)
    np.testing.assert_allclose(matrix, turned, rtol=1e-5, atol=1e-5)
    v, out = np.array([1.0, -2.0, 0.5, 3.0, -1.0]), np.empty(n)
    times_precision(problem, theta, v, out)
    np.testing.assert_allclose(out, matrix @ v, rtol=1e-9, atol=1e-9)


def test_weights_that_cancel_are_added_up_afresh() -> None:
    """Each of 0, 1 and 2 is left out a million times; differences of these sums would cancel."""
    counts = ConditionalCounts(6)
    for out in range(3):
        counts = counts.observe({3: 1e6, 4: 1e6}, without=[out])
    counts = counts.observe({0: 2, 1: 1}, within=[0, 1]).observe({5: 3}, without=[0, 1, 2])
    assert counts.sets.complement.any()
    problem = raw(counts)
    theta = np.log(np.array([0.1, 0.2, 0.1, 0.25, 0.2, 0.15]))
    matrix = np.empty((6, 6))
    precision(problem, theta, matrix)
    p = np.exp(theta)
    by_hand = np.zeros((6, 6))
    for t in range(counts.sets.n_sets):
        members = counts.sets.set_members(t)
        weight = -counts.sets.exponent[t] / p[members].sum() ** 2
        by_hand[np.ix_(members, members)] += weight
    expected = -by_hand * np.outer(p, p)
    off = ~np.eye(6, dtype=bool)
    np.testing.assert_allclose(matrix[off], expected[off], rtol=1e-9)
