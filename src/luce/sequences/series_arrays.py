"""Time series in arrays: one array, or several of unequal length."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from luce._types import FloatArray, IntArray, Label
from luce.counts.labels import is_hashable, plural, some
from luce.errors import DataError
from luce.reading.rows import Column, starts_of
from luce.reading.values import describe_type, objects, refuse_set
from luce.sequences.series_columns import (
    NO_NUMBER_ADVICE,
    Chosen,
    Table,
    has_columns,
    joined_values,
    read_frame,
    times_of,
)

_SHAPES = (
    "an array (T,) or (T, channels), a list or a mapping of such arrays for several sequences, "
    "a frame or a file is needed"
)
_MICROSECONDS = 1e6  # of a second


class _Part(NamedTuple):
    """One sequence: numbers of shape (rows, channels), or a column of labels."""

    values: FloatArray | Column
    channels: tuple[Label, ...] | None = None
    times: FloatArray | None = None
    dates: bool = False

    @property
    def labels(self) -> tuple[Label, ...]:
        return tuple(range(self.width)) if self.channels is None else self.channels

    @property
    def width(self) -> int:
        return 1 if isinstance(self.values, Column) else self.values.shape[1]


def read_arrays(given: Any, kind: str, columns: list[Label] | None) -> Table:
    """Read one array or several."""
    named = _sequences_of(given, kind)
    several = len(named) > 1
    parts = [_read_part(x, kind, f" of sequence {name!r}" if several else "") for name, x in named]
    names = tuple(name for name, _ in named)
    _check_channels(names, parts)
    width = parts[0].width
    channels = parts[0].labels
    if columns is not None:
        if len(columns) != width:
            raise DataError(
                f"columns = {columns!r} names {plural(len(columns), 'channel')}; the data has "
                f"{width}. Name each of them, or leave columns out."
            )
        channels = tuple(columns)
    borders = starts_of(np.asarray([len(part.values) for part in parts], np.int64))
    values, categories = joined_values([part.values for part in parts])
    timed = [part.times for part in parts if part.times is not None]
    if 0 < len(timed) < len(parts) or len({part.dates for part in parts}) > 1:
        raise DataError("some sequences have times, or dates, and some have not; give all or none.")
    times = np.concatenate(timed) if timed else None
    place = places_in_arrays(borders, names)
    dates = parts[0].dates
    return Table(values, borders, channels, names, times, categories, dates, {}, place)


def _sequences_of(given: Any, kind: str) -> list[tuple[Label, Any]]:
    """List the sequences with their names; one array is sequence 0."""
    if hasattr(given, "data_vars"):
        raise DataError(
            f"{type(given).__name__} was given; one xarray.DataArray with time first is needed, "
            "as in ds['x'] or ds.to_array('channel').transpose('time', 'channel')."
        )
    if isinstance(given, Mapping):
        if not given:
            raise DataError(f"an empty mapping was given; {_SHAPES}.")
        return list(given.items())
    if isinstance(given, np.ndarray) and given.dtype == object and given.ndim == 1:
        given = given.tolist() if any(map(is_nested, given)) else given
    if not isinstance(given, (list, tuple)):
        return [(0, given)]
    if not given:
        raise DataError(f"an empty {type(given).__name__} was given; {_SHAPES}.")
    if kind == "categories":
        apart = [isinstance(x, list) or _is_array(x) for x in given]
    else:
        apart = _are_sequences(given)
    if not any(apart):
        return [(0, given)]
    if not all(apart):
        odd = given[apart.index(False)]
        raise DataError(
            f"some entries of the list are sequences and one is {describe_type(odd)}; {_SHAPES}."
        )
    return list(enumerate(given))


def _are_sequences(given: Sequence[Any]) -> list[bool]:
    """Flag the entries of a list that are sequences: arrays, and lists of lists or of arrays."""
    if {type(x) for x in given} <= {float, int, type(None), bool, np.float64}:
        return [False]
    return [
        _is_array(x) or (isinstance(x, (list, tuple)) and bool(x) and any(map(is_nested, x)))
        for x in given
    ]


def _is_array(value: Any) -> bool:
    """Tell arrays and frames from lists and single values."""
    return has_columns(value) or getattr(value, "ndim", 0) > 0


def _read_part(given: Any, kind: str, of: str) -> _Part:
    """Read one sequence; `of` names it in messages."""
    refuse_set(given, "a series")
    if has_columns(given):
        table = read_frame(given, kind, Chosen(None, None, None))
        if len(table.names) > 1:
            raise DataError(
                f"a frame in a list is one sequence; the one{of} holds {len(table.names)}. Join "
                "the frames into one with a column of sequences."
            )
        values: FloatArray | Column = table.values
        if kind == "categories":
            codes = np.nan_to_num(table.values[:, 0], nan=len(table.categories))
            values = Column(codes.astype(np.int64), [*table.categories, None])
        return _Part(values, table.channels, table.times, table.dates)
    channels, times, dates = None, None, False
    if hasattr(given, "dims") and hasattr(given, "coords"):
        given, channels, times, dates = _read_labelled(given)
    array = _as_array(given, kind, of)
    if array.ndim not in (1, 2) or array.shape[-1:] == (0,) != array.shape:
        raise DataError(
            f"an array of shape {array.shape} was given{of}; {_SHAPES}."
            + (" list(array) makes sequences of its first axis." if array.ndim > 2 else "")
        )
    if kind != "categories":
        return _Part(_numbers_of(array, of), channels, times, dates)
    if array.ndim == 2 and array.shape[1] != 1:
        raise DataError(
            f"an array of shape {array.shape} was given{of}; categories have one channel, (T,). "
            "Join the channels into one label, or fit numbers."
        )
    return _Part(_labels_of(array.reshape(-1)), channels, times, dates)


def _as_array(given: Any, kind: str, of: str) -> np.ndarray[Any, Any]:
    """Turn a list into an array whose entries keep their types."""
    if isinstance(given, (list, tuple)):
        if kind == "categories":
            return objects(given)
        if any(map(is_nested, given)):
            return _as_rows(given, of)
        made = np.asarray(given) if _are_plain_numbers(given) else objects(given)
        return made if made.ndim == 1 else objects(given)
    if isinstance(given, np.ndarray):
        return given
    if not (hasattr(given, "__array__") or isinstance(given, (range, memoryview))):
        raise DataError(f"{describe_type(given)} was given{of}; {_SHAPES}.")
    array = np.asarray(given)
    if array.ndim == 0:
        raise DataError(f"the single value {describe_type(given)} was given{of}; {_SHAPES}.")
    return array


def _as_rows(given: Sequence[Any], of: str) -> np.ndarray[Any, Any]:
    """Turn a list of rows, all of one length, into an array."""
    widths = [len(row) if isinstance(row, (list, tuple)) else -1 for row in given]
    odd = next((i for i, width in enumerate(widths) if width != widths[0]), None)
    if odd is not None:
        stand = [
            plural(w, "value") if w >= 0 else "a single value" for w in (widths[0], widths[odd])
        ]
        raise DataError(
            f"a list of lists is read as rows of one array; row 0{of} holds {stand[0]} and row "
            f"{odd} holds {stand[1]}. Rows need equally many; if these are several sequences, give "
            "arrays: [np.asarray(x) for x in ...]."
        )
    if any(map(is_nested, chain.from_iterable(given))):
        raise DataError(f"lists within lists within lists were given{of}; {_SHAPES}.")
    flat = list(chain.from_iterable(given))
    made = np.asarray(flat) if _are_plain_numbers(flat) else objects(flat)
    return made.reshape(len(given), widths[0])


def _are_plain_numbers(given: Sequence[Any]) -> bool:
    """Tell whether NumPy turns a list into numbers as they are."""
    return {type(x) for x in given} <= {float, int, bool, np.float64, np.int64, np.float32}


def _read_labelled(
    given: Any,
) -> tuple[Any, tuple[Label, ...] | None, FloatArray | None, bool]:
    """Read a DataArray: the array, labels of the channels, times, and whether these are dates."""
    dims = given.dims
    if "time" in dims[1:]:
        raise DataError(
            f"the dimensions are {dims!r}; time must be the first. Use .transpose('time', ...)."
        )
    channels = None
    if len(dims) == 2 and dims[1] in given.coords:
        channels = tuple(given.coords[dims[1]].values.tolist())
    elif len(dims) == 1 and given.name is not None:
        channels = (given.name,)
    times, dates = None, False
    if dims and dims[0] in given.coords:
        when = given.coords[dims[0]].values
        dates = when.dtype.kind == "M"
        times, wrong = _coordinate(when)
        if wrong is not None:
            raise DataError(
                f"the coordinate {dims[0]!r} holds {when[wrong]!r}; numbers or dates are needed, "
                "or none: .drop_vars(...)."
            )
    return given.values, channels, times, dates


def _coordinate(when: np.ndarray[Any, Any]) -> tuple[FloatArray, int | None]:
    """Read times, dates and durations as seconds; also returns the place of one that is none."""
    kind = when.dtype.kind
    if kind in "biuf":
        return when.astype(np.float64), None
    if kind not in "mM":
        return times_of(Column.of(when.tolist()))
    whole = when.astype(f"{kind}8[us]")
    seconds = np.where(np.isnat(whole), np.nan, whole.astype(np.int64) / _MICROSECONDS)
    return seconds, None


def _numbers_of(array: np.ndarray[Any, Any], of: str) -> FloatArray:
    """Copy an array of numbers, with nan where one is missing."""
    table = array.reshape(-1, 1) if array.ndim == 1 else array
    kind = table.dtype.kind
    if kind in "cmMV":
        what = {"c": "complex numbers", "V": "records"}.get(kind, "dates or durations")
        raise DataError(
            f"an array of {what} ({table.dtype}) was given{of}; real numbers are needed."
        )
    if kind in "biuf":
        values = np.array(np.ma.getdata(table), np.float64, order="C")
    else:
        column = Column.of(np.ma.getdata(table).reshape(-1).tolist())
        flat, wrong = column.numbers()
        if isinstance(table, np.ma.MaskedArray):
            wrong &= ~np.ma.getmaskarray(table).reshape(-1)
        if wrong.any():
            i = int(np.argmax(wrong))
            row, channel = divmod(i, table.shape[1])
            raise DataError(
                f"row {row} (counted from 0){of}, channel {channel}: {describe_type(column[i])} "
                f"stands where a number is needed. {NO_NUMBER_ADVICE}"
            )
        values = flat.reshape(table.shape)
    if isinstance(table, np.ma.MaskedArray):
        values[np.ma.getmaskarray(table)] = np.nan
    return values


def _labels_of(array: np.ndarray[Any, Any]) -> Column:
    """Encode labels; those of a list stay what they are."""
    given = array.tolist()
    wrong = next((i for i, x in enumerate(given) if not is_hashable(x)), None)
    if wrong is not None:
        raise DataError(
            f"row {wrong} (counted from 0): {describe_type(given[wrong])} is no label; a category "
            "must be hashable."
        )
    return Column.of(objects(given))


def _check_channels(names: Sequence[Label], parts: Sequence[_Part]) -> None:
    """Refuse sequences with other channels than the first has."""
    first = parts[0]
    for name, part in zip(names, parts, strict=True):
        if part.width != first.width:
            raise DataError(
                f"sequence {name!r} has {plural(part.width, 'channel')} and sequence {names[0]!r} "
                f"has {first.width}; all need the same channels."
            )
        if part.labels != first.labels:
            raise DataError(
                f"the channels of sequence {name!r} are {some(part.labels)} and those of sequence "
                f"{names[0]!r} are {some(first.labels)}; all need the same."
            )


def places_in_arrays(borders: IntArray, names: Sequence[Label]) -> Callable[[int], str]:
    """Name rows by their number within their sequence, as arrays do."""

    def place(row: int) -> str:
        k = int(np.searchsorted(borders, row, side="right")) - 1
        of = f" of sequence {names[k]!r}" if len(names) > 1 else ""
        return f"row {row - int(borders[k])}{of} (counted from 0)"

    return place


def is_nested(value: Any) -> bool:
    """Tell lists and arrays from single values."""
    return isinstance(value, (list, tuple)) or getattr(value, "ndim", 0) > 0
