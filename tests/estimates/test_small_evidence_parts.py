"""Evidence, Bayes factors and hypotheses of three or four categories, in a few draws."""

import copy
import pickle
from math import exp, inf, lgamma, log
from typing import Any

import numpy as np
import pytest
from lib.evidence_oracles import star_log_evidence
from lib.hypothesis_oracles import Three
from lib.oracles import simplex_quadrature
from scipy.special import betainc, betaln
from scipy.stats import beta, chi2, dirichlet

import luce
from luce import ConditionalCounts, Posterior
from luce.errors import DataError, EvidenceWarning, MethodError
from luce.estimates import evidence
from luce.estimates.evidence import Estimate
from luce.estimates.ordinates import heights, log_scaled_dirichlet, next_gammas, rests_on
from luce.hypotheses.bayes_factors import BayesFactor
from luce.hypotheses.gamma_orders import chance_of_best, chance_of_order
from luce.hypotheses.verdict import HypothesisTest, of_point, with_room
from luce.kernels.problem import Problem
from luce.model.shapes import raw_problem

pytestmark = [
    pytest.mark.filterwarnings("ignore::luce.ConvergenceWarning"),
    pytest.mark.filterwarnings("ignore::luce.errors.EvidenceWarning"),
]

FEW: dict[str, Any] = {"chains": 2, "seed": 1, "progress": False}

A = [0.9, 1.4, 0.8]
PAIRS = ConditionalCounts("abc").observe({"a": 6, "b": 3}, within="ab")
PAIRS = PAIRS.observe({"b": 4, "c": 2}, within="bc").observe({"c": 3, "a": 1})
TEAMS = PAIRS.observe_group("bc", 5)
CORE = Posterior(PAIRS, A)
AFTER = Three([0.9 + 7, 1.4 + 7, 0.8 + 5], {(0, 1): -9.0, (1, 2): -6.0})
BEFORE = Three(A, {})

PRIOR, SEEN = np.array([0.8, 1.5, 2.0, 1.1]), np.array([5.0, 2.0, 1.0, 7.0])
PLAIN = Posterior(ConditionalCounts("abcd").observe(dict(zip("abcd", SEEN, strict=True))), PRIOR)


def log_beta(c: np.ndarray) -> float:
    return sum(lgamma(x) for x in c) - lgamma(sum(c))


def by_quadrature(posterior: Posterior) -> float:
    counts = posterior.counts
    family = {frozenset([i]): float(k) for i, k in enumerate(counts.category_counts)}
    for t, e in enumerate(counts.sets.exponent):
        family[frozenset(counts.sets.set_members(t).tolist())] = float(e)
    return simplex_quadrature(family, posterior.concentration.tolist()).log_evidence


# -- the evidence -----------------------------------------------------------------------


def test_the_evidence_of_plain_counts_is_a_ratio_of_betas() -> None:
    found = PLAIN.log_evidence()
    assert found.value == pytest.approx(log_beta(PRIOR + SEEN) - log_beta(PRIOR), rel=1e-12)
    assert found.standard_error == 0
    assert PLAIN.log_evidence(method="exact").value == found.value


@pytest.mark.parametrize(
    ("counts", "concentration"),
    [(PAIRS, A), (TEAMS, A), (PAIRS, [0.9, 0.3, 0.3])],
    ids=["pairs", "teams", "small concentration"],
)
def test_both_estimates_are_the_integral(counts: ConditionalCounts, concentration: Any) -> None:
    posterior = Posterior(counts, concentration)
    truth = by_quadrature(posterior)
    found = posterior.log_evidence(60, **FEW)
    assert found.method == "bridge"
    assert set(found.estimates) == {"bridge", "chib"}
    for estimate in found.estimates.values():
        assert abs(estimate.value - truth) < 5 * estimate.standard_error < 1.0
        # The same measure tells an evidence that is half as large.
        assert abs(estimate.value - truth + log(2)) > 5 * estimate.standard_error
        assert 0 < estimate.effective_draws <= 120
    assert posterior.log_evidence(60, **FEW) == found


def test_evidence_of_logarithms_far_below_the_smallest_double() -> None:
    counts = ConditionalCounts(3).observe({1: 2, 0: 3}, within=[0, 1])
    counts = counts.observe({2: 1, 0: 2}, within=[0, 2])
    a = [0.02, 0.03, 0.015]
    found = Posterior(counts, a).log_evidence(40, method="chib", **FEW)
    truth = star_log_evidence(a[0], a[1:], [(2, 3), (1, 2)])
    assert list(found.estimates) == ["chib"]
    assert abs(found.value - truth) < 5 * found.standard_error < 2.0


def test_two_cores_add_their_logarithms_and_errors() -> None:
    apart, wins = ConditionalCounts(6), [(2, 1), (0, 3)]
    for k in (0, 3):
        apart = apart.observe({k: 2, k + 1: 1}, within=[k, k + 1])
        apart = apart.observe({k + 1: 3}, within=[k + 1, k + 2])
    a = [1.4, 1.2, 0.2, 0.7, 2.0, 0.2]
    found = Posterior(apart, a).log_evidence(60, method="bridge", **FEW)
    one, other = (star_log_evidence(a[k + 1], [a[k], a[k + 2]], wins) for k in (0, 3))
    assert abs(found.value - one - other) < 5 * found.standard_error < 1.0
    assert abs(found.value - 2 * one) > 5 * found.standard_error


def test_methods_that_do_not_fit_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(MethodError, match="choose one of auto, exact, bridge, chib"):
        CORE.log_evidence(method="magic")
    with pytest.raises(luce.errors.NotExactError, match="closed form only where the sets nest"):
        CORE.log_evidence(method="exact")
    monkeypatch.setattr(evidence, "MOST_DENSE", 2)
    with pytest.raises(MethodError, match="a core of 3 atoms is out of reach"):
        CORE.log_evidence(20, **FEW)


def test_few_draws_and_disagreement_are_warned_about() -> None:
    with pytest.warns(EvidenceWarning, match=r"rests on \d+ of the draws alone.*first is returned"):
        CORE.log_evidence(10, **FEW)
    with pytest.warns(EvidenceWarning, match="Take more draws, or another method"):
        CORE.log_evidence(10, method="chib", **FEW)
    apart = {"bridge": Estimate(-3.0, 0.01, 400.0), "chib": Estimate(-4.0, 0.01, 400.0)}
    with pytest.warns(EvidenceWarning, match="the two disagree") as caught:
        evidence._warn(apart)
    assert caught[0].message.estimates == apart  # type: ignore[union-attr]


def test_a_bridge_between_proportional_densities_is_their_ratio() -> None:
    found = evidence._bridged(np.full((2, 30), -4.25), np.full(60, -4.25))
    assert found.value == pytest.approx(-4.25, abs=1e-12)
    assert found.standard_error == pytest.approx(0, abs=1e-12)
    assert found.effective_draws == pytest.approx(60)


# -- ordinates --------------------------------------------------------------------------


def test_gammas_of_one_rate_are_a_dirichlet() -> None:
    shape, p = np.array([[0.7, 2.0, 1.3], [4.0, 0.2, 1.0]]), np.array([0.2, 0.5, 0.3])
    for rate in (1.0, 7.5):
        found = log_scaled_dirichlet(np.log(p), shape, np.full(shape.shape, log(rate)))
        expected = [dirichlet.logpdf(p, row) for row in shape]
        np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_an_average_rests_on_as_many_draws_as_have_weight() -> None:
    assert rests_on(np.ones(7)) == pytest.approx(7)
    assert rests_on(np.array([1.0, 1.0, 0.0, 0.0])) == pytest.approx(2)


def raw(counts: ConditionalCounts, concentration: list[float]) -> Problem:
    return raw_problem(counts, np.asarray(concentration))


@pytest.mark.parametrize("counts", [PAIRS, TEAMS], ids=["pairs", "teams"])
def test_heights_are_the_density_of_logarithms(counts: ConditionalCounts) -> None:
    p = np.random.default_rng(3).dirichlet(np.ones(3), 5)
    found = heights(raw(counts, A), np.log(p))
    judged = Posterior(counts, A).log_density(p) + np.log(p).sum(axis=1)
    np.testing.assert_allclose(np.diff(found), np.diff(judged), rtol=1e-9)
    # A row too small for doubles stands beside one that is not.
    tiny = np.array([[log(0.4), log(0.6), -900.0], np.log([0.2, 0.5, 0.3])])
    mixed = heights(raw(counts, A), tiny)
    assert mixed[1] == pytest.approx(heights(raw(counts, A), tiny[1:])[0], rel=1e-13)
    logs, c = tiny[0], np.array(A) + counts.category_counts
    power = -1.0 if counts is TEAMS else -6.0  # of b and c together; c is nothing beside b
    assert mixed[0] == pytest.approx(c @ logs + power * log(0.6), rel=1e-12)


def test_the_next_sweep_of_plain_counts_has_the_posteriors_shapes() -> None:
    seed = np.random.SeedSequence(5)
    logs = np.log(np.random.default_rng(4).dirichlet(np.ones(4), 6))
    shape, log_rate = next_gammas(raw_problem(PLAIN.counts, PRIOR), logs, seed)
    np.testing.assert_allclose(shape, np.broadcast_to(PRIOR + SEEN, shape.shape), rtol=1e-14)
    assert (np.ptp(log_rate, axis=1) == 0).all()


def test_grouped_outcomes_are_handed_out_to_their_members() -> None:
    logs = np.log(np.random.default_rng(4).dirichlet(np.ones(3), 6))
    own = ConditionalCounts("abc").observe({"a": 2}).observe_group("bc", 5)
    shape, log_rate = next_gammas(raw(own, A), logs, np.random.SeedSequence(5))
    extra = shape - (np.array(A) + [2, 0, 0])
    np.testing.assert_allclose(extra[:, 0], 0, atol=1e-12)
    np.testing.assert_allclose(extra.sum(axis=1), 5, rtol=1e-12)
    assert (np.ptp(log_rate, axis=1) == 0).all()  # nothing was truncated


# -- Bayes factors ----------------------------------------------------------------------


def test_the_bayes_factor_is_a_ratio_of_evidences() -> None:
    coin = ConditionalCounts("ht").observe({"h": 5, "t": 1})
    found = luce.bayes_factor(Posterior(coin, [2.0, 1.0]), Posterior(coin, 1.0))
    assert found == pytest.approx((2 / 56) / (1 / 42), rel=1e-12)
    assert repr(found) == "BayesFactor(1.5, log=0.405465 ± 0)"
    assert found.value == float(found)
    parts = [Posterior(coin, a).log_evidence() for a in ([2.0, 1.0], 1.0)]
    assert luce.bayes_factor(*parts) == found
    for other in (pickle.loads(pickle.dumps(found)), copy.deepcopy(found)):
        assert (other, other.log, other.standard_error) == (found, found.log, 0.0)
    assert (float(BayesFactor(5000.0, 0.1)), BayesFactor(5000.0, 0.1).log) == (inf, 5000.0)


def test_bayes_factors_of_other_data_are_refused() -> None:
    with pytest.raises(DataError, match="one has 19 outcomes, the other 24"):
        luce.bayes_factor(CORE, Posterior(TEAMS))
    with pytest.raises(DataError, match="float was given"):
        luce.bayes_factor(PLAIN, -3.0)  # type: ignore[arg-type]


# -- orders of gammas -------------------------------------------------------------------


@pytest.mark.parametrize("shape", [[0.5, 1.0, 2.0], [1e-3, 2e-3, 5e-4], [40.0, 44.0, 0.3]])
def test_orders_of_gammas_add_up_to_pairs(shape: list[float]) -> None:
    a = np.array(shape)
    above = sum(chance_of_order(a[o]) for o in ([0, 1, 2], [0, 2, 1], [2, 0, 1]))
    assert above == pytest.approx(betainc(a[1], a[0], 0.5), abs=1e-6)
    first = [chance_of_best(a, i, 1) for i in range(3)]
    among_two = [chance_of_best(a, i, 2) for i in range(3)]
    assert (sum(first), sum(among_two)) == (pytest.approx(1), pytest.approx(2))
    assert chance_of_order(np.full(4, 0.7)) == pytest.approx(1 / 24, rel=1e-6)


# -- hypotheses -------------------------------------------------------------------------


def ask(posterior: Posterior, draws: Any = 60, **asked: Any) -> HypothesisTest:
    return luce.hypothesis(posterior, draws=draws, **FEW, **asked)


def test_hypotheses_about_plain_counts_have_closed_forms() -> None:
    c = PRIOR + SEEN
    larger = ask(PLAIN, 10, larger="ad")
    assert larger.probability == pytest.approx(beta.sf(0.5, c[0], c[3]), rel=1e-10)
    assert larger.prior_probability == pytest.approx(beta.sf(0.5, PRIOR[0], PRIOR[3]), rel=1e-10)
    even, which = [1 / 3] * 3, [3, 1, 0]
    truth = dirichlet.logpdf(even, c[which]) - dirichlet.logpdf(even, PRIOR[which])
    equal = ask(PLAIN, 10, equal="dba")
    assert equal.bayes_factor.log == pytest.approx(truth, rel=1e-10)
    assert equal.probability == pytest.approx(1 / (1 + exp(-truth)), rel=1e-10)
    every = ask(PLAIN, 10, all_equal=True)
    evidence_of = log_beta(c) - log_beta(PRIOR)
    assert every.bayes_factor.log == pytest.approx(-15 * log(4) - evidence_of, rel=1e-10)
    # The classical test of equal shares: twice Σ n log(4 n / N) on 3 degrees of freedom.
    assert every.likelihood_ratio is not None
    statistic = 2 * float((SEEN * np.log(4 * SEEN / 15)).sum())
    assert every.likelihood_ratio.statistic == pytest.approx(statistic, abs=1e-8)
    assert every.likelihood_ratio.p_value == pytest.approx(chi2.sf(statistic, 3), rel=1e-6)
    assert "on 3 degrees of freedom" in str(every)


def test_a_share_of_plain_counts() -> None:
    found = ask(PLAIN, share={"a": 0.3})
    c, rest = PRIOR[0] + SEEN[0], PRIOR[1:].sum() + SEEN[1:].sum()
    before = PRIOR[0], PRIOR[1:].sum()
    truth = beta.logpdf(0.3, c, rest) - beta.logpdf(0.3, *before)
    assert abs(found.bayes_factor.log - truth) < 5 * found.bayes_factor.standard_error < 0.5
    assert found.statement == "p[a] = 0.3"
    best, there = 5 * log(5 / 15) + 10 * log(10 / 15), 5 * log(0.3) + 10 * log(0.7)
    assert found.likelihood_ratio is not None
    assert found.likelihood_ratio.statistic == pytest.approx(2 * (best - there), abs=1e-8)
    assert log(beta.pdf(0.3, *before)) == pytest.approx(
        (before[0] - 1) * log(0.3) + (before[1] - 1) * log(0.7) - betaln(*before)
    )


ROOMS: list[tuple[dict[str, Any], Any]] = [
    ({"larger": "ab"}, lambda t: t.larger(0, 1)),
    ({"larger": "bac"}, lambda t: t.in_order(1, 0, 2)),
    ({"best": "a"}, lambda t: t.best(0)),
    ({"best": "c", "k": 2}, lambda t: t.best(2, 2)),
]


@pytest.mark.parametrize(("asked", "truth"), ROOMS)
def test_probabilities_of_orders_are_those_of_quadrature(asked: dict[str, Any], truth: Any) -> None:
    found = ask(CORE, **asked)
    assert abs(found.probability - truth(AFTER)) < 5 * found.standard_error
    assert found.prior_probability == pytest.approx(truth(BEFORE), abs=1e-6)
    lines = str(found).splitlines()
    assert lines[0] == found.statement
    assert len(lines) == 4


@pytest.mark.parametrize("counts", [PAIRS, TEAMS], ids=["pairs", "teams"])
def test_points_are_ratios_of_densities(counts: ConditionalCounts) -> None:
    after = AFTER if counts is PAIRS else Three(AFTER.shape, {(0, 1): -9.0, (1, 2): -1.0})
    posterior = Posterior(counts, A)
    for asked, density in (
        ({"equal": "ab"}, lambda t: t.density_of_equal(0, 1)),
        ({"share": {"b": 0.3}}, lambda t: t.density_of_share(1, 0.3)),
        ({"all_equal": True}, Three.density_of_all_equal),
    ):
        found = ask(posterior, **asked).bayes_factor
        assert abs(found.log - log(density(after) / density(BEFORE))) < 5 * found.standard_error


def test_equal_priors_say_orders_by_counting() -> None:
    even = Posterior(PAIRS, 1.0)
    assert ask(even, 10, larger="bac").prior_probability == pytest.approx(1 / 6)
    found = ask(even, 10, best="c", k=2)
    assert found.prior_probability == pytest.approx(2 / 3)
    assert found.statement == "c is among the best 2"
    assert "likelihood ratio  none: it has no restricted maximum" in str(found)


def test_draws_that_are_given_are_used() -> None:
    draws = CORE.sample(20, **FEW)
    values = draws["posterior"]["probabilities"].values
    assert ask(CORE, draws, best="a").probability == (values.argmax(axis=2) == 0).mean()
    assert (
        ask(CORE, draws, all_equal=True).bayes_factor == ask(CORE, 20, all_equal=True).bayes_factor
    )
    with pytest.raises(DataError, match="not of this posterior"):
        ask(Posterior(TEAMS, A), draws, best="a")
    sequence = np.random.SeedSequence(9)
    options = {"draws": 10, "chains": 2, "progress": False, "larger": "ab"}
    again = [luce.hypothesis(CORE, seed=sequence, **options) for _ in range(2)]  # type: ignore[arg-type]
    assert again[0].probability == again[1].probability
    assert 0 < luce.hypothesis(CORE, **options).probability < 1  # type: ignore[arg-type]


def test_a_point_far_out_rests_on_few_draws() -> None:
    with pytest.warns(EvidenceWarning, match="rests on .* of the draws alone"):
        found = ask(CORE, 20, share={"a": 0.999})
    assert found.bayes_factor.log < -5
    assert found.probability < 0.01
    far = of_point("far", BayesFactor(-800.0, 0.1), None, "no reason")
    assert far.probability == 0.0


def test_what_is_known_where_all_draws_are_on_one_side() -> None:
    always, never = np.ones((2, 20)), np.zeros((2, 20))
    for holds, fails, odds in ((always, never, inf), (never, always, -inf)):
        found = with_room("it is so", holds, fails, 0.25, None, "")
        assert (found.probability, found.bayes_factor.log) == (holds.mean(), odds)
        assert np.isnan(found.bayes_factor.standard_error)


@pytest.mark.parametrize(
    ("asked", "error", "said"),
    [
        ({}, MethodError, "one hypothesis is asked at a time"),
        ({"equal": "ab", "best": "a"}, MethodError, "one hypothesis is asked at a time"),
        ({"equal": "a"}, DataError, "equal needs two labels"),
        ({"larger": "a"}, DataError, "larger needs two labels"),
        ({"best": "a", "k": 3}, DataError, "k = 3; a whole number from 1 to 2"),
        ({"share": {"a": 0.2, "b": 0.3}}, DataError, "one label and its number"),
        ({"share": {"a": 1.0}}, DataError, "between 0 and 1"),
    ],
)
def test_what_cannot_be_asked(asked: dict[str, Any], error: type[Exception], said: str) -> None:
    with pytest.raises(error, match=said):
        ask(CORE, 10, **asked)


def test_only_posteriors_with_a_number_can_be_asked() -> None:
    with pytest.raises(DataError, match="ConditionalCounts was given"):
        ask(PAIRS, best="a")  # type: ignore[arg-type]
    with pytest.raises(DataError, match="a Dirichlet prior"):
        ask(Posterior(PAIRS, luce.Gamma(2.0, 1.0)), best="a")


# -- pieces left out --------------------------------------------------------------------

GAMES = [("a", "b"), ("b", "a"), ("b", "c"), ("c", "a")]


def test_each_piece_has_its_own_likelihood() -> None:
    none = ConditionalCounts("abc")
    pieces = [none.observe({one: 1}, within=[one, two]) for one, two in GAMES]
    pieces += [none.observe_ranking("cab"), none.observe_group("bc", 2), none.observe({"a": 2})]
    p = np.random.default_rng(2).dirichlet(np.ones(3), (2, 5))
    draws = luce.Posterior(sum(pieces)).sample(5, **FEW)  # type: ignore[arg-type]
    draws["posterior"]["probabilities"].values[:] = p
    of = dict(zip("abc", np.moveaxis(p, -1, 0), strict=True))
    expected = [np.log(of[i] / (of[i] + of[j])) for i, j in GAMES]
    expected += [np.log(of["c"]) + np.log(of["a"] / (of["a"] + of["b"]))]
    expected += [2 * np.log(of["b"] + of["c"]), 2 * np.log(of["a"])]
    found = luce.answers.log_likelihood(draws, pieces)
    np.testing.assert_allclose(found.values, np.stack(expected, axis=-1), rtol=1e-12)
    plain = luce.answers.log_likelihood(draws, pieces[-1:])  # no sets at all
    np.testing.assert_allclose(plain.values[..., 0], expected[-1], rtol=1e-12)


def test_pieces_are_predicted_by_the_others() -> None:
    """A Dirichlet's predictive probabilities: a fourth piece is a with (1 + 2) / (3 + 3)."""
    none = ConditionalCounts("abc")
    pieces = [none.observe({label: 1}) for label in "aaab"]
    draws = Posterior(sum(pieces)).sample(400, **FEW)  # type: ignore[arg-type]
    found = luce.loo(draws, pieces)
    truth = 3 * log(3 / 6) + log(1 / 6)
    assert float(found.elpd) == pytest.approx(truth, abs=0.5)
    assert float(found.elpd_i.values[3]) < float(found.elpd_i.values[0])


def test_no_pieces_are_refused() -> None:
    with pytest.raises(DataError, match="no pieces"):
        luce.answers.log_likelihood(np.full((1, 2, 3), 1 / 3), [])
    with pytest.raises(DataError, match="piece 0"):
        luce.answers.log_likelihood(np.full((1, 2, 3), 1 / 3), [ConditionalCounts(["x", "y"])])
