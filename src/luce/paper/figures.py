"""The paper's figures, each as panels that stand side by side or one below the other.

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
    "svg.hashsalt": "luce",  # the same picture is the same file
}


_BANDS = "one line and one band for each sampler"


class Drawing(NamedTuple):
    """One picture: a name for its files, the figure, and what it shows, in words."""

    name: str
    figure: Figure
    description: str


@contextmanager
def drawing_style() -> Iterator[None]:
    """Draw in the style of these figures, whatever the reader's own settings."""
    try:
        from matplotlib import style
    except ModuleNotFoundError:
        raise MethodError(
            "drawing needs matplotlib, which is not installed: pip install 'luce[plots]'."
        ) from None
    with style.context(_STYLE, after_reset=True):
        yield


def densities_figure(found: Densities) -> list[Drawing]:
    """Prior, plain posterior, truncated posterior, and the sampler's draws beside it."""
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
        axes.annotate(
            f"π{chr(0x2081 + k)} = 1", where, (0, 6 if k == 2 else -6), ha=place,
            va="bottom" if k == 2 else "top", textcoords="offset points",
        )  # fmt: skip
    figure.colorbar(patches, cax=figure.add_axes(_SCALE), label="density, flat = 1")
    return figure


def autocorrelation_figure(ten: Comparison) -> list[Drawing]:
    """Mean autocorrelation with the 10th and 90th percentile over chains."""
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
    """R-hat against the index of the draw and against seconds."""
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
        # The distance from 1 is what matters; the ticks still say R-hat itself.
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
    """Errors of mean and variance against the index of the draw and against seconds."""
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

# Left, bottom, width and height of the axes, as parts of the figure.  All charts are alike, so
# their places are given: finding them would take as long as drawing.
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
    """Below the picture, where it hides nothing."""
    figure = axes.figure
    figure.legend(loc="lower center", ncols=2, handlelength=2.6)
