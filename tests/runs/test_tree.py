"""Runs as trees: the same as xarray builds from bare arrays, without importing Dask."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest
import xarray as xr

import luce


def draw(labels: list[Any]) -> xr.DataTree:
    counts = luce.ConditionalCounts(labels).observe(
        {labels[0]: 3, labels[1]: 1}, without=labels[2:]
    )
    return luce.Posterior(counts).sample(20, seed=1, chains=2, progress=False)


LABELS: dict[str, list[Any]] = {
    "texts": ["a", "bb", "ccc"],
    "no Unicode": ["a", "\ud800", "c"],
    "whole numbers": [3, 1, 2],
    "numbers": [0.5, 1.5, 2.5],
    "tuples": [("a", 1), ("a", 2), ("b", 1)],
    "of several kinds": ["a", 1, None],
    "dates": [np.datetime64("2020-01-01").item(), np.datetime64("2020-01-02").item(), 3],
}


@pytest.mark.parametrize("labels", LABELS.values(), ids=LABELS)
def test_a_run_is_as_xarray_builds_it(labels: list[Any]) -> None:
    for node in draw(labels).subtree:
        found = node.to_dataset()
        bare = xr.Dataset(
            {name: (v.dims, v.to_numpy(), v.attrs) for name, v in found.data_vars.items()},
            {dim: v.to_numpy() for dim, v in found.coords.items()},
            found.attrs,
        )
        xr.testing.assert_identical(found, bare)
        for dim, index in bare.indexes.items():
            assert found.indexes[dim].dtype == index.dtype
            assert found[dim].dtype == bare[dim].dtype
            assert found[dim].to_numpy().tolist() == index.to_numpy().tolist()


def test_a_small_run_imports_neither_dask_nor_what_writes_files() -> None:
    pytest.importorskip("dask")
    script = (
        "import sys, luce\n"
        "counts = luce.ConditionalCounts('abc').observe({'a': 3, 'b': 1}, without='c')\n"
        "luce.Posterior(counts).sample(500, seed=1, progress=False)\n"
        "names = ['dask', 'arviz_stats', 'scipy.stats', 'zarr', 'luce.runs.stream']\n"
        "print([name for name in names if name in sys.modules])\n"
        "import gc\n"
        "print(gc.isenabled())\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "[]\nTrue\n")
