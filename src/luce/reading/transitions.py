"""Transitions between states, some of which cannot be seen.

from i to j, where F_i is forbidden        p_j / (1 - p(F_i))
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from luce._types import BoolArray, FloatArray, IntArray, Labels
from luce.counts.counts import ConditionalCounts
from luce.counts.labels import Categories, plural, some
from luce.errors import DataError
from luce.reading.frames import is_frame, refuse_path, source_of
from luce.reading.inspection import Inspection
from luce.reading.kind import Columns, Reading, leave_out
from luce.reading.kinds import TRANSITIONS
from luce.reading.rows import Column, Runs
from luce.reading.tables import is_square, read_table
from luce.reading.tally import Lists, Tally, all_categories
from luce.reading.values import (
    describe_type,
    hashable,
    in_order,
    is_list,
    is_missing,
    refuse_set,
    stripped,
)

_MOST_STATES = 5_000  # a matrix of all moves between them takes 200 MB


@TRANSITIONS.reader
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
    ignore: Sequence[str] = (),
    categories: Labels | None = None,
    skip_bad: bool = False,
) -> Reading:
    """Read transitions without self-loops, or without others that cannot be seen.

    Parameters
    ----------
    data
        A sequence of states, or a list of sequences; a square table of counts, from the row to the
        column, as a frame or an array, nan or nothing for moves that cannot occur; or a frame in
        one of the layouts below.
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
        Columns, where a row is a moment: which sequence, when (the order of rows unless given),
        and the state.
    ignore
        Columns to leave out.  Any other column that is not read, and that holds numbers or times or
        names judges, is warned of.
    categories
        All states in order; those that occur, sorted, unless given.
    skip_bad
        Leave bad rows out, with a warning that lists them?

    Examples
    --------
    >>> from_transitions("aabbbac")
    ConditionalCounts(3 categories, 3 outcomes, 2 sets)
    >>> rows = from_transitions([["a", "b", "c", "a"], ["c", "b"]], rows="separate")
    >>> rows["c"].categories, rows["c"].category_counts
    (('a', 'b'), array([1., 1.]))
    """
    columns = TRANSITIONS.columns(locals())
    if rows not in ("shared", "separate"):
        raise DataError(f"rows = {rows!r}; 'shared' (one posterior) or 'separate' is needed.")
    if self_loops not in ("removed", "kept"):
        raise DataError(f"self_loops = {self_loops!r}; 'removed' or 'kept' is needed.")
    states, moves = read_transitions(data, columns, categories, skip_bad, ignore)
    closed = forbidden_moves(forbidden, states) | np.isnan(moves)
    moves = np.nan_to_num(moves)
    stayed = 0.0
    if self_loops == "removed":
        stayed = float(np.trace(moves))
        np.fill_diagonal(closed, True)
        np.fill_diagonal(moves, 0.0)
    _refuse_forbidden(states, moves, closed)
    counts = (_count_together if rows == "shared" else _count_apart)(states, moves, closed)
    left_out = f"{stayed:,g} from a state to itself" if stayed else ""
    return TRANSITIONS.reading(counts, moves.sum())._replace(left_out=left_out)


def _refuse_forbidden(states: Categories, moves: FloatArray, closed: BoolArray) -> None:
    """Refuse moves that occur although they cannot."""
    bad = np.argwhere(closed & (moves > 0)).tolist()
    if bad:
        i, j = bad[0]
        raise DataError(
            f"{plural(moves[i, j], 'transition')} from {states[i]!r} to {states[j]!r} can be "
            "seen in the data, but this is forbidden."
        )


def _count_together(states: Categories, moves: FloatArray, closed: BoolArray) -> ConditionalCounts:
    """Count the moves from all states under one vector of probabilities."""
    tally = Tally(states)
    seen = np.flatnonzero(moves.any(axis=1))
    at, to = np.nonzero(moves)
    tally.add_outcomes(to, moves[at, to])
    sets = Lists.of([np.flatnonzero(closed[i]).tolist() for i in seen])
    tally.add_sets(sets, -moves[seen].sum(axis=1), excluded=True)
    given = np.searchsorted(seen, at)
    tally.remember(Lists.singles(to), moves[at, to], lambda: sets, given, excluded=True)
    return tally.counts()


def _count_apart(
    states: Categories, moves: FloatArray, closed: BoolArray
) -> dict[Any, ConditionalCounts]:
    """Count the moves from each state alone, over the states that it can move to."""
    nowhere = np.flatnonzero(closed.all(axis=1))
    if len(nowhere):
        raise DataError(
            f"from {some([states[int(i)] for i in nowhere])} nothing is allowed: every state "
            "needs somewhere to go."
        )
    counts = {}
    for i, state in enumerate(states):
        allowed = np.flatnonzero(~closed[i])
        tally = Tally(Categories([states[int(j)] for j in allowed]))
        every = np.arange(len(allowed))
        tally.add_outcomes(every, moves[i, allowed])
        tally.remember(Lists.singles(every), moves[i, allowed])
        counts[state] = tally.counts()
    return counts


def forbidden_moves(given: Any, states: Categories) -> BoolArray:
    """Read a mapping from states to states, a list of (from, to), or an array of flags.

    Returns
    -------
    closed
        Shape (n, n): True where the state of the row cannot move to that of the column.
    """
    n = len(states)
    closed = np.zeros((n, n), np.bool_)
    if given is None:
        return closed
    if isinstance(given, np.ndarray):
        if given.shape != (n, n) or given.dtype != np.bool_:
            raise DataError(
                f"forbidden has shape {given.shape} and type {given.dtype}; ({n}, {n}) of True "
                "and False is needed, in the order of the states."
            )
        return given.copy()
    if isinstance(given, Mapping):
        wrong = [others for others in given.values() if not is_list(others)]
        if wrong:
            raise DataError(f"forbidden maps a state to {wrong[0]!r}; a list of states is needed.")
        given = [(a, b) for a, others in given.items() for b in others]
    if not is_list(given):
        raise DataError(
            f"forbidden = {given!r}; a mapping, a list of (from, to) or an array of True and False "
            "is needed."
        )
    for pair in given:
        if not isinstance(pair, (tuple, list)) or len(pair) != 2:
            raise DataError(f"forbidden holds {pair!r}; (from, to) is needed.")
        i, j = (int(states.numbers([x], "forbidden")[0]) for x in pair)
        closed[i, j] = True
    return closed


def read_transitions(
    data: Any,
    columns: Columns,
    categories: Labels | None,
    skip_bad: bool,
    ignore: Sequence[str] = (),
) -> tuple[Categories, FloatArray]:
    """Read the states, and the number of moves between any two; nan where a table forbids one."""
    if isinstance(data, np.ndarray) and data.ndim == 2:
        return _read_matrix(data, categories, skip_bad)
    if not is_frame(data):
        return _read_sequences(as_sequences(data), categories)
    source = leave_out(source_of(data), ignore)
    if not any(columns.values()) and is_square(source):
        return _read_matrix(source, categories, skip_bad, source.names[0])
    found = TRANSITIONS.require(source.names, columns)
    inspection = TRANSITIONS.inspect(source, found)
    read = _read_moves if found.layout == "moves" else _read_moments
    return read(inspection, categories, skip_bad)


def _read_moves(
    inspection: Inspection, categories: Labels | None, skip_bad: bool
) -> tuple[Categories, FloatArray]:
    """Read a move a row."""
    ends = [inspection.labels(role) for role in ("source", "target")]
    for column, which in zip(ends, ("from", "to"), strict=True):
        inspection.refuse(column.missing, lambda i, w=which: f"the state {w} is missing.")  # type: ignore[misc]
    times = inspection.counts()
    usable = inspection.settle(skip_bad)
    at, to = (column.take(usable) for column in ends)
    states = all_categories([*at.present(), *to.present()], categories)
    return states, _matrix(states, at, to, times[usable])


def _read_moments(
    inspection: Inspection, categories: Labels | None, skip_bad: bool
) -> tuple[Categories, FloatArray]:
    """Read a moment a row: the state of a sequence, and its time where there is one."""
    runs = inspection.rows
    assert isinstance(runs, Runs)
    states = inspection.labels("state")
    labels, missing = states.tolist(), states.missing
    order: IntArray = np.arange(len(states))
    if "time" in inspection:
        missing = missing | inspection["time"].missing
        order = _order_in_time(inspection, runs, missing)
    sequences = []
    for i, span in enumerate(runs.spans()):
        if missing[span].any():
            inspection.refuse_row(i, "a state or its time is missing.")
        sequences.append([labels[k] for k in order[span].tolist()])
    usable = inspection.settle(skip_bad)
    kept = [s for s, good in zip(sequences, usable.tolist(), strict=True) if good]
    return _read_sequences(kept, categories, runs.repeats[usable])


def _order_in_time(inspection: Inspection, runs: Runs, missing: BoolArray) -> IntArray:
    """Sort the moments of each sequence, no two of which may be the same."""
    moments = _moments(inspection["time"])
    owner = np.repeat(np.arange(len(runs)), np.diff(runs.starts))
    order = np.lexsort((moments, owner))
    twice = (np.diff(moments[order]) == 0) & (np.diff(owner) == 0) & ~missing[order][1:]
    for i in set(owner[1:][twice].tolist()):
        inspection.refuse_row(i, "two states have the same time in one sequence.")
    return order


def _moments(when: Column) -> FloatArray:
    """Read times as numbers, also in a file of text; other values are numbered in their order."""
    numbers, wrong = when.numbers()
    if not wrong.any():
        return numbers
    there = [value for value in when.values if not is_missing(value)]
    rank = {value: float(k) for k, value in enumerate(in_order(there))}
    return np.asarray([rank.get(value, np.nan) for value in when.values])[when.codes]


def _read_matrix(
    data: Any, categories: Labels | None, skip_bad: bool, labels: str | None = None
) -> tuple[Categories, FloatArray]:
    """Read a square table, from the row to the column."""
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
    counts[np.ix_([place[r] for r in rows], [place[c] for c in columns])] = table.values
    return states, counts


def as_sequences(data: Any) -> list[list[Any]]:
    """Read one sequence of states, or several, as lists; a text is a sequence of characters."""
    refuse_path(data)
    if isinstance(data, str):
        return [list(data)]
    if not is_list(data):
        raise DataError(
            f"{describe_type(data)} was given; a sequence of states is needed, a list of "
            "sequences, a table of counts or a frame."
        )
    refuse_set(data, "a sequence of states")
    items = list(data)
    for item in items:
        if isinstance(item, set):  # a frozenset may be a state
            refuse_set(item, "a sequence of states")
    nested = [is_list(x) and not isinstance(x, (set, frozenset)) for x in items]
    if not any(nested):
        return [[stripped(hashable(x)) for x in items]]
    if not all(nested):
        raise DataError("some entries are sequences and some are states; give one or the other.")
    return [[stripped(hashable(label)) for label in x] for x in items]


def _read_sequences(
    sequences: list[list[Any]], categories: Labels | None, times: FloatArray | None = None
) -> tuple[Categories, FloatArray]:
    """Count the moves between neighbours of sequences, each of which occurs `times` times."""
    missing = next((k for k, s in enumerate(sequences) if any(map(is_missing, s))), None)
    if missing is not None:
        raise DataError(f"a state is missing in sequence {missing}; split the sequence there.")
    flat = Column.of([label for sequence in sequences for label in sequence])
    if not len(flat):
        raise DataError("the sequences are empty.")
    states = all_categories(flat.values, categories)
    owner = np.repeat(np.arange(len(sequences)), [len(s) for s in sequences])
    at = np.flatnonzero(owner[1:] == owner[:-1])
    each = np.ones(len(sequences)) if times is None else times
    return states, _matrix(states, flat.take(at), flat.take(at + 1), each[owner[at]])


def _matrix(states: Categories, at: Column, to: Column, times: FloatArray) -> FloatArray:
    """Sum the moves between any two states."""
    n = len(states)
    if n > _MOST_STATES:
        raise DataError(f"{n:,} states were found; at most 5,000 are read as transitions.")
    tally = Tally(states)
    moves = np.bincount(tally.numbers(at) * n + tally.numbers(to), times, n * n)
    return moves.astype(np.float64).reshape(n, n)
