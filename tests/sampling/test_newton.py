"""Newton's method by Cholesky factors: fixed points, shared unknowns, atoms at 0, and no ends."""

import numpy as np
import pytest
from lib.maximum_cases import MIXED, along_a_path, drivers, in_a_circle
from lib.nests import Nest, generator, problem_of, random_nests, sorted_by_kind, with_winners

from luce import ConditionalCounts
from luce.kernels.problem import Problem
from luce.model.shapes import raw_problem
from luce.sampling.log_posterior import LogPosterior
from luce.sampling.newton import climb

# 2 lost all its games.
NEVER_WON = ConditionalCounts(4).observe({0: 3, 1: 2, 3: 4}, without=[2])
NEVER_WON = NEVER_WON.observe({0: 5, 1: 1}, within=[0, 1, 2]).observe({1: 2, 3: 1}, within=[1, 3])


def raw(counts: ConditionalCounts, a: float = 1.5) -> LogPosterior:
    return LogPosterior(raw_problem(counts, np.full(counts.n_categories, a)))


def equal(n: int) -> np.ndarray:
    return np.arange(n)


def random_problem(seed: int) -> Problem:
    """Make nests of all kinds, shapes from 1e-6 to 1e5, and grouped outcomes every third time."""
    rng = generator(seed)
    n = int(rng.integers(3, 12))
    nests = random_nests(rng, n, int(rng.integers(1, 6)))
    if seed % 3 == 1:
        nests.append(Nest((1, 0), (2,), (3.25,)))
        nests.append(Nest((2,), (1,), (2.0,), True))
    nests = sorted_by_kind(nests)
    low, high = [(-6, -1), (-3, 5), (0, 1)][seed // 3 % 3]
    shape = with_winners(rng, nests, 10.0 ** rng.uniform(low, high, n))
    return problem_of(nests, shape.tolist())


@pytest.mark.parametrize("seed", range(24))
def test_a_minorisation_step_from_the_end_stays_there(seed: int) -> None:
    """λ_i (c_i + given_i) = λ_i taken_i at a maximum, and only the end of a climb is one."""
    f = LogPosterior(random_problem(seed))
    theta, reached = climb(f, equal(len(f.shape)), np.zeros(len(f.shape)), 4, 400)
    assert reached
    at = f.at(theta)
    step = np.log((f.shape + at.given) / at.taken)
    # In units of how well each atom is known with all that is hidden known, the least it can be.
    assert np.abs(step * np.sqrt(at.taken)).max() < 1e-6
    # Negative control: one step earlier, and at the start, it moves.
    assert np.abs(np.log(f.shape / f.at(np.zeros(len(theta))).taken)).max() > 1e-3


@pytest.mark.parametrize("first", [0, 4, 50])
def test_every_start_and_any_number_of_cautious_steps_lead_to_one_mode(first: int) -> None:
    f, rng = raw(drivers(1)), np.random.default_rng(3)
    ends = [climb(f, equal(83), rng.normal(0.0, 2.0, 83), first, 400) for _ in range(3)]
    for theta, reached in ends:
        assert reached
        np.testing.assert_allclose(theta, ends[0][0], atol=1e-9)


def test_atoms_that_share_an_unknown_stay_equal_and_gain_nothing_together() -> None:
    f, owner = raw(MIXED), np.array([0, 1, 0, 2, 1])
    theta, reached = climb(f, owner, np.zeros(5), 4, 400)
    assert reached
    assert theta[0] == theta[2]
    assert theta[1] == theta[4]
    slope = f.slope(f.at(theta))
    np.testing.assert_allclose(np.bincount(owner, slope), 0.0, atol=1e-9)
    assert np.abs(slope).max() > 0.1  # alone, each would move


def test_an_atom_without_an_unknown_stays_at_0() -> None:
    f = raw(NEVER_WON, 0.0)
    start = np.array([0.0, 0.0, -np.inf, 0.0])
    theta, reached = climb(f, np.array([0, 1, -1, 2]), start, 4, 400)
    assert reached
    assert theta[2] == -np.inf
    np.testing.assert_allclose(f.slope(f.at(theta))[[0, 1, 3]], 0.0, atol=1e-9)


def test_without_a_prior_the_scale_is_kept() -> None:
    f = raw(in_a_circle("abcde"), 0.0)
    assert f.total_shape == 0.0
    ends = [climb(f, equal(5), np.full(5, shift), 0, 400) for shift in (0.0, 3.0)]
    assert all(reached for _, reached in ends)
    np.testing.assert_allclose(ends[1][0] - ends[1][0][0], ends[0][0] - ends[0][0][0], atol=1e-9)


def test_a_climb_without_an_end_is_not_reached() -> None:
    f = raw(along_a_path([(3, 0), (2, 1)]), 0.0)
    theta, reached = climb(f, equal(3), np.zeros(3), 4, 12)
    assert not reached or theta[0] - theta[1] > 12


def test_a_ridge_of_grouped_outcomes_is_climbed_to_its_top_but_has_no_peak() -> None:
    """Nothing tells 0 and 1 apart, so every division of their sum is equally high."""
    f = raw(ConditionalCounts(3).observe_group([0, 1], 6).observe({2: 3}), 0.0)
    theta, reached = climb(f, equal(3), np.log([0.2, 0.5, 0.3]), 0, 100)
    assert not reached
    p = np.exp(theta - np.logaddexp.reduce(theta))
    np.testing.assert_allclose([p[0] + p[1], p[2]], [2 / 3, 1 / 3], rtol=1e-9)
