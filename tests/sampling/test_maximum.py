"""Maxima of cores: groups that never won, against brute force, and climbs that are cut short."""

import numpy as np
import pytest
from lib.bounds import SEED
from lib.maximum_cases import MIXED, counts_of
from lib.maximum_oracles import never_lost, random_data

import luce
from luce import Posterior
from luce.errors import NoMaximumError
from luce.sampling.laplace import ClimbLimits
from luce.sampling.maximum import core_shares, winning_groups


@pytest.mark.parametrize("seed", range(8))
def test_winning_groups_are_those_that_brute_force_finds(seed: int) -> None:
    """Along any order of the atoms: no group too many, and none too few."""
    rng = np.random.default_rng([SEED, 400 + seed])
    n, found = int(rng.integers(3, 7)), 0
    for _ in range(25):
        data = random_data(rng, n, int(rng.integers(1, 6)), grouped=0.3 if seed % 2 else 0.0)
        counts, everybody = counts_of(n, data), frozenset(range(n))
        power, family = counts.category_counts, counts.sets
        total = float(power.sum() + family.exponent.sum())
        for _ in range(8):
            theta = rng.normal(size=n)
            order = np.argsort(-theta)
            groups = winning_groups(family, power, total, theta)
            assert np.concatenate(groups).tolist() == order.tolist()
            cuts = np.cumsum([len(g) for g in groups])[:-1].tolist()
            prefixes = {k: frozenset(order[:k].tolist()) for k in range(1, n)}
            expected = [k for k, f in prefixes.items() if never_lost(f, data, everybody)]
            assert cuts == expected
            found += len(cuts)
    assert found > 0


def test_a_maximum_that_is_not_reached_is_refused() -> None:
    shapes = Posterior(MIXED, 1.5).model.shapes
    core = shapes.structure.cores[0]
    with pytest.raises(NoMaximumError, match="the maximum was not reached"):
        core_shares(shapes.core_problem(0), core, limits=ClimbLimits(most_looks=1))


def test_the_maximum_of_a_symmetric_ring_is_found() -> None:
    n = 100
    pairs = [(i, (i + step) % n) for i in range(n) for step in (1, 31)]
    mode = Posterior(luce.from_pairs([*pairs, *pairs, *((b, a) for a, b in pairs)])).mode()
    np.testing.assert_allclose(mode, np.full(n, 1 / n), rtol=1e-7)


def test_the_mode_in_log_odds_of_huge_counts() -> None:
    counts = luce.ConditionalCounts("abc").observe({"a": 3e15, "b": 1e15}, within="ab")
    counts = counts.observe({"b": 2e15, "c": 1e15}, within="bc")
    mode = Posterior(counts).mode("log-odds")
    np.testing.assert_allclose(mode, np.array([6, 2, 1]) / 9, rtol=1e-9)
