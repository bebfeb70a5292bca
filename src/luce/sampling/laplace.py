"""The Laplace approximation of a core: the mode of f(θ), θ = log λ, and the curvature there.

`kernels.curvature` defines f, its slope and its curvature; `kernels.newton` climbs.  Without
grouped outcomes f is strictly concave, so it has one mode, which a climb from any start finds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from luce._types import BoolArray, FloatArray, IntArray
from luce.counts.family import SetFamily
from luce.errors import ConvergenceWarning, warn_user
from luce.sampling.log_posterior import LogPosterior, supported
from luce.sampling.newton import climb

if TYPE_CHECKING:
    from luce.kernels.hamiltonian import Metric
    from luce.kernels.problem import Problem

# Rows of the largest dense matrix that is factored, which takes seconds.
MOST_DENSE = 2000

# Typical number of products with the curvature in one step by conjugate gradients, and the cost of
# one product in visits to each stored member.
_PRODUCTS, _VISITS = 20, 6

# Distance by which conjugate gradients start off a guess: symmetric data may have its maximum right
# there, where without a slope they cannot tell a maximum from a ridge.
_OFF_CENTRE = 1e-3

# Number of first steps, from a start guessed from the powers, that never lower f.
_CAUTIOUS_STEPS = 4


class ClimbLimits(NamedTuple):
    """Limits of a climb.

    Attributes
    ----------
    most_dense
        Atoms above which steps are solved by conjugate gradients, never by Cholesky factors.
    always_dense
        Atoms up to which Cholesky factors are used without comparing costs.
    most_looks
        Evaluations of f before the climb gives up.
    """

    most_dense: int = MOST_DENSE
    always_dense: int = 256
    most_looks: int = 400


LIMITS = ClimbLimits()


def log_mode(
    problem: Problem, start: FloatArray | None = None, limits: ClimbLimits = LIMITS
) -> FloatArray:
    """Find the θ at which f is largest, shape (n,); θ is -inf for atoms without support."""
    theta, reached = climb_from(problem, one_unknown_each(supported(problem)), start, limits)
    if not reached:
        warn_user(ConvergenceWarning("Newton's method did not reach the mode."))
    return theta


def one_unknown_each(active: BoolArray) -> IntArray:
    """Number the unknowns of active atoms from 0 on; the others have none (-1)."""
    if active.all():
        return np.arange(len(active))
    return np.where(active, np.cumsum(active) - 1, -1)


def climb_from(
    problem: Problem,
    owner: IntArray,
    start: FloatArray | None = None,
    limits: ClimbLimits = LIMITS,
    f: LogPosterior | None = None,
) -> tuple[FloatArray, bool]:
    """Climb to a maximum of f with θ_i = η[owner[i]]; return θ and whether it was reached.

    Parameters
    ----------
    problem
        The core.
    owner
        The unknown of each atom, -1 for none.
    start
        The first θ, equal for atoms that share an unknown; guessed from the powers unless given,
        which needs an unknown of its own for each atom.
    limits
        When to use dense matrices, and when to give up.
    f
        The log posterior of the core where it is at hand, as for climbs from several starts.
    """
    first = 0
    if start is None:
        first = _CAUTIOUS_STEPS
        shape = np.maximum(problem.shape, 1e-3 * (problem.shape.max() or 1.0))
        start = np.log(shape * (max(problem.total_shape, 1e-3) / shape.sum()))
    theta = np.where(owner >= 0, start, -np.inf)
    n = len(owner)
    if n <= limits.most_dense and factors_are_cheaper(problem, n, limits.always_dense):
        return climb(f or LogPosterior(problem), owner, theta, first, limits.most_looks)
    return _climb_by_products(problem, owner, theta, first, limits.most_looks)


def _climb_by_products(
    problem: Problem, owner: IntArray, theta: FloatArray, first: int, looks: int
) -> tuple[FloatArray, bool]:
    """Climb with steps by conjugate gradients, for many atoms."""
    from luce.kernels.newton import climb_by_products

    theta = theta + _OFF_CENTRE * np.cos(owner)
    step, vectors = np.empty(owner.max() + 1), np.empty((3, len(owner)))
    narrow = problem._replace(wide=None)
    return theta, bool(climb_by_products(narrow, owner, vectors, first, looks, theta, step))


def factors_are_cheaper(problem: Problem, n: int, always: int = LIMITS.always_dense) -> bool:
    """Compare the cost of a step by Cholesky factors with that of conjugate gradients."""
    if n <= always:
        return True
    stored = len(problem.members) + len(problem.waits) + n
    pairs = float((np.diff(problem.nest_start) ** 2.0).sum()) / 2  # of members of one nest
    return pairs + n**2 + n**3 / 6 < _PRODUCTS * _VISITS * stored


def family_of(problem: Problem) -> SetFamily:
    """Return the sets of a problem with their exponents."""
    return SetFamily(
        n=len(problem.shape),
        members=problem.members,
        nest_start=problem.nest_start,
        complement=problem.complement,
        set_start=problem.set_start,
        set_end=problem.set_end,
        exponent=problem.groups - problem.waits,
    )


def fit_curvature(problem: Problem) -> tuple[Metric, float]:
    """Fit the curvature at the mode, and predict how well waiting times would mix.

    Returns
    -------
    tuple
        The fit, and the effective number of independent draws in one sweep of waiting times.  In a
        sweep the deviation of a functional a'θ of p shrinks to the missing share of information; to
        second order the slowest functional is worth e / (2 - e) draws a sweep,

            e = min over a'1 = 0 of a'C^(-1)a / a'H^(-1)a,

        with the curvature H, and C = diag(c) the curvature given the waiting times.
    """
    from scipy.linalg import cholesky, eigvalsh, solve_triangular

    from luce.kernels.hamiltonian import Metric
    from luce.kernels.log_powers import make_powers

    theta, f = log_mode(problem), LogPosterior(problem)
    n, h = len(theta), f.precision(f.at(theta))
    root = np.tril(solve_triangular(cholesky(h, lower=True), np.eye(n), lower=True))
    exponent = problem.waits - problem.groups
    back = np.ascontiguousarray(root.T)
    fit = Metric(root, back, None, exponent, make_powers(exponent), 1.8, 0.1, 2.7)
    # A^(-1) for A = C^(-1/2) H C^(-1/2), on the functionals of p: those orthogonal to C^(1/2) 1.
    half = np.sqrt(problem.shape)
    scaled = root * half
    unit = half / np.linalg.norm(half)
    scaled -= np.outer(scaled @ unit, unit)
    most = float(eigvalsh(scaled.T @ scaled, subset_by_index=[n - 1, n - 1])[0])
    return fit, 1.0 / (2.0 * most - 1.0)
