"""Draws to make pictures of, and what a picture shows: names, lines, shades, texts."""

import itertools
from typing import Any

import numpy as np
import numpy.typing as npt
import xarray as xr
from lib.bounds import SEED
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from luce import ConditionalCounts

Floats = npt.NDArray[np.float64]
DIMS = ("chain", "draw", "category")


def some_draws(n: int, labels: list[Any] | None = None, size: int = 200) -> xr.DataArray:
    """Make draws of two chains whose categories are in no order."""
    rng = np.random.default_rng(SEED)
    values = rng.dirichlet(1 + 3 * rng.permutation(n) / n * 5, size=(2, size))
    index = np.empty(n, object)
    index[:] = labels or [f"category {i}" for i in range(n)]
    return xr.DataArray(values, {"category": index}, DIMS)


def some_outcomes(draws: xr.DataArray) -> list[tuple[Any, Any, float]]:
    """Make outcomes in two small sets and among all categories."""
    labels = draws["category"].values.tolist()
    return [(labels[i], labels[: 2 + i % 2], 3.0 + i) for i in (0, 1)] + [(labels[2], None, 40.0)]


def some_counts(draws: xr.DataArray) -> ConditionalCounts:
    """Count these outcomes."""
    counts = ConditionalCounts(draws["category"].values.tolist())
    for label, within, number in some_outcomes(draws):
        counts = counts.observe({label: number}, within=within)
    return counts


def three(draws: xr.DataArray) -> xr.DataArray:
    """Keep the first three categories, normalised."""
    return draws[:, :, :3] / draws[:, :, :3].sum("category")


def fixed(p: list[float], draws: int) -> xr.DataArray:
    """Make draws of one chain that never move."""
    values = np.broadcast_to(p, (1, draws, len(p)))
    return xr.DataArray(values, {"category": list("abc")}, DIMS)


def with_logs(logs: Floats) -> xr.DataTree:
    """Make a run of given log probabilities, which keeps the logarithms too."""
    variables = {"probabilities": np.exp(logs), "log_probabilities": logs}
    labels = {"category": list("abcdef"[: logs.shape[2]])}
    group = xr.Dataset({k: (DIMS, v) for k, v in variables.items()}, labels)
    return xr.DataTree.from_dict({"posterior": group})


def names(ax: Axes, axis: str = "y") -> list[str]:
    """Read the names of rows or columns."""
    labels = ax.get_yticklabels() if axis == "y" else ax.get_xticklabels()
    return [label.get_text() for label in labels]


def lines(ax: Axes, number: int) -> list[tuple[float, float, float]]:
    """Read row, left and right end of the lines of a collection."""
    segments = ax.collections[number].get_segments()  # type: ignore[attr-defined]
    return [(float(a[1]), float(a[0]), float(b[0])) for a, b in segments]


def shades(ax: Axes) -> Floats:
    """Read the table behind an image."""
    return np.asarray(ax.images[0].get_array())


def diamonds(ax: Axes) -> Floats:
    """Read the observed shares of a check, from top to bottom."""
    drawn = np.concatenate([line.get_xydata() for line in ax.lines if line.get_marker() == "D"])
    return np.asarray(drawn[np.argsort(drawn[:, 1]), 0])


def legend_of(ax: Axes) -> list[str]:
    """Read the words of a legend."""
    legend = ax.get_legend()
    assert legend is not None
    return [text.get_text() for text in legend.get_texts()]


def shown_texts(ax: Axes) -> dict[str, list[tuple[str, Any]]]:
    """List texts that can be seen, each with its box in pixels: of both axes, within, beside."""
    figure = ax.figure
    assert isinstance(figure, Figure)
    figure.draw_without_rendering()
    groups: dict[str, list[Any]] = {"texts": list(ax.texts)}
    groups["words"] = [ax.xaxis.label, ax.yaxis.label, ax.title, ax._left_title, ax._right_title]  # type: ignore[attr-defined]
    for axis in (ax.xaxis, ax.yaxis):
        low, high = sorted(axis.get_view_interval())
        ticks = [t for t in axis.get_major_ticks() if low <= t.get_loc() <= high]
        for which in ("label1", "label2"):
            groups[f"{axis.axis_name} {which}"] = [getattr(tick, which) for tick in ticks]
    return {
        name: [
            (text.get_text(), text.get_window_extent())
            for text in texts
            if text.get_text() and text.get_visible()
        ]
        for name, texts in groups.items()
        if ax.axison or name == "texts"
    }


def overlapping(groups: dict[str, list[tuple[str, Any]]]) -> list[tuple[str, str]]:
    """List pairs of texts of one kind that lie on each other."""
    return [
        (a, b)
        for boxes in groups.values()
        for (a, one), (b, other) in itertools.combinations(boxes, 2)
        if min(one.x1, other.x1) - max(one.x0, other.x0) > 1
        and min(one.y1, other.y1) - max(one.y0, other.y0) > 1
    ]


def outside(ax: Axes, groups: dict[str, list[tuple[str, Any]]]) -> list[str]:
    """List texts that the edge of the figure cuts."""
    width, height = ax.figure.bbox.size
    return [
        name
        for boxes in groups.values()
        for name, box in boxes
        if box.x0 < 0 or box.y0 < 0 or box.x1 > width or box.y1 > height
    ]
