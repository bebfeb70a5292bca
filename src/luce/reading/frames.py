"""Data in memory: mappings of columns, records, and frames, reduced by their own engine."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import PurePath
from typing import Any

import numpy as np

from luce._types import FloatArray, IntArray
from luce.errors import DataError
from luce.reading.rows import Column, Measurements, Rows
from luce.reading.sources import HEAD, PlainSource, Source, places_of, shown_column
from luce.reading.values import describe_type, hashable, is_list, objects

_REPEATS = "_luce_repeats"
_MICROSECONDS = 1e6  # of a second
_TEMPORAL = {"Datetime": "dates", "Date": "dates", "Duration": "durations"}  # types of columns
_LONG = 10_000  # rows from which on an engine encodes text faster than Python does


def source_of(data: Any) -> Source:
    """Open data in memory: a frame, a mapping of columns, or a list of records."""
    if isinstance(data, Source):
        return data
    refuse_path(data)
    if isinstance(data, Mapping):
        if not all(isinstance(k, str) for k in data):
            raise DataError("a mapping must go from names of columns to lists of values.")
        return PlainSource({name: _column(name, values) for name, values in data.items()})
    if isinstance(data, np.ndarray) and data.dtype.names:
        return PlainSource({name: data[name].tolist() for name in data.dtype.names})
    if isinstance(data, (list, tuple)) and data and all(isinstance(x, Mapping) for x in data):
        names = dict.fromkeys(name for record in data for name in record)
        if not all(isinstance(name, str) for name in names):
            raise DataError("records must go from names of columns, as text, to values.")
        return PlainSource({name: [record.get(name) for record in data] for name in names})
    import narwhals as nw

    data, index = _with_index(data)
    try:
        source = FrameSource(nw.from_native(data))
        source.index = index
        return source
    except nw.exceptions.NarwhalsError as error:  # two columns of one name, say
        raise DataError(f"this frame cannot be read: {error}") from None
    except TypeError:
        raise DataError(
            f"{describe_type(data)} was given; a frame (pandas, polars, pyarrow, duckdb, dask, "
            "pyspark), a mapping of columns or a list of records is needed."
        ) from None


def _with_index(data: Any) -> tuple[Any, list[str]]:
    """Make the index of a frame of pandas or dask its first columns; also returns their names.

    An index without a name that holds no texts only counts rows, and is left out.
    """
    if not hasattr(data, "reset_index") or not hasattr(data, "index"):
        return data, []
    index = data.index
    levels = list(getattr(index, "names", [index.name]))
    if all(name is None for name in levels) and not _holds_texts(index):
        return data, []
    names = [_nameless(k) if name is None else name for k, name in enumerate(levels)]
    if any(name in data.columns for name in names):
        if len(names) == 1 and data[names[0]].to_numpy().tolist() == index.to_numpy().tolist():
            return data, []  # set_index(..., drop=False)
        raise DataError(
            f"the index and a column are both called {names[0]!r}; give one of them another name, "
            "or leave the index out with reset_index(drop=True)."
        )
    named = data.rename_axis(index=names) if len(names) > 1 else data.rename_axis(index=names[0])
    return named.reset_index(), names


def _nameless(level: int) -> str:
    return f"Unnamed: {level}"  # as pandas calls a column without a name


def _holds_texts(index: Any) -> bool:
    """Tell whether an index holds texts, all of which a frame of dask has not read yet."""
    if getattr(index, "nlevels", 1) > 1:
        return True
    if getattr(index.dtype, "kind", "O") in "biufcmM":
        return False
    return not isinstance(index, Iterable) or any(isinstance(name, str) for name in index)


def refuse_path(data: Any) -> None:
    """Refuse the name of a file, and name the function that opens files."""
    if isinstance(data, PurePath) or (isinstance(data, str) and PurePath(data).suffix):
        raise DataError(f"{str(data)!r} looks like a file; luce.read opens files.")


def is_frame(data: Any) -> bool:
    """Tell whether data has named columns."""
    if isinstance(data, (Source, Mapping)) or (isinstance(data, np.ndarray) and data.dtype.names):
        return True
    if isinstance(data, (list, tuple, set, frozenset, str, bytes, np.ndarray, Iterator)):
        return isinstance(data, (list, tuple)) and bool(data) and isinstance(data[0], Mapping)
    return hasattr(data, "collect_schema") or hasattr(data, "columns")


def _column(name: str, values: Any) -> Sequence[Any]:
    if not is_list(values):
        raise DataError(f"column {name!r} is {describe_type(values)}; a list of values is needed.")
    return values.tolist() if isinstance(values, np.ndarray) else list(values)


class FrameSource(Source):
    """A frame of pandas, polars, pyarrow, duckdb, dask or pyspark, eager or lazy."""

    def __init__(self, frame: Any) -> None:
        self._frame = frame.lazy() if hasattr(frame, "lazy") else frame
        self.names = list(self._frame.collect_schema().names())
        if "" in self.names:  # engines do not group by a column without a name
            self._frame = self._frame.rename({"": _nameless(0)})
            self.names[self.names.index("")] = _nameless(0)
        wrong = [name for name in self.names if not isinstance(name, str)]
        if wrong or not self.names:
            which = f"a column is called {wrong[0]!r}" if wrong else "the frame has no columns"
            rename = " frame.rename(columns=str) makes such names." if wrong else ""
            raise DataError(f"{which}; every column needs a name that is text.{rename}")

    def distinct(self, keys: Sequence[str], numbers: Sequence[str] = ()) -> Rows:
        """Return the distinct rows of some columns, grouped by the frame's engine."""
        schema = self._frame.collect_schema()
        names = [*keys, *numbers]
        if not keys:
            return self._every_row(numbers) if numbers else PlainSource({}).distinct([])
        if not all(_is_groupable(schema[name]) for name in keys):
            return self._every_row(names)
        if not all(schema[name].is_numeric() for name in numbers):
            return self.distinct(names)
        try:
            groups = self._grouped(keys, numbers)
        except TypeError:  # lists, in a column whose type does not say so
            return self._every_row(names)
        repeats = groups[_REPEATS].to_numpy().astype(np.float64)
        totals = {name: _total(groups, i, repeats) for i, name in enumerate(numbers)}
        if any(total is None for total in totals.values()):
            return self.distinct(names)
        columns = {name: _encode(groups, name) for name in keys}
        return Rows(columns, repeats, self._places_of(columns), totals)  # type: ignore[arg-type]

    def _grouped(self, keys: Sequence[str], numbers: Sequence[str]) -> Any:
        """Let the engine group rows: repeats, and sum, least and number of values of `numbers`."""
        import narwhals as nw

        made = [nw.len().alias(_REPEATS)]
        for i, name in enumerate(numbers):
            column = nw.col(name)
            made += [
                column.sum().alias(f"_luce_sum_{i}"),
                column.min().alias(f"_luce_min_{i}"),
                column.count().alias(f"_luce_n_{i}"),
            ]
        selected = self._frame.select(*dict.fromkeys([*keys, *numbers]))
        return self._collect(selected.group_by(*keys).agg(*made))

    def columns(self, names: Sequence[str]) -> dict[str, Column]:
        """Return every row of some columns."""
        rows = self._collect(self._frame.select(*names))
        return {name: Column.of(_values(rows[name])) for name in names}

    def measurements(self, numbers: Sequence[str], labels: Sequence[str] = ()) -> Measurements:
        """Return every row of some columns; dates are seconds since the beginning of 1970."""
        names = list(dict.fromkeys([*numbers, *labels]))
        rows = self._collect(self._frame.select(*names))
        found = {name: Column.of(_values(rows[name])).labels() for name in labels}
        return Measurements.of([_numbers(rows[name]) for name in numbers], found)

    def temporal(self, name: str) -> str:
        """Say whether the type of a column is one of "dates", of "durations" or of neither."""
        return _TEMPORAL.get(type(self._frame.collect_schema()[name]).__name__, "")

    def head(self, names: Sequence[str], most: int = HEAD) -> dict[str, Column]:
        """Return the first rows of some columns."""
        rows = self._collect(self._frame.select(*names).head(most))
        return {name: shown_column(_values(rows[name])) for name in names}

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
        """Look bad rows up among all rows, which is done only once something is wrong."""

        def places(bad: IntArray) -> list[list[int]]:
            names = list(columns)
            wanted = [tuple(_key(columns[n][int(i)]) for n in names) for i in bad]
            rows = self._collect(self._frame.select(*names))
            values = zip(*(map(_key, _values(rows[n]).tolist()) for n in names), strict=True)
            return places_of(wanted, enumerate(values, 1))

        return places


def _total(groups: Any, i: int, repeats: FloatArray) -> FloatArray | None:
    """Return the sums of column i of numbers, or None if its rows must be looked at one by one.

    That is the case for negative, missing and infinite numbers; for fractions, which engines add
    in different orders; and for sums that overflowed the engine's integers, below their terms.
    """
    total: FloatArray = groups[f"_luce_sum_{i}"].to_numpy().astype(np.float64)
    least = groups[f"_luce_min_{i}"].to_numpy().astype(np.float64)
    complete = bool((groups[f"_luce_n_{i}"].to_numpy() == repeats).all())
    whole = np.isfinite(total).all() and (total % 1 == 0).all()
    return total if complete and whole and (least >= 0).all() and (total >= least).all() else None


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
    return objects(series.to_list())


def _numbers(series: Any) -> Column | FloatArray:
    """Read a column of numbers or of dates as an array, and one of anything else by its values."""
    if type(series.dtype).__name__ in _TEMPORAL:
        return _seconds(series)
    array = series.to_numpy()
    if array.dtype.kind in "biuf" and array.ndim == 1:
        return np.asarray(array, np.float64)
    return Column.of(objects(series.to_list()))


def _seconds(series: Any) -> FloatArray:
    """Read dates as seconds since the beginning of 1970, and durations as seconds."""
    import narwhals as nw

    if series.dtype == nw.Duration:
        whole = series.dt.total_microseconds()
    else:
        dates = series.cast(nw.Datetime("us")) if series.dtype == nw.Date else series
        whole = dates.dt.timestamp("us")
    missing = series.is_null().to_numpy().astype(np.bool_)
    microseconds = whole.fill_null(0).to_numpy().astype(np.float64)
    return np.where(missing, np.nan, microseconds / _MICROSECONDS)


def _key(value: Any) -> Any:
    """Return a key that finds a value again: nan equals nan."""
    return None if isinstance(value, float) and math.isnan(value) else hashable(value)


def _is_groupable(dtype: Any) -> bool:
    return not (dtype.is_nested() or type(dtype).__name__ in ("Object", "Unknown"))
