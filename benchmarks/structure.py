"""How long does `structure` take, against `np.unique` over the same stored members?

    python benchmarks/structure.py

One million stored members in each family; ratios are medians over repeats in one process.
"""

import statistics
import time
from collections.abc import Callable

import numpy as np

import luce
from luce.counts.family import SetFamily

MEMBERS = 1_000_000


def lone_sets(n: int, size: int, rng: np.random.Generator) -> SetFamily:
    number = MEMBERS // size
    members = np.concatenate([rng.choice(n, size, replace=False) for _ in range(number)])
    ends = np.arange(number + 1) * size
    chains = np.arange(number + 1)
    return SetFamily(
        n, members, ends, np.zeros(number, bool), chains, ends[1:], np.full(number, -1.0)
    )


def rankings(n: int, rng: np.random.Generator) -> SetFamily:
    number = MEMBERS // n
    members = np.concatenate([rng.permutation(n) for _ in range(number)])
    ends = np.concatenate([np.arange(2, n) + k * n for k in range(number)])
    starts = np.arange(number + 1)
    return SetFamily(
        n,
        members,
        starts * n,
        np.zeros(number, bool),
        starts * (n - 2),
        ends,
        np.full(len(ends), -1.0),
    )


def all_but_one(rng: np.random.Generator) -> SetFamily:
    n = MEMBERS
    chains = np.arange(n + 1)
    return SetFamily(
        n, rng.permutation(n), chains, np.ones(n, bool), chains, chains[1:], np.full(n, -1.0)
    )


def seconds(work: Callable[[], object], repeats: int = 5) -> float:
    taken = []
    for _ in range(repeats):
        began = time.perf_counter()
        work()
        taken.append(time.perf_counter() - began)
    return statistics.median(taken)


def main() -> None:
    rng = np.random.default_rng(1)
    families = {
        "sets of 10, 1,000 categories": lone_sets(1_000, 10, rng),
        "sets of 10, 100,000 categories": lone_sets(100_000, 10, rng),
        "pairs, 1,000 categories": lone_sets(1_000, 2, rng),
        "1,000 rankings of 1,000": rankings(1_000, rng),
        "all but one, 1,000,000 categories": all_but_one(rng),
    }
    _ = luce.Posterior(luce.ConditionalCounts(3).observe({0: 1}, without=[1])).structure  # compile
    print("| family | stored members | sets | np.unique | structure | ratio |")
    print("| --- | ---: | ---: | ---: | ---: | ---: |")
    for name, family in families.items():
        counts = luce.ConditionalCounts.from_nests(family.n, np.ones(family.n), family)
        stored = counts.sets.members
        unique = seconds(lambda m=stored: np.unique(m))
        ours = seconds(lambda c=counts: luce.Posterior(c).structure)
        print(
            f"| {name} | {len(stored):,} | {len(counts):,} | {unique * 1e3:.0f} ms "
            f"| {ours * 1e3:.0f} ms | {ours / unique:.1f} |"
        )


if __name__ == "__main__":
    main()
