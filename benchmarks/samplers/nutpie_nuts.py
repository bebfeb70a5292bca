"""nutpie: NUTS in Rust on the PyMC model, compiled with numba."""

import numpy as np
import nutpie
from problem import Problem

from samplers import as_log, warmup_steps
from samplers.one_call import OneCall
from samplers.pymc_nuts import make_model


def prepare(problem: Problem, seed: int, variant: str) -> OneCall:
    compiled = nutpie.compile_pymc_model(make_model(problem))

    def call(draws: int) -> np.ndarray:
        trace = nutpie.sample(
            compiled, draws=draws, tune=warmup_steps(problem), chains=1, cores=1, seed=seed,
            save_warmup=False, progress_bar=False,
        )  # fmt: skip
        return as_log(trace.posterior["p"].to_numpy()[0][:, problem.monitored])

    return OneCall(problem, call)
