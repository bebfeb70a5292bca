"""A concentration that is not known: drawn along with the probabilities, or varied."""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from lib.bounds import SEED
from lib.concentration_truths import (
    LOG_A,
    OVERLAPPING,
    PRIOR,
    Truth,
    overlapping_truth,
    weighted,
)
from scipy.special import gammaln
from scipy.stats import norm

import luce
from luce import ConditionalCounts, Gamma, Posterior
from luce.errors import DataError, MethodError

pytestmark = pytest.mark.compiled

# Asymmetric data whose sets nest, so that evidence and mean are known in closed form for each a.
NESTED = (
    ConditionalCounts("abcd")
    .observe({"a": 5, "b": 1})
    .observe({"c": 3, "b": 2}, without="a")
    .observe_group("cd", 2, without="a")
)


# As above, without groups: one pair in the middle of full counts.
ONE_PAIR = (
    ConditionalCounts("abc")
    .observe({"a": 5, "b": 1, "c": 2})
    .observe({"a": 1, "b": 4}, within="ab")
)


def closed_form(counts: ConditionalCounts, prior: Gamma = PRIOR) -> Truth:
    """A sum over the concentration, everything else being integrated out in closed form."""
    posteriors = [Posterior(counts, float(np.exp(x))) for x in LOG_A]
    evidence = np.array([float(p.log_evidence()) for p in posteriors])
    return weighted(evidence, np.array([p.mean() for p in posteriors]), prior)


def nested_truth(prior: Gamma = PRIOR) -> Truth:
    return closed_form(NESTED, prior)


def one_pair_truth(prior: Gamma = PRIOR) -> Truth:
    return closed_form(ONE_PAIR, prior)


def agrees(run: Any, truth: Truth) -> None:
    """Every mean within the bound for a false alarm in 10,000 tests."""
    posterior = run["posterior"]
    a = posterior["concentration"].to_numpy()
    p = posterior["probabilities"].to_numpy()
    watched = np.concatenate([np.log(a)[..., None], a[..., None], p], axis=2)
    error = luce.answers.diagnostics.mcse(watched).to_numpy()
    z = (watched.mean(axis=(0, 1)) - truth.means) / error
    bound = norm.isf(1e-4 / (2 * len(z)))
    assert np.abs(z).max() < bound, z


@pytest.mark.parametrize("method", ["waiting-times", "hamiltonian"])
@pytest.mark.parametrize(
    ("counts", "truth"),
    [
        pytest.param(NESTED, nested_truth, id="nested"),
        pytest.param(ONE_PAIR, one_pair_truth, id="one pair"),
        pytest.param(OVERLAPPING, overlapping_truth, id="overlapping", marks=pytest.mark.slow),
    ],
)
def test_the_concentration_is_drawn_from_its_posterior(
    counts: ConditionalCounts, truth: Callable[..., Truth], method: str
) -> None:
    run = Posterior(counts, PRIOR).sample(10_000, seed=SEED, method=method, progress=False)
    agrees(run, truth())
    with pytest.raises(AssertionError):  # the same draws against a slightly different prior
        agrees(run, truth(Gamma(2.0, 2.0)))


@pytest.mark.parametrize("broken", [False, True])
def test_a_sampler_that_forgets_the_constant_of_the_prior_is_caught(broken: bool) -> None:
    """A plain sampler on a grid; broken, it leaves Γ(n a) out of p(a | p)."""
    rng = np.random.default_rng([SEED, 1])
    counts = np.array([5.0, 1.0, 0.0])
    a_grid = np.exp(LOG_A)
    constant = -3 * gammaln(a_grid) + (0.0 if broken else gammaln(3 * a_grid))
    prior = PRIOR.shape * LOG_A - PRIOR.rate * a_grid + constant
    a, kept = 1.0, []
    for _ in range(8000):
        g = np.log(rng.standard_gamma(a + counts + 1)) + np.log(rng.random(3)) / (a + counts)
        log_p = g - np.logaddexp.reduce(g)
        weight = np.exp(prior + a_grid * log_p.sum() - (prior + a_grid * log_p.sum()).max())
        a = float(rng.choice(a_grid, p=weight / weight.sum()))
        kept.append((a, *np.exp(log_p)))
    draws = np.array(kept)[1000:].reshape(1, -1, 4)
    run = {"posterior": {
        "concentration": _Array(draws[..., 0]), "probabilities": _Array(draws[..., 1:])
    }}  # fmt: skip
    data = ConditionalCounts("abc").observe({"a": 5, "b": 1})
    posteriors = [Posterior(data, float(x)) for x in a_grid]
    evidence = np.array([float(p.log_evidence()) for p in posteriors])
    truth = weighted(evidence, np.array([p.mean() for p in posteriors]), PRIOR)
    if broken:
        with pytest.raises(AssertionError):
            agrees(run, truth)
    else:
        agrees(run, truth)


class _Array:
    def __init__(self, values: np.ndarray) -> None:
        self._values = values

    def to_numpy(self) -> np.ndarray:
        return self._values


def test_without_data_it_is_the_prior() -> None:
    run = Posterior(NESTED, PRIOR).without_data().sample(10_000, seed=SEED, progress=False)
    a = run["posterior"]["concentration"].to_numpy()
    error = float(luce.answers.diagnostics.mcse(a[..., None]).item())
    assert abs(a.mean() - PRIOR.mean) < 4.1 * error
    assert abs(a.mean() - 1.1 * PRIOR.mean) > 4.1 * error


def test_extreme_priors_are_followed() -> None:
    """Concentrations far from 1, and counts up to 1e12, neither hang nor overflow."""
    counts = ConditionalCounts(5).observe({0: 1e12, 1: 1}, within=[0, 1, 2])
    for prior in (Gamma(0.01, 0.01), Gamma(1e-3, 1e3), Gamma(1e6, 1.0), Gamma(1e8, 1e2)):
        run = _quietly(Posterior(counts, prior))
        a = run["posterior"]["concentration"].to_numpy()
        assert np.isfinite(a).all()
        assert (a > 0).all()
        assert np.isfinite(run["posterior"]["log_probabilities"].to_numpy()).all()


def _quietly(posterior: Posterior) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", luce.ConvergenceWarning)
        return posterior.sample(300, seed=SEED, log_probabilities=True, progress=False)


def test_the_same_seed_gives_the_same_draws_in_any_number_of_threads() -> None:
    posterior = Posterior(OVERLAPPING, PRIOR)
    one, four = (posterior.sample(600, seed=3, threads=t, progress=False) for t in (1, 4))
    assert one["posterior"].to_dataset().equals(four["posterior"].to_dataset())
    other = posterior.sample(600, seed=4, progress=False)
    assert not np.array_equal(
        one["posterior"]["concentration"], other["posterior"]["concentration"]
    )


def test_what_needs_a_number_says_so() -> None:
    posterior = Posterior(NESTED, PRIOR)
    for ask in (posterior.mode, posterior.mean, posterior.variance, posterior.log_evidence):
        with pytest.raises(DataError, match="needs a concentration that is a number"):
            ask()
    with pytest.raises(DataError, match="needs a concentration that is a number"):
        posterior.log_density([0.25] * 4)
    with pytest.raises(MethodError, match="'waiting-times' and 'hamiltonian' can be used"):
        posterior.sample(10, method="metropolis")
    assert "Gamma(shape=2.0, rate=1.5)" in repr(posterior)


@pytest.mark.parametrize("shape", [0, -1, float("nan"), float("inf"), "2", None])
def test_a_gamma_prior_needs_positive_numbers(shape: Any) -> None:
    with pytest.raises(DataError):
        Gamma(shape, 1)
    with pytest.raises(DataError):
        Gamma(1, shape)


def test_a_run_with_a_prior_on_its_concentration_is_saved_whole(tmp_path: Any) -> None:
    run = Posterior(NESTED, PRIOR).sample(600, seed=1, progress=False)
    luce.save(run, tmp_path / "run.nc")
    again = luce.load(tmp_path / "run.nc")
    assert again.identical(run)
    assert luce.posterior_of(again).prior.hyperprior == PRIOR
    assert again.attrs["prior"] == "Dirichlet(a), a ~ Gamma(2, rate 1.5)"


def test_sensitivity_equals_separate_runs() -> None:
    table = luce.workflows.sensitivity(NESTED, [0.5, 3.0], 500, seed=2, progress=False)
    for a in (0.5, 3.0):
        run = Posterior(NESTED, a).sample(500, seed=2, progress=False)
        p = run["posterior"]["probabilities"]
        np.testing.assert_allclose(table["mean"].sel(concentration=a), p.mean(("chain", "draw")))
        np.testing.assert_allclose(table["p_best"].sel(concentration=a), luce.probability_best(run))
    closed = Posterior(NESTED, 3.0).mean()
    np.testing.assert_allclose(table["mean"].sel(concentration=3.0), closed, atol=0.05)
    wide, narrow = (
        luce.workflows.sensitivity(NESTED, [1.0], 500, seed=2, ci_prob=x, progress=False)
        for x in (0.99, 0.5)
    )
    assert (wide["upper"] > narrow["upper"]).all()
    with pytest.raises(DataError, match="different numbers"):
        luce.workflows.sensitivity(NESTED, [1.0, 1.0])
    with pytest.raises(DataError):
        luce.workflows.sensitivity(NESTED, [0.0])
