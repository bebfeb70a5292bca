"""Tables of named columns: printed as text, shown in notebooks, turned into data frames."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from typing import Any

import numpy as np
import numpy.typing as npt

from luce.counts.labels import plural, printable
from luce.page.plain_tables import MOST_ROWS, bare_html, fitted_lines, line_width, wrapped
from luce.page.words import escaped, probability

# Rows that are printed unless others are asked for.
_ROWS_PRINTED = 40


class Table:
    """Columns of equal length, with sentences above and below.

    A column is taken by its name, ``table["state"]``, or as an attribute, ``table.state``.  The
    table prints as text and shows as HTML in a notebook.

    Attributes
    ----------
    columns
        Maps a column's name to its values, shape (row,).
    header
        Sentences printed above the table.
    notes
        Sentences printed below the table.
    row
        The word for a row.

    Examples
    --------
    >>> table = Table({"state": np.array([0, 1]), "share": np.array([0.75, 0.25])})
    >>> len(table), table.share
    (2, array([0.75, 0.25]))
    >>> print(table)
    state  share
        0   0.75
        1   0.25
    """

    def __init__(
        self,
        columns: Mapping[str, npt.NDArray[Any]],
        header: Sequence[str] = (),
        notes: Sequence[str] = (),
        row: str = "row",
        probabilities: Sequence[str] = (),
    ) -> None:
        self.columns = dict(columns)
        self.header = tuple(header)
        self.notes = tuple(notes)
        self.row = row
        self._probabilities = frozenset(probabilities)

    def __getitem__(self, column: str) -> npt.NDArray[Any]:
        return self.columns[column]

    def __getattr__(self, column: str) -> npt.NDArray[Any]:
        try:
            return self.__dict__["columns"][column]  # type: ignore[no-any-return]
        except KeyError:
            raise AttributeError(f"this table has no column {column!r}") from None

    def __len__(self) -> int:
        return len(next(iter(self.columns.values())))

    def __iter__(self) -> Iterator[str]:
        return iter(self.columns)

    def __contains__(self, column: object) -> bool:
        return column in self.columns

    def keys(self) -> list[str]:
        """List the names of the columns."""
        return list(self.columns)

    def __str__(self) -> str:
        return self.to_text()

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return self.to_html()

    def to_text(self, most: int = _ROWS_PRINTED, width: int | None = None) -> str:
        """Lay the table out as text.

        Parameters
        ----------
        most
            Largest number of rows.
        width
            Characters of a line; those of the terminal unless given, and any number where the
            text goes to no terminal.  Long labels are shortened; the last columns are left out,
            and named, where they do not fit.
        """
        room = line_width() if width is None else width
        texts = [j for j, x in enumerate(self.columns.values()) if x.dtype.kind in "OU"]
        lines = fitted_lines(self._cells(most), room, texts)
        header, closing = (
            [line for sentence in sentences for line in wrapped(sentence, room)]
            for sentences in (self.header, self._closing(most))
        )
        return "\n".join([*header, *lines, *closing])

    def to_html(self, most: int = MOST_ROWS) -> str:
        """Lay the table out as HTML, at most `most` rows; labels are escaped."""
        table = bare_html(self._cells(most))
        above = [f"<p>{escaped(line)}</p>" for line in self.header]
        below = [f"<p>{escaped(line)}</p>" for line in self._closing(most)]
        return "\n".join([*above, table, *below])

    def to_pandas(self) -> Any:
        """Make a pandas data frame of all rows."""
        return _frames("pandas").DataFrame(self.columns)

    def to_polars(self) -> Any:
        """Make a polars data frame of all rows."""
        polars = _frames("polars")

        def series(name: str, x: npt.NDArray[Any]) -> Any:
            if x.dtype != object:
                return polars.Series(name, x)
            # Tuples stay what they are; otherwise polars would want their entries to be alike.
            tuples = any(isinstance(value, tuple) for value in x)
            return polars.Series(name, x.tolist(), dtype=polars.Object if tuples else None)

        return polars.DataFrame([series(name, x) for name, x in self.columns.items()])

    def _cells(self, most: int) -> list[list[str]]:
        rows = range(min(most, len(self)))
        return [
            list(self.columns),
            *([self._word(name, x[i]) for name, x in self.columns.items()] for i in rows),
        ]

    def _word(self, column: str, value: Any) -> str:
        """Print an entry; probabilities with three decimals, other numbers with four digits."""
        if isinstance(value, (bool, np.bool_)):
            return "yes" if value else "no"
        if column in self._probabilities:
            return probability(float(value))
        if isinstance(value, (float, np.floating)):
            return "" if np.isnan(value) else f"{value:.4g}"
        return printable(value)

    def _closing(self, most: int) -> list[str]:
        left = len(self) - most
        more = [f"... and {plural(left, f'more {self.row}')}"] if left > 0 else []
        return [*more, *self.notes]


def _frames(name: str) -> Any:
    """Import a package of data frames, or say how to get it."""
    try:
        return import_module(name)
    except ModuleNotFoundError:
        raise ModuleNotFoundError(
            f"{name} is not installed; `pip install {name}`, or take the columns as arrays: "
            "table.columns."
        ) from None
