"""Dinic's maximum-flow method for transport: whether supplies can meet all demands linked to them.

Links join supply nodes and demand nodes; the flow on each is limited by its two ends only.  In each
phase a breadth-first search from the unmet demands finds the shortest reroutings of flow, and a
depth-first search fills all of them.  There are at most as many phases as nodes, for real
capacities as for whole ones.
"""

from typing import NamedTuple

import numpy as np

from luce._types import BoolArray, FloatArray, IntArray
from luce.kernels.jit import compiled, internal
from luce.kernels.plain import integers, on_lists, reals

# Number of links beyond which flows are found by compiled code.  Plain Python takes some µs a link
# and phase, and there are rarely more than ten phases.
_MANY_LINKS = 20_000


class _Network(NamedTuple):
    """Links, flow, and scratch of the searches.

    Attributes
    ----------
    left, unmet
        Supply not yet used, and demand not yet met.
    flow, link_from, link_to
        Flow, demand and supply of each link.
    link_start, back_start, back_link
        The links of demand j are ``link_start[j]:link_start[j + 1]``, those of supply i
        ``back_link[back_start[i]:back_start[i + 1]]``.
    level, reach
        Distance of demands and supplies from the unmet demands, -1 if not reached.
    queue, path
        Scratch.  `path` alternates between a link whose flow grows and the link, at the same
        supply, whose flow shrinks in its favour.
    """

    left: FloatArray
    unmet: FloatArray
    flow: FloatArray
    link_from: IntArray
    link_to: IntArray
    link_start: IntArray
    back_start: IntArray
    back_link: IntArray
    level: IntArray
    reach: IntArray
    queue: IntArray
    path: IntArray


def unmet_demands(
    supply: FloatArray,
    demand: FloatArray,
    link_start: IntArray,
    link_to: IntArray,
    dust: float,
) -> BoolArray:
    """Mark the demands in a group that exceeds all supplies linked to it.

    Demand j is linked to the supplies ``link_to[link_start[j]:link_start[j + 1]]``.  All False
    means that every demand can be met.  Amounts up to `dust` are treated as rounding error.
    """
    _, _, level = _largest_flow(supply, demand, link_start, link_to, dust)
    return level >= 0


def transport(
    supply: FloatArray,
    demand: FloatArray,
    link_start: IntArray,
    link_to: IntArray,
    dust: float,
) -> tuple[FloatArray, FloatArray]:
    """Meet as much demand as possible; return the flow on each link, and the supply left over.

    Arguments as in `unmet_demands`.
    """
    flow, left, _ = _largest_flow(supply, demand, link_start, link_to, dust)
    return flow, left


def _largest_flow(
    supply: FloatArray, demand: FloatArray, link_start: IntArray, link_to: IntArray, dust: float
) -> tuple[FloatArray, FloatArray, IntArray]:
    """Return the flow on each link, the supply left over, and the level of each demand."""
    given = supply, demand, link_start, link_to, dust
    if len(link_to) > _MANY_LINKS:
        return _filled(*given)
    flow, left, level = on_lists(_filled, *given)
    return np.asarray(flow, np.float64), np.asarray(left, np.float64), np.asarray(level, np.int64)


@compiled
def _filled(
    supply: FloatArray, demand: FloatArray, link_start: IntArray, link_to: IntArray, dust: float
) -> tuple[FloatArray, FloatArray, IntArray]:
    network = _new_network(supply, demand, link_start, link_to)
    _fill(network, dust)
    return network.flow, network.left, network.level


@internal
def _fill(network: _Network, dust: float) -> None:
    """Send flow along shortest routes until no more can be sent."""
    unmet, level = network.unmet, network.level
    while _find_levels(network, dust):
        next_link, next_back = network.link_start[:-1].copy(), network.back_start[:-1].copy()
        for j in range(len(unmet)):
            while unmet[j] > dust and level[j] == 0:
                if _push(network, j, next_link, next_back, dust) == 0.0:
                    break


@internal
def _new_network(
    supply: FloatArray, demand: FloatArray, link_start: IntArray, link_to: IntArray
) -> _Network:
    """Index the links by supply, and allocate a network without flow."""
    n_supply, n_demand, n_links = len(supply), len(demand), len(link_to)
    back_start = integers(n_supply + 1, 0)
    for i in link_to:
        back_start[i + 1] += 1
    for i in range(n_supply):
        back_start[i + 1] += back_start[i]
    fill = back_start[:-1].copy()
    back_link, link_from = integers(n_links, 0), integers(n_links, 0)
    for j in range(n_demand):
        for e in range(link_start[j], link_start[j + 1]):
            link_from[e] = j
            back_link[fill[link_to[e]]] = e
            fill[link_to[e]] += 1
    return _Network(
        left=supply.copy(),
        unmet=demand.copy(),
        flow=reals(n_links, 0.0),
        link_from=link_from,
        link_to=link_to,
        link_start=link_start,
        back_start=back_start,
        back_link=back_link,
        level=integers(n_demand, 0),
        reach=integers(n_supply, 0),
        queue=integers(n_demand, 0),
        path=integers(2 * n_demand + 2, 0),
    )


@internal
def _find_levels(network: _Network, dust: float) -> bool:
    """Compute distances from the unmet demands; returns whether a reached supply has any left."""
    left, unmet, flow, queue = network.left, network.unmet, network.flow, network.queue
    link_start, link_to, link_from = network.link_start, network.link_to, network.link_from
    back_start, back_link = network.back_start, network.back_link
    level, reach = network.level, network.reach
    for j in range(len(level)):
        level[j] = -1
    for i in range(len(reach)):
        reach[i] = -1
    head = tail = 0
    for j in range(len(unmet)):
        if unmet[j] > dust:
            level[j] = 0
            queue[tail] = j
            tail += 1
    found = False
    while head < tail:
        j = queue[head]
        head += 1
        for e in range(link_start[j], link_start[j + 1]):
            i = link_to[e]
            if reach[i] >= 0:
                continue
            reach[i] = level[j]
            if left[i] > dust:
                found = True
            for b in range(back_start[i], back_start[i + 1]):
                other = link_from[back_link[b]]
                if flow[back_link[b]] > dust and level[other] < 0:
                    level[other] = level[j] + 1
                    queue[tail] = other
                    tail += 1
    return found


@internal
def _push(
    network: _Network, j: int, next_link: IntArray, next_back: IntArray, dust: float
) -> float:
    """Send flow along one shortest route to demand j; returns its amount, 0 if no route is left.

    `next_link` and `next_back` hold the first link of each demand and supply not yet ruled out.
    """
    left, unmet, flow, path = network.left, network.unmet, network.flow, network.path
    link_start, link_to, link_from = network.link_start, network.link_to, network.link_from
    back_start, back_link = network.back_start, network.back_link
    level, reach = network.level, network.reach
    depth = 0  # number of links on the path; even at a demand, odd at a supply
    at = j
    while True:
        if depth % 2 == 0:
            if next_link[at] == link_start[at + 1]:
                if depth == 0:
                    return 0.0
                depth -= 1  # a dead end: rule this demand out
                next_back[link_to[path[depth - 1]]] += 1
                at = link_to[path[depth - 1]]
                continue
            if reach[link_to[next_link[at]]] != level[at]:
                next_link[at] += 1
                continue
            path[depth] = next_link[at]
            at = link_to[next_link[at]]
            depth += 1
            if left[at] > dust:
                break
            continue
        found = False
        here = level[link_from[path[depth - 1]]]
        while next_back[at] < back_start[at + 1]:
            e = back_link[next_back[at]]
            if flow[e] > dust and level[link_from[e]] == here + 1:
                found = True
                break
            next_back[at] += 1
        if found:
            path[depth] = back_link[next_back[at]]
            at = link_from[path[depth]]
            depth += 1
        else:
            depth -= 1
            at = link_from[path[depth]]
            next_link[at] += 1
    amount = min(unmet[j], left[at])
    for d in range(1, depth, 2):
        amount = min(amount, flow[path[d]])
    left[at] -= amount
    unmet[j] -= amount
    for d in range(depth):
        flow[path[d]] += amount if d % 2 == 0 else -amount
    return float(amount)
