"""NUTS of NumPyro: a Dirichlet as its users write it ("stick"), or log-gamma coordinates."""

import time

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
from numpyro.distributions import Dirichlet
from numpyro.infer import MCMC, NUTS
from problem import Problem

from samplers import Drawn, as_log, chunk_size, most_kept, require_fixed, warmup_steps
from samplers.jax_density import log_gamma, log_sets


def prepare(problem: Problem, seed: int, variant: str) -> "NumpyroNuts":
    return NumpyroNuts(problem, seed, variant)


def dirichlet_model(problem: Problem):
    require_fixed(problem)
    given, alpha, c = log_sets(problem), jnp.asarray(problem.alpha), jnp.asarray(problem.c)

    def model():
        p = numpyro.sample("p", Dirichlet(alpha))
        numpyro.factor("likelihood", c @ jnp.log(p) - given(p))

    return model


class NumpyroNuts:
    """A chain that runs in chunks of a fixed number, so that it is compiled once."""

    def __init__(self, problem: Problem, seed: int, variant: str) -> None:
        self.problem, self.to_kept = problem, lambda p: as_log(np.asarray(p)[:, problem.monitored])
        start = None
        if variant == "stick":
            kernel = NUTS(dirichlet_model(problem))
        else:
            log_density, to_kept, size = log_gamma(problem)
            self.to_kept = jax.jit(jax.vmap(to_kept))
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
            began = time.process_time()
            samples = self.chunk()
            spent += time.process_time() - began
            made += len(samples)
            if made - len(samples) < most_kept(self.problem):
                kept.append(np.asarray(self.to_kept(samples)))
        return Drawn(np.concatenate(kept)[None], made, spent)
