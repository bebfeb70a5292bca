"""Hypotheses about data with weights, against quadrature and a general optimiser."""

import numpy as np
import pytest
from lib.bounds import SEED, z_limit
from lib.weighted_cases import OVERLAPPING, SINGLE, counts_of, log_likelihood, quadrature
from scipy.optimize import minimize_scalar
from scipy.stats import chi2

import luce
from luce import Posterior


def test_all_equal_is_a_ratio_to_the_evidence() -> None:
    found = luce.hypothesis(Posterior(counts_of(SINGLE)), all_equal=True, seed=SEED, progress=False)
    here = log_likelihood(SINGLE, np.log(np.full(3, 1 / 3)))
    truth = here - quadrature(SINGLE, 1.0).log_evidence
    assert found.bayes_factor.log.value == pytest.approx(truth, abs=1e-9)


@pytest.mark.compiled
def test_a_given_share_by_the_density_of_the_next_sweep() -> None:
    """Savage-Dickey: the posterior over the prior density of p_a at 0.4."""
    posterior = Posterior(counts_of(OVERLAPPING))
    found = luce.hypothesis(posterior, share={"a": 0.4}, draws=2000, seed=SEED, progress=False)
    y = np.linspace(1e-4, 1 - 1e-4, 20_001)
    p = np.stack([np.full(len(y), 0.4), 0.6 * y, 0.6 * (1 - y)], axis=1)
    mean = np.trapezoid(np.exp(log_likelihood(OVERLAPPING, np.log(p))), y)
    truth = np.log(mean) - quadrature(OVERLAPPING, 1.0).log_evidence
    factor = found.bayes_factor.log
    assert abs(factor.value - truth) < z_limit() * factor.standard_error
    # The likelihood ratio: the maximum over the others' shares, constants included.
    top = minimize_scalar(
        lambda y: -log_likelihood(OVERLAPPING, np.log([0.4, 0.6 * y, 0.6 * (1 - y)])),
        bounds=(1e-6, 1 - 1e-6),
        method="bounded",
        options={"xatol": 1e-10},
    )
    best = luce.maximum_likelihood(counts_of(OVERLAPPING)).log_likelihood
    statistic = 2 * (best + top.fun)
    assert found.likelihood_ratio.statistic == pytest.approx(statistic, rel=1e-6)
    assert found.likelihood_ratio.p_value == pytest.approx(chi2.sf(statistic, 1), rel=1e-6)
