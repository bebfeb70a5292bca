"""Updates by weights: their time as a multiple of one evaluation of the log likelihood.

    python benchmarks/updating.py [--draws 1000] [--seed 1]

For paired comparisons of several sizes: milliseconds of the log likelihood of the new data in all
draws of four chains (`ConditionalCounts.log_likelihood`), and, as multiples of these, the time of
the first update of a run, which judges its draws, of a second one, which goes by that verdict, and
of a fit of all data.
"""

from __future__ import annotations

import os

os.environ.update(
    dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"), "1")
)

import argparse
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import luce

# Players, games so far, and games to take in.
SIZES = ((8, 100, 1), (50, 2_000, 5), (200, 10_000, 5), (1_000, 50_000, 10))

# Smallest of so many times is taken.
_REPEATS = 5


def seconds(work: Callable[[], Any]) -> float:
    work()
    found = []
    for _ in range(_REPEATS):
        began = time.perf_counter()
        work()
        found.append(time.perf_counter() - began)
    return min(found)


def fit(counts: luce.ConditionalCounts, draws: int, options: dict[str, Any]) -> Any:
    return luce.Posterior(counts).sample(draws, **options)


def games(rng: np.random.Generator, strength: np.ndarray, number: int) -> luce.ConditionalCounts:
    """Games of random pairs, drawn from a Bradley-Terry model."""
    players = len(strength)
    i = rng.integers(0, players, number)
    j = (i + rng.integers(1, players, number)) % players
    first = rng.random(number) < strength[i] / (strength[i] + strength[j])
    pairs = zip(np.where(first, i, j).tolist(), np.where(first, j, i).tolist(), strict=True)
    return luce.from_pairs(pairs, categories=range(players))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--draws", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    heads = ("players", "old", "new", "log L, ms", "first", "next", "fit")
    print("".join(f"{head:>11}" for head in heads))
    for players, old, new in SIZES:
        rng = np.random.default_rng([arguments.seed, players])
        strength = rng.gamma(4.0, size=players)
        before, today, tomorrow = (games(rng, strength, number) for number in (old, new, new))
        options = {"seed": arguments.seed, "progress": False}
        run = luce.Posterior(before).sample(arguments.draws, **options)
        p = run.posterior["probabilities"].values
        once = luce.update(run, today, **options)
        twice = luce.update(once, tomorrow, **options)
        unit = seconds(partial(today.log_likelihood, p))
        ratios = [
            seconds(work) / unit
            for work in (
                partial(luce.update, run, today, **options),
                partial(luce.update, once, tomorrow, **options),
                partial(fit, before + today, arguments.draws, options),
            )
        ]
        ways = ", ".join(luce.decide.Update.of(found).way for found in (once, twice))
        told = "".join(f"{ratio:>11.1f}" for ratio in ratios)
        print(f"{players:>11,}{old:>11,}{new:>11,}{1e3 * unit:>11.2f}{told}  {ways}", flush=True)


if __name__ == "__main__":
    main()
