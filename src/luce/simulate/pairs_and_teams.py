"""Simulate pair comparisons and matches between teams."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from luce._types import IntArray, Label, Labels
from luce.counts.labels import Categories
from luce.errors import DataError
from luce.simulate.design import (
    Rng,
    Table,
    Truth,
    first_arrivals,
    generator,
    in_turn,
    listed,
    named,
    read_truth,
    require_winner,
    subsets,
    whole,
)


def pairs(
    rng: Rng,
    probabilities: Truth,
    n: int,
    *,
    pairs: Iterable[Labels] | None = None,
    home_label: Label = None,
    tie_label: Label = None,
) -> Table:
    """Simulate pair comparisons, for ``from_pairs``.

    Parameters
    ----------
    rng
        A generator of numpy, or a seed: the same seed gives the same data.
    probabilities
        The true probabilities: a number for each label, 0 or more.  They need not add up to 1.
    n
        Number of comparisons.
    pairs
        The schedule, repeated until there are n comparisons; random pairs unless given.
    home_label, tie_label
        The label that stands for the advantage of the first item (read with home="first"), and the
        one that stands for a tie (read with ties="entity"; its column entry is "tie").

    Examples
    --------
    >>> pairs(1, {"a": 3, "b": 1, "tie": 1}, 3, pairs=[("a", "b")], tie_label="tie")
    {'item1': ['a', 'a', 'a'], 'item2': ['b', 'b', 'b'], 'winner': ['tie', 'b', 'b']}
    """
    if tie_label not in (None, "tie") and "tie" in probabilities:
        raise DataError("a competitor is called 'tie', which is how ties are told; rename it.")
    sides = None if pairs is None else [[[x] for x in listed(pair, "pairs")] for pair in pairs]
    labels = {"home_label": home_label, "tie_label": tie_label}
    data = teams(rng, probabilities, n, size=1, sides=sides, **labels)
    items = [[side[0] for side in data[name]] for name in ("side1", "side2")]
    told = zip(data["winner"], *items, strict=True)
    winner = [a if won == "side1" else b if won == "side2" else "tie" for won, a, b in told]
    return {"item1": items[0], "item2": items[1], "winner": winner}


def teams(
    rng: Rng,
    probabilities: Truth,
    n: int,
    *,
    size: int = 2,
    sides: Iterable[Iterable[Labels]] | None = None,
    home_label: Label = None,
    tie_label: Label = None,
) -> Table:
    """Simulate matches between teams, whose members' strengths add up, for ``from_teams``.

    Parameters
    ----------
    rng, probabilities, n
        As in `pairs`; n is the number of matches.
    size
        Number of members of each side, who are drawn at random unless `sides` is given.
    sides
        The schedule: the two sides of each match, repeated until there are n matches.
    home_label, tie_label
        As in `pairs`.

    Examples
    --------
    >>> teams(1, {"a": 3, "b": 1, "c": 2}, 1, sides=[(["a", "b"], ["c"])])
    {'side1': [('a', 'b')], 'side2': [('c',)], 'winner': ['side1']}
    """
    random, n, (labels, p) = generator(rng), whole(n, "n"), read_truth(probabilities)
    size = whole(size, "size")
    extra = [label for label in (home_label, tie_label) if label is not None]
    apart = labels.numbers(extra, "home_label and tie_label")
    home, tie = (0.0 if x is None else p[labels.index[x]] for x in (home_label, tie_label))
    if sides is None:
        players = np.delete(np.arange(len(p)), apart)
        if 2 * size > len(players):
            raise DataError(f"two sides of {size} need {2 * size} labels; {len(players)} are left.")
        require_winner(home + tie > 0 or np.sum(p[players] == 0) < 2 * size)
        drawn = players[subsets(random, n, len(players), 2 * size)]
        first, second = drawn[:, :size], drawn[:, size:]
    else:
        first, second = _scheduled(labels, sides, extra, n)
    strengths = [np.append(p, 0.0)[side].sum(axis=1) for side in (first, second)]
    weights = np.stack([strengths[0] + home, strengths[1], np.full(n, tie)], axis=1)
    winner = first_arrivals(random, weights)
    words = ("side1", "side2", "tie")
    return {
        "side1": named(labels, first),
        "side2": named(labels, second),
        "winner": [words[k] for k in winner.tolist()],
    }


def _scheduled(
    labels: Categories, sides: Iterable[Iterable[Labels]], extra: list[Label], n: int
) -> tuple[IntArray, IntArray]:
    """Read the two sides of n scheduled matches; no label, nor an extra one, may be on both."""
    matches = [listed(match, "sides") for match in sides]
    if any(len(match) != 2 for match in matches):
        raise DataError("every match needs two sides.")
    for one, other in matches:
        labels.numbers([*listed(one, "sides"), *listed(other, "sides"), *extra], "one match")
    first, second = (in_turn(labels, [match[k] for match in matches], n) for k in (0, 1))
    return first, second
