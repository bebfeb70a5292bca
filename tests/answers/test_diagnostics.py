"""Diagnostics of draws, against plain loops, high precision and known truths."""

from __future__ import annotations

from typing import Any

import mpmath
import numpy as np
import numpy.typing as npt
import pytest
import scipy.linalg
import xarray as xr
from arviz_stats.base import array_stats
from lib.bounds import FALSE_ALARM, z_limit
from lib.bounds import SEED as SWEEP
from scipy.signal import lfilter
from scipy.stats import chi2

import luce
from luce.answers import diagnostics

Floats = npt.NDArray[np.float64]

SEED = 1000 * SWEEP
SHAPES = [(2, 7, 2), (3, 40, 3), (4, 101, 5), (10, 60, 8), (2, 500, 4)]


def dirichlet(shape: tuple[int, int, int], seed: int = 0) -> Floats:
    """Asymmetric probabilities, and chains that do not quite agree."""
    rng = np.random.default_rng(SEED + seed)
    p = rng.gamma(np.arange(shape[2]) + 0.7, size=shape) * rng.uniform(1, 2, (shape[0], 1, 1))
    p[..., 0] += rng.uniform(0, 1, (shape[0], 1))
    return np.asarray(p / p.sum(axis=2, keepdims=True))


def within_and_total(x: Floats) -> tuple[Floats, Floats]:
    """W and V of Brooks and Gelman (1998), by loops over chains and draws."""
    chains, draws, n = x.shape
    within, between = np.zeros((n, n)), np.zeros((n, n))
    means = [sum(x[j]) / draws for j in range(chains)]
    for j in range(chains):
        for t in range(draws):
            within += np.outer(x[j, t] - means[j], x[j, t] - means[j])
        apart = means[j] - sum(means) / chains
        between += np.outer(apart, apart)
    within /= chains * (draws - 1)
    between /= chains - 1
    return within, (draws - 1) / draws * within + (1 + 1 / chains) * between


def largest(matrix: Floats) -> float:
    return float(max(scipy.linalg.eigvals(matrix).real))


def mpsrf_by_loops(x: Floats, without: int = -1) -> float:
    within, total = within_and_total(np.delete(x, without, axis=2))
    return largest(scipy.linalg.inv(within) @ total)


def mpsrf_in_high_precision(x: Floats, without: int) -> float:
    """The same on 80 digits: what these very doubles have for an answer."""
    with mpmath.workdps(80):
        exact = np.vectorize(mpmath.mpf, otypes=[object])(np.delete(x, without, axis=2))
        exact = exact / exact.max(axis=(0, 1))  # units do not matter, but mpmath minds tiny pivots
        chains, draws, n = exact.shape
        means = exact.sum(axis=1) / draws
        y = (exact - means[:, None]).reshape(-1, n)
        apart = means - means.sum(axis=0) / chains
        within = y.T.dot(y) / (chains * (draws - 1))
        between = apart.T.dot(apart) / (chains - 1)
        total = within * (draws - 1) / draws + between * (chains + 1) / chains
        root = mpmath.cholesky(mpmath.matrix(within.tolist())) ** -1
        values = mpmath.eigsy(root * mpmath.matrix(total.tolist()) * root.T, eigvals_only=True)
        return float(max(values))


# -- mpsrf ------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("seed", range(3))
def test_mpsrf_is_that_of_plain_loops(shape: tuple[int, int, int], seed: int) -> None:
    x = dirichlet(shape, seed)
    assert diagnostics.mpsrf(x) == pytest.approx(mpsrf_by_loops(x), rel=1e-10)


@pytest.mark.parametrize("power", [1, 4, 8, 20, 60])
def test_mpsrf_of_probabilities_of_any_size(power: int) -> None:
    """Down to 10^(-3 - 4 power).  Draws add up to 1 only within the rounding of the largest
    category, so that is the one the truth leaves out: what these very doubles say depends on it.
    """
    rng = np.random.default_rng(SEED + power)
    p = rng.gamma([3.0, 1.0, 2.0, 0.9, 1.5, 4.0], size=(3, 50, 6))
    p *= 10.0 ** np.r_[-3 - power * np.arange(4, -1, -1), 0] * rng.uniform(1, 2, (3, 1, 6))
    x = p / p.sum(axis=2, keepdims=True)
    truth = mpsrf_in_high_precision(x, without=5)
    assert diagnostics.mpsrf(x) == pytest.approx(truth, rel=1e-10)
    assert diagnostics.mpsrf(x[:, :, [2, 5, 0, 4, 1, 3]]) == pytest.approx(truth, rel=1e-10)


@pytest.mark.parametrize("shape", SHAPES)
def test_mpsrf_is_the_same_in_all_coordinates(shape: tuple[int, int, int]) -> None:
    """Any category may be left out, or the tangent space of the simplex spanned by Q."""
    x = dirichlet(shape, seed=4)
    n = shape[2]
    ours = diagnostics.mpsrf(x)
    for without in range(n):
        assert mpsrf_by_loops(x, without) == pytest.approx(ours, rel=1e-9)
    order = np.random.default_rng(SEED).permutation(n)
    assert diagnostics.mpsrf(x[:, :, order]) == pytest.approx(ours, rel=1e-10)
    spanning = np.ones((n, n - 1))
    np.fill_diagonal(spanning, -(n - 1))
    q, _ = np.linalg.qr(spanning)
    np.testing.assert_allclose(q.sum(axis=0), 0, atol=1e-14)
    within, total = within_and_total(x @ q)
    by_q = scipy.linalg.eigh(total, within, eigvals_only=True)[-1]
    assert by_q == pytest.approx(ours, rel=1e-9)


def test_the_matrix_as_printed_has_the_eigenvalues_of_v() -> None:
    """W^(-1/2) V W^(1/2) is similar to V; W^(-1/2) V W^(-1/2) to W^-1 V, which is meant."""
    x = dirichlet((4, 101, 5), seed=5)
    within, total = within_and_total(x[:, :, :-1])
    root = scipy.linalg.sqrtm(within)
    inverse = scipy.linalg.inv(root)
    printed, meant = largest(inverse @ total @ root), largest(inverse @ total @ inverse)
    assert printed == pytest.approx(largest(total), rel=1e-9)
    ours = diagnostics.mpsrf(x)
    assert ours == pytest.approx(meant, rel=1e-9)
    # V is a variance of probabilities: at most 1/4 in each category, far below any ratio.
    assert printed < 0.5 < ours


def shifted_and_not(seed: int) -> tuple[Floats, Floats]:
    x = np.random.default_rng(SEED + seed).dirichlet([2.0, 3.0, 1.0, 4.0], size=(4, 1000))
    moved = x.copy()
    step = 0.5 * x[..., 0].std()
    moved[2, :, 0] += step
    moved[2, :, 1] -= step
    return x, moved


def test_a_shifted_chain_is_caught() -> None:
    """Of independent draws, (M-1) B W^-1 is nearly Wishart with M - 1 degrees of freedom.

    Its largest eigenvalue is at most its trace, chi-square with k (M - 1) degrees of freedom in k
    dimensions, so R - (T-1)/T exceeds (1 + 1/M) / (T (M-1)) times the quantile at 1e-4 / 20 less
    than once in ten thousand runs of these 20.  W is uncertain by √(2 / MT), five times which
    is granted.  Half a standard deviation in one of 4 chains adds (5/4) 0.5² / 4 = 0.08.
    """
    quantile = chi2.isf(FALSE_ALARM / 20, 3 * 3)
    bound = 0.999 + (5 / 4) / (1000 * 3) * quantile * (1 + 5 * np.sqrt(2 / 4000))
    assert bound < 1.02
    for seed in range(20):
        same, shifted = shifted_and_not(seed)
        assert diagnostics.mpsrf(same) < bound
        assert diagnostics.mpsrf(shifted) > 1.03
        # Negative control: without the between-chain term the shift would not show.
        within, _ = within_and_total(shifted[:, :50, :-1])
        assert largest(scipy.linalg.inv(within) @ (within * 999 / 1000)) < bound


@pytest.mark.parametrize("draws", [75, 76, 101, 1000])
@pytest.mark.parametrize("points", [1, 4, 25])
def test_mpsrf_convergence_is_that_of_slices(draws: int, points: int) -> None:
    x = dirichlet((3, draws, 4), seed=6)
    x[:, :5] = x[:, :1]  # chains that stand still at first
    found = diagnostics.mpsrf_convergence(x, points)
    ends = found["draw"].values
    assert found.dims == ("draw",)
    assert len(ends) == points
    assert ends[-1] == draws
    assert set(np.diff(ends)) <= {draws // points, draws // points + 1}
    for t in ends:
        part = x[:, t // 2 : t]
        ours = float(found.sel(draw=t))
        assert ours == pytest.approx(diagnostics.mpsrf(part), rel=1e-10)
        if np.isfinite(ours):
            assert ours == pytest.approx(mpsrf_by_loops(part), rel=1e-9)
    if draws == 75 and points == 25:
        assert ends[0] == 3
        assert np.isinf(found[0])


def test_windows_apart_from_the_rest_keep_their_digits() -> None:
    """A bad start dwarfs what follows: sums over all draws, differenced, would lose it."""
    rng = np.random.default_rng(SEED + 7)
    small = 1e-12 * rng.gamma([1.0, 2.0], size=(3, 200, 2))
    small[:, :3] = 0.3
    x = np.concatenate([small, 1 - small.sum(axis=2, keepdims=True)], axis=2)
    found = diagnostics.mpsrf_convergence(x, 10)
    for t in found["draw"].values[1:]:
        part = x[:, t // 2 : t]
        truth = mpsrf_in_high_precision(part, without=2)
        assert float(found.sel(draw=t)) == pytest.approx(truth, rel=1e-10)


# -- where chains do not move -----------------------------------------------------------


def test_chains_that_never_moved() -> None:
    place = np.array([[0.1, 0.2, 0.7], [0.3, 0.3, 0.4]])
    apart = np.repeat(place[:, None], 30, axis=1)
    together = np.repeat(apart[:1], 2, axis=0)
    assert diagnostics.mpsrf(apart) == np.inf
    assert np.isinf(diagnostics.mpsrf_convergence(apart, 5)).all()
    assert diagnostics.mpsrf(together) == 1
    assert (diagnostics.mpsrf_convergence(together, 5) == 1).all()
    assert np.isnan(diagnostics.autocorrelation(apart, 5)).all()
    assert (diagnostics.rhat(apart) > 1e6).all()  # arviz-stats: infinite but for rounding
    assert np.isnan(diagnostics.rhat(together)).all()


def test_one_direction_stands_still() -> None:
    """Both chains keep p_0 + p_1, at different values: no single category shows W = 0."""
    part = np.random.default_rng(SEED + 8).uniform(0.2, 0.8, (2, 100, 2))
    total = np.array([0.4, 0.5])[:, None]
    one, other = total * part[..., 0], (1 - total) * part[..., 1]
    x = np.stack([one, total - one, other, 1 - total - other], axis=2)
    assert diagnostics.mpsrf(x) == np.inf


def test_a_direction_that_stands_still_in_all_chains_alike_is_left_out() -> None:
    part = np.random.default_rng(SEED + 9).uniform(0.2, 0.8, (3, 100, 2))
    part[1] += 0.05
    one, other = 0.4 * part[..., 0], 0.6 * part[..., 1]
    x = np.stack([one, 0.4 - one, other, 0.6 - other], axis=2)
    within, total = within_and_total(part)
    truth = largest(scipy.linalg.inv(within) @ total)
    assert diagnostics.mpsrf(x) == pytest.approx(truth, rel=1e-10)


def test_forbidden_categories_do_not_matter() -> None:
    x = dirichlet((3, 100, 4), seed=10)
    more = np.insert(x, [0, 2], 0.0, axis=2)
    assert diagnostics.mpsrf(more) == pytest.approx(diagnostics.mpsrf(x), rel=1e-12)
    found = diagnostics.autocorrelation(more, 5)
    assert np.isnan(found.isel(category=[0, 3])).all()
    np.testing.assert_allclose(
        found.isel(category=[1, 2, 4, 5]), diagnostics.autocorrelation(x, 5), rtol=1e-9
    )
    assert np.isnan(diagnostics.rhat(more)[[0, 3]]).all()


def test_one_category() -> None:
    x = np.ones((3, 100, 1))
    assert diagnostics.mpsrf(x) == 1
    assert (diagnostics.mpsrf_convergence(x) == 1).all()
    errors = diagnostics.statistic_convergence(x)
    assert (errors["mean_error"] == 0).all()
    assert (errors["variance_error"] == 0).all()


def test_too_few_draws_for_the_dimension() -> None:
    """W of 2 chains of 3 draws has rank 4: in the fifth direction R has no bound."""
    assert np.isfinite(diagnostics.mpsrf(dirichlet((2, 3, 5), seed=11)))
    assert diagnostics.mpsrf(dirichlet((2, 3, 6), seed=11)) == np.inf


# -- means and variances ----------------------------------------------------------------


@pytest.mark.parametrize("draws", [25, 26, 101, 1000])
@pytest.mark.parametrize("points", [1, 4, 25])
@pytest.mark.parametrize("known", [False, True])
def test_statistic_convergence_is_that_of_slices(draws: int, points: int, known: bool) -> None:
    x = dirichlet((3, draws, 4), seed=12)
    half = x[:, draws // 2 :].reshape(-1, 4)
    truth = (half.mean(axis=0), half.var(axis=0))
    pooled = diagnostics.pooled_moments(x)
    np.testing.assert_allclose(pooled[0], truth[0], rtol=1e-12)
    np.testing.assert_allclose(pooled[1], truth[1], rtol=1e-12)
    if known:
        truth = (np.array([0.1, 0.2, 0.3, 0.4]), np.array([0.01, 0.02, 0.02, 0.03]))
    found = diagnostics.statistic_convergence(x, points, truth if known else None)
    assert found["mean_error"].dims == found["variance_error"].dims == ("chain", "draw")
    for t in found["draw"].values:
        for j in range(3):
            part = x[j, t // 2 : t]
            mean_error = np.sqrt(((part.mean(axis=0) - truth[0]) ** 2).sum())
            variance_error = np.sqrt(((part.var(axis=0) - truth[1]) ** 2).sum())
            at = found.sel(chain=j, draw=t)
            assert float(at["mean_error"]) == pytest.approx(mean_error, rel=1e-10, abs=1e-14)
            assert float(at["variance_error"]) == pytest.approx(
                variance_error, rel=1e-10, abs=1e-14
            )


@pytest.mark.parametrize("truth", [([0.5], [0.1, 0.1]), ([0.5, np.nan], [0.1, 0.1]), 3, ("a", "b")])
def test_a_truth_that_does_not_fit_is_refused(truth: Any) -> None:
    with pytest.raises(luce.errors.DataError, match="truth"):
        diagnostics.statistic_convergence(dirichlet((2, 50, 2)), truth=truth)


# -- autocorrelation --------------------------------------------------------------------


@pytest.mark.parametrize("draws", [2, 7, 64, 301])
@pytest.mark.parametrize("scale", [1.0, 1e-200])
def test_autocorrelation_by_hand(draws: int, scale: float) -> None:
    x = dirichlet((2, draws, 3), seed=13)
    lags = min(100, draws - 1)
    found = diagnostics.autocorrelation(scale * x, lags)
    assert found.dims == ("chain", "lag", "category")
    assert found["lag"].values.tolist() == list(range(lags + 1))
    np.testing.assert_allclose(found.sel(lag=0), 1, rtol=1e-15)
    for j in range(2):
        for i in range(3):
            y = x[j, :, i] - x[j, :, i].mean()
            by_hand = np.correlate(y, y, "full")[draws - 1 :][: lags + 1]
            np.testing.assert_allclose(
                found.sel(chain=j, category=i), by_hand / by_hand[0], atol=1e-12
            )
    same = array_stats.autocorr(x, axis=1)[:, : lags + 1]
    np.testing.assert_allclose(found, same, atol=1e-12)


@pytest.mark.parametrize("r", [-0.5, 0.0, 0.8])
def test_autocorrelation_of_autoregressive_chains(r: float) -> None:
    """Bartlett's variance: ((1 + r²)(1 - r^2k) / (1 - r²) - 2 k r^2k) / T for r_k of one chain.

    Its bias is at most ((1 + r) / (1 - r) + 3 k |r|^k) / T (Marriott and Pope 1954; one
    k |r|^k more for the k products that are missing).
    """
    chains, draws = 8, 20_000
    noise = np.random.default_rng(SEED + 14).standard_normal((chains, draws))
    noise[:, 1:] *= np.sqrt(1 - r**2)
    p = 0.5 + 0.01 * np.asarray(lfilter([1.0], [1.0, -r], noise, axis=1))
    found = diagnostics.autocorrelation(np.stack([p, 1 - p], axis=2), 20)
    k = np.arange(1, 21)
    variance = ((1 + r**2) * (1 - r ** (2 * k)) / (1 - r**2) - 2 * k * r ** (2 * k)) / draws
    bias = ((1 + r) / (1 - r) + 3 * k * abs(r) ** k) / draws
    error = np.abs(found.sel(category=0).mean("chain").values[1:] - r**k)
    bound = z_limit(20) * np.sqrt(variance / chains)
    assert (error < bound + bias).all()
    # Negative control: one lag off is outside, where lags differ at all.
    if r:
        assert np.abs(r - r**2) > bound[0] + bias[0]


@pytest.mark.parametrize("lags", [-1, 50, 100])
def test_lags_that_there_are_not(lags: int) -> None:
    with pytest.raises(luce.errors.DataError, match="0 to 49"):
        diagnostics.autocorrelation(dirichlet((2, 50, 2)), lags)


@pytest.mark.parametrize("given", [2.0, 2.5, "2", None, True, np.float64(2)])
def test_lags_and_points_are_whole_numbers(given: Any) -> None:
    x = dirichlet((2, 50, 2))
    with pytest.raises(luce.errors.DataError, match=r"lags = .* a whole number is needed"):
        diagnostics.autocorrelation(x, given)
    for function in (diagnostics.mpsrf_convergence, diagnostics.statistic_convergence):
        with pytest.raises(luce.errors.DataError, match=r"points = .* a whole number is needed"):
            function(x, given)
    assert diagnostics.autocorrelation(x, np.int64(2)).sizes["lag"] == 3


# -- arviz, labels and what is refused --------------------------------------------------


@pytest.mark.parametrize("name", ["rhat", "ess", "mcse"])
def test_those_of_arviz(name: str) -> None:
    x = dirichlet((4, 200, 3), seed=15)
    found = getattr(diagnostics, name)(x)
    assert found.dims == ("category",)
    same = getattr(array_stats, name)(x, chain_axis=0, draw_axis=1)
    np.testing.assert_allclose(found, same, rtol=1e-12)


def test_the_tail_has_its_own_effective_sample_size() -> None:
    x = dirichlet((4, 200, 3), seed=15)
    for ci_prob, tail in ((0.9, 0.05), (0.5, 0.25)):
        found = diagnostics.ess(x, "tail", ci_prob)
        same = array_stats.ess(x, method="tail", prob=(tail, 1 - tail), chain_axis=0, draw_axis=1)
        np.testing.assert_allclose(found, same, rtol=1e-12)
    assert (diagnostics.ess(x, "tail") != diagnostics.ess(x)).all()
    with pytest.raises(luce.errors.MethodError, match="method = 'median' was given"):
        diagnostics.ess(x, "median")
    with pytest.raises(luce.errors.DataError, match="ci_prob = 2"):
        diagnostics.ess(x, "tail", 2)


def test_standard_deviations_and_quantiles_have_their_own_errors() -> None:
    x = dirichlet((4, 200, 3), seed=15)
    axes = {"chain_axis": 0, "draw_axis": 1}
    for method, prob in (("sd", None), ("quantile", 0.05), ("quantile", 0.5)):
        same = array_stats.mcse(x, method=method, prob=prob, **axes)
        found = diagnostics.mcse(x, method, prob)
        np.testing.assert_allclose(found, same, rtol=1e-12)
        assert (found != diagnostics.mcse(x)).all()
    with pytest.raises(luce.errors.MethodError, match="method = 'median' was given"):
        diagnostics.mcse(x, "median")
    for prob in (None, 0, 1, 1.5, "half"):
        with pytest.raises(luce.errors.DataError, match=r"prob = .* between 0 and 1"):
            diagnostics.mcse(x, "quantile", prob)  # type: ignore[arg-type]


def test_few_or_equal_draws_have_no_figures() -> None:
    x = dirichlet((4, 3, 3), seed=19)
    for function in (diagnostics.rhat, diagnostics.ess, diagnostics.mcse):
        assert np.isnan(function(x)).all()
        assert np.isnan(function(np.full((2, 50, 3), 0.25))).all()
    one = dirichlet((1, 50, 3), seed=19)
    assert np.isnan(diagnostics.rhat(one)).all()
    assert np.isfinite(diagnostics.ess(one)).all()


FUNCTIONS: dict[str, Any] = {
    "autocorrelation": lambda x: diagnostics.autocorrelation(x, 7),
    "mpsrf": diagnostics.mpsrf,
    "mpsrf_convergence": lambda x: diagnostics.mpsrf_convergence(x, 5),
    "statistic_convergence": lambda x: diagnostics.statistic_convergence(x, 5).to_array(),
    "pooled_moments": lambda x: np.array(diagnostics.pooled_moments(x)),
    "rhat": diagnostics.rhat,
    "ess": diagnostics.ess,
    "mcse": diagnostics.mcse,
}
every_function = pytest.mark.parametrize("function", FUNCTIONS.values(), ids=FUNCTIONS)


@every_function
@pytest.mark.parametrize("labels", [["a", "bb", "c"], [("a", 1), ("b", 2), ("c", 3)]])
def test_trees_and_arrays_give_the_same(function: Any, labels: list[Any]) -> None:
    x = dirichlet((2, 60, 3), seed=16)
    names = np.empty(3, object)
    names[:] = labels
    index = {"chain": [3, 5], "category": names}
    variable = xr.DataArray(x, index, ("chain", "draw", "category"))
    turned = variable.transpose("category", "draw", "chain")
    tree = xr.DataTree.from_dict({"/posterior": xr.Dataset({"probabilities": turned})})
    before = x.copy()
    plain = function(x)
    for form in [variable, turned, tree, x.tolist()]:
        found = function(form)
        np.testing.assert_array_equal(found, plain)
        if isinstance(found, xr.DataArray):
            named = isinstance(form, xr.DataArray | xr.DataTree)
            if "category" in found.dims:
                assert found["category"].values.tolist() == (labels if named else [0, 1, 2])
            if "chain" in found.dims:
                assert found["chain"].values.tolist() == ([3, 5] if named else [0, 1])
    np.testing.assert_array_equal(x, before)


def test_draws_of_a_posterior() -> None:
    counts = luce.ConditionalCounts(["a", "b", "c"]).observe({"a": 4, "b": 1}, without=["c"])
    draws = luce.Posterior(counts, [0.5, 1.0, 2.0]).sample(500, seed=SEED + 1, progress=False)
    assert diagnostics.ess(draws)["category"].values.tolist() == ["a", "b", "c"]
    assert diagnostics.mpsrf(draws) == pytest.approx(1, abs=0.1)
    assert luce.summary(draws.posterior["probabilities"].values).categories == [0, 1, 2]


REFUSED: dict[str, tuple[Any, str]] = {
    "two dimensions": (np.ones((4, 100)), r"shape \(4, 100\)"),
    "four dimensions": (np.ones((4, 100, 2, 2)), r"shape \(4, 100, 2, 2\)"),
    "other names": (xr.DataArray(np.ones((2, 9, 2)), dims=("a", "draw", "b")), "dimensions"),
    "no chain": (np.ones((0, 100, 2)), "at least one"),
    "no draw": (np.ones((4, 0, 2)), "at least one"),
    "no category": (np.ones((4, 100, 0)), "at least one"),
    "nan": (np.full((2, 90, 2), np.nan), "360 of 360 draws are not finite"),
    "inf": (np.full((2, 90, 2), np.inf), "not finite"),
    "ragged": ([[[1.0, 0.0]], [[1.0]]], "not draws"),
    "words": ([[["0.5", "0.5"]]], "not draws"),
    "complex": (np.ones((2, 90, 2), complex), "not draws"),
    "None": (None, "not draws"),
    "dict": ({"posterior": 1}, "not draws"),
    "empty tree": (xr.DataTree(), "not draws"),
}


@every_function
@pytest.mark.parametrize("given", REFUSED.values(), ids=REFUSED)
def test_what_is_refused(function: Any, given: tuple[Any, str]) -> None:
    with pytest.raises(luce.errors.DataError, match=given[1]):
        function(given[0])


def test_what_the_mpsrf_refuses() -> None:
    x = dirichlet((2, 50, 3), seed=17)
    for function in (diagnostics.mpsrf, lambda y: diagnostics.mpsrf_convergence(y, 1)):
        with pytest.raises(luce.errors.DataError, match="1 chain"):
            function(x[:1])
        with pytest.raises(luce.errors.DataError, match="add up to 1"):
            function(x[:, :, :2])
    with pytest.raises(luce.errors.DataError, match=r"1 draw\(s\)"):
        diagnostics.mpsrf(x[:, :1])
    assert diagnostics.mpsrf(x.astype(np.float32)) == pytest.approx(diagnostics.mpsrf(x), rel=1e-3)


def test_points_that_there_are_not() -> None:
    x = dirichlet((2, 50, 3), seed=18)
    for points in (0, -1, 17):
        with pytest.raises(luce.errors.DataError, match="1 to 16 are possible"):
            diagnostics.mpsrf_convergence(x, points)
    for points in (0, 51):
        with pytest.raises(luce.errors.DataError, match="1 to 50"):
            diagnostics.statistic_convergence(x, points)
    assert diagnostics.mpsrf_convergence(x, 16).sizes["draw"] == 16
    assert diagnostics.statistic_convergence(x, 50).sizes["draw"] == 50
