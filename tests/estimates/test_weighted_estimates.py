"""Modes, standard errors and evidences of weighted sets, against optimisers and quadrature."""

import numpy as np
import pytest
from lib.bounds import SEED, z_limit
from lib.weighted_cases import CASES, OVERLAPPING, SINGLE, counts_of, log_likelihood, quadrature
from scipy.integrate import quad
from scipy.optimize import minimize
from scipy.special import gammaln

import luce
from luce import ConditionalCounts, Posterior
from luce.errors import NoMaximumError, NotExactError

CONCENTRATION = np.array([1.5, 1.7, 2.0])


def best(terms: list, powers: np.ndarray) -> np.ndarray:
    """Maximise Π p^powers times the likelihood by a general optimiser, over log odds."""

    def loss(free: np.ndarray) -> float:
        theta = np.append(free, 0.0)
        log_p = theta - np.logaddexp.reduce(theta)
        return float(-(log_p @ powers) - log_likelihood(terms, log_p))

    starts = [np.array([a, b]) for a in (-1.0, 1.0) for b in (-1.0, 1.0)]
    options = {"xatol": 1e-10, "fatol": 1e-14, "maxiter": 4000}
    ends = [minimize(loss, start, method="Nelder-Mead", options=options) for start in starts]
    theta = np.append(min(ends, key=lambda end: end.fun).x, 0.0)
    return np.exp(theta - np.logaddexp.reduce(theta))


@pytest.mark.parametrize("scale", ["simplex", "log-odds"])
@pytest.mark.parametrize("case", CASES)
def test_modes(case: str, scale: str) -> None:
    terms = CASES[case]
    mode = Posterior(counts_of(terms), CONCENTRATION).mode(scale=scale)
    powers = CONCENTRATION - 1 if scale == "simplex" else CONCENTRATION
    np.testing.assert_allclose(mode.values, best(terms, powers), atol=2e-6)


def test_maximum_likelihood_and_its_standard_errors() -> None:
    estimate = luce.maximum_likelihood(counts_of(OVERLAPPING))
    np.testing.assert_allclose(estimate.values, best(OVERLAPPING, np.zeros(3)), atol=2e-6)
    logs = np.log(estimate.values)
    assert estimate.log_likelihood == pytest.approx(log_likelihood(OVERLAPPING, logs))

    def value(x: np.ndarray) -> float:
        theta = np.array([x[0], x[1], 0.0])
        return float(log_likelihood(OVERLAPPING, theta - np.logaddexp.reduce(theta)))

    at, h = logs[:2] - logs[2], 1e-4
    bend = np.empty((2, 2))
    for i, e in enumerate(h * np.eye(2)):
        for j, g in enumerate(h * np.eye(2)):
            corners = value(at + e + g) - value(at + e - g) - value(at - e + g) + value(at - e - g)
            bend[i, j] = -corners / (4 * h**2)
    errors = estimate.standard_errors("log-odds", reference="c").values[:2]
    np.testing.assert_allclose(errors, np.sqrt(np.diag(np.linalg.inv(bend))), rtol=1e-5)


def test_there_is_no_maximum_where_a_group_never_won() -> None:
    """c and d beat each other, and never a or b: the diagnosis needs no weights."""
    counts = ConditionalCounts("abcd").observe({"a": 3, "b": 1}, within={"a": 1, "b": 0.5})
    counts = counts.observe({"c": 1, "d": 2}, within={"c": 1, "d": 0.3})
    counts = counts.observe({"a": 2, "b": 1}, within={"a": 1, "b": 2, "c": 0.5, "d": 3})
    with pytest.raises(NoMaximumError, match="'a', 'b' never lost"):
        luce.maximum_likelihood(counts)
    bound = counts.observe({"c": 1}, within={"a": 3, "c": 1})
    assert luce.maximum_likelihood(bound).values.min() > 0


def test_evidence_of_a_single_set_is_an_integral() -> None:
    posterior = Posterior(counts_of(SINGLE), CONCENTRATION)
    for method in ("auto", "exact"):
        found = posterior.log_evidence(method=method, progress=False)
        assert found.method == "quadrature"
        assert found.value == pytest.approx(
            quadrature(SINGLE, CONCENTRATION).log_evidence, abs=1e-10
        )
        assert found.standard_error < 1e-9
    bridge = posterior.log_evidence(1000, method="bridge", seed=SEED, progress=False)
    assert abs(bridge.value - found.value) < z_limit() * bridge.standard_error


@pytest.mark.parametrize("small", [1e-2, 1.0, 300.0])
def test_evidence_of_a_single_set_with_extreme_shapes(small: float) -> None:
    """Two categories: the integral over their share, by adaptive quadrature of it."""
    counts = ConditionalCounts("ab").observe({"a": 2, "b": 40}, within={"a": 1, "b": 1e-3})
    found = Posterior(counts, [small, 2.0]).log_evidence(progress=False)

    def height(x: float) -> float:
        """Log integrand in x = logit p_a."""
        log_a, log_b = -np.logaddexp(0, -x), -np.logaddexp(0, x)
        value = (small + 2) * log_a + 42 * log_b - 42 * np.logaddexp(log_a, log_b + np.log(1e-3))
        return float(value)

    grid = np.linspace(-60 / min(small, 1), 60, 4001)
    peak = grid[np.argmax([height(x) for x in grid])]
    top = height(peak)
    parts = [
        quad(lambda x: np.exp(height(x) - top), a, b, limit=400, epsabs=0, epsrel=1e-11)[0]
        for a, b in [(grid[0], peak - 5), (peak - 5, peak), (peak, peak + 5), (peak + 5, 60.0)]
    ]
    prior = gammaln(small + 2) - gammaln(small)
    assert found.value == pytest.approx(top + np.log(sum(parts)) + prior, abs=1e-8)


@pytest.mark.compiled
@pytest.mark.parametrize("case", ["overlapping", "teams"])
def test_evidence_of_overlapping_sets(case: str) -> None:
    terms = CASES[case]
    found = Posterior(counts_of(terms), CONCENTRATION).log_evidence(2000, seed=SEED, progress=False)
    truth = quadrature(terms, CONCENTRATION).log_evidence
    for name in ("bridge", "chib"):
        each = found.details[name]
        assert abs(each.value - truth) < z_limit(4) * each.standard_error
        assert each.standard_error < 0.1


def test_a_constant_factor_is_part_of_the_evidence() -> None:
    """Weights 4 and 4 of one set: an ordinary set, and the constant 4^-3."""
    plain = ConditionalCounts("abc").observe({"a": 2, "b": 1}, within="ab")
    heavy = ConditionalCounts("abc").observe({"a": 2, "b": 1}, within={"a": 4, "b": 4})
    difference = Posterior(heavy).log_evidence().value - Posterior(plain).log_evidence().value
    assert difference == pytest.approx(-3 * np.log(4))
    here = [0.2, 0.3, 0.5]
    both = Posterior(heavy).log_density(here) - Posterior(plain).log_density(here)
    assert both == pytest.approx(-3 * np.log(4))


def test_closed_forms_refuse_in_words() -> None:
    with pytest.raises(NotExactError, match="have no weights"):
        Posterior(counts_of(SINGLE)).mean()
