"""Lay out tables; those that ask for it can be sorted, searched and copied by a script."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence

from luce.errors import DataError
from luce.page.words import Cell, Number, Words, escaped, html_of, html_of_cell

# The search box is hidden until the script shows it: without the script it would do nothing.
_SEARCH = (
    '<div class="search" hidden>\n<label>Search the table <input type="search" '
    'autocomplete="off" spellcheck="false"></label>\n<p role="status" aria-live="polite"></p>\n'
    "</div>\n"
)


def table_html(
    head: Sequence[str],
    rows: Sequence[Sequence[Cell]],
    caption: str,
    label: str,
    numeric: Collection[int],
    sortable: bool,
    further: Collection[int] = (),
) -> str:
    """Lay a table out in a scrollable frame, named by its caption or, without one, by `label`."""
    width = len(head)
    if isinstance(head, str) or not width:
        raise DataError(f"A table's head is {head!r}; give the names of one or more columns.")
    wrong = [column for column in numeric if not 0 <= column < width]
    if wrong:
        raise DataError(f"Numeric columns {wrong} do not exist: there are {width}, from 0.")
    for i, row in enumerate(rows):
        if isinstance(row, str) or len(row) != width:
            raise DataError(f"Row {i} of the table is {row!r}; it needs {width} cells.")
    number = [_kind(column in numeric, column in further) for column in range(width)]
    titles = "".join(
        f'<th scope="col"{number[j]}>{html_of(name)}</th>' for j, name in enumerate(head)
    )
    sorted_as_numbers = set(numeric) if sortable else set()
    body = "\n".join(_row(row, number, sorted_as_numbers) for row in rows)
    # The span keeps a caption in view while a wide table is scrolled under it.
    above = f"<caption><span>{html_of(caption)}</span></caption>\n" if caption else ""
    table = (
        f'<div class="scroll" role="region" tabindex="0" aria-label="{escaped(caption) or label}">'
        f"\n<table>\n{above}<thead>\n<tr>{titles}</tr>\n</thead>\n<tbody>\n{body}\n</tbody>\n"
        "</table>\n</div>"
    )
    return f'<div class="sortable">\n{_SEARCH}{table}\n</div>' if sortable else table


def _kind(is_numeric: bool, is_further: bool) -> str:
    """Return the attribute with the classes of a column's cells."""
    classes = ["number"] * is_numeric + ["further"] * is_further
    return f' class="{" ".join(classes)}"' if classes else ""


def _row(row: Sequence[Cell], number: list[str], sorted_as_numbers: set[int]) -> str:
    """Lay out one row, whose first cell is its heading."""
    values = [_value(cell) if j in sorted_as_numbers else "" for j, cell in enumerate(row)]
    first = f'<th scope="row"{number[0]}{values[0]}>{html_of_cell(row[0])}</th>'
    cells = zip(number[1:], values[1:], row[1:], strict=True)
    rest = "".join(f"<td{kind}{value}>{html_of_cell(cell)}</td>" for kind, value, cell in cells)
    return f"<tr>{first}{rest}</tr>"


def _value(cell: Cell) -> str:
    """Return the attribute a cell is sorted by; it is empty for nan, which comes last."""
    value = cell.value if isinstance(cell, Number) else _read(cell)
    if math.isnan(value):
        return ' data-value=""'
    upper = cell.upper if isinstance(cell, Number) else None
    end = "" if upper is None else f' data-upper="{_spelled(upper)}"'
    return f' data-value="{_spelled(value)}"{end}'


def _spelled(value: float) -> str:
    """Write a number as JavaScript reads it."""
    return repr(float(value)).replace("inf", "Infinity")


def _read(cell: Words | Cell) -> float:
    """Read text that is a number, with or without thousands separators."""
    if isinstance(cell, str):
        try:
            return float(cell.replace(",", ""))
        except ValueError:
            pass
    raise DataError(f"{cell!r} stands in a numeric column that can be sorted; give a Number.")
