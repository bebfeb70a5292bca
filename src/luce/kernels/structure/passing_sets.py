"""Find sets that pass an edge of the trie without being stored there.

A set passes the edge into node c if it holds all categories of c and its rank is between the
splits of c's parent and of c.  If it adds none of these categories to its nest, or is a
complement, no walk over stored members finds it.  All categories of c agree on such sets, so one
of them is queried.  The queried category is taken from the smaller child of c: each category is
queried at most log2(n) times.
"""

from luce._types import IntArray, RecordArray
from luce.kernels.jit import internal
from luce.kernels.plain import integers


@internal
def find_passing_sets(
    members: IntArray,
    sets: RecordArray,
    ranked: RecordArray,
    order: IntArray,
    trie: RecordArray,
    delegate: IntArray,
) -> None:
    """Store in ``delegate[2 * c]`` a set larger than node c that passes the edge into c, if any."""
    n_nodes = len(trie)
    smaller_child = integers(n_nodes, -1)
    for c in range(1, n_nodes):
        p = trie[c].parent
        sibling = smaller_child[p]
        if sibling < 0 or trie[c].stop - trie[c].start < trie[sibling].stop - trie[sibling].start:
            smaller_child[p] = c
    listed_start, listed_at = _where_listed(members, sets, len(order))
    n_large = 0
    for t in range(len(sets)):
        n_large += sets[t].complement
    for c in range(1, n_nodes):
        low, high = trie[trie[c].parent].rank + 1, trie[c].rank
        # A node inside its parent's splitter has the splitter as delegate, unless the two are
        # equal; then no other set can pass.
        if trie[c].inside or low >= high:
            continue
        asked = order[trie[c if smaller_child[c] < 0 else smaller_child[c]].start]
        listed = listed_at[listed_start[asked] : listed_start[asked + 1]]
        # A large set takes precedence, since large sets never climb to meet a small delegate.
        t = _first_large(ranked, listed, low, min(high, n_large))
        if t < 0 and delegate[2 * c] < 0:
            t = _first_small(ranked, listed, max(low, n_large), high)
        if t >= 0 and ranked[t].n_members > trie[c].stop - trie[c].start:
            delegate[2 * c] = t


@internal
def _where_listed(members: IntArray, sets: RecordArray, n: int) -> tuple[IntArray, IntArray]:
    """List for each category the sets that add it, one for each nest that lists it."""
    start = integers(n + 1, 0)
    for x in members:
        start[x + 1] += 1
    for x in range(n):
        start[x + 1] += start[x]
    at = integers(len(members), 0)
    fill = start[:-1].copy()
    for t in range(len(sets)):
        for p in range(sets[t].begin, sets[t].end):
            x = members[p]
            at[fill[x]] = t
            fill[x] += 1
    return start, at


@internal
def _first_small(ranked: RecordArray, listed: IntArray, low: int, high: int) -> int:
    """Find the set of least rank in [low, high) among direct nests, or -1.

    Complements are larger than all of them, and have ranks below `low`.
    """
    best, best_rank = -1, high
    for t in listed:
        if ranked[t].rank < low:
            continue
        below, beyond = t, ranked[t].nest_stop  # ranks fall from t on; bisect for the last >= low
        while beyond - below > 1:
            middle = (below + beyond) // 2
            if ranked[middle].rank >= low:
                below = middle
            else:
                beyond = middle
        if ranked[below].rank < best_rank:
            best, best_rank = below, ranked[below].rank
    return best


@internal
def _first_large(ranked: RecordArray, listed: IntArray, low: int, high: int) -> int:
    """Find the set of least rank in [low, high) among nests of complements, or -1.

    Complements have the lowest ranks of all.  The queried category is in all of them, except
    those that follow it in a nest that lists it.  Mostly one of the first few sets qualifies.
    """
    for r in range(low, min(high, low + 32)):
        if not _excludes(ranked, listed, ranked[r].by_rank):
            return int(ranked[r].by_rank)
    if high - low - _excluding(ranked, listed, low, high) <= 0:
        return -1
    below, beyond = low, high  # a set in [low, beyond) holds the category, none in [low, below)
    while beyond - below > 1:
        middle = (below + beyond) // 2
        if middle - low - _excluding(ranked, listed, low, middle) > 0:
            beyond = middle
        else:
            below = middle
    return int(ranked[below].by_rank)


@internal
def _excluding(ranked: RecordArray, listed: IntArray, low: int, high: int) -> int:
    """Count the complements of rank in [low, high) that exclude the category of `listed`."""
    number = 0
    for t in listed:
        if ranked[t].rank < high:  # else smaller than the complements that are counted
            number += _first_of_rank(ranked, t, high) - _first_of_rank(ranked, t, low)
    return number


@internal
def _excludes(ranked: RecordArray, listed: IntArray, t: int) -> bool:
    """Tell whether complement t excludes the category of `listed`."""
    begin, end = 0, len(listed)
    while begin < end:  # bisect for the set of its nest that adds the category
        middle = (begin + end) // 2
        if listed[middle] < ranked[t].nest_first:
            begin = middle + 1
        else:
            end = middle
    return bool(begin < len(listed) and listed[begin] <= t)


@internal
def _first_of_rank(ranked: RecordArray, t: int, bound: int) -> int:
    """Find the first set from t on in its nest of complements whose rank is at least `bound`."""
    begin, end = t, ranked[t].nest_stop
    while begin < end:
        middle = (begin + end) // 2
        if ranked[middle].rank < bound:
            begin = middle + 1
        else:
            end = middle
    return begin
