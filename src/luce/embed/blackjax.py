"""A kernel in BlackJAX's form, `init` and `step`, for use beside kernels of other variables."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax.numpy as jnp
from blackjax.base import SamplingAlgorithm

from luce.embed.gibbs_step import GibbsStep
from luce.embed.waiting_times_jax import floored_log, sweep, term_sets


class State(NamedTuple):
    """The state of a chain: log p, which does not underflow where p would."""

    log_probabilities: Any

    @property
    def position(self) -> Any:
        """The probabilities p."""
        return jnp.exp(self.log_probabilities)


class Info(NamedTuple):
    """The auxiliary variables of a step: log u_t (-inf where m_t = 0) and log Λ."""

    log_waiting_times: Any
    log_total: Any


def waiting_times(step: GibbsStep) -> SamplingAlgorithm:
    """Make the kernel for the sets of a step.

    Parameters
    ----------
    step
        The sets.

    Returns
    -------
    SamplingAlgorithm
        ``init(position) -> State`` from probabilities, and
        ``step(rng_key, state, counts, concentration) -> (State, Info)``; both may be jitted and
        vmapped.  `counts` are outcomes by term and category, or the tuple of their totals by
        category and by term.
    """
    sets = term_sets(step)

    def init(position: Any, rng_key: Any = None) -> State:
        return State(floored_log(position))

    def advance(rng_key: Any, state: State, counts: Any, concentration: Any) -> tuple[State, Info]:
        drawn = sweep(rng_key, state.log_probabilities, counts, concentration, sets)
        return State(drawn.log_probabilities), Info(drawn.log_waiting_times, drawn.log_total)

    return SamplingAlgorithm(init, advance)
