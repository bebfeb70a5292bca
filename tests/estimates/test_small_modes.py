"""Modes, maximum likelihood and what they rest on: climbs, curvature, flows and envelopes."""

import copy
import itertools
import pickle
from typing import Any

import numpy as np
import pytest
from lib.maximum_oracles import Seen, largest_if, log_height, never_lost
from lib.oracles import brute_structure
from scipy.stats import chi2
from test_maximum import counts_of

import luce
from luce import ConditionalCounts, Posterior
from luce.errors import DataError, MethodError, NoMaximumError
from luce.estimates import curvature as uncertainty
from luce.estimates.modes import Mode
from luce.hypotheses.likelihood_ratio import ratio_of_equal, ratio_of_order, ratio_of_share
from luce.kernels.curvature import precision, slope, times_precision
from luce.kernels.jit import compiled
from luce.kernels.log_powers import Powers, log_power_product, make_powers
from luce.kernels.problem import Problem
from luce.kernels.star_bound import star_bound
from luce.kernels.structure.max_flow import unmet_demands
from luce.model.shapes import raw_problem, shapes_of
from luce.sampling import laplace
from luce.sampling import maximum as core_maximum
from luce.sampling.envelope import MOST_ATOMS, fit_envelope
from luce.sampling.maximum import winning_groups

pytestmark = pytest.mark.filterwarnings("ignore::luce.ConvergenceWarning")


def along_a_path(*wins: tuple[float, float]) -> ConditionalCounts:
    counts = ConditionalCounts(len(wins) + 1)
    for k, (first, second) in enumerate(wins):
        counts = counts.observe({k: first, k + 1: second}, within=[k, k + 1])
    return counts


def in_a_circle(labels: str = "abcd") -> ConditionalCounts:
    counts = ConditionalCounts(labels)
    for k, label in enumerate(labels):
        counts = counts.observe({label: 2 + k, labels[k - 1]: 3}, within=[label, labels[k - 1]])
    return counts


# All kinds of sets: pairs, all but one, a ranking, everybody.
MIXED = in_a_circle("abcde").observe({"c": 4, "e": 1}, without="a").observe({"b": 3}, without="e")
MIXED = MIXED.observe_ranking("dab", 2).observe({"a": 2, "d": 1})


# -- the mode ---------------------------------------------------------------------------


@pytest.mark.parametrize(("scale", "less"), [("simplex", 1.0), ("log-odds", 0.0)])
def test_any_way_off_the_mode_goes_down(scale: str, less: float) -> None:
    posterior = Posterior(MIXED, [1.3, 1.1, 2.0, 1.6, 1.2])

    def height(p: np.ndarray) -> np.ndarray:
        return np.asarray(posterior.log_density(p) + (1 - less) * np.log(p).sum(axis=-1))

    p = np.asarray(posterior.mode(scale))
    assert p.sum() == pytest.approx(1, abs=1e-12)
    near = p * np.exp(1e-3 * np.random.default_rng(1).normal(size=(100, 5)))
    near /= near.sum(axis=1, keepdims=True)
    assert (height(near) < height(p)).all()
    # To first order nothing is lost: the slope is nil.
    assert np.abs(height(near) - height(p)).max() < 1e-3


def test_where_sets_nest_the_mode_is_a_product_of_shares() -> None:
    counts = ConditionalCounts("abc").observe({"b": 2, "c": 1}, without=["a"])
    posterior = Posterior(counts.observe({"a": 3, "b": 1}), 2.0)
    a = 4 / 7  # counts and concentration less 1
    np.testing.assert_allclose(posterior.mode(), [a, (1 - a) * 4 / 6, (1 - a) * 2 / 6], rtol=1e-12)
    a = 5 / 10  # counts and concentration
    expected = [a, (1 - a) * 5 / 8, (1 - a) * 3 / 8]
    np.testing.assert_allclose(posterior.mode("log-odds"), expected, rtol=1e-12)


@pytest.mark.parametrize("scale", ["simplex", "log-odds"])
def test_conjugate_gradients_climb_to_the_same_mode(
    monkeypatch: pytest.MonkeyPatch, scale: str
) -> None:
    grouped = MIXED.observe_group("bd", 3)
    posteriors = [Posterior(MIXED, 1.5), Posterior(grouped, 1.5)]
    dense = [posterior.mode(scale) for posterior in posteriors]
    monkeypatch.setattr(laplace, "MOST_DENSE", 0)
    for posterior, expected in zip(posteriors, dense, strict=True):
        np.testing.assert_allclose(posterior.mode(scale), expected, rtol=1e-6)


def test_the_cheaper_of_factors_and_products_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    assert laplace._factors_are_cheaper(raw(MIXED), 5)
    monkeypatch.setattr(laplace, "_FEW", 2)
    assert laplace._factors_are_cheaper(raw(MIXED), 5)
    assert not laplace._factors_are_cheaper(raw(along_a_path(*[(1, 1)] * 89)), 90)


@pytest.mark.parametrize(
    "wins", [[(2, 6), (1, 3)], [(1e12, 1), (5, 4)], [(5, 4), (1, 1e9), (1e5, 3)]]
)
def test_odds_along_a_path_are_those_of_wins(wins: list[tuple[float, float]]) -> None:
    mode = np.asarray(luce.maximum_likelihood(along_a_path(*wins)).probabilities)
    expected = [a / b for a, b in wins]
    np.testing.assert_allclose(mode[:-1] / mode[1:], expected, rtol=2e-3)


def test_the_mode_in_log_odds_is_never_on_the_boundary() -> None:
    mode = Posterior(along_a_path((1e9, 0), (1e9, 0)), 1e-3).mode("log-odds")
    assert mode.at_zero == ()
    p = np.array([1, 2e-12, 2e-24])
    np.testing.assert_allclose(np.log(mode), np.log(p / p.sum()), atol=1e-3)


def test_a_mode_is_an_array_that_knows_more() -> None:
    mode = luce.maximum_likelihood(along_a_path((2, 6), (1, 3), (5, 0))).probabilities
    assert (mode.scale, list(mode.categories), mode.at_zero) == ("likelihood", [0, 1, 2, 3], (3,))
    logs = np.log([1, 3, 9])
    np.testing.assert_allclose(mode.log_odds[:3], logs - logs.mean(), atol=1e-9)
    assert mode.log_odds[3] == -np.inf
    assert repr(mode) == "Mode(likelihood: 0: 0.07692, 1: 0.2308, 2: 0.6923, 3: 0; at 0: 3)"
    many = Posterior(ConditionalCounts(8).observe({0: 3}), 2.0).mode("log-odds")
    assert str(many).endswith("5: 0.1053, ...)")
    made = [mode * 2, mode[1:], np.exp(mode), np.stack([mode, mode])]
    assert {type(x) for x in made} == {np.ndarray}
    assert type(mode.sum()) is type(mode[1]) is np.float64
    for other in (pickle.loads(pickle.dumps(mode)), copy.deepcopy(mode), copy.copy(mode)):
        assert repr(other) == repr(mode)
    bare = mode.view(Mode)  # not named
    assert repr(bare) == repr(np.asarray(mode))
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(bare)), np.asarray(mode))


# -- grouped outcomes -------------------------------------------------------------------

# 0 has a quarter, 1 and 2 the rest, but 0 beats either alone: one of them is next to nothing.
TWO_PEAKS = [Seen((0,), (0, 1, 2), 12), Seen((1, 2), (0, 1, 2), 37), Seen((0,), (0, 2), 9),
             Seen((0,), (0, 1), 6)]  # fmt: skip
RIDGE = [Seen((0, 1), (0, 1, 2), 3), Seen((2,), (0, 1, 2), 2), Seen((1, 3), (1, 2, 3), 3),
         Seen((2,), (1, 2, 3), 2)]  # fmt: skip


def test_the_larger_of_two_maxima_is_found() -> None:
    mode = Posterior(counts_of(3, TWO_PEAKS), [1.3, 1.2, 1.4]).mode()
    assert mode.maxima == 2
    assert "largest of 2 maxima found" in repr(mode)
    powers = np.array([0.3, 0.2, 0.4])
    other = np.asarray(mode)[[0, 2, 1]]
    assert log_height(np.asarray(mode), TWO_PEAKS, powers) > log_height(other, TWO_PEAKS, powers)


def test_a_maximum_on_the_boundary_is_returned() -> None:
    """With 2 at 0, p_0^(12 + 6) p_1^37 is largest at 18 to 37."""
    found = luce.maximum_likelihood(counts_of(3, TWO_PEAKS))
    assert found.probabilities.at_zero == (2,)
    np.testing.assert_allclose(found.probabilities, [18 / 55, 37 / 55, 0], atol=1e-9)
    assert found.log_likelihood == pytest.approx(18 * np.log(18 / 55) + 37 * np.log(37 / 55))


def test_ridges_and_climbs_without_an_end_have_no_maximum() -> None:
    with pytest.raises(NoMaximumError, match="not a single point"):
        luce.maximum_likelihood(counts_of(4, RIDGE))
    endless = [Seen((0,), (0, 2), 1), Seen((0, 2), (0, 1, 2), 3), Seen((1,), (1, 2), 2),
               Seen((2,), (1, 2), 7)]  # fmt: skip
    with pytest.raises(NoMaximumError) as caught:
        luce.maximum_likelihood(counts_of(3, endless))
    assert caught.value.groups[0] == [0]


# -- concentrations below 1 -------------------------------------------------------------


def test_a_mode_below_concentration_1_is_the_largest() -> None:
    posterior = Posterior(in_a_circle("abcd"), 0.6)
    mode = np.asarray(posterior.mode())
    near = mode * np.exp(np.random.default_rng(1).normal(0, 0.05, (100, 4)))
    near /= near.sum(axis=1, keepdims=True)
    assert (posterior.log_density(near) < posterior.log_density(mode)).all()


def test_densities_without_bound_are_refused() -> None:
    halves = ConditionalCounts(3).observe({0: 0.5}, within=[0, 1]).observe({2: 0.5})
    with pytest.raises(NoMaximumError, match="grows without bound as the probability of 0, 1 tog"):
        Posterior(halves.observe({1: 0.5}, within=[1, 2]), 0.5).mode()
    with pytest.raises(NoMaximumError, match="grows without bound as the probability of 2 goes"):
        Posterior(along_a_path((3, 1), (2, 0)), 0.5).mode()
    apart = counts_of(4, [Seen((0,), (0, 1), 3), Seen((1,), (0, 1), 1), Seen((2,), (2, 3), 2),
                          Seen((3,), (2, 3), 5)])  # fmt: skip
    with pytest.raises(NoMaximumError, match=r"0, 1 together goes to 0"):
        Posterior(apart, 0.5).mode()
    # 3 and 4 won 1 outcome against the others: p_34^(2 a - 1) has no bound below a = 1/2.
    counts = ConditionalCounts(5).observe({3: 5, 4: 6}, within=[3, 4])
    counts = counts.observe({0: 3, 3: 0.5}, within=[0, 3]).observe({1: 3, 4: 0.5}, within=[1, 4])
    for one, two in ((0, 1), (1, 2), (0, 2)):
        counts = counts.observe({one: 4, two: 3}, within=[one, two])
    with pytest.raises(NoMaximumError, match="won too little against the others"):
        Posterior(counts, 0.4).mode()
    assert Posterior(counts, 1.1).mode().min() > 0


# -- no maximum -------------------------------------------------------------------------


def test_who_always_won_and_who_never_met() -> None:
    with pytest.raises(NoMaximumError, match="'d' never lost against any of the other 3") as caught:
        luce.maximum_likelihood(
            ConditionalCounts("abcd").observe({"a": 3, "b": 2}, within="ab")
            .observe({"b": 1, "c": 1}, within="bc").observe({"c": 4, "a": 1}, within="ac")
            .observe({"d": 1}, within="cd").observe({"d": 2}, within="ad")
        )  # fmt: skip
    assert [sorted(g) for g in caught.value.groups] == [["d"], list("abc")]
    apart = ConditionalCounts("abcd").observe({"a": 3, "b": 2}, within="ab")
    apart = apart.observe({"c": 1, "d": 1}, within="cd")
    with pytest.raises(NoMaximumError, match=r"\['a', 'b'\], \['c', 'd'\] were never compared"):
        luce.maximum_likelihood(apart)
    with pytest.raises(NoMaximumError, match="without data all probabilities are equally good"):
        luce.maximum_likelihood(ConditionalCounts(2))
    with pytest.raises(NoMaximumError, match=r"\[0\], \[1\], \[2\], \[3\], \.\.\. were never"):
        luce.maximum_likelihood(ConditionalCounts(7).observe({5: 1, 6: 2}, within=[5, 6]))


@pytest.mark.parametrize("inside", ["a core", "a cell", "a tree"])
def test_a_team_that_never_won_has_no_place_to_be(inside: str) -> None:
    """d and e won against each other, and against nobody else: at 0 they could not have."""
    counts = ConditionalCounts("abcde").observe({"d": 2, "e": 3}, within="de")
    if inside == "a tree":
        counts = counts.observe({"a": 3, "b": 1, "c": 2})
    else:
        for one, two in ("ab", "bc", "ca"):
            counts = counts.observe({one: 2, two: 1}, within=[one, two])
        for lost in ("de",) if inside == "a cell" else ("d", "e"):
            counts = counts.observe({"a": 4}, within=["a", *lost])
    with pytest.raises(NoMaximumError, match="'d', 'e' never won against any of the other 3"):
        luce.maximum_likelihood(counts)
    assert Posterior(counts, 1.5).mode().min() > 0


def test_tiers_are_told_in_order() -> None:
    tiers = ["ab", "cd", "ef"]
    counts = ConditionalCounts("abcdef")
    for upper, lower in ("ac", "bd", "ce", "df"):
        counts = counts.observe({upper: 3}, within=[upper, lower])
    for one, two in tiers:
        counts = counts.observe({one: 2, two: 3}, within=[one, two])
    with pytest.raises(NoMaximumError, match=r"of the 3 groups .* ever won against") as caught:
        luce.maximum_likelihood(counts)
    assert [sorted(group) for group in caught.value.groups] == [list(tier) for tier in tiers]


def test_losers_that_were_always_together_are_at_0() -> None:
    counts = ConditionalCounts("abcde").observe({"a": 3, "b": 1}, within="abde")
    counts = counts.observe({"b": 2, "c": 1}, within="bc").observe({"c": 2, "a": 1}, within="ca")
    mode = luce.maximum_likelihood(counts).probabilities
    assert mode.at_zero == ("d", "e")
    # Nobody of d, e and f, a core of their own, was ever chosen: they have nothing to share.
    lost = ConditionalCounts("abcdef").observe({"a": 3, "b": 1, "c": 2})
    lost = lost.observe({"a": 1}, within="ade").observe({"b": 2}, within="bef")
    found = luce.maximum_likelihood(lost).probabilities
    assert found.at_zero == ("d", "e", "f")


@pytest.mark.parametrize("data", [
    [Seen((0,), (0, 1), 1), Seen((1,), (1, 2, 3), 2)],
    [Seen((2,), (0, 1, 2), 3), Seen((3,), (0, 3), 1), Seen((1,), (1, 2, 3), 1)],
    [Seen((0, 1), (0, 1, 2), 2), Seen((3,), (1, 2, 3), 1)],
])  # fmt: skip
def test_winning_groups_are_those_that_brute_force_finds(data: list[Seen]) -> None:
    counts, everybody = counts_of(4, data), frozenset(range(4))
    power, family = counts.category_counts, counts.sets
    total = float(power.sum() + family.exponent.sum())
    for order in itertools.permutations(range(4)):
        theta = np.empty(4)
        theta[list(order)] = np.arange(4.0)[::-1]
        groups = winning_groups(family, power, total, theta)
        assert np.concatenate(groups).tolist() == list(order)
        cuts = np.cumsum([len(g) for g in groups])[:-1].tolist()
        assert cuts == [k for k in (1, 2, 3) if never_lost(frozenset(order[:k]), data, everybody)]


def test_maximum_likelihood_is_of_counts() -> None:
    with pytest.raises(DataError, match="Posterior was given"):
        luce.maximum_likelihood(Posterior(MIXED))  # type: ignore[arg-type]
    with pytest.raises(MethodError, match="choose one of simplex, log-odds"):
        Posterior(MIXED).mode("p")


def test_a_mode_that_is_not_reached_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(laplace, "_MOST_LOOKS", 1)
    with pytest.raises(NoMaximumError, match="the maximum was not reached"):
        core_maximum.core_shares(core_problem(MIXED, 1.5), core_of(MIXED))
    with pytest.warns(luce.ConvergenceWarning, match="did not reach the mode"):
        laplace.log_mode(core_problem(MIXED, 1.5))


# -- likelihood ratios ------------------------------------------------------------------

DATA = [Seen((0,), (0, 1), 5), Seen((1,), (0, 1), 2), Seen((1,), (1, 2), 3), Seen((2,), (1, 2), 4),
        Seen((2,), (0, 2), 1), Seen((0,), (0, 2), 6), Seen((2,), (0, 1, 2), 2)]  # fmt: skip


@pytest.mark.parametrize(
    "data", [DATA, [*DATA, Seen((1, 2), (0, 1, 2), 12)]], ids=["single", "grouped"]
)
def test_what_restrictions_cost(data: list[Seen]) -> None:
    counts, best = counts_of(3, data), largest_if(data, 3)
    for equal in ([0, 2], [0, 1, 2]):
        found, _ = ratio_of_equal(counts, np.array(equal))
        assert found is not None
        statistic = 2 * (best - largest_if(data, 3, equal))
        assert found.statistic == pytest.approx(statistic, abs=1e-5)
        assert found.p_value == pytest.approx(chi2.sf(statistic, len(equal) - 1), abs=1e-5)
    shared, _ = ratio_of_share(counts, 1, 0.5)
    assert shared is not None
    assert shared.statistic == pytest.approx(
        2 * (best - largest_if(data, 3, share=(1, 0.5))), abs=1e-5
    )
    assert ratio_of_order(counts, 0, 1)[0] == (0.0, 1, 1.0)
    turned, _ = ratio_of_order(counts, 1, 0)
    assert turned is not None
    assert turned.p_value == pytest.approx(chi2.sf(turned.statistic, 1) / 2)


def test_where_there_is_no_maximum_there_is_no_ratio() -> None:
    for counts, why in (
        (along_a_path((3, 0), (2, 1)), "never lost"),
        (along_a_path((2, 6), (3, 0)), "the estimate of 2 is 0"),
    ):
        for none, said in (
            ratio_of_equal(counts, np.array([0, 1])),
            ratio_of_order(counts, 0, 1),
            ratio_of_share(counts, 0, 0.2),
        ):
            assert none is None
            assert why in said


# -- the Laplace fit --------------------------------------------------------------------


def test_covariances_of_plain_counts_are_the_multinomials() -> None:
    seen = np.array([6.0, 10.0, 4.0])
    found = luce.maximum_likelihood(ConditionalCounts(3).observe(dict(enumerate(seen))))
    p, n = seen / 20, 20
    np.testing.assert_allclose(found.covariance(), (np.diag(p) - np.outer(p, p)) / n, rtol=1e-9)
    errors = found.standard_errors("log-odds", reference=0)
    np.testing.assert_allclose(errors, np.sqrt([0, 1 / 6 + 1 / 10, 1 / 6 + 1 / 4]), rtol=1e-9)
    centred = found.covariance("log-odds")
    np.testing.assert_allclose(centred.sum(axis=0), 0, atol=1e-12)


@pytest.mark.parametrize("likelihood", [True, False])
def test_conjugate_gradients_fit_the_same_covariance(
    monkeypatch: pytest.MonkeyPatch, likelihood: bool
) -> None:
    given: Any = luce.maximum_likelihood(MIXED) if likelihood else Posterior(MIXED, 1.5)
    asked = {"scale": "log-odds", "reference": "c", "among": ["d", "a"]}
    dense = given.covariance(**asked)
    monkeypatch.setattr(uncertainty, "MOST_DENSE", 0)
    np.testing.assert_allclose(given.covariance(**asked), dense, rtol=1e-6)


def test_categories_at_0_have_no_curvature() -> None:
    found = luce.maximum_likelihood(along_a_path((2, 6), (1, 3), (5, 0)))
    covariance = found.covariance("log-odds", reference=0)
    assert np.isnan(covariance[3]).all()
    assert covariance[1, 1] == pytest.approx(1 / 2 + 1 / 6, rel=1e-8)
    with pytest.raises(MethodError, match="reference = 3 has probability 0"):
        found.covariance("log-odds", reference=3)


def test_fits_that_cannot_be_had(monkeypatch: pytest.MonkeyPatch) -> None:
    flat = Mode(np.array([0.3, 0.2, 0.3, 0.2]), "likelihood", range(4))
    none = np.zeros(4)
    counts = ConditionalCounts(4).observe({0: 2, 1: 1}, within=[0, 1])
    counts = counts.observe({2: 2, 3: 1}, within=[2, 3])
    with pytest.raises(MethodError, match="flat in some direction"):
        uncertainty.covariance_at(counts, none, flat, "simplex", "mean", None)
    monkeypatch.setattr(uncertainty, "_MOST_COLUMNS", 3)
    with pytest.raises(MethodError, match="at most 3 can be asked for at once"):
        Posterior(MIXED, 1.5).covariance()
    assert Posterior(MIXED, 1.5).covariance(among="abc").shape == (3, 3)


# -- kernels ----------------------------------------------------------------------------


def raw(counts: ConditionalCounts, a: float = 1.5) -> Problem:
    return raw_problem(counts, np.full(counts.n_categories, a))


def core_of(counts: ConditionalCounts) -> Any:
    return Posterior(counts).structure.cores[0]


def core_problem(counts: ConditionalCounts, a: Any) -> Problem:
    posterior = Posterior(counts, a)
    return shapes_of(posterior.structure, counts, posterior.concentration).core_problem(0)


@pytest.mark.parametrize(
    "counts",
    [
        MIXED,
        MIXED.observe_group("bd", 3),
        in_a_circle("abcde"),
        ConditionalCounts("abcde").observe({"a": 900}, without="bc").observe({"b": 1}, without="a"),
    ],
    ids=["single", "grouped", "pairs", "complements"],
)
def test_slope_and_curvature_are_differences(counts: ConditionalCounts) -> None:
    problem, n, h = raw(counts)._replace(wide=None), 5, 1e-5
    theta = np.random.default_rng(2).normal(0.0, 0.7, n)
    gradient, step = np.empty(n), np.eye(n) * h
    slope(problem, theta, gradient)
    ends = np.empty((2, n))
    numeric, turned = np.empty(n), np.empty((n, n))
    for i in range(n):
        up, down = (slope(problem, theta + s * step[i], ends[k]) for k, s in enumerate((1, -1)))
        numeric[i], turned[i] = (up - down) / (2 * h), -(ends[0] - ends[1]) / (2 * h)
    np.testing.assert_allclose(gradient, numeric, rtol=1e-5, atol=1e-5)
    matrix = np.empty((n, n))
    precision(problem, theta, matrix)
    np.testing.assert_allclose(matrix, turned, rtol=1e-5, atol=1e-5)
    v, out = np.array([1.0, -2.0, 0.5, 3.0, -1.0]), np.empty(n)
    times_precision(problem, theta, v, out)
    np.testing.assert_allclose(out, matrix @ v, rtol=1e-9, atol=1e-9)


def test_weights_that_cancel_are_added_up_afresh() -> None:
    """a, b and c are each left out a million times, so no million is left of any two of them."""
    counts = ConditionalCounts(6)
    for out in range(3):
        counts = counts.observe({3: 1e6, 4: 1e6}, without=[out])
    counts = counts.observe({0: 2, 1: 1}, within=[0, 1]).observe({5: 3}, without=[0, 1, 2])
    assert counts.sets.complement.any()
    problem = raw(counts)._replace(wide=None)
    theta = np.log(np.array([0.1, 0.2, 0.1, 0.25, 0.2, 0.15]))
    matrix = np.empty((6, 6))
    precision(problem, theta, matrix)
    p = np.exp(theta)
    by_hand = np.zeros((6, 6))
    for t in range(counts.sets.n_sets):
        members = counts.sets.set_members(t)
        weight = -counts.sets.exponent[t] / p[members].sum() ** 2
        by_hand[np.ix_(members, members)] += weight
    expected = -by_hand * np.outer(p, p)
    off = ~np.eye(6, dtype=bool)
    np.testing.assert_allclose(matrix[off], expected[off], rtol=1e-9)


@compiled
def log_product(powers: Powers, x: np.ndarray) -> float:
    """What only compiled code may call."""
    return log_power_product(powers, x)


def test_products_of_powers_do_not_overflow() -> None:
    x = np.array([1e-200, 3.0, 1e-200, 1e16, 2.0, 1e-200, 1e16])
    k = np.array([2.0, 0.5, 2.0, 7.0, 0.0, 2.0, 7.0])
    assert log_product(make_powers(k), x) == pytest.approx(float(k @ np.log(x)), rel=1e-13)


def test_demands_are_met_where_no_group_asks_for_too_much() -> None:
    """Hall's condition, over all groups of demands."""
    rng = np.random.default_rng(4)
    met = {True: 0, False: 0}
    for _ in range(60):
        n_supply, n_demand = int(rng.integers(2, 5)), int(rng.integers(2, 6))
        supply = rng.integers(0, 5, n_supply).astype(float)
        demand = rng.integers(0, 4, n_demand).astype(float)
        links = [np.flatnonzero(rng.random(n_supply) < 0.55) for _ in range(n_demand)]
        start = np.r_[0, np.cumsum([len(x) for x in links])].astype(np.int64)
        to = np.concatenate(links).astype(np.int64)
        unmet = unmet_demands(supply, demand, start, to, 0.0)
        too_much = False
        for size in range(1, n_demand + 1):
            for group in itertools.combinations(range(n_demand), size):
                reached = np.unique(np.concatenate([links[j] for j in group])).astype(int)
                too_much |= bool(demand[list(group)].sum() > supply[reached].sum())
        assert unmet.any() == too_much
        if too_much:
            group = np.flatnonzero(unmet)
            reached = np.unique(np.concatenate([links[j] for j in group])).astype(int)
            assert demand[group].sum() > supply[reached].sum()
        met[too_much] += 1
    assert min(met.values()) > 5


def test_exponents_that_no_data_has_are_refused() -> None:
    made = ConditionalCounts.from_exponents(
        "abcd", {"a": 3, "b": 1, "c": 1, ("a", "b"): -4, ("c", "d"): 1.5, ("b", "c", "d"): -1}
    )
    assert made.sets.n_sets == 3
    assert ConditionalCounts.from_exponents("abc", {"a": 2}).n_outcomes == 2
    with pytest.raises(DataError, match="category 'a' has the exponent -2"):
        ConditionalCounts.from_exponents("ab", {"a": -2, "b": 3})
    with pytest.raises(DataError, match="no more than 2 can be inside"):
        ConditionalCounts.from_exponents("abc", {"a": 1, "b": 1, "c": 5, ("a", "b"): -3})
    pairs = dict.fromkeys(itertools.combinations("abcd", 2), -1.0)
    with pytest.raises(DataError, match="and 3 more sets"):
        ConditionalCounts.from_exponents("abcd", pairs)


def check_structure(counts: ConditionalCounts) -> None:
    family = counts.sets
    listed = [frozenset(family.set_members(t).tolist()) for t in range(family.n_sets)]
    truth, found = brute_structure(counts.n_categories, listed), Posterior(counts).structure
    assert found.n_atoms == truth.n_atoms
    assert sorted((core.n_atoms, core.n_sets) for core in found.cores) == truth.sizes


def test_overlaps_are_those_that_brute_force_finds() -> None:
    rng = np.random.default_rng(6)
    for _ in range(40):
        n = int(rng.integers(5, 9))
        counts = ConditionalCounts(n)
        for _ in range(int(rng.integers(2, 6))):
            order = rng.permutation(n)
            order = order[: int(rng.integers(2, n))].tolist()
            if rng.random() < 0.4:
                counts = counts.observe_ranking(order)
            elif rng.random() < 0.5:
                counts = counts.observe({order[0]: 1}, within=order)
            else:
                counts = counts.observe({order[0]: 1}, without=order[1:3])
        check_structure(counts)


def test_overlaps_of_many_large_sets() -> None:
    """Forty sets lack 0, one more and more than the other; what comes between them may not."""
    n = 100
    counts = ConditionalCounts(n)
    for k in range(1, 41):
        counts = counts.observe({n - 1: 1}, without=range(k))
    check_structure(counts)
    for lacking in ([50, 51], list(range(41, 79)), list(range(41, 85)), [97]):
        counts = counts.observe({n - 1: 1}, without=lacking)
        check_structure(counts)


# -- envelopes --------------------------------------------------------------------------


def log_star(d: np.ndarray, m: np.ndarray, x: np.ndarray) -> np.ndarray:
    return np.asarray(np.log(x) @ d - np.log1p(-x) @ m)


@pytest.mark.parametrize(
    ("d", "m"),
    [
        ([2.0, 1.0, 3.0], [0.5, 0.0, 0.3]),
        ([2.0, 1.0, 3.0], [3.96, 0.0, 0.5]),
        ([2.0, 2.0, 1.0, 1.0], [3.9, 3.9, 0.5, 0.5]),
    ],
)
def test_no_point_is_above_the_bound(d: list[float], m: list[float]) -> None:
    powers, left_out, x = np.array(d), np.array(m), np.empty(len(d))
    bound = star_bound(powers, left_out, np.arange(len(d)), 0.01, x)
    points = np.random.default_rng(3).dirichlet(np.full(len(d), 0.5), 2000).clip(1e-12, 1 - 1e-12)
    assert log_star(powers, left_out, points).max() <= bound
    assert bound - 0.011 <= log_star(powers, left_out, x) <= bound


def test_there_is_no_bound_beyond_the_corner_condition() -> None:
    d, m = np.array([1.0, 1.0, 1.0]), np.array([2.5, 0.0, 0.0])
    assert star_bound(d, m, np.arange(3), 0.01, np.empty(3)) == np.inf


def test_the_envelope_lies_above_the_posterior() -> None:
    counts = ConditionalCounts(4).observe({1: 3, 2: 2}, without=[0]).observe({0: 4}, without=[1])
    problem = core_problem(counts, [1.5, 2.0, 1.2, 1.2])
    fitted = fit_envelope(problem)
    assert fitted is not None
    envelope, accepted = fitted
    assert 0.3 < accepted <= 1
    m = np.zeros(len(problem.shape))
    for t, wait in enumerate(problem.waits):
        listed = problem.members[problem.nest_start[t] : problem.nest_start[t + 1]]
        out = listed if problem.complement[t] else np.setdiff1d(np.arange(len(m)), listed)
        m[out] += wait
    d = problem.shape - envelope.shape
    p = np.random.default_rng(1).dirichlet(envelope.shape, 500)
    ratios = log_star(d, m, p) - envelope.log_bound
    assert ratios.max() <= 0
    assert np.exp(ratios).mean() == pytest.approx(accepted, abs=0.1)


def test_where_there_is_no_envelope_and_where_none_is_needed() -> None:
    assert fit_envelope(core_problem(along_a_path((2, 1), (3, 1), (1, 1)), 1.5)) is None
    assert fit_envelope(raw(ConditionalCounts(MOST_ATOMS + 1).observe({0: 1}))) is None
    # One atom was left out a thousand times, and hardly anything is known of the others.
    counts = ConditionalCounts(4).observe({0: 1000}, without=[1]).observe({1: 1}, without=[0])
    assert fit_envelope(core_problem(counts, 0.5)) is None
    own = fit_envelope(raw(ConditionalCounts(3).observe({0: 2})))
    assert own is not None
    envelope, accepted = own
    assert accepted == 1.0
    np.testing.assert_allclose(envelope.shape, [3.5, 1.5, 1.5])


def test_the_fit_tells_how_well_waiting_times_would_mix() -> None:
    """Many outcomes of pairs along a path tell little of its ends; few tell less than the prior."""
    shares = [
        laplace.fit_curvature(raw(along_a_path(*[(k, k)] * 4)))[1] for k in (1.0, 10.0, 100.0)
    ]
    assert shares == sorted(shares, reverse=True)
    assert 0 < shares[-1] < shares[0] <= 1
    problem = raw(along_a_path((3, 2), (1, 4)))
    fit, _ = laplace.fit_curvature(problem)
    theta, matrix = laplace.log_mode(problem), np.empty((3, 3))
    precision(problem._replace(wide=None), theta, matrix)
    np.testing.assert_allclose(fit.root.T @ fit.root @ matrix, np.eye(3), atol=1e-9)


def test_log_likelihood_at_the_maximum_is_the_judges() -> None:
    found = luce.maximum_likelihood(MIXED)
    assert found.log_likelihood == float(MIXED.log_likelihood(found.probabilities))
