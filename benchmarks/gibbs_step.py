"""What does `luce.GibbsStep` cost, against NumPy's Dirichlet and against its own gammas?

    python benchmarks/gibbs_step.py

20 categories and 20 terms, each "all but one".  What is compared takes turns in one process, and
the least of many repeats counts: what else the machine does can only add to a time.
"""

import time
from collections.abc import Callable

import numpy as np

import luce
from luce.kernels.jit import compiled, on_stack
from luce.kernels.random import gamma

N, ROWS = 20, 1000


@compiled
def draw_gammas(bits, shapes, out):
    own = on_stack(bits)
    for i in range(len(shapes)):
        out[i] = gamma(own, shapes[i])
    for k in range(4):
        bits[k] = own[k]


def least(works: dict[str, Callable[[], object]], calls: int, repeats: int) -> dict[str, float]:
    """Seconds a call of each, taking turns."""
    best = dict.fromkeys(works, np.inf)
    for _ in range(repeats):
        for name, work in works.items():
            began = time.perf_counter()
            for _ in range(calls):
                work()
            best[name] = min(best[name], (time.perf_counter() - began) / calls)
    return best


def main() -> None:
    rng = np.random.default_rng(1)
    step = luce.GibbsStep(N, without=[[i] for i in range(N)])
    tables = rng.poisson(1.0, (ROWS, N, N)) * (1.0 - np.eye(N))
    p = rng.dirichlet(np.ones(N), ROWS)
    totals = tables.sum(axis=1), tables.sum(axis=2)
    a = np.ones(N)
    one, one_p, one_table = (totals[0][0], totals[1][0]), p[0].copy(), tables[0].copy()
    single = least(
        {
            "Generator.dirichlet": lambda: rng.dirichlet(one[0] + a),
            "GibbsStep, totals": lambda: step(rng, one_p, one, a),
            "GibbsStep, table": lambda: step(rng, one_p, one_table, a),
            "GibbsStep, totals, one number for concentration": lambda: step(rng, one_p, one, 1.0),
        },
        calls=200,
        repeats=500,
    )
    shapes = np.column_stack([totals[1], np.full(ROWS, a.sum()), totals[0] + a]).ravel()
    space, bits = np.empty(len(shapes)), luce.GibbsStep.bits(rng)
    batched = least(
        {
            "gammas alone": lambda: draw_gammas(bits, shapes, space),
            "Generator.standard_gamma": lambda: rng.standard_gamma(shapes),
            "GibbsStep, totals": lambda: step(rng, p, totals, a),
            "GibbsStep, table": lambda: step(rng, p, tables, a),
        },
        calls=1,
        repeats=2000,
    )
    for title, times in ((f"one call, n = {N}", single), (f"{ROWS} rows, n = {N}", batched)):
        base = next(iter(times.values()))
        print(f"| {title} | µs | ratio |\n| --- | ---: | ---: |")
        for name, seconds in times.items():
            print(f"| {name} | {seconds * 1e6:.2f} | {seconds / base:.2f} |")
        print()


if __name__ == "__main__":
    main()
