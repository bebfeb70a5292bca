"""Data from a known truth, in every shape that the readers take.

Simulate what you plan to collect, read it, and see how well the truth comes back: is the design
large enough?  What a function returns goes to the reader of the same name as it is; give the reader
``categories=list(probabilities)`` where some labels may never occur.  `rng`, `probabilities` and
`n` mean the same everywhere and are told in `pairs`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from luce._types import FloatArray, IntArray, Label, Labels
from luce.errors import DataError
from luce.labels import Categories, as_mapping, describe

Rng: TypeAlias = np.random.Generator | int
Truth: TypeAlias = Mapping[Any, float]
Table: TypeAlias = dict[str, list[Any]]


def pairs(
    rng: Rng, probabilities: Truth, n: int, *, pairs: Iterable[Labels] | None = None,
    home_label: Label = None, tie_label: Label = None,
) -> Table:  # fmt: skip
    """Simulate pair comparisons, for ``from_pairs``.

    Parameters
    ----------
    rng
        A generator of numpy, or a seed: the same seed gives the same data.
    probabilities
        The truth: a number for each label, 0 or more.  They need not add up to 1.
    n
        How many comparisons.
    pairs
        The schedule, taken in turn until there are n; random pairs unless given.
    home_label, tie_label
        Which label is the advantage of the first item (read with home="first"), and which is the
        tie (read with ties="entity"; it is told as "tie").

    Examples
    --------
    >>> pairs(1, {"a": 3, "b": 1, "tie": 1}, 3, pairs=[("a", "b")], tie_label="tie")
    {'item1': ['a', 'a', 'a'], 'item2': ['b', 'b', 'b'], 'winner': ['tie', 'b', 'b']}
    """
    if tie_label not in (None, "tie") and "tie" in probabilities:
        raise DataError("a competitor is called 'tie', which is how ties are told; rename it.")
    sides = None if pairs is None else [[[x] for x in _listed(pair, "pairs")] for pair in pairs]
    data = teams(rng, probabilities, n, size=1, sides=sides,
                 home_label=home_label, tie_label=tie_label)  # fmt: skip
    items = [[side[0] for side in data[name]] for name in ("side1", "side2")]
    told = zip(data["winner"], *items, strict=True)
    winner = [a if won == "side1" else b if won == "side2" else "tie" for won, a, b in told]
    return {"item1": items[0], "item2": items[1], "winner": winner}


def teams(
    rng: Rng, probabilities: Truth, n: int, *, size: int = 2,
    sides: Iterable[Iterable[Labels]] | None = None, home_label: Label = None,
    tie_label: Label = None,
) -> Table:  # fmt: skip
    """Simulate matches between teams, whose members' strengths add up, for ``from_teams``.

    Parameters
    ----------
    size
        Members of each side, who are drawn at random.
    sides
        The schedule instead: the two sides of each match, taken in turn until there are n.
    home_label, tie_label
        As in `pairs`.

    Examples
    --------
    >>> teams(1, {"a": 3, "b": 1, "c": 2}, 1, sides=[(["a", "b"], ["c"])])
    {'side1': [('a', 'b')], 'side2': [('c',)], 'winner': ['side1']}
    """
    random, n, (labels, p) = _generator(rng), _whole(n, "n"), _truth(probabilities)
    size = _whole(size, "size")
    extra = [label for label in (home_label, tie_label) if label is not None]
    apart = labels.numbers(extra, "home_label and tie_label")
    home, tie = (0.0 if x is None else p[labels.index[x]] for x in (home_label, tie_label))
    players = np.delete(np.arange(len(p)), apart)
    if sides is None:
        if 2 * size > len(players):
            raise DataError(f"two sides of {size} need {2 * size} labels; {len(players)} are left.")
        _require(home + tie > 0 or np.sum(p[players] == 0) < 2 * size)
        fields = players[_subsets(random, n, len(players), 2 * size)]
        first, second = fields[:, :size], fields[:, size:]
    else:
        matches = [_listed(match, "sides") for match in sides]
        if any(len(match) != 2 for match in matches):
            raise DataError("every match needs two sides.")
        for one, other in matches:  # nobody may be on both
            labels.numbers([*_listed(one, "sides"), *_listed(other, "sides"), *extra], "one match")
        first, second = (_in_turn(labels, [match[k] for match in matches], n) for k in (0, 1))
    strengths = [np.append(p, 0.0)[side].sum(axis=1) for side in (first, second)]
    weights = np.stack([strengths[0] + home, strengths[1], np.full(n, tie)], axis=1)
    winner = _first(random, weights)
    words = ("side1", "side2", "tie")
    return {"side1": _named(labels, first), "side2": _named(labels, second),
            "winner": [words[k] for k in winner.tolist()]}  # fmt: skip


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
    random, n, (labels, p) = _generator(rng), _whole(n, "n"), _truth(probabilities)
    size = len(p) if size is None else _whole(size, "size", 2, len(p))
    places = size if top is None else _whole(top, "top", 1, size)
    _one_of(layout, "layout", ("orders", "long"))
    if layout == "orders" and places < size < len(p):
        raise DataError("with size and top, orders do not tell who took part; use layout='long'.")
    zeros = min(int(np.sum(p == 0)), size)
    if zeros > 1 and size - zeros < places:
        raise DataError(f"{zeros} labels of probability 0 have no order among themselves.")
    fields = _subsets(random, n, len(p), size)
    orders = np.take_along_axis(fields, np.argsort(_arrivals(random, p[fields]), axis=1), axis=1)
    if layout == "orders":
        return [list(order) for order in _named(labels, orders[:, :places])]
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
    random, n, (labels, p) = _generator(rng), _whole(n, "n"), _truth(probabilities)
    _one_of(layout, "layout", ("picks", "long", "wide"))
    if layout == "wide" and not all(isinstance(x, str) and x == x.strip("_. -") for x in labels):
        raise DataError("layout = 'wide' needs labels that are text and can name columns.")
    if assortments is not None and size is not None:
        raise DataError("give assortments or size, not both.")
    if assortments is not None:
        offered = _in_turn(labels, assortments, n)
    else:
        size = len(p) if size is None else _whole(size, "size", 2, len(p))
        _require(np.sum(p == 0) < size)
        offered = np.sort(_subsets(random, n, len(p), size), axis=1)  # equal sets as equal tuples
    pick = offered[np.arange(n), _first(random, np.append(p, 0.0)[offered])]
    picks = [labels[i] for i in pick.tolist()]
    if layout == "picks":
        return {"chosen": picks, "offered": _named(labels, offered)}
    there = offered < len(p)
    if layout == "long":
        items = [labels[i] for i in offered[there].tolist()]
        marks = (offered == pick[:, None])[there].astype(np.int64).tolist()
        return {"case": np.nonzero(there)[0].tolist(), "alternative": items, "chosen": marks}
    flags = np.zeros((n, len(p) + 1), np.int64)
    np.put_along_axis(flags, offered, 1, axis=1)
    return {"chosen": picks, **{f"avail_{x}": flags[:, j].tolist() for j, x in enumerate(labels)}}


def transitions(
    rng: Rng, probabilities: Truth, n: int, *, self_loops: str = "removed",
    forbidden: Mapping[Any, Labels] | None = None, start: Label = None,
) -> list[Label]:  # fmt: skip
    """Simulate a sequence of states, for ``from_transitions``.

    Parameters
    ----------
    n
        How many transitions, each drawn from the probabilities of what is allowed.
    self_loops
        "removed": no state follows itself.  "kept": it may.
    forbidden
        Further transitions that cannot occur: from a state, the states it cannot move to.
    start
        The first state; drawn from the probabilities unless given.

    Examples
    --------
    >>> transitions(1, {"a": 3, "b": 1, "c": 2}, 5, start="a", forbidden={"a": ["b"]})
    ['a', 'c', 'a', 'c', 'a', 'c']
    """
    random, n, (labels, p) = _generator(rng), _whole(n, "n"), _truth(probabilities)
    _one_of(self_loops, "self_loops", ("removed", "kept"))
    if any(isinstance(label, tuple) for label in labels):
        raise DataError("a tuple cannot be a state here: it would be read as a sequence.")
    closed = {i: [i] if self_loops == "removed" else [] for i in range(len(p))}
    if not isinstance(forbidden, Mapping | None):
        raise DataError(f"forbidden is {describe(forbidden)}; a mapping of states is needed.")
    for state, others in (forbidden or {}).items():
        i = int(labels.numbers([state], "forbidden")[0])
        closed[i].extend(labels.numbers(others, "forbidden").tolist())

    def row(i: int) -> FloatArray:
        weights = p.copy()
        weights[closed[i]] = 0.0
        return weights

    def ahead(weights: FloatArray) -> Iterator[int]:
        """Moves from a state, in the order in which it will be left: drawn many at a time."""
        while True:
            yield from random.choice(len(p), 256, p=weights / weights.sum()).tolist()

    begins = (np.flatnonzero(p) if start is None else labels.numbers([start], "start")).tolist()
    todo, reached = list(begins), set(begins)
    while todo:  # all that can be reached, so that an error does not depend on luck
        i = todo.pop()
        new = set(np.flatnonzero(row(i)).tolist())
        if not new:
            raise DataError(f"from {labels[i]!r} nothing is allowed; it needs somewhere to go.")
        todo += new - reached
        reached |= new
    moves = {i: ahead(row(i)) for i in reached}
    states = begins if start is not None else [int(random.choice(len(p), p=p))]
    for _ in range(n):
        states.append(next(moves[states[-1]]))
    return [labels[i] for i in states]


def table(
    rng: Rng, probabilities: Truth, totals: Iterable[int], *,
    possible: Sequence[Labels] | None = None,
) -> Table:  # fmt: skip
    """Simulate a table of counts in which some cells cannot occur, for ``from_table``.

    Parameters
    ----------
    totals
        How many outcomes each row counts.  The labels name the columns and must be text.
    possible
        The labels that can occur in each row, all unless given; the other cells are nan.

    Examples
    --------
    >>> table(1, {"tea": 3, "milk": 1}, [9, 4], possible=[["tea", "milk"], ["tea"]])
    {'tea': [7, 4], 'milk': [2, nan]}
    """
    random, (labels, p) = _generator(rng), _truth(probabilities)
    if not all(isinstance(label, str) for label in labels):
        raise DataError("the labels of a table name its columns; they must be text.")
    sums = [_whole(total, "a total", 0) for total in _listed(totals, "totals")]
    rows = [labels] * len(sums) if possible is None else _listed(possible, "possible")
    if len(rows) != len(sums) or not sums:
        raise DataError(f"there are {len(sums)} totals and {len(rows)} rows of what is possible.")
    columns: Table = {str(label): [np.nan] * len(sums) for label in labels}
    for i, cells in enumerate(_in_turn(labels, rows, len(rows)).tolist()):
        open_cells = [j for j in cells if j < len(p)]
        # A cell of probability 0 stays out of the draw: rounding may leave the last one a rest.
        filled = [j for j in open_cells if p[j] > 0]
        _require(bool(filled))
        counts = random.multinomial(sums[i], p[filled] / p[filled].sum())
        for j in open_cells:
            columns[str(labels[j])][i] = 0
        for j, count in zip(filled, counts.tolist(), strict=True):
            columns[str(labels[j])][i] = count
    return columns


def groups(
    rng: Rng, probabilities: Truth, n: int, *, groups: Iterable[Labels], coarse: float = 0.5
) -> list[tuple[Label, ...]]:
    """Simulate answers of which some are only told as a group, for ``from_groups``.

    Whether an answer is told as its group does not depend on which of the group it is.  This is
    coarsening at random, P(told W | i) equal for all i in W, and the likelihood needs it.

    Parameters
    ----------
    groups
        Groups of labels without overlap.  A label in none is always told itself.
    coarse
        How probable it is that the group is told in place of the label.

    Examples
    --------
    >>> groups(1, {"a": 3, "b": 1, "c": 2}, 4, groups=[["a", "b"]])
    [('a', 'b'), ('c',), ('a',), ('c',)]
    """
    random, n, (labels, p) = _generator(rng), _whole(n, "n"), _truth(probabilities)
    if not isinstance(coarse, (int, float)) or not 0 <= coarse <= 1:
        raise DataError(f"coarse = {coarse!r}; a probability is needed.")
    told: list[tuple[Label, ...]] = [(label,) for label in labels]
    place = np.arange(len(p))
    parts = [_listed(group, "groups") for group in groups]
    labels.numbers([label for part in parts for label in part], "groups")  # none twice
    for part in filter(None, parts):
        place[labels.numbers(part, "groups")] = len(told)
        told.append(tuple(part))
    outcome = random.choice(len(p), n, p=p)
    report = np.where(random.random(n) < coarse, place[outcome], outcome)
    return [told[k] for k in report.tolist()]


def _generator(rng: Rng) -> np.random.Generator:
    if isinstance(rng, np.random.Generator):
        return rng
    if isinstance(rng, bool) or not isinstance(rng, (int, np.integer)) or rng < 0:
        raise DataError(f"rng is {describe(rng)}; a numpy Generator or a seed from 0 on is needed.")
    return np.random.default_rng(rng)


def _truth(given: Truth) -> tuple[Categories, FloatArray]:
    """Labels, and their probabilities, which add up to 1."""
    known = as_mapping(given)
    if not isinstance(known, Mapping) or len(known) < 2:
        raise DataError(f"probabilities are {describe(given)}; two labels or more are needed, each "
                        "with a number.")  # fmt: skip
    for label, value in known.items():
        blank = isinstance(label, str) and (not label or label != label.strip())
        if blank or label is None or isinstance(label, frozenset):
            raise DataError(f"{label!r} cannot be a label: no reader would keep it as it is.")
        numeric = isinstance(value, (int, float, np.number)) and not isinstance(value, bool)
        if not numeric or not 0 <= value < np.inf:
            raise DataError(f"the probability of {label!r} is {value!r}; a finite number, 0 or "
                            "more, is needed.")  # fmt: skip
    p = np.asarray(list(known.values()), np.float64)
    if not p.any():
        raise DataError("all probabilities are 0; one at least must be positive.")
    p /= p.max()  # first, since large numbers may add up to infinity
    return Categories(known), p / p.sum()


def _whole(value: Any, what: str, least: int = 1, most: int | None = None) -> int:
    whole = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
    if not whole or value < least or (most is not None and value > most):
        upto = "on" if most is None else f"to {most}"
        raise DataError(f"{what} is {value!r}; a whole number from {least} {upto} is needed.")
    return int(value)


def _one_of(value: str, what: str, known: tuple[str, ...]) -> None:
    if value not in known:
        raise DataError(f"{what} = {value!r}; one of {', '.join(map(repr, known))} is needed.")


def _listed(value: Any, what: str) -> list[Any]:
    if not isinstance(value, Iterable):
        raise DataError(f"{what} holds or is {describe(value)}, where a list is needed.")
    return list(value)


def _require(somebody: bool) -> None:
    if not somebody:
        raise DataError("all labels in one set may have probability 0: then nobody could win.")


def _in_turn(labels: Categories, lists: Iterable[Labels], n: int) -> IntArray:
    """Number n lists, the first one again after the last, filled up with len(labels)."""
    rows = [labels.numbers(row, "the design") for row in _listed(lists, "the design")]
    if not rows or not all(map(len, rows)):
        raise DataError("the design is empty, or a list in it is; at least one label is needed.")
    filled = np.full((len(rows), max(map(len, rows))), len(labels))
    for i, row in enumerate(rows):
        filled[i, : len(row)] = row
    return filled[np.arange(n) % len(rows)]


def _named(labels: Categories, fields: IntArray) -> list[tuple[Label, ...]]:
    names = labels.labels
    if fields.max() < len(names):
        return list(zip(*([names[i] for i in c.tolist()] for c in fields.T), strict=True))
    return [tuple(names[i] for i in row if i < len(names)) for row in fields.tolist()]


def _subsets(random: np.random.Generator, n: int, m: int, size: int) -> IntArray:
    """Draw n lists of different numbers below m, each list as likely as any other."""
    if 2 * size >= m:
        return np.argsort(random.random((n, m)), axis=1)[:, :size]
    drawn = np.empty((n, size), np.int64)
    for k in range(size):
        number = random.integers(m - k, size=n)
        for taken in np.sort(drawn[:, :k], axis=1).T:  # count only those not taken
            number += number >= taken
        drawn[:, k] = number
    return drawn


def _arrivals(random: np.random.Generator, weights: FloatArray) -> FloatArray:
    """Logs of exponential waiting times with these rates: their order is Plackett-Luce."""
    with np.errstate(divide="ignore"):
        return -(np.log(weights) + random.gumbel(size=weights.shape))


def _first(random: np.random.Generator, weights: FloatArray) -> IntArray:
    _require(bool((weights.max(axis=1) > 0).all()))
    first: IntArray = _arrivals(random, weights).argmin(axis=1)
    return first
