"""Progress bars, and Ctrl-C while chains run."""

from __future__ import annotations

import math
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from threading import current_thread, main_thread
from types import TracebackType
from typing import Any, Protocol

from luce.page.words import escaped

PATIENCE = 2.0  # seconds before a bar appears
_REDRAWN = 0.2  # seconds, at least, between two drawings of a bar in a notebook


class ProgressBar:
    """A bar that appears once the work has taken two seconds.

    It is shown on standard error or, in a notebook, below the cell.  Where the `total` is None the
    bar shows no percentage of completion.
    """

    def __init__(self, total: int | None, wanted: bool) -> None:
        self._total = total
        self._steps = 0
        self._wanted = wanted
        self._began = time.monotonic()
        self._bar: _Bar | None = None

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
            shape = _NotebookBar if _in_notebook() else _TerminalBar
            self._bar = shape(self._total)
        self._bar.show(done, description)

    @property
    def completed(self) -> float:
        """Steps or units that the bar shows as done; nan where no bar is shown."""
        return float("nan") if self._bar is None else float(self._bar.done)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._bar is not None:
            if kind is None and self._steps:  # the last step that was shown is done too
                self._bar.show(self._steps)
            self._bar.close()


class _Bar(Protocol):
    """A bar on a screen; it is there once it was made."""

    done: int

    def show(self, done: int, description: str | None = None) -> None:
        """Show how much is done, of what; the description stays where it is None."""

    def close(self) -> None:
        """Leave the bar as it is."""


class _TerminalBar:
    """A bar on standard error."""

    def __init__(self, total: int | None) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TimeRemainingColumn

        self.done = 0
        self._bar = Progress(
            "{task.description}",
            BarColumn(),
            "{task.percentage:>3.0f}%",
            TimeRemainingColumn(),
            console=Console(stderr=True),
        )
        self._bar.start()
        self._task = self._bar.add_task("", total=total)

    def show(self, done: int, description: str | None = None) -> None:
        self.done = done
        if description is None:
            self._bar.update(self._task, completed=done)
        else:
            self._bar.update(self._task, completed=done, description=description)

    def close(self) -> None:
        self._bar.stop()


class _NotebookBar:
    """A bar below the cell of a notebook, drawn over itself; rich would need ipywidgets there."""

    def __init__(self, total: int | None) -> None:
        self.done = 0
        self._total = total
        self._began = time.monotonic() - PATIENCE
        self._description = ""
        self._drawn = -math.inf
        self._handle: Any = None

    def show(self, done: int, description: str | None = None) -> None:
        self.done = done
        self._description = self._description if description is None else description
        if time.monotonic() - self._drawn >= _REDRAWN:
            self._draw()

    def close(self) -> None:
        self._draw()

    def _draw(self) -> None:
        from IPython.display import display

        self._drawn = time.monotonic()
        content = {"text/plain": self._words(), "text/html": self._html()}
        if self._handle is None:
            self._handle = display(content, raw=True, display_id=True)
        else:
            self._handle.update(content, raw=True)

    def _words(self) -> str:
        """Say what is being done, which part of it is, and for how long it has been."""
        seconds = f"{time.monotonic() - self._began:.0f} s"
        share = "" if not self._total else f", {100 * min(self.done / self._total, 1.0):.0f} %"
        return f"{self._description}{share}, {seconds}"

    def _html(self) -> str:
        words = escaped(self._words())
        value = "" if not self._total else f' max="{self._total}" value="{self.done}"'
        return f"<label><progress{value}></progress> {words}</label>"


def _in_notebook() -> bool:
    """Tell whether a Jupyter kernel runs this, which shows what a cell displays."""
    shell = sys.modules.get("IPython")
    running = None if shell is None else shell.get_ipython()
    return getattr(running, "kernel", None) is not None


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
