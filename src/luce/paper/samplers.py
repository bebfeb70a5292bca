"""The samplers that are compared, how to run one, and how long a draw of each takes."""

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

PAPER_PROPOSAL = 160.0
WANTED_ACCEPTANCE = 0.24

# Timed are calls for so many draws.  `Posterior.sample` ends with a check of convergence that looks
# at 2,000 draws of either, so that its time cancels like that of any other set-up.
_SHORT, _LONG = 2_000, 20_000

Key = TypeVar("Key", bound=Hashable)


@dataclass(frozen=True)
class Scale:
    """How much is run: chains, draws of each, rounds of timing, indices to evaluate at, lags."""

    chains: int
    draws: int
    rounds: int = 5
    points: int = 25
    lags: int = 200


FULL = Scale(chains=50, draws=5000)
QUICK = Scale(chains=20, draws=1000, rounds=2)


@dataclass(frozen=True)
class Sampler:
    """A way to draw, as `Posterior.sample` names it, and what people call it."""

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

SAMPLERS = {10: (HIDDEN, METROPOLIS, WAITING, AUTO, FLOOR),
            20: (HIDDEN, METROPOLIS, TUNED, WAITING, AUTO, FLOOR)}  # fmt: skip


def sample(
    posterior: Posterior, options: Mapping[str, Any], chains: int, draws: int, **more: Any
) -> DataTree:
    """Draw without warm-up; Ctrl-C ends everything here, where `Posterior.sample` returns less."""
    with warnings.catch_warnings():
        # That chains have not converged is what is measured here.
        warnings.simplefilter("ignore", ConvergenceWarning)
        settings = {"warmup": 0, "progress": False, **options, **more}
        tree = posterior.sample(draws, chains=chains, **settings)
    if tree.attrs["interrupted"]:
        raise KeyboardInterrupt
    return tree


def seconds_a_draw(
    ways: Mapping[Key, Callable[[int, int], object]], rounds: int = 5, long: int = _LONG
) -> dict[Key, float]:
    """Processor seconds of one draw, by each way to make them.

    A way is called for few draws and for many; the difference is that of draws alone, without what
    comes before and after them.  Ways take turns, so that a machine that is busy for a while slows
    all of them, and the least of some rounds counts.

    Parameters
    ----------
    ways
        Functions of a number of draws and a seed, each running in one thread.
    rounds
        How often each is called.
    long
        How many draws many are, a multiple of 2,000.
    """
    least = {(key, draws): float("inf") for key in ways for draws in (_SHORT, long)}
    # On a busy machine a few draws may seem to take longer than many; then there are more rounds.
    for seed in range(10 * rounds):
        for key, draws in least:
            began = time.process_time()
            ways[key](draws, seed)
            least[key, draws] = min(least[key, draws], time.process_time() - began)
        if seed + 1 >= rounds and all(least[key, long] > least[key, _SHORT] for key in ways):
            break
    found = {key: (least[key, long] - least[key, _SHORT]) / (long - _SHORT) for key in ways}
    # If they still do, all of the time is counted, which is too much rather than nothing.
    return {key: x if x > 0 else least[key, long] / long for key, x in found.items()}


def way_to_draw(
    posterior: Posterior, sampler: Sampler, options: Mapping[str, Any]
) -> Callable[[int, int], object]:
    """Make what `seconds_a_draw` wants; independent draws are NumPy's, of a Dirichlet as long."""

    def independent(draws: int, seed: int) -> object:
        shape = posterior.concentration + posterior.counts.category_counts
        return np.random.default_rng(seed).dirichlet(shape, draws)

    def dependent(draws: int, seed: int) -> object:
        return sample(posterior, options, 1, draws, seed=seed, threads=1)

    return independent if sampler is FLOOR else dependent
