"""The mode: a point where the slope along the simplex is nil, and no better point nearby."""

import copy
import os
import pickle
from collections.abc import Sequence

import numpy as np
import pytest
from lib.maximum_oracles import races

import luce
from luce import ConditionalCounts, Posterior
from luce.errors import MethodError
from luce.estimates.modes import Mode
from luce.kernels import newton
from luce.sampling import laplace

SEED = int(os.environ.get("LUCE_TEST_SEED", "0"))


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


def log_height(posterior: Posterior, p: np.ndarray, less: float) -> np.ndarray:
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
    assert (log_height(posterior, near, less) < log_height(posterior, p, less)).all()
    assert np.abs(slope(posterior, terms, near[0], less)).max() > enough


def test_the_two_scales_have_modes_of_their_own() -> None:
    posterior, terms = random_posterior(np.random.default_rng([SEED, 100]), 1.2)
    enough = 1e-10 * posterior.counts.n_outcomes
    for scale, less in (("simplex", 0.0), ("log-odds", 1.0)):  # each at the other's mode
        assert np.abs(slope(posterior, terms, np.asarray(posterior.mode(scale)), less)).max() > (
            1e3 * enough
        )


def test_where_sets_nest_it_is_a_product_of_shares() -> None:
    counts = ConditionalCounts(["a", "b", "c"]).observe({"b": 2, "c": 1}, without=["a"])
    counts = counts.observe({"a": 3, "b": 1})
    a = (3 + 1) / (
        3 + 1 + 1 + 1 + 1
    )  # counts and concentration less 1: 4 of a, 2 and 1 of the rest
    expected = [a, (1 - a) * 4 / 6, (1 - a) * 2 / 6]
    np.testing.assert_allclose(Posterior(counts, 2.0).mode(), expected, rtol=1e-12)
    a = (3 + 2) / (3 + 1 + 3 * 2)  # in log-odds, counts and concentration
    expected = [a, (1 - a) * 5 / 8, (1 - a) * 3 / 8]
    np.testing.assert_allclose(Posterior(counts, 2.0).mode("log-odds"), expected, rtol=1e-12)


def test_maximum_likelihood_of_pairs() -> None:
    counts = ConditionalCounts(["Ann", "Bo", "Cy", "Di"])
    counts = counts.observe({"Ann": 2, "Bo": 6}, within=["Ann", "Bo"])
    counts = counts.observe({"Bo": 1, "Cy": 3}, within=["Bo", "Cy"])
    counts = counts.observe({"Cy": 5}, within=["Cy", "Di"])  # Di never won
    np.testing.assert_allclose(Posterior(counts).mode(), [1 / 13, 3 / 13, 9 / 13, 0], atol=1e-12)


def circle(rng: np.random.Generator, posterior: Posterior) -> ConditionalCounts:
    """The same data, and everybody won against the next, so that there is a maximum."""
    labels, counts = posterior.counts.categories, posterior.counts
    for k, label in enumerate(labels):
        pair = [label, labels[k - 1]]
        counts = counts.observe({label: int(rng.integers(1, 4))}, within=pair)
    return counts


@pytest.mark.parametrize("seed", range(5))
def test_maximum_likelihood_is_the_mode_of_a_uniform_prior(seed: int) -> None:
    rng = np.random.default_rng([SEED, 200 + seed])
    counts = circle(rng, random_posterior(rng, 1.0)[0])
    found, mode = luce.maximum_likelihood(counts), Posterior(counts, 1.0).mode()
    np.testing.assert_allclose(found.probabilities, mode, rtol=1e-9)
    assert found.log_likelihood == pytest.approx(float(counts.log_likelihood(mode)), abs=1e-9)
    assert (found.probabilities.scale, mode.scale) == ("likelihood", "simplex")
    assert np.abs(mode - Posterior(counts, 1.3).mode()).max() > 1e-4


# -- many atoms, and extreme counts -----------------------------------------------------


def drivers(seed: int, number: int = 83) -> ConditionalCounts:
    rng = np.random.default_rng([SEED, seed])
    counts = ConditionalCounts(number)
    for order in races(rng, number, 36, 43):
        counts = counts.observe_ranking(order)
    return counts


@pytest.mark.parametrize("scale", ["simplex", "log-odds"])
def test_factors_and_conjugate_gradients_climb_to_one_mode(
    monkeypatch: pytest.MonkeyPatch, scale: str
) -> None:
    dense_climbs = []

    def climb(problem: object, owner: object, matrix: object, *rest: object) -> bool:
        dense_climbs.append(matrix is not None)
        return bool(original(problem, owner, matrix, *rest))

    original = newton.climb
    monkeypatch.setattr(newton, "climb", climb)
    small, _ = random_posterior(np.random.default_rng([SEED, 99]), 1.2)
    for posterior in (small, Posterior(drivers(1), 1.5)):
        monkeypatch.setattr(laplace, "MOST_DENSE", 2000)
        monkeypatch.setattr(laplace, "_FEW", 2000)
        dense = posterior.mode(scale)
        monkeypatch.setattr(laplace, "MOST_DENSE", 0)
        np.testing.assert_allclose(posterior.mode(scale), dense, rtol=1e-7)
    assert dense_climbs == [True, False, True, False]


def along_a_path(wins: Sequence[tuple[float, float]]) -> ConditionalCounts:
    counts = ConditionalCounts(len(wins) + 1)
    for k, (first, second) in enumerate(wins):
        counts = counts.observe({k: first, k + 1: second}, within=[k, k + 1])
    return counts


PATHS: list[list[tuple[float, float]]] = [
    [(1e12, 1), (5, 4)],
    [(1e12, 1), (1e12, 1)],
    [(5, 4), (1, 1e12), (1e5, 3), (2, 7), (1e9, 1e9)],
    [(1e7, 2), (3, 1), (1, 1e7), (11, 1e6), (1, 2), (4, 3), (1e5, 1)],
]


@pytest.mark.parametrize("wins", PATHS, ids=range(len(PATHS)))
def test_extreme_counts_have_their_mode(wins: list[tuple[float, float]]) -> None:
    """Along a path the odds of each two are their wins: nothing else binds them.

    The power of an item is known to eps times itself, and log odds move by that over what is known
    of them, half the fewer wins at least.
    """
    mode = luce.maximum_likelihood(along_a_path(wins)).probabilities
    odds = np.asarray(mode)[:-1] / np.asarray(mode)[1:]
    expected = [a / b for a, b in wins]
    most, known = np.max(wins), np.min(wins, axis=1) / 2
    off = np.abs(np.log(odds) - np.log(expected))
    assert (off < 1e-9 + 8 * np.finfo(float).eps * most / known).all()


def test_who_never_won_is_no_reason_to_doubt_extreme_counts() -> None:
    counts = along_a_path([(1e6, 1), (5, 4), (3, 0)])
    mode = luce.maximum_likelihood(counts).probabilities
    np.testing.assert_allclose(mode[:3], np.array([1.25e6, 1.25, 1]) / 1250002.25, rtol=1e-8)
    assert mode.at_zero == (3,)


def test_the_mode_in_log_odds_is_never_on_the_boundary() -> None:
    # 0 never lost, and the prior is a trillionth of the data.
    counts = along_a_path([(1e9, 0), (1e9, 0)])
    mode = Posterior(counts, 1e-3).mode("log-odds")
    assert mode.min() > 0
    assert mode.at_zero == ()
    # 1 and 2 have a prior of 2e-3 together against 1e9 of 0, and 2 has 1e-3 against 1e9 of 1.  The
    # power of 1, 1e9 + 1e-3, is known to 1e-7, a ten thousandth of the first.
    p = np.array([1, 2e-12, 2e-24])
    np.testing.assert_allclose(np.log(mode), np.log(p / p.sum()), atol=1e-3)


# -- what is returned -------------------------------------------------------------------


def some_mode() -> Mode:
    counts = along_a_path([(2, 6), (1, 3), (5, 0)])
    return luce.maximum_likelihood(ConditionalCounts(range(4)) + counts).probabilities


def test_a_mode_is_an_array_that_knows_more() -> None:
    mode = some_mode()
    assert isinstance(mode, np.ndarray)
    assert (mode.shape, mode.dtype) == ((4,), np.float64)
    assert (mode.scale, list(mode.categories), mode.at_zero) == ("likelihood", [0, 1, 2, 3], (3,))
    assert mode.maxima == 1
    logs = np.log([1, 3, 9])
    np.testing.assert_allclose(mode.log_odds[:3], logs - logs.mean(), atol=1e-9)
    assert mode.log_odds[3] == -np.inf
    assert repr(mode) == str(mode)
    assert repr(mode) == "Mode(likelihood: 0: 0.07692, 1: 0.2308, 2: 0.6923, 3: 0; at 0: 3)"
    many = Posterior(ConditionalCounts(8).observe({0: 3}), 2.0).mode("log-odds")
    assert repr(many).endswith("5: 0.1053, ...)")


def test_what_is_made_of_a_mode_is_a_plain_array() -> None:
    mode = some_mode()
    made = [mode * 2, 1 / (1 + mode), -mode, np.exp(mode), mode[1:], mode[[0, 2]], mode[mode > 0.1],
            np.stack([mode, mode]), np.outer(mode, mode), np.log1p(mode)]  # fmt: skip
    assert {type(x) for x in made} == {np.ndarray}
    assert type(mode.sum()) is type(mode[1]) is type(mode @ mode) is np.float64
    np.testing.assert_array_equal(mode * 2, np.asarray(mode) * 2)
    assert mode.tolist() == [float(x) for x in mode]


def test_modes_travel() -> None:
    mode = some_mode()
    for other in (pickle.loads(pickle.dumps(mode)), copy.deepcopy(mode), copy.copy(mode)):
        np.testing.assert_array_equal(other, mode)
        assert repr(other) == repr(mode)
        assert (other.at_zero, other.maxima) == (mode.at_zero, mode.maxima)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(mode.copy())), np.asarray(mode))
    found = luce.maximum_likelihood(along_a_path([(2, 6), (1, 3)]))
    again = pickle.loads(pickle.dumps(found))
    assert again.log_likelihood == found.log_likelihood
    np.testing.assert_array_equal(again.covariance(), found.covariance())


@pytest.mark.parametrize("scale", ["log odds", "p", None])
def test_scales_that_there_are_not(scale: str) -> None:
    posterior = Posterior(along_a_path([(2, 6), (1, 3)]))
    for ask in (posterior.mode, posterior.covariance, posterior.standard_errors,
                luce.maximum_likelihood(posterior.counts).covariance):  # fmt: skip
        with pytest.raises(MethodError, match="choose one of simplex, log-odds"):
            ask(scale)
