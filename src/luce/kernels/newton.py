"""Newton's method for the maximum of f(θ) of `kernels.curvature`, in very many unknowns.

Atoms may share an unknown: θ_i = η[owner[i]], and an atom with owner -1 has probability 0.  The
step solves  B'HB step = B'f',  H = -f'', B the matrix of owners, by conjugate gradients with a
tolerance that shrinks with the gradient (Eisenstat and Walker 1996).
Where no Newton step increases f, as grouped outcomes may cause, a minorisation step
λ_i <- λ_i (c_i + given_i) / taken_i, which never decreases f, replaces it (Hunter 2004; with groups
it is an EM step).
"""

import math

import numpy as np

from luce._types import FloatArray, IntArray
from luce.kernels.curvature import Place, look, new_place, times_precision_at
from luce.kernels.jit import borrowed, compiled, internal
from luce.kernels.layouts import Weighted
from luce.kernels.problem import Problem

# Thresholds of Newton's decrement, twice the gain left in f.  Below _CLOSE (1 + |f|) the maximum
# is reached to double precision.  Below _NEAR whole steps are taken.  Near the mode a step
# to three digits leaves a millionth of the decrement, so a step that starts below _LAST is the last
# one.
_CLOSE, _NEAR, _LAST = 1e-20, 1e-6, 1e-9

# Rounding error of f, relative to |f| and to the number of outcomes.
_ROUNDING, _ROUNDING_OF_COUNTS = 1e-13, 1e-15


@compiled
def climb_by_products(
    problem: Problem | Weighted,
    owner: IntArray,
    vectors: FloatArray,
    first: int,
    steps: int,
    theta: FloatArray,
    step: FloatArray,
) -> bool:
    """Maximise f over θ, in place; returns whether the maximum was reached within `steps`.

    Parameters
    ----------
    problem
        c, m, n and the sets.
    owner
        Number of the unknown of each atom, -1 for none.
    vectors
        Scratch, shape (3, atoms).
    first, steps
        Number of minorisation steps, which are cheap, before the first Newton step, and largest
        number of evaluations of f.
    theta
        Initial point, -inf for an atom without an unknown; replaced by the last point.
    step
        Scratch, one number for each unknown.
    """
    problem = borrowed(problem)
    at = new_place(problem, theta)
    gradient, scaling = np.empty(len(step)), np.empty(len(step))
    value, decrement, length = -np.inf, 0.0, 1.0
    steepest, climbing, last = 0.0, True, False
    outcomes, grouped = 0.0, False
    for t in range(len(problem.waits)):
        outcomes += problem.waits[t] + problem.groups[t]
        grouped |= problem.groups[t] > 0.0
    for turn in range(steps):
        higher = look(problem, at)
        enough = value + 1e-4 * length * decrement
        enough -= _ROUNDING * abs(value) + _ROUNDING_OF_COUNTS * outcomes
        # Very near the mode rounding error hides the gain; take Newton's whole step anyway.
        if higher >= enough or decrement < _NEAR or not climbing:
            for i in range(len(theta)):
                theta[i] = at.theta[i]
            value, length = higher, 1.0
            if last:
                return True
            norm = _slopes(problem, at, owner, gradient, scaling)
            steepest = max(steepest, norm)
            climbing = turn >= first
            if climbing:
                share = (norm / max(steepest, 1e-300)) ** 0.25
                share = max(min(0.1, share), 1e-5)
                climbing = last = _by_products(
                    problem, at, owner, gradient, scaling, share, vectors, step
                )
            before, decrement = decrement, 0.0
            for j in range(len(step)):
                decrement += gradient[j] * step[j] if climbing else 0.0
            if climbing and not decrement > _CLOSE * (1.0 + abs(value)):
                return True
            # If f is strictly concave, a decrement that stops shrinking here is rounding error.
            still = 0.0 < 0.5 * before < decrement < _NEAR
            if climbing and still and not grouped:
                return True
            last &= decrement < _LAST
        else:
            length /= 2.0
            climbing = length > 1e-6
        if not climbing:
            for j in range(len(step)):
                # Change λ by at most a factor e^7 at once, to stay in the range of doubles.
                ratio = 1.0 + gradient[j] / scaling[j]
                step[j] = min(math.log(max(ratio, 1e-3)), 7.0)
            length = 1.0
        for i in range(len(theta)):
            at.theta[i] = theta[i] + length * step[owner[i]] if owner[i] >= 0 else -np.inf
    return False


@internal
def _slopes(
    problem: Problem | Weighted,
    at: Place,
    owner: IntArray,
    gradient: FloatArray,
    scaling: FloatArray,
) -> float:
    """Compute B'f' and B'taken of the unknowns; returns the squared norm of B'f'."""
    for j in range(len(gradient)):
        gradient[j], scaling[j] = 0.0, 0.0
    for i in range(len(owner)):
        if owner[i] >= 0:
            gradient[owner[i]] += problem.shape[i] + at.given[i] - at.taken[i]
            scaling[owner[i]] += at.taken[i]
    norm = 0.0
    for j in range(len(gradient)):
        norm += gradient[j] ** 2
    return norm


@internal
def _by_products(
    problem: Problem | Weighted,
    at: Place,
    owner: IntArray,
    right: FloatArray,
    scaling: FloatArray,
    share: float,
    vectors: FloatArray,
    out: FloatArray,
) -> bool:
    """Solve B'HB out = right by conjugate gradients; False without a direction of increase.

    Stops when the residual is the fraction `share` of the right side.
    """
    n, free = len(owner), len(right)
    wide, turned, part = vectors[0], vectors[1], vectors[2]
    rest, way, image = np.empty(free), np.empty(free), np.empty(free)
    product = 0.0
    for j in range(free):
        rest[j], out[j] = right[j], 0.0
        way[j] = rest[j] / scaling[j]
        product += rest[j] * way[j]
    wanted = share**2 * product
    for turn in range(10 * free):
        for i in range(n):
            wide[i] = way[owner[i]] if owner[i] >= 0 else 0.0
        times_precision_at(problem, at, wide, part, turned)
        bend = 0.0
        for j in range(free):
            image[j] = 0.0
        for i in range(n):
            if owner[i] >= 0:
                image[owner[i]] += turned[i]
        for j in range(free):
            bend += way[j] * image[j]
        if not bend > 0.0:
            return turn > 0
        length, before = product / bend, product
        product = 0.0
        for j in range(free):
            out[j] += length * way[j]
            rest[j] -= length * image[j]
            product += rest[j] ** 2 / scaling[j]
        if not product > wanted:
            break
        for j in range(free):
            way[j] = rest[j] / scaling[j] + product / before * way[j]
    return True
