"""Densities of new series, rows after the last one, and new series labelled by a run."""

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import xarray as xr
from lib.bounds import SEED, z_limit
from lib.size import PLAIN_PYTHON, draws
from scipy import stats

from luce.errors import ConvergenceWarning, DataError, EvidenceWarning, MethodError
from luce.sequences import (
    Autoregressive,
    Categories,
    Counts,
    Gaussian,
    Geometric,
    Histogram,
    NegativeBinomial,
    Poisson,
    SemiMarkov,
    forecast,
    log_predictive,
    segments,
)
from luce.sequences.durations import Duration

pytestmark = pytest.mark.filterwarnings("ignore::luce.ConvergenceWarning")

# Laws of durations with a mean near 3, so that short series have several segments.
LAWS: dict[str, Duration] = {
    "poisson": Poisson(mean=3),
    "negative binomial": NegativeBinomial(mean=3, most=4),
    "geometric": Geometric(mean=3),
    "histogram": Histogram([1.0, 0.0, 2.0, 1.0, 0.5]),
}


def fitted(model: SemiMarkov, series: Any, n: int = 4, **more: Any) -> xr.DataTree:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(series, n, chains=2, warmup=5, seed=SEED, progress=False, **more)


def silently(run: xr.DataTree, series: Any, **more: Any) -> Any:
    """Predict from few draws, which the estimate warns of."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EvidenceWarning)
        return log_predictive(run, series, **more)


def levels(rng: np.random.Generator, length: int = 24) -> np.ndarray:
    return np.asarray(np.repeat([0.0, 6.0, -5.0, 6.0], length // 4) + rng.normal(size=length))


# -- oracles ---------------------------------------------------------------------------------------


def segmentations(length: int, n_states: int) -> Iterator[list[tuple[int, int]]]:
    """List all sequences of (state, rows) that fill so many rows, neighbours being different."""
    if length == 0:
        yield []
        return
    for rows in range(1, length + 1):
        for state in range(n_states):
            for rest in segmentations(length - rows, n_states):
                if not rest or rest[0][0] != state:
                    yield [(state, rows), *rest]


def duration_law(law: Duration, own: xr.Dataset, state: int) -> tuple[np.ndarray, np.ndarray]:
    """Compute P(D = d) and P(D >= d) for d = 1, ..., 2,000."""
    k = np.arange(2000)
    at = own.isel(state=state)
    if isinstance(law, Poisson):
        rate = float(at["rate"])
        return stats.poisson.pmf(k, rate), stats.poisson.sf(k - 1, rate)
    if isinstance(law, NegativeBinomial):
        given = float(at["r"]), float(at["stop"])
        return stats.nbinom.pmf(k, *given), stats.nbinom.sf(k - 1, *given)
    p = np.zeros(2000)
    p[: at.sizes["duration"]] = at["probabilities"].values
    return p, p[::-1].cumsum()[::-1]


def likelihood(values: np.ndarray, law: Duration, own: xr.Dataset, end: str, longest: int) -> float:
    """Sum the density of a sequence over all its segmentations."""
    n = own.sizes["state"]
    means, variances = own["mean"].values[:, 0], own["covariance"].values[:, 0, 0]
    density = stats.norm.pdf(values[:, None], means, np.sqrt(variances))
    density[np.isnan(values)] = 1.0
    laws = [duration_law(law, own, j) for j in range(n)]
    total = 0.0
    for path in segmentations(len(values), n):
        at, weight, before = 0, 1.0, -1
        for state, rows in path:
            weight *= (
                own["initial"].values[state] if before < 0 else own["rows"].values[before, state]
            )
            last = at + rows == len(values) and end == "censored"
            weight *= laws[state][1 if last else 0][rows - 1] * (rows <= longest)
            weight *= density[at : at + rows, state].prod()
            at, before = at + rows, state
        total += weight
    return total


# -- densities of new series -----------------------------------------------------------------------


@pytest.mark.parametrize("name", LAWS)
@pytest.mark.parametrize(
    ("end", "longest"), [("censored", None), ("complete", None), ("censored", 3)]
)
def test_the_density_is_the_mean_over_draws_of_sums_over_segmentations(
    name: str, end: str, longest: int | None
) -> None:
    rng = np.random.default_rng(SEED)
    law = LAWS[name]
    if name == "histogram" and longest is not None:
        law = Histogram([1.0, 2.0, 0.5])
    run = fitted(SemiMarkov(3, Gaussian(), law, longest=longest, end=end), levels(rng))
    new = [np.array([0.5, 5.0, np.nan, 6.5, -4.0]), np.array([6.0, 5.0, -3.0])]
    found = silently(run, new)
    kept = run["states"].to_dataset()
    each = np.array(
        [
            [likelihood(y, law, kept.isel(chain=c, draw=d), end, longest or 100) for y in new]
            for c in range(2)
            for d in range(4)
        ]
    )
    np.testing.assert_allclose(float(found), np.log(each.prod(axis=1).mean()), rtol=1e-12)
    alone = found.details["by_sequence"]
    np.testing.assert_allclose(np.asarray(alone), np.log(each.mean(axis=0)), rtol=1e-12)
    assert found.details["per_row"] == float(found) / 7  # one of eight rows is missing
    assert alone.value.sel(sequence=0).ndim == 0


def test_few_draws_of_each_chain_are_evenly_spaced() -> None:
    run = fitted(SemiMarkov(3, Gaussian(), Poisson(mean=3)), levels(np.random.default_rng(SEED)), 7)
    new = [0.5, 5.0]
    some = [silently(run.isel(draw=[k]), new) for k in (0, 3, 6)]
    whole = silently(run, new, draws=3)
    np.testing.assert_allclose(float(whole), np.log(np.exp(some).mean()), rtol=1e-12)


@pytest.mark.parametrize("name", LAWS)
def test_a_series_without_values_has_probability_one(name: str) -> None:
    run = fitted(SemiMarkov(3, Gaussian(), LAWS[name]), levels(np.random.default_rng(SEED)))
    found = log_predictive(run, np.full(5, np.nan))
    assert abs(float(found)) < 1e-12
    assert found.standard_error < 1e-12
    assert np.isnan(found.details["per_row"])
    cut = fitted(
        SemiMarkov(3, Gaussian(), Poisson(mean=3), longest=2), levels(np.random.default_rng(SEED))
    )
    assert float(silently(cut, np.full(5, np.nan))) < -0.01  # segments of 3 rows are left out


def test_a_series_far_off_is_warned_of() -> None:
    rng = np.random.default_rng(SEED)
    run = fitted(SemiMarkov(3, Gaussian(), Poisson(mean=6)), levels(rng, 48), draws(60, 30))
    with pytest.warns(EvidenceWarning, match=r"Pareto k \d+\.\d\d; at most 0.5 is wanted"):
        far = log_predictive(run, 40 + rng.normal(size=20))
    assert far.details["pareto_k"] > 0.5
    assert np.isnan(far.standard_error)


@pytest.mark.compiled
def test_a_row_like_those_of_the_run_is_trusted() -> None:
    rng = np.random.default_rng(SEED)
    run = fitted(
        SemiMarkov(3, Gaussian(), Poisson(mean=6)), levels(rng, 48), 2000, keep_states=2000
    )
    near = log_predictive(run, [np.nan, 6.0, np.nan])
    assert near.details["pareto_k"] <= 0.5
    assert 0 < near.standard_error < 0.2


def test_an_impossible_series_is_warned_of() -> None:
    labels = ["a", "b", "a", "b", "a"]
    run = fitted(SemiMarkov(3, Categories(), Histogram([1.0, 1.0])), labels * 3)
    with pytest.warns(EvidenceWarning, match="impossible under the parameters of every draw"):
        found = log_predictive(run, labels, candidates=[4])
    assert float(found) == -np.inf


def test_categories_and_histograms_keep_their_own_probabilities() -> None:
    """Both call their parameter `probabilities`."""
    run = fitted(SemiMarkov(2, Categories(), Histogram([1.0, 2.0, 1.0])), ["a", "b", "c", "b"] * 3)
    kept = run["states"].to_dataset().isel(chain=0, draw=[1])
    own = kept.isel(draw=0)
    p, n = own["duration_probabilities"].values, own["probabilities"].values
    at_least = p[:, ::-1].cumsum(axis=1)[:, ::-1]
    # Of the rows "a", "c": one segment, or two.
    first = own["initial"].values
    one = first * at_least[:, 1] * n[:, 0] * n[:, 2]
    two = first * p[:, 0] * n[:, 0] * at_least[::-1, 0] * n[::-1, 2]
    exact = np.log((one + two).sum())
    found = silently(run.isel(chain=[0], draw=[1]), ["a", "c"])
    np.testing.assert_allclose(float(found), exact, rtol=1e-12)


# -- rows after the last one -----------------------------------------------------------------------


def frozen(
    model: SemiMarkov, series: Any, labels: np.ndarray, n: int, **parameters: Any
) -> xr.DataTree:
    """Make a run of n draws whose states and parameters are all the same."""
    run = fitted(model, series, 2)
    kept = run["states"].to_dataset().isel(draw=np.zeros(n, int)).assign_coords(draw=np.arange(n))
    kept["states"] = (("chain", "draw", "time"), np.tile(labels, (2, n, 1)).astype(np.int16))
    for name, value in parameters.items():
        variable = kept[name]
        kept[name] = (variable.dims, np.broadcast_to(value, variable.shape).copy())
    return run.assign({"states": xr.DataTree(kept)})


# State 0 lasts `SEEN` rows at the end of the series.
SEEN = 3
LABELS = np.repeat([0, 1, 2, 0], [6, 6, 6, SEEN])
PARAMETERS: dict[str, dict[str, Any]] = {
    "poisson": {"rate": 3.5},
    "negative binomial": {"r": 4.0, "stop": 0.55},
    "geometric": {"r": 1.0, "stop": 0.25},
    "histogram": {"probabilities": [0.3, 0.0, 0.2, 0.1, 0.4]},
}


def rows_left(run: xr.DataTree, steps: int, seed: int) -> np.ndarray:
    """Count the rows that the last state goes on, up to `steps`."""
    states = forecast(run, steps, seed=seed)["states"].values.reshape(-1, steps)
    now = int(segments(run)["state"][-1])
    return np.asarray((states != now).argmax(axis=1))


@pytest.mark.parametrize("name", LAWS)
def test_a_state_goes_on_by_the_law_of_durations_given_what_was_seen(name: str) -> None:
    n = draws(1500, 200)
    series = np.array([0.0, 9.0, -9.0])[LABELS] + np.random.default_rng(SEED).normal(
        size=len(LABELS)
    )
    run = frozen(SemiMarkov(3, Gaussian(), LAWS[name]), series, LABELS, n, **PARAMETERS[name])
    own = run["states"].to_dataset().isel(chain=0, draw=0)
    p, at_least = duration_law(LAWS[name], own, 0)
    left = rows_left(run, 25, SEED)
    law = p[SEEN - 1 : SEEN + 9] / at_least[SEEN - 1]  # of 0, 1, ..., 9 more rows
    seen = np.bincount(left, minlength=10)[:10] / (2 * n)
    spread = np.sqrt(np.maximum(law * (1 - law), 1 / n) / (2 * n))
    assert np.abs((seen - law) / spread).max() < z_limit(10)
    # Negative control: durations longer than what was seen, not at least as long.
    wrong = p[SEEN : SEEN + 10] / at_least[SEEN]
    if name != "geometric" and not PLAIN_PYTHON:
        assert np.abs((seen - wrong) / spread).max() > z_limit(10)
    if name == "geometric":  # forgets how long it has lasted
        np.testing.assert_allclose(law, p[:10], rtol=1e-12)
    goes_on = at_least[SEEN] / at_least[SEEN - 1]
    share = (left > 0).mean()
    assert abs(share - goes_on) < z_limit() * np.sqrt(goes_on * (1 - goes_on) / (2 * n))


def test_a_complete_series_goes_on_with_a_new_state() -> None:
    series = np.array([0.0, 9.0, -9.0])[LABELS] + np.random.default_rng(SEED).normal(
        size=len(LABELS)
    )
    model = SemiMarkov(3, Gaussian(), Poisson(mean=4), end="complete")
    n = draws(1000, 200)
    rows = [[0.0, 0.8, 0.2], [0.5, 0.0, 0.5], [0.3, 0.7, 0.0]]
    run = frozen(model, series, LABELS, n, rate=3.5, rows=rows)
    assert (rows_left(run, 30, SEED) == 0).all()
    # The next state is that of row 0 of the transition probabilities.
    ahead = forecast(run, 1, seed=SEED)
    names = dict(zip(LABELS, segments_of(run), strict=True))
    found = float(ahead["probability"].sel(state=names[1])[0])
    assert abs(found - 0.8) < z_limit() * np.sqrt(0.8 * 0.2 / (2 * n))
    assert float(ahead["other"][0]) == 0.0


def segments_of(run: xr.DataTree) -> list[int]:
    """List the state of each row by the point estimate."""
    table = segments(run)
    lengths = table["end"] - table["start"]
    return np.repeat(table["state"], lengths).tolist()


def test_an_autoregressive_series_goes_on_from_its_last_rows() -> None:
    labels = np.repeat([0, 1, 0], [10, 10, 4])
    rng = np.random.default_rng(SEED)
    series = np.c_[rng.normal(size=24), 5 + rng.normal(size=24)]
    series[-2:] = [[3.0, -2.0], [7.0, 4.0]]
    n = draws(1500, 300)
    # y_t = A_1 y_{t-1} + A_2 y_{t-2} + b, with a different row of each for each channel.
    coefficients = np.array([[0.5, 0.0, 0.25, 0.0, 1.0], [0.0, -0.5, 0.1, 0.2, -1.0]])
    run = frozen(
        SemiMarkov(2, Autoregressive(lags=2), Geometric(mean=10)),
        series,
        labels,
        n,
        coefficients=coefficients,
        covariance=np.diag([0.04, 0.09]),
    )
    ahead = forecast(run, 2, seed=SEED)["values"].values.reshape(-1, 2, 2)
    first = coefficients @ [7.0, 4.0, 3.0, -2.0, 1.0]
    second = coefficients @ [*first, 7.0, 4.0, 1.0]
    error = np.array([0.2, 0.3]) / np.sqrt(2 * n)
    assert np.abs((ahead[:, 0].mean(axis=0) - first) / error).max() < z_limit(2)
    carried = np.sqrt([0.04 * 1.25, 0.09 * 1.25]) / np.sqrt(2 * n)
    assert np.abs((ahead[:, 1].mean(axis=0) - second) / carried).max() < z_limit(2)
    swapped = coefficients @ [3.0, -2.0, 7.0, 4.0, 1.0]  # negative control: lags in reverse
    assert np.abs((ahead[:, 0].mean(axis=0) - swapped) / error).max() > z_limit(2)


def test_one_of_several_sequences_goes_on() -> None:
    rng = np.random.default_rng(SEED)
    given = {"long": levels(rng, 40), "short": np.r_[6 + rng.normal(size=9)]}
    run = fitted(SemiMarkov(4, Gaussian(), Poisson(mean=8)), given, 40)
    ahead = forecast(run, 3, sequence="short", seed=1, draws=10)
    assert dict(ahead.sizes) | {"state": 0} == {
        "chain": 2, "draw": 10, "step": 3, "channel": 1, "state": 0,
    }  # fmt: skip
    assert ahead["row"].values.tolist() == [9, 10, 11]
    assert ahead.attrs["sequence"] == "short"
    np.testing.assert_allclose(ahead["probability"].sum("state") + ahead["other"], 1.0)
    xr.testing.assert_identical(ahead, forecast(run, 3, sequence="short", seed=1, draws=10))
    assert not ahead.equals(forecast(run, 3, sequence="short", seed=2, draws=10))
    with pytest.raises(
        DataError, match=r"2 sequences; name the one that goes on, as sequence='long'"
    ):
        forecast(run, 3)
    with pytest.raises(DataError, match="there is none of that name"):
        forecast(run, 3, sequence="other")


def test_counts_and_categories_go_on_as_such() -> None:
    rng = np.random.default_rng(SEED)
    counts = rng.poisson(np.repeat([1.0, 30.0, 1.0], 10))
    run = fitted(SemiMarkov(3, Counts(), Geometric(mean=10)), counts)
    values = forecast(run, 5, seed=1)["values"].values
    assert (values == np.rint(values)).all()
    assert (values >= 0).all()
    words = np.repeat(["rest", "run", "rest"], 8)
    ahead = forecast(fitted(SemiMarkov(3, Categories(), Geometric(mean=8)), words), 5, seed=1)
    assert ahead["category"].values.tolist() == ["rest", "run"]
    assert set(np.unique(ahead["values"])) <= {0.0, 1.0}


# -- a new series labelled by a run ----------------------------------------------------------------


def test_states_of_a_new_series_are_those_of_the_run() -> None:
    rng = np.random.default_rng(SEED)
    run = fitted(
        SemiMarkov(6, Gaussian(), Poisson(mean=20)),
        np.repeat([0.0, 9.0, -9.0, 0.0], 25) + rng.normal(size=100),
        draws(60, 12),
    )
    old = segments(run)
    # By the level of the rows: which state is it in the run?
    zero, high, low = old["state"][:3]
    new = [
        np.repeat([-9.0, 9.0], 20) + rng.normal(size=40),
        np.repeat([0.0, 60.0], 20) + rng.normal(size=40),
    ]
    found = segments(run, new, seed=SEED)
    assert found["sequence"].tolist() == [0, 0, 1, 1]
    assert found["start"].tolist() == [0, 20, 0, 20]
    assert found["end"].tolist() == [20, 40, 20, 40]
    assert found["state"][:3].tolist() == [low, high, zero]
    assert found["probability"][:3].min() > 0.5
    again = segments(run, new, seed=SEED)
    np.testing.assert_array_equal(found["probability"], again["probability"])
    with pytest.raises(DataError, match="columns is for a new series"):
        segments(run, columns=["a"])


def test_a_state_that_the_run_never_met_gets_a_number_of_its_own() -> None:
    """Its draws have a state that no row of the run is in, whose mean is that of the new rows."""
    labels = np.repeat([0, 1, 0], 8)
    rng = np.random.default_rng(SEED)
    series = np.array([0.0, 9.0])[labels] + rng.normal(size=24)
    model = SemiMarkov(3, Gaussian(), Poisson(mean=8))
    means = np.array([0.0, 9.0, 40.0])[:, None]
    run = frozen(model, series, labels, 6, mean=means, covariance=1.0, rate=7.0)
    found = segments(run, np.repeat([9.0, 40.0], 8) + rng.normal(size=16), seed=SEED)
    assert found["state"].tolist() == [1, 2]
    assert found["probability"].min() > 0.99
    assert found.notes == ("2 is not among the states of the run's point estimate.",)


def test_channels_and_categories_of_a_new_series_must_be_those_of_the_run() -> None:
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(SEED)
    frame = pandas.DataFrame({"a": levels(rng), "b": rng.normal(size=24)})
    run = fitted(SemiMarkov(3, Gaussian(), Poisson(mean=6)), frame)
    new = frame[:6]
    turned = silently(run, new[["b", "a"]].assign(c=1.0))
    assert float(turned) == float(silently(run, new)) == float(silently(run, new.to_numpy()))
    with pytest.raises(DataError, match=r"1 channel .*run's has 2 \('a', 'b'\)"):
        log_predictive(run, levels(rng))
    with pytest.raises(DataError, match="'b'"):
        log_predictive(run, new[["a"]])
    words = fitted(SemiMarkov(3, Categories(), Geometric(mean=4)), ["x", "x", "y"] * 4)
    assert float(silently(words, ["y", "y"])) < 0
    with pytest.raises(DataError, match="'z' is not among the categories"):
        segments(words, ["x", "z"])
    moving = fitted(SemiMarkov(2, Autoregressive(), Geometric(mean=4)), levels(rng))
    with pytest.raises(DataError, match="an autoregressive emission needs every value"):
        log_predictive(moving, [0.0, np.nan, 1.0])


def test_what_cannot_be_answered_is_refused_in_words() -> None:
    run = fitted(SemiMarkov(3, Gaussian(), Poisson(mean=6)), levels(np.random.default_rng(SEED)))
    with pytest.raises(MethodError, match="steps = 0"):
        forecast(run, 0)
    with pytest.raises(MethodError, match="keeps parameters of 4 draws of each chain"):
        log_predictive(run, [1.0], draws=5)
    with pytest.raises(DataError, match="a run of a semi-Markov model is needed"):
        forecast(xr.DataTree(), 1)
