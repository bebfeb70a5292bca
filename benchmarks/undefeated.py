"""The score of an undefeated newcomer, by luce and by the leaderboard tools that are installed.

    python benchmarks/undefeated.py [--seed 5]

Twenty models meet in 20,000 votes, of which a tenth are ties, and a newcomer wins each of its
twelve.  No likelihood has a maximum there.  Each tool is called as its documentation begins, with
no argument that the data does not demand.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import TypeAlias

import numpy as np

import luce

Votes: TypeAlias = dict[str, list[str]]

_MODELS, _VOTES, _WINS, _SPREAD, _TIES = 20, 20_000, 12, 0.8, 0.1


def votes(seed: int) -> Votes:
    """Simulate votes on pairs of models."""
    rng = np.random.default_rng(seed)
    names, strength = [f"model-{k}" for k in range(_MODELS)], rng.normal(0, _SPREAD, _MODELS)
    rows = []
    for _ in range(_VOTES):
        i, j = rng.choice(_MODELS, 2, replace=False)
        u, first = rng.random(), 1 / (1 + np.exp(strength[j] - strength[i]))
        won = "model_a" if rng.random() < first else "model_b"
        rows.append((names[i], names[j], "tie" if u < _TIES else won))
    rows += [("newcomer", names[k], "model_a") for k in range(_WINS)]
    return dict(
        zip(("model_a", "model_b", "winner"), map(list, zip(*rows, strict=True)), strict=True)
    )


def by_luce(given: Votes) -> str:
    run = luce.fit(given, ties="davidson", seed=1, progress=False)
    table = luce.leaderboard(run)
    i = list(table.categories).index("newcomer")
    score, low, high = (float(table.columns[k][i]) for k in ("score", "score_lb", "score_ub"))
    return f"Elo {score:,.0f}, 90 % interval {low:,.0f} to {high:,.0f}.  {table.headline}"


def by_evalica(given: Votes) -> str:
    from evalica import Winner, bradley_terry

    meaning = {"model_a": Winner.X, "model_b": Winner.Y, "tie": Winner.Draw}
    winners = [meaning[w] for w in given["winner"]]
    scores = bradley_terry(given["model_a"], given["model_b"], winners).scores
    return f"score {scores['newcomer']:.6f}, of the others at most {scores.drop('newcomer').max()}"


def by_arena_rank(given: Votes) -> str:
    import pandas as pd
    from arena_rank.models.bradley_terry import BradleyTerry
    from arena_rank.utils.data_utils import PairDataset

    data = PairDataset.from_pandas(pd.DataFrame(given))
    found = BradleyTerry(n_competitors=len(data.competitors)).compute_ratings_and_cis(data)
    i = list(found["competitors"]).index("newcomer")
    low, mid, high = (float(found[k][i]) for k in ("rating_lower", "ratings", "rating_upper"))
    return f"rating {mid:,.1f}, 95 % interval {low:,.3f} to {high:,.3f}"


def by_choix(given: Votes) -> str:
    import choix

    names = sorted({*given["model_a"], *given["model_b"]})
    number = {name: i for i, name in enumerate(names)}
    columns = zip(given["model_a"], given["model_b"], given["winner"], strict=True)
    pairs = [
        (number[a], number[b]) if w == "model_a" else (number[b], number[a])
        for a, b, w in columns
        if w != "tie"
    ]
    return f"parameter {choix.ilsr_pairwise(len(names), pairs)[number['newcomer']]:.2f}"


TOOLS: dict[str, Callable[[Votes], str]] = {
    "luce": by_luce,
    "evalica": by_evalica,
    "arena-rank": by_arena_rank,
    "choix": by_choix,
}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=5)
    given = votes(parser.parse_args().seed)
    for name, tool in TOOLS.items():
        try:
            print(f"{name}: {tool(given)}")
        except ImportError:
            print(f"{name}: not installed")
        except RuntimeError as error:
            print(f"{name}: {error}")


if __name__ == "__main__":
    main()
