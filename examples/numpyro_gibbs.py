"""A Dirichlet site drawn by luce inside a NumPyro model; NUTS samples its concentration."""

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
from numpyro.infer import MCMC, NUTS, HMCGibbs

import luce
from luce.embed.numpyro import gibbs_fn

# Transitions of a semi-Markov chain: state t is always left for another state.
truth = np.array([0.4, 0.3, 0.2, 0.1])
step = luce.GibbsStep(4, without=[[0], [1], [2], [3]])
rng = np.random.default_rng(1)
inside = np.where(step.inside, truth, 0.0)
counts = np.array([rng.multinomial(500, row / row.sum()) for row in inside])


def model():
    """The prior; the counts enter through the Gibbs function."""
    a = numpyro.sample("a", dist.Gamma(2.0, 1.0))
    numpyro.sample("p", dist.Dirichlet(a * jnp.ones(4)))


draw_p = gibbs_fn(step, "p", counts, concentration=lambda sites: sites["a"])
kernel = HMCGibbs(NUTS(model), gibbs_fn=draw_p, gibbs_sites=["p"])
mcmc = MCMC(kernel, num_warmup=500, num_samples=2000, progress_bar=False)
mcmc.run(jax.random.key(1))

p = np.asarray(mcmc.get_samples()["p"])
mean, sd = p.mean(axis=0), p.std(axis=0)
print("truth", truth)
print("mean ", mean.round(3))
print("within three standard deviations:", bool((np.abs(mean - truth) < 3 * sd).all()))
