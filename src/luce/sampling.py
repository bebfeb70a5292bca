"""Chains: generators, states, and the loop that every method shares.

A chain draws from each core with a generator of its own and splits the cores' cells with another,
so what it draws depends on the seed and the chain's number alone, not on threads or chunks.
"""

from __future__ import annotations

import os
import time
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from threading import Event
from typing import TYPE_CHECKING

import numpy as np

from luce._types import FloatArray, WordArray
from luce.conditional_counts import ConditionalCounts
from luce.errors import MethodError
from luce.gamma_prior import Gamma
from luce.methods import Method, Part, choose_method, parts_of
from luce.module_shapes import ModuleShapes
from luce.progress import ProgressBar
from luce.settings import Settings

if TYPE_CHECKING:
    from luce.kernels.grouped import SplitSpace

# A chunk is the work between two looks at the clock: about this many elementary steps (5 ms), few
# enough that what one step of the work writes is still in the cache when the next reads it.
# Metropolis states are rounded between chunks, so the size must never depend on the clock.
_CHUNK_STEPS = 200_000

# Where some category has a smaller shape, its probability is often too small to show: keep logs.
_LOGS_BELOW = 0.1


@dataclass
class Draws:
    """What the chains produced, before it is dressed up.

    `probabilities` and `log_probabilities` have shape (chain, draw, category), `statistics`
    (chain, draw, part), `log_tuning` (chain, part).
    """

    probabilities: FloatArray
    log_probabilities: FloatArray | None
    statistics: FloatArray
    log_tuning: FloatArray
    method: Method
    warmup: int
    seed: np.random.SeedSequence
    seconds: float = 0.0
    interrupted: bool = False

    def keep(self, draws: int) -> None:
        """Forget all but the first so many draws of each chain."""
        self.probabilities = self.probabilities[:, :draws]
        self.statistics = self.statistics[:, :draws]
        if self.log_probabilities is not None:
            self.log_probabilities = self.log_probabilities[:, :draws]


@dataclass
class _Chain:
    """One chain: where it writes, its generators and states, and how far it has come."""

    number: int
    generators: list[WordArray]
    splitter: WordArray
    states: list[FloatArray]
    tunings: list[FloatArray]
    spaces: list[SplitSpace | None]
    to_warm: int
    to_draw: int
    done: int = 0
    buffers: dict[int, FloatArray] = field(default_factory=dict)


def draw(
    counts: ConditionalCounts,
    concentration: FloatArray,
    shapes: ModuleShapes,
    settings: Settings,
    hyperprior: Gamma | None = None,
) -> Draws:
    """Draw the probabilities of all categories."""
    method = choose_method(counts, concentration, shapes, settings, hyperprior)
    logs = settings.log_probabilities
    if logs is None:
        logs = bool(min(shapes.shape.min(), shapes.total.min()) < _LOGS_BELOW)
    return run_chains(method, shapes, counts.n_categories, logs, settings)


def draw_core(shapes: ModuleShapes, q: int, settings: Settings) -> Draws:
    """Draw the shares of the cells of core q, with logarithms, and nothing around it."""
    part = parts_of(shapes, settings.method)[q]
    return run_chains(Method((part,), None), shapes, len(part.prior), True, settings)


def run_chains(
    method: Method, shapes: ModuleShapes, n: int, logs: bool, settings: Settings
) -> Draws:
    """Run all chains of a method that gives n probabilities a draw."""
    began = time.perf_counter()
    seeds = settings.seed_sequence()
    warmup = 0 if method.independent else settings.sweeps_to_discard
    starts = settings.starting_points(n)
    size = (settings.chains, settings.draws)
    _check_memory(size, n, logs)
    n_parts = len(method.parts)
    result = Draws(
        np.empty((*size, n)),
        np.empty((*size, n)) if logs else None,
        np.empty((*size, n_parts)),
        np.empty((settings.chains, n_parts)),
        method,
        warmup,
        seeds,
    )
    chains = []
    for i, own in enumerate(seeds.spawn(settings.chains)):
        start = None if starts is None else starts[i]
        chains.append(_new_chain(i, own, method, shapes, settings, warmup, start))
    result.interrupted = _run(chains, result, settings)
    if result.interrupted:
        result.keep(min(c.done for c in chains))
    for chain in chains:
        result.log_tuning[chain.number] = [tuning[2] for tuning in chain.tunings]
    result.seconds = time.perf_counter() - began
    return result


def _check_memory(size: tuple[int, int], n: int, logs: bool) -> None:
    """Refuse what cannot fit, before the machine starts swapping."""
    wanted = 8 * size[0] * size[1] * n * (2 if logs else 1)
    try:
        memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):  # a system that does not say
        return
    if wanted > memory:
        raise MethodError(
            f"{size[0]} chains of {size[1]:,} draws of {n:,} categories need "
            f"{wanted / 1e9:.0f} GB, and this machine has {memory / 1e9:.0f} GB. Ask for fewer "
            f"draws or chains{', or log_probabilities=False' if logs else ''}."
        )


def _new_chain(
    number: int,
    seeds: np.random.SeedSequence,
    method: Method,
    shapes: ModuleShapes,
    settings: Settings,
    warmup: int,
    start: FloatArray | None,
) -> _Chain:
    """Give a chain its generators and starting points."""
    from luce.kernels.grouped import split_space
    from luce.kernels.random import new_bits

    *part_seeds, split_seed = seeds.spawn(len(method.parts) + 1)
    states, tunings = [], []
    for q, (part, own) in enumerate(zip(method.parts, part_seeds, strict=True)):
        if start is None:
            states.append(part.draw_start(np.random.default_rng(own.spawn(1)[0])))
        else:
            states.append(
                part.start_at(start if method.plan is None else shapes.core_masses(start, q))
            )
        first = 0.0
        if settings.proposal_concentration is not None:
            first = np.log(settings.proposal_concentration)
        elif part.kernel.first_tuning is not None:
            first = part.kernel.first_tuning(part.problem)
        tunings.append(np.asarray([first, 0.0, first, 0.0]))
    generators = [new_bits(own) for own in part_seeds]
    splitter = new_bits(split_seed)
    spaces = [split_space(part.problem) for part in method.parts]
    return _Chain(number, generators, splitter, states, tunings, spaces, warmup, settings.draws)


def _run(chains: list[_Chain], result: Draws, settings: Settings) -> bool:
    """Advance all chains in threads; returns whether Ctrl-C ended it.

    Chains of one thread take turns, so that an interrupted run has them all equally long.
    """
    n_threads = settings.n_threads()
    tunes = settings.proposal_concentration is None
    method = result.method
    work = result.probabilities.shape[-1]
    work += sum(len(p.problem.members) + len(p.problem.shape) for p in method.parts)
    chunk = max(1, _CHUNK_STEPS // work)
    stop = Event()

    def take_turns(mine: list[_Chain]) -> None:
        while not stop.is_set() and any(c.to_warm or c.to_draw for c in mine):
            for chain in mine:
                if chain.to_warm:
                    _warm(chain, method, chunk, tunes)
                elif chain.to_draw:
                    _draw(chain, result, chunk)

    total = sum(c.to_warm + c.to_draw for c in chains)
    with ThreadPoolExecutor(n_threads) as pool, ProgressBar(total, settings.progress) as bar:
        futures = [pool.submit(take_turns, chains[k::n_threads]) for k in range(n_threads)]
        try:
            pending = True
            while pending:
                pending = bool(wait(futures, timeout=0.1).not_done)
                bar.update(total - sum(c.to_warm + c.to_draw for c in chains))
        except KeyboardInterrupt:
            stop.set()
            wait(futures)
    for future in futures:
        future.result()  # an error in a thread is an error here
    if stop.is_set() and not all(c.done for c in chains):
        raise KeyboardInterrupt
    return stop.is_set()


def _warm(chain: _Chain, method: Method, chunk: int, tunes: bool) -> None:
    """Make sweeps that are discarded, tuning the methods that want to be tuned."""
    size = min(chunk, chain.to_warm)
    for q, part in enumerate(method.parts):
        if not part.kernel.independent:
            adapt = tunes and part.kernel.first_tuning is not None
            _sweep(chain, part, q, size, chunk, adapt, np.empty(size))
    chain.to_warm -= size


def _draw(chain: _Chain, result: Draws, chunk: int) -> None:
    """Make draws and put them into the result."""
    from luce.kernels.dirichlet_tree import draw_splits

    method = result.method
    size = min(chunk, chain.to_draw)
    rows = slice(chain.done, chain.done + size)
    statistics = np.empty((len(method.parts), size))
    pieces = [
        _sweep(chain, part, q, size, chunk, False, statistics[q])
        for q, part in enumerate(method.parts)
    ]
    result.statistics[chain.number, rows] = statistics.T
    target = result.probabilities[chain.number, rows]
    logs = np.empty((0, 0))
    if result.log_probabilities is not None:
        logs = result.log_probabilities[chain.number, rows]
    wide = any(part.problem.wide for part in method.parts)
    if method.plan is None:
        target[:] = np.exp(pieces[0]) if wide else pieces[0]
        if result.log_probabilities is not None:
            logs[:] = pieces[0] if wide else np.log(pieces[0])
    else:
        for q, part in enumerate(method.parts):
            if wide and not part.problem.wide:
                pieces[q] = np.log(pieces[q])
        shares = pieces[0] if len(pieces) == 1 else np.hstack([np.empty((size, 0)), *pieces])
        draw_splits(chain.splitter, method.plan, shares, wide, target, logs)
    chain.done += size
    chain.to_draw -= size


def _sweep(
    chain: _Chain, part: Part, q: int, size: int, chunk: int, adapt: bool, stat: FloatArray
) -> FloatArray:
    """Advance part q of a chain; returns its states, one a row, until it is advanced again."""
    if q not in chain.buffers:
        chain.buffers[q] = np.empty((chunk, len(part.problem.shape)))
    out = chain.buffers[q][:size]
    part.kernel.advance(
        chain.generators[q], part.problem, chain.states[q], chain.tunings[q], adapt, out, stat,
        chain.spaces[q],
    )  # fmt: skip
    return out
