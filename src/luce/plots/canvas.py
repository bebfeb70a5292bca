"""Axes to draw into: those that were given, or a new figure, both in the style of luce.

Given axes keep their background, and whatever the reader has set otherwise than matplotlib does.

Colours are those of Okabe and Ito, which most colour-blind people can tell apart, two of them moved
until all six differ under simulated protanopia and deuteranopia.  All colours and greys have
contrast with white and with black, because figures have no background.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from math import ceil
from textwrap import fill
from typing import TYPE_CHECKING, Any, cast

from luce.counts.labels import plural
from luce.errors import DataError, MethodError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.cm import ScalarMappable

    from luce.plots.label_text import Names

Box = tuple[float, float, float, float]

BLUE, VERMILION = "#0072B2", "#D55E00"
CHAINS = (BLUE, "#E69F00", "#009E73", "#D88CB8", VERMILION, "#62ACFF")
GREY = "#767676"  # 4.5 to 1 on white, 4.6 to 1 on black
GRID = "#80808040"
# White to dark blue; and vermilion to blue, through white.  Both get darker evenly.
SHADES = ("#f7f9fc", "#c6dcec", "#7fb6d9", "#2f86bd", "#0b5a93", "#08304f")
SIDES = ("#8a3b00", "#d55e00", "#f0b48a", "#f7f7f7", "#8fc1de", "#0072b2", "#003f63")

_STYLE: dict[str, Any] = {
    "font.size": 10.0,
    "axes.titlesize": 10.5,
    "axes.labelsize": 10.0,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "axes.edgecolor": GREY,
    "axes.labelcolor": GREY,
    "axes.facecolor": "none",
    "figure.facecolor": "none",
    "figure.dpi": 150.0,  # of what is rasterised in SVG, too
    "savefig.facecolor": "none",
    "legend.frameon": False,
    "legend.fontsize": 9.0,
    "text.color": GREY,
}

# Look of ticks, and the settings of matplotlib's that would say otherwise.
_TICKS: dict[str, tuple[Any, tuple[str, ...]]] = {
    "color": (GREY, ("{}tick.color",)),
    "labelcolor": (GREY, ("{}tick.color", "{}tick.labelcolor")),
    "labelsize": (9, ("{}tick.labelsize",)),
}

# Inches of height of a row: of each of the first rows, and of each row after these.
_FIRST_ROW, _NEXT_ROW = 0.225, 0.15
_FIRST_ROWS = 24  # number of rows that get the larger height
_TALLEST = 14.0  # inches of the tallest figure
_FONT_SIZES = (6.0, 9.0)  # points of the smallest and the largest name


def require_matplotlib() -> None:
    """Raise an error that says what to install where matplotlib is missing."""
    try:
        import matplotlib.figure  # noqa: F401
    except ImportError:
        raise MethodError(
            "drawing needs matplotlib, which is not installed: pip install 'luce[plots]'."
        ) from None


@contextmanager
def drawing(ax: Axes | None, width: float, height: float) -> Iterator[Axes]:
    """Give the axes to draw into; for None, new axes in a figure of this size in inches."""
    with drawing_rows(None if ax is None else [ax], 1, width, height) as axes:
        yield axes[0]


@contextmanager
def drawing_rows(
    ax: Sequence[Axes] | None,
    rows: int,
    width: float,
    height: float,
    shares: Sequence[float] | None = None,
) -> Iterator[list[Axes]]:
    """Give one set of axes for each row: those given, or new ones below each other.

    `shares` are the relative heights of new rows, all equal unless given.
    """
    require_matplotlib()
    from matplotlib import rc_context, rcParams, style

    if ax is not None:
        given = _checked(list(ax), rows)
        ours: Any = {name: own for name, own in _STYLE.items() if _is_default(name)}
        with rc_context(ours):
            for each in given:
                _dress_given(each)
            yield given
        return
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    from luce.plots.figure import Picture, PictureAxes

    # The reader's settings are ignored but for the font, which is looked up as late as drawing.
    with style.context({**_STYLE, "font.family": rcParams["font.family"]}, after_reset=True):
        room = ConstrainedLayoutEngine(w_pad=0.1, h_pad=0.08)
        figure = Picture(figsize=(width, height), layout=room)
        grid = figure.add_gridspec(rows, 1, height_ratios=shares)
        axes = [figure.add_subplot(grid[k], axes_class=PictureAxes) for k in range(rows)]
        for each in axes:
            _dress(each)
        yield axes


def _settings() -> Mapping[str, Any]:
    """Return matplotlib's current settings."""
    from matplotlib import rcParams

    return cast("Mapping[str, Any]", rcParams)


def _is_default(name: str) -> bool:
    """Tell whether the reader has left one of matplotlib's settings as it is."""
    from matplotlib import rcParamsDefault

    return bool(_settings()[name] == cast("Mapping[str, Any]", rcParamsDefault)[name])


def _dress(ax: Axes) -> None:
    """Set ticks and grid, which are made when they are drawn, after the style has been left."""
    for axis in ("x", "y"):
        look = {
            name: own
            for name, (own, settings) in _TICKS.items()
            if all(_is_default(each.format(axis)) for each in settings)
        }
        ax.tick_params(axis=axis, which="both", **look)
    ax.grid(True, color=GRID, linewidth=0.6)


def _dress_given(ax: Axes) -> None:
    """Set what axes took from the settings when they were made, before the style was entered."""
    now = _settings()
    _dress(ax)
    ax.set_axisbelow(now["axes.axisbelow"])
    for side in ("left", "right", "top", "bottom"):
        ax.spines[side].set(visible=now[f"axes.spines.{side}"], edgecolor=now["axes.edgecolor"])
    for words in (ax.xaxis.label, ax.yaxis.label):
        words.set(color=now["axes.labelcolor"], fontsize=now["axes.labelsize"])
    look = {"color": now["text.color"], "fontsize": now["axes.titlesize"]}
    for place in ("left", "center", "right"):
        ax.set_title(ax.get_title(loc=place), loc=place, **look)


def _checked(given: list[Any], rows: int) -> list[Axes]:
    from matplotlib.axes import Axes as AnyAxes

    if len(given) != rows or not all(isinstance(each, AnyAxes) for each in given):
        raise DataError(f"ax holds {given!r}; {plural(rows, 'set')} of matplotlib axes needed.")
    return given


def height_of(rows: int) -> float:
    """Compute the inches of height of rows: readable names, at most a page."""
    first = min(rows, _FIRST_ROWS)
    return max(0.8, min(_FIRST_ROW * first + _NEXT_ROW * (rows - first), _TALLEST))


def name_rows(ax: Axes, at: Sequence[float], names: Names, height: float | None) -> int:
    """Write names beside rows, smaller or only some of them where there is little room.

    Parameters
    ----------
    ax
        Axes whose limits are set.
    at
        Positions of the names on the vertical axis.
    names
        The names.
    height
        Inches of the rows; None for the height the axes have.

    Returns
    -------
    int
        Step k: every k-th row has its name.
    """
    size, step = _fitted(ax, "y", height)
    ax.set_yticks(list(at)[::step], names.texts[::step], fontsize=size, **names.look)
    ax.tick_params(axis="y", length=0)
    return step


def name_columns(ax: Axes, at: Sequence[float], names: Names, width: float | None) -> None:
    """Write names above columns, upright where they are too long to lie."""
    size, step = _fitted(ax, "x", width)
    room = room_for(ax, "x", width)
    longest = max(map(len, names.texts)) * 0.75 * size
    angle = 0 if longest < room else 90
    ax.set_xticks(
        list(at)[::step], names.texts[::step], fontsize=size, rotation=angle, **names.look
    )
    ax.tick_params(axis="x", length=0, top=True, labeltop=True, bottom=False, labelbottom=False)


def fitting(words: str, inches: float, points: float) -> str:
    """Break words into lines that fit into a width, letters being 0.54 as wide as high."""
    return fill(words, max(12, int(72 * inches / (0.54 * points))), break_long_words=False)


def label_below(ax: Axes, words: str, inches: float | None) -> None:
    """Name the horizontal axis, in lines that fit into the width of the axes."""
    if inches is None:
        inches = float(ax.get_window_extent().width / ax.figure.dpi)
    ax.set_xlabel(fitting(words, inches, 10.0), parse_math=False)


def legend_above(ax: Axes, columns: int, handle: float = 1.0) -> None:
    """Put the legend above the axes, in rows of at most `columns` entries."""
    ax.legend(
        loc="lower left",
        bbox_to_anchor=(-0.02, 1.0),
        ncols=columns,
        borderpad=0,
        columnspacing=1.2,
        handlelength=handle,
        handletextpad=0.5,
    )


def add_scale(
    ax: Axes,
    shades: ScalarMappable,
    words: str,
    box: Box = (1.03, 0.0, 0.03, 1.0),
    percent: bool = False,
) -> None:
    """Put a colour bar inside the axes' own box, so that nothing else moves."""
    beside = ax.inset_axes(box)
    bar = ax.figure.colorbar(shades, cax=beside, label=words)
    bar.outline.set_visible(False)
    if percent:
        beside.yaxis.set_major_formatter(lambda share, _: f"{100 * share:.3g} %")
    color = ax.xaxis.label.get_color()
    beside.tick_params(which="both", color=color, labelcolor=color, labelsize=8)


def room_for(ax: Axes, axis: str, inches: float | None) -> float:
    """Compute the points that one row ("y") or column ("x") takes."""
    low, high = ax.get_ylim() if axis == "y" else ax.get_xlim()
    if inches is None:
        box = ax.get_window_extent()
        inches = float(box.height if axis == "y" else box.width) / float(ax.figure.dpi)
    return max(0.1, 72 * inches / abs(high - low))


def _fitted(ax: Axes, axis: str, inches: float | None) -> tuple[float, int]:
    """Choose the font size of names, and the step k such that every k-th name fits."""
    smallest, largest = _FONT_SIZES
    room = room_for(ax, axis, inches)
    # Letters with marks above and below are about 1.4 times as high as the font size.
    size = min(room / 1.4, largest)
    return (size, 1) if size >= smallest else (smallest, ceil(1.4 * smallest / room))
