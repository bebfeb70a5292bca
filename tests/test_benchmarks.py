"""The benchmark's problems are the ones they claim to be, and luce is given the same ones."""

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[1]
SHARED = ROOT.parent / "shared" / "benchmarks" / "problems.py"
sys.path.append(str(ROOT / "benchmarks"))

import agree  # noqa: E402
import measure  # noqa: E402
import problems  # noqa: E402

NAMES = list(problems.MAKERS)


@pytest.mark.parametrize("name", [name for name in NAMES if name.startswith("P")])
def test_the_data_is_that_of_the_yardstick(name):
    if not SHARED.exists():
        pytest.skip("the yardstick is not here")
    spec = importlib.util.spec_from_file_location("yardstick", SHARED)
    yardstick = sys.modules["yardstick"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(yardstick)
    theirs, ours = yardstick.load(name), problems.load(name)
    assert ours.excluded == theirs.comp
    for field in ("alpha", "c", "m", "ptr", "idx"):
        np.testing.assert_array_equal(getattr(ours, field), getattr(theirs, field), field)
    np.testing.assert_array_equal(ours.monitored, theirs.monitored())


@pytest.mark.parametrize("name", NAMES)
def test_luce_is_given_the_same_density(name):
    problem = problems.load(name)
    posterior = problem.posterior()
    points = np.random.default_rng(1).dirichlet(np.full(problem.n, 2.0), 3)
    ours = posterior.log_density(points)
    plain = np.asarray([problem.log_density(p) for p in points])
    # The prior's constant is in one and not in the other.
    scale = np.abs(plain).max()
    np.testing.assert_allclose(np.diff(ours), np.diff(plain), rtol=1e-9, atol=1e-11 * scale)


def test_every_outcome_is_given_some_set():
    for name in NAMES:
        problem = problems.load(name)
        assert problem.c.sum() == problem.m.sum(), name


def test_the_matrix_of_sets_adds_up_the_same():
    problem = problems.load("P3")
    p = np.random.default_rng(2).dirichlet(np.ones(problem.n))
    np.testing.assert_allclose(problem.dense() @ p, problem.set_sums(p), rtol=1e-12)


def verdict(log_p, true):
    run = {"ess": measure.ess(np.exp(log_p)).min(), "rhat": measure.rhat(log_p)}
    return agree.compare(run, measure.moments(log_p), true).verdict


def test_agreement_is_seen_and_so_is_its_absence():
    rng = np.random.default_rng(3)
    shape = np.asarray([1.0, 2.0, 3.0])
    log_p = np.log(rng.dirichlet(shape, (1, 4000)))
    true = measure.moments(np.log(rng.dirichlet(shape, (1, 4000))))
    assert verdict(log_p, true) == "agrees"
    assert verdict(np.log(rng.dirichlet(shape + [0.5, 0, 0], (1, 4000))), true) == "means differ"
    stuck = np.repeat(log_p[:, :40], 100, axis=1)
    assert verdict(stuck, true) == "did not converge"
    assert verdict(np.broadcast_to(log_p[:, :1], log_p.shape), true) == "did not converge"


def test_the_papers_sampler_in_numpy_agrees_with_independent_draws():
    from samplers import numpy_hidden_counts

    # One set, all but category 0: p_0 is Beta(1, 2), and the rest is split as if all were seen.
    problem = problems.from_tallies("one set", np.ones(3), [np.asarray([1, 2])], [{1: 3, 2: 1}])
    drawn = numpy_hidden_counts.prepare(problem, 1, "").draw(0.5)
    rest, share = np.random.default_rng(5).beta([2, 4], [1, 2], (1, 4000, 2)).T
    exact = np.stack([1 - rest, rest * share, rest * (1 - share)]).transpose(2, 1, 0)
    assert verdict(drawn.log_p, measure.moments(np.log(exact))) == "agrees"
