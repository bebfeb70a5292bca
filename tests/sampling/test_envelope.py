"""Envelopes of small cores: above the posterior where there is one, else None."""

from typing import Any

import numpy as np
import pytest
from lib.maximum_cases import along_a_path

from luce import ConditionalCounts, Posterior
from luce.kernels.problem import Problem
from luce.model.shapes import raw_problem
from luce.sampling.envelope import MOST_ATOMS, fit_envelope


def raw(counts: ConditionalCounts) -> Problem:
    return raw_problem(counts, np.full(counts.n_categories, 1.5))


def core_problem(counts: ConditionalCounts, a: Any) -> Problem:
    return Posterior(counts, a).model.shapes.core_problem(0)


def test_the_envelope_lies_above_the_posterior() -> None:
    counts = ConditionalCounts(4).observe({1: 3, 2: 2}, without=[0]).observe({0: 4}, without=[1])
    problem = core_problem(counts, [1.5, 2.0, 1.2, 1.2])
    fitted = fit_envelope(problem)
    assert fitted is not None
    envelope, accepted = fitted
    assert 0.3 < accepted <= 1
    m = np.zeros(len(problem.shape))
    for t, wait in enumerate(problem.waits):
        listed = problem.members[problem.nest_start[t] : problem.nest_start[t + 1]]
        out = listed if problem.complement[t] else np.setdiff1d(np.arange(len(m)), listed)
        m[out] += wait
    d = problem.shape - envelope.shape
    p = np.random.default_rng(1).dirichlet(envelope.shape, 500)
    ratios = np.log(p) @ d - np.log1p(-p) @ m - envelope.log_bound
    assert ratios.max() <= 0
    assert np.exp(ratios).mean() == pytest.approx(accepted, abs=0.1)


def test_where_there_is_no_envelope_and_where_none_is_needed() -> None:
    assert fit_envelope(core_problem(along_a_path([(2, 1), (3, 1), (1, 1)]), 1.5)) is None
    assert fit_envelope(raw(ConditionalCounts(MOST_ATOMS + 1).observe({0: 1}))) is None
    # One atom was left out a thousand times, and hardly anything is known of the others.
    counts = ConditionalCounts(4).observe({0: 1000}, without=[1]).observe({1: 1}, without=[0])
    assert fit_envelope(core_problem(counts, 0.5)) is None
    own = fit_envelope(raw(ConditionalCounts(3).observe({0: 2})))
    assert own is not None
    envelope, accepted = own
    assert accepted == 1.0
    np.testing.assert_allclose(envelope.shape, [3.5, 1.5, 1.5])
