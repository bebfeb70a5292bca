"""Ends of seasons and brackets as shades: the probability of each place, or of each stage."""

from __future__ import annotations

from typing import TYPE_CHECKING

from luce.decide.brackets import Cup
from luce.decide.seasons import Season
from luce.errors import DataError
from luce.plots.canvas import (
    add_scale,
    drawing,
    height_of,
    name_columns,
    name_rows,
    require_matplotlib,
)
from luce.plots.findings import most_likely, write_title
from luce.plots.heatmaps import annotate, draw_ranks, shade_table
from luce.plots.intervals import most_rows
from luce.plots.label_text import names_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_STAGE = 1.3  # inches of width of a stage, whose name stands above it


def places(
    played: Season | Cup,
    most: int = 40,
    *,
    title: str | bool | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the probability of each competitor to end in each place, or to reach each stage.

    Parameters
    ----------
    played
        What `luce.play` or `luce.play_bracket` returned.
    most
        Largest number of competitors; of more the best are drawn.  The last column then holds all
        places beyond.
    title
        A title, or False for none; unless given, a new figure says who is most likely first.
    ax
        Axes to draw into.

    Examples
    --------
    >>> import luce
    >>> season = luce.play([[[0.5, 0.3, 0.2]]], luce.decide.round_robin([0, 1, 2]), seed=1)
    >>> ax = luce.plots.places(season)
    >>> [label.get_text() for label in ax.get_xticklabels()]
    ['1', '2', '3']
    """
    require_matplotlib()
    rows = most_rows(most)
    if isinstance(played, Season):
        table = played.places[:rows]
        labels = table["competitor"].values.tolist()
        axes = draw_ranks(table.values, names_of(labels, range(len(labels))), "place", ax)
        chances, what = played.places[:, 0], "first"
    elif isinstance(played, Cup):
        axes = _draw_stages(played, rows, ax)
        chances, what = played.reach.sel(stage="champion"), "champion"
    else:
        raise DataError(
            f"what luce.play or luce.play_bracket returned is needed; {type(played).__name__} was "
            "given."
        )
    everyone = chances["competitor"].values.tolist()
    write_title(axes, title, lambda: most_likely(chances.values, everyone, what), own=ax is None)
    return axes


def _draw_stages(cup: Cup, most: int, ax: Axes | None) -> Axes:
    from matplotlib.colors import PowerNorm

    reach = cup.reach[:most]
    table, stages = reach.values, reach["stage"].values.tolist()
    labels = reach["competitor"].values.tolist()
    names = names_of(labels, range(len(labels)))
    height = max(1.2, 0.32 * len(labels)) if len(labels) <= 20 else height_of(len(labels))
    width = _STAGE * len(stages)
    letters = 0.07 * max(map(len, names.texts))
    inches = None if ax is not None else (width, height)
    with drawing(ax, width + letters + 1.4, height + 0.75) as axes:
        image = shade_table(axes, table, PowerNorm(0.5, 0.0, 1.0))
        annotate(axes, image, table, table >= 0.005, inches)
        name_rows(axes, range(len(labels)), names, None if inches is None else height)
        columns = names_of(stages, range(len(stages)))
        name_columns(axes, range(len(stages)), columns, None if inches is None else width)
        add_scale(axes, image, "probability", percent=True)
    return axes
