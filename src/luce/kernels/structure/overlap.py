"""Overlap classes of a family of nests, in near-linear time in the stored members.

Two sets overlap if they intersect and neither contains the other.  Sets are ranked by decreasing
size.  With the trie of `partition`, the first set that splits X has the rank of the node v(X) where
the categories of X part.  If that set precedes X, it overlaps X, and X is in one class with every
set of rank between r(v(X)) and r(X) that intersects X (docs/structure.md has the proofs).
The search climbs the trie from each category of X, from rank r(X) up to v(X), and joins the sets
that stand on its way: on the edge into node c stand the sets that hold all categories of c and rank
between the splits of c's parent and c.
"""

from luce._types import IntArray, RecordArray
from luce.kernels.jit import internal
from luce.kernels.plain import integers, records
from luce.kernels.structure.partition import Partition, record, trie_by_size
from luce.kernels.structure.passing_sets import find_passing_sets

# One record per station, two stations per edge of the trie: 2c for sets larger than node c, 2c + 1
# for the set equal to c.  `delegate` is a set that stands there, -1 for none; `above` the next
# station towards the root; `skip` a station beyond those known to be in one class; `rank` the rank
# of the split above the edge.
STATION_RECORD = record("delegate", "above", "skip", "rank")


@internal
def _first_splits(
    members: IntArray,
    sets: RecordArray,
    ranked: RecordArray,
    partition: Partition,
    trie: RecordArray,
    separator: IntArray,
    n_leaves: int,
) -> None:
    """Find for each set the node where its categories part, and that node's rank.

    Also finds a category of each complement.
    """
    # Leaves from left to right, and the node that separates each from the one before.
    order, cells = partition.order, partition.cells
    n = len(order)
    atom = integers(n, 0)
    leaf, parting = integers(n_leaves, 0), integers(n_leaves, 0)
    starts_here = integers(n, -1)
    for s in range(n_leaves):
        starts_here[cells[s].start] = s
    a = -1
    for p in range(n):
        if starts_here[p] >= 0:
            a += 1
            leaf[a] = cells[starts_here[p]].owner
            parting[a] = separator[p]
        atom[order[p]] = a

    table = _range_minimum_table(trie, parting)
    mark = integers(n_leaves, -1)
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
        v = leaf[lo] if lo == hi else _parting_node(trie, table, n_leaves, lo, hi)
        ranked[t].node, ranked[t].first = v, trie[v].rank
        if excluded:
            sets[t].some = order[trie[leaf[lo]].start]


@internal
def _range_minimum_table(trie: RecordArray, parting: IntArray) -> IntArray:
    """Build a table whose entry j * n + i is the node of least rank in parting[i:i + 2**j]."""
    n = len(parting)
    levels = 1
    while (1 << levels) < n:
        levels += 1
    table = integers(levels * n, 0)
    for i in range(n):
        table[i] = parting[i]
    for j in range(1, levels):
        half = 1 << (j - 1)
        below = (j - 1) * n
        for i in range(below + 1, below + n - 2 * half + 1):
            u, v = table[i], table[i + half]
            table[i + n] = u if trie[u].rank < trie[v].rank else v
    return table


@internal
def _parting_node(trie: RecordArray, table: IntArray, n: int, lo: int, hi: int) -> int:
    """Find the node of least rank that parts leaves lo..hi of n."""
    j = 0
    while (2 << j) <= hi - lo:
        j += 1
    u, v = table[j * n + lo + 1], table[j * n + hi + 1 - (1 << j)]
    return int(u if trie[u].rank < trie[v].rank else v)


@internal
def classes_of_equal_sizes(n: int, members: IntArray, sets: RecordArray) -> None:
    """Find the overlap class of each set where all sets are equally large.

    Of two such sets neither contains the other: they overlap wherever they meet.  Classes are then
    the components of the categories that sets link.  Complements all meet.
    """
    n_sets = len(sets)
    if n_sets == 0 or sets[0].complement:
        return
    root, name = _alone(n), integers(n, -1)
    for t in range(n_sets):
        for p in range(sets[t].begin + 1, sets[t].end):
            _join(root, sets[t].some, members[p])
    for t in range(n_sets):
        r = _find(root, sets[t].some)
        if name[r] < 0:
            name[r] = t
        sets[t].group = name[r]


@internal
def overlap_classes(n: int, members: IntArray, sets: RecordArray, ranked: RecordArray) -> None:
    """Find the overlap class of each set; a class is named by one of its sets."""
    partition, trie, home, separator, n_cells = trie_by_size(n, members, sets, ranked)
    _first_splits(members, sets, ranked, partition, trie, separator, n_cells)
    n_sets = len(sets)
    root = _alone(n_sets)
    for t in range(n_sets):
        if ranked[t].first < ranked[t].rank:
            _join(root, t, ranked[ranked[t].first].by_rank)
    _join_large(sets, ranked, root)
    stations, last = _place_stations(members, sets, ranked, partition, trie, home)
    for t in range(n_sets):
        rank, first = ranked[t].rank, ranked[t].first
        if sets[t].complement or first >= rank:
            continue
        for p in range(sets[t].begin, sets[t].end):
            _climb(stations, root, t, 2 * home[p], first)
        if sets[t].begin > sets[t].bottom:
            if ranked[t - 1].first < rank:
                _join(root, t, t - 1)
                _climb(stations, root, t, last[ranked[t - 1].node], first)
            else:
                _climb(stations, root, t, 2 * ranked[t].lower_home, first)
    for t in range(n_sets):
        sets[t].group = _find(root, t)


@internal
def _alone(n: int) -> IntArray:
    """Make n classes of one element each."""
    root = integers(n, 0)
    for i in range(n):
        root[i] = i
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
def _join_large(sets: RecordArray, ranked: RecordArray, root: IntArray) -> None:
    """Join complements by rank alone: all hold more than half the categories, so all intersect."""
    n_sets = len(sets)
    covered = integers(n_sets + 1, 0)  # differences of the number of intervals over r..r+1
    for t in range(n_sets):
        if sets[t].complement and ranked[t].first < ranked[t].rank:
            covered[ranked[t].first] += 1
            covered[ranked[t].rank] -= 1
    depth = 0
    for r in range(n_sets - 1):
        depth += covered[r]
        if depth > 0:
            _join(root, ranked[r].by_rank, ranked[r + 1].by_rank)


@internal
def _place_stations(
    members: IntArray,
    sets: RecordArray,
    ranked: RecordArray,
    partition: Partition,
    trie: RecordArray,
    home: IntArray,
) -> tuple[RecordArray, IntArray]:
    """Find the delegate of each station, and the lowest station at or above each node."""
    n_nodes = len(trie)
    delegate = integers(2 * n_nodes, -1)
    for t in range(len(sets)):
        v = ranked[t].node
        if ranked[t].n_members == trie[v].stop - trie[v].start and ranked[t].rank < trie[v].rank:
            delegate[2 * v + 1] = t
    for c in range(1, n_nodes):
        splitter = ranked[trie[trie[c].parent].rank].by_rank
        if trie[c].inside and ranked[splitter].n_members > trie[c].stop - trie[c].start:
            delegate[2 * c] = splitter
    for t in range(len(sets)):
        if sets[t].complement or ranked[t].first >= ranked[t].rank:
            continue
        for p in range(sets[t].begin, sets[t].end):
            _stand(delegate, home[p], t)
        if sets[t].begin > sets[t].bottom and ranked[t - 1].first >= ranked[t].rank:
            _stand(delegate, ranked[t].lower_home, t)
    find_passing_sets(members, sets, ranked, partition.order, trie, delegate)
    stations = records(2 * n_nodes, STATION_RECORD)
    last = integers(n_nodes, -1)
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
