"""A Dirichlet variable drawn by luce inside a PyMC model; NUTS samples its concentration."""

import numpy as np
import pymc as pm

import luce
from luce.embed.pymc import WaitingTimes

# Transitions of a semi-Markov chain: state t is always left for another state.
truth = np.array([0.4, 0.3, 0.2, 0.1])
step = luce.GibbsStep(4, without=[[0], [1], [2], [3]])
rng = np.random.default_rng(1)
inside = np.where(step.inside, truth, 0.0)
counts = np.array([rng.multinomial(500, row / row.sum()) for row in inside])

with pm.Model():
    a = pm.Gamma("a", 2.0, 1.0)
    p = pm.Dirichlet("p", a * np.ones(4))
    draw_p = WaitingTimes(p, step, counts)
    draws = pm.sample(1000, step=[draw_p], chains=2, cores=1, random_seed=1, progressbar=False)

mean = draws.posterior["p"].mean(("chain", "draw")).to_numpy()
sd = draws.posterior["p"].std(("chain", "draw")).to_numpy()
print("truth", truth)
print("mean ", mean.round(3))
print("within three standard deviations:", bool((np.abs(mean - truth) < 3 * sd).all()))
