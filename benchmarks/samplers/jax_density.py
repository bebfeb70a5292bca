"""The log posterior in JAX, in two sets of free coordinates; each with its way to what is kept.

log-gamma   theta_i = log of independent gammas whose shares are p; n coordinates, and one more,
            the log concentration, where that is drawn
stick       logits of the share that each category takes of what the ones before left; n - 1
"""

from collections.abc import Callable

import jax

jax.config.update("jax_enable_x64", True)

import jax.numpy as jnp  # noqa: E402
from jax.scipy.special import gammaln  # noqa: E402
from problem import Problem  # noqa: E402

from samplers import require_fixed  # noqa: E402

Function = Callable[[jax.Array], jax.Array]


def log_sets(problem: Problem) -> Function:
    """From weights of the categories to the sum of m_t log weight of S_t."""
    matrix, orders = problem.dense(), problem.orders()
    if orders is not None:
        return _log_sets_of_rankings(jnp.asarray(orders), problem.n)
    if matrix is not None:
        matrix, m = jnp.asarray(matrix), jnp.asarray(problem.m)
        return lambda weight: m @ jnp.log(matrix @ weight)
    parts = [(jnp.asarray(m), jnp.asarray(rows)) for m, rows in problem.rectangles()]
    if problem.excluded:
        return lambda weight: sum(
            m @ jnp.log(weight.sum() - weight[rows].sum(axis=1)) for m, rows in parts
        )
    return lambda weight: sum(m @ jnp.log(weight[rows].sum(axis=1)) for m, rows in parts)


def _log_sets_of_rankings(orders: jax.Array, n: int) -> Function:
    """All who are left at each place but the last; n stands for nobody."""
    places = orders.T
    still_there = jnp.triu(jnp.ones((len(places),) * 2))[:-1]
    counts = places[1:] < n

    def log_sum(weight: jax.Array) -> jax.Array:
        left = still_there @ jnp.append(weight, 0.0)[places]  # faster than cumulative sums
        return jnp.log(jnp.where(counts, left, 1.0)).sum()

    return log_sum


def log_gamma(problem: Problem) -> tuple[Function, Function, int]:
    """Log density, the way back, and the number of coordinates."""
    given, c, alpha = log_sets(problem), jnp.asarray(problem.c), jnp.asarray(problem.alpha)
    n, kept = problem.n, jnp.asarray(problem.monitored)

    def log_likelihood(theta: jax.Array) -> jax.Array:
        # As many outcomes as conditions: the normalisation of p cancels.
        top = theta.max()
        return c @ (theta - top) - given(jnp.exp(theta - top))

    def fixed(theta: jax.Array) -> jax.Array:
        return alpha @ theta - jnp.exp(theta).sum() + log_likelihood(theta)

    def drawn(coordinates: jax.Array) -> jax.Array:
        theta, log_a = coordinates[:n], coordinates[n]
        a, (shape, rate) = jnp.exp(log_a), problem.hyperprior
        prior = a * theta.sum() - jnp.exp(theta).sum() - n * gammaln(a)
        return prior + shape * log_a - rate * a + log_likelihood(theta)

    def kept_of(coordinates: jax.Array) -> jax.Array:
        return jnp.append(jax.nn.log_softmax(coordinates[:n])[kept], coordinates[n:])

    if problem.hyperprior is None:
        return fixed, kept_of, n
    return drawn, kept_of, n + 1


def stick(problem: Problem) -> tuple[Function, Function, int]:
    """Log density, the way back, and the number of coordinates."""
    require_fixed(problem)
    given, shape, n = log_sets(problem), jnp.asarray(problem.shape), problem.n
    offset = jnp.log(jnp.arange(n - 1, 0, -1))  # zero means that all are equal
    kept = jnp.asarray(problem.monitored)

    def to_log_p(y: jax.Array) -> jax.Array:
        taken, left = jax.nn.log_sigmoid(y - offset), jax.nn.log_sigmoid(offset - y)
        before = jnp.concatenate([jnp.zeros(1), jnp.cumsum(left)])
        return before + jnp.concatenate([taken, jnp.zeros(1)])

    def log_density(y: jax.Array) -> jax.Array:
        log_p = to_log_p(y)
        # d p / d y is triangular with p_k (1 - share_k) on the diagonal.
        log_jacobian = log_p[:-1].sum() + jax.nn.log_sigmoid(offset - y).sum()
        return (shape - 1) @ log_p - given(jnp.exp(log_p)) + log_jacobian

    return log_density, lambda y: to_log_p(y)[kept], n - 1


COORDINATES = {"log-gamma": log_gamma, "stick": stick}
