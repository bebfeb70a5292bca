"""Ranks, wins and ratings among some of the categories, and rows put together."""

from typing import Any

import numpy as np
import pytest

import luce
from luce import ConditionalCounts, Posterior
from luce.errors import DataError

COUNTS = (
    ConditionalCounts(["a", "b", "tie", "c", "home"])
    .observe({"a": 3, "tie": 4}, within=["a", "b", "tie"])
    .observe({"c": 2, "tie": 1, "home": 3}, within=["b", "c", "tie", "home"])
)
PLAYERS = ["c", "a", "b"]  # in an order that is not the stored one


@pytest.fixture(scope="module")
def run() -> Any:
    return Posterior(COUNTS, 1.0).sample(400, seed=3, progress=False)


def alone(run: Any) -> Any:
    """The same draws of the players, as an array that knows nothing of the others."""
    return run["posterior"]["probabilities"].sel(category=["a", "b", "c"])


def test_ranks_among_some_are_those_without_the_others(run: Any) -> None:
    for function in (luce.rank_probabilities, luce.probability_best, luce.answers.expected_ranks,
                     luce.answers.win_matrix, luce.log_odds, luce.elo):  # fmt: skip
        some = function(run, among=PLAYERS)
        assert some["category"].values.tolist() == ["a", "b", "c"]
        np.testing.assert_allclose(_array(some), _array(function(alone(run))))
        assert not _same(function(run), some)
    assert luce.tie_groups(run, among=PLAYERS) == luce.tie_groups(alone(run))
    assert luce.answers.expected_order(run, among=PLAYERS) == luce.answers.expected_order(
        alone(run)
    )


def _array(found: Any) -> Any:
    return found.to_array() if hasattr(found, "to_array") else found


def _same(one: Any, other: Any) -> bool:
    a, b = np.asarray(_array(one)), np.asarray(_array(other))
    return a.shape == b.shape and bool(np.allclose(a, b))


def test_the_summary_of_some_keeps_their_probabilities(run: Any) -> None:
    everybody, some = luce.summary(run), luce.summary(run, among=PLAYERS)
    assert some.categories == ["a", "b", "c"]
    where = [everybody.categories.index(label) for label in some.categories]
    for column in ("mean", "sd", "5%", "ess", "rhat", "mcse"):
        np.testing.assert_allclose(some[column], everybody[column][where])
    np.testing.assert_allclose(some["p_best"], luce.probability_best(run, among=PLAYERS))
    assert some["p_best"].sum() == pytest.approx(1.0)
    assert some["rank"].max() <= 3


def test_sensitivity_among_some() -> None:
    table = luce.workflows.sensitivity(COUNTS, [1.0], 200, among=PLAYERS, seed=1, progress=False)
    assert table["category"].values.tolist() == ["a", "b", "c"]
    assert float(table["p_best"].sum()) == pytest.approx(1.0)


@pytest.mark.parametrize("function", [luce.rank_probabilities, luce.answers.win_matrix, luce.elo])
def test_unknown_labels_are_refused(function: Any, run: Any) -> None:
    with pytest.raises(DataError, match="'z' in among is not a category"):
        function(run, among=["a", "z"])
    with pytest.raises(DataError, match="among is empty"):
        function(run, among=[])


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


def test_rows_make_a_matrix_with_exact_zeros() -> None:
    rows = luce.from_transitions("abcabcacb", rows="separate", self_loops="removed")
    runs = {s: Posterior(row).sample(300, seed=k, progress=False)
            for k, (s, row) in enumerate(rows.items())}  # fmt: skip
    matrix = luce.answers.transition_matrix(runs)
    assert matrix.dims == ("chain", "draw", "source", "target")
    np.testing.assert_allclose(matrix.sum("target"), 1.0)
    for state in "abc":
        assert (matrix.sel(source=state, target=state) == 0.0).all()
        np.testing.assert_array_equal(
            matrix.sel(source=state, target=list(rows[state].categories)),
            runs[state]["posterior"]["probabilities"],
        )


def test_rows_that_do_not_fit_are_refused() -> None:
    ab = Posterior(ConditionalCounts("ab"))
    one, two = ab.sample(10, seed=1, progress=False), ab.sample(20, seed=2, progress=False)
    with pytest.raises(DataError, match="differ in chains and draws"):
        luce.answers.transition_matrix({"a": one, "b": two})
    with pytest.raises(DataError, match="no draws"):
        luce.answers.transition_matrix({"a": one})
    with pytest.raises(DataError, match="mapping"):
        luce.answers.transition_matrix([])  # type: ignore[arg-type]
