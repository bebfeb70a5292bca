"""The range of the prior's parameters."""

import math

import pytest

import luce
from luce.errors import DataError

DATA = luce.ConditionalCounts(["a", "b", "remainder"]).observe({"a": 2, "b": 1})


@pytest.mark.parametrize("number", [1e-308, 1e-20, 9e-11, 2e15, 1e200])
def test_parameters_that_doubles_cannot_hold_beside_data_are_refused(number: float) -> None:
    priors = [number, [1.0, 1.0, number], {"a": number, "b": 1, "remainder": 1}]
    for prior in [*priors, luce.DirichletProcess(number), luce.Gamma(1.0, 1.0 / number)]:
        with pytest.raises(DataError, match="from 1e-10 to 1e\\+15 are worked with"):
            luce.Posterior(DATA, prior)


@pytest.mark.parametrize("number", [1e-10, 1e15])
def test_the_ends_of_the_range_are_allowed(number: float) -> None:
    mean = luce.Posterior(DATA, number).mean()
    assert float(mean.sum()) == pytest.approx(1.0)
    assert float(mean.sel(category="a")) == pytest.approx((2 + number) / (3 + 3 * number))


@pytest.mark.parametrize("given", [True, "2", (1, 1), math.inf, math.nan, -1, 0])
def test_a_parameter_is_known_by_a_positive_number(given: object) -> None:
    counts = luce.from_pairs([("a", "b"), ("b", "a")], ties="davidson")
    with pytest.raises(
        DataError, match=r"^tie = .*; a Gamma prior, or a positive number where it is"
    ):
        luce.Posterior(counts, tie=given)  # type: ignore[arg-type]
