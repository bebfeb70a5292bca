"""Which categories data can compare, against loops."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from lib.bounds import SEED

import luce
from luce import ConditionalCounts, Posterior
from luce.errors import DataError


def groups_by_loops(counts: ConditionalCounts) -> tuple[list[list[Any]], list[Any]]:
    labels = list(counts.categories)
    sets = [counts.sets.set_members(t).tolist() for t in range(counts.sets.n_sets)]
    if counts.category_counts.sum() + counts.sets.exponent.sum() > 1e-9:
        sets.append(list(range(len(labels))))
    group = list(range(len(labels)))
    for members in sets:
        joined = {group[i] for i in members}
        group = [min(joined) if g in joined else g for g in group]
    parts = [[x for x, h in zip(labels, group, strict=True) if h == g] for g in sorted(set(group))]
    covered = {i for members in sets for i in members}
    return parts, [x for i, x in enumerate(labels) if i not in covered]


@pytest.mark.parametrize("seed", range(40))
def test_comparable_groups_are_those_of_loops(seed: int) -> None:
    rng = np.random.default_rng(SEED + seed)
    n = int(rng.integers(1, 12))
    counts = ConditionalCounts(n)
    for _ in range(int(rng.integers(0, 5))):
        size = int(rng.integers(1, n + 1)) if rng.random() < 0.3 else min(n, 2)
        members = rng.choice(n, size, replace=False).tolist()
        kind = rng.integers(4)
        if kind == 0:
            counts = counts.observe_ranking(members, 0.1)
        elif kind == 1 and size < n:
            counts = counts.observe(
                {next(i for i in range(n) if i not in members): 0.3}, without=members
            )
        elif kind == 2:
            counts = counts.observe_group(members[:2], 1, within=members)
        else:
            counts = counts.observe({members[0]: 0.7, members[-1]: 0.1}, within=members)
    groups, alone = groups_by_loops(counts)
    assert luce.comparable_groups(counts) == groups
    assert luce.counts.prior_only(counts) == alone


def test_comparable_groups_where_they_matter() -> None:
    league = (
        ConditionalCounts("abcdefg").observe({"a": 1}, within="ab").observe({"c": 1}, within="cd")
    )
    assert luce.comparable_groups(league) == [["a", "b"], ["c", "d"], ["e"], ["f"], ["g"]]
    assert luce.counts.prior_only(league) == ["e", "f", "g"]
    assert luce.comparable_groups(league.observe({"e": 1})) == [list("abcdefg")]
    assert luce.counts.prior_only(league.observe({"e": 1})) == []
    most = ConditionalCounts("abcdefg").observe({"b": 1}, without="a")
    assert luce.comparable_groups(most) == [["a"], list("bcdefg")]
    assert luce.counts.prior_only(most) == ["a"]
    with pytest.raises(DataError, match="must be ConditionalCounts; list"):
        luce.comparable_groups([])  # type: ignore[arg-type]


def test_what_data_says_nothing_about_has_its_prior() -> None:
    """The claim behind `prior_only`, in closed form; and what is in a set has moved."""
    counts = ConditionalCounts("abcd").observe({"a": 5, "b": 1}, within="ab")
    posterior = Posterior(counts, [0.5, 1.0, 2.0, 1.5])
    moved = np.abs(posterior.mean() - np.array([0.1, 0.2, 0.4, 0.3])) > 1e-12
    assert moved.values.tolist() == [True, True, False, False]
    assert luce.counts.prior_only(counts) == ["c", "d"]


def test_categories_are_linked_by_sets() -> None:
    counts = (
        ConditionalCounts("abcde").observe({"a": 1}, within="ab").observe({"d": 2}, within="cd")
    )
    assert luce.comparable_groups(counts) == [["a", "b"], ["c", "d"], ["e"]]
    assert luce.counts.prior_only(counts) == ["e"]
    wide = counts.observe({"b": 1}, without="de").observe({"b": 1}, without="ae")
    assert luce.comparable_groups(wide) == [["a", "b", "c", "d"], ["e"]]
    everybody = counts.observe({"a": 0.5})
    assert luce.comparable_groups(everybody) == [list("abcde")]
    assert luce.counts.prior_only(everybody) == []
    with pytest.raises(DataError, match="dict was given"):
        luce.comparable_groups({"a": 1})  # type: ignore[arg-type]
