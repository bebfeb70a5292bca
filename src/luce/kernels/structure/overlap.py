"""Overlap classes of a family of nests, in near-linear time in the stored members.

Two sets overlap if they intersect and neither contains the other.  Sets are ranked by decreasing
size.  With the trie of `partition`, the first set that splits X has the rank of the node v(X) where
the categories of X part.  If that set precedes X, it overlaps X, and X is in one class with every
set of rank between r(v(X)) and r(X) that intersects X (docs/structure.md has the proofs).
The search climbs the trie from each category of X, from rank r(X) up to v(X), and joins the sets
that stand on its way: on the edge into node c stand the sets that hold all categories of c and rank
between the splits of c's parent and c.
"""

import numpy as np

from luce._types import IntArray, RecordArray
from luce.kernels.jit import compiled, internal
from luce.kernels.structure.partition import ORDER, START
from luce.kernels.structure.passing_sets import find_passing_sets

# One record per station, two stations per edge of the trie: 2c for sets larger than node c, 2c + 1
# for the set equal to c.  `delegate` is a set that stands there, -1 for none; `above` the next
# station towards the root; `skip` a station beyond those known to be in one class; `rank` the rank
# of the split above the edge.
STATION_RECORD = np.dtype(
    (np.record, [(name, np.int64) for name in ("delegate", "above", "skip", "rank")])
)


@compiled
def first_splits(
    members: IntArray,
    sets: RecordArray,
    cells: IntArray,
    trie: RecordArray,
    separator: IntArray,
    cell_leaf: IntArray,
) -> None:
    """Find for each set the node where its categories part, that node's rank, and one category."""
    # Leaves from left to right, and the node that separates each from the one before.
    n, n_leaves = cells.shape[1], len(cell_leaf)
    atom = np.empty(n, np.int64)
    leaf, parting = np.empty(n_leaves, np.int64), np.empty(n_leaves, np.int64)
    starts_here = np.full(n, -1, np.int64)
    for s in range(n_leaves):
        starts_here[cells[START, s]] = s
    a = -1
    for p in range(n):
        if starts_here[p] >= 0:
            a += 1
            leaf[a] = cell_leaf[starts_here[p]]
            parting[a] = separator[p]
        atom[cells[ORDER, p]] = a

    table = _range_minimum_table(trie, parting)
    mark = np.full(n_leaves, -1, np.int64)
    lo = hi = 0
    for t in range(len(sets)):
        bottom, excluded = sets[t].bottom, sets[t].complement != 0
        if sets[t].begin == bottom:
            lo, hi = (0, n_leaves - 1) if excluded else (n_leaves, -1)
        for p in range(sets[t].begin, sets[t].end):
            a = atom[members[p]]
            mark[a] = bottom
            if not excluded:
                lo, hi = min(lo, a), max(hi, a)
        while excluded and mark[lo] == bottom:
            lo += 1
        while excluded and mark[hi] == bottom:
            hi -= 1
        v = leaf[lo] if lo == hi else _parting_node(trie, table, lo, hi)
        sets[t].node, sets[t].first = v, trie[v].rank
        sets[t].some = cells[ORDER, trie[leaf[lo]].start]


@internal
def _range_minimum_table(trie: RecordArray, parting: IntArray) -> IntArray:
    """Build a table whose entry [j, i] is the node of least rank in parting[i:i + 2**j]."""
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
            table[j, i] = u if trie[u].rank < trie[v].rank else v
    return table


@internal
def _parting_node(trie: RecordArray, table: IntArray, lo: int, hi: int) -> int:
    """Find the node of least rank that parts leaves lo..hi."""
    j = 0
    while (2 << j) <= hi - lo:
        j += 1
    u, v = table[j, lo + 1], table[j, hi + 1 - (1 << j)]
    return int(u if trie[u].rank < trie[v].rank else v)


@compiled
def overlap_classes(
    members: IntArray, sets: RecordArray, cells: IntArray, trie: RecordArray, home: IntArray
) -> IntArray:
    """Compute the overlap class of each set; a class is named by one of its sets."""
    n_sets = len(sets)
    root = np.arange(n_sets)
    for t in range(n_sets):
        if sets[t].first < sets[t].rank:
            _join(root, t, sets[sets[t].first].by_rank)
    _join_large(sets, root)
    stations, last = _place_stations(members, sets, cells, trie, home)
    for t in range(n_sets):
        rank, first = sets[t].rank, sets[t].first
        if sets[t].complement or first >= rank:
            continue
        for p in range(sets[t].begin, sets[t].end):
            _climb(stations, root, t, 2 * home[p], first)
        if sets[t].begin > sets[t].bottom:
            if sets[t - 1].first < rank:
                _join(root, t, t - 1)
                _climb(stations, root, t, last[sets[t - 1].node], first)
            else:
                _climb(stations, root, t, 2 * sets[t].lower_home, first)
    for t in range(n_sets):
        root[t] = _find(root, t)
    return root


@internal
def _find(root: IntArray, i: int) -> int:
    """Find the representative of i, halving the path to it."""
    while root[i] != i:
        root[i] = root[root[i]]
        i = root[i]
    return i


@internal
def _join(root: IntArray, i: int, j: int) -> None:
    """Merge the classes of i and j."""
    a, b = _find(root, i), _find(root, j)
    if a != b:
        root[max(a, b)] = min(a, b)


@internal
def _join_large(sets: RecordArray, root: IntArray) -> None:
    """Join complements by rank alone: all hold more than half the categories, so all intersect."""
    n_sets = len(sets)
    covered = np.zeros(n_sets + 1, np.int64)  # differences of the number of intervals over r..r+1
    for t in range(n_sets):
        if sets[t].complement and sets[t].first < sets[t].rank:
            covered[sets[t].first] += 1
            covered[sets[t].rank] -= 1
    depth = 0
    for r in range(n_sets - 1):
        depth += covered[r]
        if depth > 0:
            _join(root, sets[r].by_rank, sets[r + 1].by_rank)


@internal
def _place_stations(
    members: IntArray, sets: RecordArray, cells: IntArray, trie: RecordArray, home: IntArray
) -> tuple[RecordArray, IntArray]:
    """Find the delegate of each station, and the lowest station at or above each node."""
    n_nodes = len(trie)
    delegate = np.full(2 * n_nodes, -1, np.int64)
    for t in range(len(sets)):
        v = sets[t].node
        if sets[t].n_members == trie[v].stop - trie[v].start and sets[t].rank < trie[v].rank:
            delegate[2 * v + 1] = t
    for c in range(1, n_nodes):
        splitter = sets[trie[trie[c].parent].rank].by_rank
        if trie[c].inside and sets[splitter].n_members > trie[c].stop - trie[c].start:
            delegate[2 * c] = splitter
    for t in range(len(sets)):
        if sets[t].complement or sets[t].first >= sets[t].rank:
            continue
        for p in range(sets[t].begin, sets[t].end):
            _stand(delegate, home[p], t)
        if sets[t].begin > sets[t].bottom and sets[t - 1].first >= sets[t].rank:
            _stand(delegate, sets[t].lower_home, t)
    find_passing_sets(members, sets, cells, trie, delegate)
    stations = np.empty(2 * n_nodes, STATION_RECORD)
    last = np.full(n_nodes, -1, np.int64)
    for c in range(n_nodes):
        here = last[trie[c].parent] if c > 0 else -1
        for s in (2 * c, 2 * c + 1):
            stations[s].delegate, stations[s].skip = delegate[s], s
            stations[s].above, stations[s].rank = here, -1
            if delegate[s] >= 0:
                stations[s].rank = trie[trie[c].parent].rank
                here = s
        last[c] = here
    return stations, last


@internal
def _stand(delegate: IntArray, c: int, t: int) -> None:
    """Make set t the delegate of the edge into node c if it has none; else t climbs to join it."""
    if delegate[2 * c] < 0:
        delegate[2 * c] = t


@internal
def _climb(stations: RecordArray, root: IntArray, t: int, station: int, upto: int) -> None:
    """Join set t with all stations from this one up to the node of rank `upto`."""
    s = station
    if s < 0 or stations[s].rank < upto:
        return
    _join(root, t, stations[s].delegate)
    while True:
        while stations[s].skip != s:
            stations[s].skip = stations[stations[s].skip].skip
            s = stations[s].skip
        up = stations[s].above
        if up < 0 or stations[up].rank < upto:
            return
        _join(root, stations[s].delegate, stations[up].delegate)
        stations[s].skip = up
