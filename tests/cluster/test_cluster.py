"""A real cluster of worker processes: the same draws as here, also when workers are killed."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from distributed import Client, LocalCluster
from test_shards import many_sets

import luce
from luce import ConditionalCounts, LuceError, Posterior
from luce.cluster.shards import Shards
from luce.errors import DataError

# Dask's own doings when workers are killed and clusters closed.
pytestmark = [
    pytest.mark.filterwarnings("ignore::luce.ConvergenceWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


@pytest.fixture(scope="module")
def cluster() -> Iterator[LocalCluster]:
    with LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0"
    ) as own:
        yield own


@pytest.fixture
def client(cluster: LocalCluster) -> Iterator[Client]:
    with Client(cluster) as own:
        own.wait_for_workers(2)
        yield own


def league() -> Posterior:
    counts = ConditionalCounts(["Ann", "Bo", "Cy", "Di", "Ed"])
    counts = counts.observe({"Ann": 4, "Bo": 2}, within=["Ann", "Bo"])
    counts = counts.observe({"Bo": 3, "Cy": 1}, within=["Bo", "Cy"])
    return Posterior(counts.observe({"Cy": 2, "Di": 5}, within=["Cy", "Di"]), 1.5)


def same(one: Any, other: Any) -> bool:
    return np.array_equal(
        one.posterior["probabilities"].values, other.posterior["probabilities"].values
    )


def killing(client: Client, when: Callable[[], bool]) -> threading.Thread:
    """Kill a worker, as a machine that goes down would, once `when` says so."""
    pid = next(iter(client.run(os.getpid).values()))

    def kill() -> None:
        while not when():
            time.sleep(0.01)
        os.kill(pid, signal.SIGKILL)

    thread = threading.Thread(target=kill)
    thread.start()
    return thread


# -- chains --------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["waiting-times", "metropolis"])
def test_chains_on_workers_are_the_chains_here(method: str, client: Client, tmp_path: Path) -> None:
    options: dict[str, Any] = {"seed": 2, "method": method, "progress": False, "thin": 2}
    here = league().sample(300, **options)
    there = league().sample(300, cluster=client, **options)
    assert same(here, there)
    assert here.attrs.get("proposal_concentration") == there.attrs.get("proposal_concentration")
    disk = league().sample(300, cluster=client, to=tmp_path / "run.zarr", **options)
    assert same(here, disk)
    assert same(here, luce.load(tmp_path / "run.zarr"))


@pytest.mark.slow
def test_a_chain_whose_worker_is_killed_is_drawn_by_another(client: Client) -> None:
    options: dict[str, Any] = {"seed": 3, "method": "waiting-times", "keep": ["Bo"], "chains": 2}
    began = time.monotonic()
    killer = killing(client, lambda: time.monotonic() > began + 1.0)
    there = league().sample(2_000_000, cluster=client, progress=False, **options)
    killer.join()
    assert same(there, league().sample(2_000_000, progress=False, **options))


@pytest.mark.slow
def test_ctrl_c_stops_the_workers_too(tmp_path: Path) -> None:
    script = tmp_path / "long.py"
    script.write_text(
        "import luce\n"
        "if __name__ == '__main__':\n"
        "    counts = luce.ConditionalCounts('abc').observe({'a': 2, 'b': 1}, within='ab')\n"
        "    counts = counts.observe({'b': 2, 'c': 1}, within='bc')\n"
        "    print('begun', flush=True)\n"
        "    luce.Posterior(counts).sample(10**8, cluster='local', method='waiting-times',\n"
        "                                  keep=['a'], seed=1, progress=False)\n"
    )
    run = subprocess.Popen(
        [sys.executable, str(script)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    assert run.stdout is not None
    assert run.stdout.readline() == b"begun\n"
    time.sleep(6)
    run.send_signal(signal.SIGINT)
    assert run.wait(timeout=40) != 0
    run.stdout.close()


# -- shards --------------------------------------------------------------------------------------


def test_shards_on_workers_draw_what_one_process_draws(client: Client) -> None:
    pieces = [partial(many_sets, block) for block in range(7)]
    options: dict[str, Any] = {"draws": 30, "chains": 2, "seed": 5, "progress": False}
    here = luce.sample_sharded(pieces, cluster=None, **options)
    assert same(here, luce.sample_sharded(pieces, cluster=client, **options))


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 3, 4])
def test_shards_of_any_number_of_workers(workers: int) -> None:
    pieces = [partial(many_sets, block) for block in range(7)]
    options: dict[str, Any] = {"draws": 30, "chains": 2, "seed": 5, "progress": False}
    here = luce.sample_sharded(pieces, cluster=None, **options)
    with (
        LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=":0") as own,
        Client(own) as client,
    ):
        assert same(here, luce.sample_sharded(pieces, cluster=client, **options))


@pytest.mark.slow
def test_a_shard_whose_worker_is_killed_is_built_again(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    pieces = [partial(many_sets, block) for block in range(5)]
    options: dict[str, Any] = {"draws": 150, "chains": 2, "seed": 5, "progress": False}
    here = luce.sample_sharded(pieces, cluster=None, **options)
    sweeps, built = [0], []
    sweep, build = Shards.sweep, Shards._begin

    def counted(self: Shards, p: Any, word: int) -> Any:
        sweeps[0] += 1
        return sweep(self, p, word)

    def noted(self: Shards, held: Any, worker: str) -> None:
        build(self, held, worker)
        built.append((held.first, held.worker))

    monkeypatch.setattr(Shards, "sweep", counted)
    monkeypatch.setattr(Shards, "_begin", noted)
    killer = killing(client, lambda: sweeps[0] > 100)  # in the middle of the chains
    there = luce.sample_sharded(pieces, cluster=client, **options)
    killer.join()
    assert same(here, there)
    assert len(built) == 3  # two, and one of them again
    assert len({first for first, _ in built}) == 2


# -- many posteriors, logs, the command line -----------------------------------------------------


def games() -> pd.DataFrame:
    rng = np.random.default_rng(1)
    names = np.array([f"player {k}" for k in range(6)])
    rows = 400
    winner = rng.integers(0, 6, rows)
    loser = (winner + rng.integers(1, 6, rows)) % 6
    league = rng.choice(["north", "south", "east"], rows)
    return pd.DataFrame({"league": league, "winner": names[winner], "loser": names[loser]})


def mean_of(run: Any) -> list[float]:
    found: list[float] = run.posterior["probabilities"].mean(("chain", "draw")).values.tolist()
    return found


def test_many_posteriors_are_those_of_their_groups(client: Client) -> None:
    frame = games()
    options: dict[str, Any] = {"draws": 100, "seed": 4, "answer": mean_of, "progress": False}
    here = luce.sample_many(frame, "league", "pairs", cluster=None, **options)
    there = luce.sample_many(frame, "league", "pairs", cluster=client, **options)
    assert here == there
    assert list(here) == frame["league"].unique().tolist()
    # A group's draws do not depend on the others.
    south = frame[frame["league"] == "south"]
    alone = luce.sample_many(south, "league", "pairs", cluster=None, **options)
    assert alone["south"] == here["south"]
    counts = luce.from_pairs(south.drop(columns="league"))
    named = luce.sample_many({"south": Posterior(counts)}, cluster=None, **options)
    assert named["south"] == here["south"]
    other = luce.sample_many(south, "league", "pairs", cluster=None, **{**options, "seed": 5})
    assert other["south"] != here["south"]
    runs = luce.sample_many(frame, ["league"], "pairs", cluster=None, draws=10, seed=4)
    assert runs[("north",)].posterior.sizes["draw"] == 10


@pytest.mark.filterwarnings("error::luce.ConvergenceWarning")
def test_groups_in_doubt_are_named_in_one_sentence(client: Client) -> None:
    frame = games()
    frame.loc[frame.index[:4], "league"] = "west"  # exact: a game each, no cycle
    for cluster in (None, client):
        how: dict[str, Any] = {"cluster": cluster, "seed": 4, "progress": False}
        with pytest.warns(luce.ConvergenceWarning) as caught:
            luce.sample_many(frame, "league", "pairs", draws=20, method="waiting-times", **how)
        (warning,) = (w.message for w in caught)
        assert isinstance(warning, luce.ConvergenceWarning)
        assert "of 4 groups (" in str(warning)
        assert "do not trust these draws yet" in str(warning)
        assert warning.ess < 400
        assert caught[0].filename == __file__
        luce.sample_many(frame, "league", "pairs", draws=2000, **how)  # nothing to warn of


def test_a_group_that_cannot_be_used_is_named(client: Client) -> None:
    frame = games()
    frame.loc[frame["league"] == "east", "loser"] = frame["winner"]
    for cluster in (None, client):
        with pytest.raises(DataError, match="group 'east'"):
            luce.sample_many(frame, "league", "pairs", cluster=cluster, draws=10, progress=False)
    with pytest.raises(DataError, match="no column 'club'"):
        luce.sample_many(frame, "club", "pairs", cluster=None)
    with pytest.raises(DataError, match="neither of the reader"):
        luce.sample_many(frame, "league", "pairs", cluster=None, colour=3)
    with pytest.raises(DataError, match="kind = 'duels'"):
        luce.sample_many(frame, "league", "duels", cluster=None)
    with pytest.raises(DataError, match="by="):
        luce.sample_many(frame, cluster=None)


def test_logs_are_reduced_on_workers(client: Client, tmp_path: Path) -> None:
    frame = games().drop(columns="league")
    for k in range(4):
        frame[k::4].to_parquet(tmp_path / f"{k}.parquet")
    expected = luce.from_pairs(frame)
    found = luce.workflows.reduce_logs(tmp_path, "pairs", cluster=client)
    assert ConditionalCounts(expected.categories) + found == expected
    found = luce.workflows.reduce_logs(f"{tmp_path}/*.parquet", "pairs", cluster=None)
    assert ConditionalCounts(expected.categories) + found == expected
    with pytest.raises(LuceError, match="cannot be read as Parquet"):
        luce.workflows.reduce_logs(tmp_path / "nothing.parquet", "pairs", cluster=None)
    with pytest.raises(DataError, match="kind = 'duels'"):
        luce.workflows.reduce_logs(tmp_path, "duels", cluster=None)


@pytest.mark.slow
def test_the_command_draws_on_a_cluster(
    cluster: LocalCluster,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from luce.cli import main

    monkeypatch.setattr("luce.cluster.connect._PATIENCE", 2.0)

    games().drop(columns="league").to_csv(tmp_path / "games.csv", index=False)
    common = ["fit", str(tmp_path / "games.csv"), "--seed", "1", "--draws", "2000"]
    assert main(common) == 0
    here = capsys.readouterr().out
    assert main([*common, "--cluster", cluster.scheduler_address]) == 0
    assert capsys.readouterr().out == here
    assert main([*common, "--cluster", "tcp://127.0.0.1:9"]) == 1
    assert "no Dask scheduler answers" in capsys.readouterr().err
