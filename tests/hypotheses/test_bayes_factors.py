"""Bayes factors of two models: ratios of evidences, with their errors."""

import copy
import pickle
from math import exp, inf, log

import numpy as np
import pytest
from lib.bounds import SEED
from lib.evidence_cases import FEW, PAIRS, case, quietly
from lib.size import draws

import luce
from luce import ConditionalCounts, Posterior
from luce.errors import DataError
from luce.estimates import Estimate
from luce.hypotheses import BayesFactor

DRAWS = draws(compiled=1000, plain=60)

pytestmark = [
    pytest.mark.filterwarnings("ignore::luce.ConvergenceWarning"),
    pytest.mark.filterwarnings("ignore::luce.errors.EvidenceWarning"),
]


def test_the_bayes_factor_is_a_ratio_of_evidences() -> None:
    coin = ConditionalCounts("ht").observe({"h": 5, "t": 1})
    found = luce.bayes_factor(Posterior(coin, [2.0, 1.0]), Posterior(coin, 1.0))
    # B(7, 2) / B(2, 1) over B(6, 2) / B(1, 1)
    assert float(found) == pytest.approx((2 / 56) / (1 / 42), rel=1e-12)
    assert (float(found.log), found.standard_error) == (pytest.approx(log(1.5)), 0.0)
    assert repr(found) == "1.5 (log 0.4054651081, exact)"
    assert isinstance(found, Estimate)


def test_the_bayes_factor_of_estimates_adds_their_errors() -> None:
    one, other = case("pairs"), Posterior(PAIRS, 0.8)
    options = {"draws": DRAWS, "seed": 1000 * SEED + 1, "progress": False}
    found = luce.bayes_factor(one.posterior, other, **options)
    parts = [quietly(p, 1, DRAWS) for p in (one.posterior, other)]
    assert float(found.log) == float(parts[0]) - float(parts[1])
    assert found.log.standard_error == np.hypot(*(p.standard_error for p in parts))
    assert found.details == {"a": parts[0], "b": parts[1]}
    again = luce.bayes_factor(*parts)
    mixed = luce.bayes_factor(parts[0], other, **options)
    assert found == again == mixed
    assert found.value == float(found) == exp(float(found.log))
    assert found.standard_error == float(found) * found.log.standard_error
    assert repr(found).endswith(", bridge)")
    few = luce.bayes_factor(
        one.posterior, other, draws=DRAWS // 5, chains=2, seed=1, progress=False, method="bridge"
    )
    assert few.log.standard_error > found.log.standard_error
    closed = Posterior(ConditionalCounts(3).observe({0: 1})).log_evidence()
    assert luce.bayes_factor(parts[0], closed).method == "bridge and exact"


def test_bayes_factors_of_other_data_are_refused() -> None:
    with pytest.raises(DataError, match=r"one has 7 outcomes, the other 70.*luce\.compare_groups"):
        luce.bayes_factor(Posterior(FEW), Posterior(PAIRS))
    for bad in (FEW, -3.0, "a"):
        with pytest.raises(DataError, match=f"{type(bad).__name__} was given"):
            luce.bayes_factor(Posterior(FEW), bad)  # type: ignore[arg-type]


def test_huge_bayes_factors_keep_their_logarithm() -> None:
    huge = BayesFactor.of_log(Estimate(5000.0, 0.1, "bridge"))
    assert (float(huge), float(huge.log)) == (inf, 5000.0)
    assert repr(huge) == "inf ± inf (log 5000.00 ± 0.10, bridge)"
    tiny = BayesFactor.of_log(Estimate(-5000.0, 0.1))
    assert (float(tiny), float(tiny.log)) == (0.0, -5000.0)
    sure = BayesFactor.of_log(Estimate(5000.0, 0.0))
    assert (float(sure), sure.standard_error) == (inf, 0.0)
    for factor in (huge, BayesFactor.of_log(Estimate(-1.5, 0.25))):
        for other in (pickle.loads(pickle.dumps(factor)), copy.deepcopy(factor)):
            assert other == factor
            assert other.log == factor.log
