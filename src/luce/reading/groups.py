"""Grouped outcomes: one of several categories, it is not known which.

one of W                       p(W)
one of W, given S              p(W) / p(S)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain, product
from math import prod
from numbers import Number
from typing import Any

import numpy as np

from luce._types import FloatArray, Label, Labels
from luce.errors import DataError
from luce.reading.frames import is_frame, source_of
from luce.reading.inspection import Inspection
from luce.reading.kind import Columns, Reading, check_column, find_roles, leave_out
from luce.reading.kinds import GROUPS
from luce.reading.rows import Column
from luce.reading.sources import PlainSource, Source
from luce.reading.tally import Lists, Tally
from luce.reading.values import hashable, in_order, is_missing

_MOST_CELLS = 1_000_000  # combinations of answers


@GROUPS.reader
def from_groups(
    data: Any,
    *,
    group: str | None = None,
    count: str | None = None,
    within: str | None = None,
    cells: Sequence[str] | None = None,
    separator: str | None = None,
    ignore: Sequence[str] = (),
    categories: Labels | None = None,
    skip_bad: bool = False,
) -> Reading:
    """Read outcomes of which only "one of these" is known.

    Parameters
    ----------
    data
        A list of groups, each a list of labels; a mapping from groups (as tuples) to how often;
        or a frame.
    group, count, within
        Columns: the labels it may have been, as a list or a text with separators; how often, a
        whole number; and the labels that were possible at all, everything unless given.
    cells
        Columns that together are the category, as in a table of several questions: the
        categories are all combinations of their values, and an empty value leaves that part open.
    separator
        Text between labels; found where there is one of | ; + and comma, unless given.
    ignore
        Columns to leave out.  Any other column that is not read, and that holds numbers or times or
        names judges, is warned of.
    categories
        All labels in order; those that occur, sorted, unless given.
    skip_bad
        Leave bad rows out, with a warning that lists them?

    Examples
    --------
    >>> from_groups({("low",): 14, ("high",): 20, ("low", "high"): 28}, categories=["low", "high"])
    ConditionalCounts(2 categories, 62 outcomes, 0 sets)
    >>> answers = {"sex": ["f", "m", None], "vote": ["yes", None, "no"], "n": [10, 4, 3]}
    >>> from_groups(answers, cells=["sex", "vote"], count="n")
    ConditionalCounts(4 categories, 17 outcomes, 2 sets)
    """
    columns = GROUPS.columns(locals())
    source = leave_out(_source(data), ignore)
    if cells is not None:
        return _read_cells(source, columns, cells, categories, skip_bad)
    inspection = GROUPS.inspect(source, GROUPS.require(source.names, columns))
    times = _whole_counts(inspection)
    groups = inspection.label_lists("group", separator)
    possible = _possible(inspection, groups, separator)
    usable = inspection.settle(skip_bad)
    groups, possible, times = groups.take(usable), possible.take(usable), times[usable]
    used = chain.from_iterable([*groups.present(), *possible.present()])
    tally = Tally.over(dict.fromkeys(used), categories)
    answers = tally.lists(groups)
    tally.add_groups(answers, times)
    limited = possible.codes > 0
    sets = tally.lists(possible.take(limited))
    tally.add_sets(sets, -times[limited])
    tally.remember(answers, times, lambda: sets, np.where(limited, np.cumsum(limited) - 1, -1))
    return GROUPS.reading(tally.counts(), times.sum())


def _source(data: Any) -> Source:
    """Open the data, and name the columns of a list or mapping of groups."""
    if isinstance(data, Mapping) and any(
        not isinstance(key, str) or isinstance(value, Number) for key, value in data.items()
    ):
        return PlainSource({"group": [_tuple(k) for k in data], "count": list(data.values())})
    if isinstance(data, (list, set)) and not is_frame(data):
        return PlainSource({"group": [_tuple(group) for group in data]})
    return source_of(data)


def _tuple(group: Any) -> Any:
    if isinstance(group, (list, tuple, set, frozenset)):
        return tuple(hashable(x) for x in group)
    return hashable(group)  # a text may still be split at its separators


def _whole_counts(inspection: Inspection) -> FloatArray:
    """Read how often each row occurs: a whole number, since each is one outcome."""
    times = inspection.counts()
    inspection.refuse(
        times % 1 != 0,
        lambda i: (
            f"{inspection.roles['count']} is {times[i]:g}; grouped outcomes are counted in whole "
            "numbers, each being one outcome."
        ),
    )
    return times


def _possible(inspection: Inspection, groups: Column, separator: str | None) -> Column:
    """Read the possible labels of each row; code 0, an empty tuple, stands for all labels."""
    everything = Column(np.zeros(len(inspection), np.int64), [()])
    if "within" not in inspection:
        return everything
    column, name = inspection["within"], inspection.roles["within"]
    given = ~column.missing
    apart = Inspection(inspection.source, inspection.rows, inspection.roles)
    read = apart.label_lists("within", separator)
    inspection.refuse(
        ~apart.usable & given,
        lambda i: f"{name} is {column[i]!r}, which is not a list of different labels.",
    )
    possible = Column(np.where(given, read.codes + 1, 0), [(), *read.values])
    for i in np.flatnonzero(inspection.usable & given).tolist():
        outside = [label for label in groups[i] if label not in possible[i]]
        if outside:
            inspection.refuse_row(i, f"{outside[0]!r} is in the group but was not possible.")
    return possible


def _read_cells(
    source: Source,
    columns: Columns,
    cells: Sequence[str],
    categories: Labels | None,
    skip_bad: bool,
) -> Reading:
    """Read a table of answers; a missing answer leaves all cells that agree with the others."""
    for name in cells:
        check_column(source.names, "cells", name)
    if isinstance(cells, str) or len(cells) < 1:
        raise DataError(f"cells = {cells!r}; a list of columns is needed.")
    rest = [name for name in source.names if name not in cells]
    roles = find_roles(rest, {"count": columns["count"]}, ["count"])
    rows = source.distinct(list(cells), list(roles.values()))
    inspection = Inspection(source, rows, roles, dict.fromkeys(cells, "part of the category"))
    times = _whole_counts(inspection)
    usable = inspection.settle(skip_bad)
    told = source.missing is not None  # then missing answers are empty already
    answers = [_answers(inspection.rows[name], told).take(usable) for name in cells]
    levels = _levels(answers)
    tally = Tally.over(product(*levels), categories)
    groups = []
    for i in range(int(usable.sum())):
        parts = [lv if c[i] is None else [c[i]] for c, lv in zip(answers, levels, strict=True)]
        groups.append([tally.categories.index[cell] for cell in product(*parts)])
    lists, times = Lists.of(groups), times[usable]
    tally.add_groups(lists, times)
    tally.remember(lists, times)
    return GROUPS.reading(tally.counts(), times.sum())


def _answers(column: Column, told: bool) -> Column:
    """Read answers, with None for missing ones; NA and NaN are missing unless `told` otherwise."""

    def missing(value: Any) -> bool:
        # Only the texts that R writes: "none" and "-" may be answers.
        written = isinstance(value, str) and value.strip() in ("NA", "NaN") and not told
        return is_missing(value) or written

    labels = column.labels()
    return Column(labels.codes, [None if missing(v) else v for v in labels.values])


def _levels(answers: list[Column]) -> list[list[Label]]:
    """List the answers to each question, whose combinations are the categories."""
    levels = [in_order(x for x in column.present() if x is not None) for column in answers]
    combinations = prod(map(len, levels))
    if combinations > _MOST_CELLS:
        raise DataError(
            f"{len(answers)} columns have {combinations:,} combinations; at most "
            f"{_MOST_CELLS:,} are allowed."
        )
    return levels
