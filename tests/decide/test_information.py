"""Information of outcomes is that of loops over draws, of closed forms and of quadrature."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations, product
from typing import Any

import numpy as np
import pytest
from lib.answer_cases import dirichlet, draws_of, tree_of, with_ties
from lib.bounds import FALSE_ALARM, SEED, z_limit
from lib.contest_runs import MODELS, chances, each_draw, made_up
from lib.information_oracles import (
    best_of,
    beta_best,
    beta_information,
    choice,
    dirichlet_best,
    draws_by_label,
    joint_information,
    larger_of,
    own_group,
)
from scipy.stats import chi2

import luce
from luce.answers.view import DrawsView
from luce.decide.candidates import read_candidates
from luce.decide.information import GOALS, Batch, Target, all_values, choose, winners

SETS: list[tuple[str, ...]] = [("a", "b"), ("c", "e"), ("e", "a", "d"), ("a", "b", "c", "e")]


def uncorrected(draws: Any, goal: str, among: Any = None) -> Target:
    """A target whose values are those of the draws given, nothing being taken off."""
    return Target(goal, winners(DrawsView.ranked(draws, among))[1], np.inf, 0)


def by_loops(draws: list[dict[str, float]], goal: str, labels: tuple[str, ...]) -> float:
    """Information of a choice, by loops."""
    if goal == "information":
        return joint_information(draws, [choice(labels)], own_group)
    if goal == "best":
        return joint_information(draws, [choice(labels)], best_of("abcde"))
    return sum(
        joint_information(
            draws, [choice(labels)], larger_of(lambda d, i=i: d[i], lambda d, j=j: d[j])
        )
        for i, j in combinations(labels, 2)
    )


@pytest.mark.parametrize("goal", GOALS)
@pytest.mark.parametrize("case", [lambda: dirichlet([0.7, 1, 2, 3, 1.5]), with_ties])
def test_values_are_those_of_loops(goal: str, case: Callable[[], np.ndarray]) -> None:
    p = np.maximum(case(), 1e-3)  # two zeros have no share of choice
    x = DrawsView.of(draws_of(p), block=400)
    found = read_candidates(x, SETS, None)
    values = all_values(uncorrected(x, goal), found, x)
    loops = [by_loops(draws_by_label(p, "abcde"), goal, labels) for labels in SETS]
    np.testing.assert_allclose(values, loops, rtol=1e-9, atol=1e-12)
    assert np.ptp(loops) > 0.01


@pytest.mark.parametrize("goal", GOALS)
@pytest.mark.parametrize("teams", [True, False])
@pytest.mark.parametrize(("ties", "home"), MODELS)
def test_values_of_contests_are_those_of_loops(
    goal: str, teams: bool, ties: str | None, home: bool
) -> None:
    run = made_up(ties, home)
    meetings: list[Any] = [("a", "b"), ("c", "b"), *[(("a", "b"), "c")] * teams]
    meetings += [("a", "b", "first"), ("c", "b", "second")] if home else []
    x = DrawsView.of(run)
    values = all_values(uncorrected(x, goal), read_candidates(x, meetings, None), x)

    def strength(draw: dict[str, float], side: Any) -> float:
        return sum(draw[label] for label in side)

    draws = [{**p, **parameters} for p, parameters in each_draw(run)]
    loops = []
    for first, second, *place in meetings:
        at = [None, "first", "second"].index(place[0] if place else None)

        def results(
            draw: Any, first: Any = first, second: Any = second, at: int = at
        ) -> list[float]:
            return chances(strength(draw, first), strength(draw, second), ties, draw, at)

        groups = {
            "information": own_group,
            "best": best_of("abc"),
            "order": larger_of(
                lambda d, side=first: strength(d, side), lambda d, side=second: strength(d, side)
            ),
        }[goal]
        loops.append(joint_information(draws, [results], groups))
    np.testing.assert_allclose(values, loops, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("goal", GOALS)
def test_a_batch_tells_together_what_enumeration_says(goal: str) -> None:
    """Gains add up to the joint information, and each choice is the best given those before."""
    p = dirichlet([2.0, 2.5, 1.0, 3.0], draws=30, seed=3)
    draws, labels = draws_by_label(p, "abcd"), [*combinations("abcd", 2), ("a", "b", "d")]
    x = DrawsView.of(draws_of(p, [*"abcd"]))
    found = read_candidates(x, labels, None)
    target, costs = uncorrected(x, goal), np.linspace(1.0, 1.2, len(labels))
    values = all_values(target, found, x)
    batch = choose(target, found, x, values, costs, np.ones(3, np.int64), np.random.default_rng(0))

    def gain(before: list[int], number: int) -> float:
        """What a candidate adds; by goal "order" each is about a pair of its own."""
        each = [choice(labels[k]) for k in before]
        pairs = combinations(labels[number], 2) if goal == "order" else [None]
        total = 0.0
        for pair in pairs:
            groups = {"information": own_group, "best": best_of("abcd")}.get(goal)
            if pair is not None:
                groups = larger_of(lambda d, i=pair[0]: d[i], lambda d, j=pair[1]: d[j])
            assert groups is not None
            total += joint_information(draws, [*each, choice(labels[number])], groups)
            total -= joint_information(draws, each, groups) if each else 0.0
        return total

    for k, number in enumerate(batch.numbers.tolist()):
        before = batch.numbers[:k].tolist()
        gains = [gain(before, other) for other in range(len(labels))]
        assert np.argmax(np.array(gains) / costs) == number
        np.testing.assert_allclose(batch.gains[k], gains[number], rtol=1e-8)


def z_of(p: np.ndarray, goal: str, candidate: tuple[int, ...], exact: float) -> float:
    """Error of a value in its own Monte Carlo standard errors."""
    found = luce.next_comparison(p, [candidate], goal, more=0)
    return float((found.table["value"][0] - exact) / found.table["mcse"][0])


BETAS = [(1.0, 1.0), (3.0, 2.0), (0.6, 1.7), (12.0, 9.0)]


def quadratures() -> list[tuple[str, list[float], float]]:
    found = [("information", [a, b], beta_information(a, b)) for a, b in BETAS]
    found += [(goal, [a, b], beta_best(a, b)) for goal in ("best", "order") for a, b in BETAS]
    three = [2.0, 3.0, 1.5]
    found += [("information", three, beta_information(2.0, 3.0))]
    found += [("order", three, beta_best(2.0, 3.0)), ("best", three, dirichlet_best(three))]
    return found


def worst(wrong: float = 0.0) -> float:
    """Largest error against closed forms and quadrature, in Monte Carlo standard errors."""
    return max(
        abs(z_of(dirichlet(a, draws=2000, chains=4, seed=k), goal, (0, 1), exact * (1 + wrong)))
        for k, (goal, a, exact) in enumerate(quadratures())
    )


def test_values_are_those_of_quadrature() -> None:
    bound = z_limit(len(quadratures()))
    assert worst() < bound
    assert worst(wrong=0.25) > bound


def test_closed_form_of_a_uniform_probability() -> None:
    """H(1/2) - ∫ H(q) dq = 1 - 1 / (2 ln 2)."""
    assert beta_information(1.0, 1.0) == pytest.approx(1 - 0.5 / np.log(2))


REPLICATIONS = 400


def many(goal: str, corrected: bool, draws: int, a: list[float]) -> tuple[np.ndarray, np.ndarray]:
    """Values of the first pair from many sets of few draws, and their Monte Carlo errors."""
    values, errors = np.empty((2, REPLICATIONS))
    for k in range(REPLICATIONS):
        p = dirichlet(a, draws=draws, chains=1, seed=100 + k)
        x = DrawsView.of(p)
        shares = winners(x)[1]
        target = Target(goal, shares, 1.0 if corrected else np.inf, 0)
        found = read_candidates(x, [(0, 1)], None)
        values[k] = all_values(target, found, x)[0]
        errors[k] = target.influences(found, np.array([0])).std() / np.sqrt(draws)
    return values, errors


def test_the_correction_removes_the_bias_of_few_draws() -> None:
    """A choice between two that are never best tells nothing about the best of eight others.

    The plain formula is the control: it thinks that outcomes tell more than they do.
    """
    a, bound = [0.5, 0.7, *range(20, 28)], z_limit(2)

    def z(corrected: bool) -> float:
        values, _ = many("best", corrected, 400, a)
        return float(values.mean() / values.std() * np.sqrt(REPLICATIONS))

    assert abs(z(corrected=True)) < bound
    assert z(corrected=False) > bound


@pytest.mark.parametrize(("goal", "exact"), [("best", beta_best(3, 2)), ("order", beta_best(3, 2))])
def test_monte_carlo_errors_are_right(goal: str, exact: float) -> None:
    values, errors = many(goal, True, 400, [3.0, 2.0])
    ends = chi2.ppf([FALSE_ALARM / 4, 1 - FALSE_ALARM / 4], REPLICATIONS)

    def holds(factor: float) -> bool:
        total = float((((values - exact) / (factor * errors)) ** 2).sum())
        # Errors that are estimated from 400 draws are themselves uncertain by a few per cent.
        return bool(0.9 * ends[0] < total < 1.1 * ends[1])

    assert holds(1.0)
    assert not holds(0.7)
    assert not holds(1.4)


def test_the_same_pair_is_repeated_where_that_is_right_alone() -> None:
    """Of two, there is one pair; of many unknown ones, telling all together needs several."""
    two = luce.next_comparison(dirichlet([2, 2], 500, 4), batch=4)
    assert two.batch == [(0, 1)] * 4
    assert (np.diff(two.gains) < 0).all()
    many_equal = luce.next_comparison(dirichlet([2.0] * 6, 500, 4), batch=3)
    assert len(set(many_equal.batch)) == 3


def test_a_greedy_batch_tells_more_than_one_pair_again_and_again() -> None:
    p = dirichlet([2.0, 2.1, 1.9, 2.2], draws=40, seed=5)
    draws, pairs = draws_by_label(p, range(4)), list(combinations(range(4), 2))
    x = DrawsView.of(p)
    found = read_candidates(x, None, None)
    target = uncorrected(x, "information")
    values = all_values(target, found, x)
    batch = choose(
        target, found, x, values, np.ones(6), np.ones(3, np.int64), np.random.default_rng(1)
    )
    first = pairs[int(batch.numbers[0])]
    together = joint_information(draws, [choice(pairs[k]) for k in batch.numbers], own_group)
    assert together > joint_information(draws, [choice(first)] * 3, own_group)
    every = max(
        joint_information(draws, [choice(pairs[k]) for k in which], own_group)
        for which in product(range(6), repeat=3)
        if list(which) == sorted(which)
    )
    assert together > (1 - 1 / np.e) * every


def test_long_batches_keep_some_courses_and_are_right_on_average() -> None:
    """Courses are sampled after the fifth choice: gains are then estimates of the exact ones."""
    p = dirichlet([3.0, 2.0], draws=400, seed=6)
    x = DrawsView.of(p)
    found = read_candidates(x, None, None)
    target = uncorrected(x, "information")
    values = all_values(target, found, x)

    def batch(seed: int) -> Batch:
        return choose(
            target,
            found,
            x,
            values,
            np.ones(1),
            np.ones(8, np.int64),
            np.random.default_rng([SEED, seed]),
        )

    gains = np.array([batch(seed).gains for seed in range(200)])
    q = p[..., 0].ravel()
    wins = np.arange(9)[:, None]
    exact = []
    for k in range(8):  # information of one more outcome, given the number of wins among k
        chance = np.array([q**w * (1 - q) ** (k - w) for w in wins[: k + 1, 0]])
        number = np.array(
            [
                float(np.prod(np.arange(k, k - w, -1) / np.arange(1, w + 1)))
                for w in wins[: k + 1, 0]
            ]
        )
        mass = chance.mean(axis=1)
        after = (chance * q).mean(axis=1) / mass
        bits = -after * np.log2(after) - (1 - after) * np.log2(1 - after)
        inside = -q * np.log2(q) - (1 - q) * np.log2(1 - q)
        exact.append(float((number * mass * bits).sum() - inside.mean()))
    np.testing.assert_allclose(gains[:, :6], np.broadcast_to(exact[:6], (200, 6)), rtol=1e-8)
    z = (gains[:, 6:].mean(axis=0) - exact[6:]) / gains[:, 6:].std(axis=0) * np.sqrt(200)
    assert np.abs(z).max() < z_limit(2)


def test_logarithms_stand_in_for_probabilities_that_underflow() -> None:
    logs = np.log(dirichlet([2.0, 3.0, 1.0]))
    logs[:, :, 2] -= 1000
    deep = luce.next_comparison(tree_of(logs), goal="best", more=0)
    assert np.isfinite(deep.table["value"]).all()
    assert deep.batch == [("a", "b")]
    logs[:, :, 1] -= 1000
    with pytest.raises(luce.LuceError, match="are 0 in some draws"):
        luce.next_comparison(np.exp(logs), more=0)
