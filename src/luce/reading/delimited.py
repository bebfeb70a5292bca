"""Tables of text: CSV and its relatives, and R's tables with white space between values."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np

from luce._types import FloatArray, IntArray, WordArray
from luce.errors import DataError, Problem
from luce.reading.rows import Column
from luce.reading.text import LineSource, Row, TextFile, check_width, complete_lines
from luce.reading.text_columns import (
    CountedRows,
    GroupCounter,
    RowCounter,
    TextCodes,
    TextRuns,
    parse_numbers,
    split_block,
    words_of_short,
)
from luce.reading.values import NO_NUMBER, as_number, repeated

_DELIMITERS = (",", "\t", ";", "|")
_SPACES = " "  # stands for any run of white space, as in R's read.table
# A value between white space: in quotation marks of either kind, or up to the next white space.
_VALUE = re.compile(r"""\s*+(?:"((?:[^"\\]|\\.|"")*+)"(?!\S)|'([^']*+)'(?!\S)|(?!")(\S++))""")
_ESCAPED = re.compile(r'\\(.)|"(")')


def delimited_source(
    file: TextFile,
    delimiter: str | None = None,
    missing: frozenset[str] | None = None,
    blank_rows: bool = False,
) -> LineSource:
    """Read the header of a table of text; its rows are read when asked for.

    A header that is one shorter than the rows leaves out the names of rows, as R writes it; they
    become a first column without a name.  Rows in which no value stands are left out, unless
    `blank_rows`: in a table of measurements these are moments at which all are missing.
    """
    if delimiter is None:
        delimiter = "\t" if file.suffix == ".tsv" else _find_delimiter(file.head())
    elif len(delimiter) != 1 or delimiter in '\r\n"\0':
        raise DataError(f"delimiter = {delimiter!r}; one character is needed, as , or ;.")
    names = _header(file, delimiter)

    def rows() -> Iterator[Row]:
        records = _records(file, delimiter)
        next(records, None)
        if blank_rows:
            records = _every_record(file, delimiter, len(names))
        for line, fields in records:
            if len(fields) == len(names):
                yield line, tuple(fields)
            else:
                stand = "value stands" if len(fields) == 1 else "values stand"
                what = f"{len(fields)} {stand} here; the header has {len(names)}."
                file.problems.add(Problem(line, what))

    blocks = _Blocks(file, delimiter, len(names))
    return LineSource(file.path.name, names, rows, file.problems, blocks, missing=missing)


def looks_like_table(head: str) -> bool:
    """Tell a table with a header from rows of labels: a column of numbers has no number on top."""
    header, *rows = _head_rows(head, _find_delimiter(head)) or [[]]
    lead = _has_row_names(header, rows, spaces=True)
    same = [row for row in rows if len(row) == len(header) + lead]
    if any(map(_is_number, header)) or len(same) < len(rows) or not rows:
        return False
    return any(all(map(_is_number, column)) for column in zip(*same, strict=True))


def _header(file: TextFile, delimiter: str) -> list[str]:
    """Read the names of columns, which must be there, few enough and different."""
    name = file.path.name
    header = next(_records(file, delimiter), None)
    file.refuse_problems()  # a header that cannot be read is not to be skipped
    if header is None:
        raise DataError(f"{name}: the file is empty; a line with the names of columns is needed.")
    names = [field.strip() for field in header[1]]
    check_width(names, name)
    if _has_row_names(names, _head_rows(file.head(), delimiter)[1:], delimiter == _SPACES):
        names.insert(0, "")
    twice = repeated(names)
    if twice is not None:
        raise DataError(
            f"{name}: line {header[0]}: the column {twice!r} appears twice; every column needs a "
            "name of its own."
        )
    return names


def _has_row_names(names: Sequence[str], rows: Sequence[Sequence[str]], spaces: bool) -> bool:
    """Tell whether each row begins with a name or a number that the header leaves out.

    These count the rows, or are the names of the columns.  Between spaces they may also be any
    different texts, if no other column is one of text: else the header may lack its last name.
    """
    if len(rows) < 2 or any(len(row) != len(names) + 1 for row in rows):
        return False
    first = [row[0].strip() for row in rows]
    if any(first == list(map(str, range(k, k + len(rows)))) for k in (0, 1)):
        return not all(row[-1].strip() == "" for row in rows)  # a delimiter ends each row
    if set(first) == set(names):
        return True
    numbers = (any(map(_is_number, column)) for column in list(zip(*rows, strict=True))[1:])
    return spaces and len(set(first)) == len(first) and all(numbers)


def _is_number(text: str) -> bool:
    number = as_number(text)
    return number is not None and number == number


def _head_rows(head: str, delimiter: str) -> list[list[str]]:
    """Split the beginning of a file into records, without those that cannot be read."""
    reader = _reader(complete_lines(head), delimiter)
    rows: list[list[str]] = []
    while True:
        try:
            row = next(reader, None)
        except csv.Error:
            continue
        if row is None:
            return rows
        if not _is_blank(row):
            rows.append(row)


def _reader(lines: Iterable[str], delimiter: str) -> Iterator[list[str]]:
    """Split lines into records; raises csv.Error, after which the next record can be read."""
    if delimiter == _SPACES:
        return map(_between_spaces, lines)
    return csv.reader(lines, delimiter=delimiter, strict=True)


def _between_spaces(line: str) -> list[str]:
    """Split a line at white space outside of quotation marks, or raise csv.Error."""
    if '"' not in line and "'" not in line:
        return line.split()
    values = []
    end = 0
    text = line.rstrip()
    while end < len(text):
        match = _VALUE.match(text, end)
        if match is None:
            raise csv.Error("quotation marks are not closed, or not followed by a space")
        quoted, single, bare = match.groups()
        if quoted is not None:
            values.append(_ESCAPED.sub(r"\1\2", quoted))
        else:
            values.append(bare if single is None else single)
        end = match.end()
    return values


@dataclass(frozen=True)
class _Blocks:
    """A table of text, of which many lines are read at a time as long as none is irregular."""

    file: TextFile
    delimiter: str
    width: int

    def count(self, where: list[int]) -> CountedRows | None:
        """Count the rows of some columns; None once a line must be looked at alone."""
        counter = RowCounter(len(where))
        for block in self._below_header():
            codes = self._encode(block, where, counter.texts)
            if codes is None:
                return None
            counter.add(codes)
        rows = counter.counted()
        # A line of nothing but delimiters and spaces counts as blank.
        blank = np.ones(len(rows.repeats), np.bool_)
        for column in rows.columns:
            blank &= np.asarray([not text.strip() for text in column.values], bool)[column.codes]
        return None if blank.any() else rows

    def measure(
        self, numbers: list[int], labels: list[int], absent: frozenset[str]
    ) -> tuple[FloatArray, list[Column]] | None:
        """Read all rows; None once a line must be looked at alone, or a text is no number.

        Blank lines in a table of one column are among these, since a value may be missing there.
        """
        missing = words_of_short({*NO_NUMBER, *absent})
        texts = [TextCodes() for _ in labels]
        found: list[FloatArray] = []
        codes: list[list[IntArray]] = [[] for _ in labels]
        for block in self._below_header():
            words = None if block is None else self._words(block, [*numbers, *labels])
            if words is None:
                return None
            read = [parse_numbers(word, missing) for word in words[: len(numbers)]]
            if any(column is None for column in read):
                return None
            found.append(np.stack(read, axis=1) if read else np.empty((len(words[0][0]), 0)))  # type: ignore[arg-type]
            for own, text, word in zip(codes, texts, words[len(numbers) :], strict=True):
                own.append(text.of_words(word))
        joined = np.concatenate(found) if found else np.empty((0, len(numbers)))
        none = [np.empty(0, np.int64)]
        columns = [
            Column(np.concatenate([*none, *own]), list(text.code))
            for own, text in zip(codes, texts, strict=True)
        ]
        return joined, columns

    def _words(self, block: str, where: list[int]) -> list[list[WordArray]] | None:
        """Split some columns of a block of lines into words; None where these are irregular."""
        simple = _with_single_spaces(block) if self.delimiter == _SPACES else block
        if simple is None or not self.delimiter.isascii():
            return None
        if self.width == 1 and (simple.startswith("\n") or "\n\n" in simple):
            return None
        fields = split_block(simple, self.delimiter, self.width, where)
        words = [column.words() for column in fields or []]
        return None if not words or None in words else [word for word in words if word]

    def count_groups(
        self, key: int, where: list[int], absent: frozenset[str]
    ) -> GroupCounter | None:
        """Count groups of neighbouring rows; None once a line must be looked at alone.

        This is also so where a key has spaces around it, is empty or is one of the `absent`.
        """
        counter = GroupCounter(len(where))
        for block in self._below_header():
            keys = TextRuns()
            codes = self._encode(block, [key, *where], [keys, *counter.texts])
            if codes is None or any(
                not text or text != text.strip() or text in absent for text in keys.texts
            ):
                return None
            counter.add(keys.texts, codes[0], codes[1:])
        return counter

    def _below_header(self) -> Iterator[str | None]:
        blocks = self.file.blocks()
        return chain([_below_header(next(blocks, None), self.delimiter)], blocks)

    def _encode(
        self, block: str | None, where: list[int], texts: Sequence[TextCodes | TextRuns]
    ) -> list[IntArray] | None:
        """Encode some columns of a block of lines, by arrays where its lines are simple."""
        if block is None:
            return None
        simple = _with_single_spaces(block) if self.delimiter == _SPACES else block
        if simple is not None and self.delimiter.isascii():
            fields = split_block(simple, self.delimiter, self.width, where)
            words = [column.words() for column in fields or []]
            if words and None not in words:
                return [own.of_words(word) for own, word in zip(texts, words, strict=True) if word]
        rows = self._split_lines(block.removesuffix("\n").split("\n"))
        if rows is None:
            return None
        return [own.of_texts(row[k] for row in rows) for own, k in zip(texts, where, strict=True)]

    def _split_lines(self, lines: list[str]) -> list[list[str]] | None:
        try:
            rows = list(_reader(lines, self.delimiter))
        except csv.Error:  # also where a quoted text goes on in the next block
            return None
        if len(rows) < len(lines):  # a quoted text goes on in the next line
            return None
        rows = list(filter(None, rows))
        return None if any(len(row) != self.width for row in rows) else rows


def _with_single_spaces(block: str) -> str | None:
    """Put one space between the values of each line; None where any quotation mark stands."""
    if '"' in block or "'" in block:
        return None
    spaced = re.sub(r"[^\S\n]+", " ", block)
    return spaced.replace("\n ", "\n").replace(" \n", "\n").removeprefix(" ")


def _below_header(block: str | None, delimiter: str) -> str | None:
    """Return the lines below the header; None where it is not one line with names."""
    line, _, below = (block or "").lstrip("\n").partition("\n")
    try:
        header = next(_reader([line], delimiter), [])
    except csv.Error:  # a quoted name goes on in the next line
        return None
    return None if _is_blank(header) else below


def _every_record(file: TextFile, delimiter: str, width: int) -> Iterator[tuple[int, list[str]]]:
    """Yield first line and fields below the header, also of records whose values are all empty.

    Lines without any delimiter are blank lines, which are left out.  A blank line between the rows
    of a single column may be a missing value or not, and becomes a problem.
    """
    records = _records(file, delimiter, keep_blank=True)
    next((True for _, fields in records if not _is_blank(fields)), None)
    blank: list[int] = []  # lines that have not been told from the end of the file
    for line, fields in records:
        if not fields or (len(fields) < width and _is_blank(fields)):
            blank.append(line)
            continue
        if width == 1:
            what = "this line is empty; write NA where a value is missing, or remove the line."
            file.problems.update(Problem(empty, what) for empty in blank)
        blank.clear()
        yield line, fields


def _records(
    file: TextFile, delimiter: str, keep_blank: bool = False
) -> Iterator[tuple[int, list[str]]]:
    """Yield first line and fields of each record that is not blank, or of all."""
    taken: list[int] = []  # line numbers of the record that is being read

    def lines() -> Iterator[str]:
        for number, text in file.lines():
            taken.append(number)
            yield text + "\n"

    reader = _reader(lines(), delimiter)
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
        elif keep_blank or not _is_blank(fields):
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
    """Find the delimiter that the header has most of, or white space where it has none."""
    header = next((line for line in head.split("\n") if line.strip()), "")
    plain = re.sub(r'"[^"]*+"', "", header)
    found = max(_DELIMITERS, key=plain.count)
    return _SPACES if found not in plain and _is_spaced(head) else found


def _is_spaced(head: str) -> bool:
    """Tell whether most rows have, between spaces, as many values as the header, or one more.

    A header of one word may stand above texts with spaces in them, such as rankings.
    """
    header, *rows = [len(row) for row in _head_rows(head, _SPACES)] or [0]
    return header > 1 and 2 * sum(width - header in (0, 1) for width in rows) > len(rows)
