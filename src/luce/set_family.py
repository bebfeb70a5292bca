"""Families of sets over categories 0..n-1, stored as prefixes of chains.

A *chain* is a list of distinct members; the sets of a chain are prefixes of that list, or,
for a complement chain, everything but such a prefix.  A lone set is a chain with one
prefix, a ranking of k items is one chain with k - 1 of them, and "all but i" is a chain
that lists i alone.  Storage is the length of the chains, never the size of the sets.

In a *canonical* family no two sets are equal, none is full or a singleton, every exponent
is nonzero, and a set is stored by the smaller side: 2 <= |S| <= n/2 directly,
|S| > n/2 by what it excludes.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from luce._types import BoolArray, FloatArray, IntArray, WordArray

# Two sums of the same set of real exponents may differ by rounding; what is this much
# smaller than the terms that made it is a cancelled exponent.
_CANCELLED = 1e-12


@dataclass(frozen=True, eq=False)
class SetFamily:
    """Sets as prefixes of chains, each with a real exponent.

    Parameters
    ----------
    n
        Number of categories.
    members
        All chains, one after another.
    chain_start
        Chain k is ``members[chain_start[k]:chain_start[k + 1]]``.
    complement
        Per chain: are its sets everything *but* the prefixes?
    set_start
        Chain k holds the sets ``set_start[k]:set_start[k + 1]``, shortest prefix first.
    set_end
        Per set: where its prefix ends in `members`.
    exponent
        Per set: the power of its probability in the likelihood, negative for a set that
        was conditioned on, positive for a grouped outcome.
    """

    n: int
    members: IntArray
    chain_start: IntArray
    complement: BoolArray
    set_start: IntArray
    set_end: IntArray
    exponent: FloatArray

    @property
    def n_sets(self) -> int:
        return len(self.set_end)

    @property
    def n_chains(self) -> int:
        return len(self.complement)

    @cached_property
    def chain_of_set(self) -> IntArray:
        return np.repeat(np.arange(self.n_chains), np.diff(self.set_start))

    @cached_property
    def prefix_lengths(self) -> IntArray:
        return self.set_end - self.chain_start[self.chain_of_set]

    @cached_property
    def sizes(self) -> IntArray:
        """Number of categories in each set."""
        excluded = self.complement[self.chain_of_set]
        return np.where(excluded, self.n - self.prefix_lengths, self.prefix_lengths)

    @cached_property
    def signatures(self) -> WordArray:
        """Two random words per set; equal sets, and (but for chance 2^-128) only they, agree."""
        words = _words(self.n)
        total = words.sum(axis=0)
        running = np.zeros((len(self.members) + 1, 2), np.uint64)
        np.cumsum(words[self.members], axis=0, out=running[1:])
        prefix = running[self.set_end] - running[self.chain_start[self.chain_of_set]]
        excluded = self.complement[self.chain_of_set, None]
        return np.where(excluded, total - prefix, prefix)

    def set_members(self, t: int) -> IntArray:
        """Category numbers in set t, expanded: for printing and for tests."""
        k = self.chain_of_set[t]
        prefix = self.members[self.chain_start[k] : self.set_end[t]]
        if self.complement[k]:
            return np.setdiff1d(np.arange(self.n), prefix)
        return np.sort(prefix)


def single_sets(
    n: int,
    sets: Iterable[IntArray],
    complement: Iterable[bool],
    exponents: Iterable[float],
) -> SetFamily:
    """A family of unrelated sets, each given by its members or by what it excludes."""
    lists = [np.asarray(s, np.int64) for s in sets]
    ends = np.cumsum([0] + [len(s) for s in lists])
    return SetFamily(
        n,
        np.concatenate(lists) if lists else np.empty(0, np.int64),
        ends,
        np.fromiter(complement, np.bool_, len(lists)),
        np.arange(len(lists) + 1),
        ends[1:],
        np.fromiter(exponents, np.float64, len(lists)),
    )


def canonical(n: int, families: list[SetFamily]) -> tuple[SetFamily, FloatArray]:
    """Merge families into one canonical family.

    Returns
    -------
    family
        The canonical family.
    singletons
        Shape (n,): exponents of the sets that turned out to hold one category.
    """
    family = _concatenate(n, families)
    singletons = np.zeros(n)
    family = _merge_equal(family, singletons)
    return _store_by_smaller_side(_nest_neighbours(family)), singletons


def _words(n: int) -> WordArray:
    """Two 64-bit words per category: splitmix64 of its number, so the same on every machine."""
    x = np.arange(1, 2 * n + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return (x ^ (x >> np.uint64(31))).reshape(n, 2)


def _concatenate(n: int, families: list[SetFamily]) -> SetFamily:
    if len(families) == 1:
        return families[0]
    members = np.cumsum([0] + [len(f.members) for f in families])
    sets = np.cumsum([0] + [f.n_sets for f in families])
    starts = [f.chain_start[:-1] + o for f, o in zip(families, members[:-1], strict=True)]
    set_starts = [f.set_start[:-1] + o for f, o in zip(families, sets[:-1], strict=True)]
    ends = [f.set_end + o for f, o in zip(families, members[:-1], strict=True)]
    return SetFamily(
        n,
        np.concatenate([np.empty(0, np.int64), *(f.members for f in families)]),
        np.concatenate([*starts, members[-1:]]),
        np.concatenate([np.empty(0, np.bool_), *(f.complement for f in families)]),
        np.concatenate([*set_starts, sets[-1:]]),
        np.concatenate([np.empty(0, np.int64), *ends]),
        np.concatenate([np.empty(0), *(f.exponent for f in families)]),
    )


def _merge_equal(family: SetFamily, singletons: FloatArray) -> SetFamily:
    """Add the exponents of equal sets; fold singletons away; drop full and cancelled sets."""
    if family.n_sets == 0:
        return family
    signatures = family.signatures
    order = np.argsort(signatures[:, 0], kind="stable")
    ordered = signatures[order]
    first = np.flatnonzero(np.r_[True, (ordered[1:] != ordered[:-1]).any(axis=1)])
    total = np.add.reduceat(family.exponent[order], first)
    weight = np.add.reduceat(np.abs(family.exponent[order]), first)
    exponent = np.zeros(family.n_sets)
    exponent[order[first]] = np.where(np.abs(total) <= _CANCELLED * weight, 0.0, total)
    alone = np.flatnonzero((family.sizes == 1) & (exponent != 0))
    singletons[[_only_member(family, t) for t in alone]] += exponent[alone]
    keep = (exponent != 0) & (family.sizes > 1) & (family.sizes < family.n)
    return _keep_sets(family, keep, exponent)


def _only_member(family: SetFamily, t: int) -> int:
    k = family.chain_of_set[t]
    listed = int(family.members[family.chain_start[k] : family.set_end[t]].sum())
    return family.n * (family.n - 1) // 2 - listed if family.complement[k] else listed


def _keep_sets(family: SetFamily, keep: BoolArray, exponent: FloatArray) -> SetFamily:
    """Forget some sets, the members after the last set of a chain, and empty chains."""
    if keep.all():
        return SetFamily(*_fields(family)[:-1], exponent)
    kept = np.flatnonzero(keep)
    chains, first = np.unique(family.chain_of_set[kept], return_index=True)
    set_start = np.r_[first, len(kept)]
    start = family.chain_start[chains]
    length = family.set_end[kept[set_start[1:] - 1]] - start
    new_start = np.r_[0, np.cumsum(length)]
    take = np.arange(new_start[-1]) + np.repeat(start - new_start[:-1], length)
    shift = np.repeat(new_start[:-1] - start, np.diff(set_start))
    return SetFamily(
        family.n,
        family.members[take],
        new_start,
        family.complement[chains],
        set_start,
        family.set_end[kept] + shift,
        exponent[kept],
    )


def _fields(f: SetFamily) -> tuple[int, IntArray, IntArray, BoolArray, IntArray, IntArray, FloatArray]:
    return f.n, f.members, f.chain_start, f.complement, f.set_start, f.set_end, f.exponent


def _nest_neighbours(family: SetFamily) -> SetFamily:
    """Let lone sets that were given one after another and nest share one chain.

    A ranking entered as "first of all of them, second of the rest, ..." thereby costs what
    it would cost as a ranking.
    """
    if family.n_chains < 2:
        return family
    lone = np.diff(family.set_start) == 1
    length = np.diff(family.chain_start)
    pair = lone[1:] & lone[:-1] & (family.complement[1:] == family.complement[:-1])
    left = np.flatnonzero(pair & (length[1:] != length[:-1]))
    if len(left) == 0:
        return family
    chain_of_member = np.repeat(np.arange(family.n_chains), length)
    keys = np.sort(chain_of_member * family.n + family.members)
    longer = np.where(length[left] > length[left + 1], left, left + 1)
    shorter = 2 * left + 1 - longer
    positions = np.concatenate(
        [np.arange(family.chain_start[k], family.chain_start[k + 1]) for k in longer]
    )
    wanted = np.repeat(shorter, length[longer]) * family.n + family.members[positions]
    found = keys[np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)] == wanted
    pair_start = np.r_[0, np.cumsum(length[longer])]
    nested = np.add.reduceat(found, pair_start[:-1], dtype=np.int64) == length[shorter]
    if not nested.any():
        return family

    # Runs of neighbours that keep growing, or keep shrinking, become one chain each.
    step = np.zeros(family.n_chains, np.int64)  # step[k]: how chain k + 1 relates to chain k
    step[left[nested]] = np.where(longer == left, -1, 1)[nested]
    fresh = np.ones(len(family.members), np.bool_)  # members a set adds to the one it builds on
    base = np.full(family.n_chains, -1, np.int64)
    runs = list(_runs(step))
    pair_of = {int(k): i for i, k in enumerate(left)}
    for run in runs:
        for below, above in zip(run, run[1:], strict=False):
            base[above] = below
            i = pair_of[min(below, above)]
            fresh[positions[pair_start[i] : pair_start[i + 1]]] = ~found[pair_start[i] : pair_start[i + 1]]
    order = [k for run in runs for k in run]
    return _chain_up(family, np.asarray(order), base, fresh)


def _runs(step: IntArray) -> Iterator[list[int]]:
    """Chains 0..K-1 in runs, each listed from the smallest set to the largest."""
    k = 0
    while k < len(step):
        end, direction = k, step[k]
        while direction and end < len(step) - 1 and step[end] == direction:
            end += 1
        run = list(range(k, end + 1))
        yield run if direction >= 0 else run[::-1]
        k = end + 1


def _chain_up(family: SetFamily, order: IntArray, base: IntArray, fresh: BoolArray) -> SetFamily:
    """Rebuild the chains in `order`; one whose `base` is set goes on where that one ended."""
    length = np.diff(family.chain_start)
    take = np.concatenate(
        [np.arange(s, s + m) for s, m in zip(family.chain_start[order], length[order], strict=True)]
    )
    kept = fresh[take]
    upto = np.r_[0, np.cumsum(kept)]
    sets = np.concatenate([np.arange(family.set_start[k], family.set_start[k + 1]) for k in order])
    old_start = np.r_[0, np.cumsum(length[order])]
    shift = np.repeat(old_start[:-1] - family.chain_start[order], np.diff(family.set_start)[order])
    head = base[order] < 0
    set_count = np.r_[0, np.cumsum(np.diff(family.set_start)[order])]
    return SetFamily(
        family.n,
        family.members[take][kept],
        np.r_[upto[old_start[:-1]][head], upto[-1]],
        family.complement[order][head],
        np.r_[set_count[:-1][head], set_count[-1]],
        upto[family.set_end[sets] + shift],
        family.exponent[sets],
    )


def _store_by_smaller_side(family: SetFamily) -> SetFamily:
    """Move every set whose prefix is the larger side into a chain of the other kind.

    With prefixes P_1 < ... < P_k of which P_j..P_k are too long, the new chain lists the
    rest V - P_k, then what P_k adds to P_(k-1), ..., what P_(j+1) adds to P_j.
    """
    # |S| = n/2 exactly counts as small, so that the two sides cannot both claim a set.
    doubled = 2 * family.prefix_lengths
    wrong = np.where(family.complement[family.chain_of_set], doubled >= family.n, doubled > family.n)
    if not wrong.any():
        return family
    turned = []
    for k in np.unique(family.chain_of_set[wrong]):
        sets = np.arange(family.set_start[k], family.set_start[k + 1])
        ends = family.set_end[sets[wrong[sets]]]
        rest = np.ones(family.n, np.bool_)
        rest[family.members[family.chain_start[k] : ends[-1]]] = False
        pieces = [np.flatnonzero(rest)]
        pieces += [family.members[a:b] for a, b in zip(ends[-2::-1], ends[:0:-1], strict=True)]
        turned.append(
            SetFamily(
                family.n,
                np.concatenate(pieces),
                np.asarray([0, sum(map(len, pieces))]),
                ~family.complement[k : k + 1],
                np.asarray([0, len(ends)]),
                np.cumsum([len(p) for p in pieces]),
                family.exponent[sets[wrong[sets]]][::-1],
            )
        )
    return _concatenate(family.n, [_keep_sets(family, ~wrong, family.exponent), *turned])
