"""The arrays that describe a posterior to a sampling kernel."""

from typing import Literal, NamedTuple

import numpy as np

from luce._types import BoolArray, FloatArray, IntArray
from luce.kernels.nest_sums import ladders, ring_starts, sums_by

# A gamma variate of shape a falls below 1e-308, the smallest double, with probability about
# 10^(-308 a): once in 10^15 draws for a = 0.05, almost every second draw for a = 0.001.
SMALL_SHAPE = 0.05

# Shapes and counts of up to 1e15 are added before their sum is compared with SMALL_SHAPE.
# Differences below this fraction of the sum are treated as rounding error.
_ROUNDING = 1e-13

# Limits of `join_nests`: pairs of nests that are compared, entries of the membership table, nests,
# and nests of complements.
_MOST_PAIRS, _MOST_PLACES, _MOST_NESTS, _MOST_TURNED = 10**6, 10**7, 10**6, 10**5

# Number of categories, or share of all members added, up to which complements become direct sets.
_FEW, _LITTLE = 32, 0.1

# Whether numbers are kept as logarithms: True, or None for plain numbers.  A branch on None is
# decided at compile time, so that plain arithmetic carries no cost of the logarithmic branch.
Wide = Literal[True] | None


class Problem(NamedTuple):
    """The posterior p(p_1..p_n) ∝ Π_i p_i^(c_i - 1) · Π_t p(S_t)^(n_t - m_t).

    With weights, p(S_t) is Σ_{i ∈ S_t} a_ti p_i.

    Sets are prefixes of nests, or complements of prefixes: nest k is
    ``members[nest_start[k]:nest_start[k + 1]]``, holds the sets
    ``set_start[k]:set_start[k + 1]``, shortest prefix first, and the prefix of set t ends
    at ``set_end[t]``.  Each of the first `singles` nests holds one set, the whole nest (the first
    `pairs` of them have two members).  Each of the next `lone` nests holds one set, the complement
    of its only member.  Most data consist of these kinds, whose sums are short loops.

    Attributes
    ----------
    members, nest_start, complement, set_start, set_end, pairs, singles, lone
        The sets S_t.
    waits
        m_t >= 0: number of outcomes, not necessarily whole, conditioned on S_t.
    groups
        n_t: whole number of outcomes known only to lie in S_t.
    shape
        c_i > 0: concentration plus net counts of category i.
    wait_spread, spread
        `gamma_spread` of m_t and c_i.
    total_shape
        A = Σ c_i - Σ m_t + Σ n_t, the shape of the gamma-distributed total.
    listed_start, listed_nest, listed_position
        The inverse index: category i is a member of the nests
        ``listed_nest[listed_start[i]:listed_start[i + 1]]``, in ascending order, at the
        positions ``listed_position[...]`` of `members`.
    wide
        True where probabilities span more than the range of a double, so that all numbers are
        kept as logarithms; else None.
    weights
        a_ti > 0 of each of `members`; None where all are 1.  No nest of such a problem is a
        complement.  The loops over general problems do not read them: kernels take a problem with
        weights in the form of `layouts.Weighted` alone.
    """

    members: IntArray
    nest_start: IntArray
    complement: BoolArray
    set_start: IntArray
    set_end: IntArray
    pairs: int
    singles: int
    lone: int
    waits: FloatArray
    groups: FloatArray
    shape: FloatArray
    wait_spread: FloatArray
    spread: FloatArray
    total_shape: float
    listed_start: IntArray
    listed_nest: IntArray
    listed_position: IntArray
    wide: Wide
    weights: FloatArray | None = None


# members, nest_start, complement, set_start, set_end, exponent
SetArrays = tuple[IntArray, IntArray, BoolArray, IntArray, IntArray, FloatArray]

# The kinds of nests, in the order in which a problem stores them.
_PAIR, _SINGLE, _LONE, _OTHER = range(4)


def make_problem(
    members: IntArray,
    nest_start: IntArray,
    complement: BoolArray,
    set_start: IntArray,
    set_end: IntArray,
    exponent: FloatArray,
    shape: FloatArray,
    total_shape: float,
    *,
    joined: bool = True,
    weights: FloatArray | None = None,
) -> Problem:
    """Lay out a posterior with exponents e_t = n_t - m_t, n_t = ⌈max(e_t, 0)⌉.

    A fractional power of a group becomes a whole number of grouped outcomes, of which the excess
    is conditioned away again.

    Parameters
    ----------
    members, nest_start, complement, set_start, set_end, exponent
        As in a set family.
    shape
        c_i.
    total_shape
        A; given, because the difference of sums that defines it may cancel.
    joined
        Whether to join nests that are shorter as one (`join_nests`).
    weights
        Weight of each of `members`, None where all are 1; as in a set family.
    """
    # Copies: numba treats read-only and strided arrays as other types and would compile again.
    complement, shape = np.array(complement, np.bool_), np.array(shape, np.float64)
    sets = members, nest_start, complement, set_start, set_end, exponent
    if weights is not None:
        sets, weights = _all_direct(len(shape), weights, *sets)
    elif joined:
        sets = join_nests(len(shape), *sets)
    kind = _kinds(*sets[1:5])
    order = np.argsort(kind, kind="stable")
    members, nest_start, complement, set_start, set_end, exponent = _reordered(order, *sets)
    if weights is not None:
        weights = np.ascontiguousarray(weights[_pieces(sets[1], order)[0]], np.float64)
    groups = np.ceil(np.maximum(np.asarray(exponent, np.float64), 0.0))
    waits = groups - exponent
    nest_of_member = np.repeat(np.arange(len(complement)), np.diff(nest_start))
    listed_position = np.argsort(members, kind="stable")
    listed_start = np.zeros(len(shape) + 1, np.int64)
    np.cumsum(np.bincount(members, minlength=len(shape)), out=listed_start[1:])
    laid_out = Problem(
        members=members,
        nest_start=nest_start,
        complement=complement,
        set_start=set_start,
        set_end=set_end,
        pairs=int((kind == _PAIR).sum()),
        singles=int((kind <= _SINGLE).sum()),
        lone=int((kind == _LONE).sum()),
        waits=waits,
        groups=groups,
        shape=shape,
        wait_spread=gamma_spreads(waits),
        spread=shape,
        total_shape=0.0,
        listed_start=listed_start,
        listed_nest=nest_of_member[listed_position],
        listed_position=listed_position,
        wide=None,
        weights=weights,
    )
    return with_shapes(laid_out, shape, total_shape)


def with_shapes(problem: Problem, shape: FloatArray, total_shape: float) -> Problem:
    """Replace c_i and A, and keep the sets, whose layout is most of the work."""
    shape = np.array(shape, np.float64)
    narrow = problem._replace(
        shape=shape, spread=gamma_spreads(shape), total_shape=float(total_shape), wide=None
    )
    least = min(shape.min(initial=np.inf), total_shape, _least_set_shape(narrow))
    return narrow._replace(wide=True if least < SMALL_SHAPE else None)


def gamma_spreads(shape: FloatArray) -> FloatArray:
    """Compute `luce.kernels.random.gamma_spread` of an array of shapes."""
    return np.asarray(1.0 / np.sqrt(9.0 * np.where(shape < 1.0, shape + 1.0, shape) - 3.0))


def _kinds(
    nest_start: IntArray, complement: BoolArray, set_start: IntArray, set_end: IntArray
) -> IntArray:
    """Classify nests as pairs, single sets, complements of one member, and others."""
    one_set = (np.diff(set_start) == 1) & (set_end[set_start[1:] - 1] == nest_start[1:])
    length = np.diff(nest_start)
    pair, single = one_set & ~complement & (length == 2), one_set & ~complement
    lone = one_set & complement & (length == 1)
    return np.select([pair, single, lone], [_PAIR, _SINGLE, _LONE], default=_OTHER)


def _reordered(
    order: IntArray,
    members: IntArray,
    nest_start: IntArray,
    complement: BoolArray,
    set_start: IntArray,
    set_end: IntArray,
    exponent: FloatArray,
) -> SetArrays:
    """Store nests in another order."""
    sets, new_set_start = _pieces(np.asarray(set_start), order)
    positions, new_nest_start = _pieces(np.asarray(nest_start), order)
    shift = np.repeat(new_nest_start[:-1] - nest_start[:-1][order], np.diff(new_set_start))
    return (
        members[positions],
        new_nest_start,
        complement[order],
        new_set_start,
        set_end[sets] + shift,
        exponent[sets],
    )


def _pieces(start: IntArray, order: IntArray) -> tuple[IntArray, IntArray]:
    """Reorder the pieces ``start[k]:start[k + 1]``; returns old positions and new starts."""
    length = np.diff(start)[order]
    new = np.zeros(len(start), np.int64)
    np.cumsum(length, out=new[1:])
    return np.repeat(start[:-1][order] - new[:-1], length) + np.arange(new[-1]), new


class _Nest(NamedTuple):
    """One nest: its members, the lengths of its prefixes, their exponents, and its kind."""

    members: IntArray
    ends: IntArray
    exponent: FloatArray
    complement: bool

    @property
    def listed(self) -> IntArray:
        """The members that sets list; those beyond the last set are in none."""
        return self.members[: self.ends[-1] if len(self.ends) else 0]


_NOTHING = _Nest(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0), False)


def join_nests(
    n: int,
    members: IntArray,
    nest_start: IntArray,
    complement: BoolArray,
    set_start: IntArray,
    set_end: IntArray,
    exponent: FloatArray,
) -> SetArrays:
    """Join nests of small sets with nests of large ones where one nest is shorter than two.

    A ranking of 43 among 83 is one nest of 43 members.  A family stores each set by its smaller
    side: the 41 smallest sets as a nest of 41, the two largest as complements in a nest of the 41
    others.  Joined, they cost half.

    A nest D of direct sets and a nest E of complements can be joined if they share no member: then
    D, the categories that neither lists, and E backwards form one nest of direct sets.  Where there
    are few categories, or few are left of many nests of complements, E is turned into direct sets
    even alone: sums over direct sets alone are the fastest.

    Parameters
    ----------
    n
        Number of categories.
    members, nest_start, complement, set_start, set_end, exponent
        As in a set family; returned unchanged if all sets leave out one category, or if there are
        too many nests to compare.
    """
    given = members, nest_start, complement, set_start, set_end, exponent
    direct, turned = np.flatnonzero(~complement), np.flatnonzero(complement)
    if not len(turned) or len(turned) > _MOST_TURNED or len(complement) > _MOST_NESTS:
        return given
    if (_kinds(nest_start, complement, set_start, set_end) == _LONE).all():
        return given
    nests = [
        _Nest(
            members[nest_start[k] : nest_start[k + 1]],
            set_end[set_start[k] : set_start[k + 1]] - nest_start[k],
            exponent[set_start[k] : set_start[k + 1]],
            bool(complement[k]),
        )
        for k in range(len(complement))
    ]
    few = len(direct) * len(turned) <= _MOST_PAIRS and len(complement) * n <= _MOST_PLACES
    partners = (_partners if few else _opposites)(n, nests, direct, turned)
    used = {k for pair in partners for k in pair}
    joined = [_join(n, nests[d], nests[e]) for d, e in partners]
    left = [nest for k, nest in enumerate(nests) if k not in used]
    if n <= _FEW or n * sum(nest.complement for nest in left) <= _LITTLE * len(members):
        left = [_join(n, _NOTHING, nest) if nest.complement else nest for nest in left]
    return _laid_out(joined + left)


def _all_direct(
    n: int,
    weights: FloatArray,
    members: IntArray,
    nest_start: IntArray,
    complement: BoolArray,
    set_start: IntArray,
    set_end: IntArray,
    exponent: FloatArray,
) -> tuple[SetArrays, FloatArray]:
    """Turn each nest of complements into direct sets, with weights 1, at the cost of n members."""
    nests, own = [], []
    for k in range(len(complement)):
        stored, sets = slice(*nest_start[k : k + 2]), slice(*set_start[k : k + 2])
        ends = set_end[sets] - nest_start[k]
        nest = _Nest(members[stored], ends, exponent[sets], bool(complement[k]))
        nests.append(_join(n, _NOTHING, nest) if nest.complement else nest)
        own.append(np.ones(len(nests[-1].members)) if nest.complement else weights[stored])
    return _laid_out(nests), np.concatenate(own)


def _partners(
    n: int, nests: list[_Nest], direct: IntArray, turned: IntArray
) -> list[tuple[int, int]]:
    """Pair each nest of complements with the longest free nest that makes joining worthwhile."""
    lists = np.zeros((len(nests), n), np.float32)
    for k, nest in enumerate(nests):
        lists[k, nest.listed] = 1.0
    length = np.array([nest.ends[-1] for nest in nests])
    apart = lists[turned] @ lists[direct].T == 0.0
    free = np.ones(len(direct), np.bool_)
    partners = []
    for row, e in enumerate(turned.tolist()):
        candidates = np.flatnonzero(apart[row] & free)
        if not len(candidates):
            continue
        column = candidates[np.argmax(length[direct[candidates]])]
        d = int(direct[column])
        if length[d] + length[e] >= n - nests[e].ends[0]:  # the joined nest's length
            free[column] = False
            partners.append((d, e))
    return partners


def _opposites(
    n: int, nests: list[_Nest], direct: IntArray, turned: IntArray
) -> list[tuple[int, int]]:
    """Pair each nest of complements with a nest of all categories, or all but one, not in its list.

    Among many nests, as those of thousands of full rankings, opposite ones are found by the sum of
    a random number for each category.
    """
    number = np.r_[np.random.default_rng(0).integers(0, 2**62, n), 0]
    key = [int(number[nest.listed].sum()) % 2**62 for nest in nests]
    waiting: dict[int, list[int]] = {}
    for d in direct.tolist():
        waiting.setdefault(key[d], []).append(d)
    partners, lacking = [], (int(number[:-1].sum()) - number) % 2**62
    for e in turned.tolist():
        for wanted in ((lacking - key[e]) % 2**62).tolist():
            if found := waiting.get(wanted):
                partners.append((found.pop(), e))
                break
    return partners


def _join(n: int, direct: _Nest, turned: _Nest) -> _Nest:
    """Join a nest of sets, which may be empty, with a nest of complements."""
    ends, neither = turned.ends, np.ones(n, np.bool_)
    neither[direct.listed] = neither[turned.listed] = False
    parts = [direct.listed, np.flatnonzero(neither)]
    parts += [turned.members[a:b] for a, b in zip(ends[-2::-1], ends[:0:-1], strict=True)]
    later = len(direct.listed) + np.cumsum([len(part) for part in parts[1:]])
    exponent = np.r_[direct.exponent, turned.exponent[::-1]]
    return _Nest(np.concatenate(parts), np.r_[direct.ends, later], exponent, False)


def _laid_out(nests: list[_Nest]) -> SetArrays:
    """Store nests one after another."""
    start = np.cumsum([0, *(len(nest.members) for nest in nests)]).astype(np.int64)
    ends = [nest.ends + first for nest, first in zip(nests, start[:-1], strict=True)]
    return (
        np.concatenate([nest.members for nest in nests]).astype(np.int64),
        start,
        np.array([nest.complement for nest in nests], np.bool_),
        np.cumsum([0, *(len(nest.ends) for nest in nests)]).astype(np.int64),
        np.concatenate(ends).astype(np.int64),
        np.concatenate([nest.exponent for nest in nests]),
    )


def _least_set_shape(problem: Problem) -> float:
    """Compute the least c(S_t) - Σ_{s: S_s ⊆ S_t} (m_s - n_s), s in the nest of t, where m_t > 0.

    p(S_t) is about as small as a gamma of that shape: outcomes observed inside S_t carry no
    information about the probability of S_t itself.
    """
    listed, smaller = _listed_shapes(problem), problem.waits - problem.groups
    larger = smaller.copy()
    for ladder in ladders(problem.set_start):
        ladder.add_up(listed)
        ladder.add_up(smaller)
        ladder.add_down(larger)
    outside = np.repeat(problem.complement, np.diff(problem.set_start))
    total = problem.shape.sum()
    net = np.where(outside, total - listed - larger, listed - smaller)
    net -= _ROUNDING * np.where(outside, total, listed)
    return float(net[problem.waits > 0].min(initial=np.inf))


def _listed_shapes(problem: Problem) -> FloatArray:
    """Add c_i, for each set, over the members that no shorter prefix of its nest holds."""
    pairs, out = problem.pairs, np.empty(len(problem.waits))
    out[:pairs] = problem.shape[problem.members[: 2 * pairs]].reshape(pairs, 2).sum(axis=1)
    starts = ring_starts(problem.nest_start, problem.set_start, problem.set_end)[pairs:]
    number = problem.set_end[pairs:] - starts
    before = np.cumsum(number) - number
    position = np.arange(number.sum()) + np.repeat(starts - before, number)
    sets = np.repeat(np.arange(len(number)), number)
    out[pairs:] = sums_by(sets, problem.shape[problem.members[position]], len(number))
    return out
