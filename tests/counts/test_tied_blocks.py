"""Tied blocks of unknown order: the probability, and the algebra of counts that hold them."""

import pickle
from fractions import Fraction
from itertools import permutations
from math import lgamma, log

import numpy as np
import pytest
from lib.bounds import SEED
from lib.tied_rankings import unknown_order

import luce
from luce.counts.placings import joined
from luce.counts.tied_blocks import TiedBlocks, log_all_before, tied_blocks
from luce.counts.tied_choices import tied_choices
from luce.errors import DataError

ORDERS = ["a = b > c > d = e", "c > a = b = d > e", "e > d > c > b > a", "a = b > c > d = e"]


def exact(block: list[Fraction], rest: Fraction) -> float:
    """The logarithm of the sum over all orders, by rational numbers."""
    total = Fraction(0)
    for order in permutations(block):
        left, value = sum(block) + rest, Fraction(1)
        for strength in order:
            value *= strength / left
            left -= strength
        total += value
    return log(total.numerator) - log(total.denominator)


@pytest.mark.parametrize("spread", [0.1, 1.0, 5.0, 15.0])
@pytest.mark.parametrize("size", [1, 2, 3, 4, 5])
def test_the_integral_is_the_sum_over_orders(size: int, spread: float) -> None:
    rng = np.random.default_rng(SEED + 10 * size)
    for logs in rng.normal(0.0, spread, (10, size + 1)):
        strengths = [Fraction(float(np.exp(x))) for x in logs]
        truth = exact(strengths[:-1], strengths[-1])
        found = float(log_all_before(logs[:-1], logs[-1]))
        assert found == pytest.approx(truth, rel=2e-12, abs=2e-12)


@pytest.mark.parametrize("size", [10, 60, 400])
def test_large_blocks_of_equals_have_a_closed_form(size: int) -> None:
    # One of the (m + k)! / (m! k!) sets of m among m + k equals comes first.
    m, k = size, size // 2
    truth = lgamma(m + 1) + lgamma(k + 1) - lgamma(m + k + 1)
    assert float(log_all_before(np.zeros(m), np.array(log(k)))) == pytest.approx(truth, rel=1e-11)


def test_who_has_no_strength_finishes_last() -> None:
    nobody = -np.inf
    assert log_all_before(np.array([0.0, nobody]), np.array(0.0)) == nobody
    assert log_all_before(np.array([0.0, 0.0]), np.array(nobody)) == pytest.approx(0.0, abs=1e-12)
    assert log_all_before(np.array([nobody, 0.0]), np.array(nobody)) == nobody


def test_a_ranking_is_the_product_over_its_blocks() -> None:
    counts = luce.from_rankings(ORDERS, ties="unknown")
    p = np.random.default_rng(SEED).dirichlet(np.ones(5), 7)
    ranked = [[["abcde".index(x) for x in t.split(" = ")] for t in o.split(" > ")] for o in ORDERS]
    truth = sum(np.log(unknown_order(p, ranking)) for ranking in ranked)
    np.testing.assert_allclose(counts.log_likelihood(p), truth, rtol=1e-11)
    one_at_a_time = [float(counts.log_likelihood(x)) for x in p]
    np.testing.assert_allclose(one_at_a_time, truth, rtol=1e-11)


def test_two_halves_of_the_data_are_the_whole() -> None:
    whole = luce.from_rankings(ORDERS, ties="unknown")
    halves = [
        luce.from_rankings(o, ties="unknown", categories="abcde") for o in (ORDERS[:2], ORDERS[2:])
    ]
    assert halves[0] + halves[1] == whole
    assert (halves[1] + halves[0]).digest == whole.digest
    assert halves[0] != whole
    turned = luce.from_rankings(ORDERS, ties="unknown", categories="edcba")
    assert (whole + turned) == whole + whole


def test_counts_survive_pickling_and_new_names() -> None:
    counts = luce.from_rankings(ORDERS, ties="unknown")
    assert pickle.loads(pickle.dumps(counts)) == counts
    named = counts.relabel(str.upper)
    p = np.random.default_rng(SEED).dirichlet(np.ones(5))
    assert named.log_likelihood(p) == counts.log_likelihood(p)
    assert "A, B together before C, D, E: 2 times" in named.summary()
    assert repr(counts).endswith("2 tied blocks: tied blocks of unknown order)")


def test_some_labels_keep_the_race_among_themselves() -> None:
    counts = luce.from_rankings(ORDERS, ties="unknown")
    some = counts.restrict("abde")
    kept = [" > ".join(x for x in _without(order, "c")) for order in ORDERS]
    read = luce.from_rankings(kept, ties="unknown")
    p = np.random.default_rng(SEED).dirichlet(np.ones(4), 5)
    np.testing.assert_allclose(some.log_likelihood(p), read.log_likelihood(p), rtol=1e-11)
    # A block of which one is left is an outcome of that one.
    alone = counts.restrict("ae")
    strict = luce.from_rankings(["a > e", "a > e", "e > a", "a > e"])
    p = np.random.default_rng(SEED).dirichlet(np.ones(2), 5)
    np.testing.assert_allclose(alone.log_likelihood(p), strict.log_likelihood(p), rtol=1e-11)


def _without(order: str, label: str) -> list[str]:
    places = [[x for x in t.split(" = ") if x != label] for t in order.split(" > ")]
    return [" = ".join(place) for place in places if place]


def test_blocks_link_those_whom_they_compare() -> None:
    counts = luce.from_rankings(["a = b > c", "d = e"], ties="unknown", unranked="absent")
    assert luce.comparable_groups(counts) == [["a", "b", "c"], ["d"], ["e"]]
    assert luce.counts.prior_only(counts) == ["d", "e"]


def test_kinds_of_events_are_not_mixed() -> None:
    arrays = joined([([0, 1], [2])])
    blocks, choices = tied_blocks(3, *arrays, np.ones(1)), tied_choices(3, *arrays, np.ones(1))
    one = luce.ConditionalCounts(3).with_events(blocks)
    other = luce.ConditionalCounts(3).with_events(choices)
    with pytest.raises(DataError, match="different models cannot be added"):
        one + other


def test_equal_blocks_are_stored_once() -> None:
    given = joined([([1, 0], [3, 2]), ([0, 1], [2, 3]), ([2], [0]), ([0, 1], [])])
    blocks = tied_blocks(4, *given, np.array([1.0, 2.0, 0.0, 5.0]))
    assert isinstance(blocks, TiedBlocks)
    assert blocks.members.tolist() == [0, 1, 2, 3]
    assert blocks.times.tolist() == [3.0]
    assert blocks.wins().tolist() == [3.0, 3.0, 0.0, 0.0]
    assert blocks.n_outcomes == 6.0
    with pytest.raises(ValueError, match="read-only"):
        blocks.times[0] = 1.0
