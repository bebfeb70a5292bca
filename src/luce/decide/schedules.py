"""Fixtures to come: lists, frames and files of them, and round robins."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from luce._types import Label, Labels
from luce.counts.labels import Categories, describe, is_hashable, some
from luce.errors import DataError, listed
from luce.reading.frames import is_frame, source_of
from luce.reading.kind import check_column, find_roles, usual_columns
from luce.reading.kinds import PAIRS
from luce.reading.sources import PlainSource, Source
from luce.reading.values import is_list, is_missing, refuse_set

NEUTRAL = "neutral"
_HOMES = ("first", "second", NEUTRAL)


@dataclass(frozen=True)
class Schedule:
    """Fixtures to come.

    Attributes
    ----------
    pairs
        The two sides of each fixture.
    at_home
        Who has the advantage in each: "first", "second", or None.
    unused
        Columns of a frame that play no part.
    results
        Rows of the frame that hold results already; None where there are none.
    """

    pairs: tuple[tuple[Label, Label], ...]
    at_home: tuple[str | None, ...]
    unused: tuple[str, ...] = ()
    results: Source | None = None

    def __len__(self) -> int:
        return len(self.pairs)

    def take(self, kept: Iterable[int]) -> Schedule:
        """Select some fixtures."""
        numbers = list(kept)
        pairs = tuple(self.pairs[k] for k in numbers)
        return replace(self, pairs=pairs, at_home=tuple(self.at_home[k] for k in numbers))

    def renamed(self, names: Mapping[Label, Label]) -> Schedule:
        """Give some competitors other labels."""
        if not names:
            return self
        pairs = [(names.get(a, a), names.get(b, b)) for a, b in self.pairs]
        return replace(self, pairs=tuple(pairs))

    @property
    def competitors(self) -> list[Label]:
        """Those who take part, in the order in which they occur."""
        return list(dict.fromkeys(label for pair in self.pairs for label in pair))


def respelled(labels: Iterable[Label], known: Categories) -> dict[Label, Label]:
    """Map texts, as files have them, to the categories that print so, such as "1" to 1."""
    texts: dict[str, list[Label]] = {}
    for category in known:
        texts.setdefault(str(category), []).append(category)
    strange = [x for x in labels if isinstance(x, str) and x not in known.index]
    return {x: texts[x][0] for x in strange if len(texts.get(x, ())) == 1}


def round_robin(labels: Labels, double: bool = False) -> list[tuple[Label, Label]]:
    """List the fixtures of a round robin, in which all meet each other once.

    They come in rounds of the circle method: in each round everybody plays at most once, and a
    fixture's first side is at home about as often as its second.

    Parameters
    ----------
    labels
        The competitors.
    double
        Do all meet twice, once at each ground?

    Examples
    --------
    >>> import luce
    >>> luce.decide.round_robin("abcd")
    [('a', 'd'), ('c', 'b'), ('c', 'a'), ('b', 'd'), ('a', 'b'), ('d', 'c')]
    >>> len(luce.decide.round_robin("abc", double=True))
    6
    """
    known = list(Categories(labels))
    if len(known) < 2:
        raise DataError(f"a round robin needs two competitors at least; {some(known)} was given.")
    circle: list[int | None] = [*range(len(known))]
    circle += [None] * (len(circle) % 2)
    half = len(circle) // 2
    fixtures = []
    for turn in range(len(circle) - 1):
        for k, (i, j) in enumerate(zip(circle[:half], circle[: half - 1 : -1], strict=True)):
            if i is None or j is None:
                continue
            swap = turn % 2 == 1 if k == 0 else k % 2 == 1
            fixtures.append((known[j], known[i]) if swap else (known[i], known[j]))
        circle = [circle[0], circle[-1], *circle[1:-1]]
    return fixtures + ([(b, a) for a, b in fixtures] if double else [])


def read_schedule(
    given: Any, home: Any = None, item1: str | None = None, item2: str | None = None
) -> Schedule:
    """Read fixtures from a list of pairs or from a frame.

    Parameters
    ----------
    given
        Pairs (first, second), or a frame with a column for each of the two.  A frame may have
        columns of results, too: its rows with a result are no fixtures to come.
    home
        "first", "second" or "neutral" for all of them, a list of these with one for each, or a
        column that names who is at home, empty on neutral ground.
    item1, item2
        The columns, where their names are not usual ones.
    """
    if is_frame(given):
        return _of_source(source_of(given), home, item1, item2)
    for name, column in (("item1", item1), ("item2", item2)):
        if column is not None:
            raise DataError(f"{name} = {column!r} names a column; the fixtures have none.")
    if not is_list(given):
        raise DataError(
            f"fixtures = {describe(given)}; a list of pairs (first, second) or a frame is needed."
        )
    refuse_set(given, "fixtures")
    rows = given.tolist() if hasattr(given, "tolist") else given
    pairs = tuple(_pair(k, row) for k, row in enumerate(rows))
    if is_list(home):
        return Schedule(pairs, _each_home(list(home), len(pairs)))
    return Schedule(pairs, (_one_home(home),) * len(pairs))


def _pair(k: int, row: Any) -> tuple[Label, Label]:
    if not isinstance(row, (list, tuple)) or len(row) != 2:
        raise DataError(
            f"fixture {k} is {describe(row)}; a pair (first, second) is needed. Who is at home is "
            "told by home=..."
        )
    for side in row:
        if not is_hashable(side):
            raise DataError(f"fixture {k}: {describe(side)} is no side; a team is a tuple.")
    return row[0], row[1]


def _each_home(homes: list[Any], size: int) -> tuple[str | None, ...]:
    if len(homes) != size:
        raise DataError(f"home has {len(homes)} entries; there are {size} fixtures.")
    return tuple(_one_home(each) for each in homes)


def _one_home(given: Any) -> str | None:
    if given is None or (isinstance(given, str) and given == NEUTRAL):
        return None
    if not isinstance(given, str) or given not in _HOMES:
        raise DataError(
            f"home = {describe(given)}; {some(_HOMES)}, a list with one of these for each fixture, "
            "or a column of a frame of fixtures is needed."
        )
    return given


def _of_source(source: Source, home: Any, item1: str | None, item2: str | None) -> Schedule:
    roles = find_roles(source.names, {"item1": item1, "item2": item2}, ("item1", "item2"))
    if len(roles) < 2:
        raise DataError(
            f"the two sides of a fixture cannot be told: the columns are {some(source.names, 12)}. "
            "Name them with item1=... and item2=... (--item1, --item2)."
        )
    named = [role for role in ("item1", "item2") if {"item1": item1, "item2": item2}[role]]
    for role in set(roles) - set(named):
        taken = [x for x in usual_columns(source.names, role) if x not in roles.values()]
        if taken and roles[role] != taken[0]:
            raise DataError(
                f"{role} may be {roles[role]!r} or {some(taken)}; say which, as in "
                f"{role}={roles[role]!r}."
            )
    columns = read_columns(source, source.names)
    result = _column_of_results(source, roles)
    size = len(columns[roles["item1"]])
    to_come = [k for k in range(size) if result is None or is_missing(columns[result][k])]
    used = {*roles.values()}
    first, second = (columns[roles[role]] for role in ("item1", "item2"))
    for k in to_come:
        if is_missing(first[k]) or is_missing(second[k]):
            raise DataError(f"fixture in row {source.place(k)}: one of the two sides is missing.")
    if isinstance(home, str) and home not in _HOMES:
        used.add(check_column(source.names, "home", home))
        at_home = [_named_home(source, k, columns[home][k], first[k], second[k]) for k in to_come]
    elif is_list(home):
        every = _each_home(list(home), size)
        at_home = [every[k] for k in to_come]
    else:
        at_home = [_one_home(home)] * len(to_come)
    done = sorted(set(range(size)) - set(to_come))
    results = None
    if done:
        results = PlainSource({name: [x[k] for k in done] for name, x in columns.items()})
    unused = tuple(x for x in source.names if x not in used) if results is None else ()
    pairs = tuple((first[k], second[k]) for k in to_come)
    return Schedule(pairs, tuple(at_home), unused, results)


def read_columns(source: Source, names: Sequence[str]) -> dict[str, list[Any]]:
    """Read every row of some columns; refuse a file with lines that cannot be read."""
    given = source.columns(names)
    if source.problems:
        raise DataError(f"{source.name}: {listed(source.problems, source.unit)}")
    return {name: given[name].labels().tolist() for name in names}


def _column_of_results(source: Source, roles: dict[str, str]) -> str | None:
    """Find a column that tells results, which is empty for fixtures to come."""
    left = [name for name in source.names if name not in roles.values()]
    found = PAIRS.match([*roles.values(), *left], {**roles})
    if found is None:
        return None
    return found.roles[PAIRS.layouts[found.layout].needed[2]]


def _named_home(source: Source, k: int, named: Any, first: Label, second: Label) -> str | None:
    if is_missing(named):
        return None
    if named not in (first, second):
        raise DataError(
            f"fixture in row {source.place(k)}: {named!r} is at home; it must be {first!r} or "
            f"{second!r}, or be empty on neutral ground."
        )
    return "first" if named == first else "second"
