"""Predicted fixtures: bars of win, tie and loss."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from luce._types import FloatArray, Label
from luce.answers.fixtures import RESULTS
from luce.errors import DataError
from luce.plots.canvas import (
    BLUE,
    GREY,
    VERMILION,
    drawing,
    legend_above,
    name_rows,
    require_matplotlib,
)
from luce.plots.label_text import Names, names_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from xarray import DataArray

_COLORS = {"first": BLUE, "tie": GREY, "second": VERMILION}
_WORDS = {"first": "wins", "tie": "tie", "second": "loses"}
_ROW = 0.42  # inches of a row
_BAR = 0.58  # height of a bar
_BELOW = {"first": 0.36, "second": 0.43}  # where intervals stand below the middle of their bar
_NARROWEST = 0.06  # least probability that is written into its part of a bar


def predictions(predicted: DataArray, *, most: int = 40, ax: Axes | None = None) -> Axes:
    """Draw predicted fixtures as bars: the first side wins, they tie, the second wins.

    The first side stands at the left, and its win grows from there; the second at the right.  Lines
    below a bar are intervals of the probabilities of the two wins, in their colours: how well these
    are known.

    Parameters
    ----------
    predicted
        The result of `luce.predict`, of one fixture or several.
    most
        Largest number of fixtures; the first ones are drawn.
    ax
        Axes to draw into.

    Examples
    --------
    >>> import luce
    >>> draws = [[[0.6, 0.2, 0.2], [0.4, 0.4, 0.2]]]
    >>> ax = luce.plots.predictions(luce.predict(draws, [0, 1], [1, 2]))
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['0', '1']
    """
    require_matplotlib()
    if "result" not in getattr(predicted, "dims", ()) or "lower" not in predicted.coords:
        raise DataError(
            f"what luce.predict returned, without all_draws, is needed; "
            f"{type(predicted).__name__} was given."
        )
    if not isinstance(most, (int, np.integer)) or isinstance(most, bool) or most < 1:
        raise DataError(f"most = {most!r} was given; a whole number from 1 on is needed.")
    many = predicted if "fixture" in predicted.dims else predicted.expand_dims("fixture")
    left_out = max(0, many.sizes["fixture"] - int(most))
    many = many.isel(fixture=slice(0, int(most)))
    rows = many.sizes["fixture"]
    left, right = (_names(many, side) for side in ("first", "second"))
    height = _ROW * rows
    wide = 4.6 + 0.075 * sum(max(map(len, names.texts)) for names in (left, right))
    with drawing(ax, wide, height + 1.0) as axes:
        at = np.arange(rows, dtype=np.float64)
        axes.set_ylim(rows - 0.4, -0.6)
        axes.set_xlim(0, 100)
        axes.grid(False)
        name_rows(axes, at.tolist(), left, height if ax is None else None)
        _draw_bars(axes, at, many)
        _draw_ends(axes, at, many)
        beside = axes.get_yaxis_transform()
        size = axes.get_yticklabels()[0].get_fontsize()
        for y, text in zip(at, right.texts, strict=True):
            axes.text(1.015, y, text, transform=beside, va="center", fontsize=size, **right.look)
        percent = f"{round(100 * float(many.attrs.get('ci_prob', 0.9)), 10):g} %"
        more = f"; {left_out:,} more fixtures" if left_out else ""
        axes.set_xlabel(f"probability in %; lines: {percent} intervals of the wins{more}")
        legend_above(axes, 3)
    return axes


def _names(many: DataArray, side: str) -> Names:
    """Name the sides of all fixtures, and who is at home."""
    labels: list[Label] = [
        _listed(each) for each in many[f"{side}_side"].values.reshape(-1).tolist()
    ]
    if len(labels) < many.sizes["fixture"]:
        labels = labels * many.sizes["fixture"]
    known = list(dict.fromkeys(labels))
    names = names_of(known, [known.index(label) for label in labels])
    homes = np.broadcast_to(many["at_home"].values, many.sizes["fixture"]).tolist()
    texts = [
        f"{text} (home)" if home == side else text
        for text, home in zip(names.texts, homes, strict=True)
    ]
    return Names(texts, names.fonts)


def _listed(side: Any) -> Label:
    """Write a team in one line."""
    return ", ".join(map(str, side)) if isinstance(side, tuple) else side


def _draw_bars(ax: Axes, at: FloatArray, many: DataArray) -> None:
    """Draw the parts of each bar, with their percentages where there is room."""
    begin = np.zeros(len(at))
    for result in RESULTS:
        share = 100 * many.sel(result=result).values
        if result == "tie" and not share.any():
            continue
        words = f"first side {_WORDS[result]}" if result != "tie" else "tie"
        look: dict[str, Any] = {"color": _COLORS[result], "edgecolor": "white", "linewidth": 0.8}
        ax.barh(at, share, _BAR, left=begin, label=words, **look)
        for y, start, own in zip(at, begin, share, strict=True):
            if own >= 100 * _NARROWEST:
                text = f"{own:.0f}"
                ax.text(
                    start + own / 2, y, text, ha="center", va="center", color="white", fontsize=8.5
                )
        begin = begin + share


def _draw_ends(ax: Axes, at: FloatArray, many: DataArray) -> None:
    """Draw the intervals of both wins below the bars, that of the second from the right."""
    lower, upper = (100 * many[name].transpose(..., "result") for name in ("lower", "upper"))
    for result in ("first", "second"):
        low, high = (each.sel(result=result).values for each in (lower, upper))
        if result == "second":
            low, high = 100 - low, 100 - high
        ax.hlines(at + _BELOW[result], low, high, color=_COLORS[result], linewidth=1.6, zorder=3)
