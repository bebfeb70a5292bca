"""Rankings in all layouts in which frames and files hold them; see `luce.reading.orders`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from luce._types import Label, Labels
from luce.counts.labels import Categories, some
from luce.errors import DataError
from luce.reading.accounts import strangers
from luce.reading.frames import is_frame, source_of
from luce.reading.inspection import Inspection
from luce.reading.kind import Columns, Match, Reading, find_role, find_roles, leave_out
from luce.reading.kinds import RANKINGS, is_place
from luce.reading.orders import (
    TIE_MEANINGS,
    Order,
    RankOptions,
    WrongOrderError,
    check_order,
    count_orders,
    find_order_separator,
    labels_of,
    order_of_ranks,
    read_order,
    without_ties,
)
from luce.reading.rows import Column, Rows, Runs
from luce.reading.sources import PlainSource, Source
from luce.reading.ties import meaning_of
from luce.reading.values import (
    as_number,
    describe_type,
    hashable,
    is_list,
    is_missing,
    is_unnamed,
    refuse_set,
)

_WIDE = ("items-in-columns", "items-in-rows", "places-in-columns")


@RANKINGS.reader
def from_rankings(
    data: Any,
    *,
    counts: Iterable[float] | None = None,
    layout: str | None = None,
    ranking: str | None = None,
    item: str | None = None,
    rank: str | None = None,
    order: str | None = None,
    count: str | None = None,
    ignore: Sequence[str] = (),
    unranked: str | None = None,
    blank: str | None = None,
    best: str | None = None,
    did_not_finish: Iterable[str] | None = None,
    ties: str | None = None,
    bottom: str | None = None,
    categories: Labels | None = None,
    skip_bad: bool = False,
) -> Reading:
    """Read rankings, complete or not.

    Parameters
    ----------
    data
        A list of rankings, each a list of labels from best to worst, where a set or a list within
        it is a tie, or a text as "a > b = c"; a mapping from such rankings (as tuples or texts) to
        how often they occur; or a frame in one of the layouts.
    counts
        For a list of rankings: how often each occurs.
    layout
        How a frame holds the rankings, where it cannot be told: "long" (a row for each ranking and
        item), "orders" (a ranking a row, as a list or text in one column), "items-in-columns" (a
        ranking a row, ranks as values), "items-in-rows" (a ranking a column, ranks as values),
        "places-in-columns" (a ranking a row, items as values, best first).
    ranking, item, rank, order, count
        Columns, where their names are not usual ones.
    ignore
        Columns to leave out.  Any other column that is not read, and that holds numbers or times or
        names judges, is warned of.
    unranked
        Who is not ranked: "absent", took no part, or "below", after all who are ranked.  Asked
        for where some are not.
    blank
        The same for empty values of a table, where it differs from 0, a place without rank.
    best
        Is the "smallest" rank the best, or the "largest"?  With the latter, ranks may be any
        scores or ratings, negative ones too, and 0 is a score unless `unranked` is given.  The
        smallest unless given; needed where the numbers may be scores.
    did_not_finish
        Texts that stand for a rank below all finishers; the usual ones (DNF, Ret, DSQ ...) unless
        given.
    ties
        Meaning of equal ranks, asked for where there are some: "unknown", there was an order that
        was not recorded, and its probability is the sum over all orders; "davidson-luce", several
        may share a place, and how easily two, three ... do are parameters, `tie2`, `tie3` ...;
        "half", every order of the tied counts equally, a custom; "last", a tie in last place is
        only known to be below the rest, and no other tie is read; or "drop", rankings with ties
        are left out, with a warning that says how many.
    bottom
        Meaning of a tie in last place, where it differs from `ties`: "last", it is only known to
        be below the rest.  Files of PrefLib collect there whoever was not mentioned.
    categories
        All labels in order; those that occur, sorted, unless given.
    skip_bad
        Leave bad rankings out, with a warning that lists them?

    Examples
    --------
    >>> from_rankings([["a", "b", "c"], ["b", "a", "c"]])
    ConditionalCounts(3 categories, 6 outcomes, 2 sets)
    >>> from_rankings([["a"], ["b"]], unranked="below", categories="abc")
    ConditionalCounts(3 categories, 2 outcomes, 0 sets)
    >>> from_rankings(["a = b > c", "c > a > b"], ties="unknown")
    ConditionalCounts(3 categories, 6 outcomes, 1 set, 1 tied block: tied blocks of unknown order)
    >>> from_rankings(["a = b > c", "c > a > b"], ties="davidson-luce").parameters
    ('tie2',)
    """
    columns = RANKINGS.columns(locals())
    options = RankOptions(
        unranked, blank, best, did_not_finish, meaning_of(ties, TIE_MEANINGS), bottom
    )
    if counts is not None:
        data = _counted(data, counts)
    sheet = _Sheet(leave_out(_source(data), ignore), columns, options)
    rankings = sheet.read(sheet.find_layout() if layout is None else _checked(layout))
    named = None if categories is None else list(Categories(categories))
    orders = rankings.usable(options, named, skip_bad)
    orders = without_ties(orders, options, len(labels_of(orders) if named is None else named))
    tally = count_orders(orders, options, named)
    return RANKINGS.reading(tally.counts(), sum(order.count for order in orders))


def _counted(data: Any, counts: Any) -> dict[str, list[Any]]:
    """Put a list of rankings beside their counts."""
    if is_frame(data):
        raise DataError(
            "counts go with a list of rankings; in a frame they are a column, count='...'."
        )
    if not is_list(counts):
        raise DataError(f"counts = {counts!r}; a list of numbers is needed.")
    return {"order": _listed(data), "count": list(counts)}


def _source(data: Any) -> Source:
    """Open the data, and name the columns of a list or mapping of rankings."""
    if isinstance(data, Mapping) and not all(
        isinstance(key, str) and is_list(values) for key, values in data.items()
    ):
        return PlainSource({"order": _listed(data), "count": list(data.values())})
    return source_of(data) if is_frame(data) else PlainSource({"order": _listed(data)})


def _listed(data: Any) -> list[Any]:
    """Make rankings hashable: tuples of labels, and frozensets for ties."""
    if not is_list(data):
        raise DataError(
            f"{describe_type(data)} was given; a list of rankings is needed, each a list of "
            "labels from best to worst, or a frame."
        )
    refuse_set(data, "rankings")
    listed = []
    for order in data:
        refuse_set(order, "a ranking")
        # A tuple of labels is a ranking, and so is anything else that can be iterated once.
        if is_list(order):
            order = list(order)
        listed.append(hashable(order))
    if not listed:
        raise DataError("there are no rankings.")
    return listed


def _checked(layout: str) -> str:
    known = (*RANKINGS.layouts, *_WIDE)
    if layout not in known:
        raise DataError(f"layout = {layout!r}; one of {', '.join(known)} is needed.")
    return layout


class _Orders:
    """Orders as they are read, beside the inspection of the rows that hold them."""

    def __init__(self, inspection: Inspection) -> None:
        self.inspection = inspection
        self.orders: dict[int, Order] = {}

    def read(self, build: Callable[[int], Order]) -> None:
        """Read the order of each usable row, or note what is wrong with it."""
        for i in np.flatnonzero(self.inspection.usable).tolist():
            try:
                self.orders[i] = build(i)
            except WrongOrderError as error:
                self.inspection.refuse_row(i, str(error))

    def usable(
        self, options: RankOptions, named: list[Label] | None, skip_bad: bool
    ) -> list[Order]:
        """Check the orders against the options; returns the good ones, in the order of rows."""
        known = None if named is None else set(named)
        n = len(labels_of(self.orders.values()) if known is None else known)

        def checked(i: int) -> Order:
            check_order(self.orders[i], options, known, n)
            return self.orders[i]

        self.read(checked)
        keep = self.inspection.settle(skip_bad)
        return [order for i, order in self.orders.items() if keep[i]]


class _Sheet:
    """A frame or file of rankings: finds its layout, and reads it.

    Parameters
    ----------
    source
        The rows.
    columns
        Columns that the user named.
    options
        Meanings of ranks.
    """

    def __init__(self, source: Source, columns: Columns, options: RankOptions) -> None:
        self.source, self.columns, self.options = source, columns, options
        self._signs: set[int] = set()  # of the ranks that were read: 1, 0 or -1

    def find_layout(self) -> str:
        """Tell the layout by the names of columns, or else by their values."""
        found = RANKINGS.match(self.source.names, self.columns)
        if found is not None:
            return found.layout
        named = self._named_columns()
        if len(named) >= 2 and all(map(is_place, named)):
            return "places-in-columns"
        names = self._wide_columns()
        rows = self.source.distinct(names)
        ranks = [name for name in names if self._holds_ranks(rows[name])]
        if names and names[0] in self.source.index and set(names[1:]) <= set(ranks):
            return self._layout_beside_index(names[0], ranks)
        if len(ranks) == len(names) >= 2:
            self._ask_about_strangers(named, "items-in-columns", self._dense)
            return "items-in-columns"
        if len(ranks) == len(names) - 1 >= 1 and names[0] not in ranks:
            self._refuse_two_readings(names)
            self._ask_about_strangers(ranks, "items-in-rows", self._dense_down)
            return "items-in-rows"
        raise RANKINGS.no_layout(self.source.names, columns=self.columns)

    def _layout_beside_index(self, index: str, ranks: list[str]) -> str:
        """Tell the layout of a frame whose rows have names, or ask for it."""
        others = [name for name in ranks if name != index]
        if find_role([index], "item") is not None:
            self._ask_about_strangers(others, "items-in-rows", self._dense_down)
            return "items-in-rows"
        if index in ranks:  # numbers, as of voters
            self._ask_about_strangers(others, "items-in-columns", self._dense)
            return "items-in-columns"
        raise DataError(
            "the rows of this frame have names. If they are the items, say layout="
            "'items-in-rows'; if they are not and the columns are, 'items-in-columns'."
        )

    def read(self, layout: str) -> _Orders:
        """Read all orders."""
        read = {
            "long": self._read_long,
            "orders": self._read_texts,
            "places-in-columns": self._read_places,
            "items-in-columns": self._read_columns,
            "items-in-rows": self._read_rows,
        }
        orders = read[layout]()
        self._refuse_zero_as_none()
        return orders

    def _refuse_zero_as_none(self) -> None:
        """Ask where 0 would stand for no rank although it lies between scores."""
        if self.options.unranked is not None and {0, -1} <= self._signs:
            raise DataError(
                "there are negative scores, and 0 beside them; unranked="
                f"{self.options.unranked!r} would mean that who has 0 is not ranked. If 0 is a "
                "score, leave unranked out, and give the meaning of empty values as blank=... "
                "(--blank)."
            )

    def _read_long(self) -> _Orders:
        """Read an item a row, and all rows of one ranking as one order."""
        inspection = self._inspect("long")
        runs = inspection.rows
        assert isinstance(runs, Runs)
        counts = inspection.counts()
        items, ranks = inspection.labels("item").tolist(), self._ranks(inspection["rank"])
        spans = list(runs.spans())

        def build(i: int) -> Order:
            pairs = [(items[k], ranks[k]) for k in spans[i]]
            return order_of_ranks(pairs, self.options, float(counts[i]))

        return _read(inspection, build)

    def _read_texts(self) -> _Orders:
        """Read a list or a text a row."""
        inspection = self._inspect("orders")
        counts = inspection.counts()
        column = inspection["order"]
        separator = find_order_separator(x for x in column.values if isinstance(x, str))
        absent = self.source.missing or frozenset()
        return _read(
            inspection,
            lambda i: Order(read_order(column[i], separator, absent), count=float(counts[i])),
        )

    def _read_places(self) -> _Orders:
        """Read a ranking a row, with a column for each place."""
        names = self._named_columns()
        inspection = self._inspect_wide(names)
        counts = inspection.counts()
        rows = zip(*(inspection.rows[name].labels().tolist() for name in names), strict=True)
        places = [list(row) for row in rows]
        padding = _padding(places, {0, "0"} | _r_missing(self.source))

        def build(i: int) -> Order:
            labels = list(places[i])
            while labels and (is_missing(labels[-1]) or labels[-1] in padding):
                labels.pop()
            known = [None if label in padding else label for label in labels]
            return Order(read_order(known), count=float(counts[i]))

        return _read(inspection, build)

    def _read_columns(self) -> _Orders:
        """Read a ranking a row, with a column of ranks for each item."""
        names = self._named_columns()
        inspection = self._inspect_wide(names)
        counts = inspection.counts()
        items = [name.strip() for name in names]
        ranks = [self._ranks(inspection.rows[name]) for name in names]

        def build(i: int) -> Order:
            pairs = zip(items, (column[i] for column in ranks), strict=True)
            return order_of_ranks(pairs, self.options, float(counts[i]))

        return _read(inspection, build)

    def _read_rows(self) -> _Orders:
        """Read an item a row, with a column of ranks for each ranking."""
        names = self._wide_columns()
        if len(names) < 2:
            raise DataError(
                f"items-in-rows needs a column of items and one of ranks; {names} is left."
            )
        label, *contests = names
        columns = self.source.columns(names)
        items = columns[label].labels().tolist()
        if not items:
            raise DataError(f"there are no {self.source.unit}s of data.")
        # Problems are those of a column, which has no place among the rows.
        whole = Rows({}, np.ones(len(contests)), lambda bad: [[0] for _ in bad])
        ranks = [self._ranks(columns[contest]) for contest in contests]

        def build(j: int) -> Order:
            pairs = zip(items, ranks[j], strict=True)
            return order_of_ranks(pairs, self.options, 1.0, contests[j])

        parts = {**dict.fromkeys(contests, "ranks"), label: "items"}
        return _read(Inspection(self.source, whole, {}, parts), build)

    def _inspect(self, layout: str) -> Inspection:
        """Take the rows of a layout with roles out of the source."""
        wanted = RANKINGS.layouts[layout]
        asked = {role for role, column in self.columns.items() if column is not None}
        roles = find_roles(self.source.names, self.columns, wanted.roles)
        if not asked <= set(wanted.roles) or not set(wanted.needed) <= set(roles):
            raise RANKINGS.no_layout(self.source.names, wanted, columns=self.columns)
        return RANKINGS.inspect(self.source, Match(layout, roles, frozenset(asked)))

    def _inspect_wide(self, names: list[str]) -> Inspection:
        """Take the rows of a wide layout out of the source, with a column of counts."""
        rest = [name for name in self.source.names if name not in names]
        count = self.columns["count"] or find_role(rest, "count")
        rows = self.source.distinct(names, [count] if count else [])
        part = "place" if all(map(is_place, names)) else "ranks"
        parts = dict.fromkeys(self.source.index, "names of rows") | dict.fromkeys(names, part)
        ranking = self.columns["ranking"] or find_role(rest, "ranking")
        parts |= {ranking: "names of rankings"} if ranking else {}
        return Inspection(self.source, rows, {"count": count} if count else {}, parts)

    def _ranks(self, column: Column) -> list[Any]:
        ranks = map(self.options.rank, column.present())
        self._signs |= {int(np.sign(rank)) for rank in ranks if isinstance(rank, float)}
        return list(column.map(self.options.rank))

    def _wide_columns(self) -> list[str]:
        """List the columns of a wide table without those that count or name rankings."""
        found = find_roles(self.source.names, self.columns, ["count", "ranking"])
        known = {found.get("count"), found.get("ranking")} - {None}
        items = self.source.names
        # A column that has an item's name and an item's ranks is an item: Heat, The Times.
        guessed = {name for role, name in found.items() if self.columns.get(role) is None}
        if guessed:
            others = [name for name in items if name not in known]
            wider = [name for name in items if name not in known - guessed]
            if not self._dense(others) and self._dense(wider):
                known -= guessed
        return self._without_row_numbers([name for name in items if name not in known])

    def _without_row_numbers(self, names: list[str]) -> list[str]:
        """Leave out a first column that numbers the rows, where the second names the items."""
        if len(names) < 3 or not is_unnamed(names[0]):
            return names
        rows = self.source.distinct(names[:2])
        numbered = self._holds_ranks(rows[names[0]]) and not self._holds_ranks(rows[names[1]])
        return names[1:] if numbered else names

    def _named_columns(self) -> list[str]:
        """List the wide columns without those that name or number the rows."""
        index = self.source.index
        return [n for n in self._wide_columns() if not is_unnamed(n) and n not in index]

    def _dense(self, names: list[str]) -> bool:
        """Tell whether columns hold ranks that are, in every row, 1, 2, ... without a gap."""
        if not names:
            return False
        rows = self.source.distinct(names)
        if not all(self._holds_ranks(rows[name]) for name in names):
            return False
        table = np.stack([rows[name].numbers()[0] for name in names], axis=1)
        ranked = (set(row[np.isfinite(row) & (row != 0)]) for row in table)
        return all(ranks == set(range(1, len(ranks) + 1)) for ranks in ranked)

    def _dense_down(self, names: list[str]) -> bool:
        """Tell whether each of some columns holds ranks 1, 2, ... without a gap."""
        columns = (self.source.columns([name])[name].numbers()[0] for name in names)
        ranked = (set(ranks[np.isfinite(ranks) & (ranks != 0)]) for ranks in columns)
        return all(ranks == set(range(1, len(ranks) + 1)) for ranks in ranked)

    def _ask_about_strangers(
        self, names: list[str], layout: str, dense: Callable[[list[str]], bool]
    ) -> None:
        """Ask about columns that hold other numbers than ranks, as ages and points are."""
        odd = strangers(names)
        if self.options.best != "largest" and not dense(names):
            odd = odd or [
                x for x in names if dense([n for n in names if n != x]) and len(names) > 2
            ]
        if odd and len(odd) < len(names):
            raise DataError(
                f"{some(odd)} may hold something else than ranks. If so, leave it out with "
                f"ignore={odd} (--ignore); if not, say layout={layout!r} (--layout {layout})."
            )

    def _holds_ranks(self, column: Column) -> bool:
        return all(
            as_number(v) is not None or str(v).strip().lower() in self.options.unfinished
            for v in column.values
        )

    def _refuse_two_readings(self, names: list[str]) -> None:
        """Ask where the first column may as well name who ranked, its rows being rankings."""
        first, *others = names
        told = is_unnamed(first) or find_role([first], "item") is not None
        if len(others) > 1 and not told and self._dense(others):
            raise DataError(
                f"each row of this table is a ranking, and so may each column be. If {first!r} "
                "names the items, say layout='items-in-rows'; if it names who ranked them, ranking="
                f"{first!r}."
            )


def _read(inspection: Inspection, build: Callable[[int], Order]) -> _Orders:
    orders = _Orders(inspection)
    orders.read(build)
    return orders


def _r_missing(source: Source) -> set[Any]:
    """Return the texts that R writes for nobody; in a table of text they are empty already."""
    return {"NA", "na"} if source.missing is None else set()


def _padding(orders: list[list[Any]], found: set[Any]) -> set[Any]:
    """Find out whether values, as 0 and NA of R, stand for nobody at the end of a ranking.

    A value that also stands before others is an item, as 0 is where items count from there.
    """
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
