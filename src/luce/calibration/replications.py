"""One replication: a truth, its data, and its ranks among nearly independent draws.

Ranks are uniform if truth and draws are exchangeable, so the draws must be independent of each
other.  Exact draws and those of rejection are.  Of Markov chains four are run from separate starts
and four draws are made for each that is ranked; if all quantities together say that two of the
four are worth less than an independent one, the chains go on with twice the sweeps between draws,
and what was drawn so far is one more warm-up.  The next replication starts with as many, or with
half as many where these were enough at once.  Of the last 4 L draws every fourth is ranked among:
their correlation is then below 0.02 where it decays geometrically.  The rule looks at draws alone,
never at the truth.
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
from luce.sampling.convergence import worst_ess
from luce.sampling.memory import Memory
from luce.sampling.plan import PosteriorPlan
from luce.sampling.settings import Settings

# Draws made for each that is ranked, and chains that make them.
_SPARE = 4
_CHAINS = 4

# As many sweeps are discarded as `Posterior.sample` discards before 1,000 draws.
_WARMUP = 500

# Sweeps between draws, beyond which a chain is said not to mix.
_MOST_THIN = 2**9


@dataclass(frozen=True)
class Replication:
    """What one replication found: ranks, the method's name, sweeps a draw, whether that did."""

    ranks: IntArray
    method: str
    thin: int
    mixed: bool


class Replicator:
    """Makes replications; what does not change from one to the next is worked out once."""

    def __init__(self, design: Design, draws: int, method: str, reduce: bool) -> None:
        self._design = design
        self._drawer = NearlyIndependent(draws, method, reduce)

    def __call__(self, seed: np.random.SeedSequence) -> Replication:
        """Draw a truth, simulate its data, draw its posterior, and rank."""
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
    """Draws posteriors, so far apart that the draws can be ranked among."""

    def __init__(self, draws: int, method: str = "auto", reduce: bool = True) -> None:
        self._settings = Settings(
            draws=draws,
            chains=_CHAINS,
            warmup=_WARMUP,
            seed=0,
            method=method,
            reduce=reduce,
            threads=1,
            progress=False,
            log_probabilities=True,
        )
        self._found: tuple[tuple[object, ...], Structure] | None = None
        self._thin = 1  # sweeps between draws that the next replication starts with

    def __call__(
        self, data: Model, seed: np.random.SeedSequence
    ) -> tuple[FloatArray, str, int, bool]:
        """Draw log probabilities, log likelihood and, where it is drawn, log concentration.

        Returns
        -------
        draws
            Shape (draw, quantity).
        method, thin, mixed
            How they were drawn, the sweeps between two draws, and whether these are enough.
        """
        counts = data.counts
        model = Model(counts, data.prior, self._structure_of(counts))
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
            values = _quantities(sink, counts)
            draws, thin = plan.settings.draws, plan.settings.thin
            if plan.independent:
                return values[0], plan.choice.name, 1, True
            # Four chains of L draws each are 4 L draws; half of these must be worth one each.
            mixed = worst_ess(values) >= _SPARE * draws / 2
            if mixed or thin >= _MOST_THIN:
                self._thin = thin if thin > self._thin else max(1, thin // 2)
                spaced = values.reshape(-1, values.shape[2])[_SPARE - 1 :: _SPARE]
                return spaced, plan.choice.name, thin, mixed
            plan = replace(plan, settings=replace(plan.settings, thin=2 * thin))
            for chain in chains:
                chain.start_over(plan.sweeping)

    def _structure_of(self, counts: ConditionalCounts) -> Structure:
        """Take sets apart, unless they are those of the replication before, with their powers."""
        n, *arrays = fields(counts.sets)
        key = n, *(array.tobytes() for array in arrays)
        if self._found is None or self._found[0] != key:
            self._found = key, structure_of(counts.sets)
        return self._found[1]


def _quantities(sink: Memory, counts: ConditionalCounts) -> FloatArray:
    """Return log probabilities, log likelihood and log concentration, (chain, draw, quantity)."""
    log_p = sink.arrays["posterior/log_probabilities"]
    parts = [log_p, log_likelihoods(log_p, counts)[..., None]]
    if "posterior/concentration" in sink.arrays:
        parts.append(np.log(sink.arrays["posterior/concentration"])[..., None])
    return np.concatenate(parts, axis=2)
