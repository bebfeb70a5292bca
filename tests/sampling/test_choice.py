"""The method that "auto" chooses, on data of each kind, and where its chains start."""

from __future__ import annotations

import numpy as np
import pytest
from lib.planned import plan_of, sample_planned

import luce
from luce import ConditionalCounts, ConvergenceWarning, Posterior
from luce.counts.family import SetFamily
from luce.sampling.choice import best_metric, fits_of
from luce.sampling.methods import prepare


def pairs(n: int, games: int, seed: int = 0) -> Posterior:
    """Games between random pairs."""
    rng = np.random.default_rng(seed)
    strength = rng.lognormal(0.0, 0.7, n)
    one = rng.integers(0, n, games)
    other = (one + rng.integers(1, n, games)) % n
    first = rng.random(games) < strength[one] / (strength[one] + strength[other])
    winners, losers = np.where(first, one, other), np.where(first, other, one)
    data = {"winner": winners.tolist(), "loser": losers.tolist()}
    return Posterior(luce.from_pairs(data, categories=range(n)), 1.0)


def path(n: int) -> Posterior:
    counts = ConditionalCounts(n)
    for i in range(n - 1):
        counts = counts.observe({i: 5, i + 1: 4}, within=[i, i + 1])
    return Posterior(counts, 1.0)


def teams(n: int, games: int) -> Posterior:
    rng = np.random.default_rng(1)
    drawn = [rng.choice(n, 6, replace=False).tolist() for _ in range(games)]
    data = {"winners": [d[:3] for d in drawn], "losers": [d[3:] for d in drawn]}
    return Posterior(luce.from_teams(data, categories=range(n)), 1.0)


def dominated(n: int = 400, number: int = 4000) -> Posterior:
    """Choices out of ten, in which a few items are chosen almost whenever they are there."""
    rng = np.random.default_rng(2)
    strength = np.r_[np.full(8, 200.0), rng.lognormal(0.0, 0.3, n - 8)]
    rows = np.array([rng.choice(n, 10, replace=False) for _ in range(number)])
    chosen = rows[
        np.arange(number), (np.log(strength[rows]) + rng.gumbel(size=rows.shape)).argmax(1)
    ]
    starts, sets = np.arange(0, 10 * number + 1, 10), np.arange(number + 1)
    family = SetFamily(
        n, rows.ravel(), starts, np.zeros(number, np.bool_), sets, starts[1:], -np.ones(number)
    )
    wins = np.bincount(chosen, minlength=n).astype(float)
    return Posterior(ConditionalCounts.from_nests(n, wins, family), 1.0)


def transitions(n: int) -> Posterior:
    counts = ConditionalCounts(n)
    for i in range(n):
        counts = counts.observe({(i + k) % n: 3 for k in range(1, 6)}, without=[i])
    return Posterior(counts, 1.0)


def paper() -> Posterior:
    counts = ConditionalCounts(10)
    for j in range(5):
        counts = counts.observe({j: 10}, without=[(j - 1) % 5])
    return Posterior(counts, 2.0)


CHOSEN = {
    "rejection": paper,
    "independence": lambda: pairs(12, 20_000),
    "hamiltonian": lambda: path(30),
    "waiting-times": lambda: transitions(40),
}


@pytest.mark.parametrize("method", CHOSEN)
def test_each_method_is_chosen_for_some_data(method: str) -> None:
    assert plan_of(CHOSEN[method]()).choice.methods == (method,)


def test_grouped_outcomes_of_many_have_a_diagonal_metric() -> None:
    posterior = teams(120, 600)
    plan = plan_of(posterior)
    assert plan.choice.methods == ("hamiltonian",)
    assert best_metric(fits_of(posterior.model.shapes, 0))[0].root is None
    few = teams(20, 100)
    assert plan_of(few).choice.methods == ("hamiltonian",)
    assert best_metric(fits_of(few.model.shapes, 0))[0].scale is None


def test_items_that_dominate_are_moved_one_by_one() -> None:
    plan = plan_of(dominated())
    assert plan.choice.methods == ("waiting-times",)
    assert "dominate" in plan.choice.reason
    part = plan.method.parts[0]
    most = set(np.argsort(-part.problem.shape)[:8].tolist())
    assert set(part.fit.item[:8].tolist()) == most


def test_a_forced_method_needs_no_other_fit() -> None:
    plan = plan_of(path(30), method="waiting-times")
    assert plan.method.parts[0].fit is None


def test_chains_of_many_atoms_start_near_the_mode() -> None:
    """There most of the first moves are accepted; from the mode itself hardly any would be."""
    posterior = pairs(300, 3000)
    plan = plan_of(posterior, draws=50, method="hamiltonian")
    assert plan.method.starts_near_the_mode
    assert plan.warmup == 100
    fits = fits_of(posterior.model.shapes, 0)
    assert fits.curvature is not None
    rng, mode = np.random.default_rng(3), fits.curvature.mode
    logs = np.array([np.log(plan.method.parts[0].draw_start(rng)) for _ in range(200)])
    spread = logs - logs.mean(axis=1, keepdims=True) - (mode - mode.mean())
    # Squared length in units of the precision is χ² with 299 degrees of freedom, 24.5 its sd.
    inverse = np.linalg.inv(fits.curvature.root)
    square = ((spread @ inverse) ** 2).sum(axis=1)
    assert abs(square.mean() - 299) < 5 * 24.5 / np.sqrt(200) + 1
    few = plan_of(path(30), method="hamiltonian")
    assert not few.method.starts_near_the_mode


def test_a_choice_is_carried_out_by_name() -> None:
    posterior = pairs(12, 20_000)
    plan = plan_of(posterior)
    again = prepare(posterior.model, plan.choice)
    assert type(again.parts[0].fit) is type(plan.method.parts[0].fit)


def skewed() -> Posterior:
    """Rankings of a dozen out of eighty, one for each: far from normal in log ratios."""
    rng, counts = np.random.default_rng(4), ConditionalCounts(80)
    for _ in range(20):
        counts = counts.observe_ranking(rng.choice(80, 12, replace=False).tolist())
    return Posterior(counts, 0.5)


def test_independence_is_warned_of_where_its_draws_are_worth_little() -> None:
    with pytest.warns(ConvergenceWarning, match="hardly suits core 1: a draw is predicted"):
        plan_of(skewed(), method="independence")
    plan_of(pairs(12, 20_000), method="independence")  # the control: nothing is said


@pytest.mark.compiled
def test_independence_draws_do_not_depend_on_chunks() -> None:
    posterior = pairs(12, 3000)
    runs = [
        sample_planned(posterior, method="independence", seed=5, chunk_steps=steps)
        for steps in (1, 10**6)
    ]
    np.testing.assert_array_equal(*(run.posterior["probabilities"].to_numpy() for run in runs))
