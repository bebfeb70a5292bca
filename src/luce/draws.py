"""Draws as an xarray DataTree that opens in ArviZ, and that knows where it came from."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import numpy as np

from luce._types import Attributes, FloatArray, Label
from luce.conditional_counts import ConditionalCounts
from luce.dirichlet_process import DirichletProcess
from luce.gamma_prior import Gamma
from luce.sampling import Draws
from luce.version import __version__

if TYPE_CHECKING:
    from xarray import DataTree


def as_datatree(
    result: Draws,
    counts: ConditionalCounts,
    concentration: FloatArray,
    hyperprior: Gamma | None = None,
    process: DirichletProcess | None = None,
) -> DataTree:
    """Dress up the chains: labels as coordinates, settings as attributes."""
    import xarray as xr

    sample = ("chain", "draw")
    chains, draws, _ = result.probabilities.shape
    index = {"chain": np.arange(chains), "draw": np.arange(draws)}
    category = {"category": _coordinate(counts)}
    posterior: dict[str, tuple[tuple[str, ...], FloatArray]] = {
        "probabilities": ((*sample, "category"), result.probabilities)
    }
    if result.log_probabilities is not None:
        posterior["log_probabilities"] = ((*sample, "category"), result.log_probabilities)
    if hyperprior is not None:
        posterior["concentration"] = (sample, result.statistics[:, :, 0])
    names = np.array([part.kernel.statistic for part in result.method.parts])
    statistics = {
        name: ((*sample, "core"), np.where(names == name, result.statistics, np.nan))
        for name in dict.fromkeys(names.tolist())
        if name != "concentration"
    }
    attributes = _attributes(result, counts, concentration)
    if hyperprior is not None:
        attributes["prior"] = (
            f"Dirichlet(a), a ~ Gamma({hyperprior.shape:.17g}, rate {hyperprior.rate:.17g})"
        )
        attributes["concentration_prior"] = [hyperprior.shape, hyperprior.rate]
    constants = {"concentration": ("category", concentration)}
    if process is not None:
        place = process.place(counts)
        attributes["prior"] = repr(process)
        attributes["process_concentration"] = process.mean_concentration
        attributes["process_remainder"] = -1 if place is None else place
        constants["base"] = ("category", process.weights(counts))
    return xr.DataTree.from_dict(
        {
            "/": xr.Dataset(attrs=attributes),
            "/posterior": xr.Dataset(posterior, {**index, **category}, attributes),
            "/sample_stats": xr.Dataset(statistics, index, attributes),
            "/observed_data": xr.Dataset(
                _data(counts), category, {"n_outcomes": counts.n_outcomes}
            ),
            "/constant_data": xr.Dataset(constants, category),
        }
    )


def _data(counts: ConditionalCounts) -> dict[str, tuple[str, np.ndarray]]:
    """The canonical form, whole: `luce.posterior_of` rebuilds the data from it.

    The chains here are those that sets are prefixes of, hence "set_chain"; "chain" is taken.
    """
    sets = counts.sets
    return {
        "category_counts": ("category", counts.category_counts),
        "set_members": ("set_member", sets.members),
        "set_chain_start": ("set_chain_edge", sets.chain_start),
        "set_chain_complement": ("set_chain", sets.complement),
        "set_chain_sets": ("set_chain_edge", sets.set_start),
        "set_end": ("set", sets.set_end),
        "set_exponent": ("set", sets.exponent),
    }


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
    labels = counts.categories
    return np.arange(len(labels)) if isinstance(labels, range) else label_array(labels)


def label_array(labels: Iterable[Label]) -> np.ndarray:
    """Labels as an array: numbers and strings as such, anything else as objects."""
    plain = [x.item() if isinstance(x, np.generic) else x for x in labels]
    kinds = {type(x) for x in plain}
    if kinds <= {str} or kinds <= {int} or kinds <= {float}:
        typed = np.asarray(plain)
        back = typed.tolist()
        # Not the same for huge integers, which may turn into floats, or strings that end in a null.
        if back == plain and {type(x) for x in back} == kinds:
            return typed
    objects = np.empty(len(plain), object)
    objects[:] = plain
    return objects
