"""The loop that advances chains, and the interfaces of chains, sinks and arrays of draws.

A chain owns its generators and its state, so its draws depend on the seed and on the chain's number
alone: not on threads, on other chains, or on where the draws go.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass
from threading import Event, current_thread, main_thread
from typing import Any, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from luce._types import IntArray, NumberArray
from luce.sampling.progress import ProgressBar, ctrl_c_noted

# Rows of draws that a chain fills, by the path of the array they belong to.
Rows: TypeAlias = Mapping[str, NumberArray]

# Arrays from which a chain can continue: everything that its next step depends on.
Snapshot: TypeAlias = dict[str, Any]


@dataclass(frozen=True, eq=False)
class Output:
    """An array that chains fill, draw by draw.

    Parameters
    ----------
    path
        Group and name in the run, as ``posterior/probabilities``.
    dims
        Names of its dimensions, chain and draw left out.
    shape
        Size of one draw along each of these dimensions, as a chain writes it.
    kept
        Entries along the last dimension that are stored; all where this is None.
    attributes
        Attributes of the variable in the run.
    dtype
        Type of its numbers.
    every
        Draw d, counted from 0, is stored where d + 1 is a multiple of this number, which all
        outputs of a group share.
    """

    path: str
    dims: tuple[str, ...]
    shape: tuple[int, ...]
    kept: IntArray | None = None
    attributes: Mapping[str, Any] | None = None
    dtype: npt.DTypeLike = np.float64
    every: int = 1

    @property
    def group(self) -> str:
        """Group in the run."""
        return self.path.partition("/")[0]

    @property
    def name(self) -> str:
        """Name within its group."""
        return self.path.partition("/")[2]

    @property
    def stored_shape(self) -> tuple[int, ...]:
        """Size of one draw along each dimension, as it is stored."""
        return self.shape if self.kept is None else (*self.shape[:-1], len(self.kept))

    def stored(self, rows: NumberArray) -> NumberArray:
        """Return the part of some draws that is stored."""
        return rows if self.kept is None else rows[..., self.kept]

    def rows(self, start: int, stop: int) -> slice:
        """Find the rows, among all stored draws, of the draws from `start` up to `stop`."""
        return slice(start // self.every, stop // self.every)

    def bytes_of(self, draws: int) -> int:
        """Count the bytes that are stored of some draws of one chain."""
        entries = int(np.prod(self.stored_shape, dtype=np.int64))
        return draws // self.every * entries * np.dtype(self.dtype).itemsize


class Chain(Protocol):
    """A sampler that can be advanced, stopped, stored and resumed.

    Attributes
    ----------
    number
        Its number within the run.
    done
        Draws that it has handed to the sink.
    """

    number: int
    done: int

    @property
    def steps(self) -> int:
        """Steps made so far, warm-up and draws together."""

    @property
    def expected(self) -> int | None:
        """Steps of the whole chain; None where the number is not known in advance."""

    @property
    def finished(self) -> bool:
        """Are all steps made?"""

    def advance(self, sink: Sink) -> None:
        """Make one chunk of steps, and hand its draws to the sink."""

    def snapshot(self) -> Snapshot:
        """Return the arrays that the next step depends on."""

    def restore(self, arrays: Snapshot) -> None:
        """Continue from a snapshot; raise ValueError where it cannot be one of this chain."""


@dataclass(kw_only=True)
class FixedLengthChain(ABC):
    """A chain that discards `warmup` steps and then makes `draws` draws, a chunk at a time."""

    number: int
    warmup: int
    draws: int
    warmed: int = 0
    done: int = 0

    @property
    @abstractmethod
    def chunk(self) -> int:
        """Steps to make at once."""

    @abstractmethod
    def warm_up(self, size: int) -> None:
        """Make steps that are discarded."""

    @abstractmethod
    def draw(self, rows: Rows, size: int) -> None:
        """Make draws, and write them into the rows; `done` counts those made before."""

    @abstractmethod
    def state(self) -> Snapshot:
        """Return the arrays that the next step depends on: the chain's own, not copies."""

    @property
    def steps(self) -> int:
        """Warm-up steps and draws made so far."""
        return self.warmed + self.done

    @property
    def expected(self) -> int:
        """Warm-up steps and draws of the whole chain."""
        return self.warmup + self.draws

    @property
    def finished(self) -> bool:
        """Are all draws made?"""
        return self.steps >= self.expected

    def extend(self, draws: int) -> None:
        """Go on until `draws` draws are made in all."""
        self.draws = draws

    def advance(self, sink: Sink) -> None:
        """Make one chunk of steps: warm-up steps until these are done, then draws."""
        if self.warmed < self.warmup:
            size = min(self.chunk, self.warmup - self.warmed)
            self.warm_up(size)
            self.warmed += size
            sink.warmed(self)
        else:
            size = min(self.chunk, self.draws - self.done)
            self.draw(sink.rows(self, size), size)
            self.done += size
            sink.filled(self, size)

    def snapshot(self) -> Snapshot:
        """Return the arrays that the next step depends on, and the numbers of steps made."""
        return {"done": np.int64(self.done), "warmed": np.int64(self.warmed), **self.state()}

    def restore(self, arrays: Snapshot) -> None:
        """Continue from a snapshot; raise ValueError where it cannot be one of this chain."""
        done, warmed = int(arrays["done"]), int(arrays["warmed"])
        if not (0 <= done <= self.draws and 0 <= warmed <= self.warmup):
            raise ValueError("the snapshot is further on than the chain is to go")
        self.done, self.warmed = done, warmed
        for name, array in self.state().items():
            array[...] = arrays[name]


class Sink(Protocol):
    """A destination of draws: memory, or a disk."""

    def rows(self, chain: Chain, size: int) -> Rows:
        """Return arrays into which a chain writes its next `size` draws.

        Of an output of which only some draws are stored, the array has the rows of these alone:
        ``done // every`` to ``(done + size) // every``, perhaps none.
        """

    def filled(self, chain: Chain, size: int) -> None:
        """Take the last `size` draws, written into `rows`; `chain.done` counts them already."""

    def warmed(self, chain: Chain) -> None:
        """Note that a chain has advanced in its warm-up."""


# Function that is called with the chains about ten times a second and once when all are finished.
# It may return True to stop the run, or extend chains.
Watch: TypeAlias = Callable[[Sequence[Chain]], bool]


def run_chains(
    chains: Sequence[Chain],
    sink: Sink,
    threads: int = 1,
    progress: bool = False,
    watch: Watch | None = None,
) -> bool:
    """Advance all chains in threads until they are finished; return whether they were stopped.

    Ctrl-C stops them, and so does `watch`.  The chains of one thread take turns, so the chains of a
    stopped run are about equally long.
    """
    if threads == 1 and watch is None and not progress and current_thread() is not main_thread():
        # Ctrl-C reaches the main thread alone, so this thread need not watch for it.
        _take_turns(chains, sink, Event())
        return False
    while True:
        if _run_in_threads(chains, sink, threads, progress, watch):
            return True
        if watch is not None and watch(chains):
            return True
        if all(chain.finished for chain in chains):
            return False


def _take_turns(mine: Sequence[Chain], sink: Sink, stop: Event) -> None:
    while not stop.is_set() and not all(chain.finished for chain in mine):
        for chain in mine:
            if not chain.finished and not stop.is_set():
                chain.advance(sink)


def _run_in_threads(
    chains: Sequence[Chain], sink: Sink, threads: int, progress: bool, watch: Watch | None
) -> bool:
    stop, before = Event(), sum(chain.steps for chain in chains)
    expected = [chain.expected for chain in chains]
    total = None if None in expected else sum(e for e in expected if e is not None) - before
    pool = ThreadPoolExecutor(threads)
    with ctrl_c_noted() as ctrl_c, pool, ProgressBar(total, progress) as bar:
        futures = [pool.submit(_take_turns, chains[k::threads], sink, stop) for k in range(threads)]
        try:
            pending = True
            while pending:
                pending = bool(wait(futures, timeout=0.1).not_done)
                bar.update(sum(chain.steps for chain in chains) - before)
                # An error in one thread stops all others.
                failed = any(f.done() and f.exception() is not None for f in futures)
                if ctrl_c.seen or failed or (pending and watch is not None and watch(chains)):
                    stop.set()
        except KeyboardInterrupt:  # where another handler raises it
            stop.set()
            wait(futures)
        except BaseException:  # an error of the watch: the chains have no use any more
            stop.set()
            raise
    if ctrl_c.seen:  # Ctrl-C may have come with the last draw
        stop.set()
    for future in futures:
        future.result()  # an error in a thread is an error here
    return stop.is_set()
