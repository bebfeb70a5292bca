"""Verdicts on made-up runs: what the paper saw, the samplers swapped, and all that lies between."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from lib.bounds import SEED
from lib.paper_runs import comparison, made_up

from luce.paper.claims import Claim, Verdict, graded, tally, unless_it_holds
from luce.paper.experiments import Comparison, Size
from luce.paper.judge import (
    about_autocorrelation,
    about_convergence,
    about_mpsrf_10,
    about_mpsrf_20,
    agreement,
    disagreement,
    spread,
)
from luce.paper.samplers import HIDDEN, METROPOLIS, SAMPLERS

HOLDS, IN_PART, FAILS = Verdict.HOLDS, Verdict.IN_PART, Verdict.FAILS


def verdicts(claims: list[Claim], *words: str) -> list[Verdict]:
    """Return the verdict on the one claim that has each of the words."""
    found = []
    for word in words:
        (claim,) = [c for c in claims if word in c.statement]
        found.append(claim.verdict)
    return found


def all_claims(ten: Comparison, twenty: Comparison) -> list[Claim]:
    sizes = [Size(10, 1e-6, 0.7), Size(100, 1e-5, 0.8)]
    small = [*about_autocorrelation(ten), *about_mpsrf_10(ten), *about_convergence(ten)]
    return [*small, *about_mpsrf_20(ten, twenty, sizes)]


SAID = [
    "falls far faster",
    "At n = 10 the auxiliary",
    "At n = 10 the same",
    "fast to mix",
    "mean is smaller at every index",
    "mean is smaller at every second",
    "variance is smaller at every index",
    "variance is smaller at every second",
]


def test_verdicts_on_what_the_paper_saw() -> None:
    twenty = comparison(20, metropolis={"excess": 50.0, "accepted": 0.02}, tuned={"excess": 3.0})
    claims = all_claims(comparison(), twenty)
    assert verdicts(claims, *SAID) == [HOLDS] * len(SAID)
    words = ["At n = 20 the auxiliary", "At n = 20 the same", "even greater", "scales easily"]
    assert verdicts(claims, *words) == [HOLDS] * 4
    assert verdicts(claims, "β is tuned") == [IN_PART]
    assert verdicts(claims, "W^(½)", "Mean and mode") == [FAILS, IN_PART]
    assert sum(c.remark.startswith("A slip") for c in claims) == 2


def test_verdicts_when_the_samplers_are_swapped_or_equal() -> None:
    worse: dict[str, Any] = {"forgets": 25, "excess": 2.0, "error": 0.5, "effective": 0.01}
    better: dict[str, Any] = {"forgets": 2, "excess": 0.02, "error": 0.1, "effective": 0.7}
    swapped = comparison(hidden={**worse, "seconds": 2e-6}, metropolis={**better, "seconds": 1e-6})
    assert verdicts(all_claims(swapped, comparison(20)), *SAID) == [FAILS] * len(SAID)
    equal = all_claims(comparison(metropolis={**better, "seconds": 1e-6}), comparison(20))
    # Of the two halves of "fast to mix and to execute", being as fast as the other is enough.
    assert verdicts(equal, *SAID) == [FAILS, FAILS, FAILS, IN_PART, *[FAILS] * 4]


def test_verdicts_when_better_draws_take_too_long() -> None:
    barely = {"excess": 0.3, "error": 0.12}  # 15 times the excess, 1.2 times the error
    for seconds in (7e-6, 7e-5):  # some seconds in common, and none
        ten = comparison(hidden={"seconds": seconds}, metropolis=barely)
        slow = all_claims(ten, comparison(20))
        assert verdicts(slow, "fast to mix") == [IN_PART]
        assert verdicts(slow, "At n = 10 the auxiliary", "At n = 10 the same") == [HOLDS, FAILS]
        for statistic in ("mean", "variance"):
            words = [f"{statistic} is smaller at every {what}" for what in ("index", "second")]
            assert verdicts(slow, *words) == [HOLDS, FAILS]


def test_verdicts_when_tuning_undoes_the_growth() -> None:
    mended = comparison(20, metropolis={"excess": 50.0}, tuned={"excess": 0.03})
    words = ["even greater", "At n = 20 the auxiliary", "At n = 20 the same"]
    assert verdicts(all_claims(comparison(), mended), *words) == [IN_PART] * 3
    smaller = comparison(20, metropolis={"excess": 1.0}, tuned={"excess": 0.5})
    assert verdicts(all_claims(comparison(), smaller), "even greater") == [FAILS]


@pytest.mark.parametrize(
    ("rates", "verdict"),
    [((0.23, 0.25), HOLDS), ((0.23, 0.02), IN_PART), ((0.5, 0.02), FAILS)],
)
def test_verdicts_on_acceptance(rates: tuple[float, float], verdict: Verdict) -> None:
    ten, twenty = (comparison(n, metropolis={"accepted": rates[n // 20]}) for n in (10, 20))
    assert verdicts(all_claims(ten, twenty), "β is tuned") == [verdict]


@pytest.mark.parametrize(
    ("power", "share", "verdict"),
    [
        (0.9, 0.7, HOLDS),
        (1.05, 0.4, HOLDS),
        (1.5, 0.7, IN_PART),
        (1.0, 0.1, IN_PART),
        (2.0, 0.1, FAILS),
    ],
)
def test_verdicts_on_scaling(power: float, share: float, verdict: Verdict) -> None:
    sizes = [Size(n, 1e-7 * n**power, 0.7 if n == 10 else share) for n in (10, 100, 1000)]
    claims = about_mpsrf_20(comparison(), comparison(20), sizes)
    assert verdicts(claims, "scales easily") == [verdict]
    (claim,) = [c for c in claims if "scales" in c.statement]
    assert claim.value == pytest.approx(power)


def test_a_sampler_that_never_forgets_says_so() -> None:
    never = about_autocorrelation(comparison(metropolis={"forgets": 1000}))[0]
    assert "against more than 30 and more than 30 (" in never.measured
    assert never.verdict is HOLDS
    both = comparison(hidden={"forgets": 1000}, metropolis={"forgets": 1000})
    assert about_autocorrelation(both)[0].verdict is FAILS


def test_no_slip_where_none_is_measured() -> None:
    right = comparison()
    right = comparison(hidden={"printed_rhat": float(right[HIDDEN].rhat[-1])})
    (claim,) = [c for c in about_mpsrf_10(right) if "W^(½)" in c.statement]
    assert (claim.verdict, claim.remark) == (HOLDS, "")


def test_ratios_in_words() -> None:
    assert spread(np.array([np.nan])) == "unknown, there is no second in common"
    assert spread(np.array([2.0, 30.0])) == "2.0 to 30.0"
    assert spread(np.array([20.0, 3000.0])) == "20 to 3,000"


def test_samplers_that_disagree_are_told() -> None:
    rng = np.random.default_rng(SEED)
    same = [rng.normal(0, 1, (40, 3)) for _ in range(3)]
    right = disagreement(same)
    assert right.z <= right.bound
    wrong = disagreement([*same[:2], same[2] + [0, 0, 9]])
    assert wrong.z > 2 * wrong.bound
    assert wrong.difference == pytest.approx(9, abs=1)
    runs = {
        s.key: made_up(
            s, chain_means=rng.normal(0, 1, (40, 3)), chain_variances=rng.normal(0, 1, (40, 3))
        )
        for s in SAMPLERS[10]
    }
    assert agreement(Comparison(10, runs)).verdict is HOLDS
    far = replace(runs[METROPOLIS.key], chain_variances=rng.normal(9, 1, (40, 3)))
    assert agreement(Comparison(10, {**runs, METROPOLIS.key: far})).verdict is FAILS


def test_counts_of_verdicts_are_sentences() -> None:
    def claims(*found: Verdict, ours: bool = False) -> list[Claim]:
        return [Claim("It is so.", "1", "1", v, 1.0, ours=ours) for v in found]

    assert tally(claims(HOLDS)) == "1 claim of the paper holds."
    assert tally(claims(HOLDS, HOLDS, FAILS)) == "2 claims of the paper hold, 1 does not hold."
    assert tally(claims(FAILS, IN_PART, FAILS) + claims(HOLDS, ours=True)) == (
        "1 claim of the paper holds in part, 2 do not hold. 1 check of ours holds."
    )
    assert [graded(x) for x in ([True], [True, False], [False])] == [HOLDS, IN_PART, FAILS]
    assert unless_it_holds(HOLDS, "wrong") == ""
    assert unless_it_holds(IN_PART, "wrong") == "wrong"
