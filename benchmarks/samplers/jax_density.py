"""The log posterior in JAX, in two sets of free coordinates; each with its way back to log p.

log-gamma   theta_i = log of independent gammas whose shares are p; n coordinates
stick       logits of the share that each category takes of what the ones before left; n - 1
"""

from collections.abc import Callable

import jax

jax.config.update("jax_enable_x64", True)

import jax.numpy as jnp  # noqa: E402
from problems import Problem  # noqa: E402

Function = Callable[[jax.Array], jax.Array]


def set_sums(problem: Problem) -> Function:
    """From weights of the categories to those of the sets, by matrix where that is small."""
    matrix = problem.dense()
    if matrix is not None:
        matrix = jnp.asarray(matrix)
        return lambda weight: matrix @ weight
    rows = jnp.asarray(problem.rectangle())
    if problem.excluded:
        return lambda weight: weight.sum() - weight[rows].sum(axis=1)
    return lambda weight: weight[rows].sum(axis=1)


def log_gamma(problem: Problem) -> tuple[Function, Function, int]:
    """Log density, the way back, and the number of coordinates."""
    sums, shape, m = set_sums(problem), jnp.asarray(problem.shape), jnp.asarray(problem.m)

    def log_density(theta: jax.Array) -> jax.Array:
        # As many outcomes as conditions: the normalisation of p cancels in the likelihood.
        top = theta.max()
        log_sums = jnp.log(sums(jnp.exp(theta - top))) + top
        return shape @ theta - jnp.exp(theta).sum() - m @ log_sums

    return log_density, jax.nn.log_softmax, problem.n


def stick(problem: Problem) -> tuple[Function, Function, int]:
    """Log density, the way back, and the number of coordinates."""
    sums, shape, m = set_sums(problem), jnp.asarray(problem.shape), jnp.asarray(problem.m)
    n = problem.n
    offset = jnp.log(jnp.arange(n - 1, 0, -1))  # zero means that all are equal

    def to_log_p(y: jax.Array) -> jax.Array:
        taken, left = jax.nn.log_sigmoid(y - offset), jax.nn.log_sigmoid(offset - y)
        before = jnp.concatenate([jnp.zeros(1), jnp.cumsum(left)])
        return before + jnp.concatenate([taken, jnp.zeros(1)])

    def log_density(y: jax.Array) -> jax.Array:
        log_p = to_log_p(y)
        # d p / d y is triangular with p_k (1 - share_k) on the diagonal.
        log_jacobian = log_p[:-1].sum() + jax.nn.log_sigmoid(offset - y).sum()
        return (shape - 1) @ log_p - m @ jnp.log(sums(jnp.exp(log_p))) + log_jacobian

    return log_density, to_log_p, n - 1


COORDINATES = {"log-gamma": log_gamma, "stick": stick}
