"""The Laplace approximation: how steps are solved, and what the curvature says of mixing."""

import numpy as np
import pytest
from lib.maximum_cases import MIXED, along_a_path

import luce
from luce import ConditionalCounts
from luce.kernels.problem import Problem
from luce.model.shapes import raw_problem
from luce.sampling.laplace import ClimbLimits, factors_are_cheaper, fit_curvature, log_mode
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
    fit, _ = fit_curvature(problem)
    f = LogPosterior(problem)
    matrix = f.precision(f.at(log_mode(problem)))
    np.testing.assert_allclose(fit.root.T @ fit.root @ matrix, np.eye(3), atol=1e-9)
