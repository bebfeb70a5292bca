"""Ranks and ties, against loops and quadrature."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from lib.answer_cases import (
    NAMES,
    PLAIN,
    SEED,
    Floats,
    cases,
    check,
    deep_logs,
    dirichlet,
    draws_of,
    larger_by_loops,
    ranks_by_loops,
    tree_of,
)
from scipy.integrate import quad
from scipy.special import betainc
from scipy.stats import gamma

import luce
from luce import ConditionalCounts, Posterior
from luce.answers.ranks import best_in_draws
from luce.answers.view import DrawsView
from luce.errors import DataError


@cases
def test_rank_probabilities_are_those_of_loops(x: Floats) -> None:
    table = luce.rank_probabilities(draws_of(x))
    assert table.dims == ("category", "rank")
    assert table["rank"].values.tolist() == list(range(1, x.shape[2] + 1))
    np.testing.assert_allclose(table, np.mean(ranks_by_loops(x), axis=0), rtol=1e-13)
    np.testing.assert_allclose(table.sum("category"), 1, rtol=1e-13)
    np.testing.assert_allclose(table.sum("rank"), 1, rtol=1e-13)


@cases
def test_best_is_the_head_of_the_table(x: Floats) -> None:
    truth = np.mean(ranks_by_loops(x), axis=0).cumsum(axis=1)
    for k in range(1, x.shape[2] + 1):
        found = luce.probability_best(draws_of(x), k)
        assert found.dims == ("category",)
        np.testing.assert_allclose(found, truth[:, k - 1], rtol=1e-13)


@cases
def test_best_in_each_draw_is_that_of_loops(x: Floats) -> None:
    weights = np.array(ranks_by_loops(x)).reshape(*x.shape, x.shape[2])
    for k, i in [(1, 0), (x.shape[2], x.shape[2] - 1), ((x.shape[2] + 1) // 2, 0)]:
        found = best_in_draws(DrawsView.of(x), k, i)
        np.testing.assert_allclose(found, weights[:, :, i, :k].sum(axis=2), rtol=1e-13)


@cases
@pytest.mark.parametrize("ci_prob", [0.5, 0.9, 0.999])
def test_expected_ranks_are_those_of_loops(x: Floats, ci_prob: float) -> None:
    weights = ranks_by_loops(x)
    total, tail = len(weights), (1 - ci_prob) / 2
    found = luce.answers.expected_ranks(draws_of(x), ci_prob)
    for i in range(x.shape[2]):
        rows = [w[i] for w in weights]
        mean = sum(r * v for row in rows for r, v in enumerate(row, 1)) / total
        square = sum(r * r * v for row in rows for r, v in enumerate(row, 1)) / total
        assert float(found["mean"][i]) == pytest.approx(mean, rel=1e-12)
        assert float(found["sd"][i]) ** 2 == pytest.approx(square - mean**2, abs=1e-9)
        bests = [1 + next(r for r, v in enumerate(row) if v) for row in rows]
        worsts = [max(r for r, v in enumerate(row, 1) if v) for row in rows]
        # The innermost ends that leave out no more than they may.
        few = tail * total + 1e-9
        lower = max(r for r in bests if sum(b < r for b in bests) <= few)
        upper = min(r for r in worsts if sum(w > r for w in worsts) <= few)
        assert (int(found["lower"][i]), int(found["upper"][i])) == (lower, upper)
    assert found.attrs["ci_prob"] == ci_prob


@cases
def test_expected_order_is_that_of_loops(x: Floats) -> None:
    n = x.shape[2]
    for chosen in [list(range(n)), list(range(n))[::2][::-1]]:
        weights = np.mean(ranks_by_loops(x[:, :, sorted(chosen)]), axis=0)
        mean = (weights * np.arange(len(chosen))).sum(axis=1).round(9)
        truth = [NAMES[i] for _, i in sorted(zip(mean.tolist(), sorted(chosen), strict=True))]
        assert luce.answers.expected_order(draws_of(x), [NAMES[i] for i in chosen]) == truth
    assert sorted(luce.answers.expected_order(draws_of(x))) == NAMES[:n]


@cases
@pytest.mark.parametrize("probability", [0.51, 0.7, 0.95, 1.0])
def test_tie_groups_are_those_of_loops(x: Floats, probability: float) -> None:
    order = luce.answers.expected_order(draws_of(x))
    above = larger_by_loops(x)
    places = [NAMES.index(str(name)) for name in order]
    cuts = [
        all(above[i][j] >= probability for i in places[:k] for j in places[k:])
        for k in range(1, len(order))
    ]
    truth = [[order[0]]]
    for name, cut in zip(order[1:], cuts, strict=True):
        truth = [*truth, [name]] if cut else [*truth[:-1], [*truth[-1], name]]
    assert luce.tie_groups(draws_of(x), probability) == truth


@cases
def test_the_larger_of_two_is_that_of_loops(x: Floats) -> None:
    found = luce.answers.probability_larger(draws_of(x))
    assert found.dims == ("category", "opponent")
    np.testing.assert_allclose(found, larger_by_loops(x), rtol=1e-13)
    few = DrawsView.of(x, block=1)  # one draw at a time
    np.testing.assert_array_equal(luce.answers.probability_larger(few), found)
    for probability in (0.6, 0.95):
        assert luce.tie_groups(few, probability) == [
            [NAMES.index(str(name)) for name in group]
            for group in luce.tie_groups(draws_of(x), probability)
        ]


def test_ranks_of_logs_tell_apart_what_underflows() -> None:
    logs = deep_logs()
    tree = tree_of(logs)
    assert (np.exp(logs) == 0).any()
    np.testing.assert_array_equal(
        luce.rank_probabilities(tree), luce.rank_probabilities(draws_of(logs - logs.min()))
    )
    bare = luce.rank_probabilities(tree["posterior"]["probabilities"])
    np.testing.assert_array_equal(bare[[1, 3], 3:], 0.5)  # both 0: the last two ranks, shared
    assert float(luce.rank_probabilities(tree)[1, 3]) != 0.5
    assert luce.answers.expected_ranks(tree)["mean"].values[1] != 4.5


def best_by_quadrature(a: list[float]) -> Floats:
    """P(p_i is the largest) under Dirichlet(a): independent gammas, one of them the largest."""

    def chance(i: int) -> float:
        others = [a[j] for j in range(len(a)) if j != i]

        def integrand(x: float) -> float:
            return float(gamma.pdf(x, a[i]) * math.prod(gamma.cdf(x, b) for b in others))

        return float(quad(integrand, 0, np.inf, epsabs=1e-11)[0])

    return np.array([chance(i) for i in range(len(a))])


def test_best_of_two_is_an_incomplete_beta() -> None:
    counts = ConditionalCounts(["a", "b"]).observe({"a": 4, "b": 2})
    draws = Posterior(counts, [0.5, 1.5]).sample(10_000, seed=SEED + 1, progress=False)
    a, b = 4.5, 3.5
    truth = np.array([betainc(b, a, 0.5), betainc(a, b, 0.5)])
    error = np.sqrt(truth * (1 - truth) / 40_000)
    first = luce.probability_best(draws).values, truth, error, truth[::-1]
    # The mean of p_a / (p_a + p_b), and its interval's ends.
    found = luce.answers.intervals(luce.beats(draws, "a", "b"))
    sd = math.sqrt(a * b / (a + b) ** 2 / (a + b + 1))
    mean = found["mean"].values, a / (a + b), sd / 200, 0.5
    inside = betainc(a, b, found["lower"].values), betainc(a, b, found["upper"].values)
    error = np.full(2, math.sqrt(0.05 * 0.95 / 40_000))
    check(first, mean, (inside, np.array([0.05, 0.95]), error, np.array([0.025, 0.975])))


def test_ranks_of_three_are_those_of_quadrature() -> None:
    a = [0.8, 2.0, 3.0]
    draws = draws_of(dirichlet(a, draws=10_000, chains=4, seed=3))
    truth = best_by_quadrature(a)
    assert truth.sum() == pytest.approx(1, abs=1e-8)
    table = luce.rank_probabilities(draws)
    error = np.sqrt(truth * (1 - truth) / 40_000)
    first = table[:, 0].values, truth, error, best_by_quadrature([1.0, 2.0, 2.8])
    # The expected rank is 1 and the chances that each other one is larger.
    chance = np.array(
        [[betainc(a[i], a[j], 0.5) if i != j else 0 for j in range(3)] for i in range(3)]
    )
    mean = 1 + chance.sum(axis=1)
    found = luce.answers.expected_ranks(draws)
    check(first, (found["mean"].values, mean, found["sd"].values / 200, mean[[0, 2, 1]]))


def test_mirrored_draws_give_mirrored_answers() -> None:
    x = dirichlet([1.0, 2.0, 3.0])
    mirrored = draws_of(np.concatenate([x, x[:, :, [1, 0, 2]]], axis=1))
    table = luce.rank_probabilities(mirrored).values
    np.testing.assert_array_equal(table[0], table[1])
    assert float(luce.answers.win_matrix(mirrored)[0, 1]) == pytest.approx(0.5)
    ranks = luce.answers.expected_ranks(mirrored)
    assert all(float(ranks[name][0]) == float(ranks[name][1]) for name in ("mean", "sd", "upper"))


def test_groups_are_cut_where_all_above_are_told_from_all_below() -> None:
    draws = [[[0.5, 0.1, 0.4], [0.4, 0.1, 0.5], [0.5, 0.1, 0.4], [0.5, 0.2, 0.3]]]
    assert luce.tie_groups(draws) == [[0, 2], [1]]
    assert luce.tie_groups(draws, probability=0.7) == [[0], [2], [1]]
    for bad in (0.5, 1.1, "much"):
        with pytest.raises(DataError, match=r"above 0\.5 and at most 1"):
            luce.tie_groups(draws, probability=bad)  # type: ignore[arg-type]
    for k in (0, 5, True, 1.0):
        with pytest.raises(DataError, match="a whole number from 1 to 4"):
            luce.probability_best(PLAIN, k=k)


COUNTS = (
    ConditionalCounts(["a", "b", "tie", "c", "home"])
    .observe({"a": 3, "tie": 4}, within=["a", "b", "tie"])
    .observe({"c": 2, "tie": 1, "home": 3}, within=["b", "c", "tie", "home"])
)


# In an order that is not the stored one.
PLAYERS = ["c", "a", "b"]


@pytest.fixture(scope="module")
def run() -> Any:
    return Posterior(COUNTS, 1.0).sample(400, seed=3, progress=False)


def alone(run: Any) -> Any:
    """The same draws of the players, as an array that knows nothing of the others."""
    return run["posterior"]["probabilities"].sel(category=["a", "b", "c"])


def test_ranks_among_some_are_those_without_the_others(run: Any) -> None:
    functions = [luce.rank_probabilities, luce.probability_best, luce.answers.expected_ranks]
    for function in (*functions, luce.answers.win_matrix, luce.log_odds, luce.elo):
        some = function(run, among=PLAYERS)
        assert some["category"].values.tolist() == ["a", "b", "c"]
        np.testing.assert_allclose(_array(some), _array(function(alone(run))))
        assert not _same(function(run), some)
    assert luce.tie_groups(run, among=PLAYERS) == luce.tie_groups(alone(run))
    assert luce.answers.expected_order(run, among=PLAYERS) == luce.answers.expected_order(
        alone(run)
    )


def _array(found: Any) -> Any:
    return found.to_array() if hasattr(found, "to_array") else found


def _same(one: Any, other: Any) -> bool:
    a, b = np.asarray(_array(one)), np.asarray(_array(other))
    return a.shape == b.shape and bool(np.allclose(a, b))


@pytest.mark.parametrize("function", [luce.rank_probabilities, luce.answers.win_matrix, luce.elo])
def test_unknown_labels_are_refused(function: Any, run: Any) -> None:
    with pytest.raises(DataError, match="'z' in among is not a category"):
        function(run, among=["a", "z"])
    with pytest.raises(DataError, match="among is empty"):
        function(run, among=[])
