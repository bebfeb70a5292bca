"""What a reader understood, and what it could not use."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import NamedTuple, ParamSpec, TypeAlias

import numpy as np

from luce._types import BoolArray, IntArray, Label
from luce.counts.counts import ConditionalCounts
from luce.counts.labels import plural
from luce.errors import BadRowsError, DataError, Problem, SkippedRowsWarning, warn_user
from luce.reading.columns import Rows, Runs
from luce.reading.sources import Source

Counts: TypeAlias = ConditionalCounts | dict[Label, ConditionalCounts]
_P = ParamSpec("_P")

READERS: dict[str, Callable[..., Reading]] = {}  # by kind of data


def reader(kind: str) -> Callable[[Callable[_P, Reading]], Callable[_P, ConditionalCounts]]:
    """Register a reader; what users call returns the counts alone."""

    def register(function: Callable[_P, Reading]) -> Callable[_P, ConditionalCounts]:
        READERS[kind] = function

        @wraps(function)
        def counts_only(*data: _P.args, **options: _P.kwargs) -> ConditionalCounts:
            return function(*data, **options).counts  # type: ignore[return-value]

        counts_only.__annotations__ = {**function.__annotations__, "return": "ConditionalCounts"}
        return counts_only

    return register


class Reading(NamedTuple):
    """Counts, and how many of what they were made from: 36 rankings, say."""

    counts: Counts
    n_records: float
    noun: str

    def __str__(self) -> str:
        records = plural(self.n_records, self.noun)
        if isinstance(self.counts, dict):
            return f"{records}, one posterior for each of {len(self.counts):,} states"
        n = self.counts.n_categories
        return f"{records} among {plural(n, 'category', 'categories')}"


class Inspection:
    """Rows that are being looked at: which can be used, and what is wrong with the others."""

    def __init__(self, n: int) -> None:
        self.usable: BoolArray = np.ones(n, np.bool_)
        self._sentences: dict[int, str] = {}

    def refuse(self, wrong: BoolArray, sentence: Callable[[int], str]) -> None:
        """Refuse rows, each with a sentence; a row keeps its first one."""
        for i in np.flatnonzero(wrong & self.usable):
            self._sentences[int(i)] = sentence(int(i))
        self.usable &= ~wrong

    def refuse_row(self, i: int, sentence: str) -> None:
        """Refuse one row."""
        if self.usable[i]:
            self._sentences[i] = sentence
            self.usable[i] = False

    def settle(self, source: Source, rows: Rows | Runs, skip_bad: bool) -> BoolArray:
        """Raise or warn about what was refused; returns which rows to use."""
        problems = self.problems(rows)
        if isinstance(rows, Runs):
            begins = "in the group that begins here, "
            problems = [Problem(place, begins + what) for place, what in problems]
            nameless = "this row does not say which group it belongs to."
            problems += [Problem(place, nameless) for place in rows.nameless]
        report(source, problems, skip_bad)
        if not self.usable.any():
            raise DataError(f"{_of(source)}no usable {source.unit} is left.")
        return self.usable

    def problems(self, rows: Rows | Runs) -> list[Problem]:
        """Return what was refused, by its place in the source."""
        bad: IntArray = np.fromiter(self._sentences, np.int64, len(self._sentences))
        if len(bad) == 0:
            return []
        found = zip(rows.places(bad), self._sentences.values(), strict=True)
        return sorted(Problem(place, what) for places, what in found for place in places)


def report(source: Source, problems: list[Problem], skip_bad: bool) -> None:
    """Raise an error that lists what cannot be used or, where it is to be skipped, a warning."""
    problems = sorted({*problems, *source.problems})
    if not problems:
        return
    if not skip_bad:
        raise BadRowsError(problems, source.unit, source.name)
    warn_user(SkippedRowsWarning(problems, source.unit, source.name))


def require_rows(source: Source, rows: Rows | Runs) -> None:
    """Refuse data without a single row."""
    nameless = isinstance(rows, Runs) and rows.nameless
    if len(rows) == 0 and not source.problems and not nameless:
        raise DataError(f"{_of(source)}there are column names but no {source.unit}s of data.")


def _of(source: Source) -> str:
    return f"{source.name}: " if source.name else ""
