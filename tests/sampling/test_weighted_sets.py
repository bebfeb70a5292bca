"""Every sampler that takes weighted sets, against quadrature; wrong models are rejected."""

from typing import Any

import numpy as np
import pytest
from lib.bounds import SEED, z_limit
from lib.size import draws
from lib.weighted_cases import (
    CASES,
    OVERLAPPING,
    SINGLE,
    TEAMS,
    Moments,
    counts_of,
    over_concentrations,
    quadrature,
    reversed_weights,
    without_weights,
)

import luce
from luce import ConditionalCounts, DirichletProcess, Gamma, Posterior
from luce.errors import MethodError
from luce.kernels.layouts import lean
from luce.kernels.random import new_bits
from luce.kernels.waiting_times import advance
from luce.model.shapes import raw_problem

pytestmark = pytest.mark.filterwarnings("ignore::luce.ConvergenceWarning")

CONCENTRATION = [1.5, 0.7, 1.0]
# Standard errors of correlated draws are themselves uncertain by some ten per cent.
LIMIT = 1.3 * z_limit(1000)


def worst_z(p: np.ndarray, truth: Moments) -> float:
    """Largest |z| of means and variances of draws of shape (chain, draw, category)."""
    values = np.concatenate([p, (p - truth.mean) ** 2], axis=2)
    error = luce.answers.diagnostics.mcse(values).to_numpy()
    z = (values.mean(axis=(0, 1)) - np.r_[truth.mean, truth.variance]) / error
    return float(np.abs(z).max())


def draw(posterior: Posterior, **options: Any) -> np.ndarray:
    number = draws(compiled=6000, plain=150)
    run = posterior.sample(number, seed=SEED + 3, progress=False, warmup=200, **options)
    return run.posterior["probabilities"].to_numpy()


METHODS = [
    ("single", "auto", True),
    ("single", "single-weighted-set", False),
    ("single", "waiting-times", True),
    ("single", "waiting-times", False),
    ("overlapping", "auto", True),
    ("overlapping", "waiting-times", True),
    ("overlapping", "waiting-times", False),
    ("overlapping", "hamiltonian", True),
    ("overlapping", "hamiltonian", False),
    ("overlapping", "independence", True),
    ("overlapping", "independence", False),
    ("overlapping", "metropolis", True),
    ("overlapping", "metropolis", False),
    ("teams", "auto", True),
    ("teams", "waiting-times", True),
    ("teams", "waiting-times", False),
    ("teams", "hamiltonian", True),
    ("teams", "metropolis", True),
]


@pytest.mark.parametrize(("case", "method", "reduce"), METHODS)
def test_draws_have_the_moments_of_quadrature(case: str, method: str, reduce: bool) -> None:
    terms = CASES[case]
    p = draw(Posterior(counts_of(terms), CONCENTRATION), method=method, reduce=reduce)
    np.testing.assert_allclose(p.sum(axis=2), 1, rtol=1e-12)
    assert worst_z(p, quadrature(terms, CONCENTRATION)) < LIMIT


@pytest.mark.compiled
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("wrong", [without_weights, reversed_weights])
def test_wrong_weights_are_rejected(case: str, wrong: Any) -> None:
    """The same comparison tells the draws from a posterior with other weights."""
    p = draw(Posterior(counts_of(CASES[case]), CONCENTRATION))
    assert worst_z(p, quadrature(wrong(CASES[case]), CONCENTRATION)) > 2 * LIMIT


@pytest.mark.compiled
@pytest.mark.parametrize("shape", ["right", "full sets dropped"])
def test_shape_of_the_total(shape: str) -> None:
    """A full set with unequal weights stays: the total's shape counts its outcomes."""
    terms = [*SINGLE[:3], ((0, 1, 0), 6, (0.2, 1, 0.2))]
    counts = counts_of(terms)
    problem = raw_problem(counts, np.array(CONCENTRATION))
    assert problem.total_shape == pytest.approx(sum(CONCENTRATION))
    if shape != "right":
        problem = problem._replace(total_shape=problem.total_shape + problem.waits.sum())
    p = np.empty((4, 20_000, 3))
    for chain, seed in zip(p, np.random.SeedSequence(SEED).spawn(4), strict=True):
        bits, state, stat = new_bits(seed), np.full(3, 1 / 3), np.empty(len(chain))
        advance(bits, lean(problem), None, state, np.zeros(4), False, chain, stat, None)
    z = worst_z(p[:, 100:], quadrature(terms, CONCENTRATION))
    assert z < LIMIT if shape == "right" else z > 2 * LIMIT


@pytest.mark.compiled
@pytest.mark.parametrize("terms", [OVERLAPPING, TEAMS], ids=["overlapping", "teams"])
def test_a_drawn_concentration(terms: Any) -> None:
    right = over_concentrations(terms, 6, 4)
    wrong = over_concentrations(without_weights(terms), 6, 4)
    for method in ("waiting-times", "hamiltonian"):
        p = draw(Posterior(counts_of(terms), Gamma(6, 4)), method=method)
        assert worst_z(p, right) < LIMIT
        assert worst_z(p, wrong) > LIMIT


@pytest.mark.parametrize("case", ["single", "overlapping"])
def test_a_dirichlet_process(case: str) -> None:
    """With base mass everywhere it is a Dirichlet prior."""
    prior = DirichletProcess(3, {"a": 0.5, "b": 0.2}, "c")
    p = draw(Posterior(counts_of(CASES[case]), prior))
    assert worst_z(p, quadrature(CASES[case], [1.5, 0.6, 0.9])) < LIMIT


@pytest.mark.compiled
@pytest.mark.parametrize("terms", [SINGLE, OVERLAPPING, TEAMS], ids=["single", "overlap", "teams"])
def test_tiny_concentrations(terms: Any) -> None:
    """Numbers are kept as logarithms, and groups of categories are shifted."""
    unbounded = [*terms[1:3], ((0, 1, 0), 2, (1, 0.5, 0)), ((0, 0, 1), 1, (0, 0.5, 2))]
    truth = quadrature(unbounded, 0.04, depth=16.0)
    for method in ("auto", "waiting-times"):
        p = draw(Posterior(counts_of(unbounded), 0.04), method=method)
        assert worst_z(p, truth) < LIMIT


@pytest.mark.compiled
def test_a_single_set_is_drawn_independently_whatever_its_shapes() -> None:
    """Many levels, large counts, a tiny and a huge shape; the rejection accepts most proposals."""
    for scale, concentration in [(1, 0.3), (1000, 1.0), (1, 0.01), (3, 50.0)]:
        within = {i: 0.5**i for i in range(8)}
        counts = ConditionalCounts(9).observe(
            {i: scale * (1 + i % 3) for i in range(8)}, within=within
        )
        run = Posterior(counts, concentration).sample(2000, seed=SEED, progress=False)
        assert run.attrs["method"] == "single-weighted-set"
        assert run.attrs["independent_draws"] == 1
        assert float(run.sample_stats["proposals"].mean()) < 1.6


def test_a_single_set_inside_other_parts() -> None:
    """A weighted set of two members, among nested ordinary sets, against importance sampling."""
    counts = ConditionalCounts("abcde").observe({"a": 3, "b": 1}, within={"a": 1, "b": 0.2})
    counts = counts.observe({"c": 2, "a": 1}, within="abc").observe({"d": 2, "e": 1})
    posterior = Posterior(counts)
    assert [core.n_sets for core in posterior.structure.cores] == [1]
    p = draw(posterior, chains=2).reshape(-1, 5)
    rng = np.random.default_rng(SEED)
    x = rng.dirichlet(np.ones(5), 400_000)
    log_w = 3 * np.log(x[:, 0]) + np.log(x[:, 1]) - 4 * np.log(x[:, 0] + 0.2 * x[:, 1])
    log_w += 2 * np.log(x[:, 2]) + np.log(x[:, 0]) - 3 * np.log(x[:, :3].sum(axis=1))
    log_w += 2 * np.log(x[:, 3]) + np.log(x[:, 4])
    w = np.exp(log_w - log_w.max())
    mean = (w[:, None] * x).sum(axis=0) / w.sum()
    theirs = np.sqrt((w[:, None] ** 2 * (x - mean) ** 2).sum(axis=0)) / w.sum()
    error = np.hypot(theirs, p.std(axis=0) / np.sqrt(len(p)))
    assert (np.abs(p.mean(axis=0) - mean) / error).max() < z_limit(5)


def test_methods_without_weights_refuse() -> None:
    posterior = Posterior(counts_of(OVERLAPPING))
    with pytest.raises(MethodError, match="weighted sets"):
        posterior.sample(10, method="hidden-counts", progress=False)
    with pytest.raises(MethodError, match="single set with weights"):
        posterior.sample(10, method="single-weighted-set", progress=False)
    with pytest.raises(MethodError, match="have weights"):
        posterior.sample(10, method="exact", progress=False)


def test_the_choice_says_why() -> None:
    assert "single set with weights" in str(Posterior(counts_of(SINGLE)).structure)
