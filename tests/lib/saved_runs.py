"""Runs that tests save, and ways to write files that luce would not."""

from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

import luce
from luce.runs.formats import format_of


def counts_over(labels: Any) -> luce.ConditionalCounts:
    """Nested sets, so that draws are exact and quick."""
    empty = luce.ConditionalCounts(labels)
    first, second, *_ = empty.categories
    return empty.observe({first: 2, second: 0.5}, within=[first, second])


def run_over(labels: Any = 3, draws: int = 20) -> xr.DataTree:
    """A run with logarithms over any labels."""
    counts = counts_over(labels)
    # The last category was never seen, and its shape is so small that logarithms are kept.
    concentration = np.linspace(1.5, 0.05, counts.n_categories)
    posterior = luce.Posterior(counts, concentration)
    return posterior.sample(draws, chains=2, seed=1, progress=False)


def core_posterior() -> luce.Posterior:
    """Overlapping sets of four categories, grouped outcomes, and a prior of four numbers."""
    counts = luce.ConditionalCounts("abcd").observe_ranking("dba").observe({"c": 2}, without="a")
    counts = counts.observe_group("ab", 3, within="abc").observe({"a": 1}, within="ad")
    return luce.Posterior(counts, {"a": 1.0, "b": 2.0, "c": 0.5, "d": 1.0})


def core_run() -> xr.DataTree:
    """A run of 400 draws of each of four chains that needs no warning."""
    return core_posterior().sample(400, chains=4, seed=1, progress=False)


def write_raw(tree: xr.DataTree, path: Path) -> None:
    """Write and seal a stored tree without any check."""
    form = format_of(path)
    form.write(tree, path)
    form.seal(path)
