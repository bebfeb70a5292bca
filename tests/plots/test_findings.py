"""Titles: each sentence is true of the results, and changes where they do."""

import re
from typing import Any

import numpy as np
import pytest
import xarray as xr
from lib.bounds import SEED
from lib.pictures import some_draws
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import luce
from luce import ConditionalCounts, plots
from luce.errors import DataError


def title_of(ax: Axes) -> str:
    """Read the title of a figure of its own."""
    assert isinstance(ax.figure, Figure)
    return (ax.figure.get_suptitle() or "").replace("\n", " ")


def leader(draws: xr.DataArray) -> tuple[Any, float]:
    """Count who is the best most often."""
    winners = draws.values.reshape(-1, draws.shape[2]).argmax(axis=1)
    often = np.bincount(winners, minlength=draws.shape[2])
    return draws["category"].values[often.argmax()], often.max() / len(winners)


@pytest.mark.parametrize(
    "plot",
    [plots.strengths, plots.shares, plots.rank_heatmap, plots.simplex],
    ids=lambda plot: plot.__name__,
)
def test_the_most_likely_best_is_named_with_its_probability(plot: Any) -> None:
    draws = some_draws(3, ["a", "b", "c"])
    for turned in range(3):  # the sentence follows the draws
        turn = draws.copy(data=np.roll(draws.values, turned, axis=2))
        who, chance = leader(turn)
        assert title_of(plot(turn)) == f"{who} is most likely the best: P = {chance:.2f}"


def test_best_of_some_and_of_nearly_all_draws() -> None:
    draws = some_draws(5, list("abcde"))
    who, chance = leader(draws.sel(category=["b", "d", "e"]))
    words = f"{who} is most likely the best of these 3: P = {chance:.2f}"
    for plot in (plots.strengths, plots.shares, plots.rank_heatmap):
        assert title_of(plot(draws, among=["b", "d", "e"])) == words
    sure = np.tile([0.7, 0.3], (1, 400, 1))
    assert title_of(plots.strengths(sure)) == "0 is most likely the best: P = 1"
    sure[0, 0] = [0.3, 0.7]
    assert title_of(plots.strengths(sure)) == "0 is most likely the best: P > 0.99"
    sure[0, ::2] = [0.3, 0.7]  # both are the best as often
    assert title_of(plots.strengths(sure)) == ""


def test_who_is_chosen_over_each_other() -> None:
    rng = np.random.default_rng(SEED)
    p = rng.dirichlet([9.0, 2.0, 5.0], size=(1, 300))
    odds = p[0, :, :, None] / (p[0, :, :, None] + p[0, :, None, :])
    least = min(odds.mean(axis=0)[0, 1:])
    found = re.fullmatch(
        r"0 over each of the other 2: at least (\d+) %", title_of(plots.win_matrix(p))
    )
    assert found is not None
    assert 0 <= 100 * least - int(found[1]) < 1
    # Nobody: each is far ahead of one and a little behind another.
    cycle = np.array([[[0.9, 0.1, 1e-3], [1e-3, 0.9, 0.1], [0.1, 1e-3, 0.9]]]) / 1.001
    nobody = "Nobody is chosen over each of the other 2 more often than not"
    assert title_of(plots.win_matrix(cycle)) == nobody


def test_first_and_champion() -> None:
    draws = some_draws(4, list("abcd"))
    season = luce.play(draws, luce.decide.round_robin(list("abcd")), seed=1)
    first = season.places.sel(place=1)
    who = first["competitor"].values[int(first.values.argmax())]
    words = f"{who} is most likely first: P = {float(first.max()):.2f}"
    assert title_of(plots.places(season)) == words
    cup = luce.play_bracket(draws, list("abcd"))
    who = cup.champion["competitor"].values[int(cup.champion.values.argmax())]
    words = f"{who} is most likely champion: P = {float(cup.champion.max()):.2f}"
    assert title_of(plots.places(cup)) == words


@pytest.mark.parametrize("factor", [1, 30])
def test_differences_that_are_told_from_zero_are_counted(factor: int) -> None:
    seen = {"north": [5, 4, 3, 6], "south": [3, 5, 4, 5]}
    groups = {
        name: ConditionalCounts("abcd").observe(
            {label: factor * n for label, n in zip("abcd", numbers, strict=True)}
        )
        for name, numbers in seen.items()
    }
    found = luce.compare_groups(groups, seed=1, draws=200, ci_prob=0.8, progress=False)
    table = found.log_odds
    without = (table["simultaneous_lower"] > 0) | (table["simultaneous_upper"] < 0)
    count = str(int(without.sum())) if without.any() else "None"
    assert (factor == 1) == (count == "None")
    words = f"{count} of 4 differences told from 0, all at once at 80 %"
    assert title_of(plots.differences(found)) == words
    assert title_of(plots.differences(found, most=2)) == words  # all count, drawn or not


def test_transitions_that_are_told_apart_are_counted() -> None:
    def fitted(sequence: str) -> Any:
        rows = luce.from_transitions(sequence, rows="separate")
        return luce.sequences.SeparateRows(rows).sample(400, seed=1)

    runs = fitted("abcabcacb" * 5), fitted("abababacb" * 5)
    told = luce.answers.transition_differences(*runs).told_apart
    words = f"{told.sum()} of 6 differences told from 0, all at once at 90 %"
    assert title_of(plots.transition_differences(*runs)) == words
    same = title_of(plots.transition_differences(runs[0], runs[0]))
    assert same.startswith("None of 6 differences told from 0")


def test_shares_outside_their_intervals_are_counted() -> None:
    draws = some_draws(3, list("abc"))
    far = ConditionalCounts("abc").observe({"a": 1, "b": 1, "c": 98})
    near = ConditionalCounts("abc").observe(
        {c: int(100 * draws.sel(category=c).mean()) for c in "abc"}
    )
    words = "of 3 shares outside the 90 % interval"
    ax = plots.predictive_check(draws, far)
    filled = sum(
        len(line.get_xdata())  # type: ignore[arg-type]
        for line in ax.lines
        if line.get_marker() == "D" and line.get_markerfacecolor() != "none"
    )
    assert filled > 0
    assert title_of(ax) == f"{filled} {words}"
    assert title_of(plots.predictive_check(draws, near)) == f"None {words}"


def test_a_title_of_ones_own_or_none() -> None:
    draws = some_draws(3)
    ax = plots.strengths(draws, title="All $categories$, " + "in many words " * 12)
    words = title_of(ax)
    assert words.startswith("All $categories$, in many words")
    assert "\n" in ax.figure.get_suptitle()  # type: ignore[union-attr]
    for plot in (plots.strengths, plots.win_matrix, plots.simplex):
        assert title_of(plot(draws, title=False)) == title_of(plot(draws, title="")) == ""
    figure = Figure()
    left, right = figure.subplots(1, 2)
    plots.strengths(draws, ax=left, title=True)
    plots.strengths(draws, ax=right)
    assert "is most likely the best" in left.get_title(loc="left").replace("\n", " ")
    assert right.get_title(loc="left") == figure.get_suptitle() == ""
    with pytest.raises(DataError, match="title = 3 was given"):
        plots.strengths(draws, title=3)  # type: ignore[arg-type]
