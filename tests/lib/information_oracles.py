"""Information of outcomes by loops, closed forms and quadrature, in bits."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from itertools import product
from typing import Any

import numpy as np
from scipy.integrate import dblquad, quad
from scipy.special import betaln, psi

Draw = dict[Any, float]
# The probabilities of the outcomes of a comparison in a draw.
Outcomes = Callable[[Draw], Sequence[float]]
# The shares that a draw has in the groups that are to be told.
Groups = Callable[[Draw], dict[Hashable, float]]


def entropy(p: Sequence[float]) -> float:
    return -sum(x * math.log2(x) for x in p if x > 0)


def joint_information(draws: Sequence[Draw], each: Sequence[Outcomes], groups: Groups) -> float:
    """Information of several outcomes together, over draws of equal weight, by enumeration."""
    cells: dict[tuple[Hashable, tuple[int, ...]], float] = {}
    for draw in draws:
        chances = [outcome(draw) for outcome in each]
        for group, share in groups(draw).items():
            for course in product(*(range(len(p)) for p in chances)):
                p = math.prod(own[k] for own, k in zip(chances, course, strict=True))
                key = group, course
                cells[key] = cells.get(key, 0.0) + share * p / len(draws)
    by_group: dict[Hashable, float] = {}
    by_course: dict[tuple[int, ...], float] = {}
    for (group, course), p in cells.items():
        by_group[group] = by_group.get(group, 0.0) + p
        by_course[course] = by_course.get(course, 0.0) + p
    return (entropy(list(by_group.values())) + entropy(list(by_course.values()))) - entropy(
        list(cells.values())
    )


def own_group(draw: Draw) -> dict[Hashable, float]:
    """Each draw is a group of its own: goal "information"."""
    return {tuple(draw.items()): 1.0}


def best_of(labels: Sequence[Any]) -> Groups:
    """Who is best among some, equal ones sharing the draw: goal "best"."""

    def groups(draw: Draw) -> dict[Hashable, float]:
        top = max(draw[label] for label in labels)
        level = [label for label in labels if draw[label] == top]
        return {label: 1 / len(level) for label in level}

    return groups


def larger_of(a: Callable[[Draw], float], b: Callable[[Draw], float]) -> Groups:
    """Which of two strengths is the larger: goal "order"."""

    def groups(draw: Draw) -> dict[Hashable, float]:
        above = (a(draw) > b(draw)) + 0.5 * (a(draw) == b(draw))
        return {True: above, False: 1 - above}

    return groups


def choice(labels: Sequence[Any]) -> Outcomes:
    """Which of some labels is chosen."""
    return lambda draw: [draw[k] / sum(draw[j] for j in labels) for k in labels]


def beta_information(a: float, b: float) -> float:
    """Information about q ~ Beta(a, b) of an outcome that has probability q, in closed form."""
    mean = a / (a + b)
    inside = mean * (psi(a + b + 1) - psi(a + 1)) + (1 - mean) * (psi(a + b + 1) - psi(b + 1))
    return entropy([mean, 1 - mean]) - float(inside) / math.log(2)


def beta_best(a: float, b: float) -> float:
    """Information of the same outcome about q > 1/2, by quadrature."""

    def density(q: float) -> float:
        return math.exp((a - 1) * math.log(q) + (b - 1) * math.log1p(-q) - betaln(a, b))

    above = quad(density, 0.5, 1)[0]
    won = quad(lambda q: q * density(q), 0.5, 1)[0]
    mean = a / (a + b)
    inside = sum(
        mass * entropy([own / mass, 1 - own / mass])
        for mass, own in ((above, won), (1 - above, mean - won))
    )
    return entropy([mean, 1 - mean]) - inside


def dirichlet_best(a: Sequence[float]) -> float:
    """Information of a choice between the first two of three about the best, by quadrature."""
    constant = math.lgamma(sum(a)) - sum(map(math.lgamma, a))

    def integral(winner: int, weighted: bool) -> float:
        def integrand(y: float, x: float) -> float:
            p = x, y, 1 - x - y
            if max(p) != p[winner] or min(p) <= 0:
                return 0.0
            density = sum((k - 1) * math.log(value) for k, value in zip(a, p, strict=True))
            return math.exp(constant + density) * (x / (x + y) if weighted else 1.0)

        # Regions between the lines on which the best changes, so that integrands are smooth.
        if winner == 2:
            low, high = (lambda x: 0.0), (lambda x: min(1 - 2 * x, (1 - x) / 2))
            return float(dblquad(integrand, 0, 0.5, low, high, epsabs=1e-9)[0])
        if winner == 0:
            low, high = (lambda x: max(0.0, 1 - 2 * x)), (lambda x: min(x, 1 - x))
            first = dblquad(integrand, 1 / 3, 0.5, low, high, epsabs=1e-9)[0]
            return float(first + dblquad(integrand, 0.5, 1, low, high, epsabs=1e-9)[0])
        low, high = (lambda x: max(x, (1 - x) / 2)), (lambda x: 1 - x)
        first = dblquad(integrand, 0, 1 / 3, low, high, epsabs=1e-9)[0]
        return float(first + dblquad(integrand, 1 / 3, 0.5, low, high, epsabs=1e-9)[0])

    masses = [integral(winner, False) for winner in range(3)]
    wins = [integral(winner, True) for winner in range(3)]
    assert abs(sum(masses) - 1) < 1e-6
    inside = sum(
        mass * entropy([own / mass, 1 - own / mass]) for mass, own in zip(masses, wins, strict=True)
    )
    mean = a[0] / (a[0] + a[1])
    return entropy([mean, 1 - mean]) - inside


def draws_by_label(p: np.ndarray, labels: Sequence[Any]) -> list[Draw]:
    """All draws of an array (chain, draw, category), each by label."""
    return [dict(zip(labels, row, strict=True)) for row in p.reshape(-1, p.shape[2]).tolist()]
