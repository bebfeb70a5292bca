"""Running moments and quantiles: those of all draws, whatever is stored of them."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from lib.size import draws
from lib.streaming_runs import draw, league, nested

from luce import Posterior
from luce.errors import DataError, MethodError
from luce.kernels.running_moments import add_moments, add_quantiles
from luce.runs.moments import Running, summarised
from luce.sampling.settings import Settings

pytestmark = pytest.mark.filterwarnings("ignore::luce.ConvergenceWarning")
NO_LOGS = np.empty((0, 0))


@pytest.mark.parametrize("name", ["exact", "metropolis", "keep", "concentration"])
def test_moments_of_all_entries_of_all_parameters(name: str, tmp_path: Path) -> None:
    every = draw(name, keep=None).posterior
    running = draw(name, tmp_path / "run.zarr")["running"]
    parameters = ["probabilities", *(["concentration"] if name == "concentration" else [])]
    assert {key.removesuffix("_mean") for key in running.data_vars if key.endswith("_mean")} == {
        *parameters
    }
    for parameter in parameters:
        values = every[parameter].values
        mean, sd = running[f"{parameter}_mean"], running[f"{parameter}_sd"]
        assert mean.dims == ("chain", *every[parameter].dims[2:])
        np.testing.assert_allclose(mean.values, values.mean(axis=1), rtol=1e-12)
        np.testing.assert_allclose(sd.values, values.std(axis=1, ddof=1), rtol=1e-8, atol=1e-15)
    # The control: moments of half of the draws are others.
    assert not np.allclose(mean.values, values[:, ::2].mean(axis=1), rtol=1e-12)


def test_moments_and_quantiles_of_all_categories(tmp_path: Path) -> None:
    how = {"draws": draws(437, 150)}
    values = draw("keep", keep=None, **how).posterior["probabilities"].values
    run = draw("keep", tmp_path / "run.zarr", quantiles=[0.9, 0.1, 0.5], **how)
    running = run["running"]
    assert running["category"].values.tolist() == list(league().categories)
    np.testing.assert_allclose(
        running["probabilities_mean"].values, values.mean(axis=1), rtol=1e-12
    )
    np.testing.assert_allclose(
        running["probabilities_sd"].values, values.std(axis=1, ddof=1), rtol=1e-9
    )
    assert running["quantile"].values.tolist() == [0.1, 0.5, 0.9]
    for k, fraction in enumerate([0.1, 0.5, 0.9]):
        below = (values < running["probabilities_quantiles"].values[:, k, None, :]).mean(axis=1)
        # P² is as good as the sample's own quantile; both err by sqrt(q (1 - q) / ESS).
        assert np.abs(below - fraction).max() < 0.06
    with pytest.raises(DataError, match="between 0 and 1"):
        draw("keep", tmp_path / "other.zarr", quantiles=[1.5])
    with pytest.raises(MethodError, match="goes to a disk"):
        draw("keep", quantiles=[0.5])


def test_quantiles_of_few_draws_are_the_samples_own(tmp_path: Path) -> None:
    posterior = Posterior(nested())
    options: dict[str, Any] = {"chains": 2, "seed": 1, "progress": False}
    run = posterior.sample(5, to=tmp_path / "run.zarr", quantiles=[0.7, 0.2], **options)
    values = posterior.sample(5, **options).posterior["probabilities"].values
    expected = np.quantile(values, [0.2, 0.7], axis=1).swapaxes(0, 1)
    np.testing.assert_allclose(
        run["running"]["probabilities_quantiles"].values, expected, rtol=1e-12
    )
    assert run["running"]["quantile"].values.tolist() == [0.2, 0.7]


def test_one_draw_has_no_spread() -> None:
    running = Running.new(2, None)
    running.take(np.array([[0.3, 0.7]]), NO_LOGS)
    found = summarised([running], None, False)
    assert found["mean"].tolist() == [[0.3, 0.7]]
    assert found["sd"].tolist() == [[0.0, 0.0]]
    assert "quantiles" not in found


def test_chains_of_different_lengths_have_moments_of_their_own() -> None:
    values = np.random.default_rng(1).gamma(2.0, size=(40, 3))
    parts = [followed(values, [0.5]), followed(values[:12], [0.5]), followed(values[:4], [0.5])]
    found = summarised(parts, [0.5], False)
    for k, part in enumerate((values, values[:12], values[:4])):
        np.testing.assert_allclose(found["mean"][k], part.mean(axis=0), rtol=1e-13)
        np.testing.assert_allclose(found["sd"][k], part.std(axis=0, ddof=1), rtol=1e-12)
    np.testing.assert_allclose(found["quantiles"][2, 0], np.median(values[:4], axis=0))


def test_moments_taken_in_piece_by_piece() -> None:
    values = np.random.default_rng(1).gamma(2.0, size=(40, 3))
    mean, spread = np.zeros(3), np.zeros(3)
    add_moments(values[:7], 0, mean, spread)
    add_moments(values[7:], 7, mean, spread)
    np.testing.assert_allclose(mean, values.mean(axis=0), rtol=1e-13)
    np.testing.assert_allclose(spread / 39, values.var(axis=0, ddof=1), rtol=1e-12)


@pytest.mark.parametrize(("order", "off"), [("random", 0.03), ("upwards", 0.1), ("downwards", 0.1)])
def test_followed_quantiles_lie_where_they_should(order: str, off: float) -> None:
    """Sorted draws are the worst there is for markers that only ever move a step."""
    values = np.random.default_rng(2).normal(size=(400, 2))
    if order != "random":
        values = np.sort(values, axis=0)[:: -1 if order == "downwards" else 1]
    wanted = np.array([0.1, 0.5, 0.8])
    running = followed(values, wanted)
    found = summarised([running], wanted, False)["quantiles"][0]
    below = (values[:, None, :] < found).mean(axis=0)
    assert np.abs(below - wanted[:, None]).max() < off
    assert (np.diff(running.heights, axis=1) >= 0).all()
    assert (running.places[:, -1] == 399).all()
    assert (running.heights[:, 0] == values.min(axis=0)).all()
    assert (running.heights[:, -1] == values.max(axis=0)).all()


def test_moments_go_on_from_their_arrays() -> None:
    values = np.random.default_rng(2).normal(size=(60, 2))
    whole, first, second = (Running.new(2, [0.2, 0.6]) for _ in range(3))
    whole.take(values[:30], NO_LOGS)
    first.take(values[:30], NO_LOGS)
    second.restore(first.arrays())
    for running in (whole, second):
        running.take(values[30:], NO_LOGS)
    for name, array in whole.arrays().items():
        np.testing.assert_array_equal(second.arrays()[name], array)


def test_followed_quantiles_of_equal_draws_stay_between_them() -> None:
    """Parabolas between equal draws give way to straight lines."""
    values = np.random.default_rng(2).choice([0.0, 1.0], (400, 1), p=[0.4, 0.6])
    wanted = np.array([0.1, 0.8])
    ((low,), (high,)) = summarised([followed(values, wanted)], wanted, False)["quantiles"][0]
    assert 0.0 <= low < 0.05
    assert 0.95 < high <= 1.0


def followed(values: np.ndarray, wanted: Any) -> Running:
    running = Running.new(values.shape[1], wanted)
    for block in np.split(np.ascontiguousarray(values), 4):
        running.take(block, NO_LOGS)
    return running


def test_markers_begin_as_the_sorted_draws() -> None:
    three = np.array([[3.0], [1.0], [2.0]])
    heights, places = np.zeros((1, 5)), np.zeros((1, 5), np.int32)
    add_quantiles(three, 0, np.linspace(0, 1, 5), heights, places)
    assert heights[0, :3].tolist() == [1.0, 2.0, 3.0]
    assert places[0, :3].tolist() == [0, 1, 2]


def test_quantiles_by_logarithms_are_of_probabilities() -> None:
    logs = np.log(np.random.default_rng(3).beta(1, 3, size=(300, 1)))
    running = Running.new(1, [0.5])
    running.take(np.exp(logs), logs)
    (((found,),),) = summarised([running], [0.5], True)["quantiles"]
    assert abs(np.mean(np.exp(logs) < found) - 0.5) < 0.05


@pytest.mark.parametrize("wrong", [[0.0], [1.2], [], [[0.5]], ["a"], 0.5])
def test_quantiles_are_fractions(wrong: Any) -> None:
    with pytest.raises(DataError, match="numbers between 0 and 1 are needed"):
        Settings(quantiles=wrong)
