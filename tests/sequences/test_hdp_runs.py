"""Runs of transitions: saved, loaded, streamed and gone on with as runs of posteriors are."""

import io
import json
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr
from lib.killed_runs import draw_and_die
from lib.streaming_runs import BrokenOff, a_block, flip_a_bit, same_numbers
from lib.transition_runs import LENGTH, MODELS, SEQUENCES, fitted, transitions_plan

import luce
from luce.errors import DataError
from luce.runs.contents import check_run
from luce.runs.journal import context_of, read_place, read_plan
from luce.runs.seal import plan_file, sealed
from luce.sequences import HDPTransitions
from luce.sequences.hdp_runs import transitions_of

pytestmark = pytest.mark.filterwarnings("ignore::luce.ConvergenceWarning")


@pytest.mark.parametrize("suffix", [".nc", ".zarr"])
@pytest.mark.parametrize("name", MODELS)
def test_runs_come_back_from_files(name: str, suffix: str, tmp_path: Path) -> None:
    run, path = fitted(name), tmp_path / f"run{suffix}"
    luce.save(run, path)
    loaded = luce.load(path)
    xr.testing.assert_identical(loaded, run)
    model, data = transitions_of(loaded)
    assert repr(model) == repr(MODELS[name])
    assert data.digest == transitions_plan(name).data.digest
    if suffix == ".zarr":
        assert same_numbers(luce.runs.open_run(path), run)


@pytest.mark.parametrize("name", MODELS)
def test_draws_on_a_disk_are_those_in_memory(name: str, tmp_path: Path) -> None:
    folder, memory = tmp_path / "run.zarr", fitted(name)
    disk = fitted(name, folder, quantiles=[0.5])
    for run in (disk, luce.load(folder), luce.runs.open_run(folder), luce.resume(folder)):
        assert same_numbers(run, memory)
    for group in ("observed_data", "constant_data"):
        assert disk[group].to_dataset().identical(memory[group].to_dataset())
    parameters = [parameter.name for parameter in transitions_plan(name).parameters]
    assert "rows" in parameters
    for parameter in parameters:
        values, running = memory.posterior[parameter].values, disk["running"]
        mean, sd = running[f"{parameter}_mean"].values, running[f"{parameter}_sd"].values
        np.testing.assert_allclose(mean, values.mean(axis=1), rtol=1e-11, atol=1e-300)
        np.testing.assert_allclose(sd, values.std(axis=1, ddof=1), rtol=1e-7, atol=1e-12)
        assert f"{parameter}_quantiles" in running


def test_models_are_fitted_to_a_disk_by_the_same_plan(tmp_path: Path) -> None:
    model = HDPTransitions(["a", "b", "c"], luce.Gamma(2, 1), 3.0)
    how: dict[str, Any] = {"draws": 25, "chains": 2, "seed": 3, "progress": False, "rows": False}
    memory = model.fit(SEQUENCES, **how)
    assert same_numbers(model.fit(SEQUENCES, to=tmp_path / "run.zarr", **how), memory)
    assert "rows" not in memory.posterior


@pytest.mark.parametrize(("name", "k"), [("weak limit", 4), ("nonparametric", 20)])
def test_wherever_it_stops_it_goes_on_bit_for_bit(
    name: str, k: int, tmp_path: Path, breaking: Any
) -> None:
    folder, memory = tmp_path / "run.zarr", fitted(name)
    breaking(k)
    with pytest.raises(BrokenOff):
        fitted(name, folder)
    breaking(10**9)
    with pytest.raises(DataError, match="is not complete"):
        luce.load(folder)
    assert same_numbers(luce.resume(folder, progress=False), memory)
    assert same_numbers(luce.load(folder), memory)


def test_a_run_that_was_killed_goes_on_bit_for_bit(tmp_path: Path) -> None:
    folder = tmp_path / "run.zarr"
    draw_and_die("transition_runs.fitted('nonparametric', folder)", "transition_runs", folder, 20)
    assert list((folder / "journal").glob("*/*"))  # it goes on from there
    memory = fitted("nonparametric")
    run = luce.resume(folder, progress=False)
    assert same_numbers(run, memory)
    kept = ("model", "method", "prior", "self_loops", "data_digest", "seed")
    assert {k: run.attrs[k] for k in kept} == {k: memory.attrs[k] for k in kept}


def test_a_snapshot_is_all_that_a_chain_goes_on_from(tmp_path: Path) -> None:
    """The control of the tests above: with other bits other draws follow."""
    folder = tmp_path / "run.zarr"
    draw_and_die("transition_runs.fitted('weak limit', folder)", "transition_runs", folder, 20)
    for place in (folder / "journal").glob("*/*"):
        arrays, content = read_place(place, context_of(folder, place)), io.BytesIO()
        assert arrays is not None
        np.savez(content, **{**arrays, "chain.bits": arrays["chain.bits"][::-1]})
        place.write_bytes(sealed(content.getvalue(), context_of(folder, place)))
    assert not same_numbers(luce.resume(folder, progress=False), fitted("weak limit"))


@pytest.mark.parametrize("suffix", [".nc", ".zarr"])
def test_a_changed_byte_is_found(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"run{suffix}"
    luce.save(fitted("weak limit"), path)
    luce.load(path)
    flip_a_bit(path if suffix == ".nc" else a_block(path, "rows"))
    with pytest.raises(DataError, match="changed or damaged"):
        luce.load(path)


def test_draws_that_cannot_be_right_are_refused() -> None:
    run = fitted("weak limit")

    def refused(words: str, **variables: Any) -> None:
        changed = run.copy()
        changed["posterior"] = run.posterior.to_dataset().assign(variables)
        with pytest.raises(DataError, match=words):
            check_run(changed)

    posterior = run.posterior
    with xr.set_options(keep_attrs=True):
        refused("rows holds draws that do not add up to 1", rows=posterior["rows"] * 0.9)
        refused("base holds numbers that are not between", base=-posterior["base"])
        refused("concentration holds numbers", concentration=-posterior["concentration"])
        refused("log_base holds numbers", log_base=-posterior["log_base"])
    changed = run.copy()
    changed["posterior"] = posterior.to_dataset().drop_vars("base")
    with pytest.raises(DataError, match="no variable 'base'"):
        check_run(changed)
    check_run(run)


def test_data_that_was_changed_is_not_gone_on_with(tmp_path: Path, breaking: Any) -> None:
    folder = tmp_path / "run.zarr"
    breaking(4)
    with pytest.raises(BrokenOff):
        fitted("weak limit", folder)
    breaking(10**9)
    counts = folder / "observed_data" / "transition_counts" / "c" / "0" / "0"
    flip_a_bit(counts)
    with pytest.raises(DataError, match="changed or damaged"):
        luce.resume(folder, progress=False)
    plan = read_plan(folder)  # now as if that data had been there from the beginning
    plan["files"][counts.relative_to(folder).as_posix()] = sha256(counts.read_bytes()).hexdigest()
    plan_file(folder).write_bytes(sealed(json.dumps(plan).encode()))
    with pytest.raises(DataError, match="not the data that this run was drawn from"):
        luce.resume(folder, progress=False)


def test_a_run_of_transitions_is_no_posterior_of_counts() -> None:
    with pytest.raises(DataError, match="model 'transitions'"):
        luce.posterior_of(fitted("weak limit"))
    counts = luce.ConditionalCounts("ab").observe({"a": 2})
    with pytest.raises(DataError, match="not transitions"):
        transitions_of(luce.Posterior(counts).sample(5, progress=False))


def test_a_run_has_the_length_that_was_asked_for() -> None:
    assert fitted("weak limit").posterior.sizes["draw"] == LENGTH
