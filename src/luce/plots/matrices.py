"""Transition matrices as shades, with means and intervals in the cells."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from textwrap import fill
from typing import TYPE_CHECKING, Any

import numpy as np

from luce._types import BoolArray, FloatArray, IntArray, Label, Labels
from luce.answers.matrix_differences import transition_differences as differences_of
from luce.answers.transition_tables import per_cent, transition_summary
from luce.counts.labels import Categories, plural
from luce.errors import DataError
from luce.page.words import percent
from luce.plots.canvas import (
    GREY,
    add_scale,
    drawing,
    height_of,
    name_columns,
    name_rows,
    require_matplotlib,
    room_for,
)
from luce.plots.heatmaps import ANNOTATED, SHADES, SIDES, inks, shade_table
from luce.plots.intervals import most_rows
from luce.plots.label_text import names_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import Normalize
    from matplotlib.image import AxesImage
    from xarray import Dataset

    from luce.answers.view import DrawsLike

# Inches of a cell with a number, and of one with an interval beneath it.
_CELL, _TALL_CELL = 0.42, 0.52
_LARGE, _SMALL = 9.0, 6.5  # points of means, and of intervals
_MOST = 60  # states that are drawn unless more are asked for


def transition_matrix(
    draws: DrawsLike | Mapping[Label, DrawsLike],
    *,
    ci_prob: float = 0.9,
    states: Labels | None = None,
    most: int = _MOST,
    forbidden: Any = None,
    self_loops: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the probability to move from the row to the column, with its interval.

    Shades are posterior means.  Up to 12 states they stand in the cells, in per cent, with the
    interval beneath where it has room.  A cross marks a transition that cannot occur.

    Parameters
    ----------
    draws, forbidden, self_loops
        As for `luce.answers.transition_matrix`.
    ci_prob
        Probability of each interval, between 0 and 1.
    states
        Draw these states only, in this order; all in stored order unless given.
    most
        Largest number of states.  Of more the first are drawn.
    ax
        Axes to draw into.

    Examples
    --------
    >>> import luce
    >>> rows = luce.from_transitions("abcabcacb" * 3, rows="separate")
    >>> run = luce.sequences.SeparateRows(rows).sample(1000, seed=1)
    >>> ax = luce.plots.transition_matrix(run)
    >>> ax.images[0].get_array().data.round(1)
    array([[0. , 0.6, 0.4],
           [0.3, 0. , 0.7],
           [0.6, 0.4, 0. ]])
    """
    found = transition_summary(draws, ci_prob, forbidden=forbidden, self_loops=self_loops)
    table, names, cut = _chosen(found.table, states, most_rows(most))
    return transition_heatmap(
        table["mean"].values,
        table["forbidden"].values,
        sources=names[0],
        states=names[1],
        spans=(table["lower"].values, table["upper"].values),
        ci_prob=ci_prob,
        note=cut,
        ax=ax,
    )


def transition_differences(
    first: DrawsLike | Mapping[Label, DrawsLike],
    second: DrawsLike | Mapping[Label, DrawsLike],
    *,
    ci_prob: float = 0.9,
    names: tuple[str, str] = ("the first", "the second"),
    states: Labels | None = None,
    most: int = _MOST,
    ax: Axes | None = None,
) -> Axes:
    """Draw the differences of two transition matrices, the first minus the second.

    Shades are mean differences of probabilities.  Up to 12 states they stand in the cells, in
    points of per cent, and are bold where the interval that holds for all transitions at once
    leaves out 0; of more states these cells have a dot.  A cross marks a transition that can occur
    in neither, and a dashed frame one that can occur in one of the two alone.

    Parameters
    ----------
    first, second, ci_prob, names
        As for `luce.answers.transition_differences`.
    states, most, ax
        As for `transition_matrix`.

    Examples
    --------
    >>> import luce
    >>> def fitted(sequence):
    ...     rows = luce.from_transitions(sequence, rows="separate")
    ...     return luce.sequences.SeparateRows(rows).sample(1000, seed=1)
    >>> runs = fitted("abcabcacb" * 5), fitted("abababacb" * 5)
    >>> ax = luce.plots.transition_differences(*runs, names=("before", "after"))
    >>> [text.get_text() for text in ax.texts if text.get_fontweight() == "bold"]
    ['−64', '+64', '+51', '−51']
    """
    require_matplotlib()
    from matplotlib.colors import Normalize
    from matplotlib.patches import Rectangle

    found = differences_of(first, second, ci_prob, names=names)
    marked = found.table.assign(told_apart=(("source", "target"), found.told_apart))
    table, labels, cut = _chosen(marked, states, most_rows(most))
    mean = np.nan_to_num(table["mean"].values)
    told, never = table["told_apart"].values, table["forbidden"].values
    one_sided = table["one_sided"].values
    largest = max(float(np.abs(mean).max()), 0.01)
    with _drawing(mean, never, labels, (SIDES, Normalize(-largest, largest)), _CELL, ax) as grid:
        numbers = _points(largest), _points(-largest)
        written = grid.holds(max(map(len, numbers)), 1)
        if written:
            grid.write([[_points(x) for x in row] for row in mean.tolist()], ~never, bold=told)
        elif told.any():
            size = min(grid.wide, grid.high) / 2
            grid.axes.plot(*np.argwhere(told).T[::-1], ".", color="#202020", markersize=size)
        for i, j in np.argwhere(one_sided).tolist():
            corner = (j - 0.44, i - 0.44)
            look: dict[str, Any] = {"fill": False, "edgecolor": GREY, "linestyle": "--"}
            grid.axes.add_patch(Rectangle(corner, 0.88, 0.88, **look))
        mark = "bold" if written else "dot"
        level = f"all at once, {percent(ci_prob)}"
        grid.explain(
            f"{names[0]} minus {names[1]}, points of per cent",
            "× can occur in neither" * bool(never.any()),
            f"{mark}: told from 0, {level}" if told.any() else f"none told from 0, {level}",
            "dashed: can occur in one alone" * bool(one_sided.any()),
            cut,
        )
        add_scale(grid.axes, grid.image, "difference, points")
        scale = grid.axes.child_axes[-1].yaxis
        scale.set_major_formatter(_on_scale)
    return grid.axes


def transition_heatmap(
    table: FloatArray,
    forbidden: BoolArray,
    *,
    sources: Sequence[Label],
    states: Sequence[Label],
    spans: tuple[FloatArray, FloatArray] | None = None,
    ci_prob: float = 0.9,
    note: str = "",
    ax: Axes | None = None,
) -> Axes:
    """Draw the probability to move from the row to the column, crosses where that cannot occur.

    Parameters
    ----------
    table
        Probabilities, shape (source, state).
    forbidden
        Marks of the transitions that cannot occur.
    sources, states
        Labels of rows and columns.
    spans
        Lower and upper ends of intervals, to be written beneath the probabilities.
    ci_prob
        Their probability.
    note
        Words that are added beneath.
    ax
        Axes to draw into.
    """
    require_matplotlib()
    from matplotlib.colors import PowerNorm

    # Shades go by square roots: of many cells most hold little.
    look = SHADES, PowerNorm(0.5, 0.0, max(float(table.max()), 0.01))
    cell = _CELL if spans is None else _TALL_CELL
    with _drawing(table, forbidden, (sources, states), look, cell, ax) as grid:
        means, ends = _texts(table), None
        if spans is not None:
            lower, upper = map(_texts, spans)
            ends = [
                [f"{a}–{b}" for a, b in zip(*rows, strict=True)]
                for rows in zip(lower, upper, strict=True)
            ]
            longest = max((len(ends[i][j]) for i, j in np.argwhere(~forbidden).tolist()), default=0)
            if not grid.holds(longest * _SMALL / _LARGE, 2):
                ends = None
        if grid.holds(3, 1):
            grid.write(means, ~forbidden, beneath=ends)
        else:
            ends = None
        grid.explain(
            "× cannot occur" * bool(forbidden.any()),
            "" if ends is None else f"beneath each mean its {percent(ci_prob)} interval",
            note,
        )
        add_scale(grid.axes, grid.image, "P(row to column)", percent=True)
    return grid.axes


@dataclass(frozen=True)
class _Grid:
    """Axes with a matrix of shades, and the points of width and height of a cell."""

    axes: Axes
    image: AxesImage
    table: FloatArray
    wide: float
    high: float

    def holds(self, letters: float, lines: int) -> bool:
        """Have cells room for so many letters, in so many lines?"""
        few = max(self.table.shape) <= ANNOTATED + 1  # one more for states that are only entered
        return few and self.wide >= 0.62 * _LARGE * letters and self.high >= 1.25 * _LARGE * lines

    def write(
        self,
        texts: list[list[str]],
        which: BoolArray,
        bold: BoolArray | None = None,
        beneath: list[list[str]] | None = None,
    ) -> None:
        """Write texts into cells, with smaller ones beneath."""
        colors = inks(self.image, self.table)
        shift = 0.0 if beneath is None else 0.15
        for i, j in np.argwhere(which).tolist():
            look = {"ha": "center", "va": "center", "color": colors[i, j]}
            weight = "bold" if bold is not None and bold[i, j] else "normal"
            self.axes.text(j, i - shift, texts[i][j], fontsize=_LARGE, fontweight=weight, **look)
            if beneath is not None:
                self.axes.text(j, i + 0.24, beneath[i][j], fontsize=_SMALL, **look)

    def explain(self, *notes: str) -> None:
        """Say beneath the matrix what its marks mean, in lines as long as it is wide."""
        there, letters = [note for note in notes if note], self.wide * self.table.shape[1] / 4.3
        self.axes.set_xlabel(fill("; ".join(there), max(int(letters), 40)), fontsize=8)


@contextmanager
def _drawing(
    table: FloatArray,
    forbidden: BoolArray,
    labels: tuple[Sequence[Label], Sequence[Label]],
    look: tuple[Sequence[str], Normalize],
    cell: float,
    ax: Axes | None,
) -> Iterator[_Grid]:
    """Draw a matrix as shades, with names of rows and columns, and crosses in forbidden cells."""
    rows, columns = (names_of(own, range(len(own)), 20) for own in labels)
    few = max(table.shape) <= ANNOTATED + 1
    height, width = (max(1.8, cell * n) if few else min(height_of(n), 9.0) for n in table.shape)
    aside, above = (0.075 * max(map(len, names.texts)) for names in (rows, columns))
    with drawing(ax, width + aside + 1.2, height + above + 0.5) as axes:
        image = shade_table(axes, np.ma.masked_array(table, forbidden), look[1], look[0])
        cross = min(72 * width / table.shape[1], 72 * height / table.shape[0], 24) / 3
        axes.plot(*np.argwhere(forbidden).T[::-1], "x", color=GREY, markersize=cross)
        inches = (None, None) if ax is not None else (height, width)
        name_rows(axes, range(table.shape[0]), rows, inches[0])
        name_columns(axes, range(table.shape[1]), columns, inches[1])
        wide, high = room_for(axes, "x", inches[1]), room_for(axes, "y", inches[0])
        yield _Grid(axes, image, table, wide, high)


def _chosen(
    table: Dataset, states: Labels | None, most: int
) -> tuple[Dataset, tuple[list[Label], list[Label]], str]:
    """Keep the states that are drawn; return their labels, and words about those left out."""
    sources, targets = (table[dim].values.tolist() for dim in ("source", "target"))
    places: list[IntArray | slice] = [slice(most), slice(most)]
    cut = ""
    if states is not None:
        Categories(list(dict.fromkeys([*sources, *targets]))).numbers(states, "states")
        places = [
            np.array([own.index(label) for label in states if label in own], np.int64)
            for own in (sources, targets)
        ]
        if not all(len(place) for place in places):  # type: ignore[arg-type]
            raise DataError("states holds none that is left, or none that is entered.")
    elif len(targets) > most:
        cut = f"the first {most} of {plural(len(targets), 'state')}"
    chosen = table.isel(source=places[0], target=places[1])
    return chosen, (chosen["source"].values.tolist(), chosen["target"].values.tolist()), cut


def _texts(table: FloatArray) -> list[list[str]]:
    return [[per_cent(x) for x in row] for row in table.tolist()]


def _points(difference: float) -> str:
    """Write a difference of probabilities in whole points of per cent, with its sign."""
    text = f"{100 * difference:+.0f}".replace("-", "−")
    return "0" if text[1:] == "0" else text


def _on_scale(difference: float, _: float) -> str:
    """Write a tick of a scale of differences."""
    return f"{100 * difference:+.3g}".replace("-", "−") if difference else "0"
