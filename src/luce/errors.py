"""What luce says when something is wrong: what was given, what is allowed, what to do."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, NamedTuple

_MOST_LISTED = 20  # bad rows that a message names one by one


class Problem(NamedTuple):
    """What is wrong with one row or line; `place` counts from 1, 0 stands for the whole."""

    place: int
    what: str


class LuceError(ValueError):
    """Base of every error luce raises on purpose."""


class DataError(LuceError):
    """Counts, labels, sets, priors or probabilities that cannot be right."""


class DiskFullError(LuceError):
    """There is no room for what was to be written; what was there before is whole."""


class BadRowsError(DataError):
    """Rows or lines that cannot be used; `problems` lists them all, `source` names the file."""

    def __init__(self, problems: Sequence[Problem], unit: str = "row", source: str = "") -> None:
        self.problems = list(problems)
        self.unit = unit
        self.source = source
        where = f"{source}: " if source else ""
        one = len(self.problems) == 1
        super().__init__(
            f"{where}{listed(self.problems, unit)}\n"
            f"Mend {'it' if one else 'them'}, or leave {'it' if one else 'them'} out with "
            "skip_bad=True (--skip-bad)."
        )

    def __reduce__(self) -> tuple[object, ...]:  # workers send their errors home pickled
        return type(self), (self.problems, self.unit, self.source)


class NotExactError(LuceError):
    """A closed form was asked for where none exists; `cores` says how many stand in the way."""

    def __init__(self, message: str, cores: int = 0) -> None:
        super().__init__(message)
        self.cores = cores


class MethodError(LuceError):
    """A sampling method or option that does not exist or does not fit the problem."""


class NoMaximumError(MethodError):
    """A density or likelihood has no largest value, or more than one place where it is largest.

    `groups` lists the labels that the data tells apart only so far: groups never compared with each
    other, or of which no later one ever won against an earlier one.
    """

    def __init__(self, message: str, groups: Sequence[Sequence[Hashable]] = ()) -> None:
        super().__init__(message)
        self.groups = [list(group) for group in groups]


def listed(problems: Sequence[Problem], unit: str) -> str:
    """Name problems one by one, as many as a reader would want to see."""
    shown = [f"{unit} {p.place}: {p.what}" if p.place else p.what for p in problems[:_MOST_LISTED]]
    if len(problems) > _MOST_LISTED:
        shown.append(f"... and {len(problems) - _MOST_LISTED:,} more {unit}s")
    if len(shown) == 1:
        return shown[0]
    return f"{len(problems):,} {unit}s cannot be used\n  " + "\n  ".join(shown)


_gathered: ContextVar[list[Warning] | None] = ContextVar("_gathered", default=None)


@contextmanager
def warnings_gathered() -> Iterator[list[Warning]]:
    """Have warnings of luce listed instead of shown, in this thread alone."""
    found: list[Warning] = []
    token = _gathered.set(found)
    try:
        yield found
    finally:
        _gathered.reset(token)


def warn_user(warning: Warning) -> None:
    """Warn, pointing at the first line outside of luce on the way here."""
    listed_instead = _gathered.get()
    if listed_instead is not None:
        listed_instead.append(warning)
        return
    level, frame = 1, sys._getframe(0)
    while frame is not None and frame.f_globals.get("__name__", "").split(".")[0] == "luce":
        frame, level = frame.f_back, level + 1  # type: ignore[assignment]
    warnings.warn(warning, stacklevel=level)


class HalfWinsWarning(UserWarning):
    """Half wins are a custom: they are not the likelihood of any model of ties."""


class SkippedRowsWarning(UserWarning):
    """Rows or lines were left out, as asked; `problems` lists them all."""

    def __init__(self, problems: Sequence[Problem], unit: str = "row", source: str = "") -> None:
        self.problems = list(problems)
        self.unit = unit
        self.source = source
        where = f"{source}: " if source else ""
        super().__init__(f"{where}left out {len(self.problems):,}: {listed(problems, unit)}")

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.problems, self.unit, self.source)


class EvidenceWarning(UserWarning):
    """The evidence is in doubt; `estimates` holds the `Estimate` of each method."""

    def __init__(self, message: str, estimates: Mapping[str, Any] | None = None) -> None:
        super().__init__(message)
        self.estimates = dict(estimates or {})


class ConvergenceWarning(UserWarning):
    """The draws should not be trusted yet; `rhat` and `ess` hold the worst values found."""

    def __init__(self, message: str, rhat: float = float("nan"), ess: float = float("nan")) -> None:
        super().__init__(message)
        self.rhat = rhat
        self.ess = ess
