"""Parts of draws, some categories or some draws, as a tree that every answer reads."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from luce._types import IntArray
from luce.answers.view import LabelledDraws

if TYPE_CHECKING:
    from xarray import DataTree


def of_categories(x: LabelledDraws, numbers: IntArray) -> DataTree:
    """Keep some categories."""
    index = {**x.index, "category": x.index["category"][numbers]}
    return _tree(LabelledDraws(x.values[:, :, numbers], x.are_logs, index))


def of_draws(x: LabelledDraws, rows: IntArray) -> DataTree:
    """Keep some draws, numbered through all chains, as one chain."""
    values = x.values.reshape(1, -1, x.n_categories)[:, rows]
    index = {**x.index, "chain": np.arange(1), "draw": np.arange(len(rows))}
    return _tree(LabelledDraws(values, x.are_logs, index))


def evenly(x: LabelledDraws, most: int) -> IntArray:
    """Choose at most `most` draws of all chains, evenly spaced."""
    return np.linspace(0, x.n_draws - 1, min(most, x.n_draws)).astype(np.int64)


def _tree(x: LabelledDraws) -> DataTree:
    import xarray as xr

    dims = ("chain", "draw", "category")
    variables = {"probabilities": np.exp(x.values) if x.are_logs else x.values}
    if x.are_logs:
        variables["log_probabilities"] = x.values
    named = {name: x.labelled(values, dims, name) for name, values in variables.items()}
    return xr.DataTree.from_dict({"posterior": xr.Dataset(named)})
