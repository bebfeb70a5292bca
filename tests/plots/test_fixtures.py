"""Bars of predicted fixtures: their lengths, names and intervals."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from lib.contest_runs import made_up

import luce
from luce import plots
from luce.errors import DataError


def test_bars_have_the_lengths_of_the_probabilities() -> None:
    predicted = luce.predict(made_up("davidson", True), ["a", "b"], ["b", ("a", "c")], "first")
    ax = plots.predictions(predicted)
    bars = [[bar.get_width() for bar in kind] for kind in ax.containers]
    np.testing.assert_allclose(np.transpose(bars), 100 * predicted.values)
    starts = [[bar.get_x() for bar in kind] for kind in ax.containers]
    np.testing.assert_allclose(starts[1], bars[0])
    assert [label.get_text() for label in ax.get_yticklabels()] == ["a (home)", "b (home)"]
    texts = [text.get_text() for text in ax.texts]
    assert texts[-2:] == ["b", "a, c"]
    shown = [f"{100 * q:.0f}" for q in predicted.values.ravel() if q >= 0.06]
    assert sorted(texts[:-2]) == sorted(shown)
    words = [text.get_text() for text in ax.get_legend().get_texts()]
    assert words == ["first side wins", "tie", "first side loses"]
    assert "90 % intervals" in ax.get_xlabel()
    first, second = (lines.get_segments() for lines in ax.collections)
    for k, line in enumerate(first):
        ends = [predicted[name].sel(result="first").values[k] for name in ("lower", "upper")]
        np.testing.assert_allclose(line[:, 0], 100 * np.array(ends))
    for k, line in enumerate(second):
        ends = [predicted[name].sel(result="second").values[k] for name in ("lower", "upper")]
        np.testing.assert_allclose(line[:, 0], 100 - 100 * np.array(ends))


def test_one_fixture_without_ties_and_more_than_are_shown() -> None:
    run = made_up(None, False)
    ax = plots.predictions(luce.predict(run, "a", "b"))
    assert len(ax.containers) == 2
    _, own = plt.subplots()
    assert (
        plots.predictions(luce.predict(run, ["a", "b", "c"], ["b", "c", "a"]), most=2, ax=own)
        is own
    )
    assert "1 more fixture" in own.get_xlabel()
    plt.close(own.figure)


@pytest.mark.parametrize(
    "given", [3.0, luce.predict(made_up(None, False), "a", "b", all_draws=True)]
)
def test_something_else_is_refused(given: object) -> None:
    with pytest.raises(DataError, match=r"what luce\.predict returned"):
        plots.predictions(given)  # type: ignore[arg-type]


def test_no_fixtures_at_all_are_refused() -> None:
    with pytest.raises(DataError, match="most = 0"):
        plots.predictions(luce.predict(made_up(None, False), "a", "b"), most=0)


def test_parameters_have_traces() -> None:
    run = made_up("davidson", True)
    axes = plots.trace(run, ["a", "home", "tie"])
    assert [ax.get_title(loc="left") for ax in axes] == [
        "a",
        "home (parameter)",
        "tie (parameter)",
    ]
    assert [ax.get_ylabel() for ax in axes] == ["probability", "value", "value"]
    drawn = axes[1].lines[0].get_ydata()
    np.testing.assert_array_equal(drawn, run["posterior"]["home"].values[0])
    assert len(plots.autocorrelation(run, ["tie"], lags=5)) == 1
    titles = [ax.get_title(loc="left") for ax in plots.trace(run)]
    assert len(titles) == 4
    marks = [title.endswith("(parameter)") for title in titles]
    assert marks == sorted(marks)  # competitors first
