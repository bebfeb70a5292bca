"""Rankings with ties by enumeration: probabilities, posterior means and their errors.

Shares no code with the package.
"""

from collections.abc import Callable, Sequence
from itertools import combinations, permutations, product
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize

Floats = npt.NDArray[np.float64]
Ranking = Sequence[Sequence[int]]  # classes of category numbers, best first


def order_probability(p: Floats, order: Sequence[int], among: Sequence[int]) -> Floats:
    """The probability that the first places among some go to `order`."""
    value, left = np.ones(p.shape[:-1]), list(among)
    for i in order:
        value = value * p[..., i] / p[..., left].sum(axis=-1)
        left.remove(i)
    return value


def unknown_order(p: Floats, ranking: Ranking) -> Floats:
    """The probability of a ranking whose ties are sums over their orders."""
    everybody = [i for tied in ranking for i in tied]
    orders = product(*(permutations(tied) for tied in ranking))
    strict = ([i for tied in places for i in tied] for places in orders)
    return np.asarray(sum(order_probability(p, order, everybody) for order in strict))


def davidson_luce(p: Floats, delta: Floats, ranking: Ranking) -> Floats:
    """The probability of a ranking as choices with ties; `delta` holds 1, δ_2, ... last."""
    left, value = [i for tied in ranking for i in tied], np.ones(p.shape[:-1])
    for tied in ranking:
        if len(left) > 1:
            total = sum(
                delta[..., d - 1] * np.prod(p[..., list(some)], axis=-1) ** (1 / d)
                for d in range(1, min(delta.shape[-1], len(left)) + 1)
                for some in combinations(left, d)
            )
            d = len(tied)
            chosen = delta[..., d - 1] * np.prod(p[..., list(tied)], axis=-1) ** (1 / d)
            value = value * chosen / total
        left = [i for i in left if i not in tied]
    return value


class Means(NamedTuple):
    """Means with their standard errors."""

    value: Floats
    error: Floats


def importance_means(
    log_density: Callable[[Floats, Floats], Floats],
    n: int,
    parameters: int,
    rng: np.random.Generator,
    size: int = 200_000,
) -> Means:
    """Posterior means of p and parameters by importance sampling from a t distribution.

    `log_density` is that of p and the parameters, given arrays of shape (..., n) and
    (..., parameters).
    """

    def natural(z: Floats) -> tuple[Floats, Floats]:
        logs = np.concatenate([z[..., : n - 1], np.zeros((*z.shape[:-1], 1))], axis=-1)
        logs = logs - np.logaddexp.reduce(logs, axis=-1, keepdims=True)
        return np.exp(logs), np.exp(z[..., n - 1 :])

    def log_f(z: Floats) -> Floats:
        p, q = natural(z)
        jacobian = np.log(p).sum(axis=-1) + np.log(q).sum(axis=-1)
        return np.asarray(log_density(p, q) + jacobian)

    dimensions, freedom = n - 1 + parameters, 5.0
    mode = minimize(lambda z: -float(log_f(z)), np.zeros(dimensions), method="BFGS").x
    step, eye = 1e-3, np.eye(dimensions)
    hessian = np.array(
        [
            [
                sum(a * b * float(log_f(mode + step * (a * u + b * v))) for a, b in _SIGNS)
                for v in eye
            ]
            for u in eye
        ]
    ) / (-4 * step**2)
    root = np.linalg.cholesky(1.3 * np.linalg.inv(hessian))
    normal = rng.normal(size=(size, dimensions))
    scale = np.sqrt(freedom / rng.chisquare(freedom, size))
    z = mode + (scale[:, None] * normal) @ root.T
    log_q = (
        -(freedom + dimensions)
        / 2
        * np.log1p((scale[:, None] * normal) ** 2 @ np.ones(dimensions) / freedom)
    )
    log_w = log_f(z) - log_q
    weight = np.exp(log_w - log_w.max())
    weight /= weight.sum()
    values = np.concatenate(natural(z), axis=-1)
    mean = weight @ values
    return Means(mean, np.sqrt(weight**2 @ (values - mean) ** 2))


_SIGNS = ((1, 1), (1, -1), (-1, 1), (-1, -1))


def chain_means(draws: Any, batches: int = 25) -> Means:
    """Means of p and parameters over a run, with errors from the means of batches."""
    posterior = draws.posterior
    names = [name for name in posterior.data_vars if name.startswith("tie")]
    columns = [posterior["probabilities"].values] + [posterior[x].values[..., None] for x in names]
    x = np.concatenate(columns, axis=-1)
    chains, length, entries = x.shape
    each = x.reshape(chains * batches, length // batches, entries).mean(axis=1)
    return Means(each.mean(axis=0), each.std(axis=0, ddof=1) / np.sqrt(len(each)))


def worst(drawn: Means, truth: Means) -> float:
    """The largest difference, in standard errors."""
    error = np.hypot(drawn.error, truth.error)
    return float(np.max(np.abs(drawn.value - truth.value) / error))
