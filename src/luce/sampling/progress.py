"""Progress bars, and Ctrl-C while chains run."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from threading import current_thread, main_thread
from types import TracebackType
from typing import Any

PATIENCE = 2.0  # seconds before a bar appears


class ProgressBar:
    """A bar on standard error that appears once the work has taken two seconds.

    Where the `total` is None the bar shows no percentage of completion.
    """

    def __init__(self, total: int | None, wanted: bool) -> None:
        self._total = total
        self._steps = 0
        self._wanted = wanted
        self._began = time.monotonic()
        self._bar: Any = None

    def __enter__(self) -> ProgressBar:
        return self

    def step(self, description: str) -> None:
        """Show the description of the next of `total` steps."""
        self.update(self._steps, description)
        self._steps += 1

    def update(self, done: int, description: str = "sampling") -> None:
        """Show that `done` of the total has been done."""
        if not self._wanted or time.monotonic() - self._began < PATIENCE:
            return
        if self._bar is None:
            from rich.console import Console
            from rich.progress import BarColumn, Progress, TimeRemainingColumn

            self._bar = Progress(
                "{task.description}",
                BarColumn(),
                "{task.percentage:>3.0f}%",
                TimeRemainingColumn(),
                console=Console(stderr=True),
            )
            self._bar.start()
            self._bar.add_task(description, total=self._total)
        self._bar.update(0, completed=done, description=description)

    @property
    def completed(self) -> float:
        """Steps or units that the bar shows as done; nan where no bar is shown."""
        return float("nan") if self._bar is None else float(self._bar.tasks[0].completed)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._bar is not None:
            if kind is None and self._steps:  # the last step that was shown is done too
                self._bar.update(0, completed=self._steps)
            self._bar.stop()


class CtrlC:
    """Flag that says whether Ctrl-C was pressed."""

    seen = False


@contextmanager
def ctrl_c_noted() -> Iterator[CtrlC]:
    """Note Ctrl-C instead of raising KeyboardInterrupt, which could leave a lock held for ever.

    Outside of the main thread, and where Ctrl-C has a handler of its own, nothing changes.
    """
    noted, usual = CtrlC(), signal.getsignal(signal.SIGINT)
    if current_thread() is not main_thread() or usual is not signal.default_int_handler:
        yield noted
        return

    def note(*_: object) -> None:
        noted.seen = True

    signal.signal(signal.SIGINT, note)
    try:
        yield noted
    finally:
        signal.signal(signal.SIGINT, usual)
