"""Pictures of segmented time series against numbers that were counted by hand."""

import re
from io import BytesIO
from typing import Any

import numpy as np
import pytest
import xarray as xr
from lib.pictures import names, overlapping, shades, shown_texts
from lib.segmented_runs import FIRST, by_hand, fit
from lib.size import draws
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import luce
from luce import plots
from luce.errors import DataError
from luce.plots.time_series import look_of, reduced, trace_figures
from luce.sequences import Categories, Gaussian, Poisson
from luce.sequences.matched_states import MatchedStates


@pytest.fixture(scope="module")
def run() -> xr.DataTree:
    return by_hand()


def bars(ax: Axes) -> dict[int, list[tuple[float, float]]]:
    """Read both ends of the grounds by state."""
    found = {}
    for collection in ax.collections:
        boxes = [path.get_extents() for path in collection.get_paths()]
        found[int(str(collection.get_label()))] = [(box.x0, box.x1) for box in boxes]
    return found


def upright(ax: Axes) -> dict[float, float]:
    """Read heights of the lines of changes by place."""
    lines = ax.collections[0].get_segments()  # type: ignore[attr-defined]
    return {float(a[0]): float(b[1]) for a, b in lines}


def test_grounds_and_changes_are_those_of_the_draws(run: xr.DataTree) -> None:
    axes = plots.segmentation(run)
    assert axes.shape == (2, 3)  # two sequences, two channels and the changes
    for ax in axes[0, :2]:
        assert bars(ax) == {0: [(-0.5, 3.5)], 1: [(3.5, 6.5)]}
    assert bars(axes[1, 0]) == {0: [(1.5, 4.5)], 1: [(-0.5, 1.5)]}
    assert upright(axes[0, 2]) == {2.5: 0.25, 3.5: 0.75}
    assert upright(axes[1, 2]) == {1.5: 1.0}
    assert [t.get_text() for t in axes[0, 0].texts] == ["0", "1"]
    assert [ax.get_title(loc="left") for ax in axes[:, 0]] == ["sequence a", "sequence b"]
    assert {ax.get_xlim() for ax in axes[0]} == {(-0.5, 6.5)}
    for ax in axes.ravel():
        assert overlapping(shown_texts(ax)) == []


def test_missing_values_are_gaps_and_lone_ones_are_dots(run: xr.DataTree) -> None:
    values = run["observed_data"]["values"].values
    axes = plots.segmentation(run, sequences=["a"])
    line, lone = axes[0, 0].lines
    np.testing.assert_array_equal(line.get_ydata(), values[:7, 0])
    assert lone.get_xdata().tolist() == [0.0]  # rows 1 and 2 are missing
    np.testing.assert_array_equal(lone.get_ydata(), values[:1, 0])
    assert len(axes[0, 1].lines) == 1


def test_sequences_and_channels_are_chosen(run: xr.DataTree) -> None:
    axes = plots.segmentation(run, sequences=["b"], channels=[1])
    assert axes.shape == (1, 2)
    np.testing.assert_array_equal(
        axes[0, 0].lines[0].get_ydata(), run["observed_data"]["values"].values[7:, 1]
    )
    assert axes[0, 0].get_ylabel() == "1"
    with pytest.raises(DataError, match=r"'c' among sequences was given; the run has 'a', 'b'\."):
        plots.segmentation(run, sequences=["c"])
    with pytest.raises(DataError, match="nothing for channels was given"):
        plots.segmentation(run, channels=[])


def test_channels_that_tell_states_apart_are_drawn_first() -> None:
    rng = np.random.default_rng(2)
    label = np.repeat([0, 1, 0], 20)
    values = rng.normal(size=(60, 6))
    values[:, [1, 3, 4, 5]] += 9.0 * label[:, None]
    made = fit(luce.SemiMarkov(3, Gaussian(), Poisson(mean=20)), values, 4, chains=1)
    made["states"]["states"][:] = label
    axes = plots.segmentation(made)
    assert [ax.get_ylabel() for ax in axes[0]] == ["1", "3", "4", "5", "P(change)"]


def test_given_axes_are_drawn_into(run: xr.DataTree) -> None:
    given = Figure().subplots(2, 1)
    axes = plots.segmentation(run, sequences=["a"], channels=[0], ax=given)
    assert axes.ravel().tolist() == given.tolist()
    with pytest.raises(DataError, match="3 sets of matplotlib axes needed"):
        plots.segmentation(run, sequences=["a"], ax=given)
    one = Figure().subplots()
    for draw in (plots.durations, plots.moves, plots.similarity):
        assert draw(run, ax=one) is one  # type: ignore[operator]


def test_long_series_keep_their_extremes() -> None:
    rng = np.random.default_rng(1)
    x, y = np.arange(1e5), rng.normal(size=100_000)
    y[31_415], y[60_000:60_500] = 50.0, np.nan
    at, ends = reduced(x, y)
    assert len(at) == len(ends) == 2400
    assert np.nanmax(ends) == 50.0
    assert np.nanmin(ends) == np.nanmin(y)
    assert abs(at[int(np.nanargmax(ends))] - 31_415) < 100
    assert np.isnan(ends).any()
    low, high = ends[::2], ends[1::2]
    assert (low[~np.isnan(low)] <= high[~np.isnan(high)]).all()
    short = np.arange(100.0)
    assert reduced(short, short)[1] is short


@pytest.mark.compiled
def test_a_long_picture_is_an_image() -> None:
    label = np.repeat(np.arange(40) % 3, 200)
    values = 5.0 * label + np.random.default_rng(1).normal(size=8000)
    made = fit(luce.SemiMarkov(4, duration=Poisson(mean=200)), values, 2, chains=1, warmup=2)
    made["states"]["states"][:] = label
    axes = plots.segmentation(made)
    assert axes[0, 0].lines[0].get_rasterized()
    assert len(axes[0, 0].lines[0].get_xdata()) == 2400
    assert len(upright(axes[0, 1])) == 39
    file = BytesIO()
    axes[0, 0].figure.savefig(file, format="svg")
    assert len(file.getvalue()) < 300_000


def test_categories_are_named_and_dates_are_dates() -> None:
    pandas = pytest.importorskip("pandas")
    days = pandas.date_range("2024-03-01", periods=24, freq="D")
    frame = pandas.DataFrame({"time": days, "mood": list("aaaaaabbbbbb" * 2)})
    model = luce.SemiMarkov(3, Categories(), Poisson(mean=6))
    made = fit(model, frame, draws(compiled=8, plain=4), columns=["mood"])
    made["states"]["states"][:] = np.repeat([0, 1, 0, 1], 6)
    axes = plots.segmentation(made)
    assert names(axes[0, 0]) == ["a", "b"]
    assert axes[0, 1].get_xlabel() == "date"
    assert axes[0, 0].lines[0].get_ydata().tolist() == [0.0] * 6 + [1.0] * 6 + [0.0] * 6 + [1.0] * 6
    day = 1.0  # matplotlib counts days
    ends = bars(axes[0, 0])[0]
    assert ends[0][1] - ends[0][0] == pytest.approx(6 * day)
    assert names(plots.similarity(made))[0] == "2024-03-01\n00:00"


def test_states_can_be_told_apart() -> None:
    looks = [look_of(k) for k in range(64)]
    assert len(set(looks)) == 64
    assert {look.hatch for look in looks[:16]} == {""}
    dark = [sum(int(look.color[i : i + 2], 16) for i in (1, 3, 5)) for look in looks]
    assert min(dark) > 300  # lines on them are nearly black


def test_laws_of_durations_are_those_of_matched_states(run: xr.DataTree) -> None:
    found = MatchedStates.of(run)
    ax = plots.durations(run, ci_prob=0.8)
    assert names(ax) == ["state 0", "state 1"]
    lines = [line for line in ax.lines if line.get_marker() == "None" and len(line.get_xdata()) > 2]
    for k, line in enumerate(lines):
        at = line.get_xdata()
        laws = found.duration_probabilities(k, np.asarray(at))
        scale = 0.68 / np.quantile(laws, 0.9, axis=0).max()
        np.testing.assert_allclose(k - np.asarray(line.get_ydata()), scale * laws.mean(axis=0))
    dots = [line for line in ax.lines if line.get_marker() == "o"]
    assert [line.get_xdata().tolist() for line in dots] == [[4], [3], [2], [3]]
    assert [line.get_markerfacecolor() == "none" for line in dots] == [False, True, False, True]
    # Rates are 1 and 2 the first way, 4 and 3 the second; durations have one row more.
    words = [text.get_text() for text in ax.texts]
    assert words[:2] == ["2.75 (2 to 5)", "3.25 (3 to 4)"]
    assert "80 % band" in ax.get_xlabel()
    assert names(plots.durations(run, most=1)) == ["state 0"]


def test_moves_are_means_of_matched_rows(run: xr.DataTree) -> None:
    ax = plots.moves(run)
    np.testing.assert_allclose(shades(ax)[[0, 1, 0, 1], [1, 0, 2, 2]], [0.575, 0.625, 0.425, 0.375])
    assert names(ax, "x") == ["state 0", "state 1", "others"]
    assert {(int(y), int(x)) for x, y in ax.lines[0].get_xydata()} == {(0, 0), (1, 1)}
    one = plots.moves(run, most=1)
    np.testing.assert_allclose(shades(one)[0, 1], 1.0)


def test_similarity_is_that_of_the_draws(run: xr.DataTree) -> None:
    ax = plots.similarity(run)
    table = shades(ax)
    assert table.shape == (12, 12)
    same = np.equal.outer(FIRST, FIRST)
    rows = np.arange(12) != 3  # both ways agree on all rows but this
    np.testing.assert_array_equal(table[np.ix_(rows, rows)], same[np.ix_(rows, rows)])
    assert table[3, 0] == 0.75
    assert table[3, 4] == 0.25
    assert names(ax) == ["a", "b"]
    np.testing.assert_array_equal(
        shades(plots.similarity(run, [0, 3, 4])), table[np.ix_([0, 3, 4], [0, 3, 4])]
    )


def test_times_of_one_sequence_stand_beside() -> None:
    rng = np.random.default_rng(4)
    made = fit(luce.SemiMarkov(3, duration=Poisson(mean=20)), rng.normal(size=60), 4, chains=1)
    made["states"]["states"][:] = np.repeat([0, 1, 2], 20)
    ax = plots.similarity(made)
    assert names(ax) == ["0", "10", "20", "30", "40", "50"]
    assert ax.get_xlabel() == ax.get_ylabel() == "row"


def test_figures_are_traced() -> None:
    x = np.arange(8.0).reshape(2, 4)
    axes = trace_figures({"segments": x, "states used": 2 * x})
    assert [ax.get_title(loc="left") for ax in axes] == ["segments", "states used"]
    np.testing.assert_array_equal(axes[1].lines[1].get_ydata(), 2 * x[1])


@pytest.mark.parametrize("draw", [plots.segmentation, plots.durations, plots.moves])
def test_a_picture_is_the_same_twice(draw: Any, run: xr.DataTree) -> None:
    files = [BytesIO(), BytesIO()]
    for file in files:
        np.ravel(np.asarray(draw(run), object))[0].figure.savefig(file, format="svg")
    # Ids of clips hash places of axes, which the layout of many axes finds to rounding error.
    first, second = (re.sub(rb"\bp[0-9a-f]{10}\b", b"clip", file.getvalue()) for file in files)
    assert first == second


def test_other_runs_are_refused() -> None:
    other = luce.Posterior(luce.ConditionalCounts("ab").observe({"a": 2})).sample(20, seed=1)
    with pytest.raises(DataError, match="a run of a semi-Markov model is needed"):
        plots.segmentation(other)
