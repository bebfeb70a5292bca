"""The Laplace fit: covariances against second differences of the density in 60 digits."""

import os
from collections.abc import Callable

import mpmath
import numpy as np
import numpy.typing as npt
import pytest
from lib.maximum_oracles import Data, Seen, random_data
from test_maximum import counts_of
from test_mode import along_a_path

import luce
from luce import ConditionalCounts, Posterior
from luce.errors import DataError, MethodError
from luce.estimates import curvature as uncertainty
from luce.estimates.modes import Mode
from luce.kernels import curvature

SEED = int(os.environ.get("LUCE_TEST_SEED", "0"))
Floats = npt.NDArray[np.float64]


def exact_covariance(p: Floats, data: Data, powers: Floats) -> Floats:
    """Of log p_i - log p_last, at p, for Π p^powers Π (p(outcome) / p(within))^count in these."""
    n = len(p)
    with mpmath.workdps(60):
        h = mpmath.mpf(10) ** -15
        at = [mpmath.log(float(x)) - mpmath.log(float(p[-1])) for x in p]

        def height(*moves: tuple[int, int]) -> mpmath.mpf:
            odds = [
                mpmath.exp(t + h * sum(s for j, s in moves if j == i)) for i, t in enumerate(at)
            ]
            total = mpmath.fsum(odds)
            value = mpmath.fsum(
                mpmath.mpf(float(k)) * mpmath.log(x / total)
                for k, x in zip(powers, odds, strict=True)
            )
            for outcome, within, count in data:
                won, could = (mpmath.fsum(odds[i] for i in s) for s in (outcome, within))
                value += mpmath.mpf(float(count)) * mpmath.log(won / could)
            return value

        curved = mpmath.matrix(n - 1)
        for i in range(n - 1):
            for j in range(n - 1):
                curved[i, j] = -(
                    height((i, 1), (j, 1)) - height((i, 1), (j, -1))
                    - height((i, -1), (j, 1)) + height((i, -1), (j, -1))
                ) / (4 * h * h)  # fmt: skip
        inverse = curved**-1
        out = np.zeros((n, n))
        out[:-1, :-1] = [[float(inverse[i, j]) for j in range(n - 1)] for i in range(n - 1)]
    return out


def contrasts(n: int, reference: int | None) -> Floats:
    """Rows that take log p to log p_i - log p_reference, or less the mean of all."""
    less = np.full(n, 1 / n) if reference is None else np.eye(n)[reference]
    return np.asarray(np.eye(n) - less)


CASES: dict[str, tuple[int, float]] = {  # seed, share of groups
    "pairs and more": (0, 0.0),
    "others": (1, 0.0),
    "groups": (2, 0.5),
    "more groups": (3, 0.8),
}


def case(name: str) -> tuple[Posterior, Data]:
    seed, grouped = CASES[name]
    rng = np.random.default_rng([SEED, seed])
    n = int(rng.integers(4, 6))
    data = random_data(rng, n, 8, grouped)
    return Posterior(counts_of(n, data), rng.uniform(0.4, 2.5, n)), data


@pytest.mark.parametrize("name", CASES)
def test_covariances_are_inverse_curvatures(name: str) -> None:
    posterior, data = case(name)
    p, n = np.asarray(posterior.mode("log-odds")), len(posterior.concentration)
    truth = exact_covariance(p, data, posterior.concentration)
    for reference in (None, 0, n - 2):
        given: dict[str, object] = {} if reference is None else {"reference": reference}
        rows = contrasts(n, reference)
        found = posterior.covariance("log-odds", **given)  # type: ignore[arg-type]
        np.testing.assert_allclose(found, rows @ truth @ rows.T, rtol=1e-7, atol=1e-9)
        errors = posterior.standard_errors("log-odds", **given)  # type: ignore[arg-type]
        np.testing.assert_allclose(errors, np.sqrt(np.diag(found)), rtol=1e-12)
    turned = np.diag(p) - np.outer(p, p)  # how p moves with log p
    np.testing.assert_allclose(
        posterior.covariance(), turned @ truth @ turned, rtol=1e-7, atol=1e-11
    )
    # Elsewhere the curvature is another: at equal probabilities, say.
    other = exact_covariance(np.full(n, 1 / n), data, posterior.concentration)
    assert not np.allclose(other, truth, rtol=1e-3)


@pytest.mark.parametrize("seed", range(3))
def test_maximum_likelihood_has_the_observed_information(seed: int) -> None:
    rng = np.random.default_rng([SEED, 10 + seed])
    circle = [Seen((k,), (k, (k + 1) % 5), int(rng.integers(1, 6))) for k in range(5)]
    data = circle + random_data(rng, 5, 5)
    found = luce.maximum_likelihood(counts_of(5, data))
    truth = exact_covariance(np.asarray(found.probabilities), data, np.zeros(5))
    rows = contrasts(5, 2)
    np.testing.assert_allclose(
        found.covariance("log-odds", reference=2), rows @ truth @ rows.T, rtol=1e-7, atol=1e-9
    )
    np.testing.assert_allclose(
        found.standard_errors("log-odds", 2) ** 2, np.diag(rows @ truth @ rows.T), atol=1e-7
    )


def test_standard_errors_along_a_path() -> None:
    """Each two have the odds of their wins: variances 1/a + 1/b, which add up along the path."""
    wins = [(29.0, 9.0), (4.0, 31.0), (1e12, 1.0), (6.0, 5.0)]
    steps = [1 / a + 1 / b for a, b in wins]
    found = luce.maximum_likelihood(along_a_path(wins)).standard_errors("log-odds", reference=0)
    np.testing.assert_allclose(found**2, np.r_[0, np.cumsum(steps)], rtol=1e-3)
    calm = luce.maximum_likelihood(along_a_path(wins[:2])).standard_errors("log-odds", reference=0)
    np.testing.assert_allclose(calm**2, np.r_[0, np.cumsum(steps[:2])], rtol=1e-9)


# -- some of many -----------------------------------------------------------------------


def left_out(rng: np.random.Generator, n: int) -> ConditionalCounts:
    """Sets that are stored by what they lack, grouped ones among them."""
    counts = ConditionalCounts(n)
    for out in range(n):
        others = {(out + k) % n: int(rng.integers(1, 6)) for k in (1, 2, 4)}
        counts = counts.observe(others, without=[out])
    return counts.observe_group([k for k in range(n) if k != 3], 4).observe_group([0, 1, 2], 3)


@pytest.mark.parametrize("scale", ["simplex", "log-odds"])
def test_conjugate_gradients_give_the_same_covariance(
    monkeypatch: pytest.MonkeyPatch, scale: str
) -> None:
    products = 0

    def times_precision(*given: object) -> None:
        nonlocal products
        products += 1
        original(*given)

    original = curvature.times_precision
    monkeypatch.setattr(curvature, "times_precision", times_precision)
    rng = np.random.default_rng([SEED, 20])
    path = luce.maximum_likelihood(along_a_path([(3, 2), (4, 1), (5, 0)]))
    for ask in (Posterior(left_out(rng, 9), 0.8).covariance, path.covariance):
        dense = ask(scale)
        assert products == 0
        with monkeypatch.context() as few:
            few.setattr(uncertainty, "MOST_DENSE", 0)
            np.testing.assert_allclose(ask(scale), dense, rtol=1e-7, atol=1e-10)
        assert products > 0
        products = 0


def test_those_that_are_asked_for_come_in_that_order() -> None:
    posterior, _ = case("groups")
    for scale in ("simplex", "log-odds"):
        whole = posterior.covariance(scale)
        some = posterior.covariance(scale, among=[3, 0])
        np.testing.assert_allclose(some, whole[np.ix_([3, 0], [3, 0])], rtol=1e-12)
        np.testing.assert_allclose(
            posterior.standard_errors(scale, among=[2]), np.sqrt(whole[2, 2]), rtol=1e-12
        )


def test_a_few_of_very_many_categories() -> None:
    """Without sets the curvature in log λ is c: variances of log-odds are 1/c_i + 1/c_j."""
    counts = ConditionalCounts(2501).observe({0: 7, 1: 2, 2500: 40})
    posterior = Posterior(counts, 1.5)
    with pytest.raises(MethodError, match=r"2,501 categories.*among="):
        posterior.covariance()
    found = posterior.standard_errors("log-odds", reference=2500, among=[0, 1, 2, 2500])
    c = np.array([8.5, 3.5, 1.5])
    np.testing.assert_allclose(found, [*np.sqrt(1 / c + 1 / 41.5), 0], rtol=1e-8, atol=1e-12)


# -- at 0, and what is refused ----------------------------------------------------------


def test_categories_at_0_have_no_standard_error() -> None:
    found = luce.maximum_likelihood(along_a_path([(3, 2), (4, 1), (5, 0)]))
    without = luce.maximum_likelihood(along_a_path([(3, 2), (4, 1)]))
    for scale in ("simplex", "log-odds"):
        covariance = found.covariance(scale)
        assert np.isnan(covariance[3]).all()
        assert np.isnan(covariance[:, 3]).all()
        np.testing.assert_allclose(covariance[:3, :3], without.covariance(scale), rtol=1e-9)
    with pytest.raises(MethodError, match=r"reference = 3 has probability 0"):
        found.covariance("log-odds", reference=3)
    assert np.isnan(found.standard_errors(among=[3])).all()


def test_a_category_may_be_called_mean() -> None:
    wins = ConditionalCounts(["mean", "b", "c"]).observe({"mean": 3, "b": 2}, within=["mean", "b"])
    found = luce.maximum_likelihood(wins.observe({"b": 4, "c": 1}, within=["b", "c"]))
    errors = found.standard_errors("log-odds")
    np.testing.assert_allclose(errors**2, [0, 5 / 6, 5 / 6 + 5 / 4], rtol=1e-9)


def test_a_ridge_has_no_laplace_fit() -> None:
    ridge = [Seen((0, 1), (0, 1, 2), 3), Seen((2,), (0, 1, 2), 2), Seen((1, 3), (1, 2, 3), 3),
             Seen((2,), (1, 2, 3), 2)]  # fmt: skip
    counts = counts_of(4, ridge)
    top = Mode(np.array([3.0, 3.0, 4.0, 3.0]) / 13, "likelihood", counts.categories)
    with pytest.raises(MethodError, match="flat in some direction"):
        uncertainty.covariance_at(counts, np.zeros(4), top, "log-odds", 2, None)


@pytest.mark.parametrize(
    ("ask", "said"),
    [
        (lambda p: p.covariance("log-odds", reference="nobody"), "nobody"),
        (lambda p: p.covariance(among=["a", "nobody"]), "nobody"),
        (lambda p: p.standard_errors(among=["a", "a"]), "'a'"),
    ],
)
def test_unknown_labels_are_refused(ask: Callable[[Posterior], object], said: str) -> None:
    posterior = Posterior(ConditionalCounts("abc").observe({"a": 3, "b": 1}))
    with pytest.raises(DataError, match=said):
        ask(posterior)


def test_a_concentration_that_is_not_known_has_no_laplace_fit() -> None:
    posterior = Posterior(ConditionalCounts("abc").observe({"a": 3}), luce.Gamma(2.0, 1.0))
    for ask in (posterior.mode, posterior.covariance, posterior.standard_errors):
        with pytest.raises(DataError, match="a concentration that is a number"):
            ask()
