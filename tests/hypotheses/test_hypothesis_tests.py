"""Hypotheses: closed forms of plain data, quadrature of overlapping sets, other optimisers.

Estimates are compared with truths in their own standard errors.
"""

from collections.abc import Callable
from math import exp, inf, lgamma, log
from typing import Any

import numpy as np
import pytest
from lib.bounds import SEED, z_limit
from lib.hypothesis_cases import (
    AFTER,
    AFTER_TEAMS,
    BEFORE,
    CORE,
    COUNTS,
    DRAWS,
    PLAIN,
    PRIOR,
    PRIOR_OF_THREE,
    SEEN,
    TEAMS,
    ask,
)
from lib.hypothesis_oracles import Three
from lib.size import draws as number_of_draws
from scipy.integrate import quad
from scipy.special import roots_legendre
from scipy.stats import beta, chi2, dirichlet, gamma

import luce
from luce import ConditionalCounts, Posterior
from luce.errors import DataError, EvidenceWarning, MethodError
from luce.estimates import Estimate
from luce.hypotheses import BayesFactor, HypothesisTest
from luce.hypotheses.hypothesis_tests import of_inequality, of_point

pytestmark = [
    pytest.mark.filterwarnings("ignore::luce.ConvergenceWarning"),
    pytest.mark.filterwarnings("ignore::luce.errors.EvidenceWarning"),
]


def log_dirichlet(x: list[float], a: np.ndarray) -> float:
    return lgamma(a.sum()) + sum((c - 1) * log(y) - lgamma(c) for c, y in zip(a, x, strict=True))


# -- plain data: everything in closed form ----------------------------------------------


def test_two_gammas_are_compared_by_incomplete_betas() -> None:
    found = ask(PLAIN, larger="ad")
    c = PRIOR + SEEN
    truth, before = beta.sf(0.5, c[0], c[3]), beta.sf(0.5, PRIOR[0], PRIOR[3])
    assert found.probability == pytest.approx(truth, rel=1e-12)
    assert found.standard_error == pytest.approx(0, abs=1e-12)
    assert found.prior_probability == pytest.approx(before, rel=1e-12)
    odds = truth / (1 - truth) / (before / (1 - before))
    assert float(found.bayes_factor) == pytest.approx(odds, rel=1e-10)
    turned = ask(PLAIN, larger="da")
    assert found.probability + turned.probability == pytest.approx(1, rel=1e-12)
    assert float(found.bayes_factor.log) == pytest.approx(
        -float(turned.bayes_factor.log), rel=1e-10
    )


@pytest.mark.parametrize("concentration", [3e-3, 1e-4, 1e-6, 1e-10])
def test_an_order_where_probabilities_are_too_small_for_doubles(concentration: float) -> None:
    """b won against c once: P(a > b) is 1/3 to the order of the concentration."""
    posterior = Posterior(ConditionalCounts("abc").observe({"b": 1}, within="bc"), concentration)
    run = posterior.sample(number_of_draws(compiled=1000, plain=400), seed=SEED, progress=False)
    found, turned = (luce.hypothesis(posterior, larger=o, draws=run, seed=1) for o in ("ab", "ba"))
    assert found.probability + turned.probability == pytest.approx(1, rel=1e-12)
    errors = (found.probability - 1 / 3) / found.standard_error
    assert abs(errors) < z_limit(4)
    assert abs(found.probability - 1 / 2) / found.standard_error > z_limit(4)  # the prior's


@pytest.mark.parametrize("labels", ["ab", "dba", "dacb"])
def test_savage_and_dickey_of_plain_data(labels: str) -> None:
    found = ask(PLAIN, equal=labels)
    which = ["abcd".index(x) for x in labels]
    even = [1 / len(which)] * len(which)
    truth = log_dirichlet(even, (PRIOR + SEEN)[which]) - log_dirichlet(even, PRIOR[which])
    assert float(found.bayes_factor.log) == pytest.approx(truth, rel=1e-12)
    assert found.bayes_factor.log.standard_error == pytest.approx(0, abs=1e-10)
    assert found.probability == pytest.approx(1 / (1 + exp(-truth)), rel=1e-12)
    assert found.prior_probability == 0.5


def test_all_equal_is_equal_to_naming_all() -> None:
    n, total = 4, SEEN.sum()
    every = ask(PLAIN, all_equal=True)
    after = sum(lgamma(c) for c in PRIOR + SEEN) - lgamma((PRIOR + SEEN).sum())
    evidence = after - sum(lgamma(c) for c in PRIOR) + lgamma(PRIOR.sum())
    assert float(every.bayes_factor.log) == pytest.approx(-total * log(n) - evidence, rel=1e-12)
    named = ask(PLAIN, equal="bcad").bayes_factor
    assert float(every.bayes_factor.log) == pytest.approx(float(named.log))
    assert every.likelihood_ratio is None  # c was never seen
    assert "the estimate of 'c' is 0" in every.why_none


def test_the_classical_test_of_equal_shares() -> None:
    """Twice Σ n log(4 n / N), on 3 degrees of freedom."""
    seen = np.array([5.0, 2.0, 1.0, 7.0])
    posterior = Posterior(ConditionalCounts("abcd").observe(dict(zip("abcd", seen, strict=True))))
    every = ask(posterior, all_equal=True)
    assert every.likelihood_ratio is not None
    statistic = 2 * float((seen * np.log(4 * seen / 15)).sum())
    assert every.likelihood_ratio.statistic == pytest.approx(statistic, abs=1e-8)
    assert every.likelihood_ratio.p_value == pytest.approx(chi2.sf(statistic, 3), rel=1e-6)
    assert "on 3 degrees of freedom" in str(every)
    share = ask(posterior, share={"a": 0.3})
    best, there = 5 * log(5 / 15) + 10 * log(10 / 15), 5 * log(0.3) + 10 * log(0.7)
    assert share.likelihood_ratio is not None
    assert share.likelihood_ratio.statistic == pytest.approx(2 * (best - there), abs=1e-8)


@pytest.mark.parametrize("share", [0.05, 0.3, 0.5])
def test_a_share_of_plain_data(share: float) -> None:
    found = ask(PLAIN, share={"a": share}, draws=number_of_draws(2000, 200))
    c, total = PRIOR[0] + SEEN[0], (PRIOR + SEEN).sum()
    truth = beta.logpdf(share, c, total - c) - beta.logpdf(share, PRIOR[0], PRIOR.sum() - PRIOR[0])
    off = abs(float(found.bayes_factor.log) - truth)
    assert off < z_limit(3) * found.bayes_factor.log.standard_error < number_of_draws(3, 10) / 10
    assert found.statement == f"p[a] = {share:g}"


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
        assert abs(found.probability - truth) < z_limit(12) * found.standard_error
        assert found.prior_probability == pytest.approx(among_best(PRIOR, i), abs=1e-7)


# -- overlapping sets, by quadrature ----------------------------------------------------


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
        log_factor = found.bayes_factor.log
        return abs(float(log_factor) - truth) / float(log_factor.standard_error)
    return abs(found.probability - ROOMS[name][1](after)) / found.standard_error


@pytest.mark.parametrize("name", POINTS)
@pytest.mark.parametrize("teams", [False, True], ids=["pairs", "teams"])
def test_bayes_factors_of_points_are_ratios_of_densities(name: str, teams: bool) -> None:
    posterior, after = (TEAMS, AFTER_TEAMS) if teams else (CORE, AFTER)
    found = ask(posterior, **POINTS[name][0])
    assert off_by(found, after, name) < z_limit(COMPARISONS)
    factor, log_error = float(found.bayes_factor), found.bayes_factor.log.standard_error
    assert log_error < number_of_draws(compiled=5, plain=50) / 100
    assert found.probability == pytest.approx(factor / (1 + factor), rel=1e-12)
    error = log_error * found.probability * (1 - found.probability)
    assert found.standard_error == pytest.approx(error, rel=1e-12)


@pytest.mark.parametrize("name", ROOMS)
@pytest.mark.parametrize("teams", [False, True], ids=["pairs", "teams"])
def test_probabilities_of_orders(name: str, teams: bool) -> None:
    posterior, after = (TEAMS, AFTER_TEAMS) if teams else (CORE, AFTER)
    found = ask(posterior, **ROOMS[name][0])
    assert off_by(found, after, name) < z_limit(COMPARISONS)
    before = ROOMS[name][1](BEFORE)
    assert found.prior_probability == pytest.approx(before, abs=1e-7)
    odds = log_odds(found.probability) - log_odds(before)
    assert float(found.bayes_factor.log) == pytest.approx(odds, abs=1e-6)
    error = found.standard_error / found.probability / (1 - found.probability)
    assert found.bayes_factor.log.standard_error == pytest.approx(error, rel=1e-9)
    lines = str(found).splitlines()
    assert lines[0] == found.statement
    assert len(lines) == 4


# The evidence that all_equal goes by takes draws of its own.
BY_DRAWS = [name for name in (*POINTS, *ROOMS) if name != "all equal"]


@pytest.mark.compiled
@pytest.mark.parametrize("name", BY_DRAWS)
def test_negative_control_draws_of_other_data(name: str) -> None:
    other = Posterior(COUNTS.observe({"a": 6}), PRIOR_OF_THREE)  # 6 outcomes that CORE lacks
    draws = other.sample(2000, seed=1000 * SEED + 2, progress=False)
    draws.attrs["data_digest"] = COUNTS.digest
    found = ask(CORE, draws=draws, **(POINTS | ROOMS)[name][0])
    assert off_by(found, AFTER, name) > z_limit(COMPARISONS)


# -- draws, and what they leave open ----------------------------------------------------


def test_draws_that_are_given_are_used() -> None:
    draws = CORE.sample(DRAWS, seed=1000 * SEED + 1, progress=False)
    found = ask(CORE, best="a", draws=draws)
    values = draws["posterior"]["probabilities"].values
    assert found.probability == (values.argmax(axis=2) == 0).mean()
    given, own = (ask(CORE, all_equal=True, draws=d) for d in (draws, DRAWS))
    assert given.statement == "all are equal"
    assert given.bayes_factor == own.bayes_factor


def test_the_same_seed_gives_the_same_answer() -> None:
    questions: list[Callable[[int], object]] = [
        lambda seed: ask(CORE, seed, share={"a": 0.3}).bayes_factor,
        lambda seed: ask(CORE, seed, larger="ab").probability,
        lambda seed: ask(CORE, seed, all_equal=True).bayes_factor,
    ]
    for question in questions:
        assert question(1) == question(1)
        assert question(1) != question(2)
    options: dict[str, Any] = {"draws": 10, "chains": 2, "progress": False, "larger": "ab"}
    sequence = np.random.SeedSequence(9)
    one, again = (luce.hypothesis(CORE, seed=sequence, **options) for _ in range(2))
    assert one.probability == again.probability
    assert 0 < luce.hypothesis(CORE, **options).probability < 1


def test_equal_priors_say_orders_by_counting() -> None:
    even = Posterior(COUNTS, 1.0)
    assert ask(even, larger="bac").prior_probability == pytest.approx(1 / 6)
    found = ask(even, best="c", k=2)
    assert found.prior_probability == pytest.approx(2 / 3)
    assert found.statement == "c is among the best 2"
    assert "likelihood ratio  none: it has no restricted maximum" in str(found)


def test_long_orders_have_a_prior_probability_too() -> None:
    """One in half a million before the data: too few for draws of the prior."""
    counts = ConditionalCounts(9).observe({k: 40 - 4 * k for k in range(9)})
    found = ask(Posterior(counts, np.linspace(1, 1.8, 9)), larger=list(range(9)))
    assert 0 < found.prior_probability < 1e-5
    assert float(found.bayes_factor.log) > 0


def test_a_point_far_out_is_warned_about() -> None:
    counts = COUNTS.observe({"a": 400, "b": 300}, within="ab")
    posterior = Posterior(counts, PRIOR_OF_THREE)
    with pytest.warns(EvidenceWarning, match="rests on .* of the draws alone"):
        found = ask(posterior, share={"a": 0.999})
    assert float(found.bayes_factor.log) < -5
    assert found.probability < 0.01
    log_factor = found.bayes_factor.log
    assert np.isnan(log_factor.standard_error)
    assert log_factor.details["effective_draws"] < 50
    near = ask(posterior, share={"a": 0.35}, draws=number_of_draws(1000, 400)).bayes_factor.log
    assert near.standard_error < number_of_draws(compiled=2, plain=10) / 10
    assert near.details["pareto_k"] < 0.5
    far = of_point("far", BayesFactor.of_log(Estimate(-800.0, 0.1)), None, "no reason")
    assert far.probability == 0.0


def test_where_all_draws_are_on_one_side() -> None:
    always, never = np.ones((2, 50)), np.zeros((2, 50))
    for holds, fails, odds in ((always, never, inf), (never, always, -inf)):
        found = of_inequality("a > b", holds, fails, 0.25, None, "")
        assert (found.probability, float(found.bayes_factor.log)) == (holds.mean(), odds)
        assert np.isnan(found.bayes_factor.log.standard_error)
        assert found.standard_error == 1 / 100  # one draw might have been on the other


def test_a_rare_side_has_the_error_of_its_own_mean() -> None:
    """Log-normal probabilities around e^-50 or e^-20, of which 1 keeps no digit."""
    x = np.random.default_rng([SEED, 7]).normal(size=(4, 1000))
    rare = np.exp(-50 + 0.5 * x)
    found = of_inequality("a > b", 1 - rare, rare, 0.5, None, "").bayes_factor.log
    truth = 50 - 0.5**2 / 2
    error = np.sqrt(np.expm1(0.5**2) / x.size)
    assert found.standard_error == pytest.approx(error, rel=0.2)
    assert abs(float(found) - truth) < z_limit() * found.standard_error
    assert abs(float(found) - 50) > z_limit() * found.standard_error
    with pytest.warns(EvidenceWarning, match=r"the rarer side rests on \d+ of the draws alone"):
        heavy = of_inequality("b > a", np.exp(-20 + 3.5 * x), 1 - rare, 0.5, None, "")
    assert np.isnan(heavy.bayes_factor.log.standard_error)


# -- what cannot be asked ---------------------------------------------------------------

BAD: list[tuple[dict[str, object], type[Exception], str]] = [
    ({}, MethodError, "one hypothesis is asked at a time"),
    ({"equal": "ab", "best": "a"}, MethodError, "one hypothesis is asked at a time"),
    ({"all_equal": True, "larger": "ab"}, MethodError, "one hypothesis is asked at a time"),
    ({"equal": "a"}, DataError, "two labels at least"),
    ({"equal": ["a", "x"]}, DataError, "'x'"),
    ({"equal": "aa"}, DataError, "'a'"),
    ({"larger": "a"}, DataError, "two labels at least"),
    ({"larger": "ax"}, DataError, "'x'"),
    ({"best": "x"}, DataError, "'x'"),
    ({"best": "a", "k": 0}, DataError, "k = 0; a whole number from 1 to 2"),
    ({"best": "a", "k": 3}, DataError, "k = 3"),
    ({"best": "a", "k": 1.0}, DataError, "k = 1.0"),
    ({"best": "a", "k": True}, DataError, "k = True"),
    ({"share": {"x": 0.3}}, DataError, "'x'"),
    ({"share": {"a": 0.0}}, DataError, "between 0 and 1"),
    ({"share": {"a": 1.0}}, DataError, "between 0 and 1"),
    ({"share": {"a": -0.2}}, DataError, "a"),
    ({"share": {"a": float("nan")}}, DataError, "a"),
    ({"share": {"a": "much"}}, DataError, "a"),
    ({"share": {}}, DataError, "labels and their numbers"),
    ({"share": ("a", 0.2)}, DataError, "labels and their numbers"),
    ({"share": {"a": 0.6, "b": 0.4}}, DataError, "leaves nothing for the other"),
    ({"share": {"a": 0.6, "b": 0.3}, "among": "ab"}, DataError, "must add up to 1"),
    ({"share": {"a": 0.6}, "among": "bc"}, DataError, "'a', which is not in among"),
    ({"share": {"a": 0.6}, "among": "bx"}, DataError, "'x'"),
    ({"best": "a", "among": "ab"}, MethodError, "among goes with share"),
]


@pytest.mark.parametrize(("asked", "error", "said"), BAD)
def test_misuse_is_refused(asked: dict[str, object], error: type[Exception], said: str) -> None:
    with pytest.raises(error, match=said):
        luce.hypothesis(CORE, seed=1, progress=False, **asked)  # type: ignore[arg-type]


def test_draws_of_other_data_are_refused() -> None:
    draws = Posterior(COUNTS.observe({"a": 1})).sample(10, seed=1, progress=False)
    for asked in ({"best": "a"}, {"equal": "ab"}, {"all_equal": True}, {"share": {"a": 0.2}}):
        with pytest.raises(DataError, match="not of this posterior"):
            luce.hypothesis(CORE, draws=draws, progress=False, **asked)  # type: ignore[arg-type]
    with pytest.raises(DataError, match="not of this posterior"):
        luce.hypothesis(CORE, best="a", draws=draws["posterior"]["probabilities"])


def test_only_posteriors_with_a_number_can_be_asked() -> None:
    process = Posterior(
        ConditionalCounts(["a", "b", "rest"]).observe({"a": 2, "b": 1}),
        luce.DirichletProcess(1.0, remainder="rest"),
    )
    for bad, said in (
        (COUNTS, "ConditionalCounts was given"),
        (process, "a Dirichlet prior"),
        (Posterior(COUNTS, luce.Gamma(2.0, 1.0)), "a Dirichlet prior"),
    ):
        with pytest.raises(DataError, match=said):
            luce.hypothesis(bad, best="a")  # type: ignore[arg-type]


RED = "\x1b[31ma"  # would turn a terminal red


@pytest.mark.parametrize(
    "asked", [{"larger": [RED, "b"]}, {"best": RED}, {"equal": [RED, "b"]}, {"share": {RED: 0.4}}]
)
def test_labels_in_statements_cannot_steer_a_terminal(asked: dict[str, Any]) -> None:
    posterior = Posterior(ConditionalCounts([RED, "b"]).observe({RED: 3, "b": 2}))
    found = luce.hypothesis(posterior, **asked, draws=100, seed=1, progress=False)
    assert r"\x1b[31ma" in str(found)
    assert RED not in str(found)


def test_effects_are_no_rivals_of_competitors() -> None:
    games = {"item1": ["a", "b", "c"], "item2": ["b", "c", "a"], "outcome": ["tie", "tie", "c"]}
    posterior = Posterior(luce.from_pairs(games, ties="entity"), [1.0, 2.0, 1.5, 3.0])
    run = posterior.sample(number_of_draws(200, 20), chains=2, seed=1, progress=False)
    found = luce.hypothesis(posterior, best="a", draws=run)
    assert found.probability == pytest.approx(float(luce.probability_best(run).sel(category="a")))
    other = luce.hypothesis(Posterior(ConditionalCounts("abc"), [1.0, 2.0, 1.5]), best="a", draws=9)
    assert found.prior_probability == pytest.approx(other.prior_probability)
    # An effect that is asked about is compared with all.
    tie = luce.hypothesis(posterior, best="tie", draws=run).probability
    everybody = luce.probability_best(run, among=["a", "b", "c", "tie"])
    assert tie == pytest.approx(float(everybody.sel(category="tie")))
    with pytest.raises(DataError, match="a whole number from 1 to 2"):
        luce.hypothesis(posterior, best="a", k=3, draws=run)


# -- several shares at once ----------------------------------------------------------------


def test_shares_of_plain_data_are_dirichlet() -> None:
    """Probabilities of two, the others added up, are Dirichlet; so are shares among some."""
    after = PRIOR + SEEN
    cases = {
        "two": ({"a": 0.3, "c": 0.2}, None, [0, 2], [1, 3]),
        "among three": ({"b": 0.25}, "abd", [1], [0, 3]),
        "all of three": ({"a": 0.5, "b": 0.3, "c": 0.2}, "abc", [0, 1, 2], []),
        "all but one": ({"a": 0.3, "b": 0.2, "c": 0.1}, None, [0, 1, 2], [3]),
    }
    for given, among, own, others in cases.values():
        found = ask(PLAIN, share=given, among=among, draws=number_of_draws(2000, 400))
        v = np.array(list(given.values()))

        def log_density(a: np.ndarray) -> float:
            shape, point = a[own], v  # noqa: B023
            if others:  # noqa: B023
                shape, point = np.r_[shape, a[others].sum()], np.r_[v, 1 - v.sum()]  # noqa: B023
            return float(dirichlet.logpdf(point / point.sum(), shape))

        truth = log_density(after) - log_density(PRIOR)
        log_factor = found.bayes_factor.log
        error = float(log_factor.standard_error)
        assert abs(float(log_factor) - truth) < z_limit(len(cases)) * error + 1e-9
        # Negative control: the density of the prior forgotten.
        assert abs(float(log_factor) - log_density(after)) > z_limit(len(cases)) * error + 1e-9


def test_shares_in_overlapping_sets_by_quadrature() -> None:
    """Four categories: Gauss-Legendre over what the hypothesis leaves open, and over all."""
    counts = ConditionalCounts("abcd").observe({"a": 5, "b": 3}, within="ab")
    counts = counts.observe({"b": 4, "c": 2, "d": 1}, within="bcd").observe(
        {"a": 2, "d": 3}, within="ad"
    )
    counts = counts.observe({"c": 3, "a": 2}, within="ac")
    prior = np.array([2.0, 3.0, 2.0, 2.0])
    x, w = roots_legendre(40)
    x, w = (x + 1) / 2, w / 2

    def heights(p: np.ndarray) -> np.ndarray:
        return np.exp(np.asarray(counts.log_likelihood(p))) * np.asarray(dirichlet.pdf(p.T, prior))

    i, j, k = np.meshgrid(x, x, x, indexing="ij")
    p = np.stack([i, (1 - i) * j, (1 - i) * (1 - j) * k, (1 - i) * (1 - j) * (1 - k)], -1)
    weight = np.einsum("i,j,k->ijk", w, w, w) * (1 - i) ** 2 * (1 - j)
    evidence = float((weight.ravel() * heights(p.reshape(-1, 4))).sum())

    def log_factor(own: float, before: float) -> float:
        return log(own / evidence / before)

    # p_a = 0.3 and p_b = 0.3: c takes a part x of the other 0.4.
    two = np.stack([np.full(40, 0.3), np.full(40, 0.3), 0.4 * x, 0.4 * (1 - x)], -1)
    before = dirichlet.pdf([0.3, 0.3, 0.4], [2, 3, 4])
    posterior = Posterior(counts, prior)
    draws = number_of_draws(2000, 400)
    found = ask(posterior, share={"a": 0.3, "b": 0.3}, draws=draws).bayes_factor.log
    truth = log_factor(0.4 * float(w @ heights(two)), float(before))
    assert abs(float(found) - truth) < z_limit(3) * float(found.standard_error)
    # p_a / (p_a + p_b) = 0.4: their total t and c's part of the rest stay open.
    t, c = np.meshgrid(x, x, indexing="ij")
    pair = np.stack([0.4 * t, 0.6 * t, (1 - t) * c, (1 - t) * (1 - c)], -1)
    inside = np.outer(w, w) * t * (1 - t)
    own = float((inside.ravel() * heights(pair.reshape(-1, 4))).sum())
    among = ask(posterior, share={"a": 0.4}, among="ab", draws=draws).bayes_factor.log
    truth = log_factor(own, float(beta.pdf(0.4, 2, 3)))
    assert abs(float(among) - truth) < z_limit(3) * float(among.standard_error)
    whole = {"a": 0.3, "b": 0.3, "c": 0.2, "d": 0.2}
    fixed = ask(posterior, share=whole, draws=draws).bayes_factor.log
    truth = float(counts.log_likelihood(list(whole.values()))) - log(evidence)
    assert abs(float(fixed) - truth) < z_limit(3) * float(fixed.standard_error) + 1e-6
    # Negative control: the share among all instead of among two.
    wrong = ask(posterior, share={"a": 0.4}, draws=draws).bayes_factor.log
    assert abs(float(wrong) - log_factor(own, float(beta.pdf(0.4, 2, 3)))) > z_limit(3) * float(
        wrong.standard_error
    )


def test_the_words_of_shares() -> None:
    found = ask(PLAIN, share={"a": 0.3, "c": 0.2})
    assert found.statement == "p[a] = 0.3, p[c] = 0.2"
    assert ask(PLAIN, share={"b": 0.3}, among="ab").statement == "p[b given {a, b}] = 0.3"
