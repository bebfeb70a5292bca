"""The Laplace fit: covariances against second differences of the density in 60 digits."""

from collections.abc import Callable
from dataclasses import replace

import mpmath
import numpy as np
import numpy.typing as npt
import pytest
from lib.bounds import SEED
from lib.maximum_cases import MIXED, RIDGE, along_a_path, counts_of
from lib.maximum_oracles import Data, Seen, random_data

import luce
from luce import ConditionalCounts, Posterior
from luce.errors import DataError, MethodError
from luce.estimates.curvature import LaplaceFit
from luce.kernels import curvature

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
                    height((i, 1), (j, 1))
                    - height((i, 1), (j, -1))
                    - height((i, -1), (j, 1))
                    + height((i, -1), (j, -1))
                ) / (4 * h * h)
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
        rows = contrasts(n, reference)
        found = posterior.covariance("log-odds", reference)
        np.testing.assert_allclose(found, rows @ truth @ rows.T, rtol=1e-7, atol=1e-9)
        errors = posterior.standard_errors("log-odds", reference)
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
    truth = exact_covariance(found.values, data, np.zeros(5))
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


def test_covariances_of_plain_counts_are_the_multinomials() -> None:
    seen = np.array([6.0, 10.0, 4.0])
    found = luce.maximum_likelihood(ConditionalCounts(3).observe(dict(enumerate(seen))))
    p, n = seen / 20, 20
    np.testing.assert_allclose(found.covariance(), (np.diag(p) - np.outer(p, p)) / n, rtol=1e-9)
    errors = found.standard_errors("log-odds", reference=0)
    np.testing.assert_allclose(errors, np.sqrt([0, 1 / 6 + 1 / 10, 1 / 6 + 1 / 4]), rtol=1e-9)
    centred = found.covariance("log-odds")
    np.testing.assert_allclose(centred.sum(axis=0), 0, atol=1e-12)


def test_results_have_labels() -> None:
    posterior = Posterior(MIXED, 1.5)
    whole = posterior.covariance("log-odds", reference="c")
    assert whole.dims == ("category", "opponent")
    assert whole["category"].values.tolist() == whole["opponent"].values.tolist() == list("abcde")
    errors = posterior.standard_errors("log-odds", reference="c", among=["d", "a"])
    assert errors["category"].values.tolist() == ["d", "a"]
    variance = whole.sel(category="a", opponent="a")
    assert float(errors.sel(category="a")) ** 2 == pytest.approx(float(variance), rel=1e-12)


# -- some of many -----------------------------------------------------------------------


def left_out(rng: np.random.Generator, n: int) -> ConditionalCounts:
    """Sets that are stored by what they lack, grouped ones among them."""
    counts = ConditionalCounts(n)
    for out in range(n):
        others = {(out + k) % n: int(rng.integers(1, 6)) for k in (1, 2, 4)}
        counts = counts.observe(others, without=[out])
    return counts.observe_group([k for k in range(n) if k != 3], 4).observe_group([0, 1, 2], 3)


@pytest.mark.parametrize("scale", ["simplex", "log-odds"])
@pytest.mark.parametrize("likelihood", [True, False])
def test_conjugate_gradients_give_the_same_covariance(
    monkeypatch: pytest.MonkeyPatch, scale: str, likelihood: bool
) -> None:
    products = 0

    def times_precision(*given: object) -> None:
        nonlocal products
        products += 1
        original(*given)

    original = curvature.times_precision
    monkeypatch.setattr(curvature, "times_precision", times_precision)
    if likelihood:  # the scale is free, and 3 is at 0
        found = luce.maximum_likelihood(along_a_path([(3, 2), (4, 1), (5, 0)]))
        fit = LaplaceFit(found.counts, np.zeros(4), found.values)
    else:
        posterior = Posterior(left_out(np.random.default_rng([SEED, 20]), 9), 0.8)
        mode = posterior.mode("log-odds").values
        fit = LaplaceFit(posterior.counts, posterior.concentration, mode)
    dense = fit.covariance(scale)
    assert products == 0
    np.testing.assert_allclose(
        replace(fit, most_dense=0).covariance(scale), dense, rtol=1e-7, atol=1e-10
    )
    assert products > 0


def test_those_that_are_asked_for_come_in_that_order() -> None:
    posterior, _ = case("groups")
    for scale in ("simplex", "log-odds"):
        whole = posterior.covariance(scale).values
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
    errors = found.standard_errors("log-odds", reference="mean")
    np.testing.assert_allclose(errors**2, [0, 5 / 6, 5 / 6 + 5 / 4], rtol=1e-9)
    assert not np.allclose(found.standard_errors("log-odds"), errors, rtol=1e-3)  # of the mean


def test_flat_maxima_have_no_laplace_fit() -> None:
    apart = ConditionalCounts(4).observe({0: 2, 1: 1}, within=[0, 1])
    apart = apart.observe({2: 2, 3: 1}, within=[2, 3])
    for counts, top in (
        (counts_of(4, RIDGE), np.array([3.0, 3.0, 4.0, 3.0]) / 13),
        (apart, np.array([0.3, 0.2, 0.3, 0.2])),
    ):
        for scale in ("simplex", "log-odds"):
            with pytest.raises(MethodError, match="flat in some direction"):
                LaplaceFit(counts, np.zeros(4), top).covariance(scale)


def test_large_tables_are_asked_for_in_parts() -> None:
    posterior = Posterior(MIXED, 1.5)
    mode = posterior.mode("log-odds").values
    fit = LaplaceFit(MIXED, posterior.concentration, mode, most_columns=3)
    with pytest.raises(MethodError, match="at most 3 can be asked for at once"):
        fit.covariance()
    assert fit.covariance(among="abc").shape == (3, 3)


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
