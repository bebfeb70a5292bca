"""Partition refinement by the sets of a family of nests, in time linear in the stored members.

Cells are intervals of one permutation of the categories.  Refining by a set splits each cell into
the part inside (left) and the part outside (right).  After the refinement by a larger set S' of a
nest, refining by the next smaller one S touches only S' - S, because every cell already lies inside
or outside S'.  A whole nest therefore costs its length.

By sets of decreasing size, the splits form a binary tree (a *trie*): node v, split by the set of
rank r(v), holds the categories that agree on all sets of smaller rank.
"""

import numpy as np

from luce._types import IntArray, RecordArray
from luce.kernels.jit import compiled, internal

# Tables are arrays of records: passing one array to a compiled function is cheap, passing a dozen
# is not and takes seconds to compile.

# One record a set of a family.  Set t adds members[begin:end] to the prefix before it in its nest,
# which starts at `bottom`; with `complement` the set is the complement of its prefix.  Its nest
# holds the sets nest_first..nest_stop-1.  Refining by it touches members[touch_begin:touch_end],
# which lie inside the set or, if `touch_inside` is 0, outside.  `larger` is the next larger set of
# its nest, -1 if there is none.  `rank` is its position by decreasing size, and `by_rank` of record
# r the set of rank r.  Filled in by the algorithms: `node`, the node where its categories part;
# `first`, the rank of the set that parts them; `some`, a category of it; `lower_home`, the node
# of the next smaller set of its nest at the time of its refinement.
SET_RECORD = np.dtype(
    (
        np.record,
        [(name, np.int64) for name in ("complement", "bottom", "begin", "end")]
        + [(name, np.int64) for name in ("nest_first", "nest_stop", "larger", "n_members")]
        + [(name, np.int64) for name in ("touch_begin", "touch_end", "touch_inside")]
        + [(name, np.int64) for name in ("rank", "by_rank", "node", "first", "some", "lower_home")],
    )
)

# One record a node of the trie; node 0 is the root, a parent precedes its children.  Node v covers
# the positions start..stop-1 and was split by the set of rank `rank` (the number of sets for a
# leaf); `inside` is 1 for the part inside the set that split its parent.
TRIE_RECORD = np.dtype(
    (np.record, [(name, np.int64) for name in ("parent", "rank", "start", "stop", "inside")])
)

# Rows of an ordered partition, one integer array: the categories cell by cell; position and cell of
# each category; start, stop and number of touched categories of each cell; list of touched cells.
ORDER, PLACE, CELL, START, STOP, HITS, TOUCHED = range(7)


@internal
def new_cells(n: int) -> IntArray:
    """Make the partition with all categories in one cell."""
    cells = np.zeros((7, n), np.int64)
    for x in range(n):  # a loop, because assigning whole rows takes seconds to compile
        cells[ORDER, x] = x
        cells[PLACE, x] = x
    cells[STOP, 0] = n
    return cells


@internal
def touch(cells: IntArray, members: IntArray, begin: int, end: int, inside: bool) -> int:
    """Move members[begin:end] to the left (inside) or right end of their cells.

    Returns the number of touched cells, which row TOUCHED lists.
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
    """Split the touched part of cell s off as the cell `new`; False if that is all of s."""
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
def trie_by_size(
    n: int, members: IntArray, sets: RecordArray
) -> tuple[IntArray, RecordArray, IntArray, IntArray, IntArray]:
    """Refine by all sets, the largest first, and record each split.

    Returns
    -------
    cells
        The final partition: its cells are the atoms.
    trie
        The splits.
    home
        Node of ``members[p]`` just after the refinement by the set that adds it (direct nests).
    separator
        Node whose split put a border at each position, -1 where there is none.
    leaf
        Node of each cell.
    """
    n_sets = len(sets)
    cells = new_cells(n)
    trie = np.zeros(2 * n, TRIE_RECORD)
    home = np.full(len(members), -1, np.int64)
    separator = np.full(n + 1, -1, np.int64)
    node = np.zeros(n, np.int64)  # of each cell
    trie[0].parent, trie[0].stop, trie[0].rank = -1, n, n_sets
    n_nodes = n_cells = 1
    for r in range(n_sets):
        t = sets[r].by_rank
        left = sets[t].touch_inside != 0
        for i in range(touch(cells, members, sets[t].touch_begin, sets[t].touch_end, left)):
            s = cells[TOUCHED, i]
            if not split(cells, s, n_cells, left):
                continue
            v = node[s]
            trie[v].rank = r
            separator[cells[STOP, n_cells] if left else cells[START, n_cells]] = v
            for part in (s, n_cells):
                node[part] = n_nodes
                trie[n_nodes].parent = v
                trie[n_nodes].rank = n_sets
                trie[n_nodes].start = cells[START, part]
                trie[n_nodes].stop = cells[STOP, part]
                trie[n_nodes].inside = (part == n_cells) == left
                n_nodes += 1
            n_cells += 1
        if sets[t].complement == 0:
            for p in range(sets[t].begin, sets[t].end):
                home[p] = node[cells[CELL, members[p]]]
            sets[t].lower_home = node[cells[CELL, members[sets[t].bottom]]]
    return cells, trie[:n_nodes], home, separator, node[:n_cells]
