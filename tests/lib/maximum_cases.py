"""Data whose maxima are known, or hard to find, entered as luce's counts."""

from collections.abc import Sequence

import numpy as np
from lib.bounds import SEED
from lib.maximum_oracles import Data, Seen, races

from luce import ConditionalCounts


def counts_of(n: int, data: Data) -> ConditionalCounts:
    """Enter outcomes one by one."""
    counts = ConditionalCounts(n)
    for outcome, within, count in data:
        if len(outcome) == 1:
            counts = counts.observe({outcome[0]: count}, within=within)
        else:
            counts = counts.observe_group(outcome, count, within=within)
    return counts


def along_a_path(wins: Sequence[tuple[float, float]]) -> ConditionalCounts:
    """Each category meets the next one; `wins` are those of the first and of the second."""
    counts = ConditionalCounts(len(wins) + 1)
    for k, (first, second) in enumerate(wins):
        counts = counts.observe({k: first, k + 1: second}, within=[k, k + 1])
    return counts


def in_a_circle(labels: str = "abcd") -> ConditionalCounts:
    """Everybody wins against the next one, and the last against the first."""
    counts = ConditionalCounts(labels)
    for k, label in enumerate(labels):
        counts = counts.observe({label: 2 + k, labels[k - 1]: 3}, within=[label, labels[k - 1]])
    return counts


def drivers(seed: int, number: int = 83) -> ConditionalCounts:
    """36 races of 43 drivers each."""
    rng = np.random.default_rng([SEED, seed])
    counts = ConditionalCounts(number)
    for order in races(rng, number, 36, 43):
        counts = counts.observe_ranking(order)
    return counts


# All kinds of sets: pairs, all but one, a ranking, everybody.
MIXED = in_a_circle("abcde").observe({"c": 4, "e": 1}, without="a").observe({"b": 3}, without="e")
MIXED = MIXED.observe_ranking("dab", 2).observe({"a": 2, "d": 1})

# 0 has a quarter, 1 and 2 the rest, but 0 beats either alone: so 1 or 2 is next to nothing.
TWO_PEAKS = [
    Seen((0,), (0, 1, 2), 12),
    Seen((1, 2), (0, 1, 2), 37),
    Seen((0,), (0, 2), 9),
    Seen((0,), (0, 1), 6),
]

# The likelihood is constant along a line: 0 and 1, and 1 and 3, are to 2 as 3 to 2.
RIDGE = [
    Seen((0, 1), (0, 1, 2), 3),
    Seen((2,), (0, 1, 2), 2),
    Seen((1, 3), (1, 2, 3), 3),
    Seen((2,), (1, 2, 3), 2),
]
