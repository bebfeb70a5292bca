"""The model of what a cluster costs, and the streaming benchmark, as far as they can be wrong."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from lib.places import BENCHMARKS

pytest.importorskip("distributed")
sys.path.append(str(BENCHMARKS))

import cluster_cost
from cluster_cost import Costs, Load, Machines, by_formula, by_simulation, fit

TRUE = Costs(5e-3, 4e-9, 2e-8, 7e-9, 4e-9, 1.5e-8)


def seconds(load: Load) -> float:
    """A sweep by the docstring's formula, written out."""
    sums = {(8, 2): 2, (12, 2): 4, (6, 1): 2, (4, 1): 1, (2, 1): 1, (8, 1): 1, (24, 2): 4}
    k, n, w = TRUE, load.n, load.workers
    own = (k.member + k.far_member * n / 1e6) * load.sets * load.blocks * 10 / w
    messages = w + sums[load.blocks, w]
    return k.fixed + own + k.block * n * load.blocks / w + k.message * n * messages


def test_what_sweeps_were_made_of_is_found_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster_cost, "gammas", lambda: TRUE.gamma)
    loads = [
        Load(20_000, 20_000, 2, 1), Load(300_000, 5_000, 12, 2), Load(1_000_000, 50_000, 6, 1),
        Load(100_000, 60_000, 8, 2), Load(1_000_000, 5_000, 4, 1), Load(500_000, 9_000, 8, 1),
        Load(700_000, 100_000, 24, 2),
    ]  # fmt: skip
    found = fit(loads, [seconds(load) for load in loads])
    assert found == pytest.approx(TRUE, rel=1e-6)


@pytest.mark.parametrize("blocks", [10_000, 12_800])
def test_equal_workers_take_what_the_formula_says(blocks: int) -> None:
    equal = Machines(100, 4, unequal=0.0)
    rng = np.random.default_rng(1)
    formula = by_formula(TRUE, 1_000_000, 1e10, blocks, equal)
    assert by_simulation(rng, TRUE, 1_000_000, 1e10, blocks, equal) == pytest.approx(
        formula, rel=0.02
    )
    slow = by_simulation(rng, TRUE, 1_000_000, 1e10, blocks, equal._replace(bandwidth=1e8))
    assert slow > 2 * formula


@pytest.mark.slow
def test_the_streaming_benchmark_runs(tmp_path: Path) -> None:
    given = ["--categories", "3000", "--draws", "20", "--chains", "2", "--folder", str(tmp_path)]
    command = [sys.executable, str(BENCHMARKS / "streaming.py"), *given]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "luce takes" in done.stdout
    assert not list(tmp_path.iterdir())
