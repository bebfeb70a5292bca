"""Densities at given points: of the posterior, and of the next sweep of waiting times."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from luce._types import FloatArray

if TYPE_CHECKING:
    from luce.kernels.problem import Problem

# Log probability below which set sums are computed from logarithms, since exp would underflow.
_LEAST_LOG = -600.0


def log_heights(problem: Problem, logs: FloatArray) -> FloatArray:
    """Compute Σ_i c_i log p_i + Σ_S e_S log p(S) for rows of log p, shape (rows, n)."""
    from luce.kernels import densities_at
    from luce.kernels.layouts import lean

    out = np.empty(len(logs))
    small = logs.min(axis=1) < _LEAST_LOG
    for which, apart in ((~small, False), (small, True)):
        if which.any():
            rows, part = logs[which], np.empty(int(which.sum()))
            kind = lean(problem._replace(wide=True if apart else None))
            densities_at.log_densities(kind, rows if apart else np.exp(rows), part)
            out[which] = part
    return out


def next_gammas(
    problem: Problem, logs: FloatArray, seed: np.random.SeedSequence
) -> tuple[FloatArray, FloatArray]:
    """Return shapes and log rates of the gammas that the next sweep from each row draws."""
    from luce.kernels import densities_at
    from luce.kernels.grouped_outcomes import split_space
    from luce.kernels.layouts import lean
    from luce.kernels.random import new_bits

    shape, log_rate = np.empty(logs.shape), np.empty(logs.shape)
    states = np.ascontiguousarray(logs) if problem.wide else np.exp(logs)
    densities_at.next_gammas(
        new_bits(seed), lean(problem), states, split_space(problem), shape, log_rate
    )
    return shape, log_rate


def log_scaled_dirichlet(log_p: FloatArray, shape: FloatArray, log_rate: FloatArray) -> FloatArray:
    """Compute the log density at p of independent gammas over their sum, of shapes c and rates r.

        Γ(Σ c) / (Σ_i r_i p_i)^(Σ c) · Π_i r_i^(c_i) p_i^(c_i - 1) / Γ(c_i)

    Parameters
    ----------
    log_p
        Shape (n,).
    shape, log_rate
        Shape (rows, n), one density for each row.
    """
    from scipy.special import gammaln

    total = shape.sum(axis=1)
    out = gammaln(total) - gammaln(shape).sum(axis=1)
    out += (shape * (log_rate + log_p)).sum(axis=1) - log_p.sum()
    return np.asarray(out - total * np.logaddexp.reduce(log_rate + log_p, axis=1))
