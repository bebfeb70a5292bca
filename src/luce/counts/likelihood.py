"""The likelihood of conditional counts, in plain NumPy.

    log likelihood = sum_i n_i log p_i + sum_S e_S log p(S) + constant

With weights, p(S) is the sum of a_i p_i over i in S, and the constant is what dividing each set's
weights by the largest one leaves.  The judge of the samplers, `luce.model.density`, is built on it;
no sampler imports it.
"""

from __future__ import annotations

import numpy as np

from luce._types import FloatArray
from luce.counts.family import SetFamily

# Below this, 1 - (excluded probability) has lost four digits or more: the members are summed.
_CANCELLED = 1e-4


def log_powers(p: FloatArray, powers: FloatArray, family: SetFamily | None = None) -> FloatArray:
    """Return the log of a product of powers of the probabilities of categories and sets.

    The product is 0 wherever a factor is 0, even if another one is infinite.

    Parameters
    ----------
    p
        Probabilities, shape (..., n).
    powers
        Power of each category, shape (n,).
    family
        Sets with their exponents, weights and constant; none unless given.
    """
    from scipy.special import xlogy

    terms = xlogy(powers, p)
    if family is not None and family.n_sets > 0:
        sets = xlogy(family.exponent, set_probabilities(p, family))
        terms = np.concatenate([terms, sets], axis=-1)
    impossible = np.isneginf(terms).any(axis=-1, keepdims=True)
    constant = 0.0 if family is None else family.log_constant
    return np.asarray(np.where(impossible, -np.inf, terms).sum(axis=-1) + constant)


def set_probabilities(p: FloatArray, family: SetFamily) -> FloatArray:
    """Sum `p` of shape (..., n), times weights if any, over each set, into shape (..., n_sets)."""
    nest = family.nest_of_set
    begin = np.r_[0, family.set_end[:-1]]  # canonical nests end with their last set
    listed = p[..., family.members]
    if family.weights is not None:
        listed = listed * family.weights
    out = np.add.reduceat(listed, begin, axis=-1)
    place = np.arange(family.n_sets) - family.set_start[nest]
    by_level = np.argsort(place, kind="stable")
    for sets in np.split(by_level, np.flatnonzero(np.diff(place[by_level])) + 1)[1:]:
        out[..., sets] += out[..., sets - 1]
    excluded = np.flatnonzero(family.complement[nest])
    if len(excluded) == 0:
        return np.asarray(out)
    out[..., excluded] = p.sum(axis=-1, keepdims=True) - out[..., excluded]
    for t in excluded[(out[..., excluded] < _CANCELLED).reshape(-1, len(excluded)).any(axis=0)]:
        out[..., t] = p[..., family.set_members(int(t))].sum(axis=-1)
    return np.asarray(out)
