"""Graph algorithms as plain Python: for small data nothing is compiled, results are the same."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from lib.bounds import SEED
from scipy.sparse import csr_array
from scipy.sparse.csgraph import maximum_flow

from luce._types import FloatArray, IntArray
from luce.kernels.dirichlet_tree import add_up, pass_down
from luce.kernels.structure.max_flow import transport, unmet_demands

# Small data of every kind, the structure of each, shapes of the splits, and closed forms.
SMALL = """
import luce
import numpy as np
from luce.model.model import Model
rng = np.random.default_rng(1)
pairs = [rng.choice(30, 2, replace=False).tolist() for _ in range(600)]
ranked = [rng.choice(30, 12, replace=False).tolist() for _ in range(50)]
teams = [rng.choice(20, 6, replace=False).tolist() for _ in range(300)]
paper = luce.ConditionalCounts(10)
for j in range(10):
    paper = paper.observe({j: 5}, without=[(j - 1) % 10])
for counts in (
    paper,
    luce.from_pairs(pairs),
    luce.from_rankings(ranked, unranked="absent"),
    luce.from_teams([(game[:3], game[3:]) for game in teams]),
):
    assert len(luce.Posterior(counts).structure.cores) == 1
    assert Model(counts).shapes.total.min() > 0
nested = luce.ConditionalCounts(3).observe({0: 2}, within=[0, 1])
assert abs(luce.Posterior(nested).mean().sum() - 1) < 1e-12
"""


LARGE = """
import numpy as np
from luce.kernels.dirichlet_tree import add_up
add_up(np.zeros(200_000, np.int64), np.ones(200_000))
"""


def files_compiled(code: str, folder: Path) -> list[Path]:
    """Run code in a process of its own with an empty cache of compiled code; list what is there."""
    settings = {**os.environ, "NUMBA_CACHE_DIR": str(folder)}
    subprocess.run([sys.executable, "-c", code], env=settings, check=True)
    return list(folder.rglob("*.nb[ic]"))


def test_the_structure_of_small_data_needs_no_compilation(tmp_path: Path) -> None:
    assert files_compiled(SMALL, tmp_path) == []


@pytest.mark.compiled
def test_compiled_code_would_be_found(tmp_path: Path) -> None:
    assert files_compiled(LARGE, tmp_path) != []


def random_tree(rng: np.random.Generator, n: int) -> IntArray:
    """Draw the parents of n modules; a parent precedes its children."""
    return np.r_[-1, (rng.random(n - 1) * np.arange(1, n)).astype(np.int64)]


@pytest.mark.parametrize("n", [1, 2, 50, 150_000])
def test_sums_over_a_tree(n: int) -> None:
    """Few modules are summed by plain Python, many by compiled code."""
    rng = np.random.default_rng(SEED)
    parent, values = random_tree(rng, n), rng.integers(0, 100, n).astype(float)
    below = values.tolist()
    for m in reversed(range(1, n)):
        below[parent[m]] += below[m]
    add_up(parent, values)
    assert values.tolist() == below
    assert values[0] == below[0] != 0


@pytest.mark.parametrize("n", [4, 60_000])
def test_means_and_variances_down_a_tree(n: int) -> None:
    """Each module has a category and the next module; the last has two categories."""
    rng = np.random.default_rng(SEED)
    start, share, spread = 2 * np.arange(n + 1), rng.random(2 * n), rng.random(2 * n) / n
    share[1::2] = 1 - 1 / n
    target = np.stack([np.arange(n), -2 - np.arange(n)], axis=1).ravel()
    target[-1] = n
    mean, relative = pass_down(start, target, share, spread)
    along = np.r_[1.0, np.cumprod(share[1::2])]
    spread_along = np.r_[1.0, np.cumprod(1 + spread[1::2])]
    np.testing.assert_allclose(mean[:n], along[:n] * share[::2], rtol=1e-10)
    np.testing.assert_allclose(mean[n], along[n], rtol=1e-10)
    np.testing.assert_allclose(1 + relative[:n], spread_along[:n] * (1 + spread[::2]), rtol=1e-10)


def most_met(supply: FloatArray, demand: FloatArray, start: IntArray, links: IntArray) -> int:
    """Find by another method how much demand can be met."""
    n, m = len(supply), len(demand)
    rows = np.repeat(np.arange(m), np.diff(start))
    heads = np.r_[np.full(n, n + m), links, n + np.arange(m)]
    tails = np.r_[np.arange(n), n + rows, np.full(m, n + m + 1)]
    amounts = np.r_[supply, supply[links], demand].astype(np.int32)
    graph = csr_array((amounts, (heads, tails)), (n + m + 2, n + m + 2))
    return int(maximum_flow(graph, n + m, n + m + 1).flow_value)


@pytest.mark.parametrize("n", [20, 6_000])
def test_flows_are_the_largest(n: int) -> None:
    """Few links are searched by plain Python, many by compiled code."""
    rng = np.random.default_rng(SEED)
    supply, demand = rng.integers(0, [[6], [12]], (2, n)).astype(float)
    links = np.concatenate([rng.choice(n, 4, replace=False) for _ in range(n)])
    start = 4 * np.arange(n + 1)
    most = most_met(supply, demand, start, links)
    flow, left = transport(supply, demand, start, links, 0.0)
    assert flow.min() >= 0
    assert flow.sum() == most < demand.sum()
    np.testing.assert_array_equal(np.bincount(links, flow, n) + left, supply)
    assert (np.add.reduceat(flow, start[:-1]) <= demand).all()
    assert unmet_demands(supply, demand, start, links, 0.0).any()
