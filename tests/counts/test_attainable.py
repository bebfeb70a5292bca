"""Exponents that data could have, and exponents that no data has."""

import itertools
from typing import Any

import numpy as np
import pytest
from scipy.optimize import LinearConstraint, milp

from luce import ConditionalCounts
from luce.errors import DataError

# Each case: the exponents given, and words that the message must contain.
REFUSED_EXPONENTS: dict[str, tuple[dict[Any, Any], tuple[str, ...]]] = {
    "no outcomes": ({("a", "b"): -1}, ("1 outcome given {a, b}", "no more than 0")),
    "too few": (
        {"a": 1, "b": 1, "c": 9, ("a", "b"): -3},
        ("3 outcomes given {a, b}", "no more than 2"),
    ),
    "negative single": ({"a": 5, "b": -1}, ("-1", "less than never")),
    "two sets share one outcome": (
        {"a": 1, "c": 4, ("a", "b"): -1, ("a", "d"): -1},
        ("given {a, b}", "given {a, d}", "no more than 1"),
    ),
    "group too large": ({("a", "b", "c"): 5, ("a", "b"): -1}, ("given {a, b}", "no more than 0")),
    "unknown": ({("a", "x"): -1}, ("'x'", "'a', 'b', 'c', 'd'")),
    "unknown bare": ({"x": -1}, ("'x'", "neither", "tuple or frozenset")),
    "twice in a set": ({("a", "a"): -1}, ("'a'", "twice")),
    "empty set": ({(): 1}, ("empty set",)),
    "NaN": ({"a": float("nan")}, ("'a'", "nan", "finite")),
    "text": ({"a": "many"}, ("'a'", "'many'", "number")),
}


@pytest.mark.parametrize("case", REFUSED_EXPONENTS)
def test_exponents_without_data_are_refused(case: str) -> None:
    given, said = REFUSED_EXPONENTS[case]
    with pytest.raises(DataError) as caught:
        ConditionalCounts.from_exponents("abcd", given)
    assert [s for s in said if s not in str(caught.value)] == []


def test_fractional_powers_of_groups() -> None:
    # Two grouped outcomes, half an outcome of which was conditioned on the group.
    given = {("a", "b"): 1.5, "a": 0.5, "c": 1}
    counts = ConditionalCounts.from_exponents("abc", given)
    built = (
        ConditionalCounts("abc")
        .observe_group("ab", 2)
        .observe({"a": 0.5}, within="ab")
        .observe({"c": 1})
    )
    assert counts == built
    with pytest.raises(DataError, match="no data"):
        ConditionalCounts.from_exponents("abc", {("a", "b"): 1.5, "a": 0.25, "c": 1})


def test_from_exponents_is_observe() -> None:
    by_exponents = ConditionalCounts.from_exponents(
        "abcd",
        {"a": 2, "c": 1.5, ("c", "a"): -3.5, frozenset("bcd"): 4, ("a", "b", "c", "d"): -99},
    )
    by_observing = (
        ConditionalCounts("abcd").observe({"a": 2, "c": 1.5}, within="ac").observe_group("bcd", 4)
    )
    assert by_exponents == by_observing
    assert by_exponents.digest == by_observing.digest


def test_a_large_count_elsewhere_does_not_hide_impossible_exponents() -> None:
    with pytest.raises(DataError, match="500 outcomes given"):
        ConditionalCounts.from_exponents("abcd", {"d": 1e15, ("a", "b"): -500, "c": 1})


def data_exists(n: int, exponents: dict[tuple[int, ...], float]) -> bool:
    """Is there a table x[W, S] of outcomes W, given S > W, with these exponents?

    Straight from the definition: x is non-negative, the outcomes of each group W are a whole
    number, and the exponent of A is the sum of x[A, .] less that of x[., A].  Outcomes W given
    W itself say nothing; whatever the full set gets, it drops.
    """
    subsets = [s for k in range(1, n + 1) for s in itertools.combinations(range(n), k)]
    pairs = [(w, s) for w in subsets for s in subsets if set(w) < set(s)]
    wanted = [s for s in subsets if len(s) < n]
    groups = [s for s in wanted if len(s) > 1]
    # Unknowns: the table, then the whole number of outcomes of each group.
    net = [[(w == a) - (s == a) for w, s in pairs] + [0] * len(groups) for a in wanted]
    whole = [[w == g for w, _ in pairs] + [-(g == h) for h in groups] for g in groups]
    target = [exponents.get(a, 0.0) for a in wanted] + [0.0] * len(groups)
    found = milp(
        np.zeros(len(pairs) + len(groups)),
        integrality=np.repeat([0, 1], [len(pairs), len(groups)]),
        constraints=LinearConstraint(np.asarray(net + whole, float), target, target),
    )
    assert found.status in (0, 2)  # solved, or proved to have no solution
    return bool(found.status == 0)


def test_exponents_are_refused_exactly_when_no_data_has_them() -> None:
    rng = np.random.default_rng(20)
    accepted = refused = 0
    for _ in range(300):
        n = int(rng.integers(2, 5))
        subsets = [s for k in range(2, n) for s in itertools.combinations(range(n), k)]
        exponents: dict[tuple[int, ...], float] = {(i,): rng.integers(0, 7) / 2 for i in range(n)}
        for s in subsets:
            if rng.random() < 0.4:
                exponents[s] = rng.integers(-8, 5) / 2
        try:
            ConditionalCounts.from_exponents(n, exponents)
        except DataError:
            refused += 1
            assert not data_exists(n, exponents), exponents
        else:
            accepted += 1
            assert data_exists(n, exponents), exponents
    assert min(accepted, refused) >= 60  # both answers were put to the test


def test_a_message_names_a_few_of_many_sets() -> None:
    pairs = dict.fromkeys(itertools.combinations("abcd", 2), -1.0)
    with pytest.raises(DataError, match="and 3 more sets"):
        ConditionalCounts.from_exponents("abcd", pairs)
