"""Outputs of other types than doubles, and of every k-th draw, wherever draws go."""

from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import xarray as xr
import zarr
from lib.killed_runs import draw_and_die
from lib.streaming_runs import BrokenOff, flip_a_bit
from lib.toy_plans import KEPT, SEQUENCES, STATES, StatesPlan, states_plan, true_states

import luce
from luce.cluster.execution import carry_out
from luce.errors import DataError, MethodError
from luce.runs.blocks import block_file
from luce.runs.disk import StoredDraws
from luce.runs.journal import read_plan
from luce.runs.resuming import go_on
from luce.runs.stream import Stream
from luce.runs.tree import run_tree
from luce.sampling.chains import Output
from luce.sampling.memory import Memory, check_memory, draw_in_memory

pytestmark = pytest.mark.filterwarnings("ignore::luce.ConvergenceWarning")

EVERY, CHUNKS = (1, 3, 7), (1, 5)


def assert_states(run: xr.DataTree, plan: StatesPlan, draws: int) -> None:
    """Compare draws, types, coordinates and attributes of a run with the truth."""
    for path, truth in true_states(plan, draws).items():
        output = plan.output(path)
        found = run[path]
        assert found.dims == ("chain", "draw", *output.dims)
        assert found.dtype == np.dtype(output.dtype)
        np.testing.assert_array_equal(found.values, truth)
        assert found.attrs == dict(output.attributes or {})
    numbers = [d for d in range(draws) if (d + 1) % plan.every == 0]
    states = run["states"]
    assert states["draw"].values.tolist() == numbers
    assert run["posterior"]["draw"].values.tolist() == list(range(draws))
    assert states["time"].values.tolist() == list(range(len(SEQUENCES)))
    assert states["state"].values.tolist() == [STATES[k] for k in KEPT]
    for group in (states, run["observed_data"]):
        assert group["sequence"].dims == ("time",)
        assert group["sequence"].values.tolist() == SEQUENCES
        assert "sequence" in group.coords
        assert "sequence" not in group.indexes
    assert states.attrs == {}
    assert run["posterior"].attrs["method"] == "toy"


@pytest.mark.parametrize("chunk", CHUNKS)
@pytest.mark.parametrize("every", EVERY)
def test_draws_in_memory_and_on_a_disk_are_the_true_ones(
    every: int, chunk: int, tmp_path: Path
) -> None:
    plan, folder = states_plan(every, chunk), tmp_path / "run.zarr"
    assert plan.settings.draws % plan.block
    assert plan.block % every == plan.block % chunk == 0
    assert_states(carry_out(plan), plan, 43)
    disk = carry_out(plan, folder)
    assert_states(disk, plan, 43)
    assert_states(luce.load(folder), plan, 43)
    assert set(disk["running"].data_vars) == {
        "log_likelihood_mean",
        "log_likelihood_sd",
    }
    plain = zarr.open_group(folder, mode="r")
    truth = true_states(plan, 43)["states/states"]
    np.testing.assert_array_equal(plain["states/states"][:], truth)
    with xr.open_datatree(folder, engine="zarr") as tree:
        assert tree["states/states"].dtype == np.int16
        np.testing.assert_array_equal(tree["states/states"].values, truth)


@pytest.mark.parametrize(("draws", "chunk"), [(2, 1), (4, 5), (20, 1), (21, 50), (22, 1), (23, 50)])
def test_runs_of_any_length_are_stored(draws: int, chunk: int, tmp_path: Path) -> None:
    """Shorter than `every`, in one block that is no multiple of it, and with an empty last one."""
    plan = states_plan(7, chunk, draws, block_chunks=1)
    output, folder = plan.output("states/states"), tmp_path / "run.zarr"
    assert_states(carry_out(plan), plan, draws)
    assert_states(carry_out(plan, folder), plan, draws)
    assert_states(luce.load(folder), plan, draws)
    blocks = -(-draws // plan.block)
    there = [block_file(folder, output, 1, k).exists() for k in range(blocks)]
    rows = [min((k + 1) * plan.block, draws) // 7 - k * plan.block // 7 for k in range(blocks)]
    assert there == [size > 0 for size in rows]


@pytest.mark.parametrize("draws", [5, 43])
@pytest.mark.parametrize("suffix", [".nc", ".zarr"])
def test_runs_come_back_from_files(suffix: str, draws: int, tmp_path: Path) -> None:
    """Also where no draw of the states is stored, and where a loaded run is saved again."""
    plan, path = states_plan(7, 5, draws), tmp_path / f"run{suffix}"
    run = carry_out(plan)
    luce.save(run, path)
    loaded = luce.load(path)
    path.rename(tmp_path / "elsewhere")  # all of it is in memory
    xr.testing.assert_identical(loaded, run)
    assert_states(loaded, plan, draws)
    streamed = carry_out(plan, tmp_path / "streamed.zarr")
    for k, other in enumerate((loaded, streamed)):
        again = tmp_path / f"again{k}{suffix}"
        luce.save(other, again)
        xr.testing.assert_identical(luce.load(again), other)
        assert_states(luce.load(again), plan, draws)


def resumed(folder: Path) -> xr.DataTree:
    return go_on(folder, lambda run, given: StatesPlan.from_json(given))


@pytest.mark.parametrize(
    "stops", [(8, 19), pytest.param((1, 2, 5, 11, 13, 16, 18), marks=pytest.mark.slow)], ids=str
)
@pytest.mark.parametrize("chunk", CHUNKS)
@pytest.mark.parametrize("every", EVERY)
def test_wherever_it_stops_it_goes_on_bit_for_bit(
    every: int, chunk: int, stops: tuple[int, ...], tmp_path: Path, breaking: Any
) -> None:
    plan = states_plan(every, chunk)
    for files in stops:
        folder = tmp_path / f"{files}.zarr"
        breaking(files)
        with pytest.raises(BrokenOff):
            carry_out(plan, folder)
        breaking(10**9)
        assert_states(resumed(folder), plan, 43)
        assert_states(luce.load(folder), plan, 43)


KILLED = "from luce.cluster.execution import carry_out; carry_out(toy_plans.states_plan(3), folder)"


def test_a_run_that_was_killed_goes_on_bit_for_bit(tmp_path: Path) -> None:
    folder = tmp_path / "run.zarr"
    draw_and_die(KILLED, "toy_plans", folder, 17)
    assert read_plan(folder)["every"] == 3
    assert_states(resumed(folder), states_plan(3), 43)
    assert_states(luce.load(folder), states_plan(3), 43)


def test_blocks_that_were_damaged_are_drawn_again(tmp_path: Path) -> None:
    """A block of states that is damaged or missing; one without rows is no missing one."""
    plan, folder = states_plan(7, 1, 23), tmp_path / "run.zarr"
    assert plan.block == 7
    stream = Stream(plan, folder)
    stream.begin()
    ends = stream.draw(range(2))
    assert [(end.digests[3] == 0).all(axis=1).tolist() for end in ends] == [[0, 0, 1, 1]] * 2
    file = block_file(folder, plan.output("states/states"), 0, 1)
    flip_a_bit(file)
    block_file(folder, plan.output("states/weights"), 1, 2).unlink()
    assert_states(resumed(folder), plan, 23)
    flip_a_bit(file)
    with pytest.raises(DataError, match="fingerprint does not fit"):
        luce.load(folder)


@pytest.mark.parametrize("rows", [slice(0, 1), slice(1, 9, 4), slice(None, None, 3), slice(4, 4)])
def test_rows_are_read_across_blocks(rows: slice, tmp_path: Path) -> None:
    plan, folder = states_plan(3), tmp_path / "run.zarr"
    carry_out(plan, folder)
    stored, memory = StoredDraws(folder, plan), draw_in_memory(plan)
    assert stored.draws == memory.draws == 43
    entries: list[slice | npt.NDArray[np.int64]] = [slice(1, 5), np.array([4, 0])]
    truth = true_states(plan, 43)["states/states"]
    for sink, chain, own in product((stored, memory), range(2), entries):
        found = sink.read("states/states", chain, rows, own)
        np.testing.assert_array_equal(found, truth[chain][rows][:, own])
        assert found.dtype == np.int16


@pytest.mark.parametrize("names", [list("aabbcc"), [3, 3, 1, 1, 2, 2]], ids=str)
def test_coordinates_of_numbers_and_texts_are_as_xarray_builds_them(
    names: list[Any], tmp_path: Path
) -> None:
    class Named(StatesPlan):
        def coords(self, group: str) -> Any:
            plain = {"time": np.arange(6), "sequence": ("time", np.array(names))}
            return plain if group == "states" else {}

    plan = Named(states_plan().settings)
    run = carry_out(plan)
    found = run["states"].to_dataset()
    bare = xr.Dataset(
        {name: (v.dims, v.values, v.attrs) for name, v in found.data_vars.items()},
        {**plan.coords("states"), "chain": np.arange(2), "draw": np.arange(2, 43, 3)},
    )
    xr.testing.assert_identical(found, bare)
    assert set(found.indexes) == {"chain", "draw", "time"}
    luce.save(run, tmp_path / "run.nc")
    for same in (luce.load(tmp_path / "run.nc"), carry_out(plan, tmp_path / "run.zarr")):
        xr.testing.assert_identical(same["states"].to_dataset(), found)


# -- interrupted and extended ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("every", "stop", "chunk"), [(1, 8, 5), (3, 11, 1), (3, 11, 5), (7, 6, 1), (7, 30, 5)]
)
def test_an_interrupted_run_keeps_the_draws_that_all_chains_have(
    every: int, stop: int, chunk: int, tmp_path: Path
) -> None:
    plan = states_plan(every, chunk, 10**5, threads=1, interrupted_at=stop)
    run = carry_out(plan)
    made = run.posterior.sizes["draw"]
    assert run.attrs["interrupted"] == 1
    assert stop - chunk <= made < stop + chunk
    assert_states(run, plan, made)
    for suffix in (".nc", ".zarr"):
        luce.save(run, tmp_path / f"run{suffix}")
        xr.testing.assert_identical(luce.load(tmp_path / f"run{suffix}"), run)


@pytest.mark.parametrize("chunk", CHUNKS)
@pytest.mark.parametrize("every", EVERY)
def test_until_draws_on(every: int, chunk: int) -> None:
    plan = states_plan(every, chunk, 20, until=120)
    run = carry_out(plan)
    made = run.posterior.sizes["draw"]
    assert made > 20
    assert run.attrs["until_met"] == 1
    assert_states(run, plan, made)


# -- sizes -----------------------------------------------------------------------------------------


def test_blocks_hold_equal_numbers_of_stored_draws() -> None:
    assert states_plan(3, 1).block == 3
    assert states_plan(3, 2).block == 6
    assert states_plan(2, 3, block_chunks=5).block == 12
    assert states_plan(1, 5).block == 10
    assert states_plan(7, 5, 34).block == 34
    assert states_plan(7, 5, 1000).block == 35
    # States take 12 bytes a draw that is stored, weights 24.
    assert states_plan(1, 1, 1000, block_chunks=500, block_bytes=2400).block == 100
    assert states_plan(3, 1, 1000, block_chunks=500, block_bytes=2400).block == 300


def test_memory_is_counted_by_type_and_by_stored_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = states_plan(3)
    stored = sum(values.nbytes for values in Memory(plan).arrays.values())
    assert stored == 2 * (43 * (8 + 4) + 14 * (6 * 2 + 2 * 8))
    monkeypatch.setattr("os.sysconf", {"SC_PHYS_PAGES": stored, "SC_PAGE_SIZE": 1}.__getitem__)
    check_memory(plan)
    monkeypatch.setattr("os.sysconf", {"SC_PHYS_PAGES": stored - 1, "SC_PAGE_SIZE": 1}.__getitem__)
    with pytest.raises(MethodError, match=r"2 chains of 43 draws of 1 numbers \(log_likelihood\)"):
        check_memory(plan)


# -- verdicts and refusals -------------------------------------------------------------------------


def test_a_plan_completes_the_verdict_wherever_the_draws_are(tmp_path: Path) -> None:
    plan = states_plan(3, 5, verdict_of_states=True)
    total = true_states(plan, 43)["states/states"][:, :, 1:4].sum(dtype=np.int64)
    for to in (None, tmp_path / "run.zarr"):
        with pytest.warns(luce.ConvergenceWarning, match=f"14 draws of states add up to {total}$"):
            carry_out(plan, to)


def test_a_group_has_one_dimension_of_draws() -> None:
    class Mixed(StatesPlan):
        @property
        def outputs(self) -> Any:
            return [*super().outputs, Output("states/more", (), ())]

    plan = Mixed(states_plan().settings)
    with pytest.raises(ValueError, match=r"'states' share their draws, and have every = \[1, 3\]"):
        run_tree(plan, {}, 43, {})


@pytest.mark.parametrize("edit", ["nan", "missing"])
def test_a_run_without_finite_log_likelihoods_is_refused(edit: str, tmp_path: Path) -> None:
    run = carry_out(states_plan())
    if edit == "nan":
        run.posterior["log_likelihood"][1, 3] = np.inf
    else:
        run["posterior"] = run["posterior"].to_dataset().drop_vars("log_likelihood")
    words = {"nan": "not finite", "missing": "no variable 'log_likelihood'"}[edit]
    with pytest.raises(DataError, match=words):
        luce.save(run, tmp_path / "run.nc")


def test_functions_of_posteriors_name_the_function_to_use_instead(tmp_path: Path) -> None:
    run = carry_out(states_plan())
    luce.save(run, tmp_path / "run.nc")
    for ask in (
        lambda: luce.summary(run),
        lambda: luce.answers.DrawsView.of(run),
        lambda: luce.posterior_of(run),
    ):
        with pytest.raises(DataError, match=r"luce\.sequences\.summary\(run\) summarises it"):
            ask()
