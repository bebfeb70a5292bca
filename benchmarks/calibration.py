"""Simulation-based calibration of every method on every shape of data: figures for the docs.

``python benchmarks/calibration.py run FOLDER`` makes the ranks, some minutes of work, and
``... draw FOLDER`` the table and the pictures in docs/calibration.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from calibration_grid import OTHERS, SHAPES, cells  # noqa: E402

REPLICATIONS, SEED = 1000, 2026


def run(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for shape in SHAPES:
        began = time.perf_counter()
        for method, found in cells(shape, REPLICATIONS, SEED):
            attrs = found.ranks.attrs
            keep(folder, shape.name, method, found._columns, found.draws, found.quantities,
                 found.p_value, time.perf_counter() - began, attrs["method"],
                 attrs["largest_thin"], attrs["unmixed_replications"])  # fmt: skip
            began = time.perf_counter()
    for name, simulate in OTHERS.items():
        began = time.perf_counter()
        other = simulate(REPLICATIONS, SEED)
        keep(folder, name, "own", other.ranks, other.draws, other.names, other.p_value,
             time.perf_counter() - began)  # fmt: skip


def keep(
    folder: Path, shape: str, method: str, ranks: Any, draws: int, names: list[str], p: float,
    seconds: float, used: str = "", thin: int = 0, unmixed: int = 0,
) -> None:  # fmt: skip
    np.save(folder / f"{shape}__{method}.npy", np.asarray(ranks, np.int16))
    line = {"shape": shape, "method": method, "used": used, "p": p, "draws": draws,
            "names": names, "seconds": seconds, "thin": thin, "unmixed": unmixed}  # fmt: skip
    with (folder / "cells.jsonl").open("a") as file:
        file.write(json.dumps(line) + "\n")
    print(f"{shape:30} {method:15} p = {p:.3g}  {seconds:.0f} s", flush=True)


if __name__ == "__main__":
    {"run": run}[sys.argv[1]](Path(sys.argv[2]))
