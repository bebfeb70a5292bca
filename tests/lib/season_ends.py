"""Ends of seasons and brackets by enumeration of all results, in plain Python.

Nothing here is shared with the package.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from itertools import product
from typing import Any

import numpy as np

Fixture = tuple[str, str]
# Points for a win, a tie and a loss.
Worth = tuple[float, float, float]


def order_of(
    labels: Sequence[str],
    results: Sequence[tuple[str, str, int]],
    worth: Worth,
    criteria: Sequence[Any],
) -> list[list[str]]:
    """Groups of competitors, best first, that only lots can part.

    `results` holds first, second, and 0 if the first won, 1 for a tie, 2 if the second won.
    """

    def points(label: str, among: Sequence[str]) -> float:
        total = 0.0
        for a, b, result in results:
            if label == a and b in among:
                total += worth[result]
            if label == b and a in among:
                total += worth[2 - result]
        return total

    def wins(label: str) -> int:
        return sum((label == a and r == 0) or (label == b and r == 2) for a, b, r in results)

    groups = [list(labels)]
    for criterion in ["points", *criteria]:
        parted = []
        for group in groups:
            if criterion == "points":
                score = {x: points(x, labels) for x in group}
            elif criterion == "wins":
                score = {x: wins(x) for x in group}
            elif criterion == "head-to-head":
                score = {x: points(x, group) for x in group}
            else:
                score = {x: -criterion.index(x) for x in group}
            for value in sorted(set(score.values()), reverse=True):
                parted.append([x for x in group if score[x] == value])
        groups = parted
    return groups


def shares_of_places(labels: Sequence[str], groups: list[list[str]]) -> np.ndarray:
    """The probability of each place for each competitor, over all lots."""
    out = np.zeros((len(labels), len(labels)))
    place = 0
    for group in groups:
        for label in group:
            out[labels.index(label), place : place + len(group)] = 1 / len(group)
        place += len(group)
    return out


def enumerated(
    labels: str,
    fixtures: Sequence[Fixture],
    chances: Sequence[Sequence[Sequence[float]]],
    so_far: Sequence[tuple[str, str, int]] = (),
    worth: Worth = (3, 1, 0),
    criteria: Sequence[Any] = (),
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Mean and mean variance, over draws, of shares of places and of points.

    `chances[d][f]` holds the probabilities of the three results of fixture f in draw d.
    """
    every = list(product(range(3), repeat=len(fixtures)))
    places, points = [], []
    for outcome in every:
        ends = [(a, b, r) for (a, b), r in zip(fixtures, outcome, strict=True)]
        results = [*so_far, *ends]
        places.append(shares_of_places(labels, order_of(labels, results, worth, criteria)))
        own = dict.fromkeys(labels, 0.0)
        for a, b, r in results:
            own[a] += worth[r]
            own[b] += worth[2 - r]
        points.append([own[x] for x in labels])
    found = []
    for values in (np.array(places), np.array(points)):
        mean, variance = np.zeros(values.shape[1:]), np.zeros(values.shape[1:])
        for draw in chances:
            weights = np.array(
                [np.prod([p[r] for p, r in zip(draw, o, strict=True)]) for o in every]
            )
            first = np.tensordot(weights, values, 1)
            mean += first / len(chances)
            variance += (np.tensordot(weights, values**2, 1) - first**2) / len(chances)
        found += [mean, variance]
    return tuple(found)  # type: ignore[return-value]


def bracket_by_enumeration(bracket: Any, beats: Callable[[str, str], float]) -> Mapping[Any, float]:
    """The probability of each competitor to win a nested bracket, and of each to win each match.

    Keys are competitors, for the whole bracket, and (match, competitor) with matches written as
    they are nested.
    """
    matches: list[Any] = []

    def collect(node: Any) -> None:
        if isinstance(node, tuple):
            collect(node[0])
            collect(node[1])
            matches.append(node)

    collect(bracket)
    found: dict[Any, float] = {}
    for sides in product((0, 1), repeat=len(matches)):
        winner: dict[Any, str] = {}
        probability = 1.0
        for match, side in zip(matches, sides, strict=True):
            a, b = (winner.get(part, part) for part in match)
            winner[match] = (a, b)[side]
            probability *= beats(a, b) if side == 0 else 1 - beats(a, b)
        for match, label in winner.items():
            found[match, label] = found.get((match, label), 0.0) + probability
    return found


def series(games: Sequence[float]) -> float:
    """The probability that the first wins most of some games, game by game until it is settled."""
    needed = len(games) // 2 + 1

    @cache
    def from_here(won: int, lost: int) -> float:
        if needed in (won, lost):
            return float(won == needed)
        p = games[won + lost]
        return p * from_here(won + 1, lost) + (1 - p) * from_here(won, lost + 1)

    return from_here(0, 0)
