"""Newton's method for the f(θ) of `kernels.curvature`, in a few unknowns or very many.

Atoms share unknowns as `owner` says: θ_i = η[owner[i]], and an atom without one (-1) is at 0.  The
step solves  B'HB step = B'f',  H = -f'', B the matrix of owners: by Cholesky factors, or by
conjugate gradients, to as many digits as the way left to go is worth (Eisenstat and Walker 1996).
Where there is no such step up, as may be with grouped outcomes, λ_i <- λ_i (c_i + given_i) /
taken_i is taken instead (Hunter 2004; with groups it is an EM step): it never goes down.
"""

import math

import numpy as np

from luce._types import FloatArray, IntArray
from luce.kernels.curvature import Place, look, new_place, precision_at, times_precision_at
from luce.kernels.jit import borrowed, compiled, internal, reordered
from luce.kernels.problem import Problem

# Newton's decrement, twice what is left to gain: as a share of f where it is as high as doubles can
# tell, and where steps are taken whole.  Near the mode an exact step about squares it, and one to
# three digits leaves a millionth, so one that starts below the third is the last.
_CLOSE, _NEAR, _LAST = 1e-20, 1e-6, 1e-9

# f is known to so much of itself, and of the number of outcomes that its terms stand for.
_ROUNDING, _ROUNDING_OF_COUNTS = 1e-13, 1e-15


@compiled
def climb(
    problem: Problem,
    owner: IntArray,
    matrix: FloatArray | None,
    vectors: FloatArray | None,
    first: int,
    steps: int,
    theta: FloatArray,
    step: FloatArray,
) -> bool:
    """Move θ, in place, to where f is largest; returns whether it got there in so many looks.

    Parameters
    ----------
    problem
        c, m, n and the sets.
    owner
        Which unknown each atom has, -1 for none.
    matrix, vectors
        Scratch for Cholesky factors, shape (atoms + unknowns, atoms), or for conjugate gradients,
        shape (3, atoms).  One of them is None, and what would need it is then not even compiled.
    first, steps
        How many steps that never go down to take first, since they are cheap, and how many places
        to look at in all.
    theta
        Where to start, -inf without an unknown; replaced by the end.
    step
        Scratch, one number an unknown.
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
    # On a ridge, which grouped outcomes may leave, rounding must not pass for curvature.
    least = 1e-10 if grouped else 1e-14
    for turn in range(steps):
        higher = look(problem, at)
        enough = value + 1e-4 * length * decrement
        enough -= _ROUNDING * abs(value) + _ROUNDING_OF_COUNTS * outcomes
        # So close to the mode rounding hides a gain, but Newton's whole step is right.
        if higher >= enough or decrement < _NEAR or not climbing:
            for i in range(len(theta)):
                theta[i] = at.theta[i]
            value, length = higher, 1.0
            if last:
                return True
            norm = _slopes(problem, at, owner, gradient, scaling)
            steepest = max(steepest, norm)
            climbing = turn >= first
            if vectors is not None and climbing:
                share = (norm / max(steepest, 1e-300)) ** 0.25
                share = max(min(0.1, share), 1e-5)
                climbing = last = _by_products(
                    problem, at, owner, gradient, scaling, share, vectors, step
                )
            if matrix is not None and climbing:
                precision_at(problem, at, matrix)
                # Where f does not change with the scale of λ, one θ stays where it is.
                fixed = -1 if problem.total_shape > 0.0 else int(np.argmax(scaling))
                climbing = last = _by_factors(matrix, owner, fixed, least, gradient, step)
            before, decrement = decrement, 0.0
            for j in range(len(step)):
                decrement += gradient[j] * step[j] if climbing else 0.0
            if climbing and not decrement > _CLOSE * (1.0 + abs(value)):
                return True
            # What no longer shrinks so close to the mode is rounding, where f is strictly concave.
            still = 0.0 < 0.5 * before < decrement < _NEAR
            if climbing and still and not grouped:
                return True
            last &= decrement < _LAST
        else:
            length /= 2.0
            climbing = length > 1e-6
        if not climbing:
            for j in range(len(step)):
                # No factor of more than e^7 at once, which might leave the range of doubles.
                ratio = 1.0 + gradient[j] / scaling[j]
                step[j] = min(math.log(max(ratio, 1e-3)), 7.0)
            length = 1.0
        for i in range(len(theta)):
            at.theta[i] = theta[i] + length * step[owner[i]] if owner[i] >= 0 else -np.inf
    return False


@internal
def _slopes(
    problem: Problem, at: Place, owner: IntArray, gradient: FloatArray, scaling: FloatArray
) -> float:
    """B'f', and B'taken, of the unknowns; returns the square of the first."""
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


@reordered
def _product(a: FloatArray, b: FloatArray, n: int) -> float:
    total = 0.0
    for k in range(n):
        total += a[k] * b[k]
    return total


@internal
def _by_factors(
    matrix: FloatArray,
    owner: IntArray,
    fixed: int,
    least: float,
    right: FloatArray,
    out: FloatArray,
) -> bool:
    """Solve B'HB out = right with out[fixed] = 0, if any is; False if not positive definite.

    H stands in the first rows of `matrix`, the others are for its factor; `least` is what a pivot
    must keep of its place on the diagonal.
    """
    n, free = len(owner), len(right)
    factor = matrix[n:]
    for a in range(free):
        for b in range(a + 1):
            factor[a, b] = 0.0
    for i in range(n):
        for j in range(i + 1):
            a, b = owner[i], owner[j]
            if a >= 0 and b >= 0:
                twice = 2.0 if i != j and a == b else 1.0
                factor[max(a, b), min(a, b)] += twice * matrix[i, j]
    if fixed >= 0:
        for j in range(free):
            factor[max(fixed, j), min(fixed, j)] = 1.0 if j == fixed else 0.0
    for i in range(free):
        for j in range(i):
            factor[i, j] = (factor[i, j] - _product(factor[i], factor[j], j)) / factor[j, j]
        own = factor[i, i] - _product(factor[i], factor[i], i)
        if not own > least * factor[i, i]:
            return False
        factor[i, i] = math.sqrt(own)
        own = right[i] if i != fixed else 0.0
        out[i] = (own - _product(factor[i], out, i)) / factor[i, i]
    for i in range(free - 1, -1, -1):
        out[i] /= factor[i, i]
        for j in range(i):
            out[j] -= factor[i, j] * out[i]
    return True


@internal
def _by_products(
    problem: Problem,
    at: Place,
    owner: IntArray,
    right: FloatArray,
    scaling: FloatArray,
    share: float,
    vectors: FloatArray,
    out: FloatArray,
) -> bool:
    """Solve B'HB out = right until the residual is that share; False if there is no way up."""
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
