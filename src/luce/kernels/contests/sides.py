"""The arrays that describe contests to a kernel, and sums over their sides.

A model of ties is a type, so that code for the other models is not compiled.
"""

from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from luce._types import FloatArray
from luce.kernels.jit import compile_by_type, embedded
from luce.kernels.problem import Wide
from luce.kernels.set_sums import plus, times, zero

Index: TypeAlias = npt.NDArray[np.uint32]


class SingleSides(NamedTuple):
    """Sides of one category each: first[t] meets second[t]."""

    first: Index
    second: Index


class TeamSides(NamedTuple):
    """Sides of several categories with weights; the fields are those of `counts.contests`."""

    members: Index
    start: Index
    weights: FloatArray


Sides: TypeAlias = SingleSides | TeamSides


class NoTies(NamedTuple):
    """Contests that one of the two sides wins.

    Attributes
    ----------
    sides
        The sides of each meeting.
    at_home
        Whether the first side of each meeting is at home.
    waits, more_waits, spread, more_spread
        Number of outcomes that each denominator is a power of, and their `gamma_spread`; the second
        denominator is that of Rao and Kupper's losses, and empty in other models.
    home_power, tie_power
        Number of factors h, and of ties.
    """

    sides: Sides
    at_home: npt.NDArray[np.bool_]
    waits: FloatArray
    more_waits: FloatArray
    spread: FloatArray
    more_spread: FloatArray
    home_power: float
    tie_power: float


class Davidson(NamedTuple):
    """Contests with Davidson's ties; the fields are those of `NoTies`."""

    sides: Sides
    at_home: npt.NDArray[np.bool_]
    waits: FloatArray
    more_waits: FloatArray
    spread: FloatArray
    more_spread: FloatArray
    home_power: float
    tie_power: float


class RaoKupper(NamedTuple):
    """Contests with the ties of Rao and Kupper; the fields are those of `NoTies`."""

    sides: Sides
    at_home: npt.NDArray[np.bool_]
    waits: FloatArray
    more_waits: FloatArray
    spread: FloatArray
    more_spread: FloatArray
    home_power: float
    tie_power: float


AnyContests: TypeAlias = NoTies | Davidson | RaoKupper


class Multipliers(NamedTuple):
    """The parameters of contests: where each stands in the state, and its prior.

    Attributes
    ----------
    home, tie
        Index of log h, and of log ν or log(θ - 1), in the state; -1 where it is known.
    known_home, known_tie
        Logarithm of the known value, 0 where there is none.
    home_shape, home_rate, tie_shape, tie_rate
        Gamma priors of h and of ν or θ - 1.
    """

    home: int
    tie: int
    known_home: float
    known_tie: float
    home_shape: float
    home_rate: float
    tie_shape: float
    tie_rate: float


@embedded
def log_home(multipliers: Multipliers, state: Any) -> float:
    """Return log h."""
    return state[multipliers.home] if multipliers.home >= 0 else multipliers.known_home


@embedded
def log_tie(multipliers: Multipliers, state: Any) -> float:
    """Return log ν, or log(θ - 1)."""
    return state[multipliers.tie] if multipliers.tie >= 0 else multipliers.known_tie


def strength(sides: Sides, t: int, side: int, x: FloatArray, wide: Wide) -> float:
    """Add up the weighted strengths of one side of meeting t; logarithms if `wide`."""
    chosen = _of_team if isinstance(sides, TeamSides) else _of_one
    return chosen(sides, t, side, x, wide)


def _of_one(sides: Any, t: Any, side: Any, x: Any, wide: Any) -> float:
    return float(x[sides.first[t]] if side == 0 else x[sides.second[t]])


def _of_team(sides: Any, t: Any, side: Any, x: Any, wide: Any) -> float:
    total = zero(wide)
    for k in range(sides.start[2 * t + side], sides.start[2 * t + side + 1]):
        own = _weight(sides.weights[k], wide)
        total = plus(total, times(own, x[sides.members[k]], wide), wide)
    return total


def add_to_side(sides: Sides, t: int, side: int, value: float, wide: Wide, out: FloatArray) -> None:
    """Add a value, times its weight, to each member of one side of meeting t."""
    chosen = _add_to_team if isinstance(sides, TeamSides) else _add_to_one
    chosen(sides, t, side, value, wide, out)


def _add_to_one(sides: Any, t: Any, side: Any, value: Any, wide: Any, out: Any) -> None:
    i = sides.first[t] if side == 0 else sides.second[t]
    out[i] = plus(out[i], value, wide)


def _add_to_team(sides: Any, t: Any, side: Any, value: Any, wide: Any, out: Any) -> None:
    for k in range(sides.start[2 * t + side], sides.start[2 * t + side + 1]):
        i = sides.members[k]
        out[i] = plus(out[i], times(_weight(sides.weights[k], wide), value, wide), wide)


@embedded
def _weight(weight: float, wide: Wide) -> float:
    if wide is None:
        return weight
    return float(np.log(weight))


compile_by_type(strength, {TeamSides: _of_team}, _of_one)
compile_by_type(add_to_side, {TeamSides: _add_to_team}, _add_to_one)
