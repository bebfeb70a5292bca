"""Traces and autocorrelations: one line for each chain."""

import numpy as np
import pytest
from lib.pictures import legend_of, some_draws
from matplotlib.figure import Figure

import luce
from luce import plots
from luce.plots.canvas import CHAINS


def test_traces_are_the_chains() -> None:
    draws = some_draws(4, list("abcd"))
    axes = plots.trace(draws, ["c", "a"])
    assert [ax.get_title(loc="left") for ax in axes] == ["c", "a"]
    for ax, label in zip(axes, "ca", strict=True):
        for chain, line in enumerate(ax.lines):
            np.testing.assert_array_equal(line.get_xdata(), np.arange(200))
            np.testing.assert_array_equal(line.get_ydata(), draws.sel(category=label)[chain])
            assert line.get_color() == CHAINS[chain]
    assert legend_of(axes[0]) == ["chain 0", "chain 1"]
    assert axes[1].get_xlabel() == "draw"


def test_autocorrelations_are_those_of_the_diagnostics() -> None:
    draws = some_draws(4, list("abcd"))
    found = luce.answers.diagnostics.autocorrelation(draws, 100)
    axes = plots.autocorrelation(draws)
    assert sorted(ax.get_title(loc="left") for ax in axes) == list("abcd")
    for ax in axes:
        label = ax.get_title(loc="left")
        for chain, line in enumerate(ax.lines):
            np.testing.assert_array_equal(line.get_ydata(), found.sel(category=label)[chain])
        band = ax.patches[0].get_extents().transformed(ax.transData.inverted())
        assert (band.y0, band.y1) == pytest.approx((-1.96 / np.sqrt(200), 1.96 / np.sqrt(200)))
    short = plots.autocorrelation(draws[:, :30], ["a"], lags=7, ax=Figure().subplots())[0]
    assert short.lines[0].get_xdata()[-1] == 7
    assert len(plots.autocorrelation(draws[:, :30], ["a"])[0].lines[0].get_xdata()) == 30


def test_the_slowest_categories_are_looked_at() -> None:
    values = some_draws(6, size=400).values.copy()
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


def test_a_chain_that_never_moves_has_no_autocorrelation() -> None:
    ax = plots.autocorrelation(np.full((2, 20, 2), 0.5), [0])[0]
    assert np.isnan(ax.lines[0].get_ydata()).all()
    ax.figure.draw_without_rendering()
