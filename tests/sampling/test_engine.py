"""Hamiltonian moves, rejection, what both are fitted from, and how one of the methods is chosen.

Truths are dense sums over tables of members, mpmath, other optimisers and exact draws.  Statistical
bounds are two-sided at FALSE_ALARM over the number of comparisons; LUCE_TEST_SEED moves all seeds.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import warnings
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import mpmath
import numpy as np
import numpy.typing as npt
import pytest
import scipy.optimize as optimize
import scipy.stats as stats
import xarray as xr
from lib.bounds import FALSE_ALARM, SEED, z_limit
from lib.nests import Nest, expand, problem_of, random_nests, sorted_by_kind, with_winners
from lib.places import ROOT
from lib.planned import sample_planned
from scipy.linalg import eigh
from scipy.special import gammaln

from luce import ConditionalCounts, ConvergenceWarning, Posterior
from luce.errors import MethodError
from luce.kernels import hamiltonian, rejection, waiting_times
from luce.kernels.curvature import times_precision
from luce.kernels.grouped_outcomes import split_space
from luce.kernels.jit import borrowed, compiled
from luce.kernels.log_powers import Powers, log_power_product, make_powers
from luce.kernels.problem import Problem, gamma_spreads
from luce.kernels.random import new_bits
from luce.paper.examples import paper_posterior
from luce.sampling import laplace
from luce.sampling.envelope import MOST_ATOMS, fit_envelope
from luce.sampling.fits import Fits
from luce.sampling.log_posterior import LogPosterior
from luce.sampling.mixing import chains_of, effective_sizes
from luce.sampling.ratio_bound import bound_ratio

pytestmark = pytest.mark.compiled

Floats = npt.NDArray[np.float64]


def generator(seed: int) -> np.random.Generator:
    return np.random.default_rng(1000 * SEED + seed)


def bits(seed: int) -> npt.NDArray[np.uint64]:
    return new_bits(np.random.SeedSequence(1000 * SEED + seed))


# -- posteriors of every kind -----------------------------------------------------------


def path(items: int, games: int = 20) -> Posterior:
    counts = ConditionalCounts(items)
    for i in range(items - 1):
        wins = {i: games // 2 + 1 + i % 3, i + 1: games // 2 - 1}
        counts = counts.observe(wins, within=[i, i + 1])
    return Posterior(counts)


def ring(items: int, games: int = 20) -> Posterior:
    counts = ConditionalCounts(items)
    for i in range(items):
        j = (i + 1) % items
        counts = counts.observe({i: games // 2 + 1 + i % 3, j: games // 2 - 1}, within=[i, j])
    return Posterior(counts)


def clique(items: int, games: int = 4) -> Posterior:
    counts = ConditionalCounts(items)
    for i in range(items):
        for j in range(i):
            counts = counts.observe({i: games // 2 + (i + j) % 2, j: games // 2}, within=[i, j])
    return Posterior(counts)


def exclusions(items: int) -> Posterior:
    counts = ConditionalCounts(items)
    for i in range(items):
        wins = {(i + 1) % items: 3 + i % 4, (i + 4) % items: 2}
        counts = counts.observe(wins, without=[i, (i + 2) % items, (i + 3) % items])
    return Posterior(counts, 1.5)


def races(items: int, number: int, length: int) -> Posterior:
    rng, counts = np.random.default_rng(83), ConditionalCounts(items)
    for _ in range(number):
        counts = counts.observe_ranking(rng.permutation(items)[:length].tolist())
    return Posterior(counts)


def star() -> Posterior:
    """Each set leaves out one category, and no two categories are alike."""
    counts = ConditionalCounts(6)
    for winner, count, out in ((1, 3, 0), (0, 7, 2), (3, 1, 1), (4, 12, 3), (2, 4, 0), (0, 2, 4)):
        counts = counts.observe({winner: count}, without=[out])
    return Posterior(counts, [0.9, 2.0, 1.3, 0.7, 3.0, 1.6])


def teams() -> Posterior:
    counts = ConditionalCounts(5).observe_group([0, 1], 4).observe_group([1, 2], 3)
    return Posterior(counts.observe({3: 2}, within=[2, 3]), [0.7, 1.2, 2.0, 1.0, 1.5])


def two_kinds() -> Posterior:
    """A star around a path."""
    counts = ConditionalCounts(14)
    for j, k in enumerate((9, 7, 11, 12, 8)):
        counts = counts.observe({j: k}, without=[(j - 1) % 5])
    for i in range(6, 13):
        counts = counts.observe({i: 1, i + 1: 1}, within=[i, i + 1])
    return Posterior(counts, np.linspace(0.8, 2.0, 14))


def core_problem(post: Posterior, q: int = 0) -> Problem:
    return post.model.shapes.core_problem(q)


def sample(post: Posterior, draws: int, **options: Any) -> xr.DataTree:
    settings = {"seed": 1000 * SEED + 1, "progress": False} | options
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return post.sample(draws, **settings)


def values(tree: xr.DataTree) -> Floats:
    return np.asarray(tree["posterior"]["probabilities"].values)


# -- products of powers -----------------------------------------------------------------


@compiled
def power_product(powers: Powers, x: Floats) -> float:
    return log_power_product(powers, x)


@pytest.mark.parametrize("seed", range(20))
def test_powers_equal_mpmath(seed: int) -> None:
    rng = generator(seed)
    n = int(rng.integers(1, 400))
    k = rng.choice([0.0, 0.0, 1.0, 2.0, -3.0, 0.25, 1e6], n)
    if seed % 4 == 0:
        k = rng.normal(size=n)  # all different
    low, high = [(-290, 17), (-290, -280), (16.9, 17), (-1, 1), (-15.5, -14.5)][seed % 5]
    x = np.clip(10.0 ** rng.uniform(low, high, n), 1e-290, 1e17)
    terms = [mpmath.mpf(float(a)) * mpmath.log(float(b)) for a, b in zip(k, x, strict=True)]
    # Every factor rounds its product once, by half a unit: so much of its power at most.
    rounding = 1e-15 * (np.abs(k).sum() + float(mpmath.fsum(abs(t) for t in terms)))
    assert abs(power_product(make_powers(k), x) - mpmath.fsum(terms)) <= rounding


def test_ends_of_the_range_in_every_order() -> None:
    for factors in ((1e-290, 1e-290), (1e17,) * 40, (1e-290, 1e17, 1e-290), (1e-15,) * 30):
        x = np.array(factors)
        found = power_product(make_powers(np.ones(len(x))), x)
        assert found == pytest.approx(np.log(x).sum(), rel=1e-14)


def test_no_powers() -> None:
    assert power_product(make_powers(np.zeros(3)), np.array([0.0, 1.0, np.inf])) == 0.0
    assert power_product(make_powers(np.empty(0)), np.empty(0)) == 0.0


def test_runs_of_powers() -> None:
    powers = make_powers(np.array([2.0, 0.0, -1.0, 2.0, 0.0]))
    assert powers.power.tolist() == [-1.0, 2.0]
    assert powers.start.tolist() == [0, 1, 3]
    assert powers.item.tolist() == [2, 0, 3]


# -- slope and curvature ----------------------------------------------------------------


class Random(NamedTuple):
    problem: Problem
    table: npt.NDArray[np.bool_]
    powers: Floats  # k_t = m_t - n_t


def random_problem(rng: np.random.Generator, grouped: bool, prior: Floats | None = None) -> Random:
    """Chains of all kinds, and a winner in each set for each outcome conditioned on it."""
    n = int(rng.integers(4, 8)) if prior is None else len(prior)
    chains = random_nests(rng, n, 3)
    chains.append(Nest((int(rng.integers(n)),), (1,), (-2.5,), True))
    chains.append(Nest((1, 3), (2,), (-4.0,)))
    chains.append(Nest((2, 0, 1), (1, 2, 3), (-1.0, -2.0, -1.5), True))
    if grouped:
        chains.append(Nest((3, 0, 2), (2, 3), (3.0, 1.25)))
        chains.append(Nest((0, 1), (1, 2), (2.0, -1.0), True))
    chains = sorted_by_kind(chains)
    table = expand(chains, n)
    exponents = np.array([e for chain in chains for e in chain.exponents])
    shape = with_winners(rng, chains, rng.gamma(2.0, 1.0, n) if prior is None else prior)
    return Random(problem_of(chains, shape.tolist()), table, -exponents)


def exact_value(given: Random, theta: list[Any]) -> Any:
    x = [mpmath.exp(t) for t in theta]
    value = mpmath.fsum(
        mpmath.mpf(float(c)) * t - y for c, t, y in zip(given.problem.shape, theta, x, strict=True)
    )
    for k, row in zip(given.powers.tolist(), given.table, strict=True):
        value -= k * mpmath.log(mpmath.fsum(y for y, held in zip(x, row, strict=True) if held))
    return value


def sizes(given: Random, theta: Floats) -> tuple[Floats, Floats]:
    """What slope and curvature are differences of: rounding is in proportion to this."""
    x = np.exp(theta)
    sums, power = given.table @ x, np.abs(given.powers)
    rates = 1.0 + (power / sums).sum()
    size = np.outer(x, x) * (power / sums**2).sum() + np.diag(x * rates)
    return given.problem.shape + x * rates, size


@pytest.mark.parametrize("grouped", [False, True])
@pytest.mark.parametrize("seed", range(6))
def test_slope_and_curvature_are_derivatives(seed: int, grouped: bool) -> None:
    """By central differences of the value, in 60 digits."""
    rng = generator(100 + seed)
    given = random_problem(rng, grouped)
    n = len(given.problem.shape)
    theta = rng.normal(0.0, 3.0, n)
    f = LogPosterior(given.problem)
    place = f.at(theta)
    value, slopes, curvature = place.value, f.slope(place), f.precision(place)
    slope_size, curvature_size = sizes(given, theta)
    with mpmath.workdps(60):
        at, h = [mpmath.mpf(t) for t in theta.tolist()], mpmath.mpf(10) ** -15

        def moved(*steps: tuple[int, int]) -> Any:
            return exact_value(
                given, [t + h * sum(s for j, s in steps if j == i) for i, t in enumerate(at)]
            )

        assert abs(value - moved()) <= 1e-12 * (slope_size * (1 + np.abs(theta))).sum()
        for i in range(n):
            exact = (moved((i, 1)) - moved((i, -1))) / (2 * h)
            assert abs(slopes[i] - exact) <= 1e-12 * slope_size[i]
            for j in range(i + 1):
                exact = -(
                    moved((i, 1), (j, 1)) - moved((i, 1), (j, -1))
                    - moved((i, -1), (j, 1)) + moved((i, -1), (j, -1))
                ) / (4 * h * h)  # fmt: skip
                assert abs(curvature[i, j] - exact) <= 1e-12 * curvature_size[i, j]
    np.testing.assert_array_equal(curvature, curvature.T)


@pytest.mark.parametrize("seed", range(12))
def test_curvature_times_a_vector(seed: int) -> None:
    rng = generator(200 + seed)
    given = random_problem(rng, False)
    n = len(given.problem.shape)
    theta, v = rng.normal(0.0, 2.0, n), rng.normal(size=n)
    f, out = LogPosterior(given.problem), np.empty(n)
    matrix = f.precision(f.at(theta))
    times_precision(given.problem, theta, v, out)
    assert (np.abs(out - matrix @ v) <= 1e-12 * (sizes(given, theta)[1] @ np.abs(v))).all()


# -- the mode ---------------------------------------------------------------------------


def brute(given: Random, theta: Floats) -> tuple[float, Floats]:
    x = np.exp(np.minimum(theta, 300.0))
    sums = given.table @ x
    value = given.problem.shape @ theta - x.sum() - given.powers @ np.log(sums)
    return float(value), given.problem.shape - x * (1 + (given.powers / sums) @ given.table)


def hostile(seed: int) -> Random:
    rng = generator(300 + seed)
    return random_problem(rng, False, 10.0 ** rng.uniform(-3, 6, int(rng.integers(4, 9))))


@pytest.mark.parametrize("seed", range(20))
def test_the_slope_vanishes_at_the_mode(seed: int) -> None:
    given = hostile(seed)
    value, gradient = brute(given, laplace.log_mode(given.problem))
    # Newton stops where half of g'H⁻¹g, what is left to gain, is 1e-20 of f; H_ii <= c_i.
    shape = given.problem.shape
    assert (np.abs(gradient) <= 1e-9 * shape + 1e-10 * np.sqrt(shape * (1 + abs(value)))).all()


@pytest.mark.parametrize("seed", range(8))
def test_conjugate_gradients_find_the_same_mode(seed: int) -> None:
    given = hostile(seed)
    dense = laplace.log_mode(given.problem)
    sparse = laplace.log_mode(given.problem, limits=laplace.ClimbLimits(most_dense=0))
    # In units of what is known of each with all waiting times known, the least it can be.
    off = np.abs(sparse - dense) * np.sqrt(given.problem.shape)
    assert off.max() < 1e-5


@pytest.mark.parametrize("seed", range(4))
def test_the_mode_is_one(seed: int) -> None:
    rng = generator(350 + seed)
    given = random_problem(rng, False)
    mode = laplace.log_mode(given.problem)
    highest, _ = brute(given, mode)
    for scale in (1e-3, 0.1, 3.0):
        for _ in range(20):
            assert brute(given, mode + scale * rng.normal(size=len(mode)))[0] < highest
    for _ in range(3):  # others climb to it from afar
        found = optimize.minimize(
            lambda t: tuple(-part for part in brute(given, t)),
            mode + rng.normal(0.0, 5.0, len(mode)), jac=True, method="BFGS",
            options={"gtol": 1e-8},
        )  # fmt: skip
        np.testing.assert_allclose(found.x, mode, atol=1e-5)


# -- how well waiting times mix ---------------------------------------------------------


def squads(players: int, games: int = 30) -> Posterior:
    """Two play against two others, and it is known which two won, but not thanks to whom."""
    counts, rng = ConditionalCounts(players), np.random.default_rng(84)
    for _ in range(games):
        four = rng.permutation(players)[:4].tolist()
        counts = counts.observe_group(four[:2], 1, within=four)
    return Posterior(counts, 2.0)


MIXING = {
    "path": path(20),
    "ring": ring(12),
    "clique": clique(10),
    "exclusions": exclusions(9),
    "squads": squads(8),
}


@cache
def shares(name: str) -> tuple[float, float, float]:
    """Predicted and measured effective share of sweeps: slowest direction, slowest category."""
    problem = core_problem(MIXING[name])
    theta = laplace.log_mode(problem)
    n = len(theta)
    f = LogPosterior(problem)
    at = f.at(theta)
    h = f.precision(at)
    # A sweep takes θ to (I - C⁻¹H) θ, up to noise.  Of the functions w'θ with Σ w = 0, which
    # do not see Λ, the slowest has the largest w'H⁻¹w / w'C⁻¹w.
    inside = np.linalg.svd(np.ones((1, n)))[2][1:].T
    _, directions = eigh(inside.T @ np.linalg.inv(h) @ inside,
                               inside.T @ np.diag(1 / at.taken) @ inside)  # fmt: skip
    logs = np.empty((8, 4000, n))
    for chain, out in enumerate(logs):
        state, own = np.exp(theta - np.logaddexp.reduce(theta)), bits(400 + chain)
        for _ in range(2):  # the first is warm-up
            waiting_times.advance(
                own, problem, None, state, np.zeros(4), False, out, np.empty(4000),
                split_space(problem),
            )  # fmt: skip
    logs = np.log(logs)
    slowest = effective_sizes(chains_of((logs @ inside @ directions[:, -1])[None]))[0]
    categories = effective_sizes(chains_of(np.moveaxis(logs, 2, 0)))
    predicted = laplace.fit_curvature(problem).share
    return predicted, float(slowest) / 32_000, float(categories.min()) / 32_000


@pytest.mark.parametrize("name", MIXING)
def test_effective_share_of_sweeps_is_predicted(name: str) -> None:
    """Within a factor of 2.

    The least share predicted here, 0.026, leaves 800 effective draws: from those an effective size
    is known to a tenth or so.  The rest of the factor is for what the prediction leaves out,
    that posteriors are not normal; and a single category need not be the slowest direction.
    """
    predicted, slowest, category = shares(name)
    assert 0.5 < slowest / predicted < 2.0
    assert 0.5 < category / predicted < 2.0


def test_effective_shares_are_in_order() -> None:
    order = ["path", "ring", "clique", "exclusions"]
    for which in range(3):
        found = [shares(name)[which] for name in order]
        assert found == sorted(found)


# -- envelopes --------------------------------------------------------------------------


def wheel(atoms: int, concentration: float = 2.0) -> Posterior:
    counts = ConditionalCounts(atoms)
    for j in range(atoms - 1):
        counts = counts.observe({j: 3 + j % 4}, without=[(j + 1) % (atoms - 1)])
    return Posterior(counts, concentration)


def test_where_there_is_no_envelope() -> None:
    for post in (path(5), teams(), exclusions(9), wheel(6, 1e-3), wheel(MOST_ATOMS + 1)):
        assert fit_envelope(core_problem(post)) is None
    assert core_problem(wheel(6, 1e-3)).wide
    assert fit_envelope(core_problem(wheel(MOST_ATOMS))) is not None


def test_no_warning_where_an_envelope_is_hard_to_find() -> None:
    """One atom was left out a thousand times, and hardly anything is known of the others."""
    counts = ConditionalCounts(4).observe({0: 1000}, without=[1]).observe({1: 1}, without=[0])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = fit_envelope(core_problem(Posterior(counts, 0.5)))
    assert found is not None
    assert np.isfinite(found[0].log_bound).all()


@pytest.mark.parametrize(("n", "share"), [(10, 0.83), (20, 0.91)])
def test_acceptance_of_the_papers_envelopes(n: int, share: float) -> None:
    problem = core_problem(paper_posterior(n))
    fitted = fit_envelope(problem)
    assert fitted is not None
    envelope, pilot = fitted
    draws, atoms = 40_000, len(problem.shape)
    proposals = np.empty(draws)
    rejection.advance(
        bits(610), problem, envelope, np.empty(atoms), np.zeros(3), False, np.empty((draws, atoms)),
        proposals, None,
    )  # fmt: skip
    measured = 1 / proposals.mean()
    # A geometric mean has variance (1 - a) / a² / N; a pilot's, of numbers in (0, 1), at most a/N.
    error = np.hypot(measured * np.sqrt((1 - measured) / draws), np.sqrt(pilot / 2000))
    assert abs(measured - pilot) < z_limit(2) * error
    assert measured == pytest.approx(share, abs=0.01)


@pytest.mark.parametrize("name", ["paper", "star", "wheel"])
def test_no_other_envelope_is_noticeably_better(name: str) -> None:
    problem = core_problem({"paper": paper_posterior(10), "star": star(), "wheel": wheel(6)}[name])
    fitted = fit_envelope(problem)
    assert fitted is not None
    envelope, n = fitted[0], len(problem.shape)
    assert envelope.stick[0] == -1
    shape, limit, m, rng = envelope.shape[0], envelope.limit, envelope.left_out, generator(620)

    def log_loss(a: Floats) -> float:
        bound = bound_ratio(problem.shape - a, m, limit, np.arange(n), 1e-3).bound
        return float(gammaln(a).sum() - gammaln(a.sum()) + bound)

    here = log_loss(shape)
    for scale in (0.003, 0.03, 0.3):
        for _ in range(20):
            other = shape * np.exp(scale * rng.normal(size=n))
            if (other < problem.shape).all():
                # The search itself sees bounds to 0.03, twice.
                assert log_loss(other) > here - 0.06


# -- Hamiltonian moves ------------------------------------------------------------------

_EXACT = 20_000
_SWEEP_EVERY = 25  # draws of which the first is a sweep, once tuned


class Fitted(NamedTuple):
    problem: Problem
    metric: hamiltonian.Metric


def with_metric(problem: Problem) -> Fitted:
    metric = Fits(problem).dense_metric
    assert metric is not None
    return Fitted(problem, metric)


@cache
def exact_draws(seed: int) -> Floats:
    problem = core_problem(star())
    fitted = fit_envelope(problem)
    assert fitted is not None
    out = np.empty((_EXACT, len(problem.shape)))
    rejection.advance(
        bits(seed), problem, fitted[0], np.empty(out.shape[1]), np.zeros(3), False,
        out, np.empty(_EXACT), None,
    )  # fmt: skip
    return out


def moved_once(alter: Callable[[Fitted], Fitted], log_h: float) -> tuple[Floats, float]:
    """A sweep and three Hamiltonian moves from exact draws, and the share accepted of those."""
    fitted = alter(with_metric(core_problem(star())))
    out, own = exact_draws(700).copy(), bits(702)
    tuning, rows, stat = (
        np.array([log_h, 0.0, log_h, 0.0]),
        np.empty((4, out.shape[1])),
        np.empty(4),
    )
    accepted = 0.0
    for state in out:
        tuning[3] = 0.0  # the first is a sweep
        hamiltonian.advance(own, *fitted, state, tuning, False, rows, stat, None)
        accepted += stat[1:].mean() / _EXACT
    return out, accepted


def scores(one: Floats, other: Floats) -> Floats:
    """|z| of means, variances and Mann-Whitney ranks, category by category."""
    found = []
    for a, b in zip(one.T, other.T, strict=True):
        middle = np.r_[a, b].mean()
        for x, y in ((a, b), ((a - middle) ** 2, (b - middle) ** 2)):
            found.append((x.mean() - y.mean()) / np.sqrt(x.var() / len(x) + y.var() / len(y)))
        n = len(a)
        ranks = stats.rankdata(np.r_[a, b])[:n]
        found.append((ranks.mean() - n - 0.5) / np.sqrt((2 * n + 1) / 12))
    return np.abs(found)


def as_it_is(fitted: Fitted) -> Fitted:
    return fitted


def stretched(fitted: Fitted) -> Fitted:
    """A curvature that is not the posterior's."""
    metric = fitted.metric
    assert metric.root is not None
    root = metric.root * np.linspace(0.6, 1.4, len(metric.root))
    back = np.ascontiguousarray(root.T)
    return fitted._replace(metric=metric._replace(root=root, root_transposed=back))


def other_powers(fitted: Fitted) -> Fitted:
    """Accept as if the sets had no powers, and the total were none of their business."""
    none = make_powers(np.zeros(len(fitted.problem.waits)))
    return fitted._replace(metric=fitted.metric._replace(powers=none))


def other_shape(fitted: Fitted) -> Fitted:
    shape = fitted.problem.shape.copy()
    shape[2] += 0.5
    other = fitted.problem._replace(shape=shape, spread=gamma_spreads(shape))
    return fitted._replace(problem=other)


# One step for the whole length, and one and a half times the longest: acceptance has work to do.
_LONG = float(np.log(2.7))


@pytest.mark.parametrize("log_h", [_LONG, _LONG - 1.5], ids=["one step", "several steps"])
@pytest.mark.parametrize("alter", [as_it_is, stretched], ids=["fitted", "other curvature"])
def test_exact_draws_stay_exact(alter: Callable[[Fitted], Fitted], log_h: float) -> None:
    """Whatever the curvature: a bad one makes moves shorter, not wrong."""
    moved, accepted = moved_once(alter, log_h)
    assert 0.5 < accepted < 0.999
    assert (moved != exact_draws(700)).all()
    z = scores(moved, exact_draws(701))
    assert z.max() < z_limit(z.size)


@pytest.mark.parametrize("alter", [other_powers, other_shape])
def test_negative_control_moves_of_another_posterior(alter: Callable[[Fitted], Fitted]) -> None:
    z = scores(moved_once(alter, _LONG)[0], exact_draws(701))
    assert z.max() > z_limit(z.size)


def tuned(
    fitted: Fitted, sweeps: int, seed: int, state: Floats | None = None
) -> tuple[Floats, Floats, npt.NDArray[np.uint64]]:
    first, n = hamiltonian.first_tuning(*fitted), len(fitted.problem.shape)
    state = np.full(n, 1 / n) if state is None else state
    tuning, own = np.array([first, 0.0, first, 0.0]), bits(seed)
    hamiltonian.advance(
        own, *fitted, state, tuning, True, np.empty((sweeps, n)), np.empty(sweeps), None
    )
    return state, tuning, own


def test_steps_grow_with_the_problem() -> None:
    log_h = []
    for items in (12, 300):
        fitted = with_metric(core_problem(ring(items)))
        state, tuning, own = tuned(fitted, 400, 710)
        out, stat = np.empty((400, items)), np.empty(400)
        hamiltonian.advance(own, *fitted, state, tuning, True, out, stat, None)
        adapting = stat[1::2].mean()
        before = tuning.copy()
        hamiltonian.advance(own, *fitted, state, tuning, False, out, stat, None)
        np.testing.assert_array_equal(tuning[:3], before[:3])  # frozen, but for the count of draws
        log_h.append(tuning[2])
        frozen = stat[np.arange(400) % _SWEEP_EVERY != 0].mean()
        if items == 300:
            # As h moves between one step and two, the mean of both is 0.75; frozen it is one.
            assert abs(adapting - 0.75) < z_limit(1) * np.sqrt(0.75 * 0.25 / 200)
            assert 0.4 < frozen < 0.95
        else:  # one step is accepted more often than that, and there is no longer one
            assert tuning[2] > hamiltonian.first_tuning(*fitted) - 0.05
            assert frozen > 0.75
    # One step for the whole length, 1.8, is the edge that the larger problem comes down to.
    assert log_h[1] < np.log(1.8) + 0.1 < log_h[0]


def test_the_step_of_too_long_a_path_is_accepted_too_rarely() -> None:
    """So that more than one step is what 300 atoms need."""
    fitted = with_metric(core_problem(ring(300)))
    state, _, own = tuned(fitted, 200, 711)
    stat = np.empty(300)
    longest = np.append(np.full(3, np.log(hamiltonian.LONGEST * fitted.metric.length)), 0.0)
    hamiltonian.advance(own, *fitted, state, longest, False, np.empty((300, 300)), stat, None)
    assert stat[np.arange(300) % _SWEEP_EVERY != 0].mean() < 0.65


@pytest.mark.slow
@pytest.mark.parametrize("name", ["path", "star", "ring"])
def test_chains_return_from_afar(name: str) -> None:
    problem = core_problem({"path": path(50), "star": star(), "ring": ring(12)}[name])
    fitted = with_metric(problem)
    n, theta = len(problem.shape), laplace.log_mode(problem)
    f = LogPosterior(problem)

    def height(p: Floats) -> float:
        return f.at(np.log(p) + np.log(problem.total_shape)).value

    highest = height(np.exp(theta - np.logaddexp.reduce(theta)))
    for corner in range(3):
        state = np.full(n, 1e-12)
        state[corner] = 1 - (n - 1) * 1e-12
        assert highest - height(state) > 100
        state, tuning, _ = tuned(fitted, 200, 720 + corner, state)
        # Twice the drop is about chi-square of n - 1; once in a million, and half as much again
        # for tails that are not normal.
        assert 2 * (highest - height(state)) < 1.5 * stats.chi2(n).isf(1e-6)
        assert np.exp(tuning[2]) > 0.5


# -- the choice -------------------------------------------------------------------------

CHOICES: dict[str, tuple[Callable[[], Posterior], list[str]]] = {
    "paper": (lambda: paper_posterior(10), ["rejection"]),
    "path": (lambda: path(50, 4), ["hamiltonian"]),
    "much played": (lambda: path(20), ["independence"]),
    "races": (lambda: races(83, 36, 42), ["waiting-times"]),
    "exclusions": (lambda: exclusions(9), ["waiting-times"]),
    "groups": (teams, ["hamiltonian"]),
    "tiny": (lambda: wheel(6, 1e-3), ["waiting-times"]),
    "two kinds": (two_kinds, ["rejection", "hamiltonian"]),
}


def chosen(make: Callable[[], Posterior]) -> list[list[str]]:
    attributes = sample(make(), 4, chains=1, warmup=1).attrs
    return [
        list(pair)
        for pair in zip(attributes["core_methods"], attributes["core_reasons"], strict=True)
    ]


@pytest.mark.parametrize("name", CHOICES)
def test_choice(name: str) -> None:
    make, expected = CHOICES[name]
    found = chosen(make)
    assert [method for method, _ in found] == expected
    assert found == chosen(make)


@pytest.mark.slow
def test_choice_in_another_process() -> None:
    folders = [str(ROOT / "tests"), os.path.dirname(__file__)]
    code = (
        f"import json, sys; sys.path[:0] = {folders!r}; "
        "from test_engine import CHOICES, chosen; "
        "print(json.dumps({name: chosen(make) for name, (make, _) in CHOICES.items()}))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == {name: chosen(make) for name, (make, _) in CHOICES.items()}


def test_cores_of_two_kinds() -> None:
    post = two_kinds()
    tree = sample(post, 400, chains=24, warmup=150)
    assert tree.attrs["method"] == "rejection, hamiltonian"
    assert tree.attrs["core_methods"] == ["rejection", "hamiltonian"]
    assert "Dirichlet" in tree.attrs["core_reasons"][0]
    assert "weakly connected" in tree.attrs["core_reasons"][1]
    assert tree.attrs["independent_draws"] == 0
    stat = tree["sample_stats"]
    assert sorted(stat.data_vars) == ["accepted", "proposals"]
    assert np.isnan(stat["accepted"].values[..., 0]).all()
    assert np.isin(stat["accepted"].values[..., 1], [0.0, 1.0]).all()
    assert np.isnan(stat["proposals"].values[..., 1]).all()
    assert (stat["proposals"].values[..., 0] >= 1).all()
    # Chain means are independent of each other: 24 against 24, by Welch's t.
    slow = sample(post, 3000, chains=24, warmup=300, method="waiting-times", seed=1000 * SEED + 2)
    found = stats.ttest_ind(
        values(tree).mean(axis=1), values(slow).mean(axis=1), axis=0, equal_var=False
    )
    assert found.pvalue.min() > FALSE_ALARM / 14


@pytest.mark.parametrize(
    ("make", "method"),
    [(star, "rejection"), (star, "hamiltonian"), (lambda: path(20), "auto"), (two_kinds, "auto")],
    ids=["rejection", "hamiltonian", "independence", "two kinds"],
)
def test_threads_change_nothing(make: Callable[[], Posterior], method: str) -> None:
    post = make()
    one, two, four = (
        sample(post, 150, chains=5, warmup=40, method=method, threads=k) for k in (1, 2, 4)
    )
    for other in (two, four):
        np.testing.assert_array_equal(values(one), values(other))
        for name, stat in one["sample_stats"].data_vars.items():
            np.testing.assert_array_equal(stat.values, other["sample_stats"][name].values)


def test_hamiltonian_moves_are_made_however_small_the_chunks() -> None:
    """With hundreds of thousands of categories a chunk is one draw."""
    how: dict[str, Any] = {"draws": 400, "warmup": 100, "method": "hamiltonian"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        tree = sample_planned(path(30), seed=1000 * SEED + 1, chunk_steps=1, **how)
    odds = np.log(values(tree)[..., 0] / values(tree)[..., -1])
    # About 0.7 by sweeps alone, and 0 with moves.
    lag = [np.corrcoef(chain[1:], chain[:-1])[0, 1] for chain in odds]
    assert max(lag) < 0.5
    assert (tree["sample_stats"]["accepted"].values == 0).any()


def test_a_star_is_one_among_other_categories_too() -> None:
    """The same core, said by what its sets hold and by what they lack."""
    alone, among = ConditionalCounts(8), ConditionalCounts(20)
    for j, k in enumerate((9, 7, 11, 12, 8)):
        held = [i for i in range(8) if i != (j - 1) % 5]
        alone, among = alone.observe({j: k}, within=held), among.observe({j: k}, within=held)
    one, other = chosen(lambda: Posterior(alone, 2.0)), chosen(lambda: Posterior(among, 2.0))
    assert one[0][0] == "rejection"
    assert other[0][0] == "rejection"


@pytest.mark.parametrize(
    ("make", "method", "message"),
    [
        (lambda: path(20), "rejection", "keeps 0.001 of its draws"),
        (teams, "rejection", "no grouped outcomes"),
        (lambda: wheel(MOST_ATOMS + 1), "rejection", "with more data"),
        (teams, "independence", "no grouped outcomes"),
    ],
)
@pytest.mark.parametrize("reduce", [True, False], ids=["core 1", "raw"])
def test_methods_that_cannot_be_had(
    make: Callable[[], Posterior], method: str, message: str, reduce: bool
) -> None:
    with pytest.raises(MethodError, match=message) as caught:
        make().sample(10, method=method, reduce=reduce, progress=False)
    assert ("core 1" if reduce else "the raw categories") in str(caught.value)


@pytest.mark.parametrize("method", ["hamiltonian", "independence"])
def test_methods_with_a_curvature_need_doubles(method: str) -> None:
    post = wheel(6, 1e-3)
    assert core_problem(post).wide
    with pytest.raises(MethodError, match="range of doubles"):
        post.sample(10, method=method, progress=False)


def test_rejection_without_data() -> None:
    """Raw and with nothing observed, the prior is its own envelope."""
    tree = sample(Posterior(ConditionalCounts(3), [1.0, 2.0, 5.0]), 500, method="rejection",
                  reduce=False)  # fmt: skip
    # Means of 2000 independent draws.
    expected = np.array([1.0, 2.0, 5.0]) / 8
    error = np.sqrt(expected * (1 - expected) / 9 / 2000)
    assert (np.abs(values(tree).mean(axis=(0, 1)) - expected) / error).max() < z_limit(3)


# -- borrowed arrays --------------------------------------------------------------------


class Pair(NamedTuple):
    inner: tuple[Floats, npt.NDArray[np.int64]]
    table: Floats
    number: float
    nothing: None


@compiled
def borrowed_sum(array: Floats, pair: Pair) -> float:
    array, pair = borrowed(array), borrowed(pair)
    again = borrowed(borrowed(pair))
    total = pair.number + array.sum() + again.table[1].sum()
    for x in pair.inner[0][1:]:
        total += x
    for k in again.inner[1]:
        total += k
    return total


def test_borrowed_arrays_are_right_and_given_back() -> None:
    pair = Pair((np.arange(5.0), np.arange(4)), np.arange(6.0).reshape(2, 3), 0.5, None)
    array = np.array([1.0, 2.0])
    arrays = (array, *pair.inner, pair.table)
    expected = 0.5 + 3.0 + (3 + 4 + 5) + (1 + 2 + 3 + 4) + (0 + 1 + 2 + 3)
    assert borrowed_sum(array, pair) == expected  # compiled
    before = [sys.getrefcount(a) for a in arrays]
    for _ in range(1000):
        assert borrowed_sum(array, pair) == expected
    assert [sys.getrefcount(a) for a in arrays] == before
    assert [a.sum() for a in arrays] == [3.0, 10.0, 6, 15.0]
