"""Rows under inspection: their columns by role, their counts, and what is wrong with bad ones."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

import numpy as np

from luce._types import BoolArray, FloatArray, IntArray
from luce.errors import BadRowsError, DataError, Problem, SkippedRowsWarning, warn_user
from luce.reading.accounts import account_for_columns
from luce.reading.rows import Column, Rows, Runs
from luce.reading.sources import Source
from luce.reading.values import as_labels, find_separator

_MOST = 1e300  # largest count of one row, so that sums stay finite


class Inspection:
    """Rows of one layout while a reader checks them.

    Parameters
    ----------
    source
        Where the rows come from; it names them in messages.
    rows
        Distinct rows, or groups of rows; in the latter case each *group* is checked.
    roles
        Name of the column that plays each role.
    parts
        What further columns are read as, in words: "ranks".
    """

    def __init__(
        self,
        source: Source,
        rows: Rows | Runs,
        roles: Mapping[str, str],
        parts: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        nameless = isinstance(rows, Runs) and rows.nameless
        if len(rows) == 0 and not source.problems and not nameless:
            raise DataError(f"{_of(source)}there are column names but no {source.unit}s of data.")
        self.source, self.rows, self.roles, self.parts = source, rows, roles, parts
        self.usable: BoolArray = np.ones(len(rows), np.bool_)
        self._sentences: dict[int, str] = {}

    def __len__(self) -> int:
        return len(self.rows)

    def __contains__(self, role: str) -> bool:
        return role in self.roles

    def __getitem__(self, role: str) -> Column:
        return self.rows[self.roles[role]]

    def labels(self, role: str) -> Column:
        """Return a column of labels, without the spaces around them."""
        return self[role].labels()

    def label_lists(self, role: str, separator: str | None, called: str | None = None) -> Column:
        """Read a column of lists of different labels, and refuse rows where there is none.

        A text is split at `separator` or, unless that is given, at the one of | ; + and comma that
        occurs anywhere in the column; without any, it is one label.
        """
        if separator is not None and (not isinstance(separator, str) or not separator):
            raise DataError(f"separator = {separator!r}; a text such as '|' is needed.")
        column = self[role]
        if separator is None:
            separator = find_separator(v for v in column.values if isinstance(v, str))
        missing = self.source.missing or frozenset()
        read = [as_labels(value, separator, missing) for value in column.values]
        wrong = np.asarray([bool(sentence) for _, sentence in read], np.bool_)
        name = called or self.roles[role]
        self.refuse(wrong[column.codes], lambda i: f"{name} {read[column.codes[i]][1]}")
        return Column(column.codes, [labels for labels, _ in read])

    def counts(self, role: str = "count") -> FloatArray:
        """Read how often each row occurs, over all repeats; once each without such a column."""
        if role not in self:
            return self.rows.repeats
        if isinstance(self.rows, Runs):
            return self._counts_of_groups(role, self.rows)
        name = self.roles[role]
        if name in self.rows.totals:
            return self.rows.totals[name]
        column = self[role]
        values, wrong = column.numbers()
        self.refuse(wrong, lambda i: f"{name} is {column[i]!r}; a number is needed.")
        self.refuse(np.isnan(values), lambda i: f"{name} is missing; a number is needed.")
        self.refuse(values < 0, lambda i: f"{name} is {column[i]}; it cannot be negative.")
        self.refuse(
            values > _MOST, lambda i: f"{name} is {column[i]}; it must be finite and below 1e300."
        )
        return np.where(self.usable, np.nan_to_num(values) * self.rows.repeats, 0.0)

    def _counts_of_groups(self, role: str, runs: Runs) -> FloatArray:
        """Read how often each group of rows occurs: one number, the same in all of its rows."""
        name, column = self.roles[role], self[role]
        values, wrong = column.numbers()
        counts = np.zeros(len(runs))
        for i, span in enumerate(runs.spans()):
            first = values[span.start]
            if wrong[span.start] or not 0 <= first < _MOST:
                self.refuse_row(i, f"{name} is {column[span.start]!r}; a number is needed.")
            elif not (values[span.start : span.stop] == first).all():
                self.refuse_row(i, f"{name} differs between the rows of one group.")
            else:
                counts[i] = first * runs.repeats[i]
        return counts

    def refuse(self, wrong: BoolArray, sentence: Callable[[int], str]) -> None:
        """Refuse rows, each with a sentence; a row keeps its first one."""
        for i in np.flatnonzero(wrong & self.usable).tolist():
            self._sentences[i] = sentence(i)
        self.usable &= ~wrong

    def refuse_row(self, i: int, sentence: str) -> None:
        """Refuse one row."""
        if self.usable[i]:
            self._sentences[i] = sentence
            self.usable[i] = False

    def settle(self, skip_bad: bool) -> BoolArray:
        """Return which rows to use; raise an error that lists the bad ones, or warn of them.

        Every column of the source is then accounted for, and those left aside are warned of.
        """
        problems = sorted({*self._problems(), *self.source.problems})
        if problems and not skip_bad:
            raise BadRowsError(problems, self.source.unit, self.source.name, self.source.advice)
        if problems:
            source = self.source
            warn_user(SkippedRowsWarning(problems, source.unit, source.name, source.advice))
        if not self.usable.any():
            raise DataError(f"{_of(self.source)}no usable {self.source.unit} is left.")
        account_for_columns(self.source, self._used())
        return self.usable

    def _used(self) -> dict[str, str]:
        """Map columns to what they were read as."""
        return {**{column: role for role, column in self.roles.items()}, **self.parts}

    def _problems(self) -> list[Problem]:
        """List the refused rows by their places in the source."""
        bad: IntArray = np.fromiter(self._sentences, np.int64, len(self._sentences))
        places = self.rows.places(bad) if len(bad) else []
        found = zip(places, self._sentences.values(), strict=True)
        listed = [(place, what) for each, what in found for place in each]
        if not isinstance(self.rows, Runs):
            return [Problem(place, what) for place, what in listed]
        nameless = "this row does not say which group it belongs to."
        return [
            *(Problem(place, f"in the group that begins here, {what}") for place, what in listed),
            *(Problem(place, nameless) for place in self.rows.nameless),
        ]


def _of(source: Source) -> str:
    return f"{source.name}: " if source.name else ""
