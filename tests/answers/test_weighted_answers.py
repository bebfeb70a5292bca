"""Predictions, replicates and leave-one-out of data with weights, against plain formulas."""

import numpy as np
import pytest
from lib.bounds import SEED, z_limit
from lib.weighted_cases import OVERLAPPING, SINGLE, TEAMS, counts_of, log_likelihood, quadrature

import luce
from luce import ConditionalCounts, Posterior

P = np.random.default_rng(SEED).dirichlet(np.ones(3), (2, 50))


def test_log_likelihoods_of_pieces() -> None:
    pieces = [counts_of(OVERLAPPING), counts_of(TEAMS), ConditionalCounts("abc").observe({"a": 1})]
    numbers = dict(zip("abc", range(3), strict=True))
    x = luce.answers.log_likelihood(P, [piece.relabel(numbers) for piece in pieces])
    for k, terms in enumerate((OVERLAPPING, TEAMS)):
        np.testing.assert_allclose(x.values[..., k], log_likelihood(terms, np.log(P)), rtol=1e-12)
    np.testing.assert_allclose(x.values[..., 2], np.log(P[..., 0]))


def test_tiny_probabilities_keep_their_weights() -> None:
    """Sums below the range of doubles are taken in logarithms."""
    log_p = np.array([-800.0, -801.0, 0.0])
    run = Posterior(ConditionalCounts("abc"), 1e-3).sample(20, seed=SEED, progress=False)
    assert "log_probabilities" in run.posterior
    run.posterior["log_probabilities"].values[:] = log_p
    run.posterior["probabilities"].values[:] = np.exp(log_p)
    counts = ConditionalCounts("abc").observe({"a": 1}, within={"a": 0.5, "b": 2})
    found = luce.answers.log_likelihood(run, [counts]).values
    np.testing.assert_allclose(found, -np.log(0.5 + 2 * np.exp(-1)), rtol=1e-12)


@pytest.mark.compiled
@pytest.mark.parametrize("method", ["draws", "evidences", "steps"])
def test_log_predictive_is_a_ratio_of_evidences(method: str) -> None:
    before, after = SINGLE[:3], [*SINGLE[:3], *OVERLAPPING]
    run = Posterior(counts_of(before)).sample(4000, seed=SEED, progress=False)
    found = luce.log_predictive(
        run, counts_of(OVERLAPPING), method=method, seed=SEED, progress=False
    )
    truth = quadrature(after, 1.0).log_evidence - quadrature(before, 1.0).log_evidence
    assert abs(found.value - truth) < 1.2 * z_limit(3) * found.standard_error


def test_replicates_are_drawn_by_weights() -> None:
    counts = ConditionalCounts(3).observe({0: 500, 1: 500}, within={0: 1, 1: 0.25})
    p = np.tile([0.2, 0.4, 0.4], (1, 200, 1))
    replicates = luce.answers.posterior_predictive(p, counts, seed=SEED)
    share = float(replicates.values[..., 0].sum() / replicates.values.sum())
    right, size = 0.2 / (0.2 + 0.1), replicates.values.sum()
    assert abs(share - right) < z_limit() * np.sqrt(right * (1 - right) / size)


@pytest.mark.filterwarnings("ignore::luce.ConvergenceWarning")
def test_leave_one_out_takes_weights() -> None:
    pieces = [counts_of([term]) for term in OVERLAPPING]
    run = Posterior(sum(pieces)).sample(1000, seed=SEED, progress=False)
    found = luce.loo(run, pieces)
    truth = sum(
        quadrature(OVERLAPPING, 1.0).log_evidence
        - quadrature([other for other in OVERLAPPING if other is not term], 1.0).log_evidence
        for term in OVERLAPPING
    )
    assert float(found.elpd) == pytest.approx(truth, abs=0.3)
