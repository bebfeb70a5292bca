"""Pair comparisons: who beat whom.

a beat b                       p_a / (p_a + p_b)
a beat b at home               h p_a / (h p_a + p_b)
a and b tied (Davidson)        ν √(p_a p_b) / (p_a + p_b + ν √(p_a p_b))

As entities, categories of their own:

a beat b at home               (p_a + p_home) / (p_a + p_home + p_b)
a and b tied                   p_tie / (p_a + p_b + p_tie)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from numbers import Real
from typing import Any

import numpy as np

from luce._types import Label, Labels
from luce.counts.labels import some
from luce.errors import DataError
from luce.reading.column_contents import numbers_of_wins
from luce.reading.frames import is_frame, source_of
from luce.reading.inspection import Inspection
from luce.reading.kind import Columns, Match, Reading, find_role, leave_out
from luce.reading.kinds import PAIRS
from luce.reading.rows import Column
from luce.reading.sides import (
    Meetings,
    SideOptions,
    count_meetings,
    inspect_sides,
    read_meetings,
)
from luce.reading.sources import PlainSource, Source
from luce.reading.tables import Table, is_square, read_table
from luce.reading.values import describe_type, is_list, refuse_set


@PAIRS.reader
def from_pairs(
    data: Any,
    *,
    winner: str | None = None,
    loser: str | None = None,
    item1: str | None = None,
    item2: str | None = None,
    wins1: str | None = None,
    wins2: str | None = None,
    tied: str | None = None,
    outcome: str | None = None,
    count: str | None = None,
    ties: str | None = None,
    home: str | None = None,
    home_effect: str = "multiplicative",
    tie_label: Label = None,
    home_label: Label = None,
    ignore: Sequence[str] = (),
    categories: Labels | None = None,
    skip_bad: bool = False,
) -> Reading:
    """Read pair comparisons.

    Parameters
    ----------
    data
        A frame (pandas, polars, pyarrow, duckdb, dask, pyspark), a mapping of columns, a list of
        records; a list of (winner, loser) or (winner, loser, count); a square table of wins, row
        over column, as a frame or as an array.
    winner, loser, item1, item2, wins1, wins2, tied, outcome, count
        Columns, where their names are not usual ones.  Either `winner` and `loser`; or `item1`,
        `item2` and how often each won, `wins1` and `wins2`, and how often neither, `tied`; or
        `item1`, `item2` and an `outcome` that names the winner (by label, by column, as 1 or 0,
        as W1 or W2) or a tie.  `count` says how often the row happened.
    ties
        Meaning of a tie, asked for where there are some: "davidson", a parameter for how often
        equals tie, and the less alike two are the rarer they tie; "rao-kupper", a parameter for how
        much better the winner must be; "entity", a tie is one more competitor; "half", half a win
        for each; or "drop", ties are left out, with a warning that says how many.
    home
        Who has an advantage: "first" or "second", the item of that number, or a column that
        names the item, empty where nobody has it, as on neutral ground.
    home_effect
        How the advantage acts: "multiplicative", a parameter multiplies the strength of who has it,
        the same for all; or "entity", one more category stands on that item's side.
    tie_label, home_label
        Labels of the categories of "entity", "tie" and "home" unless given.
    ignore
        Columns to leave out.  Any other column that is not read, and that holds numbers or times or
        names judges, is warned of.
    categories
        All labels in order; those that occur, sorted, unless given.
    skip_bad
        Leave bad rows out, with a warning that lists them?

    Examples
    --------
    >>> from_pairs([("a", "b"), ("a", "c"), ("b", "a")])
    ConditionalCounts(3 categories, 3 outcomes, 2 sets)
    >>> votes = {"model_a": ["x", "y"], "model_b": ["y", "z"], "winner": ["model_b", "tie"]}
    >>> from_pairs(votes, ties="davidson")
    ConditionalCounts(3 categories, 2 outcomes, 0 sets, 2 pairings: Davidson's ties)
    >>> from_pairs(votes, ties="entity").categories
    ('x', 'y', 'z', 'tie')

    Home and away, with the parameters that the likelihood then has:

    >>> games = {"home": ["a", "b", "a"], "away": ["b", "a", "c"], "result": ["H", "D", "A"]}
    >>> from_pairs(games, ties="davidson", home="first").parameters
    ('home', 'tie')
    """
    columns = PAIRS.columns(locals())
    options = SideOptions(ties, home, home_effect, tie_label, home_label, categories)
    meetings, _ = read_results(data, columns, options, ignore, skip_bad)
    counts, number = count_meetings(meetings, options)
    return PAIRS.reading(counts, number)


def read_results(
    data: Any,
    columns: Columns,
    options: SideOptions,
    ignore: Sequence[str] = (),
    skip_bad: bool = False,
) -> tuple[Meetings, str]:
    """Read the results of pair comparisons, and the name of the layout they are written in.

    The arguments are those of `from_pairs`, `columns` and `options` holding several of them.
    """
    source, found = _find_layout(data, columns, ignore, skip_bad)
    inspection = inspect_sides(PAIRS, source, found, options)
    sides = _read_sides(inspection, found)
    meetings = read_meetings(inspection, sides, sides, options, teams=False)
    return meetings.take(inspection.settle(skip_bad)), found.layout


def _find_layout(
    data: Any, columns: Columns, ignore: Sequence[str], skip_bad: bool
) -> tuple[Source, Match]:
    """Open the data and find its layout; a square table becomes rows of wins."""
    source = leave_out(_source(data), ignore)
    found = PAIRS.match(source.names, columns)
    if found is None and not any(columns.values()) and is_square(source):
        source = _source_of_frame_of_wins(source, skip_bad)
    found = found or PAIRS.require(source.names, columns)
    _refuse_two_readings(source, found, columns)
    return source, found


def _refuse_two_readings(source: Source, found: Match, columns: Columns) -> None:
    """Ask where columns that look like winner and loser stand beside two items."""
    if "winner" not in found.roles or (columns["winner"] and columns["loser"]):
        return
    rest = [column for column in source.names if column not in found.roles.values()]
    if all(find_role(rest, role) for role in ("item1", "item2")):
        raise DataError(
            f"the columns {some(source.names, 12)} may be read in two ways. Name them: winner=... "
            "and loser=..., or item1=..., item2=... and wins1=... or outcome=..."
        )
    _refuse_numbers_of_wins(source, {r: n for r, n in found.roles.items() if not columns[r]})


def _refuse_numbers_of_wins(source: Source, guessed: Mapping[str, str]) -> None:
    """Ask whether columns such as won and lost, if they hold numbers, name players."""
    names = {role: guessed[role] for role in ("winner", "loser") if role in guessed}
    head = source.head(list(names.values())) if names else {}
    for role, name in names.items():
        if reason := numbers_of_wins(role, name, head[name]):
            raise DataError(f"{reason}. Say {role}={name!r} if it names the {role}.")


def _read_sides(inspection: Inspection, found: Match) -> tuple[Column, Column]:
    """Read the two items of each row, which must be there and differ."""
    first, second = (inspection.labels(role) for role in PAIRS.layouts[found.layout].needed[:2])
    inspection.refuse(first.missing, lambda i: "the first of the two is missing.")
    inspection.refuse(second.missing, lambda i: "the second of the two is missing.")
    place = {value: k for k, value in enumerate(second.values)}
    same = np.asarray([place.get(value, -1) for value in first.values], np.int64)
    inspection.refuse(
        same[first.codes] == second.codes, lambda i: f"{first[i]!r} is compared with itself."
    )
    return first, second


def _source(data: Any) -> Source:
    """Open the data, and name the columns of lists of pairs and of square arrays."""
    if is_frame(data) or not is_list(data):
        return source_of(data)
    if isinstance(data, np.ndarray) and data.ndim == 2 and data.shape[0] == data.shape[1] > 1:
        return _source_of_wins(read_table(data))
    refuse_set(data, "pairs")
    rows = [_row(row) for row in data]
    if not rows:
        raise DataError("there are no pairs.")
    width = len(rows[0])
    wrong = next((i for i, row in enumerate(rows) if len(row) != width), None)
    if wrong is not None or width not in (2, 3):
        i = wrong or 0
        raise DataError(
            f"item {i} is {describe_type(data[i] if hasattr(data, '__getitem__') else rows[i])}; "
            "(winner, loser) is needed, or (winner, loser, count), the same for all."
        )
    if len(rows) == width == 3 and isinstance(data, list) and _all_numbers(data):
        raise DataError(
            "three lists of three numbers may be a table of wins or three pairs with their counts; "
            "give a table as an array, and pairs as tuples."
        )
    names = ("winner", "loser", "count")[:width]
    return PlainSource(dict(zip(names, map(list, zip(*rows, strict=True)), strict=True)))


def _row(given: Any) -> tuple[Any, ...]:
    refuse_set(given, "a pair")
    return tuple(given) if is_list(given) else (given,)


def _all_numbers(rows: list[Any]) -> bool:
    return all(isinstance(row, list) and all(isinstance(x, Real) for x in row) for row in rows)


def _source_of_frame_of_wins(source: Source, skip_bad: bool) -> Source:
    """Write a square table, whose first column names the rows, as rows of wins."""
    table = read_table(source, source.names[0], skip_bad=skip_bad)
    if len(set(table.rows)) < len(table.rows):
        raise DataError(
            f"a table of wins must be square, with each competitor in one row: {len(table.rows)} "
            f"rows ({some(table.rows)}) and {len(table.columns)} columns were given."
        )
    return _source_of_wins(table)


def _source_of_wins(table: Table) -> Source:
    """Write a square table as rows of item1, item2, wins1, without its diagonal.

    Two who have nothing in their cell never met.
    """
    by_text = {str(label).strip(): label for label in table.rows}
    columns = [by_text.get(str(label), label) for label in table.columns]
    wins = np.nan_to_num(table.values).tolist()
    cells = [
        (a, b, wins[i][j])
        for i, a in enumerate(table.rows)
        for j, b in enumerate(columns)
        if a != b
    ]
    names = ("item1", "item2", "wins1")
    return PlainSource(dict(zip(names, map(list, zip(*cells, strict=True)), strict=True)))
