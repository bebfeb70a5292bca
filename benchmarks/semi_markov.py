"""Hidden semi-Markov models: messages and sampling against peers, a sweep part by part, and a fit.

    python benchmarks/semi_markov.py [--sizes 10000,20,100 100000,50,60] [--repeats 9]
                                     [--rows 5000] [--draws 500]

CPU times in one process on one core.  What is compared takes turns, and the least of the repeats
counts: what else the machine does can only add to a time.  luce fills the messages of a model with
durations and draws the segments.  Of hmmlearn, whose states have no durations, the compiled forward
and backward passes count and nothing around them; of dynamax, likewise without durations, one draw
of all states.  All are given the same log likelihoods:

    mild    means of states are 2.5 standard deviations apart, each from each
    wide    rows span 140 nats in the median and some 2,000 at most, as those of motion capture do

Sizes are rows, states and the longest duration.  Aimed at, with mild likelihoods: at most 2 times
hmmlearn's passes by scaling at the first size and 0.8 times at the second; at most 0.3 times its
passes by logarithms, which are its default; and the rest of a sweep takes no longer than the
messages.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import statistics
import time
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from rate import ONE_THREAD

import luce
from luce.kernels.semi_markov import durations, messages, phases, segments
from luce.sequences import Gaussian, Poisson
from luce.sequences.semi_markov import new_bits
from luce.sequences.semi_markov_sweep import Sweeper

Work = Callable[[], object]

SCALING, LOGARITHMS = "hmmlearn, scaling", "hmmlearn, logarithms"

# Largest ratios aimed at for (rows, states, longest): to hmmlearn by scaling, and by logarithms.
AIMS = {(10_000, 20, 100): (2.0, 0.3), (100_000, 50, 60): (0.8, 0.3)}

MEAN_DURATION = 30.0
WARMUP = 100  # sweeps before those that are measured
APART = 2.5  # standard deviations between the means of two states
WIDE_SPAN, WIDE_SPREAD = 140.0, 0.7  # median span of a row, in nats, and sd of its logarithm


class Case(NamedTuple):
    """Log likelihoods, transition probabilities and mean durations."""

    fit: np.ndarray
    rows: np.ndarray
    rates: np.ndarray
    longest: int


def make_case(n: int, n_states: int, longest: int, kind: str, seed: int = 1) -> Case:
    """Draw states of all rows, and log likelihoods around them whose row maxima are 0."""
    rng = np.random.default_rng(seed)
    means = rng.gamma(9.0, MEAN_DURATION / 9.0, n_states)
    rows = rng.dirichlet(np.ones(n_states), n_states)
    np.fill_diagonal(rows, 0.0)
    rows /= rows.sum(axis=1, keepdims=True)
    labels, here = np.empty(n, np.int64), 0
    at = 0
    while at < n:
        here = int(rng.choice(n_states, p=rows[here]))
        end = at + 1 + int(rng.poisson(means[here]))
        labels[at:end] = here
        at = end
    # Means at the corners of a simplex: log densities but for a term that all states share.
    length = APART / np.sqrt(2.0)
    fit = length * rng.normal(size=(n, n_states))
    fit[np.arange(n), labels] += length**2
    if kind == "wide":
        spans = WIDE_SPAN * np.exp(WIDE_SPREAD * rng.normal(size=n))
        fit *= (spans / np.ptp(fit, axis=1))[:, None]
    messages.subtract_peaks(fit)
    return Case(fit, rows, means, longest)


def works_of_luce(case: Case) -> dict[str, Work]:
    """Messages and sampling with Poisson and with geometric durations."""
    (n, n_states), longest = case.fit.shape, case.longest
    borders, everywhere = np.array([0, n]), np.empty(0, np.bool_)
    out = messages.Messages(
        np.empty((n, n_states)), np.empty((n, n_states)), np.empty(n), np.empty(n)
    )
    found = segments.Segments(*(np.empty(n, np.int64) for _ in range(3)))
    initial, bits = np.full(n_states, 1.0 / n_states), new_bits(np.random.default_rng(2))
    tables = messages.Durations(*(np.empty((n_states, longest)) for _ in range(4)))
    durations.fill_table(
        durations.Ratios(-case.rates, np.zeros(n_states), case.rates), True, tables
    )
    none = np.empty((n_states, 0))
    by_table = segments.DurationLaw(
        tables.log_p, tables.log_survival, np.empty(0, np.int64), np.empty((2, 0))
    )
    go_on = np.log([case.rates / (1.0 + case.rates), 1.0 / (1.0 + case.rates)])
    geometric = phases.Phases(np.ones(n_states, np.int64), go_on, False)
    by_phases = segments.DurationLaw(none, none, geometric.stops, go_on)

    def fill() -> None:
        messages.convolve(case.fit, borders, everywhere, case.rows, tables, out)

    def count() -> None:
        phases.count_phases(case.fit, borders, everywhere, case.rows, geometric, out)

    def draw(law: segments.DurationLaw) -> None:
        if segments.draw_segments(bits, case.fit, borders, initial, case.rows, law, out, found) < 1:
            raise SystemExit("no segments were drawn.")

    return {
        "luce, messages": fill,
        "luce, sampling": lambda: draw(by_table),
        "luce, geometric, messages": count,
        "luce, geometric, sampling": lambda: draw(by_phases),
    }


def with_self_loops(case: Case) -> np.ndarray:
    """Transition probabilities of a chain whose durations have the same means."""
    stay = case.rates / (1.0 + case.rates)
    return np.diag(stay) + (1.0 - stay)[:, None] * case.rows


def works_of_hmmlearn(case: Case) -> dict[str, Work]:
    """Forward and backward passes on likelihoods, and on their logarithms."""
    if importlib.util.find_spec("hmmlearn") is None:
        print("hmmlearn is not installed, so it is skipped.")
        return {}
    from hmmlearn import _hmmc

    n_states = case.fit.shape[1]
    initial, rows = np.full(n_states, 1.0 / n_states), with_self_loops(case)
    likelihood = np.exp(case.fit)

    def scaling() -> None:
        _, _, scales = _hmmc.forward_scaling(initial, rows, likelihood)
        _hmmc.backward_scaling(initial, rows, likelihood, scales)

    def logarithms() -> None:
        _hmmc.forward_log(initial, rows, case.fit)
        _hmmc.backward_log(initial, rows, case.fit)

    return {SCALING: scaling, LOGARITHMS: logarithms}


def works_of_dynamax(case: Case) -> dict[str, Work]:
    """Draw all states once, compiled beforehand."""
    if importlib.util.find_spec("dynamax") is None:
        print("dynamax is not installed, so it is skipped.")
        return {}
    import jax
    from dynamax.hidden_markov_model import hmm_posterior_sample

    n_states = case.fit.shape[1]
    draw = jax.jit(hmm_posterior_sample)
    given = jax.numpy.full(n_states, 1.0 / n_states), jax.numpy.asarray(with_self_loops(case))
    fit, key = jax.numpy.asarray(case.fit), jax.random.key(1)
    return {"dynamax, one draw": lambda: jax.block_until_ready(draw(key, *given, fit))}


def take_turns(works: dict[str, Work], repeats: int) -> dict[str, float]:
    """Least CPU seconds of each work, after one call that compiles."""
    best = dict.fromkeys(works, np.inf)
    for k in range(repeats + 1):
        for name, work in works.items():
            began = time.process_time()
            work()
            if k > 0:
                best[name] = min(best[name], time.process_time() - began)
    return best


def compare(size: tuple[int, int, int], kind: str, repeats: int) -> dict[str, float]:
    """Measure luce and the peers that are installed; sums of messages and sampling are added."""
    case = make_case(*size, kind)
    works = works_of_luce(case) | works_of_hmmlearn(case) | works_of_dynamax(case)
    times = take_turns(works, repeats)
    for law in ("luce", "luce, geometric"):
        times[f"{law}, both"] = times[f"{law}, messages"] + times[f"{law}, sampling"]
    return times


def print_comparison(size: tuple[int, int, int], kind: str, times: dict[str, float]) -> None:
    """Print a table, and the ratios with what is aimed at."""
    n, n_states, longest = size
    print(f"| T = {n:,}, L = {n_states}, M = {longest}, {kind} | ms | luce, both, over this |")
    print("| --- | ---: | ---: |")
    both = times["luce, both"]
    for name in sorted(times, key=lambda name: (not name.startswith("luce"), name)):
        ratio = "" if name.startswith("luce, ") else f"{both / times[name]:.2f}"
        print(f"| {name} | {times[name] * 1e3:.2f} | {ratio} |")
    aims = AIMS.get(size)
    if aims is not None and kind == "mild" and SCALING in times:
        for name, aim in zip((SCALING, LOGARITHMS), aims, strict=True):
            ratio = both / times[name]
            verdict = "reached" if ratio <= aim else "missed"
            print(f"{ratio:.2f} times {name}; at most {aim} is aimed at: {verdict}")
    print(flush=True)


def simulated(n: int, n_states: int = 6, seed: int = 1) -> np.ndarray:
    """Draw a series in two channels: means 3 standard deviations apart, mean duration 30."""
    rng = np.random.default_rng(seed)
    angles = 2.0 * np.pi * np.arange(n_states) / n_states
    means = 3.0 * np.column_stack([np.cos(angles), np.sin(angles)])
    labels: list[int] = []
    here = 0
    while len(labels) < n:
        here = (here + int(rng.integers(1, n_states))) % n_states
        labels += [here] * (1 + int(rng.poisson(MEAN_DURATION - 1.0)))
    return means[labels[:n]] + rng.normal(size=(n, 2))


class Stopwatch:
    """CPU seconds of works by name."""

    def __init__(self) -> None:
        self.found: dict[str, list[float]] = {}

    def time(self, name: str, work: Callable[..., object], *arguments: object) -> None:
        """Do a work once."""
        began = time.process_time()
        work(*arguments)
        self.found.setdefault(name, []).append(time.process_time() - began)

    def medians(self) -> dict[str, float]:
        """Median seconds of each work."""
        return {name: statistics.median(times) for name, times in self.found.items()}


def time_parts(watch: Stopwatch, sweeper: Sweeper, bits: np.ndarray, state: Any) -> None:
    """Do each part of a sweep once, given a state; nothing is changed."""
    series, n_states, own = sweeper.series, sweeper.n_states, bits.copy()
    starts, lengths, states = sweeper.segments_of(state)
    counts, space = np.zeros((n_states, n_states)), np.empty((series.length, n_states))
    np.add.at(counts, (states[:-1], states[1:]), 1.0)
    given = own, series, state, starts, lengths

    def likelihood() -> None:
        sweeper.emission.log_likelihood(series, state.emission, space)
        messages.subtract_peaks(space)

    def transitions() -> None:
        problem = sweeper.transitions.problem(counts, np.zeros(n_states))
        scales = np.log([state.concentration, state.base_concentration])
        problem.advance(own, state.log_base.copy(), scales, 1, True)

    ends = own, lengths, states, dict(state.duration), sweeper.longest
    watch.time("likelihood", likelihood)
    watch.time("likelihood and messages", sweeper.fill_messages, state)
    watch.time("likelihood, messages and sampling", sweeper.draw_labels, own, state)
    watch.time("split and merge", sweeper.split_and_merge, *given, states.copy())
    watch.time("births and deaths", sweeper.bear_and_bury, *given, states.copy())
    watch.time("durations", sweeper.duration.resample, *ends)
    watch.time("emissions", sweeper.emission.resample, own, series, state.labels, state.emission)
    watch.time("transitions (HDP)", transitions)
    watch.time("whole sweep", sweeper.sweep, own, state)


def sweep_parts(n: int, n_states: int, longest: int, repeats: int) -> dict[str, float]:
    """Median CPU seconds of a sweep and of its parts, in sweeps that follow a warm-up."""
    rng, watch = np.random.default_rng(1), Stopwatch()
    model = luce.SemiMarkov(
        n_states, emission=Gaussian(), duration=Poisson(mean=MEAN_DURATION), longest=longest
    )
    sweeper, bits = model.sweeper(model.read(simulated(n))), new_bits(rng)
    state = model.begin(sweeper, rng, bits, "random")
    for _ in range(WARMUP):
        state, _ = sweeper.sweep(bits, state)
    for _ in range(repeats):
        state, _ = sweeper.sweep(bits, state)
        time_parts(watch, sweeper, bits, state)
    times = watch.medians()
    filled, drawn = (
        times.pop(f"likelihood{more}") for more in (" and messages", ", messages and sampling")
    )
    whole = times.pop("whole sweep")
    parts = {"messages": filled - times["likelihood"], "sampling": drawn - filled} | times
    return parts | {"all else": whole - sum(parts.values()), "whole sweep": whole}


def print_parts(parts: dict[str, float], title: str) -> None:
    """Print a table, and the rest of a sweep against the messages."""
    print(f"| {title} | ms |\n| --- | ---: |")
    for name, seconds in parts.items():
        print(f"| {name} | {seconds * 1e3:.2f} |")
    rest = parts["whole sweep"] - parts["messages"]
    ratio = rest / parts["messages"]
    verdict = "reached" if ratio <= 1.0 else "missed"
    print(
        f"the rest of a sweep is {ratio:.2f} times the messages; at most 1 is aimed at: {verdict}"
    )
    print(flush=True)


def fit_seconds(n: int, n_states: int, draws: int) -> float:
    """CPU seconds of 4 chains, with their warm-up and the checks at the end; code is compiled."""
    model = luce.SemiMarkov(n_states, duration=Poisson(mean=MEAN_DURATION))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", luce.errors.ConvergenceWarning)
        model.fit(simulated(n)[:200], 2, chains=4, seed=1, threads=1, progress=False)
        began = time.process_time()
        model.fit(simulated(n), draws, chains=4, seed=1, threads=1, progress=False)
        return time.process_time() - began


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    sizes = [",".join(map(str, size)) for size in AIMS]
    parser.add_argument("--sizes", nargs="*", default=sizes, help="rows,states,longest ...")
    parser.add_argument("--repeats", type=int, default=9)
    parser.add_argument("--rows", type=int, default=5000, help="rows of the sweep and of the fit")
    parser.add_argument("--draws", type=int, default=500, help="draws of each chain of the fit")
    parser.add_argument("--core", type=int, default=max(os.sched_getaffinity(0)))
    given = parser.parse_args(arguments)
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {given.core})  # before peers look how many cores there are
    os.environ |= ONE_THREAD
    try:
        for text in given.sizes:
            n, n_states, longest = (int(part) for part in text.split(","))
            for kind in ("mild", "wide"):
                size = n, n_states, longest
                print_comparison(size, kind, compare(size, kind, given.repeats))
        title = f"a sweep: {given.rows:,} rows of 2 channels, 25 states, durations up to 60"
        print_parts(sweep_parts(given.rows, 25, 60, 10 * given.repeats), title)
        seconds = fit_seconds(given.rows, 25, given.draws)
        print(f"fit of {given.rows:,} rows, 4 × {given.draws} draws: {seconds:.1f} CPU seconds")
    finally:
        os.sched_setaffinity(0, before)


if __name__ == "__main__":
    main()
