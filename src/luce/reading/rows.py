"""Columns that keep each distinct value once, distinct rows, and groups of rows."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np

from luce._types import BoolArray, FloatArray, IntArray
from luce.reading.values import as_number, hashable, is_missing, objects, stripped


@dataclass(frozen=True, eq=False)
class Column:
    """A column as codes of its distinct values: row i holds ``values[codes[i]]``."""

    codes: IntArray
    values: list[Any]

    @staticmethod
    def of(given: Any) -> Column:
        """Encode an array or a list of values."""
        if isinstance(given, np.ma.MaskedArray):
            given = given.tolist()
        array = given if isinstance(given, np.ndarray) else objects(given)
        if array.dtype.kind in "iu" and array.dtype != np.uint64 and len(array):
            array = array.astype(np.int64, copy=False)
            if int(array.max()) - int(array.min()) <= 2 * len(array):
                return _encode_dense(array)
        if array.dtype.kind in "biuf":
            distinct, codes = np.unique(array, return_inverse=True)
            return Column(codes.astype(np.int64).reshape(-1), distinct.tolist())
        return _encode_objects(array.tolist())

    def __len__(self) -> int:
        return len(self.codes)

    def __getitem__(self, i: int) -> Any:
        return self.values[self.codes[i]]

    def tolist(self) -> list[Any]:
        """Return the value of each row."""
        return [self.values[code] for code in self.codes.tolist()]

    def present(self) -> list[Any]:
        """Return the distinct values that occur in any row."""
        used = np.flatnonzero(np.bincount(self.codes, minlength=len(self.values)))
        return [self.values[k] for k in used.tolist()]

    def take(self, rows: IntArray | BoolArray) -> Column:
        """Select some rows."""
        return Column(self.codes[rows], self.values)

    def map(self, function: Callable[[Any], Any]) -> np.ndarray[Any, Any]:
        """Apply a function once to each distinct value; returns one object a row."""
        return objects(map(function, self.values))[self.codes]

    @property
    def missing(self) -> BoolArray:
        """Flags of the rows whose value is missing."""
        return np.fromiter(map(is_missing, self.values), np.bool_, len(self.values))[self.codes]

    def numbers(self) -> tuple[FloatArray, BoolArray]:
        """Read every value as a number, nan if it is missing; also returns flags of non-numbers."""
        parsed = [as_number(value) for value in self.values]
        wrong = np.fromiter((x is None for x in parsed), np.bool_, len(parsed))
        numbers = np.fromiter((math.nan if x is None else x for x in parsed), float, len(parsed))
        return numbers[self.codes], wrong[self.codes]

    def labels(self) -> Column:
        """Return the values as labels: spaces around text do not count."""
        if not any(isinstance(v, str) and v != v.strip() for v in self.values):
            return self
        encoded = Column.of([stripped(v) for v in self.values])
        return Column(encoded.codes[self.codes], encoded.values)


def _encode_dense(array: IntArray) -> Column:
    """Encode integers of a short range by flags, which is faster than sorting."""
    low = int(array.min())
    shifted = array - low
    there = np.zeros(int(shifted.max()) + 1, np.bool_)
    there[shifted] = True
    place = np.cumsum(there) - 1
    return Column(place[shifted], [k + low for k in np.flatnonzero(there).tolist()])


def _encode_objects(values: list[Any]) -> Column:
    """Encode values of any type in the order in which they first occur."""
    try:
        distinct = list(dict.fromkeys(values))
    except TypeError:  # lists and sets among the values become tuples and frozensets
        values = [hashable(value) for value in values]
        distinct = list(dict.fromkeys(values))
    code = {value: k for k, value in enumerate(distinct)}
    codes = np.fromiter(map(code.__getitem__, values), np.int64, len(values))
    return Column(codes, distinct)


@dataclass(frozen=True, eq=False)
class Rows:
    """Distinct rows and how often each occurs.

    Parameters
    ----------
    columns
        The columns that were asked for.
    repeats
        Number of times each row occurs.
    places
        Gives, for row numbers, all places in the source where these rows stand, counted from 1.
    totals
        Columns of numbers already summed over the repeats.
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
class Measurements:
    """All rows of some columns in their order: columns of numbers, and columns of labels.

    Parameters
    ----------
    numbers
        Shape (rows, columns): the numbers, nan where one is missing or is no number.
    wrong
        Row, column and value of each entry that is no number.
    labels
        The columns of labels.
    """

    numbers: FloatArray
    wrong: list[tuple[int, int, Any]]
    labels: dict[str, Column]

    @staticmethod
    def of(columns: Sequence[Column | FloatArray], labels: dict[str, Column]) -> Measurements:
        """Read columns as numbers, one of which may be an array of them already."""
        read: list[FloatArray] = []
        wrong: list[tuple[int, int, Any]] = []
        for k, column in enumerate(columns):
            if isinstance(column, Column):
                numbers, bad = column.numbers()
                wrong += [(i, k, column[i]) for i in np.flatnonzero(bad).tolist()]
                read.append(numbers)
            else:
                read.append(column)
        height = max([*map(len, read), *map(len, labels.values())], default=0)
        made = np.empty((height, len(read)))
        for k, numbers in enumerate(read):
            made[:, k] = numbers
        return Measurements(made, sorted(wrong, key=lambda found: found[:2]), labels)


@dataclass(frozen=True, eq=False)
class Runs:
    """Distinct groups of rows, one after another, and how often each group occurs.

    Parameters
    ----------
    columns
        The columns; rows of one group stand next to each other in their own order.
    starts
        Group i is rows ``starts[i]`` to ``starts[i + 1]``.
    repeats
        Number of times a group of exactly these rows occurs.
    places
        Gives, for group numbers, all places in the source where these groups begin, from 1 on.
    nameless
        Places of rows that name no group; they belong to none.
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
        """Yield the row numbers of each group."""
        return (range(a, b) for a, b in pairwise(self.starts.tolist()))


def count_distinct(
    columns: Sequence[IntArray], sizes: Sequence[int], repeats: FloatArray | None = None
) -> tuple[IntArray, FloatArray]:
    """Find distinct rows of codes: where each first occurs, in this order, and its repeats.

    Parameters
    ----------
    columns
        Codes of each column, below the size of that column.
    repeats
        Number of times that each of the rows occurs; once unless given.
    """
    keys, size = _keys(columns, sizes)
    n = len(keys)
    total = np.zeros(n)
    if size <= 4 * n:
        first = np.empty(size, np.int64)
        first[keys[::-1]] = np.arange(n)[::-1]
        there = np.bincount(keys, repeats, size)
        distinct = np.flatnonzero(there)
        total[first[distinct]] = there[distinct]
    elif n:
        order, keys = sorted_keys(keys, size)
        begins = np.flatnonzero(np.r_[True, keys[1:] != keys[:-1]])
        if repeats is None:
            total[order[begins]] = np.diff(begins, append=n)
        else:
            total[order[begins]] = np.add.reduceat(repeats[order], begins)
    first = np.flatnonzero(total)
    return first, total[first]


def _keys(columns: Sequence[IntArray], sizes: Sequence[int]) -> tuple[IntArray, int]:
    """Join the codes of each row into one number; returns these and what they stay below."""
    keys, size = columns[0].astype(np.int64), sizes[0]
    for column, own in zip(columns[1:], sizes[1:], strict=True):
        if size * own >= 1 << 62:
            distinct, keys = np.unique(keys, return_inverse=True)
            keys, size = keys.reshape(-1).astype(np.int64), len(distinct)
        keys *= own
        keys += column
        size *= own
    return keys, size


def sorted_keys(keys: IntArray, size: int) -> tuple[IntArray, IntArray]:
    """Sort numbers below `size` stably; returns their order, and the numbers in that order."""
    bits = len(keys).bit_length()
    if size.bit_length() + bits > 62:
        order = np.argsort(keys, kind="stable")
        return order, keys[order]
    both = keys << bits
    both |= np.arange(len(keys))
    both.sort()  # faster than a sort of places
    order = both & (1 << bits) - 1
    both >>= bits
    return order, both


def starts_of(lengths: IntArray) -> IntArray:
    """Return where each of several lists begins once they are joined, and where the last ends."""
    starts = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=starts[1:])
    return starts
