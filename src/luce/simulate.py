"""Data from a known truth, in every shape that the readers take.

Simulate what you plan to collect, read it, and see how well the truth comes back: is the design
large enough?  Every function takes a generator or a seed, the probabilities and the design; what
it returns goes to the reader of the same name as it is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from luce._types import BoolArray, FloatArray, IntArray, Label, Labels
from luce.errors import DataError
from luce.labels import Categories, as_mapping, describe

Rng: TypeAlias = np.random.Generator | int
Truth: TypeAlias = Mapping[Any, float]
Table: TypeAlias = dict[str, list[Any]]

_CELLS = 1 << 20  # random numbers held at a time, so that memory goes by the result


def pairs(
    rng: Rng,
    probabilities: Truth,
    n: int,
    *,
    pairs: Sequence[tuple[Label, Label]] | None = None,
    home_label: Label = None,
    tie_label: Label = None,
) -> Table:
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
        Which of the labels is the advantage of the first item (read it with home="first"), and
        which is the tie (read it with ties="entity").

    Examples
    --------
    >>> pairs(1, {"a": 3, "b": 1, "tie": 1}, 3, pairs=[("a", "b")], tie_label="tie")
    {'item1': ['a', 'a', 'a'], 'item2': ['b', 'b', 'b'], 'winner': ['tie', 'b', 'a']}
    """
    sides = None if pairs is None else [([a], [b]) for a, b in _twos(pairs, "pairs")]
    labels, fields, winner = _duels(rng, probabilities, n, 1, sides, home_label, tie_label)
    if tie_label not in (None, "tie") and "tie" in labels.index:
        raise DataError("a competitor is called 'tie', as ties are in these data; rename it.")
    first, second = fields[:, 0], fields[:, 1]
    names = [*labels, "tie"]
    columns = first, second, np.choose(winner, (first, second, len(labels)))
    named = ([names[i] for i in column.tolist()] for column in columns)
    return dict(zip(("item1", "item2", "winner"), named, strict=True))


def teams(
    rng: Rng,
    probabilities: Truth,
    n: int,
    *,
    size: int = 2,
    sides: Sequence[tuple[Labels, Labels]] | None = None,
    home_label: Label = None,
    tie_label: Label = None,
) -> Table:
    """Simulate matches between teams, whose members' strengths add up, for ``from_teams``.

    Parameters
    ----------
    size
        Members of each side, who are drawn at random.
    sides
        The schedule instead: both sides of each match, taken in turn until there are n.
    rng, probabilities, n, home_label, tie_label
        As in `pairs`.

    Examples
    --------
    >>> teams(1, {"a": 3, "b": 1, "c": 2}, 1, sides=[(["a", "b"], ["c"])])
    {'side1': [('a', 'b')], 'side2': [('c',)], 'winner': ['side2']}
    """
    size = _whole(size, "size")
    labels, fields, winner = _duels(rng, probabilities, n, size, sides, home_label, tie_label)
    half = fields.shape[1] // 2
    side1, side2 = _named(labels, fields[:, :half]), _named(labels, fields[:, half:])
    words = ("side1", "side2", "tie")
    return {"side1": side1, "side2": side2, "winner": [words[k] for k in winner.tolist()]}


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
    size
        How many take part in each ranking, drawn at random; all unless given.  Read such data
        with unranked="absent".
    top
        How many places are told; all unless given.  Read such data with unranked="below".
    layout
        "orders": lists of labels, best first.  "long": a row for each ranking and item, rank 0
        for those below the top.  With `size` and `top` only the latter tells who took part: read
        it with unranked="below" and blank="absent".
    rng, probabilities, n
        As in `pairs`.

    Examples
    --------
    >>> rankings(1, {"a": 3, "b": 1, "c": 2}, 2)
    [['a', 'c', 'b'], ['c', 'a', 'b']]
    """
    random, n, (labels, p) = _generator(rng), _whole(n, "n"), _truth(probabilities)
    size = len(p) if size is None else _whole(size, "size", 2, len(p))
    places = size if top is None else _whole(top, "top", 1, size)
    _one_of(layout, "layout", ("orders", "long"))
    if layout == "orders" and places < size < len(p):
        raise DataError("with size and top, orders do not tell who took part; use layout='long'.")
    zeros = min(int((p == 0).sum()), size)
    if zeros > 1 and size - zeros < places:
        raise DataError(f"{zeros} labels of probability 0 have no order among themselves.")
    blocks = []
    for some in _blocks(n, len(p)):
        fields = _subsets(random, len(some), len(p), size)
        arrival = np.argsort(_waiting_times(random, p[fields]), axis=1)
        blocks.append(np.take_along_axis(fields, arrival, axis=1))
    orders = np.concatenate(blocks)
    if layout == "orders":
        return [list(order) for order in _named(labels, orders[:, :places])]
    ranks = [*range(1, places + 1), *[0] * (size - places)]
    items = [labels[i] for i in orders.ravel().tolist()]
    return {"ranking": np.repeat(np.arange(n), size).tolist(), "item": items, "rank": ranks * n}


def choices(
    rng: Rng,
    probabilities: Truth,
    n: int,
    *,
    assortments: Sequence[Labels] | None = None,
    size: int | None = None,
    layout: str = "picks",
) -> Table:
    """Simulate choices from changing assortments, for ``from_choices``.

    Parameters
    ----------
    assortments
        What is on offer, taken in turn until there are n choices.
    size
        Or how many are on offer each time, drawn at random; everything unless given.
    layout
        "picks": a row is a choice, with what was chosen and what was on offer.  "long": a row is
        an alternative.  "wide": a row is a choice, with a column avail_... for each label.
    rng, probabilities, n
        As in `pairs`.

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
    size = len(p) if size is None else _whole(size, "size", 2, len(p))
    if assortments is not None:
        shelves = _padded([labels.numbers(x, "assortments") for x in assortments], labels)
        _winnable(np.append(p, 0.0)[shelves].sum(axis=1), "assortment")
    elif (p == 0).sum() >= size:
        raise DataError(f"all {size} on offer may have probability 0: nothing could be chosen.")
    fields, chosen = [], []
    for some in _blocks(n, len(p)):
        if assortments is not None:
            field = shelves[np.asarray(some) % len(shelves)]
        else:  # in the order of the labels, so that equal assortments are equal tuples
            field = np.sort(_subsets(random, len(some), len(p), size), axis=1)
        won = np.argmin(_waiting_times(random, np.append(p, 0.0)[field]), axis=1)
        fields.append(field)
        chosen.append(np.take_along_axis(field, won[:, None], axis=1))
    offered, pick = np.concatenate(fields), np.concatenate(chosen)
    picks = [labels[i] for i in pick[:, 0].tolist()]
    if layout == "picks":
        return {"chosen": picks, "offered": _named(labels, offered)}
    there = offered < len(p)  # the rest is padding
    if layout == "long":
        items = [labels[i] for i in offered[there].tolist()]
        marks = (offered == pick)[there].astype(np.int64).tolist()
        return {"case": np.nonzero(there)[0].tolist(), "alternative": items, "chosen": marks}
    flags = np.zeros((n, len(p) + 1), np.int64)
    np.put_along_axis(flags, offered, 1, axis=1)
    wide = {f"avail_{label}": flags[:, j].tolist() for j, label in enumerate(labels)}
    return {"chosen": picks, **wide}


def transitions(
    rng: Rng,
    probabilities: Truth,
    n: int,
    *,
    self_loops: str = "removed",
    forbidden: Any = None,
    start: Label = None,
) -> list[Label]:
    """Simulate a sequence of states, for ``from_transitions``.

    The next state is drawn from the one vector of probabilities, restricted to what is allowed.

    Parameters
    ----------
    n
        How many transitions: the sequence is one longer.
    self_loops
        "removed": no state follows itself.  "kept": it may.
    forbidden
        Further transitions that cannot occur: a mapping from a state to the states it cannot move
        to, a list of (from, to), or a square array of True and False in the order of the labels.
    start
        The first state; drawn from the probabilities unless given.
    rng, probabilities
        As in `pairs`.

    Examples
    --------
    >>> transitions(1, {"a": 3, "b": 1, "c": 2}, 5, start="a", forbidden=[("a", "b")])
    ['a', 'c', 'a', 'c', 'b', 'a']
    """
    random, n, (labels, p) = _generator(rng), _whole(n, "n"), _truth(probabilities)
    _one_of(self_loops, "self_loops", ("removed", "kept"))
    if any(isinstance(label, tuple) for label in labels):
        raise DataError("a tuple cannot be a state here: it would be read as a sequence.")
    closed = _closed(forbidden, labels)
    if self_loops == "removed":
        closed = [[*others, i] for i, others in enumerate(closed)]

    def row(i: int) -> FloatArray:
        weights = p.copy()
        weights[closed[i]] = 0.0
        return weights

    def ahead(i: int) -> Iterator[int]:
        """Moves from state i, in the order in which it will be visited."""
        weights = row(i)
        while True:
            yield from random.choice(len(p), 256, p=weights / weights.sum()).tolist()

    begins = np.flatnonzero(p) if start is None else labels.numbers([start], "start")
    # All that can be reached is looked at first, so that an error does not depend on luck.
    reached, todo = set(begins.tolist()), begins.tolist()
    while todo:
        i = todo.pop()
        new = set(np.flatnonzero(row(i)).tolist())
        if not new:
            raise DataError(f"from {labels[i]!r} nothing is allowed; it needs somewhere to go.")
        todo += new - reached
        reached |= new
    moves = [ahead(i) for i in range(len(p))]
    states = [int(random.choice(begins, p=p[begins] if start is None else None))]
    for _ in range(n):
        states.append(next(moves[states[-1]]))
    return [labels[i] for i in states]


def table(rng: Rng, probabilities: Truth, totals: Any, *, possible: Any = None) -> Table:
    """Simulate a table of counts in which some cells cannot occur, for ``from_table``.

    Parameters
    ----------
    probabilities
        As in `pairs`; the labels name the columns and must be text.
    totals
        How many outcomes each row counts.
    possible
        For each row the labels that can occur, or an array of True and False; all unless given.
        The other cells are nan.
    rng
        As in `pairs`.

    Examples
    --------
    >>> table(1, {"tea": 3, "milk": 1}, [9, 4], possible=[["tea", "milk"], ["tea"]])
    {'tea': [7, 4], 'milk': [2, nan]}
    """
    random, (labels, p) = _generator(rng), _truth(probabilities)
    if not all(isinstance(label, str) for label in labels):
        raise DataError("the labels of a table name its columns; they must be text.")
    sums = [_whole(x, "a total", 0) for x in np.atleast_1d(np.asarray(totals, object)).tolist()]
    mask = _mask(possible, len(sums), labels)
    _winnable((p * mask).sum(axis=1), "row")
    counts = np.where(mask, 0, None)
    for row, total, open_cells in zip(counts, sums, mask, strict=True):
        # Only cells that can be filled, since rounding may leave the last one a rest.
        cells = np.flatnonzero(open_cells & (p > 0))
        row[cells] = random.multinomial(total, p[cells] / p[cells].sum())
    counts[~mask] = np.nan
    return {str(label): counts[:, j].tolist() for j, label in enumerate(labels)}


def groups(
    rng: Rng,
    probabilities: Truth,
    n: int,
    *,
    groups: Sequence[Labels],
    coarse: float | Sequence[float] = 0.5,
) -> list[tuple[Label, ...]]:
    """Simulate answers of which some are only told as a group, for ``from_groups``.

    Whether an answer is told as its group does not depend on which of the group it is.  This is
    coarsening at random, P(told W | i) equal for all i in W, and the likelihood needs it.

    Parameters
    ----------
    groups
        Groups of labels without overlap.  Who is in none is always told exactly.
    coarse
        How probable it is that the group is told in place of the label: a number, or one a group.
    rng, probabilities, n
        As in `pairs`.

    Examples
    --------
    >>> groups(1, {"a": 3, "b": 1, "c": 2}, 4, groups=[["a", "b"]])
    [('c',), ('c',), ('a',), ('a', 'b')]
    """
    random, n, (labels, p) = _generator(rng), _whole(n, "n"), _truth(probabilities)
    try:
        rates = np.broadcast_to(np.asarray(coarse, np.float64), len(groups))
    except (TypeError, ValueError):
        rates = np.array([np.nan])
    if not ((rates >= 0) & (rates <= 1)).all():
        raise DataError(f"coarse = {coarse!r}; a probability is needed, or one for each group.")
    told: list[tuple[Label, ...]] = [(label,) for label in labels]
    rate, place = np.zeros(len(p)), np.arange(len(p))
    for chance, group in zip(rates.tolist(), groups, strict=True):
        members = labels.numbers(group, "a group")
        if not len(members) or (place[members] >= len(p)).any():
            raise DataError(f"groups must hold labels and not overlap; {group!r} does not fit.")
        rate[members], place[members] = chance, len(told)
        told.append(tuple(labels[int(i)] for i in members))
    outcome = random.choice(len(p), n, p=p)
    reported = np.where(random.random(n) < rate[outcome], place[outcome], outcome)
    return [told[k] for k in reported.tolist()]


def _duels(
    rng: Rng, given: Truth, n: int, size: int, sides: Any, home_label: Label, tie_label: Label
) -> tuple[Categories, IntArray, IntArray]:
    """Return labels, who meets whom (the first side left, the second right), and who won."""
    random, n, (labels, p) = _generator(rng), _whole(n, "n"), _truth(given)
    extra = [x for x in (home_label, tie_label) if x is not None]
    apart = labels.numbers(extra, "home_label and tie_label")
    home, tie = (0.0 if x is None else p[labels.index[x]] for x in (home_label, tie_label))
    players = np.delete(np.arange(len(p)), apart)
    strength = np.append(p, 0.0)
    if sides is None:
        if 2 * size > len(players):
            raise DataError(f"two sides of {size} need {2 * size} labels; {len(players)} are left.")
        if home + tie == 0 and (p[players] == 0).sum() >= 2 * size:
            raise DataError("both sides may have probability 0: nobody could win.")
        fields = players[_subsets(random, n, len(players), 2 * size)]
    else:
        matches = [[labels.numbers(x, "a side") for x in two] for two in _twos(sides, "sides")]
        for two in matches:
            both = labels.numbers([labels[int(i)] for i in np.r_[(*two, apart)]], "one match")
            if not len(two[0]) * len(two[1]) or len(both) < 2:
                raise DataError("a side is empty; it needs a label.")
        listed = _padded([side for two in matches for side in two], labels)
        schedule = listed.reshape(len(matches), -1)
        _winnable(strength[schedule].sum(axis=1) + home + tie, "match")
        fields = schedule[np.arange(n) % len(schedule)]
    half = fields.shape[1] // 2
    one, two = (strength[side].sum(axis=1) for side in (fields[:, :half], fields[:, half:]))
    weights = np.stack([one + home, two, np.full(n, tie)], axis=1)
    return labels, fields, np.argmin(_waiting_times(random, weights), axis=1)
