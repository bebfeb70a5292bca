"""Properties of one Gibbs step: sums, seeds, rows and codes of errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from luce import GibbsStep
from luce.kernels import changing_counts

STEP = GibbsStep(4, within=[[0, 1, 2], [1, 2, 3], [0, 3], [0, 1, 2, 3], [2]])


P, N, M = np.full(4, 0.25), np.ones(4), np.array([1.0, 1, 1, 0, 0])


@pytest.mark.parametrize("concentration", [1.0, [1.0, 2.0, 0.5, 3.0], 1e-3])
def test_a_step_is_a_vector_of_probabilities(concentration: Any) -> None:
    one = STEP(np.random.default_rng(1), P, (N, M), concentration)
    assert one.sum() == pytest.approx(1)
    assert one.min() >= 0
    np.testing.assert_array_equal(STEP(np.random.default_rng(1), P, (N, M), concentration), one)
    assert (STEP(np.random.default_rng(2), P, (N, M), concentration) != one).any()


def test_outcomes_within_one_category_or_all_of_them_say_nothing() -> None:
    """Given that 2 came, 2 came; so its gammas are those of data without that."""
    base = STEP(np.random.default_rng(1), P, (N, M), 1.0)
    sure = STEP(np.random.default_rng(1), P, (N + [0, 0, 5, 0], M + [0, 0, 0, 0, 5]), 1.0)
    np.testing.assert_allclose(sure, base, rtol=1e-12)
    free = STEP(np.random.default_rng(1), P, (N, M + [0, 0, 0, 3, 0]), 1.0)
    np.testing.assert_allclose(free, base, rtol=1e-12)


def test_rows_of_a_batch_are_steps_of_their_own() -> None:
    rows = np.random.default_rng(3).dirichlet(np.ones(4), 3)
    counts = (np.tile(N, (3, 1)), np.tile(M, (3, 1)))
    found = STEP(np.random.default_rng(1), rows, counts, np.ones((3, 4)))
    np.testing.assert_allclose(found.sum(axis=1), 1, rtol=1e-12)
    np.testing.assert_array_equal(STEP(np.random.default_rng(1), rows, counts, 1.0), found)
    np.testing.assert_array_equal(STEP(np.random.default_rng(1), rows, counts, N), found)


def test_long_runs_of_steps_have_the_posteriors_mean() -> None:
    """Outcomes that could be anything: a Dirichlet with shapes a + n, drawn independently."""
    step, rng, seen = GibbsStep(3, within=[[0, 1, 2]]), np.random.default_rng(4), [4.0, 1.0, 2.0]
    p, total = np.full(3, 1 / 3), np.zeros(3)
    for _ in range(300):
        p = step(rng, p, (seen, [7.0]), 1.0)
        total += p
    c = np.array(seen) + 1
    sd = np.sqrt(c * (10 - c) / 100 / 11 / 300)
    assert (np.abs(total / 300 - c / 10) < 4.5 * sd).all()


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ((P[:3], N, M, N), changing_counts.WRONG_SIZE),
        ((P, N, M, np.ones(2)), changing_counts.WRONG_SIZE),
        ((P, N, M, 1e-3 * N), changing_counts.NEEDS_LOGS),
        ((P * 2, N, M, N), changing_counts.BAD_PROBABILITIES),
        ((P, -N, M, N), changing_counts.BAD_COUNTS),
        ((P, N, 3 * M, N), changing_counts.TOO_FEW),
        ((P, N, M, 0 * N), changing_counts.BAD_CONCENTRATION),
    ],
)
def test_compiled_code_is_told_what_is_wrong(arguments: Any, code: int) -> None:
    out, bits = np.zeros(4), GibbsStep.bits(np.random.default_rng(1))
    before = bits.copy()
    assert STEP.compiled(bits, STEP.arrays, *arguments, out, None) == code
    assert not out.any()
    np.testing.assert_array_equal(bits, before)
