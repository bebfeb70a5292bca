"""Square tables of wins: row beats column."""

from __future__ import annotations

from typing import Any

import numpy as np

from luce.errors import DataError
from luce.labels import some
from luce.readers.columns import Column, as_labels
from luce.readers.sources import PlainSource, Source


def is_square(source: Source) -> bool:
    """Are there as many rows as columns, each row named by the first column as one of them?"""
    if len(source.names) < 3:
        return False
    first = source.names[0]
    rows = source.distinct([first])
    labels = {str(value).strip() for value in rows[first].values}
    return labels == {name.strip() for name in source.names[1:]}


def pairs_of_matrix(source: Source) -> Source:
    """Write a square table as rows of item1, item2, wins1; the diagonal does not count."""
    first, *others = source.names
    columns = source.columns(source.names)
    names = as_labels(columns[first])
    if len(names) != len(others) or len(set(names.values)) != len(names):
        raise DataError(
            f"a table of wins must be square, with each competitor in one row: {len(names)} rows "
            f"({some(names.values)}) and {len(others)} columns were given."
        )
    return _listed([names[i] for i in range(len(names))], others, [columns[c] for c in others])


def pairs_of_array(matrix: np.ndarray[Any, Any]) -> Source:
    """Write a square array as rows of item1, item2, wins1, with numbers for labels."""
    labels = list(range(len(matrix)))
    return _listed(labels, labels, [Column.of(matrix[:, j]) for j in labels])


def _listed(rows: list[Any], columns: list[Any], wins: list[Column]) -> Source:
    by_text = {str(label).strip(): label for label in rows}
    cells = [
        (rows[i], by_text.get(str(columns[j]).strip(), columns[j]), wins[j][i])
        for i in range(len(rows))
        for j in range(len(columns))
        if str(rows[i]).strip() != str(columns[j]).strip()
    ]
    names = ("item1", "item2", "wins1")
    return PlainSource(dict(zip(names, map(list, zip(*cells, strict=True)), strict=True)))
