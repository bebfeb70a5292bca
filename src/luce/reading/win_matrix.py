"""Square tables of wins: row beats column."""

from __future__ import annotations

from typing import Any

import numpy as np

from luce.counts.labels import some
from luce.errors import DataError
from luce.reading.sources import PlainSource, Source
from luce.reading.tables import Table, read_table


def is_square(source: Source) -> bool:
    """Are there as many rows as columns, each row named by the first column as one of them?"""
    if len(source.names) < 3:
        return False
    first = source.names[0]
    rows = source.distinct([first])
    labels = {str(value).strip() for value in rows[first].values}
    return labels == {name.strip() for name in source.names[1:]}


def pairs_of_matrix(source: Source, skip_bad: bool) -> Source:
    """Write a square table as rows of item1, item2, wins1; the diagonal does not count."""
    table = read_table(source, source.names[0], skip_bad=skip_bad)
    if len(set(table.rows)) < len(table.rows):
        raise DataError(
            f"a table of wins must be square, with each competitor in one row: {len(table.rows)} "
            f"rows ({some(table.rows)}) and {len(table.columns)} columns were given."
        )
    return _listed(table)


def pairs_of_array(matrix: np.ndarray[Any, Any]) -> Source:
    """Write a square array as rows of item1, item2, wins1, with numbers for labels."""
    return _listed(read_table(matrix))


def _listed(table: Table) -> Source:
    """Where nothing stands in a cell, the two never met."""
    by_text = {str(label).strip(): label for label in table.rows}
    columns = [by_text.get(str(label), label) for label in table.columns]
    wins = np.nan_to_num(table.values).tolist()
    cells = [
        (a, b, wins[i][j])
        for i, a in enumerate(table.rows)
        for j, b in enumerate(columns)
        if a != b
    ]
    names = ("item1", "item2", "wins1")
    return PlainSource(dict(zip(names, map(list, zip(*cells, strict=True)), strict=True)))
