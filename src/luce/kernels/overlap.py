"""Overlap classes of a chain family, in near-linear time in what is stored.

Two sets overlap if they meet and neither holds the other.  Rank the sets by decreasing size.
With the trie of `partition`, the first set that splits X has the rank of the node v(X) where
the categories of X part; if it precedes X it overlaps X, and then X is in one class with every
set of rank between r(v(X)) and r(X) that meets X (docs/structure.md proves this and the rest).
So from every category of X one climbs the trie from rank r(X) up to v(X) and joins what stands
there.  `Stations` are those places: on the edge into node c, the sets that hold all of c's
categories and come between the splits of c's parent and c.
"""

from typing import NamedTuple

import numpy as np

from luce._types import IntArray
from luce.kernels.jit import compiled, internal
from luce.kernels.partition import ORDER, START, Sets, Trie
from luce.kernels.passing_sets import find_passing_sets


class Stations(NamedTuple):
    """Up to two stations per trie edge: 2c for sets larger than node c, 2c + 1 for c itself.

    `delegate` is a set that stands there (-1: none), `above` the next station towards the
    root, `skip` leads past stations known to be in one class, `rank` is that of the split
    above the edge, `last` the deepest station on the edge into each node or above it.
    """

    delegate: IntArray
    above: IntArray
    skip: IntArray
    rank: IntArray
    last: IntArray


@internal
def find(root: IntArray, i: int) -> int:
    """Representative of i, halving the path to it."""
    while root[i] != i:
        root[i] = root[root[i]]
        i = root[i]
    return i


@internal
def join(root: IntArray, i: int, j: int) -> None:
    """Put i and j in one class."""
    a, b = find(root, i), find(root, j)
    if a != b:
        root[max(a, b)] = min(a, b)


@compiled
def rank_by_size(sizes: IntArray, n: int) -> IntArray:
    """Sets from the largest to the smallest (a stable counting sort)."""
    begin = np.zeros(n + 2, np.int64)
    for size in sizes:
        begin[n - size + 1] += 1
    for i in range(1, n + 2):
        begin[i] += begin[i - 1]
    order = np.empty(len(sizes), np.int64)
    for t in range(len(sizes)):
        order[begin[n - sizes[t]]] = t
        begin[n - sizes[t]] += 1
    return order


@compiled
def first_splits(sets: Sets, cells: IntArray, trie: Trie) -> tuple[IntArray, IntArray]:
    """For each set, the trie node where its categories part, and one category of it."""
    # Leaves from left to right, and the node that parts each from the next.
    n_leaves = len(trie.leaf)
    atom = np.empty(sets.n, np.int64)
    leaf = np.empty(n_leaves, np.int64)
    parting = np.empty(n_leaves, np.int64)
    left_end = np.full(sets.n, -1, np.int64)
    for s in range(n_leaves):
        left_end[cells[START, s]] = s
    a = -1
    for p in range(sets.n):
        if left_end[p] >= 0:
            a += 1
            leaf[a] = trie.leaf[left_end[p]]
            parting[a] = trie.separator[p]
        atom[cells[ORDER, p]] = a

    table = _range_minimum_table(trie.rank, parting)
    node = np.empty(len(sets.end), np.int64)
    some = np.empty(len(sets.end), np.int64)
    mark = np.full(n_leaves, -1, np.int64)
    lo = hi = 0
    for t in range(len(sets.end)):
        bottom, excluded = sets.bottom[t], sets.complement[t]
        if sets.begin[t] == bottom:
            lo, hi = (0, n_leaves - 1) if excluded else (n_leaves, -1)
        for p in range(sets.begin[t], sets.end[t]):
            a = atom[sets.members[p]]
            mark[a] = bottom
            if not excluded:
                lo, hi = min(lo, a), max(hi, a)
        while excluded and mark[lo] == bottom:
            lo += 1
        while excluded and mark[hi] == bottom:
            hi -= 1
        node[t] = leaf[lo] if lo == hi else _parting_node(trie.rank, table, lo, hi)
        some[t] = cells[ORDER, trie.start[leaf[lo]]]
    return node, some


@internal
def _range_minimum_table(rank: IntArray, parting: IntArray) -> IntArray:
    """Sparse table: entry [j, i] is the node of least rank among ``parting[i:i + 2**j]``."""
    n = len(parting)
    levels = 1
    while (1 << levels) < n:
        levels += 1
    table = np.empty((levels, n), np.int64)
    for i in range(n):
        table[0, i] = parting[i]
    for j in range(1, levels):
        half = 1 << (j - 1)
        for i in range(1, n - 2 * half + 1):
            u, v = table[j - 1, i], table[j - 1, i + half]
            table[j, i] = u if rank[u] < rank[v] else v
    return table


@internal
def _parting_node(rank: IntArray, table: IntArray, lo: int, hi: int) -> int:
    """Return the node of least rank that parts leaves lo..hi."""
    j = 0
    while (2 << j) <= hi - lo:
        j += 1
    u, v = table[j, lo + 1], table[j, hi + 1 - (1 << j)]
    return int(u if rank[u] < rank[v] else v)


@compiled
def overlap_classes(sets: Sets, cells: IntArray, trie: Trie, node: IntArray) -> IntArray:
    """Class of each set, named by one of its sets."""
    n_sets = len(sets.end)
    root = np.arange(n_sets)
    first = np.empty(n_sets, np.int64)  # rank of the first set that splits each set
    for t in range(n_sets):
        first[t] = trie.rank[node[t]]
        if first[t] < sets.rank[t]:
            join(root, t, sets.by_rank[first[t]])
    _join_large(sets, first, root)
    stations = _place_stations(sets, cells, trie, node, first)
    rank, home, last = sets.rank, trie.home, stations.last
    for t in range(n_sets):
        if sets.complement[t] or first[t] >= rank[t]:
            continue
        for p in range(sets.begin[t], sets.end[t]):
            _climb(stations, root, t, 2 * home[p], first[t])
        if sets.begin[t] > sets.bottom[t]:
            if first[t - 1] < rank[t]:
                join(root, t, t - 1)
                _climb(stations, root, t, last[node[t - 1]], first[t])
            else:
                _climb(stations, root, t, 2 * trie.lower_home[t], first[t])
    for t in range(n_sets):
        root[t] = find(root, t)
    return root


@internal
def _join_large(sets: Sets, first: IntArray, root: IntArray) -> None:
    """Sets of more than half the categories all meet: ranks alone tell who is joined."""
    n_sets = len(sets.end)
    covered = np.zeros(n_sets + 1, np.int64)  # by how many intervals is the step r -> r + 1
    for t in range(n_sets):
        if sets.complement[t] and first[t] < sets.rank[t]:
            covered[first[t]] += 1
            covered[sets.rank[t]] -= 1
    depth = 0
    for r in range(n_sets - 1):
        depth += covered[r]
        if depth > 0:
            join(root, sets.by_rank[r], sets.by_rank[r + 1])


@internal
def _place_stations(
    sets: Sets, cells: IntArray, trie: Trie, node: IntArray, first: IntArray
) -> Stations:
    n_nodes = len(trie.parent)
    delegate = np.full(2 * n_nodes, -1, np.int64)
    for t in range(len(sets.end)):
        v = node[t]
        if sets.size[t] == trie.stop[v] - trie.start[v] and sets.rank[t] < trie.rank[v]:
            delegate[2 * v + 1] = t
    for c in range(1, n_nodes):
        splitter = sets.by_rank[trie.rank[trie.parent[c]]]
        if trie.inside[c] and sets.size[splitter] > trie.stop[c] - trie.start[c]:
            delegate[2 * c] = splitter
    for t in range(len(sets.end)):
        if sets.complement[t] or first[t] >= sets.rank[t]:
            continue
        for p in range(sets.begin[t], sets.end[t]):
            _stand(delegate, trie.home[p], t)
        if sets.begin[t] > sets.bottom[t] and first[t - 1] >= sets.rank[t]:
            _stand(delegate, trie.lower_home[t], t)
    find_passing_sets(sets, cells, trie, delegate)
    above = np.full(2 * n_nodes, -1, np.int64)
    rank = np.full(2 * n_nodes, -1, np.int64)
    last = np.full(n_nodes, -1, np.int64)
    for c in range(n_nodes):
        here = last[trie.parent[c]] if c > 0 else -1
        for s in (2 * c, 2 * c + 1):
            if delegate[s] >= 0:
                above[s] = here
                rank[s] = trie.rank[trie.parent[c]]
                here = s
        last[c] = here
    return Stations(delegate, above, np.arange(2 * n_nodes), rank, last)


@internal
def _stand(delegate: IntArray, c: int, t: int) -> None:
    """Let set t stand for the edge into node c, unless one does: t will join it in its climb."""
    if delegate[2 * c] < 0:
        delegate[2 * c] = t


@internal
def _climb(stations: Stations, root: IntArray, t: int, station: int, upto: int) -> None:
    """Join set t with every station from this one up to the node of rank `upto`."""
    s = station
    if s < 0 or stations.rank[s] < upto:
        return
    join(root, t, stations.delegate[s])
    while True:
        s = find(stations.skip, s)
        up = stations.above[s]
        if up < 0 or stations.rank[up] < upto:
            return
        join(root, stations.delegate[s], stations.delegate[up])
        stations.skip[s] = up
