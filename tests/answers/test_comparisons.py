"""Pairs of categories: who is chosen over whom."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from lib.answer_cases import NAMES, PLAIN, SEED, check, deep_logs, dirichlet, draws_of, tree_of
from lib.bounds import FALSE_ALARM
from scipy.stats import norm

import luce
from luce import ConditionalCounts, Posterior
from luce.errors import DataError


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


@pytest.mark.compiled
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
    bound = norm.isf(FALSE_ALARM / 4)
    assert max(found["even"]) < bound < min(found["not"])


def test_pairs_that_cannot_be_compared() -> None:
    with pytest.raises(DataError, match="name two categories"):
        luce.beats(PLAIN, "a", "a")
    with pytest.raises(DataError, match="b = 'x' is not a category"):
        luce.beats(PLAIN, "a", "x")
    with pytest.raises(DataError, match="is not a category"):
        luce.beats(PLAIN, [], "a")  # type: ignore[arg-type]
