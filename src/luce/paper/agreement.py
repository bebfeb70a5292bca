"""Whether samplers agree with each other, within what their chains let one tell."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import stdtrit

from luce._types import FloatArray
from luce.paper.claims import Claim, graded
from luce.paper.experiments import Comparison

FALSE_ALARM = 1e-4  # chance that a claim of agreement is refused although it holds


class Disagreement(NamedTuple):
    """The largest differences between a sampler and all others, and how large they may be.

    In standard errors, `z` and `bound`; in the units compared, `difference` and `allowed`.
    """

    z: float
    bound: float
    difference: float
    allowed: float


def agreement(found: Comparison) -> Claim:
    """Compare means and variances of all samplers, chain against chain."""
    means = disagreement([run.chain_means for run in found], FALSE_ALARM / 2)
    variances = disagreement([run.chain_variances for run in found], FALSE_ALARM / 2)
    return Claim(
        f"All samplers have the same posterior mean and variance (n = {found.n}).",
        f"largest difference between any sampler and the rest: {means.z:.2f} standard errors of a "
        f"mean and {variances.z:.2f} of a variance; in probability the largest difference of a "
        f"mean is {means.difference:.5f}, where {means.allowed:.5f} are allowed",
        f"both are below {means.bound:.2f} standard errors, a false alarm in {1 / FALSE_ALARM:,.0f}"
        " for all categories and samplers together",
        graded([means.z <= means.bound and variances.z <= variances.bound]),
        max(means.z, variances.z),
        ours=True,
    )


def disagreement(chains: list[FloatArray], chance: float = FALSE_ALARM) -> Disagreement:
    """Compare each sampler's mean over chains with that of all others.

    Chains are independent, so their statistics give the standard errors; the bound is Student's,
    with the degrees of freedom of one sampler's chains, over all comparisons at once.

    Parameters
    ----------
    chains
        A statistic of each chain, one array for each sampler, shape (chain, category).
    chance
        Of a false alarm.
    """
    means = np.stack([m.mean(axis=0) for m in chains])
    variances = np.stack([m.var(axis=0, ddof=1) / len(m) for m in chains])
    freedom = min(len(m) for m in chains) - 1
    bound = float(-stdtrit(freedom, chance / 2 / means.size))
    apart, errors = np.empty_like(means), np.empty_like(means)
    for k in range(len(means)):
        weights = np.delete(1 / variances, k, axis=0)
        rest = (weights * np.delete(means, k, axis=0)).sum(axis=0) / weights.sum(axis=0)
        apart[k] = np.abs(means[k] - rest)
        errors[k] = np.sqrt(variances[k] + 1 / weights.sum(axis=0))
    largest = apart.argmax()
    return Disagreement(
        float((apart / errors).max()),
        bound,
        float(apart.flat[largest]),
        float(bound * errors.flat[largest]),
    )
