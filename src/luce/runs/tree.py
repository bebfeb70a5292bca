"""A run as an xarray DataTree that opens in ArviZ and holds its data, prior and settings."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import numpy as np

from luce._lazy import without_collections
from luce._types import Attributes, FloatArray
from luce.sampling.memory import Memory
from luce.sampling.plan import Plan
from luce.version import __version__

if TYPE_CHECKING:
    from xarray import Dataset, DataTree
    from xarray.indexes import PandasIndex


def as_tree(plan: Plan, sink: Memory) -> DataTree:
    """Turn draws in memory into a run: labels as coordinates, settings as attributes."""
    final = final_attributes(plan, sink)
    return run_tree(plan, sink.arrays, sink.draws, final)


def run_tree(
    plan: Plan, arrays: Mapping[str, FloatArray], draws: int, final: Attributes
) -> DataTree:
    """Build a run from its arrays, by path, and from the plan's data and prior."""
    with without_collections():
        import xarray as xr

    index = {"chain": np.arange(plan.settings.chains), "draw": np.arange(draws)}
    attributes = {**run_attributes(plan), **final}
    coords = {**index, **_coords(plan)}
    found = {
        "/": xr.Dataset(attrs=attributes),
        "/posterior": _dataset(_variables(plan, arrays, "posterior"), coords, attributes),
        "/sample_stats": _dataset(_variables(plan, arrays, "sample_stats"), index, attributes),
    }
    for name, group in plan.groups().items():
        found[f"/{name}"] = _dataset(group.variables, group.coords, group.attributes)
    return xr.DataTree.from_dict(found)


def _dataset(
    variables: Mapping[str, tuple[Any, ...]], coords: Mapping[str, Any], attributes: Attributes
) -> Dataset:
    """Build a dataset of NumPy's arrays.

    Given bare arrays, xarray imports Dask, where it is installed, to find out whether they are
    Dask's.  That takes longer than a small run; arrays of numbers and of texts are therefore
    wrapped beforehand, with the same result.
    """
    import xarray as xr

    if not all(map(_is_plain, [*(given[1] for given in variables.values()), *coords.values()])):
        return xr.Dataset(variables, coords, attributes)
    wrapped = {
        name: xr.Variable(dims, values, attrs[0] if attrs else None, fastpath=True)
        for name, (dims, values, *attrs) in variables.items()
    }
    indexes = {dim: _index(dim, labels) for dim, labels in coords.items()}
    own = {dim: index.create_variables()[dim] for dim, index in indexes.items()}
    return xr.Dataset(wrapped, xr.Coordinates(own, indexes), attributes)


def _is_plain(values: Any) -> bool:
    """Tell whether xarray takes an array as it is: numbers, marks and texts."""
    return type(values) is np.ndarray and values.dtype.kind in "biufU"


def _index(dim: str, labels: Any) -> PandasIndex:
    """Build the index of a dimension, as xarray does."""
    import pandas as pd
    from xarray.indexes import PandasIndex

    try:
        index = pd.Index(labels)
    except UnicodeEncodeError:  # texts that are no Unicode
        index = pd.Index(labels, dtype="object")
    return PandasIndex(index, dim, labels.dtype)


def _variables(plan: Plan, arrays: Mapping[str, FloatArray], group: str) -> dict[str, Any]:
    return {
        output.path.removeprefix(f"{group}/"): (
            ("chain", "draw", *output.dims),
            arrays[output.path],
            dict(output.attributes or {}),
        )
        for output in plan.outputs
        if output.path.startswith(f"{group}/") and output.path in arrays
    }


def _coords(plan: Plan) -> dict[str, Any]:
    """Return labels of the stored entries, by dimension."""
    kept = {o.dims[-1]: o.kept for o in plan.outputs if o.kept is not None}
    every = parameter_coords(plan)
    return {dim: labels[kept[dim]] if dim in kept else labels for dim, labels in every.items()}


def parameter_coords(plan: Plan) -> dict[str, Any]:
    """Return labels of all entries of all parameters, stored or not, by dimension."""
    return {dim: labels for p in plan.parameters for dim, labels in p.coords.items()}


def run_attributes(plan: Plan) -> Attributes:
    """Describe a run before its first draw."""
    seed = plan.settings.seed_sequence()
    found: Attributes = {
        "created_at": datetime.now(UTC).isoformat(timespec="seconds"),
        "inference_library": "luce",
        "inference_library_version": __version__,
        "kind": plan.kind,
        "seed": str(seed.entropy),
        "warmup": plan.warmup,
        **plan.attributes(),
    }
    if seed.spawn_key:
        found["seed_spawn_key"] = list(seed.spawn_key)
    return found


def final_attributes(plan: Plan, sink: Memory) -> Attributes:
    """Return attributes of a run that are known only after its last draw."""
    found: Attributes = {
        "sampling_time": sink.seconds,
        "interrupted": int(sink.interrupted),
        **plan.final_attributes(sink.ends),
    }
    settings, verdict = plan.settings, sink.verdict
    if settings.until is not None:
        found["until"] = settings.until
        found["until_met"] = int(verdict is not None and not verdict.unmet)
        found["draws_asked_for"] = settings.draws
    return found


def labelled(plan: Plan, variables: Mapping[str, Any], more: Mapping[str, Any]) -> Dataset:
    """Label variables over chains and parameters."""
    import xarray as xr

    used = {dim for dims, _ in variables.values() for dim in dims}
    coords = {dim: labels for dim, labels in parameter_coords(plan).items() if dim in used}
    return xr.Dataset(variables, {"chain": np.arange(plan.settings.chains), **more, **coords})
