"""NUTS of PyMC, on a Dirichlet and a potential; nutpie takes the same model."""

import logging

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from problem import Problem

from samplers import as_log, warmup_steps
from samplers.one_call import OneCall

logging.getLogger("pymc").setLevel(logging.ERROR)


def make_model(problem: Problem) -> pm.Model:
    matrix = problem.dense()
    with pm.Model() as model:
        p = pm.Dirichlet("p", a=problem.alpha)
        if matrix is not None:
            sums = pt.dot(matrix, p)
        else:
            sums = p[problem.rectangle()].sum(axis=1)
            if problem.excluded:
                sums = 1 - sums
        pm.Potential("likelihood", pt.dot(problem.c, pt.log(p)) - pt.dot(problem.m, pt.log(sums)))
    return model


def prepare(problem: Problem, seed: int, variant: str) -> OneCall:
    model = make_model(problem)

    def call(draws: int) -> np.ndarray:
        with model:
            trace = pm.sample(
                draws, tune=warmup_steps(problem), chains=1, cores=1, random_seed=seed,
                progressbar=False, compute_convergence_checks=False, nuts_sampler="pymc",
            )  # fmt: skip
        return as_log(trace.posterior["p"].to_numpy()[0][:, problem.monitored])

    return OneCall(problem, call)
