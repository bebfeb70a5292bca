"""Kernels of emissions against densities of SciPy, closed-form posteriors and quadrature."""

from collections.abc import Callable
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import pytest
import scipy.integrate as integrate
import scipy.stats as stats
from lib.bounds import z_limit
from lib.nests import bits, generator
from lib.size import draws as number_of
from scipy.special import gammaln

from luce.kernels.jit import compiled
from luce.kernels.semi_markov import (
    autoregressive,
    categories,
    counts,
    diagonal_gaussian,
    gaussian,
)
from luce.kernels.semi_markov.marginal import log_marginal, log_marginals

DRAWS = number_of(20_000, 300)

# Numbers of no symmetry: three channels, a prior with correlations.
CENTER = np.array([0.3, -1.2, 2.0])
SCALE = np.array([[1.0, 0.3, -0.2], [0.3, 2.0, 0.4], [-0.2, 0.4, 0.7]])
WEIGHT, DEGREES = 0.7, 6.5
RATE_SHAPE, RATE_RATE = np.array([1.3, 0.6]), np.array([0.4, 1.7])
CONCENTRATION = np.array([0.5, 1.5, 3.0, 0.2])

# An autoregression of two channels with two lags: five regressors.
AR_CENTER = np.array([1.5, -0.5])
AR_COEFFICIENTS = np.array([[0.5, 0.1, -0.2, 0.0, 0.3], [-0.1, 0.4, 0.0, 0.2, -0.6]])
AR_PRECISION = np.array([0.8, 1.1, 0.5, 0.9, 0.3])
AR_SCALE = np.array([[0.9, 0.2], [0.2, 1.4]])
AR_BORDERS = np.array([0, 9, 10, 23])  # the second sequence is shorter than the lags


def covariances(rng: np.random.Generator, n: int, channels: int) -> np.ndarray:
    return stats.invwishart(channels + 3, np.eye(channels)).rvs(n, random_state=rng)


def correlated(rng: np.random.Generator, rows: int) -> np.ndarray:
    mixing = np.array([[1.0, 0.0, 0.0], [0.8, 0.5, 0.0], [-0.3, 0.2, 1.5]])
    return rng.normal(size=(rows, 3)) @ mixing.T + np.array([1.0, -1.0, 3.0])


class Case(NamedTuple):
    """One emission: prior, observations, the statistics of groups, and an oracle of marginals."""

    prior: Any
    values: np.ndarray
    statistics: Callable[[np.ndarray, int], np.ndarray]
    marginal: Callable[[np.ndarray], float]  # of the rows of a mask, by a chain of predictions


def gaussian_case() -> Case:
    prior = gaussian.make_prior(CENTER, SCALE, WEIGHT, DEGREES)
    values = correlated(generator(1), 14)
    values[5] = np.nan

    def statistics(groups: np.ndarray, n: int) -> np.ndarray:
        out = np.empty((n, gaussian.statistics_length(3)))
        assert gaussian.statistics(values, groups, prior, out) == 0
        return out

    def marginal(mask: np.ndarray) -> float:
        center, scale, weight, degrees, total = CENTER, SCALE, WEIGHT, DEGREES, 0.0
        for y in values[mask & ~np.isnan(values[:, 0])]:
            df = degrees - 2
            shape = scale * (weight + 1) / (weight * df)
            total += stats.multivariate_t(center, shape, df).logpdf(y)
            scale = scale + weight / (weight + 1) * np.outer(y - center, y - center)
            center, weight, degrees = (
                (weight * center + y) / (weight + 1),
                weight + 1,
                degrees + 1,
            )
        return total

    return Case(prior, values, statistics, marginal)


def diagonal_case() -> Case:
    prior = diagonal_gaussian.make_prior(CENTER, SCALE.diagonal(), WEIGHT, DEGREES)
    values = correlated(generator(2), 14)
    values[5], values[7, 1], values[8, :2] = np.nan, np.nan, np.nan

    def statistics(groups: np.ndarray, n: int) -> np.ndarray:
        out = np.empty((n, diagonal_gaussian.statistics_length(3)))
        diagonal_gaussian.statistics(values, groups, prior, out)
        return out

    def marginal(mask: np.ndarray) -> float:
        total = 0.0
        for i in range(3):
            center, scale, weight, degrees = CENTER[i], SCALE[i, i], WEIGHT, DEGREES
            for y in values[mask, i][~np.isnan(values[mask, i])]:
                spread = np.sqrt(scale * (weight + 1) / (weight * degrees))
                total += stats.t(degrees, center, spread).logpdf(y)
                scale += weight / (weight + 1) * (y - center) ** 2
                center, weight = (weight * center + y) / (weight + 1), weight + 1
                degrees += 1
        return total

    return Case(prior, values, statistics, marginal)


def counts_case() -> Case:
    prior = counts.make_prior(RATE_SHAPE, RATE_RATE)
    values = generator(3).poisson([4.0, 0.7], size=(14, 2)).astype(float)
    values[5], values[7, 1] = np.nan, np.nan

    def statistics(groups: np.ndarray, n: int) -> np.ndarray:
        out = np.empty((n, counts.statistics_length(2)))
        counts.statistics(values, groups, prior, out)
        return out

    def marginal(mask: np.ndarray) -> float:
        total = 0.0
        for i in range(2):
            shape, rate = RATE_SHAPE[i], RATE_RATE[i]
            for y in values[mask, i][~np.isnan(values[mask, i])]:
                total += stats.nbinom(shape, rate / (rate + 1)).logpmf(y)
                shape, rate = shape + y, rate + 1
        return total

    return Case(prior, values, statistics, marginal)


def categories_case() -> Case:
    prior = categories.make_prior(CONCENTRATION)
    values = generator(4).choice(4, size=(14, 1), p=[0.1, 0.5, 0.3, 0.1]).astype(float)
    values[5] = np.nan

    def statistics(groups: np.ndarray, n: int) -> np.ndarray:
        out = np.empty((n, categories.statistics_length(4)))
        categories.statistics(values, groups, prior, out)
        return out

    def marginal(mask: np.ndarray) -> float:
        shape, total = CONCENTRATION.copy(), 0.0
        for y in values[mask & ~np.isnan(values[:, 0]), 0].astype(int):
            total += np.log(shape[y] / shape.sum())
            shape[y] += 1
        return total

    return Case(prior, values, statistics, marginal)


def regressors(values: np.ndarray, borders: np.ndarray, lags: int) -> tuple[np.ndarray, list[int]]:
    """Regressors of the rows that have any, constant last, and the numbers of these rows."""
    rows = [t for a, b in pairwise(borders) for t in range(a + lags, b)]
    return np.array([np.r_[values[t - lags : t][::-1].ravel(), 1.0] for t in rows]), rows


def autoregressive_case() -> Case:
    prior = autoregressive.make_prior(
        2, AR_CENTER, AR_COEFFICIENTS, AR_PRECISION, AR_SCALE, DEGREES
    )
    values = generator(5).normal(size=(23, 2)).cumsum(axis=0) * 0.5 + AR_CENTER

    def statistics(groups: np.ndarray, n: int) -> np.ndarray:
        out = np.empty((n, autoregressive.statistics_length(2, 5)))
        autoregressive.statistics(values, AR_BORDERS, groups, prior, out)
        return out

    def marginal(mask: np.ndarray) -> float:
        x, rows = regressors(values - AR_CENTER, AR_BORDERS, 2)
        mean, precision, scale, degrees = AR_COEFFICIENTS, np.diag(AR_PRECISION), AR_SCALE, DEGREES
        total = 0.0
        for regressor, t in zip(x, rows, strict=True):
            if not mask[t]:
                continue
            y, df = values[t] - AR_CENTER, degrees - 1
            wider = 1 + regressor @ np.linalg.solve(precision, regressor)
            total += stats.multivariate_t(mean @ regressor, scale * wider / df, df).logpdf(y)
            new = precision + np.outer(regressor, regressor)
            moved = np.linalg.solve(new, precision @ mean.T + np.outer(regressor, y)).T
            scale = scale + np.outer(y, y) + mean @ precision @ mean.T - moved @ new @ moved.T
            mean, precision, degrees = moved, new, degrees + 1
        return total

    return Case(prior, values, statistics, marginal)


CASES: dict[str, Callable[[], Case]] = {
    "gaussian": gaussian_case,
    "diagonal gaussian": diagonal_case,
    "counts": counts_case,
    "categories": categories_case,
    "autoregressive": autoregressive_case,
}


def marginals(prior: Any, rows: np.ndarray) -> np.ndarray:
    out = np.empty(len(rows))
    log_marginals(prior, rows, out)
    return out


def worst_z(sample: np.ndarray, mean: Any, variance: Any) -> float:
    """Largest distance of the sample's means from the truth, in standard errors."""
    errors = np.abs(sample.mean(axis=0) - mean)
    return float((errors / np.sqrt(np.asarray(variance) / len(sample))).max())


# Log densities.


def test_gaussian_densities_with_gaps() -> None:
    rng = generator(10)
    values, mean, covariance = correlated(rng, 30), rng.normal(size=(5, 3)), covariances(rng, 5, 3)
    gaps = {3: [0], 4: [0], 5: [2], 6: [0], 9: [0, 1], 10: [1, 2], 11: [0, 1, 2], 12: [0, 1]}
    for t, gap in gaps.items():
        values[t, gap] = np.nan
    out = np.empty((30, 5))
    gaussian.log_likelihood(values, mean, covariance, out)
    for t, y in enumerate(values):
        there = ~np.isnan(y)
        for s in range(5):
            truth = 0.0
            if there.any():
                law = stats.multivariate_normal(mean[s, there], covariance[s][np.ix_(there, there)])
                truth = law.logpdf(y[there])
            assert out[t, s] == pytest.approx(truth, rel=1e-11, abs=1e-11)


def test_diagonal_densities_with_gaps() -> None:
    rng = generator(11)
    values, mean, variance = correlated(rng, 20), rng.normal(size=(5, 3)), rng.gamma(2, size=(5, 3))
    values[3, 0], values[7, 1:], values[8] = np.nan, np.nan, np.nan
    out = np.empty((20, 5))
    diagonal_gaussian.log_likelihood(values, mean, variance, out)
    truth = np.nansum(stats.norm(mean, np.sqrt(variance)).logpdf(values[:, None]), axis=2)
    np.testing.assert_allclose(out, truth, rtol=1e-11, atol=1e-12)


def test_probabilities_of_counts_with_gaps() -> None:
    rng = generator(12)
    values, rate = rng.poisson(6.0, size=(20, 2)).astype(float), rng.gamma(2, 3, size=(5, 2))
    values[2], values[3, 0], values[4, 1], values[5] = 0.0, np.nan, 4000.0, np.nan
    out = np.empty((20, 5))
    counts.log_likelihood(values, rate, out)
    truth = np.nansum(stats.poisson(rate).logpmf(values[:, None]), axis=2)
    np.testing.assert_allclose(out, truth, rtol=1e-11, atol=1e-12)


def test_probabilities_of_categories_with_gaps() -> None:
    rng = generator(13)
    values, probabilities = rng.integers(0, 4, size=(20, 1)) * 1.0, rng.dirichlet(np.ones(4), 5)
    values[3] = np.nan
    out = np.empty((20, 5))
    categories.log_likelihood(values, probabilities, out)
    assert (out[3] == 0).all()
    for t in np.flatnonzero(~np.isnan(values[:, 0])):
        np.testing.assert_allclose(np.exp(out[t]), probabilities[:, int(values[t, 0])], rtol=1e-12)


@pytest.mark.parametrize("lags", [1, 2])
def test_autoregressive_densities_within_sequences(lags: int) -> None:
    rng = generator(14)
    values, borders = rng.normal(size=(23, 2)), AR_BORDERS
    coefficients, covariance = rng.normal(size=(4, 2, 2 * lags + 1)), covariances(rng, 4, 2)
    out = np.full((23, 4), np.nan)
    autoregressive.log_likelihood(values, borders, coefficients, covariance, out)
    x, rows = regressors(values, borders, lags)
    truth = np.zeros((23, 4))
    for regressor, t in zip(x, rows, strict=True):
        for s in range(4):
            law = stats.multivariate_normal(coefficients[s] @ regressor, covariance[s])
            truth[t, s] = law.logpdf(values[t])
    np.testing.assert_allclose(out, truth, rtol=1e-11, atol=1e-12)


# Sufficient statistics and marginal densities.


@pytest.mark.parametrize("name", CASES)
def test_statistics_add_up(name: str) -> None:
    case = CASES[name]()
    groups = generator(15).integers(-1, 3, len(case.values))
    apart, together = case.statistics(groups, 4), case.statistics(np.minimum(groups, 0), 1)
    np.testing.assert_allclose(apart.sum(axis=0), together[0], rtol=1e-12, atol=1e-12)
    assert (apart[3] == 0).all()
    assert apart[:, 0].sum() <= (groups >= 0).sum()


@pytest.mark.parametrize("name", CASES)
def test_marginal_densities_are_chains_of_predictions(name: str) -> None:
    case = CASES[name]()
    groups = generator(16).integers(-1, 3, len(case.values))
    found = marginals(case.prior, case.statistics(groups, 4))
    truth = [case.marginal(groups == g) for g in range(4)]
    np.testing.assert_allclose(found, truth, rtol=1e-10, atol=1e-12)
    assert found[3] == 0.0  # no rows
    assert len(set(found.round(6))) == 4


def test_marginal_density_of_one_channel_by_quadrature() -> None:
    y, weight, degrees, scale, center = np.array([0.4, 1.9, -0.3]), 0.6, 4.5, 1.3, 0.2
    variance = stats.invgamma(degrees / 2, scale=scale / 2)

    def joint(mean: float, v: float) -> float:
        density = stats.norm(mean, np.sqrt(v)).pdf(y).prod() * variance.pdf(v)
        return float(density * stats.norm(center, np.sqrt(v / weight)).pdf(mean))

    grid_v = np.exp(np.linspace(np.log(0.005), np.log(400.0), 241))
    grid_mean = np.linspace(-25.0, 25.0, 1601)
    v, mean = grid_v[:, None], grid_mean[None]
    density = np.exp(
        stats.norm(mean, np.sqrt(v)).logpdf(y[:, None, None]).sum(axis=0)
        + stats.norm(center, np.sqrt(v / weight)).logpdf(mean)
        + variance.logpdf(v)
    )
    assert density[100, 800] == pytest.approx(joint(grid_mean[800], grid_v[100]))
    inner = integrate.simpson(density, x=grid_mean, axis=1)
    truth = np.log(integrate.simpson(inner * grid_v, x=np.log(grid_v)))
    centers, scales = np.array([center]), np.array([scale])
    diagonal = diagonal_gaussian.make_prior(centers, scales, weight, degrees)
    full = gaussian.make_prior(centers, scales[:, None], weight, degrees)
    groups, values = np.zeros(3, np.int64), y[:, None].copy()
    rows = np.empty((1, diagonal_gaussian.statistics_length(1)))
    diagonal_gaussian.statistics(values, groups, diagonal, rows)
    assert marginals(diagonal, rows)[0] == pytest.approx(truth, abs=1e-5)
    rows = np.empty((1, gaussian.statistics_length(1)))
    gaussian.statistics(values, groups, full, rows)
    assert marginals(full, rows)[0] == pytest.approx(truth, abs=1e-5)


def test_marginal_probability_of_counts_by_quadrature() -> None:
    y, shape, rate = np.array([3.0, 0.0, 6.0]), 1.4, 0.8
    prior = counts.make_prior(np.array([shape]), np.array([rate]))
    rows = np.empty((1, counts.statistics_length(1)))
    counts.statistics(y[:, None].copy(), np.zeros(3, np.int64), prior, rows)
    law = stats.gamma(shape, scale=1 / rate)
    truth = integrate.quad(lambda r: stats.poisson(r).pmf(y).prod() * law.pdf(r), 0, 60)[0]
    assert marginals(prior, rows)[0] == pytest.approx(np.log(truth), rel=1e-7)


def test_marginal_densities_are_means_over_the_prior() -> None:
    # Parameters drawn by SciPy from the prior; the mean of the likelihood, in standard errors.
    rng, n = generator(17), 40_000
    values = CENTER[:2] + np.array([[0.3, -0.4], [1.0, 0.2]])
    prior = gaussian.make_prior(CENTER[:2], SCALE[:2, :2], WEIGHT, DEGREES)
    rows = np.empty((1, gaussian.statistics_length(2)))
    gaussian.statistics(values, np.zeros(2, np.int64), prior, rows)
    covariance = stats.invwishart(DEGREES, SCALE[:2, :2]).rvs(n, random_state=rng)
    factor = np.linalg.cholesky(covariance)
    mean = CENTER[:2] + np.einsum("nij,nj->ni", factor, rng.normal(size=(n, 2))) / np.sqrt(WEIGHT)
    log_density = np.zeros(n)
    for y in values:
        z = np.linalg.solve(factor, (y - mean)[:, :, None])[:, :, 0]
        log_density -= np.log(2 * np.pi) + np.log(factor[:, [0, 1], [0, 1]]).sum(axis=1)
        log_density -= (z**2).sum(axis=1) / 2
    likelihood = np.exp(log_density)
    error = likelihood.std() / np.sqrt(n)
    found = np.exp(marginals(prior, rows)[0])
    assert abs(likelihood.mean() - found) < z_limit(1) * error
    # Negative control: one degree of freedom more.
    other = gaussian.make_prior(CENTER[:2], SCALE[:2, :2], WEIGHT, DEGREES + 1)
    wrong = np.exp(marginals(other, rows)[0])
    assert abs(likelihood.mean() - wrong) > z_limit(1) * error


def test_a_prior_without_closed_form_is_refused() -> None:
    with pytest.raises(TypeError, match="cannot be integrated out"):
        log_marginal(None, np.zeros(3))  # type: ignore[arg-type]


@compiled
def sum_of_marginals(prior: Any, rows: np.ndarray) -> float:
    total = 0.0
    for g in range(len(rows)):
        total += log_marginal(prior, rows[g])
    return total


def test_compiled_code_calls_the_function_of_the_prior() -> None:
    case = CASES["counts"]()
    rows = case.statistics(np.arange(14) % 3, 3)
    assert sum_of_marginals(case.prior, rows) == pytest.approx(marginals(case.prior, rows).sum())


# Draws of parameters given rows, against closed-form posteriors.  Every state holds the same rows,
# so that one call makes all draws.


def posterior_of_gaussian(values: np.ndarray) -> tuple[np.ndarray, np.ndarray, float, float]:
    n = len(values)
    if n == 0:
        return CENTER, SCALE, WEIGHT, DEGREES
    mean = values.mean(axis=0)
    spread = (values - mean).T @ (values - mean)
    shift = WEIGHT * n / (WEIGHT + n) * np.outer(mean - CENTER, mean - CENTER)
    center = (WEIGHT * CENTER + n * mean) / (WEIGHT + n)
    return center, SCALE + spread + shift, WEIGHT + n, DEGREES + n


def z_of_inverse_wishart(covariance: np.ndarray, scale: np.ndarray, degrees: float) -> float:
    """Inverses are Wishart: E[W] = ν V, Var W_ij = ν (V_ij² + V_ii V_jj), V the scale's inverse."""
    v = np.linalg.inv(scale)
    variance = degrees * (v**2 + np.outer(v.diagonal(), v.diagonal()))
    return worst_z(np.linalg.inv(covariance), degrees * v, variance)


@pytest.mark.parametrize("rows", [0, 1, 12])
def test_draws_of_gaussian_parameters(rows: int) -> None:
    values = correlated(generator(20), rows)
    prior = gaussian.make_prior(CENTER, SCALE, WEIGHT, DEGREES)
    row = np.empty((1, gaussian.statistics_length(3)))
    gaussian.statistics(values, np.zeros(rows, np.int64), prior, row)
    mean, covariance = np.empty((DRAWS, 3)), np.empty((DRAWS, 3, 3))
    gaussian.draw(bits(21 + rows), prior, np.repeat(row, DRAWS, axis=0), mean, covariance)

    def z_scores(center: Any, scale: Any, weight: float, degrees: float) -> tuple[float, ...]:
        expected = scale / (degrees - 4)
        away = mean - center
        distance = weight * np.einsum("ni,nij,nj->n", away, np.linalg.inv(covariance), away)
        return (
            z_of_inverse_wishart(covariance, scale, degrees),
            worst_z(mean, center, expected.diagonal() / weight),
            worst_z(distance, 3.0, 6.0),
        )

    limit = z_limit(3 * 10)
    center, scale, weight, degrees = posterior_of_gaussian(values)
    assert max(z_scores(center, scale, weight, degrees)) < limit
    assert (covariance == covariance.transpose(0, 2, 1)).all()
    if DRAWS > 1000:  # negative controls: degrees off by one, another weight, one row dropped
        assert z_scores(center, scale, weight, degrees + 1)[0] > limit
        assert z_scores(center, scale, weight * 1.1, degrees)[2] > limit
        if rows == 12:
            assert max(z_scores(*posterior_of_gaussian(values[:-1]))) > limit


@pytest.mark.parametrize("rows", [0, 1, 12])
def test_draws_of_diagonal_gaussian_parameters(rows: int) -> None:
    values = correlated(generator(30), rows)
    values[rows // 2 :, 1] = np.nan
    prior = diagonal_gaussian.make_prior(CENTER, SCALE.diagonal(), WEIGHT, DEGREES)
    row = np.empty((1, diagonal_gaussian.statistics_length(3)))
    diagonal_gaussian.statistics(values, np.zeros(rows, np.int64), prior, row)
    mean, variance = np.empty((2, DRAWS, 3))
    given = np.repeat(row, DRAWS, axis=0)
    diagonal_gaussian.draw(bits(31 + rows), prior, given, mean, variance)

    def z_scores(values: np.ndarray, more: float) -> float:
        worst = 0.0
        for i in range(3):
            y = values[~np.isnan(values[:, i]), i]
            n, shift = len(y), 0.0 if len(y) == 0 else y.mean() - CENTER[i]
            scale = SCALE[i, i] + WEIGHT * n / (WEIGHT + n) * shift**2
            scale += ((y - y.mean()) ** 2).sum() if n else 0.0
            weight, degrees, center = WEIGHT + n, DEGREES + n + more, CENTER[i]
            center += n * shift / weight
            away = weight * (mean[:, i] - center) ** 2 / variance[:, i]
            worst = max(
                worst,
                worst_z(1 / variance[:, i], degrees / scale, 2 * degrees / scale**2),
                worst_z(mean[:, i], center, scale / (degrees - 2) / weight),
                worst_z(away, 1.0, 2.0),
            )
        return worst

    limit = z_limit(3 * 9)
    assert z_scores(values, 0.0) < limit
    if DRAWS > 1000:
        assert z_scores(values, 1.0) > limit
        if rows == 12:
            assert z_scores(values[:-1], 0.0) > limit


@pytest.mark.parametrize("rows", [0, 1, 12])
def test_draws_of_rates(rows: int) -> None:
    values = generator(40).poisson([4.0, 0.7], size=(rows, 2)).astype(float)
    values[rows // 2 :, 1] = np.nan
    prior = counts.make_prior(RATE_SHAPE, RATE_RATE)
    row = np.empty((1, counts.statistics_length(2)))
    counts.statistics(values, np.zeros(rows, np.int64), prior, row)
    rate = np.empty((DRAWS, 2))
    counts.draw(bits(41 + rows), prior, np.repeat(row, DRAWS, axis=0), rate)
    shapes = RATE_SHAPE + np.nansum(values, axis=0)
    rates = RATE_RATE + (~np.isnan(values)).sum(axis=0)
    limit = z_limit(3 * 2)
    assert worst_z(rate, shapes / rates, shapes / rates**2) < limit
    if DRAWS > 1000:
        assert worst_z(rate, (shapes + 1) / rates, (shapes + 1) / rates**2) > limit
        assert worst_z(rate, shapes / (rates + 1), shapes / (rates + 1) ** 2) > limit


@pytest.mark.parametrize("rows", [0, 1, 12])
def test_draws_of_probabilities(rows: int) -> None:
    values = generator(50).choice(4, size=(rows, 1), p=[0.1, 0.5, 0.3, 0.1]).astype(float)
    prior = categories.make_prior(CONCENTRATION)
    row = np.empty((1, categories.statistics_length(4)))
    categories.statistics(values, np.zeros(rows, np.int64), prior, row)
    probabilities = np.empty((DRAWS, 4))
    categories.draw(bits(51 + rows), prior, np.repeat(row, DRAWS, axis=0), probabilities)
    shape = CONCENTRATION + np.bincount(values[:, 0].astype(int), minlength=4)

    def z_score(shape: np.ndarray) -> float:
        mean, total = shape / shape.sum(), shape.sum()
        squares = shape * (shape + 1) / (total * (total + 1))
        fourths = squares * (shape + 2) * (shape + 3) / ((total + 2) * (total + 3))
        first = worst_z(probabilities, mean, mean * (1 - mean) / (total + 1))
        return max(first, worst_z(probabilities**2, squares, fourths - squares**2))

    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0, rtol=1e-12)
    limit = z_limit(3 * 8)
    assert z_score(shape) < limit
    if DRAWS > 1000:
        assert z_score(shape + np.eye(4)[3]) > limit
        assert z_score(shape * 1.3) > limit


@pytest.mark.parametrize("rows", ["none", "all", "some"])
def test_draws_of_autoregressive_parameters(rows: str) -> None:
    case = CASES["autoregressive"]()
    n = len(case.values)
    groups = {"none": np.full(n, -1), "all": np.zeros(n, int), "some": -(np.arange(n) % 2)}[rows]
    row = case.statistics(groups.astype(np.int64), 1)
    raw, covariance = np.empty((DRAWS, 2, 5)), np.empty((DRAWS, 2, 2))
    given = np.repeat(row, DRAWS, axis=0)
    autoregressive.draw(bits(60 + len(rows)), case.prior, given, raw, covariance)
    # Coefficients of the series minus its center.
    coefficients = raw.copy()
    coefficients[:, :, 4] += raw[:, :, :4] @ np.tile(AR_CENTER, 2) - AR_CENTER
    x, used = regressors(case.values - AR_CENTER, AR_BORDERS, 2)
    kept = groups[used] == 0
    x, y = x[kept], (case.values - AR_CENTER)[used][kept]

    def z_scores(x: np.ndarray, y: np.ndarray, more: float) -> float:
        precision = np.diag(AR_PRECISION) + x.T @ x
        start = np.diag(AR_PRECISION) @ AR_COEFFICIENTS.T
        mean = np.linalg.solve(precision, start + x.T @ y).T
        scale = AR_SCALE + y.T @ y + AR_COEFFICIENTS @ start - mean @ precision @ mean.T
        degrees = DEGREES + len(y) + more
        expected = scale / (degrees - 3)
        variance = np.outer(expected.diagonal(), np.linalg.inv(precision).diagonal())
        away, inverse = coefficients - mean, np.linalg.inv(covariance)
        distance = np.einsum("nip,pq,njq,nji->n", away, precision, away, inverse, optimize=True)
        return max(
            z_of_inverse_wishart(covariance, scale, degrees),
            worst_z(coefficients, mean, variance),
            worst_z(distance, 10.0, 20.0),
        )

    limit = z_limit(3 * 15)
    assert z_scores(x, y, 0.0) < limit
    if DRAWS > 1000:
        assert z_scores(x, y, 1.0) > limit
        if rows != "none":
            assert z_scores(x[:-1], y[:-1], 0.0) > limit


# Missing entries and simulated observations.


def test_imputed_entries() -> None:
    mean, covariance = np.array([np.zeros(3), CENTER]), np.array([np.eye(3), SCALE])
    row, missing, there = np.array([np.nan, 1.4, np.nan]), [0, 2], [1]
    values, labels = np.tile(row, (DRAWS, 1)), np.ones(DRAWS, np.int64)
    values[0], values[1] = np.nan, 1.0
    gaussian.impute(bits(71), values, labels, mean, covariance)
    assert np.isnan(values[0]).all()
    assert (values[1] == 1.0).all()
    assert (values[2:, 1] == 1.4).all()
    c = covariance[1]
    slope = c[np.ix_(missing, there)] / c[1, 1]
    center = mean[1, missing] + slope[:, 0] * (1.4 - mean[1, 1])
    left = c[np.ix_(missing, missing)] - slope @ c[np.ix_(there, missing)]
    drawn, limit = values[2:][:, missing], z_limit(5)
    assert worst_z(drawn, center, left.diagonal()) < limit
    away = drawn - center
    products = np.einsum("ni,nj->nij", away, away)
    spread = left**2 + np.outer(left.diagonal(), left.diagonal())
    assert worst_z(products, left, spread) < limit
    if DRAWS > 1000:  # negative control: the marginal instead of the conditional law
        assert worst_z(drawn, mean[1, missing], c.diagonal()[missing]) > limit


def test_simulated_observations() -> None:
    rng, labels = generator(72), np.arange(2 * DRAWS) % 2
    second = labels == 1
    mean, covariance = rng.normal(size=(2, 3)), covariances(rng, 2, 3)
    out, limit = np.empty((len(labels), 3)), z_limit(20)
    gaussian.simulate(bits(73), labels, mean, covariance, out)
    away, c = out[second] - mean[1], covariance[1]
    spread = c**2 + np.outer(c.diagonal(), c.diagonal())
    assert worst_z(np.einsum("ni,nj->nij", away, away), c, spread) < limit
    assert worst_z(out[second], mean[1], c.diagonal()) < limit
    variance = rng.gamma(2, size=(2, 3))
    diagonal_gaussian.simulate(bits(74), labels, mean, variance, out)
    assert worst_z(out[second], mean[1], variance[1]) < limit
    assert worst_z((out[second] - mean[1]) ** 2, variance[1], 2 * variance[1] ** 2) < limit
    rate, out = rng.gamma(2, 3, size=(2, 2)), np.empty((len(labels), 2))
    counts.simulate(bits(75), labels, rate, out)
    assert worst_z(out[second], rate[1], rate[1]) < limit
    probabilities, out = np.array([[0.0, 0.3, 0.7], [0.2, 0.0, 0.8]]), np.empty((len(labels), 1))
    categories.simulate(bits(76), labels, probabilities, out)
    assert set(out[second, 0]) == {0.0, 2.0}
    assert worst_z(out[second] == 2.0, 0.8, 0.16) < limit
    if DRAWS > 1000:
        assert worst_z(out[~second] == 2.0, 0.8, 0.16) > limit


def test_simulated_autoregression_is_that_of_its_residuals() -> None:
    rng = generator(77)
    coefficients = np.array(
        [[[0.5, 0.1, 0.3], [-0.2, 0.3, 1.0]], [[-0.4, 0.0, 2.0], [0.1, 0.6, 0]]]
    )
    covariance, rows = covariances(rng, 2, 2), DRAWS
    borders, labels = np.array([0, rows // 3, rows]), rng.integers(0, 2, rows)
    out = np.zeros((rows, 2))
    autoregressive.simulate(bits(78), labels, borders, coefficients, covariance, out)
    assert (out[borders[:-1]] == 0).all()
    x, used = regressors(out, borders, 1)
    for s in range(2):
        kept = labels[used] == s
        residual = out[used][kept] - x[kept] @ coefficients[s].T
        c = covariance[s]
        assert worst_z(residual, 0.0, c.diagonal()) < z_limit(8)
        assert worst_z(residual**2, c.diagonal(), 2 * c.diagonal() ** 2) < z_limit(8)


# Extremes.


@pytest.mark.parametrize("scale", [1e-90, 1.0, 1e90])
@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_offsets_and_units_change_nothing_else(scale: float, offset: float) -> None:
    """Marginal densities change by the unit's logarithm alone, however far the origin is."""
    rng = generator(80)
    # Steps of 2⁻²⁰ are exact beside an offset of 1e6.
    y = np.rint(rng.normal(size=(60, 2)) * 2**20) / 2**20
    values, center = (y + offset) * scale, np.full(2, offset * scale)
    groups = np.arange(60) % 2
    plain, there = np.empty((2, 6)), np.empty((2, 6))
    prior = gaussian.make_prior(np.zeros(2), np.eye(2), 0.1, 4.0)
    other = gaussian.make_prior(center, np.eye(2) * scale**2, 0.1, 4.0)
    gaussian.statistics(y, groups, prior, plain)
    gaussian.statistics(values, groups, other, there)
    shift = -60 * np.log(scale)
    np.testing.assert_allclose(marginals(other, there), marginals(prior, plain) + shift, rtol=1e-9)
    mean, covariance = np.empty((2, 2)), np.empty((2, 2, 2))
    gaussian.draw(bits(81), other, there, mean, covariance)
    assert (np.linalg.eigvalsh(covariance / scale**2) > 0).all()
    out = np.empty((60, 2))
    gaussian.log_likelihood(values, mean, covariance, out)
    for s in range(2):
        law = stats.multivariate_normal(mean[s] / scale - offset, covariance[s] / scale**2)
        truth = law.logpdf(y) - 2 * np.log(scale)
        np.testing.assert_allclose(out[:, s], truth, rtol=1e-6, atol=1e-6)
    regression = autoregressive.make_prior(
        1, np.zeros(2), np.zeros((2, 3)), np.array([0.1, 0.1, 0.1]), np.eye(2), 4.0
    )
    moved = autoregressive.make_prior(
        1,
        center,
        np.zeros((2, 3)),
        np.array([0.1 * scale**2, 0.1 * scale**2, 0.1]),
        np.eye(2) * scale**2,
        4.0,
    )
    length = autoregressive.statistics_length(2, 3)
    plain, there, borders = np.empty((2, length)), np.empty((2, length)), np.array([0, 60])
    autoregressive.statistics(y, borders, groups, regression, plain)
    autoregressive.statistics(values, borders, groups, moved, there)
    shift = -np.array([29, 30]) * 2 * np.log(scale)
    expected = marginals(regression, plain) + shift
    np.testing.assert_allclose(marginals(moved, there), expected, rtol=1e-9)
    coefficients = np.empty((2, 2, 3))
    autoregressive.draw(bits(82), moved, there, coefficients, covariance)
    out = np.empty((60, 2))
    autoregressive.log_likelihood(values, borders, coefficients, covariance, out)
    assert np.isfinite(out).all()
    assert (out[1:].mean(axis=0) + 2 * np.log(scale) > -20).all()


def test_many_channels_and_states_without_rows() -> None:
    """Twelve channels of very different units, fifty states, most of them with few rows."""
    rng, units = generator(83), 10.0 ** np.linspace(-6, 6, 12)
    values = rng.normal(size=(200, 12)) * units + 1e3 * units
    values[:, 11] = values[:, 10] * units[11] / units[10]  # one channel follows from another
    labels = np.minimum(rng.geometric(0.2, 200), 49)
    prior = gaussian.make_prior(values.mean(axis=0), np.diag(0.1 * units**2), 0.1, 14.0)
    rows = np.empty((50, gaussian.statistics_length(12)))
    gaussian.statistics(values, labels, prior, rows)
    assert (rows[:, 0] == 0).any()
    mean, covariance, out = np.empty((50, 12)), np.empty((50, 12, 12)), np.empty((200, 50))
    gaussian.draw(bits(84), prior, rows, mean, covariance)
    gaussian.log_likelihood(values, mean, covariance, out)
    assert np.isfinite(out).all()
    assert np.isfinite(marginals(prior, rows)).all()
    correlation = covariance / units[:, None] / units
    assert (np.linalg.eigvalsh(correlation) > 0).all()


def test_singular_covariances_and_rare_events_stay_numbers() -> None:
    covariance = np.array([[[1.0, 1.0], [1.0, 1.0]]])
    out = np.empty((1, 1))
    gaussian.log_likelihood(np.array([[0.5, 0.5]]), np.zeros((1, 2)), covariance, out)
    assert np.isfinite(out).all()
    # Tiny shapes: rates and probabilities are positive, so that no logarithm is infinite.
    rate, probabilities = np.empty((200, 1)), np.empty((200, 3))
    prior = counts.make_prior(np.array([1e-4]), np.array([1.0]))
    counts.draw(bits(85), prior, np.zeros((200, 4)), rate)
    assert (rate > 0).all()
    assert rate.min() < 1e-200
    flat = categories.make_prior(np.full(3, 1e-4))
    categories.draw(bits(86), flat, np.zeros((200, 4)), probabilities)
    assert (probabilities > 0).all()
    # A rate of 0 allows the count 0 alone.
    out = np.empty((1, 2))
    with np.errstate(divide="ignore"):
        counts.log_likelihood(np.array([[0.0, 2.0]]), np.array([[0.0, 1.0], [0.0, 3.0]]), out)
    np.testing.assert_allclose(out[0], [-1 - gammaln(3), 2 * np.log(3) - 3 - gammaln(3)])
