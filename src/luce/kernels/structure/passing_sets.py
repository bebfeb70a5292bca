"""Find sets that pass trie edges without standing on them.

A set that holds all categories of node c without adding any of them itself is not seen by
walking what is stored, and a large set never is.  On the edge into c all its categories are
alike, so it is enough to ask one of them for a set of rank between the splits of c's parent and
of c.  The one asked is taken from the smaller child of c, so that no category is asked more than
log2(n) times.
"""

import numpy as np

from luce._types import IntArray, RecordArray
from luce.kernels.jit import internal
from luce.kernels.structure.partition import ORDER


@internal
def find_passing_sets(
    members: IntArray, sets: RecordArray, cells: IntArray, trie: RecordArray, delegate: IntArray
) -> None:
    """Enter a set into ``delegate[2 * c]`` where one larger than node c passes the edge into c."""
    n_nodes = len(trie)
    smaller_child = np.full(n_nodes, -1, np.int64)
    for c in range(1, n_nodes):
        p = trie[c].parent
        sibling = smaller_child[p]
        if sibling < 0 or trie[c].stop - trie[c].start < trie[sibling].stop - trie[sibling].start:
            smaller_child[p] = c
    listed_start, listed_at = _where_listed(members, sets, cells.shape[1])
    n_large = 0
    for t in range(len(sets)):
        n_large += sets[t].complement
    for c in range(1, n_nodes):
        low, high = trie[trie[c].parent].rank + 1, trie[c].rank
        # Inside its parent's splitter a node has that splitter, unless it equals it: then
        # no other set can pass.
        if trie[c].inside or low >= high:
            continue
        asked = cells[ORDER, trie[c if smaller_child[c] < 0 else smaller_child[c]].start]
        listed = listed_at[listed_start[asked] : listed_start[asked + 1]]
        # A large set takes precedence: large ones never climb to meet a small delegate.
        t = _first_large(sets, listed, low, min(high, n_large))
        if t < 0 and delegate[2 * c] < 0:
            t = _first_small(sets, listed, low, high)
        if t >= 0 and sets[t].n_members > trie[c].stop - trie[c].start:
            delegate[2 * c] = t


@internal
def _where_listed(members: IntArray, sets: RecordArray, n: int) -> tuple[IntArray, IntArray]:
    """Return, category by category, the set that adds it in each nest that lists it."""
    start = np.zeros(n + 1, np.int64)
    for x in members:
        start[x + 1] += 1
    for x in range(n):
        start[x + 1] += start[x]
    at = np.empty(len(members), np.int64)
    fill = start[:-1].copy()
    for t in range(len(sets)):
        for p in range(sets[t].begin, sets[t].end):
            x = members[p]
            at[fill[x]] = t
            fill[x] += 1
    return start, at


@internal
def _first_small(sets: RecordArray, listed: IntArray, low: int, high: int) -> int:
    """Return the set of least rank in [low, high) among direct nests, or -1."""
    best, best_rank = -1, high
    for t in listed:
        if sets[t].complement or sets[t].rank < low:
            continue
        below, beyond = t, sets[t].nest_stop  # ranks fall from t on; those >= low come first
        while beyond - below > 1:
            middle = (below + beyond) // 2
            if sets[middle].rank >= low:
                below = middle
            else:
                beyond = middle
        if sets[below].rank < best_rank:
            best, best_rank = below, sets[below].rank
    return best


@internal
def _first_large(sets: RecordArray, listed: IntArray, low: int, high: int) -> int:
    """Return the set of least rank in [low, high) among complement nests, or -1.

    These are the ranks up to some bound; the asked category is in all of them but those that
    come after it in a complement nest that lists it.  Mostly one of the first few will do.
    """
    for r in range(low, min(high, low + 32)):
        if not _excludes(sets, listed, sets[r].by_rank):
            return int(sets[r].by_rank)
    if high - low - _excluding(sets, listed, low, high) <= 0:
        return -1
    below, beyond = low, high  # some set in [low, beyond) holds it, none in [low, below)
    while beyond - below > 1:
        middle = (below + beyond) // 2
        if middle - low - _excluding(sets, listed, low, middle) > 0:
            beyond = middle
        else:
            below = middle
    return int(sets[below].by_rank)


@internal
def _excluding(sets: RecordArray, listed: IntArray, low: int, high: int) -> int:
    """How many large sets of rank in [low, high) exclude the category listed there?"""
    number = 0
    for t in listed:
        if sets[t].complement:
            number += _first_of_rank(sets, t, high) - _first_of_rank(sets, t, low)
    return number


@internal
def _excludes(sets: RecordArray, listed: IntArray, t: int) -> bool:
    """Does large set t exclude the category that is listed there?"""
    begin, end = 0, len(listed)
    while begin < end:  # bisection for the set of its nest that lists the category
        middle = (begin + end) // 2
        if listed[middle] < sets[t].nest_first:
            begin = middle + 1
        else:
            end = middle
    return bool(begin < len(listed) and listed[begin] <= t)


@internal
def _first_of_rank(sets: RecordArray, t: int, bound: int) -> int:
    """Return the first set from t on in its complement nest whose rank is at least `bound`."""
    begin, end = t, sets[t].nest_stop
    while begin < end:
        middle = (begin + end) // 2
        if sets[middle].rank < bound:
            begin = middle + 1
        else:
            end = middle
    return begin
