"""The mode: a point where the slope along the simplex is nil, and no better point nearby."""

import os

import numpy as np
import pytest

from luce import ConditionalCounts, MethodError, Posterior, laplace

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


def slope(posterior: Posterior, terms: Terms, p: np.ndarray) -> np.ndarray:
    """Slope of the log density along the simplex, times p, which is nil at the mode."""
    power = posterior.concentration + posterior.counts.category_counts - 1
    out = power / p
    for inside, exponent in terms:
        out[inside] += exponent / p[inside].sum()
    return np.asarray(p * out - p * (p * out).sum())


@pytest.mark.parametrize("seed", range(20))
def test_the_slope_is_the_same_for_all_categories(seed: int) -> None:
    rng = np.random.default_rng([SEED, seed])
    posterior, terms = random_posterior(rng, 1.05)
    p = posterior.mode()
    assert p.sum() == pytest.approx(1, abs=1e-12)
    assert p.min() > 0
    enough = 1e-10 * posterior.counts.n_outcomes
    assert np.abs(slope(posterior, terms, p)).max() < enough
    # Any way off goes down, and the first check tells a point a thousandth off.
    near = p * np.exp(1e-3 * rng.normal(size=(200, len(p))))
    near /= near.sum(axis=1, keepdims=True)
    assert (posterior.log_density(near) < posterior.log_density(p)).all()
    assert np.abs(slope(posterior, terms, near[0])).max() > enough


def test_where_sets_nest_it_is_a_product_of_shares() -> None:
    counts = ConditionalCounts(["a", "b", "c"]).observe({"b": 2, "c": 1}, without=["a"])
    counts = counts.observe({"a": 3, "b": 1})
    a = (3 + 1) / (
        3 + 1 + 1 + 1 + 1
    )  # counts and concentration less 1: 4 of a, 2 and 1 of the rest
    expected = [a, (1 - a) * 4 / 6, (1 - a) * 2 / 6]
    np.testing.assert_allclose(Posterior(counts, 2.0).mode(), expected, rtol=1e-12)


def test_maximum_likelihood_of_pairs() -> None:
    counts = ConditionalCounts(["Ann", "Bo", "Cy", "Di"])
    counts = counts.observe({"Ann": 2, "Bo": 6}, within=["Ann", "Bo"])
    counts = counts.observe({"Bo": 1, "Cy": 3}, within=["Bo", "Cy"])
    counts = counts.observe({"Cy": 5}, within=["Cy", "Di"])  # Di never won
    np.testing.assert_allclose(Posterior(counts).mode(), [1 / 13, 3 / 13, 9 / 13, 0], atol=1e-12)


def test_many_atoms_go_by_conjugate_gradients(monkeypatch: pytest.MonkeyPatch) -> None:
    posterior, _ = random_posterior(np.random.default_rng([SEED, 99]), 1.2)
    dense = posterior.mode()
    monkeypatch.setattr(laplace, "MOST_DENSE", 1)
    np.testing.assert_allclose(posterior.mode(), dense, rtol=1e-8)


def test_a_missing_mode_is_said() -> None:
    pair = ConditionalCounts(["a", "b", "c"]).observe({"a": 3, "b": 1}, within=["a", "b"])
    pair = pair.observe({"b": 2, "c": 1}, within=["b", "c"])
    with pytest.raises(MethodError, match="grows without bound"):
        Posterior(ConditionalCounts(2), 0.5).mode()
    with pytest.raises(MethodError, match="all are equal"):
        Posterior(ConditionalCounts(2), 1.0).mode()
    apart = ConditionalCounts(6)
    for a in (0, 3):
        apart = apart.observe({a: 3, a + 1: 1}, within=[a, a + 1])
        apart = apart.observe({a + 1: 2, a + 2: 1}, within=[a + 1, a + 2])
    with pytest.raises(MethodError, match="never compared"):
        Posterior(apart, 1.0).mode()
    # {d, e} play among themselves and always lose to a.
    loses = ConditionalCounts(list("abcde"))
    loses = loses.observe({"a": 3, "b": 1}, within=["a", "b"])
    loses = loses.observe({"b": 2, "c": 1}, within=["b", "c"])
    loses = loses.observe({"c": 2, "a": 1}, within=["c", "a"])
    loses = loses.observe({"a": 4}, within=["a", "d"]).observe({"a": 4}, within=["a", "e"])
    loses = loses.observe({"d": 2, "e": 3}, within=["d", "e"])
    with pytest.raises(MethodError, match="no mode inside"):
        Posterior(loses, 1.0).mode()
    assert Posterior(loses, 1.5).mode().min() > 0
    grouped = pair.observe_group(["a", "b"], 2)
    with pytest.raises(MethodError, match="grouped"):
        Posterior(grouped.observe_group(["a", "c"], 2), 2.0).mode()
