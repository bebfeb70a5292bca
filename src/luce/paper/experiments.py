"""The comparisons of the paper: every sampler on the same posterior, reduced to what is drawn.

Chains start at draws of the prior and nothing is discarded but the first half at each index.  The
paper's two samplers run on the raw categories, as there.
"""

from __future__ import annotations

import statistics
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from luce import diagnostics
from luce._types import FloatArray, IntArray
from luce.errors import ConvergenceWarning
from luce.examples import paper_posterior
from luce.posterior import Posterior

if TYPE_CHECKING:
    from xarray import DataTree

PAPER_PROPOSAL = 160.0

# The sampler "auto" forgets its past about twentyfold a sweep here, so that of every fifth draw
# nothing can be told from the one before.
_FORGETTING = 5


@dataclass(frozen=True)
class Scale:
    """How much is run: chains, draws of each, indices to evaluate at, lags."""

    chains: int
    draws: int
    points: int = 25
    lags: int = 200


FULL = Scale(chains=50, draws=5000)
QUICK = Scale(chains=20, draws=1000)


@dataclass(frozen=True)
class Sampler:
    """A way to draw, as `Posterior.sample` names it, and what people call it."""

    key: str
    label: str
    options: Mapping[str, Any] = field(default_factory=dict)


HIDDEN = Sampler(
    "hidden-counts", "hidden counts (paper)", {"method": "hidden-counts", "reduce": False}
)
METROPOLIS = Sampler(
    "metropolis-160",
    "Metropolis, β = 160",
    {"method": "metropolis", "reduce": False, "proposal_concentration": PAPER_PROPOSAL},
)
TUNED = Sampler("metropolis-tuned", "Metropolis, tuned", {"method": "metropolis", "reduce": False})
WAITING = Sampler("waiting-times", "waiting times", {"method": "waiting-times", "reduce": False})
AUTO = Sampler("auto", "auto")
FLOOR = Sampler("independent", "independent draws")

SAMPLERS = {10: (HIDDEN, METROPOLIS, WAITING, AUTO, FLOOR),
            20: (HIDDEN, METROPOLIS, TUNED, WAITING, AUTO, FLOOR)}  # fmt: skip


@dataclass(frozen=True)
class Run:
    """What one sampler did on one posterior.

    Parameters
    ----------
    seconds
        Of one thread, for one draw of one chain.
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
    chain_means
        Of the second halves, shape (chain, category).
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
    printed_rhat: float

    @property
    def label(self) -> str:
        """The sampler's name, with the concentration it was tuned to."""
        tuned = self.sampler is TUNED
        return f"{self.sampler.label} (β = {self.proposal:.0f})" if tuned else self.sampler.label


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
    runs: dict[str, Run] = {}
    truth = None
    for number, sampler in enumerate(SAMPLERS[n]):
        say(f"n = {n}: {sampler.label}")
        tuning, sampling, timing = np.random.SeedSequence([seed, n, number]).spawn(3)
        options = dict(sampler.options)
        if sampler is TUNED:
            options["proposal_concentration"] = _tuned(posterior, scale, tuning)
        p, accepted = _draws(posterior, sampler, options, scale, sampling)
        if truth is None:  # as in the paper: all chains of its own sampler, which comes first
            truth = diagnostics.pooled_moments(p)
        errors = diagnostics.statistic_convergence(p, scale.points, truth)
        rhat = diagnostics.mpsrf_convergence(p, scale.points)
        late = p[:, scale.draws // 2 :]
        runs[sampler.key] = Run(
            sampler,
            _seconds(posterior, sampler, options, scale, timing),
            _effective(late),
            options.get("proposal_concentration", np.nan),
            accepted,
            diagnostics.autocorrelation(p[..., :2], scale.lags).to_numpy(),
            rhat["draw"].to_numpy(),
            rhat.to_numpy(),
            errors["mean_error"].to_numpy(),
            errors["variance_error"].to_numpy(),
            late.mean(axis=1),
            _printed_rhat(late),
        )
    return Comparison(n, runs)


def grow(sizes: tuple[int, ...], seed: int, say: Callable[[str], None]) -> list[Size]:
    """Run the paper's sampler on ever more categories."""
    found = []
    for n in sizes:
        say(f"n = {n}: {HIDDEN.label}")
        posterior, scale = paper_posterior(n), Scale(chains=4, draws=1000)
        sampling, timing = np.random.SeedSequence([seed, n]).spawn(2)
        p, _ = _draws(posterior, HIDDEN, HIDDEN.options, scale, sampling)
        seconds = _seconds(posterior, HIDDEN, HIDDEN.options, scale, timing, repeats=3)
        some = p[:, scale.draws // 2 :, :: n // 10]
        found.append(Size(n, seconds, _effective(some)))
    return found


def _sample(
    posterior: Posterior, options: Mapping[str, Any], chains: int, draws: int, **more: Any
) -> DataTree:
    with warnings.catch_warnings():
        # That chains have not converged is what is measured here.
        warnings.simplefilter("ignore", ConvergenceWarning)
        settings = {"warmup": 0, "progress": False, **options, **more}
        return posterior.sample(draws, chains=chains, **settings)


def _draws(
    posterior: Posterior,
    sampler: Sampler,
    options: Mapping[str, Any],
    scale: Scale,
    seed: np.random.SeedSequence,
) -> tuple[FloatArray, float]:
    """Draws, shape (chain, draw, category), and the share of proposals accepted, nan if none."""
    thin = _FORGETTING if sampler is FLOOR else 1
    warmup = 100 if sampler is FLOOR else 0
    tree = _sample(posterior, options, scale.chains, thin * scale.draws, seed=seed, warmup=warmup)
    p = tree["posterior"]["probabilities"].to_numpy()[:, ::thin]
    # A copy lets go of the draws between.
    p = p.copy() if thin > 1 else p
    if "accepted" not in tree["sample_stats"]:
        return p, np.nan
    return p, float(tree["sample_stats"]["accepted"].mean())


def _tuned(posterior: Posterior, scale: Scale, seed: np.random.SeedSequence) -> float:
    """Concentration of proposals that accepts 0.24 of them: the median over chains tuned apart."""
    options = {**TUNED.options, "warmup": 5000}
    tree = _sample(posterior, options, min(scale.chains, 20), 1, seed=seed)
    return float(np.median(tree.attrs["proposal_concentration"]))


def _seconds(
    posterior: Posterior,
    sampler: Sampler,
    options: Mapping[str, Any],
    scale: Scale,
    seed: np.random.SeedSequence,
    repeats: int = 5,
) -> float:
    """Seconds of one thread for a draw of one chain: the median of some repeats.

    Independent draws are timed as NumPy makes them, from a Dirichlet of the same length.
    """
    rng = np.random.default_rng(seed)
    shape = posterior.concentration + posterior.counts.category_counts
    taken = []
    for _ in range(repeats):
        began = time.perf_counter()
        if sampler is FLOOR:
            rng.dirichlet(shape, (4, scale.draws))
            taken.append(time.perf_counter() - began)
        else:
            tree = _sample(posterior, options, 4, scale.draws, seed=seed, threads=1)
            taken.append(tree.attrs["sampling_time"])
    return statistics.median(taken) / (4 * scale.draws)


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
