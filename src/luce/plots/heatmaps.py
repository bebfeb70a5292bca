"""Tables of probabilities as shades: ranks and duels."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from luce._types import BoolArray, FloatArray, IntArray, Label, Labels
from luce.answers.comparisons import win_matrix as wins_of
from luce.answers.ranks import expected_order, rank_probabilities
from luce.answers.view import DrawsView
from luce.plots.canvas import (
    add_scale,
    drawing,
    height_of,
    name_columns,
    name_rows,
    require_matplotlib,
    room_for,
)
from luce.plots.intervals import most_rows
from luce.plots.label_text import Names, names_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import Normalize
    from matplotlib.image import AxesImage

    from luce.answers.view import DrawsLike

_RANK = 24  # points of width that the number of a rank needs
ANNOTATED = 12  # largest number of rows and columns whose cells hold numbers
# White to dark blue; and vermilion to blue, through white.  Both get darker evenly.
SHADES = ["#f7f9fc", "#c6dcec", "#7fb6d9", "#2f86bd", "#0b5a93", "#08304f"]
SIDES = ["#8a3b00", "#d55e00", "#f0b48a", "#f7f7f7", "#8fc1de", "#0072b2", "#003f63"]


def rank_heatmap(
    draws: DrawsLike,
    most: int = 40,
    *,
    among: Labels | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the probability of each category to have each rank, best expected rank first.

    Parameters
    ----------
    draws
        What `Posterior.sample` returned, or an array of shape (chain, draw, category).
    most
        Largest number of categories.  Of more the best are drawn; the last column then holds all
        ranks beyond.
    among
        Rank these only, as if the others did not take part; all but effects unless given.
    ax
        Axes to draw into.

    Examples
    --------
    >>> import luce
    >>> ax = luce.plots.rank_heatmap([[[0.5, 0.3, 0.2], [0.6, 0.2, 0.2]]])
    >>> ax.images[0].get_array().data
    array([[1.  , 0.  , 0.  ],
           [0.  , 0.75, 0.25],
           [0.  , 0.25, 0.75]])
    """
    require_matplotlib()
    x = DrawsView.ranked(draws, among)
    order = _best(x, expected_order(x), most_rows(most))
    table = rank_probabilities(x).values[order]
    names = names_of(list(x.categories), order.tolist())
    return draw_ranks(table, names, "rank", ax)


def draw_ranks(table: FloatArray, names: Names, words: str, ax: Axes | None) -> Axes:
    """Draw probabilities of ranks as shades, in per cent where there is room.

    Parameters
    ----------
    table
        Probabilities of the rows that are drawn, shape (row, rank): all ranks, of which those
        beyond the number of rows stand together in the last column.
    names
        Names of the rows.
    words
        What a rank is called.
    ax
        Axes to draw into.
    """
    from matplotlib.colors import PowerNorm

    rows = len(table)
    ranks = [str(rank + 1) for rank in range(rows)]
    if table.shape[1] > rows:
        table = np.hstack([table[:, :rows], table[:, rows:].sum(axis=1, keepdims=True)])
        ranks.append(f">{rows}")
    columns = len(ranks)
    small = rows <= ANNOTATED
    height = max(1.2, 0.32 * rows) if small else height_of(rows)
    width = max(2.4, 0.45 * columns) if small else min(0.19 * columns, 8.0)
    letters = 0.07 * max(map(len, names.texts))
    with drawing(ax, width + letters + 1.4, height + 0.75) as axes:
        # Shades go by square roots: of many cells most hold little.
        image = shade_table(axes, table, PowerNorm(0.5, 0.0, table.max()))
        if small:
            annotate(axes, image, table, table >= 0.005, (width, height) if ax is None else None)
        name_rows(axes, range(rows), names, height if ax is None else None)
        room = room_for(axes, "x", width if ax is None else None)
        kept = named_ranks(columns, room)
        axes.set_xticks(kept, [ranks[k] for k in kept], fontsize=9)
        axes.tick_params(axis="x", length=0)
        axes.set_xlabel(words)
        add_scale(axes, image, "probability", percent=True)
    return axes


def win_matrix(
    draws: DrawsLike,
    most: int = 30,
    *,
    among: Labels | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the probability that the row is chosen over the column, best expected rank first.

    It is the posterior mean of p_i / (p_i + p_j); up to 12 categories it stands in the cells, in
    per cent.  In contests it is the probability of a win if there is no tie, on neutral ground.

    Parameters
    ----------
    draws
        As for `rank_heatmap`.
    most
        Largest number of categories.  Of more the best are drawn.
    among
        As for `rank_heatmap`.
    ax
        Axes to draw into.

    Examples
    --------
    >>> import luce
    >>> ax = luce.plots.win_matrix([[[0.6, 0.2, 0.2], [0.4, 0.4, 0.2]]])
    >>> ax.images[0].get_array().data.round(3)
    array([[0.5  , 0.625, 0.708],
           [0.375, 0.5  , 0.583],
           [0.292, 0.417, 0.5  ]])
    """
    require_matplotlib()
    from matplotlib.colors import Normalize

    x = DrawsView.ranked(draws, among)
    order = _best(x, expected_order(x), most_rows(most))
    table = wins_of(x.take(order)).values
    names = names_of(list(x.categories), order.tolist(), 20)
    rows = len(order)
    side = max(1.8, 0.42 * rows) if rows <= ANNOTATED else min(height_of(rows), 9.0)
    letters = 0.075 * max(map(len, names.texts))
    with drawing(ax, side + letters + 1.2, side + letters + 0.3) as axes:
        image = shade_table(axes, table, Normalize(0.0, 1.0), SIDES)
        if ax is not None:
            axes.set_aspect("equal")
        name_rows(axes, range(rows), names, side if ax is None else None)
        name_columns(axes, range(rows), names, side if ax is None else None)
        if rows <= ANNOTATED:
            others = ~np.eye(rows, dtype=np.bool_)
            annotate(axes, image, table, others, (side, side) if ax is None else None)
        add_scale(axes, image, "P(row over column)", percent=True)
    return axes


def _best(x: DrawsView, order: list[Label], most: int) -> IntArray:
    """Return the numbers of the categories with the best expected ranks."""
    place: dict[Label, int] = dict(x.categories.index)
    return np.array([place[label] for label in order[:most]])


def shade_table(
    ax: Axes, table: FloatArray, norm: Normalize, shades: Sequence[str] = SHADES
) -> AxesImage:
    """Draw a table as shades, from white to dark blue unless others are given."""
    from matplotlib.colors import LinearSegmentedColormap

    colors = LinearSegmentedColormap.from_list("luce", list(shades))
    ax.grid(False)
    image = ax.imshow(table, colors, norm, aspect="auto", interpolation="nearest")
    ax.spines[:].set_visible(False)
    return image


def inks(image: AxesImage, table: FloatArray) -> npt.NDArray[np.str_]:
    """Choose the colour of letters in each cell: light on dark shades, dark on light ones."""
    dark = image.to_rgba(table)[:, :, :3] @ np.array([0.299, 0.587, 0.114]) < 0.55
    return np.where(dark, "white", "#202020")


def annotate(
    ax: Axes,
    image: AxesImage,
    table: FloatArray,
    which: BoolArray,
    inches: tuple[float, float] | None,
) -> None:
    """Write per cents into cells that have room, dark on light and light on dark."""
    width, height = inches or (None, None)
    if room_for(ax, "x", width) < 20 or room_for(ax, "y", height) < 12:
        return
    colors = inks(image, table)
    for (i, j), share in np.ndenumerate(table):
        if which[i, j]:
            color = colors[i, j]
            ax.text(j, i, f"{100 * share:.0f}", ha="center", va="center", fontsize=9, color=color)


def named_ranks(count: int, room: float) -> list[int]:
    """Choose the columns whose ranks are named: first, last, and evenly spaced ones between.

    Parameters
    ----------
    count
        Number of columns.
    room
        Points of width of one column.
    """
    step = next(s for s in _round_numbers() if s * room >= _RANK)
    between = [k for k in range(step - 1, count - 1) if (k + 1) % step == 0]
    if step == 1:
        return list(range(count))
    return [0, *(k for k in between if k > 0 and (count - 1 - k) * room >= _RANK), count - 1]


def _round_numbers() -> Iterator[int]:
    size = 1
    while True:
        yield from (size, 2 * size, 5 * size)
        size *= 10
