"""The evidence of overlapping sets: against quadrature, integrals over one λ, and closed forms.

An estimate is compared with the truth in its own standard errors, and those with how far estimates
lie from it.  LUCE_TEST_SEED moves all seeds.
"""

import os
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np
import pytest
from lib.evidence_oracles import log_evidence_of_all, star_log_evidence
from lib.oracles import Family, simplex_quadrature
from lib.sampling_oracles import allowed
from scipy.special import gammaln
from scipy.stats import binom, chi2

from luce import ConditionalCounts, Posterior
from luce.errors import EvidenceWarning
from luce.estimates import evidence
from luce.estimates.evidence import Estimate
from luce.kernels.problem import Problem
from luce.model.exact import LogEvidence
from luce.model.shapes import raw_problem

SEED = int(os.environ.get("LUCE_TEST_SEED", "0"))
BOTH = ("bridge", "chib")


def quietly(posterior: Posterior, seed: int, draws: int = 1000, **options: str) -> LogEvidence:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EvidenceWarning)
        return posterior.log_evidence(draws, seed=1000 * SEED + seed, progress=False, **options)  # type: ignore[arg-type]


@dataclass(frozen=True)
class Case:
    """A posterior, and its log evidence by other means."""

    posterior: Posterior
    truth: Callable[[Posterior], float]

    @cached_property
    def log_evidence(self) -> float:
        return self.truth(self.posterior)


def spelled_out(counts: ConditionalCounts) -> Family:
    family = {frozenset([i]): float(k) for i, k in enumerate(counts.category_counts)}
    sets = counts.sets
    return family | {
        frozenset(sets.set_members(t).tolist()): float(e) for t, e in enumerate(sets.exponent)
    }


def by_quadrature(posterior: Posterior) -> float:
    return simplex_quadrature(
        spelled_out(posterior.counts), posterior.concentration.tolist()
    ).log_evidence


def observed(n: int, *seen: tuple[dict[int, float], list[int]]) -> ConditionalCounts:
    counts = ConditionalCounts(n)
    for outcomes, within in seen:
        counts = counts.observe(outcomes, within=within)
    return counts


def two_stars() -> Case:
    """Two cores, a pair besides, and outcomes that could be anything."""
    a, seen = [0.7, 1.2, 0.5, 2.0, 1.5, 0.9, 0.6, 1.1], [1.0, 0, 2, 0, 0, 1, 0, 3]
    counts = observed(
        8, ({1: 2, 0: 3}, [0, 1]), ({2: 1, 0: 2}, [0, 2]), ({4: 3, 3: 1}, [3, 4]),
        ({5: 1, 3: 4}, [3, 5]), ({6: 2, 7: 5}, [6, 7]), (dict(enumerate(seen)), list(range(8))),
    )  # fmt: skip
    c = [x + k for x, k in zip(a, seen, strict=True)]

    def truth(_: Posterior) -> float:
        pair = log_evidence_of_all([c[6], c[7]], [2, 5])
        one = star_log_evidence(c[0], c[1:3], [(2, 3), (1, 2)])
        other = star_log_evidence(c[3], c[4:6], [(3, 1), (1, 4)])
        return log_evidence_of_all(a, seen) + pair + one + other

    return Case(Posterior(counts, a), truth)


def star() -> Case:
    a, wins = [0.8, 1.5, 0.4, 2.2, 1.0, 0.6], [(2, 1), (1, 3), (0, 2), (4, 2), (1, 1)]
    pairs = [({k + 1: i, 0: j}, [0, k + 1]) for k, (i, j) in enumerate(wins)]
    counts = observed(6, *pairs)
    return Case(Posterior(counts, a), lambda _: star_log_evidence(a[0], a[1:], wins))


def wide() -> Case:
    """A concentration so small that logarithms are kept."""
    counts = observed(3, ({1: 2, 0: 3}, [0, 1]), ({2: 1, 0: 2}, [0, 2]))
    a = [0.02, 0.03, 0.015]
    return Case(Posterior(counts, a), lambda _: star_log_evidence(a[0], a[1:], [(2, 3), (1, 2)]))


PAIRS = observed(3, ({0: 30, 1: 12}, [0, 1]), ({1: 9, 2: 14}, [1, 2]), ({0: 3, 2: 2}, [0, 2]))
FEW = observed(3, ({0: 2, 1: 1}, [0, 1]), ({1: 1, 2: 3}, [1, 2]))
# Two peaks of the same height: 1 and 2 together have much, and lose to 0 when alone.
PEAKS = observed(3, ({0: 12}, [0, 1, 2]), ({0: 6}, [0, 1]), ({0: 6}, [0, 2]))
TEAMS = observed(3, ({0: 3, 1: 7}, [0, 1]), ({2: 4, 0: 2}, [0, 1, 2])).observe_group([1, 2], 5)
FOUR = observed(4, ({0: 4, 1: 2}, [0, 1]), ({1: 3, 2: 1, 3: 1}, [1, 2, 3]), ({3: 2, 0: 1}, [0, 3]))

CASES: dict[str, Callable[[], Case]] = {
    "pairs": lambda: Case(Posterior(PAIRS, [1.0, 0.6, 2.0]), by_quadrature),
    "few, concentration 0.3": lambda: Case(Posterior(FEW, 0.3), by_quadrature),
    "teams": lambda: Case(Posterior(TEAMS, [0.7, 1.3, 0.5]), by_quadrature),
    "two peaks": lambda: Case(
        Posterior(PEAKS.observe_group([1, 2], 37), [1.2, 1.4, 1.4]), by_quadrature
    ),
    "four": lambda: Case(Posterior(FOUR, [1.5, 2.0, 1.2, 1.7]), by_quadrature),
    "four and teams": lambda: Case(
        Posterior(FOUR.observe_group([0, 2], 3), [1.5, 2.0, 1.2, 1.7]), by_quadrature
    ),
    "star": star,
    "two stars": two_stars,
    "wide": wide,
}


@cache
def case(name: str) -> Case:
    return CASES[name]()


def errors_off(estimate: Estimate, truth: float) -> float:
    return abs(estimate.value - truth) / estimate.standard_error


def test_integrals_over_one_lambda_are_quadrature() -> None:
    for a, wins in (((0.6, 1.0, 2.0), [(2, 3), (4, 1)]), ((0.3, 0.3, 0.35), [(0, 3), (1, 2)])):
        counts = observed(3, *[({k + 1: i, 0: j}, [0, k + 1]) for k, (i, j) in enumerate(wins)])
        expected = by_quadrature(Posterior(counts, a))
        assert star_log_evidence(a[0], a[1:], wins) == pytest.approx(expected, abs=1e-10)


@pytest.mark.parametrize("name", CASES)
def test_both_estimates_are_the_integral(name: str) -> None:
    given = case(name)
    found = quietly(given.posterior, 1)
    assert (found.value, found.standard_error, found.method) == (
        *found.estimates["bridge"][:2],
        "bridge",
    )
    for method in BOTH:
        assert errors_off(found.estimates[method], given.log_evidence) < allowed(2 * len(CASES))
    # Nor are the standard errors so large that anything would do.
    assert found.standard_error < 0.05


# -- negative controls ------------------------------------------------------------------


def estimates_from(
    posterior: Posterior, draws_of: Posterior, seed: int
) -> tuple[dict[str, Estimate], float]:
    """Both methods on the raw categories, with draws of some posterior; and Z of the prior."""
    tree = draws_of.sample(2000, seed=1000 * SEED + seed, progress=False, log_probabilities=True)
    logs = tree["posterior"]["log_probabilities"].values
    a = posterior.concentration
    problem, mode = raw_problem(posterior.counts, a), np.asarray(posterior.mode("log-odds"))
    first, second = np.random.SeedSequence([SEED, seed]).spawn(2)
    found = {
        "bridge": evidence._bridge(problem, mode, logs, np.random.default_rng(first)),
        "chib": evidence._chib(problem, mode, logs, second),
    }
    return found, float(gammaln(a).sum() - gammaln(a.sum()))


NESTED = {
    "one ranking": ConditionalCounts(5).observe_ranking([3, 0, 4, 1], 2).observe({1: 1}),
    "groups": ConditionalCounts(5).observe({0: 3, 1: 1}, within=[0, 1]).observe_group([0, 1, 4], 3),
    "left out": ConditionalCounts(6).observe({1: 2, 2: 4}, without=[0]).observe({0: 1, 5: 2}),
}


@pytest.mark.parametrize("concentration", [0.5, 2.0])
@pytest.mark.parametrize("name", NESTED)
def test_exact_draws_give_the_closed_form(name: str, concentration: float) -> None:
    posterior = Posterior(
        NESTED[name], concentration * (1 + np.arange(NESTED[name].n_categories) / 5)
    )
    found, prior = estimates_from(posterior, posterior, 2)
    truth = float(posterior.log_evidence()) + prior
    for method in BOTH:
        assert errors_off(found[method], truth) < allowed(4 * len(NESTED))


@pytest.mark.parametrize("method", BOTH)
def test_negative_control_a_dropped_count(method: str) -> None:
    given = case("pairs")
    right, prior = estimates_from(given.posterior, given.posterior, 3)
    truth = given.log_evidence + prior
    assert errors_off(right[method], truth) < allowed(2)
    dropped = observed(3, ({0: 30, 1: 12}, [0, 1]), ({1: 9}, [1, 2]), ({0: 3, 2: 2}, [0, 2]))
    wrong, _ = estimates_from(given.posterior, Posterior(dropped, given.posterior.concentration), 3)
    assert errors_off(wrong[method], truth) > allowed(2)


@pytest.mark.parametrize("method", BOTH)
def test_negative_control_heights_without_a_set(
    monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    original = evidence.heights

    def blind(problem: Problem, logs: np.ndarray) -> np.ndarray:
        without = problem.waits * (np.arange(len(problem.waits)) > 0)
        return original(problem._replace(waits=without), logs)

    monkeypatch.setattr(evidence, "heights", blind)
    for name in ("pairs", "teams", "star"):
        found = quietly(case(name).posterior, 4)
        assert errors_off(found.estimates[method], case(name).log_evidence) > allowed(2)


# -- standard errors --------------------------------------------------------------------

REPEATS = 200


def check_standard_errors(z: np.ndarray) -> None:
    """Do so many estimates lie from the truth as their standard errors say?

    Three assertions of one in 30,000 each: on how many lie within 1.96, on their mean, and on their
    spread.
    """
    tail = 1e-4 / 3 / 2
    inside, n = int((np.abs(z) < 1.959964).sum()), len(z)
    assert binom.ppf(tail, n, 0.95) <= inside <= binom.isf(tail, n, 0.95)
    assert abs(z.mean()) < allowed(3) / np.sqrt(n)
    assert chi2.ppf(tail, n - 1) < (n - 1) * z.var(ddof=1) < chi2.isf(tail, n - 1)


@pytest.mark.slow
@pytest.mark.parametrize("name", [pytest.param("teams", marks=pytest.mark.slow), "star"])
def test_standard_errors_are_what_they_say(name: str) -> None:
    given = case(name)
    z = np.empty((REPEATS, 2))
    for k in range(REPEATS):
        found = quietly(given.posterior, 100 + k, draws=300)
        for m, method in enumerate(BOTH):
            value, error, _ = found.estimates[method]
            z[k, m] = (value - given.log_evidence) / error
    for each in z.T:
        check_standard_errors(each)
        for wrong in (1.7 * each, each / 1.7, each + 0.7):
            with pytest.raises(AssertionError):
                check_standard_errors(wrong)
