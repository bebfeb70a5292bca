"""Stan's NUTS through pystan."""

import time

import numpy as np
import stan
from problem import Problem

from samplers import as_log, require_fixed, warmup_steps
from samplers.one_call import OneCall

DENSE = """
data {
  int<lower=1> n, sets;
  vector<lower=0>[n] alpha, c;
  vector[sets] m;
  matrix[sets, n] member;
}
parameters { simplex[n] p; }
model {
  p ~ dirichlet(alpha);
  target += dot_product(c, log(p)) - dot_product(m, log(member * p));
}
"""

SPARSE = """
data {
  int<lower=1> n, sets, members;
  vector<lower=0>[n] alpha, c;
  vector[sets] m;
  array[members] int idx;
  array[sets + 1] int ptr;
  int<lower=0, upper=1> excluded;
}
transformed data { vector[members] ones = rep_vector(1, members); }
parameters { simplex[n] p; }
model {
  vector[sets] sums = csr_matrix_times_vector(sets, n, ones, idx, ptr, p);
  p ~ dirichlet(alpha);
  target += dot_product(c, log(p)) - dot_product(m, log(excluded ? 1 - sums : sums));
}
"""


def prepare(problem: Problem, seed: int, variant: str) -> OneCall:
    require_fixed(problem)
    data = {
        "n": problem.n, "sets": len(problem.m),
        "alpha": problem.alpha.tolist(), "c": problem.c.tolist(), "m": problem.m.tolist(),
    }  # fmt: skip
    matrix = problem.dense()
    if matrix is not None:
        data["member"] = matrix.tolist()
    else:
        data |= {"members": len(problem.idx), "excluded": int(problem.excluded)}
        data |= {"idx": (problem.idx + 1).tolist(), "ptr": (problem.ptr + 1).tolist()}
    model = stan.build(SPARSE if matrix is None else DENSE, data=data, random_seed=seed)

    def call(draws: int) -> np.ndarray:
        fit = model.sample(num_chains=1, num_samples=draws, num_warmup=warmup_steps(problem))
        return as_log(fit["p"].T[:, problem.monitored])

    return OneCall(problem, call, time.perf_counter)  # it samples in other processes
