"""Transitions: sequences, times, forbidden moves, and a posterior for each state."""

from typing import Any

import numpy as np
import pytest
from lib.reading_cases import ABC, FRAMES, given_as, same

import luce
from luce import ConditionalCounts, from_transitions
from luce.errors import DataError


def test_sequences_of_states() -> None:
    by_hand = ABC.observe({"b": 1, "c": 2}, without=["a"]).observe({"a": 1}, without=["b"])
    same(from_transitions([list("aabbbac"), list("aac")]), by_hand)
    same(from_transitions([list("aabbbac"), np.array(["a", "c"])]), by_hand)
    kept = ABC.observe({"a": 1, "b": 1, "c": 1}).observe({"b": 2, "a": 1})
    same(from_transitions("aabbbac", self_loops="kept"), kept)
    counts = np.array([[5, 1, 2], [1, 7, 0], [0, 0, 9]])
    by_number = ConditionalCounts(3).observe({1: 1, 2: 2}, without=[0]).observe({0: 1}, without=[1])
    same(from_transitions(counts), by_number)
    same(
        from_transitions([0, 0, 1, 0, 2, 2, 2]),
        ConditionalCounts(3).observe({1: 1, 2: 1}, without=[0]).observe({0: 1}, without=[1]),
    )


@pytest.mark.parametrize("engine", FRAMES)
def test_a_posterior_for_each_state(engine: str) -> None:
    moves = {"from": ["a", "b", "a", "c"], "to": ["b", "a", "c", "c"], "count": [3, 4, 1, 9]}
    rows = from_transitions(given_as(engine, moves), rows="separate")
    assert list(rows) == ["a", "b", "c"]
    same(rows["a"], ConditionalCounts("bc").observe({"b": 3, "c": 1}))
    same(rows["b"], ConditionalCounts("ac").observe({"a": 4}))
    same(rows["c"], ConditionalCounts("ab"))


def test_options_of_transitions() -> None:
    sequence = "abcab"
    three = ConditionalCounts("abc")
    same(from_transitions(sequence),
         three.observe({"b": 2}, without="a").observe({"c": 1}, without="b")
         .observe({"a": 1}, without="c"))  # fmt: skip
    closed = three.observe({"b": 2}, within="b").observe({"c": 1}, without="b")
    closed = closed.observe({"a": 1}, without="c")
    mask = np.zeros((3, 3), bool)
    mask[0, 2] = True
    for forbidden in ({"a": ["c"]}, [("a", "c")], mask):
        same(from_transitions(sequence, forbidden=forbidden), closed)
    with pytest.raises(DataError, match="2 transitions from 'a' to 'b'"):
        from_transitions(sequence, forbidden={"a": ["b"]})
    wider = ConditionalCounts("cbad").observe({"b": 2}, without="a").observe({"c": 1}, without="b")
    same(from_transitions(sequence, categories="cbad"), wider.observe({"a": 1}, without="c"))


def test_times_in_a_file_are_numbers(read: Any) -> None:
    by_hand = ABC.observe({"b": 1}, without="a").observe({"c": 1}, without="b")
    assert read("seq,time,state / s,9,a / s,10,b / s,11,c") == by_hand
    times = {"seq": [1] * 3 + [2] * 2, "time": [1, 10, 2, 1, None], "state": list("acbxy")}
    with pytest.warns(luce.errors.SkippedRowsWarning, match="time is missing"):
        assert from_transitions(times, skip_bad=True) == by_hand
    with pytest.raises(luce.errors.BadRowsError, match="the same time"):
        read("seq,time,state / s,1,a / s,1,b / s,2,c")


def test_rows_drawn_with_one_seed_make_no_matrix() -> None:
    rows = from_transitions("abcabcacb", rows="separate")
    runs = {s: luce.Posterior(row).sample(10, seed=1, progress=False) for s, row in rows.items()}
    with pytest.raises(DataError, match="a seed of its own"):
        luce.answers.transition_matrix(runs)
