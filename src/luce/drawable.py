"""What posteriors are drawn by: their structure, and the chains."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from luce._types import Labels, SeedLike
from luce.errors import MethodError
from luce.model.data_and_prior import DataAndPrior
from luce.model.shapes import ModuleShapes, shapes_of
from luce.model.structure import Structure, structure_of
from luce.sampling.progress import announce_compilation

if TYPE_CHECKING:
    from distributed import Client
    from xarray import DataTree

    from luce.cluster.connect import ClusterLike
    from luce.sampling.settings import Settings


class Drawable(DataAndPrior):
    """Data and prior that draws can be made of; see `Posterior`."""

    @cached_property
    def structure(self) -> Structure:
        """Which parts are exact, and which must be simulated; printed, also how and why."""
        return replace(self._structure, choices=self._choices)

    @cached_property
    def _structure(self) -> Structure:
        announce_compilation()
        return structure_of(self._counts.sets)

    def _choices(self) -> list[str]:
        from luce.sampling.methods import parts_of

        if self._hyperprior is not None:
            return ["waiting-times, the concentration is drawn too"] * len(self._structure.cores)
        return [f"{part.name}, {part.reason}" for part in parts_of(self._shapes)]

    @cached_property
    def _shapes(self) -> ModuleShapes:
        return shapes_of(self._structure, self._counts, self._concentration)

    def sample(
        self,
        draws: int = 1000,
        *,
        chains: int = 4,
        warmup: int | None = None,
        seed: SeedLike = None,
        method: str = "auto",
        reduce: bool = True,
        initial: ArrayLike | str = "prior",
        threads: int | None = None,
        progress: bool = True,
        log_probabilities: bool | None = None,
        proposal_concentration: float | None = None,
        thin: int = 1,
        keep: Labels | None = None,
        to: str | os.PathLike[str] | None = None,
        quantiles: Sequence[float] | None = None,
        cluster: ClusterLike = None,
    ) -> DataTree:
        """Draw from the posterior.

        Parameters
        ----------
        draws
            Draws to keep from each chain.
        chains
            Independent chains.
        warmup
            Sweeps to discard first; half the draws, at least 100 and at most 1000, unless given.
            Exact draws need none.
        seed
            The same seed gives the same draws, for any number of threads.
        method
            "auto" chooses for each core, see `structure`.  Or one for all: "exact" (where the
            sets nest), "rejection" (perfect draws, where each set leaves out one atom),
            "hamiltonian" (for weakly connected cores), "waiting-times", "hidden-counts" (the
            paper's) or "metropolis" (the paper's baseline).  Where the sets nest nothing is left
            to simulate, and every method but one with ``reduce=False`` is exact.
        reduce
            Simulate only the irreducible cores and split exactly around them; False runs the
            method on the raw categories.
        initial
            "prior" starts every chain at a draw of the prior; or starting probabilities, shape
            (n_categories,) or (chains, n_categories).
        threads
            Chains run at the same time; as many as there are processors unless given.
        progress
            Show a bar for anything longer than two seconds?
        log_probabilities
            Keep logarithms too, at twice the memory?  Unless given: where some shape below 0.1
            makes probabilities so small that they are wanted.
        proposal_concentration
            "metropolis" only: the proposal's parameter; tuned to accept 0.24 unless given.
        thin
            Sweeps a draw: of so many one is kept.
        keep
            The labels whose draws are kept; all unless given.
        to
            A folder, ending in .zarr, that draws go to as they are made, so that memory does not
            grow with them; a run that was broken off goes on with `luce.resume`.
        quantiles
            With `to`: fractions whose quantiles are followed for every category, kept or not.
            Means and standard deviations are followed in any case.
        cluster
            Draw the chains on the workers of a Dask scheduler, given by its address or a client, or
            "local" for processes of this machine; None, as ever, in threads of this process.

        Returns
        -------
        DataTree
            ``posterior["probabilities"]`` with dimensions (chain, draw, category); statistics of
            the chains, prior and counts in the other groups; the settings as attributes.  With
            `to`, draws are read from the disk where they are asked for.
        """
        from luce.cluster.chains import stream_on
        from luce.cluster.connect import connected
        from luce.runs.open_stream import begin
        from luce.sampling.settings import Settings

        settings = Settings(
            draws, chains, warmup, seed, method, reduce, initial, threads, progress,
            log_probabilities, proposal_concentration, thin, keep,
        )  # fmt: skip
        if to is None and quantiles is not None:
            raise MethodError("quantiles are followed only in a run that goes to a disk, to=...")
        with connected(cluster) as client:
            if to is not None:
                elsewhere = None if client is None else stream_on(client, self)
                return begin(self, self._shapes, settings, Path(to), quantiles, elsewhere)
            return self._draw(settings, client)

    def _draw(self, settings: Settings, client: Client | None) -> DataTree:
        from luce.cluster.chains import draw_on
        from luce.runs.tree import Origin, as_datatree
        from luce.sampling.convergence import warn_if_not_converged
        from luce.sampling.memory import draw

        if client is None:
            result = draw(self, self._shapes, settings)
        else:
            result = draw_on(client, self, self._shapes, settings)
        if not result.method.independent:
            proposes = [part.kernel.statistic == "accepted" for part in result.method.parts]
            accepted = result.statistics[..., proposes] if any(proposes) else None
            watched = result.probabilities
            if self._hyperprior is not None:
                watched = np.concatenate([watched, result.statistics], axis=2)
            warn_if_not_converged(watched, accepted)
        origin = Origin(
            self._counts, self._concentration, self._hyperprior, self._process, result.method,
            result.warmup, result.seed, result.thin, result.kept,
        )  # fmt: skip
        return as_datatree(result, origin)
