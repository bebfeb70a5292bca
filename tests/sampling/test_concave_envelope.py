"""Rejection for any sets: the bound, the search for the centre, draws against quadrature."""

from typing import Any

import numpy as np
import pytest
from lib.bounds import SEED, z_limit
from lib.sampling_oracles import Case, assert_agree, chain_moments, gibbs
from lib.weighted_cases import CASES, counts_of
from lib.weighted_cases import quadrature as weighted_quadrature
from scipy.special import gammaln

from luce import ConditionalCounts, Posterior
from luce.kernels import CONCAVE_REJECTION
from luce.kernels.problem import Problem
from luce.model.shapes import raw_problem
from luce.sampling.fits import Fits
from luce.sampling.from_the_past import table_of_sets

DUELS = Case(
    "duels among three, unequal in prior, numbers and results",
    (1.2, 0.7, 2.0),
    ((0, 3, (0, 1)), (1, 2, (0, 1)), (1, 4, (1, 2)), (2, 1, (1, 2)), (2, 2, (0, 2))),
)
FOUR = {"triples": [(0, 1, 2), (1, 2, 3), (0, 3)], "all but two": [(0, 1), (1, 2), (2, 3), (0, 3)]}


def duels() -> ConditionalCounts:
    counts = ConditionalCounts(3)
    for i, count, within in DUELS.picks:
        counts = counts.observe({i: count}, within=within)
    return counts


def four(sets: list[tuple[int, ...]]) -> ConditionalCounts:
    counts = ConditionalCounts(4)
    for k, within in enumerate(sets):
        counts = counts.observe({within[0]: 2 + k, within[-1]: 1}, within=within)
    return counts


def problems() -> dict[str, Problem]:
    concentration = np.array([1.2, 0.7, 2.0])
    found = {"duels": raw_problem(duels(), concentration)}
    found |= {
        name: raw_problem(four(sets), np.array([0.8, 1.5, 1.1, 2.0])) for name, sets in FOUR.items()
    }
    return found | {"weights": raw_problem(counts_of(CASES["overlapping"]), concentration)}


@pytest.mark.parametrize("name", ["duels", "triples", "all but two", "weights"])
def test_the_bound_is_above_the_ratio_everywhere(name: str) -> None:
    problem = problems()[name]
    found = Fits(problem).concave_envelope
    assert found is not None
    fit, table = found[0], table_of_sets(problem)
    d = problem.shape - fit.shape
    assert d.sum() == pytest.approx(problem.waits.sum())
    rng = np.random.default_rng(SEED)
    near = rng.dirichlet(fit.shape, 100_000)
    far = rng.dirichlet(np.full(len(d), 0.1), 100_000)
    p = np.concatenate([near, far]).clip(1e-200)
    logs = np.log(p) @ d - np.log(p @ table.T) @ problem.waits
    assert logs.max() <= fit.log_bound
    assert logs.max() > fit.log_bound - 0.1  # and not far above
    assert 0.01 < found[1] < 1.0


@pytest.mark.parametrize("name", ["duels", "triples", "weights"])
def test_the_search_ends_where_most_is_accepted(name: str) -> None:
    problem = problems()[name]
    curvature, best = Fits(problem).curvature, Fits(problem).concave_envelope
    assert curvature is not None
    assert best is not None
    table, rng = table_of_sets(problem), np.random.default_rng(SEED + 1)

    def log_weight(log_q: np.ndarray) -> float:
        """Log of B(a) exp M, over which the acceptance is a constant."""
        q = np.exp(log_q)
        sums = table @ q
        d = q * ((problem.waits / sums) @ table)
        a = problem.shape - d
        bound = d @ log_q - problem.waits @ np.log(sums)
        return float(gammaln(a).sum() - gammaln(a.sum()) + bound) if a.min() > 0 else np.inf

    fit = best[0]
    found = gammaln(fit.shape).sum() - gammaln(fit.shape.sum()) + fit.log_bound
    others = [
        log_weight(curvature.mode + 0.3 * rng.standard_normal(len(fit.shape))) for _ in range(200)
    ]
    assert found < min(others) + 1e-6
    assert found < log_weight(curvature.mode) - 1e-3  # the search has moved from its start


FOUR_PLAYERS = Case(
    "duels among four, unequal in prior, numbers and results",
    (1.2, 0.7, 2.0, 0.9),
    (
        (0, 3, (0, 1)),
        (1, 2, (0, 1)),
        (1, 4, (1, 2)),
        (2, 1, (1, 2)),
        (3, 2, (0, 3)),
        (2, 2, (2, 3)),
    ),
)


def moments(**options: Any) -> Any:
    counts = ConditionalCounts(4)
    for i, count, within in FOUR_PLAYERS.picks:
        counts = counts.observe({i: count}, within=within)
    run = Posterior(counts, FOUR_PLAYERS.concentration).sample(
        500, chains=40, seed=SEED, method="rejection", progress=False, **options
    )
    assert run.attrs["independent_draws"] == 1
    return chain_moments(run.posterior["probabilities"].to_numpy())


@pytest.mark.compiled
@pytest.mark.parametrize("reduce", [True, False])
def test_draws_have_the_moments_of_a_plain_sampler(reduce: bool) -> None:
    assert_agree(moments(reduce=reduce), gibbs(FOUR_PLAYERS, SEED + 1))


@pytest.mark.compiled
def test_a_bound_that_is_too_low_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    def lowered(bits: Any, problem: Any, fit: Any, *others: Any) -> None:
        CONCAVE_REJECTION.advance(bits, problem, fit._replace(log_bound=-100.0), *others)

    monkeypatch.setattr(
        "luce.kernels.CONCAVE_REJECTION", CONCAVE_REJECTION._replace(advance=lowered)
    )
    with pytest.raises(AssertionError):
        assert_agree(moments(), gibbs(FOUR_PLAYERS, SEED + 1))


@pytest.mark.compiled
def test_draws_of_weighted_sets() -> None:
    concentration = [1.5, 0.7, 1.0]
    run = Posterior(counts_of(CASES["overlapping"]), concentration).sample(
        5000, chains=4, seed=SEED, method="rejection", reduce=False, progress=False
    )
    p = run.posterior["probabilities"].to_numpy().reshape(-1, 3)
    truth = weighted_quadrature(CASES["overlapping"], concentration)
    z = (p.mean(axis=0) - truth.mean) / np.sqrt(truth.variance / len(p))
    assert np.abs(z).max() < z_limit(6)
    false = weighted_quadrature(CASES["overlapping"], [1.5, 1.0, 0.7])
    assert np.abs((p.mean(axis=0) - false.mean) / np.sqrt(false.variance / len(p))).max() > 6
