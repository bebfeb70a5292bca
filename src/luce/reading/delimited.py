"""Tables of text: CSV and its relatives, and JSON Lines."""

from __future__ import annotations

import csv
import json
import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from operator import itemgetter
from typing import Any

from luce.counts.labels import some
from luce.errors import DataError, Problem
from luce.reading.columns import hashable
from luce.reading.line_source import LineSource, Row
from luce.reading.lines import TextFile

_MOST_COLUMNS = 100_000
_DELIMITERS = (",", "\t", ";", "|")


def delimited_source(file: TextFile, delimiter: str | None = None) -> LineSource:
    """Read the header of a table of text; its rows are read when asked for."""
    name = file.path.name
    if delimiter is None:
        delimiter = "\t" if file.suffix == ".tsv" else _find_delimiter(file.head())
    elif len(delimiter) != 1 or delimiter in '\r\n"\0':
        raise DataError(f"delimiter = {delimiter!r}; one character is needed, as , or ;.")
    header = next(_records(file, delimiter), None)
    if file.problems:  # a header that cannot be read is not to be skipped
        first = min(file.problems)
        raise DataError(f"{name}: line {first.place}: {first.what}")
    if header is None:
        raise DataError(f"{name}: the file is empty; a line with the names of columns is needed.")
    names = [field.strip() for field in header[1]]
    _check_width(names, name)
    twice = next((x for x, repeats in Counter(names).items() if repeats > 1), None)
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
    for _, value in _values(file):  # all of them: a key may come late
        if isinstance(value, dict):
            names.update(dict.fromkeys(value))
            _check_width(names, file.path.name)
        lists += isinstance(value, list)
    if lists and not names:
        names = {"order": None}
    if not names:
        if file.problems:
            first = min(file.problems)
            raise DataError(f"{file.path.name}: line {first.place}: {first.what}")
        raise DataError(f"{file.path.name}: there is no line with a JSON object or list.")
    columns = list(names)

    def rows() -> Iterator[Row]:
        for line, value in _values(file):
            if isinstance(value, list) and columns == ["order"]:
                value = {"order": value}
            if not isinstance(value, dict):
                wanted = f"an object with the keys {some(columns)} is needed."
                file.problems.add(Problem(line, f"{_shown(value)} stands here; {wanted}"))
                continue
            yield line, tuple(map(value.get, columns))

    return LineSource(file.path.name, columns, rows, file.problems, usable=hashable)


def _check_width(names: Collection[str], file: str) -> None:
    if len(names) > _MOST_COLUMNS:
        raise DataError(
            f"{file}: there are more than {_MOST_COLUMNS:,} columns; no table has them."
        )


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
    """Line number, where it begins, and fields of each record that is not blank."""
    taken: list[int] = []  # lines of the record that is being read

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


def _values(file: TextFile) -> Iterator[tuple[int, Any]]:
    for line, text in file.lines():
        if not text.strip():
            continue
        try:
            value = json.loads(text, parse_constant=_no_constant, object_pairs_hook=_no_key_twice)
        except json.JSONDecodeError as error:
            what = f"this is not JSON: {error.msg} at character {error.pos + 1}."
            file.problems.add(Problem(line, what))
        except ValueError as error:
            file.problems.add(Problem(line, f"this is not JSON: {error}."))
        except RecursionError:
            file.problems.add(Problem(line, "lists or objects are nested too deep here."))
        else:
            yield line, value


def _no_key_twice(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        raise ValueError("a key appears twice in one object")
    return made


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is not a number")


def _shown(value: Any) -> str:
    if isinstance(value, list):
        return "a list"
    text = repr(value)
    return text if len(text) <= 60 else text[:60] + "..."
