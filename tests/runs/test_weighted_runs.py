"""Runs of data with weights are saved, resumed and refused like others."""

from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from lib.bounds import SEED
from lib.weighted_cases import OVERLAPPING, SINGLE, counts_of

import luce
from luce import ConditionalCounts, Posterior
from luce.errors import DataError
from luce.model.contents import model_of

pytestmark = pytest.mark.filterwarnings("ignore::luce.ConvergenceWarning")


@pytest.mark.parametrize("form", ["run.nc", "run.zarr"])
def test_a_saved_run_knows_its_weights(tmp_path: Path, form: str) -> None:
    counts = counts_of(OVERLAPPING)
    run = Posterior(counts).sample(30, chains=2, seed=SEED, progress=False)
    luce.save(run, tmp_path / form)
    found = luce.load(tmp_path / form)
    again = luce.posterior_of(found).counts
    assert again == counts
    assert again.log_constant == counts.log_constant
    np.testing.assert_array_equal(again.sets.weights, counts.sets.weights)
    assert found.attrs["data_digest"] == counts.digest
    same = Posterior(again).sample(30, chains=2, seed=SEED, progress=False)
    np.testing.assert_array_equal(same.posterior.probabilities, run.posterior.probabilities)


def test_a_run_on_disk_goes_on(tmp_path: Path) -> None:
    posterior = Posterior(counts_of(SINGLE))
    whole = posterior.sample(40, chains=2, seed=SEED, progress=False)
    to = tmp_path / "run.zarr"
    streamed = posterior.sample(40, chains=2, seed=SEED, progress=False, to=to)
    np.testing.assert_array_equal(streamed.posterior.probabilities, whole.posterior.probabilities)


def test_data_without_weights_is_stored_as_before() -> None:
    run = Posterior(ConditionalCounts("abc").observe({"a": 1}, within="ab")).sample(
        5, progress=False
    )
    assert "set_weights" not in run["observed_data"]
    assert "log_constant" not in run["observed_data"].attrs


@pytest.mark.parametrize(
    ("weight", "words"), [(-1.0, "positive"), (2.0, "at most 1"), (0.7, "digest|not merged")]
)
def test_changed_weights_are_found(weight: float, words: str) -> None:
    run = Posterior(counts_of(OVERLAPPING)).sample(5, seed=SEED, progress=False)
    weights = run["observed_data"]["set_weights"].to_numpy().copy()
    weights[np.argmin(weights)] = weight
    run["observed_data"]["set_weights"] = xr.DataArray(weights, dims="set_member")
    with pytest.raises(DataError, match=words):
        model_of(run)


def test_a_constant_that_is_no_number_is_refused() -> None:
    run = Posterior(counts_of(OVERLAPPING)).sample(5, seed=SEED, progress=False)
    run["observed_data"].attrs["log_constant"] = "much"
    with pytest.raises(DataError, match="log_constant"):
        model_of(run)
