"""Posteriors whose terms are held in blocks: the right draws, wherever and however often begun."""

import json
import os
import pickle
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from distributed import Client, LocalCluster
from lib.bounds import SEED, z_limit
from lib.killed_runs import draw_and_die
from lib.oracles import Family, simplex_quadrature
from lib.sampling_oracles import Moments, chain_moments, z_scores
from lib.sharded_runs import BLOCKS, LENGTH, sharded, sharded_plan, tell
from lib.size import draws
from lib.streaming_runs import BrokenOff, league, same_numbers
from lib.terms import many_sets, same_draws, small_piece, small_whole, values_of
from lib.workers import DASK_WARNINGS

import luce
from luce import ConditionalCounts, Gamma, LuceError, Posterior
from luce.cluster.execution import carry_out
from luce.cluster.sharded import cut_into_pieces
from luce.errors import DataError, MethodError
from luce.runs.journal import read_plan
from luce.runs.seal import plan_file, sealed
from luce.sampling.plan import PosteriorPlan
from luce.sampling.settings import Settings

pytestmark = DASK_WARNINGS
QUICK: dict[str, Any] = {"draws": 12, "chains": 2, "seed": 5, "progress": False}


def make(block: int) -> Callable[[], ConditionalCounts]:
    return lambda: small_piece(block)


# -- the right posterior ---------------------------------------------------------------------------


def small() -> tuple[list[ConditionalCounts], Family]:
    """Three categories in four pieces, with a grouped outcome, and the same as exponents."""
    none = ConditionalCounts(["a", "b", "c"])
    pieces = [
        none.observe({"a": 4, "b": 1}, within=["a", "b"]),
        none.observe({"b": 2, "c": 3}, within=["b", "c"]).observe({"a": 1}),
        none.observe({"a": 2, "b": 2}, within=["a", "b"]),  # a set that another piece has too
        none.observe_group(["a", "c"], 3).observe({"c": 1}, within=["a", "c"]),
    ]
    powers = {(0,): 7, (1,): 5, (2,): 4, (0, 1): -9, (1, 2): -5, (0, 2): 3 - 1}
    return pieces, {frozenset(k): float(v) for k, v in powers.items()}


def drawn(pieces: list[ConditionalCounts]) -> Moments:
    run = luce.sample_sharded(
        pieces,
        [1.2, 0.7, 2.0],
        150,
        chains=30,
        warmup=20,
        seed=np.random.SeedSequence([SEED, 8]),
        cluster=None,
        progress=False,
    )
    return chain_moments(values_of(run))


@pytest.mark.slow
@pytest.mark.compiled
def test_pieces_give_the_posterior_of_their_sum() -> None:
    pieces, exponents = small()
    truth = simplex_quadrature(exponents, [1.2, 0.7, 2.0])
    exact = Moments(np.stack([truth.mean, truth.variance]), np.zeros((2, 3)), np.inf)
    assert z_scores(drawn(pieces), exact).max() < z_limit(6)
    # The control: one piece missing.
    assert z_scores(drawn(pieces[:3]), exact).max() > z_limit(6)


@pytest.mark.slow
@pytest.mark.compiled
def test_blocks_have_bits_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """With one generator for all blocks waits are not independent.

    Equal pieces then wait equally long, and the posterior comes out wrong.
    """
    none = ConditionalCounts(["a", "b", "c"])
    piece = none.observe({"a": 6, "b": 3}, within=["a", "b"])
    piece = piece.observe({"b": 4, "c": 5}, within=["b", "c"])
    powers = {(0,): 6.0, (1,): 7.0, (2,): 5.0, (0, 1): -9.0, (1, 2): -9.0}
    exponents = {frozenset(k): 8 * v for k, v in powers.items()}
    truth = simplex_quadrature(exponents, [1.2, 0.7, 2.0])
    exact = Moments(np.stack([truth.mean, truth.variance]), np.zeros((2, 3)), np.inf)
    assert z_scores(drawn([piece] * 8), exact).max() < z_limit(6)
    from luce.kernels import shards

    right = shards.block_bits
    monkeypatch.setattr(shards, "block_bits", lambda word, block: right(word, 0))
    assert z_scores(drawn([piece] * 8), exact).max() > z_limit(6)


def test_blocks_of_nested_sets_have_the_exact_mean() -> None:
    """Of nested sets the mean is known: a game between two of three, and who wins of all."""
    duels = ConditionalCounts("abc").observe({"a": 6, "b": 2}, within="ab")
    whole = ConditionalCounts("abc").observe({"c": 5, "a": 3})
    prior = [1.0, 2.0, 1.5]
    run = luce.sample_sharded(
        [duels, whole], prior, 150, chains=4, warmup=20, seed=3, cluster=None, progress=False
    )
    exact = Posterior(duels + whole, prior)
    sd = np.sqrt(exact.variance().values)
    off = np.abs(values_of(run).mean(axis=(0, 1)) - exact.mean().values)
    assert (off < 5 * sd / np.sqrt(150)).all()


# -- whoever holds the blocks ----------------------------------------------------------------------


def test_counts_are_cut_into_blocks_that_add_up() -> None:
    counts = many_sets(0) + many_sets(1) + ConditionalCounts(300).observe_ranking(range(40))
    pieces = cut_into_pieces(counts, 150)
    assert len(pieces) > 5
    assert sum(pieces, ConditionalCounts(300)) == counts
    assert max(len(piece.sets.members) for piece in pieces) < 300
    few = cut_into_pieces(small_whole(6), 3)
    assert len(few) > 2
    assert sum(few, ConditionalCounts(5)) == small_whole(6)


def test_pieces_may_be_functions() -> None:
    options = {"draws": draws(20, 3), "chains": 2, "seed": 1, "cluster": None, "progress": False}
    called = luce.sample_sharded([partial(many_sets, k) for k in range(3)], **options)
    given = luce.sample_sharded([many_sets(k) for k in range(3)], **options)
    np.testing.assert_array_equal(values_of(called), values_of(given))
    assert called.attrs["data_pieces"] == 3
    with pytest.raises(DataError, match="3 pieces"):
        luce.posterior_of(called)


def test_whole_counts_are_stored_with_the_run() -> None:
    run = luce.sample_sharded(small_whole(), cluster=None, keep=[3, 1], **QUICK)
    assert luce.posterior_of(run).counts == small_whole()
    assert values_of(run).shape == (2, 12, 2)
    assert "data_pieces" not in run.attrs


@pytest.mark.cluster
def test_blocks_on_workers_draw_what_one_process_draws(
    threads_client: Client, tmp_path: Path
) -> None:
    how: dict[str, Any] = {"warmup": 3, "thin": 2, **QUICK}
    pieces = [make(block) for block in range(5)]
    here = luce.sample_sharded(pieces, cluster=None, **how)
    given = luce.sample_sharded(list(map(small_piece, range(5))), cluster=threads_client, **how)
    assert same_numbers(given, here)
    assert here.attrs["data_pieces"] == 5
    folder = tmp_path / "run.zarr"
    streamed = luce.sample_sharded(pieces, cluster=None, to=folder, quantiles=[0.5], **how)
    assert same_numbers(streamed, here)
    loaded = luce.load(folder)
    assert same_numbers(loaded, here)
    assert loaded.attrs["data_pieces"] == 5
    with pytest.raises(DataError, match="given in 5 pieces"):
        luce.posterior_of(streamed)


@pytest.mark.cluster
def test_shards_of_other_processes_draw_what_one_process_draws(client: Client) -> None:
    pieces = [partial(many_sets, block) for block in range(7)]
    options: dict[str, Any] = {"draws": draws(30, 3), "chains": 2, "seed": 5, "progress": False}
    here = luce.sample_sharded(pieces, cluster=None, **options)
    assert same_draws(here, luce.sample_sharded(pieces, cluster=client, **options))


@pytest.mark.slow
@pytest.mark.cluster
@pytest.mark.parametrize("workers", [1, 3, 4])
def test_shards_of_any_number_of_workers(workers: int) -> None:
    pieces = [partial(many_sets, block) for block in range(7)]
    options: dict[str, Any] = {"draws": 30, "chains": 2, "seed": 5, "progress": False}
    here = luce.sample_sharded(pieces, cluster=None, **options)
    with (
        LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=":0") as own,
        Client(own) as client,
    ):
        assert same_draws(here, luce.sample_sharded(pieces, cluster=client, **options))


# -- gone on with ----------------------------------------------------------------------------------


def contents(folder: Path) -> dict[str, bytes]:
    """All files of a folder."""
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


@pytest.mark.parametrize("k", [3, 17, 40])
def test_a_sharded_run_goes_on_bit_for_bit(k: int, tmp_path: Path, breaking: Any) -> None:
    folder, memory = tmp_path / "run.zarr", sharded(True)
    breaking(k)
    with pytest.raises(BrokenOff):
        sharded(True, folder)
    breaking(10**9)
    run = luce.resume(folder, progress=False)
    assert same_numbers(run, memory)
    assert tell(run) == tell(memory)
    assert tell(run)["kind"] == "sharded"
    assert "blocks of terms held by workers" in tell(run)["reason"]
    loaded = luce.load(folder)
    assert same_numbers(loaded, memory)
    assert loaded["sample_stats"]["log_waiting_time"].shape == (2, LENGTH, 1)


def test_another_sampler_would_draw_something_else(tmp_path: Path, breaking: Any) -> None:
    """The control of the test above: the plan of a plain posterior, put in its place."""
    folder, memory = tmp_path / "run.zarr", sharded(True)
    breaking(3)
    with pytest.raises(BrokenOff):
        sharded(True, folder)
    breaking(10**9)
    stored = read_plan(folder)
    changed = json.dumps({**stored, "kind": "posterior"})
    plan_file(folder).write_bytes(sealed(changed.encode()))
    assert not same_draws(luce.resume(folder, progress=False), memory)


def killed(folder: Path, files: int, how: str) -> None:
    """Have a sharded run killed in a process of its own, in the middle of its blocks."""
    draw_and_die(f"sharded_runs.sharded({how == 'whole'}, folder)", "sharded_runs", folder, files)
    assert plan_file(folder).exists()


def test_a_sharded_run_that_was_killed_goes_on_bit_for_bit(tmp_path: Path) -> None:
    folder = tmp_path / "run.zarr"
    killed(folder, 30, "whole")
    memory = sharded(True)
    run = luce.resume(folder, progress=False)
    assert same_numbers(run, memory)
    assert tell(run) == tell(memory)


def test_a_sharded_run_in_pieces_is_not_gone_on_with(tmp_path: Path) -> None:
    """Refused in words, and nothing in the folder is touched."""
    folder = tmp_path / "run.zarr"
    killed(folder, 30, "pieces")

    def whole_files() -> dict[str, bytes]:  # a place that the kill left half written may go
        return {name: x for name, x in contents(folder).items() if not name.endswith(".part")}

    before = whole_files()
    with pytest.raises(LuceError, match=r"given in 4 pieces and is not stored.*the same pieces"):
        luce.resume(folder, progress=False)
    assert whole_files() == before
    again = sharded(False, tmp_path / "again.zarr")
    assert same_numbers(again, sharded(False))


def test_a_sharded_plan_stays_where_its_blocks_are() -> None:
    with pytest.raises(MethodError, match="workers hold its blocks"):
        pickle.dumps(sharded_plan([small_piece(0)], None))


def test_sharded_draws_are_not_those_of_one_problem() -> None:
    """Why a run must go on by its own sampler: bits belong to blocks."""
    whole = small_whole(BLOCKS)
    settings = Settings(draws=9, chains=2, seed=5, method="waiting-times", reduce=False)
    plain = carry_out(PosteriorPlan.of(Posterior(whole).model, settings.silent()))
    assert not same_draws(
        plain, luce.sample_sharded(whole, cluster=None, draws=9, chains=2, seed=5)
    )


# -- refused ---------------------------------------------------------------------------------------


def test_what_cannot_be_sharded_is_refused(tmp_path: Path) -> None:
    piece = small_piece(0)
    for wrong in ([], "pieces", 3, [piece, 4]):
        with pytest.raises(DataError, match="piece"):
            luce.sample_sharded(wrong, cluster=None)  # type: ignore[arg-type]
    with pytest.raises(DataError, match="piece 1 has other categories than piece 0"):
        luce.sample_sharded([piece, ConditionalCounts(6)], cluster=None)
    with pytest.raises(DataError, match="piece 1 gave int"):
        luce.sample_sharded([piece, lambda: 3], cluster=None)  # type: ignore[list-item,return-value]
    with pytest.raises(MethodError, match=r"at least 0\.05"):
        luce.sample_sharded([piece], 0.001, cluster=None)
    seen = ConditionalCounts(3).observe({0: 3, 1: 1}, within=[0, 1]).observe({2: 2}, within=[1, 2])
    with pytest.raises(MethodError, match=r"at least 0\.05, and 0\.01 was given"):
        luce.sample_sharded(seen, 0.01, cluster=None)  # p of both sets may underflow, seen or not
    with pytest.raises(LuceError, match="cluster = 5"):
        luce.sample_sharded([piece], cluster=5)  # type: ignore[arg-type]
    with pytest.raises(MethodError, match="goes to a disk"):
        luce.sample_sharded([piece], cluster=None, quantiles=[0.5])
    (tmp_path / "run.zarr").mkdir()
    with pytest.raises(DataError, match="exists"):
        luce.sample_sharded([piece], cluster=None, to=tmp_path / "run.zarr")


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"quantiles": [0.5]}, "goes to a disk"),
        ({"quantiles": [2.0], "to": "run.zarr"}, "between 0 and 1"),
        ({"to": "run.nc"}, "ends in '.zarr'"),
        ({"to": "none/run.zarr"}, "there is no folder"),
        ({"keep": ["nobody"]}, "nobody"),
        ({"keep": []}, "keep is empty"),
        ({"draws": 0}, "draws = 0"),
        ({"concentration": Gamma(2, 1)}, "a concentration that is a number"),
        ({"concentration": 0.001}, r"at least 0\.05"),
        ({"concentration": -1.0}, "positive"),
    ],
    ids=str,
)
def test_refusals_come_before_workers_are_started(
    wrong: dict[str, Any], words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No scheduler is looked for: nobody answers at this address, and that would be told."""
    monkeypatch.setattr("luce.cluster.connect.PATIENCE_SECONDS", 0.2)
    if "to" in wrong:
        wrong = {**wrong, "to": tmp_path / wrong["to"]}
    nowhere = "tcp://127.0.0.1:9"
    with pytest.raises(LuceError, match=words):
        luce.sample_sharded(league(), cluster=nowhere, **wrong)
    if "keep" not in wrong and wrong.get("concentration") not in (0.001, -1.0):
        with pytest.raises(LuceError, match=words):
            luce.sample_sharded([small_piece(0)], cluster=nowhere, **wrong)
    assert os.listdir(tmp_path) == []


@pytest.mark.cluster
def test_pieces_of_different_workers_are_compared_too(threads_client: Client) -> None:
    with pytest.raises(DataError, match="piece 1 has other categories than piece 0"):
        luce.sample_sharded([small_piece(0), ConditionalCounts(6)], cluster=threads_client, **QUICK)


def test_pieces_tell_which_categories_are_effects() -> None:
    none = ConditionalCounts(["a", "b", "draw"])
    first = none.observe({"a": 2, "b": 1}, within=["a", "b"])
    second = none.observe({"a": 1, "draw": 2}).with_effects({"draw": "tie"})
    options = {"chains": 1, "warmup": 5, "seed": 1, "cluster": None, "progress": False}
    run = luce.sample_sharded([first, second], 1.0, 10, **options)
    assert luce.summary(run).categories == ["a", "b"]
