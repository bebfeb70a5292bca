"""The paper's experiments: every sampler on the same posteriors, reduced to numbers for figures.

Chains start at draws of the prior; statistics at an index use the second half of the draws up to
it.  The paper's two samplers run on the raw categories, as in the paper.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from luce._types import FloatArray, IntArray
from luce.answers import diagnostics
from luce.paper.augmented import SummedOut, sum_out
from luce.paper.densities import Densities, measure_densities
from luce.paper.examples import paper_posterior
from luce.paper.samplers import (
    FLOOR,
    HIDDEN,
    SAMPLERS,
    TUNED,
    Key,
    Sampler,
    Scale,
    Way,
    sample,
    seconds_a_draw,
    way_to_draw,
)
from luce.posterior import Posterior

Say = Callable[[str], None]  # shows a description of the present step


class TimeDraws(Protocol):
    """Measures the seconds of one draw, as `seconds_a_draw` does."""

    def __call__(
        self, ways: Mapping[Key, Way], rounds: int = ..., long: int = ..., /
    ) -> dict[Key, float]:
        """Return the seconds of one draw of each way."""


_WATCHED = 10  # categories whose effective sample sizes are computed where there are many


@dataclass(frozen=True)
class Run:
    """Measurements of one sampler on one posterior.

    Parameters
    ----------
    sampler
        The sampler.
    seconds
        Processor seconds of one draw of one chain.
    effective
        Smallest effective sample size over the categories, as a share of the draws used.
    proposal, accepted
        Concentration and acceptance rate of Metropolis proposals; nan for the others.
    autocorrelation
        Of the first two categories, shape (chain, lag, 2).
    index
        Numbers of draws at which the following were evaluated, first halves discarded.
    rhat
        Multivariate potential scale reduction factor, shape (index,).
    mean_error, variance_error
        Distance from the truth, shape (chain, index).
    chain_means, chain_variances
        Of the second halves, shape (chain, category); variances are about the true mean.
    printed_rhat
        The paper's last formula for the MPSRF, as printed, on the second halves.
    """

    sampler: Sampler
    seconds: float
    effective: float
    proposal: float
    accepted: float
    autocorrelation: FloatArray
    index: IntArray
    rhat: FloatArray
    mean_error: FloatArray
    variance_error: FloatArray
    chain_means: FloatArray
    chain_variances: FloatArray
    printed_rhat: float

    @property
    def label(self) -> str:
        """The sampler's label, with the concentration that it was tuned to."""
        tuned = self.sampler is TUNED
        return f"{self.sampler.label} (β = {self.proposal:.0f})" if tuned else self.sampler.label

    @property
    def rate(self) -> float:
        """Effective draws a second."""
        return self.effective / self.seconds


@dataclass(frozen=True)
class Comparison:
    """All samplers on the paper's posterior with n categories."""

    n: int
    runs: dict[str, Run]

    def __getitem__(self, sampler: Sampler) -> Run:
        return self.runs[sampler.key]

    def __iter__(self) -> Iterator[Run]:
        return iter(self.runs.values())


@dataclass(frozen=True)
class Size:
    """The paper's sampler on n categories: seconds a draw, effective share of ten categories."""

    n: int
    seconds: float
    effective: float


def compare(
    n: int, scale: Scale, seed: int, say: Say, time_draws: TimeDraws = seconds_a_draw
) -> Comparison:
    """Run all samplers on the paper's posterior with n categories."""
    posterior = paper_posterior(n)
    options = {sampler: dict(sampler.options) for sampler in SAMPLERS[n]}
    seeds = {s: np.random.SeedSequence([seed, n, k]).spawn(2) for k, s in enumerate(SAMPLERS[n])}
    say(f"n = {n}: timing")
    if TUNED in options:
        options[TUNED]["proposal_concentration"] = _tuned(posterior, scale, seeds[TUNED][0])
    ways = {s: way_to_draw(posterior, s, o) for s, o in options.items()}
    seconds = time_draws(ways, scale.rounds)
    runs: dict[str, Run] = {}
    truth = None
    for sampler in SAMPLERS[n]:
        say(f"n = {n}: {sampler.label}")
        p, accepted = _draws(posterior, sampler, options[sampler], scale, seeds[sampler][1])
        if truth is None:  # as in the paper: from all chains of its own sampler, the first one
            truth = diagnostics.pooled_moments(p)
        errors = diagnostics.statistic_convergence(p, scale.points, truth)
        rhat = diagnostics.mpsrf_convergence(p, scale.points)
        late = p[:, scale.draws // 2 :]
        runs[sampler.key] = Run(
            sampler=sampler,
            seconds=seconds[sampler],
            effective=_effective(late),
            proposal=options[sampler].get("proposal_concentration", np.nan),
            accepted=accepted,
            autocorrelation=diagnostics.autocorrelation(p[..., :2], scale.lags).to_numpy(),
            index=rhat["draw"].to_numpy(),
            rhat=rhat.to_numpy(),
            mean_error=errors["mean_error"].to_numpy(),
            variance_error=errors["variance_error"].to_numpy(),
            chain_means=late.mean(axis=1),
            # About its own mean a chain that hardly moves would have hardly any variance.
            chain_variances=((late - truth[0]) ** 2).mean(axis=1),
            printed_rhat=_printed_rhat(late),
        )
    return Comparison(n, runs)


def grow(
    ten: Comparison, scale: Scale, seed: int, say: Say, time_draws: TimeDraws = seconds_a_draw
) -> list[Size]:
    """Run the paper's sampler on more categories than the ten of the comparison."""
    posteriors = {n: paper_posterior(n) for n in scale.sizes}
    say("more categories: timing")
    ways = {n: way_to_draw(p, HIDDEN, HIDDEN.options) for n, p in posteriors.items()}
    seconds = time_draws(ways, 2, 6_000)
    found = [Size(ten.n, ten[HIDDEN].seconds, ten[HIDDEN].effective)]
    scale = replace(scale, chains=scale.size_chains, draws=scale.size_draws)
    for n, posterior in posteriors.items():
        say(f"n = {n}: {HIDDEN.label}")
        own = np.random.SeedSequence([seed, n])
        p, _ = _draws(posterior, HIDDEN, HIDDEN.options, scale, own)
        some = p[:, scale.draws // 2 :, :: n // _WATCHED]
        found.append(Size(n, seconds[n], _effective(some)))
    return found


class Experiments:
    """All measurements, each made when it is first asked for and then kept.

    Parameters
    ----------
    scale
        Sizes of the experiments.
    seed
        Equal seeds give equal draws.
    say
        Called with a description of each step.
    time_draws
        Measures the seconds of a draw.
    """

    def __init__(
        self, scale: Scale, seed: int, say: Say, time_draws: TimeDraws = seconds_a_draw
    ) -> None:
        self.scale, self.seed = scale, seed
        self._say, self._time_draws = say, time_draws

    @cached_property
    def densities(self) -> Densities:
        """Densities and draws of three categories."""
        self._say("n = 3: hidden counts")
        return measure_densities(self.scale.chains, self.scale.draws, self.seed)

    @cached_property
    def summed_out(self) -> SummedOut:
        """The augmented model, summed over its hidden counts."""
        self._say("n = 4: sums over hidden counts")
        return sum_out(self.seed)

    @cached_property
    def ten(self) -> Comparison:
        """All samplers on ten categories."""
        return compare(10, self.scale, self.seed, self._say, self._time_draws)

    @cached_property
    def twenty(self) -> Comparison:
        """All samplers on twenty categories."""
        return compare(20, self.scale, self.seed, self._say, self._time_draws)

    @cached_property
    def sizes(self) -> list[Size]:
        """The paper's sampler on ten categories and on more."""
        return grow(self.ten, self.scale, self.seed, self._say, self._time_draws)

    @property
    def comparisons(self) -> list[Comparison]:
        """The comparisons made so far."""
        return [self.__dict__[name] for name in ("ten", "twenty") if name in self.__dict__]


def steps_of(scale: Scale) -> dict[str, int]:
    """Count the steps that each experiment announces, for the length of a progress bar."""
    return {
        "densities": 1,
        "summed_out": 1,
        "ten": 1 + len(SAMPLERS[10]),
        "twenty": 1 + len(SAMPLERS[20]),
        "sizes": 1 + len(scale.sizes),
    }


def _draws(
    posterior: Posterior,
    sampler: Sampler,
    options: Mapping[str, Any],
    scale: Scale,
    seed: np.random.SeedSequence,
) -> tuple[FloatArray, float]:
    """Return draws, shape (chain, draw, category), and the share of accepted proposals or nan."""
    thin, warmup = (scale.spacing, 20 * scale.spacing) if sampler is FLOOR else (1, 0)
    tree = sample(posterior, options, scale.chains, thin * scale.draws, seed=seed, warmup=warmup)
    p = tree["posterior"]["probabilities"].to_numpy()[:, ::thin]
    # A copy frees the memory of the draws between.
    p = p.copy() if thin > 1 else p
    if "accepted" not in tree["sample_stats"]:
        return p, np.nan
    return p, float(tree["sample_stats"]["accepted"].mean())


def _tuned(posterior: Posterior, scale: Scale, seed: np.random.SeedSequence) -> float:
    """Return the concentration that accepts 0.24 of proposals: the median over tuned chains."""
    tree = sample(
        posterior, TUNED.options, min(scale.chains, 20), 1, seed=seed, warmup=scale.tuning
    )
    return float(np.median(tree.attrs["proposal_concentration"]))


def _effective(late: FloatArray) -> float:
    """Return the smallest effective sample size over the categories, as a share of the draws."""
    n_draws: int = late[..., 0].size
    return float(diagnostics.ess(late).min()) / n_draws


def _printed_rhat(late: FloatArray) -> float:
    """Return the largest eigenvalue of W^(-1/2) V W^(1/2): that of V, to which it is similar."""
    chains, draws, _ = late.shape
    within = np.mean([np.cov(chain, rowvar=False) for chain in late], axis=0)
    between = np.cov(late.mean(axis=1), rowvar=False)
    v = (draws - 1) / draws * within + (1 + 1 / chains) * between
    return float(np.linalg.eigvalsh(v)[-1])
