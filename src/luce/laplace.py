"""The posterior's mode in θ = log λ, and how wide it is around it.

f(θ), its slope and its curvature are those of `kernels.curvature`.  Damped Newton steps climb it:
f is strictly concave where no outcome is grouped, so the mode is one and is found from anywhere.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from luce._types import BoolArray, FloatArray
from luce.errors import ConvergenceWarning

if TYPE_CHECKING:
    from luce.kernels.problem import Curvature, Problem

# A dense matrix of this size is factored in seconds.
MOST_DENSE = 2000

# Newton's decrement, twice what is left to gain: as a share of f where it is as high as doubles can
# tell, and where steps are taken whole.
_CLOSE, _NEAR = 1e-20, 1e-6
_MOST_STEPS = 100


def log_mode(problem: Problem) -> FloatArray:
    """θ where f is largest, shape (n,).

    Up to `MOST_DENSE` atoms by Cholesky factors of the curvature, beyond by conjugate gradients.
    """
    from luce.kernels.curvature import slope

    problem = problem._replace(wide=None)
    active = problem.shape > 0  # a power of 0 has its atom at 0, and the others without it
    shape = problem.shape[active]
    gradient = np.empty(len(active))
    theta: FloatArray = np.full(len(active), -np.inf)
    theta[active] = np.log(shape / shape.sum() * max(problem.total_shape, 1e-3))
    # λ_i <- c_i / (1 + r_i) never goes down (Hunter 2004), and needs no step length.
    for _ in range(5):
        value = slope(problem, theta, gradient)
        rate = shape - gradient[active]
        theta[active] += np.log(shape / np.maximum(rate, 1e-3 * shape))
    value = slope(problem, theta, gradient)
    for _ in range(_MOST_STEPS):
        step = np.zeros(len(active))
        step[active] = _newton_step(problem, theta, gradient, active)
        decrement = float(gradient @ step)
        if not decrement > _CLOSE * (1.0 + abs(value)):
            return theta
        length, new_gradient = 1.0, np.empty_like(gradient)
        while True:
            new: FloatArray = np.where(active, theta + length * step, -np.inf)
            new_value = slope(problem, new, new_gradient)
            # So close to the mode rounding hides a gain, but Newton's whole step is right.
            if decrement < _NEAR or new_value >= value + 1e-4 * length * decrement:
                break
            length /= 2
        theta, value, gradient = new, new_value, new_gradient
    import warnings

    warnings.warn("Newton's method did not reach the mode.", ConvergenceWarning, stacklevel=2)
    return theta


def _newton_step(
    problem: Problem, theta: FloatArray, gradient: FloatArray, active: BoolArray
) -> FloatArray:
    """Solve (-f'') step = f' for the active atoms."""
    from luce.kernels.curvature import precision, times_precision

    n, target = len(theta), gradient[active]
    # Where f does not change with the scale of λ, the step may hold that scale.
    hold = 0.0 if problem.total_shape > 0 else problem.shape.mean() / n
    if n <= MOST_DENSE:
        from scipy.linalg import cho_factor, cho_solve

        matrix = np.empty((n, n))
        precision(problem, theta, matrix)
        factor = cho_factor(matrix[np.ix_(active, active)] + hold, lower=True)
        return np.asarray(cho_solve(factor, target))
    from scipy.sparse.linalg import LinearOperator, cg

    def times(v: FloatArray) -> FloatArray:
        whole, out = np.zeros(n), np.empty(n)
        whole[active] = v
        times_precision(problem, theta, whole, out)
        return np.asarray(out[active] + hold * v.sum())

    size = (len(target), len(target))
    # Where θ is the mode the diagonal is about c, the information if waiting times were known.
    step, _ = cg(
        LinearOperator(size, times), target, rtol=1e-10, maxiter=10 * n,
        M=LinearOperator(size, lambda v: v / problem.shape[active]),
    )  # fmt: skip
    return np.asarray(step)


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
    from luce.kernels.log_powers import make_powers
    from luce.kernels.problem import Curvature

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
