"""Lay out rows of words as plain text that fits a terminal, and as a bare HTML table."""

from __future__ import annotations

import os
import sys
import textwrap
import unicodedata
from bisect import bisect_right
from collections.abc import Collection, Sequence
from shutil import get_terminal_size
from typing import NamedTuple

from luce.page.short_texts import told_apart
from luce.page.small_pictures import SmallPicture
from luce.page.words import escaped

MOST_ROWS = 20  # of a table in a notebook, unless others are asked for
MOST_OF_NAME = 100  # characters of a name, also where lines may be of any length
LEAST_OF_NAME = 12  # characters of a name in a narrow terminal
_GAP = 2  # characters between columns
_NARROWEST = 20  # characters of a line of words


class PictureColumn(NamedTuple):
    """A column of pictures: its number in the table, its name, and a picture for each row."""

    place: int
    name: str
    drawn: Sequence[SmallPicture]


def line_width() -> int | None:
    """Return the characters of a line: those of the terminal or of COLUMNS; None elsewhere.

    In a pipe or a file lines may be of any length, unless COLUMNS is set.
    """
    if os.environ.get("COLUMNS", "").isdecimal() or sys.stdout.isatty():
        return get_terminal_size().columns
    return None


def wrapped(text: str, width: int | None) -> list[str]:
    """Break a sentence into lines."""
    if width is None:
        return [text]
    return textwrap.wrap(text, max(width, _NARROWEST), break_long_words=False) or [""]


def text_lines(rows: Sequence[Sequence[str]], left: Collection[int] = ()) -> list[str]:
    """Align columns, those named in `left` to the left, all others to the right.

    Examples
    --------
    >>> text_lines([["name", "wins"], ["Ann", "12"]], left=[0])
    ['name  wins', 'Ann     12']
    """
    widths = [max(map(cells_of, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(_padded(row, widths, left)) for row in rows]


def fitted_lines(
    rows: Sequence[Sequence[str]],
    width: int | None,
    names: Collection[int] = (),
    left: Collection[int] = (),
    dispensable: Sequence[Collection[str]] = (),
) -> list[str]:
    r"""Align columns in lines of at most `width` characters.

    Names are shortened first, each to 12 characters at least, and those that differ stay different.
    Then columns are left out, and a line below names them.

    Parameters
    ----------
    rows
        The head, then the rows.
    width
        Characters of a line; None for any number, where names have 100 at most.
    names
        Numbers of the columns of names, which may be shortened.
    left
        Numbers of the columns that stand to the left.
    dispensable
        Heads of columns that are left out together, in this order; then the last columns go, one by
        one.  The first column stays.

    Examples
    --------
    >>> rows = [["name", "wins", "losses"], ["Bartholomew of York", "12", "3"]]
    >>> print("\n".join(fitted_lines(rows, 26, names=[0], left=[0])))
    name         wins  losses
    Bartho…York    12       3
    """
    columns = [list(column) for column in zip(*rows, strict=True)]
    kept, left_out = list(range(len(columns))), list[str]()
    groups = [{j for j in kept if rows[0][j] in heads} for heads in dispensable]
    for group in [*groups, *({j} for j in reversed(kept))]:
        if width is None or _total(columns, kept, names, LEAST_OF_NAME) <= width:
            break
        gone = [j for j in kept if j in group and j > 0]
        kept = [j for j in kept if j not in gone]
        left_out += [rows[0][j] for j in gone]
    most = MOST_OF_NAME
    if width is not None:  # the longest names for which there is room
        sizes = range(LEAST_OF_NAME, MOST_OF_NAME + 1)
        fits = bisect_right(sizes, width, key=lambda n: _total(columns, kept, names, n))
        most = sizes[max(fits - 1, 0)]
    shown = [_shortened(columns[j], j, names, most) for j in kept]
    lines = text_lines(list(zip(*shown, strict=True)), [i for i, j in enumerate(kept) if j in left])
    if left_out:
        lines += wrapped(f"Left out, for want of room: {', '.join(left_out)}.", width)
    return lines


def cells_of(text: str) -> int:
    """Count the cells of a terminal that a text takes: two for a wide letter, none for a mark."""
    if text.isascii():
        return len(text)
    return sum(map(_cells_of_character, text))


def bare_html(
    rows: Sequence[Sequence[str]],
    head: int | None = None,
    pictures: Sequence[PictureColumn] = (),
) -> str:
    """Write a table whose first row is its head; cells are escaped.

    `head` is the number of the column that names its row, None where there is none.
    `pictures` are columns that are put in one after the other.

    Examples
    --------
    >>> print(bare_html([["name"], ["<Ann>"]], head=0))
    <table>
    <thead><tr><th scope="col">name</th></tr></thead>
    <tbody>
    <tr><th scope="row">&lt;Ann&gt;</th></tr>
    </tbody>
    </table>
    """
    first, *rest = rows
    titles = [f'<th scope="col">{escaped(name)}</th>' for name in first]
    lines = [[_cell(text, j == head) for j, text in enumerate(row)] for row in rest]
    for column in pictures:
        titles.insert(column.place, f'<th scope="col">{escaped(column.name)}</th>')
        for line, picture in zip(lines, column.drawn, strict=True):
            line.insert(column.place, f"<td>{picture.svg}</td>")
    body = "\n".join(f"<tr>{''.join(line)}</tr>" for line in lines)
    return (
        f"<table>\n<thead><tr>{''.join(titles)}</tr></thead>\n<tbody>\n{body}\n</tbody>\n</table>"
    )


def _total(
    columns: Sequence[Sequence[str]], kept: Sequence[int], names: Collection[int], most: int
) -> int:
    """Count the cells of a line with some columns, their names shortened."""
    shown = (_shortened(columns[j], j, names, most) for j in kept)
    return sum(max(map(cells_of, column)) + _GAP for column in shown) - _GAP


def _shortened(column: Sequence[str], j: int, names: Collection[int], most: int) -> Sequence[str]:
    """Shorten the names of a column, but not its head."""
    if j not in names:
        return column
    whole = list(dict.fromkeys(column[1:]))
    short = dict(zip(whole, told_apart(whole, most), strict=True))
    return [column[0], *(short[name] for name in column[1:])]


def _cells_of_character(character: str) -> int:
    if unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def _padded(row: Sequence[str], widths: Sequence[int], left: Collection[int]) -> list[str]:
    padded = []
    for j, (cell, width) in enumerate(zip(row, widths, strict=True)):
        blank = " " * (width - cells_of(cell))
        padded.append(cell + blank if j in left else blank + cell)
    return padded


def _cell(text: str, is_head: bool) -> str:
    return f'<th scope="row">{escaped(text)}</th>' if is_head else f"<td>{escaped(text)}</td>"
