"""log Π_i x_i^(k_i) with few logarithms: numbers with equal powers are multiplied first.

Counts repeat, so a product of hundreds of powers has a handful of distinct ones.
"""

import math
from typing import NamedTuple

import numpy as np

from luce._types import FloatArray, IntArray
from luce.kernels.jit import internal

# Where a product of numbers between 1e-290 and 1e17 leaves this range its logarithm is taken, so
# that the next factor cannot take it out of the range of a double.
_LOW, _HIGH = 1e-15, 1e290


class Powers(NamedTuple):
    """Powers k_i in runs: those of ``item[start[r]:start[r + 1]]`` are all ``power[r]``, not 0."""

    item: IntArray
    start: IntArray
    power: FloatArray


def make_powers(k: FloatArray) -> Powers:
    """Sort powers into runs of equal ones."""
    order = np.argsort(k, kind="stable")
    order = order[k[order] != 0]
    power, start = np.unique(k[order], return_index=True)
    return Powers(order.astype(np.int64), np.append(start, len(order)).astype(np.int64), power)


@internal
def log_power_product(powers: Powers, x: FloatArray) -> float:
    """Σ_i k_i log x_i for positive x."""
    item, start = powers.item, powers.start
    total = 0.0
    for r in range(len(powers.power)):
        product, logs = 1.0, 0.0
        for q in range(start[r], start[r + 1]):
            product *= x[item[q]]
            if not _LOW < product < _HIGH:
                logs += math.log(product)
                product = 1.0
        total += powers.power[r] * (logs + math.log(product))
    return total
