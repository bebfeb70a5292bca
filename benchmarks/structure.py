"""How long does `structure` take, against `np.unique` over the same stored members?

    python benchmarks/structure.py

One million stored members in each family; ratios are medians over repeats in one process.  Then the
growth with n of the CPU seconds to bring sets into canonical form and to find their structure, with
exponents by least squares on logarithms.  Last the CPU seconds of plain Python, which small data is
left to, beside those of compiled code.
"""

import statistics
import time
from collections.abc import Callable

import numpy as np

import luce
from luce.counts.canonical import canonical
from luce.counts.family import SetFamily
from luce.model.structure import find_structure

MEMBERS = 1_000_000


def lone_sets(n: int, size: int, rng: np.random.Generator) -> SetFamily:
    number = MEMBERS // size
    members = np.concatenate([rng.choice(n, size, replace=False) for _ in range(number)])
    ends = np.arange(number + 1) * size
    chains = np.arange(number + 1)
    return SetFamily(
        n, members, ends, np.zeros(number, bool), chains, ends[1:], np.full(number, -1.0)
    )


def rankings(n: int, rng: np.random.Generator, number: int) -> SetFamily:
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


def every_other_left_out(n: int, rng: np.random.Generator) -> SetFamily:
    """Leave out categories 0, 2, 4, ... in turn, as in the paper."""
    chains = np.arange(n // 2 + 1)
    return SetFamily(
        n, 2 * chains[:-1], chains, np.ones(n // 2, bool), chains, chains[1:], np.full(n // 2, -1.0)
    )


def five_pairs_each(n: int, rng: np.random.Generator) -> SetFamily:
    return pairs(n, 5 * n, rng)


def pairs(n: int, number: int, rng: np.random.Generator) -> SetFamily:
    one = rng.integers(0, n, number)
    other = (one + rng.integers(1, n, number)) % n
    ends = np.arange(number + 1) * 2
    members = np.stack([one, other], axis=1).ravel()
    chains = np.arange(number + 1)
    return SetFamily(
        n, members, ends, np.zeros(number, bool), chains, ends[1:], np.full(number, -1.0)
    )


def seconds(work: Callable[[], object], repeats: int = 5) -> float:
    taken = []
    for _ in range(repeats):
        began = time.process_time()
        work()
        taken.append(time.process_time() - began)
    return statistics.median(taken)


def growth(make: Callable[[int, np.random.Generator], SetFamily], rng: np.random.Generator) -> None:
    """Print how the time grows with the number of categories."""
    print(f"\n| categories | sets: {make.__name__} | canonical form | structure |")
    print("| ---: | ---: | ---: | ---: |")
    sizes, merging, finding = [1_000, 10_000, 100_000, 1_000_000], [], []
    for n in sizes:
        family = make(n, rng)
        repeats = 3 if n > 100_000 else 15
        merging.append(seconds(lambda n=n, f=family: canonical(n, [f]), repeats))
        merged, _ = canonical(n, [family])
        finding.append(seconds(lambda f=merged: find_structure(f, compiled=True), repeats))
        print(
            f"| {n:,} | {merged.n_sets:,} | {merging[-1] * 1e3:,.2f} ms "
            f"| {finding[-1] * 1e3:,.2f} ms |"
        )
    both = np.add(merging, finding)
    merge, find, all_ = (
        np.polyfit(np.log(sizes), np.log(t), 1)[0] for t in (merging, finding, both)
    )
    print(f"| exponent | of both: {all_:.3f} | {merge:.3f} | {find:.3f} |")


def small_data(rng: np.random.Generator) -> None:
    """Print the time of plain Python beside that of compiled code."""
    print("| family | sets | plain Python | compiled |")
    print("| --- | ---: | ---: | ---: |")
    families = {"600 pairs of 30": pairs(30, 600, rng), "36 rankings of 80": rankings(80, rng, 36)}
    for name, family in families.items():
        merged, _ = canonical(family.n, [family])
        taken = [seconds(lambda c=c, f=merged: find_structure(f, c)) * 1e3 for c in (False, True)]
        print(f"| {name} | {merged.n_sets:,} | {taken[0]:.2f} ms | {taken[1]:.2f} ms |")


def main() -> None:
    rng = np.random.default_rng(1)
    families = {
        "sets of 10, 1,000 categories": lone_sets(1_000, 10, rng),
        "sets of 10, 100,000 categories": lone_sets(100_000, 10, rng),
        "pairs, 1,000 categories": lone_sets(1_000, 2, rng),
        "1,000 rankings of 1,000": rankings(1_000, rng, MEMBERS // 1_000),
        "all but one, 1,000,000 categories": all_but_one(rng),
    }
    find_structure(luce.ConditionalCounts(3).sets, compiled=True)  # compile
    print("| family | stored members | sets | np.unique | structure | ratio |")
    print("| --- | ---: | ---: | ---: | ---: | ---: |")
    for name, family in families.items():
        counts = luce.ConditionalCounts.from_nests(family.n, np.ones(family.n), family)
        stored = counts.sets.members
        unique = seconds(lambda m=stored: np.unique(m))
        ours = seconds(lambda c=counts: find_structure(c.sets, compiled=True))
        print(
            f"| {name} | {len(stored):,} | {len(counts):,} | {unique * 1e3:.0f} ms "
            f"| {ours * 1e3:.0f} ms | {ours / unique:.1f} |"
        )
    growth(every_other_left_out, rng)
    growth(five_pairs_each, rng)
    print()
    small_data(rng)


if __name__ == "__main__":
    main()
