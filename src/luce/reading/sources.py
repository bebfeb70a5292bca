"""Where rows come from.

A source has named columns and gives its *distinct* rows with their numbers of repeats, which is
all that a likelihood needs; frames are reduced to that by their own engine.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from luce._types import IntArray
from luce.errors import DataError, Problem
from luce.reading.columns import Column, Rows, Runs, as_labels, hashable, in_order, is_missing


class Source(ABC):
    """Rows with named columns; `unit` is what a row is called, `name` whose rows they are."""

    names: list[str]
    unit = "row"
    name = ""

    @property
    def problems(self) -> list[Problem]:
        """What was wrong with rows before anybody looked at their columns."""
        return []

    @abstractmethod
    def distinct(self, keys: Sequence[str], numbers: Sequence[str] = ()) -> Rows:
        """Return the distinct rows of some columns; `numbers` may come added up, as totals."""

    @abstractmethod
    def columns(self, names: Sequence[str]) -> dict[str, Column]:
        """Return every row of some columns, in their order."""

    def place(self, i: int) -> int:
        """Where row i of `columns` stands, counted from 1."""
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

    def distinct(self, keys: Sequence[str], numbers: Sequence[str] = ()) -> Rows:
        """Return the distinct rows of some columns."""
        names = [*keys, *numbers]
        return counted_rows(
            names, Counter(self._tuples(names)), lambda: enumerate(self._tuples(names), 1)
        )

    def columns(self, names: Sequence[str]) -> dict[str, Column]:
        """Return every row of some columns."""
        return {name: Column.of(self._columns[name]) for name in names}

    def _tuples(self, names: Sequence[str]) -> Iterator[tuple[Any, ...]]:
        if not names:
            return iter([])
        return zip(*(map(hashable, self._columns[name]) for name in names), strict=True)


def counted_rows(
    names: Sequence[str],
    counter: Counter[tuple[Any, ...]],
    again: Callable[[], Iterable[tuple[int, tuple[Any, ...]]]],
) -> Rows:
    """Take rows that have been counted; `again` reads them all, to say where bad ones are."""
    distinct = list(counter)

    def places(bad: IntArray) -> list[list[int]]:
        wanted = {distinct[int(i)]: k for k, i in enumerate(bad)}
        found: list[list[int]] = [[] for _ in bad]
        for place, row in again():
            if row in wanted:
                found[wanted[row]].append(place)
        return found

    values = list(zip(*distinct, strict=True)) if distinct else [()] * len(names)
    columns = {name: Column.of(list(column)) for name, column in zip(names, values, strict=True)}
    return Rows(columns, np.fromiter(counter.values(), float, len(counter)), places)


def runs_of(columns: dict[str, Column], key: str, place: Callable[[int], int]) -> Runs:
    """Sort rows by the value of `key`, keeping their order within it."""
    keys = as_labels(columns[key])
    rank = np.full(len(keys.values), -1, np.int64)  # of what is missing
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
