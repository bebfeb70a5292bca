"""The comparisons of the paper: every sampler on the same posterior, reduced to what is drawn.

Chains start at draws of the prior and nothing is discarded but the first half at each index.  The
paper's two samplers run on the raw categories, as there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from luce._types import FloatArray, IntArray
from luce.answers import diagnostics
from luce.paper.examples import paper_posterior
from luce.paper.samplers import (
    FLOOR,
    HIDDEN,
    SAMPLERS,
    TUNED,
    Sampler,
    Scale,
    sample,
    seconds_a_draw,
    way_to_draw,
)
from luce.posterior import Posterior

# A sweep of waiting times forgets about twentyfold here, so that every fifth draw owes nothing that
# could be told to the one before.
_SWEEPS_APART = 5

_LOOKED_AT = 10  # categories whose effective sample sizes are computed, of many


@dataclass(frozen=True)
class Run:
    """What one sampler did on one posterior.

    Parameters
    ----------
    seconds
        Of one processor, for one draw of one chain.
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
        What the paper's last formula for the MPSRF gives as printed, on the second halves.
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
        """The sampler's name, with the concentration it was tuned to."""
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
    """The paper's sampler on n categories: seconds a draw, effective share (of ten of them)."""

    n: int
    seconds: float
    effective: float


def compare(n: int, scale: Scale, seed: int, say: Callable[[str], None]) -> Comparison:
    """Run all samplers on the paper's posterior with n categories."""
    posterior = paper_posterior(n)
    options = {sampler: dict(sampler.options) for sampler in SAMPLERS[n]}
    seeds = {s: np.random.SeedSequence([seed, n, k]).spawn(2) for k, s in enumerate(SAMPLERS[n])}
    say(f"n = {n}: timing")
    if TUNED in options:
        options[TUNED]["proposal_concentration"] = _tuned(posterior, scale, seeds[TUNED][0])
    ways = {s: way_to_draw(posterior, s, o) for s, o in options.items()}
    seconds = seconds_a_draw(ways, scale.rounds)
    runs: dict[str, Run] = {}
    truth = None
    for sampler in SAMPLERS[n]:
        say(f"n = {n}: {sampler.label}")
        p, accepted = _draws(posterior, sampler, options[sampler], scale, seeds[sampler][1])
        if truth is None:  # as in the paper: all chains of its own sampler, which comes first
            truth = diagnostics.pooled_moments(p)
        errors = diagnostics.statistic_convergence(p, scale.points, truth)
        rhat = diagnostics.mpsrf_convergence(p, scale.points)
        late = p[:, scale.draws // 2 :]
        runs[sampler.key] = Run(
            sampler,
            seconds[sampler],
            _effective(late),
            options[sampler].get("proposal_concentration", np.nan),
            accepted,
            diagnostics.autocorrelation(p[..., :2], scale.lags).to_numpy(),
            rhat["draw"].to_numpy(),
            rhat.to_numpy(),
            errors["mean_error"].to_numpy(),
            errors["variance_error"].to_numpy(),
            late.mean(axis=1),
            # About its own mean a chain that hardly moves would have hardly any variance.
            ((late - truth[0]) ** 2).mean(axis=1),
            _printed_rhat(late),
        )
    return Comparison(n, runs)


def grow(
    ten: Comparison, sizes: tuple[int, ...], seed: int, say: Callable[[str], None]
) -> list[Size]:
    """Run the paper's sampler on ever more categories, beyond the ten of the comparison."""
    posteriors = {n: paper_posterior(n) for n in sizes}
    say("more categories: timing")
    ways = {n: way_to_draw(p, HIDDEN, HIDDEN.options) for n, p in posteriors.items()}
    seconds = seconds_a_draw(ways, rounds=2, long=6_000)
    found = [Size(ten.n, ten[HIDDEN].seconds, ten[HIDDEN].effective)]
    scale = Scale(chains=8, draws=2000)
    for n, posterior in posteriors.items():
        say(f"n = {n}: {HIDDEN.label}")
        own = np.random.SeedSequence([seed, n])
        p, _ = _draws(posterior, HIDDEN, HIDDEN.options, scale, own)
        some = p[:, scale.draws // 2 :, :: n // _LOOKED_AT]
        found.append(Size(n, seconds[n], _effective(some)))
    return found


def _draws(
    posterior: Posterior,
    sampler: Sampler,
    options: Mapping[str, Any],
    scale: Scale,
    seed: np.random.SeedSequence,
) -> tuple[FloatArray, float]:
    """Draws, shape (chain, draw, category), and the share of proposals accepted, nan if none."""
    thin = _SWEEPS_APART if sampler is FLOOR else 1
    warmup = 100 if sampler is FLOOR else 0
    tree = sample(posterior, options, scale.chains, thin * scale.draws, seed=seed, warmup=warmup)
    p = tree["posterior"]["probabilities"].to_numpy()[:, ::thin]
    # A copy lets go of the draws between.
    p = p.copy() if thin > 1 else p
    if "accepted" not in tree["sample_stats"]:
        return p, np.nan
    return p, float(tree["sample_stats"]["accepted"].mean())


def _tuned(posterior: Posterior, scale: Scale, seed: np.random.SeedSequence) -> float:
    """Concentration of proposals that accepts 0.24 of them: the median over chains tuned apart."""
    tree = sample(posterior, TUNED.options, min(scale.chains, 20), 1, seed=seed, warmup=5000)
    return float(np.median(tree.attrs["proposal_concentration"]))


def _effective(late: FloatArray) -> float:
    n_draws: int = late[..., 0].size
    return float(diagnostics.ess(late).min()) / n_draws


def _printed_rhat(late: FloatArray) -> float:
    """Largest eigenvalue of W^(-1/2) V W^(1/2), which is similar to V, hence that of V."""
    chains, draws, _ = late.shape
    within = np.mean([np.cov(chain, rowvar=False) for chain in late], axis=0)
    between = np.cov(late.mean(axis=1), rowvar=False)
    v = (draws - 1) / draws * within + (1 + 1 / chains) * between
    return float(np.linalg.eigvalsh(v)[-1])
