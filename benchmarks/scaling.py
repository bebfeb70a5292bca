"""How a sweep of the waiting times grows with the data, and what it costs against bare loops.

    python benchmarks/scaling.py [--decades 7] [--out DIR]

Sweeps from 1e3 to 1e7 stored members (choices out of ten) and from 1e3 to 1e7 categories (the
paper's sets, all but one), with exponents by least squares on logarithms.  P7: a sweep against a
bare loop over the same members.  P6: a draw against NumPy's independent Dirichlet draw.  Writes
DIR/scaling.md, scaling.json, scaling.png and scaling.svg.
"""

import argparse
import json
import os
import statistics
import time
import warnings
from collections.abc import Callable
from pathlib import Path

os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})

import numba  # noqa: E402
import numpy as np  # noqa: E402
from measure import limit_rate  # noqa: E402
from plot import plot_scaling  # noqa: E402
from problems import Problem, load, random_sets  # noqa: E402

from luce import Posterior  # noqa: E402

# Warm-up grows until it takes so many seconds more, or has so many sweeps.
_SECONDS, _MOST_SWEEPS = 0.2, 200_000


def choices(stored: int) -> Problem:
    """Sets of ten out of a thousandth as many items, but at least a hundred."""
    rng = np.random.default_rng(1)
    n, number = max(100, stored // 1000), stored // 10
    rows = random_sets(rng, n, number, 10)
    c = np.bincount(rows[:, 0], minlength=n).astype(float)
    ptr = np.arange(number + 1) * 10
    return Problem("choices", np.ones(n), c, np.ones(number), ptr, rows.ravel())


def all_but_one(n: int) -> Problem:
    """The paper's sets: half of the categories were truncated in turn, ten outcomes each."""
    h = n // 2
    c = np.repeat([10.0, 0.0], [h, n - h])
    before, ptr = np.roll(np.arange(h), 1), np.arange(h + 1)
    return Problem("all but one", np.full(n, 2.0), c, np.full(h, 10.0), ptr, before, excluded=True)


def call_seconds(posterior: Posterior, draws: int, warmup: int, **options: object) -> float:
    """What `sample` reports: making draws, without the look at their convergence."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tree = posterior.sample(
            draws, chains=1, threads=1, warmup=warmup, seed=1, method="waiting-times",
            progress=False, **options,
        )  # fmt: skip
    return float(tree.attrs["sampling_time"])


def difference(seconds: Callable[[int], float], number: int) -> float:
    """Seconds of one, from the difference between `number` and three times as many."""
    times = [(seconds(3 * number) - seconds(number)) / (2 * number) for _ in range(3)]
    return statistics.median(times)


def sweep_seconds(posterior: Posterior) -> float:
    """Seconds of one sweep: what one more sweep of warm-up costs."""
    call_seconds(posterior, 1, 1)  # compile
    fixed = min(call_seconds(posterior, 1, 1) for _ in range(3))
    # The sweeps must outweigh what every call takes, or its noise is all that is measured.
    enough, sweeps = fixed + max(_SECONDS, fixed), 2
    while call_seconds(posterior, 1, sweeps) < enough and sweeps < _MOST_SWEEPS:
        sweeps *= 2
    return difference(lambda warmup: call_seconds(posterior, 1, warmup), sweeps)


@numba.njit
def bare_loop(members, ptr, p, rates, rng):
    """Gather over the members, an exponential a set, scatter over the members: the least."""
    rates[:] = 0.0
    for t in range(len(ptr) - 1):
        total = 0.0
        for k in range(ptr[t], ptr[t + 1]):
            total += p[members[k]]
        waited = rng.standard_exponential() / total
        for k in range(ptr[t], ptr[t + 1]):
            rates[members[k]] += waited


def against_bare_loop(problem: Problem) -> dict[str, float]:
    """P7: a sweep against the bare loop, measured in turns."""
    posterior = problem.posterior()
    p, rates = np.full(problem.n, 1 / problem.n), np.empty(problem.n)
    rng = np.random.default_rng(1)

    def loops(number: int) -> float:
        began = time.perf_counter()
        for _ in range(number):
            bare_loop(problem.idx, problem.ptr, p, rates, rng)
        return time.perf_counter() - began

    loops(1)  # compile
    pairs = [(loops(20) / 20, sweep_seconds(posterior)) for _ in range(3)]
    bare, sweep = (statistics.median(x) for x in zip(*pairs, strict=True))
    return {"sweep": sweep, "bare_loop": bare, "ratio": sweep / bare}


def against_dirichlet(problem: Problem) -> dict[str, float]:
    """P6: a draw, with and without its logarithms, against an independent Dirichlet draw."""
    posterior = problem.posterior()
    call_seconds(posterior, 1, 1)

    def draw_seconds(logs: bool) -> float:
        return difference(lambda d: call_seconds(posterior, d, 0, log_probabilities=logs), 50)

    turns = [(1 / limit_rate(problem), draw_seconds(False), draw_seconds(True)) for _ in range(3)]
    bare, plain, both = (statistics.median(x) for x in zip(*turns, strict=True))
    return {
        "dirichlet": bare, "draw": plain, "draw_with_logs": both, "draw_ratio": plain / bare,
        "draw_with_logs_ratio": both / bare,
    }  # fmt: skip


def curve(make: Callable[[int], Problem], sizes: list[int]) -> dict[str, object]:
    """Sweep times over sizes, and the exponent."""
    seconds = []
    for size in sizes:
        seconds.append(sweep_seconds(make(size).posterior()))
        print(f"{make.__name__} {size:,}: {seconds[-1] * 1e6:,.1f} us a sweep", flush=True)
    exponent = float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])
    return {"sizes": sizes, "seconds": seconds, "exponent": exponent}


def markdown(found: dict[str, dict]) -> str:
    lines = ["# Scaling of a sweep (waiting times, one core)"]
    for title, of in found["curves"].items():
        lines += ["", f"## Against {title}: exponent {of['exponent']:.3f}", ""]
        lines += [
            f"| {title} | microseconds a sweep | nanoseconds each |",
            "| ---: | ---: | ---: |",
        ]
        for size, taken in zip(of["sizes"], of["seconds"], strict=True):
            lines.append(f"| {size:,} | {taken * 1e6:,.1f} | {taken / size * 1e9:.2f} |")
    p7, p6 = found["P7"], found["P6"]
    lines += [
        "",
        "## Against bare loops",
        "",
        "| what | luce | bare | ratio |",
        "| --- | ---: | ---: | ---: |",
        f"| P7: a sweep; gather, exponentials, scatter | {p7['sweep'] * 1e3:.2f} ms "
        f"| {p7['bare_loop'] * 1e3:.2f} ms | {p7['ratio']:.2f} |",
    ]
    for key, title in (("draw", "a draw"), ("draw_with_logs", "a draw and its logarithms")):
        lines.append(
            f"| P6: {title}; a Dirichlet draw | {p6[key] * 1e3:.2f} ms "
            f"| {p6['dirichlet'] * 1e3:.2f} ms | {p6[f'{key}_ratio']:.2f} |"
        )
    return "\n".join([*lines, ""])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--decades", type=int, default=7, help="largest power of ten")
    parser.add_argument("--out", type=Path, default=Path("luce-benchmark"))
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    sizes = [10**k for k in range(3, options.decades + 1)]
    curves = {"stored members": curve(choices, sizes), "categories": curve(all_but_one, sizes)}
    found = {
        "curves": curves,
        "P7": against_bare_loop(load("P7")),
        "P6": against_dirichlet(load("P6")),
    }
    (options.out / "scaling.json").write_text(json.dumps(found, indent=1))
    (options.out / "scaling.md").write_text(markdown(found))
    plot_scaling(curves, options.out)
    print(markdown(found))


if __name__ == "__main__":
    main()
