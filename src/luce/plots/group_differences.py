"""Differences between groups: dots with two kinds of intervals, and a line at 0."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from luce._types import FloatArray
from luce.counts.labels import plural, printable, some
from luce.errors import DataError
from luce.page.words import percent
from luce.plots.canvas import (
    CHAINS,
    GREY,
    drawing,
    height_of,
    legend_above,
    name_rows,
    require_matplotlib,
)
from luce.plots.findings import told_from_zero, write_title
from luce.plots.intervals import most_rows
from luce.plots.label_text import names_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from xarray import Dataset

    from luce.decide.group_comparison import GroupComparison

# Shapes that tell contrasts apart beside their colours.
_MARKERS = "osD^vP"

# Part of a row that its contrasts are spread over, and the rows of height that each takes.
_SPREAD, _ROWS_A_CONTRAST = 0.54, 0.75


def differences(
    comparison: GroupComparison,
    scale: str = "log-odds",
    *,
    contrasts: Sequence[str] | None = None,
    most: int = 60,
    title: str | bool | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the differences between groups, the largest first.

    A dot is the posterior mean, a thick line the interval of a single difference, a thin one the
    interval that holds for all differences at once.

    Parameters
    ----------
    comparison
        The result of `luce.compare_groups`.
    scale
        "log-odds" or "probabilities".
    contrasts
        Names of the contrasts to draw, as "north - south"; at most six.  All unless given.
    most
        Largest number of categories; those with the largest differences are drawn.
    title
        A title, or False for none; unless given, a new figure says how many of all differences are
        told from 0.
    ax
        Axes to draw into.

    Examples
    --------
    >>> import luce
    >>> groups = {"north": {"a": 60, "b": 30, "c": 10}, "south": {"a": 35, "b": 45, "c": 20}}
    >>> abc = luce.ConditionalCounts("abc")
    >>> counts = {name: abc.observe(seen) for name, seen in groups.items()}
    >>> ax = luce.plots.differences(luce.compare_groups(counts, seed=1), "probabilities")
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['a', 'b', 'c']
    """
    require_matplotlib()
    from luce.decide.group_comparison import GroupComparison

    if not isinstance(comparison, GroupComparison):
        raise DataError(
            f"the result of luce.compare_groups is needed; {type(comparison).__name__} was given."
        )
    found = _chosen(comparison.differences(scale), contrasts)
    marks = (found["simultaneous_lower"].values > 0) | (found["simultaneous_upper"].values < 0)
    order = np.argsort(-np.abs(found["mean"].values).max(axis=0), kind="stable")
    left_out = max(0, len(order) - most_rows(most))
    shown = order[: len(order) - left_out]
    found = found.isel(category=shown)
    names = names_of(comparison.differences(scale)["category"].values.tolist(), shown.tolist())
    several = found.sizes["contrast"]
    height = height_of(round(len(shown) * max(1.0, _ROWS_A_CONTRAST * several)))
    wide = 4.9 + 0.07 * max(map(len, names.texts))
    with drawing(ax, wide, height + 0.75 + 0.3 * (several > 1)) as axes:
        at = np.arange(len(shown), dtype=np.float64)
        axes.set_ylim(len(shown) - 0.4, -0.6)
        name_rows(axes, at.tolist(), names, height if ax is None else None)
        axes.axvline(0.0, color=GREY, linewidth=0.8, zorder=1)
        for k in range(several):
            shift = 0.0 if several == 1 else _SPREAD * (k / (several - 1) - 0.5)
            _draw(axes, at + shift, found.isel(contrast=k), k, small=len(shown) > 100)
        axes.set_xlabel(_words(found, scale, left_out), parse_math=False)
        if several > 1:
            legend_above(axes, min(several, 3))
        level = float(found.attrs["ci_prob"])
        write_title(axes, title, lambda: told_from_zero(marks, level), own=ax is None)
    return axes


def _chosen(found: Dataset, contrasts: Sequence[str] | None) -> Dataset:
    """Select contrasts by their names."""
    known = found["contrast"].values.tolist()
    if contrasts is not None:
        wanted = [contrasts] if isinstance(contrasts, str) else list(contrasts)
        unknown = [name for name in wanted if name not in known]
        if unknown or not wanted:
            raise DataError(f"contrasts = {contrasts!r}; there are {some(known, 12)}.")
        found = found.isel(contrast=[known.index(name) for name in wanted])
    if found.sizes["contrast"] > len(_MARKERS):
        raise DataError(
            f"{found.sizes['contrast']:,} contrasts are too many for one picture; choose at most "
            f"{len(_MARKERS)} with contrasts=[...] of {some(known)}."
        )
    return found


def _draw(ax: Axes, at: FloatArray, of: Dataset, k: int, small: bool) -> None:
    """Draw the rows of one contrast."""
    color = CHAINS[k]
    thin, thick, size = (0.8, 1.6, 2.5) if small else (1.2, 3.6, 6.0)
    at_once = of["simultaneous_lower"].values, of["simultaneous_upper"].values
    ax.hlines(at, *at_once, color=color, linewidth=thin, zorder=2)
    ax.hlines(at, of["lower"].values, of["upper"].values, color=color, linewidth=thick, zorder=2)
    look: dict[str, Any] = {"color": color, "markersize": size, "zorder": 3, "clip_on": False}
    name = printable(of["contrast"].item())
    ax.plot(of["mean"].values, at, _MARKERS[k], label=name.replace("$", r"\$"), **look)


def _words(found: Dataset, scale: str, left_out: int) -> str:
    """Say what is drawn, and how many categories are not."""
    which = f", {found['contrast'].values[0]}" if found.sizes["contrast"] == 1 else ""
    more = f"; {plural(left_out, 'smaller one')} left out" if left_out else ""
    level = percent(float(found.attrs["ci_prob"]))
    return (
        f"difference in {scale}{which}: mean{more},\n"
        f"{level} intervals, thick one by one, thin all at once"
    )
