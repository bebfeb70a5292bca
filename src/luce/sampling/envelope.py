"""A Dirichlet above the posterior: perfect draws by rejection (see `kernels.rejection`).

Where each set leaves out one atom, the posterior over the density of Dir(a) is, up to constants,

    R(p) = Π_i p_i^(d_i) (1 - p_i)^(-m_i),        d = c - a

bounded where every d_i > 0 and Σ_i d_i - d_k >= m_k for all k.  The share accepted is
Z / (B(a) sup R), Z being the posterior's integral and B the Dirichlet's; its logarithm is concave
in a, and where R is largest at x its slope is E log p - log x, E being the mean under Dir(a).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from luce._types import FloatArray

if TYPE_CHECKING:
    from luce.kernels.problem import Problem
    from luce.kernels.rejection import Envelope

# Most atoms: with more, a sweep of waiting times is as good as independent and cheaper.
MOST_ATOMS = 32

# Smallest acceptance at which rejection is chosen.  At 0.7 a perfect draw costs as much as an
# effective one by waiting times (measured on P1); since it needs no warm-up and no check, rejection
# is preferred up to 1.5 times that cost.
LEAST_ACCEPTED = 0.45

# Smallest shape of an envelope: gamma variates of a smaller shape cost more and may underflow.
_LEAST_SHAPE = 0.1

# Draws from which the acceptance is estimated.
_PILOT = 2000


def fit_envelope(problem: Problem) -> tuple[Envelope, float] | None:
    """Find the best envelope of a problem whose sets each leave out one atom, and its acceptance.

    Returns None where the sets leave out more atoms, or where no envelope exists.  The acceptance
    is estimated from a pilot of fixed seed.
    """
    left_out = _left_out(problem)
    if left_out is None:
        return None
    if not left_out.any():  # the posterior is a Dirichlet itself
        return _envelope(problem.shape, left_out, np.zeros(len(left_out)), 0.0), 1.0
    from scipy.optimize import LinearConstraint, minimize
    from scipy.special import digamma, gammaln

    from luce.kernels.star_bound import star_bound

    c, m = problem.shape, left_out
    n = len(c)
    kinds = np.unique(np.stack([c, m]), axis=1, return_index=True)[1].astype(np.int64)
    x = np.empty(n)

    def loss(d: FloatArray) -> tuple[float, FloatArray]:
        a = c - d
        x[:] = 1 / n
        bound = star_bound(d, m, kinds, 0.05, x)
        if not np.isfinite(bound):  # just outside the constraints
            bound = 1e6
        slope = digamma(a.sum()) - digamma(a) + np.log(x)
        return float(gammaln(a).sum() - gammaln(a.sum()) + bound), slope

    # Equal atoms are treated alike, so one unknown for each kind.
    alike = (c[kinds] == c[:, None]) & (m[kinds] == m[:, None])
    member = alike.argmax(axis=1)
    number = np.bincount(member)
    truncated = np.flatnonzero(m[kinds] > 0)
    corner = number - np.eye(len(kinds))[truncated]  # (Σ d - d_k) in terms of the kinds
    highest = np.minimum(0.95 * c, c - _LEAST_SHAPE)[kinds]
    start = np.minimum(1.2 * m.max() / (n - 1), 0.5 * highest)
    constraint = LinearConstraint(corner, 1.0001 * m[kinds][truncated], np.inf)

    def folded(e: FloatArray) -> tuple[float, FloatArray]:
        value, slope = loss(e[member])
        return value, np.bincount(member, slope).astype(np.float64)

    found = minimize(
        folded,
        start,
        jac=True,
        bounds=[(1e-6 * h, h) for h in highest.tolist()],
        constraints=constraint,
        method="SLSQP",
        options={"maxiter": 40, "ftol": 1e-4},
    )
    d = np.clip(found.x, 1e-6 * highest, highest)[member]
    bound = star_bound(d, m, kinds, 0.002, x)
    if not np.isfinite(bound):
        return None
    envelope = _envelope(c, m, d, bound)
    rng = np.random.default_rng(0)
    p = rng.dirichlet(envelope.shape, _PILOT)
    log_ratio = np.log(p) @ d - np.log1p(-p) @ m - bound
    return envelope, float(np.exp(log_ratio).mean())


def _envelope(c: FloatArray, m: FloatArray, d: FloatArray, bound: float) -> Envelope:
    from luce.kernels.log_powers import make_powers
    from luce.kernels.problem import gamma_spreads
    from luce.kernels.rejection import Envelope

    powers = make_powers(d), make_powers(-m), float(d.sum() - m.sum())
    return Envelope(c - d, gamma_spreads(c - d), float(bound), *powers)


def _left_out(problem: Problem) -> FloatArray | None:
    """Find m_i of the set that leaves out atom i, 0 where none does; None if sets leave out more.

    A set that leaves out one atom is stored as that atom, or as all the others.
    """
    n, listed = len(problem.shape), np.diff(problem.nest_start)
    simple = (
        n <= MOST_ATOMS
        and problem.wide is None
        and (np.diff(problem.set_start) == 1).all()
        and (listed == np.where(problem.complement, 1, n - 1)).all()
        and (problem.groups == 0).all()
        and (problem.shape > 2 * _LEAST_SHAPE).all()
    )
    if not simple:
        return None
    m = np.zeros(n)
    if not len(listed):
        return m
    atom = np.add.reduceat(problem.members, problem.nest_start[:-1])
    atom = np.where(problem.complement, atom, n * (n - 1) // 2 - atom)
    m[atom] = problem.waits
    return m
