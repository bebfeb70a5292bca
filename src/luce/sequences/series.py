"""Time series from arrays, frames and files: rows of one or more sequences, one after another."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from luce._types import BoolArray, FloatArray, IntArray, Label
from luce.counts.labels import Categories, canonical_name, is_hashable, plural, some
from luce.errors import DataError
from luce.reading.files import open_table
from luce.reading.rows import Column
from luce.reading.values import describe_type, is_list, objects, refuse_set, repeated
from luce.sequences.series_arrays import is_nested, places_in_arrays, read_arrays
from luce.sequences.series_columns import Chosen, Table, has_columns, read_frame, read_source

KINDS = ("numbers", "counts", "categories")

_DIGEST_ROWS = 1 << 16  # rows that are hashed at a time
_MICROSECONDS = 1e6  # of a second


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
    encoding: str | None = None,
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
    encoding
        Encoding of a file of text; UTF-8 unless given.

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
        raise DataError(
            f"kind = {kind!r}; {', '.join(map(repr, KINDS[:-1]))} or {KINDS[-1]!r} is needed."
        )
    table = _read(given, kind, Chosen(_listed_columns(columns), sequence, time), encoding)
    series = given if isinstance(given, Series) else _series_of(table)
    _check_rows(series, table.of)
    low, high = _ranges(series)
    _check_values(series, table, kind, np.isinf(low) | np.isinf(high))
    if series.times is not None:
        _check_times(series, table)
    if strict:
        _check_worth(series, table.of, low, high)
    return series


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


def _read(given: Any, kind: str, chosen: Chosen, encoding: str | None) -> Table:
    """Read a series of any form, without a look at its values."""
    if isinstance(given, Series):
        return _read_series_again(given, kind)
    if isinstance(given, (str, PathLike)):
        return read_source(open_table(given, encoding), kind, chosen)
    refuse_set(given, "a series")
    if has_columns(given):
        return read_frame(given, kind, chosen)
    if chosen.named:
        raise DataError(
            f"{chosen.named} = {getattr(chosen, chosen.named)!r} names a column of a frame or a "
            f"file; {describe_type(given)} has none. Give a frame, or a list of arrays for several "
            "sequences."
        )
    return read_arrays(given, kind, chosen.columns)


def _read_series_again(series: Series, kind: str) -> Table:
    """Take a series that was read already, which must be of this kind."""
    if (kind == "categories") != bool(series.categories):
        held = "categories" if series.categories else "numbers"
        raise DataError(f"a series of {held} was given; {kind} are needed. Read the data anew.")
    return Table(
        series.values,
        series.borders,
        series.channels,
        series.names,
        series.times,
        series.categories,
        series.dates,
        series.uses,
        places_in_arrays(series.borders, series.names),
    )


def _series_of(table: Table) -> Series:
    """Make a series of rows that were read."""
    return Series(
        table.values,
        table.borders,
        table.channels,
        table.names,
        table.times,
        table.categories,
        table.dates,
        table.uses,
    )


# -- checks ----------------------------------------------------------------------------------------


def _check_rows(series: Series, of: str) -> None:
    """Refuse empty sequences, and labels that are not different."""
    lengths = np.diff(series.borders)
    if not series.length:
        raise DataError(f"{of}there are no rows; at least one is needed.")
    if not lengths.all():
        empty = series.names[int(np.argmin(lengths))]
        raise DataError(f"{of}sequence {empty!r} is empty; leave it out.")
    _check_labels(series)


def _check_values(series: Series, table: Table, kind: str, endless: BoolArray) -> None:
    """Refuse infinite values, which stand in the channels `endless`, and counts that are none."""
    if endless.any():
        k = int(np.argmax(endless))
        row = int(np.argmax(np.isinf(series.values[:, k])))
        raise DataError(
            f"{table.of}{table.place(row)}: {series.values[row, k]} in channel "
            f"{series.channels[k]!r}; values must be finite. Write nan where a value is missing."
        )
    if kind == "counts":
        for k, channel in enumerate(series.channels):
            values = series.values[:, k]
            wrong = (values < 0) | ((np.floor(values) != values) & ~np.isnan(values))
            if wrong.any():
                row = int(np.argmax(wrong))
                raise DataError(
                    f"{table.of}{table.place(row)}: {values[row]:g} in channel {channel!r} is no "
                    "count; counts are whole and not negative. Other numbers need another "
                    "emission, as Gaussian() (--emission gaussian)."
                )


def _check_labels(series: Series) -> None:
    """Refuse labels of channels and sequences that are not different."""
    for what, labels in (("channel", series.channels), ("sequence", series.names)):
        twice = repeated(labels)
        if twice is not None:
            raise DataError(f"two {what}s are called {twice!r}; each needs a name of its own.")


def _ranges(series: Series) -> tuple[FloatArray, FloatArray]:
    """Return the least and the largest value of each channel; nan where all are missing."""
    with np.errstate(invalid="ignore"):
        return np.fmin.reduce(series.values, axis=0), np.fmax.reduce(series.values, axis=0)


def _check_times(series: Series, table: Table) -> None:
    """Refuse times that are missing, or do not increase in a sequence."""
    assert series.times is not None
    wrong = ~np.isfinite(series.times)
    if wrong.any():
        row = int(np.argmax(wrong))
        raise DataError(
            f"{table.of}{table.place(row)}: the time is missing or infinite; every row needs one. "
            "time=False takes the order of rows instead."
        )
    back = np.diff(series.times) <= 0
    back[series.borders[1:-1] - 1] = False  # the last row of a sequence and the first of the next
    if back.any():
        row = int(np.argmax(back)) + 1
        before, now = series.moments[row - 1], series.moments[row]
        what = "is the same time again" if before == now else f"comes after {before}"
        raise DataError(
            f"{table.of}{table.place(row)}: {now} {what}; times must increase in each sequence. "
            "Sort the rows by time and keep one row for each time, or name the column that tells "
            "sequences apart: sequence=..."
        )


def _check_worth(series: Series, of: str, low: FloatArray, high: FloatArray) -> None:
    """Refuse data from which nothing about states can be learned, by the range of each channel."""
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
        Row numbers, counted from 0 within the sequence; for several sequences a list of
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
    if not is_list(given):
        raise DataError(f"candidates = {describe_type(given)}; a list of row numbers is needed.")
    entries = list(given)
    nested = any(map(is_nested, entries)) or (series.n_sequences > 1 and not entries)
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


def _plain(value: Any) -> Any:
    """Return a value as Python's own, for a message."""
    return value.item() if isinstance(value, np.generic) else value


def _row_numbers(given: Any, length: int, of: str) -> IntArray:
    """Read the row numbers of one sequence at which a segment may begin."""
    if not is_list(given):
        raise DataError(
            f"candidates{of} are {describe_type(given)}; a list of row numbers is needed."
        )
    column = Column.of(objects(given))
    numbers, wrong = column.numbers()
    wrong |= ~((numbers >= 0) & (numbers < length) & (numbers % 1 == 0))
    if wrong.any():
        i = int(np.argmax(wrong))
        raise DataError(
            f"candidates{of} hold {_plain(column[i])!r}; row numbers from 0 to {length - 1} are "
            "needed."
        )
    found = np.asarray(numbers, np.int64)
    return found[found > 0]  # a segment begins at row 0 in any case
