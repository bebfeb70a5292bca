"""Messages about compilation on standard error: what is compiled, and how long it took last time.

On a terminal a message shows the seconds that have passed; elsewhere it is one line.
"""

import hashlib
import multiprocessing
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from numba.core import event

from luce.kernels.code_cache import cache_folder, last_seconds, note_seconds

# Seconds that compilation may take without a word, added up over what was not told.
UNSAID = 0.4

# What users know the modules of kernels as; others go by their own names.
NAMES = {
    "changing_counts": "steps of other samplers",
    "concave_rejection": "the sampler by rejection",
    "coupled": "pairs of coupled chains",
    "curvature": "the curvature of the posterior",
    "densities_at": "densities at draws",
    "dirichlet_tree": "exact draws",
    "from_the_past": "coupling from the past",
    "hamiltonian": "the Hamiltonian sampler",
    "hdp": "the sampler of hierarchical transitions",
    "hidden_counts": "the sampler by hidden counts",
    "metropolis": "the Metropolis sampler",
    "newton": "the search for the mode",
    "problem": "sums over sets",
    "random_concentration": "the sampler with a random concentration",
    "rejection": "the sampler by rejection",
    "running_moments": "running means",
    "semi_markov": "the sampler of time series",
    "shards": "the sampler on shards",
    "single_weighted_set": "the sampler of a single weighted set",
    "star_bound": "the bound of rejection",
    "structure": "the structure of sets",
    "waiting_times": "the sampler by waiting times",
}

# Names of many kernels that are compiled one after the other: told once, for all of them.
TOLD_ONCE = {"the sampler of time series": "up to half a minute, once for each kind of data"}

Told = Callable[[str, float], None]  # called with a name and the seconds of its compilation


def name_of(module: str) -> str:
    """Return what users know a module of kernels as."""
    part = module.removeprefix("luce.kernels.").split(".")[0]
    return NAMES.get(part, part.replace("_", " "))


def key_of(function: str, kinds: object) -> str:
    """Return the name under which the time of a compilation is kept: function, types of data."""
    return f"{function} {hashlib.sha1(repr(kinds).encode()).hexdigest()[:8]}"


class Compilations(event.Listener):
    """Tells of every kernel that numba compiles for Python, and writes down how long it took.

    Kernels compiled on the way, because another one calls them, are part of that one.  Numba
    compiles in one thread at a time.
    """

    def __init__(self) -> None:
        self.listeners: list[Told] = []
        self._depth, self._unsaid, self._last = 0, 0.0, ""
        self._seen: set[str] = set()
        self._told_once: set[str] = set()

    def on_start(self, started: Any) -> None:
        """Begin to tell of a compilation."""
        function = started.data["dispatcher"].py_func
        if not function.__module__.startswith("luce.kernels."):
            return
        self._depth += 1
        if self._depth > 1:
            return
        name = name_of(function.__module__)
        self._name, self._function = name, f"{function.__module__}.{function.__qualname__}"
        self._key = key_of(self._function, started.data["args"])
        expected = last_seconds(self._key)
        self._message = Message(
            self._words(name),
            self._history(expected),
            patience=UNSAID - self._unsaid - (expected or 0.0),
            again=name in self._told_once,
        )

    def _words(self, name: str) -> str:
        """Name a compilation, apart from earlier ones of the same name."""
        if name in TOLD_ONCE:
            return name
        if self._function in self._seen:
            return f"{name} for another kind of data"
        return f"more of {name}" if name == self._last else name

    def _history(self, expected: float | None) -> str:
        """Say how long a compilation took last time; once, the remedy where none is kept."""
        if cache_folder() is None:
            remedy = (
                ", since there is no folder to keep it in; set NUMBA_CACHE_DIR to one that can be "
                "written"
            )
            return "in every process" + ("" if self._last else remedy)
        if self._name in TOLD_ONCE:
            return TOLD_ONCE[self._name]
        if expected is None:
            return "some seconds, once for each kind of data"
        return f"took {expected:.1f} s last time"

    def on_end(self, ended: Any) -> None:
        """Tell that a compilation is done."""
        if not ended.data["dispatcher"].py_func.__module__.startswith("luce.kernels."):
            return
        self._depth -= 1
        if self._depth > 0:
            return
        seconds, said = self._message.end()
        self._unsaid = 0.0 if said else self._unsaid + seconds
        if said:
            self._last = self._name
            if self._name in TOLD_ONCE:
                self._told_once.add(self._name)
        self._seen.add(self._function)
        if tuple(ended.data["args"]) in ended.data["dispatcher"].overloads:  # without an error
            note_seconds(self._key, seconds)
            for told in self.listeners:
                told(self._name, seconds)


class Message:
    """A message about one compilation, shown once it has taken longer than `patience` seconds.

    Parameters
    ----------
    what
        What is compiled.
    history
        How long that took last time.
    patience
        Seconds before the message is shown.
    again
        Was the same told before?  Then nothing is printed, and a terminal shows the seconds alone.
    """

    def __init__(self, what: str, history: str, patience: float, again: bool = False) -> None:
        self._what, self._history, self._again = what, history, again
        self._began, self._shown, self._ended = time.monotonic(), False, False
        self._bar: Any = None
        self._turn = threading.Lock()
        self._timer = threading.Timer(max(patience, 0.0), self._show)
        self._timer.daemon = True
        if patience <= 0:
            self._show()
        else:
            self._timer.start()

    def _show(self) -> None:
        with self._turn:
            if self._ended:
                return
            self._shown = True
            text = f"luce: compiling {self._what} ({self._history})"
            self._bar = clock(text, printed=not self._again)

    def end(self) -> tuple[float, bool]:
        """End the message; return the seconds since it began, and whether it was shown."""
        seconds = time.monotonic() - self._began
        self._timer.cancel()
        with self._turn:
            self._ended = True
            if self._bar is not None:
                self._bar.stop()
                if self._what not in TOLD_ONCE:
                    say(f"luce: compiled {self._what} in {seconds:.1f} s")
        return seconds, self._shown


def say(text: str) -> None:
    """Print a line on standard error, unless it is closed: no run fails for want of a message."""
    if sys.stderr is not None:
        with suppress(OSError, ValueError):
            print(text, file=sys.stderr, flush=True)


def clock(text: str, printed: bool = True) -> Any:
    """Show a text with the seconds that pass, until `stop`.

    Without a terminal the text is `printed`, unless that is not wanted, and None is returned.
    """
    alone = multiprocessing.parent_process() is None and not bar_shown()
    if not (alone and sys.stderr is not None and not sys.stderr.closed and sys.stderr.isatty()):
        if printed:
            say(text)
        return None
    from rich.console import Console
    from rich.markup import escape
    from rich.progress import Progress, SpinnerColumn, TimeElapsedColumn

    bar = Progress(
        SpinnerColumn(), "{task.description}", TimeElapsedColumn(),
        console=Console(stderr=True), transient=True,
    )  # fmt: skip
    bar.add_task(escape(text), total=None)
    bar.start()
    return bar


def bar_shown() -> bool:
    """Tell whether rich shows a bar, above which whole lines can be printed."""
    console = sys.modules.get("rich.file_proxy")
    return console is not None and isinstance(sys.stderr, console.FileProxy)


@contextmanager
def waiting_for(module: str) -> Iterator[None]:
    """Say, while this lasts, that another process compiles a kernel of a module."""
    bar = clock(f"luce: waiting for another process that compiles {name_of(module)}")
    try:
        yield
    finally:
        if bar is not None:
            bar.stop()


compilations = Compilations()
