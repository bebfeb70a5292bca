"""The log posterior, its slope and its precision, against differences and sums set by set."""

from typing import NamedTuple

import numpy as np
import pytest
from lib.maximum_cases import MIXED, in_a_circle
from lib.nests import (
    Nest,
    expand,
    generator,
    problem_of,
    random_nests,
    sorted_by_kind,
    with_winners,
)

from luce import ConditionalCounts
from luce.kernels.curvature import times_precision
from luce.kernels.problem import Problem
from luce.model.shapes import raw_problem
from luce.sampling import log_posterior
from luce.sampling.log_posterior import LogPosterior, supported


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
    f = LogPosterior(problem)
    theta = np.random.default_rng(2).normal(0.0, 0.7, n)
    numeric, turned = np.empty(n), np.empty((n, n))
    for i, step in enumerate(np.eye(n) * h):
        up, down = f.at(theta + step), f.at(theta - step)
        numeric[i] = (up.value - down.value) / (2 * h)
        turned[i] = (f.slope(down) - f.slope(up)) / (2 * h)
    at = f.at(theta)
    np.testing.assert_allclose(f.slope(at), numeric, rtol=1e-5, atol=1e-5)
    matrix = f.precision(at)
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
    f = LogPosterior(problem)
    matrix = f.precision(f.at(theta))
    p = np.exp(theta)
    by_hand = np.zeros((6, 6))
    for t in range(counts.sets.n_sets):
        members = counts.sets.set_members(t)
        weight = -counts.sets.exponent[t] / p[members].sum() ** 2
        by_hand[np.ix_(members, members)] += weight
    expected = -by_hand * np.outer(p, p)
    off = ~np.eye(6, dtype=bool)
    np.testing.assert_allclose(matrix[off], expected[off], rtol=1e-9)


class Tabulated(NamedTuple):
    """A problem, and which atoms (columns) are in which of its sets (rows)."""

    problem: Problem
    table: np.ndarray


def tabulated(seed: int) -> Tabulated:
    """Make nests of all kinds, with grouped outcomes and with members beyond the last set."""
    rng = generator(seed)
    n = int(rng.integers(3, 30))
    nests = random_nests(rng, n, int(rng.integers(1, 12)))
    nests.append(Nest((0, 1), (2,), (2.25,)))
    nests.append(Nest((int(rng.integers(n)),), (1,), (-1e6,), True))
    nests = sorted_by_kind(nests)
    shape = with_winners(rng, nests, rng.gamma(2.0, 1.0, n))
    return Tabulated(problem_of(nests, shape.tolist()), expand(nests, n))


def by_hand(given: Tabulated, theta: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
    """Compute f, its slope and its precision off the diagonal, set by set."""
    problem, table = given
    x = np.exp(theta)
    power = problem.waits - problem.groups
    sums = np.array([x[row].sum() for row in table])
    value = problem.shape @ theta - x.sum() - power @ np.log(sums)
    slope = problem.shape - x - x * ((power / sums) @ table)
    return value, slope, -np.outer(x, x) * ((table.T * (power / sums**2)) @ table)


@pytest.mark.parametrize("entries", [1, 50, 4_000_000])
@pytest.mark.parametrize("seed", range(8))
def test_value_slope_and_precision_set_by_set(
    monkeypatch: pytest.MonkeyPatch, seed: int, entries: int
) -> None:
    """Whether pairs of members are listed all at once, or some sets at a time."""
    monkeypatch.setattr(log_posterior, "MOST_ENTRIES", entries)
    given = tabulated(seed)
    theta = generator(100 + seed).normal(0.0, 3.0, len(given.problem.shape))
    value, slope, precision = by_hand(given, theta)
    f = LogPosterior(given.problem)
    at = f.at(theta)
    size = np.abs(given.problem.waits + given.problem.groups).sum()
    assert at.value == pytest.approx(value, abs=1e-12 * size * 30)
    np.testing.assert_allclose(f.slope(at), slope, rtol=1e-10, atol=1e-12 * size)
    matrix = f.precision(at)
    off = ~np.eye(len(theta), dtype=bool)
    np.testing.assert_allclose(matrix[off], precision[off], rtol=1e-9, atol=1e-300)
    np.testing.assert_array_equal(matrix, matrix.T)
    np.testing.assert_allclose(matrix.sum(axis=1), at.x, atol=1e-13 * np.abs(matrix).sum())


def test_negative_control_a_set_left_out_shows() -> None:
    given = tabulated(3)
    theta = np.zeros(len(given.problem.shape))
    short = given.problem._replace(waits=np.r_[0.0, given.problem.waits[1:]])
    found = LogPosterior(short).at(theta).value
    assert abs(found - by_hand(given, theta)[0]) > 1e-12 * 30 * given.problem.waits.sum()


def test_a_set_of_tiny_probability_is_added_up_anew() -> None:
    """All but 0 is small: the difference 1 - λ_0 would have no digit right."""
    counts = ConditionalCounts(4).observe({1: 3, 2: 2, 3: 1}, without=[0])
    f = LogPosterior(raw(counts))
    at = f.at(np.array([0.0, -50.0, -51.0, -52.0]))
    assert at.sums[0] == pytest.approx(np.exp([-50.0, -51.0, -52.0]).sum(), rel=1e-14)


def test_an_atom_that_most_sets_leave_out_keeps_its_digits() -> None:
    """The other sets hold 0 a billionth as often as those that leave it out."""
    counts = ConditionalCounts(4).observe({1: 1e12}, without=[0]).observe({0: 1.0}, without=[3])
    problem = raw(counts)
    f = LogPosterior(problem)
    sums = dict(zip(problem.waits.tolist(), f.at(np.zeros(4)).sums.tolist(), strict=True))
    assert f.at(np.zeros(4)).taken[0] == pytest.approx(1.0 + 1.0 / sums[1.0], rel=1e-14)


def test_the_density_where_a_set_is_empty_or_overflows() -> None:
    f = LogPosterior(raw(ConditionalCounts(3).observe({0: 1, 1: 2}, within=[0, 1])))
    assert f.at(np.array([-np.inf, -np.inf, 0.0])).value == -np.inf
    assert np.isfinite(f.at(np.array([-np.inf, 0.0, 0.0])).value)
    assert not np.isfinite(f.at(np.array([800.0, 0.0, 0.0])).value)


def test_atoms_are_supported_by_wins_and_by_grouped_outcomes() -> None:
    counts = ConditionalCounts(4).observe_group([0, 1], 2).observe({2: 1}, within=[2, 3])
    assert supported(raw_problem(counts, np.zeros(4))).tolist() == [True, True, True, False]
