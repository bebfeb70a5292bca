"""Memory as a sink: arrays of draws, and the check that they fit."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence

import numpy as np

from luce._types import FloatArray, IntArray
from luce.errors import MethodError
from luce.model.shapes import ModuleShapes
from luce.sampling.chains import Chain, Output, Rows, Snapshot, run_chains
from luce.sampling.plan import CorePlan, Plan
from luce.sampling.settings import Settings


class Memory:
    """A sink whose arrays have shape (chain, draw, ...), one for each output of a plan.

    Parameters
    ----------
    plan
        Declares the outputs.
    numbers
        Numbers of the chains that are stored here; all of the plan's unless given.
    """

    def __init__(self, plan: Plan, numbers: Sequence[int] | None = None) -> None:
        self.plan = plan
        numbers = range(plan.settings.chains) if numbers is None else numbers
        self._place = {number: place for place, number in enumerate(numbers)}
        check_memory(plan, len(self._place))
        size = (len(self._place), plan.settings.draws)
        self.arrays = {o.path: np.empty((*size, *o.stored_shape)) for o in plan.outputs}
        self.ends: list[Snapshot] = []
        self.seconds = 0.0
        self.interrupted = False
        self._spare: dict[tuple[str, int], FloatArray] = {}

    def rows(self, chain: Chain, size: int) -> Rows:
        """Return the next rows of the arrays, or spare ones where not all entries are stored."""
        place, rows = self._place[chain.number], slice(chain.done, chain.done + size)
        return {
            o.path: self.arrays[o.path][place, rows]
            if o.kept is None
            else self._room(o, place, size)
            for o in self.plan.outputs
        }

    def _room(self, output: Output, place: int, size: int) -> FloatArray:
        key = output.path, place
        if key not in self._spare or len(self._spare[key]) < size:
            self._spare[key] = np.empty((size, *output.shape))
        return self._spare[key][:size]

    def filled(self, chain: Chain, size: int) -> None:
        """Copy the entries that are stored out of the spare rows."""
        place, rows = self._place[chain.number], slice(chain.done - size, chain.done)
        for output in self.plan.outputs:
            if output.kept is not None:
                drawn = self._spare[output.path, place][:size]
                self.arrays[output.path][place, rows] = output.stored(drawn)

    def warmed(self, chain: Chain) -> None:
        """Store nothing of a warm-up."""

    def read(self, path: str, chain: int, rows: slice) -> FloatArray:
        """Read some draws of a chain, shape (draw, entry)."""
        values = self.arrays[path][chain, rows]
        return values.reshape(len(values), -1)

    def columns(self, path: str, numbers: IntArray, every: int) -> FloatArray:
        """Read some entries of every `every`-th draw, shape (chain, draw, entry)."""
        values = self.arrays[path][:, ::every]
        flat = values.reshape(*values.shape[:2], -1)
        return np.asarray(flat[:, :, numbers])

    @property
    def draws(self) -> int:
        """Draws of each chain."""
        return int(next(iter(self.arrays.values())).shape[1])

    def shorten(self, draws: int) -> None:
        """Keep only the first `draws` draws of each chain."""
        self.arrays = {path: values[:, :draws] for path, values in self.arrays.items()}


def draw_in_memory(plan: Plan) -> Memory:
    """Draw the chains of a plan in threads of this process; Ctrl-C keeps the draws made so far."""
    began = time.perf_counter()
    sink, chains = Memory(plan), plan.new_chains()
    settings = plan.settings
    sink.interrupted = run_chains(chains, sink, settings.n_threads(), settings.progress)
    if sink.interrupted:
        if not all(chain.done for chain in chains):
            raise KeyboardInterrupt
        sink.shorten(min(chain.done for chain in chains))
    sink.ends = [chain.snapshot() for chain in chains]
    sink.seconds = time.perf_counter() - began
    return sink


def draw_core(shapes: ModuleShapes, core: int, settings: Settings) -> FloatArray:
    """Draw log shares of the cells of one core alone, shape (chain, draw, cell)."""
    sink = draw_in_memory(CorePlan(shapes, core, settings))
    return sink.arrays["posterior/log_probabilities"]


def check_memory(plan: Plan, chains: int | None = None) -> None:
    """Refuse draws that cannot fit into memory, before the machine starts swapping."""
    chains = plan.settings.chains if chains is None else chains
    draws = plan.settings.draws
    width = max(int(np.prod(o.stored_shape, dtype=np.int64)) for o in plan.outputs)
    large = [o.path for o in plan.outputs if np.prod(o.stored_shape, dtype=np.int64) == width]
    wanted = 8 * chains * draws * width * len(large)
    try:
        memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):  # a system that does not tell its memory
        return
    if wanted > memory:
        logs = any(path.endswith("/log_probabilities") for path in large)
        raise MethodError(
            f"{chains} chains of {draws:,} draws of {width:,} categories need "
            f"{wanted / 1e9:.0f} GB, and this machine has {memory / 1e9:.0f} GB. Write them to a "
            "disk with to='run.zarr', name those to keep with keep=[...], or ask for fewer draws "
            f"or chains{', or log_probabilities=False' if logs else ''}."
        )
