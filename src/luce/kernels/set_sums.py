"""Sums over the members of every set, and over the sets of every member.

Both are written once for two arithmetics: plain numbers, or their logarithms in a wide problem.
Both cost the stored length of the nests.  A difference smaller than a thousandth of the minuend has
lost digits and is replaced by a sum of the remaining terms.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from luce._types import FloatArray
from luce.kernels.jit import compile_by_type, embedded, inlined
from luce.kernels.layouts import AllButOne, AnyProblem, Nests, Pairs, Weighted
from luce.kernels.problem import Problem, Wide

_CANCELLED = 1e-3  # fraction of the minuend below which a difference has lost digits
_LOG_CANCELLED = math.log(_CANCELLED)

# Smallest probability in problems that are not wide, so that no sum over a set is 0.  Smaller ones
# almost never occur there.  Its inverse, times any count, is still a double.
LEAST = 1e-290

ONE = np.uint64(1)  # numba takes the difference of a word without sign and an int for a float


@embedded
def zero(wide: Wide) -> float:
    """Return 0, or log 0."""
    if wide is None:
        return 0.0
    return -np.inf


@embedded
def one(wide: Wide) -> float:
    """Return 1, or log 1."""
    if wide is None:
        return 1.0
    return 0.0


@embedded
def plus(a: float, b: float, wide: Wide) -> float:
    """Add a + b, or log(exp a + exp b)."""
    if wide is None:
        return a + b
    high, low = max(a, b), min(a, b)
    return high if low == -np.inf else high + math.log1p(math.exp(low - high))


@embedded
def times(a: float, b: float, wide: Wide) -> float:
    """Multiply a b, or add their logarithms."""
    if wide is None:
        return a * b
    return a + b


@embedded
def minus(total: float, part: float, wide: Wide) -> float:
    """Subtract total - part, or log(exp total - exp part)."""
    if wide is None:
        return total - part
    if part == -np.inf:
        return total
    return -np.inf if part >= total else total + np.log1p(-math.exp(part - total))


@embedded
def cancelled(rest: float, total: float, wide: Wide) -> bool:
    """Tell whether `rest`, a difference from `total`, has lost digits."""
    if wide is None:
        return rest < total * _CANCELLED
    return rest < total + _LOG_CANCELLED


@embedded
def _towers(x: FloatArray, total: float, wide: Wide) -> bool:
    """Tell whether some x_i is so large that total - x_i may have lost digits.

    One test for all: it seldom succeeds, and a test for each would take as long as the sums.
    """
    high = total * (1.0 - 2.0 * _CANCELLED) if wide is None else total - 2.0 * _CANCELLED
    found = False
    for i in range(len(x)):
        found |= x[i] > high
    return found


@embedded
def normalise(x: FloatArray, wide: Wide) -> None:
    """Divide x by its sum, in place."""
    if wide is None:
        total = 0.0
        for i in range(len(x)):
            total += x[i]
        for i in range(len(x)):
            x[i] = max(x[i] / total, LEAST)  # exactly 1 for a single category
    else:
        high, total = -np.inf, 0.0
        for i in range(len(x)):
            high = max(high, x[i])
        for i in range(len(x)):
            total += math.exp(x[i] - high)
        high += math.log(total)
        for i in range(len(x)):
            x[i] -= high


@embedded
def as_log(x: float, wide: Wide) -> float:
    """Take the logarithm of a number, unless it is one already."""
    if wide is None:
        return float(np.log(x))  # math.log raises at 0 when run as Python
    return x


@embedded
def from_log(x: float, wide: Wide) -> float:
    """Convert a logarithm to the problem's arithmetic: a plain number, or the logarithm itself."""
    if wide is None:
        return math.exp(x)
    return x


@embedded
def ratio(a: float, b: float, wide: Wide) -> float:
    """Divide a by b; plain numbers or logarithms in, a plain number out."""
    if wide is None:
        return a / b
    return math.exp(a - b)


@embedded
def weighed(x: float, weights: FloatArray | None, position: Any, wide: Wide) -> float:
    """Multiply x by a member's weight; a branch on None is decided at compile time."""
    if weights is None:
        return x
    return times(x, weights[position], wide)


def weights_of(problem: AnyProblem) -> FloatArray | None:
    """Return the weights of a problem's members; None where all are 1."""
    return _weights(problem) if isinstance(problem, Weighted) else None


def _weights(problem: Any) -> Any:
    return problem.weights


def _no_weights(problem: Any) -> Any:
    return None


def set_sums(problem: AnyProblem, x: FloatArray, out: FloatArray) -> None:
    """Compute out_t = Σ_{i ∈ S_t} x_i, each x_i times its weight in a problem with weights."""
    _SET_SUMS.get(type(problem), _over_any_sets)(problem, x, out)


def member_sums(problem: AnyProblem, w: FloatArray, out: FloatArray) -> None:
    """Compute out_i = Σ_{t: i ∈ S_t} w_t, each w_t times the weight of i in S_t if it has one."""
    _MEMBER_SUMS.get(type(problem), _of_any_members)(problem, w, out)


def signed_member_sums(problem: AnyProblem, w: FloatArray, out: FloatArray) -> None:
    """Compute out_i = Σ_{t: i ∈ S_t} w_t for weights of both signs; the problem is not wide."""
    _SIGNED_SUMS.get(type(problem), _of_any_signed)(problem, w, out)


def _over_pairs(problem: Pairs, x: FloatArray, out: FloatArray) -> None:
    first, second, wide = problem.first, problem.second, problem.wide
    for t in range(len(out)):
        out[t] = plus(x[first[t]], x[second[t]], wide)


def _of_paired(problem: Pairs, w: FloatArray, out: FloatArray) -> None:
    first, second, wide = problem.first, problem.second, problem.wide
    for i in range(len(out)):
        out[i] = zero(wide)
    for t in range(len(w)):
        i, j = first[t], second[t]
        out[i] = plus(out[i], w[t], wide)
        out[j] = plus(out[j], w[t], wide)


def _over_all_but_one(problem: AllButOne, x: FloatArray, out: FloatArray) -> None:
    left_out, wide = problem.left_out, problem.wide
    total = zero(wide)
    for i in range(len(x)):
        total = plus(total, x[i], wide)
    for t in range(len(out)):
        out[t] = minus(total, x[left_out[t]], wide)
    if _towers(x, total, wide):
        for t in range(len(out)):
            if cancelled(out[t], total, wide):
                out[t] = zero(wide)
                for i in range(len(x)):
                    if i != left_out[t]:
                        out[t] = plus(out[t], x[i], wide)


def _of_all_but_one(problem: AllButOne, w: FloatArray, out: FloatArray) -> None:
    left_out, wide = problem.left_out, problem.wide
    total = zero(wide)
    for i in range(len(out)):
        out[i] = zero(wide)
    for t in range(len(w)):
        i = left_out[t]
        out[i] = plus(out[i], w[t], wide)
        total = plus(total, w[t], wide)
    towers = _towers(out, total, wide)
    for i in range(len(out)):
        out[i] = minus(total, out[i], wide)
        if towers and cancelled(out[i], total, wide):
            out[i] = zero(wide)
            for t in range(len(w)):
                if left_out[t] != i:
                    out[i] = plus(out[i], w[t], wide)


def _over_nests(problem: Nests, x: FloatArray, out: FloatArray) -> None:
    wide, members, set_end = problem.wide, problem.members, problem.set_end
    nest_start, set_start = problem.nest_start, problem.set_start
    first = np.uint64(0)
    for k in range(len(nest_start) - 1):
        position, stop, running = np.uint64(nest_start[k]), np.uint64(set_start[k + 1]), zero(wide)
        for t in range(first, stop):
            running = plus(running, x[members[position]], wide)
            position += ONE
            while position < set_end[t]:
                running = plus(running, x[members[position]], wide)
                position += ONE
            out[t] = running
        first = stop


def _of_nested(problem: Nests, w: FloatArray, out: FloatArray) -> None:
    wide, set_start = problem.wide, problem.set_start
    for i in range(len(out)):
        out[i] = zero(wide)
    first = np.uint64(0)
    for k in range(len(problem.nest_start) - 1):
        stop = np.uint64(set_start[k + 1])
        add_along(problem, k, first, stop, w, out)
        first = stop


@inlined
def add_along(
    problem: Nests, k: int, first: Any, stop: Any, w: FloatArray, out: FloatArray
) -> None:
    """Add the w_t of nest k, whose sets are ``first:stop``, to the members of each set."""
    wide, members, set_end = problem.wide, problem.members, problem.set_end
    start, position, running = problem.nest_start[k], np.uint64(set_end[stop - ONE]), zero(wide)
    t = stop
    while t > first:
        t -= ONE
        running = plus(running, w[t], wide)
        begin = set_end[t - ONE] if t > first else start
        position -= ONE
        i = members[position]
        out[i] = plus(out[i], running, wide)
        while position > begin:
            position -= ONE
            i = members[position]
            out[i] = plus(out[i], running, wide)


def _over_weighted(problem: Weighted, x: FloatArray, out: FloatArray) -> None:
    wide, members, weights = problem.wide, problem.members, problem.weights
    nest_start, set_start, set_end = problem.nest_start, problem.set_start, problem.set_end
    for k in range(len(nest_start) - 1):
        position, running = np.uint64(nest_start[k]), zero(wide)
        for t in range(set_start[k], set_start[k + 1]):
            while position < set_end[t]:
                term = weighed(x[members[position]], weights, position, wide)
                running = plus(running, term, wide)
                position += ONE
            out[t] = running


def _of_weighted(problem: Weighted, w: FloatArray, out: FloatArray) -> None:
    wide, members, weights = problem.wide, problem.members, problem.weights
    nest_start, set_start, set_end = problem.nest_start, problem.set_start, problem.set_end
    for i in range(len(out)):
        out[i] = zero(wide)
    for k in range(len(nest_start) - 1):
        first, t, running = np.uint64(set_start[k]), np.uint64(set_start[k + 1]), zero(wide)
        while t > first:
            t -= ONE
            running = plus(running, w[t], wide)
            begin = set_end[t - ONE] if t > first else nest_start[k]
            for position in range(begin, set_end[t]):
                i = members[position]
                out[i] = plus(out[i], weighed(running, weights, position, wide), wide)


def _over_any_sets(problem: Problem, x: FloatArray, out: FloatArray) -> None:
    """Add up over sets of all kinds."""
    # One long function on purpose: each inner call that passes the problem, even on a branch not
    # taken, counts references to all its arrays, which costs as much as adding six categories.
    wide, members, complement = problem.wide, problem.members, problem.complement
    nest_start, set_start, set_end = problem.nest_start, problem.set_start, problem.set_end
    listed_start, listed_nest = problem.listed_start, problem.listed_nest
    listed_position = problem.listed_position
    for t in range(problem.pairs):
        out[t] = plus(x[members[2 * t]], x[members[2 * t + 1]], wide)
    for t in range(problem.pairs, problem.singles):
        running = zero(wide)
        for position in range(nest_start[t], nest_start[t + 1]):
            running = plus(running, x[members[position]], wide)
        out[t] = running
    if problem.singles == len(complement):
        return
    total = zero(wide)
    for i in range(len(x)):
        total = plus(total, x[i], wide)
    single, stop = problem.singles, problem.singles + problem.lone
    shift = nest_start[single] - single  # each of these nests has one member
    for t in range(single, stop):
        out[t] = minus(total, x[members[t + shift]], wide)
    if stop > single and _towers(x, total, wide):
        for t in range(single, stop):
            if cancelled(out[t], total, wide):
                out[t] = zero(wide)
                for i in range(len(x)):
                    if i != members[t + shift]:
                        out[t] = plus(out[t], x[i], wide)
    for k in range(problem.singles + problem.lone, len(complement)):
        first, last = set_start[k], set_start[k + 1] - 1
        running, start = zero(wide), nest_start[k]
        if not complement[k] and set_end[last] - set_end[first] == last - first:
            # As in a ranking, each set has one member more than the set before.
            for position in range(start, set_end[first]):
                running = plus(running, x[members[position]], wide)
            out[first] = running
            shift = set_end[first] - first - 1
            for t in range(first + 1, last + 1):
                running = plus(running, x[members[t + shift]], wide)
                out[t] = running
            continue
        for t in range(first, last + 1):
            for position in range(start, set_end[t]):
                running = plus(running, x[members[position]], wide)
            start = set_end[t]
            out[t] = minus(total, running, wide) if complement[k] else running
        # The last set of a complement nest is its smallest.
        if complement[k] and cancelled(out[last], total, wide):
            running = zero(wide)
            for i in range(len(x)):
                low, high = listed_start[i], listed_start[i + 1]
                while low < high:  # bisect for k among the nests that list i
                    middle = (low + high) // 2
                    if listed_nest[middle] < k:
                        low = middle + 1
                    else:
                        high = middle
                excluded = low < listed_start[i + 1] and listed_nest[low] == k
                if not (excluded and listed_position[low] < set_end[last]):
                    running = plus(running, x[i], wide)
            out[last] = running
            for t in range(last - 1, first - 1, -1):
                for position in range(set_end[t], set_end[t + 1]):
                    running = plus(running, x[members[position]], wide)
                out[t] = running


def _of_any_members(problem: Problem, w: FloatArray, out: FloatArray) -> None:
    """Add up over the sets of each member, for sets of all kinds."""
    _sum_by_member(problem, w, False, out)


def _of_any_signed(problem: Problem, w: FloatArray, out: FloatArray) -> None:
    """Add up positive and negative weights apart: only sums of one sign are safe to subtract."""
    part, negative = np.empty(len(w)), np.empty(len(out))
    for t in range(len(w)):
        part[t] = max(-w[t], 0.0)
    _sum_by_member(problem, part, False, negative)
    for t in range(len(w)):
        part[t] = max(w[t], 0.0)
    _sum_by_member(problem, part, False, out)
    for i in range(len(out)):
        out[i] -= negative[i]


@embedded
def sums_outside(problem: Problem, w: FloatArray, out: FloatArray) -> None:
    """Compute out_i = Σ_{t: i ∉ S_t} w_t."""
    _sum_by_member(problem, w, True, out)


@inlined
def _sum_by_member(problem: Problem, w: FloatArray, outside: bool, out: FloatArray) -> None:
    """Compute Σ_{t: i ∈ S_t} w_t, or the sum over the t with i ∉ S_t if `outside`."""
    wide = problem.wide
    for i in range(len(out)):
        out[i] = zero(wide)
    # Nests of one kind count for the categories that they do not list: give every category the
    # whole w of these nests, and subtract the part of the prefixes that hold it.
    base = _add_along(problem, w, not outside, out)
    if base > zero(wide):
        towers = _towers(out, base, wide)
        for i in range(len(out)):
            out[i] = minus(base, out[i], wide)
        if towers:
            for i in range(len(out)):
                if cancelled(out[i], base, wide):
                    out[i] = _sum_unlisted(problem, w, i, not outside)
    _add_along(problem, w, outside, out)


@inlined
def _add_along(problem: Problem, w: FloatArray, complement: bool, out: FloatArray) -> float:
    """Add to each member of the nests of one kind the w_t of the prefixes that hold it.

    Returns the sum of w over these nests.
    """
    wide, members, kind = problem.wide, problem.members, problem.complement
    nest_start, set_start, set_end = problem.nest_start, problem.set_start, problem.set_end
    total = zero(wide)
    if not complement:
        for t in range(problem.pairs):
            i, j = members[2 * t], members[2 * t + 1]
            out[i] = plus(out[i], w[t], wide)
            out[j] = plus(out[j], w[t], wide)
            total = plus(total, w[t], wide)
        for t in range(problem.pairs, problem.singles):
            weight = w[t]
            for position in range(nest_start[t], nest_start[t + 1]):
                i = members[position]
                out[i] = plus(out[i], weight, wide)
            total = plus(total, weight, wide)
    else:
        shift = nest_start[problem.singles] - problem.singles
        for t in range(problem.singles, problem.singles + problem.lone):
            i = members[t + shift]
            out[i] = plus(out[i], w[t], wide)
            total = plus(total, w[t], wide)
    for k in range(problem.singles + problem.lone, len(kind)):
        if kind[k] == complement:
            running, first, last = zero(wide), set_start[k], set_start[k + 1] - 1
            if set_end[last] - set_end[first] == last - first:
                shift = set_end[first] - first - 1
                for t in range(last, first, -1):
                    running = plus(running, w[t], wide)
                    i = members[t + shift]
                    out[i] = plus(out[i], running, wide)
                running = plus(running, w[first], wide)
                for position in range(nest_start[k], set_end[first]):
                    i = members[position]
                    out[i] = plus(out[i], running, wide)
                total = plus(total, running, wide)
                continue
            for t in range(last, first - 1, -1):
                running = plus(running, w[t], wide)
                start = set_end[t - 1] if t > first else nest_start[k]
                for position in range(start, set_end[t]):
                    i = members[position]
                    out[i] = plus(out[i], running, wide)
            total = plus(total, running, wide)
    return total


@inlined
def _sum_unlisted(problem: Problem, w: FloatArray, i: int, complement: bool) -> float:
    """Add the w_t of all prefixes, in nests of one kind, that do not hold category i."""
    set_start, set_end, kind = problem.set_start, problem.set_end, problem.complement
    place, end = problem.listed_start[i], problem.listed_start[i + 1]
    total = zero(problem.wide)
    for k in range(len(kind)):
        position = len(problem.members)
        if place < end and problem.listed_nest[place] == k:
            position = problem.listed_position[place]
            place += 1
        if kind[k] == complement:
            for t in range(set_start[k], set_start[k + 1]):
                if set_end[t] > position:
                    break
                total = plus(total, w[t], problem.wide)
    return total


# The loops for each form of a problem; those for all kinds of sets where a form is not listed.
_Sum = Callable[..., None]
_SET_SUMS: dict[type, _Sum] = {
    Pairs: _over_pairs,
    AllButOne: _over_all_but_one,
    Nests: _over_nests,
    Weighted: _over_weighted,
}
_MEMBER_SUMS: dict[type, _Sum] = {
    Pairs: _of_paired,
    AllButOne: _of_all_but_one,
    Nests: _of_nested,
    Weighted: _of_weighted,
}
_SIGNED_SUMS: dict[type, _Sum] = {
    Pairs: _of_paired,
    Nests: _of_nested,
    Weighted: _of_weighted,
}
compile_by_type(weights_of, {Weighted: _weights}, _no_weights)
compile_by_type(set_sums, _SET_SUMS, _over_any_sets)
compile_by_type(member_sums, _MEMBER_SUMS, _of_any_members)
compile_by_type(signed_member_sums, _SIGNED_SUMS, _of_any_signed)
