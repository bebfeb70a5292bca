"""Moves of single items, for those that dominate their sets.

A waiting-time sweep moves log p_i by a fraction of the way that the posterior allows: the share of
others in the sets that hold i, on average.  For an item that wins almost always this is little.
Given the ratios of all others, θ = log p_i (before p is normalised again) has the log density

    f(θ) = c_i θ - Σ_{t ∋ i} m_t log(exp θ + r_t) - A log(exp θ + r)

with r_t = p(S_t) - p_i and r = 1 - p_i, which do not depend on θ.  f is concave where no outcome is
grouped.  Two Newton steps from a point that depends on the others alone, log r plus the log odds of
p_i at the mode, lead to μ, with curvature H = -f'' before the last one.  Then

    θ' ~ Normal(μ, 1/H),   accepted with probability min(1, exp(f(θ') - f(θ)) q(θ) / q(θ'))

where q is the density of that normal.  Since μ and H do not depend on θ, the move is the same there
and back, however good the Newton steps are.
"""

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from luce._types import FloatArray, WordArray
from luce.kernels.jit import internal, reordered
from luce.kernels.random import exponential, normal

# Largest Newton step, in nats.
_LONGEST = 2.0

# Products of ratios are kept within this range; the logarithm is taken where they leave it.
_LOW, _HIGH = 1e-100, 1e100

# Smallest share of the others, below which 1 - p_i has lost digits and the item stays where it is.
_LEAST_REST = 1e-6


class SingleItems(NamedTuple):
    """Items to move one by one before each sweep; the `fit` of a waiting-time sweep.

    Attributes
    ----------
    item
        The items i.
    log_odds
        log(p_i / (1 - p_i)) at the mode.
    start, sets
        The sets that hold the k-th item: ``sets[start[k]:start[k + 1]]``.
    waits
        m_t of these sets.
    """

    item: npt.NDArray[np.uint32]
    log_odds: FloatArray
    start: npt.NDArray[np.uint32]
    sets: npt.NDArray[np.uint32]
    waits: FloatArray


@internal
def move_items(
    bits: WordArray,
    items: SingleItems,
    shape: FloatArray,
    total_shape: float,
    sums: FloatArray,
    p: FloatArray,
) -> None:
    """Move each item once, given all others.

    Parameters
    ----------
    bits
        Generator.
    items
        The items.
    shape, total_shape
        c_i and A.
    sums
        p(S_t) of all sets, updated.
    p
        The probabilities, updated.
    """
    total = 1.0
    for k in range(len(items.item)):
        i, first, stop = items.item[k], items.start[k], items.start[k + 1]
        sets, waits = items.sets[first:stop], items.waits[first:stop]
        x = p[i]
        rest = total - x
        if rest < _LEAST_REST * total:
            continue
        mean, bend = math.log(rest) + items.log_odds[k], 0.0
        for _ in range(2):
            y = math.exp(mean)
            share = y / (y + rest)
            taken, curved = _shares(sets, waits, sums, y - x, y)
            slope = shape[i] - taken - total_shape * share
            bend = curved + total_shape * share * (1.0 - share)
            mean += min(max(slope / bend, -_LONGEST), _LONGEST)
        z, here = normal(bits), math.log(x)
        there = mean + z / math.sqrt(bend)
        change = math.exp(there) - x
        height = shape[i] * (there - here) - total_shape * math.log((total + change) / total)
        height -= _log_ratios(sets, waits, sums, change)
        back = bend * (here - mean) * (here - mean)
        if -exponential(bits) < height + 0.5 * (z * z - back):
            p[i] = x + change
            total += change
            for q in range(len(sets)):
                sums[sets[q]] += change
    for t in range(len(sums)):
        sums[t] /= total
    for i in range(len(p)):
        p[i] /= total


@reordered
def _shares(
    sets: npt.NDArray[np.uint32], waits: FloatArray, sums: FloatArray, change: float, y: float
) -> tuple[float, float]:
    """Compute Σ m_t s_t and Σ m_t s_t (1 - s_t), s_t = y / (p(S_t) + change)."""
    taken, curved = 0.0, 0.0
    for q in range(len(sets)):
        share = y / (sums[sets[q]] + change)
        taken += waits[q] * share
        curved += waits[q] * share * (1.0 - share)
    return taken, curved


@internal
def _log_ratios(
    sets: npt.NDArray[np.uint32], waits: FloatArray, sums: FloatArray, change: float
) -> float:
    """Compute Σ m_t log(1 + change / p(S_t)); factors with m_t = 1 are multiplied first."""
    total, product = 0.0, 1.0
    for q in range(len(sets)):
        ratio = 1.0 + change / sums[sets[q]]
        if waits[q] == 1.0:
            product *= ratio
            if not _LOW < product < _HIGH:
                total += math.log(product)
                product = 1.0
        else:
            total += waits[q] * math.log(ratio)
    return total + math.log(product)
