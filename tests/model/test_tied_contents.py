"""Runs of rankings with ties hold their data and their priors, and damaged ones are refused."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr
from lib.bounds import SEED

import luce
from luce import Gamma, Posterior
from luce.errors import DataError
from luce.model.contents import model_of

RANKINGS = {"a = b > c": 5, "c > a = b": 2, "b > a > c": 4, "a > b = c": 6, "a = b = c > d": 1}


def run_of(ties: str) -> tuple[Posterior, xr.DataTree]:
    counts = luce.from_rankings(RANKINGS, ties=ties, unranked="absent")
    prior = {"tie": {"tie2": Gamma(2.0, 3.0), "tie3": 0.5}} if ties == "davidson-luce" else {}
    posterior = Posterior(counts, 1.5, **prior)
    return posterior, posterior.sample(400, chains=4, seed=SEED + 1, progress=False)


@pytest.mark.compiled
@pytest.mark.parametrize("ties", ["unknown", "davidson-luce"])
@pytest.mark.parametrize("name", ["run.nc", "run.zarr"])
def test_a_saved_run_gives_its_model_back(tmp_path: Path, ties: str, name: str) -> None:
    posterior, run = run_of(ties)
    luce.save(run, tmp_path / name)
    model = model_of(luce.load(tmp_path / name))
    assert model.counts == posterior.counts
    assert model.counts.digest == posterior.counts.digest
    assert model.parameter_priors == posterior.model.parameter_priors


@pytest.mark.compiled
@pytest.mark.parametrize("method", ["waiting-times", "hamiltonian"])
def test_a_streamed_run_has_the_same_draws(tmp_path: Path, method: str) -> None:
    """The times of blocks are part of the state that is stored between blocks of draws."""
    counts = luce.from_rankings(RANKINGS, ties="unknown", unranked="absent")
    options: dict[str, Any] = {"chains": 4, "seed": SEED + 2, "method": method, "progress": False}
    whole = Posterior(counts).sample(600, **options)
    streamed = Posterior(counts).sample(600, to=tmp_path / "run.zarr", **options)
    np.testing.assert_array_equal(
        whole.posterior["probabilities"].values, streamed.posterior["probabilities"].values
    )


def changed(run: xr.DataTree, name: str, values: Any) -> xr.DataTree:
    """The run with other values of one variable of its data."""
    damaged = run.copy()
    data = damaged["observed_data"].to_dataset()
    data[name] = (data[name].dims, values)
    damaged["observed_data"] = xr.DataTree(data)
    return damaged


@pytest.mark.compiled
def test_damaged_data_is_refused() -> None:
    _, run = run_of("davidson-luce")
    data = run["observed_data"]
    members, times = data["placing_members"].values, data["placing_times"].values
    start = data["placing_start"].values
    for name, values, message in (
        ("placing_members", np.where(np.arange(len(members)) == 0, 9, members), "must lie in 0..3"),
        ("placing_members", np.zeros_like(members), "names a category twice"),
        ("placing_times", -times, "must be positive and finite"),
        ("placing_start", start[::-1].copy(), "must grow from 0"),
    ):
        with pytest.raises(DataError, match=message):
            model_of(changed(run, name, values))
    short = run.copy()
    short["observed_data"].attrs["largest_tie"] = 2
    with pytest.raises(DataError, match="largest_tie is 2"):
        model_of(short)
