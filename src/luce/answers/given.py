"""Draws as people give them: chains of finite numbers with labels, or refused."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from luce.errors import DataError

if TYPE_CHECKING:
    from xarray import DataArray, DataTree

    DrawsLike: TypeAlias = DataTree | DataArray | ArrayLike

_DIMENSIONS = ("chain", "draw", "category")


def read_draws(draws: DrawsLike) -> DataArray:
    """Read draws as finite floats of dimensions (chain, draw, category), labels kept."""
    import xarray as xr

    if isinstance(draws, xr.DataTree):
        try:
            draws = draws["posterior"]["probabilities"]
        except KeyError:
            raise DataError(
                "these are not draws: a DataTree was given without posterior['probabilities']. "
                "Give what Posterior.sample returned, or the array itself."
            ) from None
    try:
        values = np.asarray(draws)
    except (TypeError, ValueError):  # nested lists of unequal lengths, say
        values = np.empty(0, object)
    if values.dtype.kind not in "fiu":
        raise DataError(
            f"these are not draws: a {type(draws).__name__} was given that holds no numbers, or "
            "rows of unequal lengths. Give a DataTree with posterior['probabilities'], or an array "
            "of shape (chain, draw, category)."
        )
    named = isinstance(draws, xr.DataArray)
    variable = draws if isinstance(draws, xr.DataArray) else xr.DataArray(values)
    if variable.ndim != 3 or (named and set(variable.dims) != set(_DIMENSIONS)):
        given = f"dimensions {variable.dims}" if named else f"shape {values.shape}"
        raise DataError(
            f"these are not draws: an array of {given} was given; (chain, draw, category) is "
            "needed. Name or add the dimensions: x[None] makes one chain of an array."
        )
    if named:
        variable = variable.transpose(*_DIMENSIONS)
    values = np.asarray(variable, np.float64)
    if values.size == 0:
        raise DataError(
            f"no draws: shape {values.shape} was given; at least one chain, one draw and one "
            "category are needed. Take some draws first."
        )
    if not np.isfinite(values).all():
        raise DataError(
            f"{np.count_nonzero(~np.isfinite(values)):,} of {values.size:,} draws are not finite; "
            "all must be numbers. Leave out the chains or draws with nan or inf."
        )
    index = {name: variable[name].to_numpy() for name in ("chain", "category") if named}
    positions = {"chain": np.arange(values.shape[0]), "category": np.arange(values.shape[2])}
    return xr.DataArray(values, {**positions, **index}, _DIMENSIONS)
