"""The posterior's mode in θ = log λ, and how wide it is around it.

f(θ), its slope and its curvature are those of `kernels.curvature`, the climb is `kernels.newton`.
Where no outcome is grouped f is strictly concave, so the mode is one and is found from anywhere.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from luce._types import BoolArray, FloatArray, IntArray
from luce.counts.family import SetFamily
from luce.errors import ConvergenceWarning, warn_user

if TYPE_CHECKING:
    from luce.kernels.hamiltonian import Curvature
    from luce.kernels.problem import Problem

# A dense matrix of this size is factored in seconds.
MOST_DENSE = 2000

# Products with the curvature that a step by conjugate gradients takes, as a rule, and what one
# costs in visits to each stored member.
_PRODUCTS, _VISITS = 20, 6

# So few atoms are never worth the question.
_FEW = 64

# Cheap steps from a start that was made up, and places to look at before giving up.
_FIRST, _MOST_LOOKS = 4, 400


def log_mode(problem: Problem, start: FloatArray | None = None) -> FloatArray:
    """θ where f is largest, shape (n,); an atom that nothing speaks for is at 0, its θ -inf."""
    active = supported(problem)
    owner = np.where(active, np.cumsum(active) - 1, -1)
    theta, reached = climb_from(problem, owner, start)
    if not reached:
        warn_user(ConvergenceWarning("Newton's method did not reach the mode."))
    return theta


def supported(problem: Problem) -> BoolArray:
    """Which atoms have a power of their own, or a grouped outcome that may have been theirs."""
    active = problem.shape > 0
    if problem.groups.any():
        active |= _family(problem).member_sums(problem.groups) > 0
    return np.asarray(active)


def climb_from(
    problem: Problem, owner: IntArray, start: FloatArray | None = None
) -> tuple[FloatArray, bool]:
    """Climb to a maximum of f with θ_i = η[owner[i]]; returns θ, and whether it was reached.

    `start` is where to begin, equal for atoms that share an unknown; unless given, which only goes
    where none do, it is made up from the powers.
    """
    from luce.kernels.newton import climb

    n, first = len(owner), 0
    if start is None:
        first = _FIRST
        shape = np.maximum(problem.shape, 1e-3 * (problem.shape.max() or 1.0))
        start = np.log(shape * (max(problem.total_shape, 1e-3) / shape.sum()))
    theta = np.where(owner >= 0, start, -np.inf)
    step = np.empty(owner.max() + 1)
    dense = n <= MOST_DENSE and _factors_are_cheaper(problem, n)
    matrix, vectors = (np.empty((n + len(step), n)), None) if dense else (None, np.empty((3, n)))
    problem = problem._replace(wide=None, fit=None)
    return theta, bool(climb(problem, owner, matrix, vectors, first, _MOST_LOOKS, theta, step))


def _factors_are_cheaper(problem: Problem, n: int) -> bool:
    """Is a step cheaper by Cholesky factors than by conjugate gradients?"""
    if n <= _FEW:
        return True
    stored = len(problem.members) + len(problem.waits) + n
    pairs = float((np.diff(problem.nest_start) ** 2.0).sum()) / 2  # of members of a chain
    return pairs + n**2 + n**3 / 6 < _PRODUCTS * _VISITS * stored


def _family(problem: Problem) -> SetFamily:
    return SetFamily(
        len(problem.shape), problem.members, problem.nest_start, problem.complement,
        problem.set_start, problem.set_end, problem.groups - problem.waits,
    )  # fmt: skip


def fit_curvature(problem: Problem) -> tuple[Curvature, float]:
    """Fit the posterior's width at its mode, and tell how well waiting times would mix.

    Returns
    -------
    tuple
        The fit, and the effective share of waiting-time sweeps.  To second order a functional
        a'θ of p keeps, of its deviation, the share of information that is missing, and the
        slowest one is worth e / (2 - e) draws a sweep,

            e = min over a'1 = 0 of a'C^(-1)a / a'H^(-1)a,

        H being the curvature and C = diag(c) that with the waiting times known.
    """
    from scipy.linalg import cholesky, eigvalsh, solve_triangular

    from luce.kernels.curvature import precision
    from luce.kernels.hamiltonian import Curvature
    from luce.kernels.log_powers import make_powers

    theta = log_mode(problem)
    n = len(theta)
    h = np.empty((n, n))
    precision(problem._replace(wide=None), theta, h)
    root = np.tril(solve_triangular(cholesky(h, lower=True), np.eye(n), lower=True))
    fit = Curvature(root, np.ascontiguousarray(root.T), make_powers(problem.waits))
    # A^(-1) for A = C^(-1/2) H C^(-1/2), on the functionals of p: those across C^(1/2) 1.
    half = np.sqrt(problem.shape)
    scaled = root * half
    unit = half / np.linalg.norm(half)
    scaled -= np.outer(scaled @ unit, unit)
    most = float(eigvalsh(scaled.T @ scaled, subset_by_index=[n - 1, n - 1])[0])
    return fit, 1.0 / (2.0 * most - 1.0)
