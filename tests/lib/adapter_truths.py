"""One model for the tests of all adapters: its means by quadrature, and the bound on draws.

a ~ Gamma(2, 1.5),  p ~ Dirichlet(a w),  counts given sets | p
"""

from __future__ import annotations

from typing import Any

import numpy as np
from lib.concentration_truths import OVERLAPPING, PRIOR, overlapping_truth
from scipy.stats import norm

import luce
from luce import Gamma, GibbsStep

STEP = GibbsStep.of(OVERLAPPING)
COUNTS = STEP.totals(OVERLAPPING)
WITHOUT_A_TERM = (COUNTS[0], COUNTS[1] * [0, 1])
WEIGHTS = np.array([1.0, 2.0, 0.5])
SIZES = np.array([5, 9])


def posterior_means(prior: Gamma = PRIOR) -> np.ndarray:
    """Means of log a, a and p, with w = 1, given the counts."""
    return overlapping_truth(prior).means


def prior_means() -> np.ndarray:
    """Means of log a, a, p and p squared, with unequal w, given nothing."""
    log_a = np.linspace(-25.0, 6.0, 20_001)
    a = np.exp(log_a)
    density = np.exp(PRIOR.shape * log_a - PRIOR.rate * a)
    density /= density.sum()
    mean, total = WEIGHTS / WEIGHTS.sum(), a[:, None] * WEIGHTS.sum()
    square = density @ (mean * (a[:, None] * WEIGHTS + 1) / (total + 1))
    return np.concatenate([[density @ log_a, density @ a], mean, square])


def watched(a: Any, p: Any, squares: bool = False) -> np.ndarray:
    """Stack the quantities whose means the functions above give; shape (chain, draw, quantity)."""
    a, p = np.asarray(a, np.float64)[..., None], np.asarray(p, np.float64)
    return np.concatenate([np.log(a), a, p] + ([p**2] if squares else []), axis=-1)


def assert_means(draws: np.ndarray, means: np.ndarray) -> None:
    """Every mean within the bound for a false alarm in 10,000 tests, in Monte Carlo errors."""
    error = luce.answers.diagnostics.mcse(draws).to_numpy()
    z = np.abs(draws.mean(axis=(0, 1)) - means) / error
    bound = norm.isf(0.5e-4 / len(z))
    assert z.max() < bound, f"|z| = {z.max():.1f}, {bound:.1f} allowed: {z.round(1)}"
