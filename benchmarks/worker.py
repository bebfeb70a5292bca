"""One sampler on one problem, in a process of its own on one core; `run.py` starts it.

    python benchmarks/worker.py SAMPLER PROBLEM STEP SECONDS CORE OUT

STEP is "prepare" (fill the caches of compilers), "draw" (the measurement), or a number of draws:
for luce, the time from nothing to so many draws.  Results go to OUT.json and OUT.npz.
"""

import json
import os
import sys
import time
from importlib import import_module
from pathlib import Path

_CORE = int(sys.argv[5])
os.sched_setaffinity(0, {_CORE})  # before anything looks how many cores there are

import numpy as np  # noqa: E402
import problems  # noqa: E402
import samplers  # noqa: E402


def draw(chain: samplers.Chain, problem: problems.Problem, seconds: float, out: Path) -> dict:
    import measure  # not before the sampler: it would take some of its imports

    before = measure.limit_rate(problem)
    drawn = chain.draw(seconds)
    after = measure.limit_rate(problem)
    kept = drawn.log_p.shape[0] * drawn.log_p.shape[1]
    every = measure.ess(drawn.log_p)
    effective = float(every[: len(problem.monitored)].min())
    np.savez(out.with_suffix(".npz"), **measure.moments(drawn.log_p))
    return {
        "draws": drawn.draws,
        "draws_kept": kept,
        "sampling_seconds": drawn.seconds,
        "ess": effective,
        "ess_per_draw": effective / kept,
        "ess_per_second": effective / kept * drawn.draws / drawn.seconds,
        "concentration_ess": every[len(problem.monitored) :].tolist(),
        "rhat": measure.rhat(drawn.log_p),
        "limit_before": before,
        "limit_after": after,
        "note": drawn.note,
    }


def from_nothing(problem: problems.Problem, method: str, draws: int) -> dict:
    """How long luce takes from the data to so many draws, everything included but imports."""
    began = time.perf_counter()
    tree = problem.posterior().sample(
        draws, chains=1, threads=1, seed=7, method=method, progress=False
    )
    spent = time.perf_counter() - began
    import measure

    p = tree.posterior["probabilities"].to_numpy()[:, :, problem.monitored]
    return {"draws": draws, "seconds": spent, "ess": float(np.min(measure.ess(p)))}


def work(name: str, problem: problems.Problem, step: str, seconds: float, out: Path) -> dict:
    """Import the sampler, which may not be there, and do the step."""
    entry = samplers.find(name)
    began = time.perf_counter()
    try:
        module = import_module(f"samplers.{entry.module}")
    except ModuleNotFoundError as error:
        return {"failed": f"not installed ({error.name})"}
    result = {"import_seconds": time.perf_counter() - began}
    if step.isdigit():
        return result | from_nothing(problem, entry.variant, int(step))
    began = time.perf_counter()
    try:
        chain = module.prepare(problem, 1, entry.variant)
    except samplers.NotPossible as error:
        return {"failed": f"not possible: {error}"}
    result["setup_seconds"] = time.perf_counter() - began
    return result | (draw(chain, problem, seconds, out) if step == "draw" else {})


def main() -> None:
    name, problem, step, seconds, _, out = sys.argv[1:]
    path = Path(out)
    result = work(name, problems.load(problem), step, float(seconds), path)
    result |= {"sampler": name, "problem": problem}
    path.with_suffix(".json").write_text(json.dumps(result))


if __name__ == "__main__":
    main()
