"""Can every demand be met from the supplies it is linked to?  Dinic's method for transport.

Links join supply nodes and demand nodes; the flow on each is as large as the two ends allow.  In
every phase a breadth-first search from the unmet demands finds how many times flow must be
rerouted, and a depth-first search fills all shortest routes.  At most as many phases as nodes,
for real capacities as for whole ones.
"""

import numpy as np

from luce._types import BoolArray, FloatArray, IntArray
from luce.kernels.jit import compiled, internal


@compiled
def unmet_demands(
    supply: FloatArray,
    demand: FloatArray,
    link_start: IntArray,
    link_to: IntArray,
    dust: float,
) -> BoolArray:
    """Which demands belong to a group that asks for more than all its supplies have?

    Demand j is linked to the supplies ``link_to[link_start[j]:link_start[j + 1]]``.  All False
    means that everything can be met.  Amounts up to `dust` are rounding.
    """
    n_supply, n_demand = len(supply), len(demand)
    back_start, back_link, link_from = _turn_around(n_supply, link_start, link_to)
    flow = np.zeros(len(link_to))
    left, unmet = supply.copy(), demand.copy()
    level, reach = np.empty(n_demand, np.int64), np.empty(n_supply, np.int64)
    queue = np.empty(n_demand, np.int64)
    path = np.empty(2 * n_demand + 2, np.int64)
    while True:
        reached = _levels(
            left, unmet, flow, link_start, link_to, back_start, back_link, link_from,
            level, reach, queue, dust,
        )  # fmt: skip
        if not reached:
            return level >= 0
        next_link, next_back = link_start[:-1].copy(), back_start[:-1].copy()
        for j in range(n_demand):
            while unmet[j] > dust and level[j] == 0:
                moved = _push(
                    j, left, unmet, flow, link_start, link_to, back_start, back_link, link_from,
                    level, reach, next_link, next_back, path, dust,
                )  # fmt: skip
                if moved == 0.0:
                    break


@internal
def _turn_around(
    n_supply: int, link_start: IntArray, link_to: IntArray
) -> tuple[IntArray, IntArray, IntArray]:
    """Links by supply: where each supply's begin, their numbers, and the demand of each link."""
    back_start = np.zeros(n_supply + 1, np.int64)
    for i in link_to:
        back_start[i + 1] += 1
    for i in range(n_supply):
        back_start[i + 1] += back_start[i]
    fill = back_start[:-1].copy()
    back_link = np.empty(len(link_to), np.int64)
    link_from = np.empty(len(link_to), np.int64)
    for j in range(len(link_start) - 1):
        for e in range(link_start[j], link_start[j + 1]):
            link_from[e] = j
            back_link[fill[link_to[e]]] = e
            fill[link_to[e]] += 1
    return back_start, back_link, link_from


@internal
def _levels(
    left: FloatArray,
    unmet: FloatArray,
    flow: FloatArray,
    link_start: IntArray,
    link_to: IntArray,
    back_start: IntArray,
    back_link: IntArray,
    link_from: IntArray,
    level: IntArray,
    reach: IntArray,
    queue: IntArray,
    dust: float,
) -> bool:
    """Distance of demands and supplies from the unmet demands, -1 if not reached.

    Returns whether any supply is left among those reached.
    """
    level[:] = -1
    reach[:] = -1
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
    j: int,
    left: FloatArray,
    unmet: FloatArray,
    flow: FloatArray,
    link_start: IntArray,
    link_to: IntArray,
    back_start: IntArray,
    back_link: IntArray,
    link_from: IntArray,
    level: IntArray,
    reach: IntArray,
    next_link: IntArray,
    next_back: IntArray,
    path: IntArray,
    dust: float,
) -> float:
    """Send flow along one shortest route to demand j; 0 if there is none left.

    `path` alternates between a link taken and the link, at the same supply, given up for it.
    """
    depth = 0  # links on the path; even: at a demand, odd: at a supply
    at = j
    while True:
        if depth % 2 == 0:
            if next_link[at] == link_start[at + 1]:
                if depth == 0:
                    return 0.0
                depth -= 1  # dead end: do not come back to this demand
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
