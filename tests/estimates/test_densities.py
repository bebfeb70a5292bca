"""Densities at points: of logarithms, of gammas over their sum, of the next sweep."""

from math import log

import numpy as np
import pytest
from lib.hypothesis_cases import COUNTS, PRIOR_OF_THREE, TEAMS
from scipy.stats import dirichlet

from luce import ConditionalCounts, Posterior
from luce.estimates.densities import log_heights, log_scaled_dirichlet, next_gammas
from luce.model.shapes import raw_problem

A = np.array(PRIOR_OF_THREE)


def test_gammas_of_one_rate_are_a_dirichlet() -> None:
    shape, p = np.array([[0.7, 2.0, 1.3], [4.0, 0.2, 1.0]]), np.array([0.2, 0.5, 0.3])
    for rate in (1.0, 7.5):
        found = log_scaled_dirichlet(np.log(p), shape, np.full(shape.shape, log(rate)))
        expected = [dirichlet.logpdf(p, row) for row in shape]
        np.testing.assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.parametrize("counts", [COUNTS, TEAMS.counts], ids=["pairs", "teams"])
def test_heights_are_the_density_of_logarithms(counts: ConditionalCounts) -> None:
    p = np.random.default_rng(3).dirichlet(np.ones(3), 5)
    found = log_heights(raw_problem(counts, A), np.log(p))
    judged = Posterior(counts, A).log_density(p) + np.log(p).sum(axis=1)
    np.testing.assert_allclose(np.diff(found), np.diff(judged), rtol=1e-9)
    # A row too small for doubles stands beside one that is not.
    tiny = np.array([[log(0.4), log(0.6), -900.0], np.log([0.2, 0.5, 0.3])])
    mixed = log_heights(raw_problem(counts, A), tiny)
    assert mixed[1] == pytest.approx(log_heights(raw_problem(counts, A), tiny[1:])[0], rel=1e-13)
    logs, c = tiny[0], A + counts.category_counts
    power = -1.0 if counts is TEAMS.counts else -6.0  # of b and c together; c is nothing beside b
    assert mixed[0] == pytest.approx(c @ logs + power * log(0.6), rel=1e-12)


def test_the_next_sweep_of_plain_counts_has_the_posteriors_shapes() -> None:
    prior, seen = np.array([0.8, 1.5, 2.0, 1.1]), np.array([5.0, 2.0, 1.0, 7.0])
    counts = ConditionalCounts(4).observe(dict(enumerate(seen)))
    logs = np.log(np.random.default_rng(4).dirichlet(np.ones(4), 6))
    shape, log_rate = next_gammas(raw_problem(counts, prior), logs, np.random.SeedSequence(5))
    np.testing.assert_allclose(shape, np.broadcast_to(prior + seen, shape.shape), rtol=1e-14)
    assert (np.ptp(log_rate, axis=1) == 0).all()


def test_grouped_outcomes_are_handed_out_to_their_members() -> None:
    logs = np.log(np.random.default_rng(4).dirichlet(np.ones(3), 6))
    own = ConditionalCounts("abc").observe({"a": 2}).observe_group("bc", 5)
    shape, log_rate = next_gammas(raw_problem(own, A), logs, np.random.SeedSequence(5))
    extra = shape - (A + [2, 0, 0])
    np.testing.assert_allclose(extra[:, 0], 0, atol=1e-12)
    np.testing.assert_allclose(extra.sum(axis=1), 5, rtol=1e-12)
    assert (np.ptp(log_rate, axis=1) == 0).all()  # nothing was truncated
