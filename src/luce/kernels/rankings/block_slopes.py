"""The likelihood of tied blocks of unknown order, and its slope.

The sum over the orders of a block B before the rest R is Π_{i ∈ B} λ_i · W(B), with

    W(∅) = 1,     W(A) = Σ_{i ∈ A} W(A without i) / (λ(A) + λ(R)),

over the subsets A of B: whoever of A comes first, the others follow.  All terms are positive.  The
numerators are among the powers of the categories; this module computes Σ_B m_B log W(B).  Its slope
goes through the subsets again, backwards.  Beyond ten members the subsets are too many, and W is
computed as an integral, as in `counts.tied_blocks`.
"""

import math
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from luce._types import FloatArray
from luce.kernels.jit import compiled, internal

# Most members of a block whose subsets are gone through.
_MOST_MEMBERS = 10

# The integrand falls by this many nats before it is cut off; the largest steps of y for few and for
# many members.
_NATS, _STEP, _STEP_OF_MANY = 26.0, 0.28, 0.75


class OpenBlocks(NamedTuple):
    """Tied blocks of unknown order, without their times.

    Attributes
    ----------
    members, start
        Block t is ``members[start[2 t]:start[2 t + 1]]``, its rest
        ``members[start[2 t + 1]:start[2 t + 2]]``.
    times
        m_B: number of times that each block was seen.
    most
        Number of members of the largest block.
    """

    members: npt.NDArray[np.uint32]
    start: npt.NDArray[np.int64]
    times: FloatArray
    most: int


def slope_of_blocks(blocks: Any, weights: Any, theta: Any, x: Any, out: Any) -> float:
    """Compute Σ m_B log W(B), and write its slope; arguments as in `contest_slope`."""
    value, small = 0.0, 1 << min(blocks.most, _MOST_MEMBERS)
    ways, sums, back = np.empty(small), np.empty(small), np.empty(small)
    ratio, pull = np.empty(blocks.most), np.empty(blocks.most)
    logs = np.empty(_number_of_nodes(blocks.most))
    for i in range(len(out)):
        out[i] = 0.0
    for t in range(len(blocks.times)):
        first, middle, stop = blocks.start[2 * t], blocks.start[2 * t + 1], blocks.start[2 * t + 2]
        size, rest, m = middle - first, 0.0, blocks.times[t]
        for k in range(middle, stop):
            rest += x[blocks.members[k]]
        for k in range(size):
            ratio[k] = x[blocks.members[first + k]] / rest
        if size <= _MOST_MEMBERS:
            found = _over_subsets(ratio[:size], ways, sums, back, pull)
        else:
            found = _by_integral(ratio[:size], logs, pull)
        value += m * (found - size * math.log(rest))
        total = float(size)
        for k in range(size):
            out[blocks.members[first + k]] -= m * pull[k]
            total -= pull[k]
        for k in range(middle, stop):
            i = blocks.members[k]
            out[i] -= m * total * x[i] / rest
    return value


@internal
def _over_subsets(
    ratio: FloatArray, ways: FloatArray, sums: FloatArray, back: FloatArray, pull: FloatArray
) -> float:
    """Compute log W of a block whose rest has the strength 1; minus its slopes go to `pull`."""
    size = len(ratio)
    whole = (1 << size) - 1
    ways[0], sums[0] = 1.0, 1.0
    for subset in range(1, whole + 1):
        total, top = 0.0, 0
        for k in range(size):
            if subset & (1 << k):
                total += ways[subset ^ (1 << k)]
                top = k
        sums[subset] = sums[subset ^ (1 << top)] + ratio[top]
        ways[subset] = total / sums[subset]
        back[subset] = 0.0
    for k in range(size):
        pull[k] = 0.0
    back[whole] = 1.0 / ways[whole]
    for subset in range(whole, 0, -1):
        share = back[subset] / sums[subset]
        fall = share * ways[subset]
        for k in range(size):
            if subset & (1 << k):
                back[subset ^ (1 << k)] += share
                pull[k] += fall * ratio[k]
    return math.log(ways[whole])


@internal
def _number_of_nodes(size: int) -> int:
    if size <= _MOST_MEMBERS:
        return 0
    return math.ceil((_last_node(size) + _NATS) / _node_step(size))


@internal
def _last_node(size: int) -> float:
    return math.log(1.0 + size + 8.0 * math.sqrt(1.0 + size) + _NATS)


@internal
def _node_step(size: int) -> float:
    return min(_STEP, _STEP_OF_MANY / math.sqrt(1.0 + size))


@internal
def _by_integral(ratio: FloatArray, logs: FloatArray, pull: FloatArray) -> float:
    """Compute log W of a block whose rest has the strength 1; minus its slopes go to `pull`."""
    size, top = len(ratio), -np.inf
    nodes, step = _number_of_nodes(size), _node_step(size)
    for j in range(nodes):
        y = -_NATS + j * step
        logs[j] = y - math.exp(y)
        for k in range(size):
            logs[j] += math.log(-math.expm1(-ratio[k] * math.exp(y)))
        top = max(top, logs[j])
    total, value = 0.0, 0.0
    for k in range(size):
        pull[k] = 0.0
        value -= math.log(ratio[k])
    for j in range(nodes):
        weight, end = math.exp(logs[j] - top), math.exp(-_NATS + j * step)
        total += weight
        for k in range(size):
            late = ratio[k] * end
            if late < 700.0:
                pull[k] += weight * late / math.expm1(late)
    for k in range(size):
        pull[k] = 1.0 - pull[k] / total
    return value + top + math.log(total * step)


blocks_slope = compiled(slope_of_blocks)
