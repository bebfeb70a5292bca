"""Draws as an xarray DataTree that opens in ArviZ, and that knows where it came from."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import numpy as np

from luce._types import Attributes, FloatArray
from luce.conditional_counts import ConditionalCounts
from luce.sampling import Draws
from luce.version import __version__

if TYPE_CHECKING:
    from xarray import DataTree


def as_datatree(result: Draws, counts: ConditionalCounts, concentration: FloatArray) -> DataTree:
    """Dress up the chains: labels as coordinates, settings as attributes."""
    import xarray as xr

    sample = ("chain", "draw")
    chains, draws, _ = result.probabilities.shape
    index = {"chain": np.arange(chains), "draw": np.arange(draws)}
    category = {"category": _coordinate(counts)}
    posterior = {"probabilities": ((*sample, "category"), result.probabilities)}
    if result.log_probabilities is not None:
        posterior["log_probabilities"] = ((*sample, "category"), result.log_probabilities)
    names = np.array([part.kernel.statistic for part in result.method.parts])
    statistics = {
        name: ((*sample, "core"), np.where(names == name, result.statistics, np.nan))
        for name in dict.fromkeys(names.tolist())
    }
    attributes = _attributes(result, counts, concentration)
    return xr.DataTree.from_dict(
        {
            "/": xr.Dataset(attrs=attributes),
            "/posterior": xr.Dataset(posterior, {**index, **category}, attributes),
            "/sample_stats": xr.Dataset(statistics, index, attributes),
            "/observed_data": xr.Dataset(
                {"category_counts": ("category", counts.category_counts)}, category
            ),
            "/constant_data": xr.Dataset({"concentration": ("category", concentration)}, category),
        }
    )


def _attributes(result: Draws, counts: ConditionalCounts, concentration: FloatArray) -> Attributes:
    same = bool((concentration == concentration[0]).all())
    attributes: Attributes = {
        "created_at": datetime.now(UTC).isoformat(timespec="seconds"),
        "inference_library": "luce",
        "inference_library_version": __version__,
        "method": result.method.name,
        "reason": result.method.reason,
        "independent_draws": int(result.method.independent),
        "reduced": int(result.method.plan is not None),
        "seed": str(result.seed.entropy),
        "warmup": result.warmup,
        "prior": f"Dirichlet({concentration[0]:.17g})" if same else "Dirichlet, see constant_data",
        "data": repr(counts),
        "data_digest": counts.digest,
        "sampling_time": result.seconds,
        "interrupted": int(result.interrupted),
    }
    if result.seed.spawn_key:
        attributes["seed_spawn_key"] = list(result.seed.spawn_key)
    if result.method.parts:
        attributes["core_methods"] = [part.name for part in result.method.parts]
        attributes["core_reasons"] = [part.reason for part in result.method.parts]
    tuned = [q for q, part in enumerate(result.method.parts) if part.name == "metropolis"]
    if tuned:
        attributes["proposal_concentration"] = np.exp(result.log_tuning[:, tuned]).ravel().tolist()
    return attributes


def _coordinate(counts: ConditionalCounts) -> np.ndarray:
    """Labels as an array: numbers and strings as such, anything else as objects."""
    labels = counts.categories
    if isinstance(labels, range):
        return np.arange(len(labels))
    plain = [x.item() if isinstance(x, np.generic) else x for x in labels]
    kinds = {type(x) for x in plain}
    if kinds <= {str} or kinds <= {int} or kinds <= {float}:
        typed = np.asarray(plain)
        if typed.tolist() == plain:  # not so for huge integers, or strings that end in a null
            return typed
    objects = np.empty(len(plain), object)
    objects[:] = plain
    return objects
