"""Runs of contests: draws that were made up, for oracles in loops, and results in plain Python."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import xarray as xr
from lib.answer_cases import dirichlet

from luce import ConditionalCounts
from luce.counts.contests import contests_of_pairs

MODELS = [(ties, home) for ties in ("davidson", "rao-kupper", None) for home in (True, False)]

# First, second, who is at home (0 for nobody), wins of the first and of the second, ties.
GAMES = [
    ("a", "b", 1, 6, 1, 3),
    ("b", "c", 1, 4, 1, 2),
    ("c", "a", 1, 2, 1, 4),
    ("a", "c", 0, 3, 0, 1),
    ("b", "a", 2, 1, 2, 0),
]


def counts_of(
    ties: str | None, home: bool, games: Any = GAMES, labels: str = "abc"
) -> ConditionalCounts:
    """Counts of games, without their ties where the model has none."""
    first, second = ([labels.index(game[k]) for game in games] for k in (0, 1))
    results = np.array([game[3:] for game in games], np.float64)
    if ties is None:
        results[:, 2] = 0
    at_home = np.array([game[2] for game in games])
    met = contests_of_pairs(
        len(labels), np.array(first), np.array(second), at_home, results, ties, home
    )
    return ConditionalCounts(labels).with_events(met)


def made_up(
    ties: str | None, home: bool, draws: int = 40, a: tuple[float, ...] = (2.0, 3.0, 1.5)
) -> xr.DataTree:
    """A run with draws of a Dirichlet distribution, and of gamma ones for home and tie."""
    p = dirichlet(list(a), draws)
    rng = np.random.default_rng(11)
    index = {"category": list("abcdefghij"[: len(a)])}
    posterior: dict[str, Any] = {
        "probabilities": xr.DataArray(p, index, ("chain", "draw", "category"))
    }
    if home:
        posterior["home"] = (("chain", "draw"), rng.gamma(4.0, 0.3, p.shape[:2]))
    if ties is not None:
        own = rng.gamma(2.0, 0.4, p.shape[:2]) + (ties == "rao-kupper")
        posterior["tie"] = (("chain", "draw"), own)
    data = xr.Dataset(
        attrs={"events": "contests", "ties": ties or "none", "home_effect": int(home)}
    )
    return xr.DataTree.from_dict({"/posterior": xr.Dataset(posterior), "/observed_data": data})


def chances(
    a: float, b: float, ties: str | None, parameters: Mapping[str, float], at_home: int
) -> list[float]:
    """Probabilities of a win, a tie and a loss, in plain Python."""
    h = parameters.get("home", 1.0)
    a, b = (h * a if at_home == 1 else a), (h * b if at_home == 2 else b)
    t = parameters.get("tie", 0.0)
    if ties == "rao-kupper":
        won, lost = a / (a + t * b), b / (t * a + b)
        return [won, 1 - won - lost, lost]
    middle = t * math.sqrt(a * b)
    whole = a + b + middle
    return [a / whole, middle / whole, b / whole]


def each_draw(run: xr.DataTree) -> list[tuple[Any, dict[str, float]]]:
    """All draws as pairs of probabilities by label, and parameters by name."""
    posterior = run["posterior"]
    p = posterior["probabilities"].values
    found = []
    for c in range(p.shape[0]):
        for d in range(p.shape[1]):
            values = {
                name: float(posterior[name].values[c, d])
                for name in ("home", "tie")
                if name in posterior
            }
            labels = posterior["category"].values.tolist()
            found.append((dict(zip(labels, p[c, d].tolist(), strict=True)), values))
    return found
