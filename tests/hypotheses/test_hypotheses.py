"""Hypotheses: closed forms of plain data, quadrature of overlapping sets, other optimisers.

Estimates are compared with truths in their own standard errors.  LUCE_TEST_SEED moves all seeds.
"""

import os
from collections.abc import Callable
from math import exp, lgamma, log
from typing import Any

import numpy as np
import pytest
from lib.hypothesis_oracles import Three
from lib.sampling_oracles import allowed
from scipy.integrate import quad
from scipy.stats import beta, gamma

from luce import ConditionalCounts, Posterior, hypothesis
from luce.errors import EvidenceWarning
from luce.hypotheses.verdict import HypothesisTest

SEED = int(os.environ.get("LUCE_TEST_SEED", "0"))


def ask(posterior: Posterior, seed: int = 1, **asked: Any) -> HypothesisTest:
    return hypothesis(posterior, seed=1000 * SEED + seed, progress=False, **asked)


def log_dirichlet(x: list[float], a: np.ndarray) -> float:
    return lgamma(a.sum()) + sum((c - 1) * log(y) - lgamma(c) for c, y in zip(a, x, strict=True))


# -- plain data: everything in closed form ----------------------------------------------

PRIOR, SEEN = np.array([0.8, 1.5, 2.0, 1.1]), np.array([5.0, 2.0, 0.0, 7.0])
PLAIN = Posterior(ConditionalCounts("abcd").observe(dict(zip("abcd", SEEN, strict=True))), PRIOR)


def test_two_gammas_are_compared_by_incomplete_betas() -> None:
    found = ask(PLAIN, larger="ad")
    c = PRIOR + SEEN
    truth, before = beta.sf(0.5, c[0], c[3]), beta.sf(0.5, PRIOR[0], PRIOR[3])
    assert found.probability == pytest.approx(truth, rel=1e-12)
    assert found.standard_error == pytest.approx(0, abs=1e-12)
    assert found.prior_probability == pytest.approx(before, rel=1e-12)
    odds = truth / (1 - truth) / (before / (1 - before))
    assert found.bayes_factor == pytest.approx(odds, rel=1e-10)
    turned = ask(PLAIN, larger="da")
    assert found.probability + turned.probability == pytest.approx(1, rel=1e-12)
    assert found.bayes_factor.log == pytest.approx(-turned.bayes_factor.log, rel=1e-10)


@pytest.mark.parametrize("labels", ["ab", "dba", "dacb"])
def test_savage_and_dickey_of_plain_data(labels: str) -> None:
    found = ask(PLAIN, equal=labels)
    which = ["abcd".index(x) for x in labels]
    even = [1 / len(which)] * len(which)
    truth = log_dirichlet(even, (PRIOR + SEEN)[which]) - log_dirichlet(even, PRIOR[which])
    assert found.bayes_factor.log == pytest.approx(truth, rel=1e-12)
    assert found.bayes_factor.standard_error == pytest.approx(0, abs=1e-10)
    assert found.probability == pytest.approx(1 / (1 + exp(-truth)), rel=1e-12)
    assert found.prior_probability == 0.5


def test_all_equal_is_equal_to_naming_all() -> None:
    n, total = 4, SEEN.sum()
    every = ask(PLAIN, all_equal=True)
    after = sum(lgamma(c) for c in PRIOR + SEEN) - lgamma((PRIOR + SEEN).sum())
    evidence = after - sum(lgamma(c) for c in PRIOR) + lgamma(PRIOR.sum())
    assert every.bayes_factor.log == pytest.approx(-total * log(n) - evidence, rel=1e-12)
    assert every.bayes_factor.log == pytest.approx(ask(PLAIN, equal="bcad").bayes_factor.log)
    assert every.likelihood_ratio is None  # c was never seen
    assert "the estimate of 'c' is 0" in every.why_none


@pytest.mark.parametrize("share", [0.05, 0.3, 0.5])
def test_a_share_of_plain_data(share: float) -> None:
    found = ask(PLAIN, share={"a": share}, draws=2000)
    c, total = PRIOR[0] + SEEN[0], (PRIOR + SEEN).sum()
    truth = beta.logpdf(share, c, total - c) - beta.logpdf(share, PRIOR[0], PRIOR.sum() - PRIOR[0])
    off = abs(found.bayes_factor.log - truth)
    assert off < allowed(3) * found.bayes_factor.standard_error < 0.3
    assert "p[a]" in found.statement


@pytest.mark.parametrize("k", [1, 2, 3])
def test_the_best_of_plain_data(k: int) -> None:
    """Of independent gammas: how many of the others are above, given one's own."""

    def among_best(shape: np.ndarray, i: int) -> float:
        others = np.delete(shape, i)

        def fewer_above(x: float) -> float:
            number = np.array([1.0, 0, 0, 0])
            for a in others:
                above = gamma.sf(x, a)
                number = number * (1 - above) + np.r_[0, number[:-1]] * above
            return float(number[:k].sum() * gamma.pdf(x, shape[i]))

        return quad(fewer_above, 0, 10, limit=200)[0] + quad(fewer_above, 10, 90)[0]

    for i, label in enumerate("abcd"):
        found = ask(PLAIN, best=label, k=k)
        truth = among_best(PRIOR + SEEN, i)
        assert abs(found.probability - truth) < allowed(12) * found.standard_error
        assert found.prior_probability == pytest.approx(among_best(PRIOR, i), abs=1e-7)


# -- overlapping sets, by quadrature ----------------------------------------------------

A = [0.9, 1.4, 0.8]
COUNTS = ConditionalCounts("abc").observe({"a": 6, "b": 3}, within="ab")
COUNTS = COUNTS.observe({"b": 4, "c": 2}, within="bc").observe({"c": 3, "a": 1})
CORE = Posterior(COUNTS, A)
AFTER = Three([0.9 + 7, 1.4 + 7, 0.8 + 5], {(0, 1): -9.0, (1, 2): -6.0})
BEFORE = Three(A, {})
TEAMS = Posterior(COUNTS.observe_group("bc", 5), A)
AFTER_TEAMS = Three(AFTER.shape, {(0, 1): -9.0, (1, 2): -1.0})


def log_odds(p: float) -> float:
    return log(p) - log(1 - p)


POINTS: dict[str, tuple[dict[str, Any], Callable[[Three], float]]] = {
    "a = b": ({"equal": "ab"}, lambda t: t.density_of_equal(0, 1)),
    "c = a": ({"equal": "ca"}, lambda t: t.density_of_equal(2, 0)),
    "all equal, by name": ({"equal": "cab"}, Three.density_of_all_equal),
    "all equal": ({"all_equal": True}, Three.density_of_all_equal),
    "p_b = 0.2": ({"share": {"b": 0.2}}, lambda t: t.density_of_share(1, 0.2)),
    "p_c = 0.5": ({"share": {"c": 0.5}}, lambda t: t.density_of_share(2, 0.5)),
}
ROOMS: dict[str, tuple[dict[str, Any], Callable[[Three], float]]] = {
    "a > b": ({"larger": "ab"}, lambda t: t.larger(0, 1)),
    "c > a": ({"larger": "ca"}, lambda t: t.larger(2, 0)),
    "b > a > c": ({"larger": "bac"}, lambda t: t.in_order(1, 0, 2)),
    "a best": ({"best": "a"}, lambda t: t.best(0)),
    "c of the best two": ({"best": "c", "k": 2}, lambda t: t.best(2, 2)),
}
COMPARISONS = 2 * (len(POINTS) + len(ROOMS))


def off_by(found: HypothesisTest, after: Three, name: str) -> float:
    """Standard errors between a Bayes factor or a probability and its truth."""
    if name in POINTS:
        truth = log(POINTS[name][1](after)) - log(POINTS[name][1](BEFORE))
        return abs(found.bayes_factor.log - truth) / found.bayes_factor.standard_error
    return abs(found.probability - ROOMS[name][1](after)) / found.standard_error


@pytest.mark.parametrize("name", POINTS)
@pytest.mark.parametrize("teams", [False, True], ids=["pairs", "teams"])
def test_bayes_factors_of_points_are_ratios_of_densities(name: str, teams: bool) -> None:
    posterior, after = (TEAMS, AFTER_TEAMS) if teams else (CORE, AFTER)
    found = ask(posterior, **POINTS[name][0])
    assert off_by(found, after, name) < allowed(COMPARISONS)
    assert found.bayes_factor.standard_error < 0.05
    factor = found.bayes_factor
    assert found.probability == pytest.approx(factor / (1 + factor), rel=1e-12)
    error = factor.standard_error * found.probability * (1 - found.probability)
    assert found.standard_error == pytest.approx(error, rel=1e-12)


@pytest.mark.parametrize("name", ROOMS)
@pytest.mark.parametrize("teams", [False, True], ids=["pairs", "teams"])
def test_probabilities_of_orders(name: str, teams: bool) -> None:
    posterior, after = (TEAMS, AFTER_TEAMS) if teams else (CORE, AFTER)
    found = ask(posterior, **ROOMS[name][0])
    assert off_by(found, after, name) < allowed(COMPARISONS)
    before = ROOMS[name][1](BEFORE)
    assert found.prior_probability == pytest.approx(before, abs=1e-7)
    odds = log_odds(found.probability) - log_odds(before)
    assert found.bayes_factor.log == pytest.approx(odds, abs=1e-6)
    error = found.standard_error / found.probability / (1 - found.probability)
    assert found.bayes_factor.standard_error == pytest.approx(error, rel=1e-9)


# The evidence that all_equal goes by takes draws of its own.
BY_DRAWS = [name for name in (*POINTS, *ROOMS) if name != "all equal"]


@pytest.mark.parametrize("name", BY_DRAWS)
def test_negative_control_draws_of_other_data(name: str) -> None:
    other = Posterior(COUNTS.observe({"a": 6}), A)  # and 6 outcomes that CORE does not have
    draws = other.sample(2000, seed=1000 * SEED + 2, progress=False)
    draws.attrs["data_digest"] = COUNTS.digest
    found = ask(CORE, draws=draws, **(POINTS | ROOMS)[name][0])
    assert off_by(found, AFTER, name) > allowed(COMPARISONS)


def test_draws_that_are_given_are_used() -> None:
    draws = CORE.sample(500, seed=1000 * SEED + 3, progress=False)
    found = ask(CORE, best="a", draws=draws)
    values = draws["posterior"]["probabilities"].values
    assert found.probability == (values.argmax(axis=2) == 0).mean()
    assert ask(CORE, all_equal=True, draws=draws).statement == "all are equal"


def test_a_point_far_out_is_warned_about() -> None:
    counts = COUNTS.observe({"a": 400, "b": 300}, within="ab")
    with pytest.warns(EvidenceWarning, match="rests on .* of the draws alone"):
        ask(Posterior(counts, A), share={"a": 0.999})
    assert ask(Posterior(counts, A), share={"a": 0.35}).bayes_factor.standard_error < 0.2
