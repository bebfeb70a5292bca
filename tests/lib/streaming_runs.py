"""Runs that tests write to a disk in small blocks, and the ways in which they are broken off."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr
from lib.bounds import SEED
from lib.planned import plan_of
from lib.size import PLAIN_PYTHON

from luce import ConditionalCounts, DirichletProcess, Gamma, Posterior
from luce.cluster.execution import carry_out
from luce.sampling.plan import PosteriorPlan

# Draws of a chain, a multiple of no block; steps of a chunk: some dozen blocks and places a run.
DRAWS, CHUNK_STEPS = (23, 60) if PLAIN_PYTHON else (437, 300)
CHAINS, WARMUP = (2, 8) if PLAIN_PYTHON else (3, 40)
BLOCK_CHUNKS = 3

# Files written before a run is broken off in its middle.
MIDDLE = 14 if PLAIN_PYTHON else 40


def league() -> ConditionalCounts:
    """A core of four, and two that are exact."""
    counts = ConditionalCounts(["Ann", "Bo", "Cy", "Di", "Ed", "Flo"])
    counts = counts.observe({"Ann": 4, "Bo": 2}, within=["Ann", "Bo"])
    counts = counts.observe({"Bo": 3, "Cy": 1}, within=["Bo", "Cy"])
    counts = counts.observe({"Cy": 2, "Di": 5}, within=["Cy", "Di"])
    return counts.observe({"Ann": 3, "Ed": 2})


def nested() -> ConditionalCounts:
    """Sets that nest: draws are exact."""
    return ConditionalCounts("abcde").observe({"b": 2, "c": 1}, without="a").observe({"d": 3})


def process() -> ConditionalCounts:
    """Two labels that were seen, and the rest."""
    return ConditionalCounts(["x", "y", "remainder"]).observe({"x": 3, "y": 1})


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
    "process": (Posterior(process(), DirichletProcess(2.0)), {}),
}


def plan(name: str, **more: Any) -> PosteriorPlan:
    """Plan to draw a case in small chunks and blocks."""
    posterior, options = CASES[name]
    given = {
        "draws": DRAWS,
        "chains": CHAINS,
        "warmup": WARMUP,
        "seed": np.random.SeedSequence([SEED, 5]),
        "chunk_steps": CHUNK_STEPS,
        "block_chunks": BLOCK_CHUNKS,
    }
    return plan_of(posterior, **{**given, **options, **more})


def draw(name: str, to: Path | None = None, **more: Any) -> xr.DataTree:
    """Draw a case in small chunks: in memory, or to a folder in small blocks."""
    return carry_out(plan(name, **more), to)


def same_numbers(one: xr.DataTree, other: xr.DataTree) -> bool:
    """Compare all draws and statistics of two runs, bit for bit."""
    return all(
        np.array_equal(one[group][name].values, other[group][name].values, equal_nan=True)
        for group in ("posterior", "sample_stats")
        for name in {*one[group].data_vars, *other[group].data_vars}
    )


class BrokenOff(Exception):
    """Stops a run where a kill would."""


def broken_off(
    folder: Path, breaking: Any, name: str = "waiting-times", k: int = MIDDLE, **more: Any
) -> None:
    """Leave a run in a folder that stopped before its k-th file."""
    breaking(k)
    with pytest.raises(BrokenOff):
        draw(name, folder, **more)
    breaking(10**9)


def a_block(folder: Path, parameter: str = "probabilities") -> Path:
    """Name a file with draws of a parameter, written long ago: the first block of chain 0."""
    blocks = (folder / "posterior" / parameter / "c").rglob("0")
    return min(file for file in blocks if file.is_file())


def flip_a_bit(file: Path) -> None:
    """Change one bit of a file."""
    content = bytearray(file.read_bytes())
    content[11] ^= 1
    file.write_bytes(content)
