"""Densities at points: of a posterior, and of the sweep of waiting times after a draw."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from luce._types import FloatArray

if TYPE_CHECKING:
    from luce.kernels.problem import Problem

# Logarithms of probabilities below this are added up as logarithms.
_LEAST_LOG = -600.0


def heights(problem: Problem, logs: FloatArray) -> FloatArray:
    """H of log probabilities, shape (rows, n), each row normalised."""
    from luce.kernels.densities_at import log_densities

    out = np.empty(len(logs))
    small = logs.min(axis=1) < _LEAST_LOG
    for which, apart in ((~small, False), (small, True)):
        if which.any():
            rows, part = logs[which], np.empty(int(which.sum()))
            kind = problem._replace(wide=True if apart else None, fit=None)
            log_densities(kind, rows if apart else np.exp(rows), part)
            out[which] = part
    return out


def next_gammas(
    problem: Problem, logs: FloatArray, seed: np.random.SeedSequence
) -> tuple[FloatArray, FloatArray]:
    """Shapes and log rates of the gammas that the next sweep from each row would draw."""
    from luce.kernels import densities_at
    from luce.kernels.grouped_outcomes import split_space
    from luce.kernels.random import new_bits

    shape, log_rate = np.empty(logs.shape), np.empty(logs.shape)
    states = np.ascontiguousarray(logs) if problem.wide else np.exp(logs)
    plain = problem._replace(fit=None)
    densities_at.next_gammas(new_bits(seed), plain, states, split_space(problem), shape, log_rate)
    return shape, log_rate


def log_scaled_dirichlet(log_p: FloatArray, shape: FloatArray, log_rate: FloatArray) -> FloatArray:
    """Log density at p of gammas of these shapes c and rates r, divided by their sum.

        Γ(Σ c) / (Σ_i r_i p_i)^(Σ c) · Π_i r_i^(c_i) p_i^(c_i - 1) / Γ(c_i)

    Parameters
    ----------
    log_p
        Shape (n,).
    shape, log_rate
        Shape (rows, n): a density for each row.
    """
    from scipy.special import gammaln

    total = shape.sum(axis=1)
    out = gammaln(total) - gammaln(shape).sum(axis=1)
    out += (shape * (log_rate + log_p)).sum(axis=1) - log_p.sum()
    return np.asarray(out - total * np.logaddexp.reduce(log_rate + log_p, axis=1))


def rests_on(weights: FloatArray) -> float:
    """(Σ w)² / Σ w²: how many of the draws an average of them rests on."""
    return float(weights.sum() ** 2 / (weights**2).sum())
