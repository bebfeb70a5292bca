"""Where a sampler of transition probabilities stands, and how a new state is broken off."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from luce._types import BoolArray, FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class HDPState:
    """Base, concentrations and rows: one joint draw; never changes.

    Parameters
    ----------
    log_base
        log β: one number for each state and, in the nonparametric form, one more, last, for the
        remainder: all states that have not been named.
    rows
        Shape (states, len(log_base)): the probabilities of the next state; forbidden entries are
        exactly 0.
    concentration, base_concentration
        α and γ.
    states
        Names of the states, whole numbers.  In the nonparametric form they come and go.
    """

    log_base: FloatArray = field(repr=False)
    rows: FloatArray = field(repr=False)
    concentration: float
    base_concentration: float
    states: tuple[int, ...]

    @property
    def base(self) -> FloatArray:
        """β."""
        return np.exp(self.log_base)

    @property
    def remainder(self) -> float:
        """The base's mass on states that have not been named; 0 in a weak limit."""
        return float(np.exp(self.log_base[-1])) if self.is_nonparametric else 0.0

    @property
    def is_nonparametric(self) -> bool:
        """Is there a remainder?"""
        return len(self.log_base) > len(self.states)


class ResampleInfo(NamedTuple):
    """What happened during a sweep.

    Attributes
    ----------
    tables
        How many draws of the base each entry of it accounts for.
    log_hidden_counts
        Logarithm of the number of forbidden transitions imagined in each row; minus infinity for
        none.  As logarithms, because they have no mean: 1e16 and more do occur.
    kept
        Places, in the state that was given, of the states that are still there.
    """

    tables: FloatArray
    log_hidden_counts: FloatArray
    kept: IntArray


def log_gammas(rng: np.random.Generator, shape: FloatArray) -> FloatArray:
    """Logarithms of gamma variates: log G(a) = log G(a + 1) + log(U) / a stays finite."""
    shape = np.maximum(shape, 1e-300)
    return np.asarray(
        np.log(rng.standard_gamma(shape + 1)) + np.log1p(-rng.random(shape.shape)) / shape
    )


def log_dirichlet(
    rng: np.random.Generator, shape: FloatArray, closed: BoolArray | None = None
) -> FloatArray:
    """Log of a Dirichlet variate, one a row; what is `closed` has probability 0."""
    logs = log_gammas(rng, shape)
    if closed is not None:
        logs = np.where(closed, -np.inf, logs)
    return np.asarray(logs - np.logaddexp.reduce(logs, axis=-1, keepdims=True))


def broken_off(rng: np.random.Generator, state: HDPState, self_loops: bool) -> HDPState:
    """Name one more state: a stick V ~ Beta(1, γ) of the remainder, in the base and in every row.

        β_new = V β_rest,     π_i,new / π_i,rest ~ Beta(α β_new, α β_rest (1 - V))

    and a row of its own from Dir(α β).
    """
    alpha, n = state.concentration, len(state.states)
    log_left = np.log1p(-rng.random()) / state.base_concentration  # log(1 - V)
    log_new = state.log_base[-1] + np.log(-np.expm1(log_left))
    log_base = np.r_[state.log_base[:-1], log_new, state.log_base[-1] + log_left]
    share = np.exp(log_dirichlet(rng, np.broadcast_to(alpha * np.exp(log_base[n:]), (n, 2))))
    closed = np.zeros(n + 2, np.bool_)
    closed[n] = not self_loops
    row = np.exp(log_dirichlet(rng, alpha * np.exp(log_base), closed))
    rows = np.vstack([np.hstack([state.rows[:, :n], state.rows[:, n:] * share]), row])
    names = (*state.states, max(state.states, default=-1) + 1)
    return HDPState(log_base, rows, alpha, state.base_concentration, names)
