"""Scores and reliability of held-out meetings, and of grouped outcomes, are those of loops."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import xarray as xr
from lib.answer_cases import dirichlet, draws_of
from lib.contest_runs import GAMES, MODELS, chances, counts_of, each_draw, made_up

import luce
from luce.answers.view import DrawsView
from luce.errors import DataError

HELD_OUT = [("a", "c", 1, 2, 0, 1), ("b", "a", 1, 0, 1, 1), ("c", "b", 0, 1, 1, 0)]

pytestmark = [  # few draws
    pytest.mark.filterwarnings("ignore::luce.errors.EvidenceWarning"),
    pytest.mark.filterwarnings("ignore::luce.ConvergenceWarning"),
]


def predicted(run: xr.DataTree, game: Any, ties: str | None) -> Any:
    """Means over draws of the probabilities of a win, a tie and a loss."""
    rows = [chances(p[game[0]], p[game[1]], ties, v, game[2]) for p, v in each_draw(run)]
    return np.mean(rows, axis=0)


def mean_and_error(scores: list[float]) -> tuple[float, float]:
    return float(np.mean(scores)), float(np.std(scores, ddof=1) / math.sqrt(len(scores)))


@pytest.mark.parametrize(("ties", "home"), MODELS)
def test_scores_are_those_of_loops(ties: str | None, home: bool) -> None:
    run, held_out = made_up(ties, home), counts_of(ties, home, HELD_OUT)
    found = luce.answers.scores(run, held_out, counts_of(ties, True))
    seen = np.array([game[3:] for game in GAMES], np.float64)[:, [0, 2, 1]]
    at_home = [(row if game[2] == 1 else row[::-1]) for row, game in zip(seen, GAMES, strict=True)]
    at_home = [row for row, game in zip(at_home, GAMES, strict=True) if game[2]]
    rates = np.sum(at_home, axis=0)
    if ties is None:
        rates[1] = 0
    rates = rates / rates.sum()
    tied = 0.0 if ties is None else 1 / 4  # among the four meetings on neutral ground
    neutral = [(1 - tied) / 2, tied, (1 - tied) / 2]
    told: dict[str, dict[str, list[float]]] = {}
    for game in HELD_OUT:
        base = rates if game[2] and home else neutral
        own = predicted(run, game if home else (*game[:2], 0), ties)
        for name, q in (("model", own), ("base rates", base)):
            for k, number in enumerate((game[3], game[5], game[4])):
                if ties is None and k == 1:
                    continue
                here = told.setdefault(name, {"log": [], "brier": [], "ranked": []})
                happened = np.eye(3)[k]
                ends = np.cumsum(q)[:2] - np.cumsum(happened)[:2]
                here["log"] += [math.log(q[k])] * number
                here["brier"] += [float(((q - happened) ** 2).sum())] * number
                here["ranked"] += [float((ends**2).sum() / 2)] * number
    names = {"log": "log_score", "brier": "brier_score", "ranked": "ranked_probability_score"}
    for forecast, lists in told.items():
        for short, score in names.items():
            mean, error = mean_and_error(lists[short])
            assert float(found[score].sel(forecast=forecast)) == pytest.approx(mean)
            assert float(found[f"{score}_se"].sel(forecast=forecast)) == pytest.approx(error)
    gains = np.subtract(told["model"]["log"], told["base rates"]["log"]).tolist()
    mean, error = mean_and_error(gains)
    assert float(found["gain"]) == pytest.approx(mean)
    assert float(found["gain_se"]) == pytest.approx(error)
    assert float(found["number"]) == len(told["model"]["log"])


def test_base_rates_are_those_of_the_run_or_left_out() -> None:
    counts = counts_of("davidson", True)
    run = luce.Posterior(counts).sample(20, chains=2, warmup=10, seed=1, progress=False)
    assert luce.answers.scores(run, counts).identical(luce.answers.scores(run, counts, counts))
    without = luce.answers.scores(DrawsView.of(run), counts)
    assert without["forecast"].values.tolist() == ["model"]
    assert math.isnan(float(without["gain"]))


def test_an_entity_model_is_scored_on_the_same_meetings() -> None:
    x = dirichlet([2.0, 3.0, 1.5, 1.0, 0.5])
    marks = {"tie_categories": ["d"], "home_categories": ["e"]}
    found = luce.answers.scores(
        draws_of(x).assign_attrs(marks), counts_of("davidson", True, HELD_OUT)
    )
    a, b, c, t, h = (x[..., k] for k in range(5))
    one = {"won": (a + h) / (a + h + c + t), "tied": t / (a + h + c + t)}
    two = {"lost": a / (b + h + a + t), "tied": t / (b + h + a + t)}
    three = {"won": c / (b + c + t), "lost": b / (b + c + t)}
    logs = [
        *[math.log(one["won"].mean())] * 2,
        math.log(one["tied"].mean()),
        *(math.log(q.mean()) for q in (*two.values(), *three.values())),
    ]
    assert found["log_score"].item() == pytest.approx(np.mean(logs))


def test_reliability_of_meetings_is_that_of_loops() -> None:
    run = made_up("davidson", True)
    found = luce.answers.reliability(run, counts_of("davidson", True, HELD_OUT), bins=3)
    assert found.sizes["cell"] == 9
    # Meetings on neutral ground come first, in the order of labels: b against c.
    q = [predicted(run, ("b", "c", 0), "davidson")]
    q += [predicted(run, (a, b, 1), "davidson") for a, b in ("ac", "ba")]
    np.testing.assert_allclose(found["predicted"].values, np.concatenate(q), rtol=1e-12)
    assert found["category"].values.tolist() == ["b", "tie", "c", "a", "tie", "c", "b", "tie", "a"]
    np.testing.assert_allclose(
        found["observed"].values, [0.5, 0, 0.5, 2 / 3, 1 / 3, 0, 0, 0.5, 0.5]
    )
    scored = luce.answers.scores(DrawsView.of(run), counts_of("davidson", True, HELD_OUT))
    for name in ("log_score", "brier_score"):
        assert float(found[name]) == pytest.approx(float(scored[name].sel(forecast="model")))


def test_grouped_outcomes_are_predicted_by_their_share() -> None:
    x = dirichlet([0.7, 1.0, 2.0, 3.0])
    outcomes: list[Any] = [
        (("a", "b"), "abcd", 2),
        ("c", "abcd", 1),
        ({"b", "c"}, "bcd", 3),
        ("d", "bcd", 1),
        (["a", "d"], None, 1),
    ]
    found = luce.answers.reliability(draws_of(x), outcomes, bins=2)
    p = {label: x[..., k] for k, label in enumerate("abcd")}
    # In the set of all, {a, b} and {a, d} overlap: each is told from its rest, and c is single.
    expected = [
        *(p[label].mean() for label in "abcd"),
        *((p["a"] + p["b"]).mean(), (p["c"] + p["d"]).mean()),
        *((p["a"] + p["d"]).mean(), (p["b"] + p["c"]).mean()),
        ((p["b"] + p["c"]) / (1 - p["a"])).mean(),
        (p["d"] / (1 - p["a"])).mean(),
    ]
    np.testing.assert_allclose(found["predicted"].values, expected, rtol=1e-12)
    assert found["category"].values.tolist() == [
        *"abcd", ("a", "b"), ("c", "d"), ("a", "d"), ("b", "c"), ("b", "c"), "d",
    ]  # fmt: skip
    logs = [
        (2, expected[4]),
        (1, expected[2]),
        (3, expected[8]),
        (1, expected[9]),
        (1, expected[6]),
    ]
    score = sum(k * math.log(q) for k, q in logs) / 8
    assert float(found["log_score"]) == pytest.approx(score)
    # Without the last one nothing overlaps, and the set of all has three cells.
    apart = luce.answers.reliability(draws_of(x), outcomes[:-1], bins=2)
    assert apart["category"].values.tolist() == [("a", "b"), "c", "d", ("b", "c"), "d"]
    ax = luce.plots.reliability(apart)
    assert "log score" in ax.get_title(loc="right")


def test_labels_that_are_tuples_stay_labels() -> None:
    draws = draws_of(dirichlet([1.0, 2.0]), [("a", "b"), "c"])
    found = luce.answers.reliability(draws, [(("a", "b"), None, 2)], bins=2)
    assert found["category"].values.tolist() == [("a", "b"), "c"]


RUN = made_up("davidson", True)
SAME = counts_of("davidson", True)
STRANGER = counts_of("davidson", True, [("a", "x", 1, 1, 0, 0)], "ax")


@pytest.mark.parametrize(
    ("ask", "words"),
    [
        (lambda: luce.answers.scores(RUN, luce.ConditionalCounts("abc")), "counts of contests"),
        (lambda: luce.answers.scores(RUN, [("a", "b")]), "held_out must be counts of contests"),
        (
            lambda: luce.answers.scores(RUN, counts_of("davidson", True).observe({"a": 1})),
            "1 outcome beside its contests",
        ),
        (lambda: luce.answers.scores(RUN, counts_of("davidson", False)), "who was at home"),
        (lambda: luce.answers.scores(RUN, counts_of(None, True)), "was read without ties"),
        (
            lambda: luce.answers.scores(made_up(None, True), counts_of("davidson", True)),
            "10 ties in held_out, and the model of the draws has none",
        ),
        (
            lambda: luce.answers.scores(RUN, STRANGER),
            "'x' in held_out is not a category",
        ),
        (
            lambda: luce.answers.scores(RUN, SAME, luce.ConditionalCounts(2)),
            "training must be counts of contests",
        ),
        (lambda: luce.answers.scores(RUN, counts_of("davidson", True, [("a", "b", 1, 0, 0, 0)])),
         "has no meetings"),
        (lambda: luce.answers.reliability(RUN, luce.ConditionalCounts("abc")), "outcomes must be"),
        (lambda: luce.answers.reliability(RUN, [("ab", "abc", 1)]), "'ab' is not a category"),
        (lambda: luce.answers.reliability(RUN, [(("a", "b"), "ac", 1)]), "lies outside the set"),
        (lambda: luce.answers.reliability(RUN, [(("a", "c"), "ac", 1)]), "says nothing"),
        (
            lambda: luce.plots.predictive_check(RUN, [(("a", "b"), None, 1), ("c", None, 1)]),
            "a grouped outcome",
        ),
    ],
)  # fmt: skip
def test_what_cannot_be_scored_is_refused(ask: Callable[[], Any], words: str) -> None:
    with pytest.raises(DataError, match=words):
        ask()
