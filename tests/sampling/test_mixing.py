"""R-hat, effective sample sizes and Monte Carlo errors, against arviz-stats."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pytest
from arviz_stats.base import array_stats
from lib import bounds
from scipy.signal import lfilter
from scipy.stats import norm, rankdata

from luce.sampling import mixing

Floats = npt.NDArray[np.float64]

SEED = 1000 * bounds.SEED
TAILS = (0.05, 0.95)


def autoregressive(shape: tuple[int, int, int], correlation: float, seed: int) -> Floats:
    noise = np.random.default_rng(SEED + seed).standard_normal(shape)
    noise[..., 1:] *= np.sqrt(1 - correlation**2)
    return np.asarray(lfilter([1.0], [1.0, -correlation], noise, axis=2))


# What is done to white or correlated noise before it is diagnosed.
SHAPES: dict[str, Callable[[Floats], Floats]] = {
    "as it is": lambda x: x,
    "some equal": lambda x: np.round(x, 1),
    "most equal": np.round,
    "two values": lambda x: (x > 0).astype(np.float64),
    "a chain apart": lambda x: x + np.eye(x.shape[1])[0][:, None],
    "a chain that stands still": lambda x: np.where(np.eye(x.shape[1])[0][:, None] == 1, 0.5, x),
    "unequal spreads": lambda x: x * (1 + np.eye(x.shape[1])[0][:, None]),
    "negative": lambda x: -np.exp(3 * x),
    "tiny": lambda x: 1e-4 * np.exp(x),
    "both zeros": lambda x: np.where(x > 1, 0.0, np.where(x < -1, -0.0, x)),
}


def figures(x: Floats) -> dict[str, Floats]:
    ranked = mixing.ranking(mixing.flat(x))
    scores = mixing.normal_scores(ranked, x.shape)
    return {
        "rhat": mixing.larger_rhat(scores, mixing.folded_scores(ranked, x.shape)),
        "bulk": mixing.effective_sizes(scores),
        "tail": mixing.tail_sizes(x, mixing.quantiles(ranked.rising, TAILS)),
        "mean": mixing.sizes_of_means(x),
        "mcse mean": mixing.errors_of_means(x),
        "mcse sd": mixing.errors_of_sds(x),
        "mcse quantile": mixing.errors_of_quantiles(x, 0.3),
    }


def figures_of_arviz(x: Floats) -> dict[str, Floats]:
    return {
        "rhat": array_stats.rhat(x),
        "bulk": array_stats.ess(x, method="bulk"),
        "tail": array_stats.ess(x, method="tail", prob=TAILS),
        "mean": array_stats.ess(x, method="mean"),
        "mcse mean": array_stats.mcse(x, method="mean"),
        "mcse sd": array_stats.mcse(x, method="sd"),
        "mcse quantile": array_stats.mcse(x, method="quantile", prob=0.3),
    }


def series(name: str, x: Floats) -> list[Floats]:
    """Return the numbers whose correlations a figure of one variable sums, in halves of chains."""
    half = x.shape[1] // 2

    def below(prob: float) -> Floats:
        return (x <= np.quantile(x, prob)).astype(np.float64)

    split = [np.concatenate([y[:, :half], y[:, -half:]]) for y in (x, *map(below, (*TAILS, 0.3)))]
    scores = norm.ppf((rankdata(split[0]) - 3 / 8) / (split[0].size + 1 / 4))
    own = {"bulk": [scores.reshape(split[0].shape)], "tail": split[1:3], "mcse quantile": split[3:]}
    return own.get(name, split[:1])


def undecided(y: Floats) -> bool:
    """Tell whether a pair of correlations is 0 up to rounding: where the sum is cut is by lot."""
    m, n = y.shape
    centred = y - y.mean(axis=1, keepdims=True)
    sums = np.sum([np.correlate(z, z, "full")[n - 1 :] for z in centred], axis=0) / (m * n)
    total = sums[0] + y.mean(axis=1).var(ddof=1)
    correlation = 1 - (sums[0] * n / (n - 1) - sums[: n // 2 * 2]) / total
    pairs = correlation.reshape(-1, 2).sum(axis=1)
    return bool((np.abs(pairs[1:]) < 1e-12).any())


SIZES = [(2, 4), (3, 5), (8, 6), (4, 7), (2, 8), (3, 9), (5, 10), (2, 11), (7, 12), (6, 13)]
SIZES += [(4, 33), (2, 40), (8, 41), (3, 150), (2, 301), (4, 1000)]


@pytest.mark.filterwarnings("ignore:invalid value|divide by zero")  # of arviz-stats
@pytest.mark.parametrize("correlation", [-0.6, 0.0, 0.5, 0.9, 0.995])
@pytest.mark.parametrize("form", SHAPES.values(), ids=SHAPES)
def test_figures_are_those_of_arviz(correlation: float, form: Callable[[Floats], Floats]) -> None:
    for chains, draws in SIZES:
        x = form(autoregressive((2, chains, draws), correlation, seed=draws))
        x = x[np.ptp(x, axis=(1, 2)) > 0]
        if len(x) == 0:
            continue
        theirs = figures_of_arviz(x)
        for name, ours in figures(x).items():
            same = np.isclose(ours, theirs[name], rtol=1e-10, atol=0, equal_nan=True)
            by_lot = [any(map(undecided, series(name, y))) for y in x[~same]]
            assert all(by_lot), (name, chains, draws, ours, theirs[name])


def test_a_pair_of_correlations_that_is_0_is_recognised() -> None:
    rows = ["01011", "01011", "00110", "11100", "11111", "11111"]
    marks = np.array([[float(mark) for mark in row] for row in rows])
    assert undecided(marks)
    marks[0, 0] = 1
    assert not undecided(marks)


@pytest.mark.parametrize("draws", [4, 9, 50, 51, 1000])
def test_a_single_chain_has_sizes_as_in_arviz(draws: int) -> None:
    x = autoregressive((3, 1, draws), 0.7, seed=draws)
    theirs, ours = figures_of_arviz(x), figures(x)
    assert np.isnan(theirs.pop("rhat")).all()
    for name, same in theirs.items():
        np.testing.assert_allclose(ours[name], same, rtol=1e-10)
    halves = x.reshape(3, 2, draws // 2) if draws % 2 == 0 else None
    if halves is not None and draws >= 8:  # halves of halves, were they split again
        assert (ours["rhat"] != figures(halves)["rhat"]).all()


def test_negative_control_the_middle_draw_counts_where_it_is_not_left_out() -> None:
    """An odd number of draws without its last one instead of its middle one is another figure."""
    x = autoregressive((2, 4, 33), 0.5, seed=1)
    assert not np.allclose(figures(x[..., :-1])["bulk"], array_stats.ess(x), rtol=1e-6)


@pytest.mark.parametrize("scale", [1e-300, 1e-12, 1e12, 1e300])
def test_errors_of_numbers_of_any_size(scale: float) -> None:
    """In powers of two, so that every figure scales without rounding."""
    x = autoregressive((3, 4, 200), 0.5, seed=2)
    power = 2.0 ** round(np.log2(scale))
    plain, scaled = figures(x), figures(power * x)
    for name, value in plain.items():
        unit = power if name.startswith("mcse") else 1.0
        np.testing.assert_array_equal(scaled[name], unit * value)


def test_slow_chains_beyond_the_lags_that_are_looked_at_first() -> None:
    """A trend is correlated over a third of the chain: all lags must be summed."""
    x = autoregressive((2, 2, 2000), 0.0, seed=3) + np.linspace(-9, 9, 2000)
    for name, theirs in figures_of_arviz(x).items():
        np.testing.assert_allclose(figures(x)[name], theirs, rtol=1e-10, err_msg=name)


# -- sorting ---------------------------------------------------------------------------------------


def neighbours(seed: int, n: int) -> Floats:
    """Numbers of which many differ in their last bits only, or not at all."""
    rng = np.random.default_rng(SEED + seed)
    x = rng.choice([-1.0, -0.5, 1e-300, 0.0, 0.25, 3.0], (3, n))
    return np.where(rng.random((3, n)) < 0.5, x * (1 + rng.integers(0, 9, (3, n)) * 2.0**-51), x)


@pytest.mark.parametrize("n", [1, 2, 3, 17, 1000, 4097])
@pytest.mark.parametrize("crowded", [False, True])
def test_sorting_is_that_of_numpy(n: int, crowded: bool) -> None:
    x = np.random.default_rng(SEED + n).standard_normal((3, n))
    some = neighbours(n, n)
    few = np.arange(n) % 200 < 3  # few enough to be settled one by one
    x = some if crowded else np.where(few, some, x)
    places, rising = mixing.ranking(x)
    np.testing.assert_array_equal(rising, np.sort(x, axis=1))
    np.testing.assert_array_equal(x.reshape(-1)[places], rising)
    np.testing.assert_array_equal(np.sort(places, axis=1), np.arange(3 * n).reshape(3, n))


def test_keys_alone_would_not_sort_numbers_that_are_close() -> None:
    """The control: these differ only in bits that the places take."""
    x = 1 + 2.0**-52 * np.arange(1000)[None, ::-1]
    keys = x.view(np.int64) & ~1023 | np.arange(1000)
    assert (np.diff(x[0][np.sort(keys)[0] & 1023]) < 0).any()
    np.testing.assert_array_equal(mixing.ranking(x).places[0], np.arange(1000)[::-1])


def test_equal_numbers_have_their_mean_rank() -> None:
    x = np.array([[[3.0, 1.0, 2.0, 2.0, 5.0, 2.0]], [[1.0, 2.0, 3.0, 4.0, 4.0, 5.0]]])
    scores = mixing.scores(mixing.ranking(mixing.flat(x)), x.shape)
    ranks = rankdata(scores.reshape(2, -1), axis=1)
    np.testing.assert_array_equal(ranks, rankdata(x.reshape(2, -1), axis=1))


@pytest.mark.parametrize("n", [1, 2, 7, 100])
def test_quantiles_are_those_of_numpy(n: int) -> None:
    x = np.sort(np.random.default_rng(SEED + n).standard_normal((4, n)), axis=1)
    probs = (0.05, 0.3, 0.5, 0.77, 0.95)
    np.testing.assert_array_equal(mixing.quantiles(x, probs), np.quantile(x, probs, axis=1))


# -- packages --------------------------------------------------------------------------------------


def test_a_summary_imports_no_package_of_diagnostics() -> None:
    """arviz-stats takes longer to import than most runs, and so does scipy.stats."""
    script = (
        "import sys, numpy as np, luce\n"
        "luce.summary(np.random.default_rng(1).dirichlet([1, 2, 3], (4, 100)))\n"
        "names = ['arviz_stats', 'scipy.stats', 'numba', 'dask']\n"
        "print([name for name in names if name in sys.modules])\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert (done.stdout.strip(), done.stderr) == ("[]", "")
