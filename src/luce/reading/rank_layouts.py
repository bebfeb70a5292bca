"""How a frame or file holds rankings: told by names, by what its columns hold, or asked for."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from luce.errors import DataError
from luce.reading.columns import Column, as_number
from luce.reading.roles import find_role, find_roles, first_layout, no_layout
from luce.reading.sources import Source
from luce.reading.tables import is_unnamed

LAYOUTS = {
    "long": (["ranking", "item", "rank"], ["count"]),
    "orders": (["order"], ["count"]),
}
WIDE = ("items-in-columns", "items-in-rows", "places-in-columns")

# As race results have them: retired, withdrawn, did not start, disqualified, ...
DID_NOT_FINISH = frozenset(
    {"ret", "retired", "rt", "wd", "withdrew", "withdrawn", "dns", "dnf", "dsq", "dq", "disq",
     "dnp", "dnc", "nc", "dnq", "nq", "np", "ex", "exc", "sick", "otl", "ocs", "bfd", "raf"}
)  # fmt: skip
_PLACE = re.compile(
    r"(rank|place|position|choice|pref|preference|top)?\W*_?\d+(st|nd|rd|th)?", re.I
)


@dataclass(frozen=True)
class RankOptions:
    """What ranks mean."""

    unranked: str | None = None
    blank: str | None = None
    best: str = "smallest"
    did_not_finish: Iterable[str] | None = None
    ignore: Sequence[str] = ()

    def check(self) -> None:
        """Refuse what is not known."""
        for name, value in (("unranked", self.unranked), ("blank", self.blank)):
            if value not in (None, "absent", "below"):
                raise DataError(f"{name} = {value!r}; 'absent' (took no part) or 'below' (after "
                                "all who are ranked) is needed.")  # fmt: skip
        for name, given in (("ignore", self.ignore), ("did_not_finish", self.did_not_finish)):
            if isinstance(given, str):
                raise DataError(f"{name} = {given!r}; a list of texts is needed: [{given!r}].")
        if self.best not in ("smallest", "largest"):
            raise DataError(f"best = {self.best!r}; 'smallest' or 'largest' is needed.")

    def unfinished(self) -> frozenset[str]:
        """Texts that stand for a rank below all others, in small letters."""
        given = self.did_not_finish
        return DID_NOT_FINISH if given is None else frozenset(x.lower() for x in given)


def find_layout(
    source: Source, columns: Mapping[str, str | None], layout: str | None, options: RankOptions
) -> str:
    """Tell how a frame holds rankings."""
    known = (*LAYOUTS, *WIDE)
    if layout is not None:
        if layout not in known:
            raise DataError(f"layout = {layout!r}; one of {', '.join(known)} is needed.")
        return layout
    found = first_layout(source.names, columns, LAYOUTS)
    if found is not None:
        return found[0]
    names = wide_columns(source, columns, options)
    named = named_columns(names)
    if len(named) >= 2 and all(map(is_place, named)):
        return "places-in-columns"
    rows = source.distinct(names)
    ranks = [name for name in names if _holds_ranks(rows[name], options)]
    if len(ranks) == len(names) >= 2:
        return "items-in-columns"
    if len(ranks) == len(names) - 1 >= 1 and names[0] not in ranks:
        _refuse_two_readings(source, names, options)
        return "items-in-rows"
    raise no_layout("rankings", source.names, LAYOUTS,
                    f"; or a table in one of the layouts {', '.join(WIDE)}")  # fmt: skip


def _refuse_two_readings(source: Source, names: list[str], options: RankOptions) -> None:
    """Ask where the first column may as well name who ranked, its rows being whole rankings."""
    first, *others = names
    told = is_unnamed(first) or find_role([first], "item") is not None
    if len(others) > 1 and not told and _dense(source, others, options):
        raise DataError(
            f"each row of this table is a ranking, and so may each column be. If {first!r} names "
            "the items, say layout='items-in-rows'; if it names who ranked them, ranking="
            f"{first!r}."
        )


def _holds_ranks(column: Column, options: RankOptions) -> bool:
    unfinished = options.unfinished()
    return all(
        as_number(v) is not None or str(v).strip().lower() in unfinished for v in column.values
    )


def is_place(column: str) -> bool:
    """Does the column's name say which place it holds: Rank_1, 2nd?"""
    return _PLACE.fullmatch(column) is not None


def wide_columns(
    source: Source, columns: Mapping[str, str | None], options: RankOptions
) -> list[str]:
    """Return the columns of a wide table: not those that count or name rankings, nor ignored."""
    found = find_roles(source.names, columns, ["count", "ranking"])
    known = {found.get("count"), found.get("ranking")} - {None}
    items = [name for name in source.names if name not in options.ignore]
    if any(columns.get(role) is None for role in found):
        # A column that has an item's name and an item's ranks is an item: Heat, The Times.
        guessed = {name for role, name in found.items() if columns.get(role) is None}
        others = [name for name in items if name not in known]
        wider = [name for name in items if name not in known - guessed]
        if not _dense(source, others, options) and _dense(source, wider, options):
            known -= guessed
    return [name for name in items if name not in known]


def _dense(source: Source, names: list[str], options: RankOptions) -> bool:
    """Do these columns hold ranks, in every row 1, 2, ... without a gap?"""
    if not names:
        return False
    rows = source.distinct(names)
    if not all(_holds_ranks(rows[name], options) for name in names):
        return False
    table = np.stack([rows[name].numbers()[0] for name in names], axis=1)
    ranked = (set(row[np.isfinite(row) & (row > 0)]) for row in table)
    return all(ranks == set(range(1, len(ranks) + 1)) for ranks in ranked)


def named_columns(names: list[str]) -> list[str]:
    """Leave a column without a name out, in which R writes numbers of rows."""
    return [name for name in names if not is_unnamed(name)]
