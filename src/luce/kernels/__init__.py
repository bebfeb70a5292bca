"""Compiled samplers and searches: arrays in, arrays out.

Every sampler has the signature of `Advance`, whose docstring describes the arguments for all of
them; each kernel's own docstring adds its statistic and its tuning.  Subpackage `structure` holds
the graph algorithms.
"""

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

from luce._types import FloatArray, WordArray
from luce.kernels import (
    concave_rejection,
    from_the_past,
    hamiltonian,
    hamiltonian_concentration,
    hidden_counts,
    independence,
    metropolis,
    random_concentration,
    rejection,
    single_weighted_set,
    waiting_times,
)
from luce.kernels.contests import moves, sweep
from luce.kernels.grouped_outcomes import SplitSpace
from luce.kernels.problem import Problem
from luce.kernels.rankings import blocks
from luce.kernels.rankings import moves as ranking_moves


class Advance(Protocol):
    """The signature of every sampling kernel."""

    def __call__(
        self,
        bits: WordArray,
        problem: Any,
        fit: Any,
        state: FloatArray,
        tuning: FloatArray,
        adapt: bool,
        out: FloatArray,
        stat: FloatArray,
        space: SplitSpace | None,
        /,
    ) -> None:
        """Make ``len(out)`` steps of one Markov chain.

        Parameters
        ----------
        bits
            Generator of this Markov chain alone, four words; advanced.
        problem
            Shapes c_i and A, exponents m_t and n_t, and the sets S_t, in a form that the kernel
            takes: see `luce.kernels.layouts`.
        fit
            Quantities that the kernel must know about the posterior beforehand, or None.
        state
            p, or log p in a wide problem, then the states of the kernel's `extra` parameters;
            replaced by the last step's.
        tuning
            Tuning parameters, overwritten; unused by kernels without any.
        adapt
            Whether to adapt the tuning parameters at each step, as during warm-up.
        out
            Shape (draws, n + extra): receives the state after each step, extra parameters on their
            natural scale.
        stat
            Shape (draws,): receives the kernel's statistic of each step.
        space
            Scratch for splitting grouped outcomes, or None where no outcome is grouped.  Code for
            grouped outcomes is then not compiled.
        """


class Kernel(NamedTuple):
    """A sampler.

    Attributes
    ----------
    advance
        Function that makes the steps.
    statistic
        Name of the number that it stores in `stat`.
    first_tuning
        Function that gives the initial tuning parameter of a problem and a fit, or None for a
        kernel that does not adapt.
    independent
        Whether the draws are independent of each other.
    extra
        Names of parameters that are drawn besides the probabilities.
    first_extra
        Function that gives the initial states of the extra parameters of a fit.
    general
        Whether it takes a problem in its general form alone.
    """

    advance: Advance
    statistic: str
    first_tuning: Callable[[Problem, Any], float] | None = None
    independent: bool = False
    extra: tuple[str, ...] = ()
    first_extra: Callable[[Any], FloatArray] | None = None
    general: bool = False


KERNELS: dict[str, Kernel] = {
    "waiting-times": Kernel(waiting_times.advance, "log_waiting_time"),
    "hidden-counts": Kernel(hidden_counts.advance, "hidden_count", general=True),
    "hamiltonian": Kernel(hamiltonian.advance, "accepted", hamiltonian.first_tuning),
    "independence": Kernel(independence.advance, "accepted"),
    "rejection": Kernel(rejection.advance, "proposals", independent=True),
    "metropolis": Kernel(metropolis.advance, "accepted", metropolis.first_tuning),
    "from-the-past": Kernel(from_the_past.advance, "sweeps", independent=True),
    "single-weighted-set": Kernel(single_weighted_set.advance, "proposals", independent=True),
}

# Rejection where sets leave out more than one atom; KERNELS has that of sets which leave out one.
CONCAVE_REJECTION = Kernel(concave_rejection.advance, "proposals", independent=True)

# Not in KERNELS, since these draw another posterior: that of probabilities and concentration.
RANDOM_CONCENTRATION = Kernel(
    random_concentration.advance,
    "log_waiting_time",
    extra=("concentration",),
    first_extra=random_concentration.first_extra,
)
HAMILTONIAN_CONCENTRATION = Kernel(
    hamiltonian_concentration.advance,
    "accepted",
    hamiltonian_concentration.first_tuning,
    extra=("concentration",),
    first_extra=hamiltonian_concentration.first_extra,
)

# Kernels of contests, whose `extra` is set by the data: home, tie, both or neither.
CONTESTS: dict[str, Kernel] = {
    "waiting-times": Kernel(sweep.advance, "log_waiting_time", first_extra=sweep.first_extra),
    "hamiltonian": Kernel(
        moves.advance, "accepted", moves.first_tuning, first_extra=moves.first_extra
    ),
}

# Kernels of rankings with ties: of unknown order, and by Davidson and Luce.
RANKINGS: dict[str, Kernel] = {
    "waiting-times": Kernel(blocks.advance, "log_waiting_time", first_extra=blocks.first_extra),
    "hamiltonian": Kernel(
        ranking_moves.advance,
        "accepted",
        ranking_moves.first_tuning,
        first_extra=ranking_moves.first_extra,
    ),
}
