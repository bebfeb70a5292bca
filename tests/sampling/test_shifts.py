"""Posteriors with tiny concentrations: starts, shifts of groups, exchanges, evidence."""

import itertools
import warnings
from collections.abc import Iterator
from functools import cache

import numpy as np
import pytest
from lib.bounds import FALSE_ALARM, SEED, z_limit
from lib.gap_quadrature import Points, quadrature
from numpy.typing import NDArray
from scipy.special import gammaln
from scipy.stats import t as student

import luce
from luce.counts.family import single_sets
from luce.kernels.problem import make_problem
from luce.sampling.convergence import ess_of_mean
from luce.sampling.shifts import find_shifts

Floats = NDArray[np.float64]

# Outcomes as (winners, set, number); several winners are a grouped outcome.
Data = list[tuple[str, str, int]]

CASES: dict[str, Data] = {
    "a circle": [("a", "ab", 3), ("b", "ab", 1), ("b", "bc", 2), ("c", "bc", 2)],
    "a line": [("a", "ab", 3), ("b", "bc", 2)],
    "two above one": [("a", "ab", 3), ("c", "bc", 2)],
    "one above two": [("b", "ab", 3), ("b", "bc", 2)],
    "two together above one": [("a", "ac", 2), ("c", "ac", 1), ("b", "bc", 1)],
    "a group": [("ab", "abc", 3), ("a", "ac", 2), ("b", "bc", 1)],
    "a group that two explain": [("ab", "abc", 4), ("c", "abc", 1), ("b", "bc", 1)],
}

# Cases in which a sweep without shifts moves gaps by a few nats only.
SLOW = ["a line", "two above one", "two together above one", "a group"]


def counts_of(data: Data) -> luce.ConditionalCounts:
    counts = luce.ConditionalCounts("abc")
    for winners, given, number in data:
        if len(winners) == 1:
            counts = counts.observe({winners: number}, within=given)
        else:
            counts = counts.observe_group(winners, number, within=given)
    return counts


@cache
def truth(name: str, concentration: float) -> Points:
    data = CASES[name]
    shape, sets = [concentration] * 3, []
    for winners, given, number in data:
        if len(winners) == 1:
            shape["abc".index(winners)] += number
        else:
            sets.append((tuple("abc".index(w) for w in winners), float(number)))
        sets.append((tuple("abc".index(w) for w in given), -float(number)))
    return quadrature(shape, sets, concentration)


@cache
def steps(name: str, concentration: float) -> list[tuple[int, int, float, float]]:
    """List pairs of categories, quantiles of their log ratio, and the means of steps there."""
    points, found = truth(name, concentration), []
    held = points.weights > 1e-14 / len(points.weights)  # the rest adds up to less than 1e-14
    weights = points.weights[held]
    for i, j in itertools.combinations(range(3), 2):
        true = np.arcsinh(points.logs[held, i] - points.logs[held, j])
        order = np.argsort(true)
        below = np.cumsum(weights[order])
        for q in (0.1, 0.25, 0.5, 0.75, 0.9):
            middle = float(true[order[np.searchsorted(below, q)]])
            found.append((i, j, middle, float(weights @ np.tanh(true - middle))))
    return found


def scores(name: str, concentration: float, logs: Floats) -> Floats:
    """Compare distributions of log ratios by z-scores of five smooth steps for each pair.

    A step is tanh(x - q) of x = asinh(log ratio), q a quantile of x: smooth where the nodes of the
    quadrature lie densely, and bounded, whatever the scale of the ratio.
    """
    found = []
    for i, j, middle, expected in steps(name, concentration):
        step = np.tanh(np.arcsinh(logs[..., i] - logs[..., j]) - middle)
        found.append((step.mean() - expected) / step.std() * np.sqrt(ess_of_mean(step)))
    return np.array(found)


def draw(data: Data, concentration: float, method: str = "auto", draws: int = 4000) -> Floats:
    posterior = luce.Posterior(counts_of(data), concentration)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", luce.errors.ConvergenceWarning)  # the control needs it
        run = posterior.sample(
            draws, seed=SEED, method=method, log_probabilities=True, progress=False
        )
    return np.asarray(run.posterior["log_probabilities"])


@pytest.mark.compiled
@pytest.mark.filterwarnings("ignore:log evidence")  # few effective draws, as the error tells too
@pytest.mark.parametrize("concentration", [1e-6, pytest.param(1e-3, marks=pytest.mark.slow), 0.01])
@pytest.mark.parametrize("name", CASES)
def test_draws_are_those_of_quadrature(name: str, concentration: float) -> None:
    found = scores(name, concentration, draw(CASES[name], concentration))
    assert np.abs(found).max() < z_limit(len(found) * len(CASES) * 3)


@pytest.mark.compiled
@pytest.mark.parametrize("concentration", [1e-6, 1e-3])
@pytest.mark.parametrize("name", CASES)
def test_hidden_counts_are_those_of_quadrature(name: str, concentration: float) -> None:
    found = scores(name, concentration, draw(CASES[name], concentration, "hidden-counts"))
    assert np.abs(found).max() < z_limit(len(found) * len(CASES) * 2)


@pytest.mark.compiled
@pytest.mark.parametrize("name", SLOW)
def test_sweeps_without_shifts_are_told_apart(name: str) -> None:
    # Metropolis steps have no shifts: their draws of the gaps must fail the same comparison.
    found = scores(name, 1e-6, draw(CASES[name], 1e-6, "metropolis"))
    assert np.abs(found).max() > z_limit(len(found) * len(CASES) * 3)


@pytest.mark.compiled
@pytest.mark.parametrize(
    "concentration", [1e-6, *(pytest.param(a, marks=pytest.mark.slow) for a in (1e-4, 1e-3))]
)
def test_every_seed_and_a_single_chain_arrive(concentration: float) -> None:
    posterior = luce.Posterior(counts_of(CASES["a circle"]), concentration)
    points = truth("a circle", concentration)
    mean = points.weights @ np.exp(points.logs)
    means = []
    for seed in range(60):
        with warnings.catch_warnings():  # 1000 draws of one chain are few
            warnings.simplefilter("ignore", luce.errors.ConvergenceWarning)
            run = posterior.sample(1000, chains=1, seed=1000 * SEED + seed, progress=False)
        means.append(run.posterior["probabilities"].mean(("chain", "draw")).values)
    off = (np.array(means) - mean) / np.std(means, axis=0, ddof=1)
    assert np.abs(off.mean(axis=0) * np.sqrt(60)).max() < z_limit(9)
    # Deviations in units of their own spread have a t distribution of 59 degrees.
    assert np.abs(off).max() < student.isf(FALSE_ALARM / 540 / 2, 59)


@pytest.mark.compiled
@pytest.mark.filterwarnings("ignore:log evidence")  # few effective draws, as the error tells too
@pytest.mark.parametrize("concentration", [1e-6, pytest.param(1e-3, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", CASES)
def test_evidence_is_that_of_quadrature(name: str, concentration: float) -> None:
    expected = truth(name, concentration).log_integral
    expected += gammaln(3 * concentration) - 3 * gammaln(concentration)
    found = luce.Posterior(counts_of(CASES[name]), concentration).log_evidence(
        1000, seed=SEED, progress=False
    )
    assert abs(float(found) - expected) < z_limit(2 * len(CASES)) * found.standard_error + 1e-3
    assert found.standard_error < 0.3


@pytest.mark.compiled
@pytest.mark.parametrize("start", [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
def test_chains_return_from_every_corner(start: list[float]) -> None:
    posterior = luce.Posterior(counts_of(CASES["a line"]), 1e-6)
    run = posterior.sample(4000, seed=SEED, initial=start, progress=False)
    found = scores("a line", 1e-6, np.asarray(run.posterior["log_probabilities"]))
    assert np.abs(found).max() < z_limit(len(found) * 3)


def random_outcomes(rng: np.random.Generator) -> tuple[int, list[tuple[int, tuple[int, ...]]]]:
    """Draw some outcomes, each a winner and the set it was recorded in."""
    n = int(rng.integers(2, 7))
    outcomes = []
    for _ in range(int(rng.integers(1, 10))):
        size = int(rng.integers(2, n + 1))
        given = rng.choice(n, size, replace=False)
        outcomes.append((int(given[0]), tuple(sorted(given.tolist()))))
    return n, outcomes


def tight_sets(n: int, outcomes: list[tuple[int, tuple[int, ...]]]) -> Iterator[frozenset[int]]:
    """List the groups that won whenever a member took part."""
    for size in range(1, n):
        for chosen in itertools.combinations(range(n), size):
            if all(winner in chosen for winner, given in outcomes if set(given) & set(chosen)):
                yield frozenset(chosen)


def test_groups_are_those_that_brute_force_finds() -> None:
    rng = np.random.default_rng(SEED)
    for _ in range(300):
        n, outcomes = random_outcomes(rng)
        net = np.bincount([winner for winner, _ in outcomes], minlength=n).astype(float)
        conditions = [given for _, given in outcomes if len(given) < n]
        family = single_sets(
            n, map(np.array, conditions), [False] * len(conditions), [-1.0] * len(conditions)
        )
        prior = rng.uniform(1e-7, 1e-3, n)
        free = len(outcomes) - len(conditions)
        arrays = family.members, family.nest_start, family.complement
        arrays += family.set_start, family.set_end, family.exponent
        problem = make_problem(*arrays, net + prior, prior.sum() + free)
        shifts = find_shifts(problem, prior)
        tight = set(tight_sets(n, outcomes))
        found = set()
        if shifts is not None:
            for g in range(len(shifts.net)):
                group = frozenset(shifts.member[shifts.start[g] : shifts.start[g + 1]].tolist())
                found |= {group, frozenset(range(n)) - group}
        # Every group or its complement is one that data lets move apart, on one side at least ...
        complements = {frozenset(range(n)) - group for group in tight}
        between = {a - b for a in tight | {frozenset(range(n))} for b in tight | {frozenset()}}
        assert all(group in tight | complements | between for group in found)
        # ... and every two categories that data lets move apart are told apart by one of them.
        for i, j in itertools.combinations(range(n), 2):
            apart = any((i in group) != (j in group) for group in tight)
            assert any((i in group) != (j in group) for group in found) == apart


def test_bound_distances_need_no_shifts() -> None:
    model = luce.Posterior(counts_of(CASES["a circle"]), 1e-6).model
    problem, cells = model.shapes.core_problem(0), model.structure.cores[0].cells
    assert problem.wide
    assert find_shifts(problem, model.shapes.prior[cells]) is None
