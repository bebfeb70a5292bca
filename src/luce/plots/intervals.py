"""Rows with a dot for the mean and lines for intervals: strengths and shares of categories."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from luce._types import FloatArray, IntArray, Label, Labels
from luce.answers.ranks import order_of
from luce.answers.scales import intervals, scaled
from luce.answers.scales import shares as shares_of
from luce.answers.transition_tables import per_cent
from luce.answers.view import DrawsView, tail_of
from luce.errors import DataError
from luce.plots.canvas import (
    BLUE,
    GREY,
    drawing,
    height_of,
    label_below,
    name_rows,
    require_matplotlib,
)
from luce.plots.findings import best_of, write_title
from luce.plots.label_text import names_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from xarray import DataArray, Dataset

    from luce.answers.view import DrawsLike

_INNER = 0.5  # probability of the interval drawn as a thick line
_WIDTH = 4.6  # inches of width of the axes
_SQUASHED = 0.1  # part of an axis that half of the rows must not be squashed into
_TICK = 34.0  # points between ticks of an axis spaced by log odds


class Spread(NamedTuple):
    """Mean, inner and outer interval of each row; the inner one may be missing."""

    mean: FloatArray
    outer: tuple[FloatArray, FloatArray]
    inner: tuple[FloatArray, FloatArray] | None


def strengths(
    draws: DrawsLike,
    *,
    scale: str = "auto",
    reference: Label | None = None,
    at: float = 1500.0,
    ci_prob: float = 0.9,
    among: Labels | None = None,
    most: int = 60,
    title: str | bool | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the strengths of the categories, the best expected rank first.

    A dot is the posterior mean, a thin line the central interval, a thick one that of 50 %.

    Parameters
    ----------
    draws
        What `Posterior.sample` returned, or an array of shape (chain, draw, category).
    scale
        "probability", "log-odds", "elo" or "auto": probabilities, on an axis spaced by log odds
        where half of the rows would otherwise be squashed into the first tenth of the axis.
    reference
        What log odds and Elo are relative to: a label, or None for the mean of those drawn.
    at
        The reference's points of Elo.
    ci_prob
        Probability of the interval drawn as a thin line.
    among
        Draw these labels only; their probabilities are still those among all categories.  All but
        effects unless given, as for `luce.rank_probabilities`.
    most
        Largest number of rows.  Of more categories the first and the last are drawn.
    title
        A title, or False for none; unless given, a new figure says who is most likely the best.
    ax
        Axes to draw into.

    Examples
    --------
    >>> import luce
    >>> counts = luce.ConditionalCounts("abc").observe({"b": 4, "c": 1})
    >>> ax = luce.plots.strengths(luce.Posterior(counts).sample(500, seed=1, progress=False))
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['b', 'c', 'a']
    """
    require_matplotlib()
    tail_of(ci_prob)
    x = DrawsView.ranked(draws, among)
    chosen = np.arange(x.n_categories)
    values, words, look = _scaled(x, "probability" if scale == "auto" else scale, reference, at)
    axes = _draw_dots(values, x, chosen, ci_prob, most, words, ax, may_stretch=scale == "auto")
    axes.xaxis.label.set(**look)
    if scale in ("log-odds", "elo"):
        axes.axvline(at if scale == "elo" else 0.0, color=GREY, linewidth=0.8, zorder=1)
    elif axes.get_xscale() == "linear":
        _begin_at_zero(axes)
    write_title(axes, title, lambda: best_of(x, among is not None), own=ax is None)
    return axes


def shares(
    draws: DrawsLike,
    among: Labels | None = None,
    *,
    ci_prob: float = 0.9,
    most: int = 60,
    title: str | bool | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw shares of choice when only some are on offer, the best expected rank first.

    Dots and lines are those of `strengths`; mean and interval stand in numbers, too.

    Parameters
    ----------
    draws
        As for `strengths`.
    among
        The labels on offer; all but effects unless given.
    ci_prob, most, title, ax
        As for `strengths`.

    Examples
    --------
    >>> import luce
    >>> ax = luce.plots.shares([[[0.5, 0.3, 0.2], [0.2, 0.6, 0.2]]], among=[0, 1])
    >>> [text.get_text() for text in ax.texts]
    ['44 %  (27–61)', '56 %  (39–73)']
    """
    require_matplotlib()
    tail_of(ci_prob)
    x = DrawsView.ranked(draws) if among is None else DrawsView.of(draws)
    chosen = x.numbers(among, "among")
    values = 100 * shares_of(x, among)

    def numbers(spread: Spread) -> list[str]:
        return [
            f"{per_cent(mean / 100)} %  ({per_cent(low / 100)}–{per_cent(high / 100)})"
            for mean, low, high in zip(spread.mean, *spread.outer, strict=True)
        ]

    words = "share of choices in %"
    axes = _draw_dots(values, x, chosen, ci_prob, most, words, ax, numbers)
    _begin_at_zero(axes)
    shown = x.take(chosen)
    write_title(axes, title, lambda: best_of(shown, among is not None), own=ax is None)
    return axes


def _begin_at_zero(ax: Axes) -> None:
    """Begin the horizontal axis at 0; shared axes keep room for the data of all."""
    ax.collections[-1].sticky_edges.x.append(0.0)
    ax.update_datalim([(0.0, 0.0)], updatey=False)
    ax.autoscale_view(scaley=False)


def spread_of(values: DataArray, ci_prob: float) -> Spread:
    """Compute mean and intervals over chain and draw, row by row."""
    outer = intervals(values, ci_prob)
    inner = intervals(values, _INNER) if ci_prob > _INNER else None
    return Spread(outer["mean"].values, _ends(outer), None if inner is None else _ends(inner))


def _ends(of: Dataset) -> tuple[FloatArray, FloatArray]:
    return of["lower"].values, of["upper"].values


def interval_words(ci_prob: float) -> str:
    """Name the probabilities of the intervals that are drawn."""
    outer = f"{round(100 * ci_prob, 10):g} %"
    return f"{100 * _INNER:g} % and {outer} intervals" if ci_prob > _INNER else f"{outer} interval"


def draw_intervals(ax: Axes, at: FloatArray, spread: Spread, color: str = BLUE) -> None:
    """Draw thin lines for the outer intervals and thick ones for the inner."""
    dense = len(at) > 100
    ax.hlines(at, *spread.outer, color=color, linewidth=0.8 if dense else 1.2, zorder=2)
    if spread.inner is not None:
        ax.hlines(at, *spread.inner, color=color, linewidth=1.6 if dense else 3.6, zorder=2)


def most_rows(most: object) -> int:
    """Read the largest number of rows: a whole number from 2 on."""
    if not isinstance(most, (int, np.integer)) or isinstance(most, bool) or most < 2:
        raise DataError(f"most = {most!r} was given; a whole number from 2 on is needed.")
    return int(most)


def _scaled(
    x: DrawsView, scale: str, reference: Label | None, at: float
) -> tuple[DataArray, str, dict[str, Any]]:
    """Convert draws to a scale; return them, the axis label, and the text properties it needs."""
    found = scaled(x, scale, reference, at)
    if scale == "probability":
        return found, "probability", {}
    known = x.categories
    whom, look = "the mean", {}
    if reference is not None:
        names = names_of(list(known), [known.index[reference]])
        whom, look = names.texts[0], names.look
    words = f"Elo points, {whom} being {at:g}" if scale == "elo" else f"log odds against {whom}"
    return found, words, look


def _draw_dots(
    values: DataArray,
    x: DrawsView,
    chosen: IntArray,
    ci_prob: float,
    most: int,
    words: str,
    ax: Axes | None,
    numbers: Callable[[Spread], list[str]] | None = None,
    may_stretch: bool = False,
) -> Axes:
    """Draw one row for each category number of x in `chosen`, whose draws are `values`."""
    order = order_of(x.take(chosen))
    left_out = max(0, len(order) - most_rows(most))
    upper = len(order) if not left_out else (most + 1) // 2
    shown = np.r_[order[:upper], order[upper + left_out :]]
    at = np.arange(len(shown), dtype=np.float64)
    at[upper:] += 1  # an empty row where some are left out
    spread = spread_of(values[:, :, shown], ci_prob)
    names = names_of(list(x.categories), chosen[shown].tolist())
    rows = len(shown) + bool(left_out)
    height = height_of(rows)
    wide = _WIDTH + 0.5 + 0.07 * max(map(len, names.texts)) + (1.2 if numbers else 0.0)
    stretched = may_stretch and _is_squashed(spread)
    unit = f"{words}, log-odds axis" if stretched else words
    with drawing(ax, wide, height + 0.85 + 0.3 * (rows > 25)) as axes:
        axes.set_ylim(rows - 0.4, -0.6)
        step = name_rows(axes, at.tolist(), names, height if ax is None else None)
        draw_intervals(axes, at, spread)
        size = 6.0 if rows <= 100 else 2.5
        axes.plot(spread.mean, at, "o", color=BLUE, markersize=size, zorder=3, clip_on=False)
        inches = _WIDTH if ax is None else None
        label_below(axes, f"{unit}: mean, {interval_words(ci_prob)}", inches)
        if stretched:
            _space_by_log_odds(axes, spread, inches)
        beside = axes.get_yaxis_transform()
        if left_out:
            _note_left_out(axes, left_out, upper)
        if numbers is not None and step == 1:
            small = axes.get_yticklabels()[0].get_fontsize()
            for y, text in zip(at, numbers(spread), strict=True):
                axes.text(1.03, y, text, transform=beside, va="center", fontsize=small)
        if rows > 25:  # the bottom is far away
            axes.tick_params(axis="x", top=True, labeltop=True)
    return axes


def _is_squashed(spread: Spread) -> bool:
    """Tell whether half of the rows lie in the first tenth of an axis of probabilities.

    Means of 0 or 1 have no log odds: then there is nothing that helps.
    """
    upper = spread.outer[1]
    inside = (spread.mean > 0) & (spread.mean < 1)
    return bool(len(upper) > 2 and inside.all() and np.median(upper) < _SQUASHED * upper.max())


def _space_by_log_odds(ax: Axes, spread: Spread, inches: float | None) -> None:
    """Space the axis of probabilities by their log odds; intervals may end at its ends."""
    from matplotlib.ticker import NullLocator

    ends = np.concatenate([spread.mean, *spread.outer])
    ends = ends[(ends > 0) & (ends < 1)]
    low, high = np.log(ends.min() / (1 - ends.min())), np.log(ends.max() / (1 - ends.max()))
    room = 0.04 * (high - low)
    low, high = low - room, high + room
    ax.set_xscale("logit", nonpositive="clip")
    ax.set_xlim(1 / (1 + np.exp(-low)), 1 / (1 + np.exp(-high)))
    if inches is None:
        inches = float(ax.get_window_extent().width / ax.figure.dpi)
    ticks = _round_probabilities(low, high, _TICK * (high - low) / (72 * inches))
    ax.set_xticks(ticks, [_in_figures(tick) for tick in ticks])
    ax.xaxis.set_minor_locator(NullLocator())


def _round_probabilities(low: float, high: float, apart: float) -> list[float]:
    """Choose round probabilities between two log odds whose log odds are so far apart."""
    tens = [10.0**-k for k in range(1, 308)]
    few = [0.5, *tens, *(1 - p for p in tens[:6])]
    more = [c * p for p in tens for c in (2, 5)]
    chosen: dict[float, float] = {}
    for p in [*few, *more, *(1 - p for p in more[:10])]:
        place = np.log(p) - np.log1p(-p)
        if low <= place <= high and all(abs(place - x) >= apart for x in chosen):
            chosen[place] = p
    return sorted(chosen.values())


def _in_figures(p: float) -> str:
    """Write a round probability; "2·10⁻⁵" below a thousandth."""
    if p >= 1e-3:
        return f"{p:.6g}"
    factor, power = f"{p:.0e}".split("e-")
    raised = "⁻" + str(int(power)).translate(str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹"))
    return f"10{raised}" if factor == "1" else f"{factor}·10{raised}"


def _note_left_out(ax: Axes, number: int, row: int) -> None:
    """Draw a dotted line in an empty row, and say how many categories it stands for."""
    ax.axhline(row, color=GREY, linewidth=0.8, linestyle=(0, (1, 3)))
    ax.annotate(
        f"{number:,} more between",
        xy=(0, row),
        xytext=(-4, 0),
        xycoords=ax.get_yaxis_transform(),
        textcoords="offset points",
        ha="right",
        va="center",
        fontsize=8,
        style="italic",
        annotation_clip=False,
    )
