"""Simulation-based calibration of weighted sets, and data simulated without the weights."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from lib.bounds import FALSE_ALARM, SEED

from luce import ConditionalCounts
from luce.calibration import check_calibration

pytestmark = [
    pytest.mark.compiled,
    pytest.mark.filterwarnings("ignore::luce.ConvergenceWarning"),
]

SETS = [{"a": 1, "b": 0.3, "c": 0.1}, {"b": 1, "c": 0.2}, {"a": 0.2, "c": 1}]
QUIET: dict[str, Any] = {"seed": SEED + 5, "progress": False, "warmup": 20, "replications": 150}


def design(sets: list[dict[str, float]]) -> ConditionalCounts:
    counts = ConditionalCounts("abc").observe({"a": 1})
    for weights in sets:
        counts = counts.observe({"c": 6}, within=weights)
    return counts


@pytest.mark.parametrize(
    ("sets", "method"),
    [
        (SETS[:1], "auto"),
        (SETS, "waiting-times"),
        (SETS, "hamiltonian"),
        (SETS, "metropolis"),
    ],
)
def test_ranks_are_uniform(sets: list[dict[str, float]], method: str) -> None:
    found = check_calibration(design(sets), level=FALSE_ALARM / 4, method=method, **QUIET)
    assert found.passed, found


def test_data_simulated_without_weights_is_rejected() -> None:
    def record(rng: np.random.Generator, p: Mapping[str, float]) -> ConditionalCounts:
        counts = ConditionalCounts("abc")
        for weights in SETS:
            shares = np.array([p[label] for label in weights])
            drawn = rng.multinomial(12, shares / shares.sum())
            won = dict(zip(weights, drawn.tolist(), strict=True))
            counts = counts.observe(won, within=weights)
        return counts

    found = check_calibration(record, level=FALSE_ALARM, categories="abc", **QUIET)
    assert not found.passed
