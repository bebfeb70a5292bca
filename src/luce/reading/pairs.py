"""Pair comparisons: who beat whom.

a beat b                       p_a / (p_a + p_b)
a beat b at home               (p_a + p_home) / (p_a + p_home + p_b)
a and b tied, as an entity     p_tie / (p_a + p_b + p_tie)
"""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Real
from typing import Any

import numpy as np

from luce._types import Label, Labels
from luce.counts.labels import some
from luce.errors import DataError
from luce.reading.columns import as_labels, is_list
from luce.reading.duels import (
    MEANINGS,
    DuelOptions,
    Duels,
    count_duels,
    read_home,
    read_results,
)
from luce.reading.given import describe_type, is_frame, source_of, with_named_rows
from luce.reading.reading import Inspection, Reading, reader, require_rows
from luce.reading.roles import check_column, find_role, first_layout, no_layout
from luce.reading.sources import PlainSource, Source
from luce.reading.ties import check_ties
from luce.reading.win_matrix import is_square, pairs_of_array, pairs_of_matrix

LAYOUTS = {
    "winner and loser": (["winner", "loser"], ["count"]),
    "numbers of wins": (["item1", "item2", "wins1"], ["wins2", "tied"]),
    "outcomes": (["item1", "item2", "outcome"], ["count"]),
}


@reader("pairs")
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
    tie_label: Label = "tie",
    home_label: Label = "home",
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
        What a tie means, asked for where there are some: "entity", a tie is one more competitor,
        or "half", half a win for each.
    home
        Who has an advantage: "first" or "second", the item of that number, or a column that
        names the item, empty where nobody has it.  The advantage is one more category on that
        item's side.
    tie_label, home_label
        Labels of these two additional categories.
    categories
        All labels in order, where they are not just those that occur.
    skip_bad
        Leave rows out that cannot be used, with a warning that lists them?

    Examples
    --------
    >>> from_pairs([("a", "b"), ("a", "c"), ("b", "a")])
    ConditionalCounts(3 categories, 3 outcomes, 2 sets)
    >>> votes = {"model_a": ["x", "y"], "model_b": ["y", "z"], "winner": ["model_b", "tie"]}
    >>> from_pairs(votes, ties="entity").categories
    ('x', 'y', 'z', 'tie')
    """
    columns = {
        "winner": winner, "loser": loser, "item1": item1, "item2": item2, "wins1": wins1,
        "wins2": wins2, "tied": tied, "outcome": outcome, "count": count,
    }  # fmt: skip
    options = DuelOptions(ties, home, tie_label, home_label, categories)
    return _read(data, columns, options, skip_bad)


def _read(
    data: Any, columns: Mapping[str, str | None], options: DuelOptions, skip_bad: bool = False
) -> Reading:
    """Read pair comparisons, and say how many there were."""
    check_ties(options.ties, MEANINGS)
    source = _source(data)
    layout = first_layout(source.names, columns, LAYOUTS)
    if layout is None and not any(columns.values()):
        table = source_of(with_named_rows(data)) if is_frame(data) else source
        if is_square(table):
            source = pairs_of_matrix(table, skip_bad)
            layout = first_layout(source.names, columns, LAYOUTS)
    if layout is None:
        raise no_layout("pairs", source.names, LAYOUTS, "; or a square table of wins")
    name, roles = layout
    rest = [column for column in source.names if column not in roles.values()]
    if (
        name == "winner and loser"
        and not (columns.get("winner") and columns.get("loser"))
        and all(find_role(rest, role) for role in ("item1", "item2"))
    ):
        raise DataError(
            f"the columns {some(source.names, 12)} may be read in two ways. Name them: winner=... "
            "and loser=..., or item1=..., item2=... and wins1=... or outcome=..."
        )
    if name == "winner and loser" and options.home in ("first", "second"):
        raise DataError(
            f"home = {options.home!r}, but winner and loser do not say who was the first: give "
            "the column that names who was at home."
        )
    keys = [roles[r] for r in ("winner", "loser", "item1", "item2", "outcome") if r in roles]
    if options.home not in (None, "first", "second"):
        keys.append(check_column(source.names, "home", str(options.home)))
    numbers = [roles[r] for r in ("wins1", "wins2", "tied", "count") if r in roles]
    rows = source.distinct(list(dict.fromkeys(keys)), numbers)
    require_rows(source, rows)
    inspection = Inspection(len(rows))
    first, second = (
        as_labels(rows[roles[a] if a in roles else roles[b]])
        for a, b in (("winner", "item1"), ("loser", "item2"))
    )
    inspection.refuse(first.missing, lambda i: "the first of the two is missing.")
    inspection.refuse(second.missing, lambda i: "the second of the two is missing.")
    place = {value: k for k, value in enumerate(second.values)}
    same = np.asarray([place.get(value, -1) for value in first.values], np.int64)
    inspection.refuse(
        same[first.codes] == second.codes, lambda i: f"{first[i]!r} is compared with itself."
    )
    results = read_results(rows, roles, first, second, inspection)
    at_home = read_home(rows, options.home, first, second, inspection)
    duels = Duels(first, second, *results, at_home, teams=False)
    return count_duels(duels.take(inspection.settle(source, rows, skip_bad)), options)


def _all_numbers(rows: list[Any]) -> bool:
    return all(isinstance(row, list) and all(isinstance(x, Real) for x in row) for row in rows)


def _source(data: Any) -> Source:
    """Name the columns of what has none: lists of pairs, and square arrays."""
    if is_frame(data):
        return source_of(data)
    if isinstance(data, np.ndarray) and data.ndim == 2 and data.shape[0] == data.shape[1] > 1:
        return pairs_of_array(data)
    if not is_list(data):
        return source_of(data)
    rows = [tuple(row) if is_list(row) else (row,) for row in data]
    if not rows:
        raise DataError("there are no pairs.")
    wrong = next((i for i, row in enumerate(rows) if len(row) != len(rows[0])), None)
    if wrong is not None or len(rows[0]) not in (2, 3):
        i = wrong or 0
        raise DataError(
            f"item {i} is {describe_type(data[i] if hasattr(data, '__getitem__') else rows[i])}; "
            "(winner, loser) is needed, or (winner, loser, count), the same for all."
        )
    if len(rows) == len(rows[0]) == 3 and isinstance(data, list) and _all_numbers(data):
        raise DataError(
            "three lists of three numbers may be a table of wins or three pairs with their counts; "
            "give a table as an array, and pairs as tuples."
        )
    names = ["winner", "loser", "count"][: len(rows[0])]
    return PlainSource(dict(zip(names, map(list, zip(*rows, strict=True)), strict=True)))
