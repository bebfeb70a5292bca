"""Bayes factors of models and orders, and what cannot be asked."""

import copy
import itertools
import os
import pickle
from collections.abc import Callable
from math import exp, factorial, inf, log

import numpy as np
import pytest
import scipy.special
from test_evidence import FEW, PAIRS, case, quietly
from test_hypotheses import CORE, COUNTS, ask

import luce
from luce import ConditionalCounts, Posterior
from luce.errors import DataError, MethodError
from luce.hypotheses.bayes_factors import BayesFactor
from luce.hypotheses.gamma_orders import chance_of_best, chance_of_order
from luce.hypotheses.verdict import with_room

SEED = int(os.environ.get("LUCE_TEST_SEED", "0"))


# -- of two models ----------------------------------------------------------------------


def test_the_bayes_factor_is_a_ratio_of_evidences() -> None:
    coin = ConditionalCounts("ht").observe({"h": 5, "t": 1})
    found = luce.bayes_factor(Posterior(coin, [2.0, 1.0]), Posterior(coin, 1.0))
    # B(7, 2) / B(2, 1) over B(6, 2) / B(1, 1)
    assert found == pytest.approx((2 / 56) / (1 / 42), rel=1e-12)
    assert (found.log, found.standard_error) == (pytest.approx(log(1.5)), 0.0)
    assert repr(found) == "BayesFactor(1.5, log=0.405465 ± 0)"


def test_the_bayes_factor_of_estimates_adds_their_errors() -> None:
    one, other = case("pairs"), Posterior(PAIRS, 0.8)
    found = luce.bayes_factor(one.posterior, other, seed=1000 * SEED + 1, progress=False)
    parts = [quietly(p, 1) for p in (one.posterior, other)]
    assert found.log == parts[0].value - parts[1].value
    assert found.standard_error == np.hypot(*(p.standard_error for p in parts))
    again = luce.bayes_factor(*parts)
    mixed = luce.bayes_factor(parts[0], other, seed=1000 * SEED + 1, progress=False)
    assert found == again == mixed
    assert found.value == float(found) == exp(found.log)
    few = luce.bayes_factor(
        one.posterior, other, draws=200, chains=2, seed=1, progress=False, method="bridge"
    )
    assert few.standard_error > found.standard_error


def test_bayes_factors_of_other_data_are_refused() -> None:
    with pytest.raises(DataError, match="one has 7 outcomes, the other 70"):
        luce.bayes_factor(Posterior(FEW), Posterior(PAIRS))
    for bad in (FEW, -3.0, "a"):
        with pytest.raises(DataError, match=f"{type(bad).__name__} was given"):
            luce.bayes_factor(Posterior(FEW), bad)  # type: ignore[arg-type]


def test_huge_bayes_factors_keep_their_logarithm() -> None:
    huge = BayesFactor(5000.0, 0.1)
    assert (float(huge), huge.log) == (inf, 5000.0)
    tiny = BayesFactor(-5000.0, 0.1)
    assert (float(tiny), tiny.log) == (0.0, -5000.0)
    for factor in (huge, BayesFactor(-1.5, 0.25)):
        for other in (pickle.loads(pickle.dumps(factor)), copy.deepcopy(factor)):
            assert (other, other.log, other.standard_error) == (
                factor, factor.log, factor.standard_error,
            )  # fmt: skip


# -- orders of gammas -------------------------------------------------------------------


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


def test_long_orders_have_a_prior_probability_too() -> None:
    """One in half a million before the data: too few for draws of the prior."""
    counts = ConditionalCounts(9).observe({k: 40 - 4 * k for k in range(9)})
    found = ask(Posterior(counts, np.linspace(1, 1.8, 9)), larger=list(range(9)))
    assert 0 < found.prior_probability < 1e-5
    assert found.bayes_factor.log > 0


def test_what_is_known_where_all_draws_are_on_one_side() -> None:
    always, never = np.ones((2, 50)), np.zeros((2, 50))
    for holds, fails, odds in ((always, never, inf), (never, always, -inf)):
        found = with_room("it is so", holds, fails, 0.25, None, "")
        assert (found.probability, found.bayes_factor.log) == (holds.mean(), odds)
        assert np.isnan(found.bayes_factor.standard_error)


# -- what cannot be asked ---------------------------------------------------------------

BAD: list[tuple[dict[str, object], type[Exception], str]] = [
    ({}, MethodError, "one hypothesis is asked at a time"),
    ({"equal": "ab", "best": "a"}, MethodError, "one hypothesis is asked at a time"),
    ({"all_equal": True, "larger": "ab"}, MethodError, "one hypothesis is asked at a time"),
    ({"equal": "a"}, DataError, "two labels at least"),
    ({"equal": ["a", "x"]}, DataError, "'x'"),
    ({"equal": "aa"}, DataError, "'a'"),
    ({"larger": "a"}, DataError, "two labels at least"),
    ({"larger": "ax"}, DataError, "'x'"),
    ({"best": "x"}, DataError, "'x'"),
    ({"best": "a", "k": 0}, DataError, "k = 0; a whole number from 1 to 2"),
    ({"best": "a", "k": 3}, DataError, "k = 3"),
    ({"best": "a", "k": 1.0}, DataError, "k = 1.0"),
    ({"best": "a", "k": True}, DataError, "k = True"),
    ({"share": {"x": 0.3}}, DataError, "'x'"),
    ({"share": {"a": 0.0}}, DataError, "between 0 and 1"),
    ({"share": {"a": 1.0}}, DataError, "between 0 and 1"),
    ({"share": {"a": -0.2}}, DataError, "a"),
    ({"share": {"a": float("nan")}}, DataError, "a"),
    ({"share": {"a": "much"}}, DataError, "a"),
    ({"share": {"a": 0.2, "b": 0.3}}, DataError, "one label and its number"),
    ({"share": ("a", 0.2)}, DataError, "one label and its number"),
]


@pytest.mark.parametrize(("asked", "error", "said"), BAD)
def test_misuse_is_refused(asked: dict[str, object], error: type[Exception], said: str) -> None:
    with pytest.raises(error, match=said):
        luce.hypothesis(CORE, seed=1, progress=False, **asked)  # type: ignore[arg-type]


def test_draws_of_other_data_are_refused() -> None:
    draws = Posterior(COUNTS.observe({"a": 1})).sample(10, seed=1, progress=False)
    for asked in ({"best": "a"}, {"equal": "ab"}, {"all_equal": True}, {"share": {"a": 0.2}}):
        with pytest.raises(DataError, match="not of this posterior"):
            luce.hypothesis(CORE, draws=draws, progress=False, **asked)  # type: ignore[arg-type]
    with pytest.raises(DataError, match="not of this posterior"):
        luce.hypothesis(CORE, best="a", draws=draws["posterior"]["probabilities"])


def test_only_posteriors_with_a_number_can_be_asked() -> None:
    process = Posterior(
        ConditionalCounts(["a", "b", "rest"]).observe({"a": 2, "b": 1}),
        luce.DirichletProcess(1.0, remainder="rest"),
    )
    for bad, said in ((COUNTS, "ConditionalCounts was given"), (process, "a Dirichlet prior"),
                      (Posterior(COUNTS, luce.Gamma(2.0, 1.0)), "a Dirichlet prior")):  # fmt: skip
        with pytest.raises(DataError, match=said):
            luce.hypothesis(bad, best="a")  # type: ignore[arg-type]


def test_the_same_seed_gives_the_same_answer() -> None:
    questions: list[Callable[[int], object]] = [
        lambda seed: ask(CORE, seed, share={"a": 0.3}).bayes_factor,
        lambda seed: ask(CORE, seed, larger="ab").probability,
        lambda seed: ask(CORE, seed, all_equal=True).bayes_factor,
    ]
    for question in questions:
        assert question(1) == question(1)
        assert question(1) != question(2)
