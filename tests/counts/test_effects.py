"""Marks of categories that are no competitors: made by readers, kept by the algebra."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

import luce
from luce import ConditionalCounts, Posterior
from luce.errors import DataError

GAMES = {
    "item1": ["a", "b", "c", "a"],
    "item2": ["b", "c", "a", "c"],
    "outcome": ["a", "tie", "a", "c"],
}
pytestmark = pytest.mark.filterwarnings("ignore::luce.ConvergenceWarning")

BOTH = {"draw": "tie", "ground": "home"}


def games(**more: Any) -> ConditionalCounts:
    labels = {"tie_label": "draw", "home_label": "ground"} | more
    return luce.from_pairs(GAMES, ties="entity", home="first", home_effect="entity", **labels)


def test_readers_mark_ties_and_advantages() -> None:
    assert games().effects == BOTH
    with pytest.warns(luce.errors.HalfWinsWarning):
        assert luce.from_pairs(GAMES, ties="half").effects == {}
    assert luce.from_pairs(GAMES, ties="entity").effects == {"tie": "tie"}
    teams = [("a", "bc"), ("b", "ac")]
    rows = {"winners": [list(w) for w, _ in teams], "losers": [list(v) for _, v in teams]}
    assert luce.from_teams(rows, ties="entity").effects == {"tie": "tie"}
    # Named among the categories they are still no competitors.
    assert games(categories=["draw", "c", "b", "a", "ground"]).effects == BOTH


def test_equal_names_of_two_effects_are_refused() -> None:
    with pytest.raises(DataError, match="tie_label and home_label are both 'x'"):
        games(tie_label="x", home_label="x")


def test_the_algebra_keeps_marks() -> None:
    counts = games()
    empty = ConditionalCounts(counts.categories)
    for kept in (counts + counts, empty + counts, counts + empty, sum([empty, counts])):
        assert kept.effects == BOTH
    assert counts.observe({"a": 1}).effects == BOTH
    assert counts.observe_ranking("abc").effects == BOTH
    assert counts.relabel({"draw": ("remis", 1)}).effects == {("remis", 1): "tie", "ground": "home"}
    assert counts.relabel({"draw": "a", "a": "draw"}).effects == {"a": "tie", "ground": "home"}
    assert luce.from_pairs(GAMES, ties="entity").restrict(["a", "c", "tie"]).effects == {
        "tie": "tie"
    }
    assert luce.from_pairs(GAMES, ties="entity").restrict(["a", "c"]).effects == {}
    assert pickle.loads(pickle.dumps(counts)).effects == BOTH
    assert Posterior(counts).without_data().counts.effects == BOTH


def test_marks_change_no_data() -> None:
    counts = games()
    plain = ConditionalCounts.from_nests(
        counts.categories, counts.category_counts, counts.sets, counts.n_outcomes, merged=True
    )
    assert plain.effects == {}
    assert (plain == counts, plain.digest == counts.digest) == (True, True)
    one, other = (Posterior(c).sample(20, seed=3, progress=False) for c in (plain, counts))
    assert (one.posterior["probabilities"] == other.posterior["probabilities"]).all()


def test_marks_by_hand_are_checked() -> None:
    counts = ConditionalCounts(["a", "b", "draw"])
    marked = counts.with_effects({"draw": "tie"})
    assert (counts.effects, marked.effects) == ({}, {"draw": "tie"})
    assert marked.with_effects({"draw": "tie"}) is marked
    with pytest.raises(DataError, match="'z' in effects is not a category"):
        counts.with_effects({"z": "tie"})
    with pytest.raises(DataError, match=r"effects marks 'a' as 'away'; 'tie', 'home' are possible"):
        counts.with_effects({"a": "away"})
    with pytest.raises(DataError, match="effects must map labels to 'tie', 'home'"):
        counts.with_effects(["draw"])  # type: ignore[arg-type]
    with pytest.raises(DataError, match="marks 'draw' as 'home', and it is 'tie' already"):
        marked + counts.with_effects({"draw": "home"})
