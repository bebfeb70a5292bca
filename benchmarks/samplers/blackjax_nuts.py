"""NUTS of BlackJAX: window adaptation, then chunks of a compiled scan."""

import time

import blackjax
import jax
import jax.numpy as jnp
import numpy as np
from blackjax.adaptation.base import get_filter_adapt_info_fn
from problem import Problem

from samplers import Drawn, chunk_size, most_kept, warmup_steps
from samplers.jax_density import COORDINATES


def prepare(problem: Problem, seed: int, variant: str) -> "BlackjaxNuts":
    return BlackjaxNuts(problem, seed, variant)


class BlackjaxNuts:
    """A chain whose step is compiled for a fixed number of draws."""

    def __init__(self, problem: Problem, seed: int, variant: str) -> None:
        log_density, to_kept, size = COORDINATES[variant](problem)
        self.problem = problem
        self.to_kept = jax.jit(jax.vmap(to_kept))
        self.key, key = jax.random.split(jax.random.key(seed))
        adaptation = blackjax.window_adaptation(
            blackjax.nuts, log_density, adaptation_info_fn=get_filter_adapt_info_fn()
        )
        start = jnp.zeros(size)
        (self.state, found), _ = adaptation.run(key, start, num_steps=warmup_steps(problem))
        step = blackjax.nuts(log_density, **found).step

        def one(state, key):
            state, _ = step(key, state)
            return state, state.position

        @jax.jit
        def many(state, key):
            return jax.lax.scan(one, state, jax.random.split(key, chunk_size(problem)))

        self.many = many.lower(self.state, self.key).compile()

    def draw(self, seconds: float) -> Drawn:
        """Run chunks until the time is over; turning them into what is kept is not counted."""
        kept, made, spent = [], 0, 0.0
        while made == 0 or spent < seconds:
            self.key, key = jax.random.split(self.key)
            began = time.process_time()
            self.state, positions = jax.block_until_ready(self.many(self.state, key))
            spent += time.process_time() - began
            made += len(positions)
            if made - len(positions) < most_kept(self.problem):
                kept.append(np.asarray(self.to_kept(positions)))
        return Drawn(np.concatenate(kept)[None], made, spent)
