"""Markov chains: their draws one after another, and their autocorrelation."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from luce._types import FloatArray, IntArray, Label, Labels
from luce.answers.diagnostics import autocorrelation as autocorrelation_of
from luce.answers.diagnostics import ess
from luce.answers.view import DrawsView
from luce.plots.canvas import CHAINS, GREY, drawing_rows, require_matplotlib
from luce.plots.label_text import Names, names_of

if TYPE_CHECKING:
    import numpy.typing as npt
    from matplotlib.axes import Axes
    from xarray import DataArray

    from luce.answers.view import DrawsLike

_DEFAULT = 4  # categories drawn unless they are named
_MOST_POINTS = 4000  # points of lines; more make smaller files as an image
_MOST_NAMED = 6  # chains that can be told apart by colour


def trace(
    draws: DrawsLike,
    categories: Labels | None = None,
    *,
    ax: Axes | Iterable[Axes] | None = None,
) -> npt.NDArray[Any]:
    """Draw the probabilities and parameters of each chain, draw after draw.

    Parameters
    ----------
    draws
        What `Posterior.sample` returned, or an array of shape (chain, draw, category).
    categories
        Labels, and names of parameters such as "home"; unless given, the four of both with the
        smallest effective sample size.
    ax
        Axes to draw into, one for each category.

    Returns
    -------
    array of Axes
        One for each category.

    Examples
    --------
    >>> import luce
    >>> counts = luce.ConditionalCounts("abc").observe({"b": 4, "c": 1})
    >>> draws = luce.Posterior(counts).sample(500, seed=1, progress=False)
    >>> [ax.get_title(loc="left") for ax in luce.plots.trace(draws, ["c", "a"])]
    ['c', 'a']
    """
    given = DrawsView.of(draws)
    x = given.with_parameters()
    p = x.labelled(x.probabilities, ("chain", "draw", "category"), "probabilities")
    axes = _draw_lines(p, x, given.n_categories, categories, "draw", "probability", ax)
    for number, each in zip(_chosen(x, given.n_categories, categories), axes, strict=True):
        if number >= given.n_categories:
            each.set_ylabel("value")
    return axes


def autocorrelation(
    draws: DrawsLike,
    categories: Labels | None = None,
    *,
    lags: int | None = None,
    ax: Axes | Iterable[Axes] | None = None,
) -> npt.NDArray[Any]:
    """Draw the autocorrelation of each chain against the lag.

    Independent draws stay in the grey band 19 times out of 20.

    Parameters
    ----------
    draws, categories, ax
        As for `trace`.
    lags
        The largest lag; unless given, 100 or the number of draws less 1.

    Returns
    -------
    array of Axes
        One for each category.

    Examples
    --------
    >>> import luce
    >>> to_and_fro = [[[0.2, 0.8], [0.4, 0.6], [0.2, 0.8], [0.4, 0.6]]]
    >>> axes = luce.plots.autocorrelation(to_and_fro, [0], lags=2)
    >>> axes[0].lines[0].get_ydata().round(2)
    array([ 1.  , -0.75,  0.5 ])
    """
    given = DrawsView.of(draws)
    x = given.with_parameters()
    count = x.probabilities.shape[1]
    found = autocorrelation_of(x, min(100, count - 1) if lags is None else lags)
    axes = _draw_lines(found, x, given.n_categories, categories, "lag", "autocorrelation", ax)
    band = 1.96 / np.sqrt(count)
    for each in axes:
        each.axhspan(-band, band, color=GREY, alpha=0.2, linewidth=0, zorder=0)
        lowest = min((np.nanmin(line.get_ydata(), initial=0.0) for line in each.lines), default=0)
        each.set_ylim(min(-0.1, 1.1 * lowest, -1.5 * band), 1.03)
    return axes


def _draw_lines(
    values: DataArray,
    x: DrawsView,
    competitors: int,
    categories: Labels | None,
    along: str,
    words: str,
    ax: Axes | Iterable[Axes] | None,
) -> npt.NDArray[Any]:
    """Draw some categories and parameters, or those with the smallest effective sample size.

    `values` have dimensions (chain, along, category), parameters behind `competitors` categories.
    """
    require_matplotlib()
    numbers = _chosen(x, competitors, categories)
    labels: list[Label] = list(x.categories)
    names = names_of(labels, numbers.tolist(), 60)
    texts = [
        f"{text} (parameter)" if number >= competitors else text
        for number, text in zip(numbers.tolist(), names.texts, strict=True)
    ]
    steps = values[along].values if along in values.coords else np.arange(values.shape[1])
    return draw_chains(
        values.values[:, :, numbers], steps, Names(texts, names.fonts), along, words, ax
    )


def draw_chains(
    values: FloatArray,
    steps: npt.NDArray[Any],
    names: Names,
    along: str,
    words: str,
    ax: Axes | Iterable[Axes] | None,
) -> npt.NDArray[Any]:
    """Draw one row of axes for each quantity, with one line for each chain.

    Parameters
    ----------
    values
        Shape (chain, step, quantity).
    steps
        Places of the steps on the horizontal axis.
    names
        Names of the quantities.
    along, words
        Labels of the horizontal and of the vertical axes.
    ax
        Axes to draw into, one for each quantity.
    """
    rows = values.shape[2]
    width = 0.5 if along == "draw" else 1.2
    with drawing_rows(_listed(ax), rows, 6.0, 0.6 + 1.45 * rows) as axes:
        for k in range(rows):
            each = axes[k]
            for chain, line in enumerate(values[:, :, k]):
                look: dict[str, Any] = {
                    "color": CHAINS[chain % len(CHAINS)],
                    "label": f"chain {chain}",
                }
                each.plot(steps, line, linewidth=width, alpha=0.8, zorder=0.9, **look)
            if values.shape[0] * values.shape[1] > _MOST_POINTS:
                each.set_rasterization_zorder(1.0)
            each.set_title(names.texts[k], loc="left", **names.look)
            each.set_ylabel(words)
            each.margins(x=0.01)
            if k < rows - 1:
                each.tick_params(labelbottom=False)
        axes[-1].set_xlabel(along)
        if 1 < len(values) <= _MOST_NAMED:
            _name_chains(axes[0], len(values))
    from luce.plots.figure import Panels

    return Panels.of(axes, (rows,))


def _name_chains(ax: Axes, chains: int) -> None:
    """Put a legend of thicker lines above the axes."""
    legend = ax.legend(
        loc="lower right",
        bbox_to_anchor=(1.01, 0.98),
        ncols=chains,
        handlelength=1.2,
        columnspacing=1.0,
        borderpad=0,
    )
    for handle in legend.get_lines():
        handle.set(linewidth=2.0, alpha=1.0)


def _chosen(x: DrawsView, competitors: int, categories: Labels | None) -> IntArray:
    return _slowest(x, competitors) if categories is None else x.numbers(categories, "categories")


def _slowest(x: DrawsView, competitors: int) -> IntArray:
    """Return what has the smallest effective sample size: categories, then parameters.

    What never moves comes last.
    """
    sizes = ess(x).values
    found = np.argsort(np.where(np.isnan(sizes), np.inf, sizes), kind="stable")[:_DEFAULT]
    return found[np.argsort(found >= competitors, kind="stable")]


def _listed(ax: Any) -> list[Axes] | None:
    if ax is None:
        return None
    return list(np.ravel(ax)) if isinstance(ax, (np.ndarray, list, tuple)) else [ax]
