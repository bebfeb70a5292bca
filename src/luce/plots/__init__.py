"""Pictures of draws.  They need matplotlib: ``pip install 'luce[plots]'``.

Every function draws into `ax` where one is given, and else makes a figure of its own, of a size
that fits; it returns the axes.  Figures of its own have no background and stand on light and dark
pages alike; ``ax.figure.savefig("name.svg")`` writes the same file for the same picture.
"""

from luce.plots.chains import autocorrelation, trace
from luce.plots.checks import predictive_check, reliability
from luce.plots.heatmaps import rank_heatmap, win_matrix
from luce.plots.intervals import shares, strengths
from luce.plots.triangle import simplex

__all__ = [
    "autocorrelation",
    "predictive_check",
    "rank_heatmap",
    "reliability",
    "shares",
    "simplex",
    "strengths",
    "trace",
    "win_matrix",
]
