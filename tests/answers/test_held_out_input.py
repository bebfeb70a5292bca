"""Held-out outcomes that cannot be read are refused in words."""

import numpy as np
import pytest

import luce
from luce.errors import DataError


def test_outcomes_that_cannot_be_read() -> None:
    p = np.full((1, 2, 3), 1 / 3)
    for outcomes, words in (
        ([], "no outcomes were given"),
        ([(0, None)], r"a triple \(label, within, count\) is needed"),
        ([3], "a triple"),
        ([(0, [1, 2], 1)], "outside the set it was recorded in: 1, 2"),
        ([(7, None, 1)], "outcome 1 = 7 is not a category"),
    ):
        with pytest.raises(DataError, match=words):
            luce.answers.reliability(p, outcomes)  # type: ignore[arg-type]
    for bins in (0, 2.0, True):
        with pytest.raises(DataError, match="a whole number from 1 on"):
            luce.answers.reliability(p, [(0, None, 1)], bins=bins)  # type: ignore[arg-type]
