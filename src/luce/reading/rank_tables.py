"""Rankings out of the layouts in which frames and files hold them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from luce.errors import DataError
from luce.reading.columns import Column, Rows, Runs, as_labels, as_number, is_missing
from luce.reading.duels import read_counts, run_counts
from luce.reading.orders import Order, WrongOrderError, find_separator, read_order
from luce.reading.rank_layouts import LAYOUTS, RankOptions, named_columns, wide_columns
from luce.reading.reading import Inspection, require_rows
from luce.reading.roles import find_roles, first_layout, no_layout
from luce.reading.sources import Source


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
    counted = [roles["count"]] if "count" in roles else []
    runs = source.runs(roles["ranking"], [roles["item"], roles["rank"], *counted])
    require_rows(source, runs)
    rankings = Rankings(runs, len(runs))
    counts = run_counts(runs, counted[0], rankings.inspection) if counted else runs.repeats
    items, cells = as_labels(runs[roles["item"]]), _cells(runs[roles["rank"]], options)
    for i, span in enumerate(runs.spans()):
        pairs = [(items[k], cells[k]) for k in span]
        times = float(counts[i])
        if rankings.inspection.usable[i]:
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
    names = named_columns(wide_columns(source, columns, options))
    counted, rows = _wide_rows(source, columns, names)
    rankings = Rankings(rows, len(rows))
    times = read_counts(rows, counted, rankings.inspection) if counted else rows.repeats
    places = [as_labels(rows[name]) for name in names]
    padding = _padding([[column[i] for column in places] for i in range(len(rows))])

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


def _padding(orders: list[list[Any]]) -> set[Any]:
    """What stands for nobody at the end of a ranking: 0 and NA, as in R's orderings.

    Unless it stands before others too: then it is an item, as 0 is where items count from there.
    """
    found = {0, "0", "NA", "na"}
    ends = set()
    for order in orders:
        labels = list(order)
        while labels and (is_missing(labels[-1]) or labels[-1] in found):
            labels.pop()
        ends.add(len(order) - len(labels))
        if any(label in found for label in labels if not is_missing(label)):
            return set()
    if ends == {1} and not any(is_missing(order[-1]) for order in orders):
        raise DataError(
            f"every ranking ends with {orders[0][-1]!r}, which may be an item or nobody. If it is "
            "nobody, leave its column out with ignore=[...]; if an item, give it another name."
        )
    return found


def _read_table(
    source: Source, layout: str, columns: Mapping[str, str | None], options: RankOptions
) -> Rankings:
    names = wide_columns(source, columns, options)
    if layout == "items-in-columns":
        names = named_columns(names)
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
    below, zeros, blanks, seen = [], [], [], set()
    for label, rank in pairs:
        if is_missing(label):
            raise WrongOrderError(f"{where}an item is missing.")
        if label in seen:
            raise WrongOrderError(f"{where}{label!r} appears twice in one ranking.")
        seen.add(label)
        if rank is None:
            blanks.append(label)
        elif rank == "below":
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
    return Order(classes, tuple(below), tuple(zeros), tuple(blanks), count)


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
