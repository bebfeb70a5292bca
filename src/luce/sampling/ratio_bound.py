"""A certified bound of Σ_i g_i(x_i), g_i(x) = d_i log x - m_i log(1 - x), on a part of the simplex.

The part is { x: Σ x_i = 1, 0 <= x_i <= limit_i }.  For any ν (Lagrange's duality)

    max Σ_i g_i(x_i)  <=  ν + Σ_i max { g_i(x) - ν x: low_i <= x <= high_i }

over every box low <= x <= high that holds the maximum.  g_i(x) - ν x grows up to the smaller root
of g_i'(x) = ν, falls to the larger one and grows again, so that its maximum is at that root or at
the end of the interval.  Boxes fix which atom is largest, and an interval of it; they are halved
until no bound exceeds the largest known value by more than a tolerance.  No convexity is needed:
where the duality leaves a gap, the bound is higher than the maximum, and holds.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from luce._types import BoolArray, FloatArray, IntArray

# Intervals of the largest atom at first, and the largest number of boxes; where it is reached, the
# gap of the duality remains.
_FIRST_INTERVALS, _MOST_BOXES = 6, 1000

# Halvings of the interval of log ν, which is about 10 wide at first.
_HALVINGS = 20

# Smallest x_i of a point.
_LEAST = 1e-300

# Relative rounding error of a sum of logarithms.
_ROUNDING = 1e-9


class Bound(NamedTuple):
    """An upper bound; points x near maxima, shape (points, n), and Σ g_i there, highest first."""

    bound: float
    points: FloatArray
    heights: FloatArray


def bound_ratio(
    d: FloatArray, m: FloatArray, limit: FloatArray, kinds: IntArray, tolerance: float
) -> Bound:
    """Compute an upper bound of Σ g_i, about `tolerance` above the maximum.

    Parameters
    ----------
    d, m
        Powers, d > 0 and m >= 0.
    limit
        Largest x_i, below 1 where m_i > 0.
    kinds
        One index for each distinct triple (d_i, m_i, limit_i).
    tolerance
        Of the bound.
    """
    boxes = _first_boxes(limit, kinds)
    bounds, points, heights = [-np.inf], [np.empty((0, len(d)))], [np.empty(0)]
    best, tried = -np.inf, 0
    while len(boxes.atom):
        tried += len(boxes.atom)
        above, x, gap = _dual_bounds(d, m, boxes)
        value = log_ratio(d, m, x)
        inside = (x <= limit * (1 + 1e-9)).all(axis=1)
        best = max(best, value[inside].max(initial=-np.inf))
        points.append(x)
        heights.append(np.where(inside, value, -np.inf))
        split = (above > best + tolerance) & (tried < _MOST_BOXES)
        bounds.append(above[~split].max(initial=-np.inf))
        boxes = boxes.halved(split, gap)
    order = np.argsort(-np.concatenate(heights), kind="stable")
    highest = max(*bounds, best)
    return Bound(
        float(highest + _ROUNDING * (1.0 + abs(highest))),
        np.concatenate(points)[order],
        np.concatenate(heights)[order],
    )


def log_ratio(d: FloatArray, m: FloatArray, x: FloatArray) -> FloatArray:
    """Compute Σ_i g_i(x_i) for each row of x."""
    return np.asarray(_terms(d, m, x).sum(axis=1))


def _terms(d: FloatArray, m: FloatArray, x: FloatArray) -> FloatArray:
    """Compute g_i(x_i); x_i may be 1 where m_i = 0."""
    return np.asarray(d * np.log(x) - m * np.log1p(-np.where(m > 0, x, 0.0)))


class _Boxes(NamedTuple):
    """Boxes: the largest atom, and the least and largest x, shape (boxes, n)."""

    atom: IntArray
    low: FloatArray
    high: FloatArray

    def halved(self, chosen: BoolArray, gap: FloatArray) -> _Boxes:
        """Return both halves of the chosen boxes, cut across the atom of the largest gap."""
        atom, low, high = self.atom[chosen], self.low[chosen], self.high[chosen]
        rows, across = np.arange(len(atom)), np.argmax(gap[chosen], axis=1)
        middle = (low[rows, across] + high[rows, across]) / 2
        lower, upper = high.copy(), low.copy()
        lower[rows, across], upper[rows, across] = middle, middle
        return _Boxes(np.r_[atom, atom], np.r_[low, upper], np.r_[lower, high])._shrunk()

    def _shrunk(self) -> _Boxes:
        """No atom is larger than the largest one, or than what the others leave."""
        rows = np.arange(len(self.atom))
        left = 1.0 - (self.low.sum(axis=1, keepdims=True) - self.low)
        most = self.high[rows, self.atom]
        high = np.minimum(np.minimum(self.high, left), most[:, None])
        return _Boxes(self.atom, self.low, np.maximum(high, np.maximum(self.low, _LEAST)))


def _first_boxes(limit: FloatArray, kinds: IntArray) -> _Boxes:
    """Divide the range of the largest atom, from 1 / n to its limit, for each kind of atom."""
    n = len(limit)
    kinds = kinds[limit[kinds] > 1 / n]
    edges = np.linspace(1 / n, limit[kinds], _FIRST_INTERVALS + 1, axis=1)
    atom = np.repeat(kinds, _FIRST_INTERVALS)
    rows = np.arange(len(atom))
    low, high = np.zeros((len(atom), n)), np.tile(limit, (len(atom), 1))
    low[rows, atom], high[rows, atom] = edges[:, :-1].ravel(), edges[:, 1:].ravel()
    return _Boxes(atom, low, high)._shrunk()


def _dual_bounds(
    d: FloatArray, m: FloatArray, boxes: _Boxes
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Bound Σ g_i on boxes, -inf where none adds up to 1.

    The bound holds for any ν; that with Σ x_i = 1 is the least, and is found by halving.  Returned
    are also points that add up to 1, and how much each term of the bound is above that of the
    point, shape (boxes, n).
    """
    low, high = boxes.low, boxes.high
    feasible = high.sum(axis=1) >= 1.0
    at_high = _terms(d, m, high)
    # Where x_i is inside its interval, ν x_i = d_i + m_i x_i / (1 - x_i); add up over these.
    odds = m * high / (1.0 - np.where(m > 0, high, 0.0))
    most = np.log((d + odds).sum(axis=1) / np.maximum(1.0 - low.sum(axis=1), 1e-3))
    least = np.full(len(low), np.log(1e-4 * d.sum()))
    for _ in range(_HALVINGS):
        middle = (least + most) / 2
        x = _maximisers(d, m, low, high, at_high, np.exp(middle)[:, None])[0]
        more = x.sum(axis=1) > 1.0
        least, most = np.where(more, middle, least), np.where(more, most, middle)
    nu = np.exp(most)[:, None]
    x, value = _maximisers(d, m, low, high, at_high, nu)
    point = _adding_up(x, low, high)
    gap = value - (_terms(d, m, point) - nu * point)
    return np.where(feasible, nu[:, 0] + value.sum(axis=1), -np.inf), point, gap


def _adding_up(x: FloatArray, low: FloatArray, high: FloatArray) -> FloatArray:
    """Move x towards a corner of its box until it adds up to 1."""
    missing = 1.0 - x.sum(axis=1, keepdims=True)
    room = np.where(missing > 0, high - x, x - low)
    share = np.clip(missing / np.maximum(room.sum(axis=1, keepdims=True), _LEAST), -1.0, 1.0)
    moved = np.maximum(x + share * room, _LEAST)
    return np.asarray(moved / moved.sum(axis=1, keepdims=True))


def _maximisers(
    d: FloatArray,
    m: FloatArray,
    low: FloatArray,
    high: FloatArray,
    at_high: FloatArray,
    nu: FloatArray,
) -> tuple[FloatArray, FloatArray]:
    """Find x in [low, high] with the largest g(x) - ν x, and that number.

    d / x + m / (1 - x) = ν has the smaller root 2d / (e + √(e² - 4 ν d)), e = ν + d - m, or none.
    """
    e = nu + d - m
    under = e * e - 4.0 * nu * d
    exists = (under >= 0.0) & (e > 0.0)
    root = np.where(
        exists, 2.0 * d / np.where(exists, e + np.sqrt(np.maximum(under, 0.0)), 1.0), high
    )
    x = np.clip(root, low, high)
    here = _terms(d, m, x) - nu * x
    end = at_high - nu * high
    return np.where(end > here, high, x), np.maximum(end, here)
