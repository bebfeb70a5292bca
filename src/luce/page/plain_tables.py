"""Lay out rows of words as plain text, and as a bare HTML table of a notebook."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from luce.page.words import escaped


def text_lines(rows: Sequence[Sequence[str]], left: Collection[int] = ()) -> list[str]:
    """Align columns, those named in `left` to the left, all others to the right.

    Examples
    --------
    >>> text_lines([["name", "wins"], ["Ann", "12"]], left=[0])
    ['name  wins', 'Ann     12']
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(_padded(row, widths, left)) for row in rows]


def bare_html(rows: Sequence[Sequence[str]], head: int | None = None) -> str:
    """Write a table whose first row is its head; cells are escaped.

    `head` is the number of the column that names its row, None where there is none.
    """
    first, *rest = rows
    names = "".join(f'<th scope="col">{escaped(name)}</th>' for name in first)
    body = "\n".join(
        f"<tr>{''.join(_cell(text, j == head) for j, text in enumerate(row))}</tr>" for row in rest
    )
    return f"<table>\n<thead><tr>{names}</tr></thead>\n<tbody>\n{body}\n</tbody>\n</table>"


def _padded(row: Sequence[str], widths: Sequence[int], left: Collection[int]) -> list[str]:
    return [
        cell.ljust(width) if j in left else cell.rjust(width)
        for j, (cell, width) in enumerate(zip(row, widths, strict=True))
    ]


def _cell(text: str, is_head: bool) -> str:
    return f'<th scope="row">{escaped(text)}</th>' if is_head else f"<td>{escaped(text)}</td>"
