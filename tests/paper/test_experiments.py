"""The experiments of the paper: compared with quadrature, with plain samplers and with each other.

The tests that draw the paper's chains are slow; the others use made-up clocks and tiny scales.
"""

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from lib.bounds import SEED
from lib.paper_runs import a_microsecond, silent
from scipy.stats import chisquare, dirichlet

from luce.paper import augmented, samplers
from luce.paper.claims import Verdict
from luce.paper.densities import SIDE, chi_square, measure_densities, triangle_of, triangles
from luce.paper.examples import paper_posterior
from luce.paper.experiments import Comparison, compare
from luce.paper.judge import agreement, disagreement
from luce.paper.samplers import (
    FLOOR,
    FULL,
    HIDDEN,
    METROPOLIS,
    TUNED,
    Scale,
    seconds_a_draw,
    way_to_draw,
)
from luce.posterior import Posterior

HOLDS, FAILS = Verdict.HOLDS, Verdict.FAILS


@pytest.fixture(scope="module")
def ten() -> Comparison:
    return compare(10, FULL, SEED + 1, silent, a_microsecond)


@pytest.fixture(scope="module")
def twenty() -> Comparison:
    return compare(20, Scale(chains=50, draws=2000), SEED + 1, silent, a_microsecond)


@pytest.mark.slow
def test_the_papers_proposal_accepts_what_was_measured_elsewhere(ten: Comparison) -> None:
    assert ten[METROPOLIS].accepted == pytest.approx(0.224, abs=0.01)


@pytest.mark.slow
def test_at_twenty_the_proposal_is_out_of_tune_and_can_be_tuned(twenty: Comparison) -> None:
    # Chains start at the prior, where more is accepted, so the rate lies a little above the 0.015
    # of the stationary chain.
    assert 0.01 < twenty[METROPOLIS].accepted < 0.03
    assert twenty[TUNED].accepted == pytest.approx(0.24, abs=0.03)
    assert 650 < twenty[TUNED].proposal < 950


@pytest.mark.slow
@pytest.mark.parametrize("n", [10, 20])
def test_all_samplers_agree(n: int, request: pytest.FixtureRequest) -> None:
    found: Comparison = request.getfixturevalue({10: "ten", 20: "twenty"}[n])
    assert agreement(found).verdict is HOLDS, agreement(found).measured


def hidden_counts_by_numpy(n: int, first: int, rng: np.random.Generator) -> np.ndarray:
    """Means of 50 chains of the paper's sampler, hidden counts starting at `first` (0 is right)."""
    chains, draws, half = 50, 2000, n // 2
    p = rng.dirichlet(np.full(n, 2.0), chains)
    kept, total = range(half), np.zeros((chains, n))
    for t in range(draws):
        shape = np.full((chains, n), 2.0)
        for j in kept:
            r = (j - 1) % half
            shape[:, j] += 10
            # Ten geometric counts of the truncated outcomes before each kept one.
            shape[:, r] += rng.negative_binomial(10, 1 - p[:, r]) + 10 * first
        p = rng.standard_gamma(shape)
        p /= p.sum(axis=1, keepdims=True)
        if t >= draws // 2:
            total += p
    return total / (draws - draws // 2)


@pytest.mark.slow
def test_a_plain_sampler_agrees_and_a_broken_one_is_told(ten: Comparison) -> None:
    rng = np.random.default_rng(SEED + 1)
    ours = [run.chain_means for run in ten]
    right = disagreement([*ours, hidden_counts_by_numpy(10, 0, rng)])
    assert right.z <= right.bound
    assert right.difference <= right.allowed
    # Counting trials instead of failures leaves every truncated category too large.  The paper's
    # data are symmetric under a rotation, so the error shows between its two halves.
    wrong = disagreement([*ours, hidden_counts_by_numpy(10, 1, rng)])
    assert wrong.z > 2 * wrong.bound
    assert wrong.difference > 2 * wrong.allowed


@pytest.mark.slow
def test_samplers_with_one_mean_and_two_variances_are_told(ten: Comparison) -> None:
    wider = replace(ten[METROPOLIS], chain_variances=2 * ten[METROPOLIS].chain_variances)
    wrong = agreement(Comparison(10, {**ten.runs, METROPOLIS.key: wider}))
    assert wrong.verdict is FAILS
    # A chain that stands still has no variance about its own mean, but the right one about ours.
    rng = np.random.default_rng(SEED + 1)
    fifty = {}
    for key, run in ten.runs.items():
        p = rng.dirichlet(np.full(10, 2.0), (50, 1 if key == METROPOLIS.key else 100))
        fifty[key] = replace(
            run, chain_means=p.mean(axis=1), chain_variances=((p - 0.1) ** 2).mean(axis=1)
        )
    assert agreement(Comparison(10, fifty)).verdict is HOLDS


@pytest.mark.slow
def test_the_floor_is_of_independent_draws(ten: Comparison) -> None:
    # Mean autocorrelations over 50 chains of 5,000 independent draws: sd about 1 / sqrt(250,000),
    # bias -1 / 5,000; 2 components and 200 lags are looked at.
    mean = ten[FLOOR].autocorrelation[:, 1:].mean(axis=0)
    assert np.abs(mean + 1 / FULL.draws).max() < 5.6 / np.sqrt(FULL.chains * FULL.draws)
    # The same bound refuses the paper's sampler.
    mean = ten[HIDDEN].autocorrelation[:, 1:].mean(axis=0)
    assert np.abs(mean).max() > 50 / np.sqrt(FULL.chains * FULL.draws)


# -- three and four categories -------------------------------------------------------------------


def test_triangles_tile_the_simplex() -> None:
    corners = triangles(7)
    assert len(corners) == 49
    flat = corners[:, :, :2]
    (ax, ay), (bx, by) = ((flat[:, k] - flat[:, 0]).T for k in (1, 2))
    np.testing.assert_allclose(np.abs(ax * by - ay * bx) / 2, 0.5 / 49)
    p = np.random.default_rng(SEED + 1).dirichlet([0.7, 1.3, 1.0], 2000)
    found = triangle_of(p, 7)
    inside = np.linalg.solve(corners[found].transpose(0, 2, 1), p[:, :, None])[..., 0]
    assert inside.min() > -1e-9


@pytest.mark.compiled
def test_densities_agree_and_wrong_draws_are_told() -> None:
    found = measure_densities(20, 1000, SEED + 1)
    assert found.p_value > 1e-4
    np.testing.assert_allclose(found.mesh_mean, found.closed_mean, atol=1e-5)
    # Under the density as printed the truncated probability is Beta(2, 1).
    assert found.printed_mean[0] == pytest.approx(2 / 3, abs=2e-3)
    # Were the draws those of the posterior without truncation, the same test would say so.
    shape = np.array([2.0, 4.0, 2.0])
    wrong = np.random.default_rng(SEED + 1).dirichlet(shape, found.n_draws)
    counts = np.bincount(triangle_of(wrong, SIDE), minlength=SIDE**2)
    expected = found.n_draws * found.truncated
    common = expected >= 5
    statistic = ((counts - expected)[common] ** 2 / expected[common]).sum()
    assert statistic > 2 * found.freedom


def test_masses_of_the_mesh_are_those_of_the_density() -> None:
    found = measure_densities(2, 20, SEED)
    assert found.n_draws == 40
    np.testing.assert_allclose(found.mesh_mean, found.closed_mean, atol=1e-5)
    assert found.printed_mean[0] == pytest.approx(2 / 3, abs=2e-3)  # Beta(2, 1) as printed
    centre = found.corners.mean(axis=1)
    by_scipy = dirichlet([2, 4, 2]).pdf(centre.T)
    np.testing.assert_allclose(found.plain, by_scipy / by_scipy.sum(), atol=2e-5)


def test_rare_triangles_are_joined_for_the_test_of_the_draws() -> None:
    counts, expected = np.array([12, 30, 3, 1, 4]), np.array([10.0, 33.0, 2.0, 4.0, 1.0])
    joined = chisquare([12, 30, 8], [10, 33, 7])
    statistic, freedom = chi_square(counts, expected)
    assert (statistic, freedom) == (pytest.approx(joined.statistic), 2)
    found = replace(measure_densities(2, 2, SEED), chi_square=statistic, freedom=freedom)
    assert found.p_value == pytest.approx(joined.pvalue)


def test_hidden_counts_sum_out_and_wrong_sums_are_told() -> None:
    found = augmented.sum_out(SEED + 1)
    assert found.points == 200
    assert found.largest_error < 1e-11
    # The density by hand, with the denominators that the sum stands for.
    p = np.random.default_rng(SEED + 1).dirichlet([2.0, 3.0, 2.0, 3.0], 50)
    p = p[p.max(axis=1) < augmented.LARGEST]
    shape = np.array(augmented.CONCENTRATION) - 1 + np.array([2, 4, 1, 2])
    by_hand = np.log(p) @ shape - 4 * np.log1p(-p[:, 0]) - 5 * np.log1p(-p[:, 2])
    gap = augmented.log_sum(p, augmented.CONCENTRATION, augmented.TERMS) - by_hand
    assert np.ptp(gap) < 1e-11
    # Another category truncated: the same comparison says so.
    (seen, _), second = augmented.TERMS
    gap = augmented.log_sum(p, augmented.CONCENTRATION, [(seen, 3), second]) - by_hand
    assert np.ptp(gap) > 0.1


# -- draws and seconds ---------------------------------------------------------------------------


def test_draws_cut_short_are_not_published(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = Posterior.sample

    def interrupted(*arguments: Any, **options: Any) -> Any:
        tree = whole(*arguments, **options)
        tree.attrs["interrupted"] = 1
        return tree

    monkeypatch.setattr(Posterior, "sample", interrupted)
    with pytest.raises(KeyboardInterrupt):
        samplers.sample(paper_posterior(4), HIDDEN.options, 2, 10)
    with pytest.raises(KeyboardInterrupt):
        measure_densities(2, 10, SEED)


def test_ways_to_draw_draw() -> None:
    posterior = paper_posterior(4)
    drawn: Any = way_to_draw(posterior, HIDDEN, HIDDEN.options)(6, 1)
    same = samplers.sample(posterior, HIDDEN.options, 1, 6, seed=1)
    assert drawn["posterior"]["probabilities"].equals(same["posterior"]["probabilities"])
    independent: Any = way_to_draw(posterior, FLOOR, {})(5, 1)
    assert independent.shape == (5, 4)
    np.testing.assert_allclose(independent.sum(axis=1), 1)


def test_seconds_are_those_of_draws_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    calls = []
    monkeypatch.setattr(time, "process_time", lambda: now[0])

    def way(name: str, set_up: float, a_draw: float) -> Callable[[int, int], None]:
        def draw(draws: int, seed: int) -> None:
            calls.append((name, draws, seed))
            busy = 5.0 if seed == 1 else 0.0  # the machine does something else in this round
            now[0] += set_up + a_draw * draws + busy

        return draw

    found = seconds_a_draw({"a": way("a", 3.0, 2e-6), "b": way("b", 0.1, 7e-6)}, 3, 4_000)
    assert found == pytest.approx({"a": 2e-6, "b": 7e-6})
    assert calls == [
        (name, draws, seed) for seed in range(3) for name in "ab" for draws in (2_000, 4_000)
    ]
    # Where many draws never take longer than few, all of the time is counted.
    assert seconds_a_draw({"c": way("c", 3.0, 0.0)}, 1, 4_000) == pytest.approx({"c": 3.0 / 4_000})
