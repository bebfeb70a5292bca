"""Partition refinement by the sets of a chain family, at the cost of what is stored.

Cells are intervals of one permutation of the categories.  Refining by a set splits every
cell into the part inside (left) and the part outside (right).  After a chain's larger set
S' has been used, refining by the next smaller one S touches only S' - S, because every cell
already lies inside or outside S'.  So a whole chain costs its length.

Used in order of decreasing size, the splits form a binary tree (a *trie*): node v, split by
the set of rank r(v), has the categories that agree on all sets of smaller rank.
"""

from typing import NamedTuple

import numpy as np

from luce._types import BoolArray, IntArray
from luce.kernels.jit import compiled, internal


class Sets(NamedTuple):
    """A chain family as the structure kernels want it: everything per set.

    Set t adds ``members[begin[t]:end[t]]`` to the prefix before it in its chain, which starts
    at ``bottom[t]``; `complement` says whether it is everything but its prefix.  To refine by
    it one touches ``members[touch_begin[t]:touch_end[t]]``, which lie inside it or
    (`touch_inside`) not.  `larger` is the next larger set of its chain, -1 if there is none.
    """

    n: int
    members: IntArray
    complement: BoolArray
    bottom: IntArray
    begin: IntArray
    end: IntArray
    touch_begin: IntArray
    touch_end: IntArray
    touch_inside: BoolArray
    larger: IntArray
    chain_of_set: IntArray
    set_start: IntArray
    size: IntArray
    rank: IntArray
    by_rank: IntArray


# An ordered partition is one integer array, so that passing it to a function is cheap: rows
# for the categories cell by cell, the place and the cell of each category, and, per cell, where
# it starts and stops, how many of its categories were touched, and the list of touched cells.
ORDER, PLACE, CELL, START, STOP, HITS, TOUCHED = range(7)


class Trie(NamedTuple):
    """The splits as a binary tree; node 0 is the root, a parent precedes its children.

    Node v covers ``order[start[v]:stop[v]]`` and was split by the set of rank ``rank[v]``
    (the number of sets for a leaf); `inside` says whether it is the part inside its
    parent's splitter.  `home[p]` is the node of ``members[p]`` right after the set that
    lists it was used, `lower_home[t]` that of the smaller set set t builds on (direct
    chains only).  `separator[b]` is the node whose split put a border at place b.
    """

    parent: IntArray
    rank: IntArray
    start: IntArray
    stop: IntArray
    inside: BoolArray
    home: IntArray
    lower_home: IntArray
    separator: IntArray
    leaf: IntArray


@internal
def new_cells(n: int) -> IntArray:
    """All categories in one cell."""
    cells = np.zeros((7, n), np.int64)
    for x in range(n):  # assigning whole rows takes seconds to compile
        cells[ORDER, x] = x
        cells[PLACE, x] = x
    cells[STOP, 0] = n
    return cells


@internal
def touch(cells: IntArray, members: IntArray, begin: int, end: int, inside: bool) -> int:
    """Gather some members at the left (inside) or right end of their cells.

    Returns how many cells were touched, listed in row TOUCHED.
    """
    n_touched = 0
    for p in range(begin, end):
        x = members[p]
        s = cells[CELL, x]
        if cells[HITS, s] == 0:
            cells[TOUCHED, n_touched] = s
            n_touched += 1
        to = cells[START, s] + cells[HITS, s] if inside else cells[STOP, s] - 1 - cells[HITS, s]
        cells[HITS, s] += 1
        at = cells[PLACE, x]
        y = cells[ORDER, to]
        cells[ORDER, to] = x
        cells[ORDER, at] = y
        cells[PLACE, x] = to
        cells[PLACE, y] = at
    return n_touched


@internal
def split(cells: IntArray, s: int, new: int, inside: bool) -> bool:
    """Make the touched part of cell s the cell `new`; False if that is all of s."""
    hits = cells[HITS, s]
    cells[HITS, s] = 0
    if hits == cells[STOP, s] - cells[START, s]:
        return False
    if inside:
        cells[START, new] = cells[START, s]
        cells[START, s] += hits
        cells[STOP, new] = cells[START, s]
    else:
        cells[STOP, new] = cells[STOP, s]
        cells[STOP, s] -= hits
        cells[START, new] = cells[STOP, s]
    for p in range(cells[START, new], cells[STOP, new]):
        cells[CELL, cells[ORDER, p]] = new
    return True


@compiled
def trie_by_size(sets: Sets) -> tuple[IntArray, Trie]:
    """Refine by all sets, the largest first; record every split."""
    n, members, by_rank = sets.n, sets.members, sets.by_rank
    touch_begin, touch_end, touch_inside = sets.touch_begin, sets.touch_end, sets.touch_inside
    complement, bottom, begin, end = sets.complement, sets.bottom, sets.begin, sets.end
    n_sets = len(by_rank)
    cells = new_cells(n)
    parent = np.full(2 * n, -1, np.int64)
    rank = np.full(2 * n, n_sets, np.int64)
    start = np.zeros(2 * n, np.int64)
    stop = np.zeros(2 * n, np.int64)
    inside = np.zeros(2 * n, np.bool_)
    home = np.full(len(members), -1, np.int64)
    lower_home = np.full(n_sets, -1, np.int64)
    separator = np.full(n + 1, -1, np.int64)
    node = np.zeros(n, np.int64)  # of each cell
    stop[0] = n
    n_nodes = n_cells = 1
    for r in range(n_sets):
        t = by_rank[r]
        left = touch_inside[t]
        for i in range(touch(cells, members, touch_begin[t], touch_end[t], left)):
            s = cells[TOUCHED, i]
            if not split(cells, s, n_cells, left):
                continue
            v = node[s]
            rank[v] = r
            separator[cells[STOP, n_cells] if left else cells[START, n_cells]] = v
            for part in (s, n_cells):
                node[part] = n_nodes
                parent[n_nodes] = v
                start[n_nodes] = cells[START, part]
                stop[n_nodes] = cells[STOP, part]
                inside[n_nodes] = (part == n_cells) == left
                n_nodes += 1
            n_cells += 1
        if not complement[t]:
            for p in range(begin[t], end[t]):
                home[p] = node[cells[CELL, members[p]]]
            lower_home[t] = node[cells[CELL, members[bottom[t]]]]
    return cells, Trie(
        parent[:n_nodes],
        rank[:n_nodes],
        start[:n_nodes],
        stop[:n_nodes],
        inside[:n_nodes],
        home,
        lower_home,
        separator,
        node[:n_cells],
    )
