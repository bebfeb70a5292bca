"""Orders of independent gammas, against symmetry and incomplete beta functions."""

import itertools
from math import factorial

import numpy as np
import pytest
import scipy.special

from luce.hypotheses.gamma_orders import beta_tails, chance_of_best, chance_of_order


def test_orders_of_equal_gammas_are_equally_probable() -> None:
    for k in range(2, 8):
        assert chance_of_order(np.full(k, 0.7)) == pytest.approx(1 / factorial(k), rel=1e-6)
        for best in range(1, k):
            assert chance_of_best(np.full(k, 0.7), 1, best) == pytest.approx(best / k, rel=1e-12)


@pytest.mark.parametrize(
    "shape", [[0.5, 1.0, 2.0], [1e-3, 2e-3, 5e-4], [40.0, 44.0, 0.3], [1e4, 1e4 + 50, 1e4 - 80]]
)
def test_orders_add_up_to_pairs(shape: list[float]) -> None:
    """a > b in three of six orders: an incomplete beta function."""
    orders = {
        o: chance_of_order(np.array([shape[i] for i in o]))
        for o in itertools.permutations(range(3))
    }
    assert sum(orders.values()) == pytest.approx(1, abs=1e-6)
    for i, j in itertools.combinations(range(3), 2):
        truth = scipy.special.betainc(shape[j], shape[i], 0.5)
        found = sum(v for o, v in orders.items() if o.index(i) < o.index(j))
        assert found == pytest.approx(truth, abs=1e-6)
    for i in range(3):
        first = sum(v for o, v in orders.items() if o[0] == i)
        assert chance_of_best(np.array(shape), i, 1) == pytest.approx(first, abs=1e-6)
        last = sum(v for o, v in orders.items() if o[2] == i)
        assert chance_of_best(np.array(shape), i, 2) == pytest.approx(1 - last, abs=1e-6)


def test_both_tails_of_a_beta_have_all_their_digits() -> None:
    """Against x^a / (a B(a, b)) at small x, and against scipy where x and 1 - x are doubles."""
    a, b = np.array([1e-10, 3e-3, 0.4, 2.0, 900.0]), np.array([0.02, 5e-6, 3.0, 700.0, 1e-4])
    for odds in (-1e12, -3000.0, -650.0, -550.0):
        with np.errstate(under="ignore"):
            tail = np.exp(a * odds - np.log(a) - scipy.special.betaln(a, b))
        lower, upper = beta_tails(a, b, np.full(5, odds))
        assert lower == pytest.approx(tail, rel=1e-9)
        assert upper == pytest.approx(1 - tail, rel=1e-9)
        turned = beta_tails(b, a, np.full(5, -odds))
        assert (turned[0] == upper).all()
        assert (turned[1] == lower).all()
    for x in (1e-9, 0.2, 0.5, 0.7):
        lower, upper = beta_tails(a, b, np.full(5, scipy.special.logit(x)))
        assert lower == pytest.approx(scipy.special.betainc(a, b, x), rel=1e-9)
        assert upper == pytest.approx(scipy.special.betainc(b, a, 1 - x), rel=1e-7)
