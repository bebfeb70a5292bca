"""Pictures of differences: what is drawn is what `compare_groups` found."""

import numpy as np
import pytest
from lib.pictures import legend_of, lines, names, outside, overlapping, shown_texts

import luce
from luce import ConditionalCounts, plots
from luce.decide import GroupComparison
from luce.errors import DataError, MethodError

LABELS = ["Greens", "$x^2$", "Labour", "Liberals", "Tories"]
SEEN = {"north": [60, 5, 80, 30, 20], "south": [40, 2, 30, 35, 60], "east": [20, 8, 30, 20, 9]}


def compared(*groups: str) -> GroupComparison:
    counts = {
        g: ConditionalCounts(LABELS).observe(dict(zip(LABELS, SEEN[g], strict=True)))
        for g in groups
    }
    return luce.compare_groups(counts, seed=1, draws=200, ci_prob=0.8, progress=False)


@pytest.mark.parametrize("scale", ["log-odds", "probabilities"])
def test_dots_are_means_and_lines_both_intervals(scale: str) -> None:
    found = compared("north", "south")
    x = found.differences(scale).isel(contrast=0)
    ax = plots.differences(found, scale)
    order = np.argsort(-np.abs(x["mean"].values))
    assert names(ax) == [LABELS[i] for i in order]
    assert ax.get_ylim()[0] > ax.get_ylim()[1]  # the largest is on top
    assert list(ax.lines[0].get_xdata()) == [0.0, 0.0]
    np.testing.assert_allclose(ax.lines[1].get_xdata(), x["mean"].values[order])
    for number, low, high in (
        (0, "simultaneous_lower", "simultaneous_upper"),
        (1, "lower", "upper"),
    ):
        ends = np.stack([x[low].values[order], x[high].values[order]])
        np.testing.assert_allclose(lines(ax, number), np.c_[np.arange(5), ends.T], atol=1e-12)
    thin, thick = (c.get_linewidth()[0] for c in ax.collections)  # type: ignore[index]
    assert thick > 2 * thin
    assert ax.get_xlabel() == (
        f"difference in {scale}, north - south: mean,\n"
        "80 % intervals, thick one by one, thin all at once"
    )
    assert ax.get_legend() is None


def test_several_contrasts_share_rows() -> None:
    found = compared("north", "south", "east")
    ax = plots.differences(found)
    assert legend_of(ax) == ["north - south", "north - east", "south - east"]
    dots = ax.lines[1:]
    assert (
        len({line.get_marker() for line in dots}) == len({line.get_color() for line in dots}) == 3
    )
    means = found.log_odds["mean"].values
    order = np.argsort(-np.abs(means).max(axis=0))
    for k, line in enumerate(dots):
        np.testing.assert_allclose(line.get_xdata(), means[k, order])
        assert np.abs(np.asarray(line.get_ydata()) - np.arange(5)).max() < 0.5
    texts = shown_texts(ax)
    assert overlapping(texts) == []
    assert outside(ax, texts) == []
    one = plots.differences(found, contrasts=["north - east"], most=3)
    assert names(one) == [LABELS[i] for i in np.argsort(-np.abs(means[1]))[:3]]
    assert "2 smaller ones left out" in one.get_xlabel()
    assert "north - east" in one.get_xlabel()


def test_given_axes_are_drawn_into() -> None:
    from matplotlib.figure import Figure

    own = Figure().subplots()
    assert plots.differences(compared("north", "south"), ax=own) is own


def test_what_cannot_be_drawn_is_refused() -> None:
    found = compared("north", "south", "east")
    with pytest.raises(DataError, match=r"luce\.compare_groups is needed; DataTree was given"):
        plots.differences(found.runs["north"])  # type: ignore[arg-type]
    with pytest.raises(MethodError, match="scale = 'elo'"):
        plots.differences(found, "elo")
    with pytest.raises(DataError, match="contrasts = 'south - north'; there are 'north - south'"):
        plots.differences(found, contrasts="south - north")
    with pytest.raises(DataError, match="most = 1 was given"):
        plots.differences(found, most=1)
    every = {k: ConditionalCounts("ab").observe({"a": k + 1, "b": 3}) for k in range(5)}
    many = luce.compare_groups(every, seed=1, draws=20, progress=False)
    with pytest.raises(
        DataError, match="10 contrasts are too many for one picture; choose at most 6"
    ):
        plots.differences(many)
