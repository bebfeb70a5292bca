"""Markov chain samplers: arrays in, arrays out.

Every kernel is called as ``advance(bits, problem, state, tuning, adapt, out, stat, space)``.  It
makes ``len(out)`` sweeps from `state`, which it overwrites, and stores each new state in `out` and
one number per sweep in `stat`.
"""

from collections.abc import Callable
from typing import NamedTuple

from luce._types import FloatArray, WordArray
from luce.kernels import hidden_counts, metropolis, waiting_times
from luce.kernels.grouped import SplitSpace
from luce.kernels.problem import Problem

Advance = Callable[
    [WordArray, Problem, FloatArray, FloatArray, bool, FloatArray, FloatArray, SplitSpace | None],
    None,
]


class Kernel(NamedTuple):
    """A sampler.

    Attributes
    ----------
    advance
        Makes sweeps.
    statistic
        What it stores in `stat`.
    tuned
        Does it adapt `tuning` during warm-up?
    """

    advance: Advance
    statistic: str
    tuned: bool


KERNELS: dict[str, Kernel] = {
    "waiting-times": Kernel(waiting_times.advance, "log_waiting_time", False),
    "hidden-counts": Kernel(hidden_counts.advance, "hidden_count", False),
    "metropolis": Kernel(metropolis.advance, "accepted", True),
}
