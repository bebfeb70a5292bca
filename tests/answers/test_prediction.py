"""Ranks, duels, shares, scales, predictions and calibration, against loops and closed forms."""

from __future__ import annotations

import itertools
import math
import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import xarray as xr
from lib.oracles import log_likelihood
from scipy.integrate import quad
from scipy.special import betainc, betaln, gammaln
from scipy.stats import chi2, gamma, norm

import luce
from luce import ConditionalCounts, Posterior
from luce.answers import view as labelled_draws
from luce.answers.prediction import LogPredictive
from luce.answers.summaries import Summary
from luce.errors import DataError

Floats = npt.NDArray[np.float64]

SEED = 1000 * int(os.environ.get("LUCE_TEST_SEED", "0"))
NAMES = ["a", "b", "c", "d", "e"]


def draws_of(values: Floats, labels: list[Any] | None = None) -> xr.DataArray:
    """Draws with labels, which may be anything."""
    index = np.empty(values.shape[2], object)
    index[:] = labels or NAMES[: values.shape[2]]
    return xr.DataArray(values, {"category": index}, ("chain", "draw", "category"))


def tree_of(logs: Floats, labels: list[Any] | None = None) -> xr.DataTree:
    """Draws as `sample` returns them when logarithms are kept."""
    both = {"probabilities": draws_of(np.exp(logs), labels), "log_probabilities": draws_of(logs)}
    both["log_probabilities"] = draws_of(logs, labels)
    return xr.DataTree.from_dict({"/posterior": xr.Dataset(both)})


def dirichlet(a: list[float], draws: int = 50, chains: int = 2, seed: int = 0) -> Floats:
    return np.random.default_rng(SEED + seed).dirichlet(a, size=(chains, draws))


def with_ties(seed: int = 1) -> Floats:
    """Draws in eighths, zeros among them: full of ties."""
    whole = np.random.default_rng(SEED + seed).multinomial(8, [0.3, 0.25, 0.2, 0.2, 0.05], (2, 40))
    return np.asarray(whole / 8)


def deep_logs(seed: int = 2) -> Floats:
    """Logs of three large and two tiny probabilities, about e^-1000: 0 as doubles."""
    rng = np.random.default_rng(SEED + seed)
    logs = np.log(rng.dirichlet([2.0, 1.0, 3.0, 1.5, 2.5], size=(2, 30)))
    logs[:, :, [1, 3]] -= 1000.0
    return np.asarray(logs - np.logaddexp.reduce(logs, axis=2, keepdims=True))


CASES: dict[str, Callable[[], Floats]] = {
    "no ties": lambda: dirichlet([0.7, 1.0, 2.0, 3.0, 1.5]),
    "ties": with_ties,
    "one category": lambda: np.ones((2, 5, 1)),
    "two equal": lambda: np.full((1, 3, 2), 0.5),
}
cases = pytest.mark.parametrize("x", [make() for make in CASES.values()], ids=list(CASES))


# -- ranks ------------------------------------------------------------------------------


def ranks_by_loops(x: Floats) -> list[list[list[float]]]:
    """For each draw and category, the weight of each rank."""
    found = []
    for p in x.reshape(-1, x.shape[2]).tolist():
        rows = []
        for value in p:
            above, level = sum(q > value for q in p), p.count(value)
            rows.append([(above <= r < above + level) / level for r in range(len(p))])
        found.append(rows)
    return found


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
@pytest.mark.parametrize("interval", [0.5, 0.9, 0.999])
def test_expected_ranks_are_those_of_loops(x: Floats, interval: float) -> None:
    weights = ranks_by_loops(x)
    total, tail = len(weights), (1 - interval) / 2
    found = luce.answers.expected_ranks(draws_of(x), interval)
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
    assert found.attrs["interval"] == interval


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
    flat = {name: x[:, :, i].ravel().tolist() for i, name in enumerate(NAMES[: x.shape[2]])}
    truth: list[list[str]] = []
    for name in luce.answers.expected_order(draws_of(x)):
        assert isinstance(name, str)
        if truth:
            pairs = list(zip(flat[truth[-1][0]], flat[name], strict=True))
            larger = sum(p > q for p, q in pairs) + sum(p == q for p, q in pairs) / 2
        if not truth or larger / len(pairs) >= probability:
            truth.append([])
        truth[-1].append(name)
    assert luce.tie_groups(draws_of(x), probability) == truth


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


# -- duels, shares, scales --------------------------------------------------------------


def test_beats_and_win_matrix_are_those_of_loops() -> None:
    x = dirichlet([0.7, 1.0, 2.0, 3.0])
    matrix = luce.answers.win_matrix(draws_of(x))
    assert matrix.dims == ("category", "opponent")
    assert matrix["opponent"].values.tolist() == NAMES[:4]
    for i, j in itertools.product(range(4), repeat=2):
        truth = [p[i] / (p[i] + p[j]) for p in x.reshape(-1, 4).tolist()]
        assert float(matrix[i, j]) == pytest.approx(math.fsum(truth) / len(truth), rel=1e-13)
        if i != j:
            found = luce.beats(draws_of(x), NAMES[i], NAMES[j])
            assert found.dims == ("chain", "draw")
            np.testing.assert_allclose(found.values.ravel(), truth, rtol=1e-13)


def test_win_matrix_where_probabilities_underflow() -> None:
    logs = deep_logs()
    matrix = luce.answers.win_matrix(tree_of(logs))
    for i, j in itertools.product(range(5), repeat=2):
        truth = [1 / (1 + math.exp(min(v[j] - v[i], 700))) for v in logs.reshape(-1, 5).tolist()]
        assert float(matrix[i, j]) == pytest.approx(sum(truth) / len(truth), rel=1e-12, abs=1e-300)


def test_shares_are_those_of_loops() -> None:
    x = dirichlet([0.7, 1.0, 2.0, 3.0])
    found = luce.shares(draws_of(x), among=["d", "a", "c"])
    assert found.dims == ("chain", "draw", "category")
    assert found["category"].values.tolist() == ["d", "a", "c"]
    truth = [[p[3], p[0], p[2]] / (p[0] + p[2] + p[3]) for p in x.reshape(-1, 4)]
    np.testing.assert_allclose(found.values.reshape(-1, 3), truth, rtol=1e-13)
    np.testing.assert_allclose(luce.shares(draws_of(x)), x, rtol=1e-13)
    grouped = luce.shares(draws_of(x), "dac", groups={"ends": "ad", "middle": "c"})
    assert grouped.dims == ("chain", "draw", "group")
    assert grouped["group"].values.tolist() == ["ends", "middle"]
    both = [[p[0] + p[1], p[2]] for p in found.values.reshape(-1, 3)]
    np.testing.assert_allclose(grouped.values.reshape(-1, 2), both, rtol=1e-13)


def test_shares_where_all_on_offer_underflow() -> None:
    logs = deep_logs()
    tree = tree_of(logs)
    assert (tree["posterior"]["probabilities"].values[:, :, [1, 3]] == 0).all()
    truth = 1 / (1 + np.exp(logs[:, :, 3] - logs[:, :, 1]))
    np.testing.assert_allclose(luce.shares(tree, "bd")[:, :, 0], truth, rtol=1e-12)
    np.testing.assert_allclose(luce.beats(tree, "b", "d"), truth, rtol=1e-12)
    table = luce.answers.reliability(tree, [("b", "bd", 1)])
    np.testing.assert_allclose(table["predicted"][0], truth.mean(), rtol=1e-12)
    np.testing.assert_allclose(luce.log_odds(tree, "a"), logs - logs[:, :, :1], rtol=1e-12)


def test_without_logs_what_underflowed_is_refused() -> None:
    bare = tree_of(deep_logs())["posterior"]["probabilities"]
    given_pair = ConditionalCounts(NAMES).observe({"b": 1}, within="bd")
    for attempt in (
        lambda: luce.shares(bare, "bd"),
        lambda: luce.beats(bare, "b", "d"),
        lambda: luce.answers.win_matrix(bare),
        lambda: luce.log_odds(bare, "a"),
        lambda: luce.log_predictive(bare, given_pair),
        lambda: luce.answers.posterior_predictive(bare, given_pair, 1),
        lambda: luce.answers.reliability(bare, [("b", "bd", 1)]),
    ):
        with pytest.raises(DataError, match=r"'b', 'd' are 0 .* log_probabilities=True"):
            attempt()
    np.testing.assert_array_equal(luce.beats(bare, "a", "b"), 1)


def test_log_odds_and_elo_are_those_of_loops() -> None:
    x = dirichlet([0.7, 1.0, 2.0, 3.0])
    for reference in ["c", "mean"]:
        odds, elo = luce.log_odds(draws_of(x), reference), luce.elo(draws_of(x), reference)
        assert odds.dims == elo.dims == ("chain", "draw", "category")
        for j, t, i in itertools.product(range(2), range(0, 50, 7), range(4)):
            p = x[j, t]
            base = math.log(p[2]) if reference == "c" else math.fsum(map(math.log, p)) / 4
            assert float(odds[j, t, i]) == pytest.approx(math.log(p[i]) - base, abs=1e-12)
            points = 1500 + 400 * (math.log(p[i]) - base) / math.log(10)
            assert float(elo[j, t, i]) == pytest.approx(points, rel=1e-12)
    # Odds of 10 to 1 are 400 points.
    ten = draws_of(np.array([[[10 / 11, 1 / 11]]]))
    assert luce.elo(ten, "b", at=100).values.tolist() == [[[pytest.approx(500), 100]]]


def test_a_label_called_mean_is_a_label() -> None:
    x = draws_of(dirichlet([1.0, 2.0, 3.0]), ["mean", "b", "c"])
    np.testing.assert_array_equal(luce.log_odds(x, "mean")[:, :, 0], 0)


def test_intervals_are_quantiles_of_all_draws() -> None:
    x = dirichlet([0.7, 1.0, 2.0], draws=101)
    found = luce.answers.intervals(luce.shares(draws_of(x), "ab"), interval=0.8)
    assert list(found) == ["mean", "sd", "lower", "upper"]
    flat = np.sort((x[:, :, 0] / (x[:, :, 0] + x[:, :, 1])).ravel())
    assert float(found["mean"][0]) == pytest.approx(flat.mean())
    assert float(found["sd"][0]) == pytest.approx(flat.std())
    at = 0.1 * (len(flat) - 1)
    k = int(at)
    assert float(found["lower"][0]) == pytest.approx(
        flat[k] + (at - k) * (flat[k + 1] - flat[k]), rel=1e-9
    )
    assert float(found["upper"][1]) == pytest.approx(1 - float(found["lower"][0]), rel=1e-9)
    assert found["category"].values.tolist() == ["a", "b"]
    assert luce.answers.intervals(luce.beats(draws_of(x), "a", "b"))["mean"].dims == ()
    tree = xr.DataTree.from_dict({"/posterior": xr.Dataset({"probabilities": draws_of(x)})})
    np.testing.assert_allclose(luce.answers.intervals(tree)["mean"], x.mean(axis=(0, 1)))


# -- closed forms -----------------------------------------------------------------------


def worst_error(found: Floats, truth: Floats, errors: Floats) -> float:
    """Largest error in standard errors."""
    return float((np.abs(np.asarray(found) - truth) / errors).max())


def check(*each: tuple[Any, Any, Any, Any]) -> None:
    """For each (found, truth, errors, wrong): near the truth, and far from something else.

    The bound is exceeded by right answers in one test of ten thousand.
    """
    bound = float(norm.isf(1e-4 / 2 / sum(np.size(truth) for _, truth, _, _ in each)))
    for found, truth, errors, wrong in each:
        assert worst_error(found, truth, errors) < bound
        assert worst_error(found, wrong, errors) > bound


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


def test_wins_and_shares_of_a_dirichlet() -> None:
    a = np.array([0.8, 2.0, 3.0, 1.2])
    draws = draws_of(dirichlet(a.tolist(), draws=10_000, chains=4, seed=4))
    sums = a[:, None] + a
    truth = a[:, None] / sums
    error = np.sqrt(truth * (1 - truth) / (sums + 1) / 40_000)
    above = np.triu_indices(4, 1)
    matrix = luce.answers.win_matrix(draws).values
    wins = matrix[above], truth[above], error[above], truth.T[above]
    np.testing.assert_allclose(matrix + matrix.T, 1, rtol=1e-14)
    share = luce.answers.intervals(luce.shares(draws, "acd"))
    part = a[[0, 2, 3]] / a[[0, 2, 3]].sum()
    error = np.sqrt(part * (1 - part) / (a[[0, 2, 3]].sum() + 1) / 40_000)
    check(wins, (share["mean"].values, part, error, a[[0, 2, 3]] / a.sum()))


def test_a_symmetric_tie_gives_a_symmetric_posterior() -> None:
    """Half a win each, thrice over, and a third category that tells a from b nothing."""
    counts = ConditionalCounts("abc").observe({"a": 1.5, "b": 1.5}, within="ab")
    counts = counts.observe({"a": 1, "c": 2}, within="ac").observe({"b": 1, "c": 2}, within="bc")
    lopsided = counts.observe({"a": 1}, within="ab")
    found = {}
    for name, data in (("even", counts), ("not", lopsided)):
        draws = Posterior(data).sample(5000, seed=SEED + 5, method="rejection", progress=False)
        assert draws.attrs["independent_draws"] == 1
        a, b, _ = luce.probability_best(draws).values
        # Both are of the same draws: a is best, or b, or neither.
        error = math.sqrt((a + b - (a - b) ** 2) / 20_000)
        wins = luce.answers.intervals(luce.beats(draws, "a", "b"))
        z = abs(float(wins["mean"]) - 0.5) / float(wins["sd"]) * math.sqrt(20_000)
        found[name] = abs(a - b) / error, z
    bound = norm.isf(1e-4 / 4)
    assert max(found["even"]) < bound < min(found["not"])


def test_mirrored_draws_give_mirrored_answers() -> None:
    x = dirichlet([1.0, 2.0, 3.0])
    mirrored = draws_of(np.concatenate([x, x[:, :, [1, 0, 2]]], axis=1))
    table = luce.rank_probabilities(mirrored).values
    np.testing.assert_array_equal(table[0], table[1])
    assert float(luce.answers.win_matrix(mirrored)[0, 1]) == pytest.approx(0.5)
    ranks = luce.answers.expected_ranks(mirrored)
    assert all(float(ranks[name][0]) == float(ranks[name][1]) for name in ("mean", "sd", "upper"))


# -- log predictive ---------------------------------------------------------------------


def data_over(labels: list[Any]) -> ConditionalCounts:
    a, b, c, d, e = labels
    counts = ConditionalCounts(labels).observe({a: 1, b: 2.5}).observe_ranking([c, a, e, b])
    counts = counts.observe({b: 2, d: 1}, without=[a]).observe_group([a, c], 2, without=[e])
    return counts.observe({d: 3}, within=[d, e])


def family_of(counts: ConditionalCounts) -> dict[frozenset[int], float]:
    sets = counts.sets
    return {
        frozenset(sets.set_members(t).tolist()): float(sets.exponent[t]) for t in range(sets.n_sets)
    }


def test_log_predictive_is_that_of_loops() -> None:
    x = dirichlet([0.7, 1.0, 2.0, 3.0, 1.5])
    counts = data_over(NAMES)
    family = family_of(counts)
    logs = [
        log_likelihood(p, counts.category_counts.tolist(), family)
        for p in x.reshape(-1, 5).tolist()
    ]
    top = max(logs)
    weights = [math.exp(v - top) for v in logs]
    found = luce.log_predictive(draws_of(x), counts)
    assert isinstance(found, LogPredictive)
    assert found == pytest.approx(top + math.log(math.fsum(weights) / len(weights)), rel=1e-12)
    effective = math.fsum(weights) ** 2 / math.fsum(w * w for w in weights)
    assert found.effective_draws == pytest.approx(effective)
    # Another order of the categories, with the same data, is the same question.
    other = ConditionalCounts(NAMES[::-1]) + counts
    assert luce.log_predictive(draws_of(x), other) == pytest.approx(found, rel=1e-12)
    empty = luce.log_predictive(draws_of(x), ConditionalCounts(NAMES))
    assert (empty.value, empty.standard_error, empty.effective_draws) == (0, 0, 100)


def test_log_predictive_where_probabilities_underflow() -> None:
    logs = deep_logs()
    counts = ConditionalCounts(NAMES).observe({"b": 2, "d": 1}, within="bd")
    counts = counts.observe_group("bd", 1).observe({"b": 1}, without="ace")
    v = logs.reshape(-1, 5)
    pair = np.logaddexp(v[:, 1], v[:, 3])
    each = 3 * v[:, 1] + v[:, 3] - 4 * pair + pair
    truth = np.logaddexp.reduce(each) - math.log(len(each))
    assert luce.log_predictive(tree_of(logs), counts) == pytest.approx(truth, rel=1e-12)
    impossible = ConditionalCounts(NAMES).observe({"b": 1})
    bare = tree_of(logs)["posterior"]["probabilities"]
    assert luce.log_predictive(bare, impossible) == -np.inf


def test_log_predictive_of_a_dirichlet_and_its_error() -> None:
    """Dirichlet-multinomial, and Beta-binomial of a share; errors as large as they say."""
    a = np.array([2.0, 3.0, 1.5])
    plain = ConditionalCounts("abc").observe({"a": 2, "b": 1})
    pair = ConditionalCounts("abc").observe({"a": 2, "b": 1}, within="ab")
    after = a + [2, 1, 0]
    truths = {
        "plain": gammaln(a.sum()) - gammaln(a).sum() - gammaln(after.sum()) + gammaln(after).sum(),
        "pair": betaln(4.0, 4.0) - betaln(2.0, 3.0),
    }
    wrong = betaln(4.0, 4.0) - betaln(2.5, 2.5)
    z: dict[str, list[float]] = {"plain": [], "pair": [], "wrong": []}
    for seed in range(20):
        draws = draws_of(dirichlet(a.tolist(), draws=1000, chains=4, seed=100 + seed))
        for name, counts in (("plain", plain), ("pair", pair)):
            found = luce.log_predictive(draws, counts)
            z[name].append((found - float(truths[name])) / found.standard_error)
        z["wrong"].append((found - float(wrong)) / found.standard_error)
    bound = norm.isf(1e-4 / 8)  # four comparisons, two-sided
    for name in ("plain", "pair"):
        assert abs(sum(z[name])) / math.sqrt(20) < bound
        squares = sum(v * v for v in z[name])  # chi-square with 20 degrees of freedom
        assert chi2.ppf(1e-4 / 8, 20) < squares < chi2.isf(1e-4 / 8, 20)
    assert abs(sum(z["wrong"])) / math.sqrt(20) > bound


def test_log_predictive_remembers_itself_when_pickled() -> None:
    import pickle

    found = LogPredictive(-1.5, 0.1, 30.0)
    again = pickle.loads(pickle.dumps(found))
    assert repr(again) == repr(found)
    assert again.effective_draws == 30


# -- posterior predictive ---------------------------------------------------------------


def test_replicates_keep_the_design() -> None:
    counts = ConditionalCounts(NAMES).observe_ranking("cab", 2).observe({"d": 3, "a": 1})
    counts = counts.observe({"e": 4}, without="a")
    draws = draws_of(dirichlet([1.0, 2.0, 3.0, 1.0, 1.0]))
    found = luce.answers.posterior_predictive(draws, counts, seed=SEED)
    assert found.dims == ("chain", "draw", "outcome")
    for t in [-1, *range(counts.sets.n_sets)]:
        part = found.isel(outcome=np.flatnonzero(found["set"].values == t))
        members = counts.sets.set_members(t) if t >= 0 else np.arange(5)
        total = -counts.sets.exponent[t] if t >= 0 else 4
        assert part["category"].values.tolist() == [NAMES[i] for i in members]
        assert (part["total"] == total).all()
        assert (part.sum("outcome") == total).all()
    assert found["given"].values[found["set"].values == -1].tolist() == ["all"] * 5
    described = set(found["given"].values.tolist())
    assert described & {"{a, b}", "{b, a}"}
    assert "all but {a}" in described
    again = luce.answers.posterior_predictive(draws, counts, seed=SEED)
    xr.testing.assert_identical(again, found)
    assert not again.equals(luce.answers.posterior_predictive(draws, counts, seed=SEED + 1))


def test_replicates_are_dirichlet_multinomial() -> None:
    a = np.array([2.0, 3.0, 1.5])
    draws = draws_of(dirichlet(a.tolist(), draws=10_000, chains=4, seed=6))
    counts = ConditionalCounts("abc").observe({"a": 7}, within="ab").observe({"c": 5})
    found = luce.answers.posterior_predictive(draws, counts, seed=SEED + 7)

    def moments(m: int, i: int, total: float) -> tuple[float, float]:
        q = a[i] / total
        return m * q, m * q * (1 - q) * (total + m) / (total + 1)

    truth = np.array(
        [moments(7, 0, 5.0), moments(7, 1, 5.0), *[moments(5, i, 6.5) for i in range(3)]]
    )
    values = found.values.reshape(-1, 5).astype(float)
    errors = np.sqrt(truth[:, 1] / 40_000)
    means = values.mean(axis=0), truth[:, 0], errors, truth[[1, 0, 2, 3, 4], 0]
    centred = (values - values.mean(axis=0)) ** 2
    errors = centred.std(axis=0) / 200
    q = truth[:, 0] / [7, 7, 5, 5, 5]
    binomial = truth[:, 0] * (1 - q)  # as if the draws were one and the same
    check(means, (centred.mean(axis=0), truth[:, 1], errors, binomial))


def test_designs_that_cannot_be_replicated() -> None:
    draws = draws_of(dirichlet([1.0, 2.0, 3.0]))
    empty = ConditionalCounts("abc")
    for design, words in (
        (empty.observe_group("ab", 1), "grouped outcomes"),
        (empty.observe({"a": 1.5}, within="ab"), r"1\.5 outcomes given all but {c}; whole numbers"),
        (empty, "records nothing"),
        (ConditionalCounts("abx").observe({"a": 1}), "not so 'x'"),
        (ConditionalCounts("ab").observe({"a": 1}), "2 categories, the draws have 3"),
        ({"a": 1}, "must be ConditionalCounts; dict"),
    ):
        with pytest.raises(DataError, match=words):
            luce.answers.posterior_predictive(draws, design, 1)  # type: ignore[arg-type]
    huge = luce.answers.posterior_predictive(draws, empty.observe({"a": 1e15}), 1)
    assert (huge.sum("outcome") == 10**15).all()


# -- calibration ------------------------------------------------------------------------


def test_calibration_is_that_of_loops() -> None:
    x = dirichlet([0.7, 1.0, 2.0, 3.0])
    outcomes: list[tuple[str, Any, float]] = [
        ("a", "abc", 2), ("b", ["c", "b", "a"], 1), ("d", None, 3), ("c", None, 2.5), ("d", "ad", 4)
    ]  # fmt: skip
    bins = 4
    found = luce.answers.reliability(draws_of(x), outcomes, bins=bins)
    sets: dict[frozenset[str], dict[str, float]] = {}
    for label, within, count in outcomes:
        counted = sets.setdefault(frozenset(within or "abcd"), {})
        counted[label] = counted.get(label, 0) + count
    cells = []
    log_score = brier = total = 0.0
    for s, (members, counted) in enumerate(sets.items()):
        names = sorted(members)
        places = [NAMES.index(name) for name in names]
        q = {
            name: math.fsum(p[i] / sum(p[j] for j in places) for p in x.reshape(-1, 4)) / 100
            for name, i in zip(names, places, strict=True)
        }
        m = sum(counted.values())
        cells += [(s, name, q[name], counted.get(name, 0) / m, m) for name in names]
        for name, count in counted.items():
            total += count
            log_score += count * math.log(q[name])
            brier += count * sum((q[other] - (other == name)) ** 2 for other in names)
    assert found["set"].values.tolist() == [c[0] for c in cells]
    assert found["category"].values.tolist() == [c[1] for c in cells]
    for k, name in enumerate(["predicted", "observed", "number"], 2):
        np.testing.assert_allclose(found[name], [c[k] for c in cells], rtol=1e-12)
    assert float(found["log_score"]) == pytest.approx(log_score / total)
    assert float(found["brier_score"]) == pytest.approx(brier / total)
    for b in range(bins):
        inside = [c for c in cells if b / bins <= c[2] < (b + 1) / bins]
        weight = sum(c[4] for c in inside)
        assert float(found["bin_number"][b]) == weight
        assert float(found["bin_lower"][b]) == b / bins
        if not inside:
            assert np.isnan(found["bin_observed"][b])
            continue
        predicted = sum(c[4] * c[2] for c in inside) / weight
        observed = sum(c[4] * c[3] for c in inside) / weight
        spread = 0.0
        for s in range(len(sets)):
            here = [c for c in inside if c[0] == s]
            if here:
                q_here = sum(c[2] for c in here)
                spread += here[0][4] * q_here * (1 - q_here)
        assert float(found["bin_predicted"][b]) == pytest.approx(predicted)
        assert float(found["bin_observed"][b]) == pytest.approx(observed)
        assert float(found["bin_error"][b]) == pytest.approx(math.sqrt(spread) / weight)


def test_true_predictions_are_calibrated_and_wrong_ones_not() -> None:
    rng = np.random.default_rng(SEED + 8)
    p = np.array([0.05, 0.1, 0.2, 0.25, 0.4])
    outcomes = []
    for size, _ in itertools.product([2, 3, 4, 5], range(40)):
        members = np.sort(rng.choice(5, size, replace=False))
        counts = rng.multinomial(50, p[members] / p[members].sum())
        within = [NAMES[i] for i in members]
        outcomes += [(NAMES[i], within, int(k)) for i, k in zip(members, counts, strict=True)]
    z = {}
    for name, q in (("right", p), ("wrong", p**0.8 / (p**0.8).sum())):
        found = luce.answers.reliability(draws_of(q[None, None]), outcomes, bins=5)
        off = abs(found["bin_observed"] - found["bin_predicted"]) / found["bin_error"]
        z[name] = float(off.max())
        if name == "right":
            score = float(found["log_score"]), float(found["brier_score"])
    bound = norm.isf(1e-4 / 10)
    assert z["right"] < bound < z["wrong"]
    assert score[0] > float(found["log_score"])
    assert score[1] < float(found["brier_score"])


# -- comparability ----------------------------------------------------------------------


def groups_by_loops(counts: ConditionalCounts) -> tuple[list[list[Any]], list[Any]]:
    labels = list(counts.categories)
    sets = [counts.sets.set_members(t).tolist() for t in range(counts.sets.n_sets)]
    if counts.category_counts.sum() + counts.sets.exponent.sum() > 1e-9:
        sets.append(list(range(len(labels))))
    group = list(range(len(labels)))
    for members in sets:
        joined = {group[i] for i in members}
        group = [min(joined) if g in joined else g for g in group]
    parts = [[x for x, h in zip(labels, group, strict=True) if h == g] for g in sorted(set(group))]
    covered = {i for members in sets for i in members}
    return parts, [x for i, x in enumerate(labels) if i not in covered]


@pytest.mark.parametrize("seed", range(40))
def test_comparable_groups_are_those_of_loops(seed: int) -> None:
    rng = np.random.default_rng(SEED + seed)
    n = int(rng.integers(1, 12))
    counts = ConditionalCounts(n)
    for _ in range(int(rng.integers(0, 5))):
        size = int(rng.integers(1, n + 1)) if rng.random() < 0.3 else min(n, 2)
        members = rng.choice(n, size, replace=False).tolist()
        kind = rng.integers(4)
        if kind == 0:
            counts = counts.observe_ranking(members, 0.1)
        elif kind == 1 and size < n:
            counts = counts.observe(
                {next(i for i in range(n) if i not in members): 0.3}, without=members
            )
        elif kind == 2:
            counts = counts.observe_group(members[:2], 1, within=members)
        else:
            counts = counts.observe({members[0]: 0.7, members[-1]: 0.1}, within=members)
    groups, alone = groups_by_loops(counts)
    assert luce.comparable_groups(counts) == groups
    assert luce.counts.prior_only(counts) == alone


def test_comparable_groups_where_they_matter() -> None:
    league = (
        ConditionalCounts("abcdefg").observe({"a": 1}, within="ab").observe({"c": 1}, within="cd")
    )
    assert luce.comparable_groups(league) == [["a", "b"], ["c", "d"], ["e"], ["f"], ["g"]]
    assert luce.counts.prior_only(league) == ["e", "f", "g"]
    assert luce.comparable_groups(league.observe({"e": 1})) == [list("abcdefg")]
    assert luce.counts.prior_only(league.observe({"e": 1})) == []
    most = ConditionalCounts("abcdefg").observe({"b": 1}, without="a")
    assert luce.comparable_groups(most) == [["a"], list("bcdefg")]
    assert luce.counts.prior_only(most) == ["a"]
    with pytest.raises(DataError, match="must be ConditionalCounts; list"):
        luce.comparable_groups([])  # type: ignore[arg-type]


def test_what_data_says_nothing_about_has_its_prior() -> None:
    """The claim behind `prior_only`, in closed form; and what is in a set has moved."""
    counts = ConditionalCounts("abcd").observe({"a": 5, "b": 1}, within="ab")
    posterior = Posterior(counts, [0.5, 1.0, 2.0, 1.5])
    moved = np.abs(posterior.mean() - np.array([0.1, 0.2, 0.4, 0.3])) > 1e-12
    assert moved.tolist() == [True, True, False, False]
    assert luce.counts.prior_only(counts) == ["c", "d"]


# -- labels, forms of draws, options, errors --------------------------------------------


LABELS: dict[str, list[Any]] = {
    "strings": ["x", "yy", "", "<b>", "é"],
    "numbers": [3, 1, 2, 0, 7],
    "tuples": [("r", 1), ("r", 2), ("s", 1), (), ("s", ("t",))],
    "mixed": ["x", 1, ("a", 2), None, 2.5],
}


@pytest.mark.parametrize("labels", LABELS.values(), ids=list(LABELS))
def test_labels_in_labels_out(labels: list[Any]) -> None:
    x = dirichlet([0.7, 1.0, 2.0, 3.0, 1.5])
    named, bare = draws_of(x, labels), draws_of(x)
    number = {name: i for i, name in enumerate(NAMES)}

    def same(found: xr.DataArray | xr.Dataset, truth: xr.DataArray | xr.Dataset) -> None:
        """The same values, and labels where the plain names stood."""
        for name in set(truth.coords) & {"category", "opponent"}:
            plain = truth[name].values.tolist()
            assert found[name].values.tolist() == [labels[number[v]] for v in plain]
        for a, b in zip(
            found.values() if isinstance(found, xr.Dataset) else [found],
            truth.values() if isinstance(truth, xr.Dataset) else [truth],
            strict=True,
        ):
            np.testing.assert_array_equal(a.values, b.values)

    same(luce.rank_probabilities(named), luce.rank_probabilities(bare))
    same(luce.probability_best(named, 2), luce.probability_best(bare, 2))
    same(luce.answers.expected_ranks(named), luce.answers.expected_ranks(bare))
    same(luce.answers.win_matrix(named), luce.answers.win_matrix(bare))
    same(luce.beats(named, labels[2], labels[4]), luce.beats(bare, "c", "e"))
    same(luce.shares(named, [labels[3], labels[1]]), luce.shares(bare, "db"))
    same(luce.log_odds(named, labels[1]), luce.log_odds(bare, "b"))
    same(
        luce.answers.intervals(luce.elo(named, labels[1])),
        luce.answers.intervals(luce.elo(bare, "b")),
    )
    order = [labels[number[str(v)]] for v in luce.answers.expected_order(bare)]
    assert luce.answers.expected_order(named) == order
    assert [v for group in luce.tie_groups(named) for v in group] == order
    ours, plain = data_over(labels), data_over(NAMES)
    assert luce.log_predictive(named, ours) == luce.log_predictive(bare, plain)
    design = ConditionalCounts(labels).observe({labels[1]: 4}, without=[labels[0]])
    replicates = luce.answers.posterior_predictive(named, design, 1)
    assert replicates["category"].values.tolist() == labels[1:]
    table = luce.answers.reliability(named, [(labels[4], [labels[4], labels[2]], 1)])
    same(table, luce.answers.reliability(bare, [("e", "ec", 1)]))
    assert luce.counts.prior_only(design) == [labels[0]]
    assert luce.summary(named).categories == labels


def test_any_form_of_draws() -> None:
    x = dirichlet([0.7, 1.0, 2.0])
    table = luce.rank_probabilities(x)
    assert table["category"].values.tolist() == [0, 1, 2]
    np.testing.assert_array_equal(luce.rank_probabilities(x.tolist()), table)
    turned = draws_of(x).transpose("category", "draw", "chain")
    np.testing.assert_array_equal(luce.rank_probabilities(turned), table)
    thinned = draws_of(x).assign_coords(chain=[3, 5], draw=range(50)).isel(draw=slice(1, None, 7))
    odds = luce.log_odds(thinned, "a")
    assert odds["draw"].values.tolist() == list(range(1, 50, 7))
    assert odds["chain"].values.tolist() == [3, 5]


def test_input_is_left_alone() -> None:
    logs = deep_logs()
    tree = tree_of(logs)
    before = tree.copy(deep=True)
    luce.answers.win_matrix(tree), luce.shares(tree), luce.elo(tree), luce.summary(tree)
    luce.log_predictive(tree, data_over(NAMES))
    assert tree.identical(before)


@pytest.mark.parametrize("kept", [True, False], ids=["logs", "no logs"])
def test_blocks_do_not_show(monkeypatch: pytest.MonkeyPatch, kept: bool) -> None:
    logs = np.log(dirichlet([0.7, 1.0, 2.0, 3.0, 1.5]))
    draws = tree_of(logs) if kept else draws_of(np.exp(logs))
    counts, design = data_over(NAMES), ConditionalCounts(NAMES).observe({"a": 9}, within="abc")
    asked: list[Callable[[], Any]] = [
        lambda: luce.rank_probabilities(draws),
        lambda: luce.probability_best(draws, 2),
        lambda: luce.answers.expected_ranks(draws).to_array(),
        lambda: luce.answers.win_matrix(draws),
        lambda: luce.beats(draws, "a", "b"),
        lambda: luce.shares(draws, "abc"),
        lambda: luce.elo(draws),
        lambda: float(luce.log_predictive(draws, counts)),
        lambda: luce.answers.posterior_predictive(draws, design, 1),
        lambda: luce.answers.reliability(draws, [("a", "ab", 1)])["predicted"],
    ]
    whole = [ask() for ask in asked]
    monkeypatch.setattr(labelled_draws, "BLOCK", 17)
    monkeypatch.setattr("luce.answers.ranks.BLOCK", 17)
    for ask, truth in zip(asked, whole, strict=True):
        np.testing.assert_allclose(ask(), truth, rtol=1e-12)


def test_every_option_changes_its_answer() -> None:
    draws = draws_of(dirichlet([2.0, 2.2, 2.4, 8.0], draws=500))
    held_out = [("a", "abc", 3), ("b", None, 2)]

    def differ(one: Any, other: Any) -> bool:
        return not np.array_equal(np.asarray(one), np.asarray(other))

    assert differ(luce.probability_best(draws), luce.probability_best(draws, k=2))
    wide = luce.answers.expected_ranks(draws, interval=0.99)
    assert differ(luce.answers.expected_ranks(draws)["lower"], wide["lower"])
    assert luce.answers.expected_order(draws) != luce.answers.expected_order(draws, among="abc")
    assert luce.tie_groups(draws) != luce.tie_groups(draws, probability=0.51)
    assert differ(luce.shares(draws, among="ab"), luce.shares(draws, among="ba"))
    assert luce.shares(draws, groups={"x": "ab"}).dims != luce.shares(draws).dims
    odds = luce.log_odds(draws)
    assert differ(odds, luce.log_odds(draws, reference="a"))
    assert differ(luce.elo(draws), luce.elo(draws, reference="a"))
    assert differ(luce.elo(draws), luce.elo(draws, at=0))
    assert differ(
        luce.answers.intervals(odds)["lower"], luce.answers.intervals(odds, interval=0.5)["lower"]
    )
    few, many = (luce.answers.reliability(draws, held_out, bins=b) for b in (2, 20))
    assert (few.sizes["bin"], many.sizes["bin"]) == (2, 20)
    assert list(luce.summary(draws, interval=0.5).columns) != list(luce.summary(draws).columns)
    counts = ConditionalCounts("abcd").observe({"a": 1}, within="ab")
    assert "prior_only" in luce.summary(draws, counts=counts).columns
    assert luce.summary(draws, sort=True).categories != luce.summary(draws).categories


def test_what_is_wrong_is_said() -> None:
    draws = draws_of(dirichlet([1.0, 2.0, 3.0]))
    categories = r"the categories are 'a', 'b', 'c'"
    wrong: list[tuple[Callable[[], object], str]] = [
        (lambda: luce.beats(draws, "x", "b"), rf"a = 'x' is not a category; {categories}"),
        (lambda: luce.beats(draws, "a", ["b"]), rf"b = \['b'\] is not a category; {categories}"),  # type: ignore[arg-type]
        (lambda: luce.beats(draws, "a", "a"), "both 'a'"),
        (lambda: luce.shares(draws, ["a", "x"]), rf"'x' in among is not a category; {categories}"),
        (lambda: luce.shares(draws, ["a", "a"]), "appears twice in among"),
        (lambda: luce.shares(draws, []), f"among is empty.*{categories}"),
        (lambda: luce.shares(draws, 3), "must be a list of labels"),  # type: ignore[arg-type]
        (
            lambda: luce.shares(draws, "ab", {"g": "x"}),
            rf"'x' in groups\['g'\] is not .*{categories}",
        ),
        (lambda: luce.shares(draws, "ab", {"g": "c"}), "not on offer; `among` holds 'a', 'b'"),
        (lambda: luce.shares(draws, "ab", {}), "groups must map names"),
        (lambda: luce.answers.expected_order(draws, "ax"), f"'x' in among.*{categories}"),
        (lambda: luce.log_odds(draws, "x"), f"reference = 'x' is not a category; {categories}"),
        (lambda: luce.elo(draws, "x"), f"reference = 'x' is not a category; {categories}"),
        (lambda: luce.elo(draws, "a", at=float("nan")), "at = nan"),
        (lambda: luce.probability_best(draws, 0), "k = 0 was given; a whole number from 1 to 3"),
        (lambda: luce.probability_best(draws, 4), "k = 4"),
        (lambda: luce.probability_best(draws, 1.5), r"k = 1\.5"),  # type: ignore[arg-type]
        (lambda: luce.tie_groups(draws, 0.5), r"probability = 0\.5"),
        (lambda: luce.answers.expected_ranks(draws, 1.0), r"interval = 1\.0 .* between 0 and 1"),
        (lambda: luce.answers.intervals(luce.beats(draws, "a", "b"), 0), "interval = 0"),
        (lambda: luce.answers.intervals(luce.answers.win_matrix(draws)), "chain and draw"),
        (lambda: luce.answers.intervals(3), "chain and draw is needed; int"),  # type: ignore[arg-type]
        (lambda: luce.summary(draws, 90), "interval = 90"),
        (lambda: luce.log_predictive(draws, ConditionalCounts("abx")), "not so 'x'"),
        (lambda: luce.log_predictive(draws * 2, ConditionalCounts("abc")), "add up to 1"),
        (lambda: luce.answers.win_matrix(-draws), "some are negative"),
        (
            lambda: luce.answers.reliability(draws, [("x", "ab", 1)]),
            f"outcome 1 = 'x' .*{categories}",
        ),
        (
            lambda: luce.answers.reliability(draws, [("c", "ab", 1)]),
            "outcome 1 is 'c', which lies outside",
        ),
        (lambda: luce.answers.reliability(draws, [("a", "ab", -1)]), "cannot be negative"),
        (lambda: luce.answers.reliability(draws, [("a", "ab", 0)]), "no outcomes were given"),
        (lambda: luce.answers.reliability(draws, [("a", "ab")]), "a triple"),  # type: ignore[list-item]
        (
            lambda: luce.answers.reliability(draws, [("a", "ax", 1)]),
            f"'x' in within of .*{categories}",
        ),
        (lambda: luce.answers.reliability(draws, [("a", "ab", 1)], bins=0), "bins = 0"),
        (lambda: luce.rank_probabilities(np.ones((2, 3))), "not draws"),
        (lambda: luce.summary(draws, counts=ConditionalCounts("abx")), "'a', 'b', 'x'"),
    ]
    for attempt, words in wrong:
        with pytest.raises(DataError, match=words):
            attempt()


# -- summary ----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def table() -> Summary:
    counts = ConditionalCounts("abcd").observe({"a": 1, "c": 4}, within="abc")
    draws = Posterior(counts, [0.5, 1.0, 2.0, 1.5]).sample(200, seed=SEED + 9, progress=False)
    return luce.summary(draws, 0.95, counts=counts)


def test_summary_has_the_ranks(table: Summary) -> None:
    counts = ConditionalCounts("abcd").observe({"a": 1, "c": 4}, within="abc")
    draws = Posterior(counts, [0.5, 1.0, 2.0, 1.5]).sample(200, seed=SEED + 9, progress=False)
    assert list(table.columns) == [
        "mean", "sd", "2.5%", "97.5%", "p_best", "rank", "rank_2.5%", "rank_97.5%",
        "ess", "rhat", "mcse", "prior_only",
    ]  # fmt: skip
    ranks = luce.answers.expected_ranks(draws, 0.95)
    np.testing.assert_array_equal(table["p_best"], luce.probability_best(draws))
    np.testing.assert_array_equal(table["rank"], ranks["mean"])
    np.testing.assert_array_equal(table["rank_2.5%"], ranks["lower"])
    np.testing.assert_array_equal(table["rank_97.5%"], ranks["upper"])
    flat = draws["posterior"]["probabilities"].values.reshape(-1, 4)
    np.testing.assert_allclose(table["97.5%"], np.quantile(flat, 0.975, axis=0))
    assert table["prior_only"].tolist() == [False, False, False, True]
    assert [line.split()[-1] for line in str(table).splitlines()] == [
        "prior_only", "no", "no", "no", "yes",
    ]  # fmt: skip
    by_mean = luce.summary(draws, 0.95, counts=counts, sort=True)
    order = np.argsort(-table["mean"])
    assert by_mean.categories == [table.categories[i] for i in order]
    for name in table.columns:
        np.testing.assert_array_equal(by_mean[name], table[name][order])


def test_summary_uses_logs_for_ranks() -> None:
    table = luce.summary(tree_of(deep_logs()))
    assert table["mean"][1] == table["mean"][3] == 0
    assert table["rank"][1] != table["rank"][3]


def test_summary_as_html() -> None:
    labels = ["<script>alert(1)</script>", 'a"b', "x & y"]
    html = luce.summary(draws_of(dirichlet([1.0, 2.0, 3.0]), labels))._repr_html_()
    assert "<script>" not in html
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in html
    assert "x &amp; y" in html
    assert html.count("<tr>") == 4
    long = Summary(list(range(1234)), {"mean": np.linspace(0, 1, 1234)})
    assert long._repr_html_().count("<tr>") == 41
    assert long._repr_html_().endswith("<p>... and 1,194 more categories</p>")
    assert long.to_html(most=2).count("<tr>") == 3


@pytest.mark.parametrize("labels", LABELS.values(), ids=list(LABELS))
def test_summary_as_frames(labels: list[Any]) -> None:
    table = luce.summary(draws_of(dirichlet([0.7, 1.0, 2.0, 3.0, 1.5]), labels))
    frame = table.to_frame()
    assert frame.index.tolist() == labels
    assert frame.index.name == "category"
    assert list(frame.columns) == list(table.columns)
    np.testing.assert_array_equal(frame["rank"], table["rank"])
    pytest.importorskip("polars")
    frame = table.to_frame("polars")
    assert frame.columns == ["category", *table.columns]
    assert frame["category"].to_list() == labels
    np.testing.assert_array_equal(frame["p_best"].to_numpy(), table["p_best"])


def test_frames_that_cannot_be_made(table: Summary, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(luce.errors.MethodError, match=r"backend = 'arrow' .* 'pandas', 'polars'"):
        table.to_frame("arrow")
    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(ModuleNotFoundError, match="pip install polars"):
        table.to_frame("polars")


def test_frames_are_not_loaded_before_they_are_asked_for() -> None:
    code = "import sys, luce; print([m for m in ('pandas', 'polars') if m in sys.modules])"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout == "[]\n"
