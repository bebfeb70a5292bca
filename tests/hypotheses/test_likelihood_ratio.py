"""Likelihood-ratio tests, against restricted maxima that another optimiser finds."""

from typing import Any

import numpy as np
import pytest
from lib.bounds import SEED
from lib.hypothesis_cases import ask
from lib.maximum_cases import RIDGE, TWO_PEAKS, along_a_path, counts_of
from lib.maximum_oracles import Data, Seen, largest_if, random_data
from lib.published_data import BY_NAME, DATA, published
from scipy.optimize import minimize
from scipy.stats import chi2, chi2_contingency

import luce
from luce import ConditionalCounts, Posterior
from luce.hypotheses.likelihood_ratio import (
    ratio_of_equal,
    ratio_of_groups,
    ratio_of_order,
    ratio_of_shares,
)


def data_of(seed: int, grouped: float = 0.0) -> tuple[int, Data]:
    """Random outcomes, and everybody won against the next."""
    rng = np.random.default_rng([SEED, seed])
    n = int(rng.integers(3, 6))
    circle = [Seen((k,), (k, (k + 1) % n), int(rng.integers(1, 9))) for k in range(n)]
    return n, circle + random_data(rng, n, 6, grouped)


@pytest.mark.parametrize("grouped", [0.0, 0.4], ids=["single", "grouped"])
@pytest.mark.parametrize("seed", range(4))
def test_what_restrictions_cost(seed: int, grouped: float) -> None:
    n, data = data_of(seed, grouped)
    counts, best = counts_of(n, data), largest_if(data, n)
    for equal in ([0, 2], [1, 0, 2], list(range(n))):
        found, why = ratio_of_equal(counts, np.array(equal))
        assert (why, found.degrees_of_freedom) == ("", len(equal) - 1)
        statistic = 2 * (best - largest_if(data, n, equal))
        assert found.statistic == pytest.approx(statistic, abs=1e-6)
        assert found.p_value == pytest.approx(chi2.sf(statistic, len(equal) - 1), abs=1e-6)
    for i, share in ((0, 0.1), (1, 0.5), (2, 0.02)):
        found, _ = ratio_of_shares(counts, {i: share})
        statistic = 2 * (best - largest_if(data, n, share=(i, share)))
        assert found.statistic == pytest.approx(statistic, abs=1e-6)
        assert found.degrees_of_freedom == 1
        assert found.p_value == pytest.approx(chi2.sf(statistic, 1), abs=1e-6)


@pytest.mark.parametrize("seed", range(4))
def test_an_order_costs_nothing_or_an_equality(seed: int) -> None:
    """Where the estimates are the other way round, half of chi-square's tail."""
    n, data = data_of(10 + seed)
    counts, best = counts_of(n, data), largest_if(data, n)
    p = luce.maximum_likelihood(counts).values
    high, low = int(p.argmax()), int(p.argmin())
    assert ratio_of_order(counts, high, low)[0] == (0.0, 1, 1.0)
    found, _ = ratio_of_order(counts, low, high)
    statistic = 2 * (best - largest_if(data, n, [low, high]))
    assert found.statistic == pytest.approx(statistic, abs=1e-6)
    assert found.p_value == pytest.approx(chi2.sf(statistic, 1) / 2, abs=1e-6)


@pytest.mark.filterwarnings("ignore::luce.ConvergenceWarning")  # few draws: not looked at
def test_hypotheses_come_with_their_ratio() -> None:
    n, data = data_of(20)
    counts = counts_of(n, data)
    asked: list[tuple[dict[str, Any], object]] = [
        ({"equal": [0, 1]}, ratio_of_equal(counts, np.array([0, 1]))[0]),
        ({"all_equal": True}, ratio_of_equal(counts, np.arange(n))[0]),
        ({"share": {1: 0.2}}, ratio_of_shares(counts, {1: 0.2})[0]),
        ({"larger": [2, 0]}, ratio_of_order(counts, 2, 0)[0]),
        ({"larger": [2, 0, 1]}, None),
        ({"best": 1}, None),
    ]
    for question, ratio in asked:
        found = ask(Posterior(counts), draws=40, **question)
        assert found.likelihood_ratio == ratio
        assert (found.why_none == "") == (ratio is not None)
        words = "none: " if ratio is None else f"{ratio.statistic:.4g} on"  # type: ignore[attr-defined]
        assert words in str(found)


def test_where_there_is_no_maximum_there_is_no_ratio() -> None:
    for counts, why in (
        (along_a_path([(3, 0), (2, 1)]), "never lost"),
        (along_a_path([(2, 6), (3, 0)]), "the estimate of 2 is 0"),
        (counts_of(3, TWO_PEAKS), "the estimate of 2 is 0"),
        (counts_of(4, RIDGE), "not a single"),
    ):
        for none, said in (
            ratio_of_equal(counts, np.array([0, 1])),
            ratio_of_order(counts, 0, 1),
            ratio_of_shares(counts, {0: 0.2}),
        ):
            assert none is None
            assert why in said


@pytest.mark.filterwarnings("ignore::luce.ConvergenceWarning")  # few draws: not looked at
def test_hypotheses_without_a_ratio_say_why() -> None:
    for n, data in ((3, TWO_PEAKS), (4, RIDGE)):
        found = ask(Posterior(counts_of(n, data)), larger=[0, 1], draws=40)
        assert found.likelihood_ratio is None
        assert found.why_none != ""
        assert 0 < found.probability < 1


@pytest.mark.skipif(not DATA.exists(), reason="the published data are not here")
def test_published_tests_of_icons() -> None:
    counts, truth = BY_NAME["icons"].counts, BY_NAME["icons"].truth
    best = truth["loglik_mle"]
    at = {label: i for i, label in enumerate(counts.categories)}
    for other in ("L", "PB", "THC", "OA", "WAIS"):
        found, _ = ratio_of_equal(counts, np.array([at["NB"], at[other]]))
        largest = truth["max_loglik_under_equality"][f"NB={other}"]
        assert found.statistic == pytest.approx(2 * (best - largest), abs=1e-5)
    sixth, _ = ratio_of_shares(counts, {at["NB"]: 1 / 6})
    largest = truth["constrained"]["NB=1/6"]["loglik"]
    assert sixth.statistic == pytest.approx(2 * (best - largest), abs=1e-5)
    support, p_value = published("icons", "LR test")
    every, _ = ratio_of_equal(counts, np.arange(6))
    assert (every.statistic / 2, every.p_value) == pytest.approx((support, p_value), abs=1e-5)
    ahead, _ = ratio_of_order(counts, at["OA"], at["THC"])
    largest = published("icons", "max loglik with p_OA>=p_THC")
    assert ahead.statistic == pytest.approx(2 * (best - largest), abs=2e-5)


def test_groups_of_plain_outcomes_have_the_g_test_of_their_table() -> None:
    table = np.array([[20, 31, 9], [14, 40, 22], [8, 7, 11]])
    groups = {
        k: ConditionalCounts("abc").observe(dict(zip("abc", row, strict=True)))
        for k, row in enumerate(table.tolist())
    }
    found, why = ratio_of_groups(groups, sum(groups.values()))
    expected = chi2_contingency(table, correction=False, lambda_="log-likelihood")
    assert found is not None
    assert found == pytest.approx((expected.statistic, expected.dof, expected.pvalue))
    assert why == ""


@pytest.mark.parametrize("seed", range(2))
def test_groups_lose_by_sharing_their_strengths(seed: int) -> None:
    rng = np.random.default_rng([SEED, 50 + seed])
    n = 4
    circle = [
        [Seen((k,), (k, (k + 1) % n), int(rng.integers(1, 9))) for k in range(n)] for _ in "xyz"
    ]
    data = {
        name: own + random_data(rng, n, 5, 0.0) for name, own in zip("xyz", circle, strict=True)
    }
    groups = {name: counts_of(n, own) for name, own in data.items()}
    found, _ = ratio_of_groups(groups, sum(groups.values()))
    together = largest_if([seen for own in data.values() for seen in own], n)
    statistic = 2 * (sum(largest_if(own, n) for own in data.values()) - together)
    assert found is not None
    assert found.statistic == pytest.approx(statistic, abs=1e-6)
    assert found.degrees_of_freedom == 2 * (n - 1)


def test_groups_without_an_estimate_have_no_ratio() -> None:
    groups = {k: ConditionalCounts("ab").observe({"a": 3, "b": k}) for k in (0, 2)}
    found, why = ratio_of_groups(groups, sum(groups.values()))
    assert found is None
    assert why.startswith("in group 0, the estimate of 'b' is 0, on the boundary")
    never = {k: ConditionalCounts("ab").observe({"a": k}) for k in (1, 2)}
    assert ratio_of_groups(never, sum(never.values()))[1].startswith("of all groups together, ")


@pytest.mark.parametrize("seed", range(3))
def test_several_shares_cost_what_a_constrained_maximum_loses(seed: int) -> None:
    n, data = data_of(20 + seed)
    counts, best = counts_of(n, data), largest_if(data, n)
    found, _ = ratio_of_shares(counts, {0: 0.3, 1: 0.1})

    def loss(x: np.ndarray) -> float:
        rest = np.exp(np.r_[x, 0.0] - np.logaddexp.reduce(np.r_[x, 0.0]))
        return -float(counts.log_likelihood(np.r_[0.3, 0.1, 0.6 * rest]))

    largest = (
        float(counts.log_likelihood([0.3, 0.1, 0.6]))
        if n == 3
        else -minimize(
            loss, np.zeros(n - 3), method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-11}
        ).fun
    )
    assert found is not None
    assert found.statistic == pytest.approx(2 * (best - largest), abs=1e-5)
    assert found.degrees_of_freedom == 2
    pair, _ = ratio_of_shares(counts, {0: 0.5, 1: 0.5}, np.array([0, 1]))
    equal, _ = ratio_of_equal(counts, np.array([0, 1]))
    assert pair is not None
    assert equal is not None
    assert pair.statistic == pytest.approx(equal.statistic, abs=1e-6)
    assert pair.degrees_of_freedom == equal.degrees_of_freedom == 1
