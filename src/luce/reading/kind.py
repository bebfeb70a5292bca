"""A kind of data, as data: its layouts, the roles of columns, and the usual names of these."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import wraps
from importlib import import_module
from types import MappingProxyType
from typing import Any, NamedTuple, ParamSpec, TypeAlias

from luce._types import Label
from luce.counts.counts import ConditionalCounts
from luce.counts.labels import plural, some
from luce.errors import DataError
from luce.reading.accounts import scores_in_words
from luce.reading.column_contents import Head, contradiction, is_key, repeats_within, same_values
from luce.reading.inspection import Inspection
from luce.reading.questions import Questions
from luce.reading.sources import Source, without
from luce.reading.values import plain, words_of

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
    "ranking": "ranking rankingid race raceid ballot voter judge event contest heat id",
    "item": "item driver competitor candidate athlete alternative name team player",
    "rank": "rank place position pos finish order",
    "order": "ranking order ordering ballot preference preferences ranked",
    "case": "case chid choiceid caseid casenum obs observation situation choicesituation custom_id "
    "qid sessionid session id",
    "alternative": "alternative alt altid altnum item option product mode",
    "chosen": "chosen choice chose choose selected picked pick purchased",
    "offered": "offered assortment available menu shelf choiceset set",
    "available": "avail available availability isavailable",
    "losers": "losers others rejected notchosen",
    "source": "from source origin fromstate",
    "target": "to target destination tostate",
    "sequence": "sequence seq seqid sequenceid subject animal session id",
    "time": "time t step frame month timestamp",
    "state": "state syllable behavior behaviour label activity",
    "side1": "side1 team1 left sidea home",
    "side2": "side2 team2 right sideb away",
    "winners": "winners winningteam winningside",
    "weights1": "weights1 winnerweights winnersweights side1weights team1weights",
    "weights2": "weights2 loserweights losersweights side2weights team2weights",
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
    """The layout that some columns fit, the column of each role, and the roles the user named."""

    layout: str
    roles: dict[str, str]
    named: frozenset[str] = frozenset()


class Reading(NamedTuple):
    """Counts, and the number of observations that they were made from: 36 rankings, say."""

    counts: Counts
    n_records: float
    noun: str
    uses: Mapping[str, str] = MappingProxyType({})  # what became of each column, in words
    left_out: str = ""  # observations that do not count, in words
    kind: str = ""  # the kind of data, of a file

    def __str__(self) -> str:
        return self._size() + (f"; left out: {self.left_out}" if self.left_out else "")

    def _size(self) -> str:
        records = plural(self.n_records, self.noun)
        if isinstance(self.counts, dict):
            return f"{records}, one posterior for each of {plural(len(self.counts), 'state')}"
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
        Finds columns that hold this kind in a form without a layout, and the part of each.
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
    wide: Callable[[Sequence[str]], dict[str, str]] = lambda names: {}
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
        asked = named_roles(columns)
        for name, layout in self.layouts.items():
            if asked <= set(layout.roles):
                found = find_roles(names, columns, layout.roles)
                if all(role in found for role in layout.needed):
                    return Match(name, found, asked)
        return None

    def require(self, names: Sequence[str], columns: Columns) -> Match:
        """Find the first layout that fits, or say which columns were looked for."""
        found = self.match(names, columns)
        if found is None:
            raise self.no_layout(names, columns=columns)
        return found

    def no_layout(
        self, names: Sequence[str], *layouts: Layout, columns: Columns | None = None
    ) -> DataError:
        """Say which columns were looked for, in some layouts or in all, and which there are."""
        wanted = layouts or tuple(self.layouts.values())
        listed = "; or ".join(", ".join(layout.needed) for layout in wanted)
        besides = f"; or {self.besides}" if self.besides and not layouts else ""
        first = wanted[0].needed[0]
        meant = self.suggestion(names, columns or {}, wanted)
        return DataError(
            f"the columns of these {self.name} cannot be told: they are {some(names, 12)}. Wanted: "
            f"{listed}{besides}. Name them, as in {first}='...' (--column {first}=...)."
            + (f" Did you mean {meant}?" if meant else "")
            + (scores_in_words(names) if self.name in ("pairs", "teams") else "")
        )

    def suggestion(
        self, names: Sequence[str], columns: Columns, layouts: Iterable[Layout] | None = None
    ) -> str:
        """Name columns that nearly have the usual names of a layout: "winner='Winer'"."""
        asked, best = named_roles(columns), ""
        for layout in layouts or self.layouts.values():
            if not asked <= set(layout.roles):
                continue
            found = find_roles(names, columns, layout.needed)
            left = [name for name in names if name not in found.values()]
            wanted = [role for role in layout.needed if role not in found]
            meant: dict[str, str] = {}
            for role in wanted:
                column = near_role([name for name in left if name not in meant.values()], role)
                meant |= {role: column} if column else {}
            words = ", ".join(f"{role}={column!r}" for role, column in meant.items())
            if meant and len(meant) == len(wanted):
                return words
            best = best or (words if found else "")
        return best

    def inspect(self, source: Source, found: Match, **also: str) -> Inspection:
        """Take the rows of a layout out of a source; `also` names columns of further roles."""
        layout = self.layouts[found.layout]
        self._ask_which(source, layout, found, also)
        roles = {role: found.roles[role] for role in layout.roles if role in found.roles} | also
        if layout.grouped:
            key, *others = roles.values()
            return Inspection(source, source.runs(key, others), roles)
        numbers = [roles[role] for role in self.numbers if role in roles]
        keys = [column for role, column in roles.items() if role not in self.numbers]
        return Inspection(source, source.distinct(list(dict.fromkeys(keys)), numbers), roles)

    def _ask_which(
        self, source: Source, layout: Layout, found: Match, also: Mapping[str, str]
    ) -> None:
        """Ask where another column has a usual name of a role too, and values that fit it."""
        taken = {*found.roles.values(), *also.values()}
        left = [name for name in source.names if name not in taken]
        others = {role: usual_columns(left, role) for role in found.roles}
        others = {r: names for r, names in others.items() if names and r not in found.named}
        if not others:
            return
        every = [*taken, *(name for names in others.values() for name in names)]
        head = source.head(list(dict.fromkeys(every)))
        with Questions() as questions:
            for role, names in others.items():
                rivals = [
                    x for x in names if not self.refuted(layout, {**found.roles, role: x}, head)
                ]
                rivals = [x for x in rivals if not same_values(role, head, found.roles[role], x)]
                if rivals:
                    questions.ask(_which(role, [found.roles[role], *rivals]))

    def refuted(self, layout: Layout, roles: Mapping[str, str], head: Head) -> str:
        """Say why the values of columns do not fit the roles of a layout; "" where they do."""
        for role, name in roles.items():
            if wrong := contradiction(role, head[name]):
                return f"{name!r} {wrong}"
        if not layout.grouped:
            return ""
        key, second = (roles[role] for role in layout.needed[:2])
        if not is_key(head[key]):
            return f"{key!r} differs in all rows, and gathers none"
        if layout.needed[1] in ("item", "alternative") and repeats_within(head[key], head[second]):
            return f"{second!r} comes back among the rows of one {key!r}"
        return ""

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
        known = self.options
        for name in options:
            if name not in known:
                raise DataError(self.no_option(name))
        return self.function(data, **options)

    def no_option(self, name: str) -> str:
        """Say that the reader has no such option, and which it has."""
        known = self.options
        return (
            f"{name} is no option for {self.name}; the options are {', '.join(known)}."
            f"{near(name, known)}"
        )


def usual_columns(names: Sequence[str], role: str) -> list[str]:
    """List the columns that have a usual name of a role, the most usual first."""
    known = {plain(name): name for name in reversed(names)}
    usual = dict.fromkeys(map(plain, USUAL.get(role, role).split()))
    return [known[name] for name in usual if name in known]


def find_role(names: Sequence[str], role: str) -> str | None:
    """Find the column of a role by one of its usual names, the most usual first."""
    return next(iter(usual_columns(names, role)), None)


def near_role(names: Sequence[str], role: str) -> str | None:
    """Find a column whose name is nearly a usual one of a role: Winer, winner_name."""
    usual = [name for name in map(plain, USUAL.get(role, role).split()) if len(name) > 2]
    for name in names:
        if set(words_of(name)) & set(usual):
            return name
    return next((name for name in names if get_close_matches(plain(name), usual, 1, 0.8)), None)


def near(given: str, known: Iterable[str]) -> str:
    """Suggest the known name that is nearest to a given one, as a question, or nothing."""
    spelled = {plain(name): name for name in known}
    found = get_close_matches(plain(given), spelled, 1, 0.6)
    return f" Did you mean {spelled[found[0]]!r}?" if found else ""


def no_column(names: Sequence[str], role: str, column: str) -> str:
    """Say that a column is not there, and which may be meant."""
    words = ("first", "second") if role == "home" else ()
    instead = ", and 'first' or 'second' says which item it is" if words else ""
    return (
        f"{role} = {column!r}: there is no such column; the columns are {some(names, 20)}{instead}."
        f"{near(column, (*words, *names))}"
    )


def check_column(names: Sequence[str], role: str, column: str) -> str:
    """Refuse a column that is not there."""
    if column not in names:
        raise DataError(no_column(names, role, column))
    return column


def leave_out(source: Source, ignore: Sequence[str]) -> Source:
    """Leave out the columns that the user does not want read, which must be there."""
    if isinstance(ignore, str):
        raise DataError(f"ignore = {ignore!r}; a list of columns is needed: [{ignore!r}].")
    with Questions() as questions:
        for column in ignore:
            if column not in source.names:
                questions.ask(no_column(source.names, "ignore", column))
    return without(source, ignore)


def named_roles(columns: Columns) -> frozenset[str]:
    """List the roles for which the user named a column."""
    return frozenset(role for role, column in columns.items() if column is not None)


def find_roles(names: Sequence[str], given: Columns, wanted: Iterable[str]) -> dict[str, str]:
    """Find the columns of several roles: first those that the user named; none is used twice."""
    found = {role: column for role, column in given.items() if column is not None}
    with Questions() as questions:
        for role, column in found.items():
            if column not in names:
                questions.ask(no_column(names, role, column))
    for role in wanted:
        if role not in found:
            left = [name for name in names if name not in found.values()]
            usual = find_role(left, role)
            if usual is not None:
                found[role] = usual
    return found


def _which(role: str, names: Sequence[str]) -> str:
    first = names[0]
    return (
        f"{role} may be {' or '.join(map(repr, names))}; say which, as in {role}={first!r} "
        f"(--column {role}={first}), or leave the other out with ignore=[...] (--ignore)."
    )
