"""Tables of counts in which some cells cannot occur.

row r counts n_j of the columns S that can occur there       prod_j (p_j / p(S))^n_j
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from luce._types import BoolArray, FloatArray, Label, Labels
from luce.counts.labels import some
from luce.errors import DataError
from luce.reading.accounts import strangers
from luce.reading.frames import is_frame, source_of
from luce.reading.inspection import Inspection
from luce.reading.kind import Reading, check_column, leave_out
from luce.reading.kinds import TABLE
from luce.reading.rows import Column, Rows
from luce.reading.sources import PlainSource, Source
from luce.reading.tally import Lists, Tally
from luce.reading.values import describe_type, is_unnamed


@dataclass
class Table:
    """A table of counts, nan in cells that cannot occur, with labels of rows and columns."""

    values: FloatArray
    rows: list[Label]
    columns: list[Label]

    def possible(self) -> BoolArray:
        """Flags of the cells that can occur."""
        return ~np.isnan(self.values)


@TABLE.reader
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
        The column that names the rows; the first one, unless it holds numbers, or the index of a
        frame of pandas.
    possible
        An array of the same shape, True for cells that can occur, where the table does not tell.
    ignore
        Columns to leave out.
    categories
        All labels in order; the columns unless given.
    skip_bad
        Leave bad rows out, with a warning that lists them?

    Examples
    --------
    >>> from_table({"tea": [5, 3], "milk": [2, float("nan")], "wine": [0, 4]})
    ConditionalCounts(3 categories, 14 outcomes, 1 set)
    """
    if given not in ("row", "table"):
        raise DataError(f"given = {given!r}; 'row' (each row is a sample) or 'table' is needed.")
    table = read_table(data, rows, ignore, possible, skip_bad)
    if categories is None:
        ask_about_strangers(table, "list all categories=[...]")
    tally = (_tally_rows if given == "row" else _tally_cells)(table, categories)
    return TABLE.reading(tally.counts(), np.nansum(table.values))


def ask_about_strangers(table: Table, remedy: str) -> None:
    """Ask about a column, or a last row, that is hardly one of the categories: year, Total.

    `remedy` says what to do where it is one.
    """
    odd = strangers(str(label) for label in table.columns)
    if odd and len(odd) < len(table.columns):
        raise DataError(
            f"{some(odd)} would be counted as {'a category' if len(odd) == 1 else 'categories'}. "
            f"If that is wrong, leave it out with ignore={odd} (--ignore), or say rows={odd[0]!r} "
            f"if it names the rows; if it is right, {remedy}."
        )
    cells = np.nan_to_num(table.values)
    if len(cells) > 2 and cells[-1].any() and (cells[:-1].sum(axis=0) == cells[-1]).all():
        raise DataError(
            f"the last row, {table.rows[-1]!r}, is the sum of the others. Leave it out; if it is a "
            f"sample of its own, {remedy}."
        )


def _tally_rows(table: Table, categories: Labels | None) -> Tally:
    """Count every row given the cells that can occur in it; columns are the categories."""
    tally = Tally.over(table.columns, table.columns if categories is None else categories)
    index = tally.numbers(Column.of(table.columns))
    totals = np.nansum(table.values, axis=1)
    filled = totals > 0
    at_row, at_column = np.nonzero(table.possible() & filled[:, None])
    values = table.values[at_row, at_column]
    tally.add_outcomes(index[at_column], values)
    sets = Lists(index[at_column], np.r_[0, np.cumsum(np.bincount(at_row, minlength=len(totals)))])
    tally.add_sets(sets.take(filled), -totals[filled])
    tally.remember(Lists.singles(index[at_column]), values, lambda: sets, at_row)
    return tally


def _tally_cells(table: Table, categories: Labels | None) -> Tally:
    """Count the whole table as one sample; possible cells are the categories."""
    at = zip(*np.nonzero(table.possible()), strict=True)
    cells = Column.of([(table.rows[i], table.columns[j]) for i, j in at])
    tally = Tally.over(cells.values, categories)
    numbers, values = tally.numbers(cells), table.values[table.possible()]
    tally.add_outcomes(numbers, values)
    tally.remember(Lists.singles(numbers), values)
    return tally


def read_table(
    data: Any,
    rows: str | None = None,
    ignore: Sequence[str] = (),
    possible: Any = None,
    skip_bad: bool = False,
) -> Table:
    """Read labels and counts of a table, and refuse rows with cells that are not counts."""
    source = leave_out(_source(data), ignore)
    if rows is None and len(source.index) == 1:
        (rows,) = source.index
    names = _names(source, rows)
    columns = source.columns(names)
    first = columns[names[0]]
    if len(first) == 0:
        raise DataError(f"{source.name + ': ' if source.name else ''}the table has no rows.")
    if rows is None and (is_unnamed(names[0]) or first.numbers()[1].any()):
        rows = names[0]
    labels = columns[rows].labels() if rows is not None else Column.of(range(len(first)))
    counted = [name for name in names if name != rows]
    read = Rows(columns, np.ones(len(first)), lambda bad: [[source.place(int(i))] for i in bad])
    naming = source.index if rows is None else [*source.index, rows]
    parts = dict.fromkeys(naming, "names of rows") | dict.fromkeys(counted, "counts")
    inspection = Inspection(source, read, {name: name for name in counted}, parts)
    values = np.stack([_cells(inspection, name) for name in counted], axis=1)
    values = _masked(values, possible, inspection, counted)
    keep = inspection.settle(skip_bad)
    by_number = isinstance(source, _ArraySource)
    named: list[Label] = list(range(len(counted))) if by_number else [n.strip() for n in counted]
    return Table(values[keep], labels.take(keep).tolist(), named)


def _names(source: Source, rows: str | None) -> list[str]:
    """List the columns of the table."""
    others = {name for name in source.index if name != rows}  # further levels of an index
    names = [name for name in source.names if name not in others]
    if rows is not None:
        check_column(names, "rows", rows)
    if len(names) < 2:
        raise DataError(f"a table needs two columns or more; {some(names)} was given.")
    return names


def _cells(inspection: Inspection, name: str) -> FloatArray:
    """Read a column of counts, nan where a cell cannot occur."""
    column = inspection[name]
    values, wrong = column.numbers()
    inspection.refuse(
        wrong | (values < 0) | np.isinf(values),
        lambda i: (
            f"{name} is {column[i]!r}; a count, 0 or more, is needed, or nothing where it cannot "
            "occur."
        ),
    )
    return values


def _masked(
    values: FloatArray, possible: Any, inspection: Inspection, columns: list[str]
) -> FloatArray:
    """Put nan into the cells that `possible` excludes, and refuse rows with counts there."""
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
    for i, j in np.argwhere(~mask & (np.nan_to_num(values) > 0)).tolist():
        inspection.refuse_row(i, f"{columns[j].strip()} is {values[i, j]:g} but not possible.")
    return np.where(mask, np.nan_to_num(values), np.nan)


class _ArraySource(PlainSource):
    """Columns of an array, which have numbers for names."""


def _source(data: Any) -> Source:
    if is_frame(data):
        return source_of(data)
    try:
        array = np.asarray(data, np.float64)
    except (TypeError, ValueError, OverflowError):
        raise DataError(
            f"{describe_type(data)} was given; a frame or an array of numbers is needed."
        ) from None
    if array.ndim != 2 or array.size == 0:
        raise DataError(f"an array of shape {array.shape} was given; a table is needed.")
    return _ArraySource({str(j): array[:, j].tolist() for j in range(array.shape[1])})


def is_square(source: Source) -> bool:
    """Tell whether the first column names the rows as the other columns are named."""
    if len(source.names) < 3:
        return False
    first, *names = source.names
    wanted = {name.strip() for name in names}
    shown = source.head([first])[first].values  # enough to tell most other tables
    if any(value is not None and str(value).strip() not in wanted for value in shown):
        return False
    return {str(value).strip() for value in source.distinct([first])[first].values} == wanted
