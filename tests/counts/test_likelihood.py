"""The likelihood of counts at given probabilities; `tests/model/test_density.py` has more."""

import math

import numpy as np
import pytest

from luce import ConditionalCounts
from luce.errors import DataError

P = [0.4, 0.3, 0.2, 0.1]
COUNTS = (
    ConditionalCounts("abcd")
    .observe({"b": 2}, without="a")
    .observe_ranking("cad")
    .observe_group("ad", 3, within="abd")
)
BY_HAND = (0.3 / 0.6) ** 2 * (0.2 / 0.7 * 0.4 / 0.5) * (0.5 / 0.8) ** 3


def test_likelihood_by_hand() -> None:
    assert float(COUNTS.log_likelihood(P)) == pytest.approx(math.log(BY_HAND), rel=1e-14)
    assert float(ConditionalCounts("abcd").log_likelihood(P)) == 0.0


def test_likelihoods_of_many_draws() -> None:
    draws = np.random.default_rng(1).dirichlet(np.ones(4), (2, 3))
    found = COUNTS.log_likelihood(draws)
    assert found.shape == (2, 3)
    one_by_one = [[float(COUNTS.log_likelihood(p)) for p in chain] for chain in draws]
    np.testing.assert_allclose(found, one_by_one, rtol=1e-13)


def test_wrong_probabilities_are_refused() -> None:
    with pytest.raises(DataError, match=r"shape \(3,\) were given; \(\.\.\., 4\) is needed"):
        COUNTS.log_likelihood([0.2, 0.3, 0.5])
    with pytest.raises(DataError, match="add up to 1"):
        COUNTS.log_likelihood([0.4, 0.3, 0.2, 0.2])
    with pytest.raises(DataError, match="must be numbers"):
        COUNTS.log_likelihood(["x", "y", "z", "w"])
