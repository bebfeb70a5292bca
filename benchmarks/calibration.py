"""Simulation-based calibration of every method on every shape of data: figures for the docs.

``python benchmarks/calibration.py run FOLDER`` makes the ranks, some minutes of work,
``... controls FOLDER`` those of samplers that are wrong, and ``... draw FOLDER`` the table and the
pictures in docs/calibration.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from lib.calibration_controls import CONTROLS  # noqa: E402
from lib.calibration_controls import check as check_control  # noqa: E402
from lib.calibration_grid import METHODS, OTHERS, SHAPES, cells  # noqa: E402

from luce.answers.rank_uniformity import p_value_of  # noqa: E402
from luce.plots.canvas import GREY  # noqa: E402
from luce.plots.checks import rank_curves  # noqa: E402
from luce.plots.figure import Picture  # noqa: E402

REPLICATIONS, SEED, LEVEL = 1000, 2026, 1e-4


def run(folder: Path) -> None:
    for shape in SHAPES:
        began = time.process_time()
        for method, found in cells(shape, REPLICATIONS, SEED):
            attrs = found.ranks.attrs
            keep(folder, shape.name, method, found.columns, found.draws, found.quantities,
                 found.p_value, time.process_time() - began, attrs["method"],
                 attrs["largest_thin"], attrs["unmixed_replications"])  # fmt: skip
            began = time.process_time()
    for name, simulate in OTHERS.items():
        began = time.process_time()
        other = simulate(REPLICATIONS, SEED)
        keep(folder, name, "own", other.ranks, other.draws, other.names, other.p_value,
             time.process_time() - began)  # fmt: skip


def keep(
    folder: Path, shape: str, method: str, ranks: Any, draws: int, names: list[str], p: float,
    seconds: float, used: str = "", thin: int = 0, unmixed: int = 0,
) -> None:  # fmt: skip
    folder.mkdir(parents=True, exist_ok=True)
    np.save(folder / f"{shape}__{method}.npy", np.asarray(ranks, np.int16))
    line = {"shape": shape, "method": method, "used": used, "p": p, "draws": draws,
            "names": names, "seconds": seconds, "thin": thin, "unmixed": unmixed}  # fmt: skip
    with (folder / "cells.jsonl").open("a") as file:
        file.write(json.dumps(line) + "\n")
    print(f"{shape:30} {method:15} p = {p:.3g}  {seconds:.0f} s", flush=True)


def run_controls(folder: Path) -> None:
    for name, (shape, method, _) in CONTROLS.items():
        began = time.process_time()
        found = check_control(name, REPLICATIONS, SEED)
        keep(folder, name, "control", found.columns, found.draws, found.quantities, found.p_value,
             time.process_time() - began, f"{method}, {shape}")  # fmt: skip
    for name, simulate in OTHERS.items():
        began = time.process_time()
        other = simulate(REPLICATIONS, SEED, wrong=True)
        keep(folder, f"{name}: {WRONG[name]}", "control", other.ranks, other.draws, other.names,
             other.p_value, time.process_time() - began)  # fmt: skip


WRONG = {
    "a process with a diffuse base": "half the prior mean of γ",
    "GibbsStep": "concentration too large",
    "HDPTransitions": "self-loops thought possible",
}


class Cell(NamedTuple):
    """One method on one shape: its ranks, and what was noted beside them."""

    ranks: Any
    noted: dict[str, Any]

    @property
    def p_value(self) -> float:
        """All quantities together."""
        found = [p_value_of(column, self.noted["draws"]) for column in self.ranks.T]
        return min(1.0, len(found) * min(found))


def read(folder: Path) -> dict[tuple[str, str], Cell]:
    found = {}
    for line in (folder / "cells.jsonl").read_text().splitlines():
        noted = json.loads(line)
        key = noted["shape"], noted["method"]
        found[key] = Cell(np.load(folder / f"{key[0]}__{key[1]}.npy"), noted)
    return found


def draw(folder: Path) -> None:
    out = ROOT / "docs" / "calibration"
    out.mkdir(parents=True, exist_ok=True)
    found = read(folder)
    right = {key: cell for key, cell in found.items() if key[1] != "control"}
    level = LEVEL / len(right)
    p_values = {key: cell.p_value for key, cell in found.items()}
    lines = ["data,method,used,p_value,quantities,largest_thin,unmixed,seconds"]
    for (shape, method), cell in found.items():
        noted = cell.noted
        lines.append(f'"{shape}",{method},"{noted["used"]}",{p_values[shape, method]:.3g},'
                     f"{cell.ranks.shape[1]},{noted['thin']},{noted['unmixed']},"
                     f"{noted['seconds']:.1f}")  # fmt: skip
    (out / "p_values.csv").write_text("\n".join(lines) + "\n")
    shapes = [shape.name for shape in SHAPES]
    print("| data | " + " | ".join(METHODS) + " |\n|" + " --- |" * (len(METHODS) + 1))
    for shape in shapes:
        row = [f"{p_values[shape, m]:.2g}" if (shape, m) in right else "–" for m in METHODS]
        print(f"| {shape} | " + " | ".join(row) + " |")
    for key, p in p_values.items():
        if key[1] in ("own", "control"):
            print(f"| {key[0]} | {found[key].noted['used']} | {p:.1g} |")
    smallest = min(right, key=lambda key: p_values[key])
    print(f"{len(right)} cells, smallest p = {p_values[smallest]:.3g} ({', '.join(smallest)}), all "
          f"together {min(1.0, len(right) * p_values[smallest]):.3g}")  # fmt: skip
    panels = [[right.get((shape, method)) for method in METHODS] for shape in shapes]
    picture(out / "methods.svg", panels, shapes, list(METHODS), level)
    rest = [[cell] for key, cell in found.items() if key[1] == "own"]
    picture(out / "others.svg", [[row[0] for row in rest]], [""], list(OTHERS), level)
    wrong = [cell for key, cell in found.items() if key[1] == "control"]
    controls(out / "controls.svg", wrong, level)


def picture(
    path: Path, panels: list[list[Cell | None]], rows: list[str], columns: list[str], level: float
) -> None:
    """One panel a cell, all on the same scale."""
    wide, high = len(columns), len(rows)
    figure = Picture(figsize=(1.0 + 1.35 * wide, 0.5 + 0.8 * high), layout="constrained")
    axes = figure.subplots(high, wide, squeeze=False, sharex=True, sharey=True)
    for i, j in np.ndindex(high, wide):
        panel(axes[i, j], panels[i][j], level)
        if i == 0:
            axes[i, j].set_title(columns[j], fontsize=8, color=GREY)
        if j == 0:
            words = rows[i].replace(", ", ",\n").replace(" concentration", "\nconcentration")
            axes[i, j].set_ylabel(words, rotation=0, ha="right", va="center", fontsize=8,
                                  color=GREY)  # fmt: skip
    axes[0, 0].set_ylim(-0.14, 0.14)
    figure.savefig(path, transparent=True)


def controls(path: Path, cells: list[Cell], level: float) -> None:
    high = -(-len(cells) // 3)
    figure = Picture(figsize=(8.4, 1.75 * high), layout="constrained")
    for k, cell in enumerate(cells):
        ax = figure.add_subplot(high, 3, 1 + k)
        panel(ax, cell, level)
        ax.set_title(cell.noted["shape"].replace(": ", ":\n"), fontsize=8, color=GREY)
        ax.tick_params(labelleft=True)
    figure.savefig(path, transparent=True)


def panel(ax: Any, cell: Cell | None, level: float) -> None:
    for side in ax.spines.values():
        side.set_visible(False)
    ax.patch.set_visible(False)
    ax.tick_params(length=0, labelsize=7, labelcolor=GREY, labelbottom=False, labelleft=False)
    if cell is None:
        return
    rank_curves(cell.ranks, cell.noted["names"], cell.noted["draws"], level, ax=ax)
    if ax.get_legend() is not None:
        ax.get_legend().remove()
    for line in ax.lines:
        line.set_linewidth(0.8)
    ax.set(xlabel="", ylabel="", xticks=[])


if __name__ == "__main__":
    {"run": run, "controls": run_controls, "draw": draw}[sys.argv[1]](Path(sys.argv[2]))
