"""The certified bound of a ratio of densities on part of the simplex, against points in it."""

import numpy as np
import pytest
import scipy.optimize as optimize
from lib.bounds import SEED

from luce.sampling.ratio_bound import bound_ratio, log_ratio


def generator(seed: int) -> np.random.Generator:
    return np.random.default_rng(1000 * SEED + seed)


def by_hand(d: np.ndarray, m: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Σ d_i log x_i - m_i log(1 - x_i), with 1 - x_i added up from the others."""
    total = np.log(x) @ d
    for i in np.flatnonzero(m):
        total = total - m[i] * np.log(np.delete(x, i, axis=-1).sum(axis=-1))
    return np.asarray(total)


def random_case(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Powers of all sizes, with limits that leave room for all to be equal."""
    n = int(rng.integers(2, 10))
    d = rng.gamma(0.7, 10.0 ** rng.uniform(-1, 1.5), n) + 1e-3
    m = rng.gamma(1.0, 10.0 ** rng.uniform(-1, 2), n) * (rng.random(n) < 0.8)
    return d, m, np.where(m > 0, rng.uniform(max(0.15, 1.2 / n), 0.95, n), 1.0)


def points(rng: np.random.Generator, limit: np.ndarray, number: int) -> np.ndarray:
    """Points in the middle, at the edges, and with one atom near its limit."""
    n = len(limit)
    spread = [rng.dirichlet(np.full(n, a), number) for a in (0.1, 0.5, 2.0, 20.0)]
    near = rng.dirichlet(np.full(n, 0.7), number)
    k = rng.integers(n, size=number)
    largest = limit[k] * (1 - 10.0 ** rng.uniform(-8, -1, number))
    near *= ((1 - largest) / (1 - near[np.arange(number), k]))[:, None]
    near[np.arange(number), k] = largest
    x = np.concatenate([*spread, near])
    return x[(x <= limit).all(axis=1) & (x > 1e-250).all(axis=1)]


@pytest.mark.parametrize("seed", range(40))
def test_no_point_is_above_the_bound(seed: int) -> None:
    rng = generator(seed)
    d, m, limit = random_case(rng)
    found = bound_ratio(d, m, limit, np.arange(len(d)), 0.01)
    x = points(rng, limit, 2000)
    assert len(x) > 100
    assert by_hand(d, m, x).max() <= found.bound
    # What is told of its own points is right.
    inside = np.isfinite(found.heights)
    assert (found.points[inside] <= limit * (1 + 1e-8)).all()
    np.testing.assert_allclose(found.points.sum(axis=1), 1.0, rtol=1e-9)
    own = by_hand(d, m, found.points[inside])
    np.testing.assert_allclose(found.heights[inside], own, rtol=1e-7, atol=1e-7)


def test_the_bound_is_close_but_for_few() -> None:
    """Where several atoms may be near their limits, duality leaves a gap."""
    rng, gaps = generator(50), []
    for _ in range(100):
        d, m, limit = random_case(rng)
        found = bound_ratio(d, m, limit, np.arange(len(d)), 0.01)
        gaps.append((found.bound - found.heights[0]) / (1 + 0.01 * abs(found.bound)))
    assert np.quantile(gaps, 0.7) < 0.011


@pytest.mark.parametrize("seed", range(4))
def test_the_bound_against_another_optimiser(seed: int) -> None:
    rng = generator(60 + seed)
    d, m = rng.gamma(2.0, 2.0, 4), rng.gamma(2.0, 2.0, 4)
    limit = np.full(4, 0.6)
    found = bound_ratio(d, m, limit, np.arange(4), 1e-3)
    best = max(
        -optimize.minimize(
            lambda x: -float(log_ratio(d, m, x[None])[0]), start, method="SLSQP",
            bounds=[(1e-9, 0.6)] * 4, constraints={"type": "eq", "fun": lambda x: x.sum() - 1},
        ).fun
        for start in points(rng, limit, 20)[:12]
    )  # fmt: skip
    assert best <= found.bound + 1e-6
    assert found.heights[0] >= best - 0.01


def test_equal_atoms_are_looked_at_once() -> None:
    d, m = np.repeat([2.0, 1.0], [3, 2]), np.repeat([4.0, 0.5], [3, 2])
    limit = np.full(5, 0.7)
    every = bound_ratio(d, m, limit, np.arange(5), 1e-3).bound
    assert bound_ratio(d, m, limit, np.array([0, 3]), 1e-3).bound == pytest.approx(every, abs=1e-3)


def test_negative_control_a_bound_that_leaves_out_a_kind_of_atom_is_exceeded() -> None:
    """The ratio is largest where atom 0 is, which is not looked at as the largest one."""
    d, m, limit = np.array([0.5, 1.0, 1.0]), np.array([9.0, 0.0, 0.5]), np.array([0.8, 1.0, 0.8])
    some = bound_ratio(d, m, limit, np.array([1, 2]), 1e-3)
    every = bound_ratio(d, m, limit, np.arange(3), 1e-3)
    x = points(generator(70), limit, 2000)
    assert some.bound < by_hand(d, m, x).max() <= every.bound


def test_an_atom_that_no_set_leaves_out_may_take_all() -> None:
    d, m = np.array([3.0, 1e-6, 1e-6]), np.array([0.0, 1.0, 1.0])
    found = bound_ratio(d, m, np.array([1.0, 0.5, 0.5]), np.arange(3), 1e-3)
    assert found.points[0][0] > 0.99
    assert found.bound >= by_hand(d, m, np.array([1 - 2e-9, 1e-9, 1e-9]))
