"""A Dirichlet variable drawn by luce beside a BlackJAX kernel; NUTS samples its concentration."""

import blackjax
import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import gammaln

import luce
from luce.embed.blackjax import waiting_times

# Transitions of a semi-Markov chain: state t is always left for another state.
truth = np.array([0.4, 0.3, 0.2, 0.1])
step = luce.GibbsStep(4, without=[[0], [1], [2], [3]])
rng = np.random.default_rng(1)
inside = np.where(step.inside, truth, 0.0)
counts = np.array([rng.multinomial(500, row / row.sum()) for row in inside])


def log_density(log_a, log_p):
    """Return log p(log a | p) up to a constant, for a ~ Gamma(2, 1)."""
    a = jnp.exp(log_a)
    return 2.0 * log_a - a + gammaln(4 * a) - 4 * gammaln(a) + a * log_p.sum()


gibbs = waiting_times(step)


def sweep(carry, key):
    """Draw log a given p by NUTS, then p given a by luce."""
    log_a, state = carry
    first, second = jax.random.split(key)
    nuts = blackjax.nuts(lambda x: log_density(x, state.log_probabilities), 0.5, jnp.ones(1))
    log_a = nuts.step(first, nuts.init(log_a))[0].position
    state, _ = gibbs.step(second, state, counts, jnp.exp(log_a))
    return (log_a, state), state.position


start = jnp.zeros(()), gibbs.init(jnp.full(4, 0.25))
_, p = jax.jit(lambda keys: jax.lax.scan(sweep, start, keys))(
    jax.random.split(jax.random.key(1), 2500)
)

p = np.asarray(p)[500:]
mean, sd = p.mean(axis=0), p.std(axis=0)
print("truth", truth)
print("mean ", mean.round(3))
print("within three standard deviations:", bool((np.abs(mean - truth) < 3 * sd).all()))
