"""The mode: a point where the slope along the simplex is nil, and no better point nearby.

Modes of grouped outcomes are compared with other optimisers from many starts; the likelihoods are
those of `maximum_oracles`, from the outcomes one by one.
"""

import copy
import itertools
import pickle

import numpy as np
import pytest
from lib.bounds import SEED
from lib.maximum_cases import MIXED, TWO_PEAKS, along_a_path, counts_of, drivers, in_a_circle
from lib.maximum_oracles import Seen, log_height, peaks, random_data
from scipy.optimize import minimize
from scipy.special import softmax

import luce
from luce import ConditionalCounts, Posterior
from luce.errors import MethodError, NoMaximumError
from luce.estimates.modes import Mode, find_mode
from luce.kernels import newton
from luce.sampling.laplace import ClimbLimits

Terms = list[tuple[list[int], float]]


def random_posterior(rng: np.random.Generator, least: float) -> tuple[Posterior, Terms]:
    """Pairs, all-but-one, a ranking and full outcomes, and their sets spelled out with powers."""
    n = int(rng.integers(4, 9))
    labels = [f"item {k}" for k in rng.permutation(n)]
    counts = ConditionalCounts(labels).observe({labels[0]: 2, labels[-1]: 1})
    terms: Terms = []
    for _ in range(int(rng.integers(2, 6))):
        a, b = rng.choice(n, 2, replace=False).tolist()
        wins = {labels[a]: int(rng.integers(1, 6)), labels[b]: int(rng.integers(1, 6))}
        counts = counts.observe(wins, within=list(wins))
        terms.append(([a, b], -sum(wins.values())))
    out, chosen = rng.choice(n, 2, replace=False).tolist()
    counts = counts.observe({labels[chosen]: 4}, without=[labels[out]])
    terms.append(([k for k in range(n) if k != out], -4.0))
    order = rng.choice(n, 3, replace=False).tolist()
    counts = counts.observe_ranking([labels[k] for k in order], 2)
    terms += [(order, -2.0), (order[1:], -2.0)]  # the last one wins for sure
    return Posterior(counts, rng.uniform(least, least + 2, n)), terms


def slope(posterior: Posterior, terms: Terms, p: np.ndarray, less: float) -> np.ndarray:
    """Slope along the simplex, times p, of Π p^(c - less) Π p(S)^e: nil at the mode."""
    power = posterior.concentration + posterior.counts.category_counts - less
    out = power / p
    for inside, exponent in terms:
        out[inside] += exponent / p[inside].sum()
    return np.asarray(p * out - p * (p * out).sum())


def log_density(posterior: Posterior, p: np.ndarray, less: float) -> np.ndarray:
    """Log of Π p^(c - less) Π p(S)^e; the density of p is that with 1."""
    return np.asarray(posterior.log_density(p) + (1 - less) * np.log(p).sum(axis=-1))


@pytest.mark.parametrize(("scale", "least"), [("simplex", 1.05), ("log-odds", 0.05)])
@pytest.mark.parametrize("seed", range(20))
def test_the_slope_is_the_same_for_all_categories(seed: int, scale: str, least: float) -> None:
    rng = np.random.default_rng([SEED, seed])
    posterior, terms = random_posterior(rng, least)
    less = 1.0 if scale == "simplex" else 0.0
    p = np.asarray(posterior.mode(scale))
    assert p.sum() == pytest.approx(1, abs=1e-12)
    assert p.min() > 0
    enough = 1e-10 * posterior.counts.n_outcomes
    assert np.abs(slope(posterior, terms, p, less)).max() < enough
    # Any way off goes down, and the first check tells a point a thousandth off.
    near = p * np.exp(1e-3 * rng.normal(size=(200, len(p))))
    near /= near.sum(axis=1, keepdims=True)
    assert (log_density(posterior, near, less) < log_density(posterior, p, less)).all()
    assert np.abs(slope(posterior, terms, near[0], less)).max() > enough


def test_the_two_scales_have_modes_of_their_own() -> None:
    posterior, terms = random_posterior(np.random.default_rng([SEED, 100]), 1.2)
    enough = 1e-10 * posterior.counts.n_outcomes
    for scale, less in (("simplex", 0.0), ("log-odds", 1.0)):  # each at the other's mode
        assert np.abs(slope(posterior, terms, np.asarray(posterior.mode(scale)), less)).max() > (
            1e3 * enough
        )


def test_where_sets_nest_the_mode_is_a_product_of_shares() -> None:
    counts = ConditionalCounts("abc").observe({"b": 2, "c": 1}, without=["a"])
    posterior = Posterior(counts.observe({"a": 3, "b": 1}), 2.0)
    a = 4 / 7  # counts and concentration less 1: 4 of a, 2 and 1 of the rest
    np.testing.assert_allclose(posterior.mode(), [a, (1 - a) * 4 / 6, (1 - a) * 2 / 6], rtol=1e-12)
    a = 5 / 10  # in log-odds, counts and concentration
    expected = [a, (1 - a) * 5 / 8, (1 - a) * 3 / 8]
    np.testing.assert_allclose(posterior.mode("log-odds"), expected, rtol=1e-12)


def test_the_mode_in_log_odds_is_never_on_the_boundary() -> None:
    # 0 never lost, and the prior is a trillionth of the data.
    mode = Posterior(along_a_path([(1e9, 0), (1e9, 0)]), 1e-3).mode("log-odds")
    assert mode.values.min() > 0
    assert mode.at_zero == ()
    # 1 and 2 have a prior of 2e-3 together against 1e9 of 0, and 2 has 1e-3 against 1e9 of 1.  The
    # power of 1, 1e9 + 1e-3, is known to 1e-7, a ten thousandth of the first.
    p = np.array([1, 2e-12, 2e-24])
    np.testing.assert_allclose(np.log(mode), np.log(p / p.sum()), atol=1e-3)


@pytest.mark.parametrize("scale", ["simplex", "log-odds"])
@pytest.mark.parametrize(
    "posterior",
    [
        Posterior(MIXED, 1.5),
        Posterior(MIXED.observe_group("bd", 3), 1.5),
        pytest.param(Posterior(drivers(1), 1.5), marks=pytest.mark.compiled),
    ],
    ids=["single", "grouped", "drivers"],
)
def test_factors_and_conjugate_gradients_climb_to_one_mode(
    monkeypatch: pytest.MonkeyPatch, posterior: Posterior, scale: str
) -> None:
    climbs = []

    def climb(problem: object, *rest: object) -> bool:
        climbs.append(problem)
        return bool(original(problem, *rest))

    original = newton.climb_by_products
    monkeypatch.setattr(newton, "climb_by_products", climb)
    given = posterior.counts, posterior.concentration, scale
    dense = find_mode(*given, limits=ClimbLimits(always_dense=2000))
    assert not climbs
    sparse = find_mode(*given, limits=ClimbLimits(most_dense=0))
    assert climbs
    np.testing.assert_allclose(sparse, dense, rtol=1e-6)


# -- grouped outcomes -------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(6))
def test_modes_of_grouped_outcomes_are_the_highest_peaks(seed: int) -> None:
    rng = np.random.default_rng([SEED, seed])
    n = int(rng.integers(3, 6))
    data, concentration = random_data(rng, n, 9, grouped=0.6), rng.uniform(1.1, 2.5, n)
    posterior = Posterior(counts_of(n, data), concentration)
    for scale, powers in (("simplex", concentration - 1), ("log-odds", concentration)):
        found = np.asarray(posterior.mode(scale))
        highest = peaks(data, powers, rng)[0]
        height = log_height(found, data, powers)
        assert height > highest.height - 1e-8
        if height < highest.height + 1e-6:  # else the others missed it
            np.testing.assert_allclose(found, highest.p, atol=1e-4)
        # The same assertion tells a point a hundredth off.
        off = found * np.exp(rng.normal(0, 1e-2, n))
        assert log_height(off / off.sum(), data, powers) < highest.height - 1e-8


def test_the_larger_of_two_maxima_is_found() -> None:
    concentration = np.array([1.3, 1.2, 1.4])
    both = peaks(TWO_PEAKS, concentration - 1, np.random.default_rng([SEED, 200]), starts=30)
    assert len(both) == 2
    assert both[0].height > both[1].height + 1
    mode = Posterior(counts_of(3, TWO_PEAKS), concentration).mode()
    assert mode.maxima == 2
    assert "largest of 2 maxima found" in repr(mode)
    np.testing.assert_allclose(mode, both[0].p, atol=1e-5)
    assert np.abs(mode.values - both[1].p).max() > 0.5
    # Without the games of a alone there is one.
    assert Posterior(counts_of(3, TWO_PEAKS[:2]), concentration).mode().maxima == 1


# -- concentrations below 1 -------------------------------------------------------------


def test_a_mode_below_concentration_1_is_the_largest() -> None:
    posterior = Posterior(in_a_circle("abcd"), 0.6)
    mode = np.asarray(posterior.mode())
    near = mode * np.exp(np.random.default_rng(1).normal(0, 0.05, (100, 4)))
    near /= near.sum(axis=1, keepdims=True)
    assert (posterior.log_density(near) < posterior.log_density(mode)).all()


@pytest.mark.compiled
def test_a_mode_below_concentration_1_is_the_largest_or_is_refused() -> None:
    """The total has a power below 0: the density may be unbounded, or have several maxima.

    It is unbounded where Σ_{i ∈ F} k_i + Σ_{S ⊆ F} e_S < 0 for a subset F; all are tried.  Modes
    are compared with scipy's.
    """
    rng, n, a = np.random.default_rng(77), 5, 0.4  # not swept: starts are finite in number
    met = {True: 0, False: 0}
    for _ in range(60):
        data = random_data(rng, n, int(rng.integers(4, 14)))
        posterior = Posterior(counts_of(n, data), a)
        power = np.full(n, a - 1)
        for (winner,), _, count in data:
            power[winner] += count
        proper = [f for k in range(1, n) for f in itertools.combinations(range(n), k)]
        least = min(
            power[list(f)].sum() - sum(c for _, within, c in data if set(within) <= set(f))
            for f in proper
        )
        met[least > 0] += 1
        if least < 0:
            with pytest.raises(NoMaximumError):
                posterior.mode()
            continue
        mode = np.asarray(posterior.mode())
        best = posterior.log_density(mode)
        for start in rng.normal(size=(3, n)):
            found = minimize(lambda t, it=posterior: -it.log_density(softmax(t)), start)
            assert -found.fun <= best + 1e-6
            closest = min(np.abs(softmax(found.x) - mode).max(), best + found.fun)
            assert closest < 1e-4  # the same place, or a lower one
    assert min(met.values()) >= 10


def test_densities_without_bound_are_refused() -> None:
    halves = ConditionalCounts(3).observe({0: 0.5}, within=[0, 1]).observe({2: 0.5})
    with pytest.raises(NoMaximumError, match="grows without bound as the probability of 0, 1 tog"):
        Posterior(halves.observe({1: 0.5}, within=[1, 2]), 0.5).mode()
    with pytest.raises(NoMaximumError, match="grows without bound as the probability of 2 goes"):
        Posterior(along_a_path([(3, 1), (2, 0)]), 0.5).mode()
    # 3 and 4 won 1 outcome against the others: p_34^(2 a - 1) has no bound below a = 1/2.
    counts = ConditionalCounts(5).observe({3: 5, 4: 6}, within=[3, 4])
    counts = counts.observe({0: 3, 3: 0.5}, within=[0, 3]).observe({1: 3, 4: 0.5}, within=[1, 4])
    for one, two in ((0, 1), (1, 2), (0, 2)):
        counts = counts.observe({one: 4, two: 3}, within=[one, two])
    with pytest.raises(NoMaximumError, match="won too little against the others"):
        Posterior(counts, 0.4).mode()
    assert Posterior(counts, 1.1).mode().values.min() > 0


def test_groups_that_never_met_below_concentration_1() -> None:
    """p(ab)^-1 p(cd)^-1 has a stationary place, which is its least."""
    data = [
        Seen((0,), (0, 1), 3),
        Seen((1,), (0, 1), 1),
        Seen((2,), (2, 3), 2),
        Seen((3,), (2, 3), 5),
    ]
    with pytest.raises(NoMaximumError, match=r"0, 1 together goes to 0"):
        Posterior(counts_of(4, data), 0.5).mode()
    mode = Posterior(counts_of(4, data), 2.0).mode()
    np.testing.assert_allclose(mode, [1 / 3, 1 / 6, 1 / 6, 1 / 3], rtol=1e-6)


# -- the mode as a result ---------------------------------------------------------------


def some_mode() -> Mode:
    return Posterior(along_a_path([(2, 6), (1, 3), (5, 0)])).mode()


def test_a_mode_has_labels() -> None:
    mode = Posterior(in_a_circle("abcd"), 1.5).mode()
    assert mode.probabilities.dims == ("category",)
    assert mode.probabilities["category"].values.tolist() == list("abcd")
    assert float(mode.sel(category="c")) == mode.values[2]
    assert mode.sel(category=["d", "a"]).values.tolist() == mode.values[[3, 0]].tolist()
    assert mode.log_odds.sel(category="a") == np.log(mode)[0] - np.log(mode).mean()
    assert dict(mode.parameters) == {}
    odd = ConditionalCounts([("a", 1), "b", 3]).observe({"b": 2, 3: 1})
    assert float(Posterior(odd, 2.0).mode().sel(category="b")) == 3 / 6


def test_a_mode_says_where_it_lies() -> None:
    mode = some_mode()
    assert (mode.scale, list(mode.categories), mode.at_zero) == ("simplex", [0, 1, 2, 3], (3,))
    assert mode.maxima == 1
    logs = np.log([1, 3, 9])
    np.testing.assert_allclose(mode.log_odds[:3], logs - logs.mean(), atol=1e-9)
    assert mode.log_odds[3] == -np.inf
    assert repr(mode) == str(mode)
    assert repr(mode) == "Mode(simplex: 0: 0.07692, 1: 0.2308, 2: 0.6923, 3: 0; at 0: 3)"
    many = Posterior(ConditionalCounts(8).observe({0: 3}), 2.0).mode("log-odds")
    assert repr(many).endswith("5: 0.1053, ...)")


def test_modes_are_frozen_arrays_of_probabilities() -> None:
    mode = some_mode()
    plain = np.asarray(mode)
    assert (type(plain), plain.shape, plain.dtype) == (np.ndarray, (4,), np.float64)
    assert np.asarray(mode, np.float32).dtype == np.float32
    assert np.array(mode, copy=True) is not mode.values
    np.testing.assert_array_equal(np.log1p(mode), np.log1p(plain))
    with pytest.raises(AttributeError):
        mode.scale = "log-odds"  # type: ignore[misc]


def test_modes_travel() -> None:
    mode = some_mode()
    for other in (pickle.loads(pickle.dumps(mode)), copy.deepcopy(mode), copy.copy(mode)):
        np.testing.assert_array_equal(other, mode)
        assert repr(other) == repr(mode)
        assert (other.at_zero, other.maxima) == (mode.at_zero, mode.maxima)


@pytest.mark.parametrize("scale", ["log odds", "p", None])
def test_scales_that_there_are_not(scale: str) -> None:
    posterior = Posterior(along_a_path([(2, 6), (1, 3)]))
    likelihood = luce.maximum_likelihood(posterior.counts)
    for ask in (
        posterior.mode,
        posterior.covariance,
        posterior.standard_errors,
        likelihood.covariance,
        likelihood.standard_errors,
    ):
        with pytest.raises(MethodError, match="choose one of simplex, log-odds"):
            ask(scale)


def test_a_concentration_that_is_not_known_has_no_mode() -> None:
    posterior = Posterior(ConditionalCounts("abc").observe({"a": 3}), luce.Gamma(2.0, 1.0))
    for ask in (posterior.mode, posterior.covariance, posterior.standard_errors):
        with pytest.raises(luce.errors.DataError, match="a concentration that is a number"):
            ask()
