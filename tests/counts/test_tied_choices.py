"""Choices with ties by Davidson and Luce: the probability, and the algebra of counts."""

import pickle

import numpy as np
import pytest
from lib.bounds import SEED
from lib.tied_rankings import davidson_luce

import luce
from luce.counts.contests import contests_of_pairs
from luce.counts.placings import joined
from luce.counts.tied_choices import tied_choices
from luce.errors import DataError

ORDERS = ["a = b > c > d = e", "c > a = b = d > e", "e > d > c > b > a", "a = b > c > d = e"]
DELTA = {"tie2": 0.7, "tie3": 0.2}


def random_p(n: int, size: int = 6) -> np.ndarray:
    return np.random.default_rng(SEED).dirichlet(np.ones(n), size)


def test_rankings_are_choices_from_those_not_yet_placed() -> None:
    counts = luce.from_rankings(ORDERS, ties="davidson-luce")
    assert counts.parameters == ("tie2", "tie3")
    p, rng = random_p(5), np.random.default_rng(SEED + 1)
    delta = np.concatenate([np.ones((6, 1)), rng.gamma(1.0, size=(6, 2))], axis=1)
    ranked = [[["abcde".index(x) for x in t.split(" = ")] for t in o.split(" > ")] for o in ORDERS]
    truth = sum(np.log(davidson_luce(p, delta, ranking)) for ranking in ranked)
    found = counts.log_likelihood(p, tie2=delta[:, 1], tie3=delta[:, 2])
    np.testing.assert_allclose(found, truth, rtol=1e-12)
    one = counts.log_likelihood(p[2], tie2=delta[2, 1], tie3=delta[2, 2])
    assert float(one) == pytest.approx(truth[2], rel=1e-12)


def test_probabilities_of_all_outcomes_add_up_to_one() -> None:
    every = [([0], [1, 2]), ([1], [0, 2]), ([2], [0, 1])]
    every += [([0, 1], [2]), ([0, 2], [1]), ([1, 2], [0]), ([0, 1, 2], [])]
    choices = tied_choices(3, *joined(every), np.ones(7))
    p = np.array([1e-9, 0.3, 0.7])
    logs = choices.log_probabilities(p / p.sum(), {"tie2": 0.4, "tie3": 2.0})
    assert np.exp(logs).sum() == pytest.approx(1.0, rel=1e-14)


def test_pairs_are_those_of_davidson() -> None:
    rng = np.random.default_rng(SEED)
    first, second = np.triu_indices(4, 1)
    results = rng.poisson(2.0, (6, 3)).astype(float)
    home = np.zeros(6, np.int64)
    pairs = contests_of_pairs(4, first, second, home, results, "davidson", False)
    placings = [
        placing
        for i, j in zip(first.tolist(), second.tolist(), strict=True)
        for placing in (([i], [j]), ([j], [i]), ([i, j], []))
    ]
    choices = tied_choices(4, *joined(placings), results.ravel())
    p, nu = random_p(4), rng.gamma(1.0, size=6)
    expected = pairs.log_likelihood(p, {"tie": nu})
    np.testing.assert_allclose(choices.log_likelihood(p, {"tie2": nu}), expected, rtol=1e-12)
    np.testing.assert_allclose(choices.wins(), pairs.wins(), rtol=1e-15)


def test_the_largest_tie_of_a_sum_is_the_larger_one() -> None:
    halves = [ORDERS[:1], ORDERS[1:]]
    one, other = (luce.from_rankings(o, ties="davidson-luce", categories="abcde") for o in halves)
    assert (one.parameters, other.parameters) == (("tie2",), ("tie2", "tie3"))
    whole = luce.from_rankings(ORDERS, ties="davidson-luce")
    assert one + other == whole == other + one
    assert (one + other).digest == whole.digest
    # Without a tie, there is no parameter; a tie elsewhere is still possible in every choice.
    strict = luce.from_rankings(["a > b > c"], ties="davidson-luce")
    assert strict.parameters == ()
    with_tie = strict + luce.from_rankings(["a = b > c"], ties="davidson-luce")
    both = luce.from_rankings(["a > b > c", "a = b > c"], ties="davidson-luce")
    assert with_tie == both


def test_some_labels_keep_the_choices_of_their_own() -> None:
    counts = luce.from_rankings(["a > b = c > d", "d > a > b > c"], ties="davidson-luce")
    some = counts.restrict("acd")
    # b = c was an outcome outside of the labels, as was b; given a, c and d the rest stays.
    p, nu = random_p(3), 0.6
    a, c, d = p.T
    three = a + c + d + nu * (np.sqrt(a * c) + np.sqrt(a * d) + np.sqrt(c * d))
    two = a + c + nu * np.sqrt(a * c)
    truth = np.log(a / three) + np.log(d / three) + np.log(a / two)
    np.testing.assert_allclose(some.log_likelihood(p, tie2=nu), truth, rtol=1e-12)


def test_counts_survive_pickling_and_say_what_they_are() -> None:
    counts = luce.from_rankings(ORDERS, ties="davidson-luce")
    assert pickle.loads(pickle.dumps(counts)) == counts
    assert "choices: Davidson-Luce ties of up to 3" in repr(counts)
    assert "d, e together in last place: 2 times" in counts.summary(20)
    assert "contest" not in counts.summary() + repr(luce.Posterior(counts).structure)
    assert luce.comparable_groups(counts) == [list("abcde")]


def test_parameters_must_be_given() -> None:
    counts = luce.from_rankings(ORDERS, ties="davidson-luce")
    with pytest.raises(DataError, match="'tie2', 'tie3' are needed"):
        counts.log_likelihood(np.full(5, 0.2), tie2=1.0)


def test_priors_are_given_for_all_or_by_name() -> None:
    counts = luce.from_rankings(ORDERS, ties="davidson-luce")
    same = luce.Posterior(counts, tie=luce.Gamma(2.0, 3.0)).model.parameter_priors
    assert same == {"tie2": luce.Gamma(2.0, 3.0), "tie3": luce.Gamma(2.0, 3.0)}
    named = luce.Posterior(counts, tie={"tie2": luce.Gamma(2.0, 3.0), "tie3": 0.5}).model
    assert named.drawn_parameters == ("tie2",)
    assert named.known_parameters == {"tie3": 0.5}
