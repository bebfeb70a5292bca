"""Pictures of few draws: what stands in them is what numpy makes of the same draws."""

import sys
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import xarray as xr
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from scipy.stats import binom

import luce
from luce import ConditionalCounts, plots
from luce.answers.rank_uniformity import band_of
from luce.errors import DataError, MethodError
from luce.plots.canvas import BLUE, CHAINS, VERMILION, height_of
from luce.plots.excerpt import of_categories, of_draws
from luce.plots.heatmaps import _thinned
from luce.plots.names import _letters, names_of
from luce.plots.picture import Picture
from luce.plots.rank_curves import rank_curves

pytestmark = pytest.mark.filterwarnings("ignore::luce.ConvergenceWarning")

Floats = npt.NDArray[np.float64]


def dirichlet(n: int, chains: int = 2, draws: int = 30) -> xr.DataArray:
    """Draws whose later categories are larger, labelled a, b, c, ... or numbered from 27 on."""
    values = np.random.default_rng(1).dirichlet(np.arange(1.0, n + 1), (chains, draws))
    labels: list[Any] = list("abcdefghijklmnopqrstuvwxyz"[:n]) if n <= 26 else list(range(n))
    return xr.DataArray(values, {"category": labels}, ("chain", "draw", "category"))


def fixed(p: list[float], draws: int) -> xr.DataArray:
    """Draws that never move."""
    values = np.broadcast_to(p, (1, draws, len(p)))
    return xr.DataArray(values, {"category": list("abc")}, ("chain", "draw", "category"))


def logs_only(logs: Floats) -> xr.DataTree:
    variables = {"probabilities": np.exp(logs), "log_probabilities": logs}
    dims = ("chain", "draw", "category")
    labels = {"category": list("abcdef"[: logs.shape[2]])}
    group = xr.Dataset({k: (dims, v) for k, v in variables.items()}, labels)
    return xr.DataTree.from_dict({"posterior": group})


def row_names(ax: Axes) -> list[str]:
    return [label.get_text() for label in ax.get_yticklabels()]


def column_names(ax: Axes) -> list[str]:
    return [label.get_text() for label in ax.get_xticklabels()]


def intervals_of(ax: Axes, number: int) -> Floats:
    """Left and right ends of a collection of lines."""
    segments: Any = ax.collections[number].get_segments()  # type: ignore[attr-defined]
    return np.array([[a[0], b[0]] for a, b in segments])


def shades(ax: Axes) -> Floats:
    return np.asarray(ax.images[0].get_array())


# Dots and intervals


@pytest.mark.parametrize("scale", ["probability", "log-odds", "elo"])
def test_dots_are_posterior_means_and_lines_quantiles(scale: str) -> None:
    draws = dirichlet(4)
    p = draws.values.reshape(-1, 4)
    odds = np.log(p / p[:, [0]])
    values = {"probability": p, "log-odds": odds, "elo": 1000 + 400 / np.log(10) * odds}[scale]
    how: dict[str, Any] = {} if scale == "probability" else {"reference": "a"}
    ax = plots.strengths(draws, scale=scale, at=1000.0, ci_prob=0.8, **how)
    order = np.argsort(-values.mean(axis=0))
    assert row_names(ax) == ["abcd"[i] for i in order]
    np.testing.assert_allclose(ax.lines[0].get_xdata(), values.mean(axis=0)[order])
    for number, tail in ((0, 0.1), (1, 0.25)):
        ends = np.quantile(values[:, order], [tail, 1 - tail], axis=0).T
        np.testing.assert_allclose(intervals_of(ax, number), ends, atol=1e-12)
    assert "50 % and 80 % intervals" in ax.get_xlabel()
    if scale == "elo":
        assert ax.get_xlabel().startswith("Elo points, a being 1000:")
        assert ax.lines[-1].get_xdata() == [1000.0, 1000.0]
    elif scale == "log-odds":
        assert ax.get_xlabel().startswith("log odds against a:")
        assert ax.lines[-1].get_xdata() == [0.0, 0.0]
    else:
        assert ax.get_xlim()[0] == 0


def test_the_mean_of_all_is_the_reference_unless_given() -> None:
    p = dirichlet(3)
    logs = np.log(p.values)
    ax = plots.strengths(p, scale="log-odds", ci_prob=0.4)
    centred = (logs - logs.mean(axis=2, keepdims=True)).mean(axis=(0, 1))
    assert sorted(ax.lines[0].get_xdata()) == pytest.approx(sorted(centred))
    assert "against the mean: mean, 40 % interval" in ax.get_xlabel()
    assert len(ax.collections) == 1  # no thick line within so narrow an interval


def test_logarithms_are_used_where_probabilities_vanish() -> None:
    logs = np.log(dirichlet(3).values) + np.array([0.0, -2000.0, -2001.0])
    tree = logs_only(logs)
    ax = plots.strengths(tree, scale="log-odds", reference="a")
    means = (logs - logs[:, :, :1]).mean(axis=(0, 1))
    assert sorted(ax.lines[0].get_xdata()) == pytest.approx(sorted(means))
    probabilities = plots.strengths(tree).lines[0].get_xdata()
    assert probabilities[0] == pytest.approx(np.exp(logs[:, :, 0]).mean())
    b_over_c = (1 / (1 + np.exp(logs[:, :, 2] - logs[:, :, 1]))).mean()
    table = shades(plots.win_matrix(tree, among="bc"))
    assert max(table[0, 1], table[1, 0]) == pytest.approx(max(b_over_c, 1 - b_over_c))
    corner = plots.simplex(tree).lines[0].get_xydata()
    np.testing.assert_allclose(corner, 0, atol=1e-12)


def test_of_many_categories_both_ends_are_drawn() -> None:
    draws = dirichlet(9)
    order = ["abcdefghi"[i] for i in np.argsort(-draws.values.mean(axis=(0, 1)))]
    ax = plots.strengths(draws, most=5)
    assert row_names(ax) == order[:3] + order[-2:]
    assert ax.get_yticks().tolist() == [0, 1, 2, 4, 5]
    assert [text.get_text() for text in ax.texts] == ["4 more between"]
    assert row_names(plots.strengths(draws, among="abc")) == [c for c in order if c in "abc"]


def test_very_many_rows_get_thin_lines_and_small_dots() -> None:
    ax = plots.strengths(dirichlet(120, draws=5), most=120)
    thin, thick = (c.get_linewidth()[0] for c in ax.collections)  # type: ignore[index]
    few_thin, few_thick = (
        c.get_linewidth()[0]  # type: ignore[index]
        for c in plots.strengths(dirichlet(3)).collections
    )
    assert thin < few_thin
    assert thick < few_thick
    assert ax.lines[0].get_markersize() < 3
    assert ax.xaxis.get_tick_params()["labeltop"]


def test_shares_are_those_of_what_is_on_offer() -> None:
    draws = dirichlet(5)
    ax = plots.shares(draws, "bd", ci_prob=0.8)
    p = draws.values.reshape(-1, 5)[:, [1, 3]]
    share = 100 * p / p.sum(axis=1, keepdims=True)
    order = np.argsort(-share.mean(axis=0))
    assert row_names(ax) == ["bd"[i] for i in order]
    low, high = np.quantile(share[:, order], [0.1, 0.9], axis=0)
    assert [text.get_text() for text in ax.texts] == [
        f"{m:.0f} %  ({a:.0f}–{b:.0f})"
        for m, a, b in zip(share.mean(axis=0)[order], low, high, strict=True)
    ]


def test_names_are_left_out_where_there_is_no_room() -> None:
    small = Figure(figsize=(3, 1.2)).subplots()
    assert plots.shares(dirichlet(26), ax=small) is small
    assert 1 < len(row_names(small)) < 26
    assert len(small.texts) == 0  # nor do numbers stand beside rows without names
    assert height_of(2) < height_of(30) < height_of(1000) == height_of(2000)


# Tables as shades


def test_a_rank_heatmap_counts_ranks() -> None:
    draws = dirichlet(5)
    ranks = np.argsort(np.argsort(-draws.values.reshape(-1, 5), axis=1), axis=1)
    order = np.argsort(ranks.mean(axis=0), kind="stable")
    counted = np.array([[np.mean(ranks[:, i] == r) for r in range(5)] for i in order])
    ax = plots.rank_heatmap(draws)
    np.testing.assert_allclose(shades(ax), counted)
    assert row_names(ax) == ["abcde"[i] for i in order]
    assert {t.get_text() for t in ax.texts} == {f"{100 * x:.0f}" for x in counted.flat if x > 0}
    cut = plots.rank_heatmap(draws, most=3)
    assert column_names(cut) == ["1", "2", "3", ">3"]
    beyond = np.c_[counted[:3, :3], counted[:3, 3:].sum(axis=1)]
    np.testing.assert_allclose(shades(cut), beyond)
    bar = ax.child_axes[0].yaxis.get_major_formatter()
    assert bar(0.25, 0) == "25 %"


def test_ranks_among_some_are_as_if_the_others_were_absent() -> None:
    draws = dirichlet(5)
    first = (draws.values[:, :, 3] > draws.values[:, :, 1]).mean()
    table = shades(plots.rank_heatmap(draws, among="bd"))
    np.testing.assert_allclose(table, [[first, 1 - first], [1 - first, first]])


def test_a_win_matrix_holds_mean_chances_in_pairs() -> None:
    draws = dirichlet(5)
    p = draws.values.reshape(-1, 5)
    ax = plots.win_matrix(draws, most=4)
    shown = ["abcde".index(name) for name in row_names(ax)]
    assert column_names(ax) == row_names(ax)
    expected = np.array([[np.mean(p[:, i] / (p[:, i] + p[:, j])) for j in shown] for i in shown])
    np.testing.assert_allclose(shades(ax), expected)
    off = ~np.eye(4, dtype=bool)
    assert sorted(t.get_text() for t in ax.texts) == sorted(f"{100 * x:.0f}" for x in expected[off])
    given = Figure().subplots()
    plots.win_matrix(draws, ax=given)
    assert given.get_aspect() == 1.0


def test_large_tables_have_no_numbers_and_long_names_stand_upright() -> None:
    draws = dirichlet(14)
    ax = plots.win_matrix(draws)
    assert len(ax.texts) == 0
    assert {label.get_rotation() for label in ax.get_xticklabels()} == {0.0}
    long = draws.assign_coords(category=[f"a long name of {c}" for c in "abcdefghijklmn"])
    assert {label.get_rotation() for label in plots.win_matrix(long).get_xticklabels()} == {90.0}
    assert len(plots.rank_heatmap(draws).texts) == 0
    tiny = Figure(figsize=(1.5, 1)).subplots()
    assert len(plots.rank_heatmap(dirichlet(6), ax=tiny).texts) == 0


@pytest.mark.parametrize(
    ("room", "kept"),
    [
        (24.0, list(range(12))),
        (12.0, [0, 1, 3, 5, 7, 9, 11]),
        (5.0, [0, 4, 11]),
        (2.4, [0, 11]),
    ],
)
def test_ranks_are_named_as_far_apart_as_they_need(room: float, kept: list[int]) -> None:
    assert _thinned(12, room) == kept


# The triangle


def test_the_triangle_shows_a_flat_density_as_one() -> None:
    values = np.random.default_rng(1).dirichlet(np.ones(3), (2, 3000))
    ax = plots.simplex(values)
    density = shades(ax)
    rows, columns = density.shape
    y, x = np.mgrid[0:rows, 0:columns]
    third = (y + 0.5) / rows
    second = (x + 0.5) / columns - third / 2
    inside = np.minimum(np.minimum(second, third), 1 - second - third) > 0
    assert density[inside].mean() == pytest.approx(1, abs=0.02)
    assert density[inside].std() < 0.15
    dots = np.asarray(ax.lines[0].get_xydata())
    assert len(dots) == 800  # of the 6,000
    np.testing.assert_allclose(dots.mean(axis=0), [0.5, np.sqrt(0.75) / 3], atol=0.04)
    assert [text.get_text() for text in ax.texts] == ["0", "1", "2"]


def test_the_triangle_of_draws_that_never_move_peaks_there() -> None:
    ax = plots.simplex(fixed([0.2, 0.3, 0.5], 10))
    density = shades(ax)
    row, column = np.unravel_index(density.argmax(), density.shape)
    assert row / len(density) == pytest.approx(0.5, abs=0.03)
    assert column / density.shape[1] == pytest.approx(0.3 + 0.5 / 2, abs=0.03)


# Chains


def test_traces_are_the_chains() -> None:
    draws = dirichlet(4)
    axes = plots.trace(draws, ["c", "a"])
    assert [ax.get_title(loc="left") for ax in axes] == ["c", "a"]
    for ax, label in zip(axes, "ca", strict=True):
        for chain, line in enumerate(ax.lines):
            np.testing.assert_array_equal(line.get_ydata(), draws.sel(category=label)[chain])
            assert line.get_color() == CHAINS[chain]
    legend = axes[0].get_legend()
    assert [text.get_text() for text in legend.get_texts()] == ["chain 0", "chain 1"]
    assert axes[1].get_xlabel() == "draw"
    given = Figure().subplots(2)
    assert list(plots.trace(draws, "ab", ax=given)) == list(given)


def test_the_categories_that_mix_worst_are_traced_unless_named() -> None:
    values = dirichlet(6, draws=60).values.copy()
    values[:, :, 4] = np.sort(values[:, :, 4], axis=1)  # a chain that only climbs
    titles = [ax.get_title(loc="left") for ax in plots.trace(values)]
    assert titles[0] == "4"
    assert len(titles) == 4


def test_long_traces_are_images_and_many_chains_have_no_legend() -> None:
    wide = np.random.default_rng(1).dirichlet([1.0, 2.0], (7, 600))
    (ax,) = plots.trace(wide, [0])
    assert ax.get_rasterization_zorder() == 1.0
    assert ax.get_legend() is None
    assert ax.lines[6].get_color() == CHAINS[0]
    (short,) = plots.trace(wide[:1, :50], [0])
    assert short.get_rasterization_zorder() is None
    assert short.get_legend() is None


def test_autocorrelations_are_those_of_the_diagnostics() -> None:
    draws = dirichlet(3)
    found = luce.answers.diagnostics.autocorrelation(draws, 29)
    (ax,) = plots.autocorrelation(draws, ["b"], ax=Figure().subplots())
    for chain, line in enumerate(ax.lines):
        np.testing.assert_array_equal(line.get_ydata(), found.sel(category="b")[chain])
    band = ax.patches[0].get_extents().transformed(ax.transData.inverted())
    assert (band.y0, band.y1) == pytest.approx((-1.96 / np.sqrt(30), 1.96 / np.sqrt(30)))
    assert len(plots.autocorrelation(draws, ["a"], lags=7)[0].lines[0].get_xdata()) == 8
    still = plots.autocorrelation(np.full((2, 20, 2), 0.5), [0])[0]
    assert np.isnan(still.lines[0].get_ydata()).all()


# Checks


def test_replicated_shares_are_binomial() -> None:
    """Draws that never move: the replicated counts of a category have a known distribution."""
    draws = fixed([0.5, 0.3, 0.2], 1000)
    counts = ConditionalCounts("cab").observe({"a": 30, "c": 10}, within="ac")
    counts = counts.observe({"b": 55, "c": 5})
    ax = plots.predictive_check(draws, counts, seed=1)
    assert row_names(ax) == ["b", "a", "c"]  # 55 of 60, 30 of 100, 15 of 100
    diamonds = np.concatenate([line.get_xydata() for line in ax.lines if line.get_marker() == "D"])
    seen = diamonds[np.argsort(diamonds[:, 1]), 0]
    np.testing.assert_allclose(seen, [100 * 55 / 60, 30, 15])
    low, high = binom(60, 0.3).ppf([0.05, 0.95]) / 60
    assert intervals_of(ax, 0)[0] == pytest.approx([100 * low, 100 * high], abs=100 / 60 + 1e-9)
    legend = ax.get_legend()
    assert legend is not None
    said = [text.get_text() for text in legend.get_texts()]
    assert said == ["observed, outside", "replicated: 50 % and 90 % intervals"]
    again = plots.predictive_check(draws, counts, seed=np.random.SeedSequence(1), most=2)
    assert row_names(again) == ["a", "c"]  # which could be the outcome most often
    np.testing.assert_array_equal(intervals_of(again, 0), intervals_of(ax, 0)[1:])


def test_replicated_shares_set_by_set() -> None:
    draws = fixed([0.5, 0.3, 0.2], 1000)
    data = [("a", "ac", 15), ("c", "ac", 5), ("b", None, 100), ("a", "ab", 1)]
    ax = plots.predictive_check(draws, data, most=5, seed=1)
    assert row_names(ax) == ["a", "b", "c", "a", "c"]
    words = [text.get_text() for text in ax.texts]
    assert words == ["100 outcomes, all possible:", "20 outcomes among a, c:"]
    low, high = binom(20, 5 / 7).ppf([0.05, 0.95]) / 20
    assert intervals_of(ax, 0)[3] == pytest.approx([100 * low, 100 * high], abs=5 + 1e-9)
    assert row_names(plots.predictive_check(draws, [("b", None, 9)], most=2)) == ["a", "b"]
    five = dirichlet(5)
    (heading,) = plots.predictive_check(five, [("b", "abcd", 9)]).texts
    assert heading.get_text() == "9 outcomes among a, b, c and 1 more:"
    with pytest.raises(DataError, match=r"a set has 0\.5 outcomes"):
        plots.predictive_check(draws, [("a", None, 0.5)])


def test_a_reliability_diagram_is_the_calibration() -> None:
    draws = dirichlet(4)
    data = [("a", "ab", 3), ("d", None, 20), ("c", "cd", 4)]
    checked = luce.answers.reliability(draws, data, bins=5)
    ax = plots.reliability(checked)
    filled = checked["bin_number"].values > 0
    expected = np.c_[checked["bin_predicted"], checked["bin_observed"]][filled]
    np.testing.assert_allclose(ax.collections[1].get_offsets(), expected)
    assert f"Brier score {float(checked['brier_score']):.3f}" in ax.get_title(loc="right")
    with pytest.raises(
        DataError, match=r"what luce\.answers\.reliability returned is needed; DataArray"
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
    legend = ax.get_legend()
    assert legend is not None
    assert [text.get_text() for text in legend.get_texts()] == ["lowest", "low"]
    least, most = band_of(60, 10, 0.05 / 3)
    outside = (ranks[:, :1] <= np.arange(10)).sum(axis=0)
    assert ((outside >= least) & (outside <= most)).all()
    assert rank_curves(uniform, ["right"], 10, 0.05).get_legend() is None


# Parts of draws


def test_excerpts_keep_what_they_are_asked_to_keep() -> None:
    from luce.answers.view import DrawsView

    logs = np.log(dirichlet(4).values)
    x = DrawsView.of(logs_only(logs))
    some = of_categories(x, np.array([2, 0]))["posterior"]
    assert some["category"].values.tolist() == ["c", "a"]
    np.testing.assert_allclose(some["log_probabilities"].values, logs[:, :, [2, 0]])
    np.testing.assert_allclose(some["probabilities"].values, np.exp(logs[:, :, [2, 0]]))
    rows = of_draws(x, np.array([0, 31]))["posterior"]["log_probabilities"].values
    np.testing.assert_allclose(rows, [[logs[0, 0], logs[1, 1]]])


# Names


def test_names_are_short_on_one_line_and_different() -> None:
    labels = ["short", "x" * 50 + "1", "x" * 50 + "2", " two\n\nlines ", "", 7, "a\u200db"]
    assert names_of(labels, range(7)).texts == [
        "short",
        "x" * 13 + "…" + "x" * 11 + "1",
        "x" * 13 + "…" + "x" * 11 + "2",
        "two lines",
        "''",
        "7",
        "ab",
    ]
    assert names_of(["x" * 90, "x" * 91], [1, 0]).texts[0].endswith(" #1")
    assert names_of(["y" * 9_000], [0], 5).texts == ["yy…yy"]


def test_letters_that_no_font_has_are_marked(tmp_path: Path) -> None:
    assert names_of(["a\U0010fffdb", "a\U000e0101b"], [0, 1]).texts == ["a�b", "ab"]
    with rc_context({"font.family": ["cmr10"]}):  # a font of few letters
        names = names_of(["مرحبا"], [0])
    assert names.fonts[0] == "cmr10"
    assert "DejaVu Sans" in names.fonts
    assert names.texts == ["مرحبا"]
    broken = tmp_path / "broken.ttf"
    broken.write_bytes(b"not a font")
    assert _letters(str(broken)) == frozenset()


def test_labels_are_never_formulas() -> None:
    draws = dirichlet(3).assign_coords(category=["$x_1$", "a_b", "\\frac"])
    ax = plots.strengths(draws, scale="elo", reference="$x_1$")
    assert sorted(row_names(ax)) == ["$x_1$", "\\frac", "a_b"]
    assert not any(label.get_parse_math() for label in [*ax.get_yticklabels(), ax.xaxis.label])


# Files and axes


def test_the_same_picture_is_the_same_file(tmp_path: Path) -> None:
    draws = dirichlet(3)
    files = [tmp_path / "a.svg", tmp_path / "b.svg"]
    for file in files:
        plots.strengths(draws).figure.savefig(file)
    stream = BytesIO()
    plots.strengths(draws).figure.savefig(stream, format="svg")
    assert files[0].read_bytes() == files[1].read_bytes() == stream.getvalue()
    assert b"<dc:date>" not in stream.getvalue()
    figure = plots.strengths(draws).figure
    assert isinstance(figure, Picture)
    assert figure._repr_png_().startswith(b"\x89PNG")


def test_axes_that_are_given_are_drawn_into() -> None:
    draws = dirichlet(3)
    for plot in (plots.strengths, plots.rank_heatmap, plots.simplex):
        left, right = Figure().subplots(1, 2)
        assert plot(draws, ax=left) is left
        assert left.has_data()
        assert not right.has_data()
    with pytest.raises(DataError, match="1 set of matplotlib axes needed"):
        plots.strengths(draws, ax="here")  # type: ignore[arg-type]
    with pytest.raises(DataError, match="2 sets of matplotlib axes needed"):
        plots.trace(draws, "ab", ax=Figure().subplots())


def test_wrong_questions_are_refused() -> None:
    draws = dirichlet(4)
    with pytest.raises(MethodError, match="scale = 'odds' was given"):
        plots.strengths(draws, scale="odds")
    with pytest.raises(MethodError, match="probabilities are against nothing"):
        plots.strengths(draws, reference="a")
    with pytest.raises(DataError, match="a triangle shows 3 categories; the draws have 4"):
        plots.simplex(draws)
    for wrong in (1, 2.5, True):
        with pytest.raises(DataError, match="a whole number from 2 on"):
            plots.win_matrix(draws, most=wrong)  # type: ignore[arg-type]


def test_what_to_install_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in [m for m in sys.modules if m.split(".")[0] == "matplotlib"]:
        monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MethodError, match=r"pip install 'luce\[plots\]'"):
        plots.strengths(dirichlet(3))
