"""Seasons: their probabilities are those of all possible results, enumerated."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from lib.answer_cases import dirichlet, draws_of
from lib.bounds import SEED, z_limit
from lib.contest_runs import MODELS, chances, each_draw, made_up
from lib.published_data import DATA
from lib.season_ends import enumerated, order_of

import luce
from luce.answers import DrawsView
from luce.decide import round_robin
from luce.errors import DataError, LuceError

# Those at home are a three times, b twice, d once and c never.
FIXTURES = [("a", "b"), ("a", "c"), ("b", "c"), ("b", "d"), ("a", "d"), ("d", "c")]
SO_FAR = [("c", "a", 1), ("d", "b", 2), ("c", "b", 2), ("d", "b", 0), ("d", "a", 1)]
PLAYED = {
    "home": [a for a, _, _ in SO_FAR],
    "away": [b for _, b, _ in SO_FAR],
    "result": ["HDA"[r] for _, _, r in SO_FAR],
}
ALPHABETICAL = list("abcd")
REPLICATES = 2000


def drawn(ties: str | None = "davidson", home: bool = True, draws: int = 10) -> xr.DataTree:
    return made_up(ties, home, draws, (2.0, 3.0, 1.5, 2.5))


def chances_of(run: xr.DataTree, ties: str | None, home: bool, fixtures: Any) -> Any:
    return [
        [chances(p[a], p[b], ties, values, int(home)) for a, b in fixtures]
        for p, values in each_draw(run)
    ]


def in_errors(season: luce.decide.Season, truth: Any) -> float:
    """The largest distance of places and expected points from the truth, in standard errors."""
    mean, variance, points, variance_of_points = truth
    by_label = season.places.sel(competitor=list("abcd")).values
    own = season.expected_points.sel(competitor=list("abcd")).values
    seasons = season.seasons["points"].size / 4
    distances = [0.0]
    for found, wanted, v in ((by_label, mean, variance), (own, points, variance_of_points)):
        sure = v < 1e-12
        np.testing.assert_allclose(found[sure], wanted[sure], atol=1e-9)
        distances += list(np.abs(found - wanted)[~sure] / np.sqrt(v[~sure] / seasons))
    return float(max(distances))


LIMIT = z_limit(4 * 4 + 4)


@pytest.mark.parametrize(("ties", "home"), MODELS)
@pytest.mark.parametrize(
    "criteria",
    [[], ["wins"], ["head-to-head"], ["wins", "head-to-head"], [list("dbca")]],
    ids=str,
)
def test_a_season_is_the_sum_over_all_results(
    ties: str | None, home: bool, criteria: list[Any]
) -> None:
    run = drawn(ties, home)
    probabilities = chances_of(run, ties, home, FIXTURES)
    options: dict[str, Any] = {"played": PLAYED, "tiebreak": criteria, "replicates": REPLICATES}
    options |= {"seed": SEED + 3, "progress": False}
    ground = "first" if home else None
    season = luce.play(run, FIXTURES, home=ground, **options)
    truth = enumerated("abcd", FIXTURES, probabilities, SO_FAR, (3, 1, 0), criteria)
    assert in_errors(season, truth) < LIMIT
    np.testing.assert_allclose(season.places.sum("place"), 1, rtol=1e-12)
    np.testing.assert_allclose(season.places.sum("competitor"), 1, rtol=1e-12)
    # Negative controls: the same assertion rejects these.
    if home:
        wrong = luce.play(run, FIXTURES, home="neutral", **options)
        assert in_errors(wrong, truth) > LIMIT
    if not criteria:
        parted = luce.play(run, FIXTURES, home=ground, **options | {"tiebreak": [ALPHABETICAL]})
        assert in_errors(parted, truth) > LIMIT
    if ties is not None:
        wrong = luce.play(run, FIXTURES, home=ground, points=(3, 2, 0), **options)
        with pytest.raises(AssertionError):  # even the certain points of results differ
            assert in_errors(wrong, truth) < LIMIT


@pytest.mark.parametrize("worth", [(2.0, 1.0, 0.0), (1.0, 0.0, 0.0), (1.0, 0.5, 0.0), (3, 1, -1)])
def test_points_are_as_given(worth: tuple[float, float, float]) -> None:
    run = drawn()
    probabilities = chances_of(run, "davidson", True, FIXTURES)
    truth = enumerated("abcd", FIXTURES, probabilities, SO_FAR, worth, ["wins"])
    given: Any = worth if worth[2] else {"win": worth[0], "tie": worth[1]}
    season = luce.play(
        run, FIXTURES, played=PLAYED, home="first", points=given, replicates=REPLICATES, seed=SEED
    )
    assert in_errors(season, truth) < LIMIT


def test_each_season_is_a_table_of_its_results() -> None:
    """Above and level are those of plain Python, season by season, where fixtures decide little."""
    run = drawn(draws=40)
    for criteria in (["head-to-head", "wins"], ["wins"], []):
        season = luce.play(
            run, FIXTURES[:1], home="first", tiebreak=criteria, seed=1, played=PLAYED
        )
        every = season.seasons.sel(competitor=list("abcd"))
        seen = set()
        for result, gained in enumerate((3, 1, 0)):
            groups = order_of("abcd", [*SO_FAR, ("a", "b", result)], (3, 1, 0), criteria)
            above = [
                sum(len(g) for g in groups[:k])
                for x in "abcd"
                for k in range(len(groups))
                if x in groups[k]
            ]
            level = [len(g) for x in "abcd" for g in groups if x in g]
            now = every["points"].sel(competitor="a").values == 2 + gained
            seen.add(bool(now.any()))
            np.testing.assert_array_equal(every["above"].values[now], [above] * now.sum())
            np.testing.assert_array_equal(every["level"].values[now], [level] * now.sum())
        assert seen == {True}


def test_fractions_of_points_tie_exactly() -> None:
    """Sums of tenths differ in their last bits, and are level all the same."""
    table = {"a": 0.1 + 0.2, "b": 0.3, "c": 0.0, "d": 0.0}
    assert table["a"] != table["b"]
    season = luce.play(drawn(), [], played=table)
    assert season.champion.sel(competitor=["a", "b"]).values.tolist() == [0.5, 0.5]


def test_top_and_relegated_are_sums_of_places() -> None:
    season = luce.play(drawn(), FIXTURES, home="first", seed=1, played=PLAYED, replicates=3)
    places = season.places
    for k in range(1, 5):
        np.testing.assert_allclose(season.top(k), places.values[:, :k].sum(axis=1), atol=1e-12)
        np.testing.assert_allclose(
            season.relegated(k), places.values[:, 4 - k :].sum(axis=1), atol=1e-12
        )
    np.testing.assert_allclose(season.champion, places.sel(place=1))
    expected = (places.values * [1, 2, 3, 4]).sum(axis=1)
    np.testing.assert_allclose(season.expected_places, expected)
    assert (np.diff(expected) >= 0).all()
    for k in (0, 5, 1.5, True):
        with pytest.raises(DataError, match=r"from 1 to 4"):
            season.top(k)  # type: ignore[arg-type]


def test_intervals_and_errors_of_points_and_places() -> None:
    season = luce.play(drawn(draws=200), FIXTURES, home="first", seed=1, ci_prob=0.8)
    own = season.seasons["points"].values.reshape(-1, 4)
    np.testing.assert_allclose(season.points["lower"], np.quantile(own, 0.1, axis=0))
    np.testing.assert_allclose(season.points["upper"], np.quantile(own, 0.9, axis=0))
    assert "eti80_lb" in season.table().keys()  # noqa: SIM118
    first = season.champion
    naive = np.sqrt(first * (1 - first) / 400)
    np.testing.assert_allclose(first["mcse"], naive, rtol=0.35)


def test_standard_errors_know_of_correlated_draws() -> None:
    """Each draw stands twenty times in a row; fixtures between unequals are nearly decided."""
    p = dirichlet([0.3, 0.3, 0.3], 100)
    sticky = draws_of(np.repeat(p, 20, axis=1))
    alone = draws_of(dirichlet([0.3, 0.3, 0.3], 2000, seed=1))
    fixtures = round_robin("abc", double=True) * 5
    ratio = []
    for draws in (sticky, alone):
        first = luce.play(draws, fixtures, seed=1).champion
        ratio.append((first["mcse"] / np.sqrt(first * (1 - first) / 4000)).values.min())
    assert ratio[0] > 2.5
    assert ratio[1] < 1.3


def test_a_seed_gives_the_same_seasons_whatever_the_blocks() -> None:
    run = drawn(draws=60)
    one, same, other = (
        luce.play(run, FIXTURES, home="first", seed=seed, replicates=2) for seed in (4, 4, 5)
    )
    assert one.seasons.equals(same.seasons)
    assert not one.seasons.equals(other.seasons)
    small = DrawsView.of(run, block=2**11)
    assert luce.play(small, FIXTURES, home="first", seed=4, replicates=2).seasons.equals(
        one.seasons
    )
    unseeded = luce.play(run, FIXTURES, home="first")
    again = luce.play(run, FIXTURES, home="first", seed=unseeded.seed)
    assert again.seasons.equals(unseeded.seasons)


# -- what is read ----------------------------------------------------------------------------------

SEASON = {
    "home": [*PLAYED["home"], *(a for a, _ in FIXTURES)],
    "away": [*PLAYED["away"], *(b for _, b in FIXTURES)],
    "result": [*PLAYED["result"], *[None] * len(FIXTURES)],
}


def test_fixtures_and_results_come_in_many_forms() -> None:
    run = drawn()
    expected = luce.play(run, FIXTURES, home="first", played=PLAYED, seed=1).seasons
    frame = pd.DataFrame(FIXTURES, columns=["home", "away"])
    odd = frame.rename(columns={"home": "Heim", "away": "Gast"})
    named = pd.DataFrame({**frame, "ground": frame["home"]})
    records = [dict(zip(PLAYED, row, strict=True)) for row in zip(*PLAYED.values(), strict=True)]
    forms: list[dict[str, Any]] = [
        {"fixtures": np.array(FIXTURES), "played": PLAYED},
        {"fixtures": frame, "played": pd.DataFrame(PLAYED)},
        {"fixtures": odd, "played": records, "item1": "Heim", "item2": "Gast"},
        {"fixtures": named, "played": PLAYED, "home": "ground"},
        {"fixtures": FIXTURES, "played": PLAYED, "home": ["first"] * 6},
        {"fixtures": SEASON},
        {"fixtures": pd.DataFrame(SEASON)},
        {"fixtures": [*FIXTURES, *((a, b) for a, b, _ in SO_FAR)], "played": PLAYED}
        | {"if_played": "skip"},
    ]
    for form in forms:
        season = luce.play(run, form.pop("fixtures"), **{"home": "first", "seed": 1} | form)
        assert season.seasons.equals(expected)
        assert season.games == 5
        assert [x[:2] for x in season.remaining] == FIXTURES


def test_a_table_of_points_stands_in_for_results() -> None:
    run = drawn()
    now = {"a": 2, "b": 6, "c": 1, "d": 4}
    frame = pd.DataFrame({"club": now.keys(), "pts": now.values(), "won": [0, 2, 0, 1], "gd": 0})
    by_results = luce.play(run, FIXTURES, home="first", played=PLAYED, seed=1)
    found = luce.play(run, FIXTURES, home="first", played=frame, seed=1)
    assert found.seasons.equals(by_results.seasons)
    assert "results that were not used: 'gd'" in str(found)
    lots = luce.play(run, FIXTURES, home="first", played=PLAYED, seed=1, tiebreak="lot")
    for table in (now, pd.Series(now)):
        season = luce.play(run, FIXTURES, home="first", played=table, seed=1)
        assert season.seasons.equals(lots.seasons)
        assert "Level on points: lots" in str(season)
        assert season.points["so_far"].sel(competitor=list(now)).values.tolist() == [2, 6, 1, 4]


def test_winners_and_losers_alone_are_results() -> None:
    run = drawn(None, False)
    season = luce.play(run, [("a", "b"), ("a", "d")], played=[("b", "d"), ("c", "d")], seed=1)
    assert season.games == 2
    with pytest.raises(DataError, match="whoever was at home"):
        luce.play(run, [("d", "b")], played=[("b", "d")])
    skipped = luce.play(
        run, [("d", "b"), ("a", "b")], played=[("b", "d")], if_played="skip", seed=1
    )
    assert skipped.remaining == (("a", "b", None),)
    with pytest.raises(DataError, match="cannot be told"):
        luce.play(run, [("d", "b"), ("b", "d")], played=[("b", "d")], if_played="skip")


def test_a_season_that_is_over_is_its_table() -> None:
    whole = [("a", "b", 0), ("a", "c", 0), ("b", "c", 1)]
    played = {"item1": list("aab"), "item2": list("bcc"), "outcome": [1, 1, 0.5]}
    season = luce.play(drawn(), [], played=played)
    assert season.champion.sel(competitor="a") == 1
    assert season.places.sel(competitor="b").values.tolist() == [0, 0.5, 0.5]
    assert order_of("abc", whole, (3, 1, 0), ["wins"]) == [["a"], ["b", "c"]]
    assert "no proof" not in str(season)


def test_teams_are_competitors_too() -> None:
    run = drawn(None, False)
    pairs = [("a", "b"), ("c", "d"), ("a", "d")]
    season = luce.play(run, [(pairs[0], pairs[1]), (pairs[1], ("b", "a"))], seed=1, replicates=50)
    assert ("a", "b") in season.places["competitor"].values.tolist()
    chance = float(luce.predict(run, ("a", "b"), ("c", "d")).sel(result="first"))
    which = season.places["competitor"].values.tolist().index(("a", "b"))
    won = season.seasons["points"].isel(competitor=which)
    assert abs(float((won > 0).mean()) - chance) < z_limit() * np.sqrt(0.25 / 1000)


@pytest.mark.parametrize("labels", [[3, 1, 2, 0], [("r", 1), ("r", 2), "s", 2.5]])
def test_labels_may_be_anything(labels: list[Any]) -> None:
    draws = draws_of(dirichlet([1.0, 2.0, 3.0, 1.0]), labels)
    season = luce.play(draws, round_robin(labels), seed=1)
    assert set(season.places["competitor"].values.tolist()) == set(labels)
    assert str(labels[0]) in str(season)


def test_texts_of_files_find_numbers() -> None:
    draws = draws_of(dirichlet([1.0, 2.0, 3.0]), [1, 2, 3])
    frame = {"home": ["1", "2"], "away": ["2", "3"]}
    played = {"home": ["3"], "away": ["1"], "result": ["H"]}
    season = luce.play(draws, frame, played=played, seed=1)
    expected = luce.play(draws, [(1, 2), (2, 3)], played=[(3, 1)], seed=1)
    assert season.seasons.equals(expected.seasons)
    cup = luce.play_bracket(draws, {"club": ["1", "2", "bye", "3"]})
    assert cup.draws.equals(luce.play_bracket(draws, [1, 2, None, 3]).draws)
    twice = draws_of(dirichlet([1.0, 2.0, 3.0]), [1, "1", 3])
    with pytest.raises(DataError, match="'2' in fixtures is not a category"):
        luce.play(twice, [("1", "2")])


def test_one_draw_is_enough() -> None:
    season = luce.play([[[0.5, 0.3, 0.2]]], round_robin([0, 1, 2]), seed=1)
    assert np.isnan(season.champion["mcse"]).all()
    assert "1 season, 1 for each of 1 draw" in str(season)


def test_ties_and_advantages_that_are_categories_do_not_take_part() -> None:
    draws = draws_of(dirichlet([2.0, 3.0, 1.0, 0.5])).assign_attrs(
        tie_categories=["c"], home_categories=["d"]
    )
    season = luce.play(draws, [("a", "b"), ("b", "a")], home="first", seed=1)
    assert sorted(season.places["competitor"].values.tolist()) == ["a", "b"]
    assert "Not in this season" not in str(season)
    with pytest.raises(DataError, match="is no competitor: it stands for ties"):
        luce.play(draws, [("a", "c")], home="first")


# -- what is said ----------------------------------------------------------------------------------


def said(*arguments: Any, **options: Any) -> str:
    return str(luce.play(*arguments, **{"seed": 1, **options}))


def test_sentences_are_true_and_are_there_only_where_they_are() -> None:
    run = drawn()
    told = said(run, FIXTURES, played=PLAYED, home=["first"] * 4 + ["second", None])
    assert (
        "20 seasons, 1 for each of 20 draws, seed 1; 6 fixtures played in each, 5 results" in told
    )
    assert "4 with the first side at home, 1 with the second side at home, 1 on neutral" in told
    met = {frozenset(x[:2]) for x in SO_FAR}
    again = sum(frozenset(x) in met for x in FIXTURES)
    assert f"{again} fixtures to come of two who have met before" in told
    assert "Not in this season" not in told
    assert "No fixture to come" not in told
    assert "were not used" not in told
    assert "do not trust" in told.lower()  # 20 draws are too few
    some = said(run, [("a", "b")], played=PLAYED, home="first")
    assert "No fixture to come: c, d." in some
    few = said(run, pd.DataFrame({"home": ["a"], "away": ["b"], "day": [3]}), home="first")
    assert "Not in this season: c, d." in few
    assert "fixtures that were not used: 'day'" in few
    assert "met before" not in few
    notes = said(run, FIXTURES, home="first", played={**PLAYED, "crowd": [1, 2, 3, 4, 5]})
    assert "results that were not used: 'crowd'" in notes
    array = said(run["posterior"]["probabilities"], FIXTURES)
    assert "came without their run" in array


def test_ties_that_the_model_lacks_are_told_of() -> None:
    assert "of the results, 2 did" in said(drawn(None, False), FIXTURES, played=PLAYED)
    assert "The model has no ties" not in said(drawn("davidson", False), FIXTURES, played=PLAYED)
    assert "The model has no ties" not in said(drawn(None, False), FIXTURES)


def test_good_draws_are_not_doubted() -> None:
    counts = luce.from_pairs([("a", "b"), ("b", "c"), ("a", "c")] + [("a", "b"), ("a", "c")] * 3)
    run = luce.Posterior(counts).sample(500, seed=1, progress=False)
    season = luce.play(run, round_robin("abc"), seed=1)
    assert season.trust is not None
    assert season.trust.kind == "good"
    assert "rests on" not in str(season)
    assert "came without" not in str(season)
    largest = season.champion["mcse"].values.max()
    assert f"these probabilities: at most {largest:.2g}." in str(season)
    others = max(largest, season.top(2)["mcse"].values.max())
    assert others > largest
    assert f"these probabilities: at most {others:.2g}." in str(season.table(top=2))


def test_a_share_of_none_or_all_is_no_proof() -> None:
    strong = draws_of(np.tile([0.999, 0.0005, 0.0005], (2, 50, 1)))
    assert "0 and 1: in none and in all of the 100 seasons" in said(strong, round_robin("abc"))
    even = draws_of(np.full((2, 50, 3), 1 / 3))
    season = luce.play(even, round_robin("abc"), seed=1)
    assert not np.isin(season.champion, (0, 1)).any()
    assert "no proof" not in str(season)


def test_tables_are_frames_and_pages() -> None:
    season = luce.play(drawn(), FIXTURES, home="first", seed=1)
    frame = season.to_pandas()
    assert frame["competitor"].tolist() == season.places["competitor"].values.tolist()
    table = season.table(top=2, relegated=1)
    np.testing.assert_allclose(table["top_2"], season.top(2))
    np.testing.assert_allclose(table["relegated"], season.relegated(1))
    assert "<table>" in season._repr_html_()
    assert repr(season) == str(season)


RUN = drawn()
NO_HOME = drawn("davidson", False)


@pytest.mark.parametrize(
    ("ask", "words"),
    [
        (lambda: luce.play(RUN, FIXTURES), "say who is at home.*home='neutral'"),
        (lambda: luce.play(NO_HOME, FIXTURES, home="first"), "has no home advantage"),
        (lambda: luce.play(RUN, FIXTURES, home="third"), "home = 'third'"),
        (lambda: luce.play(RUN, FIXTURES, home=["first"]), "home has 1 entries; there are 6"),
        (lambda: luce.play(RUN, [("a", "x")], home="first"), "'x' in .* is not a category"),
        (lambda: luce.play(NO_HOME, FIXTURES, played={"x": 3}), "'x' in played is not a category"),
        (lambda: luce.play(NO_HOME, [("a", "a")]), "'a' is on both sides"),
        (lambda: luce.play(NO_HOME, ["ab"]), "fixture 0 is 'ab'.*a pair"),
        (lambda: luce.play(NO_HOME, "ab"), "a list of pairs"),
        (lambda: luce.play(NO_HOME, []), "no fixtures were given"),
        (lambda: luce.play(NO_HOME, [(["a", "b"], "c")]), "a team is a tuple"),
        (
            lambda: luce.play(NO_HOME, [("c", "a")], played=PLAYED),
            r"among the results.*\('c', 'a'\)",
        ),
        (lambda: luce.play(NO_HOME, [("a", "c")], if_played="no"), "if_played = 'no'"),
        (lambda: luce.play(NO_HOME, SEASON, played=PLAYED), "played= was given as well"),
        (
            lambda: luce.play(NO_HOME, {"x": ["a"], "y": ["b"]}),
            "cannot be told: the columns are 'x', 'y'",
        ),
        (
            lambda: luce.play(NO_HOME, {"home": ["a"], "away": [None]}),
            "row 1: one of the two sides",
        ),
        (lambda: luce.play(NO_HOME, FIXTURES, item1="x"), "names a column; the fixtures have none"),
        (
            lambda: luce.play(RUN, {"home": ["a"], "away": ["b"], "at": ["c"]}, home="at"),
            "row 1: 'c' is at home",
        ),
        (lambda: luce.play(NO_HOME, FIXTURES, points=(0, 1, 3)), "win must be worth more"),
        (lambda: luce.play(NO_HOME, FIXTURES, points=(3, 1)), "three numbers"),
        (lambda: luce.play(NO_HOME, FIXTURES, points={"won": 3}), "'won'; 'win', 'tie'"),
        (lambda: luce.play(NO_HOME, FIXTURES, points="3,1,0"), "three numbers"),
        (
            lambda: luce.play(NO_HOME, FIXTURES, tiebreak="goal difference"),
            "goals are not modelled",
        ),
        (lambda: luce.play(NO_HOME, FIXTURES, tiebreak="win"), "Did you mean 'wins'"),
        (lambda: luce.play(NO_HOME, FIXTURES, tiebreak=["lot", "wins"]), "put 'lot' last"),
        (lambda: luce.play(NO_HOME, FIXTURES, tiebreak=[["a", "b"]]), "'c', 'd' are not in it"),
        (lambda: luce.play(NO_HOME, FIXTURES, tiebreak=[list("abcx")]), "'x' do not take part"),
        (lambda: luce.play(NO_HOME, FIXTURES, tiebreak=[list("abcdd")]), "named twice"),
        (
            lambda: luce.play(NO_HOME, FIXTURES, played={"a": 1}, tiebreak="head-to-head"),
            "needs the results so far",
        ),
        (lambda: luce.play(NO_HOME, FIXTURES, played={"a": 1}, tiebreak="wins"), "needs the wins"),
        (lambda: luce.play(NO_HOME, FIXTURES, played={"a": None}), "the points of 'a' are None"),
        (
            lambda: luce.play(NO_HOME, FIXTURES, played={"team": ["a", "a"], "points": [1, 2]}),
            "'a' stand twice",
        ),
        (
            lambda: luce.play(NO_HOME, FIXTURES, played={"team": ["a"], "points": ["x"]}),
            "the points of 'a' are 'x'",
        ),
        (
            lambda: luce.play(NO_HOME, FIXTURES, played=[("a", "a")]),
            "played: .*compared with itself",
        ),
        (lambda: luce.play(NO_HOME, FIXTURES, replicates=0), "replicates = 0"),
        (lambda: luce.play(NO_HOME, FIXTURES, seed=-1), "seed = -1"),
        (lambda: luce.play(NO_HOME, FIXTURES, ci_prob=2), "ci_prob = 2"),
    ],
)
def test_what_cannot_be_played_is_refused(ask: Callable[[], Any], words: str) -> None:
    with pytest.raises(LuceError, match=re.compile(words, re.DOTALL)):
        ask()


@pytest.mark.parametrize("n", range(2, 10))
def test_a_round_robin_is_one(n: int) -> None:
    labels = list("abcdefghi"[:n])
    single, double = round_robin(labels), round_robin(labels, double=True)
    assert len({frozenset(pair) for pair in single}) == len(single) == n * (n - 1) // 2
    assert len(set(double)) == len(double) == n * (n - 1)
    # Nobody plays twice in a round, and home and away differ by one or two fixtures.
    size = n // 2
    for start in range(0, len(single), size):
        players = [x for pair in single[start : start + size] for x in pair]
        assert len(set(players)) == len(players)
    at_home = [sum(a == x for a, _ in single) for x in labels]
    assert max(at_home) - min(at_home) <= 2
    with pytest.raises(DataError, match="two competitors"):
        round_robin(["a"])


@pytest.mark.compiled
@pytest.mark.skipif(not DATA.exists(), reason="the published data are not here")
def test_half_a_football_season_leaves_room_for_its_champion() -> None:
    games = pd.read_csv(DATA / "football" / "football.csv")
    season = games[games["season"] == "2011-12"].drop(columns="season")
    mixed = season.sample(frac=1, random_state=SEED)
    first, rest = mixed[: len(mixed) // 2], mixed[len(mixed) // 2 :]
    counts = luce.from_pairs(first, ties="davidson", home="first")
    run = luce.Posterior(counts).sample(500, seed=SEED, progress=False)
    found = luce.play(run, rest[["home", "away"]], played=first, home="first", seed=SEED)
    end = luce.play(run, rest[["home", "away"]][:0], played=season, home="first")
    champion = end.champion.idxmax().item()
    assert float(found.champion.sel(competitor=champion)) > 1 / 20


def test_one_season_is_told_as_one() -> None:
    said = str(luce.play([[[0.2, 0.8]]], [(0, 1)], seed=1))
    assert "1 season, 1 for each of 1 draw, seed 1" in said
    assert "0 and 1: in the only season; no proof." in said
    several = str(luce.play([[[0.0001, 0.9999]] * 3], [(0, 1)], seed=1))
    assert "0 and 1: in none and in all of the 3 seasons; no proof." in several  # control
