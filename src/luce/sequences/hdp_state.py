"""States of a sampler of transition probabilities, and the stick-breaking of a new state."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from luce._types import BoolArray, FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class HDPState:
    """One joint draw of base, concentrations and rows; immutable.

    Parameters
    ----------
    log_base
        log β: one number for each state and, in the nonparametric form, a last one for the
        remainder, which is all states without a name.
    rows
        Shape (states, len(log_base)): the probabilities of the next state; forbidden entries are
        exactly 0.
    concentration, base_concentration
        α and γ.
    states
        Names of the states, whole numbers.  In the nonparametric form states are added and dropped.
    """

    log_base: FloatArray = field(repr=False)
    rows: FloatArray = field(repr=False)
    concentration: float
    base_concentration: float
    states: tuple[int, ...]

    @property
    def base(self) -> FloatArray:
        """Base β, shape (len(log_base),)."""
        return np.exp(self.log_base)

    @property
    def remainder(self) -> float:
        """Mass of the base on states without a name; 0 in a weak limit."""
        return float(np.exp(self.log_base[-1])) if self.is_nonparametric else 0.0

    @property
    def is_nonparametric(self) -> bool:
        """Is there a remainder?"""
        return len(self.log_base) > len(self.states)


class ResampleInfo(NamedTuple):
    """Auxiliary variables of one Gibbs sweep, and the states that were kept.

    Attributes
    ----------
    tables
        Number of draws of the base that fell on each of its entries.
    log_hidden_counts
        Logarithm of the number of forbidden transitions imagined in each row; minus infinity for
        none.  The numbers have no mean, and 1e16 and more occur: hence logarithms.
    kept
        Indices, in the previous state, of the states that were kept.
    """

    tables: FloatArray
    log_hidden_counts: FloatArray
    kept: IntArray


def log_gammas(rng: np.random.Generator, shape: FloatArray) -> FloatArray:
    """Draw logarithms of gamma variates: log G(a) = log G(a + 1) + log(U) / a stays finite."""
    shape = np.maximum(shape, 1e-300)
    return np.asarray(
        np.log(rng.standard_gamma(shape + 1)) + np.log1p(-rng.random(shape.shape)) / shape
    )


def log_dirichlet(
    rng: np.random.Generator, shape: FloatArray, closed: BoolArray | None = None
) -> FloatArray:
    """Draw logarithms of Dirichlet variates, one a row; `closed` entries have probability 0."""
    logs = log_gammas(rng, shape)
    if closed is not None:
        logs = np.where(closed, -np.inf, logs)
    return np.asarray(logs - np.logaddexp.reduce(logs, axis=-1, keepdims=True))


def broken_off(rng: np.random.Generator, state: HDPState, self_loops: bool) -> HDPState:
    """Break one more state off the remainder, in the base and in every row, and draw its own row.

        β_new = V β_rest,     π_i,new / π_i,rest ~ Beta(α β_new, α β_rest (1 - V))

    with V ~ Beta(1, γ).  The row of the new state is drawn from Dir(α β).
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
