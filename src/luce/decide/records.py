"""Results that stand: points, wins and points against each other of a season so far."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

import numpy as np

from luce._types import FloatArray, Label
from luce.counts.labels import as_mapping, plural, read_number, some
from luce.decide.standings import Points
from luce.errors import BadRowsError, DataError, IgnoredColumnsWarning, listed
from luce.reading.accounts import IGNORED
from luce.reading.frames import is_frame, source_of
from luce.reading.kind import Columns, find_role
from luce.reading.kinds import PAIRS
from luce.reading.pairs import read_results
from luce.reading.sides import SideOptions
from luce.reading.sources import Source
from luce.reading.values import is_missing

# Usual names of columns of a table of points, as `find_role` takes them.
_COMPETITOR = "competitor team club player side item name label"
_POINTS, _WINS = "points pts", "wins won w"


@dataclass(frozen=True)
class Record:
    """Results that stand.

    Attributes
    ----------
    points
        Points of each competitor.
    wins
        Numbers of wins; None where a table of points does not tell them.
    meetings
        First side, second side, wins of the first, wins of the second, and ties; None where a table
        of points was given.
    ordered
        Do the results tell which side was the first?
    unused
        Columns that play no part.
    """

    points: dict[Label, float]
    wins: dict[Label, float] | None
    meetings: tuple[tuple[Label, Label, float, float, float], ...] | None
    ordered: bool = True
    unused: tuple[str, ...] = ()

    @property
    def games(self) -> float:
        """Number of results."""
        return sum(sum(each[2:]) for each in self.meetings or ())

    @property
    def ties(self) -> float:
        """Number of ties among the results."""
        return sum(each[4] for each in self.meetings or ())

    @property
    def words(self) -> str:
        """The size of the record in words."""
        if self.meetings is None:
            return f"a table of points of {plural(len(self.points), 'competitor')} stands"
        return f"{plural(self.games, 'result')} {'stands' if self.games == 1 else 'stand'}"

    def renamed(self, names: Mapping[Label, Label]) -> Record:
        """Give some competitors other labels."""
        if not names:
            return self
        points = {names.get(x, x): value for x, value in self.points.items()}
        wins, meetings = self.wins, self.meetings
        if wins is not None:
            wins = {names.get(x, x): value for x, value in wins.items()}
        if meetings is not None:
            meetings = tuple(
                (names.get(x[0], x[0]), names.get(x[1], x[1]), *x[2:]) for x in meetings
            )
        return replace(self, points=points, wins=wins, meetings=meetings)

    def met(self) -> Counter[tuple[Label, Label]]:
        """Count the meetings of first and second side, rounded up to whole numbers."""
        found: Counter[tuple[Label, Label]] = Counter()
        for a, b, *results in self.meetings or ():
            found[a, b] += int(np.ceil(sum(results)))
        return found

    def against(self, number: Mapping[Label, int], points: Points) -> FloatArray:
        """Compute the points that each competitor won against each other."""
        out = np.zeros((len(number), len(number)))
        for a, b, won, lost, tied in self.meetings or ():
            i, j = number[a], number[b]
            out[i, j] += won * points.win + lost * points.loss + tied * points.tie
            out[j, i] += lost * points.win + won * points.loss + tied * points.tie
        return out


NOTHING = Record({}, {}, ())


def read_record(given: Any, points: Points, columns: Columns = MappingProxyType({})) -> Record:
    """Read results that stand, or a table of points so far.

    Parameters
    ----------
    given
        Results, as `luce.from_pairs` reads them; or a mapping from competitors to points; or a
        frame with columns of competitors, points and, perhaps, wins.
    points
        Points for the results.
    columns
        Columns of the two sides, "item1" and "item2", where a frame has columns so called.
    """
    if given is None:
        return NOTHING
    if not isinstance(given, Source):
        table = as_mapping(given, "played")
        if isinstance(table, Mapping) and not any(map(_is_column, table.values())):
            if not table:
                return NOTHING
            return Record({x: _number(v, x) for x, v in table.items()}, None, None)
        if isinstance(given, (list, tuple)) and not given:
            return NOTHING
    if is_frame(given):
        source = source_of(given)
        if find_role(source.names, _POINTS) and find_role(source.names, _COMPETITOR):
            return _of_table(source)
        return _of_results(source, points, columns)
    return _of_results(given, points)


def _is_column(value: Any) -> bool:
    return hasattr(value, "__len__") and not isinstance(value, str)


def _number(value: Any, label: Label) -> float:
    """Read the points of a competitor."""
    try:
        return read_number(value, label)
    except DataError:
        raise DataError(
            f"played: the points of {label!r} are {value!r}; a number is needed."
        ) from None


def _of_table(source: Source) -> Record:
    roles = [find_role(source.names, role) for role in (_COMPETITOR, _POINTS, _WINS)]
    names = [name for name in roles if name is not None]
    read = source.columns(names)
    labels = read[names[0]].labels().tolist()
    missing = next((k for k, label in enumerate(labels) if is_missing(label)), None)
    if missing is not None:
        raise DataError(f"played: row {source.place(missing)} names no competitor.")
    if len(set(labels)) < len(labels):
        twice = [label for label, times in Counter(labels).items() if times > 1]
        raise DataError(f"played: {some(twice)} stand twice in the table of points.")
    columns = []
    for name in names[1:]:
        values = [None if is_missing(x) else x for x in read[name].tolist()]
        numbers, wrong = read[name].numbers()
        for k, (value, number) in enumerate(zip(values, numbers.tolist(), strict=True)):
            if wrong[k] or not np.isfinite(number):
                _number(value if value != number else None, labels[k])
        columns.append(dict(zip(labels, numbers.tolist(), strict=True)))
    unused = tuple(name for name in source.names if name not in names)
    return Record(columns[0], columns[1] if len(columns) > 1 else None, None, unused=unused)


def _of_results(given: Any, points: Points, columns: Columns = MappingProxyType({})) -> Record:
    if isinstance(given, Source):
        columns = {role: name for role, name in columns.items() if name in given.names}
    with warnings.catch_warnings():  # a season tells which columns it did not use
        warnings.simplefilter("ignore", IgnoredColumnsWarning)
        try:
            read, layout = read_results(given, PAIRS.columns(columns), SideOptions())
        except BadRowsError as error:  # none can be left out here
            where = f"{error.source}: " if error.source else ""
            raise DataError(f"played: {where}{listed(error.problems, error.unit)}") from None
        except DataError as error:
            error.args = (f"played: {error}",)
            raise
    table: dict[Label, float] = {}
    wins: dict[Label, float] = {}
    numbers = (x.tolist() for x in (read.wins1, read.wins2, read.ties))
    rows = tuple(zip(read.first.tolist(), read.second.tolist(), *numbers, strict=True))
    for a, b, won, lost, tied in rows:
        for label, up, down in ((a, won, lost), (b, lost, won)):
            gained = up * points.win + down * points.loss + tied * points.tie
            table[label] = table.get(label, 0.0) + gained
            wins[label] = wins.get(label, 0.0) + up
    unused: tuple[str, ...] = ()
    if isinstance(given, Source):
        unused = tuple(name for name, use in given.uses.items() if use.startswith(IGNORED))
    return Record(table, wins, rows, layout != "winner and loser", unused)
