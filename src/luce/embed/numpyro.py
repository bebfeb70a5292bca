"""A Gibbs function for NumPyro's `HMCGibbs`.

    p ~ Dirichlet(a(θ)),  counts | p,  θ ~ anything

`HMCGibbs` moves θ by NUTS given p; the function that `gibbs_fn` returns draws p given θ by a
waiting-time step, which leaves the posterior of p given θ invariant.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp

from luce.embed.gibbs_step import GibbsStep
from luce.embed.waiting_times_jax import floored_log, sweep, term_sets

Sites = dict[str, Any]


def gibbs_fn(
    step: GibbsStep,
    site: str,
    counts: Any | Callable[[Sites], Any],
    concentration: Any | Callable[[Sites], Any],
) -> Callable[[Any, Sites, Sites], Sites]:
    """Make a function for ``HMCGibbs(inner_kernel, gibbs_fn=..., gibbs_sites=[site])``.

    Parameters
    ----------
    step
        The sets.
    site
        Name of the Dirichlet variable in the model.
    counts
        Outcomes by term and category, or the tuple of their totals by category and by term; or a
        function of the values of all other sites that returns either.
    concentration
        The Dirichlet's parameter, or a function of the values of all other sites that returns it.

    Returns
    -------
    function
        ``(rng_key, gibbs_sites, hmc_sites) -> {site: new probabilities}``.  The counts enter here:
        the model may state their likelihood or leave it out.
    """
    sets = term_sets(step)

    def draw(rng_key: Any, gibbs_sites: Sites, hmc_sites: Sites) -> Sites:
        others = {**hmc_sites, **{k: v for k, v in gibbs_sites.items() if k != site}}
        given = counts(others) if callable(counts) else counts
        a = concentration(others) if callable(concentration) else concentration
        drawn = sweep(rng_key, floored_log(gibbs_sites[site]), given, a, sets)
        p = jnp.exp(drawn.log_probabilities)
        # NUTS takes the logarithm of p, so p must not be 0.
        return {site: jnp.maximum(p, jnp.finfo(p.dtype).tiny)}

    return draw
