"""Where rows come from: plain Python, and any frame that narwhals knows.

A source has named columns and gives its *distinct* rows with their numbers of repeats, which is
all that a likelihood needs; frames are reduced to that by their own engine.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import PurePath
from typing import Any

import numpy as np

from luce._types import IntArray
from luce.errors import DataError, Problem
from luce.readers.columns import Column, Rows, Runs, hashable, in_order, shown

_NAMELESS = "Unnamed: 0"  # what pandas calls a column without a name
_REPEATS = "_luce_repeats"
_LONG = 10_000  # rows from which on an engine encodes text faster than we do


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


class FrameSource(Source):
    """A frame of pandas, polars, pyarrow, duckdb, dask or pyspark, eager or lazy."""

    def __init__(self, frame: Any) -> None:
        self._frame = frame.lazy() if hasattr(frame, "lazy") else frame
        self.names = list(self._frame.collect_schema().names())
        if "" in self.names:  # which engines do not group by
            self._frame = self._frame.rename({"": _NAMELESS})
            self.names[self.names.index("")] = _NAMELESS
        wrong = [name for name in self.names if not isinstance(name, str)]
        if wrong or not self.names:
            which = f"a column is called {wrong[0]!r}" if wrong else "the frame has no columns"
            raise DataError(f"{which}; every column needs a name that is text.")

    def distinct(self, keys: Sequence[str], numbers: Sequence[str] = ()) -> Rows:
        """Return the distinct rows of some columns, grouped by the frame's engine."""
        import narwhals as nw

        schema = self._frame.collect_schema()
        if not keys:
            return self._every_row(numbers) if numbers else PlainSource({}).distinct([])
        nested = any(not _is_groupable(schema[name]) for name in keys)
        summable = all(schema[name].is_numeric() for name in numbers) and not nested
        if nested:
            return self._every_row([*keys, *numbers])
        if numbers and not summable:
            return self.distinct([*keys, *numbers])
        sums = [nw.col(name).sum().alias(f"_luce_sum_{i}") for i, name in enumerate(numbers)]
        # One negative, missing or infinite number, and the rows are looked at one by one.
        least = [nw.col(name).min().alias(f"_luce_min_{i}") for i, name in enumerate(numbers)]
        given = [nw.col(name).count().alias(f"_luce_n_{i}") for i, name in enumerate(numbers)]
        grouped = self._frame.select(*dict.fromkeys([*keys, *numbers])).group_by(*keys)
        groups = self._collect(grouped.agg(nw.len().alias(_REPEATS), *sums, *least, *given))
        repeats = groups[_REPEATS].to_numpy().astype(np.float64)
        totals = {}
        for i, name in enumerate(numbers):
            total = groups[f"_luce_sum_{i}"].to_numpy().astype(np.float64)
            low = groups[f"_luce_min_{i}"].to_numpy().astype(np.float64)
            complete = bool((groups[f"_luce_n_{i}"].to_numpy() == repeats).all())
            if not (complete and np.isfinite(total).all() and (low >= 0).all()):
                return self.distinct([*keys, *numbers])
            totals[name] = total
        columns = {name: _encode(groups, name) for name in keys}
        return Rows(columns, repeats, self._places_of(columns), totals)

    def columns(self, names: Sequence[str]) -> dict[str, Column]:
        """Return every row of some columns."""
        rows = self._collect(self._frame.select(*names))
        return {name: Column.of(_values(rows[name])) for name in names}

    def _collect(self, frame: Any) -> Any:
        """Run a lazy query; polars in pieces, so that files larger than memory pass through."""
        import narwhals as nw

        if frame.implementation == nw.Implementation.POLARS:
            return frame.collect(engine="streaming")
        return frame.collect()

    def _every_row(self, names: Sequence[str]) -> Rows:
        rows = self._collect(self._frame.select(*names))
        plain = {name: _values(rows[name]).tolist() for name in names}
        return PlainSource(plain).distinct(names)

    def _places_of(self, columns: dict[str, Column]) -> Any:
        """Look bad rows up among all rows: only done once something is wrong."""

        def places(bad: IntArray) -> list[list[int]]:
            names = list(columns)
            wanted = {tuple(_key(columns[n][int(i)]) for n in names): k for k, i in enumerate(bad)}
            found: list[list[int]] = [[] for _ in bad]
            rows = self._collect(self._frame.select(*names))
            values = zip(*(map(_key, _values(rows[n]).tolist()) for n in names), strict=True)
            for place, row in enumerate(values, 1):
                if row in wanted:
                    found[wanted[row]].append(place)
            return found

        return places


def source_of(data: Any) -> Source:
    """Find out what was given: a frame, a mapping of columns, or a list of records."""
    if isinstance(data, Source):
        return data
    refuse_path(data)
    if isinstance(data, Mapping):
        if not all(isinstance(k, str) for k in data):
            raise DataError("a mapping must go from names of columns to lists of values.")
        return PlainSource({name: _listed(name, values) for name, values in data.items()})
    if isinstance(data, np.ndarray) and data.dtype.names:
        return PlainSource({name: data[name].tolist() for name in data.dtype.names})
    if isinstance(data, (list, tuple)) and data and all(isinstance(x, Mapping) for x in data):
        names = dict.fromkeys(name for record in data for name in record)
        if not all(isinstance(name, str) for name in names):
            raise DataError("records must go from names of columns, as text, to values.")
        return PlainSource({name: [record.get(name) for record in data] for name in names})
    import narwhals as nw

    try:
        return FrameSource(nw.from_native(data))
    except TypeError:
        raise DataError(
            f"{describe_type(data)} was given; a frame (pandas, polars, pyarrow, duckdb, dask, "
            "pyspark), a mapping of columns or a list of records is needed."
        ) from None


def has_named_rows(data: Any) -> bool:
    """Is this a frame of pandas whose rows have texts for names, as a table of wins may have?"""
    index = getattr(data, "index", None)
    of_pandas = type(data).__module__.split(".")[0] == "pandas" and hasattr(data, "reset_index")
    return of_pandas and len(index) > 0 and all(isinstance(name, str) for name in index)  # type: ignore[arg-type,union-attr]


def with_named_rows(data: Any) -> Any:
    """The names of rows as a first column, where a frame of pandas has them."""
    if not has_named_rows(data):
        return data
    name = data.index.name if isinstance(data.index.name, str) else _NAMELESS
    return data.rename_axis(index=name).reset_index() if name not in data.columns else data


def refuse_path(data: Any) -> None:
    """Send whoever gives the name of a file to the function that opens files."""
    if isinstance(data, PurePath) or (isinstance(data, str) and PurePath(data).suffix):
        raise DataError(f"{str(data)!r} looks like a file; luce.read opens files.")


def is_frame(data: Any) -> bool:
    """Is this something with named columns?"""
    if isinstance(data, (Source, Mapping)) or (isinstance(data, np.ndarray) and data.dtype.names):
        return True
    if isinstance(data, (list, tuple, set, frozenset, str, bytes, np.ndarray, Iterator)):
        return isinstance(data, (list, tuple)) and bool(data) and isinstance(data[0], Mapping)
    return hasattr(data, "collect_schema") or hasattr(data, "columns")


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
    codes, values = columns[key].codes, columns[key].values
    rank = np.empty(len(values), np.int64)
    numbers = {value: k for k, value in enumerate(values)}
    rank[[numbers[value] for value in in_order(values)]] = np.arange(len(values))
    by = rank[codes]
    order = np.argsort(by, kind="stable")
    by = by[order]
    starts = np.flatnonzero(np.r_[True, by[1:] != by[:-1]]) if len(by) else by

    def places(bad: IntArray) -> list[list[int]]:
        return [[place(int(order[starts[i]]))] for i in bad]

    ordered = {name: column.take(order) for name, column in columns.items()}
    return Runs(ordered, np.r_[starts, len(codes)], np.ones(len(starts)), places)


def describe_type(data: Any) -> str:
    """Say what was given, without printing all of it."""
    return f"{shown(data)} ({type(data).__name__})"


def _listed(name: str, values: Any) -> Sequence[Any]:
    scalar = isinstance(values, np.ndarray) and values.ndim == 0
    if isinstance(values, (str, bytes)) or not isinstance(values, Iterable) or scalar:
        raise DataError(f"column {name!r} is {describe_type(values)}; a list of values is needed.")
    return values.tolist() if isinstance(values, np.ndarray) else list(values)


def _encode(groups: Any, name: str) -> Column:
    """Encode a column; a long one of text by its own engine, which need not unpack every text."""
    import narwhals as nw

    if groups.schema[name] != nw.String or len(groups) < _LONG:
        return Column.of(_values(groups[name]))
    texts = groups.select(nw.col(name).unique()).drop_nulls().with_row_index("_luce_code")
    places = groups.select(name).with_row_index("_luce_place")
    found = places.join(texts, on=name, how="left").sort("_luce_place")
    values = texts[name].to_list()
    codes = found["_luce_code"].fill_null(len(values)).to_numpy().astype(np.int64)
    return Column(codes, [*values, None])


def _values(series: Any) -> np.ndarray[Any, Any]:
    array: np.ndarray[Any, Any] = series.to_numpy()
    if array.dtype.kind in "biuf" and array.ndim == 1:  # records come as tables
        return array
    values = np.empty(len(array), object)
    values[:] = series.to_list()
    return values


def _key(value: Any) -> Any:
    """A value as what finds it again: nan equals nan here."""
    return None if isinstance(value, float) and math.isnan(value) else hashable(value)


def _is_groupable(dtype: Any) -> bool:
    return not (dtype.is_nested() or type(dtype).__name__ in ("Object", "Unknown"))
