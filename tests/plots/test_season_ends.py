"""Pictures of seasons and brackets: shades are the probabilities, rows and columns their names."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from lib.answer_cases import dirichlet, draws_of

import luce
from luce import plots
from luce.decide import round_robin
from luce.errors import DataError

CLUBS = ["Ayr", "Bath", "Cork", "Deal", "Ely"]
DRAWS = draws_of(dirichlet([5.0, 1.0, 3.0, 2.0, 0.5]), CLUBS)
SEASON = luce.play(DRAWS, round_robin(CLUBS), seed=1)
CUP = luce.play_bracket(DRAWS, luce.decide.seeded(CLUBS))


def test_places_of_a_season_are_shaded() -> None:
    ax = plots.places(SEASON)
    np.testing.assert_allclose(ax.images[0].get_array(), SEASON.places)
    names = [label.get_text() for label in ax.get_yticklabels()]
    assert names == SEASON.places["competitor"].values.tolist()
    assert [label.get_text() for label in ax.get_xticklabels()] == list("12345")
    assert ax.get_xlabel() == "place"
    shown = [f"{100 * q:.0f}" for q in SEASON.places.values.ravel() if q >= 0.005]
    assert [text.get_text() for text in ax.texts] == shown


def test_of_many_the_best_are_drawn() -> None:
    ax = plots.places(SEASON, most=2)
    table = SEASON.places.values[:2]
    beyond = table[:, 2:].sum(axis=1, keepdims=True)
    np.testing.assert_allclose(ax.images[0].get_array(), np.hstack([table[:, :2], beyond]))
    assert [label.get_text() for label in ax.get_xticklabels()] == ["1", "2", ">2"]
    assert plots.places(CUP, most=3).images[0].get_array().shape == (3, 3)


def test_stages_of_a_bracket_are_shaded() -> None:
    _, own = plt.subplots()
    ax = plots.places(CUP, ax=own)
    assert ax is own
    np.testing.assert_allclose(ax.images[0].get_array(), CUP.reach)
    stages = [label.get_text() for label in ax.get_xticklabels()]
    assert stages == ["semi-final", "final", "champion"]
    plt.close(own.figure)


@pytest.mark.parametrize(("given", "words"), [(DRAWS, "DataArray was given"), (None, "NoneType")])
def test_something_else_is_refused(given: object, words: str) -> None:
    with pytest.raises(DataError, match=words):
        plots.places(given)  # type: ignore[arg-type]
    with pytest.raises(DataError, match="most = 0"):
        plots.places(SEASON, most=0)
