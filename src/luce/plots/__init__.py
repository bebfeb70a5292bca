"""Pictures of draws.  They need matplotlib: ``pip install 'luce[plots]'``.

Every function draws into `ax` where it is given, else into a new figure whose size fits, and
returns the axes, which show themselves in a notebook.  New figures have no background and suit
light and dark pages alike; ``ax.figure.savefig("name.svg")`` writes the same file for the same
picture.
"""

from luce.plots.chains import autocorrelation, trace
from luce.plots.checks import predictive_check, reliability
from luce.plots.fixtures import predictions
from luce.plots.group_differences import differences
from luce.plots.heatmaps import rank_heatmap, win_matrix
from luce.plots.intervals import shares, strengths
from luce.plots.matrices import transition_differences, transition_matrix
from luce.plots.season_ends import places
from luce.plots.time_series import durations, moves, segmentation, similarity
from luce.plots.triangle import simplex

__all__ = [
    "autocorrelation",
    "differences",
    "durations",
    "moves",
    "places",
    "predictions",
    "predictive_check",
    "rank_heatmap",
    "reliability",
    "segmentation",
    "shares",
    "similarity",
    "simplex",
    "strengths",
    "trace",
    "transition_differences",
    "transition_matrix",
    "win_matrix",
]
