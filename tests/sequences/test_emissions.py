"""Emissions: priors from the data's scale, draws, gaps, functions of a user, and refusals."""

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.stats as stats
from lib.bounds import z_limit
from lib.nests import bits, generator
from lib.size import draws as number_of

from luce.errors import DataError, LuceError, MethodError
from luce.sequences.emissions import (
    Autoregressive,
    Categories,
    Counts,
    Custom,
    DiagonalGaussian,
    Emission,
    Gaussian,
)
from luce.sequences.series import Series

DRAWS = number_of(20_000, 300)


def series_of(
    values: Any, borders: tuple[int, ...] = (), categories: tuple[str, ...] = ()
) -> Series:
    array = np.ascontiguousarray(values, float)
    ends = np.array(borders or (0, len(array)), np.int64)
    names = tuple(f"run {k}" for k in range(len(ends) - 1))
    return Series(array, ends, tuple("abcdefghijkl"[: array.shape[1]]), names, None, categories)


def numbers(rows: int = 40, gaps: bool = False) -> Series:
    rng = generator(1)
    values = rng.normal(size=(rows, 2)) * [1.0, 3.0] + [10.0, -2.0]
    values[rows // 2 :] += [0.0, 12.0]
    if gaps:
        values[3, 0], values[4, 1], values[5] = np.nan, np.nan, np.nan
    return series_of(values, (0, 15, rows))


def whole_numbers() -> Series:
    return series_of(generator(2).poisson([4.0, 0.5], size=(40, 2)), (0, 15, 40))


def labels_of(series: Series, states: int = 3) -> np.ndarray:
    return generator(3).integers(0, states, series.length)


def categorical() -> Series:
    return series_of(generator(4).integers(0, 3, size=(40, 1)), (0, 15, 40), ("x", "y", "z"))


CASES: dict[str, tuple[Emission, Callable[[], Series]]] = {
    "gaussian": (Gaussian(), numbers),
    "diagonal": (DiagonalGaussian(), numbers),
    "counts": (Counts(), whole_numbers),
    "categories": (Categories(0.7), categorical),
    "autoregressive": (Autoregressive(), numbers),
    "two lags": (Autoregressive(2, coefficients=1.0), numbers),
}


@pytest.mark.parametrize("name", CASES)
def test_every_emission_does_what_a_sampler_asks(name: str) -> None:
    given, make = CASES[name]
    series = make()
    emission, labels = given.resolved(series), labels_of(series)
    n_channels, out = series.values.shape[1], np.full((series.length, 5), np.nan)
    assert emission.is_resolved
    assert not given.is_resolved
    first = emission.draw_prior(bits(5), 5, n_channels)
    again = emission.draw_prior(bits(5), 5, n_channels)
    emission.log_likelihood(series, first, out)
    assert np.isfinite(out).all()
    for start in series.borders[:-1]:
        assert (out[start : start + emission.lags] == 0).all()
    words, before, held = bits(6), series.values.copy(), {k: v.copy() for k, v in first.items()}
    new = emission.resample(words, series, labels, first)
    assert not np.array_equal(words, bits(6))
    assert np.array_equal(series.values, before)
    dims, coords = emission.dims(series), emission.coords(series)
    assert list(new) == list(first) == list(dims)
    for key, value in new.items():
        assert np.array_equal(first[key], held[key])
        assert np.array_equal(first[key], again[key])
        assert not np.shares_memory(value, first[key])
        assert value.shape == (5, *(len(coords[d]) for d in dims[key]))
        assert np.isfinite(value).all()
    assert emission.imputed(bits(7), series, labels, new) is series
    simulated = emission.simulate(bits(8), labels, series.borders, new)
    assert simulated.shape == series.values.shape


@pytest.mark.parametrize("name", CASES)
def test_priors_survive_json_exactly(name: str) -> None:
    given, make = CASES[name]
    series = make()
    for emission in (given, given.resolved(series)):
        text = json.dumps(emission.to_json())
        again = Emission.from_json(json.loads(text))
        assert type(again) is type(emission)
        assert json.dumps(again.to_json()) == text
        assert again.from_data == emission.from_data
    first, second = (e.draw_prior(bits(9), 3, series.values.shape[1]) for e in (emission, again))
    assert all(np.array_equal(first[key], second[key]) for key in first)
    assert again.prior_words() == emission.prior_words()


@pytest.mark.parametrize("name", CASES)
def test_resolving_twice_changes_nothing(name: str) -> None:
    given, make = CASES[name]
    once = given.resolved(make())
    assert once.resolved(make()).to_json() == once.to_json()


def test_defaults_come_from_the_data_and_are_named() -> None:
    series = numbers(gaps=True)
    mean, variance = np.nanmean(series.values, axis=0), np.nanvar(series.values, axis=0)
    full = Gaussian().resolved(series)
    np.testing.assert_allclose(full.center, mean)
    np.testing.assert_allclose(full.covariance, np.diag(variance / 10))
    assert (full.weight, full.degrees) == (0.1, 4.0)
    assert full.from_data == ("center", "covariance")
    assert full.prior_words().count("(from the data)") == 2
    diagonal = DiagonalGaussian(center=[1, 2]).resolved(series)
    np.testing.assert_allclose(diagonal.variance, variance / 10)
    assert diagonal.from_data == ("variance",)
    assert "around 1, 2 with weight 0.1" in diagonal.prior_words()
    assert "(from the data)" not in Gaussian(0.0, 1.0).resolved(series).prior_words()
    counts = Counts().resolved(whole_numbers())
    np.testing.assert_allclose(counts.mean, whole_numbers().values.mean(axis=0))
    assert "shape 1" in counts.prior_words()
    assert "3 categories" in Categories().resolved(categorical()).prior_words()


def test_defaults_of_an_autoregression() -> None:
    series = numbers()
    emission = Autoregressive().resolved(series)
    a, b = series.values[:15], series.values[15:]
    squares = np.r_[np.diff(a, axis=0) ** 2, np.diff(b, axis=0) ** 2].mean(axis=0)
    np.testing.assert_allclose(np.diagonal(emission.covariance), squares / 2)
    np.testing.assert_allclose(emission.spread, series.values.std(axis=0))
    np.testing.assert_allclose(emission.weight, (squares / 2 / series.values.var(axis=0)).mean())
    assert emission.from_data == ("center", "spread", "covariance", "weight")
    # With coefficients 0 the series returns to its center; with 1 it is a random walk.
    np.testing.assert_allclose(emission.coefficients[:, :2], 0)
    np.testing.assert_allclose(emission.coefficients[:, 2], series.values.mean(axis=0))
    walk = Autoregressive(coefficients=1.0).resolved(series)
    np.testing.assert_allclose(walk.coefficients, [[1, 0, 0], [0, 1, 0]], atol=1e-12)
    given = np.array([[0.5, 0.0, 3.0], [0.1, 0.2, -1.0]])
    np.testing.assert_array_equal(
        Autoregressive(coefficients=given).resolved(series).coefficients, given
    )
    without = Autoregressive(coefficients=given[:, :2]).resolved(series)
    expected = series.values.mean(axis=0) - given[:, :2] @ series.values.mean(axis=0)
    np.testing.assert_allclose(without.coefficients[:, 2], expected)


def test_an_autoregression_does_not_depend_on_the_origin() -> None:
    rng = generator(10)
    values = np.rint(rng.normal(size=(50, 2)).cumsum(axis=0) * 2**16) / 2**16
    near, far = series_of(values), series_of(values + 2**20)
    labels = labels_of(near)
    draws = [
        emission.resample(bits(11), series, labels, emission.draw_prior(bits(12), 3, 2))
        for series in (near, far)
        for emission in (Autoregressive().resolved(series),)
    ]
    np.testing.assert_allclose(draws[1]["covariance"], draws[0]["covariance"], rtol=1e-7)
    slopes, others = (d["coefficients"][:, :, :2] for d in draws)
    np.testing.assert_allclose(others, slopes, rtol=1e-6, atol=1e-8)
    moved = draws[1]["coefficients"][:, :, 2] - 2**20 + others.sum(axis=2) * 2**20
    np.testing.assert_allclose(moved, draws[0]["coefficients"][:, :, 2], atol=1e-5)


def test_a_state_without_rows_draws_from_the_prior() -> None:
    series = numbers()
    emission = DiagonalGaussian(1.0, 2.0, weight=0.5, degrees=9.0).resolved(series)
    labels = np.zeros(series.length, np.int64)
    held = {"mean": np.zeros((DRAWS, 2)), "variance": np.ones((DRAWS, 2))}
    new = emission.resample(bits(13), series, labels, held)
    mean, variance = new["mean"][1:], new["variance"][1:]
    # E[mean] = center, Var(mean) = E[v] / weight; 1 / v is gamma with shape 4.5 and scale 2 / 14.
    limit, n = z_limit(4), len(mean)
    assert (np.abs(mean.mean(axis=0) - 1.0) < limit * np.sqrt(2.0 / 0.5 / n)).all()
    error = np.sqrt(4.5 / 7.0**2 / n)
    assert (np.abs((1 / variance).mean(axis=0) - 4.5 / 7.0) < limit * error).all()
    if DRAWS > 1000:  # negative control: one degree of freedom more
        assert (np.abs((1 / variance).mean(axis=0) - 5.0 / 7.0) > limit * error).all()


def test_gaps_of_a_full_gaussian_are_drawn_before_its_parameters() -> None:
    series = numbers(gaps=True)
    emission, labels = Gaussian().resolved(series), labels_of(series)
    parameters = emission.draw_prior(bits(14), 3, 2)
    with pytest.raises(DataError, match=r"2 rows are missing in part.*imputed"):
        emission.resample(bits(15), series, labels, parameters)
    whole = emission.imputed(bits(16), series, labels, parameters)
    gaps, left = np.isnan(series.values), np.isnan(whole.values)
    assert gaps.sum() == 4
    assert left.sum() == 2
    assert left[5].all()
    assert np.array_equal(whole.values[~gaps], series.values[~gaps])
    assert whole.channels == series.channels
    emission.resample(bits(17), whole, labels, parameters)
    assert emission.statistics(whole, labels, 3)[:, 0].sum() == series.length - 1


def test_rows_are_left_out_of_statistics_by_group() -> None:
    series = numbers()
    emission = Gaussian(center=[10.0, -2.0]).resolved(series)
    groups = np.where(np.arange(40) < 4, np.arange(40) % 2, -1)
    rows = emission.statistics(series, groups, 2)
    away = series.values[[0, 2]] - [10.0, -2.0]
    np.testing.assert_allclose(rows[0, :3], [2, *away.sum(axis=0)])
    product = away.T @ away
    np.testing.assert_allclose(rows[0, 3:], [product[0, 0], product[0, 1], product[1, 1]])


def test_given_covariances_take_three_forms() -> None:
    series = numbers()
    matrix = [[2.0, 0.5], [0.5, 1.0]]
    assert np.array_equal(Gaussian(covariance=matrix).resolved(series).covariance, matrix)
    assert np.array_equal(
        Gaussian(covariance=[2, 3]).resolved(series).covariance, np.diag([2.0, 3.0])
    )
    assert np.array_equal(Gaussian(covariance=2).resolved(series).covariance, 2 * np.eye(2))


def test_priors_can_be_drawn_without_data_where_all_is_given() -> None:
    drawn = Gaussian(center=1.0, covariance=2.0).draw_prior(bits(18), 4, 3)
    assert drawn["covariance"].shape == (4, 3, 3)
    assert Counts(mean=2.0).draw_prior(bits(18), 4, 3)["rate"].shape == (4, 3)
    assert Categories([1, 2, 3]).draw_prior(bits(18), 4, 1)["probabilities"].shape == (4, 3)
    drawn = Autoregressive(2, covariance=1.0, center=0.0, spread=1.0).draw_prior(bits(18), 4, 2)
    assert drawn["coefficients"].shape == (4, 2, 5)
    for emission, wanted in (
        (Gaussian(center=1.0), "give covariance="),
        (DiagonalGaussian(), "give center=... and variance="),
        (Counts(), "give mean="),
        (Categories(), "one concentration for each"),
        (Autoregressive(), "give center=... and spread=... and covariance="),
    ):
        with pytest.raises(DataError, match=wanted):
            emission.draw_prior(bits(18), 4, 2)


def test_a_prior_that_is_not_explicit_has_no_kernel_and_no_words() -> None:
    for emission in (Gaussian(), DiagonalGaussian(), Counts(), Categories(), Autoregressive()):
        with pytest.raises(MethodError, match=r"emission.resolved\(series\)"):
            _ = emission.kernel_prior
        with pytest.raises(MethodError, match=r"emission.resolved\(series\)"):
            emission.prior_words()


CONSTANT = series_of(np.c_[np.arange(20.0), np.full(20, 0.1)])
BAD_PRIORS: dict[str, tuple[Callable[[], object], str]] = {
    "text": (lambda: Gaussian(center="high"), "numbers are needed"),
    "infinite": (lambda: Gaussian(center=np.inf), "finite numbers"),
    "no numbers": (lambda: Gaussian(center=[]), "shape"),
    "negative weight": (lambda: Gaussian(weight=-1), "positive"),
    "two weights": (lambda: Gaussian(weight=[1, 2]), "a single number"),
    "few degrees of one channel": (lambda: DiagonalGaussian(degrees=2), "more than 2"),
    "few degrees": (lambda: Gaussian(degrees=3).resolved(numbers()), "2 channels more than 3"),
    "channels": (lambda: Gaussian(center=[1, 2, 3]).resolved(numbers()), "3 numbers.*2 channels"),
    "shape": (lambda: Gaussian(covariance=np.eye(3)).resolved(numbers()), r"\(3, 3\)"),
    "variances": (lambda: Gaussian(covariance=[1, -1]).resolved(numbers()), "positive"),
    "asymmetric": (
        lambda: Gaussian(covariance=[[1, 0.5], [0.1, 1]]).resolved(numbers()),
        "symmetric",
    ),
    "indefinite": (
        lambda: Gaussian(covariance=[[1, 2], [2, 1]]).resolved(numbers()),
        "positive definite",
    ),
    "constant channel": (lambda: Gaussian().resolved(CONSTANT), "'b' is constant"),
    "constant channel, diagonal": (
        lambda: DiagonalGaussian().resolved(CONSTANT),
        r"give variance=\.\.\.",
    ),
    "wild unit": (lambda: Gaussian().resolved(series_of([[1e-120], [0]])), "Change its unit"),
    "huge unit": (lambda: Gaussian().resolved(series_of([[1e200], [0]])), "Change its unit"),
    "unseen channel": (
        lambda: Gaussian().resolved(series_of([[np.nan], [np.nan]])),
        "no value at all",
    ),
    "zero counts": (lambda: Counts().resolved(series_of(np.zeros((9, 1)))), "no count above 0"),
    "no shape": (lambda: Counts(shape=None), "shape = None"),  # type: ignore[arg-type]
    "no concentration": (lambda: Categories(None), "= None"),  # type: ignore[arg-type]
    "concentrations": (
        lambda: Categories([1, 2]).resolved(categorical()),
        "2 concentrations.*3 categories",
    ),
    "no categories": (lambda: Categories().resolved(numbers()), "no categories"),
    "lags": (lambda: Autoregressive(0), "lags = 0"),
    "gaps": (lambda: Autoregressive().resolved(numbers(gaps=True)), "3 of 40 rows.*row 3"),
    "short": (
        lambda: Autoregressive(3).resolved(series_of(np.eye(5), (0, 3, 5))),
        "3 rows; lags = 3 needs at least 4",
    ),
    "coefficients": (
        lambda: Autoregressive(coefficients=np.eye(3)).resolved(numbers()),
        r"\(2, 3\), or \(2, 2\)",
    ),
    "constant within sequences": (
        lambda: Autoregressive().resolved(series_of([[0.0], [0.0], [1.0], [1.0]], (0, 2, 4))),
        "constant within each sequence",
    ),
    "function": (lambda: Custom(1, len, len), "log_likelihood = 1"),  # type: ignore[arg-type]
}


@pytest.mark.parametrize("name", BAD_PRIORS)
def test_bad_priors_and_series_are_refused_in_words(name: str) -> None:
    make, words = BAD_PRIORS[name]
    with pytest.raises(LuceError, match=words) as refused:
        make()
    assert str(refused.value).endswith((".", "..."))


def test_an_unknown_emission_is_refused() -> None:
    with pytest.raises(DataError, match="'gaussain' is not known; gaussian, "):
        Emission.from_json({"emission": "gaussain", "from_data": []})


def test_a_constant_channel_needs_a_scale_of_the_user() -> None:
    emission = Gaussian(covariance=1.0).resolved(CONSTANT)
    assert emission.from_data == ("center",)


def test_units_at_the_ends_of_the_range() -> None:
    for unit in (1e-95, 1e95):
        series = series_of(numbers().values * unit)
        for given in (Gaussian(), DiagonalGaussian(), Autoregressive()):
            emission = given.resolved(series)
            drawn = emission.draw_prior(bits(19), 3, 2)
            new, out = (
                emission.resample(bits(20), series, labels_of(series), drawn),
                np.empty((40, 3)),
            )
            emission.log_likelihood(series, new, out)
            assert np.isfinite(out).all()


def test_growing_autoregressions_are_not_simulated() -> None:
    emission = Autoregressive(center=1.0)
    parameters = {"coefficients": np.array([[[9.0, 0.0]]]), "covariance": np.ones((1, 1, 1))}
    labels = np.zeros(600, np.int64)
    with pytest.raises(DataError, match="larger weight"), np.errstate(all="ignore"):
        emission.simulate(bits(21), labels, np.array([0, 600]), parameters)
    assert emission.simulate(bits(21), labels[:9], np.array([0, 9]), parameters)[0, 0] == 1.0


# Functions of a user.


def normal_densities(series: Any, parameters: Any) -> Any:
    if isinstance(series, list):
        return [normal_densities(part, parameters) for part in series]
    law = stats.norm(parameters["mean"], np.sqrt(parameters["variance"]))
    return np.nansum(law.logpdf(series[:, None]), axis=2)


def moved(rng: np.random.Generator, series: Any, labels: Any, parameters: Any) -> Any:
    assert isinstance(series, list) == isinstance(labels, list)
    return {key: value + rng.random() for key, value in parameters.items()}


def started(rng: np.random.Generator, n: int) -> Any:
    return {"mean": rng.normal(size=(n, 2)), "variance": rng.gamma(2, size=(n, 2))}


def drawn(rng: np.random.Generator, labels: Any, parameters: Any) -> Any:
    if isinstance(labels, list):
        return [drawn(rng, part, parameters) for part in labels]
    return parameters["mean"][labels] + rng.normal(size=(len(labels), 2))


@pytest.mark.parametrize("sequences", [1, 2])
def test_functions_of_a_user(sequences: int) -> None:
    series = numbers(gaps=True)
    series = series if sequences == 2 else series_of(series.values)
    emission = Custom(normal_densities, moved, started, drawn)
    assert not emission.conjugate
    assert emission.resolved(series) is emission
    assert "functions" in emission.prior_words()
    words = bits(22)
    parameters = emission.draw_prior(words, 3, 2)
    assert not np.array_equal(words, bits(22))
    same = emission.draw_prior(bits(22), 3, 2)
    assert all(np.array_equal(parameters[key], same[key]) for key in same)
    assert emission.draw_prior(words, 3, 2)["mean"][0, 0] != parameters["mean"][0, 0]
    out, truth = np.empty((40, 3)), np.empty((40, 3))
    emission.log_likelihood(series, parameters, out)
    DiagonalGaussian().log_likelihood(series, parameters, truth)
    np.testing.assert_allclose(out, truth, rtol=1e-10)
    labels = labels_of(series)
    new = emission.resample(bits(23), series, labels, parameters)
    assert new["mean"][1, 1] != parameters["mean"][1, 1]
    assert emission.simulate(bits(24), labels, series.borders, parameters).shape == (40, 2)
    assert emission.dims(series) == {"mean": ("mean_dim_0",), "variance": ("variance_dim_0",)}
    assert emission.coords(series) == {}
    assert "normal_densities" in repr(emission)


def test_wrong_functions_are_refused_in_words() -> None:
    series, labels = numbers(), labels_of(numbers())
    parameters, out = started(generator(25), 3), np.empty((40, 3))

    def density(result: Any) -> Custom:
        return Custom(lambda *given: result, moved, started)

    whole = np.zeros((40, 3))
    with pytest.raises(DataError, match="40 arrays for 2 sequences"):
        density(whole).log_likelihood(series, parameters, out)
    with pytest.raises(DataError, match=r"shape \(15, 2\); \(15, 3\) is needed"):
        density([whole[:15, :2], whole[15:]]).log_likelihood(series, parameters, out)
    whole[20, 1] = np.nan
    with pytest.raises(DataError, match="nan for row 20 and state 1"):
        density([whole[:15], whole[15:]]).log_likelihood(series, parameters, out)

    def step(result: Any) -> Custom:
        return Custom(normal_densities, lambda *given: result, lambda *given: result)

    for result, words in (
        (3.0, "resample returned float; a mapping"),
        ({"mean": 1.0}, r"'mean' of shape \(\)"),
        ({"mean": np.zeros((2, 2))}, "its length must be 3"),
        ({"mean": np.zeros((3, 2))}, "names and shapes must stay"),
    ):
        with pytest.raises(DataError, match=words):
            step(result).resample(bits(26), series, labels, parameters)
    with pytest.raises(DataError, match="initial returned"):
        step(None).draw_prior(bits(26), 3, 2)
    emission = Custom(normal_densities, moved, started)
    with pytest.raises(MethodError, match="cannot simulate"):
        emission.simulate(bits(27), labels, series.borders, parameters)
    with pytest.raises(MethodError, match="cannot be written"):
        emission.to_json()
    with pytest.raises(MethodError, match="integrated out"):
        _ = emission.kernel_prior
    with pytest.raises(MethodError, match="integrated out"):
        emission.statistics(series, labels, 3)
