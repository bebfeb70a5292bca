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
from numpy.typing import ArrayLike

from luce._types import FloatArray, IntArray
from luce.answers.rank_uniformity import ranks_of
from luce.calibration.design import Design, log_likelihoods
from luce.counts.counts import ConditionalCounts
from luce.counts.family import fields
from luce.model.model import Model
from luce.model.structure import Structure, structure_of
from luce.sampling.convergence import worst_ess
from luce.sampling.memory import Memory
from luce.sampling.plan import PosteriorPlan
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
        own = self._design.prior
        data = Model(counts, self._design.given_prior, parameters=own.parameter_priors)
        draws, method, thin, mixed = self._drawer(data, of_draws)
        log_likelihood = log_likelihoods(truth.log_p, counts, truth.parameters)
        known = [*truth.log_p, float(log_likelihood)]
        if truth.concentration is not None:
            known.append(np.log(truth.concentration))
        known += [np.log(truth.parameters[name]) for name in own.drawn_parameters]
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
            draws=draws,
            chains=_CHAINS,
            warmup=warmup,
            seed=0,
            method=method,
            reduce=reduce,
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
        """Draw log probabilities, log likelihood, and logs of the parameters that are random.

        Returns
        -------
        draws
            Shape (draw, quantity).
        method, thin, mixed
            The method's name, the sweeps between draws, and whether these were enough.
        """
        counts = data.counts
        model = Model(counts, data.prior, self._structure_of(counts), data.parameter_priors)
        plan = PosteriorPlan.of(model, self._settings.reseeded(seed))
        if plan.independent:
            plan = replace(plan, settings=replace(plan.settings, chains=1))
        else:
            plan = replace(plan, settings=replace(plan.settings, thin=self._thin))
        seeds = plan.settings.seed_sequence().spawn(plan.settings.chains)
        chains = [plan.new_chain(number, own) for number, own in enumerate(seeds)]
        while True:
            sink = Memory(plan)
            for chain in chains:
                while not chain.finished:
                    chain.advance(sink)
            values = _quantities(sink, model)
            draws, thin = plan.settings.draws, plan.settings.thin
            if plan.independent:
                return values[0], plan.choice.name, 1, True
            # Four chains of L draws are 4 L draws; their effective size must be half of that.
            mixed = worst_ess(values) >= _SPARE * draws / 2
            if mixed or thin >= self._most_thin:
                self._thin = thin if thin > self._thin else max(1, thin // 2)
                spaced = values.reshape(-1, values.shape[2])[_SPARE - 1 :: _SPARE]
                return spaced, plan.choice.name, thin, mixed
            plan = replace(plan, settings=replace(plan.settings, thin=2 * thin))
            for chain in chains:
                chain.start_over(plan.sweeping)

    def _structure_of(self, counts: ConditionalCounts) -> Structure | None:
        """Return the structure of the sets, kept from the last replication where they are equal."""
        if counts.events is not None:
            return None
        n, *arrays = fields(counts.sets)
        key = n, *(array.tobytes() for array in arrays)
        if self._found is None or self._found[0] != key:
            self._found = key, structure_of(counts.sets)
        return self._found[1]


def _quantities(sink: Memory, model: Model) -> FloatArray:
    """Stack log probabilities, log likelihood and log parameters as (chain, draw, quantity)."""
    log_p = sink.arrays["posterior/log_probabilities"]
    drawn: dict[str, FloatArray] = {
        name: sink.arrays[f"posterior/{name}"] for name in model.drawn_parameters
    }
    parameters: dict[str, ArrayLike] = {**drawn, **model.known_parameters}
    parts = [log_p, log_likelihoods(log_p, model.counts, parameters)[..., None]]
    if "posterior/concentration" in sink.arrays:
        parts.append(np.log(sink.arrays["posterior/concentration"])[..., None])
    parts += [np.log(each)[..., None] for each in drawn.values()]
    return np.concatenate(parts, axis=2)
