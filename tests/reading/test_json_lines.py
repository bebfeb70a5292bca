"""JSON Lines."""

import json
from typing import Any

import pytest
from lib.data_files import DUELS, EXPECTED, places, refusal, skipping

import luce


def test_json_lines(write: Any) -> None:
    records = [dict(zip(("winner", "loser", "count"), duel, strict=True)) for duel in DUELS]
    lines = "\n\n".join(map(json.dumps, records))
    assert luce.read(write("duels.jsonl", lines)) == EXPECTED
    assert luce.read(write("duels.txt", lines)) == EXPECTED
    orders = '["ann", "bo", "cy"]\n["bo", ["ann", "cy"]]\n'
    with pytest.warns(luce.errors.HalfWinsWarning):
        read = luce.read(write("orders.jsonl", orders), ties="half")
    with pytest.warns(luce.errors.HalfWinsWarning):
        assert read == luce.from_rankings([["ann", "bo", "cy"], ["bo", {"ann", "cy"}]], ties="half")


def test_a_key_that_comes_late_counts_and_others_may_hold_anything(write: Any) -> None:
    early = ['{"winner": "a", "loser": "b", "talk": [{"said": {"x": 1}}]}'] * 1500
    late = '{"winner": "b", "loser": "a", "count": 7}'
    path = write("duels.jsonl", "\n".join([*early, late]))
    assert places(path) == [*range(1, 1501)]
    counts, left_out = skipping(path)
    assert counts == luce.from_pairs([("b", "a", 7)])
    assert left_out == [*range(1, 1501)]


def test_numbers_in_json_that_are_none(write: Any) -> None:
    def line(count: str) -> str:
        return f'{{"winner": "a", "loser": "b", "count": {count}}}\n'

    path = write("d.jsonl", line("1") + line("NaN") + line("-Infinity") + line("1e999"))
    assert places(path) == [2, 3, 4]
    path = write("d.jsonl", line("1") + line("9" * 400) + line("9" * 5000) + line("true"))
    assert places(path) == [2, 3]
    assert luce.read(write("d.jsonl", line("9" * 300))).n_outcomes == pytest.approx(1e300)


def test_json_nested_as_deep_as_it_can_be(write: Any) -> None:
    for depth in (11, 400, 900, 100_000):
        path = write("d.jsonl", '["a", "b"]\n' + "[" * depth + "]" * depth + "\n")
        assert places(path) == [2]
        assert skipping(path)[0] == luce.from_rankings([["a", "b"]])
    broken = write("d.jsonl", '["a", "b"]\n["a"\n7\n"x"\n{"a": 1}\n')
    assert refusal(broken)
