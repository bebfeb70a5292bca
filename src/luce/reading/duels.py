"""Two sides meet, and one of them wins: pairs and teams alike.

side A beats side B            p(A) / p(A and B together)
A has the home advantage       the category "home" stands on A's side
a tie, as an entity            the category "tie" stands on neither side, and wins
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from luce._types import BoolArray, FloatArray, IntArray, Label, Labels
from luce.counts.labels import Categories
from luce.errors import DataError
from luce.reading.categories import all_categories
from luce.reading.columns import Column, Rows, Runs, as_labels
from luce.reading.lists import Lists
from luce.reading.outcomes import FIRST, SECOND, TIE, UNKNOWN, read_names, read_outcomes
from luce.reading.reading import Inspection, Reading
from luce.reading.tally import Tally
from luce.reading.ties import ask_for_meaning

MEANINGS = ("entity", "half")  # of a tie


@dataclass(frozen=True)
class DuelOptions:
    """What ties and home mean, and which categories there are."""

    ties: str | None = None
    home: str | None = None
    tie_label: Label = "tie"
    home_label: Label = "home"
    categories: Labels | None = None


@dataclass
class Duels:
    """Two sides a row, how often the first won, the second, and neither, and who is at home.

    The sides' values are labels, or tuples of labels where `teams` meet.
    """

    first: Column
    second: Column
    wins1: FloatArray
    wins2: FloatArray
    ties: FloatArray
    home: IntArray  # 0 for nobody, 1 for the first, 2 for the second
    teams: bool

    def take(self, rows: BoolArray) -> Duels:
        """Return some rows only."""
        if rows.all():
            return self
        return Duels(self.first.take(rows), self.second.take(rows), self.wins1[rows],
                     self.wins2[rows], self.ties[rows], self.home[rows], self.teams)  # fmt: skip


def read_results(
    rows: Rows, roles: dict[str, str], first: Column, second: Column, inspection: Inspection
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Read how often the first side won, the second, and neither, whichever way it is told."""
    n = len(rows)
    if "wins1" in roles:
        wins1, wins2, ties = (
            read_counts(rows, roles[role], inspection) if role in roles else np.zeros(n)
            for role in ("wins1", "wins2", "tied")
        )
        return wins1, wins2, ties
    times = read_counts(rows, roles["count"], inspection) if "count" in roles else rows.repeats
    if "outcome" not in roles:
        return times, np.zeros(n), np.zeros(n)
    outcome = rows[roles["outcome"]]
    result = read_outcomes(outcome, first, second, roles)
    inspection.refuse(outcome.missing, lambda i: "the outcome is missing.")
    inspection.refuse(
        result == UNKNOWN,
        lambda i: (
            f"the outcome is {outcome[i]!r}; it must name the winner, {first[i]!r} or "
            f"{second[i]!r}, or be a tie."
        ),
    )
    wins1, wins2, ties = (np.where(result == code, times, 0.0) for code in (FIRST, SECOND, TIE))
    return wins1, wins2, ties


def read_counts(rows: Rows, name: str, inspection: Inspection) -> FloatArray:
    """Read a column of numbers that count something, added up over repeats."""
    if name in rows.totals:
        return rows.totals[name]
    column = rows[name]
    values, wrong = column.numbers()
    inspection.refuse(wrong, lambda i: f"{name} is {column[i]!r}; a number is needed.")
    inspection.refuse(np.isnan(values), lambda i: f"{name} is missing; a number is needed.")
    inspection.refuse(values < 0, lambda i: f"{name} is {column[i]}; it cannot be negative.")
    inspection.refuse(
        values > 1e300, lambda i: f"{name} is {column[i]}; it must be finite and below 1e300."
    )
    return np.where(inspection.usable, np.nan_to_num(values) * rows.repeats, 0.0)


def run_counts(runs: Runs, name: str, inspection: Inspection) -> FloatArray:
    """Read how often each group of rows occurs: one number, the same in all of its rows."""
    column = runs[name]
    values, wrong = column.numbers()
    counts = np.zeros(len(runs))
    for i, span in enumerate(runs.spans()):
        first = values[span.start]
        if wrong[span.start] or not 0 <= first < 1e300:
            inspection.refuse_row(i, f"{name} is {column[span.start]!r}; a number is needed.")
        elif not (values[span.start : span.stop] == first).all():
            inspection.refuse_row(i, f"{name} differs between the rows of one group.")
        else:
            counts[i] = first * runs.repeats[i]
    return counts


def read_home(
    rows: Rows, home: str | None, first: Column, second: Column, inspection: Inspection
) -> IntArray:
    """Read who has the advantage: nobody, the side of that name, or whom a column names."""
    if home is None or home in ("first", "second"):
        return np.full(len(rows), ["first", "second"].index(home) + 1 if home else 0)
    named = as_labels(rows[home])
    result = read_names(named, first, second)
    side = np.where(result == FIRST, 1, np.where(result == SECOND, 2, 0))
    inspection.refuse(
        (side == 0) & ~named.missing,
        lambda i: (
            f"{home} is {named[i]!r}; it must name {first[i]!r} or {second[i]!r}, or be "
            "empty where nobody has the advantage."
        ),
    )
    return np.where(named.missing, 0, side)


def count_duels(duels: Duels, options: DuelOptions) -> Reading:
    """Add everything up."""
    ask_for_meaning(float(duels.ties.sum()), options.ties, MEANINGS)
    wins1, wins2, ties = duels.wins1, duels.wins2, duels.ties
    number = float((wins1 + wins2 + ties).sum())
    if options.ties == "half":
        wins1, wins2, ties = wins1 + ties / 2, wins2 + ties / 2, np.zeros(len(ties))
    categories = _categories(duels, options)
    tally = Tally(len(categories))
    if not duels.teams and not options.home and options.ties != "entity":
        first, second = (_single(side, categories) for side in (duels.first, duels.second))
        tally.add_pairs(first, second, -(wins1 + wins2))
        tally.add_outcomes(np.r_[first, second], np.r_[wins1, wins2])
        return Reading(tally.counts(list(categories)), number, "comparison")
    sides = []
    for k, side in enumerate((duels.first, duels.second), 1):
        members = _lists(side, categories, duels.teams)
        if options.home is not None:
            members = members.beside(_added(categories, options.home_label, duels.home == k))
        sides.append(members)
    for members, wins in zip(sides, (wins1, wins2), strict=True):
        _require_whole(wins[members.lengths > 1], options)
    everybody = sides[0].beside(sides[1])
    if options.ties == "entity":
        everywhere = np.ones(len(ties), np.bool_)
        everybody = everybody.beside(_added(categories, options.tie_label, everywhere))
        tally.add_outcomes(np.full(len(ties), categories.index[options.tie_label]), ties)
    tally.add_sets(everybody, -(wins1 + wins2 + ties))
    tally.add_groups(sides[0], wins1)
    tally.add_groups(sides[1], wins2)
    return Reading(tally.counts(list(categories)), number, "comparison")


def _require_whole(wins: FloatArray, options: DuelOptions) -> None:
    """A side of several wins whole games: half an outcome of a group is no outcome."""
    if (wins % 1 != 0).any():
        instead = "ties='entity' can." if options.ties == "half" else "Give whole numbers."
        raise DataError(
            "wins of teams, and of sides with a home advantage, are counted in whole numbers, each "
            f"being an outcome of one of several; fractions and half wins cannot be had. {instead}"
        )


def _categories(duels: Duels, options: DuelOptions) -> Categories:
    used: dict[Label, None] = {}
    for side in (duels.first, duels.second):
        for k in side.used():
            value = side.values[k]
            used.update(dict.fromkeys(value if duels.teams else (value,)))
    additional = [options.tie_label] if options.ties == "entity" else []
    additional += [options.home_label] if options.home is not None else []
    for label in additional:
        if label in used:
            raise DataError(
                f"{label!r} is a competitor already; give the additional category another name "
                "with tie_label or home_label."
            )
    return all_categories(used, options.categories, additional)


def _single(side: Column, categories: Categories) -> IntArray:
    known = [categories.index.get(value, -1) for value in side.values]
    return np.asarray(known, np.int64)[side.codes]


def _lists(side: Column, categories: Categories, teams: bool) -> Lists:
    if not teams:
        return Lists.singles(_single(side, categories))
    index = categories.index
    used = np.zeros(len(side.values), np.bool_)
    used[side.codes] = True
    sides = zip(side.values, used.tolist(), strict=True)
    return Lists.of([index[x] for x in v] if u else [] for v, u in sides).take(side.codes)


def _added(categories: Categories, label: Label, where: BoolArray) -> Lists:
    number = categories.index[label]
    return Lists.of([[], [number]]).take(where.astype(np.int64))
