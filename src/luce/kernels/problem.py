"""The arrays a sampling kernel works on."""

from typing import Any, Literal, NamedTuple

import numpy as np

from luce._types import BoolArray, FloatArray, IntArray
from luce.kernels.jit import compiled
from luce.kernels.joined import join_nests
from luce.kernels.log_powers import Powers

# A gamma variate of shape a falls below 1e-308, the smallest double, with probability about
# 10^(-308 a): once in 10^15 draws for a = 0.05, almost every second draw for a = 0.001.
SMALL_SHAPE = 0.05

# Shapes and counts up to 1e15 are added up before they are compared with SMALL_SHAPE; what
# is this much smaller than the sum may be rounding.
_ROUNDING = 1e-13


# Are numbers kept as logarithms?  None and not False where they are not: a branch on None is
# decided when a function is compiled, so that plain arithmetic pays nothing for the other kind.
Wide = Literal[True] | None


class Curvature(NamedTuple):
    """How wide a posterior is in each direction of θ = log λ, for Hamiltonian moves.

    Attributes
    ----------
    root, root_transposed
        B, lower triangular, and B': B'B is the inverse of the precision at the mode.
    powers
        m_t of the sets.
    """

    root: FloatArray
    root_transposed: FloatArray
    powers: Powers


class Envelope(NamedTuple):
    """A Dirichlet density above the posterior, for rejection.

    Attributes
    ----------
    shape, spread
        Of the Dirichlet, with `gamma_spread` of each.
    log_bound
        The logarithm of the posterior over Π_i p_i^(shape_i - 1) is nowhere above this.
    powers, complement_powers, total_power
        Powers of p_i and of 1 - p_i in posterior over Dirichlet, and their sum.
    """

    shape: FloatArray
    spread: FloatArray
    log_bound: float
    powers: Powers
    complement_powers: Powers
    total_power: float


class Problem(NamedTuple):
    """p(p_1..p_n) ∝ Π_i p_i^(c_i - 1) · Π_t p(S_t)^(n_t - m_t).

    Sets are prefixes of nests, or everything but a prefix: nest k is
    ``members[nest_start[k]:nest_start[k + 1]]``, holds the sets
    ``set_start[k]:set_start[k + 1]``, shortest prefix first, and the prefix of set t ends
    at ``set_end[t]``.  The first `singles` nests each hold one set, all they list (the first
    `pairs` of these list two), and the next `lone` each one set, everything but the one category
    they list: most data are of one of these kinds, and sums over them are short loops.

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
        The nests turned around: category i stands in the nests
        ``listed_nest[listed_start[i]:listed_start[i + 1]]``, in ascending order, at the
        places ``listed_position[...]`` of `members`.
    wide
        True where probabilities span more than the range of a double, so that everything is
        kept as logarithms; else None.
    fit
        What some kernels need to know of the posterior beforehand.
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
    fit: Any  # a Curvature, an Envelope or None; compiled code cannot ask which


def make_problem(
    members: IntArray,
    nest_start: IntArray,
    complement: BoolArray,
    set_start: IntArray,
    set_end: IntArray,
    exponent: FloatArray,
    shape: FloatArray,
    total_shape: float,
) -> Problem:
    """Exponents e_t = n_t - m_t, with n_t = ⌈max(e_t, 0)⌉ grouped outcomes.

    A fractional power of a group is a whole number of grouped outcomes, of which the excess
    is conditioned away again.

    Parameters
    ----------
    members, nest_start, complement, set_start, set_end, exponent
        As in a set family.
    shape
        c_i.
    total_shape
        A; given, because the difference of sums that defines it may cancel.
    """
    # Copies: compiled code takes a read-only or strided array for another type and would be
    # compiled again for it.
    complement, shape = np.array(complement, np.bool_), np.array(shape, np.float64)
    members, nest_start, complement, set_start, set_end, exponent = join_nests(
        len(shape), members, nest_start, complement, set_start, set_end, exponent
    )
    one_set = (np.diff(set_start) == 1) & (set_end[set_start[1:] - 1] == nest_start[1:])
    single = one_set & ~complement
    lone = one_set & complement & (np.diff(nest_start) == 1)
    pair = single & (np.diff(nest_start) == 2)
    kind = np.select([pair, single, lone], [0, 1, 2], default=3)
    nests = np.argsort(kind, kind="stable")
    complement = complement[nests]
    sets, new_set_start = _pieces(np.asarray(set_start), nests)
    positions, new_nest_start = _pieces(np.asarray(nest_start), nests)
    shift = np.repeat(new_nest_start[:-1] - nest_start[:-1][nests], np.diff(new_set_start))
    set_end, exponent = set_end[sets] + shift, exponent[sets]
    members, nest_start, set_start = members[positions], new_nest_start, new_set_start
    groups = np.ceil(np.maximum(np.asarray(exponent, np.float64), 0.0))
    waits = groups - exponent
    nest_of_member = np.repeat(np.arange(len(complement)), np.diff(nest_start))
    listed_position = np.argsort(members, kind="stable")
    listed_start = np.zeros(len(shape) + 1, np.int64)
    np.cumsum(np.bincount(members, minlength=len(shape)), out=listed_start[1:])
    laid_out = Problem(
        members, nest_start, complement, set_start, set_end, int(pair.sum()), int(single.sum()),
        int(lone.sum()), waits, groups, shape, gamma_spreads(waits), shape, 0.0, listed_start,
        nest_of_member[listed_position], listed_position, wide=None, fit=None,
    )  # fmt: skip
    return with_shapes(laid_out, shape, total_shape)


def with_shapes(problem: Problem, shape: FloatArray, total_shape: float) -> Problem:
    """The same sets with other c_i and A: laying out the sets is most of the work."""
    shape = np.array(shape, np.float64)
    narrow = problem._replace(
        shape=shape, spread=gamma_spreads(shape), total_shape=float(total_shape), wide=None
    )
    least = min(shape.min(initial=np.inf), total_shape, _least_set_shape(narrow))
    return narrow._replace(wide=True if least < SMALL_SHAPE else None)


def gamma_spreads(shape: FloatArray) -> FloatArray:
    """`luce.kernels.random.gamma_spread` of many shapes."""
    return np.asarray(1.0 / np.sqrt(9.0 * np.where(shape < 1.0, shape + 1.0, shape) - 3.0))


def _pieces(start: IntArray, order: IntArray) -> tuple[IntArray, IntArray]:
    """Lay pieces ``start[k]:start[k + 1]`` out in another order: old places, and new starts."""
    length = np.diff(start)[order]
    new = np.zeros(len(start), np.int64)
    np.cumsum(length, out=new[1:])
    return np.repeat(start[:-1][order] - new[:-1], length) + np.arange(new[-1]), new


@compiled
def _least_set_shape(problem: Problem) -> float:
    """Least c(S_t) - Σ_{s: S_s ⊆ S_t} (m_s - n_s) over sets with m_t > 0, s in the nest of t.

    p(S_t) is about as small as a gamma of that shape: the outcomes observed inside S_t say
    nothing about the probability of S_t itself.
    """
    shape, waits, groups, set_end = problem.shape, problem.waits, problem.groups, problem.set_end
    total, least = 0.0, np.inf
    for i in range(len(shape)):
        total += shape[i]
    for k in range(len(problem.complement)):
        first, stop, start = problem.set_start[k], problem.set_start[k + 1], problem.nest_start[k]
        listed, inside = 0.0, 0.0
        if problem.complement[k]:
            for t in range(first, stop):
                inside += waits[t] - groups[t]
        for t in range(first, stop):
            for position in range(start, set_end[t]):
                listed += shape[problem.members[position]]
            start = set_end[t]
            if problem.complement[k]:
                net, scale = total - listed - inside, total
                inside -= waits[t] - groups[t]
            else:
                inside += waits[t] - groups[t]
                net, scale = listed - inside, listed
            if waits[t] > 0.0:
                least = min(least, net - _ROUNDING * scale)
    return least
