"""Random data for properties, as terms that can be changed before they are entered.

A term is (outcomes, group, sets): how often each category was seen given the set, and how often
one of a group was.  Counts are quarters, which add up without rounding, so that digests can be
compared.
"""

import os
from typing import Any, NamedTuple

from hypothesis import HealthCheck, seed, settings
from hypothesis import strategies as st
from lib.bounds import SEED

from luce import ConditionalCounts

# Factor by which LUCE_TEST_EXAMPLES multiplies the number of random examples.
TIMES = int(os.environ.get("LUCE_TEST_EXAMPLES", "1"))

quarters = st.integers(0, 12).map(lambda k: k / 4)


def tried(examples: int) -> Any:
    """Try a property on that many random examples, the same ones for one LUCE_TEST_SEED."""

    def decorated(test: Any) -> Any:
        how = settings(
            max_examples=examples * TIMES,
            deadline=None,
            database=None,
            suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
        )
        return seed(SEED)(how(test))

    return decorated


class Term(NamedTuple):
    """Outcomes given one set."""

    inside: tuple[int, ...]
    seen: dict[int, float]
    group: tuple[int, ...] = ()
    times: int = 0


def entered(categories: object, terms: list[Term]) -> ConditionalCounts:
    """Enter terms one by one."""
    counts = ConditionalCounts(categories)  # type: ignore[arg-type]
    for term in terms:
        counts = counts.observe(term.seen, within=term.inside)
        if term.group:
            counts = counts.observe_group(term.group, term.times, within=term.inside)
    return counts


@st.composite
def terms_over(draw: st.DrawFn, n: int, most: int = 5) -> list[Term]:
    """Sets of any kind, overlapping as they like."""
    found = []
    for _ in range(draw(st.integers(1, most))):
        inside = tuple(draw(st.lists(st.integers(0, n - 1), min_size=1, unique=True)))
        seen = {i: draw(quarters) for i in inside}
        group: tuple[int, ...] = ()
        if draw(st.booleans()):
            group = inside[: draw(st.integers(1, len(inside)))]
        found.append(Term(inside, seen, group, draw(st.integers(0, 3))))
    return found


@st.composite
def nested_terms_over(draw: st.DrawFn, n: int) -> list[Term]:
    """Sets that nest or are disjoint: parts of parts of a random order."""
    found, stack = [], [tuple(draw(st.permutations(range(n))))]
    while stack:
        part = stack.pop()
        if draw(st.booleans()):
            group = part if draw(st.booleans()) else ()
            found.append(Term(part, {i: draw(quarters) for i in part}, group, 2))
        if len(part) > 1:
            cut = draw(st.integers(1, len(part) - 1))
            stack += [part[:cut], part[cut:]]
    return found


def priors_over(n: int, least: float = 0.25) -> st.SearchStrategy[list[float]]:
    """Concentrations, mostly all different."""
    return st.lists(st.floats(least, 9.0), min_size=n, max_size=n)
