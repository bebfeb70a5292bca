"""Simulate pair comparisons and matches between teams."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from luce._types import FloatArray, IntArray, Label, Labels
from luce.counts.contests import TIE_MODELS, log_outcomes
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
    one_of,
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
    home: float | None = None,
    ties: str | None = None,
    tie: float | None = None,
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
    home
        Factor of the strength of the first item, which is at home (read with home="first").
    ties, tie
        Model of ties, "davidson" or "rao-kupper", and its parameter: Davidson's ν from 0 on, or Rao
        and Kupper's θ from 1 on.  The entry of a tie in its column is "tie".
    home_label, tie_label
        Instead of these, for data read with home_effect="entity" and ties="entity": the label that
        stands for the advantage of the first item, and the one that stands for a tie.

    Examples
    --------
    >>> pairs(1, {"a": 3, "b": 1}, 3, pairs=["ab", "ba"], home=1.4, ties="davidson", tie=0.8)
    {'item1': ['a', 'b', 'a'], 'item2': ['b', 'a', 'b'], 'winner': ['tie', 'a', 'a']}
    >>> pairs(1, {"a": 3, "b": 1, "tie": 1}, 3, pairs=[("a", "b")], tie_label="tie")
    {'item1': ['a', 'a', 'a'], 'item2': ['b', 'b', 'b'], 'winner': ['tie', 'b', 'b']}
    """
    if (ties is not None or tie_label not in (None, "tie")) and "tie" in probabilities:
        raise DataError("a competitor is called 'tie', which is how ties are told; rename it.")
    sides = None if pairs is None else [[[x] for x in listed(pair, "pairs")] for pair in pairs]
    data = teams(
        rng,
        probabilities,
        n,
        size=1,
        sides=sides,
        home=home,
        ties=ties,
        tie=tie,
        home_label=home_label,
        tie_label=tie_label,
    )
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
    home: float | None = None,
    ties: str | None = None,
    tie: float | None = None,
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
    home, ties, tie, home_label, tie_label
        As in `pairs`.

    Examples
    --------
    >>> teams(1, {"a": 3, "b": 1, "c": 2}, 1, sides=[(["a", "b"], ["c"])])
    {'side1': [('a', 'b')], 'side2': [('c',)], 'winner': ['side1']}
    """
    random, n, (labels, p) = generator(rng), whole(n, "n"), read_truth(probabilities)
    size = whole(size, "size")
    _check_parameters(home, ties, tie, home_label, tie_label)
    extra = [label for label in (home_label, tie_label) if label is not None]
    apart = labels.numbers(extra, "home_label and tie_label")
    edge, level = (0.0 if x is None else p[labels.index[x]] for x in (home_label, tie_label))
    if sides is None:
        players = np.delete(np.arange(len(p)), apart)
        if 2 * size > len(players):
            raise DataError(f"two sides of {size} need {2 * size} labels; {len(players)} are left.")
        require_winner(edge + level > 0 or np.sum(p[players] == 0) < 2 * size)
        drawn = players[subsets(random, n, len(players), 2 * size)]
        first, second = drawn[:, :size], drawn[:, size:]
    else:
        first, second = _scheduled(labels, sides, extra, n)
    strengths = [np.append(p, 0.0)[side].sum(axis=1) for side in (first, second)]
    weights = np.stack([strengths[0] + edge, strengths[1], np.full(n, level)], axis=1)
    if home is not None or ties is not None:
        require_winner(bool(weights.any(axis=1).all()))
        weights = _chances(
            weights, 1.0 if home is None else home, ties, 1.0 if tie is None else tie
        )
    winner = first_arrivals(random, weights)
    words = ("side1", "side2", "tie")
    return {
        "side1": named(labels, first),
        "side2": named(labels, second),
        "winner": [words[k] for k in winner.tolist()],
    }


def _check_parameters(
    home: float | None, ties: str | None, tie: float | None, home_label: Label, tie_label: Label
) -> None:
    """Refuse parameters that are no numbers, and those that do not go together."""
    if ties is not None:
        one_of(ties, "ties", TIE_MODELS)
    if (ties is None) != (tie is None):
        raise DataError(
            f"ties = {ties!r} and tie = {tie!r}; a model and its parameter go together."
        )
    for name, value, label in (("home", home, home_label), ("ties", ties, tie_label)):
        if value is not None and label is not None:
            raise DataError(
                f"{name} = {value!r} and a label, {label!r}, were given; one of the two is needed."
            )
    if ties is not None and home_label is not None:
        raise DataError(f"ties = {ties!r} goes with home=..., a factor, not with home_label.")
    if home is not None and tie_label is not None:
        raise DataError("home=... goes with ties='davidson' or 'rao-kupper', not with tie_label.")
    least = 1.0 if ties == "rao-kupper" else 0.0
    if home is not None and not 0 < home < np.inf:
        raise DataError(f"home is {home!r}; a positive finite number is needed.")
    if tie is not None and not least <= tie < np.inf:
        raise DataError(
            f"tie is {tie!r}; with {ties!r} a finite number from {least:g} on is needed."
        )


def _chances(weights: FloatArray, home: float, ties: str | None, tie: float) -> FloatArray:
    """Compute the probabilities of a win, a loss and a tie from the strengths of two sides."""
    with np.errstate(divide="ignore"):
        first, second = np.log(home * weights[:, 0]), np.log(weights[:, 1])
        return np.exp(log_outcomes(first, second, ties, np.asarray(tie, np.float64)))


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
