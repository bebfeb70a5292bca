"""Grouped outcomes, and tables of answers of which some are missing."""

from typing import Any

import pytest
from lib.data_files import problems
from lib.reading_cases import same

from luce import ConditionalCounts, from_groups
from luce.errors import DataError, SkippedRowsWarning


def test_cells_may_be_named_in_an_order_of_their_own() -> None:
    answers = {"sex": ["m", "f", None], "vote": ["yes", None, "no"], "n": [10, 4, 3]}
    cells = [(s, v) for v in ("yes", "no") for s in ("m", "f")]
    found = from_groups(answers, cells=["sex", "vote"], categories=cells)
    by_hand = ConditionalCounts(cells).observe({("m", "yes"): 10})
    by_hand = by_hand.observe_group([("f", "yes"), ("f", "no")], 4)
    same(found, by_hand.observe_group([("m", "no"), ("f", "no")], 3))
    many = {f"question {k}": list(range(50)) for k in range(8)}
    with pytest.raises(DataError, match="39,062,500,000,000 combinations"):
        from_groups(many, cells=list(many))
    bad = {"sex": ["m", "f", "x"], "n": [1, 2, 0.5]}
    with pytest.warns(SkippedRowsWarning, match="left out 1"):
        found = from_groups(bad, cells=["sex"], skip_bad=True)
    same(found, ConditionalCounts([("f",), ("m",)]).observe({("m",): 1, ("f",): 2}))


def test_answers_that_look_missing_are_answers() -> None:
    answers = {"kids": ["none", "some", "NA"], "sex": ["f", "m", "f"], "n": [10, 4, 3]}
    counts = from_groups(answers, cells=["kids", "sex"])
    both = [("none", "f"), ("none", "m"), ("some", "f"), ("some", "m")]
    by_hand = ConditionalCounts(both).observe({both[0]: 10, both[3]: 4})
    assert counts == by_hand.observe_group([both[0], both[2]], 3)


def test_grouped_outcomes_are_whole_numbers(write: Any) -> None:
    path = write("d.csv", "group,count\na|b,2\na|c,1.5\n")
    ((line, sentence),) = problems(path)
    assert line == 3
    assert "whole numbers" in sentence
