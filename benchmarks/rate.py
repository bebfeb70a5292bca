"""Effective draws of luce a CPU second: a whole call of `sample`, one chain on one core.

    PYTHONPATH=SRC python benchmarks/rate.py PROBLEM [--method auto] [--draws N] [--repeats 5]

PROBLEM may have changes, as "league:teams=30,seed=2".  A first small call loads or compiles code,
which is not counted.  Without --draws, calls grow until one takes --seconds or has 100,000 draws;
the repeats have as many.  With --fresh the posterior is built anew for each call, which then finds
the structure of the data too.

The least bulk effective sample size of arviz-stats over log p of all categories, and over the
log concentration where that is drawn, capped at the number of draws, is divided by the CPU seconds
of the call, warm-up included.  The limit is NumPy's independent Dirichlet draws, before
and after each call.
"""

import argparse
import json
import os
import pickle
import statistics
import time
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

MOST_DRAWS, FIRST_DRAWS = 100_000, 20

# One thread for everything that would start more.
ONE_THREAD = dict.fromkeys(
    ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"), "1"
)


class Call(NamedTuple):
    """Draws of one call, its CPU seconds, the method it chose and whether it warned."""

    log_draws: Any
    seconds: float
    method: str
    warned: bool


def sampler(problem: Any, method: str, fresh: bool) -> Callable[[int, int], Call]:
    """Read the data, and return a function of draws and seed."""
    import numpy as np

    from luce import ConvergenceWarning

    posterior = problem.posterior()
    stored = pickle.dumps(posterior)

    def call(draws: int, seed: int) -> Call:
        target = pickle.loads(stored) if fresh else posterior
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            began = time.process_time()
            tree = target.sample(
                draws, chains=1, threads=1, seed=seed, method=method, progress=False
            )
            seconds = time.process_time() - began
        warned = any(issubclass(w.category, ConvergenceWarning) for w in caught)
        found = tree.posterior
        if "log_probabilities" in found:
            log_draws = found["log_probabilities"].to_numpy()
        else:
            log_draws = np.log(np.maximum(found["probabilities"].to_numpy(), 5e-324))
        if problem.hyperprior:
            log_a = np.log(found["concentration"].to_numpy())[..., None]
            log_draws = np.concatenate([log_draws, log_a], axis=2)
        return Call(log_draws, seconds, tree.attrs["method"], warned)

    return call


def limit(problem: Any, seconds: float = 0.2) -> float:
    """NumPy's independent Dirichlet draws a CPU second."""
    import numpy as np

    rng, at_once, made = np.random.default_rng(0), max(1, 1_000_000 // problem.n), 0
    began = time.process_time()
    while (spent := time.process_time() - began) < seconds:
        rng.dirichlet(problem.shape, at_once)
        made += at_once
    return made / spent


def grow(call: Callable[[int, int], Call], seconds: float) -> int:
    """Draws of a call that takes about so long, warm-up included."""
    draws = 100
    while (taken := call(draws, 1).seconds) < seconds / 3 and draws < MOST_DRAWS:
        draws = min(MOST_DRAWS, int(draws * min(10.0, max(2.0, seconds / taken / 2))))
    return min(MOST_DRAWS, int(draws * max(1.0, 0.9 * seconds / taken)))


def measure_call(problem: Any, call: Callable[[int, int], Call], draws: int, seed: int) -> dict:
    """One call between two looks at the limit."""
    import numpy as np
    from measure import ess

    before = limit(problem)
    found = call(draws, seed)
    top = (before + limit(problem)) / 2
    effective = ess(found.log_draws)
    rate = float(effective.min()) / found.seconds
    return {
        "method": found.method,
        "draws": draws,
        "seconds": found.seconds,
        "ess": float(effective.min()),
        "worst": int(np.argmin(effective)),
        "rate": rate,
        "share": rate / top,
        "warned": found.warned,
    }


def told(run: dict) -> str:
    """One line for people."""
    line = f"{run['method']}: {run['draws']:,} draws in {run['seconds']:.3g} s, ESS "
    line += f"{run['ess']:,.0f} (of {run['worst']}), {run['rate']:,.4g} a second, "
    return line + f"{run['share']:.3g} of the limit" + (", warned" if run["warned"] else "")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("problem")
    parser.add_argument("--method", default="auto")
    parser.add_argument("--draws", type=int)
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--seed", type=int, default=100)
    parser.add_argument("--fresh", action="store_true")
    parser.add_argument("--core", type=int, default=max(os.sched_getaffinity(0)))
    parser.add_argument("--json", action="store_true", help="print for programs")
    options = parser.parse_args()
    os.sched_setaffinity(0, {options.core})  # before anything looks how many cores there are
    os.environ |= ONE_THREAD
    import problems

    problem = problems.load(options.problem)
    call = sampler(problem, options.method, options.fresh)
    call(FIRST_DRAWS, 0)
    draws = options.draws or grow(call, options.seconds)
    runs = []
    for k in range(options.repeats):
        runs.append(measure_call(problem, call, draws, options.seed + k))
        print(json.dumps(runs[-1]) if options.json else told(runs[-1]), flush=True)
    if len(runs) > 1 and not options.json:
        print(f"median {statistics.median(run['rate'] for run in runs):,.4g} a second")


if __name__ == "__main__":
    main()
