"""Logarithms of products of powers, log Π_i x_i^(k_i), with few evaluations of the logarithm.

Numbers with equal powers are multiplied first.  Counts repeat, so that a product of hundreds of
powers has only a few distinct ones.
"""

import math
from typing import NamedTuple

import numpy as np

from luce._types import FloatArray, IntArray
from luce.kernels.jit import internal

# Range of a partial product.  Outside it the logarithm is taken, so that the next factor, between
# 1e-290 and 1e17, cannot leave the range of a double.
_LOW, _HIGH = 1e-15, 1e290


class Powers(NamedTuple):
    """Nonzero powers k_i, grouped: items ``item[start[r]:start[r + 1]]`` have ``power[r]``."""

    item: IntArray
    start: IntArray
    power: FloatArray


def make_powers(k: FloatArray) -> Powers:
    """Group items by equal powers."""
    order = np.argsort(k, kind="stable")
    order = order[k[order] != 0]
    power, start = np.unique(k[order], return_index=True)
    return Powers(order.astype(np.int64), np.append(start, len(order)).astype(np.int64), power)


@internal
def log_power_product(powers: Powers, x: FloatArray) -> float:
    """Compute Σ_i k_i log x_i for positive x."""
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
