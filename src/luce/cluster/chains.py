"""Chains spread over workers: each is a task of its own, and draws what it would draw here."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np

from luce._types import FloatArray
from luce.model.model import Model
from luce.runs.disk import ChainEnd
from luce.runs.stream import Stream, new_stream
from luce.sampling.chains import Chain, Task, new_chains, run_chains, warmup_of
from luce.sampling.memory import Draws, empty_draws, wants_logs
from luce.sampling.methods import choose_method
from luce.sampling.progress import ProgressBar
from luce.sampling.settings import Settings

if TYPE_CHECKING:
    from distributed import Client

_REPORT_SECONDS = 1.0


def draw_on(client: Client, model: Model, settings: Settings) -> Draws:
    """Draw the probabilities of all categories, each chain on a worker."""
    began = time.perf_counter()
    settings = settings.reseeded(settings.seed_sequence())
    method = choose_method(model, settings)
    n, kept = model.counts.n_categories, settings.kept_numbers(model.counts)
    logs = wants_logs(model.shapes, settings)
    result = empty_draws(method, n, kept, logs, settings, settings.chains)
    tasks = _Tasks(client, settings, warmup_of(method, settings))
    found = tasks.run(_one_chain, model, settings, logs)
    for number, (p, log_p, statistics, log_tuning) in enumerate(found):
        result.probabilities[number], result.statistics[number] = p, statistics
        result.log_tuning[number] = log_tuning
        if result.log_probabilities is not None:
            result.log_probabilities[number] = log_p
    result.seconds = time.perf_counter() - began
    return result


def stream_on(client: Client, model: Model) -> Callable[[Stream], list[ChainEnd]]:
    """Give what draws the chains of a stream on workers that see its folder."""

    def elsewhere(stream: Stream) -> list[ChainEnd]:
        tasks = _Tasks(client, stream.settings, stream.origin.warmup)
        return tasks.run(_one_stream, model, stream.settings, stream.folder, stream.quantiles)

    return elsewhere


class _Tasks:
    """One task for each chain, and the bar that shows how far they are."""

    def __init__(self, client: Client, settings: Settings, warmup: int) -> None:
        from distributed import Event, Queue

        self._client, self._settings = client, settings
        self._total = settings.chains * (settings.draws + warmup)
        self._name = f"luce-{uuid.uuid4().hex}"
        self._told, self._stop = Queue(self._name, client=client), Event(self._name, client=client)

    def run(self, task: Callable[..., Any], model: Model, *arguments: Any) -> list[Any]:
        """Run `task` for all chains; Ctrl-C stops them all."""
        from distributed import wait

        client, chains = self._client, range(self._settings.chains)
        # Once for all, the data being the large part, and by a task: if it is lost with the
        # workers that have it, the scheduler can have it made again.
        sent = client.submit(_same, model, pure=False)
        futures = [
            client.submit(task, sent, *arguments, number, self._name, pure=False)
            for number in chains
        ]
        left = dict.fromkeys(chains, self._total // len(chains))
        try:
            with ProgressBar(self._total, self._settings.progress) as bar:
                while any(not future.done() for future in futures):
                    with suppress(TimeoutError):
                        wait(futures, timeout=0.5)
                    for number, rest in self._told.get(batch=True):
                        left[number] = rest
                    bar.update(self._total - sum(left.values()))
                bar.update(self._total)
            found: list[Any] = client.gather(futures)
            return found
        except KeyboardInterrupt:
            self._stop.set()
            wait(futures)
            raise
        finally:
            client.cancel(futures)


def _same(model: Model) -> Model:
    return model


class _Watch:
    """Tells the driver how far a chain is, and the chain whether to stop."""

    def __init__(self, name: str, number: int) -> None:
        from distributed import Event, Queue, get_client

        client = get_client()
        self._number, self._told = number, Queue(name, client=client)
        self._stop, self._last = Event(name, client=client), 0.0

    def __call__(self, chains: list[Chain]) -> bool:
        if time.monotonic() - self._last < _REPORT_SECONDS:
            return False
        self._last = time.monotonic()
        self._told.put((self._number, chains[0].to_warm + chains[0].to_draw))
        return bool(self._stop.is_set())


def _one_chain(
    model: Model, settings: Settings, logs: bool, number: int, name: str
) -> tuple[FloatArray, FloatArray | None, FloatArray, FloatArray]:
    """Draw one chain, on a worker."""
    method = choose_method(model, settings)
    n, kept = model.counts.n_categories, settings.kept_numbers(model.counts)
    task = Task(method, n, settings.thin, settings.proposal_concentration is None)
    chain = new_chains(task, model.shapes, settings)[number]
    chain.number = 0  # the only one here
    result = empty_draws(method, n, kept, logs, settings, 1)
    watch = _Watch(name, number)
    if run_chains(task, [chain], result, 1, False, lambda: watch([chain])):
        raise InterruptedError("the run was stopped")
    log_p = None if result.log_probabilities is None else result.log_probabilities[0]
    log_tuning = np.array([tuning[2] for tuning in chain.tunings])
    return result.probabilities[0], log_p, result.statistics[0], log_tuning


def _one_stream(
    model: Model,
    settings: Settings,
    folder: Any,
    quantiles: FloatArray | None,
    number: int,
    name: str,
) -> ChainEnd:
    """Draw one chain to the disk, on a worker."""
    stream = new_stream(folder, model, settings.silent(), quantiles)
    try:
        return stream.draw([number], _Watch(name, number))[0]
    except KeyboardInterrupt:
        raise InterruptedError("the run was stopped") from None
