"""Independent truths about hierarchical Dirichlet processes over transitions; imports no luce.

Quadrature over the base with rows integrated out, a plain Gibbs sampler with switches that break
it, and simulation of the joint distribution of parameters and data.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import gammaln

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]


class Truth(NamedTuple):
    """E and sd of each β_j, E of each row entry, and its covariance with β_j of that column."""

    mean: Floats
    sd: Floats
    rows: Floats
    covariance: Floats


def quadrature(
    counts: Floats, forbidden: Bools, alpha: float, gamma: float, points: int = 0
) -> Truth:
    """Trapezoidal rule over the logits of β; a row given β is Dirichlet-multinomial.

    p(β | n) ∝ Π β_j^(γ/L - 1) Π_i Γ(αβ(A_i)) / Γ(αβ(A_i) + n_i) Π_{A_i} Γ(αβ_j + n_ij) / Γ(αβ_j)
    """
    n = len(counts)
    points = points or {3: 401, 4: 49}[n]
    reach = {3: 16.0, 4: 12.0}[n]
    u = np.linspace(-reach, reach, points)
    axes = np.meshgrid(*[u] * (n - 1), indexing="ij")
    logs = np.stack([*(x.ravel() for x in axes), np.zeros(points ** (n - 1))])
    logs -= np.logaddexp.reduce(logs, axis=0)
    beta = np.exp(logs)
    log_density = (gamma / n) * logs.sum(axis=0)  # the Jacobian of logits is Π β_j
    expected = np.zeros((n, n, logs.shape[1]))
    for i in range(n):
        allowed = np.flatnonzero(~forbidden[i])
        whole, seen = alpha * beta[allowed].sum(axis=0), counts[i, allowed].sum()
        log_density += gammaln(whole) - gammaln(whole + seen)
        for j in allowed:
            log_density += gammaln(alpha * beta[j] + counts[i, j]) - gammaln(alpha * beta[j])
            expected[i, j] = (alpha * beta[j] + counts[i, j]) / (whole + seen)
    weight = np.exp(log_density - log_density.max())
    weight /= weight.sum()
    mean, rows = beta @ weight, expected @ weight
    sd = np.sqrt((beta - mean[:, None]) ** 2 @ weight)
    covariance = np.einsum("jk,ijk,k->ij", beta, expected, weight) - mean * rows
    return Truth(mean, sd, rows, covariance)


def plain_tables(rng: np.random.Generator, n: float, a: float) -> float:
    """Seat customers one by one; from the 20,000th on by the limit of their law."""
    few = int(min(n, 20_000))
    tables = (rng.random(few) * (a + np.arange(few)) < a).sum()
    return float(tables + (rng.poisson(a * np.log(n / few)) if n > few else 0))


class Point(NamedTuple):
    """Parameters: base, rows, α and γ."""

    base: Floats
    rows: Floats
    alpha: float
    gamma: float


def plain_sweep(
    rng: np.random.Generator,
    counts: Floats,
    starts: Floats,
    forbidden: Bools,
    point: Point,
    priors: tuple[tuple[float, float], tuple[float, float]] | None,
    trials: bool = False,
    by_base: bool = False,
) -> Point:
    """The sweep in plain NumPy, with hidden counts row by row and customers one by one.

    `trials` counts each of the n_i waits from 1, not from 0; `by_base` spreads hidden counts over
    the forbidden entries in proportion to β, not to the row.
    """
    n, alpha, gamma = len(counts), point.alpha, point.gamma
    tables = np.zeros(n)
    rate = 0.0
    for i in range(n):
        seen = counts[i].sum()
        if not seen:
            continue
        shape = np.maximum(alpha * point.base, 1e-12)
        row = rng.standard_gamma(np.maximum(shape, 1e-3))
        row = np.maximum(row, 1e-200)
        mixing = rng.standard_gamma(seen) / row[~forbidden[i]].sum()
        held = forbidden[i] & True
        mean = np.where(held, mixing * row, 0.0)
        if by_base:
            mean = np.where(held, mean.sum() * point.base / point.base[held].sum(), 0.0)
        hidden = rng.poisson(np.minimum(mean, 1e15)).astype(float)
        if trials:
            hidden += np.where(held, seen * point.base / point.base[held].sum(), 0.0).round()
        full = counts[i] + hidden
        for j in np.flatnonzero(full):
            tables[j] += plain_tables(rng, full[j], shape[j])
        rate -= np.log(max(rng.beta(alpha, full.sum()), 1e-300))
    if priors is not None:
        alpha = rng.gamma(priors[0][0] + tables.sum()) / (priors[0][1] + rate)
    tables += starts
    if priors is not None:
        dishes = sum(plain_tables(rng, t, gamma / n) for t in tables if t)
        rate = -np.log(rng.beta(gamma, tables.sum()))
        gamma = rng.gamma(priors[1][0] + dishes) / (priors[1][1] + rate)
    base = np.maximum(rng.dirichlet(gamma / n + tables), 1e-290)
    return Point(base, plain_rows(rng, counts, forbidden, base, alpha), alpha, gamma)


def plain_rows(
    rng: np.random.Generator, counts: Floats, forbidden: Bools, base: Floats, alpha: float
) -> Floats:
    """Rows given the base: Dirichlet on what is allowed, in logarithms."""
    shape = np.where(forbidden, 1.0, np.maximum(alpha * base, 1e-290) + counts)
    logs = np.log(rng.standard_gamma(shape + 1)) + np.log1p(-rng.random(shape.shape)) / shape
    logs = np.where(forbidden, -np.inf, logs)
    return np.asarray(np.exp(logs - np.logaddexp.reduce(logs, axis=1, keepdims=True)))


def simulate_counts(
    rng: np.random.Generator, base: Floats, rows: Floats, length: int
) -> tuple[Floats, Floats]:
    """A sequence whose first state comes from the base: transition counts and starts."""
    n = len(base)
    counts, starts = np.zeros((n, n)), np.zeros(n)
    here = int(min(np.searchsorted(np.cumsum(base), rng.random()), n - 1))
    starts[here] = 1.0
    steps = np.cumsum(rows, axis=1)
    for u in rng.random(length):
        there = int(min(np.searchsorted(steps[here], u * steps[here, -1], side="right"), n - 1))
        counts[here, there] += 1.0
        here = there
    return counts, starts
