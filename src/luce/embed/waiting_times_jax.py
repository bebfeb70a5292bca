"""The waiting-time step in jax.numpy: traceable, without callbacks, in logarithms.

Λ ~ Gamma(A),   u_t ~ Gamma(m_t) / p(S_t),   p_i ∝ Gamma(c_i) / (Λ + Σ_{t ∋ i} u_t)

S_t, m_t    the terms' sets, and the outcomes conditioned on them
c_i         concentration plus outcomes of category i
A           Σ c_i - Σ m_t over the sets that do not hold everything
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import logsumexp

from luce._types import BoolArray
from luce.embed.gibbs_step import GibbsStep
from luce.errors import DataError

Array = Any  # a jax array or tracer


class TermSets(NamedTuple):
    """The sets of a step's terms, as matrices of shape (n_terms, n) and (n_terms,).

    Attributes
    ----------
    inside
        Is the category in the set?
    partial
        Does the set lack some category?  A set of all categories carries no information.
    alone
        Is the category the only one in the set?  Then its outcomes carry no information.
    """

    inside: BoolArray
    partial: BoolArray
    alone: BoolArray


class Sweep(NamedTuple):
    """The draws of one step: new log p, log u_t (-inf where m_t = 0) and log Λ."""

    log_probabilities: Array
    log_waiting_times: Array
    log_total: Array


def term_sets(step: GibbsStep) -> TermSets:
    """Return the sets of a step as matrices."""
    inside = step.inside
    size, n = inside.sum(axis=1), inside.shape[1]
    alone = inside & (size[:, None] == 1) & (n > 1)
    return TermSets(inside, size < n, alone)


def totals_of(counts: Any) -> tuple[Array, Array]:
    """Return totals by category and by term, from a table of outcomes or from the pair itself."""
    if isinstance(counts, tuple):
        return jnp.asarray(counts[0]), jnp.asarray(counts[1])
    table = jnp.asarray(counts)
    return table.sum(axis=-2), table.sum(axis=-1)


def floored_log(probabilities: Array) -> Array:
    """Return log p, with p raised to the least positive number where it has underflowed to 0."""
    p = jnp.asarray(probabilities)
    return jnp.log(jnp.maximum(p, jnp.finfo(p.dtype).tiny))


def sweep(key: Array, log_p: Array, counts: Any, concentration: Array, sets: TermSets) -> Sweep:
    """Draw new log probabilities, given the present ones.

    Parameters
    ----------
    key
        A key of jax.random.
    log_p
        Shape (n,), normalised.
    counts
        Shape (n_terms, n), outcomes by term and category; or the tuple of their totals.
    concentration
        Positive: a number, or of shape (n,).
    sets
        The terms' sets, from `term_sets`.
    """
    log_p = jnp.asarray(log_p)
    wanted, given = sets.inside.shape, tuple(x.shape for x in totals_of(counts))
    if log_p.shape != wanted[1:] or given != (wanted[1:], wanted[:1]):
        raise DataError(
            f"probabilities of shape {log_p.shape} and counts with totals of shapes {given} were "
            f"given; ({wanted[1]},), and ({wanted[1]},) and ({wanted[0]},), are needed. For many "
            "rows use jax.vmap."
        )
    n, m = (x.astype(log_p.dtype) for x in totals_of(counts))
    a = jnp.broadcast_to(jnp.asarray(concentration, log_p.dtype), log_p.shape)
    of_total, of_waits, of_categories = jax.random.split(key, 3)
    m = jnp.where(sets.partial, m, 0.0)
    # The prior is added last, so that it is not lost in counts that cancel.
    total_shape = a.sum() + jnp.maximum(n.sum() - m.sum(), 0.0)
    n = jnp.maximum(n - m @ jnp.asarray(sets.alone, log_p.dtype), 0.0)
    m = jnp.where(sets.alone.any(axis=1), 0.0, m)
    log_total = jax.random.loggamma(of_total, total_shape)
    log_inside = _over(log_p[None, :], sets.inside, axis=1)
    waited = jax.random.loggamma(of_waits, jnp.where(m > 0, m, 1.0)) - log_inside
    waited = jnp.where(m > 0, waited, -jnp.inf)
    log_rate = jnp.logaddexp(log_total, _over(waited[:, None], sets.inside, axis=0))
    new = jax.random.loggamma(of_categories, a + n) - log_rate
    return Sweep(new - logsumexp(new), waited, log_total)


def _over(logs: Array, where: BoolArray, axis: int) -> Array:
    """Return the log of a sum of exponentials over the entries `where`; -inf over none."""
    if 0 in where.shape:
        return jnp.full(np.delete(where.shape, axis), -jnp.inf)
    return logsumexp(jnp.where(where, logs, -jnp.inf), axis=axis)
