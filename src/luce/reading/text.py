"""Text files: their numbered lines in any encoding, and their rows as a source."""

from __future__ import annotations

import gzip
import io
import re
import zlib
from array import array
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from itertools import groupby, islice
from operator import itemgetter
from pathlib import Path
from typing import IO, Any, cast

import numpy as np

from luce._types import IntArray
from luce.errors import DataError, Problem
from luce.reading.rows import Column, Measurements, Rows, Runs, starts_of
from luce.reading.sources import (
    HEAD,
    Source,
    columns_of,
    counted_rows,
    places_of,
    runs_of,
    shown_column,
)
from luce.reading.text_columns import RowBlocks
from luce.reading.values import is_missing, stripped

Row = tuple[int, tuple[Any, ...]]  # line number and values

_LONGEST = 10_000_000  # characters of one line; a longer one is not part of a table
_MOST_COLUMNS = 100_000
_HEAD = 65_536  # characters read to recognise the format
_BLOCK = 1 << 17  # characters read at once

# Compressed text may be this many times as large as the bytes it was read from; the beginning of a
# file, of this many bytes, may be more.
_MOST_EXPANSION = 200
_SMALL = 5_000_000
_SCANNED = 60  # megabytes of compressed text that are decompressed before anything is read

# Characters that stand for bytes which cannot be decoded; see PEP 383.
_UNDECODED = re.compile("[\udc80-\udcff]")


class TextFile:
    """A text file, read from the start whenever its lines are asked for.

    Parameters
    ----------
    path
        The file; one that ends in .gz is decompressed while it is read.
    encoding
        UTF-8 unless given, or UTF-16 where the file begins with its mark.
    """

    def __init__(self, path: Path, encoding: str | None = None) -> None:
        self.path = path
        # A mark at the beginning of UTF-8 is not part of the text.
        named = "utf-8-sig" if encoding and _is_utf_8(encoding) else encoding
        if self._packed:
            self._scan()
        self._encoding = named or self._find_encoding()
        self.problems: set[Problem] = set()

    @property
    def suffix(self) -> str:
        """The suffix in small letters, without .gz."""
        name = Path(self.path.stem) if self._packed else self.path
        return name.suffix.lower()

    @property
    def _packed(self) -> bool:
        return self.path.suffix.lower() == ".gz"

    def head(self) -> str:
        """Return the beginning of the text, which tells the format."""
        with self._open() as file:
            return self._guarded(file, _HEAD)

    def lines(self) -> Iterator[tuple[int, str]]:
        """Yield number and text of each line that can be decoded, without its end."""
        number = 0
        with self._open() as file:
            while text := self._guarded(file, _LONGEST, line=True):
                number += 1
                if len(text) >= _LONGEST:
                    raise DataError(
                        f"{self.path.name}: line {number} is longer than {_LONGEST:,} characters; "
                        "this is not a table of text."
                    )
                wrong = _UNDECODED.search(text)
                if wrong or "\0" in text:
                    self.problems.add(Problem(number, self._undecoded(text, wrong)))
                    continue
                yield number, text.rstrip("\n")

    def blocks(self) -> Iterator[str | None]:
        """Yield many lines at a time, each with its end; None where some cannot be decoded."""
        with self._open() as file:
            while block := self._guarded(file, _BLOCK):
                if not block.endswith("\n"):
                    block += self._guarded(file, _LONGEST, line=True)
                undecoded = not block.isascii() and _UNDECODED.search(block)
                unclear = undecoded or "\0" in block or len(block) >= _LONGEST
                yield None if unclear else block if block.endswith("\n") else block + "\n"

    def refuse_problems(self) -> None:
        """Raise the first problem as an error of the whole file."""
        if self.problems:
            first = min(self.problems)
            raise DataError(f"{self.path.name}: line {first.place}: {first.what}")

    def _undecoded(self, text: str, wrong: re.Match[str] | None) -> str:
        if wrong is None:
            return "a null character stands here; text is needed."
        byte = ord(wrong[0]) - 0xDC00
        before = text[max(0, wrong.start() - 20) : wrong.start()]
        return (
            f"byte 0x{byte:02x} after {before!r} is not {self._encoding.removesuffix('-sig')}; "
            "name the encoding of the file, as in encoding='latin-1' (--encoding latin-1)."
        )

    def _scan(self) -> None:
        """Refuse compressed text that is far too large, before it is read more slowly."""
        with self._open_bytes() as file:
            for _ in range(_SCANNED):
                if not self._read(file, 1_000_000):
                    break

    def _find_encoding(self) -> str:
        with self._open_bytes() as file:
            head = self._read(file, 4)
        return "utf-16" if head[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"

    def _open_bytes(self) -> IO[bytes]:
        try:
            if self._packed:
                return cast(IO[bytes], _BoundedGzip(self.path))
            return self.path.open("rb")
        except OSError as error:
            raise DataError(f"{self.path}: {error.strerror or error}.") from None

    def _open(self) -> io.TextIOWrapper:
        file = self._open_bytes()
        try:
            # newline=None takes \n, \r\n and \r alike, even mixed.
            return io.TextIOWrapper(file, self._encoding, errors="surrogateescape", newline=None)
        except (LookupError, ValueError):
            file.close()
            raise DataError(f"encoding = {self._encoding!r} is not known to Python.") from None

    def _read(self, file: IO[bytes], size: int) -> bytes:
        try:
            return file.read(size)
        except (OSError, EOFError, zlib.error) as error:
            raise DataError(f"{self.path.name}: cannot be read: {error}.") from None

    def _guarded(self, file: io.TextIOWrapper, size: int, line: bool = False) -> str:
        try:
            return file.readline(size) if line else file.read(size)
        except (OSError, EOFError, zlib.error) as error:
            raise DataError(f"{self.path.name}: cannot be read: {error}.") from None
        except UnicodeError as error:  # UTF-16 that breaks off
            raise DataError(f"{self.path.name}: is not {self._encoding}: {error}.") from None


class _BoundedGzip(gzip.GzipFile):
    """A gzip file that is refused once its content is far larger than data would be."""

    def __init__(self, path: Path) -> None:
        self._packed = path.open("rb")
        super().__init__(fileobj=self._packed, mode="rb")

    def read(self, size: int | None = -1) -> bytes:
        return self._bounded(super().read(-1 if size is None else size))

    def read1(self, size: int = -1) -> bytes:
        return self._bounded(super().read1(size))

    def close(self) -> None:
        super().close()
        self._packed.close()

    def _bounded(self, content: bytes) -> bytes:
        most = max(_SMALL, _MOST_EXPANSION * self._packed.tell())
        if self.tell() > most:
            raise DataError(
                f"{Path(self._packed.name).name}: the text is more than {_MOST_EXPANSION} times as "
                "large as the compressed file, as hardly any data are. If it is right, decompress "
                "it first (gunzip)."
            )
        return content


def complete_lines(head: str) -> list[str]:
    """Split the beginning of a file into lines, without the last one if it may be cut off."""
    lines = head.split("\n")
    return lines[:-1] if len(head) >= _HEAD else lines


def check_width(names: Collection[str], file: str) -> None:
    """Refuse a file with more columns than any table has."""
    if len(names) > _MOST_COLUMNS:
        raise DataError(
            f"{file}: there are more than {_MOST_COLUMNS:,} columns; no table has them."
        )


def _is_utf_8(encoding: str) -> bool:
    return encoding.lower().replace("_", "-") in ("utf-8", "utf8")


class LineSource(Source):
    """Rows by line number, read from the start whenever they are asked for.

    Only distinct rows are kept, so a file may be larger than memory.

    Parameters
    ----------
    name
        Name of the file, for messages.
    names
        The columns.
    rows
        Reads the file: line number and values of each row.
    problems
        Lines that cannot be used; `rows` adds to them.
    blocks
        Counts rows faster than one by one, where there is such a way.
    usable
        Turns a value into a hashable one, or raises DataError; applied only to columns that are
        asked for.
    missing
        Texts that stand for a missing value; None where the format marks missing values itself.
    """

    unit = "line"

    def __init__(
        self,
        name: str,
        names: Sequence[str],
        rows: Callable[[], Iterator[Row]],
        problems: set[Problem],
        blocks: RowBlocks | None = None,
        usable: Callable[[Any], Any] | None = None,
        missing: frozenset[str] | None = None,
    ) -> None:
        self.name = name
        self.names = list(names)
        self._where = {name: k for k, name in enumerate(self.names)}
        self._rows = rows
        self._problems = problems
        self._blocks = blocks
        self._usable = usable
        self._lines: list[int] = []
        self.missing = missing
        self._blanked: set[str] = set()

    @property
    def problems(self) -> list[Problem]:
        """Lines that cannot be used."""
        return sorted(self._problems)

    @property
    def advice(self) -> str:
        """How to keep a label that was read as a missing value, once one was."""
        texts = sorted(self._blanked - {""})
        if not texts:
            return ""
        listed = f"{' and '.join([', '.join(texts[:-1])] * (len(texts) > 1) + texts[-1:])}"
        means = "means" if len(texts) == 1 else "mean"
        return (
            f"In this file {listed} {means} that a value is missing. If that is a label, name the "
            "texts that mean it, or none: missing=[] (--missing '')."
        )

    def distinct(self, keys: Sequence[str], numbers: Sequence[str] = ()) -> Rows:
        """Return the distinct rows of some columns."""
        names = [*keys, *numbers]
        where = [self._where[name] for name in names]
        counted = self._blocks.count(where) if names and self._blocks else None
        if counted is None:
            return counted_rows(names, Counter(self._tuples(names)), lambda: self._some(names))
        columns, repeats = counted.map(self._blank_text) if self.missing else counted

        def places(bad: IntArray) -> list[list[int]]:
            wanted = [tuple(column[int(i)] for column in columns) for i in bad]
            return places_of(wanted, self._some(names))

        return Rows(dict(zip(names, columns, strict=True)), repeats, places)

    def columns(self, names: Sequence[str]) -> dict[str, Column]:
        """Return every row of some columns, which must fit in memory."""
        rows = list(self._some(names))
        self._lines = [line for line, _ in rows]
        return columns_of(names, [row for _, row in rows])

    def measurements(self, numbers: Sequence[str], labels: Sequence[str] = ()) -> Measurements:
        """Return every row of some columns, many lines at a time where these are regular."""
        own, others = ([self._where[name] for name in names] for names in (numbers, labels))
        absent = self.missing or frozenset()
        read = self._blocks.measure(own, others, absent) if self._blocks else None
        if read is None:
            return super().measurements(numbers, labels)
        self._lines = []
        found, columns = read
        texts = [Column.of([self._blank(text) for text in own.values]) for own in columns]
        encoded = [
            Column(new.codes[old.codes], new.values).labels()
            for new, old in zip(texts, columns, strict=True)
        ]
        return Measurements(found, [], dict(zip(labels, encoded, strict=True)))

    def head(self, names: Sequence[str], most: int = HEAD) -> dict[str, Column]:
        """Return the first rows of some columns; a value that is of no use becomes None."""
        rows = [row for _, row in islice(self._rows(), most)]
        held = {name: [row[self._where[name]] for row in rows] for name in names}
        if self.missing:
            held = {
                name: ["" if value.strip() in self.missing else value for value in values]
                for name, values in held.items()
            }
        return {name: shown_column(values) for name, values in held.items()}

    def place(self, i: int) -> int:
        """Return the line of row i of `columns` or `measurements`."""
        if not self._lines:
            self._lines = [line for line, _ in self._rows()]
        return self._lines[i]

    def runs(self, key: str, columns: Sequence[str]) -> Runs:
        """Return rows grouped by the value of `key`.

        In most files the rows of a group stand together; equal groups are then kept once.  Where a
        value comes back later in the file, all rows are read into memory and sorted.
        """
        return self._counted_runs(key, columns) or self._runs_by_line(key, columns)

    def _counted_runs(self, key: str, columns: Sequence[str]) -> Runs | None:
        """Group many lines at a time; None where they must be looked at one by one."""
        if self._blocks is None:
            return None
        where = [self._where[name] for name in columns]
        counter = self._blocks.count_groups(self._where[key], where, self.missing or frozenset())
        counted = counter and counter.counted(self._blank_text if self.missing else None)
        if not counted:
            return None
        encoded, lengths, repeats = counted
        starts = starts_of(lengths)

        def rows_of(i: int) -> tuple[tuple[str, ...], ...]:
            group = [
                column.take(np.arange(starts[i], starts[i + 1])).tolist() for column in encoded
            ]
            return tuple(zip(*group, strict=True))

        def places(bad: IntArray) -> list[list[int]]:
            return self._begins_of([rows_of(int(i)) for i in bad], [key, *columns])

        return Runs(dict(zip(columns, encoded, strict=True)), starts, repeats, places)

    def _runs_by_line(self, key: str, columns: Sequence[str]) -> Runs:
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
            return self._begins_of([groups[int(i)] for i in bad], names)

        encoded = columns_of(columns, [row for group in groups for row in group])
        lengths = np.fromiter(map(len, groups), np.int64, len(groups))
        repeats = np.fromiter(counter.values(), np.float64, len(groups))
        return Runs(encoded, starts_of(lengths), repeats, places)

    def _begins_of(self, groups: Sequence[Any], names: Sequence[str]) -> list[list[int]]:
        """Find all lines where each of some groups of rows begins."""
        return places_of(groups, ((line, rows) for line, _, rows in self._groups(names)))

    def _tuples(self, names: Sequence[str]) -> Iterator[tuple[Any, ...]]:
        return (row for _, row in self._some(names)) if names else iter([])

    def _some(self, names: Sequence[str]) -> Iterator[Row]:
        """Yield line and values of each row of some columns, with "" for a missing value."""
        rows = self._as_written(names)
        if not self.missing:
            return rows
        return ((line, tuple(map(self._blank_text, row))) for line, row in rows)

    def _blank(self, text: str) -> str:
        return self._blank_text(text) if self.missing else text

    def _blank_text(self, text: str) -> str:
        """Replace a text that stands for a missing value by ""."""
        assert self.missing is not None
        if text.strip() not in self.missing:
            return text
        self._blanked.add(text.strip())
        return ""

    def _as_written(self, names: Sequence[str]) -> Iterator[Row]:
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
        """Yield first line, key and rows of each group of neighbouring rows."""
        for value, group in groupby(self._some(names), key=lambda row: stripped(row[1][0])):
            rows = list(group)
            if is_missing(value):
                what = f"{names[0]} is missing."
                self._problems.update(Problem(line, what) for line, _ in rows)
                continue
            yield rows[0][0], value, tuple(row[1:] for _, row in rows)
