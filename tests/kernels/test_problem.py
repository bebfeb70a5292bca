"""How sets are laid out for kernels, and which problems need logarithms."""

import numpy as np
import pytest
from lib.nests import (
    Nest,
    arrays_of,
    expand,
    generator,
    problem_of,
    random_nests,
    sorted_by_kind,
    with_winners,
)

from luce.kernels.problem import join_nests


def test_exponents_split_into_waits_and_whole_groups() -> None:
    exponents = (-2.5, 3.0, 1.25, -4.0)
    problem = problem_of([Nest((0, 1, 2, 3, 4), (2, 3, 4, 5), exponents)], [9.0] * 6)
    np.testing.assert_array_equal(problem.groups, [0.0, 3.0, 2.0, 0.0])
    np.testing.assert_array_equal(problem.waits, [2.5, 0.0, 0.75, 4.0])


def test_logs_are_kept_when_something_may_underflow() -> None:
    pair = Nest((0, 1), (2,), (-2.0,))
    assert not problem_of([pair], [2.0, 2.0, 1.0]).wide
    assert problem_of([pair], [2.0, 2.0, 0.01]).wide
    assert problem_of([], [0.02, 0.02]).wide
    # All that c_0 + c_1 holds was observed inside the pair: its own probability has shape 0.002.
    assert problem_of([Nest((0, 1), (2,), (-1000.0,))], [500.001, 500.001, 5.0]).wide
    # The same with the pair inside another set that takes most of it, and by exclusion.
    nested = Nest((0, 1, 2), (2, 3), (-500.0, -501.0))
    assert problem_of([nested], [500.001, 500.001, 1.0, 3.0]).wide
    assert problem_of([Nest((2,), (1,), (-1000.0,), True)], [500.001, 500.001, 5.0]).wide


def least_shape(nests: list[Nest], shape: np.ndarray) -> float:
    """Compute, set by set, the least c(S) less the net outcomes conditioned on sets inside S."""
    least = [*shape.tolist(), shape.sum() + sum(e for nest in nests for e in nest.exponents)]
    for nest in nests:
        table = expand([nest], len(shape))
        for row, exponent in zip(table, nest.exponents, strict=True):
            inside = (table <= row).all(axis=1)
            if exponent < 0 or exponent % 1:  # outcomes are conditioned on the set
                least.append(shape[row].sum() + np.array(nest.exponents)[inside].sum())
    return min(least)


@pytest.mark.parametrize("grouped", [False, True])
def test_logs_are_kept_where_the_least_shape_is_small(grouped: bool) -> None:
    kept = 0
    for seed in range(200):
        rng = generator(seed)
        n = int(rng.integers(3, 9))
        nests = random_nests(rng, n, int(rng.integers(0, 4)))
        if grouped:
            nests.append(Nest((2, 0), (1, 2), (1.25, -0.5), bool(seed % 2)))
        shape = with_winners(rng, nests, 10.0 ** rng.uniform(-1.2, 0.5, n))
        shape[0] -= rng.uniform(0.0, 1.0) * (shape[0] - 0.06)  # some wins are not told
        least = least_shape(nests, shape)
        assert problem_of(sorted_by_kind(nests), shape.tolist()).wide == (least < 0.05 or None)
        kept += least < 0.05
    assert 10 < kept < 190  # negative control: neither always nor never


def test_transposed_index() -> None:
    nests = random_nests(generator(5), 9, 20)
    problem = problem_of(nests, [1.0] * 9)
    for i in range(9):
        places = slice(problem.listed_start[i], problem.listed_start[i + 1])
        expected = [k for k, nest in enumerate(nests) if i in nest.listed]
        assert problem.listed_nest[places].tolist() == expected
        assert (problem.members[problem.listed_position[places]] == i).all()


def spelled_out(n: int, *arrays: np.ndarray) -> list[tuple[tuple[int, ...], float]]:
    """All sets with their exponents, sorted."""
    members, nest_start, complement, set_start, set_end, exponent = arrays
    out = []
    for k, turned in enumerate(complement):
        for t in range(set_start[k], set_start[k + 1]):
            held = set(members[nest_start[k] : set_end[t]].tolist())
            held = set(range(n)) - held if turned else held
            out.append((tuple(sorted(held)), float(exponent[t])))
    return sorted(out)


@pytest.mark.parametrize("seed", range(30))
def test_joined_nests_hold_the_same_sets(seed: int) -> None:
    rng, n = generator(seed), 12
    nests = random_nests(rng, n, 3)
    order = [int(i) for i in rng.permutation(n)]  # a ranking of ten, stored by smaller sides
    nests.append(Nest(tuple(order[:6]), (2, 3, 4, 5, 6), (-1.0, -2.0, -1.0, -3.0, -1.5)))
    nests.append(Nest(tuple(order[:5:-1]), (2, 3, 4, 5), (-1.0, -2.5, -1.0, -1.0), True))
    given = arrays_of(nests)
    joined = join_nests(n, *given)
    assert spelled_out(n, *joined) == spelled_out(n, *given)
    assert len(joined[2]) < len(given[2])  # at least the ranking is one nest again
    assert len(joined[0]) < len(given[0])
    for k in range(len(joined[2])):  # a nest lists nobody twice
        listed = joined[0][joined[1][k] : joined[1][k + 1]]
        assert len(set(listed.tolist())) == len(listed)


def test_nests_that_do_not_fit_stay_apart() -> None:
    nests = [Nest((0, 1), (2,), (-1.0,)), Nest((1, 2), (2,), (-1.0,), True)]
    given = arrays_of(nests)
    for one, other in zip(join_nests(6, *given), given, strict=True):
        np.testing.assert_array_equal(one, other)
