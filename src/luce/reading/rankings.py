"""Rankings: who came before whom.

a before b before c            p_a / (p_a + p_b + p_c) * p_b / (p_b + p_c)
d, only known to be below      p_d joins every denominator and wins nothing
d, absent                      p_d appears nowhere
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from luce._types import Label, Labels
from luce.counts.labels import Categories
from luce.errors import DataError
from luce.reading.columns import hashable, is_list
from luce.reading.given import describe_type, has_named_rows, is_frame, source_of, with_named_rows
from luce.reading.orders import (
    MEANINGS,
    Order,
    WrongOrderError,
    check_ties_of,
    count_orders,
)
from luce.reading.rank_layouts import RankOptions, find_layout
from luce.reading.rank_tables import Rankings, read_orders
from luce.reading.reading import Reading, reader
from luce.reading.sources import PlainSource, Source
from luce.reading.ties import check_ties


@reader("rankings")
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
    best: str = "smallest",
    did_not_finish: Iterable[str] | None = None,
    ties: str | None = None,
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
        Columns to leave out of a wide layout.
    unranked
        Who is not ranked: "absent", took no part, or "below", after all who are ranked.  Asked
        for where some are not.
    blank
        The same for empty values of a table, where it differs from 0, a place without rank.
    best
        Is the "smallest" rank the best, or the "largest"?
    did_not_finish
        Texts that stand for a rank below all finishers; the usual ones (DNF, Ret, DSQ ...) unless
        given.
    ties
        What equal ranks mean, asked for where there are some: "half", every order of the tied
        counts equally, or "last", a tie in last place is only known to be below the rest.
    categories
        All labels in order, where they are not just those that occur.
    skip_bad
        Leave rankings out that cannot be used, with a warning that lists them?

    Examples
    --------
    >>> from_rankings([["a", "b", "c"], ["b", "a", "c"]])
    ConditionalCounts(3 categories, 6 outcomes, 2 sets)
    >>> from_rankings([["a"], ["b"]], unranked="below", categories="abc")
    ConditionalCounts(3 categories, 2 outcomes, 0 sets)
    """
    options = RankOptions(unranked, blank, best, did_not_finish, ignore)
    columns = {"ranking": ranking, "item": item, "rank": rank, "order": order, "count": count}
    if counts is not None:
        if is_frame(data):
            raise DataError("counts go with a list of rankings; in a frame they are a column, "
                            "count='...'.")  # fmt: skip
        if not is_list(counts):
            raise DataError(f"counts = {counts!r}; a list of numbers is needed.")
        data = {"order": _listed(data), "count": list(counts)}
    return _read(data, columns, options, layout, ties, categories, skip_bad)


def _read(
    data: Any,
    columns: Mapping[str, str | None],
    options: RankOptions,
    layout: str | None = None,
    ties: str | None = None,
    categories: Labels | None = None,
    skip_bad: bool = False,
) -> Reading:
    """Read rankings, and say how many there were."""
    check_ties(ties, MEANINGS)
    options.check()
    source = _source(data if layout != "items-in-rows" else with_named_rows(data))
    asked = layout
    layout = find_layout(source, columns, layout, options)
    if asked is None and layout == "items-in-columns" and has_named_rows(data):
        raise DataError(
            "the rows of this frame have names. If they are the items, say layout="
            "'items-in-rows'; if they are not and the columns are, 'items-in-columns'."
        )
    rankings = read_orders(source, layout, columns, options)
    return _use(source, rankings, options, ties, categories, skip_bad)


def _use(
    source: Source,
    rankings: Rankings,
    options: RankOptions,
    ties: str | None,
    categories: Labels | None,
    skip_bad: bool,
) -> Reading:
    """Check the rankings that were read against what was asked for, and count them."""
    named = None if categories is None else list(Categories(categories))
    known = None if named is None else set(named)
    below = "below" in (options.unranked, options.blank)
    orders = [order for order in rankings.orders if order is not None]
    n = len(known if known is not None else {x for o in orders for x in (*o.labels, *o.blanks)})

    def checked(order: Order) -> Order:
        unknown = None if known is None else _outside(order, known)
        if unknown is not None:
            raise WrongOrderError(f"{unknown!r} is not one of the categories.")
        ranked = sum(map(len, order.classes))
        check_ties_of(order, ties, below and ranked < n)
        return order

    for i, order in enumerate(rankings.orders):
        if order is not None:
            rankings.read(i, lambda order=order: checked(order))  # type: ignore[misc]
    orders = rankings.usable(source, skip_bad)
    return count_orders(orders, options.unranked, options.blank, ties, named)


def _outside(order: Order, known: set[Label]) -> Label | None:
    return next((x for x in (*order.labels, *order.blanks) if x not in known), None)


def _source(data: Any) -> Source:
    if isinstance(data, Mapping) and not all(isinstance(k, str) and _is_column(v)
                                             for k, v in data.items()):  # fmt: skip
        return PlainSource({"order": _listed(data), "count": list(data.values())})
    if is_frame(data):
        return source_of(data)
    return PlainSource({"order": _listed(data)})


def _is_column(values: Any) -> bool:
    return is_list(values)


def _listed(data: Any) -> list[Any]:
    """Rankings as values that can be counted: tuples of labels, and frozensets for ties."""
    if not is_list(data):
        raise DataError(
            f"{describe_type(data)} was given; a list of rankings is needed, each a list of "
            "labels from best to worst, or a frame."
        )
    listed = []
    for order in data:
        # A tuple of labels is a ranking here, and whatever else can be gone through once.
        if is_list(order) and not isinstance(order, (set, frozenset)):
            order = list(order)
        listed.append(hashable(order))
    if not listed:
        raise DataError("there are no rankings.")
    return listed
