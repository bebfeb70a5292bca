"""A cluster of worker processes on this machine: what it adds, what it holds, what it gets done.

    python benchmarks/cluster.py [overhead] [members] [many]

overhead    milliseconds a sweep that the cluster adds at 100,000 categories, the same sweeps in
            this process being taken off; aimed at: less than 20
members     sweeps of a posterior of 100 million stored members, made by the workers that hold them
many        posteriors a second over those of one process on one core; aimed at: 0.8 x processors
"""

from __future__ import annotations

import os
import statistics
import sys
import time
import warnings
from functools import partial

import numpy as np
from distributed import Client

import luce
from luce import ConditionalCounts, Posterior
from luce.cluster.connect import connected
from luce.cluster.shards import Shards
from luce.counts.family import SetFamily


def piece(block: int, n: int, sets: int, size: int) -> ConditionalCounts:
    """Choices from random sets, one outcome each."""
    rng = np.random.default_rng([9, block])
    first = rng.integers(0, n, sets)
    # Members a random step apart, so that none comes twice.
    step = rng.integers(1, n // size, sets)
    members = (first[:, None] + step[:, None] * np.arange(size)) % n
    chosen = members[np.arange(sets), rng.integers(0, size, sets)]
    family = SetFamily(
        n, members.ravel(), np.arange(0, sets * size + 1, size), np.zeros(sets, np.bool_),
        np.arange(sets + 1), np.arange(size, sets * size + 1, size), -np.ones(sets),
    )  # fmt: skip
    single = np.bincount(chosen, minlength=n).astype(np.float64)
    return ConditionalCounts.from_nests(n, single, family, float(sets), merged=True)


def sweeps(shards: Shards, n: int, repeats: int) -> list[float]:
    """Seconds of each of some sweeps."""
    p, taken = np.full(n, 1 / n), []
    shards.sweep(p, 1)
    for word in range(repeats):
        began = time.perf_counter()
        shards.sweep(p, word)
        taken.append(time.perf_counter() - began)
    return taken


def overhead(client: Client) -> None:
    n, blocks = 100_000, 8
    pieces = [partial(piece, k, n, 5000, 10) for k in range(blocks)]
    here = statistics.median(sweeps(Shards(pieces, None), n, 40))
    there = sweeps(Shards(pieces, client), n, 100)
    workers = len(client.scheduler_info(n_workers=-1)["workers"])
    added = statistics.median(there) - here / workers
    print(
        f"overhead at {n:,} categories, {workers} workers: {1e3 * added:.1f} ms a sweep "
        f"({1e3 * statistics.median(there):.1f} ms, least {1e3 * min(there):.1f}; "
        f"{1e3 * here:.1f} ms in this process)"
    )


def members(client: Client) -> None:
    n, blocks, sets, size = 1_000_000, 100, 100_000, 10
    pieces = [partial(piece, k, n, sets, size) for k in range(blocks)]
    began = time.perf_counter()
    shards = Shards(pieces, client)
    built = time.perf_counter() - began
    stored = sum(fact["members"] for fact in shards.facts)
    taken = sweeps(shards, n, 5)
    print(
        f"{stored:,} stored members in {blocks} blocks over {n:,} categories: built in "
        f"{built:.0f} s, {statistics.median(taken):.2f} s a sweep"
    )


def league(k: int) -> Posterior:
    rng = np.random.default_rng(k)
    names = [f"player {i}" for i in range(20)]
    strength = rng.lognormal(size=20)
    pairs = [rng.choice(20, 2, replace=False) for _ in range(100)]
    won = [
        (names[a], names[b]) if rng.random() < strength[a] / (strength[a] + strength[b])
        else (names[b], names[a])
        for a, b in pairs
    ]  # fmt: skip
    return Posterior(luce.from_pairs(won, categories=names))


def mean_of(run: object) -> list[float]:
    found: list[float] = run.posterior["probabilities"].mean(("chain", "draw")).values.tolist()  # type: ignore[attr-defined]
    return found


def many(client: Client) -> None:
    posteriors = {k: league(k) for k in range(400)}
    options = {"draws": 500, "chains": 2, "seed": 1, "answer": mean_of, "progress": False}
    luce.sample_many(dict(list(posteriors.items())[:4]), cluster=None, **options)
    luce.sample_many(dict(list(posteriors.items())[:40]), cluster=client, **options)
    cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(cores)})  # one core: linear algebra would take more
    began = time.perf_counter()
    one = luce.sample_many(posteriors, cluster=None, **options)
    alone = time.perf_counter() - began
    os.sched_setaffinity(0, cores)
    began = time.perf_counter()
    other = luce.sample_many(posteriors, cluster=client, **options)
    together = time.perf_counter() - began
    assert one == other
    print(
        f"{len(posteriors)} posteriors: {len(posteriors) / alone:.0f} a second on one core, "
        f"{len(posteriors) / together:.0f} on {len(cores)} workers: "
        f"{alone / together / len(cores):.2f} x processors"
    )


def main() -> None:
    warnings.simplefilter("ignore", luce.ConvergenceWarning)
    wanted = sys.argv[1:] or ["overhead", "many", "members"]
    with connected("local") as client:
        for name in wanted:
            {"overhead": overhead, "members": members, "many": many}[name](client)


if __name__ == "__main__":
    main()
