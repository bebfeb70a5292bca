"""Checks of the data and draws of a run before it is saved, loaded or resumed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from luce.errors import DataError
from luce.model.contents import model_of, require_run

if TYPE_CHECKING:
    from xarray import DataArray, Dataset, DataTree

# Parameter that every run of a model draws, and its support, by model.
_DRAWN = {
    "posterior": ("probabilities", "simplex"),
    "transitions": ("base", "simplex"),
    "separate-rows": ("rows", "simplex"),
    "semi-markov": ("log_likelihood", "real"),
}

# Largest distance from 1 of a sum of probabilities; rounding of a million terms makes 1e-10.
_ROUNDING = 1e-8


def check_run(run: DataTree) -> None:
    """Refuse a run with impossible data or draws; variables that were added are not checked."""
    require_run(run)
    model = run.attrs.get("model", "posterior")
    if model == "posterior" and "data_pieces" not in run.attrs:
        model_of(run)
    if "posterior" not in run.children:
        raise DataError("the run has no group 'posterior' with draws in it.")
    drawn = run["posterior"].to_dataset()
    supports = {str(name): str(v.attrs.get("support", "")) for name, v in drawn.data_vars.items()}
    if str(model) in _DRAWN:
        needed, usual = _DRAWN[str(model)]
        if needed not in supports:
            raise DataError(f"the run has no variable {needed!r} in group 'posterior'.")
        supports[needed] = supports[needed] or usual
    for name, support in supports.items():
        if support:
            _check_variable(drawn, name, support, some="kept_categories" in run.attrs)


def _check_variable(drawn: Dataset, name: str, support: str, some: bool) -> None:
    """Refuse draws outside of their support, and logarithms above 0."""
    values = _read(drawn[name], drawn[name].dims)
    if support == "simplex":
        _check_simplex(name, values, some)
    elif support == "positive" and not (values > 0).all():
        raise DataError(f"posterior/{name} holds numbers that are not positive.")
    elif support == "real" and not np.isfinite(values).all():
        raise DataError(f"posterior/{name} holds numbers that are not finite.")
    if f"log_{name}" in drawn.data_vars and support == "simplex":
        logs = _read(drawn[f"log_{name}"], drawn[name].dims)
        if not (logs <= 0).all():
            raise DataError(f"posterior/log_{name} holds numbers that are not at most 0.")


def _read(variable: DataArray, dims: tuple[Any, ...]) -> Any:
    right = variable.dims == dims and dims[:2] == ("chain", "draw")
    if not right or variable.dtype != np.float64:
        wanted = ("chain", "draw", *(dim for dim in dims if dim not in ("chain", "draw")))
        raise DataError(
            f"posterior/{variable.name} holds {variable.dtype} with dimensions {variable.dims}; "
            f"float64 with dimensions {wanted} is needed."
        )
    if variable.size == 0:
        raise DataError(f"posterior/{variable.name} holds no draws.")
    return variable.to_numpy()


def _check_simplex(name: str, p: Any, some: bool) -> None:
    """Refuse draws that are not probabilities; sums of only `some` of them may be below 1."""
    if not ((p >= 0) & (p <= 1)).all():  # refuses nan, too
        raise DataError(f"posterior/{name} holds numbers that are not between 0 and 1.")
    excess = p.sum(axis=-1) - 1
    if (np.maximum(excess, 0) if some else np.abs(excess)).max() > _ROUNDING:
        raise DataError(f"posterior/{name} holds draws that do not add up to 1.")
