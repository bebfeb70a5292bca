"""Lay out rows of words as plain text, and as a bare HTML table of a notebook."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

from luce.page.small_pictures import SmallPicture
from luce.page.words import escaped

MOST_ROWS = 20  # of a table in a notebook, unless others are asked for


class PictureColumn(NamedTuple):
    """A column of pictures: its number in the table, its name, and a picture for each row."""

    place: int
    name: str
    drawn: Sequence[SmallPicture]


def text_lines(rows: Sequence[Sequence[str]], left: Collection[int] = ()) -> list[str]:
    """Align columns, those named in `left` to the left, all others to the right.

    Examples
    --------
    >>> text_lines([["name", "wins"], ["Ann", "12"]], left=[0])
    ['name  wins', 'Ann     12']
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(_padded(row, widths, left)) for row in rows]


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


def _padded(row: Sequence[str], widths: Sequence[int], left: Collection[int]) -> list[str]:
    return [
        cell.ljust(width) if j in left else cell.rjust(width)
        for j, (cell, width) in enumerate(zip(row, widths, strict=True))
    ]


def _cell(text: str, is_head: bool) -> str:
    return f'<th scope="row">{escaped(text)}</th>' if is_head else f"<td>{escaped(text)}</td>"
