"""Runs of semi-Markov models: stored, streamed, killed and gone on with as all others are."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr
from lib.killed_runs import draw_and_die
from lib.semi_markov_runs import CASES, KEPT, LENGTH, fitted, same_run, semi_markov_plan, steps

import luce
from luce.errors import DataError
from luce.sampling.convergence import Verdict, warn
from luce.sequences import SemiMarkov, SemiMarkovState
from luce.sequences.doubts import Doubts
from luce.sequences.semi_markov_runs import annealed, semi_markov_of, with_doubts

pytestmark = pytest.mark.filterwarnings("ignore::luce.ConvergenceWarning")


@pytest.fixture(scope="module")
def runs() -> dict[str, Any]:
    return {name: fitted(name) for name in CASES}


@pytest.mark.parametrize("name", CASES)
def test_a_run_has_its_groups_labels_and_sizes(name: str, runs: dict[str, Any]) -> None:
    run, (model, given) = runs[name], CASES[name]
    assert dict(run.posterior.sizes) == {"chain": 2, "draw": LENGTH}
    states = run["states"]["states"]
    assert states.dims == ("chain", "draw", "time")
    assert states.dtype == np.int16
    assert states.sizes["draw"] == KEPT
    assert states["draw"].values.tolist() == list(range(2, LENGTH, 3))
    first, second = map(len, given)
    assert states["sequence"].values.tolist() == [0] * first + [1] * second
    assert run["states"]["state"].values.tolist() == list(model.states)
    rows = run["states"]["rows"].values
    np.testing.assert_allclose(rows.sum(axis=-1), 1.0, rtol=1e-12)
    assert (rows[..., model.transitions.forbidden] == 0.0).all()
    assert ((states.values >= 0) & (states.values < model.n_states)).all()
    if name == "categories":
        moved = states.values[..., 1:][states.values[..., :-1] == 0]
        within = states["sequence"].values
        inside = np.broadcast_to(within[1:] == within[:-1], states.values[..., 1:].shape)
        assert (moved[inside[states.values[..., :-1] == 0]] != 1).all()


@pytest.mark.parametrize("name", CASES)
def test_the_log_likelihood_of_a_draw_is_that_of_its_state(name: str, runs: dict[str, Any]) -> None:
    run, (model, given) = runs[name], CASES[name]
    kept = run["states"].isel(chain=1, draw=4)
    plan = semi_markov_plan(name)
    held = plan.model.emission.dims(plan.series)
    values = {str(key): np.asarray(own.values, np.float64) for key, own in kept.data_vars.items()}
    own = model.duration.dims(plan.longest)
    stored = {key: f"duration_{key}" if key in held else key for key in own}
    none = np.empty(0, np.int64)
    state = SemiMarkovState(
        none,
        none,
        {key: values[key] for key in held},
        {key: values[stored[key]] for key in own},
        values["initial"],
        values["rows"],
        values["log_base"],
        1.0,
        1.0,
    )
    expected = float(run.posterior["log_likelihood"].isel(chain=1).sel(draw=kept["draw"]))
    assert model.log_likelihood(given, state) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("suffix", [".nc", ".zarr"])
@pytest.mark.parametrize("name", CASES)
def test_runs_come_back_from_files(
    name: str, suffix: str, runs: dict[str, Any], tmp_path: Path
) -> None:
    path = tmp_path / f"run{suffix}"
    luce.save(runs[name], path)
    loaded = luce.load(path)
    xr.testing.assert_identical(loaded, runs[name])
    model, series, may_end = semi_markov_of(loaded)
    plan = semi_markov_plan(name)
    assert repr(model) == repr(plan.model)
    assert model.to_json() == plan.model.to_json()
    assert series.digest == plan.series.digest
    assert len(may_end) == 0


@pytest.mark.parametrize("name", ["gaussian", "gaps", "categories"])
def test_draws_do_not_depend_on_threads_or_on_where_they_go(
    name: str, runs: dict[str, Any], tmp_path: Path
) -> None:
    assert same_run(fitted(name, threads=1), runs[name])
    folder = tmp_path / "run.zarr"
    disk = fitted(name, folder)
    for run in (disk, luce.load(folder), luce.resume(folder)):
        assert same_run(run, runs[name])
    assert not same_run(fitted(name, seed=4), runs[name])


@pytest.mark.parametrize("files", [3, 40])
def test_a_killed_run_goes_on_bit_for_bit(files: int, runs: dict[str, Any], tmp_path: Path) -> None:
    folder = tmp_path / "run.zarr"
    draw_and_die(
        "semi_markov_runs.fitted('gaussian', folder, threads=1)", "semi_markov_runs", folder, files
    )
    assert same_run(luce.resume(folder, progress=False), runs["gaussian"])


@pytest.mark.cluster
def test_a_cluster_draws_the_same(runs: dict[str, Any], client: Any) -> None:
    assert same_run(fitted("gaussian", cluster=client), runs["gaussian"])


def test_observations_count_little_at_first() -> None:
    powers = [annealed(k, 100) for k in range(100)]
    assert powers[0] == pytest.approx(0.1)
    assert powers == sorted(powers)
    assert powers[70:] == [1.0] * 30
    assert max(powers[:70]) < 1.0


def test_candidates_are_kept_with_the_run_and_no_segment_ends_elsewhere() -> None:
    model, series = CASES["gaussian"]
    given = [[9, 15, 21], [7, 10]]
    how: dict[str, Any] = {"chains": 2, "seed": 1, "progress": False}
    run = model.fit(series, 20, candidates=given, **how)
    states = run["states"]["states"].values
    changes = np.flatnonzero((states[..., 1:] != states[..., :-1]).any(axis=(0, 1))) + 1
    assert set(changes.tolist()) <= {9, 15, 21, 28, 35, 38}
    assert semi_markov_of(run)[2].sum() == 5 + 2
    with pytest.raises(DataError, match="no segment can cover these 19 rows"):
        SemiMarkov(4, longest=10).fit(steps(), 5, candidates=[[9], []], **how)


@pytest.mark.parametrize("kind", ["good", "bad"])
def test_limits_are_warned_of_whatever_the_draws_are_worth(kind: Any) -> None:
    problem = "do not trust these draws yet: few." if kind == "bad" else None
    trust = Verdict(kind, problem)
    limits = ("All 5 states are used.", "Segments reach longest.")
    found = with_doubts(trust, Doubts(cares=("Other.", *limits), limits=limits))
    with pytest.warns(luce.ConvergenceWarning) as seen:
        warn(found)
    assert all(words in str(seen[0].message) for words in limits)
    assert with_doubts(trust, Doubts()) == trust
    disagree = Doubts(problems=("The chains disagree.",), cares=limits, limits=limits)
    with pytest.warns(luce.ConvergenceWarning) as seen:
        warn(with_doubts(trust, disagree))
    for words in (*limits, "The chains disagree."):
        assert str(seen[0].message).count(words) == 1


def test_a_run_that_needs_more_states_or_longer_segments_says_so() -> None:
    model, series = SemiMarkov(2, longest=10), steps()
    with pytest.warns(luce.ConvergenceWarning) as seen:
        model.fit(series, 40, chains=2, seed=1, progress=False)
    said = str(seen[0].message)
    assert "n_states" in said
    assert "longest" in said
