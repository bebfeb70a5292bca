"""Tables of counts in which some cells cannot occur.

row r counts n_j of the columns S that can occur there       prod_j (p_j / p(S))^n_j
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from luce._types import BoolArray, FloatArray, Label, Labels
from luce.counts.counts import ConditionalCounts
from luce.counts.labels import some
from luce.errors import DataError, Problem
from luce.reading.categories import all_categories
from luce.reading.columns import Column, as_labels
from luce.reading.given import describe_type, is_frame, source_of, with_named_rows
from luce.reading.lists import Lists
from luce.reading.reading import Reading, reader, report
from luce.reading.sources import PlainSource, Source
from luce.reading.tally import Tally


@dataclass
class Table:
    """A table of counts: nan where a cell cannot occur, and labels of rows and columns."""

    source: Source
    values: FloatArray
    rows: list[Label]
    columns: list[Label]
    named_rows: bool

    def possible(self) -> BoolArray:
        """Which cells can occur?"""
        return ~np.isnan(self.values)


@reader("table")
def from_table(
    data: Any,
    *,
    given: str = "row",
    rows: str | None = None,
    possible: Any = None,
    ignore: Sequence[str] = (),
    categories: Labels | None = None,
    skip_bad: bool = False,
) -> Reading:
    """Read a table of counts with cells that cannot occur.

    Parameters
    ----------
    data
        A frame, a mapping of columns or an array of counts; nan or nothing in a cell that cannot
        occur, and 0 in one that can and did not.
    given
        "row": each row counts outcomes among the columns that can occur in it, and columns are
        the categories.  "table": the table is one sample, and its possible cells, as pairs of
        labels, are the categories.
    rows
        The column that names the rows; the first one, where it is not of numbers.
    possible
        Where the table itself does not tell: an array of the same shape, True for cells that can
        occur.
    ignore
        Columns to leave out.
    categories
        All labels in order, where they are not just the columns.
    skip_bad
        Leave rows out that cannot be used, with a warning that lists them?

    Examples
    --------
    >>> from_table({"tea": [5, 3], "milk": [2, float("nan")], "wine": [0, 4]})
    ConditionalCounts(3 categories, 14 outcomes, 1 set)
    """
    return _read(data, given, rows, possible, ignore, categories, skip_bad)


def _read(
    data: Any,
    given: str = "row",
    rows: str | None = None,
    possible: Any = None,
    ignore: Sequence[str] = (),
    categories: Labels | None = None,
    skip_bad: bool = False,
) -> Reading:
    """Read a table of counts, and say how many outcomes it has."""
    if given not in ("row", "table"):
        raise DataError(f"given = {given!r}; 'row' (each row is a sample) or 'table' is needed.")
    table = read_table(data, rows, ignore, possible, skip_bad)
    number = float(np.nansum(table.values))
    if given == "row":
        return Reading(count_rows(table, categories), number, "outcome")
    cells = [
        (table.rows[i], table.columns[j])
        for i, j in zip(*np.nonzero(table.possible()), strict=True)
    ]
    labels = all_categories(cells, categories)
    tally = Tally(len(labels))
    codes = np.fromiter((labels.index[cell] for cell in cells), np.int64, len(cells))
    tally.add_outcomes(codes, table.values[table.possible()])
    return Reading(tally.counts(list(labels)), number, "outcome")


def count_rows(table: Table, categories: Labels | None = None) -> ConditionalCounts:
    """Count every row given the cells that can occur in it; columns are the categories."""
    labels = all_categories(table.columns, table.columns if categories is None else categories)
    index = np.fromiter((labels.index[c] for c in table.columns), np.int64, len(table.columns))
    possible = table.possible()
    totals = np.nansum(table.values, axis=1)
    tally = Tally(len(labels))
    at_row, at_column = np.nonzero(possible & (totals > 0)[:, None])
    tally.add_outcomes(index[at_column], table.values[at_row, at_column])
    sets = Lists(index[at_column], np.r_[0, np.cumsum(np.bincount(at_row, minlength=len(totals)))])
    filled = totals > 0
    tally.add_sets(sets.take(filled), -totals[filled])
    return tally.counts(list(labels))


def read_table(
    data: Any,
    rows: str | None = None,
    ignore: Sequence[str] = (),
    possible: Any = None,
    skip_bad: bool = False,
) -> Table:
    """Read labels and numbers of a table, and refuse what is no count."""
    source = _source(data)
    if isinstance(ignore, str):
        raise DataError(f"ignore = {ignore!r}; a list of columns is needed: [{ignore!r}].")
    names = [name for name in source.names if name not in ignore]
    if rows is not None and rows not in names:
        raise DataError(f"rows = {rows!r}: there is no such column; they are {some(names, 20)}.")
    if len(names) < 2:
        raise DataError(f"a table needs two columns or more; {some(names)} was given.")
    columns = source.columns(names)
    first = columns[names[0]]
    named = rows is not None or is_unnamed(names[0]) or bool(first.numbers()[1].any())
    if rows is None and named:
        rows = names[0]
    numbers = [name for name in names if name != rows]
    labels = _row_labels(columns[rows] if rows is not None and named else None, len(first))
    if len(first) == 0:
        raise DataError(f"{source.name + ': ' if source.name else ''}the table has no rows.")
    values = np.full((len(first), len(numbers)), np.nan)
    problems: dict[int, str] = {}
    for j, name in enumerate(numbers):
        read, wrong = columns[name].numbers()
        for i in np.flatnonzero(wrong | (read < 0) | np.isinf(read)):
            problems.setdefault(
                int(i),
                f"{name} is {columns[name][int(i)]!r}; a count, 0 or more, is needed, or nothing "
                "where it cannot occur.",
            )
        values[:, j] = read
    labels_j: list[Label] = [name.strip() for name in numbers]
    if isinstance(source, _ArraySource):
        labels_j = list(range(len(numbers)))
    values = _masked(values, possible, problems, labels_j)
    listed = [Problem(source.place(i), what) for i, what in sorted(problems.items())]
    report(source, listed, skip_bad)
    keep = np.ones(len(values), np.bool_)
    keep[list(problems)] = False
    kept = [label for label, k in zip(labels, keep.tolist(), strict=True) if k]
    return Table(source, values[keep], kept, labels_j, named)


def _masked(
    values: FloatArray, possible: Any, problems: dict[int, str], columns: list[Label]
) -> FloatArray:
    if possible is None:
        return values
    try:
        mask = np.asarray(possible)
    except ValueError:  # rows of different lengths
        raise DataError("possible must be a table of the same shape; its rows differ.") from None
    if mask.shape != values.shape:
        raise DataError(f"possible has shape {mask.shape}; the table has {values.shape}.")
    if mask.dtype != np.bool_:
        raise DataError("possible must be an array of True and False.")
    for i, j in zip(*np.nonzero(~mask & (np.nan_to_num(values) > 0)), strict=True):
        problems.setdefault(int(i), f"{columns[j]} is {values[i, j]:g} but not possible.")
    return np.where(mask, np.nan_to_num(values), np.nan)


class _ArraySource(PlainSource):
    """Columns of an array, which have numbers for names."""


def _source(data: Any) -> Source:
    if is_frame(data):
        return source_of(with_named_rows(data))
    try:
        array = np.asarray(data, np.float64)
    except (TypeError, ValueError, OverflowError):
        raise DataError(
            f"{describe_type(data)} was given; a frame or an array of numbers is needed."
        ) from None
    if array.ndim != 2 or array.size == 0:
        raise DataError(f"an array of shape {array.shape} was given; a table is needed.")
    return _ArraySource({str(j): array[:, j].tolist() for j in range(array.shape[1])})


def is_unnamed(column: str) -> bool:
    """Has the column no name of its own, as the one with the names of rows?"""
    return column.strip() == "" or column.startswith("Unnamed: ")  # the latter is pandas' name


def _row_labels(column: Column | None, n: int) -> list[Label]:
    if column is None:
        return list(range(n))
    labels = as_labels(column)
    return [labels[i] for i in range(n)]
