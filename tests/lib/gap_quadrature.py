"""Quadrature of posteriors of three categories whose log probabilities reach -1 / a.

In each of the six orders of the categories, the gaps between neighbours on the log scale run over
(0, ∞).  The density is smooth in each gap and varies near 0 or over 1 / a, so that nodes equally
spaced in asinh(gap) resolve both.  Shares no code with luce.
"""

import itertools
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


class Points(NamedTuple):
    """Log probabilities (point, category), weights that add up to 1, and the log of the integral.

    The integral is that of Π p_i^(c_i - 1) Π p(S)^(e_S) over the simplex.
    """

    logs: Floats
    weights: Floats
    log_integral: float


def quadrature(
    shape: list[float],
    sets: list[tuple[tuple[int, ...], float]],
    concentration: float,
    nodes: int = 180,
) -> Points:
    """Integrate over all orders; the prior's concentration tells how far out density reaches."""
    reach = np.arcsinh(45.0 / concentration)
    at, step = np.polynomial.legendre.leggauss(nodes)
    u, du = (at + 1) * reach / 2, step * reach / 2
    gap, log_du = np.sinh(u), np.log(du * np.cosh(u))
    first, second = (x.ravel() for x in np.meshgrid(gap, gap, indexing="ij"))
    measure = np.add.outer(log_du, log_du).ravel()
    logs, heights = [], []
    for order in itertools.permutations(range(3)):
        raw = np.zeros((len(first), 3))
        raw[:, order[1]], raw[:, order[2]] = -first, -first - second
        raw -= np.logaddexp.reduce(raw, axis=1, keepdims=True)
        height = raw @ np.array(shape) + measure
        for members, power in sets:
            height += power * np.logaddexp.reduce(raw[:, list(members)], axis=1)
        logs.append(raw)
        heights.append(height)
    height = np.concatenate(heights)
    weights = np.exp(height - height.max())
    total = weights.sum()
    return Points(np.concatenate(logs), weights / total, float(height.max() + np.log(total)))
