"""Transitions between states, some of which cannot be seen.

from i to j, where F_i is forbidden        p_j / (1 - p(F_i))
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from luce._types import BoolArray, FloatArray, Labels
from luce.counts.counts import ConditionalCounts
from luce.counts.labels import Categories, plural, some
from luce.errors import DataError
from luce.reading.categories import all_categories
from luce.reading.columns import Column, as_labels, hashable, in_order, is_list, is_missing
from luce.reading.duels import read_counts
from luce.reading.forbidden import forbidden_moves
from luce.reading.given import describe_type, is_frame, refuse_path, source_of, with_named_rows
from luce.reading.lists import Lists
from luce.reading.reading import Inspection, Reading, reader, require_rows
from luce.reading.roles import first_layout, no_layout
from luce.reading.sources import Source
from luce.reading.tables import read_table
from luce.reading.tally import Tally
from luce.reading.win_matrix import is_square

LAYOUTS = {
    "moves": (["source", "target"], ["count"]),
    "long": (["sequence", "state"], ["time"]),
}


@reader("transitions")
def from_transitions(
    data: Any,
    *,
    rows: str = "shared",
    self_loops: str = "removed",
    forbidden: Any = None,
    source: str | None = None,
    target: str | None = None,
    count: str | None = None,
    sequence: str | None = None,
    time: str | None = None,
    state: str | None = None,
    categories: Labels | None = None,
    skip_bad: bool = False,
) -> Reading:
    """Read transitions without self-loops, or without others that cannot be seen.

    Parameters
    ----------
    data
        A sequence of states, or a list of sequences; a square table of counts, from the row to the
        column, as a frame or an array, nan or nothing for what cannot occur; or a frame in one of
        the layouts below.
    rows
        "shared": all states share one vector of destination probabilities, as one posterior.
        "separate": each state has its own, over the states it can move to; returns a mapping from
        states to counts.
    self_loops
        "removed": staying in a state cannot be seen, and is dropped where it stands in the data.
        "kept": it is a transition like any other.
    forbidden
        Further transitions that cannot occur: a mapping from a state to the states it cannot move
        to, a list of (from, to), or a square array of True and False in the order of the states.
    source, target, count
        Columns, where a row is a transition: from, to, and how often.
    sequence, time, state
        Columns, where a row is a moment: which sequence, when (its order of rows unless given),
        and the state.
    categories
        All states in order, where they are not just those that occur.
    skip_bad
        Leave rows out that cannot be used, with a warning that lists them?

    Examples
    --------
    >>> from_transitions("aabbbac")
    ConditionalCounts(3 categories, 3 outcomes, 2 sets)
    >>> rows = from_transitions([["a", "b", "c", "a"], ["c", "b"]], rows="separate")
    >>> rows["c"].categories, rows["c"].category_counts
    (('a', 'b'), array([1., 1.]))
    """
    columns = {"source": source, "target": target, "count": count, "sequence": sequence,
               "time": time, "state": state}  # fmt: skip
    return _read(data, columns, rows, self_loops, forbidden, categories, skip_bad)


def _read(
    data: Any,
    columns: Mapping[str, str | None],
    rows: str = "shared",
    self_loops: str = "removed",
    forbidden: Any = None,
    categories: Labels | None = None,
    skip_bad: bool = False,
) -> Reading:
    """Read transitions, and say how many there were."""
    if rows not in ("shared", "separate"):
        raise DataError(f"rows = {rows!r}; 'shared' (one posterior) or 'separate' is needed.")
    if self_loops not in ("removed", "kept"):
        raise DataError(f"self_loops = {self_loops!r}; 'removed' or 'kept' is needed.")
    drop = self_loops == "removed"
    states, counts = read_transitions(data, columns, categories, skip_bad)
    closed = forbidden_moves(forbidden, states) | np.isnan(counts)
    counts = np.nan_to_num(counts)
    if drop:
        np.fill_diagonal(closed, True)
        np.fill_diagonal(counts, 0.0)
    bad = np.argwhere(closed & (counts > 0))
    if len(bad):
        i, j = bad[0]
        raise DataError(
            f"{plural(counts[i, j], 'transition')} from {states[i]!r} to {states[j]!r} can be "
            "seen in the data, but this is forbidden."
        )
    number = float(counts.sum())
    if rows == "shared":
        return Reading(_count(states, counts, closed), number, "transition")
    nowhere = np.flatnonzero(closed.all(axis=1))
    if len(nowhere):
        raise DataError(
            f"from {some([states[int(i)] for i in nowhere])} nothing is allowed: every state "
            "needs somewhere to go."
        )
    return Reading(
        {state: _row(states, counts[i], closed[i]) for i, state in enumerate(states)},
        number,
        "transition",
    )


def _count(states: Categories, counts: FloatArray, closed: BoolArray) -> ConditionalCounts:
    """All rows under one vector of probabilities."""
    tally = Tally(len(states))
    seen = np.flatnonzero(counts.any(axis=1))
    at, to = np.nonzero(counts)
    tally.add_outcomes(to, counts[at, to])
    sets = Lists.of([np.flatnonzero(closed[i]).tolist() for i in seen])
    tally.add_sets(sets, -counts[seen].sum(axis=1), excluded=True)
    return tally.counts(list(states))


def _row(states: Categories, counts: FloatArray, closed: BoolArray) -> ConditionalCounts:
    """One row alone: what cannot occur is not even a category, so it has no probability at all."""
    allowed = np.flatnonzero(~closed)
    tally = Tally(len(allowed))
    tally.add_outcomes(np.arange(len(allowed)), counts[allowed])
    return tally.counts([states[int(j)] for j in allowed])


def read_transitions(
    data: Any,
    columns: Mapping[str, str | None],
    categories: Labels | None,
    skip_bad: bool,
) -> tuple[Categories, FloatArray]:
    """Read the states, and how often each moved to each; nan where a table says it cannot."""
    if isinstance(data, np.ndarray) and data.ndim == 2:
        return _read_matrix(data, categories, skip_bad)
    if not is_frame(data):
        return _read_sequences(as_sequences(data), categories)
    table = source_of(with_named_rows(data))
    if not any(columns.values()) and is_square(table):
        return _read_matrix(table, categories, skip_bad, table.names[0])
    source = source_of(data)
    found = first_layout(source.names, columns, LAYOUTS)
    if found is None:
        raise no_layout("transitions", source.names, LAYOUTS, "; or a square table of counts "
                        "whose first column names the rows as the others are named")  # fmt: skip
    layout, roles = found
    if layout == "moves":
        return _read_moves(source, roles, categories, skip_bad)
    return _read_moments(source, roles, categories, skip_bad)


def _read_moments(
    source: Source, roles: Mapping[str, str], categories: Labels | None, skip_bad: bool
) -> tuple[Categories, FloatArray]:
    wanted = [roles["state"], *([roles["time"]] if "time" in roles else [])]
    runs = source.runs(roles["sequence"], wanted)
    require_rows(source, runs)
    inspection = Inspection(len(runs))
    states = as_labels(runs[roles["state"]])
    missing = states.missing
    order = np.arange(len(states))
    if "time" in roles:
        when = runs[roles["time"]]
        missing = missing | when.missing
        moments, owner = _moments(when), np.repeat(np.arange(len(runs)), np.diff(runs.starts))
        order = np.lexsort((moments, owner))
        twice = (np.diff(moments[order]) == 0) & (np.diff(owner) == 0) & ~missing[order][1:]
        for i in set(owner[1:][twice].tolist()):
            inspection.refuse_row(i, "two states have the same time in one sequence.")
    sequences = []
    for i, span in enumerate(runs.spans()):
        if missing[span].any():
            inspection.refuse_row(i, "a state or its time is missing.")
        sequences.append([states[int(k)] for k in order[span]])
    usable = inspection.settle(source, runs, skip_bad)
    kept = [s for s, ok in zip(sequences, usable.tolist(), strict=True) if ok]
    return _read_sequences(kept, categories, runs.repeats[usable])


def _moments(when: Column) -> FloatArray:
    """Times as numbers in their order: numbers as such, also in a file of text, else by value."""
    numbers, wrong = when.numbers()
    if not wrong.any():
        return numbers
    there = [value for value in when.values if not is_missing(value)]
    rank = {value: float(k) for k, value in enumerate(in_order(there))}
    return np.asarray([rank.get(value, np.nan) for value in when.values])[when.codes]


def _read_moves(
    source: Source, roles: Mapping[str, str], categories: Labels | None, skip_bad: bool
) -> tuple[Categories, FloatArray]:
    rows = source.distinct([roles["source"], roles["target"]],
                           [roles["count"]] if "count" in roles else [])  # fmt: skip
    require_rows(source, rows)
    inspection = Inspection(len(rows))
    ends = [as_labels(rows[roles[r]]) for r in ("source", "target")]
    for column, which in zip(ends, ("from", "to"), strict=True):
        inspection.refuse(column.missing, lambda i, w=which: f"the state {w} is missing.")  # type: ignore[misc]
    times = read_counts(rows, roles["count"], inspection) if "count" in roles else rows.repeats
    usable = inspection.settle(source, rows, skip_bad)
    ends = [column.take(usable) for column in ends]
    used = dict.fromkeys(c.values[k] for c in ends for k in np.unique(c.codes))
    states = all_categories(used, categories)
    numbers = [_numbers(column, states) for column in ends]
    return states, _matrix(len(states), numbers[0], numbers[1], times[usable])


def _read_matrix(
    data: Any, categories: Labels | None, skip_bad: bool, labels: str | None = None
) -> tuple[Categories, FloatArray]:
    table = read_table(data, labels, skip_bad=skip_bad)
    rows, columns = [str(x) for x in table.rows], [str(x) for x in table.columns]
    if sorted(rows) != sorted(columns):
        raise DataError(
            f"a table of transitions must be square: its rows are {some(rows)} and its columns "
            f"{some(columns)}."
        )
    states = all_categories(table.columns, table.columns if categories is None else categories)
    place = {str(label): states.index[label] for label in table.columns}
    counts = np.zeros((len(states), len(states)))
    at, to = [place[r] for r in rows], [place[c] for c in columns]
    counts[np.ix_(at, to)] = table.values
    return states, counts


def as_sequences(data: Any) -> list[list[Any]]:
    """Read one sequence of states, or several, as lists."""
    refuse_path(data)
    if not isinstance(data, str) and not is_list(data):
        raise DataError(f"{describe_type(data)} was given; a sequence of states is needed, a list "
                        "of sequences, a table of counts or a frame.")  # fmt: skip
    items = list(data)
    nested = [is_list(x) and not isinstance(x, (set, frozenset)) for x in items]
    if isinstance(data, str) or not any(nested):  # a text is its characters
        return [[hashable(x) if isinstance(data, str) else _label(x) for x in items]]
    if not all(nested):
        raise DataError("some entries are sequences and some are states; give one or the other.")
    return [[_label(label) for label in x] for x in items]


def _label(value: Any) -> Any:
    return value.strip() if isinstance(value, str) else hashable(value)


def _read_sequences(
    sequences: list[list[Any]], categories: Labels | None, times: FloatArray | None = None
) -> tuple[Categories, FloatArray]:
    missing = next((k for k, s in enumerate(sequences) if any(map(is_missing, s))), None)
    if missing is not None:
        raise DataError(f"a state is missing in sequence {missing}; split the sequence there.")
    flat = Column.of([label for sequence in sequences for label in sequence])
    if not len(flat):
        raise DataError("the sequences are empty.")
    states = all_categories(flat.values, categories)
    codes = _numbers(flat, states)
    owner = np.repeat(np.arange(len(sequences)), [len(s) for s in sequences])
    same = owner[1:] == owner[:-1]
    each = np.ones(len(sequences)) if times is None else times
    weights = each[owner[1:]][same]
    return states, _matrix(len(states), codes[:-1][same], codes[1:][same], weights)


def _numbers(column: Column, states: Categories) -> Any:
    return np.fromiter((states.index.get(v, -1) for v in column.values), np.int64)[column.codes]


def _matrix(n: int, at: Any, to: Any, times: FloatArray) -> FloatArray:
    if n > 5_000:  # a table of all moves is made, 200 MB at this size
        raise DataError(f"{n:,} states were found; at most 5,000 are read as transitions.")
    return np.bincount(at * n + to, times, n * n).astype(np.float64).reshape(n, n)
