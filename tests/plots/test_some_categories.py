"""Pictures of some of the categories."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import luce
from luce import ConditionalCounts, Posterior

COUNTS = (
    ConditionalCounts(["a", "b", "tie", "c", "home"])
    .observe({"a": 3, "tie": 4}, within=["a", "b", "tie"])
    .observe({"c": 2, "tie": 1, "home": 3}, within=["b", "c", "tie", "home"])
)


PLAYERS = ["c", "a", "b"]


@pytest.fixture(scope="module")
def run() -> Any:
    return Posterior(COUNTS, 1.0).sample(400, seed=3, progress=False)


def test_pictures_of_some(run: Any) -> None:
    pytest.importorskip("matplotlib")
    ax = luce.plots.rank_heatmap(run, among=PLAYERS)
    assert sorted(t.get_text() for t in ax.get_yticklabels()) == ["a", "b", "c"]
    order = luce.answers.expected_order(run, among=PLAYERS)
    drawn = ax.images[0].get_array().data
    np.testing.assert_allclose(
        drawn, luce.rank_probabilities(run, among=PLAYERS).sel(category=order).values
    )
    ax = luce.plots.win_matrix(run, among=PLAYERS)
    assert ax.images[0].get_array().shape == (3, 3)


def test_strengths_on_shared_axes_show_everything() -> None:
    pytest.importorskip("matplotlib")
    from matplotlib.figure import Figure

    left, right = Figure().subplots(1, 2, sharex=True)
    luce.plots.strengths([[[0.6, 0.4], [0.5, 0.5]]], ax=left)
    luce.plots.strengths([[[0.95, 0.05], [0.99, 0.01]]], ax=right)
    low, high = right.get_xlim()
    assert low == 0.0
    assert high >= 0.99


def test_elo_in_a_picture_begins_where_it_is_told(run: Any) -> None:
    pytest.importorskip("matplotlib")
    ax = luce.plots.strengths(run, scale="elo", reference="a", at=1000.0, among=PLAYERS)
    mean = luce.answers.intervals(luce.elo(run, "a", 1000.0, among=PLAYERS))["mean"]
    places = np.concatenate([np.ravel(line.get_xdata()) for line in ax.lines] + [
        np.ravel(c.get_offsets()[:, 0]) for c in ax.collections if len(c.get_offsets()) > 1
    ])  # fmt: skip
    for label in "abc":
        assert np.abs(places - float(mean.sel(category=label))).min() < 1e-9
    assert "1000" in ax.get_xlabel()
