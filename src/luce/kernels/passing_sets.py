"""Find sets that pass trie edges without standing on them.

A set that holds all categories of node c without adding any of them itself is not seen by
walking what is stored, and a large set never is.  On the edge into c all its categories are
alike, so it is enough to ask one of them for a set of rank between the splits of c's parent and
of c.  The one asked is taken from the smaller child of c, so that no category is asked more than
log2(n) times.
"""

import numpy as np

from luce._types import IntArray
from luce.kernels.jit import internal
from luce.kernels.partition import ORDER, Sets, Trie


@internal
def find_passing_sets(sets: Sets, cells: IntArray, trie: Trie, delegate: IntArray) -> None:
    """Enter a set into ``delegate[2 * c]`` where one larger than node c passes the edge into c."""
    n_nodes = len(trie.parent)
    smaller_child = np.full(n_nodes, -1, np.int64)
    for c in range(1, n_nodes):
        p = trie.parent[c]
        sibling = smaller_child[p]
        if sibling < 0 or trie.stop[c] - trie.start[c] < trie.stop[sibling] - trie.start[sibling]:
            smaller_child[p] = c
    listed_start, listed_at = _where_listed(sets)
    n_large = 0
    for t in range(len(sets.end)):
        n_large += sets.complement[t]
    for c in range(1, n_nodes):
        low, high = trie.rank[trie.parent[c]] + 1, trie.rank[c]
        # Inside its parent's splitter a node has that splitter, unless it equals it: then
        # no other set can pass.
        if trie.inside[c] or low >= high:
            continue
        asked = cells[ORDER, trie.start[c if smaller_child[c] < 0 else smaller_child[c]]]
        listed = listed_at[listed_start[asked] : listed_start[asked + 1]]
        # A large set takes precedence: large ones never climb to meet a small delegate.
        t = _first_large(sets, listed, low, min(high, n_large))
        if t < 0 and delegate[2 * c] < 0:
            t = _first_small(sets, listed, low, high)
        if t >= 0 and sets.size[t] > trie.stop[c] - trie.start[c]:
            delegate[2 * c] = t


@internal
def _where_listed(sets: Sets) -> tuple[IntArray, IntArray]:
    """Return, category by category, the set that adds it in each chain that lists it."""
    start = np.zeros(sets.n + 1, np.int64)
    for x in sets.members:
        start[x + 1] += 1
    for x in range(sets.n):
        start[x + 1] += start[x]
    at = np.empty(len(sets.members), np.int64)
    fill = start[:-1].copy()
    for t in range(len(sets.end)):
        for p in range(sets.begin[t], sets.end[t]):
            x = sets.members[p]
            at[fill[x]] = t
            fill[x] += 1
    return start, at


@internal
def _first_small(sets: Sets, listed: IntArray, low: int, high: int) -> int:
    """Return the set of least rank in [low, high) among direct chains, or -1."""
    best, best_rank = -1, high
    for t in listed:
        if sets.complement[t] or sets.rank[t] < low:
            continue
        below, beyond = (
            t,
            sets.set_start[sets.chain_of_set[t] + 1],
        )  # ranks fall from t on; those >= low come first
        while beyond - below > 1:
            middle = (below + beyond) // 2
            if sets.rank[middle] >= low:
                below = middle
            else:
                beyond = middle
        if sets.rank[below] < best_rank:
            best, best_rank = below, sets.rank[below]
    return best


@internal
def _first_large(sets: Sets, listed: IntArray, low: int, high: int) -> int:
    """Return the set of least rank in [low, high) among complement chains, or -1.

    These are the ranks up to some bound; the asked category is in all of them but those that
    come after it in a complement chain that lists it.  Mostly one of the first few will do.
    """
    for r in range(low, min(high, low + 32)):
        if not _excludes(sets, listed, sets.by_rank[r]):
            return int(sets.by_rank[r])
    if high - low - _excluding(sets, listed, low, high) <= 0:
        return -1
    below, beyond = low, high  # some set in [low, beyond) holds it, none in [low, below)
    while beyond - below > 1:
        middle = (below + beyond) // 2
        if middle - low - _excluding(sets, listed, low, middle) > 0:
            beyond = middle
        else:
            below = middle
    return int(sets.by_rank[below])


@internal
def _excluding(sets: Sets, listed: IntArray, low: int, high: int) -> int:
    """How many large sets of rank in [low, high) exclude the category listed there?"""
    number = 0
    for t in listed:
        if sets.complement[t]:
            end = sets.set_start[sets.chain_of_set[t] + 1]
            number += _first_from(sets.rank, t, end, high) - _first_from(sets.rank, t, end, low)
    return number


@internal
def _excludes(sets: Sets, listed: IntArray, t: int) -> bool:
    """Does large set t exclude the category that is listed there?"""
    k = sets.chain_of_set[t]
    i = _first_from(listed, 0, len(listed), sets.set_start[k])
    return bool(i < len(listed) and listed[i] <= t)


@internal
def _first_from(rising: IntArray, begin: int, end: int, bound: int) -> int:
    """Return the first place in ``rising[begin:end]`` whose value is at least `bound`, or `end`."""
    while begin < end:
        middle = (begin + end) // 2
        if rising[middle] < bound:
            begin = middle + 1
        else:
            end = middle
    return begin
