"""What more comparisons would change: against exact expectations, and sentences that are true."""

from __future__ import annotations

import re
from itertools import product
from math import comb

import numpy as np
import pytest
from lib.answer_cases import dirichlet
from lib.bounds import SEED, z_limit
from scipy.special import betainc
from scipy.stats import betabinom

import luce
from luce import Posterior, from_pairs
from luce.decide import Outlook


def outlook(a: list[float], more: int, seed: int = 0, draws: int = 2000) -> Outlook:
    p = dirichlet(a, draws=draws, chains=4, seed=seed)
    return luce.next_comparison(p, goal="best", more=more, seed=1000 * SEED + seed).outlook


def exact_of_two(a: float, b: float, more: int) -> tuple[float, float, float]:
    """P(best) of the leader a > b, its expected change, and the expected largest: Beta-binomial."""
    k = np.arange(more + 1)
    chance = betabinom.pmf(k, more, a, b)
    now, then = 1 - betainc(a, b, 0.5), 1 - betainc(a + k, b + more - k, 0.5)
    change, after = np.abs(then - now), np.maximum(then, 1 - then)
    return float(now), float(chance @ change), float(chance @ after)


def exact_of_three(a: list[float], plan: list[tuple[tuple[int, ...], int]]) -> tuple[float, float]:
    """Expected change and largest probability for a Dirichlet posterior, by sums over a grid."""
    side = (np.arange(240) + 0.5) / 240
    x, y = (grid.ravel() for grid in np.meshgrid(side, side))
    p = np.stack([x, (1 - x) * y, (1 - x) * (1 - y)])  # the whole square is the simplex
    weight = (p ** (np.array(a)[:, None] - 1)).prod(axis=0) * (1 - x)
    weight /= weight.sum()
    best = np.eye(3)[p.argmax(axis=0)]
    now = weight @ best
    change = after = 0.0
    for wins in product(*(range(times + 1) for _, times in plan)):
        own = weight.copy()
        for won, ((i, j), times) in zip(wins, plan, strict=True):
            share = p[i] / (p[i] + p[j])
            own *= comb(times, won) * share**won * (1 - share) ** (times - won)
        then = own @ best / own.sum()
        change += own.sum() * abs(then - now)[now.argmax()]
        after += own.sum() * then.max()
    return float(change), float(after)


TWO = [(6.0, 4.0, 10), (3.0, 2.0, 40), (30.0, 20.0, 100)]


def errors_of_two(wrong: float = 1.0) -> list[float]:
    """Errors of all forecasts of two, in their own Monte Carlo standard errors."""
    found = []
    for k, (a, b, more) in enumerate(TWO):
        said, exact = outlook([a, b], more, seed=k), exact_of_two(a, b, more)
        assert said.change is not None
        assert said.after is not None
        for estimate, value in zip((said.probability, said.change, said.after), exact, strict=True):
            found.append(abs(float(estimate) - wrong * value) / float(estimate.standard_error))
    return found


def test_forecasts_of_two_are_those_of_the_beta_binomial() -> None:
    bound = z_limit(9)
    assert max(errors_of_two()) < bound
    assert max(errors_of_two(wrong=1.15)) > bound


def test_forecasts_of_three_are_sums_over_all_outcomes() -> None:
    a, bound = [4.0, 3.0, 2.0], z_limit(2)
    said = outlook(a, 15)
    assert sum(times for _, times in said.plan) == 15
    assert said.change is not None
    assert said.after is not None
    change, after = exact_of_three(a, said.plan)

    def z(factor: float) -> float:
        return max(
            abs(float(estimate) - factor * value) / float(estimate.standard_error)
            for estimate, value in ((said.change, change), (said.after, after))
            if estimate is not None
        )

    assert z(1.0) < bound
    assert z(1.15) > bound


def number_in(pattern: str, outlook: Outlook) -> float:
    found = re.search(pattern, str(outlook))
    assert found, str(outlook)
    return float(found[1])


def test_the_sentence_on_more_comparisons_is_true() -> None:
    """Its number is above the exact one, but not by much: three quarters of it are not."""
    for k, (a, b, more) in enumerate(TWO):
        said, (now, change, after) = outlook([a, b], more, seed=10 + k), exact_of_two(a, b, more)
        told = number_in(rf"{more} more comparisons .* less than (0\.\d+) on average", said)
        assert change < told
        assert change > 0.75 * told
        assert told == pytest.approx(said.less_than, abs=1.01e-3)
        assert abs(number_in(r"0 is best with probability (0\.\d+)", said) - now) < 0.03
        assert abs(number_in(r"would be known with probability (0\.\d+)", said) - after) < 0.03
        assert "spread over 1 candidate." in str(said)


@pytest.mark.parametrize("a", [[400.0, 300.0], [30.0, 3.0]])
def test_where_the_leader_is_nearly_certain_no_number_of_comparisons_changes_much(
    a: list[float],
) -> None:
    said, now = outlook(a, 200), exact_of_two(*a, 0)[0]
    assert said.change is None
    told = number_in(r"no further comparisons .* more than (0\.\d+) on average, however many", said)
    assert 2 * now * (1 - now) < told < 0.02
    assert ("too few to say" in str(said)) == (said.less_than > 0.01)
    assert exact_of_two(*a, 5000)[1] < told


def test_too_few_draws_give_no_forecast_but_the_limit() -> None:
    counts = from_pairs([("a", "b")] * 3 + [("b", "a")])
    run = Posterior(counts).sample(1, chains=1, seed=1)
    said = luce.next_comparison(run).outlook
    assert said.change is None
    assert said.less_than == 0.5
    assert "too few to say" in str(said)
    many = luce.next_comparison(dirichlet([2.0] * 12, 150, 4), more=5000).outlook
    assert many.change is None
    assert "too few to say what 5,000 comparisons would change" in str(many)


def test_draws_that_are_not_to_be_trusted_give_no_word_on_stopping() -> None:
    rng = np.random.default_rng(SEED)
    apart = np.stack([rng.dirichlet(a, 500) for a in ([50.0, 10.0], [10.0, 50.0])])
    said = luce.next_comparison(apart).outlook
    assert said.sentences[0].startswith("No word on when to stop: do not trust these draws yet")
    assert np.isnan(said.less_than)
    assert "more comparisons" not in str(said)
    one = luce.next_comparison([[[0.6, 0.4]]])
    assert "1 draw a chain is too few" in str(one.outlook)


def test_without_more_comparisons_there_is_the_limit_alone() -> None:
    said = outlook([6.0, 4.0], 0)
    assert said.plan == []
    assert len(said.sentences) == 1
    assert said.change is None
    assert "however many" in str(said)


def test_no_outcomes_change_the_probability_on_average() -> None:
    """A forecast for a goal that is not about the best is of the best, too."""
    p = dirichlet([6.0, 4.0, 5.0], 1000, 4)
    for goal in ("information", "order"):
        said = luce.next_comparison(p, goal=goal, more=20).outlook
        assert said.change is not None
        assert float(said.change) <= said.less_than <= 2 * 0.5 * 0.5
        assert said.after is not None
        assert float(said.after) > float(said.probability)
