"""Rankings and choices, from a known truth."""

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
    require,
    subsets,
    whole,
)


def rankings(
    rng: Rng, probabilities: Truth, n: int, *, size: int | None = None, top: int | None = None,
    layout: str = "orders",
) -> list[list[Label]] | Table:  # fmt: skip
    """Simulate rankings of the Plackett-Luce model, for ``from_rankings``.

    Parameters
    ----------
    size
        How many take part in each, drawn at random (read with unranked="absent"); all unless given.
    top
        How many places are told (read with unranked="below"); all unless given.
    layout
        "orders": lists of labels, best first.  "long": a row for each ranking and item, with rank 0
        below the top.  With size and top only the latter tells who took part: read it with
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
    rng: Rng, probabilities: Truth, n: int, *, assortments: Iterable[Labels] | None = None,
    size: int | None = None, layout: str = "picks",
) -> Table:  # fmt: skip
    """Simulate choices from changing assortments, for ``from_choices``.

    Parameters
    ----------
    assortments
        What is on offer, taken in turn until there are n choices.
    size
        Or how many are on offer each time, drawn at random; everything unless given.
    layout
        "picks": a row is a choice, with all that was on offer.  "long": a row is an alternative.
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
        require(np.sum(p == 0) < size)
        offered = np.sort(subsets(random, n, len(p), size), axis=1)  # equal sets as equal tuples
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
