"""Overlapping sets in pieces, for posteriors whose terms are held by several workers."""

from typing import Any

import numpy as np

from luce import ConditionalCounts


def many_sets(block: int, n: int = 300, sets: int = 200) -> ConditionalCounts:
    """Random sets of five out of n."""
    rng = np.random.default_rng([9, block])
    counts = ConditionalCounts(n)
    for _ in range(sets):
        members = rng.choice(n, 5, replace=False).tolist()
        counts = counts.observe({members[0]: 1}, within=members)
    return counts


def small_piece(block: int) -> ConditionalCounts:
    """Overlapping pairs of five items, and grouped outcomes in every other block."""
    first, second, third = (block % 5, (block + 1) % 5, (block + 2) % 5)
    counts = ConditionalCounts(5).observe({first: 2, second: 1}, within=[first, second])
    counts = counts.observe({third: 1}, within=[second, third])
    return counts.observe_group([0, block % 4 + 1], 2) if block % 2 else counts


def small_whole(blocks: int = 5) -> ConditionalCounts:
    """All small pieces together."""
    return sum(map(small_piece, range(blocks)), ConditionalCounts(5))


def values_of(run: Any) -> np.ndarray:
    """Return the drawn probabilities."""
    found: np.ndarray = run.posterior["probabilities"].values
    return found


def same_draws(one: Any, other: Any) -> bool:
    """Compare the drawn probabilities of two runs, bit for bit."""
    return np.array_equal(values_of(one), values_of(other))
