"""Tables of text: CSV and its relatives, and JSON Lines."""

from __future__ import annotations

import csv
import json
from collections import Counter
from collections.abc import Iterator
from operator import itemgetter
from typing import Any

from luce.errors import DataError, Problem
from luce.files.line_source import LineSource, Row
from luce.files.lines import TextFile
from luce.labels import some
from luce.readers.columns import hashable

_DELIMITERS = (",", "\t", ";", "|")
_KEYS_LOOKED_AT = 1000  # lines of JSON whose keys become columns


def delimited_source(file: TextFile, delimiter: str | None = None) -> LineSource:
    """Read the header of a table of text; its rows are read when asked for."""
    name = file.path.name
    if delimiter is None:
        delimiter = "\t" if file.suffix == ".tsv" else _find_delimiter(file.head())
    elif len(delimiter) != 1:
        raise DataError(f"delimiter = {delimiter!r}; one character is needed.")
    header = next(_records(file, delimiter), None)
    if header is None:
        if file.problems:
            raise DataError(f"{name}: line 1: {min(file.problems).what}")
        raise DataError(f"{name}: the file is empty; a line with the names of columns is needed.")
    names = [field.strip() for field in header[1]]
    twice = next((x for i, x in enumerate(names) if x in names[:i]), None)
    if twice is not None:
        raise DataError(
            f"{name}: line {header[0]}: the column {twice!r} appears twice; every column needs a "
            "name of its own."
        )

    def rows() -> Iterator[Row]:
        records = _records(file, delimiter)
        next(records, None)
        for line, fields in records:
            if len(fields) == len(names):
                yield line, tuple(fields)
            else:
                file.problems.add(
                    Problem(line, f"{len(fields)} values stand here; the header has {len(names)}.")
                )

    def count(where: list[int]) -> Counter[tuple[Any, ...]] | None:
        return _count_rows(file, delimiter, len(names), where)

    return LineSource(name, names, rows, file.problems, count)


def json_lines_source(file: TextFile) -> LineSource:
    """Find the columns of JSON Lines; a line that is a list is an order."""
    names: dict[str, None] = {}
    lists = 0
    for k, (_, value) in enumerate(_values(file)):
        if isinstance(value, dict):
            names.update(dict.fromkeys(value))
        lists += isinstance(value, list)
        if k >= _KEYS_LOOKED_AT:
            break
    if lists and not names:
        names = {"order": None}
    if not names:
        if file.problems:
            first = min(file.problems)
            raise DataError(f"{file.path.name}: line {first.place}: {first.what}")
        raise DataError(f"{file.path.name}: the file is empty; a JSON object a line is needed.")
    columns = list(names)

    def rows() -> Iterator[Row]:
        for line, value in _values(file):
            if isinstance(value, list) and columns == ["order"]:
                value = {"order": value}
            if not isinstance(value, dict):
                wanted = f"an object with the keys {some(columns)} is needed."
                file.problems.add(Problem(line, f"{_shown(value)} stands here; {wanted}"))
                continue
            try:
                yield line, tuple(hashable(value.get(name)) for name in columns)
            except DataError as error:
                file.problems.add(Problem(line, str(error)))

    return LineSource(file.path.name, columns, rows, file.problems)


def _count_rows(
    file: TextFile, delimiter: str, width: int, where: list[int]
) -> Counter[tuple[Any, ...]] | None:
    """Count rows of some columns a block of lines at a time, as long as nothing is odd.

    One line that is, and the file is left to be read line by line, which says what is wrong.
    """
    counter: Counter[tuple[Any, ...]] = Counter()
    header = True
    for lines in file.blocks():
        if lines is None:
            return None
        try:
            rows = [row for row in csv.reader(lines, delimiter=delimiter, strict=True) if row]
        except csv.Error:  # also where a quoted text goes on in the next block
            return None
        if header and rows:
            del rows[0]
            header = False
        if any(len(row) != width for row in rows):
            return None
        if len(where) == 1:
            counter.update((row[where[0]],) for row in rows)
        else:
            counter.update(map(itemgetter(*where), rows))
    # A line of nothing but delimiters counts as blank.
    return None if ("",) * len(where) in counter else counter


def _records(file: TextFile, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Line number, where it begins, and fields of each record that is not blank."""
    numbers: list[int] = [0]

    def lines() -> Iterator[str]:
        for number, text in file.lines():
            numbers[0] = number
            yield text + "\n"

    reader = csv.reader(lines(), delimiter=delimiter, strict=True)
    while True:
        before = numbers[0]
        try:
            fields = next(reader, None)
        except csv.Error as error:
            file.problems.add(Problem(before + 1, _sentence(str(error))))
            continue
        if fields is None:
            return
        if any(fields):
            # A record that spans lines is named by its first; lines without text between do not
            # count, since the reader skips none of them.
            yield (before + 1 if numbers[0] > before + 1 else numbers[0]), fields


def _sentence(error: str) -> str:
    if "unexpected end of data" in error:
        return "a quotation mark that opens here or later is never closed."
    if "field larger than" in error:
        return "a value is longer than 131,072 characters."
    return f"quotation marks are out of place ({error})."


def _find_delimiter(head: str) -> str:
    header = next((line for line in head.splitlines() if line.strip()), "")
    return max(_DELIMITERS, key=header.count)


def _values(file: TextFile) -> Iterator[tuple[int, Any]]:
    for line, text in file.lines():
        if not text.strip():
            continue
        try:
            yield line, json.loads(text, parse_constant=_no_constant)
        except (ValueError, RecursionError) as error:
            file.problems.add(Problem(line, f"this is not JSON: {error}."))


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is not a number")


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:60] + "..."
