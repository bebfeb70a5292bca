"""Which category each grouped outcome belonged to, given the probabilities."""

from typing import NamedTuple

import numpy as np

from luce._types import FloatArray, IntArray, WordArray
from luce.kernels.binomial import share_draw
from luce.kernels.jit import internal
from luce.kernels.problem import Problem, Wide
from luce.kernels.set_sums import plus, zero


class SplitSpace(NamedTuple):
    """Scratch of `split_groups`.

    Attributes
    ----------
    nests
        The nests with grouped outcomes.
    beyond
        Sum over the part of a set that is still to be visited.
    tree
        Leaf n + i holds x_i, node v the sum of nodes 2 v and 2 v + 1, node 1 the sum of all;
        empty when no complement nest has grouped outcomes.
    pending
        Nodes that have outcomes to pass down, and how many: one per level of the tree.
    """

    nests: IntArray
    beyond: FloatArray
    tree: FloatArray
    pending: FloatArray


def split_space(problem: Problem) -> SplitSpace | None:
    """Make one Markov chain's scratch for this problem; None without grouped outcomes."""
    n = len(problem.shape)
    nest_of_set = np.repeat(np.arange(len(problem.complement)), np.diff(problem.set_start))
    nests = np.unique(nest_of_set[problem.groups > 0])
    if len(nests) == 0:
        return None
    nodes = 2 * n if problem.complement[nests].any() else 0
    return SplitSpace(nests, np.empty(n), np.empty(nodes), np.empty((64, 2)))


@internal
def split_groups(
    bits: WordArray, problem: Problem, x: FloatArray, space: SplitSpace, counts: FloatArray
) -> None:
    """counts_i += Σ_t k_ti,  (k_ti)_{i ∈ S_t} ~ Multinomial(n_t; x_i / x(S_t)).

    Outcomes of a set that fall on the next smaller set of its nest are passed on together
    with that set's own, so a nest costs its stored length.
    """
    n, tree = len(x), space.tree
    if len(tree) > 0:
        for i in range(n):
            tree[n + i] = x[i]
        for node in range(n - 1, 0, -1):
            tree[node] = plus(tree[2 * node], tree[2 * node + 1], problem.wide)
    for k in space.nests:
        if problem.complement[k]:
            _split_kept(bits, problem, k, x, space, counts)
        else:
            _split_prefixes(bits, problem, k, x, space, counts)


@internal
def _split_prefixes(
    bits: WordArray, problem: Problem, k: int, x: FloatArray, space: SplitSpace, counts: FloatArray
) -> None:
    wide, members, beyond = problem.wide, problem.members, space.beyond
    start, t = problem.nest_start[k], problem.set_start[k + 1] - 1
    stop, running, carried = problem.set_end[t], zero(wide), 0.0
    for position in range(start, stop):
        beyond[position - start] = running
        running = plus(running, x[members[position]], wide)
    for position in range(stop - 1, start - 1, -1):
        if t >= problem.set_start[k] and problem.set_end[t] == position + 1:
            carried += problem.groups[t]
            t -= 1
        if carried > 0.0:
            i = members[position]
            here = share_draw(bits, carried, x[i], beyond[position - start], wide)
            counts[i] += here
            carried -= here


@internal
def _split_kept(
    bits: WordArray, problem: Problem, k: int, x: FloatArray, space: SplitSpace, counts: FloatArray
) -> None:
    wide, members, beyond, tree = problem.wide, problem.members, space.beyond, space.tree
    first, start = problem.set_start[k], problem.nest_start[k]
    begin, stop = problem.set_end[first], problem.set_end[problem.set_start[k + 1] - 1]
    # Without the leaves the nest lists, the tree holds what belongs to all of its sets.
    for position in range(start, stop):
        _set_leaf(tree, members[position], zero(wide), wide)
    running = tree[1]
    for position in range(stop - 1, begin - 1, -1):
        beyond[position - start] = running
        running = plus(running, x[members[position]], wide)
    carried, t = problem.groups[first], first + 1
    for position in range(begin, stop):
        if carried > 0.0:
            i = members[position]
            here = share_draw(bits, carried, x[i], beyond[position - start], wide)
            counts[i] += here
            carried -= here
        if problem.set_end[t] == position + 1:
            carried += problem.groups[t]
            t += 1
    _descend(bits, carried, tree, space.pending, wide, counts)
    for position in range(start, stop):
        _set_leaf(tree, members[position], x[members[position]], wide)


@internal
def _set_leaf(tree: FloatArray, i: int, value: float, wide: Wide) -> None:
    node = len(tree) // 2 + i
    tree[node] = value
    while node > 1:
        node //= 2
        tree[node] = plus(tree[2 * node], tree[2 * node + 1], wide)


@internal
def _descend(
    bits: WordArray,
    count: float,
    tree: FloatArray,
    pending: FloatArray,
    wide: Wide,
    out: FloatArray,
) -> None:
    """Pass outcomes from the root to the leaves; branches that get none are not entered."""
    n, height = len(out), 1
    pending[0, 0], pending[0, 1] = 1.0, count
    while height > 0:
        height -= 1
        node, count = int(pending[height, 0]), pending[height, 1]
        if count > 0.0 and node >= n:
            out[node - n] += count
        elif count > 0.0:
            left = share_draw(bits, count, tree[2 * node], tree[2 * node + 1], wide)
            pending[height, 0], pending[height, 1] = 2.0 * node, left
            pending[height + 1, 0], pending[height + 1, 1] = 2.0 * node + 1.0, count - left
            height += 2
