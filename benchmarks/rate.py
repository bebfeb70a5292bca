"""Effective draws of luce a CPU second: a whole call of `sample`, one chain on one core.

    PYTHONPATH=SRC python benchmarks/rate.py PROBLEM [--method auto] [--draws N] [--repeats 5]

PROBLEM may have changes, as "league:teams=30,seed=2".  A first small call loads or compiles code,
which is not counted.  Without --draws, calls grow until one takes --seconds or has 100,000 draws;
the repeats have as many.  With --fresh the posterior is built anew for each call, which then finds
the structure of the data too.

The least bulk effective sample size of arviz-stats over the monitored categories, capped at the
number of draws, is divided by the CPU seconds of the call, warm-up included.  That of a
concentration that is drawn is printed apart.  The limit is NumPy's independent Dirichlet draws,
before and after.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from samplers.luce_sample import LuceSample

# One thread for everything that would start more.
ONE_THREAD = dict.fromkeys(
    ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"), "1"
)


def measure_call(chain: LuceSample, draws: int) -> dict:
    """One call between two looks at the limit."""
    import measure

    before = measure.limit_rate(chain.problem, 0.2)
    call = chain.sample(draws)
    limit = (before + measure.limit_rate(chain.problem, 0.2)) / 2
    every = measure.ess(call.log_p)
    effective = every[: len(chain.problem.monitored)]
    rate = float(effective.min()) / call.seconds
    return {
        "method": call.method,
        "draws": draws,
        "seconds": call.seconds,
        "ess": float(effective.min()),
        "worst": int(effective.argmin()),
        "rate": rate,
        "share": rate / limit,
        "warned": call.warned,
        "concentration": every[len(effective) :].tolist(),
    }


def told(run: dict) -> str:
    """One line for people."""
    line = f"{run['method']}: {run['draws']:,} draws in {run['seconds']:.3g} s, ESS "
    line += f"{run['ess']:,.0f} (of {run['worst']}), {run['rate']:,.4g} a second, "
    line += f"{run['share']:.3g} of the limit" + (", warned" if run["warned"] else "")
    return line + "".join(f", ESS {x:,.0f} of the concentration" for x in run["concentration"])


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
    from samplers.luce_sample import LuceSample

    problem = problems.load(options.problem)
    chain = LuceSample(problem, options.seed, options.method, options.fresh)
    draws = options.draws or chain.draws_in(options.seconds)
    runs = []
    for _ in range(options.repeats):
        runs.append(measure_call(chain, draws))
        print(json.dumps(runs[-1]) if options.json else told(runs[-1]), flush=True)
    if len(runs) > 1 and not options.json:
        rate, share = (statistics.median(run[key] for run in runs) for key in ("rate", "share"))
        print(f"median {rate:,.4g} a second, {share:.3g} of the limit")


if __name__ == "__main__":
    main()
