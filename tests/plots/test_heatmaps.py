"""Tables as shades: ranks, duels and transitions."""

import numpy as np
import pytest
from lib.pictures import names, overlapping, shades, shown_texts, some_draws
from matplotlib.figure import Figure

import luce
from luce import plots
from luce.errors import DataError
from luce.plots.heatmaps import named_ranks
from luce.plots.matrices import transition_heatmap


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
    assert ax.child_axes[0].yaxis.get_major_formatter()(0.25, 0) == "25 %"
    ax = plots.rank_heatmap(draws, most=4)
    assert names(ax, "x") == ["1", "2", "3", "4", ">4"]
    beyond = np.c_[counted[:4, :4], counted[:4, 4:].sum(axis=1)]
    np.testing.assert_allclose(ax.images[0].get_array(), beyond)


def test_ranks_among_some_are_as_if_the_others_were_absent() -> None:
    draws = some_draws(5, list("abcde"))
    first = (draws.values[:, :, 3] > draws.values[:, :, 1]).mean()
    table = shades(plots.rank_heatmap(draws, among="bd"))
    first = max(first, 1 - first)
    np.testing.assert_allclose(table, [[first, 1 - first], [1 - first, first]])


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
    given = Figure().subplots()
    plots.win_matrix(draws, ax=given)
    assert given.get_aspect() == 1.0


def test_large_tables_have_no_numbers_and_long_names_stand_upright() -> None:
    draws = some_draws(14, list("abcdefghijklmn"))
    ax = plots.win_matrix(draws)
    assert len(ax.texts) == 0
    assert {label.get_rotation() for label in ax.get_xticklabels()} == {0.0}
    long = draws.assign_coords(category=[f"a long name of {c}" for c in "abcdefghijklmn"])
    assert {label.get_rotation() for label in plots.win_matrix(long).get_xticklabels()} == {90.0}
    assert len(plots.rank_heatmap(draws).texts) == 0
    tiny = Figure(figsize=(1.5, 1)).subplots()
    assert len(plots.rank_heatmap(some_draws(6), ax=tiny).texts) == 0


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
    assert named_ranks(12, room) == kept


@pytest.mark.parametrize("n", [3, 20])
def test_transitions_that_cannot_occur_are_crosses(n: int) -> None:
    table = np.random.default_rng(1).dirichlet(np.ones(n), n)
    forbidden = np.eye(n, dtype=bool)
    forbidden[0, 1] = True
    table[forbidden] = 0
    states = [f"state {i}" for i in range(n)]
    ax = transition_heatmap(table, forbidden, sources=states, states=states)
    assert names(ax) == names(ax, "x")
    assert ax.images[0].get_array().mask.tolist() == forbidden.tolist()  # type: ignore[union-attr]
    np.testing.assert_allclose(shades(ax)[~forbidden], table[~forbidden])
    crosses = {(int(y), int(x)) for x, y in ax.lines[0].get_xydata()}
    assert crosses == {(i, i) for i in range(n)} | {(0, 1)}
    shown = {f"{100 * x:.0f}" for x in table[~forbidden]} if n <= 12 else set()
    assert {text.get_text() for text in ax.texts} == shown
    assert overlapping(shown_texts(ax)) == []


def test_a_transition_matrix_is_drawn_into_given_axes() -> None:
    given = Figure().subplots()
    table = np.full((2, 3), 1 / 3)
    free = np.zeros((2, 3), bool)
    ax = transition_heatmap(table, free, sources=["a", "b"], states=["a", "b", "rest"], ax=given)
    assert ax is given
    assert names(ax, "x") == ["a", "b", "rest"]


def test_pictures_of_some() -> None:
    draws = some_draws(5, ["a", "b", "tie", "c", "home"])
    some = ["c", "a", "b"]
    ax = plots.rank_heatmap(draws, among=some)
    assert sorted(names(ax)) == ["a", "b", "c"]
    order = luce.answers.expected_order(draws, among=some)
    wanted = luce.rank_probabilities(draws, among=some).sel(category=order)
    np.testing.assert_allclose(shades(ax), wanted)
    assert shades(plots.win_matrix(draws, among=some)).shape == (3, 3)


def test_the_number_of_rows_is_whole() -> None:
    draws = some_draws(4)
    for wrong in (1, 2.5, True, "all"):
        with pytest.raises(DataError, match=r"most = .* was given; a whole number from 2 on"):
            plots.win_matrix(draws, most=wrong)  # type: ignore[arg-type]
