"""The kind of data that a table holds: told by all of its columns and its first rows, or asked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from luce.counts.labels import some
from luce.errors import DataError
from luce.reading.accounts import scores_in_words
from luce.reading.column_contents import (
    Head,
    are_ranges,
    contradiction,
    holds_sides,
    numbers_of_wins,
)
from luce.reading.kind import Kind, leave_out, named_roles, near, no_column
from luce.reading.kinds import KINDS, PAIRS, TEAMS, availability_columns
from luce.reading.questions import Questions
from luce.reading.sides import UNKNOWN, read_outcomes
from luce.reading.sources import Source
from luce.reading.tables import is_square
from luce.reading.values import as_flag, is_unnamed, plain

# Names of columns that mean other things as often: a layout of such names alone is asked about.
_COMMON = (
    "a b i j first second left right won lost label id name order set group answer members state "
    "activity subject session event mode item position source target given"
)
_EVERYWHERE = ("skip_bad", "categories", "ignore")  # options that tell no kind


class Candidate(NamedTuple):
    """A kind that columns fit by their names, and the part that each of these columns plays."""

    kind: Kind
    layout: str
    parts: dict[str, str]  # column -> role

    @property
    def roles(self) -> dict[str, str]:
        """The column of each role."""
        return {role: column for column, role in self.parts.items()}

    def __str__(self) -> str:
        roles = set(self.kind.roles)
        shown = [
            f"{role}={column!r}" if role in roles else repr(column)
            for column, role in list(self.parts.items())[:4]
        ]
        more = ", ..." if len(self.parts) > 4 else ""
        return f"{self.kind.name} ({', '.join(shown)}{more})"


def find_kind(source: Source, options: Mapping[str, Any]) -> Kind:
    """Find the one kind of data that a source holds, or ask for it.

    Every column counts, and so do the values of the first rows: a kind whose roles they do not
    fit is ruled out, and a kind whose columns are all part of another's says less than that.
    """
    kinds = _kinds_with(options)
    if len(kinds) == 1:
        return kinds[0]
    source = leave_out(source, options.get("ignore") or ())
    names = source.names
    head = source.head(names)
    found = [c for kind in kinds if (c := _candidate(kind, names, options, head)) is not None]
    refuted = {c.kind: reason for c in found if (reason := _refuted(c, head))}
    fitting = [c for c in found if c.kind not in refuted]
    largest = [c for c in fitting if not any(set(c.parts) < set(o.parts) for o in fitting)]
    sure = [c for c in largest if named_roles(_columns(c.kind, options)) or _is_telling(c)]
    if len(sure) == 1 and not _left_over(sure[0], names):
        return sure[0].kind
    raise DataError(_question(source, kinds, sure or largest, refuted))


def _kinds_with(options: Mapping[str, Any]) -> list[Kind]:
    """List the kinds whose readers have all options that were given."""
    every = {name for kind in KINDS.values() for name in kind.options}
    asked = [name for name in options if name in every and name not in _EVERYWHERE]
    kinds = [kind for kind in KINDS.values() if all(name in kind.options for name in asked)]
    if kinds:
        return kinds
    homes = {n: [k.name for k in KINDS.values() if n in k.options] for n in asked}
    told = "; ".join(f"{name} is for {' or '.join(of)}" for name, of in homes.items())
    raise DataError(f"no kind of data has all of these options: {told}.")


def check_options(source: Source, options: Mapping[str, Any], kind: Kind | None) -> None:
    """Ask about all options that are not known, and about columns that are not there."""
    every = [kind] if kind else list(KINDS.values())
    known = dict.fromkeys(name for one in every for name in one.options)
    roles = {name for one in every for name in one.roles}
    with Questions() as questions:
        for name, value in options.items():
            if name not in known:
                nowhere = f"{name} is no option of any reader.{near(name, known)}"
                questions.ask(kind.no_option(name) if kind else nowhere)
            elif name in roles and isinstance(value, str) and value not in source.names:
                questions.ask(no_column(source.names, name, value))
            elif name == "home" and value not in ("first", "second", *source.names):
                questions.ask(no_column(source.names, name, str(value)))
        with questions.gathered():
            leave_out(source, options.get("ignore") or ())


def _columns(kind: Kind, options: Mapping[str, Any]) -> dict[str, str | None]:
    return {role: options.get(role) for role in kind.roles}


def _candidate(
    kind: Kind, names: Sequence[str], options: Mapping[str, Any], head: Head
) -> Candidate | None:
    """Find the columns that a reader of this kind would take by their names."""
    match = kind.match(names, _columns(kind, options))
    if match is not None and kind is TEAMS and not TEAMS.telling & set(map(plain, names)):
        sides = [match.roles[role] for role in TEAMS.layouts[match.layout].needed[:2]]
        match = match if all(holds_sides(head[name]) for name in sides) else None
    wide = kind.wide(names)
    if wide and (
        match is None or set(match.roles.values()) & set(availability_columns(names).values())
    ):
        return Candidate(kind, "", wide)
    if match is None:
        return None
    return Candidate(kind, match.layout, {column: role for role, column in match.roles.items()})


def _refuted(candidate: Candidate, head: Head) -> str:
    """Say why the first rows rule a candidate out, or nothing."""
    if not len(next(iter(head.values()))):
        return ""
    kind, roles = candidate.kind, candidate.roles
    if not candidate.layout:
        return _refuted_places(candidate, head)
    layout = kind.layouts[candidate.layout]
    if reason := kind.refuted(layout, roles, head):
        return reason
    if kind is PAIRS and "winner" in roles:
        for role in ("winner", "loser"):
            if reason := numbers_of_wins(role, roles[role], head[roles[role]]):
                return reason
    if {"item1", "item2", "outcome"} <= set(roles):
        sides = (head[roles["item1"]].labels(), head[roles["item2"]].labels())
        results = read_outcomes(head[roles["outcome"]], *sides, roles)
        if np.mean(results == UNKNOWN) > 0.5:
            return f"{roles['outcome']!r} names no winner in most rows"
    if {"source", "target"} <= set(roles) and are_ranges(
        *(head[roles[r]] for r in ("source", "target"))
    ):
        return (
            f"{roles['source']!r} is below {roles['target']!r} in all rows, as in ranges of numbers"
        )
    if "chosen" in roles:
        return _refuted_choice(roles, head)
    return ""


def _refuted_choice(roles: Mapping[str, str], head: Head) -> str:
    """Say why a column neither flags the chosen alternatives nor names them, or nothing."""
    chosen = head[roles["chosen"]].labels()
    if "alternative" not in roles:
        wrong = contradiction("item", chosen)
        return f"{roles['chosen']!r} {wrong}" if wrong else ""
    items = head[roles["alternative"]].labels()
    if all(as_flag(value) is not None for value in chosen.values):
        return ""
    if {*chosen.present()} & {*items.present()}:
        return ""
    return f"{roles['chosen']!r} neither flags nor names one of {roles['alternative']!r}"


def _refuted_places(candidate: Candidate, head: Head) -> str:
    """Say why columns do not hold the places of rankings, or nothing."""
    places = [name for name, part in candidate.parts.items() if part == "place"]
    if not places:
        return ""
    rows = zip(*(head[name].labels().tolist() for name in places), strict=True)
    for row in rows:
        there = [x for x in row if str(x).strip().lower() not in ("", "0", "na", "nan", "none")]
        if len(set(there)) < len(there):
            return f"{some(places, 3)} hold the same value twice in one row"
    return ""


def _is_telling(candidate: Candidate) -> bool:
    """Tell whether any name of a column means its role and hardly anything else."""
    if not candidate.layout:
        return not all(name.strip().isdigit() for name in candidate.parts)
    needed = candidate.kind.layouts[candidate.layout].needed
    names = [plain(name) for name, role in candidate.parts.items() if role != "count"]
    return len(needed) == 1 or not set(names) <= set(_COMMON.split())


def _left_over(candidate: Candidate, names: Sequence[str]) -> list[str]:
    """List columns that speak against a kind which is told by a single column."""
    needed = candidate.kind.layouts[candidate.layout].needed if candidate.layout else ()
    if len(needed) != 1:
        return []
    rows = ("id", "row", "index", "voter", "judge", "ranking", "respondent")
    left = [name for name in names if name not in candidate.parts]
    return [name for name in left if not is_unnamed(name) and plain(name) not in rows]


def _question(
    source: Source, kinds: Sequence[Kind], found: Sequence[Candidate], refuted: Mapping[Kind, str]
) -> str:
    """Ask for the kind: what it could be, and why it is not something else."""
    one = len(source.names) == 1
    columns = f"the column{'' if one else 's'} {some(source.names, 12)}"
    square = not found and is_square(source)
    if found:
        could = f"{columns} could be {' or '.join(map(str, found))}"
        left = _left_over(found[0], source.names) if len(found) == 1 else []
        could += f", with {some(left, 6)} of no use" if left else ""
        could += ", but also something else" if len(found) == 1 and not left else ""
    elif square:
        could = (
            f"{columns} are a square table, which could be pairs (row beat column), transitions "
            "(from row to column) or a table of counts"
        )
    else:
        fit = "fits no kind of data by its name" if one else "fit no kind of data by their names"
        could = f"{columns} {fit}"
    because = "".join(f" Not {kind.name}: {why}." for kind, why in refuted.items())
    first = found[0].kind.name if found else "pairs"
    others = ", ".join(kind.name for kind in kinds if kind.name != first)
    say = f" Say which it is: kind={first!r} (--kind {first}), or {others}."
    if found or square:
        return could + "." + because + say
    scores = scores_in_words(source.names) if any(k.name == "pairs" for k in kinds) else ""
    return could + "." + because + say + _suggestions(source, kinds) + scores


def _suggestions(source: Source, kinds: Sequence[Kind]) -> str:
    """Name columns that nearly have the usual names of a kind."""
    several = {k: [x for x in k.layouts.values() if len(x.needed) > 1] for k in kinds}
    meant = {k.name: k.suggestion(source.names, {}, own) for k, own in several.items() if own}
    told = [f"{words} ({name})" for name, words in meant.items() if words]
    return f" Did you mean {'; or '.join(told[:3])}?" if told else ""
