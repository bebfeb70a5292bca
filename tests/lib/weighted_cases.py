"""Data with weighted sets on three categories, and its posterior by quadrature.

A term (numerator, count, denominator) stands for `count` outcomes of probability
Σ numerator_i p_i / Σ denominator_i p_i.  The integrals import nothing from luce.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import gammaln, logsumexp

from luce import ConditionalCounts

Floats = npt.NDArray[np.float64]
Weights = tuple[float, float, float]
Term = tuple[Weights, float, Weights]

ALL: Weights = (1, 1, 1)


class Moments(NamedTuple):
    """Mean and variance of each category, and the log evidence."""

    mean: Floats
    variance: Floats
    log_evidence: float


# One weighted set, and outcomes with all categories possible.
SINGLE: list[Term] = [
    ((1, 0, 0), 3, (1, 0.5, 0.2)),
    ((0, 1, 0), 1, (1, 0.5, 0.2)),
    ((0, 0, 1), 4, (1, 0.5, 0.2)),
    ((1, 0, 0), 1, ALL),
]

# Weighted and ordinary sets that overlap; two weighted sets have the same members.
OVERLAPPING: list[Term] = [
    ((1, 0, 0), 4, (2, 1, 0)),
    ((0, 1, 0), 2, (2, 1, 0)),
    ((0, 1, 0), 3, (0, 1, 1)),
    ((0, 0, 1), 5, (0.3, 1, 1)),
    ((1, 0, 0), 2, (1, 3, 1)),
    ((0, 0, 1), 2, (1, 0, 4)),
]

# Teams with part-time players: grouped outcomes with weights.
TEAMS: list[Term] = [
    ((1, 0.5, 0), 4, (1, 0.5, 1)),
    ((0, 0, 1), 3, (1, 0.5, 1)),
    ((0, 1, 0.25), 2, (1, 1, 0.25)),
    ((1, 0, 0), 1, (1, 1, 0.25)),
    ((0.2, 0, 1), 1, (0.2, 1, 1)),
]

CASES = {"single": SINGLE, "overlapping": OVERLAPPING, "teams": TEAMS}


def counts_of(terms: Sequence[Term]) -> ConditionalCounts:
    """Observe the terms, through mappings where weights differ from 1."""
    counts = ConditionalCounts("abc")
    for numerator, count, denominator in terms:
        within = dict(zip("abc", denominator, strict=True))
        won = {label: a for label, a in zip("abc", numerator, strict=True) if a}
        if list(won.values()) == [1]:
            counts = counts.observe(dict.fromkeys(won, count), within=within)
        else:
            counts = counts.observe_group(won, count, within=within)
    return counts


def log_likelihood(terms: Sequence[Term], log_p: Floats) -> Floats:
    """Compute Σ count (log Σ numerator p - log Σ denominator p), for log p of shape (..., 3)."""
    out = np.zeros(log_p.shape[:-1])
    for numerator, count, denominator in terms:
        for weights, power in ((numerator, count), (denominator, -count)):
            inside = np.flatnonzero(weights)
            logs = log_p[..., inside] + np.log(np.array(weights)[inside])
            out += power * np.logaddexp.reduce(logs, axis=-1)
    return out


def quadrature(
    terms: Sequence[Term], concentration: Sequence[float] | float, depth: float = 31.0
) -> Moments:
    """Integrate over the simplex by the trapezoidal rule over two log odds.

    p = (x, (1 - x) y, (1 - x)(1 - y)), x and y the inverse logits of s and t; in these the
    integrand is analytic in a strip and decays exponentially, so that the rule converges
    geometrically.  What is cut off has a share of about exp(-depth).
    """
    a = np.broadcast_to(np.asarray(concentration, np.float64), 3)
    total = a.sum() + 2 * sum(count for _, count, _ in terms)
    step, reach = min(0.5, 2.0 / np.sqrt(total)), depth / min(1.0, a.min())
    s = np.arange(-reach, reach + step, step)
    log_y, log_not_y = -np.logaddexp(0, -s), -np.logaddexp(0, s)
    parts = []
    for rows in np.array_split(s, max(1, len(s) ** 2 // 1_000_000)):
        log_x, log_not_x = -np.logaddexp(0, -rows)[:, None], -np.logaddexp(0, rows)[:, None]
        log_p = np.stack([log_x + 0 * log_y, log_not_x + log_y, log_not_x + log_not_y], axis=-1)
        log_f = log_p @ a + log_likelihood(terms, log_p)
        top = log_f.max()
        f, p = np.exp(log_f - top)[..., None], np.exp(log_p)
        sums = [f.sum(), *(f * p).sum(axis=(0, 1)), *(f * p**2).sum(axis=(0, 1))]
        with np.errstate(divide="ignore"):  # far out, where nothing is left of a category
            parts.append(top + np.log(np.array(sums)))
    logs = logsumexp(parts, axis=0)
    mean, second = np.exp(logs[1:4] - logs[0]), np.exp(logs[4:] - logs[0])
    constant = gammaln(a.sum()) - gammaln(a).sum() + 2 * np.log(step)
    return Moments(mean, second - mean**2, float(logs[0] + constant))


def over_concentrations(terms: Sequence[Term], shape: float, rate: float) -> Moments:
    """Integrate over a Gamma(shape, rate) concentration too, by the trapezoidal rule in log a.

    Of Gamma(6, 4), a share of 4e-5 is cut off.
    """
    x = np.linspace(np.log(0.15), np.log(10), 25)
    found = [quadrature(terms, float(np.exp(each)), depth=16.0) for each in x]
    logs = np.array([each.log_evidence for each in found]) + shape * x - rate * np.exp(x)
    share = np.exp(logs - logsumexp(logs))
    mean = share @ np.array([each.mean for each in found])
    second = share @ np.array([each.variance + each.mean**2 for each in found])
    evidence = logsumexp(logs) + np.log(x[1] - x[0]) + shape * np.log(rate) - gammaln(shape)
    return Moments(mean, second - mean**2, float(evidence))


def without_weights(terms: Sequence[Term]) -> list[Term]:
    """Replace all weights by 1: what a sampler would draw that ignores them."""
    return [
        (_ones(numerator), count, _ones(denominator)) for numerator, count, denominator in terms
    ]


def reversed_weights(terms: Sequence[Term]) -> list[Term]:
    """Give the weights of each set to its members in the reverse order."""
    return [
        (_turned(numerator), count, _turned(denominator)) for numerator, count, denominator in terms
    ]


def _ones(weights: Weights) -> Weights:
    return tuple(float(a > 0) for a in weights)  # type: ignore[return-value]


def _turned(weights: Weights) -> Weights:
    given = iter([a for a in weights if a][::-1])
    return tuple(next(given) if a else 0.0 for a in weights)  # type: ignore[return-value]
