"""Hamiltonian moves of probabilities and concentration together: fit, choice and draws."""

from typing import Any

import numpy as np
import pytest
from lib.bounds import SEED, z_limit
from lib.concentration_truths import LOG_A, PRIOR, weighted
from lib.nests import bits

import luce
from luce import ConditionalCounts, DirichletProcess, Gamma, Posterior
from luce.errors import MethodError
from luce.kernels import HAMILTONIAN_CONCENTRATION
from luce.kernels.grouped_outcomes import split_space
from luce.kernels.hamiltonian_concentration import JointMetric
from luce.kernels.layouts import lean
from luce.kernels.problem import Problem
from luce.model.model import Model
from luce.sampling.concentration import (
    Marginal,
    ReadyModel,
    choose_with_concentration,
    prepare_with_concentration,
)

pytestmark = pytest.mark.compiled

# One set, so that the evidence of each concentration is known; asymmetric.
ONE_PAIR = (
    ConditionalCounts("abc")
    .observe({"a": 5, "b": 1, "c": 2})
    .observe({"a": 1, "b": 4}, within="ab")
)


def ring(n: int, each: int, seed: int = 4) -> ConditionalCounts:
    """Games of neighbours on a ring, the last player losing all of them."""
    rng, counts = np.random.default_rng(seed), ConditionalCounts(n)
    for i in range(n):
        j = (i + 1) % n
        won = int(rng.binomial(each, 0.3 + 0.4 * rng.random()))
        won = each if j == n - 1 else 0 if i == n - 1 else won
        counts = counts.observe({i: won, j: each - won}, within=[i, j])
    return counts


def joint(counts: ConditionalCounts, prior: Any = PRIOR) -> tuple[Problem, JointMetric]:
    _, problem, fit = prepare_with_concentration(Model(counts, prior), "hamiltonian")
    return problem, fit


def run(
    problem: Problem, fit: JointMetric, draws: int, step: float | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Advance the kernel alone; return log a, a and p, and the statistic, after warm-up."""
    n, own, space = len(problem.shape), bits(50 + SEED), split_space(problem)
    state, first = np.r_[np.full(n, -np.log(n)), 0.0], np.log(fit.metric.step)
    tuning = np.array([first, 0.0, first, 0.0])
    for size, adapt in ((1000, True), (draws, False)):
        if step is not None:
            tuning[:3:2] = np.log(step)
        out, stat = np.empty((size, n + 1)), np.empty(size)
        args = (own, lean(problem), fit, state, tuning, adapt, out, stat, space)
        HAMILTONIAN_CONCENTRATION.advance(*args)
    return np.column_stack([np.log(out[:, n]), out[:, n], np.exp(out[:, :n])]), stat


def scores(draws: np.ndarray, expected: np.ndarray) -> np.ndarray:
    """Errors of means in standard errors."""
    error = luce.answers.diagnostics.mcse(draws[None]).to_numpy()
    return np.asarray(np.abs(draws.mean(axis=0) - expected) / error)


def truth() -> np.ndarray:
    posteriors = [Posterior(ONE_PAIR, float(np.exp(x))) for x in LOG_A]
    evidence = np.array([float(p.log_evidence()) for p in posteriors])
    return weighted(evidence, np.array([p.mean() for p in posteriors]), PRIOR).means


def narrowed(fit: JointMetric) -> JointMetric:
    """A metric that is wrong in every direction, which only costs efficiency."""
    n = len(fit.hyper.weights) + 1
    root = np.tril(fit.metric.root * np.linspace(0.5, 1.4, n)) + np.diag(np.full(n, 0.1))
    back = np.ascontiguousarray(root.T)
    return fit._replace(metric=fit.metric._replace(root=root, root_transposed=back))


def test_draws_have_the_means_of_the_posterior_in_any_metric() -> None:
    problem, fit = joint(ONE_PAIR)
    expected, limit = truth(), z_limit(2 * 5)
    assert scores(run(problem, fit, 40_000)[0], expected).max() < limit
    assert scores(run(problem, narrowed(fit), 40_000)[0], expected).max() < limit


@pytest.mark.parametrize(
    "wrong",
    [
        pytest.param({"net": 6.0}, id="a total of fewer outcomes"),
        pytest.param({"times": np.array([2.0])}, id="a category forgotten"),
        pytest.param({"rate": 2.0}, id="another prior"),
    ],
)
def test_a_wrong_density_is_caught(wrong: dict[str, Any]) -> None:
    problem, fit = joint(ONE_PAIR)
    draws, _ = run(problem, fit._replace(hyper=fit.hyper._replace(**wrong)), 40_000)
    assert scores(draws, truth()).max() > z_limit(5)


@pytest.mark.parametrize("prior", [PRIOR, Gamma(0.5, 20.0)], ids=["usual", "tiny"])
def test_small_steps_keep_the_energy(prior: Gamma) -> None:
    """The slope is that of the density: with a wrong one no step would be small enough."""
    problem, fit = joint(ring(6, 3), prior)
    short = fit._replace(metric=fit.metric._replace(length=0.5))
    _, stat = run(problem, short, 1000, step=0.02)
    assert stat.mean() > 0.99
    rough = short._replace(metric=short.metric._replace(length=6.0))
    assert run(problem, rough, 1000, step=6.0)[1].mean() < 0.9


CASES = {
    "ring": (ring(8, 6), Gamma(2.0, 1.0)),
    "small concentrations": (ring(8, 6), Gamma(2.0, 20.0)),
    "a process with named atoms": (
        ConditionalCounts([*"abc", "remainder"])
        .observe({"a": 3, "b": 1, "c": 2, "remainder": 1})
        .observe({"a": 2, "b": 2}, within="ab")
        .observe({"b": 1, "c": 3}, within="bc"),
        DirichletProcess(Gamma(2.0, 1.0), {"a": 0.3}),
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_moves_and_sweeps_agree(case: str) -> None:
    counts, prior = CASES[case]
    means, errors = [], []
    for k, method in enumerate(("hamiltonian", "waiting-times")):
        drawn = Posterior(counts, prior).sample(
            20_000, method=method, seed=SEED + k, log_probabilities=True, progress=False
        )["posterior"]
        x = np.log(drawn["concentration"].to_numpy())[..., None]
        watched = np.concatenate([x, np.exp(x), drawn["probabilities"].to_numpy()], axis=2)
        means.append(watched.mean(axis=(0, 1)))
        errors.append(luce.answers.diagnostics.mcse(watched).to_numpy())
    error, limit = np.hypot(*errors), z_limit(len(means[0]))
    assert (np.abs(means[0] - means[1]) < limit * error).all()
    assert np.abs(1.1 * means[0] - means[1]).max() > limit * error.min()  # 10 per cent would show


def test_the_posterior_of_the_concentration_is_fitted() -> None:
    """With some data Laplace's method is right to a tenth of a nat within two deviations."""
    counts = ConditionalCounts("abcd").observe({"a": 40, "b": 25, "c": 30, "d": 12})
    counts = counts.observe({"a": 9, "b": 14}, within="ab")
    ready = ReadyModel(Model(counts, PRIOR))
    marginal = Marginal(ready.problem, ready.hyper)
    summit = marginal.summit()
    deviation = summit.precision**-0.5
    grid = summit.top.x + deviation * np.linspace(-2.0, 2.0, 9)
    fitted = np.array([marginal.at(float(x)).log_density for x in grid])
    exact = np.array([float(Posterior(counts, float(np.exp(x))).log_evidence()) for x in grid])
    exact += PRIOR.shape * grid - PRIOR.rate * np.exp(grid)
    np.testing.assert_allclose(fitted - fitted[4], exact - exact[4], atol=0.1)
    assert np.ptp(exact) > 1.0
    assert abs(exact.argmax() - 4) <= 1


def test_the_cheaper_method_is_chosen_with_a_reason() -> None:
    name, reason = choose_with_concentration(Model(ring(20, 12), PRIOR), "auto")
    assert name == "hamiltonian"
    assert "a waiting-time sweep is worth about" in reason
    full = ConditionalCounts("abcde").observe(dict(zip("abcde", (30, 20, 9, 4, 50), strict=True)))
    assert choose_with_concentration(Model(full, PRIOR), "auto")[0] == "waiting-times"
    many = ConditionalCounts(2000).observe({0: 3, 1: 1}, within=[0, 1])
    assert choose_with_concentration(Model(many, PRIOR), "auto")[0] == "waiting-times"
    assert "hamiltonian" in str(Posterior(ring(20, 12), PRIOR).structure)


def test_a_method_that_does_not_fit_is_refused() -> None:
    many = ConditionalCounts(1001).observe({0: 3, 1: 1}, within=[0, 1])
    with pytest.raises(MethodError, match=r"2 to 1,000 categories.*there are 1,001"):
        Posterior(many, PRIOR).sample(10, method="hamiltonian", progress=False)
    one = ConditionalCounts("a").observe({"a": 3})
    with pytest.raises(MethodError, match="2 to 1,000 categories"):
        Posterior(one, PRIOR).sample(10, method="hamiltonian", progress=False)


@pytest.mark.filterwarnings("ignore::luce.ConvergenceWarning")
def test_extreme_data_neither_hangs_nor_overflows() -> None:
    counts = ConditionalCounts(5).observe({0: 1e12, 1: 1}, within=[0, 1])
    for prior in (Gamma(0.01, 0.01), Gamma(1e6, 1.0), Gamma(1e8, 1e2)):
        drawn = _quietly(Posterior(counts, prior))["posterior"]
        assert np.isfinite(drawn["log_probabilities"].to_numpy()).all()
        a = drawn["concentration"].to_numpy()
        assert (np.isfinite(a) & (a > 0)).all()


def _quietly(posterior: Posterior) -> Any:
    return posterior.sample(
        300, seed=SEED, method="hamiltonian", log_probabilities=True, progress=False
    )
