"""Tables of text with delimiters: CSV and its relatives."""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from operator import itemgetter
from typing import Any

from luce.errors import DataError, Problem
from luce.reading.text import LineSource, Row, TextFile, check_width
from luce.reading.values import repeated

_DELIMITERS = (",", "\t", ";", "|")


def delimited_source(file: TextFile, delimiter: str | None = None) -> LineSource:
    """Read the header of a table of text; its rows are read when asked for."""
    if delimiter is None:
        delimiter = "\t" if file.suffix == ".tsv" else _find_delimiter(file.head())
    elif len(delimiter) != 1 or delimiter in '\r\n"\0':
        raise DataError(f"delimiter = {delimiter!r}; one character is needed, as , or ;.")
    names = _header(file, delimiter)

    def rows() -> Iterator[Row]:
        records = _records(file, delimiter)
        next(records, None)
        for line, fields in records:
            if len(fields) == len(names):
                yield line, tuple(fields)
            else:
                what = f"{len(fields)} values stand here; the header has {len(names)}."
                file.problems.add(Problem(line, what))

    def count(where: list[int]) -> Counter[tuple[Any, ...]] | None:
        return _count_rows(file, delimiter, len(names), where)

    return LineSource(file.path.name, names, rows, file.problems, count)


def _header(file: TextFile, delimiter: str) -> list[str]:
    """Read the names of columns, which must be there, few enough and different."""
    name = file.path.name
    header = next(_records(file, delimiter), None)
    file.refuse_problems()  # a header that cannot be read is not to be skipped
    if header is None:
        raise DataError(f"{name}: the file is empty; a line with the names of columns is needed.")
    names = [field.strip() for field in header[1]]
    check_width(names, name)
    twice = repeated(names)
    if twice is not None:
        raise DataError(
            f"{name}: line {header[0]}: the column {twice!r} appears twice; every column needs a "
            "name of its own."
        )
    return names


def _count_rows(
    file: TextFile, delimiter: str, width: int, where: list[int]
) -> Counter[tuple[Any, ...]] | None:
    """Count the rows of some columns a block of lines at a time.

    Returns None once a line is irregular: reading line by line then says what is wrong.
    """
    counter: Counter[tuple[Any, ...]] = Counter()
    header = True
    for lines in file.blocks():
        if lines is None:
            return None
        try:
            rows = list(csv.reader(lines, delimiter=delimiter, strict=True))
        except csv.Error:  # also where a quoted text goes on in the next block
            return None
        if len(rows) < len(lines):  # a quoted text goes on in the next line
            return None
        rows = [row for row in rows if row]
        if header and rows:
            if _is_blank(rows[0]):
                return None
            del rows[0]
            header = False
        if any(len(row) != width for row in rows):
            return None
        if len(where) == 1:
            counter.update((row[where[0]],) for row in rows)
        else:
            counter.update(map(itemgetter(*where), rows))
    # A line of nothing but delimiters and spaces counts as blank.
    return None if any(map(_is_blank, counter)) else counter


def _records(file: TextFile, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Yield first line and fields of each record that is not blank."""
    taken: list[int] = []  # line numbers of the record that is being read

    def lines() -> Iterator[str]:
        for number, text in file.lines():
            taken.append(number)
            yield text + "\n"

    reader = csv.reader(lines(), delimiter=delimiter, strict=True)
    while True:
        taken.clear()
        try:
            fields = next(reader, None)
        except csv.Error as error:
            file.problems.add(Problem(taken[0], _sentence(str(error), taken)))
            continue
        if fields is None:
            return
        if taken[-1] - taken[0] >= len(taken):
            what = "a quoted value goes on over a line that cannot be read."
            file.problems.add(Problem(taken[0], what))
        elif not _is_blank(fields):
            yield taken[0], fields


def _is_blank(fields: Sequence[str]) -> bool:
    return not any(map(str.strip, fields))


def _sentence(error: str, lines: list[int]) -> str:
    several = f"; lines {lines[0]} to {lines[-1]} cannot be read" if len(lines) > 1 else ""
    if "unexpected end of data" in error:
        return f"a quotation mark opens here and is never closed{several}."
    if "field larger than" in error:
        return f"a value is longer than 131,072 characters{several}."
    return f"quotation marks are out of place ({error}){several}."


def _find_delimiter(head: str) -> str:
    header = next((line for line in head.split("\n") if line.strip()), "")
    return max(_DELIMITERS, key=re.sub(r'"[^"]*+"', "", header).count)
