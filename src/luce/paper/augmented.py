"""The augmented model, its hidden counts summed out by brute force."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from luce._types import FloatArray
from luce.counts.counts import ConditionalCounts
from luce.posterior import Posterior

CUT = 400  # largest number of hidden outcomes of a term in the sum
LARGEST = 0.8  # largest truncated probability: the terms left out are below 1e-30 of the sum

Term = tuple[Mapping[int, int], int]  # observed outcomes, and the truncated category

# The example: two terms of four categories.
CONCENTRATION = (1.5, 2.0, 0.7, 3.0)
TERMS: tuple[Term, ...] = (({1: 3, 2: 1}, 0), ({0: 2, 1: 1, 3: 2}, 2))


@dataclass(frozen=True)
class SummedOut:
    """The largest error in the logarithm of a ratio of densities, and the number of points."""

    points: int
    largest_error: float


def sum_out(seed: int, points: int = 200) -> SummedOut:
    """Compare the summed augmented density with the posterior's at random points."""
    counts = ConditionalCounts(len(CONCENTRATION))
    for seen, truncated in TERMS:
        counts = counts.observe(dict(seen.items()), without=[truncated])
    posterior = Posterior(counts, np.array(CONCENTRATION))
    rng = np.random.default_rng([seed, 4])
    p = rng.dirichlet(np.ones(len(CONCENTRATION)), 4 * points)
    p = p[p[:, [truncated for _, truncated in TERMS]].max(axis=1) < LARGEST][:points]
    gap = log_sum(p, CONCENTRATION, TERMS) - posterior.log_density(p)
    return SummedOut(len(p), float(np.ptp(gap)))  # neither density is normalised


def log_sum(p: FloatArray, concentration: Sequence[float], terms: Sequence[Term]) -> FloatArray:
    """Sum the paper's q(π, m, k) over all hidden counts; return its logarithm at each row of p.

    An outcome j of a term has a hidden count k_j = 0, 1, 2, ... of truncated outcomes; q depends on
    their sum h over the outcomes, so that each h is weighted by the number of such k.
    """
    log_p = np.log(p)
    total = log_p @ (np.asarray(concentration) - 1)
    for seen, truncated in terms:
        ways = np.ones(1)
        for _ in range(sum(seen.values())):
            ways = np.convolve(ways, np.ones(CUT + 1))[: CUT + 1]
        h = np.arange(len(ways))
        hidden = np.log(ways) + h * log_p[:, [truncated]]
        total = total + sum(m * log_p[:, i] for i, m in seen.items())
        total = total + np.logaddexp.reduce(hidden, axis=1)
    return np.asarray(total)
