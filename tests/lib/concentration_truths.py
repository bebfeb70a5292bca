"""A posterior whose concentration is drawn too, and its means by quadrature.

a ~ Gamma(2, 1.5),  p ~ Dirichlet(a, a, a),  counts within two overlapping sets | p
"""

from typing import NamedTuple

import numpy as np
from scipy.special import gammaln

from luce import ConditionalCounts, Gamma

# The sets overlap: no closed form, so the simplex of three is summed up point by point.
OVERLAPPING = (
    ConditionalCounts("abc")
    .observe({"a": 6, "b": 1}, within="ab")
    .observe({"b": 2, "c": 7}, within="bc")
)
PRIOR = Gamma(2.0, 1.5)
LOG_A = np.linspace(-14.0, 6.0, 301)  # grid of log concentrations that sums run over


class Truth(NamedTuple):
    """Means of log a, a and the probabilities, in that order."""

    means: np.ndarray


def weighted(log_evidence: np.ndarray, means: np.ndarray, prior: Gamma) -> Truth:
    """Average over the grid of concentrations, by evidence and prior."""
    a = np.exp(LOG_A)
    log_weight = log_evidence + prior.shape * LOG_A - prior.rate * a
    weight = np.exp(log_weight - log_weight.max())
    weight /= weight.sum()
    return Truth(weight @ np.column_stack([LOG_A, a, means]))


def overlapping_truth(prior: Gamma = PRIOR) -> Truth:
    """A sum over the simplex in logit coordinates, where the density is smooth, and over a."""
    x = np.linspace(-40.0, 40.0, 321)
    u, v = np.meshgrid(x, x)
    logs = np.stack([u, v, np.zeros_like(u)])
    logs -= np.logaddexp.reduce(logs, axis=0)
    ab, bc = (np.logaddexp(logs[i], logs[i + 1]) for i in (0, 1))
    data = 6 * logs[0] + 3 * logs[1] + 7 * logs[2] - 7 * ab - 9 * bc
    evidence, means = np.empty(len(LOG_A)), np.empty((len(LOG_A), 3))
    for k, a in enumerate(np.exp(LOG_A)):
        # The Jacobian of the logit coordinates is the product of the probabilities.
        log_density = data + a * logs.sum(axis=0) + gammaln(3 * a) - 3 * gammaln(a)
        top = log_density.max()
        density = np.exp(log_density - top)
        evidence[k] = top + np.log(density.sum())
        means[k] = (np.exp(logs) * density).sum(axis=(1, 2)) / density.sum()
    return weighted(evidence, means, prior)
