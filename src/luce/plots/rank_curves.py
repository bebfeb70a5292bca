"""How far ranks stray from uniform ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from luce._types import IntArray
from luce.answers.rank_uniformity import band_of
from luce.plots.canvas import BLUE, CHAINS, GREY, VERMILION, drawing

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_NAMED = 4  # lines outside the band that are named


def rank_curves(
    ranks: IntArray, names: list[str], draws: int, level: float, *, ax: Axes | None = None
) -> Axes:
    """Draw the share of ranks that are at most k / L, less what it would be of uniform ones.

    Lines of quantities that stay in the band are blue; those that leave it are red and named.
    All lines of uniform ranks stay in it, with probability 1 - level at least.

    Parameters
    ----------
    ranks
        Shape (replication, quantity), from 0 to `draws`.
    names
        Of the quantities.
    draws
        L.
    level
        Of all quantities together.
    ax
        Axes to draw into.
    """
    n, m = ranks.shape
    least, most = band_of(n, draws, level / m)
    share = np.arange(1, draws + 1) / (draws + 1)
    at = np.r_[0.0, share, 1.0]
    below = np.array([(ranks <= k).sum(axis=0) for k in range(draws)])
    outside = (below < least[:, None]) | (below > most[:, None])
    leaves = np.asarray(outside.any(axis=0), np.bool_).reshape(m)
    far = np.abs(below / n - share[:, None]).max(axis=0)
    named = [j for j in np.argsort(-far, kind="stable") if leaves[j]][:_NAMED]
    with drawing(ax, 5.2, 3.0) as axes:
        axes.fill_between(
            at, np.r_[0.0, least / n - share, 0.0], np.r_[0.0, most / n - share, 0.0],
            color=GREY, alpha=0.25, linewidth=0, zorder=1,
        )  # fmt: skip
        axes.axhline(0.0, color=GREY, linewidth=0.8, zorder=1)
        for j in range(m):
            colour = VERMILION if leaves[j] else BLUE
            if j in named:
                colour = (VERMILION, *CHAINS[1:4])[named.index(j)]
            axes.plot(
                at, np.r_[0.0, below[:, j] / n - share, 0.0], color=colour, linewidth=1.1,
                label=names[j] if j in named else None, zorder=3 if leaves[j] else 2,
            )  # fmt: skip
        axes.set(xlim=(0, 1), xlabel="rank / draws", ylabel="share below − uniform")
        if named:
            axes.legend(loc="best")
    return axes
