"""Compute the reference set again: `python tests/reference/make.py [names]`.

Writes posteriors.json beside this file.  Seeds are fixed, so the same versions of NumPy and SciPy
give the same numbers.  Takes about six minutes of one processor for all problems; names given as
arguments compute only these and keep the others.
"""

import json
import math
import os
import sys
import time
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before NumPy, which reads it once
sys.path.insert(0, str(Path(__file__).parents[1]))

import numpy as np
from reference.independent import LEVELS, Answer, Values, answer
from reference.problems import PROBLEMS, Problem

PLACE = Path(__file__).with_name("posteriors.json")
REPLICATES, PARTICLES = 40, 1000
MOST_VALUES = 24_000_000  # drawn numbers in memory
LARGEST_DISTANCE = 5.0  # of simulated from exact values, in standard errors

ABOUT = (
    "Posteriors of probabilities seen through subsets, with reference values from independent "
    "simulations or exact integrals. See docs/reference-posteriors.md."
)


def rounded(value: float, error: float) -> float:
    """Keep the digits down to a hundredth of the error, or ten where there is no error."""
    if error == 0 or value == 0:
        return float(f"{value:.10g}")
    digits = max(1, math.ceil(math.log10(abs(value) / error)) + 3)
    return float(f"{value:.{digits}g}")


def plain(values: Values | None) -> Any:
    """Turn values and errors into lists."""
    if values is None:
        return None
    both = np.vectorize(rounded)(values.value, values.error)
    return {
        "value": both.tolist(),
        "error": np.vectorize(lambda e: float(f"{e:.3g}"))(values.error).tolist(),
    }


def quantiles(found: Values | None) -> Any:
    """Turn quantiles into lists; errors are those of levels, and digits follow the spacing."""
    if found is None:
        return None
    value = np.vectorize(lambda q: float(f"{q:.6g}"))(found.value)
    error = np.vectorize(lambda e: float(f"{e:.3g}"))(found.error)
    return {"levels": list(LEVELS), "value": value.tolist(), "level_error": error.tolist()}


def entry(problem: Problem, found: Answer, seconds: float) -> dict[str, Any]:
    """Lay one problem out for JSON."""
    return {
        "about": problem.about,
        "categories": problem.categories,
        "prior": problem.prior,
        "terms": [[list(o), c, list(w)] for o, c, w in problem.terms],
        "moments_by": problem.moments,
        "degrees_of_freedom": None if math.isinf(found.freedom) else found.freedom,
        "cpu_seconds": round(seconds, 1),
        "mean": plain(found.mean),
        "sd": plain(found.sd),
        "quantiles": quantiles(found.quantiles),
        "log_evidence": plain(found.log_evidence),
    }


def compute(name: str) -> dict[str, Any]:
    """Compute one problem; its seed depends on its name alone."""
    problem = PROBLEMS[name]
    seed = int.from_bytes(name.encode()) % 2**31
    draws = MOST_VALUES // (REPLICATES * PARTICLES * problem.categories)
    size = {"replicates": REPLICATES, "particles": PARTICLES, "draws": min(max(draws, 20), 60)}
    began = time.process_time()
    found = answer(problem, seed, **size)
    distance = found.notes.get("simulated_distance", 0.0)
    print(f"{name:24s} {time.process_time() - began:6.1f} s   {distance:.1f}", flush=True)
    if distance > LARGEST_DISTANCE:
        raise SystemExit(f"{name}: simulated values are {distance:.1f} errors from exact ones.")
    return entry(problem, found, time.process_time() - began)


def write(entries: dict[str, Any]) -> None:
    """Write one problem a line, so that changes can be read."""
    lines = [f"{json.dumps(name)}: {json.dumps(one)}" for name, one in entries.items()]
    body = ",\n".join(lines)
    PLACE.write_text(f'{{"about": {json.dumps(ABOUT)},\n"posteriors": {{\n{body}\n}}}}\n')


def main() -> None:
    """Compute the problems that were named, or all."""
    wanted = sys.argv[1:] or list(PROBLEMS)
    known = json.loads(PLACE.read_text())["posteriors"] if PLACE.exists() else {}
    for name in wanted:
        known[name] = compute(name)
        write({name: known[name] for name in PROBLEMS if name in known})


if __name__ == "__main__":
    main()
