"""Grouped outcomes fall on the members of their sets multinomially."""

import itertools
from typing import Any

import numpy as np
import pytest
from lib.bounds import z_limit
from lib.nests import WIDE, Nest, bits, expand, problem_of
from lib.size import draws as number_of

from luce.kernels.grouped_outcomes import split_groups, split_space
from luce.kernels.jit import compiled
from luce.kernels.problem import Problem

GROUPED = {
    "direct": [Nest((1, 3, 0), (3,), (50.0,))],
    "nested": [Nest((1, 3, 0, 4), (2, 3, 4), (1.0, 20.0, 7.0))],
    "complement": [Nest((2,), (1,), (30.0,), True)],
    "nested complement": [Nest((2, 4, 0, 5), (1, 3, 4), (3.0, 12.0, 40.0), True)],
    "several": [
        Nest((1, 3), (2,), (-2.0,)),
        Nest((0, 1, 2), (2, 3), (4.0, -1.0)),
        Nest((6, 5), (1, 2), (9.0, 2.0), True),
        Nest((0,), (1,), (5.0,), True),
    ],
}


@compiled
def many_splits_in(
    state: np.ndarray, problem: Problem, x: np.ndarray, space: Any, out: np.ndarray
) -> None:
    for d in range(len(out)):
        split_groups(state, problem, x, space, out[d])


def many_splits(state: np.ndarray, problem: Problem, x: np.ndarray, out: np.ndarray) -> None:
    many_splits_in(state, problem, x, split_space(problem), out)


@pytest.mark.parametrize("wide", WIDE)
@pytest.mark.parametrize("name", GROUPED)
def test_groups_split_multinomially(name: str, wide: bool) -> None:
    n, draws = 7, number_of(20_000, 1_000)
    x = np.array([0.2, 0.05, 0.3, 0.01, 0.25, 0.15, 0.04])
    nests = GROUPED[name]
    problem = problem_of(nests, [5.0] * n, wide)
    # In logs the same proportions, far below the smallest double.
    given = np.log(x) - 5000.0 if wide else x.copy()
    before = given.copy()
    counts = np.zeros((draws, n))
    many_splits(bits(201), problem, given, counts)
    np.testing.assert_array_equal(given, before)

    exponents = [e for nest in nests for e in nest.exponents]
    mean, covariance = np.zeros(n), np.zeros((n, n))
    for e, row in zip(exponents, expand(nests, n), strict=True):
        q = row * x / (row @ x)
        mean += max(e, 0) * q
        covariance += max(e, 0) * (np.diag(q) - np.outer(q, q))
    assert (counts == np.rint(counts)).all()
    assert (counts >= 0).all()
    assert (counts.sum(axis=1) == sum(max(e, 0) for e in exponents)).all()
    assert (counts[:, mean == 0] == 0).all()
    pairs = [(i, j) for i, j in itertools.combinations_with_replacement(range(n), 2) if mean[i] > 0]
    limit = z_limit(len(GROUPED) * 2 * (n + len(pairs)))
    spread = np.sqrt(np.maximum(np.diag(covariance), 1e-12) / draws)
    assert (np.abs(counts.mean(axis=0) - mean) < limit * spread + 1e-9).all()
    centred = counts - mean
    for i, j in pairs:
        product = centred[:, i] * centred[:, j]
        error = product.std() / np.sqrt(draws)
        assert abs(product.mean() - covariance[i, j]) < limit * error + 1e-9


def test_splitting_huge_and_tiny() -> None:
    nests = [Nest((0, 1), (2,), (1e15,)), Nest((3,), (1,), (1e15,), True)]
    x = np.array([0.5, 1e-200, 0.25, 0.25 - 1e-200])
    counts = np.zeros((200, 4))
    many_splits(bits(202), problem_of(nests, [5.0] * 4), x, counts)
    assert (counts.sum(axis=1) == 2e15).all()
    assert (counts[:, [1, 3]] == 0).all()
    assert (np.abs(counts[:, 2] - 1e15 / 3) < 8 * np.sqrt(1e15 * 2 / 9)).all()
