"""A kind of data, as data: its layouts, the roles of columns, and the usual names of these."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, wraps
from importlib import import_module
from typing import Any, NamedTuple, ParamSpec, TypeAlias

from luce._types import Label
from luce.counts.counts import ConditionalCounts
from luce.counts.labels import plural, some
from luce.errors import DataError
from luce.reading.inspection import Inspection
from luce.reading.sources import Source

Counts: TypeAlias = ConditionalCounts | dict[Label, ConditionalCounts]
Columns: TypeAlias = Mapping[str, str | None]  # role -> the column that the user named, if any
_P = ParamSpec("_P")

# Usual names of the column that plays each role, the most usual first; compared without case,
# spaces, dots, dashes and underscores.
USUAL = {
    "winner": "winner won better preferred winning",
    "loser": "loser lost worse beaten losing",
    "item1": "item1 player1 team1 first left modela white home hometeam home.team karateka1 a i",
    "item2": "item2 player2 team2 second right modelb black away awayteam away.team karateka2 b j",
    "wins1": "wins1 win1 homewins w1 wij",
    "wins2": "wins2 win2 awaywins w2 wji",
    "tied": "ties draws tied drawn tij",
    "outcome": "outcome result winner label ftr",
    "count": "count n freq frequency times",
    "ranking": "ranking rankingid id race raceid ballot voter judge event contest heat",
    "item": "item driver competitor candidate athlete alternative name team player",
    "rank": "rank place position pos finish order",
    "order": "ranking order ordering ballot preference preferences ranked",
    "case": "case id chid choiceid obs observation situation caseid custom_id sessionid session "
    "qid choicesituation",
    "alternative": "alternative alt altid item option product mode",
    "chosen": "chosen choice choose selected picked pick purchased",
    "offered": "offered assortment available menu shelf choiceset set",
    "available": "avail available availability isavailable",
    "losers": "losers others rejected notchosen",
    "source": "from source origin fromstate",
    "target": "to target destination tostate",
    "sequence": "sequence seq seqid sequenceid id subject animal session",
    "time": "time t step frame month timestamp",
    "state": "state syllable behavior behaviour label activity",
    "side1": "side1 team1 left sidea home",
    "side2": "side2 team2 right sideb away",
    "winners": "winners winningteam winningside",
    "group": "group set oneof members answer",
    "within": "within given offered among",
}


class Layout(NamedTuple):
    """Columns of one way to write data down.

    Parameters
    ----------
    needed
        Roles that the layout is recognised by.
    optional
        Roles that it may have.
    grouped
        Whether one observation takes several rows, which share the value of the first role.
    """

    needed: tuple[str, ...]
    optional: tuple[str, ...] = ()
    grouped: bool = False

    @property
    def roles(self) -> tuple[str, ...]:
        """All roles, needed ones first."""
        return self.needed + self.optional


class Match(NamedTuple):
    """The layout that some columns fit, and the column of each role."""

    layout: str
    roles: dict[str, str]


class Reading(NamedTuple):
    """Counts, and the number of observations that they were made from: 36 rankings, say."""

    counts: Counts
    n_records: float
    noun: str

    def __str__(self) -> str:
        records = plural(self.n_records, self.noun)
        if isinstance(self.counts, dict):
            return f"{records}, one posterior for each of {len(self.counts):,} states"
        n = self.counts.n_categories
        return f"{records} among {plural(n, 'category', 'categories')}"


@dataclass(eq=False)
class Kind:
    """A kind of data: its layouts, the roles of its columns, and its reader.

    Parameters
    ----------
    name
        Name of the kind, as users give it: "pairs".
    noun
        One observation in words: "comparison".
    layouts
        Ways to write such data down; the first that the columns fit is taken.
    numbers
        Roles of columns that count something and may be summed over equal rows.
    column_options
        Options of the reader that name columns which are part of no layout: "home".
    besides
        Forms that have no layout here, in words, for the message that no layout fits.
    telling
        Names of columns of which one must be there before a table is *taken* for this kind.
    wide
        Tells from the names of columns whether they hold this kind in a form without a layout.
    module
        Where the reader is found; it is imported when first needed.
    """

    name: str
    noun: str
    layouts: Mapping[str, Layout]
    numbers: Sequence[str] = ("count",)
    column_options: Sequence[str] = ()
    besides: str = ""
    telling: frozenset[str] = frozenset()
    wide: Callable[[Sequence[str]], bool] = lambda names: False
    module: str = ""
    _function: Callable[..., Reading] | None = field(default=None, repr=False)

    @property
    def roles(self) -> list[str]:
        """Roles that columns can play in any layout."""
        every = (role for layout in self.layouts.values() for role in layout.roles)
        return list(dict.fromkeys(every))

    def columns(self, arguments: Mapping[str, Any]) -> Columns:
        """Select, from a reader's arguments, the columns that the user named."""
        return {role: arguments.get(role) for role in self.roles}

    def match(self, names: Sequence[str], columns: Columns) -> Match | None:
        """Find the first layout whose needed columns are all there.

        Every role for which the user named a column must be part of the layout.
        """
        asked = {role for role, column in columns.items() if column is not None}
        for name, layout in self.layouts.items():
            if asked <= set(layout.roles):
                found = find_roles(names, columns, layout.roles)
                if all(role in found for role in layout.needed):
                    return Match(name, found)
        return None

    def require(self, names: Sequence[str], columns: Columns) -> Match:
        """Find the first layout that fits, or say which columns were looked for."""
        found = self.match(names, columns)
        if found is None:
            raise self.no_layout(names)
        return found

    def no_layout(self, names: Sequence[str], *layouts: Layout) -> DataError:
        """Say which columns were looked for, in some layouts or in all, and which there are."""
        wanted = layouts or tuple(self.layouts.values())
        listed = "; or ".join(", ".join(layout.needed) for layout in wanted)
        besides = f"; or {self.besides}" if self.besides and not layouts else ""
        first = wanted[0].needed[0]
        return DataError(
            f"the columns of these {self.name} cannot be told: they are {some(names, 12)}. Wanted: "
            f"{listed}{besides}. Name them, as in {first}='...' (--column {first}=...)."
        )

    def inspect(self, source: Source, found: Match, **also: str) -> Inspection:
        """Take the rows of a layout out of a source; `also` names columns of further roles."""
        layout = self.layouts[found.layout]
        roles = {role: found.roles[role] for role in layout.roles if role in found.roles} | also
        if layout.grouped:
            key, *others = roles.values()
            return Inspection(source, source.runs(key, others), roles)
        numbers = [roles[role] for role in self.numbers if role in roles]
        keys = [column for role, column in roles.items() if role not in self.numbers]
        return Inspection(source, source.distinct(list(dict.fromkeys(keys)), numbers), roles)

    def reader(self, function: Callable[_P, Reading]) -> Callable[_P, ConditionalCounts]:
        """Register the reader of this kind; the public function returns the counts alone."""
        self._function = function

        @wraps(function)
        def counts_only(*data: _P.args, **options: _P.kwargs) -> ConditionalCounts:
            return function(*data, **options).counts  # type: ignore[return-value]

        counts_only.__annotations__ = {**function.__annotations__, "return": "ConditionalCounts"}
        return counts_only

    def reading(self, counts: Counts, number: float) -> Reading:
        """Make a reading of counts and the number of observations behind them."""
        return Reading(counts, float(number), self.noun)

    @property
    def function(self) -> Callable[..., Reading]:
        """The reader, whose module is imported when first needed."""
        if self._function is None:
            import_module(self.module)
        assert self._function is not None
        return self._function

    @property
    def options(self) -> list[str]:
        """Names of all options of the reader."""
        return [name for name in inspect.signature(self.function).parameters if name != "data"]

    def read(self, data: Any, **options: Any) -> Reading:
        """Read data of this kind, with the options of its public function."""
        self.check_options(options)
        return self.function(data, **options)

    def check_options(self, options: Iterable[str]) -> None:
        """Refuse options that the reader does not have."""
        known = self.options
        for name in options:
            if name not in known:
                raise DataError(
                    f"{name} is no option for {self.name}; the options are {', '.join(known)}."
                )


@lru_cache(maxsize=1 << 17)  # asked for each role and each column, and tables can be wide
def plain(name: str) -> str:
    """Spell a column's name in small letters without spaces and punctuation."""
    return re.sub(r"[\W_]+", "", name).lower()


def find_role(names: Sequence[str], role: str) -> str | None:
    """Find the column of a role by one of its usual names, the most usual first."""
    known = {plain(name): name for name in reversed(names)}
    usual = map(plain, USUAL.get(role, role).split())
    return next((known[name] for name in usual if name in known), None)


def check_column(names: Sequence[str], role: str, column: str) -> str:
    """Refuse a column that is not there."""
    if column not in names:
        raise DataError(
            f"{role} = {column!r}: there is no such column; the columns are {some(names, 20)}."
        )
    return column


def find_roles(names: Sequence[str], given: Columns, wanted: Iterable[str]) -> dict[str, str]:
    """Find the columns of several roles: first those that the user named; none is used twice."""
    found = {
        role: check_column(names, role, column)
        for role, column in given.items()
        if column is not None
    }
    for role in wanted:
        if role not in found:
            left = [name for name in names if name not in found.values()]
            column = find_role(left, role)
            if column is not None:
                found[role] = column
    return found
