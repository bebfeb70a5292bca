"""The paper's figures, each as one or more panels.

Colours are those of Okabe and Ito, which most colour-blind people can tell apart; lines differ in
dashes too.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from luce._types import FloatArray
from luce.errors import MethodError
from luce.paper.densities import Densities
from luce.paper.experiments import Comparison, Run
from luce.paper.samplers import AUTO, FLOOR, HIDDEN, METROPOLIS, TUNED, WAITING

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_LOOK = {
    HIDDEN.key: ("#0072B2", "-"),
    METROPOLIS.key: ("#D55E00", "-"),
    TUNED.key: ("#E69F00", (0, (5, 1.5))),
    WAITING.key: ("#009E73", (0, (5, 1.5))),
    AUTO.key: ("#CC79A7", (0, (3, 1.2, 1, 1.2))),
    FLOOR.key: ("#000000", (0, (1, 1.3))),
}

_STYLE: dict[str, Any] = {
    "font.size": 11.0,
    "axes.titlesize": 11.5,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#dddddd",
    "grid.linewidth": 0.6,
    "legend.frameon": False,
    "legend.fontsize": 10.0,
    "lines.linewidth": 1.8,
    "svg.hashsalt": "luce",  # equal pictures become equal files
}

_BANDS = "one line and one band for each sampler"

# Graphical models: radius of a node, colour of lines, colour of an observed node.
_RADIUS, _INK, _OBSERVED = 0.32, "#222222", "#cfd8e3"


class Drawing(NamedTuple):
    """One panel: a name for its files, the figure, and a description in words."""

    name: str
    figure: Figure
    description: str


@contextmanager
def drawing_style() -> Iterator[None]:
    """Draw in the style of these figures, not in that of the reader's own settings."""
    try:
        from matplotlib import style
    except ModuleNotFoundError:
        raise MethodError(
            "drawing needs matplotlib, which is not installed: pip install 'luce[plots]'."
        ) from None
    with style.context(_STYLE, after_reset=True):
        yield


def densities_figure(found: Densities) -> list[Drawing]:
    """Draw prior, plain posterior, truncated posterior, and the sampler's draws."""
    masses = {
        "prior": ("Prior, Dir(2, 2, 2)", found.prior),
        "plain": ("Posterior, nothing truncated", found.plain),
        "truncated": ("Posterior, category 1 truncated", found.truncated),
        "draws": (f"{found.n_draws:,} draws of the sampler", found.draws),
    }
    top = max(m.max() for _, m in masses.values()) * len(found.corners)
    return [
        Drawing(
            name,
            _simplex(found.corners, mass * len(mass), title, top),
            f"Density over the triangle of three probabilities, as shades: {title}.",
        )
        for name, (title, mass) in masses.items()
    ]


def _simplex(corners: FloatArray, density: FloatArray, title: str, top: float) -> Figure:
    """Draw a density, relative to a flat one, over the triangle of three probabilities."""
    from matplotlib.collections import PolyCollection

    figure, axes = new_figure(4.3, 3.3, _TRIANGLE)
    at = np.array([[0.0, 0.0], [1.0, 0.0], [0.5, np.sqrt(0.75)]])
    patches = PolyCollection(list(corners @ at), array=density, cmap="cividis", edgecolors="face")
    patches.set(linewidths=0.3, clim=(0, top), rasterized=True)
    axes.add_collection(patches)
    axes.set(xlim=(-0.12, 1.12), ylim=(-0.1, 0.95), aspect="equal")
    axes.set_title(title, pad=18)
    axes.axis("off")
    for k, (where, place) in enumerate(zip(at, ("right", "left", "center"), strict=True)):
        label, above = f"π{chr(0x2081 + k)} = 1", k == 2
        shift, side = (0, 6 if above else -6), "bottom" if above else "top"
        axes.annotate(label, where, shift, textcoords="offset points", ha=place, va=side)
    figure.colorbar(patches, cax=figure.add_axes(_SCALE), label="density, flat = 1")
    return figure


def graphical_models_figure() -> list[Drawing]:
    """Draw the graphical models without and with hidden counts."""
    return [
        Drawing(
            "unaugmented",
            _graphical_model(augmented=False),
            "Graphical model: the concentration alpha points to the probabilities pi, which point "
            "to the observed counts m of each truncated term.",
        ),
        Drawing(
            "augmented",
            _graphical_model(augmented=True),
            "Graphical model: as before, and in each term, for each of its outcomes, a hidden "
            "count k that depends on pi; the number of them depends on m.",
        ),
    ]


def _graphical_model(augmented: bool) -> Figure:
    figure, axes = new_figure(4.3, 3.3, (0.02, 0.02, 0.96, 0.86))
    middle = -0.4 if augmented else 0.4
    axes.set(xlim=(-0.6, 4.6), ylim=(middle - 1.8, middle + 1.8), aspect="equal")
    axes.axis("off")
    axes.set_title("With hidden counts" if augmented else "As observed")
    pi, m, k = (1.3, 0.5), (3.1, 0.5), (3.1, -0.95)
    axes.plot(0, 0.5, "o", color=_INK, markersize=5)
    axes.annotate("α", (0, 0.5), (0, 9), textcoords="offset points", ha="center", fontsize=14)
    _arrow(axes, (0.08, 0.5), pi)
    _node(axes, pi, "π")
    _node(axes, m, "$m_t$", observed=True)
    _arrow(axes, pi, m)
    bottom = -2.0 if augmented else -0.35
    _plate(axes, (2.2, bottom), 4.3, 1.2, "t = 1, …, T")
    if augmented:
        _node(axes, k, "$k_{tj}$")
        _arrow(axes, pi, k)
        _arrow(axes, m, k)
        _plate(axes, (2.4, -1.7), 4.1, -0.4, "j = 1, …, m$_{t·}$")
    return figure


def _node(axes: Axes, at: tuple[float, float], text: str, observed: bool = False) -> None:
    from matplotlib.patches import Circle

    face = _OBSERVED if observed else "white"
    axes.add_patch(Circle(at, _RADIUS, facecolor=face, edgecolor=_INK, linewidth=1.4, zorder=3))
    axes.annotate(text, at, ha="center", va="center", fontsize=14, zorder=4)


def _arrow(axes: Axes, start: tuple[float, float], end: tuple[float, float]) -> None:
    # Nodes are drawn above arrows and hide the parts inside them.
    head = {"arrowstyle": "-|>", "color": _INK, "shrinkB": 21, "linewidth": 1.4}
    axes.annotate("", end, start, zorder=2, arrowprops=head)


def _plate(axes: Axes, corner: tuple[float, float], right: float, top: float, text: str) -> None:
    from matplotlib.patches import FancyBboxPatch

    width, height = right - corner[0], top - corner[1]
    box = FancyBboxPatch(corner, width, height, boxstyle="round,pad=0,rounding_size=0.12")
    box.set(facecolor="none", edgecolor=_INK, linewidth=1.1)
    axes.add_patch(box)
    place: dict[str, Any] = {"textcoords": "offset points", "ha": "right", "va": "bottom"}
    axes.annotate(text, (right, corner[1]), (-6, 5), fontsize=10, **place)


def autocorrelation_figure(ten: Comparison) -> list[Drawing]:
    """Draw mean autocorrelations with the 10th and 90th percentile over chains."""
    drawings = []
    for k, (name, title) in enumerate(
        [("first", "First component (truncated)"), ("second", "Second component")]
    ):
        figure, axes = new_figure()
        for run in ten:
            lags = np.arange(1.0, run.autocorrelation.shape[1])
            _line(axes, run, lags, run.autocorrelation[:, 1:, k])
        axes.set(xlabel="lag (draws)", ylabel="autocorrelation", xscale="log", title=title)
        axes.set_ylim(-0.25, 1.02)
        _plain_ticks(axes)
        _legend(axes)
        drawings.append(
            Drawing(
                name,
                figure,
                f"Autocorrelation against lag, {title.lower()}: {_BANDS}.",
            )
        )
    return drawings


def mpsrf_figure(found: Comparison) -> list[Drawing]:
    """Draw R-hat against the index of the draw and against seconds."""
    drawings = []
    for name, label in (("index", "draws of each chain"), ("seconds", "seconds of each chain")):
        figure, axes = new_figure()
        for run in found:
            along = run.index * (run.seconds if name == "seconds" else 1)
            color, dashes = _LOOK[run.sampler.key]
            axes.plot(along, run.rhat - 1, color=color, linestyle=dashes, label=run.label)
        axes.set(
            xlabel=label,
            ylabel="R̂ (log scale of R̂ − 1)",
            yscale="log",
            title=f"MPSRF, n = {found.n}",
        )
        if name == "seconds":
            axes.set_xscale("log")
        # The axis shows the distance from 1; its ticks are labelled with R-hat itself.
        axes.yaxis.set_major_formatter(lambda excess, _: f"{1 + excess:.6g}")
        _legend(axes)
        drawings.append(
            Drawing(
                name,
                figure,
                f"Multivariate potential scale reduction factor against {label}, n = {found.n}: "
                "one line for each sampler.",
            )
        )
    return drawings


def convergence_figure(ten: Comparison) -> list[Drawing]:
    """Draw errors of mean and variance against the index of the draw and against seconds."""
    from matplotlib.ticker import NullFormatter

    drawings = []
    for axis, label in (("index", "draws of each chain"), ("seconds", "seconds of each chain")):
        for statistic in ("mean", "variance"):
            figure, axes = new_figure()
            for run in ten:
                along = run.index * np.float64(run.seconds if axis == "seconds" else 1)
                error = run.mean_error if statistic == "mean" else run.variance_error
                _line(axes, run, along, error)
            axes.set(xlabel=label, ylabel="ℓ₂ error", xscale="log", yscale="log")
            axes.set_title(f"Error of the component-wise {statistic}")
            axes.yaxis.set_minor_formatter(NullFormatter())
            if axis == "index":
                _plain_ticks(axes)
            _legend(axes)
            drawings.append(
                Drawing(
                    f"{statistic}-{axis}",
                    figure,
                    f"Error of the component-wise {statistic} against {label}: {_BANDS}.",
                )
            )
    return drawings


Box = tuple[float, float, float, float]

# Left, bottom, width and height of the axes, as fractions of the figure.  They are fixed because an
# automatic layout would take as long as drawing.
_CHART: Box = (0.17, 0.33, 0.80, 0.60)
_TRIANGLE: Box = (0.05, 0.04, 0.72, 0.78)
_SCALE: Box = (0.81, 0.14, 0.035, 0.60)


def new_figure(width: float = 4.8, height: float = 4.2, box: Box = _CHART) -> tuple[Figure, Axes]:
    """Make an empty figure with one set of axes; without pyplot, so no window and no state."""
    from matplotlib.figure import Figure as NewFigure

    figure = NewFigure(figsize=(width, height))
    return figure, figure.add_axes(box)


def _line(axes: Axes, run: Run, along: FloatArray, values: FloatArray) -> None:
    """Draw the mean over chains, and a band from their 10th to their 90th percentile."""
    color, dashes = _LOOK[run.sampler.key]
    low, high = np.percentile(values, [10, 90], axis=0)
    axes.fill_between(along, low, high, color=color, alpha=0.12, linewidth=0)
    axes.plot(along, values.mean(axis=0), color=color, linestyle=dashes, label=run.label)


def _plain_ticks(axes: Axes) -> None:
    """Mark 1, 2 and 5 times powers of ten on a logarithmic axis, as plain numbers."""
    from matplotlib.ticker import LogLocator, NullFormatter

    axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.xaxis.set_major_formatter(lambda number, _: f"{number:,.0f}")
    axes.xaxis.set_minor_formatter(NullFormatter())


def _legend(axes: Axes) -> None:
    """Put the legend below the axes, where it hides nothing."""
    figure = axes.figure
    figure.legend(loc="lower center", ncols=2, handlelength=2.6)
