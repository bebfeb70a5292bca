"""Predictive checks, reliability diagrams, and curves of ranks."""

import numpy as np
import pytest
from lib.bounds import SEED
from lib.pictures import (
    diamonds,
    fixed,
    legend_of,
    lines,
    names,
    some_counts,
    some_draws,
    some_outcomes,
)
from scipy.stats import binom

import luce
from luce import ConditionalCounts, plots
from luce.answers.rank_uniformity import band_of
from luce.errors import DataError
from luce.plots.canvas import BLUE, CHAINS, VERMILION
from luce.plots.checks import rank_curves


def test_a_predictive_check_by_category() -> None:
    """Draws that never move: replicates are sums of binomials with known moments."""
    draws = fixed([0.5, 0.3, 0.2], 3000)
    counts = ConditionalCounts("cab").observe({"a": 30, "c": 10}, within="ac")
    counts = counts.observe({"b": 55, "c": 5})
    ax = plots.predictive_check(draws, counts, seed=SEED)
    assert names(ax) == ["b", "a", "c"]  # 55 of 60, 30 of 100, 15 of 100
    observed = np.array([55 / 60, 0.30, 0.15])
    np.testing.assert_allclose(diamonds(ax), 100 * observed)
    mean = [60 * 0.3 / 60, (40 * 5 / 7 + 60 * 0.5) / 100, (40 * 2 / 7 + 60 * 0.2) / 100]
    for (row, low, high), centre in zip(lines(ax, 0), mean, strict=True):
        spread = 100 * 1.645 * np.sqrt(0.24 / (60 if row == 0 else 100))
        assert (low + high) / 2 == pytest.approx(100 * centre, abs=2.5)
        assert high - low == pytest.approx(2 * spread, rel=0.25)
    low, high = 100 / 60 * binom(60, 0.3).ppf([0.05, 0.95])
    assert lines(ax, 0)[0][1:] == pytest.approx((low, high), abs=100 / 60 + 1e-9)
    assert legend_of(ax) == ["observed, outside", "replicated: 50 % and 90 % intervals"]
    again = plots.predictive_check(draws, counts, seed=np.random.SeedSequence(SEED), most=2)
    assert names(again) == ["a", "c"]  # the categories that could be the outcome most often
    assert [ends for _, *ends in lines(again, 0)] == [ends for _, *ends in lines(ax, 0)[1:]]


def test_a_predictive_check_by_set() -> None:
    draws = fixed([0.5, 0.3, 0.2], 1500)
    data = [("a", "ac", 15), ("c", "ac", 5), ("b", None, 100), ("a", "ab", 1)]
    ax = plots.predictive_check(draws, data, seed=SEED, most=5)
    assert names(ax) == ["a", "b", "c", "a", "c"]
    headings = [text.get_text() for text in ax.texts]
    assert headings == ["100 outcomes, all possible:", "20 outcomes among a, c:"]
    assert [t.get_position()[1] for t in ax.texts] == [0, 4]
    assert ax.get_yticks().tolist() == [1, 2, 3, 5, 6]
    np.testing.assert_allclose(diamonds(ax), [0, 100, 0, 75, 25])
    for (_, low, high), q, m in zip(
        lines(ax, 0), [0.5, 0.3, 0.2, 5 / 7, 2 / 7], [100, 100, 100, 20, 20], strict=True
    ):
        spread = 100 * 1.645 * np.sqrt(q * (1 - q) / m)
        assert (low + high) / 2 == pytest.approx(100 * q, abs=0.35 * spread)
        assert high - low == pytest.approx(2 * spread, rel=0.3)
    low, high = 100 / 20 * binom(20, 5 / 7).ppf([0.05, 0.95])
    assert lines(ax, 0)[3][1:] == pytest.approx((low, high), abs=5 + 1e-9)
    wide = plots.predictive_check(draws, [("b", None, 9)], most=2)
    assert names(wide) == ["a", "b"]
    five = some_draws(5, list("abcde"))
    (heading,) = plots.predictive_check(five, [("b", "abcd", 9)]).texts
    assert heading.get_text() == "9 outcomes among a, b, c and 1 more:"


def test_a_predictive_check_keeps_to_the_most_frequent() -> None:
    draws = some_draws(60)
    counts = some_counts(draws)
    assert len(names(plots.predictive_check(draws, counts, most=10))) == 10
    same = [lines(plots.predictive_check(draws, counts, seed=s), 0) for s in (1, 1, 2)]
    assert same[0] == same[1] != same[2]
    with pytest.raises(DataError, match=r"a set has 0\.5 outcomes; whole numbers"):
        plots.predictive_check(draws, [("category 0", None, 0.5)])


def test_reliability_is_the_calibration() -> None:
    draws = some_draws(6)
    checked = luce.answers.reliability(draws, some_outcomes(draws), bins=5)
    ax = plots.reliability(checked)
    filled = checked["bin_number"].values > 0
    assert not filled.all()
    expected = np.c_[checked["bin_predicted"], checked["bin_observed"]][filled]
    np.testing.assert_allclose(ax.collections[1].get_offsets(), expected)
    half = 1.96 * checked["bin_error"].values[filled]
    ends = np.clip(np.c_[expected[:, 0] - half, expected[:, 0] + half], 0, 1)
    bars = [s[:, 1] for s in ax.collections[0].get_segments()]  # type: ignore[attr-defined]
    np.testing.assert_allclose(bars, ends)
    assert f"Brier score {float(checked['brier_score']):.3f}" in ax.get_title(loc="right")
    with pytest.raises(
        DataError, match=r"luce\.answers\.reliability returned is needed; DataArray"
    ):
        plots.reliability(draws)  # type: ignore[arg-type]


def test_curves_of_ranks_leave_the_band_where_ranks_are_not_uniform() -> None:
    rng = np.random.default_rng(1)
    uniform = rng.integers(0, 11, (60, 1))
    skewed = np.minimum(rng.integers(0, 11, (60, 1)), rng.integers(0, 7, (60, 1)))
    ranks = np.hstack([uniform, np.zeros((60, 1), np.int64), skewed])
    ax = rank_curves(ranks, ["right", "lowest", "low"], 10, 0.05)
    share = np.arange(1, 11) / 11
    below = np.array([(ranks <= k).mean(axis=0) for k in range(10)]) - share[:, None]
    for j, line in enumerate(ax.lines[1:]):
        np.testing.assert_allclose(line.get_ydata()[1:-1], below[:, j])
    colours = [line.get_color() for line in ax.lines[1:]]
    assert colours == [BLUE, VERMILION, CHAINS[1]]  # the farther one is the first that is named
    assert legend_of(ax) == ["lowest", "low"]
    least, most = band_of(60, 10, 0.05 / 3)
    outside = (ranks[:, :1] <= np.arange(10)).sum(axis=0)
    assert ((outside >= least) & (outside <= most)).all()
    assert rank_curves(uniform, ["right"], 10, 0.05).get_legend() is None
