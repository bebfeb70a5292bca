"""Sums over the members of sets, and over the sets of members, against brute force."""

import mpmath
import numpy as np
import pytest
from lib.nests import WIDE, Nest, expand, generator, problem_of, random_nests

from luce.kernels.jit import compiled
from luce.kernels.problem import Problem
from luce.kernels.set_sums import member_sums, set_sums, sums_outside


@compiled
def sum_sets(problem: Problem, x: np.ndarray, out: np.ndarray) -> None:
    set_sums(problem, x, out)


@compiled
def sum_members(problem: Problem, w: np.ndarray, outside: bool, out: np.ndarray) -> None:
    if outside:
        sums_outside(problem, w, out)
    else:
        member_sums(problem, w, out)


def exact_sums(table: np.ndarray, values: list[mpmath.mpf]) -> list[mpmath.mpf]:
    return [mpmath.fsum(v for v, held in zip(values, row, strict=True) if held) for row in table]


def assert_sums(
    actual: np.ndarray, expected: list[mpmath.mpf], wide: bool, tolerance: float = 1e-10
) -> None:
    for a, e in zip(actual, expected, strict=True):
        if e == 0:
            assert a == (-np.inf if wide else 0.0)
        elif wide:
            assert abs(a - mpmath.log(e)) < tolerance
        else:
            assert abs(a / e - 1) < tolerance


def check_all_sums(nests: list[Nest], x: list[mpmath.mpf], w: list[mpmath.mpf], wide: bool) -> None:
    problem = problem_of(nests, [1.0] * len(x), wide)
    table = expand(nests, len(x))

    def numbers(values: list[mpmath.mpf]) -> np.ndarray:
        if not wide:
            return np.array([float(v) for v in values])
        return np.array([float(mpmath.log(v)) if v else -np.inf for v in values])

    # The input of the exact sums is what the kernel saw, after rounding.
    def seen(values: np.ndarray) -> list[mpmath.mpf]:
        return [mpmath.exp(v) if wide else mpmath.mpf(v) for v in values.tolist()]

    given, out = numbers(x), np.empty(len(table))
    sum_sets(problem, given, out)
    assert_sums(out, exact_sums(table, seen(given)), wide)
    given, out = numbers(w), np.empty(len(x))
    for outside in (False, True):
        sum_members(problem, given, outside, out)
        held = ~table.T if outside else table.T
        assert_sums(out, exact_sums(held, seen(given)), wide)


@pytest.mark.parametrize("wide", WIDE)
@pytest.mark.parametrize("seed", range(12))
def test_sums_equal_brute_force(seed: int, wide: bool) -> None:
    rng = generator(seed)
    n = int(rng.integers(2, 12))
    nests = random_nests(rng, n, int(rng.integers(1, 7)))
    n_sets = len(expand(nests, n))
    spread = 40 if seed % 2 else 1  # half of the families span dozens of decades
    x = [mpmath.mpf(float(v)) for v in 10.0 ** (-spread * rng.random(n))]
    w = [mpmath.mpf(float(v)) for v in 10.0 ** (spread * rng.random(n_sets))]
    if seed % 3 == 0:
        w[0] = mpmath.mpf(0)
    check_all_sums(nests, x, w, wide)


@pytest.mark.parametrize("wide", WIDE)
def test_small_kept_part_keeps_its_digits(wide: bool) -> None:
    x = [mpmath.mpf(v) for v in (1 - 1e-12, 3e-13, 5e-13, 2e-13)]
    nests = [Nest((i,), (1,), (-1.0,), True) for i in range(4)]
    nests.append(Nest((0, 2, 1), (1, 2, 3), (-1.0, -1.0, -1.0), True))
    w = [mpmath.mpf(v) for v in (1e20, 1.0, 2.0, 3.0, 1e-3, 4.0, 1e20)]
    check_all_sums(nests, x, w, wide)


@pytest.mark.parametrize("outside", [False, True])
def test_one_huge_weight_does_not_drown_the_others(outside: bool) -> None:
    # Category 0 alone misses the huge weight: inside by being excluded, outside by being held.
    nests = [Nest((i, (i + 1) % 5), (2,), (-1.0,), not outside) for i in range(5)]
    w = [mpmath.mpf(v) for v in (1e20, 0.1, 0.2, 0.3, 0.4)]
    check_all_sums(nests, [mpmath.mpf("0.2")] * 5, w, False)


def test_no_sets() -> None:
    problem = problem_of([], [1.0, 2.0])
    out = np.full(2, np.nan)
    sum_sets(problem, np.array([0.5, 0.5]), np.empty(0))
    sum_members(problem, np.empty(0), False, out)
    np.testing.assert_array_equal(out, 0.0)
