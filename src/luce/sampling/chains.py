"""Chains: generators, states, and the loop that every method shares.

A chain draws from each core with a generator of its own and splits the cores' cells with another,
so what it draws depends on the seed and the chain's number alone, not on threads, on chunks, or on
where its draws go.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from threading import Event, current_thread, main_thread
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np

from luce._types import FloatArray, WordArray
from luce.model.shapes import ModuleShapes
from luce.sampling.methods import Method, Part
from luce.sampling.progress import ProgressBar, ctrl_c_noted
from luce.sampling.settings import Settings

if TYPE_CHECKING:
    from luce.kernels.grouped_outcomes import SplitSpace

# A chunk is the work between two looks at the clock: about this many elementary steps (5 ms), few
# enough that what one step of the work writes is still in the cache when the next reads it.
# Metropolis states are rounded between chunks, so the size must never depend on the clock.
_CHUNK_STEPS = 200_000


@dataclass
class Chain:
    """One chain: its generators and states, and how far it has come."""

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

    @property
    def unfinished(self) -> bool:
        """Is there anything left to do?"""
        return bool(self.to_warm or self.to_draw)


class Room(NamedTuple):
    """Where the next draws of a chain are to be written, one a row.

    Attributes
    ----------
    probabilities, log_probabilities
        Shape (size, n); the second empty where logarithms are not wanted.
    statistics
        Shape (size, parts).
    """

    probabilities: FloatArray
    log_probabilities: FloatArray
    statistics: FloatArray


class Sink(Protocol):
    """Where draws go: to memory, or to a disk."""

    def room(self, chain: Chain, size: int) -> Room:
        """Give room for the next draws of a chain."""

    def filled(self, chain: Chain, size: int) -> None:
        """Take the draws that were written there; the chain already counts them as done."""

    def warmed(self, chain: Chain) -> None:
        """Know that a chain is further on in its warm-up."""


@dataclass(frozen=True)
class Task:
    """What all chains of a run do.

    Parameters
    ----------
    method
        Of drawing.
    n
        Probabilities a draw.
    thin
        Sweeps a draw.
    tunes
        May kernels tune themselves during warm-up?
    """

    method: Method
    n: int
    thin: int = 1
    tunes: bool = True

    @property
    def chunk(self) -> int:
        """Draws to make at once."""
        work = sum(len(p.problem.members) + len(p.problem.shape) for p in self.method.parts)
        return max(1, _CHUNK_STEPS // (self.n + work * self.thin))


def new_chains(task: Task, shapes: ModuleShapes | None, settings: Settings) -> list[Chain]:
    """Give chains their generators and starting points."""
    starts = settings.starting_points(task.n)
    return [
        _new_chain(i, own, task.method, shapes, settings, None if starts is None else starts[i])
        for i, own in enumerate(settings.seed_sequence().spawn(settings.chains))
    ]


def _new_chain(
    number: int,
    seeds: np.random.SeedSequence,
    method: Method,
    shapes: ModuleShapes | None,
    settings: Settings,
    start: FloatArray | None,
) -> Chain:
    from luce.kernels.grouped_outcomes import split_space
    from luce.kernels.random import new_bits

    *part_seeds, split_seed = seeds.spawn(len(method.parts) + 1)
    states, tunings = [], []
    for q, (part, own) in enumerate(zip(method.parts, part_seeds, strict=True)):
        if start is None:
            states.append(part.draw_start(np.random.default_rng(own.spawn(1)[0])))
        else:
            if method.splits is not None and shapes is not None:
                states.append(part.start_at(shapes.core_masses(start, q)))
            else:
                states.append(part.start_at(start))
        first = 0.0
        if settings.proposal_concentration is not None:
            first = np.log(settings.proposal_concentration)
        elif part.kernel.first_tuning is not None:
            first = part.kernel.first_tuning(part.problem)
        tunings.append(np.asarray([first, 0.0, first, 0.0]))
    generators = [new_bits(own) for own in part_seeds]
    spaces = [split_space(part.problem) for part in method.parts]
    return Chain(number, generators, new_bits(split_seed), states, tunings, spaces,
                 warmup_of(method, settings), settings.draws)  # fmt: skip


def warmup_of(method: Method, settings: Settings) -> int:
    """Sweeps that each chain discards."""
    return 0 if method.independent else settings.sweeps_to_discard


def run_chains(
    task: Task,
    chains: list[Chain],
    sink: Sink,
    threads: int,
    progress: bool,
    watch: Callable[[], bool] | None = None,
) -> bool:
    """Advance all chains in threads; returns whether Ctrl-C, or `watch`, ended it.

    Chains of one thread take turns, so that an interrupted run has them all equally long.
    """
    stop = Event()

    def take_turns(mine: list[Chain]) -> None:
        while not stop.is_set() and any(chain.unfinished for chain in mine):
            for chain in mine:
                if chain.unfinished and not stop.is_set():
                    advance(chain, task, sink)

    def left() -> int:
        return sum(chain.to_warm + chain.to_draw for chain in chains)

    total = left()
    if threads == 1 and watch is None and not progress and current_thread() is not main_thread():
        take_turns(chains)  # Ctrl-C reaches the main thread alone: nobody has to wait for one here
        return False
    pool = ThreadPoolExecutor(threads)
    with ctrl_c_noted() as ctrl_c, pool, ProgressBar(total, progress) as bar:
        futures = [pool.submit(take_turns, chains[k::threads]) for k in range(threads)]
        try:
            pending = True
            while pending:
                pending = bool(wait(futures, timeout=0.1).not_done)
                bar.update(total - left())
                # One thread that failed is enough: the others have no use any more.
                failed = any(f.done() and f.exception() is not None for f in futures)
                if ctrl_c.seen or failed or (watch is not None and watch()):
                    stop.set()
        except KeyboardInterrupt:  # where it could not be noted
            stop.set()
            wait(futures)
    if ctrl_c.seen:  # it may have come with the last draw
        stop.set()
    for future in futures:
        future.result()  # an error in a thread is an error here
    return stop.is_set()


def advance(chain: Chain, task: Task, sink: Sink) -> None:
    """Make one chunk of the chain's next sweeps: discarded ones first, then draws."""
    if chain.to_warm:
        size = min(task.chunk, chain.to_warm)
        for q, part in enumerate(task.method.parts):
            if not part.kernel.independent:
                adapt = task.tunes and part.kernel.first_tuning is not None
                _sweep(chain, part, q, size, adapt, np.empty(size))
        chain.to_warm -= size
        sink.warmed(chain)
    else:
        size = min(task.chunk, chain.to_draw)
        _draw(chain, task, sink.room(chain, size), size)
        chain.done += size
        chain.to_draw -= size
        sink.filled(chain, size)


def _draw(chain: Chain, task: Task, room: Room, size: int) -> None:
    """Make draws, of all sweeps every `thin`-th."""
    from luce.kernels.dirichlet_tree import draw_splits

    parts, splits, every = (
        task.method.parts,
        task.method.splits,
        slice(task.thin - 1, None, task.thin),
    )
    pieces = []
    for q, part in enumerate(parts):
        statistics = np.empty(size * task.thin)
        swept = _sweep(chain, part, q, size * task.thin, False, statistics)
        pieces.append(swept if task.thin == 1 else np.ascontiguousarray(swept[every]))
        room.statistics[:, q] = statistics[every]
    wide = any(part.problem.wide for part in parts)
    logs = room.log_probabilities
    if splits is None:
        room.probabilities[:] = np.exp(pieces[0]) if wide else pieces[0]
        if logs.size:
            logs[:] = pieces[0] if wide else np.log(pieces[0])
        return
    for q, part in enumerate(parts):
        if wide and not part.problem.wide:
            pieces[q] = np.log(pieces[q])
    shares = pieces[0] if len(pieces) == 1 else np.hstack([np.empty((size, 0)), *pieces])
    draw_splits(chain.splitter, splits, shares, wide, room.probabilities, logs)


def _sweep(
    chain: Chain, part: Part, q: int, size: int, adapt: bool, stat: FloatArray
) -> FloatArray:
    """Advance part q of a chain; returns its states, one a row, until it is advanced again."""
    if q not in chain.buffers or len(chain.buffers[q]) < size:
        chain.buffers[q] = np.empty((size, len(part.problem.shape)))
    out = chain.buffers[q][:size]
    part.kernel.advance(
        chain.generators[q], part.problem, chain.states[q], chain.tunings[q], adapt, out, stat,
        chain.spaces[q],
    )  # fmt: skip
    return out
