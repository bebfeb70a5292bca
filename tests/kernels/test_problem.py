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


def ranking(order: list[int]) -> list[Nest]:
    """A ranking of all but the last two, each of its sets stored by its smaller side."""
    n = len(order)
    half = n // 2
    exponents = tuple(-1.0 - i % 4 for i in range(n))
    return [
        Nest(tuple(order[:half]), tuple(range(2, half + 1)), exponents[2 : half + 1]),
        Nest(tuple(order[: half - 1 : -1]), tuple(range(2, half)), exponents[2:half], True),
    ]


def assert_same_sets(n: int, joined: tuple[np.ndarray, ...], given: tuple[np.ndarray, ...]) -> None:
    """Same sets and exponents, and no nest lists anybody twice."""
    assert spelled_out(n, *joined) == spelled_out(n, *given)
    for k in range(len(joined[2])):
        listed = joined[0][joined[1][k] : joined[1][k + 1]]
        assert len(set(listed.tolist())) == len(listed)


@pytest.mark.parametrize("n", [12, 32, 33, 40])
@pytest.mark.parametrize("seed", range(15))
def test_joined_nests_hold_the_same_sets(seed: int, n: int) -> None:
    rng = generator(seed)
    nests = random_nests(rng, n, 3) + ranking(rng.permutation(n).tolist())
    given = arrays_of(nests)
    joined = join_nests(n, *given)
    assert_same_sets(n, joined, given)
    assert len(joined[2]) < len(given[2])  # at least the ranking is one nest again
    if n <= 32:  # sums over direct sets alone are the fastest
        assert not joined[2].any()
    else:
        assert len(joined[0]) <= 1.1 * len(given[0])


def test_sets_that_each_leave_out_one_are_given_back() -> None:
    for n in (6, 40):
        given = arrays_of([Nest((i,), (1,), (-2.0,), True) for i in range(n)])
        for one, other in zip(join_nests(n, *given), given, strict=True):
            np.testing.assert_array_equal(one, other)
        with_a_pair = arrays_of([Nest((0, 1), (2,), (-1.0,)), Nest((2,), (1,), (-2.0,), True)])
        joined = join_nests(n, *with_a_pair)
        assert_same_sets(n, joined, with_a_pair)
        assert joined[2].any() == (n > 32)  # the control: turned among few categories


def test_few_complements_among_many_nests_become_direct_sets() -> None:
    """Where they add at most a tenth to the stored members."""
    n, rng = 40, generator(90)
    pairs = [Nest(tuple(rng.permutation(n)[:2].tolist()), (2,), (-1.0,)) for _ in range(450)]
    lone = [Nest(tuple(rng.permutation(n)[:15].tolist()), (15,), (-1.0,), True) for _ in range(2)]
    for kept, turned in ((pairs, False), (pairs[:100], True)):
        given = arrays_of(kept + lone)
        joined = join_nests(n, *given)
        assert_same_sets(n, joined, given)
        assert joined[2].any() == turned
        assert len(joined[0]) <= 1.1 * len(given[0])


def test_nests_that_do_not_fit_stay_apart() -> None:
    nests = [Nest((0, 1), (2,), (-1.0,)), Nest((1, 2), (2,), (-1.0,), True)]
    given = arrays_of(nests)
    for one, other in zip(join_nests(40, *given), given, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("missing", [0, 1, 2])
def test_opposite_nests_are_found_among_many(missing: int) -> None:
    """Rankings of all, or all but one: more pairs of nests than are compared one by one.

    The nests are shuffled, and two more have no opposite.
    """
    n, number, rng = 34, 1100, generator(91)
    whole = []
    for _ in range(number):
        direct, turned = ranking(rng.permutation(n).tolist())
        ends = (2, 9, n // 2 - missing)
        whole += [direct, turned._replace(ends=ends, exponents=(-1.0, -2.0, -3.0))]
    nests = [whole[k] for k in rng.permutation(len(whole))]
    nests.append(Nest(tuple(range(5)), (5,), (-1.0,)))
    nests.append(Nest(tuple(range(9)), (3, 9), (-1.0, -2.0), True))
    given = arrays_of(nests)
    joined = join_nests(n, *given)
    assert_same_sets(n, joined, given)
    if missing == 2:  # the control: nests that are not opposite stay apart
        assert joined[2].sum() == number + 1
    else:
        assert len(joined[2]) == number + 2  # each ranking is one nest again
        assert not joined[2].any()  # the last, alone, is turned
        assert len(joined[0]) <= len(given[0])
