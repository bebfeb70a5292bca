"""Simulate rankings and choices."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from luce._types import Label, Labels
from luce.errors import DataError
from luce.simulate.design import (
    Rng,
    Table,
    Truth,
    arrivals,
    first_arrivals,
    generator,
    in_turn,
    named,
    one_of,
    read_truth,
    require_winner,
    subsets,
    whole,
)


def rankings(
    rng: Rng,
    probabilities: Truth,
    n: int,
    *,
    size: int | None = None,
    top: int | None = None,
    layout: str = "orders",
) -> list[list[Label]] | Table:
    """Simulate rankings of the Plackett-Luce model, for ``from_rankings``.

    Parameters
    ----------
    rng, probabilities, n
        As in `pairs`; n is the number of rankings.
    size
        Number of labels in each ranking, drawn at random (read with unranked="absent"); all labels
        unless given.
    top
        Number of places in the data (read with unranked="below"); all places unless given.
    layout
        "orders": lists of labels, best first.  "long": a row for each ranking and item, with rank 0
        below the top.  With both size and top, only "long" shows who took part: read it with
        unranked="below", blank="absent".

    Examples
    --------
    >>> rankings(1, {"a": 3, "b": 1, "c": 2}, 2)
    [['a', 'b', 'c'], ['b', 'a', 'c']]
    """
    random, n, (labels, p) = generator(rng), whole(n, "n"), read_truth(probabilities)
    size = len(p) if size is None else whole(size, "size", 2, len(p))
    places = size if top is None else whole(top, "top", 1, size)
    one_of(layout, "layout", ("orders", "long"))
    if layout == "orders" and places < size < len(p):
        raise DataError("with size and top, orders do not tell who took part; use layout='long'.")
    zeros = min(int(np.sum(p == 0)), size)
    if zeros > 1 and size - zeros < places:
        raise DataError(f"{zeros} labels of probability 0 have no order among themselves.")
    fields = subsets(random, n, len(p), size)
    orders = np.take_along_axis(fields, np.argsort(arrivals(random, p[fields]), axis=1), axis=1)
    if layout == "orders":
        return [list(order) for order in named(labels, orders[:, :places])]
    ranks = [*range(1, places + 1), *[0] * (size - places)]
    items = [labels[i] for i in orders.ravel().tolist()]
    return {"ranking": np.repeat(np.arange(n), size).tolist(), "item": items, "rank": ranks * n}


def choices(
    rng: Rng,
    probabilities: Truth,
    n: int,
    *,
    assortments: Iterable[Labels] | None = None,
    size: int | None = None,
    layout: str = "picks",
) -> Table:
    """Simulate choices from changing assortments, for ``from_choices``.

    Parameters
    ----------
    rng, probabilities, n
        As in `pairs`; n is the number of choices.
    assortments
        The labels on offer, list by list, repeated until there are n choices.
    size
        Instead of assortments: the number of labels on offer in each choice, drawn at random; all
        labels unless given.
    layout
        "picks": a row is a choice, with all labels on offer.  "long": a row is an alternative.
        "wide": a row is a choice, with a column avail_... for each label.

    Examples
    --------
    >>> choices(1, {"tea": 3, "milk": 1, "wine": 2}, 2, assortments=[["tea", "milk"]])
    {'chosen': ['tea', 'tea'], 'offered': [('tea', 'milk'), ('tea', 'milk')]}
    """
    random, n, (labels, p) = generator(rng), whole(n, "n"), read_truth(probabilities)
    one_of(layout, "layout", ("picks", "long", "wide"))
    if layout == "wide" and not all(isinstance(x, str) and x == x.strip("_. -") for x in labels):
        raise DataError("layout = 'wide' needs labels that are text and can name columns.")
    if assortments is not None and size is not None:
        raise DataError("give assortments or size, not both.")
    if assortments is not None:
        offered = in_turn(labels, assortments, n)
    else:
        size = len(p) if size is None else whole(size, "size", 2, len(p))
        require_winner(np.sum(p == 0) < size)
        offered = np.sort(
            subsets(random, n, len(p), size), axis=1
        )  # so that equal sets are equal tuples
    pick = offered[np.arange(n), first_arrivals(random, np.append(p, 0.0)[offered])]
    picks = [labels[i] for i in pick.tolist()]
    if layout == "picks":
        return {"chosen": picks, "offered": named(labels, offered)}
    there = offered < len(p)
    if layout == "long":
        items = [labels[i] for i in offered[there].tolist()]
        marks = (offered == pick[:, None])[there].astype(np.int64).tolist()
        return {"case": np.nonzero(there)[0].tolist(), "alternative": items, "chosen": marks}
    flags = np.zeros((n, len(p) + 1), np.int64)
    np.put_along_axis(flags, offered, 1, axis=1)
    return {"chosen": picks, **{f"avail_{x}": flags[:, j].tolist() for j, x in enumerate(labels)}}
