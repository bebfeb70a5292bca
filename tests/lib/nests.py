"""Nests written down one by one, problems made of them, and truths by brute force."""

from typing import Any, NamedTuple

import numpy as np
import pytest
from lib.bounds import SEED
from lib.size import PLAIN_PYTHON

from luce.kernels.problem import Problem, make_problem
from luce.kernels.random import new_bits

# Both arithmetics.  Compiling a kernel for logarithms takes seconds, running it as Python does not.
WIDE = [False, True if PLAIN_PYTHON else pytest.param(True, marks=pytest.mark.slow)]


class Nest(NamedTuple):
    """A list of members, the lengths of the prefixes that are sets, and their exponents."""

    listed: tuple[int, ...]
    ends: tuple[int, ...]
    exponents: tuple[float, ...]
    complement: bool = False


def generator(seed: int) -> np.random.Generator:
    return np.random.default_rng(SEED + seed)


def bits(seed: int) -> np.ndarray:
    return new_bits(np.random.SeedSequence(SEED + seed))


def sorted_by_kind(nests: list[Nest]) -> list[Nest]:
    """Order nests as a problem does: pairs, single sets, complements of one, and the rest."""

    def kind(nest: Nest) -> int:
        if nest.ends != (len(nest.listed),):
            return 3
        if nest.complement:
            return 2 if len(nest.listed) == 1 else 3
        return 0 if len(nest.listed) == 2 else 1

    return sorted(nests, key=kind)


def arrays_of(nests: list[Nest]) -> tuple[np.ndarray, ...]:
    starts = np.cumsum([0] + [len(c.listed) for c in nests])
    ends = [s + e for s, c in zip(starts[:-1], nests, strict=True) for e in c.ends]
    return (
        np.array([i for c in nests for i in c.listed], np.int64),
        starts,
        np.array([c.complement for c in nests], bool),
        np.cumsum([0] + [len(c.ends) for c in nests]),
        np.array(ends, np.int64),
        np.array([e for c in nests for e in c.exponents]),
    )


def problem_of(nests: list[Nest], shape: list[float], wide: bool | None = None) -> Problem:
    """Make a problem of nests that are not joined, so that sets stay in order."""
    exponents = [e for c in nests for e in c.exponents]
    given: Any = arrays_of(nests)
    total = sum(shape) + sum(exponents)
    problem = make_problem(*given, np.array(shape, float), total, joined=False)
    return problem if wide is None else problem._replace(wide=wide or None)


def expand(nests: list[Nest], n: int) -> np.ndarray:
    """Tabulate which categories (columns) are in which sets (rows)."""
    rows = []
    for nest in nests:
        for end in nest.ends:
            row = np.zeros(n, bool)
            row[list(nest.listed[:end])] = True
            rows.append(~row if nest.complement else row)
    return np.array(rows, bool).reshape(-1, n)


def random_nests(rng: np.random.Generator, n: int, number: int) -> list[Nest]:
    nests = []
    for _ in range(number):
        length = int(rng.integers(1, n))
        count = int(rng.integers(1, length + 1))
        ends = np.sort(rng.choice(np.arange(1, length + 1), count, replace=False))
        # Some nests list members after their last set: those are in none of the prefixes.
        listed = rng.permutation(n)[: min(n, length + int(rng.integers(0, 2)))]
        exponents = tuple(float(e) for e in rng.integers(-3, 0, count))
        nests.append(
            Nest(tuple(map(int, listed)), tuple(map(int, ends)), exponents, bool(rng.integers(2)))
        )
    return sorted_by_kind(nests)


def with_winners(rng: np.random.Generator, nests: list[Nest], prior: np.ndarray) -> np.ndarray:
    """Add to a prior a winner of the outcomes conditioned on each set, one of its members."""
    shape = np.array(prior, float)
    exponents = [e for nest in nests for e in nest.exponents]
    for e, row in zip(exponents, expand(nests, len(shape)), strict=True):
        shape[rng.choice(np.flatnonzero(row))] += max(-e, 0.0)
    return shape
