"""The samplers that are compared: one file each, all with the same two steps.

    chain = prepare(problem, seed, variant)     compile and warm up; timed as a whole
    drawn = chain.draw(seconds)                 draw for about so long

A file imports its package at the top, so where that is not installed only this one is missed.
"""

from typing import NamedTuple, Protocol

import numpy as np
from problem import Problem

# Draws beyond so many numbers are made and timed, but not kept: effective sizes take time, too.
_MOST_KEPT = 5_000_000


class Drawn(NamedTuple):
    """What a chain made.

    Attributes
    ----------
    log_p
        Log probabilities of the monitored categories, shape (chain, draw, category), and last,
        where it is drawn, the log concentration: the draws that were kept.
    draws
        How many were made, kept or not.
    seconds
        CPU time that these took, without compilation and, but for luce, without warm-up.
    note
        What the sampler says about itself.
    """

    log_p: np.ndarray
    draws: int
    seconds: float
    note: str = ""


class Chain(Protocol):
    """A sampler that is compiled and warmed up."""

    def draw(self, seconds: float) -> Drawn:
        """Draw for about so many seconds."""


class NotPossible(Exception):
    """The sampler cannot take this problem."""


class Sampler(NamedTuple):
    """Where a sampler is found, and whether it is one of the general ones, the peers."""

    title: str
    module: str
    variant: str = ""
    peer: bool = False


SAMPLERS = {
    "luce": Sampler("luce", "luce_sample", "auto"),
    "numpy-hidden-counts": Sampler("paper's sampler, NumPy", "numpy_hidden_counts"),
    "numpy-metropolis": Sampler("paper's Metropolis, NumPy", "numpy_metropolis"),
    "numpyro": Sampler("NumPyro NUTS, log-gamma", "numpyro_nuts", "log-gamma", True),
    "numpyro:stick": Sampler("NumPyro NUTS, stick-breaking", "numpyro_nuts", "stick", True),
    "blackjax": Sampler("BlackJAX NUTS, stick-breaking", "blackjax_nuts", "stick", True),
    "blackjax:log-gamma": Sampler("BlackJAX NUTS, log-gamma", "blackjax_nuts", "log-gamma", True),
    "nutpie": Sampler("nutpie", "nutpie_nuts", "", True),
    "pymc": Sampler("PyMC NUTS", "pymc_nuts", "", True),
    "stan": Sampler("Stan NUTS (pystan)", "stan_nuts", "", True),
}


def find(name: str) -> Sampler:
    """Look a name up; "luce:METHOD" is luce with that method forced."""
    if name.startswith("luce:"):
        return Sampler(name, "luce_sample", name.removeprefix("luce:"))
    return SAMPLERS[name]


def require_fixed(problem: Problem) -> None:
    """Refuse problems whose concentration is drawn."""
    if problem.hyperprior is not None:
        raise NotPossible("the concentration is not drawn")


def most_kept(problem: Problem) -> int:
    """Draws to keep of this problem."""
    return _MOST_KEPT // len(problem.monitored)


def warmup_steps(problem: Problem) -> int:
    """Warm-up for NUTS: the usual thousand, fewer where a step takes long."""
    return 1000 if problem.work < 300_000 else 300


def chunk_size(problem: Problem) -> int:
    """Draws between two looks at the clock, for samplers that are compiled for a fixed number."""
    return int(np.clip(2e7 / problem.work, 20, 10_000))


def as_log(p: np.ndarray) -> np.ndarray:
    """Logarithms of probabilities, of which some may have become 0."""
    return np.log(np.maximum(p, 5e-324))
