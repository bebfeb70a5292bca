"""Log scores of models of ties and home advantage on held-out matches of seasons.

    python benchmarks/seasons.py [--football FILE] [--simulated 10] [--seed 0]

FILE has the columns season, home, away and result (1 home win, 0 draw, -1 away win), as the data
set `football` of the R package BradleyTerry2.  Simulated seasons come from a richer model than
those fitted: every club has a home advantage of its own.  Of each season 70 % of the matches, at
random, are learnt from, and the rest is scored.  Printed are mean log scores over all scored
matches, and the mean gain of Davidson's model over each other forecast with its standard error.
"""

from __future__ import annotations

import argparse
import csv
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np

import luce

SHARE = 0.7
CLUBS, HOME, HOME_SPREAD, SPREAD, TIE = 20, 0.35, 0.2, 0.55, 0.75

MODELS = {
    "Davidson, home": {"ties": "davidson", "home": "first"},
    "Rao and Kupper, home": {"ties": "rao-kupper", "home": "first"},
    "entity, home entity": {"ties": "entity", "home": "first", "home_effect": "entity"},
}

Season = dict[str, list[str]]


def real(file: Path) -> Iterator[Season]:
    """Yield the seasons of a file."""
    with file.open(newline="") as text:
        rows = list(csv.DictReader(text))
    words = {1: "home", 0: "tie", -1: "away"}
    for season in dict.fromkeys(row["season"] for row in rows):
        own = [row for row in rows if row["season"] == season]
        yield {
            "home_club": [row["home"] for row in own],
            "away_club": [row["away"] for row in own],
            "outcome": [words[int(float(row["result"]))] for row in own],
        }


def simulated(number: int, seed: int) -> Iterator[Season]:
    """Yield seasons of clubs with strengths and home advantages of their own."""
    rng = np.random.default_rng(seed)
    pairs = np.array([(i, j) for i in range(CLUBS) for j in range(CLUBS) if i != j])
    for _ in range(number):
        strength = SPREAD * rng.standard_normal(CLUBS)
        at_home = strength + HOME + HOME_SPREAD * rng.standard_normal(CLUBS)
        a, b = at_home[pairs[:, 0]], strength[pairs[:, 1]]
        weights = np.exp(np.stack([a, b, np.log(TIE) + (a + b) / 2], axis=1))
        chances = np.cumsum(weights / weights.sum(axis=1, keepdims=True), axis=1)
        result = (rng.random(len(pairs))[:, None] > chances[:, :2]).sum(axis=1)
        yield {
            "home_club": [f"club {i:02}" for i in pairs[:, 0]],
            "away_club": [f"club {j:02}" for j in pairs[:, 1]],
            "outcome": [("home", "away", "tie")[k] for k in result],
        }


def score(season: Season, seed: int) -> dict[str, np.ndarray]:
    """Return the log scores of the held-out matches of a season, by forecast."""
    number = len(season["outcome"])
    order = np.random.default_rng(seed).permutation(number)
    cut = int(SHARE * number)
    learnt, rest = (
        {name: [column[i] for i in part] for name, column in season.items()}
        for part in (order[:cut], order[cut:])
    )
    clubs = sorted({*season["home_club"], *season["away_club"]})
    names = ("home", "tie", "away")
    result = np.array([names.index(outcome) for outcome in rest["outcome"]])
    columns = {"item1": "home_club", "item2": "away_club", "outcome": "outcome"}
    found = {}
    for name, options in MODELS.items():
        extra = ["tie", "home"] if options["ties"] == "entity" else []
        counts = luce.from_pairs(learnt, **columns, **options, categories=[*clubs, *extra])
        run = luce.Posterior(counts).sample(1000, seed=1, progress=False)
        chances = luce.predict(run, rest["home_club"], rest["away_club"], home="first").values
        found[name] = np.log(chances[np.arange(len(result)), result])
    shares = np.array([learnt["outcome"].count(name) + 1 for name in names])
    found["base rates"] = np.log(shares / shares.sum())[result]
    return found


def told(title: str, scores: list[dict[str, np.ndarray]]) -> None:
    """Print the pooled scores of some seasons."""
    pooled = {name: np.concatenate([one[name] for one in scores]) for name in scores[0]}
    best = pooled["Davidson, home"]
    print(f"{title}: {len(scores)} seasons, {len(best):,} matches scored")
    for name, own in pooled.items():
        line = f"  {name:22} {own.mean():.4f}"
        if own is not best:
            gain = best - own
            error = gain.std(ddof=1) / np.sqrt(len(gain))
            line += f"   gain {gain.mean():.4f} ± {error:.4f}, {gain.mean() / error:.1f} errors"
        print(line)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--football", type=Path)
    parser.add_argument("--simulated", type=int, default=10)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    warnings.simplefilter("ignore", luce.errors.ConvergenceWarning)
    played = [] if given.football is None else list(real(given.football))
    real_scores = [score(season, given.seed) for season in played]
    made = [score(s, given.seed + k) for k, s in enumerate(simulated(given.simulated, given.seed))]
    for title, scores in (("real", real_scores), ("simulated", made)):
        if scores:
            told(title, scores)
    if real_scores and made:
        told("together", [*real_scores, *made])


if __name__ == "__main__":
    main()
