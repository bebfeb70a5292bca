"""A Dirichlet above a posterior with any sets, for exact draws; see `kernels.concave_rejection`.

Any q with d_i < c_i gives a certified bound in closed form.  The share of proposals accepted,

    Z / (B(a) exp M),      a = c - d(q),   M = Σ_i d_i log q_i - Σ_t m_t log q(S_t),

is largest where log q_i - ψ(a_i) is the same for all i.  The search starts at the mode of the log
odds, where a = A q, A = Σ a_i.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from luce._types import FloatArray
from luce.sampling.from_the_past import table_of_sets

if TYPE_CHECKING:
    from luce.kernels.concave_rejection import ConcaveEnvelope
    from luce.kernels.problem import Problem

# Entries of the table of sets and atoms: with more an envelope would keep next to nothing.
_MOST_ENTRIES = 1_000_000

# Smallest shape of the envelope: gamma variates of a smaller shape may underflow.
_LEAST_SHAPE = 0.05

# Draws from which the acceptance is estimated.
_PILOT = 4000

# Relative error of sums of products of doubles; the bound is raised by it.
_ROUNDING = 1e-11


def fit_concave_envelope(
    problem: Problem, mode: FloatArray
) -> tuple[ConcaveEnvelope, float] | None:
    """Find an envelope and the share of its draws that is kept, from the mode of log λ.

    Returns None with grouped outcomes, with logarithms, with too much data for a table of sets, and
    where shapes would be tiny.  The acceptance is estimated from a pilot of fixed seed.
    """
    from luce.kernels.concave_rejection import ConcaveEnvelope
    from luce.kernels.log_powers import make_powers
    from luce.kernels.problem import gamma_spreads

    sized = len(problem.waits) * len(problem.shape) <= _MOST_ENTRIES
    if problem.wide is not None or problem.groups.any() or not sized:
        return None
    table = table_of_sets(problem)
    log_q = _best_centre(problem, table, mode)
    d, bound = _powers(problem, table, log_q)
    a = problem.shape - d
    if a.min() < _LEAST_SHAPE:
        return None
    size = np.abs(d * log_q).sum() + np.abs(problem.waits * np.log(table @ np.exp(log_q))).sum()
    bound += _ROUNDING * (1.0 + float(size))
    fit = ConcaveEnvelope(a, gamma_spreads(a), make_powers(d), make_powers(-problem.waits), bound)
    p = np.random.default_rng(0).dirichlet(a, _PILOT).clip(1e-300)
    logs = np.log(p) @ d - np.log(p @ table.T) @ problem.waits - bound
    return fit, float(np.exp(logs).mean())


def _powers(problem: Problem, table: FloatArray, log_q: FloatArray) -> tuple[FloatArray, float]:
    """Compute d, and M."""
    q = np.exp(log_q)
    sums = table @ q
    d = q * ((problem.waits / sums) @ table)
    return d, float(d @ log_q - problem.waits @ np.log(sums))


def _best_centre(problem: Problem, table: FloatArray, mode: FloatArray) -> FloatArray:
    """Find log q of the largest acceptance."""
    from scipy.optimize import minimize
    from scipy.special import digamma, gammaln

    def loss(log_q: FloatArray) -> tuple[float, FloatArray]:
        d, bound = _powers(problem, table, log_q)
        a = problem.shape - d
        if not a.min() > 0.0:
            return np.inf, np.zeros(len(a))
        q = np.exp(log_q)
        sums = table @ q
        pull = log_q - digamma(a)
        within = (table @ (q * pull)) * problem.waits / sums**2
        slope = d * pull - q * (within @ table)
        return float(gammaln(a).sum() + bound), slope

    start = mode - np.logaddexp.reduce(mode)
    found = minimize(loss, start, jac=True, method="BFGS", options={"maxiter": 200})
    better = found.fun <= loss(start)[0]
    return np.asarray(found.x - np.logaddexp.reduce(found.x) if better else start)
