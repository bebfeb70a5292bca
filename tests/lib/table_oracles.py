"""Tables with impossible cells: published ones, and truths that share no code with luce."""

from itertools import product
from math import factorial
from typing import Any

import numpy as np

NAN = float("nan")

# West and Hankin (2008), Exact tests for two-way contingency tables with structural zeros, JSS
# 28(11): tables 1, 5 and 6, the table of section 4.1.1, and the first of the ordered sample space.
IQD = [
    [4, 1, 1, 1], [0, 1, 2, NAN], [2, 1, NAN, 1], [3, NAN, 2, 0], [3, NAN, NAN, 2],
    [0, 4, NAN, NAN], [0, NAN, 3, NAN],
]  # fmt: skip
SHIFTS = [[9, 1, NAN], [2, 3, 8], [3, 3, 2]]
CHESS = [[22, 13, NAN], [NAN, 23, 12], [8, NAN, 10]]
ORDERED = [[0, 3, NAN, NAN], [NAN, 3, 9, NAN], [NAN, NAN, 1, 4], [4, NAN, NAN, 3]]
GEAR = [
    [1, 5, NAN, NAN, NAN, NAN, NAN], [NAN, 2, 4, NAN, NAN, NAN, NAN],
    [NAN, NAN, 3, 8, NAN, NAN, NAN], [NAN, NAN, NAN, 3, 7, NAN, NAN],
    [NAN, NAN, NAN, NAN, 5, 6, NAN], [NAN, NAN, NAN, NAN, NAN, 5, 7],
    [6, NAN, NAN, NAN, NAN, NAN, 4],
]  # fmt: skip
# Altham and Hankin (2010), JRSS C 59(2), after Lin et al. (2009): answers of two reviewers.
HANDOVER = [[26, 1, 2], [5, 18, 9], [4, 4, NAN]]


def array(table: Any) -> np.ndarray:
    return np.array(table, np.float64)


def all_by_brute_force(table: Any) -> list[tuple[np.ndarray, float]]:
    """List the tables with the same totals and zeros, with weights, by trying all small counts."""
    given = array(table)
    free = np.argwhere(~np.isnan(given)).tolist()
    rows, columns = np.nansum(given, axis=1), np.nansum(given, axis=0)
    caps = [int(min(rows[i], columns[j])) for i, j in free]
    found = []
    for counts in product(*(range(cap + 1) for cap in caps)):
        one = np.zeros(given.shape, int)
        for (i, j), count in zip(free, counts, strict=True):
            one[i, j] = count
        if (one.sum(axis=1) == rows).all() and (one.sum(axis=0) == columns).all():
            weight = 1.0
            for count in counts:
                weight /= factorial(count)
            found.append((one, weight))
    return found


def p_by_brute_force(table: Any) -> tuple[int, float]:
    """Return the number of tables and Freeman and Halton's p-value."""
    found = all_by_brute_force(table)
    observed = np.nan_to_num(array(table)).astype(int)
    (own,) = (weight for one, weight in found if (one == observed).all())
    total = sum(weight for _, weight in found)
    return len(found), sum(weight for _, weight in found if weight <= own * (1 + 1e-9)) / total


def fitted_by_proportions(table: Any, rounds: int = 20_000) -> np.ndarray:
    """Fit quasi-independence by scaling rows and columns in turn."""
    given = array(table)
    fitted = np.where(np.isnan(given), 0.0, 1.0)
    rows, columns = np.nansum(given, axis=1), np.nansum(given, axis=0)
    for _ in range(rounds):
        before = fitted
        fitted = fitted * (rows / fitted.sum(axis=1))[:, None]
        fitted = fitted * (columns / fitted.sum(axis=0))
        if np.abs(fitted - before).max() < 1e-13:
            break
    return fitted
