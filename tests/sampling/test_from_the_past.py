"""Coupling from the past: certified starts, draws against quadrature, and the usual mistakes."""

import numpy as np
import pytest
from lib.bounds import SEED, z_limit
from lib.past_oracles import couple
from lib.sampling_oracles import Case, assert_agree, chain_moments, quadrature
from lib.size import draws
from lib.weighted_cases import CASES, counts_of
from lib.weighted_cases import quadrature as weighted_quadrature
from scipy.stats import gamma

import luce
from luce import ConditionalCounts, Posterior
from luce.errors import MethodError
from luce.kernels import KERNELS
from luce.kernels.layouts import lean
from luce.kernels.random import new_bits
from luce.model.shapes import raw_problem
from luce.sampling.from_the_past import (
    LARGEST_DISTANCE,
    MOST_SWEEPS,
    fit_past,
    lower_start,
    table_of_sets,
)

DUELS = Case(
    "duels among three, unequal in prior, numbers and results",
    (1.2, 0.7, 2.0),
    ((0, 3, (0, 1)), (1, 2, (0, 1)), (1, 4, (1, 2)), (2, 1, (1, 2)), (2, 2, (0, 2))),
)


ONE_WITHOUT_WINS = (
    ConditionalCounts(3).observe({0: 2}, within=[0, 1]).observe({1: 1}, within=[1, 2])
)


def counts_of_case(case: Case) -> ConditionalCounts:
    counts = ConditionalCounts(case.n)
    for i, count, within in case.picks:
        counts = counts.observe({i: count}, within=within)
    return counts


def problem_of(case: Case):
    return raw_problem(counts_of_case(case), np.array(case.concentration))


def path(n: int, games: int) -> ConditionalCounts:
    counts = ConditionalCounts(n)
    for i in range(n - 1):
        counts = counts.observe({i: games, i + 1: 1}, within=[i, i + 1])
    return counts


@pytest.mark.compiled
@pytest.mark.parametrize("reduce", [True, False])
def test_draws_have_the_moments_of_quadrature(reduce: bool) -> None:
    run = Posterior(counts_of_case(DUELS), DUELS.concentration).sample(
        300, chains=40, seed=SEED, method="from-the-past", reduce=reduce, progress=False
    )
    assert run.attrs["independent_draws"] == 1
    assert_agree(chain_moments(run.posterior["probabilities"].to_numpy()), quadrature(DUELS))


@pytest.mark.compiled
@pytest.mark.parametrize("name", ["single", "overlapping"])
def test_draws_of_weighted_sets(name: str) -> None:
    concentration = [1.5, 0.7, 1.0]
    run = Posterior(counts_of(CASES[name]), concentration).sample(
        3000, chains=4, seed=SEED, method="from-the-past", reduce=False, progress=False
    )
    p = run.posterior["probabilities"].to_numpy().reshape(-1, 3)
    truth = weighted_quadrature(CASES[name], concentration)
    z = (p.mean(axis=0) - truth.mean) / np.sqrt(truth.variance / len(p))
    assert np.abs(z).max() < z_limit(6)
    false = weighted_quadrature(CASES[name], [1.5, 1.0, 0.7])
    assert np.abs((p.mean(axis=0) - false.mean) / np.sqrt(false.variance / len(p))).max() > 6


def given_to_couple(case: Case) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    problem = problem_of(case)
    return problem.shape, table_of_sets(problem), problem.waits


@pytest.mark.parametrize("mistake", [None, "unchecked"])
def test_chains_must_have_met(mistake: str | None) -> None:
    p = couple(*given_to_couple(DUELS), 10_000, SEED + 1, mistake)
    found, truth = chain_moments(p.reshape(50, -1, 3)), quadrature(DUELS)
    if mistake is None:
        assert_agree(found, truth)
    else:
        with pytest.raises(AssertionError):
            assert_agree(found, truth)


@pytest.mark.parametrize("mistake", [None, "fresh gammas", "forwards"])
def test_what_was_random_once_stays(mistake: str | None) -> None:
    """Chains from further back end at the same point, unless a usual mistake is made."""
    ends = [couple(*given_to_couple(DUELS), 100, SEED + 1, mistake, low) for low in (1e-20, 1e-60)]
    if mistake is None:
        np.testing.assert_allclose(*ends, rtol=1e-10)
    else:
        with pytest.raises(AssertionError):
            np.testing.assert_allclose(*ends, rtol=1e-10)


@pytest.mark.parametrize("case", ["duels", "path", "weights"])
def test_a_start_further_back_ends_at_the_same_point(case: str) -> None:
    """The gammas of later sweeps are used again; with fresh ones the ends would differ."""
    data = {
        "duels": lambda: problem_of(DUELS),
        "path": lambda: raw_problem(path(4, 2), np.array([1.0, 0.8, 1.5, 1.2])),
        "weights": lambda: raw_problem(counts_of(CASES["overlapping"]), np.array([1.5, 0.7, 1.0])),
    }
    problem = data[case]()
    past = fit_past(problem)
    assert not isinstance(past, str)
    form, n, kernel = lean(problem), len(problem.shape), KERNELS["from-the-past"]

    def first_draw(seed: int, low: float) -> tuple[np.ndarray, float]:
        state, out, stat = np.full(n, 1 / n), np.empty((1, n)), np.empty(1)
        fit = past._replace(low=low * past.low, sweeps=8)
        rng = new_bits(np.random.SeedSequence([SEED, seed]))
        kernel.advance(rng, form, fit, state, np.zeros(3), False, out, stat, None)
        np.testing.assert_array_equal(out[0], state)
        return out[0], float(stat[0])

    further = 0
    for seed in range(draws(compiled=100, plain=10)):
        (near, least), (far, most) = first_draw(seed, 1.0), first_draw(seed, 1e-20)
        further += most > least
        np.testing.assert_allclose(near, far, rtol=1e-10)
    assert further > 0
    one, other = first_draw(0, 1.0)[0], first_draw(1, 1.0)[0]
    assert np.abs(one - other).max() > 1e-3


def chance_below(case: Case, i: int, low: float) -> float:
    """P(λ_i < low), λ_i = Λ p_i: over a fine grid of log odds, as in quadrature."""
    shape = np.array(case.concentration)
    s = np.linspace(-150.0, 60.0, 1501)
    order = [i, (i + 1) % 3, (i + 2) % 3]
    log_x, log_not_x = -np.logaddexp(0, -s)[:, None], -np.logaddexp(0, s)[:, None]
    t = np.linspace(-40.0, 40.0, 1201)
    log_y, log_not_y = -np.logaddexp(0, -t), -np.logaddexp(0, t)
    log_p = dict(
        zip(order, [log_x + 0 * log_y, log_not_x + log_y, log_not_x + log_not_y], strict=True)
    )
    log_f = sum(shape[j] * log_p[j] for j in range(3))
    for j, count, within in case.picks:
        log_f = log_f + count * (log_p[j] - np.logaddexp.reduce([log_p[k] for k in within]))
    mass = np.exp(log_f - log_f.max()).sum(axis=1)
    total = shape.sum()
    below = gamma(total).cdf(np.exp(np.log(low) - log_x[:, 0]))
    return float((mass * below).sum() / mass.sum())


@pytest.mark.parametrize("i", range(3))
def test_the_posterior_is_hardly_ever_below_the_start(i: int) -> None:
    problem = problem_of(DUELS)
    low = lower_start(problem, table_of_sets(problem))
    assert low is not None
    assert chance_below(DUELS, i, float(np.exp(low[i]))) < LARGEST_DISTANCE
    # A start chosen as if the posterior were its own prior without the total would be too high.
    high = float(np.exp(low[i] / 8))
    assert chance_below(DUELS, i, high) > LARGEST_DISTANCE


def test_the_bound_holds_where_the_chance_has_a_closed_form() -> None:
    """Without sets λ_i is a gamma variate of shape a_i."""
    a = np.array([0.8, 1.5, 2.5])
    problem = raw_problem(ConditionalCounts(3), a)
    low = lower_start(problem, table_of_sets(problem))
    assert low is not None
    below = gamma(a).cdf(np.exp(low)).sum()
    assert 0 < below < LARGEST_DISTANCE
    assert gamma(a).cdf(np.exp(low / 2)).sum() > LARGEST_DISTANCE  # a higher start would not do


@pytest.mark.compiled
def test_draws_are_independent() -> None:
    run = Posterior(path(5, 2)).sample(
        4000, chains=4, seed=SEED, method="from-the-past", progress=False
    )
    p = np.log(run.posterior["probabilities"].to_numpy())
    p -= p.mean(axis=(0, 1))
    lag = (p[:, 1:] * p[:, :-1]).mean(axis=(0, 1)) / (p**2).mean(axis=(0, 1))
    assert np.abs(lag).max() * np.sqrt(16_000) < z_limit(5)
    assert run.sample_stats["sweeps"].to_numpy().min() >= 1
    assert run.attrs["method"] == "from-the-past"


@pytest.mark.compiled
@pytest.mark.slow
@pytest.mark.parametrize("name", ["path", "ten players"])
def test_draws_agree_with_long_runs(name: str) -> None:
    if name == "path":
        counts = path(6, 2)
    else:
        strengths = {f"p{i}": 1.3**i for i in range(10)}
        counts = luce.from_pairs(luce.simulate.pairs(SEED + 5, strengths, 40))
    posterior = Posterior(counts, 1.4)
    ours = posterior.sample(100, chains=40, seed=SEED + 1, method="from-the-past", progress=False)
    other = posterior.sample(
        20_000, chains=40, seed=SEED + 2, method="waiting-times", progress=False
    )
    assert_agree(
        *(chain_moments(run.posterior["probabilities"].to_numpy()) for run in (ours, other))
    )


@pytest.mark.parametrize(
    ("counts", "concentration", "why"),
    [
        (
            ConditionalCounts(3).observe_group([0, 1], 2).observe({1: 1}, within=[1, 2]),
            1.0,
            "grouped",
        ),
        (path(5, 3000), 1.0, f"over {MOST_SWEEPS:,} sweeps"),
        (ONE_WITHOUT_WINS, 0.04, "too small"),
        (path(5, 2), 0.07, "no start is below"),
    ],
    ids=["groups", "much data", "tiny shapes", "small shapes"],
)
def test_what_does_not_fit_is_refused_in_words(
    counts: ConditionalCounts, concentration: float, why: str
) -> None:
    with pytest.raises(MethodError, match=why):
        Posterior(counts, concentration).sample(
            5, method="from-the-past", reduce=False, progress=False
        )


def test_no_data_is_no_bound() -> None:
    """Exponents that no data has cannot be shared out among the members of their sets."""
    problem = problem_of(DUELS)
    impossible = problem._replace(waits=problem.waits * 20, total_shape=0.5)
    assert lower_start(impossible, table_of_sets(problem)) is None
