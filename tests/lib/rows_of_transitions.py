"""Rows of transitions that are drawn separately, with their truths in closed form."""

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from luce import ConditionalCounts
from luce.cluster.execution import carry_out
from luce.sampling.settings import Settings
from luce.sequences import SeparateRows
from luce.sequences.separate_rows_runs import SeparateRowsPlan

Floats = npt.NDArray[np.float64]

# From rest two of the others cannot follow; a jump is always followed by a walk.
STATES = ["walk", "rest", "rear", "jump"]
COUNTS = np.array([[0, 7, 4, 2], [9, 0, 0, 0], [3, 6, 0, 1], [5, 0, 0, 0]], float)
FORBIDDEN = np.array([[1, 0, 0, 0], [0, 1, 1, 0], [0, 0, 1, 0], [0, 1, 1, 1]], bool)
PRIOR = {"walk": 0.5, "rest": [2.0, 1.0], "rear": 1.5, "jump": 3.0}

# Rows with sets that overlap, so that they are simulated, beside an exact one.
CORES = {
    "a": ConditionalCounts("abc")
    .observe({"b": 3, "c": 2, "a": 1})
    .observe({"b": 4, "c": 1}, within="bc")
    .observe({"a": 4}, within="ac")
    .observe({"a": 2, "b": 1}, within="ab"),
    "b": ConditionalCounts("ac").observe({"a": 3, "c": 1}),
    "c": ConditionalCounts("abc")
    .observe({"a": 1, "b": 5})
    .observe_group(["a", "b"], 2)
    .observe_group(["b", "c"], 3),
}


def four_rows() -> SeparateRows:
    """Rows of plain counts, which are Dirichlet distributions."""
    rows = {}
    for i, state in enumerate(STATES):
        place = np.flatnonzero(~FORBIDDEN[i])
        row = ConditionalCounts([STATES[j] for j in place])
        rows[state] = row.observe({STATES[j]: COUNTS[i, j] for j in place if COUNTS[i, j]})
    return SeparateRows(rows, PRIOR)


def shapes() -> Floats:
    """Parameters of the Dirichlet distributions of the four rows, 0 where nothing can occur."""
    found = np.zeros((4, 4))
    for i, state in enumerate(STATES):
        found[i, ~FORBIDDEN[i]] = COUNTS[i, ~FORBIDDEN[i]] + PRIOR[state]
    return found


def streamed(model: SeparateRows, to: Path | None = None, **more: Any) -> Any:
    """Draw rows in small blocks, in memory or to a folder."""
    given = {"draws": 47, "chains": 2, "warmup": 6, "seed": 3, "progress": False}
    sizes = {"chunk_steps": 60, "block_chunks": 2}
    settings = Settings(**{**given, **sizes, **more})
    return carry_out(SeparateRowsPlan.of(model, settings), to)
