"""Shares, log odds, Elo and intervals, against loops."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
import xarray as xr
from lib.answer_cases import PLAIN, deep_logs, dirichlet, draws_of, tree_of

import luce
from luce import ConditionalCounts, Posterior
from luce.errors import DataError


def test_shares_are_those_of_loops() -> None:
    x = dirichlet([0.7, 1.0, 2.0, 3.0])
    found = luce.shares(draws_of(x), among=["d", "a", "c"])
    assert found.dims == ("chain", "draw", "category")
    assert found["category"].values.tolist() == ["d", "a", "c"]
    truth = [[p[3], p[0], p[2]] / (p[0] + p[2] + p[3]) for p in x.reshape(-1, 4)]
    np.testing.assert_allclose(found.values.reshape(-1, 3), truth, rtol=1e-13)
    np.testing.assert_allclose(luce.shares(draws_of(x)), x, rtol=1e-13)
    grouped = luce.shares(draws_of(x), "dac", groups={"ends": "ad", "middle": "c"})
    assert grouped.dims == ("chain", "draw", "group")
    assert grouped["group"].values.tolist() == ["ends", "middle"]
    both = [[p[0] + p[1], p[2]] for p in found.values.reshape(-1, 3)]
    np.testing.assert_allclose(grouped.values.reshape(-1, 2), both, rtol=1e-13)


def test_shares_where_all_on_offer_underflow() -> None:
    logs = deep_logs()
    tree = tree_of(logs)
    assert (tree["posterior"]["probabilities"].values[:, :, [1, 3]] == 0).all()
    truth = 1 / (1 + np.exp(logs[:, :, 3] - logs[:, :, 1]))
    np.testing.assert_allclose(luce.shares(tree, "bd")[:, :, 0], truth, rtol=1e-12)
    np.testing.assert_allclose(luce.beats(tree, "b", "d"), truth, rtol=1e-12)
    table = luce.answers.reliability(tree, [("b", "bd", 1)])
    np.testing.assert_allclose(table["predicted"][0], truth.mean(), rtol=1e-12)
    np.testing.assert_allclose(luce.log_odds(tree, "a"), logs - logs[:, :, :1], rtol=1e-12)


def test_log_odds_and_elo_are_those_of_loops() -> None:
    x = dirichlet([0.7, 1.0, 2.0, 3.0])
    for reference in ["c", None]:
        odds, elo = luce.log_odds(draws_of(x), reference), luce.elo(draws_of(x), reference)
        assert odds.dims == elo.dims == ("chain", "draw", "category")
        for j, t, i in itertools.product(range(2), range(0, 50, 7), range(4)):
            p = x[j, t]
            base = math.log(p[2]) if reference == "c" else math.fsum(map(math.log, p)) / 4
            assert float(odds[j, t, i]) == pytest.approx(math.log(p[i]) - base, abs=1e-12)
            points = 1500 + 400 * (math.log(p[i]) - base) / math.log(10)
            assert float(elo[j, t, i]) == pytest.approx(points, rel=1e-12)
    # Odds of 10 to 1 are 400 points.
    ten = draws_of(np.array([[[10 / 11, 1 / 11]]]))
    assert luce.elo(ten, "b", at=100).values.tolist() == [[[pytest.approx(500), 100]]]


def test_intervals_are_quantiles_of_all_draws() -> None:
    x = dirichlet([0.7, 1.0, 2.0], draws=101)
    found = luce.answers.intervals(luce.shares(draws_of(x), "ab"), ci_prob=0.8)
    assert list(found) == ["mean", "sd", "lower", "upper"]
    flat = np.sort((x[:, :, 0] / (x[:, :, 0] + x[:, :, 1])).ravel())
    assert float(found["mean"][0]) == pytest.approx(flat.mean())
    assert float(found["sd"][0]) == pytest.approx(flat.std())
    at = 0.1 * (len(flat) - 1)
    k = int(at)
    assert float(found["lower"][0]) == pytest.approx(
        flat[k] + (at - k) * (flat[k + 1] - flat[k]), rel=1e-9
    )
    assert float(found["upper"][1]) == pytest.approx(1 - float(found["lower"][0]), rel=1e-9)
    assert found["category"].values.tolist() == ["a", "b"]
    assert luce.answers.intervals(luce.beats(draws_of(x), "a", "b"))["mean"].dims == ()
    tree = xr.DataTree.from_dict({"/posterior": xr.Dataset({"probabilities": draws_of(x)})})
    np.testing.assert_allclose(luce.answers.intervals(tree)["mean"], x.mean(axis=(0, 1)))


def test_groups_may_have_any_names() -> None:
    numbered = luce.shares(PLAIN, groups={1: "ac", "rest": ["d"]})  # type: ignore[dict-item]
    assert numbered["group"].values.tolist() == [1, "rest"]


def test_the_mean_is_no_label() -> None:
    x = dirichlet([1.0, 2.0, 3.0])
    named = draws_of(x, ["mean", "b", "c"])
    np.testing.assert_array_equal(luce.log_odds(named, "mean")[:, :, 0], 0)
    np.testing.assert_array_equal(luce.log_odds(named), luce.log_odds(draws_of(x)))
    with pytest.raises(DataError, match="reference = 'mean' is not a category"):
        luce.log_odds(draws_of(x), "mean")
    against = luce.log_odds(PLAIN, reference="b", among="ab").values
    logs = np.log(PLAIN.values)
    np.testing.assert_allclose(against, logs[..., :2] - logs[..., [1]], atol=1e-12)


def test_scales_that_cannot_be_read() -> None:
    with pytest.raises(DataError, match="groups must map names to labels"):
        luce.shares(PLAIN, groups={})
    with pytest.raises(DataError, match="'b' in groups\\['g'\\] is not on offer"):
        luce.shares(PLAIN, among="ac", groups={"g": "ab"})
    with pytest.raises(DataError, match="among is empty"):
        luce.shares(PLAIN, among=[])
    for at in (np.inf, "high"):
        with pytest.raises(DataError, match="a finite number is needed"):
            luce.elo(PLAIN, at=at)  # type: ignore[arg-type]
    for ci_prob in (0.0, 1.0, "wide"):
        with pytest.raises(DataError, match="a number between 0 and 1"):
            luce.answers.intervals(PLAIN, ci_prob)  # type: ignore[arg-type]
    with pytest.raises(DataError, match="dimensions chain and draw is needed"):
        luce.answers.intervals(PLAIN.isel(chain=0))
    with pytest.raises(DataError, match="no draws"):
        luce.answers.intervals(PLAIN.isel(draw=slice(0)))
    with pytest.raises(DataError, match=r"some are negative, the least being -0\.5"):
        luce.rank_probabilities([[[1.5, -0.5]]])


def test_intervals_of_draws_in_any_form() -> None:
    found = luce.answers.intervals(PLAIN.transpose("category", "draw", "chain"), 0.5)
    flat = PLAIN.values.reshape(-1, 4)
    np.testing.assert_allclose(found["mean"], flat.mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(found["sd"], flat.std(axis=0), rtol=1e-12)
    np.testing.assert_allclose(found["lower"], np.quantile(flat, 0.25, axis=0), rtol=1e-12)
    run = Posterior(ConditionalCounts("ab").observe({"a": 3})).sample(20, seed=1, progress=False)
    own = luce.answers.intervals(run["posterior"]["probabilities"])
    xr.testing.assert_allclose(luce.answers.intervals(run), own)
    xr.testing.assert_allclose(luce.answers.intervals(luce.answers.DrawsView.of(run)), own)


def test_differences_of_draws_with_other_labels_are_refused_in_words() -> None:
    runs = [
        luce.Posterior(luce.ConditionalCounts(labels).observe({labels[0]: 2})).sample(20, seed=k)
        for k, labels in enumerate(("ab", "xy"))
    ]
    difference = luce.shares(runs[0]) - luce.shares(runs[1])
    with pytest.raises(DataError, match=r"nothing to summarise: .*luce\.compare_groups"):
        luce.answers.intervals(difference)
