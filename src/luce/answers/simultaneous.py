"""Intervals that hold for many quantities at once."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from luce._types import FloatArray
from luce.answers.scales import intervals

if TYPE_CHECKING:
    from xarray import DataArray, Dataset

_SAMPLE = ("chain", "draw")


def simultaneous_intervals(array: DataArray, ci_prob: float = 0.9) -> Dataset:
    """Compute intervals that hold for all entries at once with the given probability.

    Each central interval is stretched about the entry's median m by one factor c,

        m - c (m - lower)  to  m + c (upper - m),

    the least from 1 on such that `ci_prob` of the draws lie within the intervals of all entries.
    So c tells what it costs to look at many: it is 1 for a single entry, and grows with their
    number.

    Parameters
    ----------
    array
        Dimensions chain and draw, and any others: all entries along these are taken together.
    ci_prob
        Probability that all intervals hold, between 0 and 1; a central interval holds with this
        probability for one entry alone.

    Returns
    -------
    Dataset
        `lower` and `upper`, with the array's other dimensions; nan for entries whose draws are nan.
        The attributes are `ci_prob` and the factor, `stretch`.

    Examples
    --------
    >>> import numpy as np
    >>> import xarray as xr
    >>> draws = np.random.default_rng(1).normal(size=(4, 5000, 20))
    >>> found = simultaneous_intervals(xr.DataArray(draws, dims=("chain", "draw", "item")), 0.9)
    >>> round(found.attrs["stretch"], 1)  # 2.8 / 1.6 for 20 independent normal variables
    1.7
    """
    found = intervals(array, ci_prob)
    rest = list(found["mean"].dims)
    x = array.transpose(*_SAMPLE, *rest).to_numpy()
    x = x.reshape(x.shape[0] * x.shape[1], -1)
    alone = Reach.of(x, *(np.asarray(found[name]).ravel() for name in ("lower", "upper")))
    stretch = least_stretch(alone.farthest(x), found.attrs["ci_prob"])
    shape = found["mean"].shape
    ends = zip(("lower", "upper"), alone.stretched(stretch), strict=True)
    values = {name: (rest, end.reshape(shape)) for name, end in ends}
    return found.drop_vars(list(found.data_vars)).assign(values).assign_attrs(stretch=stretch)


class Reach(NamedTuple):
    """Medians of entries, and how far their central intervals reach below and above, by entry.

    A reach is 0 only where draws never vary; where an end is the median it is the largest distance
    of any draw.
    """

    median: FloatArray
    below: FloatArray
    above: FloatArray

    @classmethod
    def of(cls, x: FloatArray, lower: FloatArray, upper: FloatArray) -> Reach:
        """Measure the intervals of draws of shape (draw, entry)."""
        median = np.median(x, axis=0)
        below, above = (np.abs(end - median) for end in (lower, upper))
        for side in (below, above):
            if (side == 0).any():
                np.copyto(side, np.abs(x - median).max(axis=0), where=side == 0)
        return cls(median, below, above)

    def farthest(self, x: FloatArray) -> FloatArray:
        """Compute how far each draw is out, as a multiple of the reach, in its farthest entry."""
        away = x - self.median
        reach = np.where(away < 0, self.below, self.above)
        far = np.divide(np.abs(away), reach, out=np.zeros_like(x), where=reach > 0)
        return np.asarray(far.max(axis=1, initial=0.0))

    def stretched(self, by: float) -> tuple[FloatArray, FloatArray]:
        """Return the ends of the intervals, stretched about the medians by a factor."""
        return self.median - by * self.below, self.median + by * self.above


def least_stretch(farthest: FloatArray, ci_prob: float) -> float:
    """Find the least factor from 1 on that takes in a share of the draws; see `Reach.farthest`."""
    return max(1.0, float(np.quantile(farthest, ci_prob, method="higher")))
