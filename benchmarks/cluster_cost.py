"""What a sharded sweep costs: a model fitted here, checked on sizes it has not seen, then used.

    python benchmarks/cluster_cost.py

With M stored members and B blocks on W workers, n categories,

    sweep = fixed + a M / W + b n B / W + c n + d n W

    a    reading a stored member twice, its share of a waiting time, and its share of a sum
    b    a block's own n sums, and adding them to those of the next block
    c    the driver's n gammas, and p and R of one worker, packed and unpacked
    d    p and R of each further worker on the way through the driver

a, b, c, d and `fixed` are fitted to sweeps of this machine's processes and checked on sizes that
were left out.  For machines apart, d is not this machine's memory but the driver's network: 16 n
bytes a worker.  A simulation with workers of unequal speed, and messages that queue at the driver,
tells whether the formula still holds there.
"""

from __future__ import annotations

import os
import statistics
from functools import partial
from typing import NamedTuple

import numpy as np
from cluster import piece, sweeps
from distributed import Client, LocalCluster
from scipy.optimize import nnls

from luce.cluster.shards import Shards

SIZE = 10  # members a set


class Load(NamedTuple):
    """Sets in each of some blocks over n categories, on so many workers."""

    n: int
    sets: int
    blocks: int
    workers: int

    @property
    def members(self) -> int:
        """Members that are stored in all."""
        return self.sets * self.blocks * SIZE

    @property
    def terms(self) -> list[float]:
        """What each coefficient is multiplied by."""
        share = 1 / self.workers
        return [
            1.0, self.members * share, self.n * self.blocks * share, self.n, self.n * self.workers
        ]  # fmt: skip


FITTED = [
    Load(n, sets, blocks, workers)
    for workers in (1, 2)
    for n, sets, blocks in [
        (20_000, 20_000, 2), (20_000, 60_000, 4), (100_000, 5_000, 4), (100_000, 60_000, 8),
        (300_000, 20_000, 4), (300_000, 60_000, 2), (300_000, 5_000, 12),
    ]
]  # fmt: skip
HELD_OUT = [
    Load(200_000, 40_000, 6, 2), Load(500_000, 80_000, 8, 2), Load(150_000, 100_000, 10, 1),
]  # fmt: skip


def measured(load: Load, client: Client) -> float:
    pieces = [partial(piece, k, load.n, load.sets, SIZE) for k in range(load.blocks)]
    return statistics.median(sweeps(Shards(pieces, client), load.n, 25))


def fit(loads: list[Load], seconds: list[float]) -> np.ndarray:
    """Coefficients that are not negative, by relative errors."""
    rows = np.array([load.terms for load in loads]) / np.array(seconds)[:, None]
    return np.asarray(nnls(rows, np.ones(len(seconds)))[0])


class Machines(NamedTuple):
    """Machines apart: workers, bytes a second through the driver, and seconds a message takes."""

    workers: int
    bandwidth: float = 1.25e9  # ten gigabit a second
    latency: float = 2e-4
    unequal: float = 0.1  # standard deviation of log speed


def by_formula(
    k: np.ndarray, n: int, members: float, blocks: int, m: Machines, star: bool
) -> float:
    """Predict a sweep on machines apart."""
    own = k[0] + k[1] * members / m.workers + k[2] * n * blocks / m.workers
    message = 8 * n / m.bandwidth
    if star:  # p out to all, R in from all, one after the other
        return own + k[3] * n + 2 * m.workers * message + 2 * m.latency
    hops = int(np.ceil(np.log2(m.workers + 1)))  # each worker passes on to two, and adds up two
    return own + k[3] * n + hops * (4 * message + 2 * m.latency + k[2] * n)


def by_simulation(
    rng: np.random.Generator, k: np.ndarray, n: int, members: float, blocks: int, m: Machines
) -> float:
    """One sweep of a star: messages queue at the driver, workers are not equally fast."""
    own = k[0] + k[1] * members / m.workers + k[2] * n * blocks / m.workers
    message = 8 * n / m.bandwidth
    arrived = np.arange(1, m.workers + 1) * message + m.latency
    done = arrived + own * np.exp(rng.normal(0, m.unequal, m.workers))
    free = 0.0
    for at in np.sort(done + m.latency):
        free = max(free, at) + message
    return free + k[3] * n


def main() -> None:
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as two,
        LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=":0") as one,
        Client(two, direct_to_workers=True) as client_of_two,
        Client(one, direct_to_workers=True) as client_of_one,
    ):
        clients = {1: client_of_one, 2: client_of_two}
        found = {load: measured(load, clients[load.workers]) for load in [*FITTED, *HELD_OUT]}
    k = fit(FITTED, [found[load] for load in FITTED])
    names = ["fixed", "a", "b", "c", "d"]
    print(
        "fitted, seconds:", ", ".join(f"{name} {x:.2e}" for name, x in zip(names, k, strict=True))
    )
    worst = {}
    for what, loads in (("fitted", FITTED), ("held out", HELD_OUT)):
        print(f"\n{what}: categories, members, blocks, workers: measured, predicted (ms), error")
        errors = []
        for load in loads:
            predicted = float(np.dot(load.terms, k))
            errors.append(predicted / found[load] - 1)
            print(
                f"  {load.n:>9,} {load.members:>11,} {load.blocks:>3} {load.workers:>2}: "
                f"{1e3 * found[load]:8.1f} {1e3 * predicted:8.1f} {errors[-1]:+7.0%}"
            )
        worst[what] = max(map(abs, errors))
    print(f"\nlargest error of sizes held out: {worst['held out']:.0%}")
    if worst["held out"] > 0.2:
        print("the model is not good enough to be used beyond what was measured")
        return
    extrapolate(k)


def extrapolate(k: np.ndarray) -> None:
    """A billion choices from ten of a million items, on 100 machines."""
    n, choices, rng = 1_000_000, 1e9, np.random.default_rng(1)
    members = SIZE * choices
    print(f"\n{choices:,.0f} choices from {SIZE} of {n:,} items, blocks of a million members:")
    for machines, cores in ((100, 1), (100, 16)):
        m = Machines(machines * cores if cores == 1 else machines)
        # The blocks of one machine are added up there: its processes share its memory.
        here = k.copy()
        here[1:3] /= cores
        blocks = int(members / 1e6)
        star = by_formula(here, n, members, blocks, m, star=True)
        simulated = [by_simulation(rng, here, n, members, blocks, m) for _ in range(200)]
        tree = by_formula(here, n, members, blocks, m, star=False)
        own = (here[1] * members + here[2] * n * blocks) / m.workers
        network = 16 * n * m.workers / m.bandwidth
        mean = np.mean(simulated)
        print(
            f"  {machines} machines of {cores} core{'s' if cores > 1 else ''}: {star:.1f} s a "
            f"sweep by the formula, {mean:.1f} s simulated ({mean / star - 1:+.0%}); terms "
            f"{own:.1f} s, network {network:.1f} s; by a tree of workers {tree:.1f} s"
        )
        print(
            f"    1,000 sweeps: {1000 * star / 3600:.1f} h, by a tree {1000 * tree / 3600:.1f} h; "
            f"memory a machine {members / machines * 24 / 1e9:.1f} GB"
        )


if __name__ == "__main__":
    print(f"{len(os.sched_getaffinity(0))} processors")
    main()
