"""Hypotheses about contests: their parameters, equal strengths, orders; and likelihood ratios."""

import numpy as np
import pytest
from lib.bounds import SEED, z_limit
from lib.season_oracles import Meeting, Season, by_grid, by_optimiser, league
from lib.size import draws
from scipy.stats import chi2, gamma

import luce
from luce import Gamma, Posterior
from luce.errors import DataError, MethodError
from luce.hypotheses.likelihood_ratio import (
    ratio_of_equal,
    ratio_of_order,
    ratio_of_parameter,
    ratio_of_shares,
)

OWN = {"home": Gamma(2.0, 2.0), "tie": Gamma(1.0, 1.0)}
DRAWS = draws(compiled=1000, plain=60)

pytestmark = [
    pytest.mark.filterwarnings("ignore::luce.ConvergenceWarning"),
    pytest.mark.filterwarnings("ignore::luce.errors.EvidenceWarning"),
]


def asked(
    posterior: Posterior, seed: int = 1, **question: object
) -> luce.hypotheses.HypothesisTest:
    options = {"draws": DRAWS, "seed": 1000 * SEED + seed, "progress": False}
    return luce.hypothesis(posterior, **question, **options)  # type: ignore[arg-type]


class Held(Season):
    """A season whose home advantage is 1, whatever is given."""

    def probabilities(self, meeting, p, home, tie):  # type: ignore[no-untyped-def]
        return super().probabilities(meeting, p, np.ones(()), tie)


@pytest.mark.compiled
@pytest.mark.parametrize("ties", ["davidson", "rao-kupper"])
def test_no_home_advantage_has_the_ratio_of_two_integrals(ties: str) -> None:
    season = league(3, ties, True, 1)
    prior = np.ones(3)
    held = Held(3, season.meetings, ties, True)
    truth = by_grid(held, prior, {"tie": OWN["tie"]}) - by_grid(season, prior, OWN)
    found = asked(Posterior(season.counts()), parameter={"home": 1.0})
    assert found.statement == "home = 1"
    log_factor = found.bayes_factor.log
    off = abs(float(log_factor) - truth) / float(log_factor.standard_error)
    assert off < z_limit(2)
    # The reciprocal, or the factor with a flatter prior, is told apart.
    wide = {**OWN, "home": Gamma(2.0, 1.0)}
    other = by_grid(held, prior, {"tie": OWN["tie"]}) - by_grid(season, prior, wide)
    assert abs(float(log_factor) - other) / float(log_factor.standard_error) > z_limit(2)
    assert found.probability == pytest.approx(1 / (1 + np.exp(-float(log_factor))))
    assert found.prior_probability == 0.5


@pytest.mark.parametrize("name", ["home", "tie"])
@pytest.mark.parametrize("ties", ["davidson", "rao-kupper"])
def test_a_parameter_above_a_number_is_counted_in_draws(ties: str, name: str) -> None:
    season = league(3, ties, True, 2)
    posterior, value = Posterior(season.counts()), 1.5
    run = posterior.sample(DRAWS, seed=SEED, progress=False)
    found = luce.hypothesis(posterior, above={name: value}, draws=run)
    assert found.statement == f"{name} > 1.5"
    assert found.probability == pytest.approx(float((run.posterior[name] > value).mean()))
    excess = value - (season.least_tie if name == "tie" else 0.0)
    prior = OWN[name]
    before = gamma.sf(excess, prior.shape, scale=1 / prior.rate)
    assert found.prior_probability == pytest.approx(before)
    odds = found.probability / (1 - found.probability) / (before / (1 - before))
    assert float(found.bayes_factor) == pytest.approx(odds)
    assert name in str(found)


def test_classical_tests_are_twice_the_loss_of_log_likelihood() -> None:
    season = league(4, "davidson", True, 3, games=8)
    counts = season.counts("abcd")

    def largest(fixed: dict[str, float] | None = None, equal: int = 0) -> float:
        def height(p: np.ndarray, x: dict[str, float]) -> float:
            if equal:
                p = np.r_[np.full(equal, p[:equal].mean()), p[equal:]]
            return float(season.log_likelihood(p, **x))

        return by_optimiser(height, season, fixed)[2]

    best = largest()
    for (found, why), restricted, freedom in (
        (ratio_of_parameter(counts, "home", 1.0, above=False), largest({"home": 1.0}), 1),
        (ratio_of_parameter(counts, "tie", 0.5, above=False), largest({"tie": 0.5}), 1),
        (ratio_of_equal(counts, np.arange(2)), largest(equal=2), 1),
        (ratio_of_equal(counts, np.arange(4)), largest(equal=4), 3),
    ):
        assert why == ""
        assert found is not None
        statistic = 2 * (best - restricted)
        assert found.statistic == pytest.approx(statistic, abs=1e-6)
        assert found.degrees_of_freedom == freedom
        assert found.p_value == pytest.approx(chi2.sf(statistic, freedom), abs=1e-6)


def test_one_sided_tests_halve_the_p_value() -> None:
    season = league(4, "rao-kupper", True, 4, games=8)
    counts = season.counts()
    best = luce.maximum_likelihood(counts)
    low, high = 0.7 * best.parameters["home"], 1.4 * best.parameters["home"]
    inside, _ = ratio_of_parameter(counts, "home", low, above=True)
    outside, _ = ratio_of_parameter(counts, "home", high, above=True)
    both, _ = ratio_of_parameter(counts, "home", high, above=False)
    assert inside == (0.0, 1, 1.0)
    assert outside is not None
    assert both is not None
    assert outside.p_value == pytest.approx(both.p_value / 2)
    i, j = np.argsort(best.values)[[0, -1]].tolist()
    assert ratio_of_order(counts, j, i)[0] == (0.0, 1, 1.0)
    against, _ = ratio_of_order(counts, i, j)
    equal, _ = ratio_of_equal(counts, np.array([i, j]))
    assert against is not None
    assert equal is not None
    assert against.p_value == pytest.approx(equal.p_value / 2)


def test_a_test_that_does_not_hold_says_why() -> None:
    meetings = (Meeting((0,), (1,), True, (3, 2, 0)), Meeting((1,), (0,), True, (2, 2, 0)))
    without_ties = Season(2, meetings, "davidson", True).counts()
    found, why = ratio_of_parameter(without_ties, "home", 1.0, above=False)
    assert found is None
    assert "the estimate of tie is 0, its least value" in why
    one_ground = Season(2, meetings[:1], None, True).counts()
    found, why = ratio_of_parameter(one_ground, "home", 1.0, above=False)
    assert found is None
    assert "home cannot be told from strength" in why
    assert "not offered" in ratio_of_shares(without_ties, {0: 0.5})[1]


def test_orders_and_equality_of_strengths() -> None:
    season = league(3, "davidson", True, 5)
    posterior = Posterior(season.counts("abc"))
    run = posterior.sample(DRAWS, seed=SEED, progress=False)
    p = run.posterior["probabilities"]
    pair = luce.hypothesis(posterior, larger="ab", draws=run)
    share = float((p.sel(category="a") > p.sel(category="b")).mean())
    assert pair.probability == pytest.approx(share)
    assert pair.likelihood_ratio is not None
    assert luce.hypothesis(posterior, best="a", draws=run).prior_probability == 1 / 3
    same = asked(posterior, all_equal=True)
    truth = equal_evidence(season) - by_grid(season, np.ones(3), OWN)
    if DRAWS >= 1000:
        off = abs(float(same.bayes_factor.log) - truth) / float(
            same.bayes_factor.log.standard_error
        )
        assert off < z_limit()
    for question in ({"equal": "ab"}, {"share": {"a": 0.3}}):
        with pytest.raises(MethodError, match="Ask for all_equal, larger, best, parameter or abo"):
            luce.hypothesis(posterior, **question, draws=run)  # type: ignore[arg-type]


def equal_evidence(season: Season) -> float:
    """Sum over home and tie with all strengths equal."""
    line = np.exp(np.linspace(-12, 4, 400))
    home, tie = np.meshgrid(line, line, indexing="ij")
    heights = season.log_likelihood(np.full((400, 400, 3), 1 / 3), home, tie)
    for x, prior in ((home, OWN["home"]), (tie, OWN["tie"])):
        heights = heights + gamma.logpdf(x, prior.shape, scale=1 / prior.rate) + np.log(x)
    step = 2 * np.log(16 / 399)
    return float(heights.max() + np.log(np.exp(heights - heights.max()).sum()) + step)


def test_questions_that_cannot_be_asked() -> None:
    season = league(3, "rao-kupper", True, 1)
    posterior = Posterior(season.counts(), home=1.2)
    with pytest.raises(DataError, match="'home', which is no drawn parameter: those drawn here"):
        luce.hypothesis(posterior, parameter={"home": 1.0})
    with pytest.raises(DataError, match="the number must be above 1"):
        luce.hypothesis(posterior, above={"tie": 1.0})
    with pytest.raises(DataError, match="one parameter and its number are needed"):
        luce.hypothesis(posterior, above={})
    with pytest.raises(MethodError, match="one hypothesis is asked at a time"):
        luce.hypothesis(posterior, above={"tie": 2.0}, parameter={"tie": 2.0})
    plain = Posterior(luce.ConditionalCounts("ab").observe({"a": 1}))
    with pytest.raises(DataError, match="none is drawn here"):
        luce.hypothesis(plain, parameter={"home": 1.0})
