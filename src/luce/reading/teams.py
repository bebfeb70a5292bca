"""Teams: a side of several beats a side of several.

A beats B                      p(A) / p(A and B together)
A beats B at home              h p(A) / (h p(A) + p(B))
A and B tie (Davidson)         ν √(p(A) p(B)) / (p(A) + p(B) + ν √(p(A) p(B)))
members have weights           Σ_A a_i p_i / (Σ_A a_i p_i + Σ_B a_j p_j)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from luce._types import BoolArray, FloatArray, Label, Labels
from luce.counts.labels import plural
from luce.errors import DataError
from luce.reading.frames import is_frame, source_of
from luce.reading.inspection import Inspection
from luce.reading.kind import Match, Reading, leave_out
from luce.reading.kinds import TEAMS
from luce.reading.rows import Column
from luce.reading.sides import (
    Meetings,
    SideOptions,
    count_meetings,
    inspect_sides,
    read_meetings,
)
from luce.reading.sources import PlainSource, Source
from luce.reading.values import (
    as_number,
    describe_type,
    find_separator,
    hashable,
    in_order,
    is_list,
    is_missing,
    is_unnamed,
    objects,
)

# Largest weight of a member, and the inverse of the smallest, so that sums stay doubles.
_MOST_WEIGHT = 1e50


@TEAMS.reader
def from_teams(
    data: Any,
    *,
    winners: str | None = None,
    losers: str | None = None,
    side1: str | None = None,
    side2: str | None = None,
    wins1: str | None = None,
    wins2: str | None = None,
    tied: str | None = None,
    outcome: str | None = None,
    count: str | None = None,
    weights1: str | None = None,
    weights2: str | None = None,
    separator: str | None = None,
    ties: str | None = None,
    home: str | None = None,
    home_effect: str = "multiplicative",
    tie_label: Label = None,
    home_label: Label = None,
    ignore: Sequence[str] = (),
    categories: Labels | None = None,
    skip_bad: bool = False,
) -> Reading:
    """Read matches between teams, whose members' strengths add up.

    Parameters
    ----------
    data
        A list of (winners, losers) or (winners, losers, count), each side a list of labels or a
        mapping from labels to weights; or a frame, where a side is a list or a text with
        separators, and in columns of plain lists also a mapping.  A frame with a column for each
        player, 1 for the winning side, 0 for the losing one and nothing for who did not play, is
        read too.
    winners, losers, side1, side2, wins1, wins2, tied, outcome, count
        Columns, as in `from_pairs`.
    weights1, weights2
        Columns with the weights of the first side's members (the winners') and of the second's, in
        the order of the labels: 1|0.5 where the second of two played half of the time.  A side's
        strength is then the sum of its members' strengths times their weights.
    separator
        Text between labels, and between weights; found where there is one of | ; + and comma,
        unless given.
    ties, home, home_effect, tie_label, home_label, ignore, categories, skip_bad
        As in `from_pairs`.

    Examples
    --------
    >>> from_teams([(["ann", "bo"], ["cy", "di"]), (["cy"], ["bo"])])
    ConditionalCounts(4 categories, 2 outcomes, 2 sets)

    Bo played for half of the match:

    >>> counts = from_teams([({"ann": 1, "bo": 0.5}, ["cy", "di"])])
    >>> print(counts.summary())
    4 categories, 1 outcome, 2 sets (6 stored members)
      1 outcome given {ann, 0.5 bo, cy, di}
      1 grouped outcome in {ann, 0.5 bo}
    """
    columns = TEAMS.columns(locals())
    options = SideOptions(ties, home, home_effect, tie_label, home_label, categories)
    source = leave_out(_source(data), ignore)
    found = TEAMS.match(source.names, columns)
    if found is not None and isinstance(source, PlainSource):
        source = _with_weights_apart(source, found)
        found = TEAMS.match(source.names, columns)
    if found is None and not any(columns.values()) and len(source.names) >= 2:
        inspection, meetings = _read_players(source, options)
    else:
        found = found or TEAMS.require(source.names, columns)
        inspection = inspect_sides(TEAMS, source, found, options)
        meetings = _read_sides(inspection, found, separator, options)
    counts, number = count_meetings(meetings.take(inspection.settle(skip_bad)), options)
    return TEAMS.reading(counts, number)


def _read_sides(
    inspection: Inspection, found: Match, separator: str | None, options: SideOptions
) -> Meetings:
    """Read two sides a row, each a list of labels, and the results."""
    one, two = TEAMS.layouts[found.layout].needed[:2]
    first = inspection.label_lists(one, separator, "the first side")
    second = inspection.label_lists(two, separator, "the second side")
    for i in np.flatnonzero(inspection.usable).tolist():
        both = set(first[i]) & set(second[i])
        if both:
            inspection.refuse_row(i, f"{in_order(both)[0]!r} plays on both sides.")
    named = inspection[one], inspection[two]
    weights = (
        _read_weights(inspection, "weights1", first, inspection[one], separator),
        _read_weights(inspection, "weights2", second, inspection[two], separator),
    )
    return read_meetings(inspection, (first, second), named, options, True, weights)


def _read_weights(
    inspection: Inspection, role: str, side: Column, given: Column, separator: str | None
) -> Column | None:
    """Read a list of weights for each row, one for each label of a side; 1 where none is given."""
    if role not in inspection:
        return None
    column, name = inspection[role], inspection.roles[role]
    texts = [value for value in column.values if isinstance(value, str)]
    between = separator if separator is not None else find_separator(texts)
    found = []
    for i in range(len(inspection)):
        value, labels = column[i], side[i]
        weights = _numbers(value, between, len(labels))
        if weights is None or len(weights) != len(labels):
            number = plural(len(labels), "number")
            inspection.refuse_row(i, f"{name} is {value!r}; {number} must be there, none negative.")
        elif isinstance(given[i], frozenset) and len(set(weights)) > 1:
            inspection.refuse_row(i, f"{name} has weights, but the side is a set without an order.")
        elif labels and not max(weights) > 0:
            inspection.refuse_row(i, f"{name} is {value!r}; somebody must have taken part.")
        good = weights is not None and len(weights) == len(labels)
        found.append(weights if good else (1.0,) * len(labels))
    return Column.of(objects(found))


def _numbers(value: Any, separator: str | None, number: int) -> tuple[float, ...] | None:
    """Read numbers from a list, a text or a single number; None if one is wrong."""
    if is_missing(value):
        return (1.0,) * number
    if isinstance(value, str):
        value = value.split(separator) if separator else [value]
    numbers = [as_number(x) for x in (value if is_list(value) else [value])]
    if any(x is None or not (x == 0 or 1 / _MOST_WEIGHT <= x <= _MOST_WEIGHT) for x in numbers):
        return None
    return tuple(x for x in numbers if x is not None)


def _source(data: Any) -> Source:
    """Open the data, and name the columns of a list of matches."""
    if is_frame(data) or not is_list(data):
        return source_of(data)
    matches = list(data)
    if not matches:
        raise DataError("there are no matches.")
    for i, match in enumerate(matches):
        if not isinstance(match, (list, tuple)) or len(match) not in (2, 3):
            raise DataError(
                f"match {i} is {describe_type(match)}; (winners, losers) or (winners, losers, "
                "count) is needed, each side a list."
            )
    columns: dict[str, list[Any]] = {
        "winners": [_side(match[0]) for match in matches],
        "losers": [_side(match[1]) for match in matches],
        "count": [match[2] if len(match) == 3 else 1 for match in matches],
    }
    for k, name in enumerate(("weights1", "weights2")):
        weights = [_weights(match[k]) for match in matches]
        if any(weights):
            columns[name] = weights
    return PlainSource(columns)


def _with_weights_apart(source: PlainSource, found: Match) -> PlainSource:
    """Move the weights of sides that are mappings into columns of their own."""
    for k, role in enumerate(TEAMS.layouts[found.layout].needed[:2]):
        side, name = found.roles[role], f"weights{k + 1}"
        given = source.values(side)
        if not any(isinstance(cell, Mapping) for cell in given):
            continue
        if name in found.roles:
            raise DataError(
                f"{side} maps players to weights, and {found.roles[name]} has weights too: give "
                "them in one of the two."
            )
        apart = [_side(cell) if isinstance(cell, Mapping) else cell for cell in given]
        source = source.replaced({side: apart, name: [_weights(cell) for cell in given]})
    return source


def _weights(given: Any) -> tuple[Any, ...] | None:
    """Return the weights of a side that is a mapping; None where all are 1."""
    if not isinstance(given, Mapping) or all(as_number(a) == 1.0 for a in given.values()):
        return None
    return tuple(hashable(a) for a in given.values())


def _side(given: Any) -> tuple[Any, ...]:
    if not is_list(given):
        raise DataError(f"{describe_type(given)} was given as a side; a list of labels is needed.")
    return tuple(hashable(label) for label in given)


def _read_players(source: Source, options: SideOptions) -> tuple[Inspection, Meetings]:
    """Read a column for each player: 1 on the winning side, 0 on the losing one."""
    if options.home is not None:
        raise DataError(
            f"home = {options.home!r}, but a column for each player does not say who was at home."
        )
    names = [n for n in source.names if not is_unnamed(n) and n not in source.index]
    rows = source.distinct(names)
    parts = dict.fromkeys(source.index, "names of rows") | dict.fromkeys(names, "player")
    inspection = Inspection(source, rows, {name: name for name in names}, parts)
    marks = np.stack([_marks(inspection, name) for name in names], axis=1)
    winners = _players(inspection, names, marks == 1.0, "nobody wins.")
    losers = _players(inspection, names, marks == 0.0, "nobody loses.")
    nothing = np.zeros(len(rows))
    home = np.zeros(len(rows), np.int64)
    return inspection, Meetings(winners, losers, rows.repeats, nothing, nothing, home, teams=True)


def _players(inspection: Inspection, names: list[str], on: BoolArray, sentence: str) -> Column:
    """List the players on one side of each row, and refuse rows where there is none."""
    nobody: BoolArray = ~on.any(axis=1)  # type: ignore[assignment]
    inspection.refuse(nobody, lambda i: sentence)
    return Column.of(objects(tuple(names[j] for j in np.flatnonzero(row)) for row in on))


def _marks(inspection: Inspection, name: str) -> FloatArray:
    """Read a player's column: 1, 0, or nan where the player did not take part."""
    column = inspection[name]
    values, wrong = column.numbers()
    inspection.refuse(
        wrong | ~(np.isnan(values) | np.isin(values, (0.0, 1.0))),
        lambda i: (
            f"{name} is {column[i]!r}; 1 for the winning side, 0 for the losing one, or nothing is "
            "needed."
        ),
    )
    return values
