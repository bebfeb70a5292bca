"""Time to the maximum-likelihood estimate, against others; and to the mode of very many pairs.

    python benchmarks/mode.py [--problems P3,P4,P7,arena] [--seconds 10] [--cap 120]

Everybody starts from data in a form of their own: choix from lists of outcomes or a table of wins,
luce from `ConditionalCounts`.  luce's first call on new counts finds their structure too; later
calls know it.  A third row starts from choix's list, which luce then has to read.  choix runs with
its own tolerances and no penalty, and so does SciPy's L-BFGS, on log strengths, with sums by NumPy.
What takes longer than the cap is ended, and reported so.

Compared are the medians of as many runs as fit into the seconds, three at least.  The least is
printed too: what else the machine does can only add to a time.  "apart" is the largest difference
of log p, centred, from luce's.
"""

from __future__ import annotations

import argparse
import importlib.util
import signal
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from problems import Problem, load, ten_of_many

import luce

# An estimate further off than this is not the same one.
AGREED = 1e-6

FEWEST_RUNS, MOST_RUNS = 3, 1000


class Times(NamedTuple):
    """Seconds of the runs, and what the last of them found."""

    median: float
    least: float
    runs: int
    found: Any


class TooLong(Exception):
    """A run took longer than allowed."""


@contextmanager
def at_most(seconds: float) -> Iterator[None]:
    """End what takes longer; it must be Python that is running, as it is in choix."""

    def end(*_: object) -> None:
        raise TooLong

    before = signal.signal(signal.SIGALRM, end)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def measure(
    work: Callable[[Any], Any], prepare: Callable[[], Any], seconds: float, cap: float
) -> Times | None:
    """Time work on what `prepare` made, which is not timed; None if a run took longer than cap."""
    taken: list[float] = []
    while len(taken) < FEWEST_RUNS or (sum(taken) < seconds and len(taken) < MOST_RUNS):
        given = prepare()
        try:
            with at_most(cap):
                began = time.perf_counter()
                found = work(given)
                taken.append(time.perf_counter() - began)
        except TooLong:
            return None
    return Times(statistics.median(taken), min(taken), len(taken), found)


def new_counts(counts: luce.ConditionalCounts) -> luce.ConditionalCounts:
    """The same counts as a new object, of whose sets nothing is known yet."""
    return luce.ConditionalCounts.from_nests(
        counts.n_categories, counts.category_counts, replace(counts.sets), merged=True
    )


def wins_of(problem: Problem) -> list[tuple[int, int]]:
    """Pairs (winner, loser), one for each match."""
    assert problem.tallies is not None
    pairs = []
    for row, tally in zip(problem.rows, problem.tallies, strict=True):
        for winner, number in tally.items():
            loser = int(row.sum()) - winner
            pairs += [(int(winner), loser)] * number
    return pairs


def choices_of() -> list[tuple[int, tuple[int, ...]]]:
    """Pairs (chosen, those left on the shelf) of P7."""
    rows, chosen = ten_of_many()
    return [
        (one, tuple(item for item in row if item != one))
        for one, row in zip(chosen.tolist(), rows.tolist(), strict=True)
    ]


class Peer(NamedTuple):
    """A problem as choix wants it: its methods by name, and luce's reader of the same list."""

    methods: dict[str, Callable[[], Any]]
    read: Callable[[], luce.ConditionalCounts]


def l_bfgs(problem: Problem) -> np.ndarray:
    """Maximise the likelihood over log strengths by SciPy."""
    from scipy.optimize import minimize

    parts = problem.rectangles()

    def loss(theta: np.ndarray) -> tuple[float, np.ndarray]:
        weight = np.exp(theta)
        value, gradient = -(problem.c @ theta), -problem.c
        for m, rows in parts:
            sums = weight[rows].sum(axis=1)
            each = np.repeat(m / sums, rows.shape[1])
            value += m @ np.log(sums)
            gradient = gradient + weight * np.bincount(rows.ravel(), each, problem.n)
        return value, gradient

    return minimize(loss, np.zeros(problem.n), jac=True, method="L-BFGS-B").x


def peer_of(name: str, problem: Problem) -> Peer:
    """Data in choix's own form; choix is imported only when a method is called."""
    n = problem.n

    def method(called: str, *given: Any, **options: Any) -> Callable[[], Any]:
        def run() -> Any:
            import choix

            return getattr(choix, called)(*given, **options)

        return run

    if name in ("P3", "arena"):
        pairs = wins_of(problem)
        table = np.zeros((n, n))
        np.add.at(table, tuple(np.transpose(pairs)), 1.0)
        methods = {
            "ilsr_pairwise": method("ilsr_pairwise", n, pairs),
            "ilsr_pairwise_dense": method("ilsr_pairwise_dense", table),
        }
        if name == "P3":
            methods["mm_pairwise"] = method("mm_pairwise", n, pairs)
            methods["opt_pairwise"] = method("opt_pairwise", n, pairs, alpha=0.0)
        return Peer(methods, lambda: luce.from_pairs(pairs, categories=range(n)))
    if name == "P4":
        assert problem.rankings is not None
        orders = [tuple(order.tolist()) for order in problem.rankings]
        names = ("ilsr_rankings", "mm_rankings")
        return Peer(
            {called: method(called, n, orders) for called in names},
            lambda: luce.from_rankings(orders, unranked="absent", categories=range(n)),
        )
    choices = choices_of()
    names = ("ilsr_top1", "mm_top1")
    return Peer(
        {called: method(called, n, choices) for called in names},
        lambda: luce.from_choices(
            [(one, (one, *others)) for one, others in choices], categories=range(n)
        ),
    )


def centred_logs(found: Any) -> np.ndarray:
    """Centred log strengths, of a luce estimate or of choix's, which are logarithms already."""
    if hasattr(found, "probabilities"):
        found = np.log(np.asarray(found.probabilities))
    return np.asarray(found) - np.mean(found)


def in_ms(seconds: float) -> str:
    """Milliseconds to three digits, or all that come before the point."""
    ms = 1e3 * seconds
    return f"{ms:.3g}" if ms < 999.5 else f"{ms:,.0f}"


def compare(name: str, seconds: float, cap: float) -> None:
    """Print a table of one problem."""
    problem = load(name)
    counts, peer = problem.posterior().counts, peer_of(name, problem)
    ours = luce.maximum_likelihood
    ours(new_counts(counts))  # compile
    rows: dict[str, Times | None] = {
        "luce, later calls": measure(ours, lambda: counts, seconds, cap),
        "luce, first call": measure(ours, lambda: new_counts(counts), seconds, cap),
        "luce, reading choix's list too": measure(
            lambda read: ours(read()), lambda: peer.read, seconds, cap
        ),
    }
    reference = rows["luce, later calls"]
    assert reference is not None
    if importlib.util.find_spec("choix") is None:
        print(f"{name}: choix is not installed, so it is skipped.")
    else:
        for called, run in peer.methods.items():
            rows[f"choix {called}"] = measure(lambda work: work(), lambda f=run: f, seconds, cap)
    rows["SciPy, L-BFGS"] = measure(l_bfgs, lambda: problem, seconds, cap)
    fastest = min(row.median for label, row in rows.items() if row and not label.startswith("luce"))
    print(f"\n| {name} | ms, median | least | runs | apart | of the fastest other |")
    print("| --- | ---: | ---: | ---: | ---: | ---: |")
    differences = {}
    for label, row in rows.items():
        if row is None:
            print(f"| {label} | ended after {cap:.0f} s | | | | |")
            continue
        apart = np.abs(centred_logs(row.found) - centred_logs(reference.found)).max()
        differences[label] = apart
        print(
            f"| {label} | {in_ms(row.median)} | {in_ms(row.least)} | {row.runs:,} "
            f"| {apart:.1g} | {row.median / fastest:.3g} |"
        )
    peers = [apart for label, apart in differences.items() if label.startswith("choix")]
    if peers and not min(peers) < AGREED:
        raise SystemExit(f"{name}: choix and luce found different estimates.")
    if not all(a < AGREED for label, a in differences.items() if label.startswith("luce")):
        raise SystemExit(f"{name}: luce found different estimates of the same data.")


def many_pairs(items: int, number: int) -> dict[str, np.ndarray]:
    """Random pairs play; log strengths are normal."""
    rng = np.random.default_rng(11)
    strength = rng.lognormal(0.0, 1.0, items)
    a = rng.integers(0, items, number)
    b = (a + rng.integers(1, items, number)) % items
    first = rng.random(number) < strength[a] / (strength[a] + strength[b])
    return {"winner": np.where(first, a, b), "loser": np.where(first, b, a)}


def time_many(items: int, number: int, repeats: int) -> None:
    """Print how long reading, structure and mode of very many pairs in a polars frame take.

    Somebody may have won all of few games, so the concentration is a little more than 1.
    """
    import polars as pl

    matches = pl.DataFrame(many_pairs(items, number))
    taken: dict[str, list[float]] = {"reading": [], "structure": [], "mode": [], "mode again": []}
    for _ in range(repeats):
        clock = [time.perf_counter()]
        counts = luce.from_pairs(matches)
        clock.append(time.perf_counter())
        posterior = luce.Posterior(counts, 1.1)
        _ = posterior.structure
        clock.append(time.perf_counter())
        posterior.mode()
        clock.append(time.perf_counter())
        posterior.mode()
        clock.append(time.perf_counter())
        for name, seconds in zip(taken, np.diff(clock).tolist(), strict=True):
            taken[name].append(seconds)
    print(f"\n| {items:,} items, {number:,} pairs | s, median | least |\n| --- | ---: | ---: |")
    for name, spent in taken.items():
        print(f"| {name} | {statistics.median(spent):.3f} | {min(spent):.3f} |")


def main(given: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--problems", default="P3,P4,P7,arena", help="some of these, commas between"
    )
    parser.add_argument("--seconds", type=float, default=10.0, help="of each row")
    parser.add_argument("--cap", type=float, default=120.0, help="seconds of one run")
    parser.add_argument("--items", type=int, default=20_000)
    parser.add_argument("--pairs", type=int, default=1_000_000)
    parser.add_argument("--repeats", type=int, default=7, help="of the many pairs")
    options = parser.parse_args(given)
    for name in options.problems.split(","):
        compare(name, options.seconds, options.cap)
    time_many(options.items, options.pairs, options.repeats)


if __name__ == "__main__":
    main()
