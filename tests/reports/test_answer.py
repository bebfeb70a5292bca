"""The answer: who is best, and the tables of categories and parameters."""

import re
from html import unescape
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from lib.report_runs import duels, sampled, table_of, text_of

import luce
from luce.answers.diagnostics import verdict
from luce.page.document import Page
from luce.page.words import probability
from luce.reports import answer
from luce.reports.findings import ChoiceFindings, Findings, find
from luce.reports.pictures import PictureSizes, write_answer_pictures
from luce.reports.run_page import write_report

pytestmark = pytest.mark.filterwarnings("ignore::luce.ConvergenceWarning")


def lead_of(wins: dict[str, int]) -> tuple[str, ChoiceFindings]:
    """Write the lead of a page about three categories."""
    found = find(sampled(luce.ConditionalCounts("abc").observe(wins), 60), 0.9)
    assert isinstance(found, ChoiceFindings)
    return "".join(x if isinstance(x, str) else x.text for x in answer.lead(found)), found


def test_a_report_holds_the_numbers_of_the_summary(chains: xr.DataTree, drawn: Path) -> None:
    found = table_of(drawn)
    table = luce.summary(chains, 0.8, sort=True)
    assert found["Category"] == [str(label) for label in table.categories]
    for head, column in {
        "Mean": "mean", "80 % interval": "eti80_lb", "P(best)": "p_best", "Rank": "rank",
        "Rank, 80 %": "rank_lb", "ESS": "ess_bulk", "R-hat": "r_hat",
    }.items():  # fmt: skip
        values = [float(x) if x else np.nan for x in found[head]]
        np.testing.assert_allclose(values, table[column], rtol=1e-12, err_msg=head)
    elo = luce.elo(chains).mean(("chain", "draw"))
    np.testing.assert_allclose(
        [float(x) for x in found["Elo"]], elo.sel(category=list(table.categories))
    )
    known = dict(zip(table.categories, found["Known from"], strict=True))
    assert known.pop("unseen") == "◐\xa0prior only"
    assert set(known.values()) <= {"data", "◐\xa0wide"}
    games = {"a": (6, 4), "b": (6, 3), "c": (6, 3), "d": (6, 2), "unseen": (0, 0)}
    counted = zip(found["Games"], found["Wins"], strict=True)
    assert [(float(m), float(w)) for m, w in counted] == [games[str(c)] for c in table.categories]


def test_shown_numbers_are_rounded(exact: xr.DataTree, tmp_path: Path) -> None:
    table = luce.summary(exact, sort=True)
    html = luce.report(exact, tmp_path / "a.html", pictures=False).read_text()
    assert f">{table['mean'][0]:.3f}</td>" in html
    assert f">{table['eti90_lb'][0]:.3f} to {table['eti90_ub'][0]:.3f}</td>" in html
    assert f"<strong>{table['p_best'].max():.3f}</strong>" in html


@pytest.mark.parametrize(
    ("wins", "words"),
    [
        ({"a": 9, "b": 1, "c": 2}, "is the best with probability"),
        ({"a": 6, "b": 3, "c": 2}, "is probably the best, with probability"),
        ({"a": 2, "b": 2, "c": 2}, "No category is likely to be the best"),
    ],
)
def test_the_lead_says_how_sure_the_best_is(wins: dict[str, int], words: str) -> None:
    lead, found = lead_of(wins)
    assert words in lead
    assert f"{probability(float(found.table['p_best'].max()))}; next comes" in lead


def test_the_best_of_every_draw_has_no_second() -> None:
    lead, _ = lead_of({"a": 900, "b": 1, "c": 1})
    assert lead.startswith("a is the best in every draw. ")
    assert "next comes" not in lead


@pytest.mark.parametrize("kept", [False, True])
def test_a_page_about_some_says_so(tmp_path: Path, kept: bool) -> None:
    """Those left out may be better than the best of the others."""
    counts = luce.ConditionalCounts("abc").observe({"a": 9, "b": 6, "c": 8})
    how = {"keep": ["a", "b"]} if kept else {}
    run = luce.Posterior(counts).sample(200, seed=1, progress=False, **how)
    among = None if kept else ["a", "b"]
    some = text_of(luce.report(run, tmp_path / "a.html", among=among, pictures=False))
    p = luce.probability_best(run, among=["a", "b"]).sel(category="a").item()
    assert f"a is probably the best of these 2, with probability {p:.3f}" in some
    assert "The 2 categories asked for, by expected rank." in some
    assert "All categories" not in some
    whole = luce.Posterior(counts).sample(200, seed=1, progress=False)
    control = text_of(luce.report(whole, tmp_path / "b.html", pictures=False))
    assert "of these" not in control.split("The answer")[0]
    assert "All categories, by expected rank." in control


def test_the_lead_counts_who_can_be_told_apart() -> None:
    for wins, words in [
        ({"a": 900, "b": 90}, "All 3 categories can be told apart: of any two, one is better"),
        ({"a": 1}, "None of the 3 pairs can be told apart at 95 %"),
        ({"a": 900, "b": 5, "c": 5}, "The 3 categories fall into 2 groups that can be told apart"),
        ({"a": 15, "b": 9, "c": 5}, "Of all 3 pairs 1 can be told apart at 95 %, but no cut"),
    ]:
        lead, found = lead_of(wins)
        assert words in lead
        assert len(luce.tie_groups(found.run)) == len(set(found.group.tolist()))


def test_the_lead_says_what_only_the_prior_knows(chains: xr.DataTree, drawn: Path) -> None:
    lead = re.search('class="lead">(.*?)</p>', drawn.read_text(), re.S)
    assert lead
    words = re.sub("<[^>]*>", "", lead[1])
    best = luce.probability_best(chains)
    assert f"{float(best.max()):.3f}" in words
    assert str(best["category"].to_numpy()[int(best.to_numpy().argmax())]) in words
    assert "1 category is known only from the prior" in words


def test_one_category_is_all_there_is(tmp_path: Path) -> None:
    run = sampled(luce.ConditionalCounts(["only"]).observe({"only": 2}), 220)
    page, verdict = write_report(run, tmp_path / "a.html", pictures=False)
    assert verdict.kind == "good"
    said = text_of(page)
    assert "There is only one category, only ." in said
    assert "no category varies" in said
    assert "nothing to compute: too few draws or chains, or no variation" in said
    assert "1 category, 2 outcomes" in said


def test_of_many_categories_only_the_first_are_told() -> None:
    run = sampled(luce.ConditionalCounts(range(5)).observe({0: 9, 1: 7, 2: 5, 3: 3}), 20)
    page, found = Page("x"), find(run, 0.9)
    assert isinstance(found, ChoiceFindings)
    answer.write_table(page, found, most=2)
    write_answer_pictures(page, found, PictureSizes(wins=4, described=3))
    said = unescape(page.to_html())
    table = luce.summary(run, sort=True)
    # Labels that are numbers are sorted as such.
    rows = re.findall(r'<th scope="row" class="number" data-value="([^"]*)">', said)
    assert rows == [repr(float(label)) for label in table.categories[:2]]  # type: ignore[arg-type]
    assert "The last 3 are left out." in said
    assert f"; 2 more, the last being \u2068{table.categories[-1]}\u2069 with" in said
    assert "; 2 more follow." in said
    assert "column, the best 4 of 5." in said


def test_probabilities_stored_as_zero_have_no_odds_and_no_duels() -> None:
    run = sampled(luce.ConditionalCounts("abc").observe({"a": 3}), 20).copy(deep=True)
    run["posterior"]["probabilities"].to_numpy()[:, 0] = [1.0, 0.0, 0.0]
    page, found = Page("x"), find(run, 0.9)
    assert isinstance(found, ChoiceFindings)
    answer.write_table(page, found)
    assert found.log_odds is None
    assert "<th" in page.to_html()
    assert "Log odds" not in page.to_html()
    assert "draw again with log_probabilities=True" in page.to_html()
    write_answer_pictures(page, found)
    assert page.to_html().count("<img") == 2  # strengths and ranks


def test_drawn_parameters_have_a_table_of_their_own(tmp_path: Path) -> None:
    run = sampled(duels(list("abc")), 30, luce.Gamma(2, 1), warmup=5)
    run.posterior["tie"] = run.posterior["concentration"] / 2  # a scalar without a role
    page = luce.report(run, tmp_path / "a.html", pictures=False)
    said = text_of(page)
    assert "Parameters of the model that were drawn, too." in said
    for name in ("concentration", "tie"):
        values = run.posterior[name].to_numpy()
        low, high = np.quantile(values, [0.05, 0.95])
        assert f" {name} {values.mean():.3g} {low:.3g} to {high:.3g} " in said
    assert table_of(page)["Category"] != ["concentration"]


def test_the_role_of_a_variable_decides(chains: xr.DataTree) -> None:
    sample, n = ("chain", "draw"), chains.posterior.sizes["draw"]
    values = np.random.default_rng(1).normal(size=(2, n, 2))
    values[0] += 9  # chains that have not met
    home = xr.DataArray(values, {"venue": ["day", "night"]}, (*sample, "venue"))
    hidden = xr.DataArray(np.ones((2, n)), dims=sample)

    def findings(**extra: xr.DataArray) -> Findings:
        run = chains.copy()
        run["posterior"] = xr.DataTree(chains["posterior"].to_dataset().assign(extra))
        return find(run, 0.9)

    found = findings(home=home, hidden=hidden)
    assert found.parameters is not None
    assert found.parameters.categories == ["hidden"]
    roles = {
        "home": home.assign_attrs(role="parameter"),
        "hidden": hidden.assign_attrs(role="latent"),
    }
    found = findings(**roles)
    assert found.parameters is not None
    assert found.parameters.categories == ["home[day]", "home[night]"]
    np.testing.assert_allclose(found.parameters["mean"], values.mean(axis=(0, 1)))
    assert verdict(found.run).largest_rhat.entry in ("the home[day]", "the home[night]")


def test_effects_stand_below_the_competitors(tmp_path: Path) -> None:
    games = {"item1": ["a", "b", "c"], "item2": ["b", "c", "a"], "outcome": ["tie", "tie", "c"]}
    run = sampled(
        luce.from_pairs(games, ties="entity", home="first", home_effect="entity"), 40, warmup=10
    )
    page = luce.report(run, tmp_path / "a.html")
    assert sorted(table_of(page)["Competitor"]) == ["a", "b", "c"]
    said = text_of(page)
    assert "3 competitors, 3 outcomes" in said
    assert "Effects, which are no competitors: ranks, Elo and groups are without them." in said
    assert "Two competitors of median strength tie, nobody having an advantage, with" in said
    assert "Categories 5, 2 of them no competitors: tie (tie) and home (home)" in said
    assert "All competitors, by expected rank." in said
    # What is not ranked is still judged and replicated.
    found = find(run, 0.9)
    assert isinstance(found, ChoiceFindings)
    assert set(found.effective) == {"a", "b", "c", "tie", "home"}
    elo = luce.elo(run).mean(("chain", "draw")).sel(category=found.table.categories)
    np.testing.assert_allclose([float(x) for x in table_of(page)["Elo"]], elo)
    chosen = luce.report(run, tmp_path / "b.html", among=["a", "tie"], pictures=False)
    assert sorted(table_of(chosen)["Competitor"]) == ["a", "tie"]
