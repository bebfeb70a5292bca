"""The figures that estimates without bias are to reach; all of them are slow."""

import sys
from typing import Any

import numpy as np
import pytest
from lib.bounds import SEED, z_limit
from lib.coupling_cases import league, row
from lib.oracles import simplex_quadrature
from lib.places import BENCHMARKS

import luce
from luce import ConditionalCounts, Posterior
from luce.estimates.estimate import Estimate
from luce.sampling.meeting_times import Meetings, child
from luce.sampling.mixing import errors_of_means
from luce.sampling.replicates import repeat
from luce.workflows.unbiased_means import CoupledMeans

sys.path.append(str(BENCHMARKS))

import problems

pytestmark = [pytest.mark.slow, pytest.mark.compiled]

# Games, and the median and the 95 % quantile of the coupled sweeps until pairs meet, as the scheme
# was measured with lag 1 before it was built.
TIMES = {
    "5 players, 30 games": (lambda: league(5, 30, 1), 7, 11),
    "10 players, 60 games": (lambda: league(10, 60, 1), 10, 15),
    "30 players, 435 games": (lambda: league(30, 435, 1), 12, 19),
    "12 players in a row": (lambda: row(12, 10, 2), 45, 77),
}

# Largest cost of the same exactness, by that of ordinary chains.
MOST_COST = 1.5


@pytest.mark.parametrize("name", TIMES)
def test_pairs_meet_soon_and_cost_little(name: str) -> None:
    make, median, most = TIMES[name]
    posterior = Posterior(make())
    pairs = Meetings(posterior.model, np.random.SeedSequence(SEED), 2000, 1, 10_000)
    met = repeat(pairs)[:, 0]
    assert np.median(met) <= 2 * median
    assert np.quantile(met, 0.95) <= 2 * most
    found = luce.unbiased(posterior, replicates=2000, seed=SEED, progress=False)
    assert found.details["relative_cost"] <= MOST_COST


TRIANGLE = ("abc", (0.8, 1.5, 2.0), [("ab", 4, 1), ("bc", 3, 2), ("ca", 2, 5)])
SQUARE = ("abcd", (0.8, 1.5, 2.0, 0.6), [("ab", 4, 1), ("bc", 3, 2), ("cd", 1, 5), ("da", 2, 2)])


def posterior_and_truth(labels: str, alpha: Any, games: Any) -> tuple[Posterior, Any]:
    counts, exponents = ConditionalCounts(labels), dict[frozenset[int], float]()
    for (first, second), won, lost in games:
        counts = counts.observe({first: won, second: lost}, within=[first, second])
        i, j = labels.index(first), labels.index(second)
        for key, power in (((i,), won), ((j,), lost), ((i, j), -won - lost)):
            exponents[frozenset(key)] = exponents.get(frozenset(key), 0.0) + power
    return Posterior(counts, alpha), simplex_quadrature(exponents, alpha).mean


def estimates(posterior: Posterior, number: int, k: int, m: int) -> Any:
    """H of independent pairs, a row each, of the probabilities."""
    seed = child(np.random.SeedSequence(SEED), 3)
    pairs = CoupledMeans(posterior.model, seed, number, k, m, 10_000, None)
    rows, expansion = repeat(pairs)[:, :-2], pairs.chains.expansion
    return expansion.factor * rows[:, expansion.product]


@pytest.mark.parametrize("case", [TRIANGLE, SQUARE], ids=["three", "four"])
@pytest.mark.parametrize(("k", "m"), [(1, 1), (4, 24)])
def test_ten_thousand_pairs_agree_with_quadrature(case: Any, k: int, m: int) -> None:
    posterior, truth = posterior_and_truth(*case)
    means = estimates(posterior, 10_000, k, m)
    error = means.std(axis=0, ddof=1) / 100
    assert (np.abs(means.mean(axis=0) - truth) < z_limit(14) * error).all()


def test_intervals_cover_as_often_as_they_say() -> None:
    posterior, truth = posterior_and_truth(*TRIANGLE)
    means = estimates(posterior, 200_000, 2, 8).reshape(2000, 100, 3)

    def share_covered(each: Any, center: Any) -> Any:
        error = each.std(axis=1, ddof=1) / 10
        low, high = Estimate(each.mean(axis=1), error).interval(0.95)
        return ((low <= center) & (center <= high)).mean(axis=0)

    covered = share_covered(means, truth)
    assert (covered > 0.93).all()
    assert (covered < 0.97).all()
    # Of a mean that is one standard error off, and of errors that are a fifth too small.
    shift = means.std(axis=(0, 1)) / 10
    assert (share_covered(means, truth + shift) < 0.93).all()
    center = means.mean(axis=1, keepdims=True)
    assert (share_covered(center + 0.8 * (means - center), truth) < 0.93).any()


@pytest.mark.parametrize("name", ["P1", "P2", "P3", "P4"])
def test_estimates_agree_with_long_runs(name: str) -> None:
    posterior = problems.load(name).posterior()
    found = luce.unbiased(posterior, replicates=1500, seed=SEED, progress=False)
    assert found.details["relative_cost"] <= MOST_COST
    run = posterior.sample(15_000, chains=4, seed=SEED + 1, progress=False)
    p = run["posterior"]["probabilities"].values
    error = errors_of_means(np.ascontiguousarray(p.transpose(2, 0, 1)))
    both = np.hypot(found.standard_error.values, error)
    assert (np.abs(found.value.values - p.mean(axis=(0, 1))) < z_limit(4 * p.shape[2]) * both).all()
