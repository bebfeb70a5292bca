"""Columns of data as people have them, each distinct value kept once."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np

from luce._types import BoolArray, FloatArray, IntArray, Label
from luce.errors import DataError

# How people write that a number is not there.  In a column of labels only the empty text is
# missing, since NA is also Namibia.
_NO_NUMBER = frozenset({"", "na", "nan", "n/a", "null", "none", "-", ".", "?"})
_DEEPEST = 10  # lists within lists; a ranking of teams has two


@dataclass(frozen=True, eq=False)
class Column:
    """Values as numbers of their distinct values: ``values[codes[i]]`` is the value in row i."""

    codes: IntArray
    values: list[Any]

    @staticmethod
    def of(given: Any) -> Column:
        """Encode an array or a list of values."""
        if isinstance(given, np.ma.MaskedArray):
            given = given.tolist()
        array = given if isinstance(given, np.ndarray) else _as_array(given)
        if array.dtype.kind in "iu" and array.dtype != np.uint64 and len(array):
            array = array.astype(np.int64, copy=False)
            low, high = int(array.min()), int(array.max())
            if high - low <= 2 * len(array):  # flags are faster than sorting
                # Small integers would overflow where negative ones are taken away.
                shifted = array - low if low >= 0 else array.astype(np.int64) - low
                there = np.zeros(high - low + 1, np.bool_)
                there[shifted] = True
                place = np.cumsum(there) - 1
                return Column(place[shifted], [k + low for k in np.flatnonzero(there).tolist()])
        if array.dtype.kind in "biuf":
            distinct, codes = np.unique(array, return_inverse=True)
            return Column(codes.astype(np.int64).reshape(-1), distinct.tolist())
        values = array.tolist()
        try:
            distinct_values = list(dict.fromkeys(values))
        except TypeError:  # lists and sets among the values: as tuples and frozensets
            values = [hashable(value) for value in values]
            distinct_values = list(dict.fromkeys(values))
        code = dict(zip(distinct_values, range(len(distinct_values)), strict=True))
        codes = np.fromiter(map(code.__getitem__, values), np.int64, len(values))
        return Column(codes, distinct_values)

    def __len__(self) -> int:
        return len(self.codes)

    def __getitem__(self, i: int) -> Any:
        return self.values[self.codes[i]]

    def used(self) -> IntArray:
        """Which of the distinct values occur?"""
        return np.flatnonzero(np.bincount(self.codes, minlength=len(self.values)))

    def take(self, rows: IntArray | BoolArray) -> Column:
        """Return some rows only."""
        return Column(self.codes[rows], self.values)

    def map(self, function: Callable[[Any], Any]) -> np.ndarray[Any, Any]:
        """Apply a function once to each distinct value; one result a row, as objects."""
        results = np.empty(len(self.values), object)
        results[:] = [function(value) for value in self.values]
        return results[self.codes]

    @property
    def missing(self) -> BoolArray:
        """Is there nothing in the row?"""
        return np.fromiter(map(is_missing, self.values), np.bool_, len(self.values))[self.codes]

    def numbers(self) -> tuple[FloatArray, BoolArray]:
        """Read every value as a number; nan where there is none, True where it is no number."""
        parsed = [as_number(value) for value in self.values]
        wrong = np.fromiter((x is None for x in parsed), np.bool_, len(parsed))
        numbers = np.fromiter((math.nan if x is None else x for x in parsed), float, len(parsed))
        return numbers[self.codes], wrong[self.codes]


@dataclass(frozen=True, eq=False)
class Rows:
    """Distinct rows and how often each occurs.

    Parameters
    ----------
    columns
        The columns that were asked for.
    repeats
        How often each row occurs.
    places
        Gives, for rows by number, all the places (from 1 on) where they stand in the source.
    totals
        Numbers that have been added up over the repeats already.
    """

    columns: dict[str, Column]
    repeats: FloatArray
    places: Callable[[IntArray], list[list[int]]]
    totals: dict[str, FloatArray] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.repeats)

    def __getitem__(self, name: str) -> Column:
        return self.columns[name]


@dataclass(frozen=True, eq=False)
class Runs:
    """Rows that belong together, one group after another, and how often each group occurs.

    Parameters
    ----------
    columns
        The columns, rows of one group next to each other and in their own order.
    starts
        Group i is rows ``starts[i]`` to ``starts[i + 1]``.
    repeats
        How often a group with just these rows occurs.
    places
        Gives, for groups by number, all the places (from 1 on) where they begin in the source.
    nameless
        Places of rows that do not say which group they belong to; they are in none.
    """

    columns: dict[str, Column]
    starts: IntArray
    repeats: FloatArray
    places: Callable[[IntArray], list[list[int]]]
    nameless: tuple[int, ...] = ()

    def __len__(self) -> int:
        return len(self.repeats)

    def __getitem__(self, name: str) -> Column:
        return self.columns[name]

    def spans(self) -> Iterator[range]:
        """Return the rows of each group."""
        return (range(a, b) for a, b in pairwise(self.starts.tolist()))


def is_missing(value: Any) -> bool:
    """Is this nothing: None, nan, not-a-time, or empty text?"""
    if value is None or (isinstance(value, str) and not value):
        return True
    try:
        return bool(value != value)
    except (TypeError, ValueError, ArithmeticError):
        # Pandas' missing value will not say, arrays say too much, and decimals may complain.
        return type(value).__name__ in ("NAType", "NaTType")


def as_number(value: Any) -> float | None:
    """Read a number: nan where there is none, None where it is something else."""
    if is_missing(value):
        return math.nan
    if isinstance(value, str):
        if value.strip().lower() in _NO_NUMBER:
            return math.nan
        if "_" in value:  # Python would read 1_000; nobody writes that in a file
            return None
    elif isinstance(value, (bytes, tuple, frozenset)):
        return None
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return None


def as_flag(value: Any) -> bool | None:
    """Read yes or no, 1 or 0; nothing is no, and None stands for anything else."""
    if isinstance(value, str) and value.strip().lower() in ("true", "yes", "y", "t"):
        return True
    if isinstance(value, str) and value.strip().lower() in ("false", "no", "n", "f", ""):
        return False
    number = as_number(value)
    if number is None or number not in (0.0, 1.0):
        return False if number != number and number is not None else None
    return number == 1.0


def is_list(value: Any) -> bool:
    """Can this be gone through, and is it not a text?"""
    if isinstance(value, (str, bytes)) or not isinstance(value, Iterable):
        return False
    return not (isinstance(value, np.ndarray) and value.ndim == 0)


def hashable(value: Any, most: int = _DEEPEST) -> Any:
    """Turn lists into tuples, and lists and sets within them into frozensets: a tie, a team."""
    if isinstance(value, (str, int, float, type(None))):
        return value
    if hasattr(value, "tolist"):  # arrays and their scalars
        value = value.tolist()
    elif hasattr(value, "to_list"):  # series
        value = value.to_list()
    if most == 0:
        raise DataError(f"lists are nested more than {_DEEPEST} deep; no data are like that.")
    most -= 1
    if isinstance(value, list):
        return tuple(frozenset(hashable(x, most)) if isinstance(x, (list, set))
                     else hashable(x, most) for x in value)  # fmt: skip
    if isinstance(value, (set, frozenset)):
        return frozenset(hashable(x, most) for x in value)
    try:
        hash(value)
    except TypeError:
        raise DataError(
            f"{shown(value)} ({type(value).__name__}) is neither a label nor a list of labels."
        ) from None
    return value


def shown(value: Any, most: int = 60) -> str:
    """Show a value, or the beginning of it."""
    try:
        text = repr(value)
    except Exception:  # nested too deep, or broken in itself
        return "something"
    return text if len(text) <= most else f"{text[:most]}..."


def in_order(labels: Iterable[Label]) -> list[Label]:
    """Distinct labels, sorted where they can be compared, else kind by kind.

    The engines behind frames return groups in any order; sorting makes the answer one.
    """
    distinct = list(dict.fromkeys(labels))
    try:
        return sorted(distinct)  # type: ignore[type-var]
    except (TypeError, ArithmeticError):  # decimals that are no numbers have no order
        return sorted(distinct, key=lambda x: (type(x).__name__, repr(x)))


def as_labels(column: Column) -> Column:
    """Turn a column into labels: spaces around text do not matter."""
    if not any(isinstance(v, str) and v != v.strip() for v in column.values):
        return column
    stripped = [v.strip() if isinstance(v, str) else v for v in column.values]
    encoded = Column.of(stripped)
    return Column(encoded.codes[column.codes], encoded.values)


def _as_array(given: Sequence[Any]) -> np.ndarray[Any, Any]:
    array = np.empty(len(given), object)
    array[:] = [x for x in given]  # noqa: C416  # a list of equal lists must stay a list of lists
    return array
