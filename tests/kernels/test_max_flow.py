"""Demands and supplies, against Hall's condition over all groups of demands."""

import itertools

import numpy as np

from luce.kernels.structure.max_flow import unmet_demands


def test_demands_are_met_where_no_group_asks_for_too_much() -> None:
    """Hall's condition, over all groups of demands."""
    rng = np.random.default_rng(4)
    met = {True: 0, False: 0}
    for _ in range(60):
        n_supply, n_demand = int(rng.integers(2, 5)), int(rng.integers(2, 6))
        supply = rng.integers(0, 5, n_supply).astype(float)
        demand = rng.integers(0, 4, n_demand).astype(float)
        links = [np.flatnonzero(rng.random(n_supply) < 0.55) for _ in range(n_demand)]
        start = np.r_[0, np.cumsum([len(x) for x in links])].astype(np.int64)
        to = np.concatenate(links).astype(np.int64)
        unmet = unmet_demands(supply, demand, start, to, 0.0)
        too_much = False
        for size in range(1, n_demand + 1):
            for group in itertools.combinations(range(n_demand), size):
                reached = np.unique(np.concatenate([links[j] for j in group])).astype(int)
                too_much |= bool(demand[list(group)].sum() > supply[reached].sum())
        assert unmet.any() == too_much
        if too_much:
            group = np.flatnonzero(unmet)
            reached = np.unique(np.concatenate([links[j] for j in group])).astype(int)
            assert demand[group].sum() > supply[reached].sum()
        met[too_much] += 1
    assert min(met.values()) > 5
