"""Mapping a function over numbers on the workers of a cluster, with progress and Ctrl-C."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from luce.sampling.progress import ProgressBar, ctrl_c_noted

if TYPE_CHECKING:
    from distributed import Client

# Seconds between two polls of the tasks by the driver, and between two reports of a task.
_LOOK_SECONDS, _REPORT_SECONDS = 0.1, 0.25


class Reporter:
    """Reports a task's progress to the driver, and tells the task to stop; used on a worker."""

    def __init__(self, name: str, number: int, seconds: float = _REPORT_SECONDS) -> None:
        from distributed import Event, Queue, get_client

        client = get_client()
        self._number, self._seconds, self._last = number, seconds, 0.0
        self._told, self._stop = Queue(name, client=client), Event(name, client=client)

    def __call__(self, done: int) -> bool:
        """Report steps that are done, at most once in `seconds`; return whether to stop."""
        if time.monotonic() - self._last < self._seconds:
            return False
        self._last = time.monotonic()
        self._told.put((self._number, done))
        return bool(self._stop.is_set())


def map_tasks(
    client: Client,
    function: Callable[..., Any],
    shared: object,
    numbers: Sequence[int],
    *,
    total: int,
    progress: bool,
) -> list[Any]:
    """Call ``function(shared, number, reporter_name)`` on workers for each number, in order.

    `shared` is sent once.  Ctrl-C, or an error of one task, stops all tasks that call their
    `Reporter`, and those that have not begun.

    Parameters
    ----------
    total
        Steps of all tasks together, for the bar.
    progress
        Show the bar?
    """
    from distributed import Event, Queue

    name = f"luce-{uuid.uuid4().hex}"
    told, stop = Queue(name, client=client), Event(name, client=client)
    # Sent as the result of a task: the scheduler makes it again if its workers are lost.
    sent = client.submit(_same, shared, pure=False)
    futures = [
        client.submit(_unless_stopped, function, sent, number, name, pure=False)
        for number in numbers
    ]
    done, failed = dict.fromkeys(numbers, 0), None
    try:
        with ctrl_c_noted() as ctrl_c, ProgressBar(total, progress) as bar:
            while not all(future.done() for future in futures):
                time.sleep(_LOOK_SECONDS)
                done.update(told.get(batch=True))
                bar.update(sum(done.values()))
                failed = failed or next((f for f in futures if f.status == "error"), None)
                if ctrl_c.seen or failed is not None:  # the others' work has no use any more
                    stop.set()
            if not (ctrl_c.seen or failed is not None):
                bar.update(total)
        if ctrl_c.seen:
            raise KeyboardInterrupt
        if failed is not None:
            failed.result()  # raises its error; the others were only stopped
        found: list[Any] = client.gather(futures)
        return found
    except KeyboardInterrupt:
        stop.set()
        while not all(future.done() for future in futures):
            time.sleep(_LOOK_SECONDS)
        raise
    finally:
        client.cancel(futures)


def _unless_stopped(function: Callable[..., Any], shared: object, number: int, name: str) -> Any:
    """Call the function, on a worker, unless the driver has stopped all tasks.

    A stopped task returns nothing: Dask would log an error for each, and the driver knows.
    """
    from distributed import Event, get_client

    stop = Event(name, client=get_client())
    if stop.is_set():
        return None
    try:
        return function(shared, number, name)
    except InterruptedError:
        if not stop.is_set():
            raise
        return None


def _same(shared: object) -> object:
    return shared
