"""Runs that go to a disk: the same draws, whatever happens on the way."""

import os
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr
import zarr
from lib.streaming_runs import (
    CASES,
    DRAWS,
    BrokenOff,
    broken_off,
    draw,
    league,
    nested,
    same_numbers,
)

import luce
from luce import LuceError, Posterior
from luce.errors import DataError
from luce.runs import journal

pytestmark = [
    pytest.mark.filterwarnings("ignore::luce.ConvergenceWarning"),
    pytest.mark.usefixtures("small_blocks"),
]


OFTEN = ["exact", "hidden-counts", "keep", "concentration", "process"]


@pytest.mark.parametrize(
    "name", [*OFTEN, *(pytest.param(k, marks=pytest.mark.slow) for k in CASES if k not in OFTEN)]
)
def test_draws_on_a_disk_are_those_in_memory(name: str, tmp_path: Path) -> None:
    memory = draw(name)
    disk = draw(name, to=tmp_path / "run.zarr")
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
    draw("waiting-times", to=tmp_path / "run.zarr")
    values = memory.posterior["probabilities"].values
    plain = zarr.open_group(tmp_path / "run.zarr", mode="r")
    np.testing.assert_array_equal(plain["posterior/probabilities"][:], values)
    with xr.open_datatree(tmp_path / "run.zarr", engine="zarr") as tree:
        np.testing.assert_array_equal(tree["posterior/probabilities"].values, values)


def test_moments_and_quantiles_of_all_categories(tmp_path: Path) -> None:
    values = draw("keep", keep=None).posterior["probabilities"].values
    run = draw("keep", to=tmp_path / "run.zarr", quantiles=[0.9, 0.1, 0.5])
    running = run["running"]
    assert running["category"].values.tolist() == list(league().categories)
    np.testing.assert_allclose(running["mean"].values, values.mean(axis=1), rtol=1e-12)
    np.testing.assert_allclose(running["sd"].values, values.std(axis=1, ddof=1), rtol=1e-9)
    assert running["quantile"].values.tolist() == [0.1, 0.5, 0.9]
    for k, fraction in enumerate([0.1, 0.5, 0.9]):
        below = (values < running["quantiles"].values[:, k, None, :]).mean(axis=1)
        # P² is as good as the sample's own quantile; both err by sqrt(q (1 - q) / ESS).
        assert np.abs(below - fraction).max() < 0.06
    with pytest.raises(DataError, match="between 0 and 1"):
        draw("keep", to=tmp_path / "other.zarr", quantiles=[1.5])
    with pytest.raises(LuceError, match="goes to a disk"):
        draw("keep", quantiles=[0.5])


def test_quantiles_of_few_draws_are_the_samples_own(tmp_path: Path) -> None:
    posterior = Posterior(nested())
    options: dict[str, Any] = {"chains": 2, "seed": 1, "progress": False}
    run = posterior.sample(5, to=tmp_path / "run.zarr", quantiles=[0.2, 0.7], **options)
    values = posterior.sample(5, **options).posterior["probabilities"].values
    expected = np.quantile(values, [0.2, 0.7], axis=1).swapaxes(0, 1)
    np.testing.assert_allclose(run["running"]["quantiles"].values, expected, rtol=1e-12)


STOPS = (1, 2, 3, 5, 8, 13, 21, 34, 55)  # files written before a run stops

# -- broken off -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "places"),
    [
        ("metropolis", STOPS[1::3]),
        ("keep", STOPS[2::3]),
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
            draw(name, to=folder, threads=1 + k % 2)
        except BrokenOff:
            stops += 1
        breaking(10**9)
        if folder.exists():
            assert same_numbers(luce.resume(folder, progress=False), memory)
            assert same_numbers(luce.load(folder), memory)
    assert stops >= len(places) * 2 / 3


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
                draw("hamiltonian", to=folder)
            break
        except BrokenOff:
            stops += 1
    assert stops > 10
    assert same_numbers(luce.load(folder), memory)


def a_block(folder: Path) -> Path:
    blocks = (folder / "posterior" / "probabilities" / "c").rglob("0")
    files = sorted(file for file in blocks if file.is_file())
    return files[len(files) // 3]


@pytest.mark.parametrize("harm", [pytest.param("torn", marks=pytest.mark.slow), "changed", "gone"])
def test_a_damaged_block_is_found_and_made_again(harm: str, tmp_path: Path, breaking: Any) -> None:
    memory, folder = draw("waiting-times"), tmp_path / "run.zarr"
    broken_off(folder, breaking)
    victim = a_block(folder)
    content = bytearray(victim.read_bytes())
    if harm == "torn":
        victim.write_bytes(content[: len(content) // 2])
    elif harm == "changed":
        content[11] ^= 1
        victim.write_bytes(content)
    else:
        victim.unlink()
    assert same_numbers(luce.resume(folder, progress=False), memory)


def test_without_the_check_a_torn_block_would_stay(
    tmp_path: Path, breaking: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The control of the test above: it is the digests that find the damage."""
    memory, folder = draw("waiting-times"), tmp_path / "run.zarr"
    broken_off(folder, breaking)
    victim = a_block(folder)
    content = bytearray(victim.read_bytes())
    content[11] ^= 1
    victim.write_bytes(content)
    monkeypatch.setattr(journal.Journal, "_fits", lambda *_: True)
    assert not same_numbers(luce.resume(folder, progress=False), memory)
    with pytest.raises(DataError, match="changed or damaged"):
        luce.load(folder)


def test_a_damaged_place_gives_way_to_the_one_before(tmp_path: Path, breaking: Any) -> None:
    memory, folder = draw("waiting-times"), tmp_path / "run.zarr"
    broken_off(folder, breaking)
    for chain in (folder / "journal").glob("[0-9]*"):
        last = max(chain.glob("*.npz"))
        last.write_bytes(last.read_bytes()[:100])
    assert same_numbers(luce.resume(folder, progress=False), memory)


@pytest.mark.slow
def test_without_any_place_it_starts_anew(tmp_path: Path, breaking: Any) -> None:
    memory, folder = draw("waiting-times"), tmp_path / "run.zarr"
    broken_off(folder, breaking)
    for chain in (folder / "journal").glob("[0-9]*"):
        shutil.rmtree(chain)
    assert same_numbers(luce.resume(folder, progress=False), memory)
