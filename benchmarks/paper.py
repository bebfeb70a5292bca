"""Effective draws per second on the paper's problems, against NumPy's own Dirichlet draws.

    python benchmarks/paper.py

One chain, one thread, 100,000 draws, the whole call of `sample`; the effective sample size is the
smallest over the categories, capped at the number of draws.  Medians over repeats, both measured in
turns in one process.
"""

import statistics
import time

import numpy as np
from arviz_stats.base import array_stats

from luce.examples import paper_posterior

DRAWS = 100_000


def main(repeats: int = 9) -> None:
    print("| n | NumPy iid draws/s | luce effective draws/s | ratio | method |")
    print("| ---: | ---: | ---: | ---: | --- |")
    for n in (10, 20):
        posterior = paper_posterior(n)
        shape = posterior.concentration + posterior.counts.category_counts
        rng = np.random.default_rng(1)
        posterior.sample(DRAWS, chains=1, threads=1, seed=0)  # compile
        ours, numpys, method = [], [], ""
        for seed in range(repeats):
            began = time.perf_counter()
            rng.dirichlet(shape, DRAWS)
            numpys.append(DRAWS / (time.perf_counter() - began))
            began = time.perf_counter()
            draws = posterior.sample(DRAWS, chains=1, threads=1, seed=seed)
            taken = time.perf_counter() - began
            p = draws.posterior["probabilities"].to_numpy()
            ess = min(float(np.min(array_stats.ess(p, chain_axis=0, draw_axis=1))), DRAWS)
            ours.append(ess / taken)
            method = draws.attrs["method"]
        limit, rate = statistics.median(numpys), statistics.median(ours)
        print(f"| {n} | {limit:,.0f} | {rate:,.0f} | {rate / limit:.2f} | {method} |")


if __name__ == "__main__":
    main()
