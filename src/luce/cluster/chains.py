"""Chains as tasks of a cluster, with the same draws as in this process."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from luce._types import FloatArray
from luce.cluster.tasks import Reporter, map_tasks
from luce.runs.disk import ChainEnd
from luce.runs.stream import Elsewhere, Stream
from luce.sampling.chains import Chain, Snapshot, run_chains
from luce.sampling.memory import Memory
from luce.sampling.plan import Plan

if TYPE_CHECKING:
    from distributed import Client


def draw_on(client: Client, plan: Plan) -> Memory:
    """Draw each chain of a plan on a worker, and gather the draws in memory."""
    began = time.perf_counter()
    sink = Memory(plan)
    found = _on_workers(client, _one_chain, plan, plan)
    for number, (arrays, end) in enumerate(found):
        for path, values in arrays.items():
            sink.arrays[path][number] = values
        sink.ends.append(end)
    sink.seconds = time.perf_counter() - began
    return sink


def stream_on(client: Client) -> Elsewhere:
    """Return a function that draws the chains of a stream on workers that see its folder."""

    def elsewhere(stream: Stream) -> list[ChainEnd]:
        return _on_workers(client, _one_stream, (stream.plan, stream.folder), stream.plan)

    return elsewhere


def _on_workers(client: Client, task: Callable[..., Any], shared: object, plan: Plan) -> list[Any]:
    """Run a task for each chain of a plan on workers."""
    chains, settings = range(plan.settings.chains), plan.settings
    total = len(chains) * (settings.draws + plan.warmup)
    return map_tasks(client, task, shared, chains, total=total, progress=settings.progress)


class ReportingWatch:
    """Reports the steps of a chain to the driver, and stops the chain on the driver's request."""

    def __init__(self, name: str, number: int) -> None:
        self._report = Reporter(name, number)

    def __call__(self, chains: Sequence[Chain]) -> bool:
        """Report; return whether to stop."""
        return self._report(sum(chain.steps for chain in chains))


def _one_chain(plan: Plan, number: int, name: str) -> tuple[dict[str, FloatArray], Snapshot]:
    """Draw one chain, on a worker."""
    chains, sink = plan.new_chains([number]), Memory(plan, [number])
    if run_chains(chains, sink, watch=ReportingWatch(name, number)):
        raise InterruptedError("the run was stopped")
    return {path: values[0] for path, values in sink.arrays.items()}, chains[0].snapshot()


def _one_stream(shared: tuple[Plan, Path], number: int, name: str) -> ChainEnd:
    """Draw one chain to the disk, on a worker."""
    plan, folder = shared
    try:
        return Stream(plan, folder).draw([number], ReportingWatch(name, number))[0]
    except KeyboardInterrupt:
        raise InterruptedError("the run was stopped") from None
