"""Exponents that no data has are refused, with the sets that stand in the way."""

import itertools

import pytest

from luce import ConditionalCounts
from luce.errors import DataError


def test_exponents_that_no_data_has_are_refused() -> None:
    made = ConditionalCounts.from_exponents(
        "abcd", {"a": 3, "b": 1, "c": 1, ("a", "b"): -4, ("c", "d"): 1.5, ("b", "c", "d"): -1}
    )
    assert made.sets.n_sets == 3
    assert ConditionalCounts.from_exponents("abc", {"a": 2}).n_outcomes == 2
    with pytest.raises(DataError, match="category 'a' has the exponent -2"):
        ConditionalCounts.from_exponents("ab", {"a": -2, "b": 3})
    with pytest.raises(DataError, match="no more than 2 can be inside"):
        ConditionalCounts.from_exponents("abc", {"a": 1, "b": 1, "c": 5, ("a", "b"): -3})
    pairs = dict.fromkeys(itertools.combinations("abcd", 2), -1.0)
    with pytest.raises(DataError, match="and 3 more sets"):
        ConditionalCounts.from_exponents("abcd", pairs)
