"""Lean forms of a problem give the sums and the draws of the general form."""

from typing import Any

import numpy as np
import pytest
from lib.nests import WIDE, Nest, bits, expand, generator, problem_of, random_nests

from luce.kernels import densities_at, waiting_times
from luce.kernels.grouped_outcomes import split_space
from luce.kernels.jit import compiled
from luce.kernels.layouts import AllButOne, Nests, Pairs, lean
from luce.kernels.problem import Problem, gamma_spreads
from luce.kernels.set_sums import member_sums, set_sums, signed_member_sums

N = 9


def pairs(rng: np.random.Generator) -> list[Nest]:
    chosen = [rng.choice(N, 2, replace=False).tolist() for _ in range(14)]
    return [Nest((a, b), (2,), (-float(rng.integers(0, 4)),)) for a, b in chosen]


def all_but_one(rng: np.random.Generator) -> list[Nest]:
    return [Nest((i,), (1,), (-1.5 * float(rng.integers(1, 4)),), True) for i in rng.permutation(N)]


def nests(rng: np.random.Generator) -> list[Nest]:
    """Choices, a ranking, a nest with long steps and with members beyond its last set, a pair."""
    return [
        Nest((3, 5), (2,), (-2.0,)),
        Nest(tuple(rng.permutation(N)[:4].tolist()), (4,), (-1.0,)),
        Nest((6,), (1,), (-0.5,)),
        Nest(tuple(rng.permutation(N).tolist()), (2, 3, 4, 5, 6, 7), (-1.0,) * 6),
        Nest(tuple(rng.permutation(N).tolist()), (1, 4, 8), (-2.0, 0.0, -1.0)),
        Nest(tuple(rng.permutation(N)[:5].tolist()), (3,), (-3.0,)),
    ]


def grouped(rng: np.random.Generator) -> list[Nest]:
    return [*nests(rng)[:5], Nest((2, 7, 4, 1), (2, 4), (3.0, 1.5))]


FORMS = {"pairs": (pairs, Pairs), "all but one": (all_but_one, AllButOne), "nests": (nests, Nests)}
ALL = FORMS | {"grouped": (grouped, Nests)}


def both(name: str, wide: bool) -> tuple[Problem, Any]:
    """A problem, and the same in its lean form."""
    make, form = ALL[name]
    problem = problem_of(make(generator(1)), list(np.linspace(18.0, 30.0, N)), wide)
    found = lean(problem)
    assert type(found) is form
    return problem, found


def point(wide: bool) -> np.ndarray:
    p = generator(2).dirichlet(np.ones(N))
    return np.log(p) if wide else p


@compiled
def every_sum(problem: Any, x: np.ndarray, w: np.ndarray, s: np.ndarray, m: np.ndarray) -> None:
    set_sums(problem, x, s)
    member_sums(problem, w, m)


@compiled
def signed_sums(problem: Any, w: np.ndarray, out: np.ndarray) -> None:
    signed_member_sums(problem, w, out)


@pytest.mark.parametrize("wide", WIDE)
@pytest.mark.parametrize("name", FORMS)
def test_sums_of_lean_forms(name: str, wide: bool) -> None:
    problem, form = both(name, wide)
    w = np.log(problem.waits + 0.1) if wide else problem.waits.copy()
    x, sums, members = point(wide), np.empty((2, len(w))), np.empty((2, N))
    every_sum(problem, x, w, sums[0], members[0])
    every_sum(form, x, w, sums[1], members[1])
    np.testing.assert_array_equal(sums[1], sums[0])
    np.testing.assert_allclose(members[1], members[0], rtol=1e-14)


def test_one_category_or_weight_that_towers_keeps_the_digits_of_the_others() -> None:
    problem, form = both("all but one", False)
    x, w = np.full(N, 1e-14), np.full(N, 1e-3)
    x[4], w[2] = 1.0 - 8e-14, 1e15
    sums, members = np.empty((2, N)), np.empty((2, N))
    every_sum(problem, x, w, sums[0], members[0])
    every_sum(form, x, w, sums[1], members[1])
    np.testing.assert_allclose(sums[1], sums[0], rtol=1e-14)
    np.testing.assert_allclose(members[1], members[0], rtol=1e-14)
    assert sums[1].min() == pytest.approx(8e-14, rel=1e-12)
    assert members[1].min() == pytest.approx(8e-3, rel=1e-12)


@pytest.mark.parametrize("seed", range(6))
def test_signed_sums_equal_brute_force(seed: int) -> None:
    rng = generator(10 + seed)
    for family in (random_nests(rng, N, 5), pairs(rng), nests(rng), grouped(rng)):
        table = expand(family, N)
        w = rng.normal(size=len(table)) * 10.0 ** rng.uniform(-3, 3, len(table))
        problem, out = problem_of(family, [20.0] * N), np.empty(N)
        bound = 1e-15 * len(w) * np.abs(w).sum()
        for form in (problem, lean(problem)):
            signed_sums(form, w, out)
            assert (np.abs(out - table.T @ w) <= bound).all()
        w[0] = -w[0]  # the control: one weight of the other sign
        assert (np.abs(out - table.T @ w) > bound).any()


def sweeps(problem: Any, space: Any, wide: bool) -> tuple[np.ndarray, ...]:
    state, own, out, stat = point(wide), bits(3), np.empty((20, N)), np.empty(20)
    waiting_times.advance(own, problem, None, state, np.zeros(4), False, out, stat, space)
    return out, stat, own


@pytest.mark.parametrize("wide", WIDE)
@pytest.mark.parametrize("name", ALL)
def test_sweeps_of_lean_forms_are_the_same_bit_for_bit(name: str, wide: bool) -> None:
    problem, form = both(name, wide)
    space = split_space(problem)
    assert (space is not None) == (name == "grouped")
    expected, found = sweeps(problem, space, wide), sweeps(form, space, wide)
    for a, b in zip(expected, found, strict=True):
        np.testing.assert_array_equal(a, b)
    # The control: another count of one set gives other draws from the second sweep on.
    waits = problem.waits + (np.arange(len(problem.waits)) == 0)
    other = form._replace(waits=waits, wait_spread=gamma_spreads(waits))
    assert (sweeps(other, space, wide)[0][1] != expected[0][1]).any()


@pytest.mark.parametrize("name", FORMS)
def test_densities_of_lean_forms(name: str) -> None:
    problem, form = both(name, False)
    states, out = generator(4).dirichlet(np.ones(N), 5), np.empty((2, 5))
    densities_at.log_densities(problem, states, out[0])
    densities_at.log_densities(form, states, out[1])
    np.testing.assert_allclose(out[1], out[0], rtol=1e-14)


def test_the_leanest_form_is_chosen() -> None:
    rng, shape = generator(5), [20.0] * N
    pair, one, group = Nest((0, 1), (2,), (-1.0,)), Nest((2,), (1,), (-1.0,), True), pairs(rng)[0]
    group = group._replace(exponents=(2.0,))
    expected: list[tuple[list[Nest], type]] = [
        ([], Pairs),
        (pairs(rng), Pairs),
        (all_but_one(rng), AllButOne),
        (nests(rng), Nests),
        ([pair, group], Nests),  # grouped outcomes of pairs are split nest by nest
        ([one, one._replace(exponents=(2.0,))], Problem),
        ([pair, one], Problem),  # two kinds
        ([pair, Nest((3, 4), (1, 2), (-1.0, -1.0), True)], Problem),
    ]
    for family, form in expected:
        assert type(lean(problem_of(family, shape))) is form


def test_indices_have_no_sign() -> None:
    for name in FORMS:
        form = both(name, False)[1]
        indices = [array for array in form if getattr(array, "dtype", None) == np.uint32]
        assert len(indices) == {"pairs": 2, "all but one": 1, "nests": 4}[name]
        assert not any(array.dtype.kind == "i" for array in form if isinstance(array, np.ndarray))
