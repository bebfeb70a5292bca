"""The semi-Markov model as a user meets it: its arguments, steps, simulation and refusals."""

from dataclasses import fields
from typing import Any

import numpy as np
import pytest
from lib.bounds import FALSE_ALARM, SEED, z_limit
from lib.semi_markov_runs import CASES, steps
from lib.size import draws

import luce
from luce.errors import DataError, LuceError, MethodError
from luce.sequences import (
    Autoregressive,
    Categories,
    Counts,
    Custom,
    Gaussian,
    Geometric,
    Histogram,
    NegativeBinomial,
    Poisson,
    SemiMarkov,
)

QUIET: dict[str, Any] = {"chains": 2, "warmup": 4, "seed": 1, "progress": False}
quiet = pytest.mark.filterwarnings("ignore::luce.ConvergenceWarning")


# -- refusals --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"n_states": "nonparametric"}, "weak limit"),
        ({"n_states": 1}, "nothing is to be segmented"),
        ({"n_states": 40_000}, "2 to 32,000"),
        ({"emission": "gaussian"}, "luce.sequences.Gaussian"),
        ({"duration": 30}, "duration=Poisson"),
        ({"start": "censored"}, "'own', 'base' or 'uniform'"),
        ({"end": "open"}, "'censored' or 'complete'"),
        ({"forbidden": [(0, 1), (0, 2)]}, "nothing is allowed"),
        ({"concentration": -1.0}, "concentration"),
        ({"duration": Histogram([1.0, 2.0]), "longest": 5}, "2 lengths"),
    ],
)
def test_a_model_that_cannot_be_is_refused_in_words(arguments: dict[str, Any], words: str) -> None:
    with pytest.raises(LuceError, match=words):
        SemiMarkov(**{"n_states": 3, **arguments})


@pytest.mark.parametrize("longest", [0, 2.5, "9"])
def test_longest_is_a_whole_number(longest: Any) -> None:
    with pytest.raises(MethodError, match="longest"):
        SemiMarkov(3, longest=longest)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Poisson(mean=1.0), "one row at least"),
        (lambda: Poisson(mean=float("inf")), "finite"),
        (lambda: Poisson(shape=0.0), "above 0"),
        (lambda: NegativeBinomial(shape=1.0), "above 1"),
        (lambda: NegativeBinomial(r="any"), "'whole', 'real'"),
        (lambda: NegativeBinomial(r=0), "at least 1"),
        (lambda: Histogram([0.0, 0.0]), "not all 0"),
        (lambda: Histogram([[1.0]]), "one for each"),
        (lambda: Histogram("abc"), "one for each"),
    ],
)
def test_durations_that_cannot_be_are_refused_in_words(make: Any, words: str) -> None:
    with pytest.raises(LuceError, match=words):
        make()


RNG = np.random.default_rng(SEED)
NOISE = RNG.normal(size=60)


@pytest.mark.parametrize(
    ("series", "words"),
    [
        (NOISE[:1], "row"),
        (np.zeros(50), "in all rows, which tells nothing about states"),
        (np.r_[NOISE, np.inf], "finite|infinite"),
        (["a", "b", "c", "d"], "number"),
        ([NOISE[:20, None], np.c_[NOISE, NOISE]], "channel"),
        (np.full(40, np.nan), "missing"),
        ([], "empty|no row|nothing"),
    ],
)
def test_a_series_that_cannot_be_segmented_is_refused_in_words(series: Any, words: str) -> None:
    with pytest.raises(LuceError, match=words):
        SemiMarkov(3).fit(series, 5, **QUIET)


def test_longest_above_the_longest_sequence_is_refused() -> None:
    with pytest.raises(DataError, match="the longest sequence has 60 rows; give at most 60"):
        SemiMarkov(3, longest=61).fit(NOISE, 5, **QUIET)


def test_missing_values_of_an_autoregression_are_refused() -> None:
    with pytest.raises(DataError, match="missing"):
        SemiMarkov(3, Autoregressive()).fit(np.r_[NOISE, np.nan], 5, **QUIET)


def test_times_that_do_not_increase_are_refused() -> None:
    import pandas as pd

    frame = pd.DataFrame({"time": [0, 1, 1, 2], "x": NOISE[:4]})
    with pytest.raises(LuceError, match="time"):
        SemiMarkov(3).fit(frame, 5, **QUIET)


@pytest.mark.parametrize(
    ("more", "words"),
    [({"keep_states": 6}, "at most as many"), ({"split_merge": -1}, "split_merge")],
)
def test_settings_of_a_fit_are_checked(more: dict[str, Any], words: str) -> None:
    with pytest.raises(MethodError, match=words):
        SemiMarkov(3).fit(NOISE, 5, **QUIET, **more)


def test_states_of_other_models_and_series_are_refused() -> None:
    model, rng = SemiMarkov(3), np.random.default_rng(1)
    state = model.initial_state(rng, NOISE)
    with pytest.raises(DataError, match="60 rows, and the series has 50"):
        model.step(rng, NOISE[:50], state)
    with pytest.raises(DataError, match="a state of this model"):
        SemiMarkov(4).log_likelihood(NOISE, state)
    with pytest.raises(DataError, match="'random', 'one' or 'all'"):
        model.initial_state(rng, NOISE, beginning="two")
    with pytest.raises(DataError, match="NumPy Generator"):
        model.step(7, NOISE, state)  # type: ignore[arg-type]


# -- steps -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("beginning", ["random", "one", "all"])
def test_a_step_leaves_its_arguments_alone(name: str, beginning: str) -> None:
    model, given = CASES[name]
    rng = np.random.default_rng(SEED)
    series = model.read(given)
    state = model.initial_state(rng, series, beginning=beginning)
    before = {key: own.copy() for key, own in state.arrays().items()}
    values = series.values.copy()
    again = np.random.default_rng(5)
    one, info = model.step(np.random.default_rng(5), series, state)
    other, _ = model.step(again, series, state)
    for key, own in state.arrays().items():
        np.testing.assert_array_equal(own, before[key])
    np.testing.assert_array_equal(series.values, values)
    for key, own in one.arrays().items():
        np.testing.assert_array_equal(own, other.arrays()[key])
    assert model.log_likelihood(series, one) == pytest.approx(info.log_likelihood, rel=1e-12)
    assert (one.rows[model.transitions.forbidden] == 0.0).all()
    assert info.states_used == len(np.unique(one.labels))


def test_a_state_has_the_fields_that_are_documented() -> None:
    model = SemiMarkov(3)
    state = model.initial_state(np.random.default_rng(1), NOISE)
    assert [field.name for field in fields(state)] == [
        "labels",
        "last_lengths",
        "emission",
        "duration",
        "initial",
        "rows",
        "log_base",
        "concentration",
        "base_concentration",
    ]
    assert {key: own.shape for key, own in state.emission.items()} == {
        "mean": (3, 1),
        "covariance": (3, 1, 1),
    }
    assert state.duration["rate"].shape == (3,)
    assert state.base.sum() == pytest.approx(1.0)


# -- simulation ------------------------------------------------------------------------------------


def test_simulated_durations_have_their_mean_and_others_are_rejected() -> None:
    rng, n = np.random.default_rng(SEED), draws(400, 40)
    model = SemiMarkov(4, Counts(mean=3.0), Poisson(mean=6.0, shape=1e6), 3.0, 3.0)
    lengths = []
    for _ in range(n):
        labels = model.simulate(rng, 60).state.labels
        ends = np.flatnonzero(np.diff(labels)) + 1
        lengths += [np.diff(np.r_[0, ends])[:4].mean()]  # the last, cut one is left out
    z = (np.mean(lengths) - 6.0) / (np.std(lengths) / np.sqrt(n))
    assert abs(z) < z_limit(1)
    assert abs((np.mean(lengths) - 5.0) / (np.std(lengths) / np.sqrt(n))) > z_limit(1)
    assert FALSE_ALARM <= 1e-4


def test_simulations_keep_to_longest_end_and_mask() -> None:
    rng = np.random.default_rng(SEED)
    model = SemiMarkov(
        3,
        Categories([0.3, 0.5]),
        Geometric(mean=3.0),
        longest=5,
        end="complete",
        forbidden=[(0, 1)],
    )
    for _ in range(20):
        found = model.simulate(rng, [12, 7])
        assert [len(own) for own in found.series] == [12, 7]
        labels, last = found.state.labels, found.state.last_lengths
        for a, b, end in ((0, 12, last[0]), (12, 19, last[1])):
            own = labels[a:b]
            cuts = np.r_[0, np.flatnonzero(np.diff(own)) + 1, len(own)]
            assert np.diff(cuts).max() <= 5
            assert np.diff(cuts)[-1] == end
            moves = set(zip(own[:-1].tolist(), own[1:].tolist(), strict=True))
            assert (0, 1) not in moves


def test_a_simulation_that_cannot_succeed_says_so() -> None:
    model = SemiMarkov(2, Counts(mean=1.0), Poisson(mean=500.0, shape=1e9), longest=3)
    state = model.initial_state(np.random.default_rng(1), np.arange(20) % 7)
    with pytest.raises(MethodError, match="raise longest"):
        model.simulate(np.random.default_rng(1), 20, state=state)


def test_priors_that_need_data_cannot_be_simulated_without() -> None:
    with pytest.raises(LuceError, match="center"):
        SemiMarkov(3, Gaussian()).simulate(np.random.default_rng(1), 10)


# -- fits ------------------------------------------------------------------------------------------


@quiet
def test_clear_segments_are_found_with_default_priors() -> None:
    rng = np.random.default_rng(SEED)
    truth = np.repeat([0, 1, 0, 2, 1, 3, 0, 2], 30)
    series = np.array([0.0, 4.0, -4.0, 8.0])[truth] + rng.normal(size=240)
    size = draws(200, 20)
    run = luce.SemiMarkov(10).fit(series, size, seed=SEED, progress=False)
    table = luce.sequences.segments(run)
    borders = np.asarray(table["start"])[1:]
    assert len(borders) == 7
    assert np.abs(borders - np.arange(30, 240, 30)).max() <= 2
    states = np.asarray(table["state"])
    assert len(set(states.tolist())) == 4
    assert states[0] == states[2] == states[6]
    assert states[1] == states[4]
    assert states[3] == states[7]


@quiet
def test_frames_and_arrays_are_fitted_alike() -> None:
    import polars as pl

    first, second = steps(2)
    frame = pl.DataFrame(
        {
            "sequence": ["p"] * len(first) + ["q"] * len(second),
            "a": np.r_[first[:, 0], second[:, 0]],
            "b": np.r_[first[:, 1], second[:, 1]],
        }
    )
    by_frame = SemiMarkov(4).fit(frame, 6, **QUIET)
    by_arrays = SemiMarkov(4).fit([first, second], 6, **QUIET)
    np.testing.assert_array_equal(by_frame["states"]["states"], by_arrays["states"]["states"])
    assert by_frame["states"]["sequence"].values.tolist() == ["p"] * 28 + ["q"] * 18
    assert by_frame["states"]["channel"].values.tolist() == ["a", "b"]


@quiet
def test_priors_taken_from_the_data_are_named_and_others_are_not() -> None:
    own = SemiMarkov(3).fit(NOISE, 5, **QUIET).attrs["prior"]
    assert own.count("(from the data)") == 2
    given = Gaussian(center=0.0, covariance=1.0, weight=0.1)
    assert "from the data" not in SemiMarkov(3, given).fit(NOISE, 5, **QUIET).attrs["prior"]


@quiet
def test_a_custom_emission_is_drawn_in_memory_only(tmp_path: Any) -> None:
    def log_likelihood(series: Any, parameters: Any) -> Any:
        return np.log(parameters["rate"]) - series * parameters["rate"]

    def resample(rng: Any, series: Any, labels: Any, parameters: Any) -> Any:
        n = len(parameters["rate"])
        waited = np.bincount(labels, series[:, 0], n)
        return {"rate": rng.gamma(1 + np.bincount(labels, minlength=n)) / (1 + waited)}

    rng = np.random.default_rng(SEED)
    series = np.concatenate([rng.exponential(mean, 40) for mean in (0.1, 10.0, 0.1)])
    emission = Custom(log_likelihood, resample, lambda rng, n: {"rate": rng.gamma(1.0, size=n)})
    model = SemiMarkov(4, emission, Poisson(mean=40))
    run = model.fit(series, draws(60, 8), seed=1, progress=False)
    assert run["states"]["rate"].dims[-1] == "state"
    borders = np.asarray(luce.sequences.segments(run)["start"])
    assert np.abs(borders[:, None] - [40, 80]).min(axis=0).max() <= 5
    with pytest.raises(MethodError, match="functions"):
        model.fit(series, 5, to=tmp_path / "run.zarr", **QUIET)
    assert run.attrs["annealed"] == 0
