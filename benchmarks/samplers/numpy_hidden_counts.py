"""Johnson and Willsky's sampler as their paper states it, in NumPy.

Outcomes that were truncated are drawn, and then all are there: for each outcome given S, a
geometric number of others fell outside; they fall on the categories there in proportion to p.
"""

import numpy as np
from problem import Problem

from samplers import NotPossible, require_fixed
from samplers.numpy_loop import NumpyLoop


def prepare(problem: Problem, seed: int, variant: str) -> NumpyLoop:
    require_fixed(problem)
    if (problem.m < 0).any():
        raise NotPossible("outcomes are sets")
    if not problem.excluded and problem.n * len(problem.m) > 20_000_000:
        raise NotPossible("what is outside of each set does not fit")
    rng = np.random.default_rng(seed)
    everything = np.arange(problem.n)
    outside = [
        row if problem.excluded else np.setdiff1d(everything, row, assume_unique=True)
        for row in problem.rows
    ]
    outcomes = problem.m.astype(int)
    p = rng.dirichlet(problem.shape)

    def step() -> np.ndarray:
        nonlocal p
        shape = problem.shape
        inside = problem.set_sums(p)
        for t, row in enumerate(outside):
            hidden = int((rng.geometric(inside[t], outcomes[t]) - 1).sum())
            others = p[row]
            shape[row] += rng.multinomial(hidden, others / others.sum())
        p = rng.dirichlet(shape)
        return p

    return NumpyLoop(problem, step)
