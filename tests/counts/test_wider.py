"""Data among more categories: its likelihood is that of probabilities given the old ones."""

import numpy as np
import pytest
from lib.bounds import SEED

import luce
from luce import ConditionalCounts
from luce.counts.wider import widened


def random_counts(rng: np.random.Generator) -> ConditionalCounts:
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
    counts = random_counts(rng)
    order = rng.permutation(list("abcdexyz")).tolist()
    wide = widened(counts, order)
    assert list(wide.categories) == order
    assert wide.n_outcomes == counts.n_outcomes
    p = rng.dirichlet(np.ones(8), 20)
    own = p[:, [order.index(label) for label in counts.categories]]
    given = counts.log_likelihood(own / own.sum(axis=1, keepdims=True))
    np.testing.assert_allclose(wide.log_likelihood(p), given, rtol=1e-10)
    # Had the new ones been possible, outcomes would have had another probability.
    possible = ConditionalCounts(order).observe({"a": 2, "d": 1})
    closed = widened(ConditionalCounts("abcde").observe({"a": 2, "d": 1}), order)
    assert (possible.log_likelihood(p) < closed.log_likelihood(p)).all()


def test_contests_are_renumbered() -> None:
    games = [("a", "b"), ("b", "c"), ("c", "a")]
    counts = luce.from_pairs(games, ties="davidson")
    assert widened(counts, "cxab") == luce.from_pairs(games, ties="davidson", categories="cxab")


def test_the_same_categories_change_nothing() -> None:
    counts = random_counts(np.random.default_rng(1))
    assert widened(counts, "abcde") is counts
    assert widened(widened(counts, "edcba"), "abcde") == counts
