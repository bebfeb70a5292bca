"""One Gibbs step: it leaves the posterior of the counts it is given invariant."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from lib.bounds import SEED
from lib.oracles import simplex_quadrature
from lib.sampling_oracles import Case, Moments, assert_agree, chain_moments, quadrature

import luce
from luce import ConditionalCounts, GibbsStep, Posterior
from luce.counts.family import set_arrays
from luce.kernels import KERNELS
from luce.kernels.problem import Problem, make_problem

Floats = npt.NDArray[np.float64]

# Each set lacks one of four; neither prior nor counts are symmetric.
PRIOR = np.array([0.7, 2.0, 1.1, 0.4])
SETS = [[0, 1, 2], [1, 2, 3], [0, 3], [0, 1, 2, 3]]
SIZES = np.array([6, 4, 5, 3])
STEP = GibbsStep(4, within=SETS)

Step = Callable[[np.random.Generator, Floats, tuple[Floats, Floats], Floats], Floats]


def run(
    step: Step, p: Floats, counts: Any, prior: Floats, sweeps: int, warmup: int, seed: int
) -> Moments:
    """Many chains at once, all with the same counts, the first sweeps left out."""
    rng = np.random.default_rng([SEED, seed])
    rows = len(p)
    given = tuple(np.broadcast_to(c, (rows, len(c))) for c in counts)
    kept = np.empty((sweeps, *p.shape))
    for k in range(-warmup, sweeps):
        p = step(rng, p, given, prior)
        if k >= 0:
            kept[k] = p
    return chain_moments(kept.transpose(1, 0, 2))


def start(rows: int, n: int) -> Floats:
    return np.random.default_rng(SEED).dirichlet(np.ones(n), rows)


def exact(counts: ConditionalCounts, prior: Floats) -> Moments:
    posterior = Posterior(counts, prior)
    value = np.stack([posterior.mean(), posterior.variance()])
    return Moments(value, np.zeros_like(value), np.inf)


@pytest.mark.compiled
def test_quadrature_of_three_categories() -> None:
    picks = (
        (0, 4.0, (0, 1)),
        (1, 1.0, (0, 1)),
        (1, 2.0, (1, 2)),
        (2, 7.0, (1, 2)),
        (2, 3.0, (0, 2)),
    )
    case = Case("three duels", (0.6, 1.5, 2.2), picks)
    step = GibbsStep(3, within=[[0, 1], [1, 2], [0, 2]])
    counts = [4.0, 3.0, 10.0], [5.0, 9.0, 3.0]
    prior = np.array(case.concentration)
    found = run(step, start(200, 3), counts, prior, 400, 100, 1)
    assert_agree(found, quadrature(case))
    fewer = [4.0, 3.0, 10.0], [5.0, 9.0, 0.0]  # the step forgets one term
    with pytest.raises(AssertionError, match=r"\|z\| ="):
        assert_agree(run(step, start(200, 3), fewer, prior, 400, 100, 1), quadrature(case))


def test_a_batch_of_sweeps_is_near_the_truth() -> None:
    """Sweeps of 40 chains at once, started from the prior; |z| of six means."""
    step = GibbsStep(3, within=[[0, 1], [1, 2], [0, 2]])
    counts = ([5.0, 7.0, 4.0], [7.0, 5.0, 4.0])
    exponents = {frozenset([0]): 5.0, frozenset([1]): 7.0, frozenset([2]): 4.0}
    exponents |= {frozenset([0, 1]): -7.0, frozenset([1, 2]): -5.0, frozenset([0, 2]): -4.0}
    prior = np.array([0.8, 1.5, 1.1])
    rng = np.random.default_rng([SEED, 1])
    p = rng.dirichlet(prior, 40)
    log_p = np.log(p)
    table = [np.broadcast_to(c, (40, 3)) for c in counts]
    kept, kept_logs = [], []
    for k in range(40):
        p = step(rng, p, tuple(table), prior)
        log_p = step.log_step(rng, log_p, tuple(table), prior)
        if k >= 10:
            kept.append(p)
            kept_logs.append(np.exp(log_p))
    truth = simplex_quadrature(exponents, prior.tolist()).mean
    del exponents[frozenset((0, 2))]
    wrong = simplex_quadrature(exponents, prior.tolist()).mean
    for draws in (np.array(kept), np.array(kept_logs)):
        np.testing.assert_allclose(draws.sum(axis=2), 1, rtol=1e-12)
        means = draws.mean(axis=0)  # a chain each, and chains are independent
        error = means.std(axis=0, ddof=1) / np.sqrt(40)
        assert np.abs((means.mean(axis=0) - truth) / error).max() < 6
        assert np.abs((means.mean(axis=0) - wrong) / error).max() > 6


NESTED = (
    ConditionalCounts("abcde")
    .observe({"a": 5, "b": 1})
    .observe({"c": 3, "b": 2}, without="a")
    .observe({"c": 1, "d": 4}, within="cde")
    .observe({"e": 2.5}, within="e")
)


@pytest.mark.compiled
def test_closed_form_where_the_sets_nest() -> None:
    step = GibbsStep.of(NESTED)
    prior = np.array([1.0, 0.5, 2.0, 0.3, 0.8])
    counts = step.totals(NESTED)
    assert_agree(run(step, start(200, 5), counts, prior, 400, 100, 2), exact(NESTED, prior))
    with pytest.raises(AssertionError, match=r"\|z\| ="):
        assert_agree(
            run(step, start(200, 5), counts, prior + [0.5, 0, 0, 0, 0], 400, 100, 2),
            exact(NESTED, prior),
        )


@pytest.mark.compiled
def test_terms_that_say_nothing_say_nothing() -> None:
    """Full sets, single categories and sets given twice are what they are elsewhere."""
    step = GibbsStep("abcde", within=["abcde", "e", "cde", "edc"], without=["a", "bcde"])
    prior = np.array([1.0, 0.5, 2.0, 0.3, 0.8])
    table = np.zeros((6, 5))
    table[0, :2], table[1, 4], table[2, 2], table[3, 3] = (5, 1), 2.5, 1, 4
    table[4, 1:3], table[5, 0] = (2, 3), 7

    def from_table(rng: Any, p: Floats, _: Any, a: Floats) -> Floats:
        return step(rng, p, np.broadcast_to(table, (len(p), 6, 5)), a)

    found = run(from_table, start(200, 5), (), prior, 400, 100, 3)
    assert_agree(found, exact(NESTED, prior))


def outcomes(rng: np.random.Generator, p: Floats) -> tuple[Floats, Floats]:
    """Counts given p: `SIZES` outcomes of each term, each by its set."""
    totals = np.zeros_like(p)
    for members, size in zip(SETS, SIZES, strict=True):
        inside = p[:, members]
        totals[:, members] += rng.multinomial(size, inside / inside.sum(axis=1, keepdims=True))
    return totals, np.tile(SIZES.astype(float), (len(p), 1))


def geweke(step: Step) -> Moments:
    """Counts given p and p given counts, in turn: p must keep its prior."""
    rng = np.random.default_rng([SEED, 5])
    p = rng.dirichlet(PRIOR, 500)
    kept = np.empty((400, *p.shape))
    for k in range(len(kept)):
        p = step(rng, p, outcomes(rng, p), PRIOR)
        kept[k] = p
    return chain_moments(kept.transpose(1, 0, 2))


def prior_moments() -> Moments:
    mean = PRIOR / PRIOR.sum()
    value = np.stack([mean, mean * (1 - mean) / (PRIOR.sum() + 1)])
    return Moments(value, np.zeros_like(value), np.inf)


def plain_step(frozen: bool = False) -> Step:
    """The step in NumPy, on expanded sets; frozen, its total is always 1."""
    inside = np.zeros((len(SETS), 4))
    for t, members in enumerate(SETS[:-1]):
        inside[t, members] = 1.0

    def step(rng: Any, p: Floats, counts: tuple[Floats, Floats], prior: Floats) -> Floats:
        n, m = counts
        waits = m * [1, 1, 1, 0]
        shape = prior.sum() + n.sum(axis=1) - waits.sum(axis=1)
        total = np.ones(len(p)) if frozen else rng.standard_gamma(shape)
        times = np.where(waits > 0, rng.standard_gamma(waits) / np.maximum(p @ inside.T, 1e-300), 0)
        new = rng.standard_gamma(prior + n) / (total[:, None] + times @ inside)
        return np.asarray(new / new.sum(axis=1, keepdims=True))

    return step


def forgetful(rng: Any, p: Floats, counts: tuple[Floats, Floats], prior: Floats) -> Floats:
    n, m = counts
    return STEP(rng, p, (n, m * [0, 1, 1, 1]), prior)


@pytest.mark.compiled
@pytest.mark.parametrize("step", [STEP, plain_step()], ids=["luce", "plain"])
def test_geweke(step: Step) -> None:
    assert_agree(geweke(step), prior_moments())


@pytest.mark.compiled
@pytest.mark.parametrize(
    "step", [forgetful, plain_step(frozen=True)], ids=["a term forgotten", "total not redrawn"]
)
def test_negative_control_geweke(step: Step) -> None:
    with pytest.raises(AssertionError, match=r"\|z\| ="):
        assert_agree(geweke(step), prior_moments())


def library_problem(counts: ConditionalCounts, prior: Floats) -> Problem:
    shape = prior + counts.category_counts
    return make_problem(*set_arrays(counts.sets), shape, shape.sum() + counts.sets.exponent.sum())


@pytest.mark.parametrize("small", [False, True], ids=["plain", "logarithms"])
def test_the_same_bits_give_the_draws_of_the_library(small: bool) -> None:
    counts = (
        ConditionalCounts(7)
        .observe_ranking([3, 1, 0, 6, 2], 2)
        .observe({1: 4, 5: 1}, without=[0])
        .observe({1: 4, 6: 1}, within=[1, 6])
        .observe({2: 4, 4: 3, 6: 1}, without=[0, 1])
    )
    prior = np.linspace(0.3, 2.0, 7) * (1e-2 if small else 1.0)
    step, problem = GibbsStep.of(counts), library_problem(counts, prior)
    p = np.random.default_rng(1).dirichlet(np.ones(7))
    state = np.log(p) if small else p.copy()
    bits, out = GibbsStep.bits(np.random.default_rng(2)), np.empty((1, 7))
    KERNELS["waiting-times"].advance(
        bits, problem._replace(wide=True if small else None), None, state, np.zeros(4), False, out,
        np.empty(1), None,
    )  # fmt: skip
    take = step.log_step if small else step
    ours = take(np.random.default_rng(2), np.log(p) if small else p, step.totals(counts), prior)
    np.testing.assert_allclose(ours, out[0], rtol=1e-13)


def test_rows_are_steps_one_by_one() -> None:
    """With the bits carried on from row to row a batch is the same draws as single steps."""
    rng = np.random.default_rng(7)
    p = rng.dirichlet(PRIOR, 5)
    n, m = outcomes(rng, p)
    prior = rng.gamma(2.0, size=(5, 4)) + 0.1
    batch = STEP(np.random.default_rng(3), p, (n, m), prior)
    bits, single = GibbsStep.bits(np.random.default_rng(3)), np.empty((5, 4))
    for r in range(5):
        assert STEP.compiled(bits, STEP.arrays, p[r], n[r], m[r], prior[r], single[r], None) == 0
    np.testing.assert_array_equal(batch, single)
    shaped = STEP(np.random.default_rng(3), p[None], (n[None], m[None]), prior[None])
    np.testing.assert_array_equal(shaped[0], batch)


def test_very_small_concentrations_stay_finite() -> None:
    step = GibbsStep(5, within=[[0, 1], [1, 2, 3], [3, 4]])
    rng = np.random.default_rng(SEED)
    logs = np.full(5, -np.log(5))
    p = np.exp(logs)
    for _ in range(300):
        logs = step.log_step(rng, logs, ([2, 1, 0, 0, 1], [2, 1, 1]), 1e-3)
        p = step(rng, p, ([2, 1, 0, 0, 1], [2, 1, 1]), 1e-3)
        assert np.isfinite(logs).all()
        assert np.isfinite(p).all()
    huge = step(rng, p, ([1e15, 1e15, 0, 0, 1e15], [1e15] * 3), 1e-3)
    assert np.isfinite(huge).all()


@pytest.mark.compiled
def test_logarithms_and_numbers_agree_in_law() -> None:
    step = GibbsStep(3, within=[[0, 1], [1, 2]])
    counts, prior = ([4.0, 3.0, 7.0], [5.0, 9.0]), np.array([0.6, 1.5, 2.2])

    def in_logs(rng: Any, p: Floats, given: Any, a: Floats) -> Floats:
        return np.exp(step.log_step(rng, np.log(p), given, a))

    plain = run(step, start(100, 3), counts, prior, 300, 50, 8)
    assert_agree(run(in_logs, start(100, 3), counts, prior, 300, 50, 9), plain)


@pytest.mark.compiled
def test_no_terms_is_a_dirichlet() -> None:
    step = luce.GibbsStep(4)
    found = run(step, start(200, 4), (PRIOR * 0, []), PRIOR, 200, 0, 11)
    assert_agree(found, prior_moments())


def test_sets_of_data_in_every_form() -> None:
    counts = ConditionalCounts("abcdef").observe_ranking("cabdef").observe({"f": 2}, without="ab")
    counts = counts.observe({"e": 1, "d": 2}, within="de").observe({"a": 3}, without="f")
    step = GibbsStep.of(counts)
    outcomes, waits = step.totals(counts)
    rng = np.random.default_rng([SEED, 3])
    for a in (1.0, np.linspace(0.01, 0.3, 6)):
        given = np.tile(outcomes, (5, 1)), np.tile(waits, (5, 1))
        p = step(rng, np.full((5, 6), 1 / 6), given, a)
        np.testing.assert_allclose(p.sum(axis=1), 1, rtol=1e-12)
        assert len(np.unique(p[:, 0])) == 5
    with pytest.raises(luce.LuceError, match="group"):
        GibbsStep.of(counts.observe_group("ab", 9))
