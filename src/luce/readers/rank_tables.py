"""Layouts in which frames and files hold rankings."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from luce.errors import DataError
from luce.readers.columns import Column, Rows, Runs, as_labels, as_number, is_missing
from luce.readers.duels import read_counts
from luce.readers.orders import Order, WrongOrderError, find_separator, read_order
from luce.readers.reading import Inspection, require_rows
from luce.readers.roles import find_roles, first_layout, no_layout
from luce.readers.sources import Source
from luce.readers.tables import is_unnamed

LAYOUTS = {
    "long": (["ranking", "item", "rank"], []),
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
        if self.best not in ("smallest", "largest"):
            raise DataError(f"best = {self.best!r}; 'smallest' or 'largest' is needed.")

    def unfinished(self) -> frozenset[str]:
        """Texts that stand for a rank below all others, in small letters."""
        given = self.did_not_finish
        return DID_NOT_FINISH if given is None else frozenset(x.lower() for x in given)


class Rankings:
    """Rankings as they are read, and what is wrong with the others."""

    def __init__(self, rows: Rows | Runs, n: int) -> None:
        self.rows = rows
        self.inspection = Inspection(n)
        self.orders: list[Order | None] = [None] * n

    def read(self, i: int, build: Callable[[], Order]) -> None:
        """Read ranking i, or note what is wrong with it."""
        try:
            self.orders[i] = build()
        except WrongOrderError as error:
            self.inspection.refuse_row(i, str(error))

    def usable(self, source: Source, skip_bad: bool) -> list[Order]:
        """Return the rankings that can be used; raise or warn about the others."""
        keep = self.inspection.settle(source, self.rows, skip_bad)
        return [o for o, good in zip(self.orders, keep.tolist(), strict=True) if good and o]


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
    names = _wide_columns(source, columns, options)
    named = _named(names)
    if len(named) >= 2 and all(map(is_place, named)):
        return "places-in-columns"
    rows = source.distinct(names)
    ranks = [name for name in names if _holds_ranks(rows[name], options)]
    if len(ranks) == len(names) >= 2:
        return "items-in-columns"
    if len(ranks) == len(names) - 1 >= 1 and names[0] not in ranks:
        return "items-in-rows"
    raise no_layout("rankings", source.names, LAYOUTS,
                    f"; or a table in one of the layouts {', '.join(WIDE)}")  # fmt: skip


def read_orders(
    source: Source, layout: str, columns: Mapping[str, str | None], options: RankOptions
) -> Rankings:
    """Read rankings out of a frame or file."""
    if layout == "long":
        return _read_long(source, columns, options)
    if layout == "orders":
        return _read_lists(source, columns)
    if layout == "places-in-columns":
        return _read_places(source, columns, options)
    return _read_table(source, layout, columns, options)


def _read_long(source: Source, columns: Mapping[str, str | None], options: RankOptions) -> Rankings:
    roles = _required(source, columns, "long")
    runs = source.runs(roles["ranking"], [roles["item"], roles["rank"]])
    require_rows(source, runs)
    rankings = Rankings(runs, len(runs))
    items, cells = as_labels(runs[roles["item"]]), _cells(runs[roles["rank"]], options)
    for i, span in enumerate(runs.spans()):
        pairs = [(items[k], cells[k]) for k in span]
        times = runs.repeats[i]
        rankings.read(i, lambda p=pairs, t=times: order_of_ranks(p, options, t))  # type: ignore[misc]
    return rankings


def _read_lists(source: Source, columns: Mapping[str, str | None]) -> Rankings:
    roles = _required(source, columns, "orders")
    counted = [roles["count"]] if "count" in roles else []
    rows = source.distinct([roles["order"]], counted)
    require_rows(source, rows)
    rankings = Rankings(rows, len(rows))
    times = read_counts(rows, counted[0], rankings.inspection) if counted else rows.repeats
    column = rows[roles["order"]]
    separator = find_separator(x for x in column.values if isinstance(x, str))
    for i in np.flatnonzero(rankings.inspection.usable).tolist():
        rankings.read(i, lambda i=i: Order(read_order(column[i], separator), count=float(times[i])))  # type: ignore[misc]
    return rankings


def _read_places(
    source: Source, columns: Mapping[str, str | None], options: RankOptions
) -> Rankings:
    names = _named(_wide_columns(source, columns, options))
    counted, rows = _wide_rows(source, columns, names)
    rankings = Rankings(rows, len(rows))
    times = read_counts(rows, counted, rankings.inspection) if counted else rows.repeats
    places = [as_labels(rows[name]) for name in names]
    # Zeros at the end are padding, as in R's orderings.
    padding = {0, "0", "NA", "na"}

    def build(i: int) -> Order:
        labels = [column[i] for column in places]
        while labels and (is_missing(labels[-1]) or labels[-1] in padding):
            labels.pop()
        return Order(
            read_order([x if x not in padding else None for x in labels]), count=float(times[i])
        )

    for i in np.flatnonzero(rankings.inspection.usable).tolist():
        rankings.read(i, lambda i=i: build(i))  # type: ignore[misc]
    return rankings


def _read_table(
    source: Source, layout: str, columns: Mapping[str, str | None], options: RankOptions
) -> Rankings:
    names = _wide_columns(source, columns, options)
    if layout == "items-in-columns":
        names = _named(names)
        counted, rows = _wide_rows(source, columns, names)
        rankings = Rankings(rows, len(rows))
        times = read_counts(rows, counted, rankings.inspection) if counted else rows.repeats
        cells = [_cells(rows[name], options) for name in names]
        for i in np.flatnonzero(rankings.inspection.usable).tolist():
            pairs = [(name.strip(), cell[i]) for name, cell in zip(names, cells, strict=True)]
            rankings.read(i, lambda p=pairs, i=i: order_of_ranks(p, options, float(times[i])))  # type: ignore[misc]
        return rankings
    if len(names) < 2:
        raise DataError(f"items-in-rows needs a column of items and one of ranks; {names} is left.")
    label, *contests = names
    columns_read = source.columns(names)
    items = as_labels(columns_read[label])
    if not len(items):
        raise DataError(f"there are no {source.unit}s of data.")
    whole = Rows({}, np.ones(len(contests)), lambda bad: [[0] for _ in bad])
    rankings = Rankings(whole, len(contests))
    for j, contest in enumerate(contests):
        cells_j = _cells(columns_read[contest], options)
        pairs = [(items[i], cells_j[i]) for i in range(len(items))]
        rankings.read(j, lambda p=pairs, c=contest: order_of_ranks(p, options, 1.0, c))  # type: ignore[misc]
    return rankings


def order_of_ranks(
    pairs: Sequence[tuple[Any, Any]], options: RankOptions, count: float, contest: str = ""
) -> Order:
    """Sort items by their ranks; a rank is a number, "below", None for blank, or a wrong text."""
    where = f"in column {contest!r}, " if contest else ""
    by_rank: dict[float, list[Any]] = {}
    below, zeros, seen = [], [], set()
    for label, rank in pairs:
        if is_missing(label):
            raise WrongOrderError(f"{where}an item is missing.")
        if label in seen:
            raise WrongOrderError(f"{where}{label!r} appears twice in one ranking.")
        seen.add(label)
        if rank is None:
            continue
        if rank == "below":
            below.append(label)
        elif not isinstance(rank, float) or not 0 <= rank < 1e15:
            shown = rank[1] if isinstance(rank, tuple) else f"{rank:g}"
            raise WrongOrderError(
                f"{where}the rank of {label!r} is {shown!r}; a number from 1 on is needed, 0 for "
                "none, or a known text such as DNF."
            )
        elif rank == 0:
            zeros.append(label)
        else:
            by_rank.setdefault(rank, []).append(label)
    ranks = sorted(by_rank, reverse=options.best == "largest")
    classes = tuple(tuple(by_rank[rank]) for rank in ranks)
    if not classes and not below:
        raise WrongOrderError(f"{where}nobody is ranked.")
    return Order(classes or (tuple(below),), tuple(below) if classes else (), tuple(zeros), count)


def _cells(column: Column, options: RankOptions) -> list[Any]:
    """Ranks of a column: numbers, "below", None for blank, ("wrong", text) for anything else."""
    unfinished = options.unfinished()

    def read(value: Any) -> Any:
        number = as_number(value)
        if number is None:
            text = str(value).strip()
            return "below" if text.lower() in unfinished else ("wrong", text)
        return None if number != number else number

    return list(column.map(read))


def _holds_ranks(column: Column, options: RankOptions) -> bool:
    unfinished = options.unfinished()
    return all(
        as_number(v) is not None or str(v).strip().lower() in unfinished for v in column.values
    )


def is_place(column: str) -> bool:
    """Does the column's name say which place it holds: Rank_1, 2nd?"""
    return _PLACE.fullmatch(column) is not None


def _wide_columns(
    source: Source, columns: Mapping[str, str | None], options: RankOptions
) -> list[str]:
    found = find_roles(source.names, columns, ["count", "ranking"])
    known = (found.get("count"), found.get("ranking"), *options.ignore)
    return [name for name in source.names if name not in known]


def _named(names: list[str]) -> list[str]:
    """Leave a column without a name out, in which R writes numbers of rows."""
    return [name for name in names if not is_unnamed(name)]


def _wide_rows(
    source: Source, columns: Mapping[str, str | None], names: list[str]
) -> tuple[str | None, Rows]:
    count = columns.get("count") or find_roles(source.names, {}, ["count"]).get("count")
    rows = source.distinct(names, [count] if count else [])
    require_rows(source, rows)
    return count, rows


def _required(source: Source, columns: Mapping[str, str | None], layout: str) -> dict[str, str]:
    found = first_layout(source.names, columns, {layout: LAYOUTS[layout]})
    if found is None:
        raise no_layout("rankings", source.names, {layout: LAYOUTS[layout]})
    return found[1]
