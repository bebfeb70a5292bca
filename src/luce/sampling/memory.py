"""Memory as a sink: arrays of draws, and the check that they fit."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from luce._types import FloatArray, IntArray, NumberArray
from luce.counts.labels import plural
from luce.errors import MethodError
from luce.model.shapes import ModuleShapes
from luce.sampling import convergence
from luce.sampling.chains import (
    Chain,
    FixedLengthChain,
    Output,
    Rows,
    Snapshot,
    run_chains,
)
from luce.sampling.convergence import Verdict, Worst
from luce.sampling.plan import CorePlan, Plan, SweepPlan
from luce.sampling.settings import Settings

# Draws that `until` makes at most, as a multiple of the draws asked for.
MOST_EXTENDED = 16


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
        self.draws = plan.settings.draws
        self.arrays = {o.path: self._empty(o) for o in plan.outputs}
        self.ends: list[Snapshot] = []
        self.seconds = 0.0
        self.verdict: Verdict | None = None
        self.interrupted = False
        self._spare: dict[tuple[str, int], NumberArray] = {}

    def _empty(self, output: Output) -> NumberArray:
        """Make an array for all draws of an output that are stored."""
        size = (len(self._place), self.draws // output.every)
        return np.empty((*size, *output.stored_shape), output.dtype)

    def rows(self, chain: Chain, size: int) -> Rows:
        """Return the next rows of the arrays, or spare ones where not all entries are stored."""
        place, found = self._place[chain.number], {}
        for output in self.plan.outputs:
            stored = self.arrays[output.path][place, output.rows(chain.done, chain.done + size)]
            found[output.path] = (
                stored if output.kept is None else self._room(output, place, len(stored))
            )
        return found

    def _room(self, output: Output, place: int, size: int) -> NumberArray:
        key = output.path, place
        if key not in self._spare or len(self._spare[key]) < size:
            self._spare[key] = np.empty((size, *output.shape), output.dtype)
        return self._spare[key][:size]

    def filled(self, chain: Chain, size: int) -> None:
        """Copy the entries that are stored out of the spare rows."""
        place = self._place[chain.number]
        for output in self.plan.outputs:
            if output.kept is not None:
                stored = self.arrays[output.path][place, output.rows(chain.done - size, chain.done)]
                stored[:] = output.stored(self._spare[output.path, place][: len(stored)])

    def warmed(self, chain: Chain) -> None:
        """Store nothing of a warm-up."""

    def read(self, path: str, chain: int, rows: slice, entries: slice | IntArray) -> NumberArray:
        """Read some entries of some stored draws of a chain, shape (draw, entry)."""
        values = self.arrays[path][chain, rows]
        return values.reshape(len(values), int(np.prod(values.shape[1:])))[:, entries]

    def extend(self, draws: int) -> None:
        """Make room for `draws` draws of each chain, keeping those made so far."""
        self.draws = draws
        for output in self.plan.outputs:
            made, self.arrays[output.path] = self.arrays[output.path], self._empty(output)
            self.arrays[output.path][:, : made.shape[1]] = made

    def shorten(self, draws: int) -> None:
        """Keep only the first `draws` draws of each chain."""
        self.draws = draws
        for output in self.plan.outputs:
            self.arrays[output.path] = self.arrays[output.path][:, output.rows(0, draws)]


def draw_in_memory(plan: Plan) -> Memory:
    """Draw the chains of a plan in threads of this process; Ctrl-C keeps the draws made so far.

    With `until`, the draws are judged when as many were made as were asked for, and again after
    each doubling, so that draws depend on the seed alone.
    """
    began = time.perf_counter()
    sink, chains = Memory(plan), plan.new_chains()
    settings = plan.settings
    while True:
        sink.interrupted = run_chains(chains, sink, settings.n_threads(), settings.progress)
        try:
            if sink.interrupted or not _wants_more(plan, sink):
                break
        except KeyboardInterrupt:  # while draws are judged: they are kept all the same
            sink.interrupted = True
            break
        sink.extend(2 * sink.draws)
        for chain in chains:
            assert isinstance(chain, FixedLengthChain)
            chain.extend(sink.draws)
    if sink.interrupted:
        sink.verdict = None  # it was passed on fewer draws
        if not all(chain.done for chain in chains):
            raise KeyboardInterrupt
        sink.shorten(min(chain.done for chain in chains))
    sink.ends = [chain.snapshot() for chain in chains]
    sink.seconds = time.perf_counter() - began
    return sink


def _wants_more(plan: Plan, sink: Memory) -> bool:
    """Judge the draws so far by `until`; return whether to double them."""
    until = plan.settings.until
    if until is None:
        return False
    wanted = convergence.ENOUGH_ESS if isinstance(until, str) else until
    sink.verdict = verdict = convergence.judge(plan, sink, wanted)
    few = plan.independent and until != "converged" and verdict.kind != "good"
    if verdict.problem is None and not few:
        return False
    memory, copies = _memory(), 3  # the old draws, and twice as many
    fits = memory is None or copies * _bytes(plan, plan.settings.chains, sink.draws) <= memory
    if fits and 2 * sink.draws <= MOST_EXTENDED * plan.settings.draws:
        return True
    unmet = f"{_unmet(plan.settings, sink)}{'' if fits else ' More do not fit into memory.'}"
    sink.verdict = replace(convergence.judge(plan, sink), unmet=unmet)
    return False


def _unmet(settings: Settings, sink: Memory) -> str:
    """Say that `until` was not met, and by which entry."""
    until, worst = settings.until, sink.verdict.smallest_ess if sink.verdict else Worst()
    given = repr(until) if isinstance(until, str) else f"{until:g}"
    smallest = f": the smallest effective sample size is {worst.value:,.0f}, of {worst.entry}"
    times = plural(sink.draws // settings.draws, "time", "times")
    return (
        f"until={given} was not met after {sink.draws:,} draws of each chain, {times} those "
        f"asked for{smallest if worst.entry else ''}."
    )


def draw_core(shapes: ModuleShapes, core: int, settings: Settings) -> FloatArray:
    """Draw log shares of the cells of one core alone, shape (chain, draw, cell)."""
    sink = draw_in_memory(CorePlan(shapes, core, settings))
    return sink.arrays["posterior/log_probabilities"]


def _memory() -> int | None:
    """Return the memory of this machine in bytes; None on a system that does not tell."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return None


def _bytes(plan: Plan, chains: int, draws: int) -> int:
    """Count the bytes of all draws."""
    return chains * sum(output.bytes_of(draws) for output in plan.outputs)


def check_thinning(plan: Plan) -> None:
    """Refuse thinning whose sweeps between two draws cannot fit into memory."""
    memory, settings = _memory(), plan.settings
    if memory is None or not isinstance(plan, SweepPlan):
        return
    width = max((len(part.problem.shape) + 1 for part in plan.method.parts), default=0)
    each = 8 * width * settings.n_threads()  # bytes of a sweep in all threads
    if each * settings.thin > memory:
        raise MethodError(
            f"thin = {settings.thin:,}: the sweeps between two draws need "
            f"{each * settings.thin / 1e9:,.0f} GB, and this machine has {memory / 1e9:.0f} GB; "
            f"at most {memory // each:,} is possible."
        )


def check_memory(plan: Plan, chains: int | None = None) -> None:
    """Refuse draws that cannot fit into memory, before the machine starts swapping."""
    chains = plan.settings.chains if chains is None else chains
    draws = plan.settings.draws
    wanted, memory = _bytes(plan, chains, draws), _memory()
    if memory is not None and wanted > memory:
        large = max(plan.outputs, key=lambda output: output.bytes_of(draws))
        width = int(np.prod(large.stored_shape, dtype=np.int64))
        named = large.dims == ("category",)
        logs = any(output.name == "log_probabilities" for output in plan.outputs)
        raise MethodError(
            f"{chains} chains of {draws:,} draws of {width:,} "
            f"{'categories' if named else f'numbers ({large.name})'} need {wanted / 1e9:.0f} GB, "
            f"and this machine has {memory / 1e9:.0f} GB. Write them to a disk with to='run.zarr', "
            f"{'name those to keep with keep=[...], ' if named else ''}or ask for fewer draws "
            f"or chains{', or log_probabilities=False' if logs else ''}."
        )
