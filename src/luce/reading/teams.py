"""Teams: a side beats a side.

A beats B                      p(A) / p(A and B together)
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from luce._types import Label, Labels
from luce.errors import DataError
from luce.reading.columns import Column, hashable, is_list
from luce.reading.duels import MEANINGS, DuelOptions, Duels, count_duels, read_home, read_results
from luce.reading.given import describe_type, is_frame, source_of
from luce.reading.label_lists import Separator, read_label_lists
from luce.reading.reading import Inspection, Reading, reader, require_rows
from luce.reading.roles import check_column, first_layout, no_layout
from luce.reading.sources import PlainSource, Source
from luce.reading.tables import is_unnamed
from luce.reading.ties import check_ties

LAYOUTS = {
    "winners and losers": (["winners", "losers"], ["count"]),
    "numbers of wins": (["side1", "side2", "wins1"], ["wins2", "tied"]),
    "outcomes": (["side1", "side2", "outcome"], ["count"]),
}


@reader("teams")
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
    separator: Separator = None,
    ties: str | None = None,
    home: str | None = None,
    tie_label: Label = "tie",
    home_label: Label = "home",
    categories: Labels | None = None,
    skip_bad: bool = False,
) -> Reading:
    """Read matches between teams, whose members' strengths add up.

    Parameters
    ----------
    data
        A list of (winners, losers) or (winners, losers, count), each side a list of labels; or a
        frame, where a side is a list or a text with separators.  A frame with a column for each
        player, 1 for the winning side, 0 for the losing one and nothing for who did not play, is
        read too.
    winners, losers, side1, side2, wins1, wins2, tied, outcome, count
        Columns, as in `from_pairs`.
    separator
        What stands between labels in a text; found where there is one of | ; + , unless given.
    ties, home, tie_label, home_label, categories, skip_bad
        As in `from_pairs`.

    Examples
    --------
    >>> from_teams([(["ann", "bo"], ["cy", "di"]), (["cy"], ["bo"])])
    ConditionalCounts(4 categories, 2 outcomes, 2 sets)
    """
    columns = {"winners": winners, "losers": losers, "side1": side1, "side2": side2, "wins1": wins1,
               "wins2": wins2, "tied": tied, "outcome": outcome, "count": count}  # fmt: skip
    options = DuelOptions(ties, home, tie_label, home_label, categories)
    return _read(data, columns, options, separator, skip_bad)


def _read(
    data: Any,
    columns: Mapping[str, str | None],
    options: DuelOptions,
    separator: Separator = None,
    skip_bad: bool = False,
) -> Reading:
    """Read matches between teams, and say how many there were."""
    check_ties(options.ties, MEANINGS)
    source = _source(data)
    layout = first_layout(source.names, columns, LAYOUTS)
    if layout is None:
        if not any(columns.values()) and len(source.names) >= 2:
            return _read_players(source, options, skip_bad)
        raise no_layout("matches", source.names, LAYOUTS, "; or a column for each player")
    name, roles = layout
    if name == "winners and losers" and options.home in ("first", "second"):
        raise DataError(
            f"home = {options.home!r}, but winners and losers do not say who was the first side."
        )
    keys = [roles[r] for r in ("winners", "losers", "side1", "side2", "outcome") if r in roles]
    if options.home not in (None, "first", "second"):
        keys.append(check_column(source.names, "home", str(options.home)))
    numbers = [roles[r] for r in ("wins1", "wins2", "tied", "count") if r in roles]
    rows = source.distinct(list(dict.fromkeys(keys)), numbers)
    require_rows(source, rows)
    inspection = Inspection(len(rows))
    raw = [
        rows[roles[a] if a in roles else roles[b]]
        for a, b in (("winners", "side1"), ("losers", "side2"))
    ]
    sides = [
        read_label_lists(column, separator, inspection, which)
        for column, which in zip(raw, ("the first side", "the second side"), strict=True)
    ]
    _refuse_both_sides(sides, inspection)
    results = read_results(rows, roles, raw[0], raw[1], inspection)
    at_home = read_home(rows, options.home, raw[0], raw[1], inspection)
    duels = Duels(sides[0], sides[1], *results, at_home, teams=True)
    return count_duels(duels.take(inspection.settle(source, rows, skip_bad)), options)


def _source(data: Any) -> Source:
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
    return PlainSource({
        "winners": [_side(match[0]) for match in matches],
        "losers": [_side(match[1]) for match in matches],
        "count": [match[2] if len(match) == 3 else 1 for match in matches],
    })  # fmt: skip


def _side(given: Any) -> tuple[Any, ...]:
    if not is_list(given):
        raise DataError(f"{describe_type(given)} was given as a side; a list of labels is needed.")
    return tuple(hashable(label) for label in given)


def _read_players(source: Source, options: DuelOptions, skip_bad: bool) -> Reading:
    """A column for each player: 1 on the winning side, 0 on the losing one, else not there."""
    if options.home is not None:
        raise DataError(
            f"home = {options.home!r}, but a column for each player does not say who was at home."
        )
    names = [name for name in source.names if not is_unnamed(name)]  # numbers of rows, in R
    rows = source.distinct(names)
    require_rows(source, rows)
    inspection = Inspection(len(rows))
    marks = []
    for name in names:
        values, wrong = rows[name].numbers()
        bad = wrong | ~(np.isnan(values) | np.isin(values, (0.0, 1.0)))
        inspection.refuse(
            bad,
            lambda i, n=name: (
                f"{n} is {rows[n][i]!r}; 1 for the winning side, 0 for the losing "  # type: ignore[misc]
                "one, or nothing is needed."
            ),
        )
        marks.append(values)
    table = np.stack(marks, axis=1)
    sides = []
    for mark, which in ((1.0, "wins"), (0.0, "loses")):
        inspection.refuse(~(table == mark).any(axis=1), lambda i, w=which: f"nobody {w}.")  # type: ignore[misc]
        members = np.empty(len(rows), object)
        members[:] = [tuple(names[j] for j in np.flatnonzero(row == mark)) for row in table]
        sides.append(Column.of(members))
    nothing = np.zeros(len(rows))
    home = np.zeros(len(rows), np.int64)
    duels = Duels(sides[0], sides[1], rows.repeats, nothing, nothing, home, teams=True)
    return count_duels(duels.take(inspection.settle(source, rows, skip_bad)), options)


def _refuse_both_sides(sides: list[Column], inspection: Inspection) -> None:
    first, second = sides
    for i in np.flatnonzero(inspection.usable).tolist():
        both = set(first[i]) & set(second[i])
        if both:
            inspection.refuse_row(i, f"{next(iter(both))!r} plays on both sides.")
