"""The leaderboard: every figure by loops over draws and rows, every sentence true of both."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import xarray as xr
from lib.bounds import SEED, z_limit
from scipy.special import digamma, polygamma

import luce
from luce.decide.leaderboards import Leaderboard
from luce.errors import DataError, MethodError
from luce.page.words import probability

pytestmark = pytest.mark.filterwarnings("ignore::luce.ConvergenceWarning")

NAMES = ["Ann", "Bo", "Cy", "Di", "Nova"]
ROWS = [
    ("Ann", "Bo", 30), ("Bo", "Ann", 20), ("Bo", "Cy", 33), ("Cy", "Bo", 21), ("Cy", "Di", 26),
    ("Di", "Cy", 15), ("Di", "Ann", 9), ("Ann", "Di", 31), ("Nova", "Di", 12),
]  # fmt: skip


def pairs(*rows: tuple[str, str, int], **how: Any) -> luce.ConditionalCounts:
    return luce.from_pairs([*ROWS, *rows], **how)


def sampled(counts: luce.ConditionalCounts, draws: int = 500, a: Any = 1.0) -> xr.DataTree:
    return luce.Posterior(counts, a).sample(draws, chains=2, seed=SEED + 1, progress=False)


@pytest.fixture(scope="module")
def run() -> xr.DataTree:
    """A league, a newcomer who won twelve of twelve, and a ghost who never played."""
    return sampled(pairs(categories=[*NAMES, "Ghost"]))


@pytest.fixture(scope="module")
def board(run: xr.DataTree) -> Leaderboard:
    return luce.leaderboard(run)


def draws_of(run: xr.DataTree, labels: list[Any]) -> np.ndarray:
    """Draws of some labels, shape (draw, label)."""
    p = run["posterior"]["probabilities"].sel(category=labels).to_numpy()
    return np.asarray(p.reshape(-1, len(labels)))


def faults(
    board: Leaderboard, p: np.ndarray, played: dict[Any, int], won: dict[Any, int]
) -> list[str]:
    """Compare all columns with loops over draws p, shape (draw, row), and rows of data."""
    labels, n = board.categories, len(board)
    ranks = np.array([[1 + sum(y > x for y in row) for x in row] for row in p.tolist()])
    log = np.log(p)
    elo = 1500 + 400 / np.log(10) * (log - log.mean(axis=1, keepdims=True))
    above = np.array([[(p[:, i] > p[:, j]).mean() for j in range(n)] for i in range(n)])
    tied = [
        {labels[j] for j in range(n) if j != i and max(above[i, j], above[j, i]) < 0.95}
        for i in range(n)
    ]
    expected: dict[str, Any] = {
        "rank": ranks.mean(axis=0),
        "score": elo.mean(axis=0),
        "score_lb": np.quantile(elo, 0.05, axis=0),
        "score_ub": np.quantile(elo, 0.95, axis=0),
        "p_best": (ranks == 1).mean(axis=0),
        "games": [played[c] for c in labels],
        "wins": [won[c] for c in labels],
        "win_rate": [won[c] / played[c] for c in labels],
    }
    wrong = [name for name, x in expected.items() if not np.allclose(board[name], x, atol=1e-9)]
    if [set(x) for x in board["tied_with"]] != tied:
        wrong.append("tied_with")
    if any(a > b for a, b in pairwise(expected["rank"])):
        wrong.append("order")
    outside = [(ranks < board["rank_lb"]).mean(axis=0), (ranks > board["rank_ub"]).mean(axis=0)]
    inside = [(ranks <= board["rank_lb"]).mean(axis=0), (ranks >= board["rank_ub"]).mean(axis=0)]
    if np.max(outside) > 0.05 + 1e-9 or np.min(inside) < 0.05 - 1e-9:
        wrong.append("rank range")
    return wrong


PLAYED = {"Ann": 90, "Bo": 104, "Cy": 95, "Di": 93, "Nova": 12}
WON = {"Ann": 61, "Bo": 53, "Cy": 47, "Di": 24, "Nova": 12}


def test_every_column_is_that_of_draws_and_rows(run: xr.DataTree, board: Leaderboard) -> None:
    assert faults(board, draws_of(run, board.categories), PLAYED, WON) == []


def test_a_leaderboard_by_wins_is_rejected(run: xr.DataTree, board: Leaderboard) -> None:
    """Negative control: sorted by wins, with names exchanged, or with a mean for a quantile."""
    p = draws_of(run, board.categories)
    by_wins = np.argsort(-board["wins"], kind="stable")
    columns = {name: x[by_wins] for name, x in board.columns.items()}
    labels = [board.categories[i] for i in by_wins]
    wrong = Leaderboard(labels, columns, "", [], "competitor", board.attrs)
    assert "order" in faults(wrong, p[:, by_wins], PLAYED, WON)
    exchanged = [board.categories[i] for i in (1, 0, 2, 3, 4)]
    wrong = Leaderboard(exchanged, board.columns, "", [], "competitor", board.attrs)
    assert {"games", "tied_with"} <= set(faults(wrong, p, PLAYED, WON))
    columns = {**board.columns, "score_lb": board["score"], "rank_lb": board["rank_lb"] + 1}
    wrong = Leaderboard(board.categories, columns, "", [], "competitor", board.attrs)
    assert {"score_lb", "rank range"} <= set(faults(wrong, p, PLAYED, WON))


def test_who_has_no_data_is_not_listed_but_named(run: xr.DataTree, board: Leaderboard) -> None:
    assert sorted(board.categories) == NAMES
    assert "Not listed, since the data says nothing about them: Ghost." in board.notes
    whole = luce.leaderboard(run, among=[*NAMES, "Ghost"])
    marks = dict(zip(whole.categories, whole["evidence"], strict=True))
    assert (marks["Ghost"], marks["Nova"], marks["Ann"]) == ("no data", "no loss", "")
    assert "“no data” marks those known only from the prior" in str(whole)
    assert any("in 2 separate parts" in note for note in whole.notes)
    rates = dict(zip(whole.categories, whole["win_rate"], strict=True))
    assert np.isnan(rates["Ghost"])


def test_an_undefeated_newcomer_does_not_lead_unsaid(board: Leaderboard) -> None:
    """Twelve games and no loss: the headline and the row say so."""
    assert board.categories[0] == "Nova"
    assert re.match(
        r"Nova is (probably )?the best of those listed,? with probability 0\.\d+; next",
        board.headline,
    )
    assert board.headline.endswith(
        "Nova won all of its 12 games: the data sets no upper limit to its strength, so that how "
        "far it leads rests on the prior."
    )
    row = next(line for line in str(board).splitlines() if line.split()[1:2] == ["Nova"])
    assert "no loss" in row
    beaten = luce.leaderboard(sampled(pairs(("Di", "Nova", 1))))
    assert "no upper limit" not in beaten.headline
    assert "no loss" not in beaten["evidence"].tolist()


def test_without_a_loss_the_likelihood_has_no_maximum() -> None:
    """What "no loss" and "no win" say: the likelihood grows without end with the strength."""
    for row, sign in ((("Nova", "Di", 12), 1), (("Di", "Nova", 12), -1)):
        counts = luce.from_pairs([*ROWS[:-1], row])
        p = np.tile([0.3, 0.25, 0.2, 0.15, 0.1], (40, 1))
        p[:, 4] *= np.exp(sign * np.arange(40))
        values = counts.log_likelihood(p / p.sum(axis=1, keepdims=True))
        assert (np.diff(values) > 0).sum() >= 30
        assert (np.diff(values) >= -1e-9).all()
        mark = luce.leaderboard(sampled(counts, 50))
        marks = dict(zip(mark.categories, mark["evidence"], strict=True))
        assert marks["Nova"] == ("no loss" if sign == 1 else "no win")
    lost_once = pairs(("Di", "Nova", 1)).log_likelihood(p / p.sum(axis=1, keepdims=True))
    assert (np.diff(lost_once) < 0).any()  # negative control


def test_wide_is_by_half_the_standard_deviation_of_the_prior() -> None:
    """Under the prior itself the ratio is 1, by draws, whatever the concentrations are."""
    a = np.array([0.7, 1.5, 3.0, 9.0])
    draws = np.random.default_rng(SEED).dirichlet(a, (4, 5000))
    logs = np.log(draws) - np.log(draws).mean(axis=2, keepdims=True)
    own = polygamma(1, a)
    variance = own * (1 - 2 / 4) + own.sum() / 16
    centre = digamma(a) - digamma(a).mean()
    squares = (logs.reshape(-1, 4) - centre) ** 2
    error = squares.std(axis=0) / np.sqrt(len(squares))
    z = np.abs(squares.mean(axis=0) - variance) / error
    assert (z < z_limit(4)).all()
    assert (np.abs(squares.mean(axis=0) - own) / error > z_limit(4)).all()  # not centred: wrong
    run = luce.Posterior(luce.from_pairs([("a", "b", 40), ("b", "a", 30), ("c", "b", 1), ("b", "c"
        , 1), ("a", "d", 3), ("d", "a", 3)]), a).sample(500, seed=1, progress=False)  # fmt: skip
    found = luce.leaderboard(run)
    x = np.log(draws_of(run, list("abcd")))
    ratio = (x - x.mean(axis=1, keepdims=True)).std(axis=0) / np.sqrt(variance)
    marks = dict(zip(found.categories, found["evidence"], strict=True))
    assert [marks[c] == "wide" for c in "abcd"] == (ratio > 0.5).tolist()
    assert 0 < (ratio > 0.5).sum() < 4


def false_notes(board: Leaderboard, p: np.ndarray) -> list[str]:
    """List the sentences of a headline that are false of draws p, shape (draw, row)."""
    best = (p == p.max(axis=1, keepdims=True)).mean(axis=0)
    chance = dict(zip(board.categories, best.tolist(), strict=True))
    order = sorted(chance.values())
    said = re.match(
        r"(?:No \w+ is likely to be the best of those listed: )?"
        r"(\w+) is (?:it|(?:probably )?the best of those listed),? with "
        r"probability ([\d.<>]+); next comes (\w+) with ([\d.<>]+)\.", board.headline
    )  # fmt: skip
    if said is None:
        return [board.headline]
    first, p_first, second, p_second = said.groups()
    true = [
        chance[first] == order[-1], p_first == probability(order[-1]),
        chance[second] == order[-2], p_second == probability(order[-2]),
        ("likely" in said[0]) == (order[-1] < 2 / 3),
        ("probably" in said[0]) == (2 / 3 <= order[-1] < 0.95),
    ]  # fmt: skip
    return [] if all(true) else [said[0]]


def test_the_headline_is_true(run: xr.DataTree, board: Leaderboard) -> None:
    p = draws_of(run, board.categories)
    assert false_notes(board, p) == []
    swapped = board.headline.replace("Nova", "x").replace("Ann", "Nova").replace("x", "Ann")
    args = (board.columns, swapped, [], board.noun, board.attrs)
    assert false_notes(Leaderboard(board.categories, *args), p) != []


@pytest.mark.parametrize("width", [40, 70, 80, 100, 200])
def test_lines_fit_and_say_what_they_leave_out(board: Leaderboard, width: int) -> None:
    text = board.to_text(width=width)
    if width >= 70:
        assert max(map(len, text.splitlines())) <= width
    head = next(line for line in text.splitlines() if line.startswith("place"))
    told = " ".join(text.split())
    for column in ("games", "wins", "win rate", "P(best)", "tied with"):
        left = f"for want of room: [^.]*{re.escape(column)}"
        assert (column in head) != bool(re.search(left, told)), column
    assert "evidence" in head


def test_many_who_are_tied_are_counted() -> None:
    labels = [f"a competitor with a long name, number {i}" for i in range(30)]
    draws = np.random.default_rng(SEED).dirichlet(np.ones(30), (2, 100))
    array = xr.DataArray(draws, {"category": labels}, ("chain", "draw", "category"))
    board = luce.leaderboard(array, scale="log-odds")
    lines = board.to_text(width=150).splitlines()
    rows = [line for line in lines if re.match(r" *\d+  a comp", line)]
    assert len(rows) == 30
    assert max(map(len, lines)) <= 150
    assert len({line[6:34] for line in rows}) == 30  # names stay different
    for i, line in enumerate(rows):
        named = line.count("a comp") - 1
        more = re.search(r"(\d+) others?$", line)
        assert named + (int(more[1]) if more else 0) == len(board["tied_with"][i])
    assert "... and 25 more" in board.to_text(5)


def test_scales_and_references(run: xr.DataTree) -> None:
    p = draws_of(run, NAMES)
    odds = luce.leaderboard(run, scale="log-odds", reference="Bo")
    for label, mean in zip(odds.categories, odds["score"], strict=True):
        own = np.log(p[:, NAMES.index(label)] / p[:, 1])
        assert mean == pytest.approx(own.mean())
    assert odds.notes[0] == "Log odds: against Bo; 2.303 more are odds of 10 to 1."
    elo = luce.leaderboard(run, reference="Bo", at=1000)
    assert dict(zip(elo.categories, elo["score"], strict=True))["Bo"] == pytest.approx(1000)
    assert "Elo: Bo has 1,000 points; 400 more are odds of 10 to 1." in elo.notes
    shares = luce.leaderboard(run, scale="probability")
    assert shares["score"][0] == pytest.approx(draws_of(run, shares.categories)[:, 0].mean())
    with pytest.raises(MethodError, match=r"scale = 'points' was given"):
        luce.leaderboard(run, scale="points")
    with pytest.raises(MethodError, match="probabilities are against nothing"):
        luce.leaderboard(run, scale="probability", reference="Bo")
    with pytest.raises(DataError, match="reference = 'Ghost' is not a category"):
        luce.leaderboard(run, reference="Ghost")


def test_a_headline_about_some_says_so() -> None:
    """Those not listed may be better than the best of those listed."""
    run = sampled(pairs(), 200)
    whole, some = luce.leaderboard(run), luce.leaderboard(run, among=["Bo", "Cy"])
    assert "of those listed" not in whole.headline  # control
    leader = some.categories[int(np.argmax(some["p_best"]))]
    assert re.search(rf"{leader} is (it|(probably )?the best of those listed)", some.headline)
    assert "the best of those listed" in some.headline
    posterior = luce.posterior_of(run)
    kept = posterior.sample(200, seed=1, keep=["Bo", "Cy"], progress=False)
    assert "the best of those listed" in luce.leaderboard(kept).headline


def test_draws_alone_have_ranks_and_say_what_is_missing(run: xr.DataTree) -> None:
    array = run["posterior"]["probabilities"].drop_attrs()
    board = luce.leaderboard(array)
    assert "games" not in board.columns
    assert "evidence" not in board.columns
    assert any("give their data as counts=" in note for note in board.notes)
    assert "they came without their run" in board.notes[-1]
    assert "they came without their run" not in str(luce.leaderboard(run))  # control
    told = luce.leaderboard(array, luce.posterior_of(run).counts)
    assert told["games"].tolist() == luce.leaderboard(run)["games"].tolist()
    assert any("widths were not compared" in note for note in told.notes)
    with pytest.raises(DataError, match="give the counts that the draws were made from"):
        luce.leaderboard(array, luce.ConditionalCounts("ab"))
    with pytest.raises(DataError, match="counts must be ConditionalCounts; list was given"):
        luce.leaderboard(array, [1])  # type: ignore[arg-type]


def test_ties_and_effects_are_told() -> None:
    games = {"home": list("abcab"), "away": list("bcaba"), "result": list("HDAHD")}
    counts = luce.from_pairs(games, ties="davidson", home="first")
    board = luce.leaderboard(sampled(counts, 200))
    table = {c: [board[x][i] for x in ("games", "wins", "ties", "win_rate")]
             for i, c in enumerate(board.categories)}  # fmt: skip
    assert table == {"a": [4, 3, 1, 0.875], "b": [4, 0, 2, 0.25], "c": [2, 0, 1, 0.25]}
    assert "odds of a win against a loss on neutral ground" in board.notes[0]
    assert "wins and half of the ties, by games" in str(board.notes)
    entity = luce.from_pairs(games, ties="entity")
    board = luce.leaderboard(sampled(entity, 200))
    assert sorted(board.categories) == ["a", "b", "c"]
    assert "ties" not in board.columns
    assert "who tied is not kept" in str(board.notes)


def test_a_drawn_concentration_a_single_draw_and_odd_labels() -> None:
    drawn = luce.leaderboard(sampled(pairs(), 100, luce.Gamma(2, 1)))
    assert any("widths were not compared" in note for note in drawn.notes)
    labels = [("x", 1), 2.5, frozenset("a"), "\x1b[31mred"]
    counts = luce.ConditionalCounts(labels).observe(dict.fromkeys(labels, 3))
    board = luce.leaderboard(luce.Posterior(counts).sample(1, chains=1, seed=1, progress=False))
    assert "\x1b" not in str(board)
    assert "Do not trust" in str(board) or "care" in str(board)
    assert "is the best in every draw." in board.headline
    assert board.to_pandas().shape == (4, 12)
    assert board.to_polars().shape[0] == 4
    assert "<script" not in board.to_html()
    one = luce.leaderboard(sampled(pairs(), 20), among=["Ann"])
    assert one.headline == "Only one competitor is listed, Ann."
    assert any("those not listed counts, too" in note for note in one.notes)


def test_same_seed_same_board(run: xr.DataTree, board: Leaderboard) -> None:
    assert str(luce.leaderboard(run)) == str(board)
    assert board.attrs["seed"] == str(SEED + 1)
    assert f"seed {SEED + 1}." in board.notes[-1]
