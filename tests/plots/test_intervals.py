"""Strengths and shares: dots are posterior means, lines are quantiles."""

import numpy as np
import pytest
from lib.bounds import SEED
from lib.pictures import lines, names, shades, some_draws, with_logs
from matplotlib.figure import Figure

import luce
from luce import plots
from luce.errors import DataError, MethodError
from luce.plots.canvas import height_of


def by_expected_rank(values: np.ndarray) -> np.ndarray:
    """Sort columns by the mean of their ranks, the best first."""
    return np.argsort((values[:, None, :] > values[:, :, None]).sum(axis=2).mean(axis=0))


@pytest.mark.parametrize("scale", ["probability", "log-odds", "elo"])
def test_strengths_are_means_and_quantiles(scale: str) -> None:
    draws = some_draws(4, ["a", "b", "c", "d"])
    p = draws.values.reshape(-1, 4)
    values = {
        "probability": p,
        "log-odds": np.log(p / p[:, [1]]),
        "elo": 1000 + 400 * np.log10(p / p[:, [1]]),
    }[scale]
    more = {} if scale == "probability" else {"reference": "b"}
    ax = plots.strengths(draws, scale=scale, at=1000.0, ci_prob=0.8, **more)
    order = by_expected_rank(values)
    assert names(ax) == ["abcd"[i] for i in order]
    assert ax.get_ylim()[0] > ax.get_ylim()[1]  # the first is on top
    np.testing.assert_allclose(ax.lines[0].get_xdata(), values.mean(axis=0)[order])
    np.testing.assert_allclose(ax.lines[0].get_ydata(), ax.get_yticks())
    for number, tail in ((0, 0.1), (1, 0.25)):
        ends = np.quantile(values[:, order], [tail, 1 - tail], axis=0)
        np.testing.assert_allclose(lines(ax, number), np.c_[np.arange(4), ends.T], atol=1e-12)
    thin, thick = (c.get_linewidth()[0] for c in ax.collections)  # type: ignore[index]
    assert thick > 2 * thin
    words = {
        "probability": "probability: mean",
        "log-odds": "log odds against b: mean",
        "elo": "Elo points, b being 1000: mean",
    }[scale]
    assert ax.get_xlabel() == f"{words}, 50 % and 80 % intervals"
    if scale == "probability":
        assert ax.get_xlim()[0] == 0
    else:
        assert ax.lines[-1].get_xdata() == [1000.0 if scale == "elo" else 0.0] * 2


def test_the_mean_of_all_is_the_reference_unless_given() -> None:
    p = some_draws(3)
    logs = np.log(p.values)
    ax = plots.strengths(p, scale="log-odds", ci_prob=0.4)
    centred = (logs - logs.mean(axis=2, keepdims=True)).mean(axis=(0, 1))
    assert sorted(ax.lines[0].get_xdata()) == pytest.approx(sorted(centred))
    assert "against the mean: mean, 40 % interval" in ax.get_xlabel()
    assert len(ax.collections) == 1  # no thick line within so narrow an interval


def with_outlier(of: float) -> np.ndarray:
    """Make draws of five, the first being so many times as strong as the others."""
    rng = np.random.default_rng(SEED)
    odds = np.exp(rng.normal([np.log(of), 0.0, 0.3, 0.6, 0.9], 0.3, size=(2, 200, 5)))
    return np.asarray(odds / odds.sum(axis=2, keepdims=True))


def test_one_outlier_does_not_squash_the_rest() -> None:
    for of, scale, words in (
        (300.0, "logit", "probability, log-odds axis: "),
        (5.0, "linear", "probability: "),
    ):
        values = with_outlier(of)
        ax = plots.strengths(values)
        assert ax.get_xscale() == scale
        assert ax.get_xlabel() == f"{words}mean, 50 % and 90 % intervals"
        # The values are probabilities on either axis.
        order = by_expected_rank(values.reshape(-1, 5))
        means = values.mean(axis=(0, 1))[order]
        np.testing.assert_allclose(ax.lines[0].get_xdata(), means)
        ax.figure.draw_without_rendering()
        places = ax.transData.transform(np.c_[means, np.zeros(5)])[:, 0]
        box = ax.get_window_extent()
        apart = (places[1] - places[4]) / box.width  # of the four that are not outliers
        assert apart > 0.05
        even = plots.strengths(values, scale="probability")
        assert even.get_xscale() == "linear"
        squashed = (means[1] - means[4]) / even.get_xlim()[1]
        assert (squashed < 0.05) == (scale == "logit")
        # Ticks are written as what they are.
        seen = list(zip(ax.get_xticks(), names(ax, "x"), strict=True))
        if scale == "logit":
            assert len(seen) > 3
            assert all(
                float(text) == pytest.approx(tick)
                for tick, text in seen
                if "·" not in text and "⁻" not in text
            )
            low, high = ax.get_xlim()
            assert all(low <= tick <= high for tick, _ in seen)


def test_what_has_no_log_odds_stays_on_an_even_axis() -> None:
    values = with_outlier(300.0)
    values[:, :, 2] = 0.0
    assert plots.strengths(values).get_xscale() == "linear"
    # One draw of 0 is an interval that goes on beyond the axis.
    values = with_outlier(300.0)
    values[0, :30, 2] = 0.0
    ax = plots.strengths(values)
    assert ax.get_xscale() == "logit"
    assert ax.get_xlim()[0] > 0
    ax.figure.draw_without_rendering()


def test_strengths_of_some_and_of_both_ends() -> None:
    draws = some_draws(9)
    order = by_expected_rank(draws.values.reshape(-1, 9))
    everyone = [f"category {i}" for i in order]
    assert names(plots.strengths(draws)) == everyone
    assert names(plots.strengths(draws, among=everyone[5:1:-1])) == everyone[2:6]
    ax = plots.strengths(draws, most=5)
    assert names(ax) == everyone[:3] + everyone[-2:]
    assert ax.get_yticks().tolist() == [0, 1, 2, 4, 5]
    assert [text.get_text() for text in ax.texts] == ["4 more between"]


def test_logarithms_are_used_where_probabilities_vanish() -> None:
    logs = np.log(some_draws(3).values) + np.array([0.0, -2000.0, -2001.0])
    tree = with_logs(logs)
    ax = plots.strengths(tree, scale="log-odds", reference="a")
    means = logs.mean(axis=(0, 1)) - logs[:, :, 0].mean()
    assert sorted(ax.lines[0].get_xdata()) == pytest.approx(sorted(means))
    probabilities = plots.strengths(tree).lines[0].get_xdata()
    assert probabilities[0] == pytest.approx(np.exp(logs[:, :, 0]).mean())
    table = shades(plots.win_matrix(tree))
    assert table[0, 1] == pytest.approx(1)
    first, second = (1, 2) if names(plots.win_matrix(tree))[1] == "b" else (2, 1)
    ratio = np.exp(logs[:, :, second] - logs[:, :, first])
    assert table[1, 2] == pytest.approx((1 / (1 + ratio)).mean())
    corner = plots.simplex(tree).lines[0].get_xydata()
    np.testing.assert_allclose(corner, 0, atol=1e-12)


def written(per_cent: float) -> str:
    """Write a number between 0 and 100, neither being rounded to."""
    return "<1" if per_cent <= 0.5 else ">99" if per_cent >= 99.5 else f"{per_cent:.0f}"


def test_shares_are_those_of_the_shelf() -> None:
    draws = some_draws(5, list("abcde"))
    ax = plots.shares(draws, among="bd")
    p = draws.values.reshape(-1, 5)[:, [1, 3]]
    shares = 100 * p / p.sum(axis=1, keepdims=True)
    order = by_expected_rank(shares)
    assert names(ax) == ["bd"[i] for i in order]
    np.testing.assert_allclose(ax.lines[0].get_xdata(), shares.mean(axis=0)[order])
    low, high = np.quantile(shares[:, order], [0.05, 0.95], axis=0)
    words = [
        f"{m:.0f} %  ({written(a)}–{written(b)})"
        for m, a, b in zip(shares.mean(axis=0)[order], low, high, strict=True)
    ]
    assert [text.get_text() for text in ax.texts] == words
    assert ax.get_xlim()[0] == 0


def test_very_many_rows_get_thin_lines_and_small_dots() -> None:
    ax = plots.strengths(some_draws(120, size=5), most=120)
    thin, thick = (c.get_linewidth()[0] for c in ax.collections)  # type: ignore[index]
    few_thin, few_thick = (
        c.get_linewidth()[0]  # type: ignore[index]
        for c in plots.strengths(some_draws(3)).collections
    )
    assert thin < few_thin
    assert thick < few_thick
    assert ax.lines[0].get_markersize() < 3
    assert ax.xaxis.get_tick_params()["labeltop"]


def test_names_are_left_out_where_there_is_no_room() -> None:
    small = Figure(figsize=(3, 1.2)).subplots()
    assert plots.shares(some_draws(26), ax=small) is small
    assert 1 < len(names(small)) < 26
    assert len(small.texts) == 0  # nor do numbers stand beside rows without names
    assert height_of(2) < height_of(30) < height_of(1000) == height_of(2000)


def test_strengths_on_shared_axes_show_everything() -> None:
    left, right = Figure().subplots(1, 2, sharex=True)
    plots.strengths([[[0.6, 0.4], [0.5, 0.5]]], ax=left)
    plots.strengths([[[0.95, 0.05], [0.99, 0.01]]], ax=right)
    low, high = right.get_xlim()
    assert low == 0.0
    assert high >= 0.99


def test_elo_of_some_begins_where_it_is_told() -> None:
    draws = some_draws(5, ["a", "b", "tie", "c", "home"])
    some = ["c", "a", "b"]
    ax = plots.strengths(draws, scale="elo", reference="a", at=1000.0, among=some)
    mean = luce.elo(draws, "a", 1000.0, among=some).mean(("chain", "draw"))
    np.testing.assert_allclose(ax.lines[0].get_xdata(), mean.sel(category=names(ax)))
    assert "1000" in ax.get_xlabel()


def test_wrong_questions() -> None:
    draws = some_draws(4, list("abcd"))
    with pytest.raises(MethodError, match=r"scale = 'odds' was given; .*'log-odds'"):
        plots.strengths(draws, scale="odds")
    with pytest.raises(MethodError, match="probabilities are against nothing"):
        plots.strengths(draws, reference="a")
    with pytest.raises(DataError, match="'z' is not a category"):
        plots.strengths(draws, scale="elo", reference="z")
    with pytest.raises(DataError, match="ci_prob = 90 was given; a number between 0 and 1"):
        plots.shares(draws, ci_prob=90)
