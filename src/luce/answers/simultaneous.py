"""Intervals that hold for many quantities at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

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
    middle = np.median(x, axis=0)
    ends = [np.asarray(found[name]).ravel() for name in ("lower", "upper")]
    below, above = (_reach(x, middle, end) for end in ends)
    reach = np.where(x < middle, below, above)
    far = np.divide(np.abs(x - middle), reach, out=np.zeros_like(x), where=reach > 0)
    farthest = far.max(axis=1, initial=0.0)
    stretch = max(1.0, float(np.quantile(farthest, found.attrs["ci_prob"], method="higher")))
    shape = found["mean"].shape
    values = {
        "lower": (rest, (middle - stretch * below).reshape(shape)),
        "upper": (rest, (middle + stretch * above).reshape(shape)),
    }
    return found.drop_vars(list(found.data_vars)).assign(values).assign_attrs(stretch=stretch)


def _reach(x: FloatArray, middle: FloatArray, end: FloatArray) -> FloatArray:
    """Compute the distance of one end from the median, 0 only where draws never vary."""
    reach = np.abs(end - middle)
    return np.where(reach == 0, np.abs(x - middle).max(axis=0), reach)
