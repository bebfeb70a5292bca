"""Draws as an xarray DataTree that opens in ArviZ, and that knows where it came from."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from luce._types import Attributes, FloatArray, IntArray
from luce.counts.counts import ConditionalCounts
from luce.counts.labels import label_array
from luce.model.model import Model
from luce.model.priors import DirichletProcess, Gamma
from luce.sampling.memory import Draws
from luce.sampling.methods import Method
from luce.version import __version__

if TYPE_CHECKING:
    from xarray import DataTree

Variables: TypeAlias = dict[str, tuple[tuple[str, ...], FloatArray]]


@dataclass(frozen=True)
class Origin:
    """What draws were made from: data, prior, method, settings."""

    model: Model
    method: Method
    warmup: int
    seed: np.random.SeedSequence
    thin: int
    kept: IntArray | None
    pieces: tuple[str, ...] = ()  # digests of the data, where it was given in pieces

    @property
    def counts(self) -> ConditionalCounts:
        """The data."""
        return self.model.counts

    @property
    def concentration(self) -> FloatArray:
        """The prior's parameter."""
        return self.model.concentration

    @property
    def hyperprior(self) -> Gamma | None:
        """Distribution of the concentration, where it is drawn."""
        return self.model.hyperprior

    @property
    def process(self) -> DirichletProcess | None:
        """The Dirichlet process, where that is the prior."""
        prior = self.model.prior
        return prior if isinstance(prior, DirichletProcess) else None

    @property
    def digest(self) -> str:
        """A fingerprint of the data."""
        if not self.pieces:
            return self.counts.digest
        return hashlib.sha256("\n".join(self.pieces).encode()).hexdigest()

    @property
    def statistics(self) -> list[str]:
        """What each core's method counts, "concentration" aside: that is drawn, not counted."""
        names = dict.fromkeys(part.kernel.statistic for part in self.method.parts)
        return [name for name in names if name != "concentration"]

    def statistic(self, name: str, values: FloatArray) -> FloatArray:
        """One of them, nan for cores whose method counts something else."""
        own = np.array([part.kernel.statistic for part in self.method.parts])
        return np.where(own == name, values, np.nan)


def as_datatree(result: Draws, origin: Origin) -> DataTree:
    """Dress up the chains: labels as coordinates, settings as attributes."""
    posterior: Variables = {"probabilities": (("chain", "draw", "category"), result.probabilities)}
    if result.log_probabilities is not None:
        posterior["log_probabilities"] = (("chain", "draw", "category"), result.log_probabilities)
    if origin.hyperprior is not None:
        posterior["concentration"] = (("chain", "draw"), result.statistics[:, :, 0])
    statistics: Variables = {
        name: (("chain", "draw", "core"), origin.statistic(name, result.statistics))
        for name in origin.statistics
    }
    final = final_attributes(origin, result.seconds, result.interrupted, result.log_tuning)
    return run_tree(origin, result.probabilities.shape[:2], posterior, statistics, final)


def run_tree(
    origin: Origin,
    size: tuple[int, int],
    posterior: Variables,
    statistics: Variables,
    final: Attributes,
) -> DataTree:
    """Put a run together; `size` is that of chains and draws."""
    import xarray as xr

    counts, process = origin.counts, origin.process
    index = {"chain": np.arange(size[0]), "draw": np.arange(size[1])}
    category = label_array(counts.categories)
    attributes = {**_attributes(origin), **final}
    constants = {"concentration": ("category", origin.concentration)}
    if process is not None:
        constants["base"] = ("category", process.weights(counts))
    own = {"category": category if origin.kept is None else category[origin.kept]}
    return xr.DataTree.from_dict(
        {
            "/": xr.Dataset(attrs=attributes),
            "/posterior": xr.Dataset(posterior, {**index, **own}, attributes),
            "/sample_stats": xr.Dataset(statistics, index, attributes),
            "/observed_data": xr.Dataset(
                _data(counts), {"category": category}, {"n_outcomes": counts.n_outcomes}
            ),
            "/constant_data": xr.Dataset(constants, {"category": category}),
        }
    )


def _data(counts: ConditionalCounts) -> dict[str, tuple[str, np.ndarray]]:
    """The canonical form, whole: `luce.posterior_of` rebuilds the data from it.

    The chains here are those that sets are prefixes of, hence "set_nest"; "chain" is taken.
    """
    sets = counts.sets
    return {
        "category_counts": ("category", counts.category_counts),
        "set_members": ("set_member", sets.members),
        "set_nest_start": ("set_nest_edge", sets.nest_start),
        "set_nest_complement": ("set_nest", sets.complement),
        "set_nest_sets": ("set_nest_edge", sets.set_start),
        "set_end": ("set", sets.set_end),
        "set_exponent": ("set", sets.exponent),
    }


def _attributes(origin: Origin) -> Attributes:
    """What is known before the first draw."""
    a, method, hyperprior = origin.concentration, origin.method, origin.hyperprior
    same = bool((a == a[0]).all())
    attributes: Attributes = {
        "created_at": datetime.now(UTC).isoformat(timespec="seconds"),
        "inference_library": "luce",
        "inference_library_version": __version__,
        "method": method.name,
        "reason": method.reason,
        "independent_draws": int(method.independent),
        "reduced": int(method.splits is not None),
        "seed": str(origin.seed.entropy),
        "warmup": origin.warmup,
        "prior": f"Dirichlet({a[0]:.17g})" if same else "Dirichlet, see constant_data",
        "data": repr(origin.counts),
        "data_digest": origin.digest,
    }
    if origin.pieces:
        attributes["data_pieces"] = len(origin.pieces)
    if origin.thin > 1:
        attributes["thin"] = origin.thin
    if origin.kept is not None:
        attributes["kept_categories"] = len(origin.kept)
    if origin.seed.spawn_key:
        attributes["seed_spawn_key"] = list(origin.seed.spawn_key)
    if method.parts:
        attributes["core_methods"] = [part.name for part in method.parts]
        attributes["core_reasons"] = [part.reason for part in method.parts]
    if hyperprior is not None:
        attributes["prior"] = (
            f"Dirichlet(a), a ~ Gamma({hyperprior.shape:.17g}, rate {hyperprior.rate:.17g})"
        )
        attributes["concentration_prior"] = [hyperprior.shape, hyperprior.rate]
    if origin.process is not None:
        place = origin.process.remainder_place(origin.counts)
        attributes["prior"] = repr(origin.process)
        attributes["process_concentration"] = origin.process.mean_concentration
        attributes["process_remainder"] = -1 if place is None else place
    return attributes


def final_attributes(
    origin: Origin, seconds: float, interrupted: bool, log_tuning: FloatArray
) -> Attributes:
    """What is known after the last draw."""
    attributes: Attributes = {"sampling_time": seconds, "interrupted": int(interrupted)}
    tuned = [q for q, part in enumerate(origin.method.parts) if part.name == "metropolis"]
    if tuned:
        attributes["proposal_concentration"] = np.exp(log_tuning[:, tuned]).ravel().tolist()
    return attributes
