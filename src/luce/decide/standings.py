"""Tables of seasons: points, and the order of those who are level on points.

Whoever is still level when all criteria are used is parted by lots.  Lots are not drawn: those
level share the places that they take, each with the same weight, which is the exact mean over all
lots.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from luce._types import FloatArray, IntArray, Label
from luce.counts.labels import describe, is_hashable, some
from luce.errors import DataError
from luce.reading.kind import near

WINS, HEAD_TO_HEAD, LOT = "wins", "head-to-head", "lot"
_CRITERIA = (WINS, HEAD_TO_HEAD, LOT)
_IN_WORDS = {
    WINS: "the number of wins",
    HEAD_TO_HEAD: "points won against the others of equal rank",
    LOT: "lots",
}
# Decimals to which points are compared: sums of fractions differ in their last bits.
_DECIMALS = 9

# A criterion's name, or the position of each competitor in an order that was given.
Criterion: TypeAlias = str | IntArray


@dataclass(frozen=True)
class Points:
    """Points for a win, a tie and a loss."""

    win: float = 3.0
    tie: float = 1.0
    loss: float = 0.0

    @classmethod
    def of(cls, given: Points | Mapping[str, float] | Sequence[float]) -> Points:
        """Read three numbers, or a mapping from "win", "tie" and "loss"; what is left out is 0."""
        wanted = "three numbers for a win, a tie and a loss are needed, as (3, 1, 0)"
        if isinstance(given, Points):
            return given
        if isinstance(given, Mapping):
            for name in given:
                if name not in ("win", "tie", "loss"):
                    raise DataError(f"points has {name!r}; 'win', 'tie' and 'loss' are possible.")
            values = [given.get(name, 0.0) for name in ("win", "tie", "loss")]
        elif isinstance(given, (Sequence, np.ndarray)) and not isinstance(given, str):
            values = list(given)
        else:
            raise DataError(f"points = {describe(given)}; {wanted}.")
        numbers = [x for x in values if isinstance(x, (int, float, np.number)) and np.isfinite(x)]
        if len(values) != 3 or len(numbers) != 3:
            raise DataError(f"points = {given!r}; {wanted}.")
        win, tie, loss = map(float, numbers)
        if not win > loss:
            raise DataError(
                f"points = {given!r}: a win must be worth more than a loss; the order is win, tie, "
                "loss."
            )
        return cls(win, tie, loss)

    def __str__(self) -> str:
        win, tie, loss = (f"{x:g}" for x in astuple(self))
        return f"{win} for a win, {tie} for a tie, {loss} for a loss"


class Standings(NamedTuple):
    """Tables of seasons: how many are above each, and how many share its rank, itself included.

    Both have the shape (..., competitor).
    """

    above: IntArray
    level: IntArray


def read_tiebreak(given: Any, labels: Sequence[Label]) -> tuple[Criterion, ...]:
    """Read the criteria that part those level on points, the first that applies first.

    Parameters
    ----------
    given
        The name of a criterion, or a list of names and of orders, best first; None for lots alone.
    labels
        The competitors, all of whom an order must name.
    """
    if given is None:
        return ()
    listed = [given] if isinstance(given, str) else list(given)
    if LOT in (x for x in listed[:-1] if isinstance(x, str)):
        raise DataError(f"tiebreak = {given!r}: lots leave nothing to decide; put 'lot' last.")
    return tuple(_read_criterion(x, labels) for x in listed if not _is_lot(x))


def _is_lot(given: Any) -> bool:
    return isinstance(given, str) and given == LOT


def _read_criterion(given: Any, labels: Sequence[Label]) -> Criterion:
    if isinstance(given, str):
        if given in _CRITERIA:
            return given
        if "goal" in given.lower():
            raise DataError(
                f"tiebreak: {given!r} cannot be used, since goals are not modelled. 'wins', "
                "'head-to-head', 'lot', or a list of the competitors, best first, are possible."
            )
        meant = near(given, _CRITERIA)
        raise DataError(
            f"tiebreak: {given!r} is not known; {some(_CRITERIA)}, or an order, a list of the "
            f"competitors within the list of criteria, are possible.{meant}"
        )
    if not isinstance(given, (list, tuple)):
        raise DataError(f"tiebreak: {describe(given)}; a criterion's name or a list is needed.")
    strangers = [x for x in given if not is_hashable(x) or x not in labels]
    if strangers or len(set(given)) < len(given) or len(given) < len(labels):
        missing = [x for x in labels if x not in given]
        wrong = f"{some(strangers)} do not take part" if strangers else "one is named twice"
        wrong = f"{some(missing)} are not in it" if missing and not strangers else wrong
        raise DataError(f"tiebreak: an order must name each competitor once, best first; {wrong}.")
    position = {label: k for k, label in enumerate(given)}
    return np.array([position[label] for label in labels], np.int64)


def in_words(criteria: Sequence[Criterion]) -> str:
    """Tell the criteria in words."""
    named = [_IN_WORDS[x] if isinstance(x, str) else "the order given" for x in criteria]
    return ", then ".join([*named, _IN_WORDS[LOT]])


def standings(
    points: FloatArray,
    wins: FloatArray | None,
    against: FloatArray | None,
    criteria: Sequence[Criterion],
) -> Standings:
    """Compute tables from points.

    Parameters
    ----------
    points
        Shape (season, competitor).
    wins
        Numbers of wins, of the same shape; None where no criterion needs them.
    against
        Points that each won against each other, shape (season, competitor, opponent); None where no
        criterion needs them.
    criteria
        What parts those level on points, one after another.
    """
    above = _parted(np.zeros(points.shape, np.int64), points)
    for criterion in criteria:
        if not isinstance(criterion, str):
            values = np.broadcast_to(-criterion.astype(np.float64), points.shape)
        elif criterion == WINS:
            assert wins is not None
            values = wins
        else:
            assert against is not None
            level = above[:, :, None] == above[:, None, :]
            values = np.where(level, against, 0.0).sum(axis=2)
        above = _parted(above, values)
    return Standings(above, (above[:, :, None] == above[:, None, :]).sum(axis=2))


def _parted(above: IntArray, values: FloatArray) -> IntArray:
    """Put those with more in front of those with less, among those of equal rank."""
    values = np.round(values, _DECIMALS)
    order = np.lexsort((-values, above), axis=-1)
    ranks, sorted_values = (np.take_along_axis(x, order, axis=-1) for x in (above, values))
    new = np.ones(above.shape, np.bool_)
    new[:, 1:] = (np.diff(ranks) != 0) | (np.diff(sorted_values) != 0)
    first = np.where(new, np.arange(above.shape[-1]), 0)
    out = np.empty_like(above)
    np.put_along_axis(out, order, np.maximum.accumulate(first, axis=-1), axis=-1)
    return out
