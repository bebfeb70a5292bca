"""Three probabilities as a point in a triangle."""

from __future__ import annotations

from itertools import product
from math import ceil
from typing import TYPE_CHECKING

import numpy as np

from luce._types import FloatArray, IntArray
from luce.answers.view import DrawsView
from luce.errors import DataError
from luce.plots.canvas import GREY, add_scale, drawing, require_matplotlib
from luce.plots.label_text import names_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from luce.answers.view import DrawsLike

_CORNERS = np.array([[0.0, 0.0], [1.0, 0.0], [0.5, np.sqrt(0.75)]])
_PIXELS = 150  # of the image along the lower side
_REACH = 0.24  # largest distance that kernels reach over a side, whose length is 1
_SHOWN = 800  # largest number of draws shown as dots


def simplex(draws: DrawsLike, *, ax: Axes | None = None) -> Axes:
    """Draw the posterior density of three probabilities over the triangle, with draws as dots.

    A corner is where its category has probability 1, the side opposite where it has 0.  The
    density, relative to a flat one, is estimated from the draws, by normal kernels folded back at
    the sides.  At most 800 draws are dots.

    Parameters
    ----------
    draws
        What `Posterior.sample` returned, or an array of shape (chain, draw, category), with three
        categories.
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
    x = DrawsView.of(draws)
    if x.n_categories != 3:
        raise DataError(
            f"a triangle shows 3 categories; the draws have {x.n_categories}. "
            "luce.plots.strengths shows any number."
        )
    names = names_of(list(x.categories), range(3), 18)
    with drawing(ax, 5.2, 4.2) as axes:
        _shade(axes, x)
        points = _points(x, x.evenly(_SHOWN)) @ _CORNERS
        axes.plot(*points.T, ".", color="white", markersize=3.0, markeredgewidth=0, alpha=0.45)
        axes.lines[-1].set(rasterized=True, zorder=2)
        axes.plot(*_CORNERS[[0, 1, 2, 0]].T, color=GREY, linewidth=1.0, zorder=3)
        axes.set(xlim=(-0.06, 1.06), ylim=(-0.03, 0.9), aspect="equal")
        axes.axis("off")
        for k, side in enumerate(("left", "right", "center")):
            shift, va = (6, "bottom") if k == 2 else (-6, "top")
            look = {"textcoords": "offset points", "ha": side, "va": va, **names.look}
            axes.annotate(names.texts[k], tuple(_CORNERS[k]), (0, shift), **look)
    return axes


def _shade(ax: Axes, x: DrawsView) -> None:
    """Draw the density as an image, cut along the sides."""
    from matplotlib import colormaps
    from matplotlib.patches import Polygon

    shades = colormaps["cividis"].resampled(64)  # more would only make files large
    density = _density(_points(x, slice(None)))
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


def _points(x: DrawsView, rows: IntArray | slice) -> FloatArray:
    """Return some draws of all chains, normalised to add up to 1."""
    values = x.values.reshape(-1, 3)[rows]
    p = np.exp(values - values.max(axis=1, keepdims=True)) if x.are_logs else values
    return np.asarray(p / p.sum(axis=1, keepdims=True))


def _density(p: FloatArray) -> FloatArray:
    """Estimate the density relative to a flat one at pixels, the lowest row first.

    Normal kernels that reach over a side are folded back: the draws are mirrored into all
    triangles that touch this one.
    """
    from scipy.ndimage import gaussian_filter

    inner = p @ _CORNERS
    # Scott's rule, one width in both directions, at least one pixel.
    area = np.linalg.det((inner - inner.mean(axis=0)).T @ (inner - inner.mean(axis=0)) / len(p))
    spread = max(area, 0.0) ** 0.25  # rounding may make a zero area negative
    width = np.clip(spread * len(p) ** (-1 / 6), 1 / _PIXELS, _REACH / 4)
    points = np.concatenate([p @ image.T for image in _images()]) @ _CORNERS
    margin = round(_REACH * _PIXELS)
    rows = ceil(_CORNERS[2, 1] * _PIXELS)
    edges = [np.arange(-margin, count + margin + 1) / _PIXELS for count in (rows, _PIXELS)]
    counted, _, _ = np.histogram2d(points[:, 1], points[:, 0], edges)
    found = gaussian_filter(counted, width * _PIXELS, truncate=4.0, mode="constant")
    found = found[margin:-margin, margin:-margin]
    # The share of each pixel over its share under a flat density.
    return np.asarray(found / len(p) * _PIXELS**2 * _CORNERS[2, 1] / 2)


def _images() -> list[FloatArray]:
    """Return 13 linear maps: the triangle onto itself and onto the mirror images that touch it."""
    mirrors = []
    for k in range(3):
        mirror = np.eye(3)
        mirror[:, k] = 1.0
        mirror[k, k] = -1.0
        mirrors.append(mirror)
    pairs = [(a, b) for a, b in product(range(3), repeat=2) if a != b]
    return [
        np.eye(3),
        *mirrors,
        *(mirrors[a] @ mirrors[b] for a, b in pairs),
        *(mirrors[a] @ mirrors[b] @ mirrors[a] for a, b in pairs if a < b),
    ]
