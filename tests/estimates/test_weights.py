"""Means of weights over draws: their errors, effective draws and Pareto k."""

from math import sqrt

import numpy as np
import pytest
from arviz_stats.base import array_stats  # type: ignore[attr-defined]
from lib.bounds import FALSE_ALARM, SEED
from scipy.stats import chi2

from luce.estimates.estimate import Estimate
from luce.estimates.weights import basis, effective_number, is_trusted, log_mean, pareto_k


def rng_of(number: int) -> np.random.Generator:
    return np.random.default_rng([SEED, number])


def test_a_mean_rests_on_as_many_draws_as_have_weight() -> None:
    assert effective_number(np.ones(7)) == pytest.approx(7)
    assert effective_number(np.array([1.0, 1.0, 0.0, 0.0])) == pytest.approx(2)
    logs = rng_of(1).normal(size=(2, 500)) - 900.0
    found = log_mean(logs, "draws")
    assert float(found) == pytest.approx(np.logaddexp.reduce(logs, axis=None) - np.log(1000))
    assert found.details["effective_draws"] <= effective_number(np.exp(logs + 900)) * (1 + 1e-12)
    # Draws that come ten times in a row are a tenth as many.
    slow = np.repeat(rng_of(2).normal(size=(4, 400)), 10, axis=1)
    repeated, once = log_mean(slow, "draws"), log_mean(slow[:, ::10], "draws")
    assert repeated.standard_error == pytest.approx(once.standard_error, rel=0.2)
    assert repeated.details["effective_draws"] < 1.2 * once.details["effective_draws"]


@pytest.mark.parametrize("size", [25, 60, 400, 4000])
def test_pareto_k_is_that_of_arviz(size: int) -> None:
    for spread in (0.01, 0.3, 1.0, 4.0, 30.0):
        normal, gamma = rng_of(3).normal(size=(1, size)), -rng_of(4).gamma(3, size=(1, size))
        for logs in (spread * normal - 1000, spread * gamma):
            _, expected = array_stats.psislw(-logs.ravel())  # which takes log likelihoods
            assert pareto_k(logs) == pytest.approx(float(expected), abs=1e-10)


def test_pareto_k_of_few_and_of_equal_weights() -> None:
    assert np.isnan(pareto_k(np.zeros((1, 24))))
    assert pareto_k(np.full((2, 50), -3.0)) == -np.inf
    rounded = 1e-12 * rng_of(5).normal(size=(2, 50))
    assert pareto_k(rounded) == -np.inf
    assert is_trusted(log_mean(rounded, "draws"), 100)
    few_values = rng_of(6).integers(0, 3, (4, 500)).astype(float)  # ties with the cut-off
    assert pareto_k(few_values) == -np.inf
    assert is_trusted(log_mean(few_values, "draws"), 2000)
    one_large = np.where(np.arange(2000).reshape(4, 500) == 77, 0.0, -2000.0)
    assert not is_trusted(log_mean(one_large, "draws"), 2000)


def test_weights_that_are_all_0() -> None:
    found = log_mean(np.full((2, 50), -np.inf), "draws")
    assert (float(found), found.details["effective_draws"]) == (-np.inf, 0.0)
    assert np.isnan(found.standard_error)
    assert not is_trusted(found, 100)


def test_words_for_the_basis_of_a_mean() -> None:
    light, heavy = (
        Estimate(0.0, 1.0, "", {"effective_draws": 12.3, "pareto_k": k}) for k in (0, 1)
    )
    assert basis(light) == "rests on 12 of the draws alone"
    assert basis(heavy) == "rests on 12 of the draws alone (Pareto k 1.00; at most 0.5 is wanted)"
    assert basis(Estimate(0.0, 1.0, "", {"effective_draws": 3.0})).startswith("rests on 3")


def squares_of_errors(draws: int, spread: float, runs: int) -> tuple[list[float], list[float]]:
    """Squared errors in standard errors of means of exp(spread · normal): trusted, and others."""
    trusted: list[float] = []
    others: list[float] = []
    for x in rng_of(int(100 * spread)).normal(scale=spread, size=(runs, 1, draws)):
        found = log_mean(x, "draws", draws)
        z = (float(found) - spread**2 / 2) / float(found.standard_error)
        (trusted if is_trusted(found, draws) else others).append(z * z)
    return trusted, others


def test_errors_of_trusted_means_are_as_large_as_they_say() -> None:
    """The control takes the others, whose errors are too small."""
    trusted: list[float] = []
    others: list[float] = []
    for spread in (0.1, 0.5, 1.0, 2.0, 3.0):
        for kept, found in zip((trusted, others), squares_of_errors(1000, spread, 60), strict=True):
            kept += found
    assert len(trusted) > 150
    assert len(others) > 80

    def is_right(squares: list[float]) -> bool:
        tail, number = FALSE_ALARM / 2, len(squares)
        return bool(chi2.ppf(tail, number) < sum(squares) < chi2.isf(tail, number))

    assert is_right(trusted)
    assert not is_right(others)
    assert sqrt(sum(trusted) / len(trusted)) < 1.3
