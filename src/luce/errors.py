"""Errors and warnings of luce: each says what was given, what is allowed, and what to do."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, NamedTuple

_MOST_LISTED = 20  # number of bad rows that a message names one by one


class Problem(NamedTuple):
    """A fault in one row or line, whose number `place` counts from 1, or in the whole file: 0."""

    place: int
    what: str


class LuceError(ValueError):
    """Raised when luce refuses something: the base of all its errors."""


class DataError(LuceError):
    """Raised when counts, labels, sets, priors or probabilities cannot be right."""


class DiskFullError(LuceError):
    """Raised when a disk is full; files that were there before are intact."""


class BadRowsError(DataError):
    """Raised when rows or lines cannot be used.

    `problems` lists all of them, `source` names the file, and `advice` may tell what to do.
    """

    def __init__(
        self, problems: Sequence[Problem], unit: str = "row", source: str = "", advice: str = ""
    ) -> None:
        self.problems = list(problems)
        self.unit = unit
        self.source = source
        self.advice = advice
        where = f"{source}: " if source else ""
        one = len(self.problems) == 1
        super().__init__(
            f"{where}{listed(self.problems, unit)}\n"
            f"Mend {'it' if one else 'them'}, or leave {'it' if one else 'them'} out with "
            f"skip_bad=True (--skip-bad).{_line(advice)}"
        )

    def __reduce__(self) -> tuple[object, ...]:  # errors of workers are sent back pickled
        return type(self), (self.problems, self.unit, self.source, self.advice)


class QuestionsError(DataError):
    """Raised when several things must be told before data can be read; `questions` lists them."""

    def __init__(self, questions: Sequence[str]) -> None:
        self.questions = list(questions)
        listed = "\n  ".join(self.questions)
        super().__init__(f"{len(self.questions)} things are to be told or mended\n  {listed}")

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.questions,)


class NotExactError(LuceError):
    """Raised when a closed form is asked for and none exists.

    `cores` is the number of cores, the parts of the structure that have no closed form.
    """

    def __init__(self, message: str, cores: int = 0) -> None:
        super().__init__(message)
        self.cores = cores


class MethodError(LuceError):
    """Raised when a method or option does not exist or does not fit the data and prior."""


class NoMaximumError(MethodError):
    """Raised when a density or likelihood has no maximum, or more than one.

    `groups` lists groups of labels that the data does not compare with each other, or of which no
    later one ever won against an earlier one.
    """

    def __init__(self, message: str, groups: Sequence[Sequence[Hashable]] = ()) -> None:
        super().__init__(message)
        self.groups = [list(group) for group in groups]


class HalfWinsWarning(UserWarning):
    """Issued when ties are counted as half wins, the likelihood of no model of ties."""


class DroppedTiesWarning(UserWarning):
    """Issued when ties are left out of the data, as asked; says how many."""


class ConfoundedHomeWarning(UserWarning):
    """Issued when data cannot tell a home advantage from the strengths: its prior decides."""


class SkippedRowsWarning(UserWarning):
    """Issued when rows or lines are left out, as asked; `problems` lists all of them."""

    def __init__(
        self, problems: Sequence[Problem], unit: str = "row", source: str = "", advice: str = ""
    ) -> None:
        self.problems = list(problems)
        self.unit = unit
        self.source = source
        self.advice = advice
        where = f"{source}: " if source else ""
        left_out = f"{where}left out {len(self.problems):,}: {listed(problems, unit)}"
        super().__init__(f"{left_out}{_line(advice)}")

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.problems, self.unit, self.source, self.advice)


class IgnoredColumnsWarning(UserWarning):
    """Issued when columns that may matter play no part; `columns` maps each to what can be done.

    `remedy` says how to go without the warning; listing the columns in ignore=[...] unless given.
    """

    def __init__(self, columns: Mapping[str, str], source: str = "", remedy: str = "") -> None:
        self.columns = dict(columns)
        self.source = source
        self.remedy = remedy
        super().__init__(f"{source + ': ' if source else ''}{_ignored(self.columns, remedy)}")

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.columns, self.source, self.remedy)


class UncheckedDataWarning(UserWarning):
    """Issued when data is too large for a check, and is taken as it is."""


class EvidenceWarning(UserWarning):
    """Issued when an evidence, or a mean of likelihoods or densities over draws, is uncertain.

    `estimates` holds the `Estimate` of each method.
    """

    def __init__(self, message: str, estimates: Mapping[str, Any] | None = None) -> None:
        super().__init__(message)
        self.estimates = dict(estimates or {})


class ConvergenceWarning(UserWarning):
    """Issued when chains have not converged; `rhat` and `ess` hold the worst values found."""

    def __init__(self, message: str, rhat: float = float("nan"), ess: float = float("nan")) -> None:
        super().__init__(message)
        self.rhat = rhat
        self.ess = ess


def _ignored(columns: Mapping[str, str], remedy: str) -> str:
    """Say of columns that they are ignored, those with the same remedy together."""
    by_advice: dict[str, list[str]] = {}
    for name, advice in columns.items():
        by_advice.setdefault(advice, []).append(repr(name))
    told = [
        f"{', '.join(names[:6])}{', ...' if len(names) > 6 else ''} ({advice})"
        for advice, names in by_advice.items()
    ]
    them = "it" if len(columns) == 1 else "them"
    right = f"If that is right, list {them} in ignore=[...] (--ignore NAME)."
    return f"ignored: {'; '.join(told)}. {remedy or right}"


def listed(problems: Sequence[Problem], unit: str) -> str:
    """Name the first problems one by one, and the number of the others."""
    shown = [f"{unit} {p.place}: {p.what}" if p.place else p.what for p in problems[:_MOST_LISTED]]
    if len(problems) > _MOST_LISTED:
        left = len(problems) - _MOST_LISTED
        shown.append(f"... and {left:,} more {unit}{'s' if left > 1 else ''}")
    if len(shown) == 1:
        return shown[0]
    return f"{len(problems):,} {unit}s cannot be used\n  " + "\n  ".join(shown)


def _line(advice: str) -> str:
    return f"\n{advice}" if advice else ""


_gathered: ContextVar[list[Warning] | None] = ContextVar("_gathered", default=None)


@contextmanager
def warnings_gathered() -> Iterator[list[Warning]]:
    """Collect luce's warnings in a list instead of showing them, in this thread alone."""
    found: list[Warning] = []
    token = _gathered.set(found)
    try:
        yield found
    finally:
        _gathered.reset(token)


def warn_user(warning: Warning) -> None:
    """Issue a warning that points at the line of user code that called luce."""
    listed_instead = _gathered.get()
    if listed_instead is not None:
        listed_instead.append(warning)
        return
    level, frame = 1, sys._getframe(0)
    while frame is not None and frame.f_globals.get("__name__", "").split(".")[0] == "luce":
        frame, level = frame.f_back, level + 1  # type: ignore[assignment]
    warnings.warn(warning, stacklevel=level)
