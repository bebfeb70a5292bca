"""Ties and advantages are no competitors: no answer ranks them unless it is asked to."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr
from lib.answer_cases import SEED, dirichlet, draws_of

import luce
from luce import Posterior
from luce.answers.effects import parameter_sentences, sentences
from luce.answers.view import DrawsView
from luce.errors import DataError

pytestmark = pytest.mark.filterwarnings("ignore::luce.ConvergenceWarning")

CLUBS = ["a", "b", "c"]
# Mostly ties: the tie would be the best of the table.
GAMES = {
    "item1": ["a", "b", "c", "a", "b", "c"],
    "item2": ["b", "c", "a", "c", "a", "b"],
    "outcome": ["tie", "tie", "a", "tie", "b", "tie"],
    "count": [9, 8, 2, 7, 3, 8],
}
COUNTS = luce.from_pairs(GAMES, ties="entity", home="first", home_effect="entity", tie_label="draw")

RANKING = {
    "rank_probabilities": luce.rank_probabilities,
    "probability_best": luce.probability_best,
    "probability_larger": luce.answers.probability_larger,
    "expected_ranks": luce.answers.expected_ranks,
    "win_matrix": luce.answers.win_matrix,
    "shares": luce.shares,
    "log_odds": luce.log_odds,
    "elo": luce.elo,
}


@pytest.fixture(scope="module")
def run() -> xr.DataTree:
    return Posterior(COUNTS).sample(60, chains=2, seed=SEED + 1, warmup=20, progress=False)


def unmarked(run: xr.DataTree) -> Any:
    """The same draws, by an array that does not know what its categories are."""
    p = run["posterior"]["probabilities"]
    return xr.DataArray(p.to_numpy(), {"category": p["category"]}, p.dims)


@pytest.mark.parametrize("name", list(RANKING))
def test_effects_take_part_only_where_they_are_named(run: xr.DataTree, name: str) -> None:
    answer = RANKING[name]
    everybody = [*CLUBS, "draw", "home"]
    xr.testing.assert_allclose(answer(run), answer(unmarked(run), among=CLUBS))
    xr.testing.assert_allclose(answer(run, among=everybody), answer(unmarked(run)))
    # A run's own array knows its effects, too.
    xr.testing.assert_allclose(answer(run["posterior"]["probabilities"]), answer(run))
    assert answer(run)["category"].to_numpy().tolist() == CLUBS
    # And so does one of which the user has left out a club.
    few = run["posterior"]["probabilities"].sel(category=["draw", "c", "a"])
    assert sorted(answer(few)["category"].to_numpy().tolist()) == ["a", "c"]


def test_orders_and_groups_are_those_of_competitors(run: xr.DataTree) -> None:
    assert sorted(map(str, luce.answers.expected_order(run))) == CLUBS
    assert "draw" in luce.answers.expected_order(run, among=["draw", "a"])
    assert sorted(str(x) for group in luce.tie_groups(run) for x in group) == CLUBS
    best = luce.probability_best(unmarked(run))
    assert (
        best["category"].to_numpy()[int(best.to_numpy().argmax())] == "draw"
    )  # were it a competitor


def test_a_summary_shows_effects_below(run: xr.DataTree) -> None:
    table = luce.summary(run, counts=COUNTS)
    assert table.categories == CLUBS
    assert table.effects is not None
    assert table.effects.categories == ["draw", "home"]
    draws = run["posterior"]["probabilities"].sel(category=["draw", "home"])
    np.testing.assert_allclose(table.effects["mean"], draws.mean(("chain", "draw")))
    assert "p_best" not in table.effects.columns
    text = str(table)
    assert text.index("\n\neffect ") > text.index("\nc ")
    assert "\ndraw: two competitors of median strength tie, nobody having an advantage" in text
    assert "<p>home: of two competitors of median strength the one with the" in table.to_html()
    frame = table.to_pandas()
    assert frame["role"].tolist() == ["competitor"] * 3 + ["effect"] * 2
    assert np.isnan(frame.loc["draw", "p_best"])
    assert table.to_polars()["category"].to_list() == [*CLUBS, "draw", "home"]
    ranked = luce.summary(run, among=["a", "draw"])
    assert ranked.categories == ["a", "draw"]
    assert ranked.effects is not None
    assert ranked.effects.categories == ["home"]
    assert luce.summary(unmarked(run)).effects is None


def test_marks_go_through_files_and_streams(run: xr.DataTree, tmp_path: Path) -> None:
    for name in ("a.nc", "a.zarr"):
        luce.save(run, tmp_path / name)
        saved = luce.load(tmp_path / name)
        assert luce.posterior_of(saved).counts.effects == {"draw": "tie", "home": "home"}
        assert luce.summary(saved).categories == CLUBS
    relabelled = COUNTS.relabel({"draw": ("remis", 1)})
    options = {"chains": 2, "seed": 1, "warmup": 20, "progress": False}
    streamed = Posterior(relabelled).sample(20, to=tmp_path / "b.zarr", **options)
    assert luce.posterior_of(streamed).counts.effects == {("remis", 1): "tie", "home": "home"}
    assert luce.answers.expected_order(streamed) == luce.answers.expected_order(
        Posterior(COUNTS).sample(20, **options)
    )


def test_kept_draws_know_their_effects() -> None:
    options = {"chains": 1, "seed": 1, "warmup": 20, "progress": False}
    few = Posterior(COUNTS).sample(20, keep=["a", "draw"], **options)
    assert luce.summary(few).categories == ["a"]
    only = Posterior(COUNTS).sample(20, keep=["draw"], **options)
    with pytest.raises(DataError, match=r"no competitors to rank: 'draw' are effects.*among="):
        luce.summary(only)
    assert luce.summary(only, among=["draw"]).categories == ["draw"]


def marked(x: Any, kinds: dict[str, str]) -> xr.DataArray:
    """Draws of which some categories are marked as a run marks them."""
    array = draws_of(x)
    for kind in set(kinds.values()):
        array.attrs[f"{kind}_categories"] = [c for c, own in kinds.items() if own == kind]
    return array


def by_loops(x: Any, tie: int, home: int) -> Any:
    """Probabilities of a tie and of the side at home, between two of median strength."""
    found = []
    for p in x.reshape(-1, x.shape[2]).tolist():
        others = sorted(v for i, v in enumerate(p) if i not in (tie, home))
        n = len(others)
        m = (others[(n - 1) // 2] + others[n // 2]) / 2
        found.append([p[tie] / (m + m + p[tie]), (m + p[home]) / (m + m + p[home])])
    return np.array(found)


def test_effects_in_words_are_those_of_loops() -> None:
    x = dirichlet([2.0, 3.0, 1.0, 4.0, 2.5], draws=200)
    draws = marked(x, {"b": "tie", "e": "home"})
    truth = by_loops(x, 1, 4)
    found = luce.answers.effect_probabilities(draws)
    np.testing.assert_allclose(found.to_numpy().reshape(-1, 2), truth, rtol=1e-12)
    said = sentences(DrawsView.of(draws), 0.8)
    for label, k in (("b", 0), ("e", 1)):
        low, high = np.quantile(truth[:, k], [0.1, 0.9])
        numbers = f"{truth[:, k].mean():.3f} (80 % interval {low:.3f} to {high:.3f})"
        assert said[label].endswith(f"with probability {numbers}")
    # A tie alone needs no word about advantages.
    alone = sentences(DrawsView.of(marked(x, {"b": "tie"})), 0.8)
    assert alone["b"].startswith("two competitors of median strength tie with probability")


def test_effects_of_logarithms_do_not_underflow() -> None:
    logs = np.log(dirichlet([2.0, 3.0, 1.0, 4.0, 2.5], draws=20)) - 2000.0
    both = {
        "probabilities": marked(np.exp(logs), {"b": "tie"}),
        "log_probabilities": draws_of(logs),
    }
    tree = xr.DataTree.from_dict({"/posterior": xr.Dataset(both)})
    plain = luce.answers.effect_probabilities(marked(np.exp(logs + 2000.0), {"b": "tie"}))
    np.testing.assert_allclose(luce.answers.effect_probabilities(tree), plain, rtol=1e-9)
    zeros = sentences(DrawsView.of(both["probabilities"]), 0.9)
    assert "cannot be computed" in zeros["b"]


def test_draws_without_effects_have_none_to_tell() -> None:
    with pytest.raises(DataError, match="no category of them is marked"):
        luce.answers.effect_probabilities(draws_of(dirichlet([1.0, 1.0])))
    with pytest.raises(DataError, match="effects only"):
        luce.answers.effect_probabilities(marked(dirichlet([1.0]), {"a": "tie"}))
    with pytest.raises(DataError, match=r"tie_categories is .*; a list of labels is needed"):
        luce.summary(draws_of(dirichlet([1.0, 1.0])).assign_attrs(tie_categories="a"))


@pytest.mark.parametrize(
    ("ties", "chance"),
    [("davidson", lambda x: x / (2 + x)), ("rao-kupper", lambda x: (x - 1) / (x + 1))],
)
def test_parameters_are_said_for_two_equals(ties: str, chance: Any) -> None:
    """By sums over the draws; a run of contests is given other draws for that."""
    games = {**GAMES, "item1": ["a", "b", "c", "a", "b", "c"]}
    counts = luce.from_pairs(games, ties=ties, home="first")
    found = Posterior(counts).sample(50, chains=2, seed=SEED + 3, warmup=10, progress=False)
    h, t = (found.posterior[name].to_numpy() for name in ("home", "tie"))
    said = parameter_sentences(DrawsView.of(found), 0.8)
    low, high = np.quantile(chance(t), [0.1, 0.9])
    assert said["tie"] == (
        "two equals on neutral ground tie with probability "
        f"{chance(t).mean():.3f} "
        f"(80 % interval {low:.3f} to {high:.3f})"
    )
    factor = f"playing at home multiplies a side's strength by {h.mean():.3g} (80 % interval "
    assert said["home"].startswith(factor)
    assert said["home"].endswith(f"a factor above 1, is {(h > 1).mean():.3f}")
    notes = luce.summary(found, 0.8, counts=counts).parameters.notes  # type: ignore[union-attr]
    assert notes == tuple(f"{name}: {said[name]}." for name in ("home", "tie"))
    known = Posterior(counts, home=1.2).sample(20, chains=1, seed=1, warmup=5, progress=False)
    assert list(parameter_sentences(DrawsView.of(known), 0.8)) == ["tie"]
    assert parameter_sentences(DrawsView.of(dirichlet([2.0, 1.0], 50)), 0.8) == {}


@pytest.mark.parametrize("ties", ["davidson", "rao-kupper"])
def test_an_advantage_may_be_a_category_of_contests(ties: str) -> None:
    counts = luce.from_pairs(GAMES, ties=ties, home="first", home_effect="entity")
    run = Posterior(counts).sample(60, chains=2, seed=SEED + 3, warmup=20, progress=False)
    p, tie = run["posterior"]["probabilities"], run["posterior"]["tie"]
    m, h = p.sel(category=CLUBS).median("category"), p.sel(category="home")

    def by_hand(a: Any, b: Any) -> tuple[Any, Any]:
        """P(first wins) and P(second wins) of strengths a and b."""
        if ties == "rao-kupper":
            return a / (a + tie * b), b / (b + tie * a)
        return a / (a + b + tie * (a * b) ** 0.5), b / (a + b + tie * (a * b) ** 0.5)

    won, lost = by_hand(m + h, m)
    found = luce.answers.effect_probabilities(run)
    assert found["effect"].to_numpy().tolist() == ["home", "tie"]
    np.testing.assert_allclose(found.sel(effect="home"), won / (won + lost), rtol=1e-12)
    table = luce.summary(run)
    assert table.effects is not None
    assert table.effects.categories == ["home"]
    assert f"ties left out, with probability {(won / (won + lost)).mean():.3f}" in str(table)
    # Fixtures have it, too, and the same meeting without it does not.
    won, lost = by_hand(p.sel(category="a") + h, p.sel(category="b"))
    at_home = luce.predict(run, "a", "b", home="first")
    np.testing.assert_allclose(at_home, [won.mean(), 1 - (won + lost).mean(), lost.mean()])
    assert abs(luce.predict(run, "a", "b")[0] - at_home[0]) > 0.01
    with pytest.raises(DataError, match="'home' in first is no competitor: it stands for the home"):
        luce.predict(run, "home", "b")
    # Scores take who was at home from data that keeps it; base rates need such data as well.
    kept = luce.from_pairs(GAMES, ties=ties, home="first")
    scores = luce.answers.scores(run, kept)
    assert scores["forecast"].to_numpy().tolist() == ["model"]
    assert luce.answers.scores(run, kept, kept)["log_score"][0] == scores["log_score"][0]
    with pytest.raises(DataError, match="home_effect='multiplicative', which keeps who that was"):
        luce.answers.scores(run, counts)
