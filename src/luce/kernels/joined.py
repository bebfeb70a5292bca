"""Nests of small sets continued by nests of large ones, where that is shorter.

A ranking of 43 among 83 is one nest of nested sets.  Stored each by its smaller side, its 41
smallest sets are a nest of 41 and its two largest one of the 41 others; as one nest of 43 they
cost half.
"""

import numpy as np

from luce._types import BoolArray, FloatArray, IntArray

# Nests are compared in pairs while there are no more pairs, and no more places in a table.
_MOST_PAIRS, _MOST_PLACES = 10**6, 10**7


def join_nests(
    n: int,
    members: IntArray,
    nest_start: IntArray,
    complement: BoolArray,
    set_start: IntArray,
    set_end: IntArray,
    exponent: FloatArray,
) -> tuple[IntArray, IntArray, BoolArray, IntArray, IntArray, FloatArray]:
    """Lay nests end to end where a small set's nest lies inside all sets of another one.

    A nest D of direct sets and one E of complements, of which nothing that E lists is in D:
    then D, what neither lists, and E backwards is one nest of direct sets, as long as the largest
    set.
    """
    direct, turned = np.flatnonzero(~complement), np.flatnonzero(complement)
    pairs = len(direct) * len(turned)
    if pairs == 0 or pairs > _MOST_PAIRS or len(complement) * n > _MOST_PLACES:
        return members, nest_start, complement, set_start, set_end, exponent
    nest = np.repeat(np.arange(len(complement)), np.diff(nest_start))
    last = set_end[set_start[1:] - 1]  # what a nest lists beyond its last set counts for nothing
    used = np.arange(len(members)) < last[nest]
    lists = np.zeros((len(complement), n), np.float32)
    lists[nest[used], members[used]] = 1.0
    length = last - nest_start[:-1]
    apart = lists[turned] @ lists[direct].T == 0.0
    first = set_end[set_start[:-1]] - nest_start[:-1]  # of a complement: what its largest lacks
    pieces, sets, powers, kinds = [], [], [], []
    free = np.ones(len(direct), np.bool_)
    joined = np.zeros(len(complement), np.bool_)
    for row, e in enumerate(turned):
        candidates = np.flatnonzero(apart[row] & free)
        if not len(candidates):
            continue
        d = candidates[np.argmax(length[direct[candidates]])]
        if length[direct[d]] + length[e] <= n - first[e]:
            continue
        free[d] = False
        d = direct[d]
        joined[[d, e]] = True
        own, others = (
            slice(nest_start[d], last[d]),
            slice(set_start[d], set_start[d + 1]),
        )
        ends = set_end[set_start[e] : set_start[e + 1]]
        parts = [members[own], np.flatnonzero(lists[d] + lists[e] == 0.0)]
        parts += [members[a:b] for a, b in zip(ends[-2::-1], ends[:0:-1], strict=True)]
        later = length[d] + np.cumsum([len(c) for c in parts[1:]])
        pieces.append(np.concatenate(parts))
        sets.append(np.r_[set_end[others] - nest_start[d], later])
        powers.append(np.r_[exponent[others], exponent[set_start[e] : set_start[e + 1]][::-1]])
        kinds.append(False)
    for k in np.flatnonzero(~joined):
        own, others = (
            slice(nest_start[k], nest_start[k + 1]),
            slice(set_start[k], set_start[k + 1]),
        )
        pieces.append(members[own])
        sets.append(set_end[others] - nest_start[k])
        powers.append(exponent[others])
        kinds.append(bool(complement[k]))
    start = np.cumsum([0, *map(len, pieces)])
    ends = np.concatenate([s + a for s, a in zip(sets, start[:-1], strict=True)])
    return (
        np.concatenate(pieces).astype(np.int64),
        start.astype(np.int64),
        np.array(kinds, np.bool_),
        np.cumsum([0, *map(len, sets)]).astype(np.int64),
        ends.astype(np.int64),
        np.concatenate(powers),
    )
