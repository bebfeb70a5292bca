"""Sources of rows.

A source has named columns and gives its *distinct* rows with their numbers of repeats, which is
all that a likelihood needs; frames are reduced to distinct rows by their own engine.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from functools import cached_property
from typing import Any

import numpy as np

from luce._types import IntArray
from luce.errors import BadRowsError, DataError, Problem, SkippedRowsWarning, warn_user
from luce.reading.rows import Column, Measurements, Rows, Runs
from luce.reading.values import hashable, in_order, is_missing

HEAD = 1_000  # rows that are looked at to tell what a column holds


class Source(ABC):
    """Rows with named columns; messages call a row `unit` and the source `name`.

    `missing` are texts that stand for a missing value; None where only values without a text are
    missing, as in frames.  `index` are columns that were the index of a frame, and name rows.
    """

    names: list[str]
    unit = "row"
    name = ""
    missing: frozenset[str] | None = None
    index: Sequence[str] = ()
    ignored: tuple[str, ...] = ()  # columns that the user told a reader to leave out

    @property
    def advice(self) -> str:
        """What to do about rows that were refused, besides mending them or leaving them out."""
        return ""

    @cached_property
    def uses(self) -> dict[str, str]:
        """What became of each column, in words; filled in once a reader has settled it."""
        return {}

    @property
    def problems(self) -> list[Problem]:
        """Rows that could not be read at all."""
        return []

    @abstractmethod
    def distinct(self, keys: Sequence[str], numbers: Sequence[str] = ()) -> Rows:
        """Return the distinct rows of some columns; `numbers` may come summed, as totals."""

    @abstractmethod
    def columns(self, names: Sequence[str]) -> dict[str, Column]:
        """Return every row of some columns, in their order."""

    @abstractmethod
    def head(self, names: Sequence[str], most: int = HEAD) -> dict[str, Column]:
        """Return the first rows of some columns, which tell what these hold."""

    def measurements(self, numbers: Sequence[str], labels: Sequence[str] = ()) -> Measurements:
        """Return every row of some columns of numbers and of labels, in their order."""
        read = self.columns(list(dict.fromkeys([*numbers, *labels])))
        found = {name: read[name].labels() for name in labels}
        return Measurements.of([read[name] for name in numbers], found)

    def temporal(self, name: str) -> str:
        """Say whether `measurements` reads a column as seconds: of "dates", "durations" or ""."""
        return ""

    def place(self, i: int) -> int:
        """Return the place of row i of `columns` or `measurements`, counted from 1."""
        return i + 1

    def runs(self, key: str, columns: Sequence[str]) -> Runs:
        """Return rows grouped by the value of `key`."""
        return runs_of(self.columns([key, *columns]), key, self.place)


class PlainSource(Source):
    """Columns in plain Python: lists of equal length."""

    def __init__(self, columns: Mapping[str, Sequence[Any]]) -> None:
        lengths = {name: len(values) for name, values in columns.items()}
        if len(set(lengths.values())) > 1:
            raise DataError(f"the columns differ in length: {lengths}; every row needs them all.")
        self.names = list(columns)
        self._columns = columns

    def values(self, name: str) -> Sequence[Any]:
        """Return every value of a column, as it was given."""
        return self._columns[name]

    def replaced(self, columns: Mapping[str, Sequence[Any]]) -> PlainSource:
        """Return the same rows with some columns replaced or added."""
        return PlainSource({**self._columns, **columns})

    def distinct(self, keys: Sequence[str], numbers: Sequence[str] = ()) -> Rows:
        """Return the distinct rows of some columns."""
        names = [*keys, *numbers]
        return counted_rows(
            names, Counter(self._tuples(names)), lambda: enumerate(self._tuples(names), 1)
        )

    def columns(self, names: Sequence[str]) -> dict[str, Column]:
        """Return every row of some columns."""
        return {name: Column.of(self._columns[name]) for name in names}

    def head(self, names: Sequence[str], most: int = HEAD) -> dict[str, Column]:
        """Return the first rows of some columns."""
        return {name: shown_column(self._columns[name][:most]) for name in names}

    def _tuples(self, names: Sequence[str]) -> Iterator[tuple[Any, ...]]:
        if not names:
            return iter([])
        return zip(*(map(hashable, self._columns[name]) for name in names), strict=True)


class Part(PlainSource):
    """Some rows of a source, each with its place there."""

    def __init__(
        self, whole: Source, columns: Mapping[str, Sequence[Any]], places: Sequence[int]
    ) -> None:
        super().__init__(columns)
        self.unit, self.name, self.missing = whole.unit, whole.name, whole.missing
        self.index = [name for name in whole.index if name in columns]
        self._places = places

    def place(self, i: int) -> int:
        """Return the place of row i in the whole source."""
        return self._places[i]

    def distinct(self, keys: Sequence[str], numbers: Sequence[str] = ()) -> Rows:
        """Return the distinct rows of some columns."""
        names = [*keys, *numbers]
        counter = Counter(self._tuples(names))
        return counted_rows(
            names, counter, lambda: zip(self._places, self._tuples(names), strict=True)
        )


def split(source: Source, by: Sequence[str], skip_bad: bool = False) -> dict[Any, Part]:
    """Split rows into groups by the labels in some columns, which the parts lack.

    The groups stand in the order in which they first appear.  Rows that name no group are refused,
    or left out with a warning if `skip_bad`.
    """
    columns = source.columns(source.names)
    keys = [columns[name].labels() for name in by]
    codes = zip(*(key.codes.tolist() for key in keys), strict=True)
    rows: dict[tuple[int, ...], list[int]] = {}
    for row, code in enumerate(codes):
        rows.setdefault(code, []).append(row)
    found: dict[Any, Part] = {}
    problems = list(source.problems)
    for code, own in rows.items():
        labels = tuple(key.values[k] for key, k in zip(keys, code, strict=True))
        places = [source.place(row) for row in own]
        nameless = [name for name, label in zip(by, labels, strict=True) if is_missing(label)]
        if nameless:
            why = f"{nameless[0]} is missing; it names the group of a row."
            problems += [Problem(place, why) for place in places]
            continue
        rest = {name: columns[name].take(np.array(own)) for name in columns if name not in by}
        key = labels[0] if len(by) == 1 else labels
        found[key] = Part(source, {name: own.tolist() for name, own in rest.items()}, places)
    if problems and not skip_bad:
        raise BadRowsError(sorted(problems), source.unit, source.name, source.advice)
    if problems:
        warn_user(SkippedRowsWarning(sorted(problems), source.unit, source.name, source.advice))
    return found


def without(source: Source, ignore: Sequence[str]) -> Source:
    """Leave columns out of a source; what became of the others is told of the whole."""
    if not ignore:
        return source
    trimmed = copy(source)
    trimmed.uses = source.uses  # the same object
    trimmed.names = [name for name in source.names if name not in ignore]
    trimmed.index = [name for name in source.index if name not in ignore]
    trimmed.ignored = (*source.ignored, *ignore)
    return trimmed


def shown_column(values: Any) -> Column:
    """Encode values for a look at them; one that no reader could use becomes None."""
    try:
        return Column.of(values)
    except DataError:
        return Column.of([_or_none(value) for value in values])


def _or_none(value: Any) -> Any:
    try:
        return hashable(value)
    except DataError:
        return None


def counted_rows(
    names: Sequence[str],
    counter: Counter[tuple[Any, ...]],
    again: Callable[[], Iterable[tuple[int, tuple[Any, ...]]]],
) -> Rows:
    """Encode rows that have been counted; `again` reads all rows, to find places of bad ones."""
    distinct = list(counter)

    def places(bad: IntArray) -> list[list[int]]:
        return places_of([distinct[int(i)] for i in bad], again())

    repeats = np.fromiter(counter.values(), np.float64, len(counter))
    return Rows(columns_of(names, distinct), repeats, places)


def columns_of(names: Sequence[str], rows: Sequence[tuple[Any, ...]]) -> dict[str, Column]:
    """Encode the columns of a list of rows."""
    values = zip(*rows, strict=True) if rows else [()] * len(names)
    return {name: Column.of(list(column)) for name, column in zip(names, values, strict=True)}


def places_of(wanted: Sequence[Any], rows: Iterable[tuple[int, Any]]) -> list[list[int]]:
    """Find all places where each of the wanted rows stands."""
    number = {row: k for k, row in enumerate(wanted)}
    found: list[list[int]] = [[] for _ in wanted]
    for place, row in rows:
        if row in number:
            found[number[row]].append(place)
    return found


def runs_of(columns: dict[str, Column], key: str, place: Callable[[int], int]) -> Runs:
    """Group rows by the value of `key`, keeping their order within a group."""
    keys = columns[key].labels()
    rank = np.full(len(keys.values), -1, np.int64)  # of missing keys
    there = [value for value in keys.values if not is_missing(value)]
    numbers = {value: k for k, value in enumerate(keys.values)}
    rank[[numbers[value] for value in in_order(there)]] = np.arange(len(set(there)))
    by = rank[keys.codes]
    order = np.argsort(by, kind="stable")
    nameless = tuple(place(int(i)) for i in order[: np.searchsorted(by[order], 0)])
    order = order[len(nameless) :]
    by = by[order]
    starts = np.flatnonzero(np.r_[True, by[1:] != by[:-1]]) if len(by) else by

    def places(bad: IntArray) -> list[list[int]]:
        return [[place(int(order[starts[i]]))] for i in bad]

    ordered = {name: column.take(order) for name, column in columns.items()}
    runs = np.r_[starts, len(order)]
    return Runs(ordered, runs, np.ones(len(starts)), places, nameless)
