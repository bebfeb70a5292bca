"""Three probabilities as a point in a triangle."""

from __future__ import annotations

from math import ceil
from typing import TYPE_CHECKING

import numpy as np

from luce._types import FloatArray, IntArray
from luce.answers.view import DrawsView
from luce.errors import DataError
from luce.plots.canvas import GREY, SHADES, VERMILION, add_scale, drawing, require_matplotlib
from luce.plots.findings import best_of, write_title
from luce.plots.label_text import names_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from luce.answers.view import DrawsLike

_CORNERS = np.array([[0.0, 0.0], [1.0, 0.0], [0.5, np.sqrt(0.75)]])
_PIXELS = 150  # of the image along the lower side
_BEYOND = 2.5 / _PIXELS  # how far beyond a side pixels are needed
_SHOWN = 800  # largest number of draws shown as dots
_USED = 10_000  # largest number of draws that the density is estimated from
_AT_ONCE = 500  # draws whose kernels are held in memory together


def simplex(draws: DrawsLike, *, title: str | bool | None = None, ax: Axes | None = None) -> Axes:
    """Draw the posterior density of three probabilities over the triangle, with draws as dots.

    A corner is where its category has probability 1, the side opposite where it has 0.  The
    density, relative to a flat one, is estimated from at most 10,000 draws, by Dirichlet kernels,
    which keep to the triangle.  At most 800 draws are dots.

    Parameters
    ----------
    draws
        What `Posterior.sample` returned, or an array of shape (chain, draw, category), with three
        categories beside effects.
    title
        A title, or False for none; unless given, a new figure says who is most likely the best.
    ax
        Axes to draw into.

    Examples
    --------
    >>> import luce
    >>> counts = luce.ConditionalCounts("abc").observe({"b": 4, "c": 1})
    >>> ax = luce.plots.simplex(luce.Posterior(counts).sample(500, seed=1, progress=False))
    >>> [text.get_text() for text in ax.texts]
    ['a', 'b', 'c']
    """
    require_matplotlib()
    x = DrawsView.ranked(draws)
    if x.n_categories != 3:
        raise DataError(
            f"a triangle shows 3 categories; the draws have {x.n_categories}. "
            "luce.plots.strengths shows any number."
        )
    names = names_of(list(x.categories), range(3), 18)
    with drawing(ax, 5.2, 4.2) as axes:
        _shade(axes, x)
        points = _points(x, x.evenly(_SHOWN)) @ _CORNERS
        axes.plot(*points.T, ".", color=VERMILION, markersize=2.6, markeredgewidth=0, alpha=0.6)
        axes.lines[-1].set(rasterized=True, zorder=2)
        axes.plot(*_CORNERS[[0, 1, 2, 0]].T, color=GREY, linewidth=1.0, zorder=3)
        axes.set(xlim=(-0.06, 1.06), ylim=(-0.03, 0.9), aspect="equal")
        axes.axis("off")
        for k, side in enumerate(("left", "right", "center")):
            shift, va = (6, "bottom") if k == 2 else (-6, "top")
            look = {"textcoords": "offset points", "ha": side, "va": va, **names.look}
            axes.annotate(names.texts[k], tuple(_CORNERS[k]), (0, shift), **look)
        write_title(axes, title, lambda: best_of(x, False), own=ax is None)
    return axes


def _shade(ax: Axes, x: DrawsView) -> None:
    """Draw the density as an image, cut along the sides."""
    from matplotlib.colors import LinearSegmentedColormap
    from matplotlib.patches import Polygon

    # More than 64 shades would only make files large.
    shades = LinearSegmentedColormap.from_list("luce", SHADES, 64)
    density = _density(_points(x, x.evenly(_USED)))
    # A few pixels must not take all the shades, nor noise where the density is flat.
    darkest = max(float(np.quantile(density, 0.998)), 2.0)
    image = ax.imshow(
        density,
        shades,
        extent=(0, 1, 0, len(density) / _PIXELS),
        origin="lower",
        interpolation="bilinear",
        zorder=1,
        vmin=0.0,
        vmax=darkest,
    )
    image.set_clip_path(Polygon(_CORNERS, transform=ax.transData))
    add_scale(ax, image, "density, flat = 1", (0.93, 0.3, 0.03, 0.6))


def _points(x: DrawsView, rows: IntArray) -> FloatArray:
    """Return some draws of all chains, normalised to add up to 1."""
    values = x.values.reshape(-1, 3)[rows]
    p = np.exp(values - values.max(axis=1, keepdims=True)) if x.are_logs else values
    return _normalised(p)


def _density(p: FloatArray) -> FloatArray:
    """Estimate the density relative to a flat one at the pixels, the lowest row first.

    At a point q the estimate is the mean over the draws of the density of
    Dirichlet(1 + q / width).  Such kernels end at the sides, so none of their mass is lost there
    (Ouimet and Tolosana-Delgado 2022, https://doi.org/10.1016/j.jmva.2021.104832).  Pixels beyond a
    side show the point of the side beneath them, for the sake of interpolation.
    """
    from scipy.special import gammaln

    rows = ceil(_CORNERS[2, 1] * _PIXELS)
    heights = (np.arange(rows) + 0.5) / _PIXELS / _CORNERS[2, 1]
    across = (np.arange(_PIXELS) + 0.5) / _PIXELS
    top = np.repeat(heights, _PIXELS)
    right = np.tile(across, rows) - top / 2
    q = np.stack([1 - top - right, right, top], axis=1)
    near = q.min(axis=1) > -_BEYOND
    inside = q.min(axis=1)[near] > 0
    shapes = _normalised(np.maximum(q[near], 0.0)) / _width(p)
    constants = gammaln(shapes.sum(axis=1) + 3) - gammaln(shapes + 1).sum(axis=1)
    # Draws within half a pixel of a side are seen at that distance.
    logs = np.log(_normalised(np.maximum(p, 0.5 / _PIXELS)))
    found = np.zeros(len(shapes))
    for part in np.array_split(logs, ceil(len(logs) / _AT_ONCE)):
        found += np.exp(shapes @ part.T + constants[:, None]).sum(axis=1)
    density = np.zeros(len(q))
    density[near] = found / found[inside].mean()
    return density.reshape(rows, _PIXELS)


def _width(p: FloatArray) -> float:
    """Choose the width of the kernels: (A + 1)^-1 n^(-1/3) for n draws of a Dirichlet of total A.

    A + 1 is found by the areas that the draws take and that corners chosen with their means would
    take.  A kernel in the middle of the triangle is at least as wide as a pixel.
    """
    mean = p.mean(axis=0)[:2]
    deviations = p[:, :2] - mean
    area = np.linalg.det(deviations.T @ deviations / len(p))
    largest = np.linalg.det(np.diag(mean) - np.outer(mean, mean))
    # Rounding may make an area of zero negative.
    spread = np.sqrt(max(area, 0.0) / largest) if largest > 0 else 0.0
    return float(max(spread * len(p) ** (-1 / 3), 4 / _PIXELS**2))


def _normalised(p: FloatArray) -> FloatArray:
    return np.asarray(p / p.sum(axis=1, keepdims=True))
