"""The Laplace approximation of a core: the mode of f(θ), θ = log λ, and the curvature there.

`kernels.curvature` defines f, its slope and its curvature; `kernels.newton` climbs.  Without
grouped outcomes f is strictly concave, so it has one mode, which a climb from any start finds.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from luce._types import BoolArray, FloatArray, IntArray
from luce.counts.family import SetFamily
from luce.errors import ConvergenceWarning, warn_user
from luce.sampling.log_posterior import LogPosterior, Place, supported
from luce.sampling.newton import climb

if TYPE_CHECKING:
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

# Curvature given to directions in which grouped outcomes leave none, as a share of the curvature
# without them; and the same for single elements of the diagonal.
_LEAST_CURVATURE, _LEAST_DIAGONAL = 1e-3, 1e-2

# Relative rounding error of a difference of sums.
_ROUNDING = 1e-10

# Products with the curvature from which its extreme eigenvalues are estimated.
_LANCZOS_STEPS = 20


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


class CurvatureFit(NamedTuple):
    """The curvature at a mode of a core.

    Attributes
    ----------
    root
        B, the inverse of the Cholesky factor of the precision H: lower triangular.
    share
        Effective number of independent draws in one sweep of waiting times, predicted.
    mode
        θ at the mode.
    """

    root: FloatArray
    share: float
    mode: FloatArray


def fit_curvature(problem: Problem) -> CurvatureFit:
    """Fit the curvature at a mode, and predict how well waiting times would mix.

    In a sweep the deviation of a functional a'θ of p shrinks to the missing share of information;
    to second order the slowest functional is worth e / (2 - e) draws a sweep,

        e = min over a'1 = 0 of a'C^(-1)a / a'H^(-1)a,

    with the curvature H, and C = diag(taken) the curvature given the waiting times and the
    categories of grouped outcomes: taken_i = c_i + E k_i at the mode, k_i of them being i.

    With grouped outcomes f may have several modes, and a flat one.  The first mode found is taken,
    and directions in which it is flat are given a part of the curvature that f has without the
    grouped outcomes (`_LEAST_CURVATURE`).
    """
    from scipy.linalg import solve_triangular

    f = LogPosterior(problem)
    at = f.at(_mode(problem, f))
    n = len(at.theta)
    root = np.tril(solve_triangular(_factor(f, at), np.eye(n), lower=True))
    # A^(-1) for A = C^(-1/2) H C^(-1/2), on the functionals of p: those orthogonal to C^(1/2) 1.
    half = np.sqrt(at.taken)
    scaled = root * half
    unit = half / np.linalg.norm(half)
    scaled -= np.outer(scaled @ unit, unit)
    most = float(np.linalg.eigvalsh(scaled.T @ scaled)[-1])
    return CurvatureFit(root, 1.0 / max(2.0 * most - 1.0, 1.0), at.theta)


def _mode(problem: Problem, f: LogPosterior) -> FloatArray:
    """Find a mode.  With grouped outcomes it may be a ridge, of which any place will do."""
    if not f.grouped:
        return log_mode(problem)
    return climb_from(problem, one_unknown_each(supported(problem)), f=f)[0]


def _factor(f: LogPosterior, at: Place) -> FloatArray:
    """Factor the precision, raised to `_LEAST_CURVATURE` where it is not positive definite.

    With H₀ = LL', the precision without grouped outcomes, the eigenvalues of L^(-1) H L'^(-1) are
    at most 1; those below the least are replaced by it.
    """
    from scipy.linalg import cholesky, eigh, solve_triangular

    precision = f.precision(at)
    try:
        return np.asarray(cholesky(precision, lower=True))
    except np.linalg.LinAlgError:
        if not f.grouped:
            raise
    factor = cholesky(f.complete_precision(at), lower=True)
    relative = solve_triangular(
        factor, solve_triangular(factor, precision, lower=True).T, lower=True
    )
    values, vectors = eigh(relative)
    half = (factor @ vectors) * np.sqrt(np.maximum(values, _LEAST_CURVATURE))
    return np.asarray(cholesky(half @ half.T, lower=True))


class DiagonalFit(NamedTuple):
    """The widths of a posterior in each coordinate of θ, at a mode.

    Attributes
    ----------
    mode
        θ at the mode.
    precision
        D: the diagonal of the precision H, positive.
    least, most
        Extreme eigenvalues of D^(-1/2) H D^(-1/2) on functionals of p, estimated by Lanczos'
        method: the largest is right to a few percent; the least may be smaller than estimated.
    share
        Effective number of independent draws in one sweep of waiting times, predicted.
    """

    mode: FloatArray
    precision: FloatArray
    least: float
    most: float
    share: float


def fit_diagonal(problem: Problem) -> DiagonalFit:
    """Fit the diagonal of the curvature at a mode, for very many atoms."""
    f = LogPosterior(problem)
    at = f.at(_mode(problem, f))
    # Without grouped outcomes H_ii >= s λ_i; rounding error may hide what is above it.
    bound = _LEAST_DIAGONAL * at.taken if f.grouped else f.scale * at.x + _ROUNDING * at.taken
    diagonal = np.maximum(f.precision_diagonal(at), bound)
    from luce.kernels.curvature import times_precision

    narrow, image = problem._replace(wide=None), np.empty(len(at.theta))

    def times(v: FloatArray) -> FloatArray:
        times_precision(narrow, at.theta, v, image)
        return image

    least, most = extreme_eigenvalues(times, diagonal, np.sqrt(diagonal))
    kept = extreme_eigenvalues(times, at.taken, np.sqrt(at.taken))[0]
    return DiagonalFit(at.theta, diagonal, least, most, 1.0 / max(2.0 / kept - 1.0, 1.0))


def extreme_eigenvalues(
    times: Callable[[FloatArray], FloatArray], diagonal: FloatArray, apart: FloatArray
) -> tuple[float, float]:
    """Estimate the extreme eigenvalues of D^(-1/2) H D^(-1/2) by Lanczos' method.

    Parameters
    ----------
    times
        Multiplies H by a vector.
    diagonal
        The diagonal of D.
    apart
        Direction to which all others are orthogonal: D^(1/2) 1, the scale of λ, which is redrawn.
    """
    n, half = len(diagonal), np.sqrt(diagonal)
    start = np.random.default_rng(0).standard_normal(n)
    vectors = [apart / np.linalg.norm(apart)]
    bends: list[float] = []
    lengths: list[float] = []
    for _ in range(min(_LANCZOS_STEPS, n - 1)):
        for known in vectors * 2:  # twice, since the first pass leaves rounding error
            start -= (known @ start) * known
        length = float(np.linalg.norm(start))
        if not length > _ROUNDING * np.sqrt(n):
            break
        vectors.append(start / length)
        start = times(vectors[-1] / half) / half
        lengths.append(length)
        bends.append(float(vectors[-1] @ start))
    inner = np.array(lengths[1:])
    found = np.linalg.eigvalsh(np.diag(bends) + np.diag(inner, 1) + np.diag(inner, -1))
    return float(found[0]), float(found[-1])
