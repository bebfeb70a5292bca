"""Pages about contests: pairings and results, likelihood, priors, sentences and a check."""

from dataclasses import replace
from html import unescape
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from lib.contest_runs import counts_of
from lib.report_runs import text_of

import luce
from luce.answers.effects import parameter_sentences
from luce.answers.view import DrawsView
from luce.page.document import Page
from luce.reports import pictures, predictive_check
from luce.reports.findings import ChoiceFindings, find

pytestmark = pytest.mark.filterwarnings("ignore::luce.ConvergenceWarning")

WORDS = {
    "davidson": ["Davidson’s model of ties", "ν √(A B) / D", "ν is called “tie”"],
    "rao-kupper": ["by Rao and Kupper", "A / (A + θ B)", "The excess of “tie” over 1 has a gamma"],
    None: ["Bradley and Terry’s model", "A / (A + B)"],
}


def drawn(ties: str | None, at_home: bool = True, home: float | None = None) -> xr.DataTree:
    posterior = luce.Posterior(counts_of(ties, at_home), home=home)
    return posterior.sample(60, chains=2, warmup=30, seed=2, progress=False)


@pytest.mark.parametrize("ties", list(WORDS))
def test_a_page_tells_the_model_and_what_its_parameters_mean(
    tmp_path: Path, ties: str | None
) -> None:
    run = drawn(ties)
    said = text_of(luce.report(run, tmp_path / "a.html", pictures=ties == "davidson"))
    for words in WORDS[ties]:
        assert words in said
    assert "“home” has a gamma distribution of shape 2 and rate 2, with mean 1." in said
    assert "Luce’s choice axiom" not in said
    for sentence in parameter_sentences(DrawsView.of(run), 0.9).values():
        assert f"{sentence[0].upper()}{sentence[1:]}." in said
    assert "14 wins at home" in said
    assert "4 wins away" in said
    assert ("9 ties" in said) == (ties is not None)
    assert "3 wins" in said
    assert "on neutral ground" in said
    assert "a at home against b" in said
    assert "The pairings that met most often" in said
    assert "would the model record such results again?" in said
    if ties == "davidson":
        assert "wins over the column, if they do not tie and on neutral ground" in said


def test_known_parameters_are_told(tmp_path: Path) -> None:
    said = text_of(luce.report(drawn("davidson", home=1.5), tmp_path / "a.html", pictures=False))
    assert "“home” was taken as known, 1.5." in said


def test_what_data_leaves_to_a_prior_is_told(tmp_path: Path) -> None:
    """The same are always at home, and nobody ever tied."""
    games = {"home": ["a", "a", "b", "b"], "away": ["c", "d", "c", "d"], "result": list("HAHA")}
    with pytest.warns(luce.errors.ConfoundedHomeWarning):
        counts = luce.from_pairs(games, ties="davidson", home="first")
    for home in (None, 1.3):
        run = luce.Posterior(counts, home=home).sample(60, chains=2, seed=2, progress=False)
        said = text_of(luce.report(run, tmp_path / f"{home}.html", pictures=False))
        assert "Left to the prior of tie none of 4 meetings was tied: only its prior says" in said
        assert ("Left to the prior of home data cannot tell" in said) == (home is None)
        table = str(luce.summary(run, counts=counts))
        assert ("home: data cannot tell the advantage" in table) == (home is None)


@pytest.mark.parametrize("ties", ["unknown", "davidson-luce"])
def test_a_page_of_rankings_with_ties_tells_their_model(tmp_path: Path, ties: str) -> None:
    rankings = [["a", {"b", "c"}, "d"], [{"a", "d"}, "b", "c"], ["d", "c", "b", "a"]]
    run = luce.Posterior(luce.from_rankings(rankings, ties=ties)).sample(
        60, chains=2, seed=2, progress=False
    )
    said = text_of(luce.report(run, tmp_path / "a.html"))
    assert ("the sum over all these orders" in said) == (ties == "unknown")
    assert ("δ_d g(T) / Σ_U δ_|U| g(U)" in said) == (ties == "davidson-luce")
    assert "neutral ground" not in said
    tied = ", if they do not tie" if ties == "davidson-luce" else ""
    assert f"How often the row is chosen over the column{tied}." in said


def test_a_page_without_home(tmp_path: Path) -> None:
    said = text_of(luce.report(drawn("davidson", False), tmp_path / "a.html"))
    assert "the column, if they do not tie." in said
    assert "neutral ground" not in said
    assert "21 wins and 10 ties" in said
    assert "“home”" not in said


def test_the_check_finds_what_the_model_cannot_make() -> None:
    """Draws of these data, and other results of the same meetings."""
    found = find(drawn("davidson"), 0.9)
    assert isinstance(found, ChoiceFindings)
    right = predictive_check.replicate(found)
    assert not isinstance(right, str)
    assert right.names == [f"{c}: {what}" for what in ("wins", "ties") for c in "abc"]
    assert right.recorded.tolist() == [12.0, 6.0, 3.0, 8.0, 5.0, 7.0]
    assert right.replicated.shape == (120, 6)
    many = [("a", "b", 1, 0, 13, 0), ("b", "c", 1, 0, 7, 0), ("c", "a", 1, 7, 0, 0)]
    wrong = luce.Posterior(counts_of("davidson", True, many))
    found = replace(found, posterior=wrong)
    check = predictive_check.replicate(found)
    assert not isinstance(check, str)
    assert check.surprise[check.names.index("c: wins")] == 0
    low, high = check.ends(0.9)
    out = (check.recorded < low) | (check.recorded > high)
    page = Page("check")
    predictive_check.write_check(page, found, check)
    pictures.write_check_picture(page, found, check)
    html = unescape(page.to_html())
    assert f"Of 6 recorded counts of wins and ties, {int((~out).sum())} lie within the 90 %" in html
    assert np.count_nonzero(out) > 2
    assert "c: wins" in html


def test_too_many_pairings_are_not_replicated() -> None:
    found = find(drawn("davidson"), 0.9)
    assert isinstance(found, ChoiceFindings)
    told = predictive_check.replicate(found, most_cells=10)
    assert told == "the data has 4 pairings, too many to replicate for a page"
