"""Draws of rankings with ties, against quadrature and importance sampling by enumeration."""

from typing import Any

import numpy as np
import pytest
from lib.bounds import SEED, z_limit
from lib.tied_rankings import (
    Floats,
    Means,
    chain_means,
    davidson_luce,
    importance_means,
    unknown_order,
    worst,
)

import luce
from luce import Posterior
from luce.errors import DataError, MethodError
from luce.sampling.rankings import ready_for_rankings

ALPHA = np.array([0.8, 1.5, 2.0])

# Rankings of three with their numbers, not symmetric.
BLOCKS = {((0, 1), (2,)): 3, ((2,), (0, 1)): 1, ((0, 2), (1,)): 1, ((1,), (0,), (2,)): 1}
TIES = {((0, 1), (2,)): 2, ((2,), (0, 1)): 1, ((0, 1, 2),): 1, ((1,), (0,), (2,)): 3}


def texts(rankings: dict[Any, int]) -> dict[str, int]:
    """Rankings as texts, with their numbers."""
    return {
        " > ".join(" = ".join("abcd"[i] for i in tied) for tied in ranking): number
        for ranking, number in rankings.items()
    }


def quadrature(log_likelihood: Any) -> Means:
    """Posterior means of three probabilities on a fine grid of log-odds."""
    u = np.linspace(-24, 24, 961)
    logs = np.stack([*np.meshgrid(u, u), np.zeros((961, 961))], axis=-1)
    logs -= np.logaddexp.reduce(logs, axis=-1, keepdims=True)
    log_f = log_likelihood(np.exp(logs)) + logs @ ALPHA
    weight = np.exp(log_f - log_f.max())
    value = np.tensordot(weight, np.exp(logs), axes=2) / weight.sum()
    return Means(value, np.zeros(3))


def of_unknown_orders(p: Floats) -> Floats:
    return np.asarray(sum(m * np.log(unknown_order(p, ranking)) for ranking, m in BLOCKS.items()))


@pytest.mark.compiled
@pytest.mark.parametrize("method", ["waiting-times", "hamiltonian"])
def test_draws_of_unknown_orders_agree_with_quadrature(method: str) -> None:
    truth = quadrature(of_unknown_orders)
    posterior = Posterior(luce.from_rankings(texts(BLOCKS), ties="unknown"), ALPHA)
    run = posterior.sample(5000, chains=8, seed=SEED + 1, method=method, progress=False)
    assert worst(chain_means(run), truth) < z_limit(3)


@pytest.mark.compiled
def test_orders_that_count_equally_are_another_posterior() -> None:
    truth = quadrature(of_unknown_orders)
    with pytest.warns(luce.errors.HalfWinsWarning):
        half = luce.from_rankings(texts(BLOCKS), ties="half")
    run = Posterior(half, ALPHA).sample(5000, chains=8, seed=SEED + 1, progress=False)
    assert worst(chain_means(run), truth) > z_limit(3)


def sweeps(seed: int, broken: str = "") -> Means:
    """The sweep over blocks in NumPy, of many chains at once, with something wrong if asked for."""
    rng, chains, length = np.random.default_rng(seed), 4000, 60
    shape = ALPHA.copy()
    blocks: list[tuple[list[int], list[int], int]] = []
    singles: list[tuple[int, list[int]]] = []
    for ranking, m in BLOCKS.items():
        left = [i for tied in ranking for i in tied]
        for tied in ranking:
            rest = [i for i in left if i not in tied]
            if len(tied) == 1 and rest:
                singles += [(tied[0], left)] * m
            elif rest:
                blocks += [(list(tied), rest, len(blocks) + k) for k in range(m)]
            left = rest
    for i, _ in singles:
        shape[i] += 1
    if broken != "shapes without the block":
        for tied, _, _ in blocks:
            shape[tied] += 1
    p, latest = rng.dirichlet(np.ones(3), chains), np.ones((chains, len(blocks)))
    total = np.zeros((chains, 3))
    for step in range(length):
        rates = np.zeros((chains, 3))
        for _, members in singles:
            rates[:, members] += (rng.exponential(size=chains) / p[:, members].sum(axis=1))[:, None]
        for tied, rest, k in blocks:
            end = latest[:, k] + rng.exponential(size=chains) / p[:, rest].sum(axis=1)
            u = rng.random((chains, len(tied)))
            time = -np.log1p(u * np.expm1(-p[:, tied] * end[:, None])) / p[:, tied]
            latest[:, k] = time.max(axis=1)
            rates[:, tied] += time
            last = end if broken == "the rest waits until its own first" else latest[:, k]
            rates[:, rest] += last[:, None]
        scale = rng.gamma(ALPHA.sum(), size=chains)
        new = rng.gamma(shape, size=(chains, 3)) / (scale[:, None] + rates)
        whole = new.sum(axis=1)
        p = new / whole[:, None]
        latest *= whole[:, None]
        total += p if step >= 20 else 0.0
    each = total / (length - 20)
    return Means(each.mean(axis=0), each.std(axis=0) / np.sqrt(chains))


def test_the_sweep_over_blocks_agrees_with_quadrature() -> None:
    assert worst(sweeps(SEED + 2), quadrature(of_unknown_orders)) < z_limit(3)


@pytest.mark.parametrize(
    "broken", ["the rest waits until its own first", "shapes without the block"]
)
def test_broken_sweeps_over_blocks_are_found_out(broken: str) -> None:
    assert worst(sweeps(SEED + 2, broken), quadrature(of_unknown_orders)) > z_limit(3)


FOUR = {
    ((0, 1, 2), (3,)): 2,
    ((3,), (0, 2), (1,)): 1,
    ((1, 3), (0, 2)): 2,
    ((2,), (3,), (1,), (0,)): 1,
}


@pytest.mark.compiled
@pytest.mark.parametrize(
    ("alpha", "method"),
    [(1.3, "waiting-times"), (1.3, "hamiltonian"), (0.04, "auto")],
    ids=["sweeps", "moves", "logarithms"],
)
def test_draws_of_larger_blocks_agree_with_importance_sampling(alpha: float, method: str) -> None:
    counts = luce.from_rankings(texts(FOUR), ties="unknown", categories="abcd")
    counts = counts.observe_group("ab", 2, within="abc")  # with other kinds of data

    def log_density(p: Floats, q: Floats) -> Floats:
        value = sum(m * np.log(unknown_order(p, ranking)) for ranking, m in FOUR.items())
        grouped = 2 * np.log(p[..., :2].sum(axis=-1) / p[..., :3].sum(axis=-1))
        return np.asarray(value + grouped + ((alpha - 1) * np.log(p)).sum(axis=-1))

    truth = importance_means(log_density, 4, 0, np.random.default_rng(SEED + 3))
    posterior = Posterior(counts, alpha)
    assert ready_for_rankings(posterior.model).wide == (alpha < 0.05)
    run = posterior.sample(6000, chains=8, seed=SEED + 4, method=method, progress=False)
    assert worst(chain_means(run), truth) < z_limit(4)


def of_choices(tie: Any) -> Any:
    """The log density of p, δ_2 and δ_3 under Davidson and Luce."""

    def log_density(p: Floats, q: Floats) -> Floats:
        delta = np.concatenate([np.ones((*q.shape[:-1], 1)), q], axis=-1)
        value = sum(m * np.log(davidson_luce(p, delta, ranking)) for ranking, m in TIES.items())
        prior = ((ALPHA - 1) * np.log(p)).sum(axis=-1)
        own = ((tie.shape - 1) * np.log(q) - tie.rate * q).sum(axis=-1)
        return np.asarray(value + prior + own)

    return log_density


@pytest.mark.compiled
def test_draws_of_davidson_and_luce_agree_with_importance_sampling() -> None:
    tie, rng = luce.Gamma(1.5, 0.8), np.random.default_rng(SEED + 5)
    truth = importance_means(of_choices(tie), 3, 2, rng)
    counts = luce.from_rankings(texts(TIES), ties="davidson-luce")
    run = Posterior(counts, ALPHA, tie=tie).sample(5000, chains=8, seed=SEED + 6, progress=False)
    assert run.attrs["method"] == "hamiltonian"
    assert list(run.posterior.data_vars) == ["probabilities", "tie2", "tie3"]
    assert worst(chain_means(run), truth) < z_limit(5)
    # Another prior of the weights of ties is another posterior, and so are ties of unknown order.
    other = importance_means(of_choices(luce.Gamma(1.5, 0.9)), 3, 2, rng)
    assert worst(chain_means(run), other) > z_limit(5)
    unknown = luce.from_rankings(texts(TIES), ties="unknown")
    run = Posterior(unknown, ALPHA).sample(5000, chains=8, seed=SEED + 6, progress=False)
    assert worst(chain_means(run), Means(truth.value[:3], truth.error[:3])) > z_limit(5)


@pytest.mark.compiled
def test_a_known_weight_of_ties_is_not_drawn() -> None:
    tie, known = luce.Gamma(1.5, 0.8), 0.4
    counts = luce.from_rankings(texts(TIES), ties="davidson-luce")
    posterior = Posterior(counts, ALPHA, tie={"tie2": tie, "tie3": known})
    run = posterior.sample(5000, chains=8, seed=SEED + 7, progress=False)
    assert list(run.posterior.data_vars) == ["probabilities", "tie2"]

    def log_density(p: Floats, q: Floats) -> Floats:
        delta = np.concatenate([np.ones_like(q), q, np.full_like(q, known)], axis=-1)
        value = sum(m * np.log(davidson_luce(p, delta, ranking)) for ranking, m in TIES.items())
        own = (tie.shape - 1) * np.log(q[..., 0]) - tie.rate * q[..., 0]
        return np.asarray(value + ((ALPHA - 1) * np.log(p)).sum(axis=-1) + own)

    truth = importance_means(log_density, 3, 1, np.random.default_rng(SEED + 8))
    assert worst(chain_means(run), truth) < z_limit(4)


def simulated(seed: int) -> list[list[Any]]:
    """Rankings of eight with ties, of very different strengths."""
    rng = np.random.default_rng(seed)
    strength = np.exp(rng.normal(0, 2, 8))
    found = []
    for _ in range(60):
        times = rng.exponential(1 / strength)
        order = np.argsort(times)
        cuts = np.flatnonzero(np.diff(np.log(times[order])) > 0.25) + 1
        found.append([frozenset(part.tolist()) for part in np.split(order, cuts)])
    return found


@pytest.mark.compiled
@pytest.mark.parametrize("ties", ["unknown", "davidson-luce"])
def test_bad_starts_are_left_behind(ties: str) -> None:
    counts = luce.from_rankings(simulated(SEED), ties=ties)
    posterior = Posterior(counts)
    good = posterior.sample(1000, seed=SEED + 9, progress=False)
    assert good.attrs["method"] == "hamiltonian"
    corner = np.full((4, 8), 1e-12)
    weakest = int(np.argmin(chain_means(good).value[:8]))
    corner[:, weakest] = 1.0
    bad = posterior.sample(
        1000, seed=SEED + 10, initial=corner / corner.sum(axis=1, keepdims=True), progress=False
    )
    assert worst(chain_means(bad), chain_means(good)) < z_limit(8 + len(counts.parameters))


def test_other_methods_are_refused_by_name() -> None:
    unknown = Posterior(luce.from_rankings(texts(BLOCKS), ties="unknown"))
    with pytest.raises(MethodError, match="order; 'waiting-times', 'hamiltonian' can"):
        unknown.sample(10, method="metropolis")
    choices = Posterior(luce.from_rankings(texts(TIES), ties="davidson-luce"))
    with pytest.raises(MethodError, match="ties of up to 3; 'hamiltonian' can"):
        choices.sample(10, method="waiting-times")
    small = Posterior(
        luce.from_rankings(texts(TIES), ties="davidson-luce", categories="abcd", unranked="absent"),
        0.01,
    )
    with pytest.raises(MethodError, match="larger concentration"):
        small.sample(10)
    with pytest.raises(DataError, match="concentration is a number"):
        Posterior(luce.from_rankings(texts(BLOCKS), ties="unknown"), luce.Gamma(1, 1))


def test_curvatures_are_differences_of_slopes() -> None:
    """Value, slope and precision of both kinds agree with each other."""
    for ties in ("unknown", "davidson-luce"):
        counts = luce.from_rankings(texts(FOUR), ties=ties, categories="abcd")
        f = ready_for_rankings(Posterior(counts, 1.3).model).posterior
        z = np.random.default_rng(SEED).normal(0, 1.5, f.size)
        slope, precision = f.slope_and_precision(z)
        step, eye = 1e-4, np.eye(f.size)
        by_value = [(f.value(z + step * e) - f.value(z - step * e)) / (2 * step) for e in eye]
        np.testing.assert_allclose(slope, by_value, rtol=1e-6, atol=1e-6)
        ahead, behind = (
            np.array([f.slope_and_precision(z + s * step * e)[0] for e in eye]) for s in (1, -1)
        )
        np.testing.assert_allclose(precision, (behind - ahead) / (2 * step), rtol=1e-5, atol=1e-6)
        # Concave: one mode.
        assert np.linalg.eigvalsh(precision).min() > 0


@pytest.mark.compiled
def test_modes_are_maxima() -> None:
    for ties in ("unknown", "davidson-luce"):
        counts = luce.from_rankings(simulated(SEED + 1), ties=ties)
        ready = ready_for_rankings(Posterior(counts).model)
        assert ready.mode is not None
        slope, _ = ready.posterior.slope_and_precision(ready.mode[0])
        np.testing.assert_allclose(slope, 0.0, atol=1e-6)
