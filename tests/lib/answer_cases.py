"""Draws for tests of `luce.answers`: with and without ties, labels and underflow."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import xarray as xr
from lib.bounds import SEED as SWEEP
from lib.bounds import z_limit

from luce import ConditionalCounts

Floats = npt.NDArray[np.float64]

SEED = 1000 * SWEEP
NAMES = ["a", "b", "c", "d", "e"]


def draws_of(values: Floats, labels: list[Any] | None = None) -> xr.DataArray:
    """Draws with labels, which may be anything."""
    index = np.empty(values.shape[2], object)
    index[:] = labels or NAMES[: values.shape[2]]
    return xr.DataArray(values, {"category": index}, ("chain", "draw", "category"))


def tree_of(logs: Floats, labels: list[Any] | None = None) -> xr.DataTree:
    """Draws as `sample` returns them when logarithms are kept."""
    both = {
        "probabilities": draws_of(np.exp(logs), labels),
        "log_probabilities": draws_of(logs, labels),
    }
    return xr.DataTree.from_dict({"/posterior": xr.Dataset(both)})


def dirichlet(a: list[float], draws: int = 50, chains: int = 2, seed: int = 0) -> Floats:
    """Independent draws of a Dirichlet distribution, shape (chain, draw, category)."""
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


# Two chains of ten draws of four categories, always the same.
PLAIN = draws_of(np.random.default_rng(5).dirichlet([3.0, 2.0, 1.0, 0.5], (2, 10)))

LABELS: dict[str, list[Any]] = {
    "strings": ["x", "yy", "", "<b>", "é"],
    "numbers": [3, 1, 2, 0, 7],
    "tuples": [("r", 1), ("r", 2), ("s", 1), (), ("s", ("t",))],
    "mixed": ["x", 1, ("a", 2), None, 2.5],
}


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


def larger_by_loops(x: Floats) -> list[list[float]]:
    """For each pair of categories, the share of draws in which the first is larger; ties half."""
    rows = x.reshape(-1, x.shape[2]).tolist()
    n = x.shape[2]
    return [
        [sum((p[i] > p[j]) + (p[i] == p[j]) / 2 for p in rows) / len(rows) for j in range(n)]
        for i in range(n)
    ]


def worst_error(found: Floats, truth: Floats, errors: Floats) -> float:
    """Largest error in standard errors."""
    return float((np.abs(np.asarray(found) - truth) / errors).max())


def check(*each: tuple[Any, Any, Any, Any]) -> None:
    """For each (found, truth, errors, wrong): near the truth, and far from something else.

    The bound is exceeded by right answers in one test of ten thousand.
    """
    bound = z_limit(sum(np.size(truth) for _, truth, _, _ in each))
    for found, truth, errors, wrong in each:
        assert worst_error(found, truth, errors) < bound
        assert worst_error(found, wrong, errors) > bound


def data_over(labels: list[Any]) -> ConditionalCounts:
    """Data of every kind over five categories."""
    a, b, c, d, e = labels
    counts = ConditionalCounts(labels).observe({a: 1, b: 2.5}).observe_ranking([c, a, e, b])
    counts = counts.observe({b: 2, d: 1}, without=[a]).observe_group([a, c], 2, without=[e])
    return counts.observe({d: 3}, within=[d, e])
