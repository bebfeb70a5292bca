"""Independent replicates in blocks, each replicate with a seed of its own.

A replicate's seed depends on its number alone, so that results are the same for any number of
threads or workers, and a block that was lost with its worker is made again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from luce._types import FloatArray
from luce.sampling.chains import Chain, Rows, Sink, Snapshot, Watch, run_chains

# Replicates that may run at the same time, on so many processors.
MOST_AT_ONCE = 10**6

# Replicates of a block: enough that a task is worth sending to a worker.
BLOCK = 25


class Replicated(Protocol):
    """An experiment that is repeated; it is pickled where workers of a cluster repeat it."""

    @property
    def replicates(self) -> int:
        """Number of repetitions."""

    def once(self, number: int) -> FloatArray:
        """Make one of them."""


@dataclass
class Block:
    """Consecutive replicates, as a chain whose steps they are."""

    experiment: Replicated
    number: int
    done: int = 0
    found: list[FloatArray] = field(default_factory=list)

    @property
    def expected(self) -> int:
        """Number of replicates."""
        return min(BLOCK, self.experiment.replicates - self.number * BLOCK)

    @property
    def steps(self) -> int:
        """Replicates made so far."""
        return self.done

    @property
    def finished(self) -> bool:
        """Are all replicates made?"""
        return self.done == self.expected

    def advance(self, sink: Sink) -> None:
        """Make one replicate."""
        self.found.append(self.experiment.once(self.number * BLOCK + self.done))
        self.done += 1

    def snapshot(self) -> Snapshot:
        """Return what was found so far."""
        return {"found": np.array(self.found)}

    def restore(self, arrays: Snapshot) -> None:
        """Continue after what was found already."""
        self.found = list(arrays["found"])
        self.done = len(self.found)


class _Nowhere:
    """A sink of blocks, which keep what they find themselves."""

    def rows(self, chain: Chain, size: int) -> Rows:
        """Return no rows."""
        return {}

    def filled(self, chain: Chain, size: int) -> None:
        """Take nothing."""

    def warmed(self, chain: Chain) -> None:
        """Take nothing."""


def number_of_blocks(experiment: Replicated) -> int:
    """Count the blocks of an experiment."""
    return -(-experiment.replicates // BLOCK)


def repeat(
    experiment: Replicated,
    numbers: Sequence[int] | None = None,
    threads: int = 1,
    progress: bool = False,
    watch: Watch | None = None,
) -> FloatArray:
    """Make all replicates, or those of some blocks, in threads of this process; a row each.

    Ctrl-C ends them.
    """
    wanted = range(number_of_blocks(experiment)) if numbers is None else numbers
    blocks: list[Chain] = [Block(experiment, number) for number in wanted]
    if run_chains(blocks, _Nowhere(), threads, progress, watch):
        raise KeyboardInterrupt
    return np.concatenate([block.snapshot()["found"] for block in blocks])
