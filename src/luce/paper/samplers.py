"""The samplers that the experiments compare, how one is run, and the seconds of a draw."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from luce.errors import ConvergenceWarning
from luce.posterior import Posterior

if TYPE_CHECKING:
    from xarray import DataTree

PAPER_PROPOSAL = 160.0  # concentration β of the paper's Metropolis proposals
WANTED_ACCEPTANCE = 0.24  # share of proposals that β is tuned for

# Draws of the short and of the long call that are timed.  `Posterior.sample` ends with a check of
# convergence on 2,000 draws of either call, so that its time cancels like that of any set-up.
_SHORT, _LONG = 2_000, 20_000

Key = TypeVar("Key", bound=Hashable)
Way = Callable[[int, int], object]  # makes a number of draws with a seed


@dataclass(frozen=True)
class Scale:
    """The size of the experiments.

    Parameters
    ----------
    chains, draws
        Chains of each sampler, and draws of each chain.
    rounds
        Rounds of timing.
    points
        Indices at which R-hat and errors are evaluated.
    lags
        Largest lag of the autocorrelations.
    spacing
        Sweeps of waiting times between draws that count as independent.  A sweep forgets about
        twentyfold, so that the correlation over five sweeps is too small to be measured.
    tuning
        Warm-up sweeps of the chains that tune the Metropolis proposal.
    sizes
        Numbers of categories beyond 20 on which the paper's sampler runs.
    size_chains, size_draws
        Chains and draws of these.
    """

    chains: int
    draws: int
    rounds: int = 5
    points: int = 25
    lags: int = 200
    spacing: int = 5
    tuning: int = 5000
    sizes: tuple[int, ...] = (100, 1000)
    size_chains: int = 8
    size_draws: int = 2000


FULL = Scale(chains=50, draws=5000)
QUICK = Scale(chains=20, draws=1000, rounds=2, size_chains=4, size_draws=1000)


@dataclass(frozen=True)
class Sampler:
    """Options of `Posterior.sample`, a key for files and a label for readers."""

    key: str
    label: str
    options: Mapping[str, Any] = field(default_factory=dict, hash=False)


HIDDEN = Sampler(
    "hidden-counts", "hidden counts (paper)", {"method": "hidden-counts", "reduce": False}
)
METROPOLIS = Sampler(
    f"metropolis-{PAPER_PROPOSAL:.0f}",
    f"Metropolis, β = {PAPER_PROPOSAL:.0f}",
    {"method": "metropolis", "reduce": False, "proposal_concentration": PAPER_PROPOSAL},
)
TUNED = Sampler("metropolis-tuned", "Metropolis, tuned", {"method": "metropolis", "reduce": False})
WAITING = Sampler("waiting-times", "waiting times", {"method": "waiting-times", "reduce": False})
AUTO = Sampler("auto", "auto")
FLOOR = Sampler("independent", "independent draws", {"method": "waiting-times"})

# Samplers of the comparison with n categories; the paper's own comes first.
SAMPLERS = {
    10: (HIDDEN, METROPOLIS, WAITING, AUTO, FLOOR),
    20: (HIDDEN, METROPOLIS, TUNED, WAITING, AUTO, FLOOR),
}


def sample(
    posterior: Posterior, options: Mapping[str, Any], chains: int, draws: int, **more: Any
) -> DataTree:
    """Draw without warm-up; Ctrl-C raises here, where `Posterior.sample` returns fewer draws."""
    with warnings.catch_warnings():
        # The experiments measure how far chains are from convergence.
        warnings.simplefilter("ignore", ConvergenceWarning)
        settings = {"warmup": 0, "progress": False, **options, **more}
        tree = posterior.sample(draws, chains=chains, **settings)
    if tree.attrs["interrupted"]:
        raise KeyboardInterrupt
    return tree


def seconds_a_draw(ways: Mapping[Key, Way], rounds: int = 5, long: int = _LONG) -> dict[Key, float]:
    """Measure the processor seconds of one draw, for each way to make draws.

    A way is called for few draws and for many; the difference is the time of draws alone, without
    set-up and checks.  Ways take turns, so that a machine that is busy for a while slows all of
    them, and the fastest of the rounds counts.

    Parameters
    ----------
    ways
        Functions of a number of draws and a seed, each running in one thread.
    rounds
        Calls of each.
    long
        Draws of the long call, a multiple of 2,000.
    """
    least = {(key, draws): float("inf") for key in ways for draws in (_SHORT, long)}
    # On a busy machine few draws may seem to take longer than many; then more rounds follow.
    for seed in range(10 * rounds):
        for key, draws in least:
            began = time.process_time()
            ways[key](draws, seed)
            least[key, draws] = min(least[key, draws], time.process_time() - began)
        if seed + 1 >= rounds and all(least[key, long] > least[key, _SHORT] for key in ways):
            break
    found = {key: (least[key, long] - least[key, _SHORT]) / (long - _SHORT) for key in ways}
    # If they still do, the whole time of the long call counts: too much rather than nothing.
    return {key: x if x > 0 else least[key, long] / long for key, x in found.items()}


def way_to_draw(posterior: Posterior, sampler: Sampler, options: Mapping[str, Any]) -> Way:
    """Make a function for `seconds_a_draw`; independent draws are NumPy's Dirichlet draws."""

    def independent(draws: int, seed: int) -> object:
        shape = posterior.concentration + posterior.counts.category_counts
        return np.random.default_rng(seed).dirichlet(shape, draws)

    def dependent(draws: int, seed: int) -> object:
        return sample(posterior, options, 1, draws, seed=seed, threads=1)

    return independent if sampler is FLOOR else dependent
