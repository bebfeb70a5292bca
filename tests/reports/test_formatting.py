"""Names and numbers as text."""

import numpy as np

from luce.page.words import percent, probability
from luce.reports.formatting import (
    decimals_for,
    listed,
    names_of,
    number_cell,
    some_names,
)


def test_numbers_and_names_in_words() -> None:
    assert names_of(["a", 1, "1", " "]) == ["a", "1", "'1'", "' '"]
    assert listed(["a"]) == "a"
    assert listed(["a", "b", "c"]) == "a, b and c"
    assert [percent(x) for x in (0.9, 0.995)] == ["90 %", "99.5 %"]
    assert [decimals_for(np.array([x])) for x in (0.5, 0.001, 1e-9, 0.0)] == [3, 5, 6, 6]
    values = [probability(x) for x in (0.0, 1e-5, 0.1234, 0.99999, 1.0)]
    assert values == ["0", "<0.001", "0.123", ">0.999", "1"]
    texts = [number_cell(x, ".1f").text for x in (np.nan, np.inf, -2.0, -0.01, 3.0)]
    assert texts == ["–", "∞", "−2.0", "0.0", "3.0"]
    assert some_names(["a", "b"], 2) == "a, b"
    assert some_names(["a", "b", "c"], 2) == "a, b and 1 more"
    assert some_names(["a", "b"], 2, 9) == "a, b and 7 more"
