"""What a run must hold to be saved, loaded or gone on with."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from luce.errors import DataError
from luce.model.contents import model_of, require_run

if TYPE_CHECKING:
    from xarray import DataArray, DataTree

# Largest distance from 1 of a sum of probabilities; a million of them miss it by 1e-10.
_ROUNDING = 1e-8


def check_run(run: DataTree) -> None:
    """Refuse a run whose data or draws cannot be right."""
    require_run(run)
    if run.attrs.get("model", "posterior") == "posterior" and "data_pieces" not in run.attrs:
        model_of(run)
    if "posterior" not in run.children or not run["posterior"].data_vars:
        raise DataError("the run has no group 'posterior' with draws in it.")
    for name, variable in run["posterior"].data_vars.items():
        _check_variable(str(name), variable, some="kept_categories" in run.attrs)


def _check_variable(name: str, variable: DataArray, some: bool) -> None:
    """Refuse draws outside the support that the variable's attribute declares."""
    if variable.dims[:2] != ("chain", "draw") or variable.dtype != np.float64:
        raise DataError(
            f"posterior/{name} holds {variable.dtype} with dimensions {variable.dims}; float64 "
            "with dimensions chain and draw first is needed."
        )
    values: Any = variable.to_numpy()
    if values.size == 0:
        raise DataError(f"posterior/{name} holds no draws.")
    support = variable.attrs.get("support", "simplex" if name == "probabilities" else None)
    if support == "simplex":
        _check_simplex(name, values, some)
    elif support == "positive" and not (values > 0).all():
        raise DataError(f"posterior/{name} holds numbers that are not positive.")
    elif name.startswith("log_") and not (values <= 0).all():
        raise DataError(f"posterior/{name} holds numbers that are not at most 0.")


def _check_simplex(name: str, p: Any, some: bool) -> None:
    if not ((p >= 0) & (p <= 1)).all():  # which also finds nan
        raise DataError(f"posterior/{name} holds numbers that are not between 0 and 1.")
    excess = p.sum(axis=-1) - 1
    if (np.maximum(excess, 0) if some else np.abs(excess)).max() > _ROUNDING:
        raise DataError(f"posterior/{name} holds draws that do not add up to 1.")
