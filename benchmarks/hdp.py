"""One sweep of the HDP over transitions against uniforms drawn by NumPy.

200 states, a million transitions without self-loops.  Aimed at: a sweep, rows and all, costs at
most 3 times what NumPy takes to draw a million uniforms in the same run.

    python benchmarks/hdp.py [--states 200] [--transitions 1000000] [--repeats 50]
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable

import numpy as np

import luce


def transition_counts(n_states: int, n_transitions: int, seed: int) -> np.ndarray:
    """Counts of a chain whose rows share a base: simulated from the model itself."""
    rng = np.random.default_rng(seed)
    base = rng.dirichlet(np.full(n_states, 5.0))
    rows = rng.dirichlet(np.maximum(100.0 * base, 1e-3), n_states)
    np.fill_diagonal(rows, 0.0)
    rows /= rows.sum(axis=1, keepdims=True)
    visits = rng.multinomial(n_transitions, base)
    return np.stack([rng.multinomial(k, row) for k, row in zip(visits, rows, strict=True)])


def seconds(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def measure(
    n_states: int, n_transitions: int, repeats: int, seed: int = 1
) -> tuple[float, float, float]:
    """Median seconds of a sweep and of the uniforms, taken in turn, and the median ratio."""
    rng = np.random.default_rng(seed)
    counts = transition_counts(n_states, n_transitions, seed)
    model = luce.HDPTransitions(n_states, luce.Gamma(1, 0.01), luce.Gamma(1, 0.01))
    state = model.initial_state(rng)
    for _ in range(20):  # compiles, and leaves the starting point
        state, _ = model.resample(rng, counts, state)
    ours, theirs = [], []
    for _ in range(repeats):
        ours.append(seconds(lambda: model.resample(rng, counts, state)))
        theirs.append(seconds(lambda: rng.random(n_transitions)))
    ratio = statistics.median(a / b for a, b in zip(ours, theirs, strict=True))
    return statistics.median(ours), statistics.median(theirs), ratio


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--states", type=int, default=200)
    parser.add_argument("--transitions", type=int, default=1_000_000)
    parser.add_argument("--repeats", type=int, default=50)
    given = parser.parse_args()
    sweep, uniforms, ratio = measure(given.states, given.transitions, given.repeats)
    print(
        f"{given.states} states, {given.transitions:,} transitions: a sweep {sweep * 1e3:.2f} ms, "
        f"{given.transitions:,} uniforms {uniforms * 1e3:.2f} ms, ratio {ratio:.2f}"
    )


if __name__ == "__main__":
    main()
