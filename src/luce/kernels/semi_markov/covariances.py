"""Small covariance matrices: factors, inverse-Wishart draws, and the multivariate gamma function.

Factors are lower triangular.  Where many states share a loop, a triangle is stored row by row:
entry (i, j) at i (i + 1) / 2 + j.
"""

import math

import numpy as np

from luce._types import FloatArray, IntArray, WordArray
from luce.kernels.jit import internal
from luce.kernels.random import gamma, normal

LOG_PI = math.log(math.pi)
LOG_TWO_PI = math.log(2.0 * math.pi)

# Smallest pivot of a factor, as a fraction of its diagonal entry: a matrix that is singular up to
# rounding is factored as one that is barely regular.
_LEAST_PIVOT = 1e-15


@internal
def cholesky(matrix: FloatArray, n: int, factor: FloatArray) -> float:
    """Factor the leading n x n block of a matrix as F F'; returns the logarithm of |F F'|.

    Only the lower triangle is read and written.  Matrix and factor may be the same array.
    """
    log_determinant = 0.0
    for i in range(n):
        diagonal = matrix[i, i]
        pivot = diagonal
        for j in range(i + 1):
            total = matrix[i, j]
            for k in range(j):
                total -= factor[i, k] * factor[j, k]
            if j < i:
                factor[i, j] = total / factor[j, j]
            else:
                pivot = total
        if not pivot > _LEAST_PIVOT * diagonal:
            pivot = _LEAST_PIVOT * diagonal
        factor[i, i] = math.sqrt(pivot)
        log_determinant += math.log(pivot)
    return log_determinant


@internal
def invert_triangle(factor: FloatArray, n: int, inverse: FloatArray) -> None:
    """Invert a lower triangular n x n matrix into another array."""
    for j in range(n):
        inverse[j, j] = 1.0 / factor[j, j]
        for i in range(j + 1, n):
            total = 0.0
            for k in range(j, i):
                total -= factor[i, k] * inverse[k, j]
            inverse[i, j] = total / factor[i, i]


@internal
def whiten(
    covariance: FloatArray,
    seen: IntArray,
    n: int,
    factors: FloatArray,
    log_constants: FloatArray,
) -> None:
    """Prepare normal log densities of n of the channels, for every state.

    Parameters
    ----------
    covariance
        Shape (states, channels, channels).
    seen, n
        The first n entries are the channels.
    factors
        Shape (n (n + 1) / 2 or more, states): receives the inverse of each state's factor.
    log_constants
        Shape (states,): receives the log density at the mean.
    """
    block, inverse = np.empty((n, n)), np.empty((n, n))
    for s in range(len(covariance)):
        for i in range(n):
            for j in range(i + 1):
                block[i, j] = covariance[s, seen[i], seen[j]]
        log_determinant = cholesky(block, n, block)
        log_constants[s] = -0.5 * (n * LOG_TWO_PI + log_determinant)
        invert_triangle(block, n, inverse)
        for i in range(n):
            for j in range(i + 1):
                factors[i * (i + 1) // 2 + j, s] = inverse[i, j]


@internal
def draw_inverse_wishart(
    bits: WordArray, scale_factor: FloatArray, degrees: float, factor: FloatArray
) -> None:
    """Draw the factor of Σ ~ IW(degrees, F F') by Bartlett's decomposition.

    Σ = F (B' B)⁻¹ F', where B is lower triangular, B_ii² ~ χ²(degrees - D + 1 + i), i from 0, and
    B_ij ~ N(0, 1) below the diagonal.  B' B is then Wishart, and F B⁻¹ the lower factor of Σ.
    """
    n = len(scale_factor)
    bartlett = np.empty((n, n))
    for i in range(n):
        for j in range(i):
            bartlett[i, j] = normal(bits)
        bartlett[i, i] = math.sqrt(2.0 * gamma(bits, 0.5 * (degrees - n + 1 + i)))
    for i in range(n):
        for j in range(i, -1, -1):
            total = scale_factor[i, j]
            for k in range(j + 1, i + 1):
                total -= factor[i, k] * bartlett[k, j]
            factor[i, j] = total / bartlett[j, j]
        for j in range(i + 1, n):
            factor[i, j] = 0.0


@internal
def square(factor: FloatArray, out: FloatArray) -> None:
    """Multiply a lower triangular matrix by its transpose, exactly symmetrically."""
    n = len(factor)
    for i in range(n):
        for j in range(i + 1):
            total = 0.0
            for k in range(j + 1):
                total += factor[i, k] * factor[j, k]
            out[i, j] = total
            out[j, i] = total


@internal
def log_gamma_product(degrees: float, n: int) -> float:
    """Compute Σ_i log Γ((degrees - i) / 2), i = 0..n-1: log Γ_n(degrees / 2) without its π."""
    total = 0.0
    for i in range(n):
        total += math.lgamma(0.5 * (degrees - i))
    return total
