"""Equal sets are merged, against sums over sets written out."""

from collections import Counter

import numpy as np
import pytest

from luce.counts.canonical import canonical
from luce.counts.family import SetFamily, single_sets


def written_out(family: SetFamily) -> Counter[frozenset[int]]:
    """Sum the exponents of equal sets."""
    powers: Counter[frozenset[int]] = Counter()
    for t in range(family.n_sets):
        powers[frozenset(family.set_members(t).tolist())] += family.exponent[t]
    return powers


def triples(rng: np.random.Generator, n: int, number: int, repeated: int) -> SetFamily:
    """Draw sets of three, some of them twice in another order, once with the opposite exponent."""
    sets = [rng.choice(n, 3, replace=False) for _ in range(number)]
    again = [s[::-1] for s in sets[:repeated]]
    exponents = rng.choice([-2.0, -1.0, 1.0], number)
    opposite = -exponents[:1] if repeated else exponents[:0]
    total = [*exponents, *opposite, *exponents[1:repeated]]
    return single_sets(n, sets + again, [False] * len(total), total)


# Few sets that equal another are looked at alone, many with all others.
@pytest.mark.parametrize(("number", "repeated"), [(3000, 0), (3000, 2), (3000, 500), (4, 4)])
def test_equal_sets_are_merged(number: int, repeated: int) -> None:
    n = 400
    family = triples(np.random.default_rng(3), n, number, repeated)
    merged, singletons = canonical(n, [family])
    found, truth = written_out(merged), written_out(family)
    assert found == Counter({s: e for s, e in truth.items() if e != 0})
    assert merged.n_sets == len(found)  # none twice
    assert not singletons.any()
    assert (len(found) < family.n_sets) == (repeated > 0)


def test_of_equal_sets_the_first_stays() -> None:
    family = single_sets(9, [[3, 4], [0, 1], [4, 3], [5, 6]], [False] * 4, [-1.0] * 4)
    merged, _ = canonical(9, [family])
    assert merged.members.tolist() == [3, 4, 0, 1, 5, 6]
    assert merged.exponent.tolist() == [-2.0, -1.0, -1.0]


def test_singletons_become_counts_of_categories() -> None:
    """Given by their one member, as the rest of an all-but set, and as the last of a ranking."""
    ranking = SetFamily(
        4,
        np.array([2, 0, 1]),
        np.array([0, 3]),
        np.array([False]),
        np.array([0, 2]),
        np.array([1, 2]),
        np.array([-1.0, -5.0]),
    )
    lone = single_sets(4, [[3], [0, 1, 2], [0, 1, 3]], [False, True, True], [4.0, -1.0, 7.0])
    merged, singletons = canonical(4, [ranking, lone])
    assert singletons.tolist() == [0.0, 0.0, 6.0, 3.0]
    assert written_out(merged) == Counter({frozenset([0, 2]): -5.0})
