"""Runs that go to a disk: the same draws as in memory, wherever they are broken off."""

import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr
import zarr
from lib.planned import plan_of
from lib.size import PLAIN_PYTHON
from lib.streaming_runs import (
    BLOCK_CHUNKS,
    CASES,
    CHUNK_STEPS,
    DRAWS,
    BrokenOff,
    a_block,
    broken_off,
    draw,
    flip_a_bit,
    league,
    plan,
    same_numbers,
)

import luce
from luce import Posterior
from luce.errors import DataError
from luce.runs import journal
from luce.runs.stream import Stream, draw_to_disk
from luce.sampling.chains import Chain

pytestmark = pytest.mark.filterwarnings("ignore::luce.ConvergenceWarning")

OFTEN = ["exact", "hidden-counts", "keep", "concentration", "process"]


@pytest.mark.parametrize(
    "name", [*OFTEN, *(pytest.param(k, marks=pytest.mark.slow) for k in CASES if k not in OFTEN)]
)
def test_draws_on_a_disk_are_those_in_memory(name: str, tmp_path: Path) -> None:
    memory = draw(name)
    disk = draw(name, tmp_path / "run.zarr")
    assert same_numbers(disk, memory)
    loaded = luce.load(tmp_path / "run.zarr")
    assert same_numbers(loaded, memory)
    for group in ("observed_data", "constant_data"):
        assert loaded[group].to_dataset().identical(memory[group].to_dataset())
    differ = {"created_at", "sampling_time", "complete"}
    ours, theirs = ({k: v for k, v in t.attrs.items() if k not in differ} for t in (loaded, memory))
    assert ours == theirs
    assert not (tmp_path / "run.zarr" / "journal").exists()
    assert os.listdir(tmp_path) == ["run.zarr"]
    original = luce.posterior_of(loaded)
    assert original.counts == CASES[name][0].counts
    assert luce.resume(tmp_path / "run.zarr").posterior.sizes["draw"] == DRAWS  # nothing to do


def test_posteriors_are_sampled_to_a_disk_by_the_same_plan(tmp_path: Path) -> None:
    """The tests here make plans of their own; `Posterior.sample` makes the same ones."""
    posterior, options = CASES["thin"]
    how: dict[str, Any] = {"draws": 30, "chains": 2, "seed": 5, "progress": False, **options}
    disk = posterior.sample(to=tmp_path / "run.zarr", **how)
    assert same_numbers(disk, posterior.sample(**how))
    assert same_numbers(luce.load(tmp_path / "run.zarr"), disk)


def test_thinned_draws_are_some_of_all_draws() -> None:
    """Of three sweeps one is kept; the core's own states show it, splits around it are anew."""
    posterior = Posterior(league())
    options: dict[str, Any] = {"seed": 3, "method": "waiting-times", "reduce": False, "warmup": 10}
    every = posterior.sample(90, **options).posterior["probabilities"].values
    third = posterior.sample(30, thin=3, **options)
    np.testing.assert_array_equal(third.posterior["probabilities"].values, every[:, 2::3])
    assert third.attrs["thin"] == 3


def test_kept_draws_are_those_columns_of_all_draws() -> None:
    whole = draw("logarithms").posterior["probabilities"]
    some = draw("logarithms", keep=["Flo", "Ann"])
    np.testing.assert_array_equal(
        some.posterior["probabilities"].values, whole.sel(category=["Flo", "Ann"]).values
    )
    assert some.attrs["kept_categories"] == 2
    assert luce.posterior_of(some).counts == league()


def test_any_reader_of_zarr_reads_it(tmp_path: Path) -> None:
    memory = draw("waiting-times")
    draw("waiting-times", tmp_path / "run.zarr")
    values = memory.posterior["probabilities"].values
    plain = zarr.open_group(tmp_path / "run.zarr", mode="r")
    np.testing.assert_array_equal(plain["posterior/probabilities"][:], values)
    with xr.open_datatree(tmp_path / "run.zarr", engine="zarr") as tree:
        np.testing.assert_array_equal(tree["posterior/probabilities"].values, values)


# -- broken off -----------------------------------------------------------------------------------

STOPS = (1, 2, 3, 5, 8, 13, 21, 34, 55)  # files written before a run stops
FEW = {"metropolis": (2, 8), "keep": (3, 10), "start": (5,), "exact": (4,)}
SOME = {"metropolis": STOPS[1::3], "keep": STOPS[2::3]}


@pytest.mark.parametrize(
    ("name", "places"),
    [
        *(FEW if PLAIN_PYTHON else SOME).items(),
        *(
            pytest.param(name, STOPS, marks=pytest.mark.slow)
            for name in ("metropolis", "keep", "exact", "concentration")
        ),
    ],
)
def test_wherever_it_stops_it_goes_on_bit_for_bit(
    name: str, places: tuple[int, ...], tmp_path: Path, breaking: Any
) -> None:
    memory = draw(name)
    stops = 0
    for k in places:
        folder = tmp_path / f"{k}.zarr"
        breaking(k)
        try:
            draw(name, folder, threads=1 + k % 2)
        except BrokenOff:
            stops += 1
        breaking(10**9)
        if folder.exists():
            assert same_numbers(luce.resume(folder, progress=False), memory)
            assert same_numbers(luce.load(folder), memory)
    assert stops >= len(places) * 2 / 3


def test_a_run_that_was_broken_off_is_not_taken_for_a_whole_one(
    tmp_path: Path, breaking: Any
) -> None:
    folder = tmp_path / "run.zarr"
    broken_off(folder, breaking)
    for opened in (luce.load, luce.runs.open_run):
        with pytest.raises(DataError, match="is not complete"):
            opened(folder)
    with pytest.raises(DataError, match="goes on with it"):
        draw("waiting-times", folder)


def test_the_sizes_of_chunks_and_blocks_are_the_stored_ones(tmp_path: Path, breaking: Any) -> None:
    """Metropolis rounds its state between chunks: with other chunks other draws would follow."""
    folder = tmp_path / "run.zarr"
    broken_off(folder, breaking, "metropolis", block_bytes=4096, place_bytes=1000)
    settings = journal.read_plan(folder)["settings"]
    assert settings["chunk_steps"] == CHUNK_STEPS
    assert settings["block_chunks"] == BLOCK_CHUNKS
    assert settings["block_bytes"] == 4096
    assert settings["place_bytes"] == 1000
    assert same_numbers(luce.resume(folder, progress=False), draw("metropolis"))


@pytest.mark.slow
def test_a_run_may_be_broken_off_again_and_again(tmp_path: Path, breaking: Any) -> None:
    memory = draw("hamiltonian")
    folder = tmp_path / "run.zarr"
    stops = 0
    for _ in range(100):
        breaking(7)
        try:
            if folder.exists():
                luce.resume(folder, progress=False)
            else:
                draw("hamiltonian", folder)
            break
        except BrokenOff:
            stops += 1
    assert stops > 10
    assert same_numbers(luce.load(folder), memory)


@pytest.mark.parametrize("harm", [pytest.param("torn", marks=pytest.mark.slow), "changed", "gone"])
def test_a_damaged_block_is_found_and_made_again(harm: str, tmp_path: Path, breaking: Any) -> None:
    memory, folder = draw("waiting-times"), tmp_path / "run.zarr"
    broken_off(folder, breaking)
    victim = a_block(folder)
    content = victim.read_bytes()
    if harm == "torn":
        victim.write_bytes(content[: len(content) // 2])
    elif harm == "changed":
        flip_a_bit(victim)
    else:
        victim.unlink()
    assert same_numbers(luce.resume(folder, progress=False), memory)


def test_without_the_check_a_changed_block_would_stay(
    tmp_path: Path, breaking: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The control of the test above: it is the digests that find the damage."""
    memory, folder = draw("waiting-times"), tmp_path / "run.zarr"
    broken_off(folder, breaking)
    flip_a_bit(a_block(folder))
    damaged = a_block(folder).read_bytes()
    monkeypatch.setattr(journal.Journal, "fits", lambda *_: True)
    run = luce.resume(folder, progress=False)
    assert a_block(folder).read_bytes() == damaged
    with pytest.raises(DataError, match="changed or damaged"):
        same_numbers(run, memory)
    with pytest.raises(DataError, match="changed or damaged"):
        luce.load(folder)


def test_a_damaged_place_gives_way_to_the_one_before(tmp_path: Path, breaking: Any) -> None:
    memory, folder = draw("waiting-times"), tmp_path / "run.zarr"
    broken_off(folder, breaking)
    damaged = 0
    for chain in (folder / "journal").glob("[0-9]*"):
        last = max(chain.glob("*"))
        last.write_bytes(last.read_bytes()[:100])
        damaged += 1
    assert damaged
    assert same_numbers(luce.resume(folder, progress=False), memory)


@pytest.mark.slow
def test_without_any_place_it_starts_anew(tmp_path: Path, breaking: Any) -> None:
    memory, folder = draw("waiting-times"), tmp_path / "run.zarr"
    broken_off(folder, breaking)
    for chain in (folder / "journal").glob("[0-9]*"):
        shutil.rmtree(chain)
    assert same_numbers(luce.resume(folder, progress=False), memory)


def test_a_watch_may_stop_a_chain(tmp_path: Path) -> None:
    stream = Stream(plan("waiting-times"), tmp_path / "run.zarr")
    stream.begin()
    seen: list[int] = []

    def watch(chains: Sequence[Chain]) -> bool:
        seen.append(chains[0].number)
        return True

    with pytest.raises(KeyboardInterrupt):
        stream.draw([1], watch)
    assert set(seen) == {1}
    assert not (stream.folder / "journal" / "0").exists()


def test_a_verdict_where_the_check_reads_no_draw_of_the_last_block(tmp_path: Path) -> None:
    """Every second of 2,002 draws is looked at, and the last block holds draw 2,001 alone."""
    posterior = luce.Posterior(league())
    how: dict[str, Any] = {"draws": 2002, "chains": 2, "seed": 3, "method": "waiting-times"}
    whole = plan_of(posterior, **how)
    steps = 667 * (whole.n + whole.method.work)
    small = plan_of(posterior, **how, chunk_steps=steps, block_chunks=1)
    assert small.block == 667
    on_disk = draw_to_disk(small, tmp_path / "run.zarr")
    in_memory = posterior.sample(**how, progress=False)
    assert same_numbers(on_disk, in_memory)
