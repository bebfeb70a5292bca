"""Workers: chains, blocks of terms, groups and logs give what one process gives."""

import signal
import threading
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from distributed import Client, LocalCluster
from lib.streaming_runs import league, same_numbers

import luce
from luce import ConditionalCounts, Gamma, LuceError, Posterior
from luce.cluster.connect import connected, workers_of
from luce.cluster.sharded import _cut
from luce.cluster.shards import Shard, Shards, _call
from luce.cluster.tree_sums import nodes_of, sum_of, total_of
from luce.errors import DataError, MethodError
from luce.kernels.shards import block_bits

# Dask's own doings when workers go away and clusters are closed.
pytestmark = [
    pytest.mark.filterwarnings("ignore::luce.ConvergenceWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


@pytest.fixture(scope="module")
def cluster() -> Iterator[LocalCluster]:
    """Workers that are threads of this process."""
    with LocalCluster(
        processes=False, n_workers=2, threads_per_worker=1, dashboard_address=":0"
    ) as own:
        yield own


@pytest.fixture(scope="module")
def client(cluster: LocalCluster) -> Iterator[Client]:
    with Client(cluster) as own:
        yield own


QUICK: dict[str, Any] = {"draws": 12, "chains": 2, "seed": 5, "progress": False}


def values_of(run: Any) -> np.ndarray:
    found: np.ndarray = run.posterior["probabilities"].values
    return found


# -- chains ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("concentration", "options"),
    [
        (1.0, {"method": "waiting-times", "thin": 2}),
        (2.0, {"method": "metropolis"}),
        (0.02, {"method": "waiting-times", "keep": ["Ed", "Bo"]}),
        (Gamma(2, 1), {}),
    ],
    ids=["thin", "metropolis", "logarithms", "concentration"],
)
def test_chains_on_workers_are_the_chains_here(
    concentration: Any, options: dict[str, Any], client: Client
) -> None:
    posterior = Posterior(league(), concentration)
    here = posterior.sample(**QUICK, warmup=6, **options)
    there = posterior.sample(**QUICK, warmup=6, cluster=client, **options)
    assert same_numbers(there, here)
    name = "proposal_concentration"
    assert np.array_equal(here.attrs.get(name, 0), there.attrs.get(name, 0))


def test_chains_on_workers_write_to_one_folder(client: Client, tmp_path: Path) -> None:
    posterior, options = Posterior(league()), {"warmup": 6, "method": "waiting-times"}
    folder = tmp_path / "run.zarr"
    run = posterior.sample(**QUICK, **options, cluster=client, to=folder, quantiles=[0.5])
    assert same_numbers(run, posterior.sample(**QUICK, **options))
    assert same_numbers(luce.load(folder), run)


@pytest.mark.parametrize("to", [None, "run.zarr"])
def test_ctrl_c_stops_the_workers_too(
    to: str | None, client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing of a million long draws is left running: the workers answer at once afterwards."""
    monkeypatch.setattr("luce.cluster.chains._REPORT_SECONDS", 0.3)
    monkeypatch.setattr("luce.sampling.chains._CHUNK_STEPS", 5_000)
    main = threading.main_thread().ident
    assert main is not None
    alarm = threading.Timer(1.2, signal.pthread_kill, (main, signal.SIGINT))
    folder = None if to is None else tmp_path / to
    alarm.start()
    with pytest.raises(KeyboardInterrupt):
        Posterior(league()).sample(
            100_000, chains=2, thin=200, method="waiting-times", keep=["Bo"], seed=1,
            cluster=client, to=folder, progress=False,
        )  # fmt: skip
    alarm.join()
    assert client.submit(sum, [1, 2], pure=False).result(timeout=10) == 3
    if folder is not None:
        with pytest.raises(DataError, match="is not complete"):
            luce.runs.open_run(folder)


# -- a cluster, and how to get to it ---------------------------------------------------------------


def test_ways_to_name_a_cluster(cluster: LocalCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    with connected(None) as nobody:
        assert nobody is None
    with connected(cluster.scheduler_address) as own:
        assert own is not None
        assert len(workers_of(own)) == 2
        with connected(own) as same:
            assert same is own
    assert own.status == "closed"
    monkeypatch.setattr("luce.cluster.connect._PATIENCE", 0.5)
    with (
        pytest.raises(LuceError, match="no Dask scheduler answers at 'tcp://127"),
        connected("tcp://127.0.0.1:9"),
    ):
        pytest.fail("somebody answered")
    with pytest.raises(LuceError, match="cluster = 5"), connected(5):  # type: ignore[arg-type]
        pytest.fail("5 is no cluster")


def test_processes_of_this_machine_are_started_and_stopped() -> None:
    with connected("local", workers=1) as client:
        assert client is not None
        assert client.submit(sum, [1, 2]).result(timeout=30) == 3
    assert client.status == "closed"


# -- blocks of terms -------------------------------------------------------------------------------


@pytest.mark.parametrize(("n", "cuts"), [(1, [0, 1]), (7, [0, 2, 3, 7]), (12, [0, 5, 12])])
def test_sums_do_not_depend_on_who_holds_which_blocks(n: int, cuts: list[int]) -> None:
    values = np.random.default_rng(n).lognormal(0, 9, (n, 3))

    def leaf(block: int) -> list[np.ndarray]:
        return [values[block].copy()]

    (alone,) = total_of(n, [(node, sum_of(node, leaf)) for node in nodes_of(0, n)])
    found = [(node, sum_of(node, leaf)) for a, b in pairwise(cuts) for node in nodes_of(a, b)]
    np.testing.assert_array_equal(total_of(n, found)[0], alone)
    np.testing.assert_allclose(alone, values.sum(axis=0), rtol=1e-12)


def test_bits_of_a_block_are_its_own() -> None:
    assert (block_bits(7, 0) != block_bits(7, 1)).all()
    assert (block_bits(7, 1) == block_bits(7, 1)).all()
    # The first word that splitmix64 makes of 1234567, after its authors.
    assert int(block_bits(1234567, 0)[0]) == 6457827717110365317


def piece(block: int) -> ConditionalCounts:
    """Overlapping pairs of five items, and grouped outcomes in every other block."""
    counts = ConditionalCounts(5).observe({block % 5: 2, (block + 1) % 5: 1}, within=[
        block % 5, (block + 1) % 5])  # fmt: skip
    counts = counts.observe({(block + 2) % 5: 1}, within=[(block + 1) % 5, (block + 2) % 5])
    return counts.observe_group([0, block % 4 + 1], 2) if block % 2 else counts


def make(block: int) -> Any:
    return lambda: piece(block)


def test_blocks_on_workers_draw_what_one_process_draws(client: Client, tmp_path: Path) -> None:
    pieces = [make(block) for block in range(5)]
    here = luce.sample_sharded(pieces, cluster=None, warmup=3, thin=2, **QUICK)
    given = luce.sample_sharded(
        [piece(block) for block in range(5)], cluster=client, warmup=3, thin=2, **QUICK
    )
    assert same_numbers(given, here)
    assert here.attrs["data_pieces"] == 5
    streamed = luce.sample_sharded(
        pieces, cluster=None, warmup=3, thin=2, to=tmp_path / "run.zarr", quantiles=[0.5], **QUICK
    )
    assert same_numbers(streamed, here)
    with pytest.raises(DataError, match="given in 5 pieces"):
        luce.posterior_of(streamed)


def test_blocks_of_nested_sets_have_the_exact_mean() -> None:
    """Of nested sets the mean is known: a game between two of three, and who wins of all."""
    duels = ConditionalCounts("abc").observe({"a": 6, "b": 2}, within="ab")
    whole = ConditionalCounts("abc").observe({"c": 5, "a": 3})
    run = luce.sample_sharded(
        [duels, whole], [1.0, 2.0, 1.5], 150, chains=4, warmup=20, seed=3, cluster=None,
        progress=False,
    )  # fmt: skip
    exact = Posterior(duels + whole, [1.0, 2.0, 1.5])
    values = values_of(run)
    sd = np.sqrt(exact.variance())
    assert (np.abs(values.mean(axis=(0, 1)) - exact.mean()) < 5 * sd / np.sqrt(150)).all()


def test_counts_are_cut_into_blocks_that_add_up() -> None:
    counts = sum((piece(block) for block in range(6)), ConditionalCounts(5))
    pieces = _cut(counts, 3)
    assert len(pieces) > 2
    assert sum(pieces, ConditionalCounts(5)) == counts
    whole = luce.sample_sharded(counts, cluster=None, keep=[3, 1], **QUICK)
    assert luce.posterior_of(whole).counts == counts
    assert values_of(whole).shape == (2, 12, 2)


def test_what_cannot_be_held_in_blocks_is_refused(tmp_path: Path) -> None:
    for wrong in ([], "pieces", 3, [piece(0), 4]):
        with pytest.raises(DataError, match="piece"):
            luce.sample_sharded(wrong, cluster=None)  # type: ignore[arg-type]
    with pytest.raises(DataError, match="piece 1 has other categories than piece 0"):
        luce.sample_sharded([piece(0), ConditionalCounts(6)], cluster=None)
    with pytest.raises(DataError, match="piece 1 gave int"):
        luce.sample_sharded([piece(0), lambda: 3], cluster=None)  # type: ignore[list-item,return-value]
    with pytest.raises(MethodError, match=r"at least 0\.05"):
        luce.sample_sharded([piece(0)], 0.001, cluster=None)
    with pytest.raises(MethodError, match="goes to a disk"):
        luce.sample_sharded([piece(0)], cluster=None, quantiles=[0.5])
    with pytest.raises(DataError, match="exists"):
        luce.sample_sharded([piece(0)], cluster=None, to=_made(tmp_path / "run.zarr"))


def _made(folder: Path) -> Path:
    folder.mkdir()
    return folder


def test_pieces_of_different_workers_are_compared_too(client: Client) -> None:
    with pytest.raises(DataError, match="piece 1 has other categories than piece 0"):
        luce.sample_sharded([piece(0), ConditionalCounts(6)], cluster=client, **QUICK)


def test_blocks_that_are_lost_are_built_again(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same rates come back, from the same bits, whoever holds the blocks."""
    pieces, p = [piece(block) for block in range(4)], np.full(5, 0.2)
    expected = Shards(pieces, None).sweep(p, 99)
    shards = Shards(pieces, client)
    assert {held.worker for held in shards._held} == set(workers_of(client))
    before = [held.actor for held in shards._held]
    sweep, lost = Shard.sweep, [0]

    def swept(self: Shard, *arguments: Any) -> Any:
        if self._first == 0 and not lost[0]:
            lost[0] = 1
            raise OSError("the worker is gone")
        return sweep(self, *arguments)

    monkeypatch.setattr(Shard, "sweep", swept)
    for found, known in zip(shards.sweep(p, 99), expected, strict=True):
        np.testing.assert_array_equal(found, known)
    after = [held.actor for held in shards._held]
    assert [a is b for a, b in zip(before, after, strict=True)] == [False, True]
    assert shards._mend(shards._held[0], before[0]) is after[0]  # another chain has been faster


def test_a_worker_known_to_be_lost_fails_only_when_it_is_waited_for() -> None:
    class Lost:
        def __getattr__(self, name: str) -> None:
            raise RuntimeError("Worker holding Actor was lost")

    answer = _call(Lost(), "sweep", ())
    with pytest.raises(RuntimeError, match="was lost"):
        answer.result()


def test_blocks_that_are_lost_again_and_again_are_given_up(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    pieces = [piece(block) for block in range(3)]
    shards = Shards(pieces, client)

    def lost(self: Shard, *_: Any) -> None:
        raise OSError("the worker is gone")

    monkeypatch.setattr(Shard, "sweep", lost)
    with pytest.raises(LuceError, match="blocks 0 to 0 were lost 5 times in a row"):
        shards.sweep(np.full(5, 0.2), 1)
    with pytest.raises(OSError, match="the worker is gone"):  # here there is nobody else to ask
        Shards(pieces, None).sweep(np.full(5, 0.2), 1)


# -- many posteriors -------------------------------------------------------------------------------


def games() -> pd.DataFrame:
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


def test_groups_are_drawn_alike_wherever_they_are(client: Client) -> None:
    frame, quick = games().drop(columns="year"), {**QUICK, "method": "waiting-times", "warmup": 4}
    here = luce.sample_many(frame, "league", "pairs", cluster=None, answer=mean_of, **quick)
    assert list(here) == ["S", "N"]
    there = luce.sample_many(frame, "league", "pairs", cluster=client, answer=mean_of, **quick)
    assert there == here
    for other in (pl.from_pandas(frame).lazy(), frame.to_dict("list")):
        again = luce.sample_many(other, "league", "pairs", cluster=None, answer=mean_of, **quick)
        assert again == here
    south = luce.from_pairs(frame[frame["league"] == "S"].drop(columns="league"))
    named = luce.sample_many({"S": Posterior(south)}, cluster=None, answer=mean_of, **quick)
    assert named["S"] == here["S"]
    runs = luce.sample_many(
        games(), ["league", "year"], "pairs", cluster=None, method="waiting-times", **QUICK
    )
    assert set(runs) == {("S", 1), ("S", 2), ("N", 1)}
    assert values_of(runs["N", 1]).shape == (2, 12, 3)


@pytest.mark.filterwarnings("error::luce.ConvergenceWarning")
def test_groups_in_doubt_are_named_in_one_sentence() -> None:
    frame = games().drop(columns="year")
    bad = pd.DataFrame({"league": ["S"], "winner": ["x"], "loser": ["x"]})
    with pytest.warns((luce.ConvergenceWarning, luce.errors.SkippedRowsWarning)) as caught:
        luce.sample_many(
            pd.concat([frame, bad]), "league", "pairs", cluster=None, method="waiting-times",
            skip_bad=True, warmup=2, **QUICK,
        )  # fmt: skip
    said = [w.message for w in caught]
    assert sum(isinstance(message, luce.errors.SkippedRowsWarning) for message in said) == 1
    (doubt,) = (message for message in said if isinstance(message, luce.ConvergenceWarning))
    assert "of 2 groups (" in str(doubt)
    assert "cannot be trusted yet. Group" in str(doubt)
    assert all(w.filename == __file__ for w in caught if isinstance(w.message, type(doubt)))


def test_groups_that_cannot_be_used_are_named() -> None:
    frame = games().drop(columns="year")

    def refused(words: str, *arguments: Any, **options: Any) -> None:
        with pytest.raises(DataError, match=words):
            luce.sample_many(*arguments, cluster=None, draws=5, **options)

    wrong = frame.assign(loser=frame["winner"])
    refused("group 'S'", wrong, "league", "pairs")
    refused("no column 'club'", frame, "club", "pairs")
    refused("no column 'club'", frame.to_dict("list"), "club", "pairs")
    refused("'colour' is an option neither", frame, "league", "pairs", colour=3)
    refused("kind = 'duels'", frame, "league", "duels")
    refused("a frame needs by=", frame)
    refused("have no meaning here", {"a": Posterior(league())}, "league")
    steps = {"g": list("AAA"), "from": list("xyz"), "to": list("yzx")}
    refused("makes several posteriors of a group", steps, "g", "transitions", rows="separate")


# -- logs ------------------------------------------------------------------------------------------


def test_logs_are_reduced_where_they_lie(client: Client, tmp_path: Path) -> None:
    frame = games().drop(columns=["league", "year"])
    for k in range(2):
        frame[k::2].to_parquet(tmp_path / f"{k}.parquet")
    expected = luce.from_pairs(frame)
    for cluster, path in ((client, tmp_path), (None, f"{tmp_path}/*.parquet")):
        found = luce.workflows.reduce_logs(path, "pairs", cluster=cluster)
        assert ConditionalCounts(expected.categories) + found == expected
    with pytest.raises(LuceError, match="cannot be read as Parquet"):
        luce.workflows.reduce_logs(tmp_path / "nothing.parquet", "pairs", cluster=None)
    with pytest.raises(DataError, match="kind = 'duels'"):
        luce.workflows.reduce_logs(tmp_path, "duels", cluster=None)
    steps = pd.DataFrame({"from": list("xyz"), "to": list("yzx")})
    steps.to_parquet(tmp_path / "steps.parquet")
    with pytest.raises(DataError, match="read them one by one"):
        luce.workflows.reduce_logs(
            tmp_path / "steps.parquet", "transitions", cluster=None, rows="separate"
        )
