"""Envelopes of small cores: above the posterior everywhere, and close to it."""

from functools import cache
from typing import Any

import numpy as np
import pytest
from lib.bounds import SEED, z_limit
from lib.maximum_cases import along_a_path
from lib.oracles import simplex_quadrature
from lib.size import draws
from scipy.special import betaln, gammaln

from luce import ConditionalCounts, Posterior
from luce.kernels import rejection
from luce.kernels.layouts import lean
from luce.kernels.problem import Problem
from luce.kernels.random import new_bits
from luce.kernels.rejection import Envelope
from luce.model.shapes import raw_problem
from luce.sampling.envelope import MOST_ATOMS, fit_envelope


def raw(counts: ConditionalCounts) -> Problem:
    return raw_problem(counts, np.full(counts.n_categories, 1.5))


def core_problem(counts: ConditionalCounts, a: Any) -> Problem:
    return Posterior(counts, a).model.shapes.core_problem(0)


def fitted(problem: Problem) -> tuple[Envelope, float]:
    found = fit_envelope(problem)
    assert found is not None
    return found


@cache
def star(seed: int) -> tuple[Problem, Envelope]:
    problem = random_star(seed)
    return problem, fitted(problem)[0]


def left_out(problem: Problem) -> np.ndarray:
    """How often each atom was the only one left out."""
    m = np.zeros(len(problem.shape))
    for t, wait in enumerate(problem.waits):
        listed = problem.members[problem.nest_start[t] : problem.nest_start[t + 1]]
        out = listed if problem.complement[t] else np.setdiff1d(np.arange(len(m)), listed)
        m[out] += wait
    return m


def random_star(seed: int) -> Problem:
    """Each set leaves out one category; concentrations and counts from small to large."""
    rng = np.random.default_rng(1000 * SEED + seed)
    n = int(rng.integers(3, 9))
    counts, size = ConditionalCounts(n), 10.0 ** rng.uniform(0, 2)
    for out in range(n - int(rng.integers(2))):
        winner = int(rng.choice(np.delete(np.arange(n), out)))
        counts = counts.observe({winner: float(np.ceil(rng.gamma(1.0, size)))}, without=[out])
    return core_problem(counts, rng.gamma(2.0, 0.5, n) + 0.25)


def part_of(envelope: Envelope, p: np.ndarray) -> int:
    """The number of the part that p lies in: the largest of those beyond their limits, or none."""
    beyond = np.where(p > envelope.limit, p, 0.0)
    return 0 if not beyond.any() else envelope.stick[1:].tolist().index(int(beyond.argmax())) + 1


def log_density(envelope: Envelope, part: int, p: np.ndarray) -> float:
    """The proposal's log density from its definition, not from the ratio that the kernel uses."""
    a, k = envelope.shape[part], int(envelope.stick[part])
    if k < 0:
        return float((a - 1) @ np.log(p) - gammaln(a).sum() + gammaln(a.sum()))
    others, rest = np.delete(a, k), np.delete(p, k).sum()
    y = np.delete(p, k) / rest
    value = (a[k] - 1) * np.log(p[k]) + (envelope.tail[part] - 1) * np.log(rest)
    value -= betaln(a[k], envelope.tail[part])
    value += (others - 1) @ np.log(y) - gammaln(others).sum() + gammaln(others.sum())
    return float(value - (len(a) - 2) * np.log(rest))  # of p_i, not of y_i


def log_integral(envelope: Envelope, part: int) -> float:
    a, k = envelope.shape[part], int(envelope.stick[part])
    if k < 0:
        return float(gammaln(a).sum() - gammaln(a.sum()))
    others = np.delete(a, k)
    whole = gammaln(others).sum() - gammaln(others.sum())
    return float(betaln(a[k], envelope.tail[part]) + whole)


def excess(problem: Problem, envelope: Envelope, p: np.ndarray) -> float:
    """Log of the posterior, less that of the proposal and its bound, in the part of p."""
    part, m = part_of(envelope, p), left_out(problem)
    rest = np.array([np.delete(p, i).sum() for i in range(len(p))])
    posterior = (problem.shape - 1) @ np.log(p) - m @ np.log(rest)
    bound = log_density(envelope, part, p) + log_integral(envelope, part) + envelope.log_bound[part]
    return float(posterior - bound)


def points(rng: np.random.Generator, n: int, number: int) -> np.ndarray:
    """Points in the middle, at the edges and near corners."""
    near = rng.dirichlet(np.full(n, 0.5), number) * 10.0 ** rng.uniform(-6, 0, (number, 1))
    k = rng.integers(n, size=number)
    near[np.arange(number), k] += 1 - near.sum(axis=1)
    spread = [rng.dirichlet(np.full(n, a), number) for a in (0.2, 1.0, 10.0)]
    return np.maximum(np.concatenate([near, *spread]), 1e-100)


def drawn(problem: Problem, envelope: Envelope, number: int) -> tuple[np.ndarray, np.ndarray]:
    n = len(problem.shape)
    out, proposals = np.empty((number, n)), np.empty(number)
    bits = new_bits(np.random.SeedSequence(1000 * SEED + 5))
    given = bits, lean(problem), envelope, np.empty(n), np.zeros(3), False, out, proposals, None
    rejection.advance(*given)
    return out, proposals


@pytest.mark.parametrize("seed", range(8))
def test_the_envelope_lies_above_the_posterior(seed: int) -> None:
    problem, envelope = star(seed)
    rng = np.random.default_rng(seed)
    kept, _ = drawn(problem, envelope, 200)
    every = [*points(rng, len(problem.shape), 150), *kept]
    assert max(excess(problem, envelope, p) for p in every) <= 1e-9
    # Negative control: bounds that are a little lower are exceeded.
    lower = envelope._replace(log_bound=envelope.log_bound - 0.5)
    assert max(excess(problem, lower, p) for p in every) > 0


def test_weights_of_the_parts_are_integrals_times_bounds() -> None:
    for seed in range(4):
        _, envelope = star(seed)
        parts = range(len(envelope.stick))
        logs = np.array([log_integral(envelope, j) + envelope.log_bound[j] for j in parts])
        chance = np.exp(logs - np.logaddexp.reduce(logs))
        np.testing.assert_allclose(np.cumsum(chance), envelope.below, rtol=1e-9)


# Corners that matter: hardly a prior, and few outcomes.
SPARSE = ConditionalCounts(3).observe({0: 4, 1: 1}, without=[2]).observe({2: 3}, without=[0])
SPARSE = SPARSE.observe({0: 1, 2: 2}, without=[1])
CONCENTRATION = [0.3, 0.25, 0.4]


def z_scores(out: np.ndarray) -> np.ndarray:
    """Means and second moments of draws against quadrature."""
    family = {frozenset([0, 1]): -5.0, frozenset([1, 2]): -3.0, frozenset([0, 2]): -3.0}
    single = {frozenset([0]): 5.0, frozenset([1]): 1.0, frozenset([2]): 5.0}
    truth = simplex_quadrature(family | single, CONCENTRATION)
    mean, variance = np.asarray(truth.mean), np.asarray(truth.variance)
    both = np.concatenate([out - mean, (out - mean) ** 2 - variance], axis=1)
    return np.asarray(both.mean(axis=0) / (both.std(axis=0) / np.sqrt(len(out))))


@pytest.mark.compiled
def test_draws_in_corners_and_in_the_middle_are_exact() -> None:
    problem = raw_problem(SPARSE, np.array(CONCENTRATION))
    envelope, _ = fitted(problem)
    assert envelope.below[0] < 0.999  # corners are drawn from
    out, _ = drawn(problem, envelope, 40_000)
    assert (out > envelope.limit).any(axis=1).sum() > 20
    assert np.abs(z_scores(out)).max() < z_limit(6)


@pytest.mark.compiled
@pytest.mark.parametrize("altered", ["no corners", "lower bound", "other powers"])
def test_negative_control_draws_of_another_envelope(altered: str) -> None:
    problem = raw_problem(SPARSE, np.array(CONCENTRATION))
    envelope, _ = fitted(problem)
    other = {
        "no corners": envelope._replace(below=np.ones_like(envelope.below), limit=np.full(3, 0.6)),
        "lower bound": envelope._replace(log_bound=envelope.log_bound - 1.0),
        "other powers": envelope._replace(powers=envelope.complement_powers),
    }[altered]
    out, _ = drawn(problem, other, 40_000)
    assert np.abs(z_scores(out)).max() > z_limit(6)


@pytest.mark.parametrize(
    ("concentration", "counts", "least"),
    [(2.0, [10] * 5, 0.8), (0.05, [1, 2, 3, 4, 5], 0.55)],
    ids=["paper", "sparse"],
)
def test_the_acceptance_is_predicted(concentration: float, counts: list[int], least: float) -> None:
    """Each of five is left out while the next one is counted; five others are never left out."""
    data = ConditionalCounts(10)
    for j, count in enumerate(counts):
        data = data.observe({j: count}, without=[(j - 1) % 5])
    problem = core_problem(data, concentration)
    envelope, accepted = fitted(problem)
    assert least < accepted <= 1
    number = draws(compiled=20_000, plain=300)
    _, proposals = drawn(problem, envelope, number)
    measured = 1 / proposals.mean()
    # A geometric mean has variance (1 - a) / a² / N; a pilot's, of numbers in (0, 1), at most a/N.
    error = np.hypot(measured * np.sqrt((1 - measured) / number), np.sqrt(accepted / 2000))
    assert abs(measured - accepted) < z_limit(1) * error


def test_where_there_is_no_envelope_and_where_none_is_needed() -> None:
    assert fit_envelope(core_problem(along_a_path([(2, 1), (3, 1), (1, 1)]), 1.5)) is None
    assert fit_envelope(raw(ConditionalCounts(MOST_ATOMS + 1).observe({0: 1}))) is None
    envelope, accepted = fitted(raw(ConditionalCounts(3).observe({0: 2})))
    assert accepted == 1.0
    np.testing.assert_allclose(envelope.shape, [[3.5, 1.5, 1.5]])
