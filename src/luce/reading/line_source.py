"""Rows of a text file, as a source that readers understand."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any

import numpy as np

from luce._types import IntArray
from luce.errors import DataError, Problem
from luce.reading.columns import Column, Rows, Runs, is_missing
from luce.reading.lists import starts_of
from luce.reading.sources import Source, counted_rows, runs_of

Row = tuple[int, tuple[Any, ...]]


def _key(row: Row) -> Any:
    value = row[1][0]
    return value.strip() if isinstance(value, str) else value


class LineSource(Source):
    """Rows by line number, read again from the start whenever they are asked for.

    Only distinct rows are kept, so that a file may be larger than memory.

    Parameters
    ----------
    name
        The file, as messages name it.
    names
        The columns.
    rows
        Reads the file: line number and values of each row.
    problems
        What was wrong with lines, added to as they are read.
    count
        Counts rows of some columns, by number, faster than one by one; None where the file needs
        a closer look.
    usable
        Turns a value into one that can be counted, or raises DataError; not asked about columns
        that nobody wants.
    """

    unit = "line"

    def __init__(
        self,
        name: str,
        names: Sequence[str],
        rows: Callable[[], Iterator[Row]],
        problems: set[Problem],
        count: Callable[[list[int]], Counter[tuple[Any, ...]] | None] = lambda where: None,
        usable: Callable[[Any], Any] | None = None,
    ) -> None:
        self.name = name
        self.names = list(names)
        self._where = {name: k for k, name in enumerate(self.names)}
        self._rows = rows
        self._problems = problems
        self._count = count
        self._usable = usable
        self._lines: list[int] = []

    @property
    def problems(self) -> list[Problem]:
        """What was wrong with lines."""
        return sorted(self._problems)

    def distinct(self, keys: Sequence[str], numbers: Sequence[str] = ()) -> Rows:
        """Return the distinct rows of some columns."""
        names = [*keys, *numbers]
        counter = self._count([self._where[name] for name in names]) if names else Counter()
        if counter is None:
            counter = Counter(row for _, row in self._some(names))
        return counted_rows(names, counter, lambda: self._some(names))

    def columns(self, names: Sequence[str]) -> dict[str, Column]:
        """Return every row of some columns, which must fit in memory."""
        rows = list(self._some(names))
        self._lines = [line for line, _ in rows]
        values = zip(*(row for _, row in rows), strict=True) if rows else [()] * len(names)
        return {name: Column.of(list(v)) for name, v in zip(names, values, strict=True)}

    def place(self, i: int) -> int:
        """Line of row i of `columns`."""
        return self._lines[i]

    def runs(self, key: str, columns: Sequence[str]) -> Runs:
        """Return rows grouped by the value of `key`, which stand together in most files.

        Groups with the same rows are kept once.  Where a value comes back later in the file, all
        rows are read into memory and sorted.
        """
        names = [key, *columns]
        seen = array("q")
        counter: Counter[tuple[tuple[Any, ...], ...]] = Counter()
        for _, value, rows in self._groups(names):
            seen.append(hash(value))
            counter[rows] += 1
        if len(np.unique(np.frombuffer(seen, np.int64))) < len(seen):
            return runs_of(self.columns(names), key, self.place)
        groups = list(counter)

        def places(bad: IntArray) -> list[list[int]]:
            wanted = {groups[int(i)]: k for k, i in enumerate(bad)}
            found: list[list[int]] = [[] for _ in bad]
            for line, _, rows in self._groups(names):
                if rows in wanted:
                    found[wanted[rows]].append(line)
            return found

        flat = [row for group in groups for row in group]
        values = zip(*flat, strict=True) if flat else [()] * len(columns)
        encoded = {name: Column.of(list(v)) for name, v in zip(columns, values, strict=True)}
        lengths = np.fromiter(map(len, groups), np.int64, len(groups))
        repeats = np.fromiter(counter.values(), np.float64, len(groups))
        return Runs(encoded, starts_of(lengths), repeats, places)

    def _some(self, names: Sequence[str]) -> Iterator[Row]:
        where = [self._where[name] for name in names]
        if self._usable is not None:
            return self._made_usable(where, self._usable)
        if len(where) == 1:
            (k,) = where
            return ((line, (row[k],)) for line, row in self._rows())
        take = itemgetter(*where)
        return ((line, take(row)) for line, row in self._rows())

    def _made_usable(self, where: list[int], usable: Callable[[Any], Any]) -> Iterator[Row]:
        for line, row in self._rows():
            try:
                yield line, tuple(usable(row[k]) for k in where)
            except DataError as error:
                self._problems.add(Problem(line, str(error)))

    def _groups(self, names: Sequence[str]) -> Iterator[tuple[int, Any, tuple[Any, ...]]]:
        """First line, key and rows of each group of neighbours."""
        for value, group in groupby(self._some(names), key=_key):
            rows = list(group)
            if is_missing(value):
                what = f"{names[0]} is missing."
                self._problems.update(Problem(line, what) for line, _ in rows)
                continue
            yield rows[0][0], value, tuple(row[1:] for _, row in rows)
