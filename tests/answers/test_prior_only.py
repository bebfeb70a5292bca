"""Summaries mark categories that only the prior speaks of."""

import luce
from luce import ConditionalCounts


def test_the_summary_marks_some_of_the_categories() -> None:
    counts = ConditionalCounts("abc").observe({"a": 1}, within="ab")
    run = luce.Posterior(counts).sample(20, seed=1, progress=False)
    table = luce.summary(run, counts=counts, among="ac")
    assert table["prior_only"].tolist() == [False, True]
