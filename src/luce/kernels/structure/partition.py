"""Partition refinement by the sets of a family of nests, in time linear in the stored members.

Cells are intervals of one permutation of the categories.  Refining by a set splits each cell into
the part inside (left) and the part outside (right).  After the refinement by a larger set S' of a
nest, refining by the next smaller one S touches only S' - S, because every cell already lies inside
or outside S'.  A whole nest therefore costs its length.

By sets of decreasing size, the splits form a binary tree (a *trie*): node v, split by the set of
rank r(v), holds the categories that agree on all sets of smaller rank.
"""

from typing import NamedTuple

import numpy as np

from luce._types import BoolArray, IntArray, RecordArray
from luce.kernels.jit import borrowed, internal
from luce.kernels.plain import integers, records


def record(*names: str) -> np.dtype[np.void]:
    """Make the type of a record of integers."""
    return np.dtype((np.record, [(name, np.int64) for name in names]))


# Tables are arrays of records: passing one array to a compiled function is cheap, passing a dozen
# is not and takes seconds to compile, and the fields of a record are fetched from memory together.

# One record a set of a family.  Set t adds members[begin:end] to the prefix before it in its nest,
# which starts at `bottom`; with `complement` the set is the complement of its prefix.  `larger` is
# the next larger set of its nest, -1 if there is none.  Filled in by the algorithms: `some`, a
# category of it, and `group`, its overlap class.  The sets class by class are `by_class` of records
# 0, 1, ..., sets of a class in order of rank; `in_nest_order` has them in order of their numbers.
SET_RECORD = record(
    "complement", "bottom", "begin", "end", "larger", "some", "group", "by_class", "in_nest_order"
)

# One record a set, for the search of overlaps.  `rank` is its position by decreasing size, and
# `by_rank` of record r the set of rank r.  Its nest holds the sets nest_first..nest_stop-1.
# Filled in by the algorithms: `node`, the node where its categories part; `first`, the rank of the
# set that parts them; `lower_home`, the node of the next smaller set of its nest at the time of its
# refinement.
RANK_RECORD = record(
    "rank", "by_rank", "n_members", "nest_first", "nest_stop", "node", "first", "lower_home"
)

# One record a node of the trie; node 0 is the root, a parent precedes its children.  Node v covers
# the positions start..stop-1 and was split by the set of rank `rank` (the number of sets for a
# leaf); `inside` is 1 for the part inside the set that split its parent.
TRIE_RECORD = record("parent", "rank", "start", "stop", "inside")

# One record a category: its cell, and its position, which is -1 if it is alone in the cell.
PLACE_RECORD = record("cell", "place")

# One record a cell: its positions start..stop-1, the number of touched categories, and the node or
# module that it is.
CELL_RECORD = record("start", "stop", "hits", "owner")


class Partition(NamedTuple):
    """Cells, as intervals of a permutation of the categories.

    `order` has the categories cell by cell; `places` has a PLACE_RECORD for each category, `cells`
    a CELL_RECORD for each cell.  `touched` lists the cells that `touch` touched.
    """

    order: IntArray
    places: RecordArray
    cells: RecordArray
    touched: IntArray


@internal
def lay_out(
    members: IntArray,
    nest_start: IntArray,
    complement: BoolArray,
    set_start: IntArray,
    set_end: IntArray,
    sets: RecordArray,
) -> None:
    """Fill in the SET_RECORD of each set of a family."""
    for k in range(len(complement)):
        bottom = begin = nest_start[k]
        first, stop = set_start[k], set_start[k + 1]
        for t in range(first, stop):
            sets[t].complement, sets[t].bottom = complement[k], bottom
            sets[t].begin, sets[t].end = begin, set_end[t]
            if complement[k]:
                sets[t].larger = t - 1 if t > first else -1
            else:
                sets[t].larger = t + 1 if t + 1 < stop else -1
                sets[t].some = members[bottom]
            begin = set_end[t]


@internal
def ranks(by_rank: IntArray, n_members: IntArray, set_start: IntArray) -> RecordArray:
    """Make the RANK_RECORD of each set of a family."""
    ranked = records(len(by_rank), RANK_RECORD)
    for r in range(len(by_rank)):
        ranked[r].by_rank = by_rank[r]
        ranked[by_rank[r]].rank = r
        ranked[r].n_members = n_members[r]
    for k in range(len(set_start) - 1):
        for t in range(set_start[k], set_start[k + 1]):
            ranked[t].nest_first, ranked[t].nest_stop = set_start[k], set_start[k + 1]
    return ranked


@internal
def one_cell(n: int) -> Partition:
    """Make the partition with all categories in one cell."""
    order, places = integers(n, 0), records(n, PLACE_RECORD)
    cells = records(n, CELL_RECORD)
    for x in range(n):
        order[x] = x
        places[x].place = x if n > 1 else -1
    cells[0].stop = n
    return Partition(order, places, cells, integers(n, 0))


@internal
def touch(partition: Partition, members: IntArray, sets: RecordArray, t: int, told: int) -> int:
    """Move the members by which set t differs from the next larger set to one end of their cells.

    To the left if they are the set itself, to the right if they lie outside of it.  Returns the
    number of touched cells, which `partition.touched` lists.  Cells of one category cannot be
    split and are left out, except the cell `told`.
    """
    partition = borrowed(partition)
    order, places, cells = partition.order, partition.places, partition.cells
    inside, larger = is_whole(sets, t), sets[t].larger
    at_larger = larger >= 0 and not sets[t].complement
    end = sets[larger].end if at_larger else sets[t].end
    begin = sets[t].bottom if inside else sets[larger].begin if at_larger else sets[t].begin
    n_touched = 0
    for p in range(begin, end):
        x = members[p]
        at, s = places[x].place, places[x].cell
        if at < 0 and s != told:
            continue
        hits = cells[s].hits
        if hits == 0:
            partition.touched[n_touched] = s
            n_touched += 1
        cells[s].hits = hits + 1
        to = cells[s].start + hits if inside else cells[s].stop - 1 - hits
        if at >= 0 and at != to:
            y = order[to]
            order[to], order[at] = x, y
            places[x].place, places[y].place = to, at
    return n_touched


@internal
def is_whole(sets: RecordArray, t: int) -> bool:
    """Tell the largest sets of direct nests, which are touched as a whole."""
    return bool(not sets[t].complement and sets[t].larger < 0)


@internal
def split(partition: Partition, s: int, new: int, inside: bool) -> bool:
    """Split the touched part of cell s off as the cell `new`; False if that is all of s."""
    partition = borrowed(partition)
    order, places, cells = partition.order, partition.places, partition.cells
    hits, start, stop = cells[s].hits, cells[s].start, cells[s].stop
    cells[s].hits = 0
    if hits == stop - start:
        return False
    border = start + hits if inside else stop - hits
    if inside:
        cells[s].start, stop = border, border
    else:
        cells[s].stop, start = border, border
    cells[new].start, cells[new].stop = start, stop
    for p in range(start, stop):
        places[order[p]].cell = new
    for part in (s, new):
        if cells[part].stop - cells[part].start == 1:
            places[order[cells[part].start]].place = -1
    return True


@internal
def trie_by_size(
    n: int, members: IntArray, sets: RecordArray, ranked: RecordArray
) -> tuple[Partition, RecordArray, IntArray, IntArray, int]:
    """Refine by all sets, the largest first, and record each split.

    Returns
    -------
    partition
        The final partition: its cells are the atoms, and `owner` is the node of each.
    trie
        The splits.
    home
        Node of ``members[p]`` just after the refinement by the set that adds it (direct nests).
    separator
        Node whose split put a border at each position, -1 where there is none.
    n_cells
        Number of cells.
    """
    n_sets = len(sets)
    partition = one_cell(n)
    places, cells = partition.places, partition.cells
    trie = records(2 * n, TRIE_RECORD)
    home = integers(len(members), -1)
    separator = integers(n + 1, -1)
    trie[0].parent, trie[0].stop, trie[0].rank = -1, n, n_sets
    n_nodes = n_cells = 1
    for r in range(n_sets):
        t = ranked[r].by_rank
        left = is_whole(sets, t)
        for i in range(touch(partition, members, sets, t, -1)):
            s = partition.touched[i]
            if not split(partition, s, n_cells, left):
                continue
            v = cells[s].owner
            trie[v].rank = r
            separator[cells[n_cells].stop if left else cells[n_cells].start] = v
            for part in (s, n_cells):
                cells[part].owner = n_nodes
                trie[n_nodes].parent = v
                trie[n_nodes].rank = n_sets
                trie[n_nodes].start = cells[part].start
                trie[n_nodes].stop = cells[part].stop
                trie[n_nodes].inside = (part == n_cells) == left
                n_nodes += 1
            n_cells += 1
        if not sets[t].complement:
            for p in range(sets[t].begin, sets[t].end):
                home[p] = cells[places[members[p]].cell].owner
            ranked[t].lower_home = cells[places[sets[t].some].cell].owner
    return partition, trie[:n_nodes], home, separator, n_cells
