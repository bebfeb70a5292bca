"""Lean forms of a problem, for data whose sets are all of one kind.

Most data consists of pairs, of sets that leave out one category, or of choices and rankings.  Sums
over such sets are short loops over a few arrays, which compile in a fraction of the time that the
loops for all kinds of sets take, and run faster.  Indices have 32 bits and no sign: compiled code
would test each signed one, since a negative index counts from the end.
"""

from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from luce._types import BoolArray, FloatArray
from luce.kernels.problem import Problem, Wide

Index: TypeAlias = npt.NDArray[np.uint32]


class Pairs(NamedTuple):
    """A problem whose sets have two members each: set t is {first[t], second[t]}.

    No outcome is grouped.  All other fields are those of a `Problem`.
    """

    first: Index
    second: Index
    waits: FloatArray
    groups: FloatArray
    shape: FloatArray
    wait_spread: FloatArray
    spread: FloatArray
    total_shape: float
    wide: Wide


class AllButOne(NamedTuple):
    """A problem whose sets leave out one category each: set t is all but left_out[t].

    No outcome is grouped.  All other fields are those of a `Problem`.
    """

    left_out: Index
    waits: FloatArray
    groups: FloatArray
    shape: FloatArray
    wait_spread: FloatArray
    spread: FloatArray
    total_shape: float
    wide: Wide


class Nests(NamedTuple):
    """A problem whose sets are prefixes of nests, none of them a complement; see `Problem`."""

    members: Index
    nest_start: Index
    set_start: Index
    set_end: Index
    waits: FloatArray
    groups: FloatArray
    shape: FloatArray
    wait_spread: FloatArray
    spread: FloatArray
    total_shape: float
    wide: Wide


class Weighted(NamedTuple):
    """A problem whose sets are prefixes of nests and have weights; see `Problem`.

    `weights` holds logarithms in a wide problem.  `complement` is False for every nest.
    """

    members: Index
    weights: FloatArray
    nest_start: Index
    set_start: Index
    set_end: Index
    complement: BoolArray
    waits: FloatArray
    groups: FloatArray
    shape: FloatArray
    wait_spread: FloatArray
    spread: FloatArray
    total_shape: float
    wide: Wide


AnyProblem: TypeAlias = Problem | Pairs | AllButOne | Nests | Weighted

# Indices of more members than this need 64 bits.
_MOST_MEMBERS = 2**32 - 1


def lean(problem: Problem) -> AnyProblem:
    """Give a problem the leanest form that holds its sets; a `Problem` holds any."""
    p, nests = problem, len(problem.complement)
    shared = {name: getattr(p, name) for name in Pairs._fields[2:]}
    if p.weights is not None:
        return _with_weights(p, p.weights)
    if len(p.members) > _MOST_MEMBERS or p.complement[p.singles + p.lone :].any():
        return problem
    grouped = bool((p.groups > 0).any())
    if p.pairs == nests and not grouped:
        return Pairs(_index(p.members[::2]), _index(p.members[1::2]), **shared)
    if p.lone == nests and not grouped:
        return AllButOne(_index(p.members), **shared)
    if p.lone == 0:
        nest_start, set_start = _index(p.nest_start), _index(p.set_start)
        return Nests(_index(p.members), nest_start, set_start, _index(p.set_end), **shared)
    return problem


def _with_weights(p: Problem, weights: FloatArray) -> Weighted:
    if len(p.members) > _MOST_MEMBERS:
        raise ValueError(f"weighted sets of {len(p.members):,} members are beyond 32-bit indices")
    shared = {name: getattr(p, name) for name in Pairs._fields[2:]}
    starts = _index(p.nest_start), _index(p.set_start), _index(p.set_end)
    given = np.log(weights) if p.wide else weights
    return Weighted(_index(p.members), given, *starts, p.complement, **shared)


def loops_take(problem: Problem) -> Problem | Weighted:
    """Give a problem with weights the form that has loops for them; others stay as they are."""
    return problem if problem.weights is None else _with_weights(problem, problem.weights)


def _index(numbers: npt.NDArray[np.int64]) -> Index:
    return np.ascontiguousarray(numbers, np.uint32)
