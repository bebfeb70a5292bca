"""A run as an xarray DataTree that opens in ArviZ and holds its data, prior and settings."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import numpy as np

from luce._lazy import without_collections
from luce._types import Attributes, NumberArray
from luce.sampling.memory import Memory
from luce.sampling.plan import Plan
from luce.version import __version__

if TYPE_CHECKING:
    from xarray import Dataset, DataTree, Variable
    from xarray.indexes import PandasIndex


# Groups that bear the attributes of the run.
DESCRIBED = ("posterior", "sample_stats")


def as_tree(plan: Plan, sink: Memory) -> DataTree:
    """Turn draws in memory into a run: labels as coordinates, settings as attributes."""
    final = final_attributes(plan, sink)
    return run_tree(plan, sink.arrays, sink.draws, final)


def run_tree(
    plan: Plan, arrays: Mapping[str, NumberArray], draws: int, final: Attributes
) -> DataTree:
    """Build a run from its arrays, by path, and from the plan's data and prior.

    Each group that outputs name has coordinates ``chain``, ``draw``, which holds the numbers of the
    draws that are stored, and those of the plan.  The groups ``posterior`` and ``sample_stats``
    bear the run's attributes, as ArviZ expects.
    """
    with without_collections():
        import xarray as xr

    attributes = {**run_attributes(plan), **final}
    found = {"/": xr.Dataset(attrs=attributes)}
    for name in dict.fromkeys([*DESCRIBED, *(output.group for output in plan.outputs)]):
        coords = {**_index_of(plan, name, draws), **plan.coords(name)}
        own = attributes if name in DESCRIBED else {}
        found[f"/{name}"] = dataset(_variables(plan, arrays, name), coords, own)
    for name, group in plan.groups().items():
        found[f"/{name}"] = dataset(group.variables, group.coords, group.attributes)
    return xr.DataTree.from_dict(found)


def _index_of(plan: Plan, group: str, draws: int) -> dict[str, Any]:
    """Number the chains and the stored draws of a group, and label the parameters in it."""
    steps = sorted({output.every for output in plan.outputs if output.group == group} or {1})
    if len(steps) > 1:
        raise ValueError(f"the outputs of {group!r} share their draws, and have every = {steps}.")
    numbers = np.arange(steps[0] - 1, draws, steps[0])
    labels = _coords(plan) if group == "posterior" else {}
    return {"chain": np.arange(plan.settings.chains), "draw": numbers, **labels}


def dataset(
    variables: Mapping[str, tuple[Any, ...]], coords: Mapping[str, Any], attributes: Attributes
) -> Dataset:
    """Build a group of a run from NumPy's arrays.

    Given bare arrays, xarray imports Dask, where it is installed, to find out whether they are
    Dask's.  That takes longer than a small run; arrays of numbers and of texts are therefore
    wrapped beforehand, with the same result.
    """
    import xarray as xr

    others = {name: pair for name, pair in coords.items() if isinstance(pair, tuple)}
    labels = {dim: given for dim, given in coords.items() if dim not in others}
    pairs = [*variables.values(), *others.values()]
    if not all(map(_is_plain, [*(pair[1] for pair in pairs), *labels.values()])):
        return xr.Dataset(variables, coords, attributes)

    def wrapped(dims: Any, values: Any, attrs: Any = None) -> Variable:
        return xr.Variable(dims, values, attrs, fastpath=True)

    indexes = {dim: _index(dim, given) for dim, given in labels.items()}
    own = {dim: index.create_variables()[dim] for dim, index in indexes.items()}
    own |= {name: wrapped(*pair) for name, pair in others.items()}
    found = {name: wrapped(*given) for name, given in variables.items()}
    return xr.Dataset(found, xr.Coordinates(own, indexes), attributes)


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


def _variables(plan: Plan, arrays: Mapping[str, NumberArray], group: str) -> dict[str, Any]:
    return {
        output.name: (
            ("chain", "draw", *output.dims),
            arrays[output.path],
            dict(output.attributes or {}),
        )
        for output in plan.outputs
        if output.group == group and output.path in arrays
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
