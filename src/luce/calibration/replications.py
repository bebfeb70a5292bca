"""One replication: a truth, its data, and its ranks among nearly independent draws.

Ranks are uniform if truth and draws are exchangeable, so the draws must be independent of each
other.  Exact draws and those of rejection are.  For L draws of Markov chains, four chains with
starts of their own make L draws each.  If the smallest effective sample size of all quantities is
below 2 L, the chains go on with twice the sweeps between draws, and the draws made so far count as
warm-up.  The next replication starts with the same spacing, or with half of it where it was enough
at once.  Every fourth of the last 4 L draws is ranked among: their correlation is below 0.02 where
it decays geometrically.  The rule looks at draws alone, never at the truth.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from luce._types import FloatArray, IntArray
from luce.answers.rank_uniformity import ranks_of
from luce.calibration.design import Design, log_likelihoods
from luce.counts.counts import ConditionalCounts
from luce.counts.family import fields
from luce.model.model import Model
from luce.model.structure import Structure, structure_of
from luce.sampling.chains import Task, advance, new_chains
from luce.sampling.convergence import worst_ess
from luce.sampling.memory import Draws, empty_draws
from luce.sampling.methods import choose_method
from luce.sampling.settings import Settings

# Draws made for each draw that is ranked among, and the chains that make them.
_SPARE = 4
_CHAINS = 4


@dataclass(frozen=True)
class Replication:
    """The ranks of one replication, the method, the sweeps between draws, and if these sufficed."""

    ranks: IntArray
    method: str
    thin: int
    mixed: bool


class Replicator:
    """Makes replications of a design, each with a seed of its own."""

    def __init__(self, design: Design, drawer: NearlyIndependent) -> None:
        self._design, self._drawer = design, drawer

    def __call__(self, seed: np.random.SeedSequence) -> Replication:
        """Draw a truth, simulate its data, draw their posterior, and rank the truth."""
        of_truth, of_draws = seed.spawn(2)
        rng = np.random.default_rng(of_truth)
        truth = self._design.draw_truth(rng)
        counts = self._design.record(rng, truth)
        data = Model(counts, self._design.given_prior)
        draws, method, thin, mixed = self._drawer(data, of_draws)
        known = [*truth.log_p, float(log_likelihoods(truth.log_p, counts))]
        if truth.concentration is not None:
            known.append(np.log(truth.concentration))
        return Replication(ranks_of(np.array(known), draws, rng), method, thin, mixed)


class NearlyIndependent:
    """Draws from posteriors, with enough sweeps between draws that they are nearly independent.

    Parameters
    ----------
    draws, method, reduce
        As in `Posterior.sample`.
    warmup
        Sweeps that each Markov chain discards first.
    most_thin
        Sweeps between draws beyond which a chain counts as not mixing.
    """

    def __init__(
        self,
        draws: int,
        method: str = "auto",
        reduce: bool = True,
        warmup: int = 500,
        most_thin: int = 512,
    ) -> None:
        self._settings = Settings(
            draws,
            _CHAINS,
            warmup,
            0,
            method,
            reduce,
            threads=1,
            progress=False,
            log_probabilities=True,
        )
        self._most_thin = most_thin
        self._found: tuple[tuple[object, ...], Structure] | None = None
        self._thin = 1  # sweeps between draws at the start of the next replication

    def __call__(
        self, data: Model, seed: np.random.SeedSequence
    ) -> tuple[FloatArray, str, int, bool]:
        """Draw log probabilities, log likelihood and, where it is random, log concentration.

        Returns
        -------
        draws
            Shape (draw, quantity).
        method, thin, mixed
            The method's name, the sweeps between draws, and whether these were enough.
        """
        counts, settings = data.counts, self._settings.reseeded(seed)
        model = Model(counts, data.prior, self._structure_of(counts))
        method = choose_method(model, settings)
        settings = replace(settings, chains=1 if method.independent else _CHAINS)
        task = Task(method, counts.n_categories, 1 if method.independent else self._thin)
        chains = new_chains(task, model.shapes, settings)
        while True:
            room = empty_draws(method, task.n, None, True, settings, settings.chains)
            for chain in chains:
                chain.done, chain.to_draw = 0, settings.draws
                while chain.unfinished:
                    advance(chain, task, room)
            values = _quantities(room, counts, data.hyperprior is not None)
            if method.independent:
                return values[0], method.name, 1, True
            # Four chains of L draws are 4 L draws; their effective size must be half of that.
            mixed = worst_ess(values) >= _SPARE * settings.draws / 2
            if mixed or task.thin >= self._most_thin:
                self._thin = task.thin if task.thin > self._thin else max(1, task.thin // 2)
                spaced = values.reshape(-1, values.shape[2])[_SPARE - 1 :: _SPARE]
                return spaced, method.name, task.thin, mixed
            task = replace(task, thin=2 * task.thin)

    def _structure_of(self, counts: ConditionalCounts) -> Structure:
        """Return the structure of the sets, kept from the last replication where they are equal."""
        n, *arrays = fields(counts.sets)
        key = n, *(array.tobytes() for array in arrays)
        if self._found is None or self._found[0] != key:
            self._found = key, structure_of(counts.sets)
        return self._found[1]


def _quantities(room: Draws, counts: ConditionalCounts, drawn: bool) -> FloatArray:
    """Stack log probabilities, log likelihood and log concentration as (chain, draw, quantity)."""
    log_p = room.log_probabilities
    assert log_p is not None
    parts = [log_p, log_likelihoods(log_p, counts)[..., None]]
    if drawn:
        parts.append(np.log(room.statistics))
    return np.concatenate(parts, axis=2)
