"""Which column plays which part: named by the user, or known by a usual name."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache

from luce.counts.labels import some
from luce.errors import DataError

# Names by which columns are known, as people's files have them; compared without case, spaces,
# dots, dashes and underscores.
USUAL = {
    "winner": ["winner", "won", "better", "preferred", "winning"],
    "loser": ["loser", "lost", "worse", "beaten", "losing"],
    "item1": ["item1", "player1", "team1", "first", "left", "modela", "white", "home", "hometeam",
              "home.team", "karateka1", "a", "i"],
    "item2": ["item2", "player2", "team2", "second", "right", "modelb", "black", "away", "awayteam",
              "away.team", "karateka2", "b", "j"],
    "wins1": ["wins1", "win1", "homewins", "w1", "wij"],
    "wins2": ["wins2", "win2", "awaywins", "w2", "wji"],
    "tied": ["ties", "draws", "tied", "drawn", "tij"],
    "outcome": ["outcome", "result", "winner", "label", "ftr"],
    "count": ["count", "n", "freq", "frequency", "times"],
    "ranking": ["ranking", "rankingid", "id", "race", "raceid", "ballot", "voter", "judge", "event",
                "contest", "heat"],
    "item": ["item", "driver", "competitor", "candidate", "athlete", "alternative", "name", "team",
             "player"],
    "rank": ["rank", "place", "position", "pos", "finish", "order"],
    "order": ["ranking", "order", "ordering", "ballot", "preference", "preferences", "ranked"],
    "case": ["case", "id", "chid", "choiceid", "obs", "observation", "situation", "caseid",
             "custom_id", "sessionid", "session", "qid", "choicesituation"],
    "alternative": ["alternative", "alt", "altid", "item", "option", "product", "mode"],
    "chosen": ["chosen", "choice", "choose", "selected", "picked", "pick", "purchased"],
    "offered": ["offered", "assortment", "available", "menu", "shelf", "choiceset", "set"],
    "available": ["avail", "available", "availability", "isavailable"],
    "losers": ["losers", "others", "rejected", "notchosen"],
    "source": ["from", "source", "origin", "fromstate"],
    "target": ["to", "target", "destination", "tostate"],
    "sequence": ["sequence", "seq", "seqid", "sequenceid", "id", "subject", "animal", "session"],
    "time": ["time", "t", "step", "frame", "month", "timestamp"],
    "state": ["state", "syllable", "behavior", "behaviour", "label", "activity"],
    "side1": ["side1", "team1", "left", "sidea", "home"],
    "side2": ["side2", "team2", "right", "sideb", "away"],
    "winners": ["winners", "winningteam", "winningside"],
    "group": ["group", "set", "oneof", "members", "answer"],
    "within": ["within", "given", "offered", "among"],
}  # fmt: skip


@lru_cache(maxsize=1 << 17)  # asked for each part and each column, and tables can be wide
def plain(name: str) -> str:
    """A column's name without what people spell differently."""
    return re.sub(r"[\W_]+", "", name).lower()


def find_role(names: Sequence[str], role: str) -> str | None:
    """Find the column that plays a part by one of its usual names, the most usual first."""
    known = {plain(name): name for name in reversed(names)}
    return next((known[u] for u in map(plain, USUAL[role]) if u in known), None)


def check_column(names: Sequence[str], role: str, column: str) -> str:
    """Refuse a column that is not there."""
    if column not in names:
        raise DataError(
            f"{role} = {column!r}: there is no such column; the columns are {some(names, 20)}."
        )
    return column


def find_roles(
    names: Sequence[str], given: Mapping[str, str | None], wanted: Iterable[str]
) -> dict[str, str]:
    """Find the columns of several parts; those given by name first, none used twice."""
    found = {}
    for role, column in given.items():
        if column is not None:
            found[role] = check_column(names, role, column)
    for role in wanted:
        if role not in found:
            left = [name for name in names if name not in found.values()]
            column = find_role(left, role)
            if column is not None:
                found[role] = column
    return found


def first_layout(
    names: Sequence[str],
    given: Mapping[str, str | None],
    layouts: Mapping[str, tuple[Sequence[str], Sequence[str]]],
) -> tuple[str, dict[str, str]] | None:
    """Find the first layout whose needed columns are all there.

    `layouts` maps a name to the parts it needs and those it may have.  What the user named must
    be part of the layout.
    """
    asked = {role for role, column in given.items() if column is not None}
    for layout, (needed, optional) in layouts.items():
        if not asked <= {*needed, *optional}:
            continue
        found = find_roles(names, given, [*needed, *optional])
        if all(role in found for role in needed):
            return layout, found
    return None


def no_layout(
    kind: str,
    names: Sequence[str],
    layouts: Mapping[str, tuple[Sequence[str], Sequence[str]]],
    more: str = "",
) -> DataError:
    """Say which columns were looked for, and which there are."""
    wanted = "; or ".join(", ".join(needed) for needed, _ in layouts.values())
    return DataError(
        f"the columns of these {kind} cannot be told: they are {some(names, 12)}. Wanted: "
        f"{wanted}{more}. Name them, as in {next(iter(layouts.values()))[0][0]}='...' "
        f"(--column {next(iter(layouts.values()))[0][0]}=...)."
    )
