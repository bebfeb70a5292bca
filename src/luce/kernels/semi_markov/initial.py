"""Posterior draw of the law of first states."""

import math

import numpy as np

from luce._types import FloatArray, WordArray
from luce.kernels.jit import compiled
from luce.kernels.random import log_gamma


@compiled
def draw_initial(bits: WordArray, shape: FloatArray, out: FloatArray) -> None:
    """Draw from a Dirichlet distribution, by logarithms: shapes may be small."""
    top, total = -np.inf, 0.0
    for j in range(len(shape)):
        out[j] = log_gamma(bits, shape[j])
        top = max(top, out[j])
    for j in range(len(shape)):
        out[j] = math.exp(out[j] - top)
        total += out[j]
    for j in range(len(shape)):
        out[j] /= total
