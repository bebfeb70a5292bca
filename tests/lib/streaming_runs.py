"""Runs that tests have written to a disk, and what may happen to them."""

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr

from luce import ConditionalCounts, DirichletProcess, Gamma, Posterior

SEED = int(os.environ.get("LUCE_TEST_SEED", "0"))
DRAWS = 437  # no multiple of any block


def league() -> ConditionalCounts:
    """A core of four, and two that are exact."""
    counts = ConditionalCounts(["Ann", "Bo", "Cy", "Di", "Ed", "Flo"])
    counts = counts.observe({"Ann": 4, "Bo": 2}, within=["Ann", "Bo"])
    counts = counts.observe({"Bo": 3, "Cy": 1}, within=["Bo", "Cy"])
    counts = counts.observe({"Cy": 2, "Di": 5}, within=["Cy", "Di"])
    return counts.observe({"Ann": 3, "Ed": 2})


def nested() -> ConditionalCounts:
    return ConditionalCounts("abcde").observe({"b": 2, "c": 1}, without="a").observe({"d": 3})


CASES: dict[str, tuple[Posterior, dict[str, Any]]] = {
    "exact": (Posterior(nested(), 1.5), {}),
    "waiting-times": (Posterior(league()), {"method": "waiting-times"}),
    "hidden-counts": (Posterior(league()), {"method": "hidden-counts"}),
    "hamiltonian": (Posterior(league(), 2.0), {"method": "hamiltonian"}),
    "metropolis": (Posterior(league(), 2.0), {"method": "metropolis", "reduce": False}),
    "thin": (Posterior(league()), {"method": "waiting-times", "thin": 3}),
    "keep": (Posterior(league(), 0.03), {"keep": ["Ed", "Bo"], "method": "waiting-times"}),
    "logarithms": (Posterior(league(), 0.02), {"method": "waiting-times"}),
    "concentration": (Posterior(league(), Gamma(2, 1)), {}),
    "start": (
        Posterior(league()),
        {"initial": [0.1, 0.2, 0.3, 0.1, 0.1, 0.2], "method": "waiting-times"},
    ),
    "process": (Posterior(ConditionalCounts(["x", "y", "remainder"]).observe({"x": 3, "y": 1}),
                          DirichletProcess(2.0)), {}),
}  # fmt: skip


def draw(name: str, **more: Any) -> xr.DataTree:
    posterior, options = CASES[name]
    settings = {"chains": 3, "seed": [SEED, 5], "progress": False, "warmup": 40, **options, **more}
    settings["seed"] = np.random.SeedSequence(settings["seed"])
    return posterior.sample(DRAWS, **settings)


def same_numbers(one: xr.DataTree, other: xr.DataTree) -> bool:
    groups = ("posterior", "sample_stats")
    return all(
        np.array_equal(one[g][name].values, other[g][name].values, equal_nan=True)
        for g in groups
        for name in {*one[g].data_vars, *other[g].data_vars}
    )


class BrokenOff(Exception):
    """What stops a run where a kill would."""


def broken_off(folder: Path, breaking: Any, name: str = "waiting-times", k: int = 40) -> None:
    breaking(k)
    with pytest.raises(BrokenOff):
        draw(name, to=folder)
    breaking(10**9)
