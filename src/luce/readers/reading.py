"""What a reader understood, and what it could not use."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from luce._types import BoolArray, IntArray
from luce.conditional_counts import ConditionalCounts
from luce.errors import BadRowsError, DataError, Problem, SkippedRowsWarning
from luce.labels import plural
from luce.readers.columns import Rows
from luce.readers.sources import Source


class Reading(NamedTuple):
    """Counts, and how many of what they were made from: 36 rankings, say."""

    counts: ConditionalCounts | dict[object, ConditionalCounts]
    n_records: float
    noun: str

    def one(self) -> ConditionalCounts:
        """Return the counts, where they are one posterior's."""
        assert isinstance(self.counts, ConditionalCounts)
        return self.counts

    def __str__(self) -> str:
        counts = self.counts
        if isinstance(counts, dict):
            return f"{plural(self.n_records, self.noun)}, one posterior for each of {len(counts):,}"
        return (
            f"{plural(self.n_records, self.noun)} among "
            f"{plural(counts.n_categories, 'category', 'categories')}"
        )


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

    def settle(self, source: Source, rows: Rows, skip_bad: bool) -> BoolArray:
        """Raise or warn about what was refused; returns which rows to use."""
        report(source, self.problems(rows), skip_bad)
        if len(rows) and not self.usable.any():
            raise DataError(f"{_of(source)}no usable {source.unit} is left.")
        return self.usable

    def problems(self, rows: Rows) -> list[Problem]:
        """Return what was refused, by its place in the source."""
        bad: IntArray = np.fromiter(self._sentences, np.int64, len(self._sentences))
        if len(bad) == 0:
            return []
        found = zip(rows.places(bad), self._sentences.values(), strict=True)
        return sorted(Problem(place, what) for places, what in found for place in places)


def report(source: Source, problems: list[Problem], skip_bad: bool) -> None:
    """Raise an error that lists what cannot be used or, where it is to be skipped, a warning."""
    if not problems:
        return
    if not skip_bad:
        raise BadRowsError(problems, source.unit, source.name)
    warnings.warn(SkippedRowsWarning(problems, source.unit, source.name), stacklevel=5)


def require_rows(source: Source, rows: Rows) -> None:
    """Refuse data without a single row."""
    if len(rows) == 0:
        raise DataError(f"{_of(source)}there are column names but no {source.unit}s of data.")


def _of(source: Source) -> str:
    return f"{source.name}: " if source.name else ""
