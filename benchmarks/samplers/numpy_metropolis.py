"""The paper's baseline in NumPy: Metropolis with proposals Dirichlet(beta p), tuned to accept 0.24.

At shapes below 1 a proposal may be 0 in floating point; it is refused.
"""

import numpy as np
from problem import Problem
from scipy.special import gammaln

from samplers import require_fixed
from samplers.numpy_loop import NumpyLoop

_ACCEPT = 0.24


def log_dirichlet(log_p: np.ndarray, shape: np.ndarray) -> float:
    return gammaln(shape.sum()) - gammaln(shape).sum() + (shape - 1) @ log_p


def prepare(problem: Problem, seed: int, variant: str) -> NumpyLoop:
    require_fixed(problem)
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.maximum(problem.shape, 1.0))
    log_p, value = np.log(p), problem.log_density(p)
    log_beta, steps, tuning = np.log(max(160.0, problem.shape.sum())), 0, True

    def step() -> np.ndarray:
        nonlocal p, log_p, value, log_beta, steps
        beta = np.exp(log_beta)
        proposal = rng.dirichlet(beta * p)
        accepted = 0.0
        if (proposal > 0).all():
            new_log, new_value = np.log(proposal), problem.log_density(proposal)
            back = log_dirichlet(log_p, beta * proposal) - log_dirichlet(new_log, beta * p)
            if np.log(rng.random()) < new_value - value + back:
                p, log_p, value, accepted = proposal, new_log, new_value, 1.0
        if tuning:  # Robbins and Monro: narrower where too little is accepted
            steps += 1
            log_beta += 3.0 * (_ACCEPT - accepted) / steps**0.6
        return p

    loop = NumpyLoop(problem, step)
    tuning = False
    return loop
