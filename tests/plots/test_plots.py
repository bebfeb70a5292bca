"""Plots: what is drawn is what was computed, and it can be read."""

from __future__ import annotations

import inspect
import itertools
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import xarray as xr
from matplotlib import pyplot as plt
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure

import luce
from luce import ConditionalCounts, plots
from luce.errors import DataError, MethodError
from luce.plots.canvas import BLUE, CHAINS, GREY, VERMILION
from luce.plots.names import names_of
from luce.plots.picture import Picture

Floats = npt.NDArray[np.float64]

SEED = int(os.environ.get("LUCE_TEST_SEED", "1"))
PICTURES = Path(__file__).parents[2] / "docs" / "plots"
HOSTILE = [  # the first are drawn by every plot
    "🦊 مرحبا بالعالم <script>",
    "$x_1$",
    "x" * 10_000,
    "two\nlines\t",
    "\\alpha_{i}^2 % & #",
    "",
    "中文",
    "e\u0301\u202e\u200d",
    "x" * 9_999 + "y",
    ("a", 1),
    None,
]


def some_draws(n: int, labels: list[Any] | None = None, size: int = 200) -> xr.DataArray:
    """Draws of two chains, the categories in no order."""
    rng = np.random.default_rng(SEED)
    values = rng.dirichlet(1 + 3 * rng.permutation(n) / n * 5, size=(2, size))
    index = np.empty(n, object)
    index[:] = labels or [f"category {i}" for i in range(n)]
    return xr.DataArray(values, {"category": index}, ("chain", "draw", "category"))


def some_outcomes(draws: xr.DataArray) -> list[tuple[Any, Any, float]]:
    labels = draws["category"].values.tolist()
    return [(labels[i], labels[: 2 + i % 2], 3.0 + i) for i in (0, 1)] + [(labels[2], None, 40.0)]


def some_counts(draws: xr.DataArray) -> ConditionalCounts:
    counts = ConditionalCounts(draws["category"].values.tolist())
    for label, within, number in some_outcomes(draws):
        counts = counts.observe({label: number}, within=within)
    return counts


def three(draws: xr.DataArray) -> xr.DataArray:
    return draws[:, :, :3] / draws[:, :, :3].sum("category")


Plot = Callable[..., Any]
PLOTS: dict[str, Plot] = {
    "strengths": plots.strengths,
    "log-odds": lambda d, **k: plots.strengths(
        d, scale="log-odds", reference=d["category"].values.tolist()[0], **k
    ),
    "elo": lambda d, **k: plots.strengths(d, scale="elo", **k),
    "shares": plots.shares,
    "rank_heatmap": plots.rank_heatmap,
    "win_matrix": plots.win_matrix,
    "simplex": lambda d, **k: plots.simplex(three(d), **k),
    "trace": lambda d, **k: plots.trace(d, d["category"].values.tolist()[:1], **k)[0],
    "autocorrelation": lambda d, **k: plots.autocorrelation(
        d, d["category"].values.tolist()[:1], **k
    )[0],
    "predictive_check": lambda d, **k: plots.predictive_check(d, some_counts(d), **k),
    "predictive_check by set": lambda d, **k: plots.predictive_check(d, some_outcomes(d), **k),
    "reliability": lambda d, **k: plots.reliability(
        luce.answers.reliability(d, some_outcomes(d)), **k
    ),
}
EVERY = pytest.mark.parametrize("plot", PLOTS.values(), ids=PLOTS)


@pytest.fixture(autouse=True)
def _no_figure_is_left_open() -> Iterator[None]:
    before = plt.get_fignums()
    yield
    assert plt.get_fignums() == before


def names(ax: Axes, axis: str = "y") -> list[str]:
    labels = ax.get_yticklabels() if axis == "y" else ax.get_xticklabels()
    return [label.get_text() for label in labels]


def lines(ax: Axes, number: int) -> list[tuple[float, float, float]]:
    """Row, left and right end of the lines of a collection."""
    segments = ax.collections[number].get_segments()  # type: ignore[attr-defined]
    return [(float(a[1]), float(a[0]), float(b[0])) for a, b in segments]


def shown_texts(ax: Axes) -> dict[str, list[tuple[str, Any]]]:
    """Texts that can be seen, each with its box in pixels: of both axes, in the plot, beside it."""
    figure = ax.figure
    assert isinstance(figure, Figure)
    figure.draw_without_rendering()
    groups: dict[str, list[Any]] = {"texts": list(ax.texts)}
    groups["words"] = [ax.xaxis.label, ax.yaxis.label, ax.title, ax._left_title, ax._right_title]  # type: ignore[attr-defined]
    for axis in (ax.xaxis, ax.yaxis):
        low, high = sorted(axis.get_view_interval())
        ticks = [t for t in axis.get_major_ticks() if low <= t.get_loc() <= high]
        for which in ("label1", "label2"):
            groups[f"{axis.axis_name} {which}"] = [getattr(tick, which) for tick in ticks]
    return {
        name: [
            (text.get_text(), text.get_window_extent())
            for text in texts
            if text.get_text() and text.get_visible()
        ]
        for name, texts in groups.items()
        if ax.axison or name == "texts"
    }


def overlapping(groups: dict[str, list[tuple[str, Any]]]) -> list[tuple[str, str]]:
    """Pairs of texts of one kind that lie on each other."""
    return [
        (a, b)
        for boxes in groups.values()
        for (a, one), (b, other) in itertools.combinations(boxes, 2)
        if min(one.x1, other.x1) - max(one.x0, other.x0) > 1
        and min(one.y1, other.y1) - max(one.y0, other.y0) > 1
    ]


def outside(ax: Axes, groups: dict[str, list[tuple[str, Any]]]) -> list[str]:
    """Texts that the edge of the figure cuts."""
    width, height = ax.figure.bbox.size
    return [
        name
        for boxes in groups.values()
        for name, box in boxes
        if box.x0 < 0 or box.y0 < 0 or box.x1 > width or box.y1 > height
    ]


# What is drawn


@pytest.mark.parametrize("scale", ["probability", "log-odds", "elo"])
def test_strengths_are_means_and_quantiles(scale: str) -> None:
    draws = some_draws(4, ["a", "b", "c", "d"])
    p = draws.values.reshape(-1, 4)
    values = {
        "probability": p,
        "log-odds": np.log(p / p[:, [1]]),
        "elo": 1500 + 400 * np.log10(p / p[:, [1]]),
    }[scale]
    more = {} if scale == "probability" else {"reference": "b"}
    ax = plots.strengths(draws, scale=scale, ci_prob=0.8, **more)
    order = np.argsort(-values.mean(axis=0))
    assert names(ax) == ["abcd"[i] for i in order]
    assert ax.get_ylim()[0] > ax.get_ylim()[1]  # the first is on top
    np.testing.assert_allclose(ax.lines[0].get_xdata(), values.mean(axis=0)[order])
    np.testing.assert_allclose(ax.lines[0].get_ydata(), ax.get_yticks())
    for number, tail in ((0, 0.1), (1, 0.25)):
        ends = np.quantile(values[:, order], [tail, 1 - tail], axis=0)
        np.testing.assert_allclose(lines(ax, number), np.c_[np.arange(4), ends.T], atol=1e-12)
    thin, thick = (c.get_linewidth()[0] for c in ax.collections)  # type: ignore[index]
    assert thick > 2 * thin
    assert "80 %" in ax.get_xlabel()
    assert scale == "probability" or " b" in ax.get_xlabel()


def test_strengths_of_some_and_of_both_ends() -> None:
    draws = some_draws(9)
    order = np.argsort(-draws.values.mean(axis=(0, 1)))
    everyone = [f"category {i}" for i in order]
    assert names(plots.strengths(draws)) == everyone
    assert names(plots.strengths(draws, among=everyone[5:1:-1])) == everyone[2:6]
    ax = plots.strengths(draws, most=5)
    assert names(ax) == everyone[:3] + everyone[-2:]
    assert ax.get_yticks().tolist() == [0, 1, 2, 4, 5]
    assert [text.get_text() for text in ax.texts] == ["4 more between"]
    one = plots.strengths(draws, ci_prob=0.4)
    assert len(one.collections) == 1
    assert "40 % interval" in one.get_xlabel()


def test_logarithms_are_used_where_probabilities_vanish() -> None:
    logs = np.log(some_draws(3).values) + np.array([0.0, -2000.0, -2001.0])
    kept = {"probabilities": np.exp(logs), "log_probabilities": logs}
    dims = ("chain", "draw", "category")
    group = xr.Dataset({k: (dims, v) for k, v in kept.items()}, {"category": ["a", "b", "c"]})
    tree = xr.DataTree.from_dict({"posterior": group})
    ax = plots.strengths(tree, scale="log-odds", reference="a")
    means = logs.mean(axis=(0, 1)) - logs[:, :, 0].mean()
    assert sorted(ax.lines[0].get_xdata()) == pytest.approx(sorted(means))
    table = plots.win_matrix(tree).images[0].get_array()
    assert table is not None
    assert table[0, 1] == pytest.approx(1)
    first, second = (1, 2) if names(plots.win_matrix(tree))[1] == "b" else (2, 1)
    ratio = np.exp(logs[:, :, second] - logs[:, :, first])
    assert table[1, 2] == pytest.approx((1 / (1 + ratio)).mean())


def test_shares_are_those_of_the_shelf() -> None:
    draws = some_draws(5, list("abcde"))
    ax = plots.shares(draws, among="bd")
    p = draws.values.reshape(-1, 5)[:, [1, 3]]
    shares = 100 * p / p.sum(axis=1, keepdims=True)
    order = np.argsort(-shares.mean(axis=0))
    assert names(ax) == ["bd"[i] for i in order]
    np.testing.assert_allclose(ax.lines[0].get_xdata(), shares.mean(axis=0)[order])
    low, high = np.quantile(shares[:, order], [0.05, 0.95], axis=0)
    words = [
        f"{m:.0f} %  ({a:.0f}–{b:.0f})"
        for m, a, b in zip(shares.mean(axis=0)[order], low, high, strict=True)
    ]
    assert [text.get_text() for text in ax.texts] == words
    assert ax.get_xlim()[0] == 0


def test_ranks_are_counted() -> None:
    draws = some_draws(6)
    ranks = np.argsort(np.argsort(-draws.values.reshape(-1, 6), axis=1), axis=1)
    order = np.argsort(ranks.mean(axis=0), kind="stable")
    counted = np.array([[np.mean(ranks[:, i] == r) for r in range(6)] for i in order])
    ax = plots.rank_heatmap(draws)
    assert names(ax) == [f"category {i}" for i in order]
    assert names(ax, "x") == ["1", "2", "3", "4", "5", "6"]
    np.testing.assert_allclose(ax.images[0].get_array(), counted)
    cells = {(t.get_position()[1], t.get_position()[0]): t.get_text() for t in ax.texts}
    assert cells == {
        (i, r): f"{100 * x:.0f}" for (i, r), x in np.ndenumerate(counted) if x >= 0.005
    }
    ax = plots.rank_heatmap(draws, most=4)
    assert names(ax, "x")[-1] == ">4"
    beyond = np.c_[counted[:4, :4], counted[:4, 4:].sum(axis=1)]
    np.testing.assert_allclose(ax.images[0].get_array(), beyond)


def test_wins_are_means_of_ratios() -> None:
    draws = some_draws(5)
    p = draws.values.reshape(-1, 5)
    ax = plots.win_matrix(draws, most=4)
    shown = [int(name.split()[1]) for name in names(ax)]
    assert names(ax) == names(ax, "x")
    assert shown == [int(label.split()[1]) for label in luce.answers.expected_order(draws)[:4]]
    expected = [[np.mean(p[:, i] / (p[:, i] + p[:, j])) for j in shown] for i in shown]
    np.testing.assert_allclose(ax.images[0].get_array(), expected)
    assert {t.get_text() for t in ax.texts} == {
        f"{100 * x:.0f}" for (i, j), x in np.ndenumerate(np.array(expected)) if i != j
    }
    assert len(ax.texts) == 12


@pytest.mark.parametrize("alpha", [[1.0, 1.0, 1.0], [4.0, 6.0, 3.0], [9.0, 2.0, 5.0]])
def test_the_triangle_shows_the_density(alpha: list[float]) -> None:
    from scipy.stats import dirichlet

    values = np.random.default_rng(SEED).dirichlet(alpha, size=(4, 5000))
    ax = plots.simplex(values)
    image = ax.images[0]
    density, (_, right, _, top) = np.asarray(image.get_array()), image.get_extent()
    rows, columns = density.shape
    y, x = np.mgrid[0:rows, 0:columns]
    third = (y + 0.5) / rows * top / np.sqrt(0.75)
    second = (x + 0.5) / columns * right - third / 2
    p = np.stack([1 - second - third, second, third])
    inside = p.min(axis=0) > 0.01
    flat = dirichlet(np.ones(3)).pdf(p[:, inside])
    truth = dirichlet(alpha).pdf(p[:, inside]) / flat
    error = np.abs(density[inside] - truth)
    assert error.mean() < 0.05 * truth.max()
    assert error.max() < 0.2 * truth.max()
    assert density[p.min(axis=0) > 0].mean() == pytest.approx(1, abs=0.02)
    # Swapped corners would be found out by the mean, and the dots are draws.
    dots = np.asarray(ax.lines[0].get_xydata())
    corners = np.array([[0, 0], [1, 0], [0.5, np.sqrt(0.75)]])
    points = values.reshape(-1, 3) @ corners
    assert np.abs(points[:, None] - dots[:20]).sum(axis=2).min(axis=0).max() < 1e-12
    assert [t.get_text() for t in ax.texts] == ["0", "1", "2"]
    assert [t.xy for t in ax.texts] == [tuple(c) for c in corners]  # type: ignore[attr-defined]


def test_the_triangle_takes_draws_that_never_move() -> None:
    ax = plots.simplex(np.broadcast_to([0.2, 0.3, 0.5], (1, 10, 3)))
    density = np.asarray(ax.images[0].get_array())
    row, column = np.unravel_index(density.argmax(), density.shape)
    assert row / len(density) == pytest.approx(0.5, abs=0.03)
    assert column / density.shape[1] == pytest.approx(0.3 + 0.25, abs=0.03)
    ax.figure.draw_without_rendering()


def test_lines_are_the_chains() -> None:
    draws = some_draws(4, list("abcd"))
    for k, ax in enumerate(plots.trace(draws, ["c", "a"])):
        assert ax.get_title(loc="left") == "ca"[k]
        for chain, line in enumerate(ax.lines):
            np.testing.assert_array_equal(line.get_xdata(), np.arange(200))
            np.testing.assert_array_equal(line.get_ydata(), draws.sel(category="ca"[k])[chain])
    found = luce.answers.diagnostics.autocorrelation(draws, 100)
    for k, ax in enumerate(plots.autocorrelation(draws)):
        label = ax.get_title(loc="left")
        assert label in "abcd"
        assert k < 4
        for chain, line in enumerate(ax.lines):
            np.testing.assert_array_equal(line.get_ydata(), found.sel(category=label)[chain])
    short = plots.autocorrelation(draws[:, :30], ["a"], lags=7)[0]
    assert short.lines[0].get_xdata()[-1] == 7
    assert len(plots.autocorrelation(draws[:, :30], ["a"])[0].lines[0].get_xdata()) == 30


def test_the_slowest_categories_are_looked_at() -> None:
    values = some_draws(6, size=400).values.copy()
    values[:, :, 4] = np.sort(values[:, :, 4], axis=1)  # a chain that only climbs
    assert plots.trace(values)[0].get_title(loc="left") == "4"


def test_a_chain_that_never_moves_has_no_autocorrelation() -> None:
    ax = plots.autocorrelation(np.full((2, 20, 2), 0.5), [0])[0]
    assert np.isnan(ax.lines[0].get_ydata()).all()
    ax.figure.draw_without_rendering()


def test_a_predictive_check_by_category() -> None:
    """Draws that never move: replicates are sums of binomials with known moments."""
    p = np.array([0.5, 0.3, 0.2])
    draws = xr.DataArray(
        np.broadcast_to(p, (2, 1500, 3)), {"category": list("abc")}, ("chain", "draw", "category")
    )
    counts = ConditionalCounts("cab").observe({"a": 30, "c": 10}, within="ac")
    counts = counts.observe({"b": 55, "c": 5})
    ax = plots.predictive_check(draws, counts, seed=SEED)
    assert names(ax) == ["b", "a", "c"]  # 55 of 60, 30 of 100, 15 of 100
    observed = np.array([55 / 60, 0.30, 0.15])
    drawn = np.concatenate([line.get_xydata() for line in ax.lines if line.get_marker() == "D"])
    np.testing.assert_allclose(drawn[np.argsort(drawn[:, 1]), 0], 100 * observed)
    mean = [60 * 0.3 / 60, (40 * 5 / 7 + 60 * 0.5) / 100, (40 * 2 / 7 + 60 * 0.2) / 100]
    for (row, low, high), centre in zip(lines(ax, 0), mean, strict=True):
        spread = 100 * 1.645 * np.sqrt(0.24 / (60 if row == 0 else 100))
        assert (low + high) / 2 == pytest.approx(100 * centre, abs=2.5)
        assert high - low == pytest.approx(2 * spread, rel=0.25)
    legend = ax.get_legend()
    assert legend is not None
    said = [text.get_text() for text in legend.get_texts()]
    assert said == ["observed, outside", "replicated: 50 % and 90 % intervals"]


def test_a_predictive_check_by_set() -> None:
    p = np.array([0.5, 0.3, 0.2])
    draws = xr.DataArray(
        np.broadcast_to(p, (1, 1500, 3)), {"category": list("abc")}, ("chain", "draw", "category")
    )
    data = [("a", "ac", 15), ("c", "ac", 5), ("b", None, 100), ("a", "ab", 1)]
    ax = plots.predictive_check(draws, data, seed=SEED, most=5)
    assert names(ax) == ["a", "b", "c", "a", "c"]
    assert [t.get_text() for t in ax.texts] == ["100 outcomes, all possible:"] + [
        "20 outcomes among a, c:"
    ]
    assert [t.get_position()[1] for t in ax.texts] == [0, 4]
    assert ax.get_yticks().tolist() == [1, 2, 3, 5, 6]
    drawn = np.concatenate([line.get_xydata() for line in ax.lines if line.get_marker() == "D"])
    np.testing.assert_allclose(drawn[np.argsort(drawn[:, 1]), 0], [0, 100, 0, 75, 25])
    for (_, low, high), q, m in zip(
        lines(ax, 0), [0.5, 0.3, 0.2, 5 / 7, 2 / 7], [100, 100, 100, 20, 20], strict=True
    ):
        spread = 100 * 1.645 * np.sqrt(q * (1 - q) / m)
        assert (low + high) / 2 == pytest.approx(100 * q, abs=0.35 * spread)
        assert high - low == pytest.approx(2 * spread, rel=0.3)
    wide = plots.predictive_check(draws, [("b", None, 9)], most=2)
    assert names(wide) == ["a", "b"]


def test_a_predictive_check_keeps_to_the_most_frequent() -> None:
    draws = some_draws(60)
    counts = some_counts(draws)
    assert len(names(plots.predictive_check(draws, counts, most=10))) == 10
    same = [lines(plots.predictive_check(draws, counts, seed=s), 0) for s in (1, 1, 2)]
    assert same[0] == same[1] != same[2]
    with pytest.raises(DataError, match="whole numbers"):
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
    assert f"{float(checked['brier_score']):.3f}" in ax.get_title(loc="right")


# Where it is drawn


@EVERY
def test_axes_are_respected(plot: Plot) -> None:
    draws = some_draws(4)
    figure = Figure()
    given, other = figure.subplots(1, 2)
    assert plot(draws, ax=given) is given
    assert figure.axes == [given, other]
    assert given.has_data()
    assert not other.has_data()
    own = plot(draws)
    assert isinstance(own, Axes)
    assert isinstance(own.figure, Picture)


def test_axes_for_many() -> None:
    draws = some_draws(4)
    axes = Figure().subplots(2, 1)
    found = plots.trace(draws, ["category 1", "category 2"], ax=axes)
    assert list(found) == list(axes)
    with pytest.raises(DataError, match="3 sets"):
        plots.trace(draws, ["category 0", "category 1", "category 2"], ax=axes)
    with pytest.raises(DataError, match="matplotlib axes"):
        plots.strengths(draws, ax=axes)  # type: ignore[arg-type]


def test_a_dark_figure_of_the_readers_keeps_its_colours() -> None:
    draws = some_draws(3)
    with rc_context({"text.color": "white", "xtick.color": "white", "ytick.color": "white"}):
        ax = plots.strengths(draws, ax=Figure().subplots())
        assert ax.get_yticklabels()[0].get_color() == "white"
    ax = plots.strengths(draws)
    with rc_context({"xtick.color": "red", "ytick.color": "red"}):
        ax.figure.draw_without_rendering()
        assert {t.get_color() for t in [*ax.get_xticklabels(), *ax.get_yticklabels()]} == {GREY}


# Whether it can be read


@EVERY
@pytest.mark.parametrize("n", [3, pytest.param(300, marks=pytest.mark.slow)])
def test_nothing_overlaps_or_is_cut(plot: Plot, n: int) -> None:
    ax = plot(some_draws(n, [f"label number {i} " + "of a category" * (i % 2) for i in range(n)]))
    seen = shown_texts(ax)
    assert sum(map(len, seen.values())) > 2
    assert overlapping(seen) == []
    assert outside(ax, seen) == []


@pytest.mark.slow
@pytest.mark.parametrize("name", ["strengths", "shares", "rank_heatmap", "win_matrix"])
def test_nothing_overlaps_when_all_are_drawn_or_room_is_small(name: str) -> None:
    draws = some_draws(300, size=50)
    ax = PLOTS[name](draws, most=300)
    assert overlapping(shown_texts(ax)) == []
    assert len(names(ax)) < 300
    small = Figure(figsize=(3, 2)).subplots()
    PLOTS[name](draws, ax=small)
    assert overlapping(shown_texts(small)) == []
    assert len(names(small)) > 3


@EVERY
def test_hostile_labels_are_only_text(plot: Plot, tmp_path: Path) -> None:
    ax = plot(some_draws(len(HOSTILE), HOSTILE))
    ax.figure.savefig(tmp_path / "picture.svg")
    assert "<script" not in (tmp_path / "picture.svg").read_text(encoding="utf-8")
    for each in [*ax.get_xticklabels(), *ax.get_yticklabels()]:
        assert "\n" not in each.get_text()
        assert len(each.get_text()) <= 32


def test_crowded_and_cut_texts_are_found_out() -> None:
    ax = plots.strengths(some_draws(30))
    figure = ax.figure
    assert isinstance(figure, Figure)
    figure.set_size_inches(3, 2)
    assert overlapping(shown_texts(ax))
    ax = plots.simplex(some_draws(3))
    ax.texts[0].set(text="wide " * 30, in_layout=False)
    seen = shown_texts(ax)
    assert outside(ax, seen) == ["wide " * 30]


def test_formulas_are_not_set() -> None:
    ax = plots.strengths(some_draws(3, ["$x_1$", "a_b", "\\frac"]))
    assert sorted(names(ax)) == ["$x_1$", "\\frac", "a_b"]
    assert not any(label.get_parse_math() for label in ax.get_yticklabels())


def test_names() -> None:
    labels = ["short", "x" * 50 + "1", "x" * 50 + "2", " two\n\nlines ", "", 7, "y" * 26, "y" * 27]
    found = names_of(labels, range(8)).texts
    assert found[0] == "short"
    assert found[1] == "x" * 13 + "…" + "x" * 11 + "1"
    assert found[3:6] == ["two lines", "''", "7"]
    assert found[6] == "y" * 26
    assert found[7] == "y" * 13 + "…" + "y" * 12
    alike = names_of(["x" * 90, "x" * 91, "z"], [2, 1, 0, 1]).texts
    assert [name[-3:] for name in alike] == ["z", "x #1"[-3:], "x #0"[-3:], "x #1"[-3:]]
    assert len(set(alike)) == 3
    assert names_of(["a\U0010fffdb"], [0]).texts == ["a�b"]  # no font has it


def test_fonts_that_have_the_letters_are_found() -> None:
    """With a font of few letters in use, others that are installed take over."""
    with rc_context({"font.family": ["cmr10"]}):
        fonts = names_of(["مرحبا"], [0]).fonts
        assert fonts[0] == "cmr10"
        assert "DejaVu Sans" in fonts
        with rc_context({"axes.formatter.use_mathtext": True}):  # cmr10 has no minus
            ax = plots.strengths(some_draws(3, ["a", "ü", "مرحبا"]), ax=Figure().subplots())
            assert "مرحبا" in names(ax)
            ax.figure.draw_without_rendering()


def luminance(color: Any) -> float:
    parts = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in to_rgb(color)]
    return float(np.dot(parts, [0.2126, 0.7152, 0.0722]))


@pytest.mark.parametrize("color", [GREY, BLUE, VERMILION])
def test_colours_stand_on_white_and_on_black(color: str) -> None:
    light = luminance(color)
    assert 1.05 / (light + 0.05) > (4.5 if color == GREY else 3)
    assert (light + 0.05) / 0.05 > (4.5 if color == GREY else 3)


def test_chains_have_different_colours() -> None:
    assert len(set(CHAINS)) == len(CHAINS) >= 6


# Files


@pytest.mark.slow
@pytest.mark.parametrize("plot", ["strengths", "win_matrix", "simplex", "trace"])
def test_the_same_picture_is_the_same_file(plot: str, tmp_path: Path) -> None:
    draws = some_draws(5)
    for name in ("a.svg", "b.svg"):
        PLOTS[plot](draws).figure.savefig(tmp_path / name)
    first = (tmp_path / "a.svg").read_bytes()
    assert first == (tmp_path / "b.svg").read_bytes()
    assert b"<dc:date>" not in first
    assert len(first) < 150_000


def test_figures_are_transparent_and_show_in_notebooks() -> None:
    figure = plots.strengths(some_draws(3)).figure
    assert isinstance(figure, Picture)
    assert figure.get_facecolor()[3] == 0
    assert figure._repr_png_().startswith(b"\x89PNG")


def test_the_pictures_of_the_page_are_there_and_small() -> None:
    page = PICTURES.with_suffix(".md").read_text(encoding="utf-8")
    shown = set(re.findall(r"\(plots/(\w+\.svg)\)", page))
    assert shown == set(re.findall(r'^ax.*savefig\("(\w+\.svg)"\)', page, re.M))
    assert shown == {path.name for path in PICTURES.iterdir()}
    assert {name.removesuffix(".svg") for name in shown} == set(plots.__all__)
    assert all((PICTURES / name).stat().st_size < 150_000 for name in shown)


# What is refused


def test_wrong_questions() -> None:
    draws = some_draws(4, list("abcd"))
    with pytest.raises(MethodError, match="'log-odds'"):
        plots.strengths(draws, scale="odds")
    with pytest.raises(MethodError, match="against nothing"):
        plots.strengths(draws, reference="a")
    with pytest.raises(DataError, match="'z' is not a category"):
        plots.strengths(draws, scale="elo", reference="z")
    with pytest.raises(DataError, match="a triangle shows 3 categories; the draws have 4"):
        plots.simplex(draws)
    for wrong in (1, 2.5, True, "all"):
        with pytest.raises(DataError, match="most"):
            plots.win_matrix(draws, most=wrong)  # type: ignore[arg-type]
    with pytest.raises(DataError, match="ci_prob"):
        plots.shares(draws, ci_prob=90)
    with pytest.raises(DataError, match=r"luce\.answers\.reliability"):
        plots.reliability(draws)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", plots.__all__)
def test_what_to_install_is_said(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in [m for m in sys.modules if m.split(".")[0] == "matplotlib"]:
        monkeypatch.setitem(sys.modules, module, None)
    draws = three(some_draws(3))
    arguments = {
        "predictive_check": (draws, some_counts(draws)),
        "reliability": (luce.answers.reliability(draws, some_outcomes(draws)),),
    }
    with pytest.raises(MethodError, match=r"pip install 'luce\[plots\]'"):
        getattr(plots, name)(*arguments.get(name, (draws,)))


def test_importing_plots_is_light() -> None:
    code = "import sys; from luce import plots; print('matplotlib' in sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout == "False\n"


def test_every_plot_takes_axes() -> None:
    for name in plots.__all__:
        assert inspect.signature(getattr(plots, name)).parameters["ax"].default is None
