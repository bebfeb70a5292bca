"""NUTS of PyMC, on a Dirichlet and a potential; nutpie takes the same model."""

import logging

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from problem import Problem

from samplers import as_log, require_fixed, warmup_steps
from samplers.one_call import OneCall

logging.getLogger("pymc").setLevel(logging.ERROR)


def make_model(problem: Problem) -> pm.Model:
    require_fixed(problem)
    matrix = problem.dense()
    with pm.Model() as model:
        p = pm.Dirichlet("p", a=problem.alpha)
        if matrix is not None:
            parts = [(problem.m, pt.dot(matrix, p))]
        else:
            parts = [(m, p[rows].sum(axis=1)) for m, rows in problem.rectangles()]
        if problem.excluded:
            parts = [(m, 1 - sums) for m, sums in parts]
        given = sum(pt.dot(m, pt.log(sums)) for m, sums in parts)
        pm.Potential("likelihood", pt.dot(problem.c, pt.log(p)) - given)
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
