"""What a sharded sweep costs: a model fitted here, checked on sizes it has not seen, then used.

    python benchmarks/cluster_cost.py

With M stored members and B blocks on W workers, n categories, and N sums of n numbers that come
back (a worker's blocks are added up along a fixed tree, and may be several of its branches),

    sweep = fixed + (a + a' far) M / W + b n B / W + d n (W + N) + c n

    a    reading a stored member twice, its share of a waiting time, and its share of a sum
    a'   and how much longer that takes as p and its sums leave the caches: far is n / 1,000,000,
         which goes for up to a million
    b    a block's own n sums, and adding them to those of the next block
    d    a message of n numbers: packed, sent, unpacked, added up
    c    the driver's n gammas, timed by themselves

a, a', b, d and `fixed` are fitted to sweeps of this machine's processes and checked on sizes that
were left out.  For machines apart a message takes the driver as long as here, or as the network
takes, whichever is longer, and both directions go at the same time.  A simulation with workers of
unequal speed, and messages that queue at the driver, tells whether the formula still holds there.
"""

from __future__ import annotations

import os
import statistics
import time
from functools import partial
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from cluster import piece, sweeps
from distributed import Client
from scipy.optimize import nnls

from luce.cluster.connect import connected
from luce.cluster.shards import Shards
from luce.cluster.tree_sums import nodes_of
from luce.kernels.random import new_bits
from luce.kernels.shards import draw_strengths

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
        share, messages = 1 / self.workers, self.workers + branches(self.blocks, self.workers)
        own = self.members * share
        return [1.0, own, own * far(self.n), self.n * self.blocks * share, self.n * messages]


def far(n: int) -> float:
    """How far n numbers reach beyond the caches."""
    return n / 1e6


def branches(blocks: int, workers: int) -> int:
    """How many sums come back."""
    cuts = np.linspace(0, blocks, min(workers, blocks) + 1).astype(int).tolist()
    return sum(len(nodes_of(a, b)) for a, b in pairwise(cuts))


FITTED = [
    Load(n, sets, blocks, workers)
    for workers in (1, 2)
    for n, sets, blocks in [
        (20_000, 20_000, 2), (20_000, 60_000, 4), (100_000, 5_000, 4), (100_000, 60_000, 8),
        (300_000, 20_000, 4), (300_000, 5_000, 12), (1_000_000, 100_000, 8), (1_000_000, 5_000, 4),
    ]
]  # fmt: skip
HELD_OUT = [
    Load(200_000, 40_000, 6, 2), Load(500_000, 80_000, 8, 2), Load(150_000, 100_000, 10, 1),
    Load(1_000_000, 100_000, 24, 2),
]  # fmt: skip


def measured(load: Load, client: Client) -> float:
    pieces = [partial(piece, k, load.n, load.sets, SIZE) for k in range(load.blocks)]
    taken = sweeps(Shards(pieces, client), load.n, 40)
    return statistics.quantiles(taken, n=4)[0]  # other work on the machine only ever adds


def gammas() -> float:
    """Seconds a category that the driver takes for the next p."""
    n, bits = 1_000_000, new_bits(np.random.SeedSequence(1))
    shape, rates, out = np.full(n, 1.5), np.ones(n), np.empty(n)
    taken = []
    for _ in range(4):  # the first one compiles
        began = time.perf_counter()
        draw_strengths(bits, shape, np.empty(0), rates, 1.5 * n, out)
        taken.append(time.perf_counter() - began)
    return min(taken) / n


class Costs(NamedTuple):
    """Seconds: of a sweep, a member (a, a'), a number in a block (b), in a message (d), a gamma."""

    fixed: float
    member: float
    far_member: float
    block: float
    message: float
    gamma: float


def fit(loads: list[Load], seconds: list[float]) -> Costs:
    """Coefficients that are not negative, by relative errors."""
    rows = np.array([load.terms for load in loads]) / np.array(seconds)[:, None]
    return Costs(*nnls(rows, np.ones(len(seconds)))[0].tolist(), gammas())


class Machines(NamedTuple):
    """Machines apart."""

    workers: int
    cores: int
    bandwidth: float = 1.25e9  # bytes a second: ten gigabit
    latency: float = 2e-4
    unequal: float = 0.1  # standard deviation of log speed

    def own(self, k: Costs, n: int, members: float, blocks: int) -> float:
        """Seconds of a worker's blocks, its cores sharing them."""
        each = (k.member + k.far_member * far(n)) * members + k.block * n * blocks
        return k.fixed + each / (self.workers * self.cores)

    def message(self, k: Costs, n: int) -> float:
        """Seconds that a message keeps the driver."""
        return float(max(k.message * n, 8 * n / self.bandwidth))


def by_formula(k: Costs, n: int, members: float, blocks: int, m: Machines) -> float:
    """Predict a sweep: messages one after the other, both ways at once."""
    message, back = m.message(k, n), branches(blocks, m.workers)
    last_out = m.workers * message + back / m.workers * message
    all_back = message + back * message
    return m.own(k, n, members, blocks) + max(last_out, all_back) + 2 * m.latency + k.gamma * n


def by_simulation(
    rng: np.random.Generator, k: Costs, n: int, members: float, blocks: int, m: Machines
) -> float:
    """Simulate one: messages queue at the driver, workers are not equally fast."""
    message = m.message(k, n)
    cuts = np.linspace(0, blocks, m.workers + 1).astype(int).tolist()
    back = np.array([len(nodes_of(a, b)) for a, b in pairwise(cuts)])
    arrived = np.arange(1, m.workers + 1) * message + m.latency
    speed = np.exp(rng.normal(0, m.unequal, m.workers))
    ready = arrived + m.own(k, n, members, blocks) * speed + m.latency
    free = 0.0
    for worker in np.argsort(ready):
        free = max(free, ready[worker]) + back[worker] * message
    return free + k.gamma * n


def by_a_tree(k: Costs, n: int, members: float, blocks: int, m: Machines) -> float:
    """Predict a sweep where every worker passes p on to two others and adds up what they return."""
    hops = int(np.ceil(np.log2(m.workers + 1)))
    passing = hops * (4 * m.message(k, n) + 2 * m.latency)
    return m.own(k, n, members, blocks) + passing + k.gamma * n


def main() -> None:
    found = {}
    for workers in (1, 2):
        with connected("local", workers) as client:
            for load in [*FITTED, *HELD_OUT]:
                if load.workers == workers:
                    found[load] = measured(load, client)
    k = fit(FITTED, [found[load] for load in FITTED])
    print("seconds:", ", ".join(f"{name} {x:.2e}" for name, x in k._asdict().items()))
    worst = {}
    for what, loads in (("fitted", FITTED), ("held out", HELD_OUT)):
        print(f"\n{what}: categories, members, blocks, workers: measured, predicted (ms), error")
        errors = []
        for load in loads:
            predicted = float(np.dot(load.terms, k[:5]))
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


def extrapolate(k: Costs) -> None:
    """A billion choices from ten of a million items, on 100 machines."""
    n, choices, rng = 1_000_000, 1e9, np.random.default_rng(1)
    members = SIZE * choices
    print(
        f"\n{choices:,.0f} choices from {SIZE} of {n:,} items on 100 machines, a sweep in seconds:"
    )
    print("blocks  cores  formula  simulated   terms  driver    tree   1,000 sweeps (h)")
    for blocks in (10_000, 12_800, 1_600):
        for cores in (1, 16):
            m = Machines(100, cores)
            star = by_formula(k, n, members, blocks, m)
            simulated = np.mean([by_simulation(rng, k, n, members, blocks, m) for _ in range(200)])
            tree = by_a_tree(k, n, members, blocks, m)
            own = m.own(k, n, members, blocks)
            print(
                f"{blocks:6,} {cores:6} {star:8.1f} {simulated:8.1f} {simulated / star - 1:+.0%} "
                f"{own:7.2f} {star - own:7.2f} {tree:7.2f} {star / 3.6:8.1f} {tree / 3.6:8.1f}"
            )
    print(f"memory a machine: {members / 100 * 24 / 1e9:.1f} GB")


if __name__ == "__main__":
    print(f"{len(os.sched_getaffinity(0))} processors")
    main()
