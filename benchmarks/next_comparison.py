"""Comparisons until the best of 20 is known: chosen by `luce.next_comparison`, and at random.

    python benchmarks/next_comparison.py [--replications 200] [--items 20] [--rules best random]

Log strengths are drawn from N(0, 0.7²), and comparisons by Bradley and Terry's model.  After each
bundle of them, of 20 % of those so far and 8 at least, the posterior is drawn again, and the search
ends when somebody is best with probability 0.95, or after 100,000 comparisons.  A rule chooses a
batch of four, and the bundle is spread over it; random pairs are drawn one by one.  Concentration
2.5 is a prior of log strengths with the standard deviation 0.7.

All rules meet the same strengths.  Printed are the comparisons used, the share of wrong winners
where a search ended, how many were broken off, and the comparisons over those of random pairs: the
ratio of the means, and the geometric mean of the ratios of single searches, which the few searches
for one of two nearly equal ones do not rule.  Standard errors are those over replications, by the
delta method.
"""

from __future__ import annotations

import os

os.environ.update(
    dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"), "1")
)

import argparse
import time
from typing import Any, NamedTuple

import numpy as np

import luce

SPREAD, CONCENTRATION = 0.7, 2.5
CERTAIN, MOST = 0.95, 100_000
GROWTH, LEAST, BATCH = 0.2, 8, 4


class Search(NamedTuple):
    """Comparisons used, whether the winner was wrong, and whether the search was broken off."""

    comparisons: int
    wrong: bool
    unsettled: bool


def draws_given(wins: np.ndarray, seed: int) -> np.ndarray:
    """Posterior draws, shape (chain, draw, item)."""
    posterior = luce.Posterior(luce.from_pairs(wins), CONCENTRATION)
    run = posterior.sample(400, chains=4, threads=1, seed=seed, progress=False)
    return np.asarray(run.posterior["probabilities"].values)


def chosen(rule: str, draws: np.ndarray, size: int, rng: np.random.Generator) -> np.ndarray:
    """Pairs to compare, shape (size, 2)."""
    n = draws.shape[2]
    if rule == "random":
        first = rng.integers(n, size=size)
        return np.stack([first, (first + rng.integers(1, n, size=size)) % n], axis=1)
    options: dict[str, Any] = {"batch": BATCH, "more": 0, "progress": False}
    found = luce.next_comparison(draws[:, ::3], goal=rule, **options)
    return np.resize(np.array(found.batch), (size, 2))


def search(rule: str, n: int, seed: int) -> Search:
    """Compare until the best is known."""
    rng = np.random.default_rng([seed, 0])
    logs = SPREAD * rng.standard_normal(n)
    rng = np.random.default_rng([seed, 1])
    wins = np.zeros((n, n), np.int64)
    while True:
        draws = (
            draws_given(wins, seed) if wins.any() else rng.dirichlet([CONCENTRATION] * n, (4, 400))
        )
        best = np.bincount(draws.argmax(axis=2).ravel(), minlength=n) / draws[..., 0].size
        done = int(wins.sum())
        if best.max() >= CERTAIN or done >= MOST:
            wrong = int(best.argmax()) != int(logs.argmax())
            return Search(done, wrong, bool(best.max() < CERTAIN))
        pairs = chosen(rule, draws, max(LEAST, round(GROWTH * done)), rng)
        first, second = pairs.T
        won = rng.random(len(pairs)) < 1 / (1 + np.exp(logs[second] - logs[first]))
        np.add.at(wins, (np.where(won, first, second), np.where(won, second, first)), 1)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--replications", type=int, default=200)
    parser.add_argument("--items", type=int, default=20)
    parser.add_argument("--rules", nargs="*", default=["random", "best", "information"])
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    used: dict[str, np.ndarray] = {}
    print(
        "rule         comparisons    median  wrong          broken off  seconds  of random's means"
        "  of its single searches"
    )
    for rule in given.rules:
        began = time.process_time()
        found = [search(rule, given.items, given.seed + k) for k in range(given.replications)]
        seconds = time.process_time() - began
        used[rule] = np.array([one.comparisons for one in found], float)
        root = np.sqrt(len(found))
        settled = [one.wrong for one in found if not one.unsettled]
        wrong = np.mean(settled)
        line = (
            f"{rule:<12} {used[rule].mean():6.0f} ± {used[rule].std(ddof=1) / root:<5.0f}  "
            f"{np.median(used[rule]):6.0f}  {wrong:.3f} ± "
            f"{np.sqrt(wrong * (1 - wrong) / len(settled)):.3f}  {len(found) - len(settled):10}  "
            f"{seconds:7.0f}"
        )
        if "random" in used:
            base = used["random"]
            ratio = used[rule].mean() / base.mean()
            error = (used[rule] - ratio * base).std(ddof=1) / base.mean() / root
            logs = np.log(used[rule] / base)
            each = np.exp(logs.mean())
            line += f"  {ratio:.3f} ± {error:.3f}      {each:.3f} ± {each * logs.std() / root:.3f}"
        print(line, flush=True)


if __name__ == "__main__":
    main()
