"""NUTS of NumPyro: a Dirichlet as its users write it ("stick"), or log-gamma coordinates."""

import time

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
from numpyro.distributions import Dirichlet
from numpyro.infer import MCMC, NUTS
from problem import Problem

from samplers import Drawn, as_log, chunk_size, most_kept, warmup_steps
from samplers.jax_density import log_gamma, set_sums


def prepare(problem: Problem, seed: int, variant: str) -> "NumpyroNuts":
    return NumpyroNuts(problem, seed, variant)


def dirichlet_model(problem: Problem):
    sums, alpha = set_sums(problem), jnp.asarray(problem.alpha)
    c, m = jnp.asarray(problem.c), jnp.asarray(problem.m)

    def model():
        p = numpyro.sample("p", Dirichlet(alpha))
        numpyro.factor("likelihood", c @ jnp.log(p) - m @ jnp.log(sums(p)))

    return model


class NumpyroNuts:
    """A chain that runs in chunks of a fixed number, so that it is compiled once."""

    def __init__(self, problem: Problem, seed: int, variant: str) -> None:
        self.problem, self.to_log_p = problem, None
        start = None
        if variant == "stick":
            kernel = NUTS(dirichlet_model(problem))
        else:
            log_density, to_log_p, size = log_gamma(problem)
            self.to_log_p = jax.jit(jax.vmap(to_log_p))
            kernel = NUTS(potential_fn=lambda theta: -log_density(theta))
            start = jnp.zeros(size)
        self.mcmc = MCMC(
            kernel,
            num_warmup=warmup_steps(problem),
            num_samples=chunk_size(problem),
            progress_bar=False,
        )
        self.mcmc.warmup(jax.random.key(seed), init_params=start)
        self.chunk()  # compile

    def chunk(self) -> jax.Array:
        """The next draws, in the coordinates of the sampler."""
        self.mcmc.run(self.mcmc.post_warmup_state.rng_key)
        self.mcmc.post_warmup_state = self.mcmc.last_state
        samples = self.mcmc.get_samples()
        return jax.block_until_ready(samples["p"] if isinstance(samples, dict) else samples)

    def draw(self, seconds: float) -> Drawn:
        """Run chunks until the time is over; turning them into log p is not counted."""
        kept, made, spent = [], 0, 0.0
        while made == 0 or spent < seconds:
            began = time.perf_counter()
            samples = self.chunk()
            spent += time.perf_counter() - began
            made += len(samples)
            if made - len(samples) < most_kept(self.problem):
                log_p = self.to_log_p(samples) if self.to_log_p else as_log(np.asarray(samples))
                kept.append(np.asarray(log_p)[:, self.problem.monitored])
        return Drawn(np.concatenate(kept)[None], made, spent)
