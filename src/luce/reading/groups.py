"""Grouped outcomes: one of these, nobody knows which.

one of W                       p(W)
one of W, given S              p(W) / p(S)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from math import prod
from numbers import Number
from typing import Any

import numpy as np

from luce._types import Labels
from luce.errors import DataError
from luce.reading.categories import all_categories
from luce.reading.columns import Column, Rows, as_labels, hashable, in_order, is_missing
from luce.reading.duels import read_counts
from luce.reading.given import is_frame, source_of
from luce.reading.label_lists import Separator, read_label_lists
from luce.reading.lists import Lists
from luce.reading.reading import Inspection, Reading, reader, require_rows
from luce.reading.roles import check_column, find_roles, first_layout, no_layout
from luce.reading.sources import PlainSource, Source
from luce.reading.tally import Tally

LAYOUTS = {"groups": (["group"], ["count", "within"])}


@reader("groups")
def from_groups(
    data: Any,
    *,
    group: str | None = None,
    count: str | None = None,
    within: str | None = None,
    cells: Sequence[str] | None = None,
    separator: Separator = None,
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
        What stands between labels in a text; found where there is one of | ; + , unless given.
    categories
        All labels in order, where they are not just those that occur.
    skip_bad
        Leave rows out that cannot be used, with a warning that lists them?

    Examples
    --------
    >>> from_groups({("low",): 14, ("high",): 20, ("low", "high"): 28}, categories=["low", "high"])
    ConditionalCounts(2 categories, 62 outcomes, 0 sets)
    >>> answers = {"sex": ["f", "m", None], "vote": ["yes", None, "no"], "n": [10, 4, 3]}
    >>> from_groups(answers, cells=["sex", "vote"], count="n")
    ConditionalCounts(4 categories, 17 outcomes, 2 sets)
    """
    columns = {"group": group, "count": count, "within": within}
    return _read(data, columns, cells, separator, categories, skip_bad)


def _read(
    data: Any,
    columns: Mapping[str, str | None],
    cells: Sequence[str] | None = None,
    separator: Separator = None,
    categories: Labels | None = None,
    skip_bad: bool = False,
) -> Reading:
    """Read grouped outcomes, and say how many there were."""
    source = _source(data)
    if cells is not None:
        return _read_cells(source, columns, cells, categories, skip_bad)
    found = first_layout(source.names, columns, LAYOUTS)
    if found is None:
        raise no_layout("groups", source.names, LAYOUTS, "; or cells=[...], columns that together "
                        "are the category")  # fmt: skip
    roles = found[1]
    rows = source.distinct([roles[r] for r in ("group", "within") if r in roles],
                           [roles["count"]] if "count" in roles else [])  # fmt: skip
    require_rows(source, rows)
    inspection = Inspection(len(rows))
    times = _whole(rows, roles, inspection)
    groups = read_label_lists(rows[roles["group"]], separator, inspection, roles["group"])
    possible = None
    if "within" in roles:
        possible = _possible(rows[roles["within"]], separator, inspection, roles["within"])
        for i in np.flatnonzero(inspection.usable & (possible.codes > 0)).tolist():
            outside = [x for x in groups[i] if x not in possible[i]]
            if outside:
                inspection.refuse_row(i, f"{outside[0]!r} is in the group but was not possible.")
    usable = inspection.settle(source, rows, skip_bad)
    groups, times = groups.take(usable), times[usable]
    used = dict.fromkeys(x for k in np.unique(groups.codes) for x in groups.values[k])
    if possible is not None:
        possible = possible.take(usable)
        used.update(dict.fromkeys(x for k in np.unique(possible.codes) for x in possible.values[k]))
    known = all_categories(used, categories)
    tally = Tally(len(known))
    tally.add_groups(_numbered(groups, known.index), times)
    if possible is not None:
        limited = possible.codes > 0
        sets = _numbered(possible.take(limited), known.index)
        tally.add_sets(sets, -times[limited])
    return Reading(tally.counts(list(known)), float(times.sum()), "answer")


def _source(data: Any) -> Source:
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


def _possible(column: Column, separator: Separator, inspection: Inspection, name: str) -> Column:
    """What was possible: an empty value, which has code 0, means everything."""
    given = ~column.missing
    inner = Inspection(len(column))
    read = read_label_lists(column, separator, inner, name)
    inspection.refuse(~inner.usable & given, lambda i: f"{name} is {column[i]!r}, which is not a "
                      "list of different labels.")  # fmt: skip
    return Column(np.where(given, read.codes + 1, 0), [(), *read.values])


def _numbered(column: Column, index: Mapping[Any, int]) -> Lists:
    numbers = [[index[x] for x in v] if all(x in index for x in v) else [] for v in column.values]
    return Lists.of(numbers).take(column.codes)


def _whole(rows: Rows, roles: Mapping[str, str], inspection: Inspection) -> Any:
    """How often each row happened: a whole number, since each is one outcome."""
    if "count" not in roles:
        return rows.repeats
    times = read_counts(rows, roles["count"], inspection)
    inspection.refuse(
        times % 1 != 0,
        lambda i: (
            f"{roles['count']} is {times[i]:g}; grouped outcomes are counted in whole "
            "numbers, each being one outcome."
        ),
    )
    return times


def _read_cells(
    source: Source,
    columns: Mapping[str, str | None],
    cells: Sequence[str],
    named: Labels | None,
    skip_bad: bool,
) -> Reading:
    """Tables in which some answers are missing: a group is all cells that agree with the rest."""
    for name in cells:
        check_column(source.names, "cells", name)
    if isinstance(cells, str) or len(cells) < 1:
        raise DataError(f"cells = {cells!r}; a list of columns is needed.")
    rest = [name for name in source.names if name not in cells]
    roles = find_roles(rest, {"count": columns.get("count")}, ["count"])
    rows = source.distinct(list(cells), [roles["count"]] if "count" in roles else [])
    require_rows(source, rows)
    inspection = Inspection(len(rows))
    times = _whole(rows, roles, inspection)
    usable = inspection.settle(source, rows, skip_bad)
    answers = [_answers(as_labels(rows[name])).take(usable) for name in cells]
    levels = [in_order(c.values[k] for k in c.used() if c.values[k] is not None) for c in answers]
    combinations = prod(map(len, levels))
    if combinations > 1_000_000:
        raise DataError(f"{len(cells)} columns have {combinations:,} combinations; at most "
                        "1,000,000 are allowed.")  # fmt: skip
    categories = all_categories(product(*levels), named)
    groups = []
    for i in range(int(usable.sum())):
        parts = [lv if c[i] is None else [c[i]] for c, lv in zip(answers, levels, strict=True)]
        groups.append([categories.index[cell] for cell in product(*parts)])
    tally = Tally(len(categories))
    tally.add_groups(Lists.of(groups), times[usable])
    return Reading(tally.counts(list(categories)), float(times[usable].sum()), "answer")


def _answers(column: Column) -> Column:
    """Answers, with None for those that are missing, however that is written."""

    def missing(value: Any) -> bool:
        # Not more than R writes: "none" and "-" may be answers.
        return is_missing(value) or (isinstance(value, str) and value.strip() in ("NA", "NaN"))

    return Column(column.codes, [None if missing(v) else v for v in column.values])
