"""Markov chain samplers: arrays in, arrays out.

Every kernel is called as ``advance(bits, problem, state, tuning, adapt, out, stat, space)``.  It
makes ``len(out)`` sweeps from `state`, which it overwrites, and stores each new state in `out` and
one number per sweep in `stat`.
"""

from collections.abc import Callable
from typing import NamedTuple

from luce._types import FloatArray, WordArray
from luce.kernels import (
    hamiltonian,
    hidden_counts,
    metropolis,
    random_concentration,
    rejection,
    waiting_times,
)
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
    first_tuning
        Where `tuning` starts for a problem, if the kernel adapts it during warm-up.
    independent
        Are its draws independent of each other?
    extra, first_extra
        Names of further parameters: their values follow the atoms in `out`, their states follow
        the atoms in `state`; and those states at the start.
    """

    advance: Advance
    statistic: str
    first_tuning: Callable[[Problem], float] | None = None
    independent: bool = False
    extra: tuple[str, ...] = ()
    first_extra: Callable[[Problem], FloatArray] | None = None


KERNELS: dict[str, Kernel] = {
    "waiting-times": Kernel(waiting_times.advance, "log_waiting_time"),
    "hidden-counts": Kernel(hidden_counts.advance, "hidden_count"),
    "hamiltonian": Kernel(hamiltonian.advance, "accepted", hamiltonian.first_tuning),
    "rejection": Kernel(rejection.advance, "proposals", independent=True),
    "metropolis": Kernel(metropolis.advance, "accepted", metropolis.first_tuning),
}

# Not one of those to choose from: it draws another posterior, of probabilities and concentration.
RANDOM_CONCENTRATION = Kernel(
    random_concentration.advance,
    "log_waiting_time",
    extra=("concentration",),
    first_extra=random_concentration.first_extra,
)
