"""Draw the categories of grouped outcomes, given the probabilities."""

from typing import Any, NamedTuple

import numpy as np

from luce._types import FloatArray, IntArray, WordArray
from luce.kernels.jit import internal
from luce.kernels.layouts import AnyProblem, Nests, Weighted
from luce.kernels.problem import Problem, Wide
from luce.kernels.random import binomial
from luce.kernels.set_sums import plus, ratio, weighed, weights_of, zero


class SplitSpace(NamedTuple):
    """Scratch arrays of `split_groups`.

    Attributes
    ----------
    nests
        The nests with grouped outcomes.
    beyond
        Sum of x over the members of a set that follow in the order of visits.
    tree
        Binary tree of sums: leaf n + i holds x_i, node v the sum of nodes 2 v and 2 v + 1, node 1
        the sum of all; None where no nest of complements has grouped outcomes, and the code for
        such nests is then not compiled.
    pending
        Nodes with outcomes to pass down and their numbers of outcomes: one per level of the tree;
        None where `tree` is.
    """

    nests: IntArray
    beyond: FloatArray
    tree: FloatArray | None
    pending: FloatArray | None


def split_space(problem: Problem) -> SplitSpace | None:
    """Allocate the scratch arrays of one Markov chain; None without grouped outcomes."""
    n = len(problem.shape)
    nest_of_set = np.repeat(np.arange(len(problem.complement)), np.diff(problem.set_start))
    nests = np.unique(nest_of_set[problem.groups > 0])
    if len(nests) == 0:
        return None
    if not problem.complement[nests].any():
        return SplitSpace(nests, np.empty(n), None, None)
    return SplitSpace(nests, np.empty(n), np.empty(2 * n), np.empty((64, 2)))


@internal
def split_groups(
    bits: WordArray, problem: AnyProblem, x: FloatArray, space: SplitSpace, counts: FloatArray
) -> None:
    """Draw the categories of all grouped outcomes and add them to `counts`.

        counts_i += Σ_t k_ti,   (k_ti)_{i ∈ S_t} ~ Multinomial(n_t; x_i / x(S_t))

    Outcomes of a set that fall on the next smaller set of its nest are drawn together with the
    outcomes of that set, so that the cost of a nest is its stored length.  With weights, x_i stands
    for x_i times the weight of i in S_t.
    """
    weights, tree, pending = weights_of(problem), space.tree, space.pending
    _split_nests(bits, problem, weights, x, space.nests, space.beyond, tree, pending, counts)


@internal
def _split_nests(
    bits: WordArray,
    problem: Any,
    weights: FloatArray | None,
    x: FloatArray,
    nests: IntArray,
    beyond: FloatArray,
    tree: FloatArray | None,
    pending: FloatArray | None,
    counts: FloatArray,
) -> None:
    """Split nest by nest; a branch on None is decided when this is compiled."""
    if tree is None:
        for k in nests:
            _split_prefixes(bits, problem, k, weights, x, beyond, counts)
    else:
        n = len(x)
        for i in range(n):
            tree[n + i] = x[i]
        for node in range(n - 1, 0, -1):
            tree[node] = plus(tree[2 * node], tree[2 * node + 1], problem.wide)
        for k in nests:
            if problem.complement[k]:
                _split_complements(bits, problem, k, x, beyond, tree, pending, counts)
            else:
                _split_prefixes(bits, problem, k, weights, x, beyond, counts)


@internal
def _split_prefixes(
    bits: WordArray,
    problem: Nests | Weighted | Problem,
    k: int,
    weights: FloatArray | None,
    x: FloatArray,
    beyond: FloatArray,
    counts: FloatArray,
) -> None:
    """Split the outcomes of a nest of direct sets, from the last member to the first."""
    wide, members = problem.wide, problem.members
    # Signed: 0 less 1 of an index without a sign is large where this runs as Python.
    start, t = np.int64(problem.nest_start[k]), np.int64(problem.set_start[k + 1]) - 1
    stop, running, carried = np.int64(problem.set_end[t]), zero(wide), 0.0
    for position in range(start, stop):
        beyond[position - start] = running
        running = plus(running, weighed(x[members[position]], weights, position, wide), wide)
    for position in range(stop - 1, start - 1, -1):
        if t >= problem.set_start[k] and problem.set_end[t] == position + 1:
            carried += problem.groups[t]
            t -= 1
        if carried > 0.0:
            i = members[position]
            own = weighed(x[i], weights, position, wide)
            here = _share(bits, carried, own, beyond[position - start], wide)
            counts[i] += here
            carried -= here


@internal
def _split_complements(
    bits: WordArray,
    problem: Problem,
    k: int,
    x: FloatArray,
    beyond: FloatArray,
    tree: FloatArray,
    pending: FloatArray | None,
    counts: FloatArray,
) -> None:
    """Split the outcomes of a nest of complements: on its members, then on all others by a tree."""
    wide, members = problem.wide, problem.members
    first, start = problem.set_start[k], problem.nest_start[k]
    begin, stop = problem.set_end[first], problem.set_end[problem.set_start[k + 1] - 1]
    # Set the leaves of the nest's members to 0: the tree then holds the intersection of its sets.
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
            here = _share(bits, carried, x[i], beyond[position - start], wide)
            counts[i] += here
            carried -= here
        if problem.set_end[t] == position + 1:
            carried += problem.groups[t]
            t += 1
    _descend(bits, carried, tree, pending, wide, counts)
    for position in range(start, stop):
        _set_leaf(tree, members[position], x[members[position]], wide)


@internal
def _set_leaf(tree: FloatArray, i: int, value: float, wide: Wide) -> None:
    """Set leaf i of a tree of sums and update the sums above it."""
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
    pending: Any,
    wide: Wide,
    out: FloatArray,
) -> None:
    """Pass outcomes from the root to the leaves, skipping branches without any."""
    n, height = len(out), 1
    pending[0, 0], pending[0, 1] = 1.0, count
    while height > 0:
        height -= 1
        node, count = int(pending[height, 0]), pending[height, 1]
        if count > 0.0 and node >= n:
            out[node - n] += count
        elif count > 0.0:
            left = _share(bits, count, tree[2 * node], tree[2 * node + 1], wide)
            pending[height, 0], pending[height, 1] = 2.0 * node, left
            pending[height + 1, 0], pending[height + 1, 1] = 2.0 * node + 1.0, count - left
            height += 2


@internal
def _share(bits: WordArray, count: float, a: float, b: float, wide: Wide) -> float:
    """Draw Binomial(count, a / (a + b)), via the smaller part, whose share keeps all digits."""
    total = plus(a, b, wide)
    if a <= b:
        return binomial(bits, count, ratio(a, total, wide))
    return count - binomial(bits, count, ratio(b, total, wide))
