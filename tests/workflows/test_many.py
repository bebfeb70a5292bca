"""Many posteriors: each group's draws are its own, wherever it is drawn."""

import hashlib
import signal
import time
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from distributed import Client
from lib.streaming_runs import league
from lib.terms import values_of
from lib.workers import DASK_WARNINGS

import luce
from luce import Posterior
from luce.counts.labels import canonical_name
from luce.errors import DataError, LuceError

pytestmark = [pytest.mark.cluster, *DASK_WARNINGS]
QUICK: dict[str, Any] = {"draws": 12, "chains": 2, "seed": 5, "progress": False}


def games() -> pd.DataFrame:
    """400 games of three leagues."""
    rng = np.random.default_rng(1)
    names = np.array([f"player {k}" for k in range(6)])
    rows = 400
    winner = rng.integers(0, 6, rows)
    loser = (winner + rng.integers(1, 6, rows)) % 6
    league = rng.choice(["north", "south", "east"], rows)
    return pd.DataFrame({"league": league, "winner": names[winner], "loser": names[loser]})


def few_games() -> pd.DataFrame:
    """Eight games of two leagues in two years."""
    return pd.DataFrame(
        {
            "league": list("SSNSNSNN"),
            "year": [1, 2, 1, 1, 1, 2, 1, 1],
            "winner": list("xyuvuxvw"),
            "loser": list("yzvxwzwu"),
        }
    )


def mean_of(run: Any) -> list[float]:
    found: list[float] = values_of(run).mean(axis=(0, 1)).tolist()
    return found


@pytest.mark.compiled
def test_many_posteriors_are_those_of_their_groups(client: Client) -> None:
    frame = games()
    options: dict[str, Any] = {"draws": 100, "seed": 4, "answer": mean_of, "progress": False}
    here = luce.sample_many(frame, by="league", kind="pairs", cluster=None, **options)
    there = luce.sample_many(frame, by="league", kind="pairs", cluster=client, **options)
    assert here == there
    assert list(here) == frame["league"].unique().tolist()
    # A group's draws do not depend on the others.
    south = frame[frame["league"] == "south"]
    alone = luce.sample_many(south, by="league", kind="pairs", cluster=None, **options)
    assert alone["south"] == here["south"]
    counts = luce.from_pairs(south.drop(columns="league"))
    named = luce.sample_many({"south": Posterior(counts)}, cluster=None, **options)
    assert named["south"] == here["south"]
    other = luce.sample_many(
        south, by="league", kind="pairs", cluster=None, **{**options, "seed": 5}
    )
    assert other["south"] != here["south"]
    runs = luce.sample_many(frame, by=["league"], kind="pairs", cluster=None, draws=10, seed=4)
    assert runs[("north",)].posterior.sizes["draw"] == 10


def test_groups_are_drawn_alike_wherever_they_are(threads_client: Client) -> None:
    frame = few_games().drop(columns="year")
    quick: dict[str, Any] = {**QUICK, "method": "waiting-times", "warmup": 4, "answer": mean_of}
    here = luce.sample_many(frame, by="league", kind="pairs", cluster=None, **quick)
    assert list(here) == ["S", "N"]
    assert (
        luce.sample_many(frame, by="league", kind="pairs", cluster=threads_client, **quick) == here
    )
    for other in (pl.from_pandas(frame).lazy(), frame.to_dict("list")):
        assert luce.sample_many(other, by="league", kind="pairs", cluster=None, **quick) == here
    south = luce.from_pairs(frame[frame["league"] == "S"].drop(columns="league"))
    named = luce.sample_many({"S": Posterior(south)}, cluster=None, **quick)
    assert named["S"] == here["S"]
    runs = luce.sample_many(
        few_games(),
        by=["league", "year"],
        kind="pairs",
        cluster=None,
        method="waiting-times",
        **QUICK,
    )
    assert set(runs) == {("S", 1), ("S", 2), ("N", 1)}
    assert values_of(runs["N", 1]).shape == (2, 12, 3)


@pytest.mark.compiled
@pytest.mark.filterwarnings("error::luce.ConvergenceWarning")
def test_groups_in_doubt_are_named_in_one_sentence(client: Client) -> None:
    frame = games()
    frame.loc[frame.index[:4], "league"] = "west"  # exact: a game each, no cycle
    for cluster in (None, client):
        how: dict[str, Any] = {"cluster": cluster, "seed": 4, "progress": False}
        with pytest.warns(luce.ConvergenceWarning) as caught:
            luce.sample_many(
                frame, by="league", kind="pairs", draws=20, method="waiting-times", **how
            )
        (warning,) = (w.message for w in caught)
        assert isinstance(warning, luce.ConvergenceWarning)
        assert "of 4 groups (" in str(warning)
        assert "do not trust these draws yet" in str(warning)
        assert warning.ess < 400
        assert caught[0].filename == __file__
        luce.sample_many(frame, by="league", kind="pairs", draws=2000, **how)  # nothing to warn of


@pytest.mark.filterwarnings("error::luce.ConvergenceWarning")
def test_groups_in_doubt_and_rows_left_out_are_told_of() -> None:
    frame = few_games().drop(columns="year")
    bad = pd.DataFrame({"league": ["S"], "winner": ["x"], "loser": ["x"]})
    how: dict[str, Any] = {"method": "waiting-times", "warmup": 2, "skip_bad": True, **QUICK}
    with pytest.warns((luce.ConvergenceWarning, luce.errors.SkippedRowsWarning)) as caught:
        luce.sample_many(pd.concat([frame, bad]), by="league", kind="pairs", cluster=None, **how)
    said = [w.message for w in caught]
    assert sum(isinstance(message, luce.errors.SkippedRowsWarning) for message in said) == 1
    (doubt,) = (message for message in said if isinstance(message, luce.ConvergenceWarning))
    assert "of 2 groups (" in str(doubt)
    assert "cannot be trusted yet. Group" in str(doubt)
    assert all(w.filename == __file__ for w in caught if isinstance(w.message, type(doubt)))


def test_a_group_that_cannot_be_used_is_named(client: Client) -> None:
    frame = games()
    frame.loc[frame["league"] == "east", "loser"] = frame["winner"]
    for cluster in (None, client):
        with pytest.raises(DataError, match="group 'east'"):
            luce.sample_many(
                frame, by="league", kind="pairs", cluster=cluster, draws=10, progress=False
            )


def test_groups_that_cannot_be_read_are_refused() -> None:
    frame = few_games().drop(columns="year")

    def refused(words: str, data: Any, by: Any = None, kind: Any = None, **options: Any) -> None:
        with pytest.raises(DataError, match=words):
            luce.sample_many(data, 5, by=by, kind=kind, **options)

    refused("group 'S'", frame.assign(loser=frame["winner"]), "league", "pairs")
    refused("no column 'club'", frame, "club", "pairs")
    refused("no column 'club'", frame.to_dict("list"), "club", "pairs")
    refused("'colour' is an option neither of the reader", frame, "league", "pairs", colour=3)
    refused("kind = 'duels'", frame, "league", "duels")
    refused("a frame needs by=", frame)
    refused("have no meaning here", {"a": Posterior(league())}, "league")
    steps = {"g": list("AAA"), "from": list("xyz"), "to": list("yzx")}
    refused("makes several posteriors of a group", steps, "g", "transitions", rows="separate")
    with pytest.raises(DataError, match="named by keyword: by="):
        luce.sample_many(frame, "league", kind="pairs")  # type: ignore[arg-type]
    with pytest.raises(LuceError, match="threads = 0"):
        luce.sample_many({"a": Posterior(league())}, 5, threads=0)


def test_draws_come_second_and_threads_do_not_matter() -> None:
    """Each group has the draws of a single fit, with the seed of its name."""
    posteriors = {name: Posterior(league(), k) for k, name in enumerate(["x", "y", "z"], 1)}
    how: dict[str, Any] = {"chains": 2, "seed": 5, "method": "waiting-times", "warmup": 4}
    many = luce.sample_many(posteriors, 7, threads=3, progress=False, **how)
    alone = luce.sample_many(posteriors, 7, threads=1, progress=False, **how)
    for name, posterior in posteriors.items():
        digest = hashlib.sha256(canonical_name(name).encode()).digest()[:16]
        key = tuple(np.frombuffer(digest, np.uint32).tolist())
        how["seed"] = np.random.SeedSequence(5, spawn_key=key)
        single = posterior.sample(7, progress=False, **how)
        for found in (many[name], alone[name]):
            np.testing.assert_array_equal(values_of(found), values_of(single))
    assert not np.array_equal(values_of(many["x"]), values_of(many["y"]))


def test_no_group_is_begun_after_ctrl_c() -> None:
    posteriors = {k: Posterior(league()) for k in range(40)}
    begun: list[int] = []

    def interrupting(run: Any) -> int:
        begun.append(1)
        if len(begun) == 2:
            signal.raise_signal(signal.SIGINT)
        time.sleep(0.02)
        return 1

    how: dict[str, Any] = {"chains": 1, "seed": 5, "method": "waiting-times", "warmup": 4}
    with pytest.raises(KeyboardInterrupt):
        luce.sample_many(posteriors, 3, answer=interrupting, threads=2, progress=False, **how)
    assert len(begun) < 40


def test_an_ignored_column_is_told_of_once() -> None:
    data = {
        "winner": list("abab"),
        "loser": list("bcbc"),
        "year": [1, 1, 2, 2],
        "price": [1, 2, 3, 4],
    }
    common: dict[str, Any] = {
        "draws": 4,
        "chains": 1,
        "seed": 1,
        "progress": False,
        "cluster": None,
    }
    with pytest.warns(luce.errors.IgnoredColumnsWarning) as said:
        luce.sample_many(data, by="year", kind="pairs", **common)
    told = [w.message for w in said if isinstance(w.message, luce.errors.IgnoredColumnsWarning)]
    assert [list(message.columns) for message in told] == [["price"]]
