"""Counts put among more categories: the likelihood of shares among those that were there."""

from typing import Any

import numpy as np
import pytest
from lib.bounds import SEED

import luce
from luce import ConditionalCounts
from luce.errors import ConfoundedHomeWarning, DataError


def random_counts(rng: np.random.Generator, labels: list[str]) -> ConditionalCounts:
    """Make outcomes of all kinds, whole sets, weights, groups and rankings among them."""
    counts = ConditionalCounts(labels)
    for _ in range(int(rng.integers(0, 6))):
        some = rng.choice(labels, int(rng.integers(1, len(labels) + 1)), replace=False).tolist()
        others = [label for label in labels if label not in some]
        weights = {label: float(rng.integers(1, 4)) for label in some}
        ways = [
            lambda c, s=some: c.observe({s[0]: 2.0}),
            lambda c, s=some: c.observe({s[0]: 2.0, s[-1]: 1.0}, within=s),
            lambda c, s=some: c.observe_group(s, 2),
            lambda c, s=some: c.observe_ranking(s),
            lambda c, s=some, w=weights: c.observe({s[0]: 1.5}, within=w),
            lambda c, s=some, o=others: c.observe({o[0]: 2}, without=s) if o else c,
            lambda c: c + c,
        ]
        counts = ways[int(rng.integers(len(ways)))](counts)
    return counts


def test_the_likelihood_is_that_of_shares_among_the_present() -> None:
    rng = np.random.default_rng(SEED)
    for _ in range(300):
        n = int(rng.integers(1, 6))
        every = [f"c{k}" for k in range(int(rng.integers(n, 9)))]
        present = rng.permutation(every)[:n].tolist()
        counts = random_counts(rng, present)
        wider = counts.expand(every)
        p = rng.dirichlet(np.ones(len(every)))
        shares = p[[every.index(label) for label in present]]
        expected = counts.log_likelihood(shares / shares.sum())
        assert float(wider.log_likelihood(p)) == pytest.approx(float(expected), abs=1e-9)
        assert (list(wider.categories), wider.n_outcomes) == (every, counts.n_outcomes)
        in_order = [label for label in every if label in present]
        assert wider.restrict(present) == counts.expand(in_order)


def test_new_categories_have_their_prior_alone_and_others_stay_as_they_were() -> None:
    counts = ConditionalCounts("ab").observe({"a": 5, "b": 2})
    prior = {"c": 3.0, "a": 2.0, "b": 0.5}
    mean = luce.Posterior(counts.expand("cab"), prior).mean()
    assert float(mean.sel(category="c")) == pytest.approx(3.0 / 5.5)
    assert float(mean.sel(category="a") / mean.sel(category="b")) == pytest.approx(7 / 2.5)


def test_contests_and_effects_go_along() -> None:
    games = {"item1": ["b", "a"], "item2": ["c", "c"], "outcome": ["tie", "a"]}
    with pytest.warns(ConfoundedHomeWarning):
        season = luce.from_pairs({**games, "home": ["b", "a"]}, ties="davidson", home="home")
    wider = season.expand("xcab")
    p: Any = np.array([0.1, 0.2, 0.3, 0.4])
    values = {"home": 1.4, "tie": 0.7}
    expected = season.log_likelihood(p[[2, 3, 1]] / 0.9, **values)
    assert float(wider.log_likelihood(p, **values)) == pytest.approx(float(expected))
    assert (wider.parameters, wider.n_outcomes) == (("home", "tie"), 2)
    marked = luce.from_pairs(games, ties="entity").expand(["z", "tie", "c", "b", "a"])
    assert marked.effects == {"tie": "tie"}


def test_all_present_categories_are_needed() -> None:
    counts = ConditionalCounts("abc").observe({"a": 1})
    assert counts.expand("abc") is counts
    with pytest.raises(DataError, match="labels lacks 'b', 'c'; expand keeps all categories"):
        counts.expand("ad")


def test_totals_can_be_expanded_too() -> None:
    totals = ConditionalCounts.from_exponents("ab", {"a": 3, "b": 1})
    wider = totals.expand("abc")
    assert wider == ConditionalCounts("abc").observe({"a": 3, "b": 1}, within="ab")


def varied_counts(rng: np.random.Generator) -> ConditionalCounts:
    """Picks, groups, rankings and weighted sets over five categories, some among all of them."""
    labels = "abcde"
    counts = ConditionalCounts(labels).observe({"a": 2, "d": 1})
    for _ in range(4):
        within = rng.permutation(list(labels))[: rng.integers(2, 6)].tolist()
        counts = counts.observe({within[0]: float(rng.integers(1, 4))}, within=within)
    counts = counts.observe_ranking(rng.permutation(list(labels)).tolist())
    counts = counts.observe_group(["a", "b"], 2).observe_group(["c", "e"], 1, without=["a"])
    return counts.observe({"b": 1}, within={"a": 0.5, "b": 1, "c": 2, "d": 1, "e": 1})


@pytest.mark.parametrize("seed", range(10))
def test_the_likelihood_is_that_given_the_old_categories(seed: int) -> None:
    rng = np.random.default_rng([SEED, seed])
    counts = varied_counts(rng)
    order = rng.permutation(list("abcdexyz")).tolist()
    wide = counts.expand(order)
    assert list(wide.categories) == order
    assert wide.n_outcomes == counts.n_outcomes
    p = rng.dirichlet(np.ones(8), 20)
    own = p[:, [order.index(label) for label in counts.categories]]
    given = counts.log_likelihood(own / own.sum(axis=1, keepdims=True))
    np.testing.assert_allclose(wide.log_likelihood(p), given, rtol=1e-10)
    # Had the new ones been possible, outcomes would have had another probability.
    possible = ConditionalCounts(order).observe({"a": 2, "d": 1})
    closed = ConditionalCounts("abcde").observe({"a": 2, "d": 1}).expand(order)
    assert (possible.log_likelihood(p) < closed.log_likelihood(p)).all()


def test_contests_are_renumbered() -> None:
    games = [("a", "b"), ("b", "c"), ("c", "a")]
    counts = luce.from_pairs(games, ties="davidson")
    assert counts.expand("cxab") == luce.from_pairs(games, ties="davidson", categories="cxab")


def test_the_same_categories_change_nothing() -> None:
    counts = varied_counts(np.random.default_rng(1))
    assert counts.expand("abcde") is counts
    assert counts.expand("edcba").expand("abcde") == counts
