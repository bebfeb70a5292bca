"""Frames of pandas, polars, pyarrow, duckdb, dask or pyspark, reduced by their own engine."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from luce._types import IntArray
from luce.errors import DataError
from luce.reading.columns import Column, Rows, hashable
from luce.reading.sources import PlainSource, Source

NAMELESS = "Unnamed: 0"  # what pandas calls a column without a name
_REPEATS = "_luce_repeats"
_LONG = 10_000  # rows from which on an engine encodes text faster than we do


class FrameSource(Source):
    """A frame of pandas, polars, pyarrow, duckdb, dask or pyspark, eager or lazy."""

    def __init__(self, frame: Any) -> None:
        self._frame = frame.lazy() if hasattr(frame, "lazy") else frame
        self.names = list(self._frame.collect_schema().names())
        if "" in self.names:  # which engines do not group by
            self._frame = self._frame.rename({"": NAMELESS})
            self.names[self.names.index("")] = NAMELESS
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
        try:
            groups = self._collect(grouped.agg(nw.len().alias(_REPEATS), *sums, *least, *given))
        except TypeError:  # lists, in a column whose type does not say so
            return self._every_row([*keys, *numbers])
        repeats = groups[_REPEATS].to_numpy().astype(np.float64)
        totals = {}
        for i, name in enumerate(numbers):
            total = groups[f"_luce_sum_{i}"].to_numpy().astype(np.float64)
            low = groups[f"_luce_min_{i}"].to_numpy().astype(np.float64)
            complete = bool((groups[f"_luce_n_{i}"].to_numpy() == repeats).all())
            # Nor do engines add fractions in the same order; we do, whichever engine it was.
            whole = np.isfinite(total).all() and (total % 1 == 0).all()
            # A total below one of its terms has left the range of the engine's integers.
            if not (complete and whole and (low >= 0).all() and (total >= low).all()):
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
