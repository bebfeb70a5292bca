"""`luce.next_comparison`: candidates, costs, goals and labels as given; what it prints."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from lib.answer_cases import dirichlet, draws_of
from lib.bounds import FALSE_ALARM, SEED
from lib.contest_runs import counts_of, made_up
from scipy.stats import binom

import luce
from luce.answers.view import DrawsView
from luce.counts.labels import printable
from luce.errors import DataError, LuceError, MethodError
from luce.page.words import probability

GAMES = [("a", "b"), ("b", "a"), ("a", "c"), ("a", "c"), ("b", "c"), ("b", "c"), ("c", "d")]


@pytest.fixture(scope="module")
def run() -> Any:
    return luce.Posterior(luce.from_pairs(GAMES)).sample(500, seed=1, progress=False)


def test_all_pairs_are_compared_unless_candidates_are_given(run: Any) -> None:
    found = luce.next_comparison(run)
    assert found.n_candidates == 6
    assert sorted(map(sorted, found.table["candidate"])) == sorted(
        [list(pair) for pair in ("ab", "ac", "ad", "bc", "bd", "cd")]
    )
    value = found.table["value"]
    assert (np.diff(value) <= 0).all()
    assert found.batch == [found.table["candidate"][0]]
    assert found.gains[0] == value[0]


def test_goals_differ(run: Any) -> None:
    """The best is a or b; d, of whom least is known, tells most about the probabilities."""
    assert set(luce.next_comparison(run, goal="best").batch[0]) == {"a", "b"}
    assert "d" in luce.next_comparison(run, goal="information").batch[0]
    value = {
        goal: luce.next_comparison(run, [("a", "b")], goal).table["value"][0]
        for goal in ("information", "best", "order")
    }
    assert value["order"] < value["information"]
    assert value["best"] < value["information"]


def test_outcomes_are_named_with_their_probabilities(run: Any) -> None:
    found = luce.next_comparison(run, [("a", "b", "c"), ("c", "d")])
    told = dict(zip(found.table["candidate"], found.table["outcomes"], strict=True))
    expected = luce.shares(run, ["a", "b", "c"]).mean(("chain", "draw"))
    assert [label for label, _ in told["a", "b", "c"]] == ["a", "b", "c"]
    np.testing.assert_allclose([p for _, p in told["a", "b", "c"]], expected)
    pair = luce.beats(run, "c", "d").mean().item()
    np.testing.assert_allclose([p for _, p in told["c", "d"]], [pair, 1 - pair])


def test_costs_divide_values(run: Any) -> None:
    pairs = [("a", "b"), ("a", "c"), ("b", "c")]
    plain = luce.next_comparison(run, pairs, "best")
    first = plain.batch[0]
    by_list = luce.next_comparison(run, pairs, "best", cost=[1 + 99 * (p == first) for p in pairs])
    by_name = luce.next_comparison(run, pairs, "best", cost={first[::-1]: 100})
    assert by_list.batch == by_name.batch == [plain.table["candidate"][1]]
    assert by_name.table["candidate"][-1] == first
    assert by_name.table["cost"][-1] == 100
    assert by_name.table["value"][-1] == plain.table["value"][0]
    assert "for its cost" in str(by_name)
    assert "cost" not in str(plain)


def test_contests_have_ties_and_grounds() -> None:
    run = made_up("davidson", home=True)
    plain = luce.next_comparison(run)
    assert plain.n_candidates == 3
    expected = luce.predict(run, *plain.batch[0]).values
    np.testing.assert_allclose([p for _, p in plain.table["outcomes"][0]], expected)
    assert plain.table["outcomes"][0][1][0] == "tie"
    grounds = [(*pair, "first") for pair in permutations("abc", 2)]
    at_home = luce.next_comparison(run, grounds, cost={("a", "b", "first"): 2})
    assert at_home.n_candidates == 6
    a, b, _ = at_home.batch[0]
    expected = luce.predict(run, a, b, "first").values
    np.testing.assert_allclose([p for _, p in at_home.table["outcomes"][0]], expected)
    assert f"{a} at home – {b}" in str(at_home)
    team = luce.next_comparison(run, [(("a", "b"), {"c": 2.0})])
    assert "a + b – c" in str(team)
    both = luce.next_comparison(run, [("b", "a"), ("b", "c")], cost={("a", "b"): 3})
    assert sorted(both.table["cost"]) == [1, 3]


def test_a_run_of_contests_is_read_whole() -> None:
    counts = counts_of("rao-kupper", True)
    run = luce.Posterior(counts).sample(300, seed=2, progress=False)
    found = luce.next_comparison(run, goal="order", batch=2)
    assert found.attrs["data_digest"] == counts.digest
    assert len(found.batch) == 2
    assert {label for pair in found.table["candidate"] for label in pair} == set("abc")


def test_effects_are_not_compared() -> None:
    counts = luce.from_pairs(
        {"item1": ["a", "b", "a"], "item2": ["b", "a", "c"], "outcome": ["a", "tie", "c"]},
        ties="entity",
    )
    run = luce.Posterior(counts).sample(300, seed=1, progress=False)
    found = luce.next_comparison(run)
    assert found.n_candidates == 3
    assert [label for label, _ in found.table["outcomes"][0]][1] == "tie"
    with pytest.raises(DataError, match="no competitor"):
        luce.next_comparison(run, [("a", "tie")])


def test_among_says_who_may_be_best(run: Any) -> None:
    found = luce.next_comparison(run, goal="best", among=["c", "d"])
    assert found.batch == [("c", "d")]
    assert found.outlook.leader in ("c", "d")
    both = luce.next_comparison(run, [("a", "b"), ("c", "d")], goal="best", among=["c", "d"])
    assert both.batch == [("c", "d")]


def test_the_sentence_says_among_whom_the_leader_is_best(run: Any) -> None:
    """Another may be better than the best of some; the probability is that among them."""
    among = ["c", "d"]
    said = str(luce.next_comparison(run, among=among).outlook)
    p = dict(zip(among, luce.shares(run, among).values.reshape(-1, 2).T, strict=True))
    share = {"c": (p["c"] > p["d"]).mean(), "d": (p["d"] > p["c"]).mean()}
    first = max(share, key=lambda label: share[label])
    assert f"{first} is best among 2 of 4 competitors with probability {share[first]:.3f}" in said
    assert "among" not in str(luce.next_comparison(run).outlook)  # control
    kept = luce.Posterior(luce.from_pairs(GAMES)).sample(
        500, seed=1, keep=["a", "b"], progress=False
    )
    assert "is best of those whose draws were kept with" in str(luce.next_comparison(kept))


def test_one_draw_tells_nothing() -> None:
    found = luce.next_comparison([[[0.2, 0.8]]])
    row = next(line for line in str(found).splitlines() if line.strip().startswith("0 – 1"))
    assert row.split()[3:] == ["0", "0", "0.200,", "1", "0.800"]


LABELS: list[list[Any]] = [
    [1, 2, 3],
    [("x", 1), ("x", 2), ("y", 1)],
    ["a,b", "\x1b[31m", ""],
    [frozenset("a"), 2.5, None],
]


@pytest.mark.parametrize("labels", LABELS)
def test_any_labels(labels: list[Any]) -> None:
    p = draws_of(dirichlet([2.0, 3.0, 1.0], 300, 4), labels)
    found = luce.next_comparison(p, [tuple(labels[:2]), tuple(labels)], batch=2)
    assert set(found.batch) <= {tuple(labels[:2]), tuple(labels)}
    assert "\x1b" not in str(found)
    for label, share in found.table["outcomes"][0]:
        assert f"{printable(label)} {probability(share)}" in str(found)
    json.dumps(found.to_dict(), default=str)
    assert len(found.to_pandas()) == len(found.to_polars()) == 2
    assert luce.next_comparison(p).n_candidates == 3


def test_views_arrays_and_runs_from_a_disk_give_the_same(run: Any, tmp_path: Path) -> None:
    luce.save(run, tmp_path / "run.nc")
    loaded = luce.next_comparison(luce.load(tmp_path / "run.nc"), batch=3)
    here = luce.next_comparison(run, batch=3)
    assert str(loaded) == str(here)
    assert here.to_dict() == loaded.to_dict()
    view = luce.next_comparison(DrawsView.of(run), batch=3)
    assert view.batch == here.batch
    array = luce.next_comparison(run.posterior["probabilities"].values, batch=3)
    assert [tuple("abcd"[i] for i in pair) for pair in array.batch] == here.batch


def test_the_seed_decides(run: Any) -> None:
    one, two, other = (luce.next_comparison(run, batch=12, more=10, seed=k) for k in (1, 1, 2))
    assert str(one) == str(two)
    assert one.outlook.change != other.outlook.change


def test_json_has_plain_values(run: Any) -> None:
    found = luce.next_comparison(run, goal="best", batch=2, more=30)
    told = json.loads(json.dumps(found.to_dict()))
    assert told["goal"] == "best"
    assert told["batch"] == [list(pair) for pair in found.batch]
    assert told["candidates"][0]["value"] == found.table["value"][0]
    assert told["probability_best"] == pytest.approx(
        luce.probability_best(run).sel(category=told["leader"]).item()
    )
    assert told["expected_change"] <= told["expected_change_less_than"]
    assert told["sentences"] == list(found.outlook.sentences)
    assert told["trust"] == "good"
    assert told["run_seed"] == "1"


def test_what_limits_the_answer_is_said() -> None:
    some = luce.next_comparison(dirichlet([12.0, 10.0, 3.0, 3.0, 3.0], 500, 4), goal="best")
    assert "3 competitors that are rarely best are taken as one" in str(some)
    few = luce.next_comparison([[[0.6, 0.3, 0.1]]], goal="best")
    assert "Too few draws differ in who is best" in str(few)
    assert "do not trust these draws" in str(few)
    assert few.trust.kind == "bad"
    wide = luce.next_comparison(dirichlet([0.3] * 8, 150, 4), batch=30, more=0)
    assert "The last choices of the batch rest on" in str(wide)


BAD: list[tuple[dict[str, Any], type[LuceError], str]] = [
    ({"goal": "worst"}, MethodError, "choose one of information, best, order"),
    ({"goal": []}, MethodError, "choose one of"),
    ({"batch": 0}, MethodError, "batch = 0"),
    ({"more": -1}, MethodError, "more = -1"),
    ({"seed": -1}, MethodError, "seed = -1"),
    ({"candidates": []}, DataError, "candidates is empty"),
    ({"candidates": "ab"}, DataError, "a list is needed"),
    ({"candidates": 7}, DataError, "a list is needed"),
    ({"candidates": ["ab"]}, DataError, "is no comparison"),
    ({"candidates": [("a",)]}, DataError, "two different labels"),
    ({"candidates": [("a", "a")]}, DataError, "two different labels"),
    ({"candidates": [("a", "x")]}, DataError, "'x' in candidates is not a category"),
    ({"candidates": [("a", ["b"], "c")]}, DataError, "is not a category"),
    ({"candidates": [("a", "b", "first")]}, DataError, "'first' in candidates"),
    ({"candidates": [("a", ("a", "b"))]}, DataError, "on both sides"),
    ({"cost": [1.0]}, DataError, "cost has 1 number for 6 candidates"),
    ({"cost": 3}, DataError, "a list or a mapping"),
    ({"cost": {("a", "x"): 1}}, DataError, "is not a candidate"),
    ({"cost": {"a": 1}}, DataError, "'a' is not a candidate"),
    ({"cost": {("a", "b"): 0}}, DataError, "must be positive"),
    ({"cost": {("a", "b"): "much"}}, DataError, "a number is needed"),
    ({"among": ["a"]}, DataError, "1 competitor, and two are needed"),
    ({"among": ["x"]}, DataError, "'x' in among"),
]


@pytest.mark.parametrize(("options", "error", "words"), BAD)
def test_what_cannot_be_used_is_refused_in_words(
    run: Any, options: dict[str, Any], error: type[LuceError], words: str
) -> None:
    with pytest.raises(error, match=words):
        luce.next_comparison(run, **options)


def test_too_many_candidates_are_refused_with_a_remedy() -> None:
    p = np.broadcast_to(np.full(5000, 1 / 5000), (1, 200, 5000))
    with pytest.raises(DataError, match=r"12,497,500 candidates in 200 draws .* among="):
        luce.next_comparison(p)


def test_a_home_side_needs_a_home_advantage() -> None:
    with pytest.raises(DataError, match="no home advantage"):
        luce.next_comparison(made_up("davidson", home=False), [("a", "b", "first")])
    with pytest.raises(DataError, match="two sides are needed"):
        luce.next_comparison(made_up("davidson", home=True), [("a", "b", "c")])


def test_rankings_with_ties_of_a_parameter_are_refused() -> None:
    run = made_up("davidson", home=False)
    run["observed_data"].attrs["events"] = "tied choices"
    with pytest.raises(DataError, match="whose ties are no outcomes"):
        luce.next_comparison(run)


# -- a search --------------------------------------------------------------------------------------


def comparisons_until_known(
    rule: Callable[[np.ndarray], tuple[int, int]], seed: int
) -> tuple[int, bool]:
    """Compare items until one of them is best with probability 0.95; was it the wrong one?"""
    rng, n = np.random.default_rng([SEED, seed]), 6
    logs = 0.7 * rng.standard_normal(n)
    wins = np.zeros((n, n), np.int64)
    while True:
        if wins.any():
            posterior = luce.Posterior(luce.from_pairs(wins), 2.5)
            draws = posterior.sample(150, chains=4, seed=seed, progress=False).posterior
            p = draws["probabilities"].values
        else:
            p = rng.dirichlet([2.5] * n, (4, 150))
        best = np.bincount(p.argmax(axis=2).ravel(), minlength=n) / 600
        done = int(wins.sum())
        if best.max() >= 0.95 or done > 400:
            return done, int(best.argmax()) != int(logs.argmax())
        i, j = rule(p)
        size = max(6, done // 5)
        won = rng.binomial(size, 1 / (1 + np.exp(logs[j] - logs[i])))
        wins[i, j] += won
        wins[j, i] += size - won


@pytest.mark.slow
@pytest.mark.compiled
@pytest.mark.filterwarnings("ignore::luce.ConvergenceWarning")
def test_the_best_is_found_in_fewer_comparisons_than_at_random() -> None:
    """The control is a rule that takes the pair that tells least."""
    rng = np.random.default_rng(SEED)

    def most(p: np.ndarray) -> tuple[int, int]:
        i, j = luce.next_comparison(p, goal="best", more=0).batch[0]
        return int(i), int(j)

    def least(p: np.ndarray) -> tuple[int, int]:
        i, j = luce.next_comparison(p, goal="best", more=0).table["candidate"][-1]
        return int(i), int(j)

    def at_random(p: np.ndarray) -> tuple[int, int]:
        i, j = rng.choice(p.shape[2], 2, replace=False)
        return int(i), int(j)

    found = {
        name: [comparisons_until_known(rule, k) for k in range(40)]
        for name, rule in {"most": most, "least": least, "random": at_random}.items()
    }
    used = {name: np.array([n for n, _ in own]) for name, own in found.items()}

    def is_better(name: str) -> bool:
        """Are fewer comparisons needed in more searches than a fair coin would give?"""
        fewer = int((used[name] < used["random"]).sum())
        decided = int((used[name] != used["random"]).sum())
        return bool(binom.sf(fewer - 1, decided, 0.5) < FALSE_ALARM)

    assert is_better("most")
    assert not is_better("least")
