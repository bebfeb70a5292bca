"""Numbers of tables in a Chinese restaurant against their law and their moments."""

import numpy as np
import pytest
from lib.bounds import FALSE_ALARM, SEED, z_limit
from lib.size import PLAIN_PYTHON
from lib.size import draws as number_of
from scipy.special import digamma, polygamma
from scipy.stats import chi2

from luce.kernels.random import new_bits
from luce.kernels.restaurant_tables import fill_tables


def table_law(n: int, a: float) -> np.ndarray:
    """P(T = 1..n), adding customers one by one."""
    law = np.zeros(n + 1)
    law[0] = 1.0
    for k in range(n):
        new = a / (a + k)
        law = law * (1 - new) + np.r_[0.0, law[:-1]] * new
    return law[1:]


def table_fit(drawn: np.ndarray, law: np.ndarray) -> float:
    """p-value of Pearson's chi square, rare values taken together."""
    seen = np.bincount(drawn.astype(int), minlength=len(law) + 1)[1:]
    common = law * len(drawn) >= 10
    seen = np.r_[seen[common], seen[~common].sum()]
    expected = np.r_[law[common], law[~common].sum()] * len(drawn)
    if expected[-1] < 10:
        seen, expected = seen[:-1], expected[:-1]
    return float(chi2.sf(((seen - expected) ** 2 / expected).sum(), max(len(seen) - 1, 1)))


def drawn_tables(n: float, a: float, size: int, log_n: float = 0.0) -> np.ndarray:
    out = np.empty(size)
    fill_tables(new_bits(np.random.SeedSequence([SEED, int(a * 1e6)])), n, log_n, a, out)
    return out


LAWS = [(1, 0.3), (2, 0.4), (3, 2.5), (9, 1e-3), (40, 0.8), (40, 1.0), (60, 7.3), (300, 30)]


@pytest.mark.parametrize(("n", "a"), LAWS)
def test_tables_follow_their_law(n: int, a: float) -> None:
    level = FALSE_ALARM / len(LAWS)
    drawn = drawn_tables(n, a, number_of(40_000, 2_000))
    assert table_fit(drawn, table_law(n, a)) > level
    if n > 9:
        # Of few draws the test sees only larger errors.
        factor, customers = (1.5, 3 * n) if PLAIN_PYTHON else (1.1, n + n // 2)
        assert table_fit(drawn, table_law(n, factor * a)) < level
        assert table_fit(drawn, table_law(customers, a)) < level


# Customers, concentration, draws.  Those of more than 1e6 customers at more than 1e4 are normal.
MANY = [
    (1e9, 0.7, number_of(20_000, 400)),
    (1e17, 3.0, number_of(20_000, 200)),
    (5e4, 2e6, number_of(40, 4)),
    (4e6, 2e6, 2000),
    (2e6, 5e6, 2000),
    (1e8, 3e6, 2000),
    (1e7, 2e4, number_of(20_000, 2000)),
]


@pytest.mark.parametrize(("n", "a", "size"), MANY)
def test_tables_of_very_many_customers(n: float, a: float, size: int) -> None:
    mean = a * (digamma(a + n) - digamma(a))
    variance = mean + a**2 * (polygamma(1, a + n) - polygamma(1, a))
    drawn, limit = drawn_tables(n, a, size), z_limit(2 * len(MANY))
    assert abs(drawn.mean() - mean) < limit * np.sqrt(variance / size)
    # The fourth moment of a sum of Bernoullis is below that of a Poisson variate.
    spread = np.sqrt((2 + 1 / variance) / size)
    assert abs(drawn.var() / variance - 1) < limit * spread
    wrong = mean * (1 + 20 / np.sqrt(size * mean))
    assert abs(drawn.mean() - wrong) > limit * np.sqrt(variance / size)


@pytest.mark.parametrize(("a", "log_n"), [(0.5, 2000.0), (2.0, 900.0)])
def test_customers_beyond_doubles(a: float, log_n: float) -> None:
    drawn = drawn_tables(np.inf, a, number_of(20_000, 400), log_n=log_n)
    mean = a * (log_n - digamma(a))  # digamma(a + n) is log n
    assert abs(drawn.mean() - mean) < z_limit(2) * np.sqrt(mean / len(drawn))
