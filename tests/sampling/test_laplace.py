"""The Laplace approximation: how steps are solved, and what the curvature says of mixing."""

import numpy as np
import pytest
from lib.maximum_cases import MIXED, along_a_path
from lib.nests import generator

import luce
from luce import ConditionalCounts
from luce.kernels.problem import Problem
from luce.model.shapes import raw_problem
from luce.sampling.laplace import (
    ClimbLimits,
    factors_are_cheaper,
    fit_curvature,
    fit_diagonal,
    log_mode,
)
from luce.sampling.log_posterior import LogPosterior


def raw(counts: ConditionalCounts, a: float = 1.5) -> Problem:
    return raw_problem(counts, np.full(counts.n_categories, a))


def test_the_cheaper_of_factors_and_products_is_taken() -> None:
    assert factors_are_cheaper(raw(MIXED), 5)
    assert factors_are_cheaper(raw(MIXED), 5, always=2)
    assert not factors_are_cheaper(raw(along_a_path([(1, 1)] * 299)), 300)


def test_a_mode_that_is_not_reached_is_warned_about() -> None:
    with pytest.warns(luce.ConvergenceWarning, match="did not reach the mode"):
        log_mode(raw(MIXED), limits=ClimbLimits(most_looks=1))


def test_the_fit_tells_how_well_waiting_times_would_mix() -> None:
    """Many outcomes of pairs along a path tell little of its ends; few tell less than the prior."""
    shares = [fit_curvature(raw(along_a_path([(k, k)] * 4)))[1] for k in (1.0, 10.0, 100.0)]
    assert shares == sorted(shares, reverse=True)
    assert 0 < shares[-1] < shares[0] <= 1
    problem = raw(along_a_path([(3, 2), (1, 4)]))
    found = fit_curvature(problem)
    root = found.curvature.root
    f = LogPosterior(problem)
    matrix = f.precision(f.at(log_mode(problem)))
    np.testing.assert_allclose(root.T @ root @ matrix, np.eye(3), atol=1e-9)
    np.testing.assert_allclose(found.mode, log_mode(problem))


def squads(players: int, games: int, a: float, told: int = 2) -> Problem:
    """Two play against two others, and it is known which two won; or who, if one is told."""
    counts, rng = ConditionalCounts(players), generator(5)
    for _ in range(games):
        four = rng.permutation(players)[:4].tolist()
        counts = counts.observe_group(four[:told], 1, within=four)
    return raw(counts, a)


def test_with_grouped_outcomes_the_curvature_is_that_at_the_mode() -> None:
    problem = squads(8, 40, 2.0)
    found, f = fit_curvature(problem), LogPosterior(problem)
    at = f.at(found.mode)
    np.testing.assert_allclose(f.slope(at), 0.0, atol=1e-8)
    root = found.curvature.root
    np.testing.assert_allclose(root.T @ root @ f.precision(at), np.eye(8), atol=1e-8)
    assert 0.0 < found.share < 1.0
    # Where the winner is told, no splits are missing.
    assert fit_curvature(squads(8, 40, 2.0, told=1)).share > found.share


def test_where_grouped_outcomes_leave_no_curvature_there_is_a_metric_all_the_same() -> None:
    """Nothing but 1e-12 of a prior tells 0 and 1 apart: H is not positive definite by rounding."""
    counts = ConditionalCounts(4).observe_group([0, 1], 1000).observe({2: 30, 3: 10})
    problem = raw(counts, 0.0)._replace(shape=np.array([1e-14, 1e-14, 30.0, 10.0]))
    found, f = fit_curvature(problem), LogPosterior(problem)
    at = f.at(found.mode)
    root = found.curvature.root
    assert np.isfinite(root).all()
    metric = np.linalg.inv(root.T @ root)
    whole = f.complete_precision(at)
    assert (np.linalg.eigvalsh(whole) > 0).all()
    values = np.linalg.eigvals(np.linalg.solve(whole, metric)).real
    assert values.min() == pytest.approx(1e-3, rel=1e-6)
    assert values.max() == pytest.approx(1.0, rel=1e-6)
    assert np.isfinite(found.share)


@pytest.mark.parametrize(
    "problem",
    [raw(MIXED), raw(along_a_path([(3, 2), (1, 4), (5, 5)])), squads(8, 40, 2.0)],
    ids=["mixed", "path", "grouped"],
)
def test_the_diagonal_is_that_of_the_precision(problem: Problem) -> None:
    found, f = fit_diagonal(problem), LogPosterior(problem)
    precision = f.precision(f.at(found.mode))
    np.testing.assert_allclose(found.precision, np.diag(precision), rtol=1e-10)
    half = np.sqrt(found.precision)
    across = np.linalg.svd(half[None])[2][1:]  # functionals of p
    values = np.linalg.eigvalsh(across @ (precision / half / half[:, None]) @ across.T)
    np.testing.assert_allclose([found.least, found.most], values[[0, -1]], rtol=1e-8)


def test_the_diagonal_stays_positive() -> None:
    """An atom that takes nearly all, and grouped outcomes that outweigh all others."""
    counts = along_a_path([(10**12, 1), (3, 3)])
    assert (fit_diagonal(raw(counts, 1e-3)).precision > 0).all()
    counts = ConditionalCounts(4).observe_group([0, 1], 1000).observe({2: 30, 3: 10})
    problem = raw(counts, 0.0)._replace(shape=np.array([1e-14, 1e-14, 30.0, 10.0]))
    f, found = LogPosterior(problem), fit_diagonal(problem)
    assert (found.precision >= 1e-2 * f.at(found.mode).taken).all()
