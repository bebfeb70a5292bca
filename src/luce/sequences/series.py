"""Time series from arrays, frames and files: rows of one or more sequences, one after another."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime
from datetime import time as time_of_day
from functools import cached_property
from itertools import chain, pairwise
from os import PathLike
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from luce._types import BoolArray, FloatArray, IntArray, Label
from luce.counts.labels import Categories, canonical_name, is_hashable, plural, some
from luce.errors import DataError, IgnoredColumnsWarning, Problem, listed, warn_user
from luce.reading.column_contents import Head, holds_numbers, holds_times, present
from luce.reading.files import open_table
from luce.reading.frames import is_frame, source_of
from luce.reading.kind import check_column, usual_columns
from luce.reading.questions import Questions
from luce.reading.rows import Column, starts_of
from luce.reading.sources import Source
from luce.reading.text import LineSource
from luce.reading.values import (
    as_number,
    describe_type,
    in_order,
    is_missing,
    is_unnamed,
    objects,
    plain,
    refuse_set,
    repeated,
)

KINDS = ("numbers", "counts", "categories")

_SHAPES = (
    "an array (T,) or (T, channels), a list or a mapping of such arrays for several sequences, "
    "a frame or a file is needed"
)
_MOST_WRONG = 1_000  # entries that are no numbers and are looked up one by one
_DIGEST_ROWS = 1 << 16  # rows that are hashed at a time
_MICROSECONDS = 1e6  # of a second

# Names of columns, spelled plainly, that are asked about besides the usual ones of the readers.
_ASKED = {"sequence": ("trial",), "time": ("date",)}


@dataclass(frozen=True, eq=False)
class Series:
    """Rows of one or more sequences, one sequence after another.

    Parameters
    ----------
    values
        Shape (T, channels), in C order: the measurements, nan where one is missing.  Categories
        are codes 0, 1, ... of `categories`, in one channel.
    borders
        Shape (sequences + 1,): the first row of each sequence, and T.
    channels
        Labels of the channels.
    names
        Labels of the sequences.
    times
        Shape (T,): the times of the rows as given, strictly increasing in each sequence.  None
        where none were given: rows of a sequence are then numbered from 0.
    categories
        Labels of the codes of a series of categories, sorted.
    dates
        Whether `times` are seconds since the beginning of 1970 (UTC), read from dates.
    uses
        For a frame or a file, what each column was read as, in words.
    """

    values: FloatArray
    borders: IntArray
    channels: tuple[Label, ...]
    names: tuple[Label, ...]
    times: FloatArray | None = None
    categories: tuple[Label, ...] = ()
    dates: bool = False
    uses: Mapping[str, str] = field(default_factory=dict)

    def __repr__(self) -> str:
        rows = plural(self.length, "row")
        channels = plural(len(self.channels), "channel")
        of = plural(self.n_sequences, "sequence")
        return f"Series({rows}, {channels}, {of}, {plural(self.n_missing, 'missing value')})"

    @property
    def length(self) -> int:
        """The number of rows T of all sequences."""
        return len(self.values)

    @property
    def n_sequences(self) -> int:
        """The number of sequences."""
        return len(self.names)

    @property
    def n_channels(self) -> int:
        """The number of channels."""
        return len(self.channels)

    @cached_property
    def missing(self) -> BoolArray:
        """Flags of missing values, of shape (T, channels)."""
        return np.isnan(self.values)

    @cached_property
    def n_missing(self) -> int:
        """The number of missing values."""
        return int(np.count_nonzero(self.missing))

    @cached_property
    def sequence_of(self) -> IntArray:
        """The number of the sequence of each row, of shape (T,)."""
        return np.repeat(np.arange(self.n_sequences), np.diff(self.borders))

    @cached_property
    def digest(self) -> str:
        """A SHA-256 digest of values, borders, times and labels.

        It depends neither on the memory layout of the data that was given nor on its type.
        """
        made = hashlib.sha256()
        labels = (self.channels, self.names, self.categories)
        made.update(repr([[canonical_name(x) for x in each] for each in labels]).encode())
        made.update(self.borders.astype("<i8").tobytes())
        for numbers in (self.values, self.times):
            if numbers is not None:
                made.update(f"{numbers.shape}".encode())
                for first in range(0, len(numbers), _DIGEST_ROWS):
                    made.update(_canonical_bytes(numbers[first : first + _DIGEST_ROWS]))
        return made.hexdigest()

    @property
    def moments(self) -> np.ndarray[Any, Any]:
        """The times of the rows: dates, numbers, or row numbers within each sequence."""
        if self.times is None:
            return np.arange(self.length) - self.borders[self.sequence_of]
        if not self.dates:
            return self.times
        return np.round(self.times * _MICROSECONDS).astype("datetime64[us]")

    def rows_of(self, k: int) -> slice:
        """Return the rows of sequence number k."""
        if not 0 <= k < self.n_sequences:
            raise DataError(
                f"sequence number {k} was asked for; there are {self.n_sequences}, numbered from 0."
            )
        return slice(int(self.borders[k]), int(self.borders[k + 1]))

    def as_given(self) -> FloatArray | list[FloatArray]:
        """Return the values as an array for one sequence, and as a list of arrays for several."""
        arrays = [self.values[self.rows_of(k)].copy() for k in range(self.n_sequences)]
        return arrays[0] if len(arrays) == 1 else arrays

    def with_values(self, values: ArrayLike) -> Series:
        """Return a series with other values in the same rows and channels."""
        new = np.array(values, np.float64, order="C")
        if new.shape != self.values.shape:
            raise DataError(
                f"values of shape {new.shape} were given; this series needs {self.values.shape}."
            )
        return replace(self, values=new)

    def coded_by(self, categories: Sequence[Label]) -> Series:
        """Return a series of categories coded by other labels, all of its own among them."""
        labels = Categories(categories)
        if not self.categories:
            raise DataError("this is a series of numbers, which has no categories.")
        unknown = [label for label in self.categories if label not in labels.index]
        if unknown:
            raise DataError(
                f"{some(unknown)} {'is' if len(unknown) == 1 else 'are'} not among the categories "
                f"{some(labels)}."
            )
        codes = np.asarray([labels.index[label] for label in self.categories], np.float64)
        values = np.full(self.values.shape, np.nan)
        values[~self.missing] = codes[self.values[~self.missing].astype(np.int64)]
        return replace(self, values=values, categories=tuple(labels))


def _canonical_bytes(numbers: FloatArray) -> bytes:
    """Return the bytes of numbers, among which all zeros and all nans are alike."""
    return np.where(np.isnan(numbers), np.nan, numbers + 0.0).astype("<f8").tobytes()


def read_series(
    given: Any,
    kind: str = "numbers",
    *,
    columns: str | Sequence[Label] | None = None,
    sequence: Label | bool = None,
    time: Label | bool = None,
    strict: bool = True,
) -> Series:
    """Read a time series from an array, several arrays, a frame or a file.

    Parameters
    ----------
    given
        An array of shape (T,) or (T, channels), or an xarray.DataArray with time first.  Several
        sequences are a list of arrays, or a mapping from names to arrays, with the same channels.
        A list of plain lists is read as NumPy reads it: as the rows of one array.  A list of
        categories may hold lists, which are sequences.  A frame has a row for each time and a
        column for each channel, and so has a file: CSV, Parquet or JSON Lines.
        None, nan, masked values and, in text, NA and the like are missing.
    kind
        "numbers"; "counts", which are whole and not negative; or "categories": one channel of
        hashable labels, which in files are texts.
    columns
        The columns of a frame or file that are channels; all columns of numbers unless given.
        For arrays, labels of the channels.
    sequence
        The column that names the sequence of each row, whose rows must stand together.  A column
        called ``sequence`` is taken unless another is named; False: all rows are one sequence.
    time
        The column of times, numbers or dates, which must increase in each sequence.  A column
        called ``time`` is taken unless another is named; False: the order of rows is enough.
    strict
        Refuse data from which nothing about states can be learned: fewer than two rows, a
        constant channel, nothing but missing values?

    Examples
    --------
    >>> read_series([[0.5, 1.0], [0.25, None], [0.0, 3.0]])
    Series(3 rows, 2 channels, 1 sequence, 1 missing value)
    >>> read_series([np.array([0.5, 1.0, 4.0]), np.array([2.0, 2.5])]).borders
    array([0, 3, 5])
    >>> read_series(["rest", "run", "rest"], "categories").categories
    ('rest', 'run')
    """
    if kind not in KINDS:
        raise DataError(f"kind = {kind!r}; {', '.join(map(repr, KINDS[:-1]))} or {KINDS[-1]!r}.")
    chosen = _Chosen(_listed_columns(columns), sequence, time)
    read = _read(given, kind, chosen)
    _check_rows(read)
    low, high = _ranges(read.series)
    _check_values(read, kind, np.isinf(low) | np.isinf(high))
    if read.series.times is not None:
        _check_times(read)
    if strict:
        _check_worth(read, low, high)
    return read.series


class _Chosen(NamedTuple):
    """The columns that the user named: None where nothing was said, False for none."""

    columns: list[Label] | None
    sequence: Any
    time: Any

    @property
    def named(self) -> str:
        """The option of a frame that was given, if any."""
        return next((n for n in ("sequence", "time") if getattr(self, n) not in (None, False)), "")


class _Read(NamedTuple):
    """A series, and words for the place of a row; `of` names the file at the start of messages."""

    series: Series
    place: Callable[[int], str]
    of: str = ""


def _listed_columns(columns: Any) -> list[Label] | None:
    """Read the names of channels, which are different and hashable."""
    if columns is None:
        return None
    if isinstance(columns, str):
        return [columns]
    try:
        names = list(columns)
    except TypeError:
        raise DataError(f"columns = {columns!r}; a list of columns is needed.") from None
    wrong = [name for name in names if not is_hashable(name)]
    if wrong or not names:
        raise DataError(f"columns = {columns!r}; a list of names of columns is needed.")
    twice = repeated(names)
    if twice is not None:
        raise DataError(f"columns names {twice!r} twice; name each channel once.")
    return names


def _read(given: Any, kind: str, chosen: _Chosen) -> _Read:
    """Read a series of any form, without a look at its values."""
    if isinstance(given, Series):
        return _read_series_again(given, kind)
    if isinstance(given, (str, PathLike)):
        return _read_source(open_table(given), kind, chosen)
    refuse_set(given, "a series")
    if not isinstance(given, Mapping) and (is_frame(given) or _is_named_list(given)):
        frame, labels = _as_frame(given)
        return _read_source(source_of(frame), kind, chosen, labels)
    if chosen.named:
        raise DataError(
            f"{chosen.named} = {getattr(chosen, chosen.named)!r} names a column of a frame or a "
            f"file; {describe_type(given)} has none. Give a frame, or a list of arrays for several "
            "sequences."
        )
    return _read_arrays(given, kind, chosen.columns)


def _read_series_again(series: Series, kind: str) -> _Read:
    if (kind == "categories") != bool(series.categories):
        held = "categories" if series.categories else "numbers"
        raise DataError(f"a series of {held} was given; {kind} are needed. Read the data anew.")
    return _Read(series, _places_in_arrays(series))


# -- arrays ----------------------------------------------------------------------------------------


class _Part(NamedTuple):
    """One sequence: numbers of shape (rows, channels), or a column of labels."""

    values: FloatArray | Column
    channels: tuple[Label, ...] | None = None
    times: FloatArray | None = None
    dates: bool = False

    @property
    def width(self) -> int:
        return 1 if isinstance(self.values, Column) else self.values.shape[1]


def _read_arrays(given: Any, kind: str, columns: list[Label] | None) -> _Read:
    """Read one array or several."""
    named = _sequences_of(given, kind)
    parts = [_read_part(part, kind, f" of sequence {name!r}" if len(named) > 1 else "")
             for name, part in named]  # fmt: skip
    names = tuple(name for name, _ in named)
    _check_channels(names, parts)
    width = parts[0].width
    channels = parts[0].channels or tuple(range(width))
    if columns is not None:
        if len(columns) != width:
            raise DataError(
                f"columns = {columns!r} names {plural(len(columns), 'channel')}; the data has "
                f"{width}. Name each of them, or leave columns out."
            )
        channels = tuple(columns)
    borders = starts_of(np.asarray([len(part.values) for part in parts], np.int64))
    values, categories = _joined([part.values for part in parts])
    timed = [part.times for part in parts if part.times is not None]
    if 0 < len(timed) < len(parts) or len({part.dates for part in parts}) > 1:
        raise DataError("some sequences have times, or dates, and some have not; give all or none.")
    times = np.concatenate(timed) if timed else None
    series = Series(values, borders, channels, names, times, categories, parts[0].dates)
    return _Read(series, _places_in_arrays(series))


def _sequences_of(given: Any, kind: str) -> list[tuple[Label, Any]]:
    """List the sequences with their names; one array is sequence 0."""
    if isinstance(given, Mapping):
        if not given:
            raise DataError(f"an empty mapping was given; {_SHAPES}.")
        return list(given.items())
    if isinstance(given, np.ndarray) and given.dtype == object and given.ndim == 1:
        given = given.tolist() if any(map(_is_nested, given)) else given
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
        _is_array(x) or (isinstance(x, (list, tuple)) and bool(x) and any(map(_is_nested, x)))
        for x in given
    ]


def _is_array(value: Any) -> bool:
    """Tell arrays and frames from lists and single values."""
    return is_frame(value) or _is_named_list(value) or getattr(value, "ndim", 0) > 0


def _is_nested(value: Any) -> bool:
    return isinstance(value, (list, tuple)) or getattr(value, "ndim", 0) > 0


def _is_named_list(given: Any) -> bool:
    """Tell a column of pandas or polars, which has a name."""
    return hasattr(given, "to_frame") and hasattr(given, "to_list") and hasattr(given, "name")


def _read_part(given: Any, kind: str, of: str) -> _Part:
    """Read one sequence; `of` names it in messages."""
    refuse_set(given, "a series")
    if is_frame(given) or _is_named_list(given):
        frame, labels = _as_frame(given)
        series = _read_source(source_of(frame), kind, _Chosen(None, False, None), labels).series
        values: Any = series.values
        if series.categories:
            codes = np.where(series.missing, len(series.categories), values)[:, 0]
            values = Column(codes.astype(np.int64), [*series.categories, None])
        return _Part(values, series.channels, series.times, series.dates)
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
        if any(map(_is_nested, given)):
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
    if any(map(_is_nested, chain.from_iterable(given))):
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
    if not hasattr(given, "values") or not isinstance(given.dims, tuple):
        raise DataError(
            f"{type(given).__name__} was given; one xarray.DataArray with time first is needed, "
            "as in ds['x'] or ds.to_array('channel').transpose('time', 'channel')."
        )
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
        dates = when.dtype.kind in "mM"
        times, wrong = _times_of(Column.of(when.tolist())) if when.dtype.kind in "OUS" else (
            _numpy_seconds(when) if dates else when.astype(np.float64), None)  # fmt: skip
        if wrong is not None:
            raise DataError(
                f"the coordinate {dims[0]!r} holds {when[wrong]!r}; numbers or dates are needed, "
                "or none: .drop_vars(...)."
            )
    return given.values, channels, times, dates


def _numpy_seconds(when: np.ndarray[Any, Any]) -> FloatArray:
    """Read dates or durations of NumPy as seconds."""
    kind = when.dtype.kind
    whole = when.astype(f"{kind}8[us]")
    return np.where(np.isnat(whole), np.nan, whole.astype(np.int64) / _MICROSECONDS)


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
                f"stands where a number is needed. {_NO_NUMBER_ADVICE}"
            )
        values = flat.reshape(table.shape)
    if isinstance(table, np.ma.MaskedArray):
        values[np.ma.getmaskarray(table)] = np.nan
    return values


_NO_NUMBER_ADVICE = (
    "Write nan or None where a value is missing; labels are read with kind='categories'."
)


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
        if part.channels != first.channels:
            raise DataError(
                f"the channels of sequence {name!r} are {some(part.channels or ())} and those of "
                f"sequence {names[0]!r} are {some(first.channels or ())}; all need the same."
            )


def _joined(values: Sequence[FloatArray | Column]) -> tuple[FloatArray, tuple[Label, ...]]:
    """Join the values of all sequences; labels become codes of their sorted labels."""
    columns = [column for column in values if isinstance(column, Column)]
    if not columns:
        arrays = [array for array in values if not isinstance(array, Column)]
        return arrays[0] if len(arrays) == 1 else np.concatenate(arrays), ()
    labels = in_order(label for column in columns for label in present(column))
    if labels:
        Categories(labels)  # refuses labels that runs cannot keep
    code = {label: float(k) for k, label in enumerate(labels)}
    codes = []
    for column in columns:
        own = [np.nan if is_missing(x) else code.get(x, np.nan) for x in column.values]
        codes.append(np.asarray(own, np.float64)[column.codes])
    return np.concatenate(codes).reshape(-1, 1), tuple(labels)


def _places_in_arrays(series: Series) -> Callable[[int], str]:
    """Name rows by their number within their sequence, as arrays do."""

    def place(row: int) -> str:
        k = int(np.searchsorted(series.borders, row, side="right")) - 1
        of = f" of sequence {series.names[k]!r}" if series.n_sequences > 1 else ""
        return f"row {row - int(series.borders[k])}{of} (counted from 0)"

    return place


# -- frames and files ------------------------------------------------------------------------------


def _as_frame(given: Any) -> tuple[Any, dict[str, Label]]:
    """Name the columns of a frame by texts, and make an index of dates its column of times.

    Also returns the labels of columns whose names were no texts.
    """
    if _is_named_list(given):
        given = given.to_frame(0 if given.name is None else given.name) if hasattr(
            given, "index") else given.to_frame()  # fmt: skip
    index: Any = getattr(given, "index", None)
    dates = getattr(getattr(index, "dtype", None), "kind", "") in ("m", "M")
    if dates and index.name is None and "time" not in given.columns:
        given = given.rename_axis(index="time")
    names = list(getattr(given, "columns", ()))
    if not hasattr(given, "set_axis") or all(isinstance(name, str) for name in names):
        return given, {}
    texts = list(map(str, names))
    twice = repeated(texts)
    if twice is not None:
        raise DataError(f"two columns are called {twice!r}; every column needs its own name.")
    return given.set_axis(texts, axis=1), dict(zip(texts, names, strict=True))


class _Roles(NamedTuple):
    """The columns of a source by the part that each plays."""

    channels: list[str]
    sequence: str | None
    time: str | None
    uses: dict[str, str]


def _read_source(
    source: Source, kind: str, chosen: _Chosen, labels: Mapping[str, Label] | None = None
) -> _Read:
    """Read the rows of a frame or a file."""
    of = f"{source.name}: " if source.name else ""
    try:
        read = _measure(source, kind, chosen, labels or {})
    except DataError as error:
        if of and not str(error).startswith(of):
            error.args = (f"{of}{error}",)
        raise error from None
    return read._replace(of=of)


def _measure(source: Source, kind: str, chosen: _Chosen, labels: Mapping[str, Label]) -> _Read:
    if isinstance(source, LineSource):
        _refuse_no_header(source.names)
    roles = _settle(source, kind, _as_texts(chosen, labels))
    numbers = [] if kind == "categories" else list(roles.channels)
    columns = roles.channels if kind == "categories" else []
    dates = False
    if roles.time is not None:
        dates = source.is_temporal(roles.time)
        number = dates or holds_numbers(source.head([roles.time])[roles.time])
        (numbers if number else columns).append(roles.time)
    if roles.sequence is not None:
        columns = [*columns, roles.sequence]
    table = source.measurements(numbers, columns)
    if source.problems:
        raise DataError(f"{listed(source.problems, source.unit)}\nMend the data: in a series no "
                        "row can be left out.")  # fmt: skip
    _refuse_text(source, numbers, table.wrong)

    def place(row: int) -> str:
        counted = "" if source.unit == "line" else " (counted from 1)"
        return f"{source.unit} {source.place(row)}{counted}"

    values: FloatArray | Column = table.numbers[:, : len(roles.channels)]
    if kind == "categories":
        values = table.labels[roles.channels[0]]
    elif roles.time in numbers:
        values = np.ascontiguousarray(values)
    joined, categories = _joined([values])
    borders, names = _read_sequence_column(
        table.labels[roles.sequence] if roles.sequence else None, len(joined), place, roles.sequence
    )
    times = None
    if roles.time is not None and roles.time in numbers:
        times = table.numbers[:, -1].copy()
    elif roles.time is not None:
        times, wrong = _times_of(table.labels[roles.time])
        dates = True
        if wrong is not None:
            raise DataError(
                f"{place(wrong)}: {table.labels[roles.time][wrong]!r} in {roles.time!r} is no "
                "time; numbers are needed, or dates as 2024-05-31 or 2024-05-31T13:45:10. Name "
                "another column with time=..., or none: time=False."
            )
    channels = tuple(labels.get(name, name) for name in roles.channels)
    series = Series(joined, borders, channels, names, times, categories, dates, roles.uses)
    return _Read(series, place)


def _refuse_no_header(names: Sequence[str]) -> None:
    """Refuse a file whose first line holds measurements; the names 0, 1, 2, ... are allowed."""
    numbers = [as_number(name) for name in names]
    counted = [[float(k) for k in range(a, a + len(names))] for a in (0, 1)]
    if all(x is not None and x == x for x in numbers) and numbers not in counted:
        raise DataError(
            f"the first line holds the numbers {some(names, 3, quote=False)}; a line with the "
            "names of the columns is needed above the rows."
        )


def _as_texts(chosen: _Chosen, labels: Mapping[str, Label]) -> _Chosen:
    """Replace labels of columns, where these are no texts, by the texts that stand for them."""
    text = {label: name for name, label in labels.items()}

    def named(label: Any) -> Any:
        said = label is None or isinstance(label, bool)
        return label if said or not is_hashable(label) else text.get(label, label)

    columns = None if chosen.columns is None else list(map(named, chosen.columns))
    return _Chosen(columns, named(chosen.sequence), named(chosen.time))


def _settle(source: Source, kind: str, chosen: _Chosen) -> _Roles:
    """Find the part of every column, or ask."""
    names = source.names
    with Questions() as questions:
        for role in ("sequence", "time"):
            column = getattr(chosen, role)
            if column is True:
                questions.ask(f"{role} = True; the name of a column is needed, or False for none.")
            elif column not in (None, False):
                with questions.gathered():
                    check_column(names, role, column)
        for column in chosen.columns or ():
            with questions.gathered():
                check_column(names, "columns", column)  # type: ignore[arg-type]
    listed_twice = [c for c in (chosen.sequence, chosen.time) if c in (chosen.columns or ())]
    if listed_twice or (chosen.sequence and chosen.sequence == chosen.time):
        both = listed_twice[0] if listed_twice else chosen.sequence
        raise DataError(
            f"{both!r} is named twice; a column is a channel, the sequence or the time."
        )
    uses: dict[str, str] = {}
    taken = {role: _role(role, names, chosen, uses) for role in ("sequence", "time")}
    left = [name for name in names if name not in taken.values()]
    if chosen.columns is None:
        channels = _find_channels(source, left, kind, chosen, taken, uses)
    else:
        channels = [name for name in chosen.columns if isinstance(name, str)]
        _ask_about_roles(left, channels, chosen, taken, ("sequence",), {})
        if kind == "categories" and len(channels) != 1:
            raise DataError(
                f"columns = {channels!r}; categories have one channel, so name one column."
            )
        uses.update(dict.fromkeys(left, "left out, as asked"))
    uses.update(dict.fromkeys(channels, "channel"))
    return _Roles(channels, taken["sequence"], taken["time"], uses)


def _role(role: str, names: Sequence[str], chosen: _Chosen, uses: dict[str, str]) -> str | None:
    """Find the column of the sequence or the time: as named, or the one of exactly this name."""
    named = getattr(chosen, role)
    if named is False:
        return None
    if named is not None:
        uses[named] = role
        return str(named)
    if role not in names or role in (chosen.columns or ()) or role in uses:
        return None
    uses[role] = f"{role}, by its name ({role}=False leaves it out)"
    return role


def _asked_about(role: str, names: Sequence[str]) -> list[str]:
    """List columns that are called as the sequence or the time often is."""
    also = [name for name in names if plain(name) in _ASKED[role]]
    return list(dict.fromkeys([*usual_columns(names, role), *also]))


def _ask_about_roles(
    left: Sequence[str],
    channels: Sequence[str],
    chosen: _Chosen,
    taken: Mapping[str, str | None],
    roles: Sequence[str],
    head: Head,
) -> list[str]:
    """Ask about columns that may be the sequence or the time; returns those not asked about."""
    settled: list[str] = []
    with Questions() as questions:
        for role in roles:
            found = [name for name in _asked_about(role, left) if name not in channels]
            if role == "time":
                found += [n for n in head if n not in found and holds_times(head[n])]
            if not found or taken[role] is not None or getattr(chosen, role) is False:
                settled += found
                continue
            which = " or ".join(map(repr, found))
            one = (
                "all rows are one sequence" if role == "sequence" else "the order of rows is enough"
            )
            questions.ask(
                f"{which} may be the {role}; say {role}={found[0]!r} (--{role} {found[0]}), or "
                f"{role}=False if {one}. If it is a channel, list it in columns=[...] (--columns)."
            )
    return settled


def _find_channels(
    source: Source,
    left: Sequence[str],
    kind: str,
    chosen: _Chosen,
    taken: Mapping[str, str | None],
    uses: dict[str, str],
) -> list[str]:
    """Find the channels among the columns that are left: all columns of numbers."""
    head = source.head(left) if left else {}
    no_channels = _ask_about_roles(left, (), chosen, taken, ("sequence", "time"), head)
    unnamed = [name for name in left if is_unnamed(name)]
    rest = [name for name in left if name not in no_channels and name not in unnamed]
    ignored = dict.fromkeys(no_channels, "called as sequences or times are, and no channel")
    if kind == "categories":
        if len(rest) != 1:
            raise DataError(
                "categories have one channel; "
                + (f"{some(rest)} may be it." if rest else "no column is left for it.")
                + " Say which with columns=[...] (--columns)."
            )
        channels = rest
    else:
        channels = [name for name in rest if _may_be_numbers(head[name])]
        ignored |= {name: _why_ignored(head[name]) for name in rest if name not in channels}
        if not channels:
            raise DataError(
                f"no column of numbers is left for the channels; the columns are "
                f"{some(source.names, 20)}. Labels are read with kind='categories'."
            )
    uses.update(dict.fromkeys(unnamed, "ignored: it names or numbers rows"))
    uses.update({name: f"ignored: {why}" for name, why in ignored.items()})
    if ignored:
        remedy = "If that is right, name the channels: columns=[...] (--columns)."
        warn_user(IgnoredColumnsWarning(ignored, source.name, remedy))
    return channels


def _may_be_numbers(column: Column) -> bool:
    """Tell whether the first rows hold numbers, or nothing at all."""
    return holds_numbers(column) or not present(column)


def _why_ignored(column: Column) -> str:
    held = present(column)
    if all(isinstance(value, bool) for value in held):
        return "yes or no, no numbers"
    return f"it holds {some(held, 2)}, no numbers"


def _refuse_text(
    source: Source, names: Sequence[str], wrong: Sequence[tuple[int, int, Any]]
) -> None:
    """Refuse entries that are no numbers, each with its row and value."""
    if not wrong:
        return
    problems = [
        Problem(source.place(row), f"{value!r} in {names[k]!r} is no number.")
        for row, k, value in wrong[:_MOST_WRONG]
    ]
    raise DataError(f"{listed(problems, source.unit)}\n{_NO_NUMBER_ADVICE}")


def _read_sequence_column(
    column: Column | None, height: int, place: Callable[[int], str], name: str | None
) -> tuple[IntArray, tuple[Label, ...]]:
    """Read where each sequence begins, and its label; the rows of one must stand together."""
    if column is None:
        return np.asarray([0, height], np.int64), (0,)
    missing = column.missing
    if missing.any():
        row = int(np.argmax(missing))
        raise DataError(f"{place(row)}: the sequence is missing in {name!r}; every row needs one.")
    codes = column.codes
    begins = np.flatnonzero(np.r_[True, codes[1:] != codes[:-1]][:height])
    labels = [column[int(row)] for row in begins]
    first: dict[Label, int] = {}
    for row, label in zip(begins.tolist(), labels, strict=True):
        if label in first:
            raise DataError(
                f"{place(row)}: sequence {label!r}, which began in {place(first[label])}, goes on "
                f"after another; the rows of a sequence must stand together. Sort the rows by "
                f"{name!r}, keeping the order of times within each."
            )
        first[label] = row
    if labels:
        Categories(labels)  # refuses labels that runs cannot keep
    return np.r_[begins, height].astype(np.int64), tuple(labels)


def _times_of(column: Column) -> tuple[FloatArray, int | None]:
    """Read dates as seconds since the beginning of 1970; also returns the first row of no date."""
    seconds = [np.nan if is_missing(value) else _seconds_of(value) for value in column.values]
    wrong = np.asarray([x is None for x in seconds], np.bool_)[column.codes]
    times = np.asarray([np.nan if x is None else x for x in seconds], np.float64)[column.codes]
    return times, int(np.argmax(wrong)) if wrong.any() else None


def _seconds_of(value: Any) -> float | None:
    """Read a date, or a text of one, as seconds since the beginning of 1970; None for others."""
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value.strip())
        except ValueError:
            return None
    if isinstance(value, date) and not isinstance(value, datetime):
        value = datetime.combine(value, time_of_day.min)
    if not isinstance(value, datetime):
        return None
    aware = value.replace(tzinfo=UTC) if value.tzinfo is None else value
    return aware.timestamp()


# -- checks ----------------------------------------------------------------------------------------


def _check_rows(read: _Read) -> None:
    """Refuse empty sequences, and labels that are not different."""
    series, of = read.series, read.of
    lengths = np.diff(series.borders)
    if not series.length:
        raise DataError(f"{of}there are no rows; at least one is needed.")
    if not lengths.all():
        empty = series.names[int(np.argmin(lengths))]
        raise DataError(f"{of}sequence {empty!r} is empty; leave it out.")
    _check_labels(series)


def _check_values(read: _Read, kind: str, endless: BoolArray) -> None:
    """Refuse infinite values, which stand in the channels `endless`, and counts that are none."""
    series, of = read.series, read.of
    if endless.any():
        k = int(np.argmax(endless))
        row = int(np.argmax(np.isinf(series.values[:, k])))
        raise DataError(
            f"{of}{read.place(row)}: {series.values[row, k]} in channel {series.channels[k]!r}; "
            "values must be finite. Write nan where a value is missing."
        )
    if kind == "counts":
        for k, channel in enumerate(series.channels):
            values = series.values[:, k]
            wrong = (values < 0) | ((np.floor(values) != values) & ~np.isnan(values))
            if wrong.any():
                row = int(np.argmax(wrong))
                raise DataError(
                    f"{of}{read.place(row)}: {values[row]:g} in channel {channel!r} is no count; "
                    "counts are whole and not negative. Other numbers are read with "
                    "kind='numbers'."
                )


def _check_labels(series: Series) -> None:
    """Refuse labels of channels and sequences that are not hashable, or not different."""
    for what, labels in (("channel", series.channels), ("sequence", series.names)):
        wrong = [label for label in labels if not is_hashable(label)]
        if wrong:
            raise DataError(f"{wrong[0]!r} cannot be the label of a {what}; it must be hashable.")
        twice = repeated(labels)
        if twice is not None:
            raise DataError(f"two {what}s are called {twice!r}; each needs a name of its own.")


def _ranges(series: Series) -> tuple[FloatArray, FloatArray]:
    """Return the least and the largest value of each channel; nan where all are missing."""
    with np.errstate(invalid="ignore"):
        return np.fmin.reduce(series.values, axis=0), np.fmax.reduce(series.values, axis=0)


def _check_times(read: _Read) -> None:
    """Refuse times that are missing, or do not increase in a sequence."""
    series, of = read.series, read.of
    assert series.times is not None
    wrong = ~np.isfinite(series.times)
    if wrong.any():
        row = int(np.argmax(wrong))
        raise DataError(
            f"{of}{read.place(row)}: the time is missing or infinite; every row needs one. "
            "time=False takes the order of rows instead."
        )
    back = np.diff(series.times) <= 0
    back[series.borders[1:-1] - 1] = False  # the last row of a sequence and the first of the next
    if back.any():
        row = int(np.argmax(back)) + 1
        before, now = series.moments[row - 1], series.moments[row]
        what = "is the same time again" if before == now else f"comes after {before}"
        raise DataError(
            f"{of}{read.place(row)}: {now} {what}; times must increase in each sequence. Sort the "
            "rows by time and keep one row for each, or name the column of sequences: sequence=..."
        )


def _check_worth(read: _Read, low: FloatArray, high: FloatArray) -> None:
    """Refuse data from which nothing about states can be learned, by the range of each channel."""
    series, of = read.series, read.of
    if series.length < 2:
        raise DataError(f"{of}there is 1 row; at least 2 are needed.")
    if np.isnan(low).all():
        raise DataError(f"{of}all {series.length:,} rows are missing; some values are needed.")
    for k in np.flatnonzero(~(low < high)).tolist():
        held = repr(series.categories[int(low[k])] if series.categories else float(low[k]))
        what = "holds no value" if np.isnan(low[k]) else f"is {held} in all rows"
        raise DataError(
            f"{of}channel {series.channels[k]!r} {what}, which tells nothing about states; leave "
            "it out."
        )


# -- candidates ------------------------------------------------------------------------------------


def check_candidates(series: Series, candidates: Any = None) -> BoolArray:
    """Read candidate change points, the rows at which a new segment may begin.

    Parameters
    ----------
    candidates
        Row numbers from 1 on, counted from 0 within the sequence; for several sequences a list of
        such lists, or a mapping from names of sequences to them.  Or flags of all rows, of shape
        (T,).  None: a segment may begin anywhere.

    Returns
    -------
    may_end
        Shape (T,): True where a segment may end with this row: before each candidate, and at the
        end of each sequence.

    Examples
    --------
    >>> check_candidates(read_series([0.5, 1.0, 4.0, 2.0]), [1, 3])
    array([ True, False,  True,  True])
    """
    if candidates is None:
        return np.ones(series.length, np.bool_)
    may_end = np.zeros(series.length, np.bool_)
    may_end[series.borders[1:] - 1] = True
    for k, rows in _candidates_by_sequence(series, candidates):
        may_end[int(series.borders[k]) + rows - 1] = True
    return may_end


def _candidates_by_sequence(series: Series, given: Any) -> Iterator[tuple[int, IntArray]]:
    """Yield the number of each sequence, and its candidates."""
    flags = _flags(given, series.length)
    if flags is not None:
        for k, (first, end) in enumerate(pairwise(series.borders.tolist())):
            yield k, np.flatnonzero(flags[first + 1 : end]) + 1
        return
    if isinstance(given, Mapping):
        unknown = [name for name in given if name not in series.names]
        if unknown:
            raise DataError(
                f"candidates name the sequence {unknown[0]!r}; the sequences are "
                f"{some(series.names)}."
            )
        given = [given.get(name, ()) for name in series.names]
    refuse_set(given, "candidates")
    try:
        entries = list(given)
    except TypeError:
        raise DataError(
            f"candidates = {describe_type(given)}; a list of row numbers is needed."
        ) from None
    nested = any(map(_is_nested, entries)) or (series.n_sequences > 1 and not entries)
    if not nested and series.n_sequences > 1:
        raise DataError(
            f"one list of candidates was given for {series.n_sequences} sequences; give a list of "
            f"row numbers for each, or flags of all {series.length:,} rows."
        )
    lists = entries if nested else [entries]
    if not entries and nested:
        lists = [()] * series.n_sequences
    if len(lists) != series.n_sequences:
        raise DataError(
            f"{plural(len(lists), 'list')} of candidates were given for "
            f"{plural(series.n_sequences, 'sequence')}; one for each is needed."
        )
    for k, rows in enumerate(lists):
        length = int(np.diff(series.borders)[k])
        of = f" of sequence {series.names[k]!r}" if series.n_sequences > 1 else ""
        own = _flags(rows, length)
        yield (
            k,
            (np.flatnonzero(own[1:]) + 1 if own is not None else _row_numbers(rows, length, of)),
        )


def _flags(given: Any, length: int) -> BoolArray | None:
    """Read flags of rows; None where these are no flags."""
    if not isinstance(given, np.ndarray) and not (
        isinstance(given, (list, tuple)) and given and isinstance(given[0], (bool, np.bool_))
    ):
        return None
    flags = np.asarray(given)
    if flags.dtype != np.bool_:
        return None
    if flags.shape != (length,):
        raise DataError(
            f"flags of candidates have shape {flags.shape}; ({length},), one for each row, is "
            "needed."
        )
    return flags


def _row_numbers(given: Any, length: int, of: str) -> IntArray:
    """Read the row numbers of one sequence at which a segment may begin."""
    column = Column.of(objects(given if isinstance(given, (list, tuple)) else list(given)))
    numbers, wrong = column.numbers()
    wrong |= ~((numbers >= 1) & (numbers < length) & (numbers % 1 == 0))
    if wrong.any():
        i = int(np.argmax(wrong))
        raise DataError(
            f"candidates{of} hold {column[i]!r}; row numbers from 1 to {length - 1} are needed, "
            "counted from 0: a segment begins at row 0 in any case."
        )
    return np.asarray(numbers, np.int64)
