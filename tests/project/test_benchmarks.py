"""The benchmark's problems are the ones they claim to be, and luce is given the same ones."""

import importlib.util
import sys
import time
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[2]
SHARED = ROOT.parent / "shared" / "benchmarks" / "problems.py"
sys.path.append(str(ROOT / "benchmarks"))

import agree  # noqa: E402
import measure  # noqa: E402
import mode  # noqa: E402
import problems  # noqa: E402
import semi_markov  # noqa: E402

import luce  # noqa: E402

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


SLOW_TO_READ = {"P7", "unequal", "rankings5000"}
SMALL = ["league:teams=4,seasons=2", "teams:players=9,size=2,number=50", "gamma:n=5,number=30"]
SMALL += ["rankings5000:n=4,number=30", "sparse:n=9,number=20", "arena:n=6,number=99"]
SMALL += ["unequal:n=30,number=90,exponent=1", "transitions:states=7,number=99,closed=0.3"]


@pytest.mark.parametrize(
    "name",
    SMALL + [pytest.param(n, marks=[pytest.mark.slow] * (n in SLOW_TO_READ)) for n in NAMES],
)
def test_luce_is_given_the_same_density(name):
    problem = problems.load(name)
    posterior = problem.posterior()
    if problem.hyperprior:
        assert posterior.prior.hyperprior == luce.Gamma(*problem.hyperprior)
        posterior = luce.Posterior(posterior.counts, problem.alpha)
    points = np.random.default_rng(1).dirichlet(np.full(problem.n, 2.0), 3)
    ours = posterior.log_density(points)
    plain = np.asarray([problem.log_density(p) for p in points])
    # The prior's constant is in one and not in the other.
    scale = np.abs(plain).max()
    np.testing.assert_allclose(np.diff(ours), np.diff(plain), rtol=1e-9, atol=1e-11 * scale)


def test_another_seed_makes_other_data_and_the_same_seed_the_same():
    first, second, again = (
        problems.load.__wrapped__(f"league:teams=4,seed={seed}") for seed in (1, 2, 1)
    )
    assert (first.c != second.c).any()
    np.testing.assert_array_equal(first.c, again.c)


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
    problem = problems.from_tallies(np.ones(3), [np.asarray([1, 2])], [{1: 3, 2: 1}])
    drawn = numpy_hidden_counts.prepare(problem, 1, "").draw(0.5)
    rest, share = np.random.default_rng(5).beta([2, 4], [1, 2], (1, 4000, 2)).T
    exact = np.stack([1 - rest, rest * share, rest * (1 - share)]).transpose(2, 1, 0)
    assert verdict(drawn.log_p, measure.moments(np.log(exact))) == "agrees"


def log_likelihood_of_choices(choices, log_p):
    """Of outcomes one by one, each a pair (who, the others that could have been)."""
    members = [np.asarray([one, *others]) for one, others in choices]
    return sum(log_p[row[0]] - np.logaddexp.reduce(log_p[row]) for row in members)


@pytest.mark.parametrize("name", ["P3", "P4"])
def test_the_mode_is_timed_on_the_same_data_in_every_form(name):
    problem = problems.load(name)
    if name == "P3":
        choices = [(winner, [loser]) for winner, loser in mode.wins_of(problem)]
    else:
        choices = [(o[k], o[k + 1 :]) for o in problem.rankings for k in range(len(o) - 1)]
    for log_p in np.log(np.random.default_rng(6).dirichlet(np.full(problem.n, 2.0), 2)):
        theirs = log_likelihood_of_choices(choices, log_p)
        ours = problem.log_density(np.exp(log_p))  # its prior of 1 adds nothing
        np.testing.assert_allclose(theirs, ours, rtol=1e-9)
    assert mode.peer_of(name, problem).read() == problem.posterior().counts


@pytest.mark.slow
def test_the_choices_are_those_of_the_problem():
    problem = problems.load("P7")
    choices = mode.choices_of()
    chosen = np.asarray([one for one, _ in choices])
    offered = np.sort(np.asarray([(one, *others) for one, others in choices]), axis=1)
    np.testing.assert_array_equal(np.bincount(chosen, minlength=problem.n), problem.c)
    [(_, rows)] = problem.rectangles()
    np.testing.assert_array_equal(offered, rows)


def test_of_new_counts_nothing_is_known():
    from luce.model import structure

    counts = problems.load("P3").posterior().counts
    structure.structure_of(counts.sets)
    new = mode.new_counts(counts)
    assert "structure" in counts.sets.memo
    assert "structure" not in new.sets.memo
    assert new == counts


def test_a_median_of_runs_is_measured_and_too_long_is_ended():
    given = iter([0.0, 0.03, 0.03])
    times = mode.measure(lambda s: time.sleep(s) or s, lambda: next(given), seconds=0.05, cap=5.0)
    assert times.runs == 3
    assert 0.03 <= times.median < 1.0
    assert times.least < 0.03
    assert times.found == 0.03
    assert mode.measure(lambda _: time.sleep(5.0), lambda: None, seconds=0.1, cap=0.05) is None


@pytest.mark.parametrize("installed", [True, False])
def test_the_table_of_modes_is_printed(installed, monkeypatch, capsys):
    if installed:
        pytest.importorskip("choix")
    pytest.importorskip("polars")
    found = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if name == "choix" else found(name)
    )
    if installed:
        monkeypatch.undo()
    given = {"problems": "P3", "seconds": 0, "items": 200, "pairs": 2000, "repeats": 1}
    mode.main([f"--{name}={value}" for name, value in given.items()])
    printed = capsys.readouterr().out
    assert "| luce, first call |" in printed
    assert "| 200 items, 2,000 pairs |" in printed
    assert ("choix is not installed, so it is skipped." in printed) != installed
    assert ("| choix ilsr_pairwise_dense |" in printed) == installed


def test_estimates_that_differ_are_found_out(monkeypatch):
    pytest.importorskip("choix")
    peer = mode.peer_of("P3", problems.load("P3"))
    off = {name: lambda: np.zeros(30) for name in peer.methods}
    monkeypatch.setattr(mode, "peer_of", lambda *_: peer._replace(methods=off))
    with pytest.raises(SystemExit, match="different estimates"):
        mode.compare("P3", 0.0, 60.0)


@pytest.mark.parametrize("kind", ["mild", "wide"])
def test_likelihoods_of_time_series_span_what_is_claimed(kind):
    case = semi_markov.make_case(2000, 20, 100, kind)
    assert (case.fit.max(axis=1) == 0).all()
    spans = -case.fit.min(axis=1)
    if kind == "wide":
        assert 120 < np.median(spans) < 160
        assert 700 < spans.max() < 4000
    else:
        assert spans.max() < 30
    for matrix in (case.rows, semi_markov.with_self_loops(case)):
        np.testing.assert_allclose(matrix.sum(axis=1), 1.0)


@pytest.mark.parametrize("installed", [True, False])
def test_the_tables_of_time_series_are_printed(installed, monkeypatch, capsys):
    if installed:
        pytest.importorskip("hmmlearn")
    found = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util,
        "find_spec",
        lambda name: found(name) if installed and name == "hmmlearn" else None,
    )
    monkeypatch.setattr(semi_markov, "WARMUP", 1)
    monkeypatch.setattr(semi_markov, "AIMS", {(60, 3, 20): (1e9, 1e9)})
    semi_markov.main(["--sizes", "60,3,20", "--repeats=1", "--rows=60", "--draws=2"])
    printed = capsys.readouterr().out
    assert "| T = 60, L = 3, M = 20, mild | ms |" in printed
    assert "the rest of a sweep is" in printed
    assert "| whole sweep |" in printed
    assert "fit of 60 rows, 4 × 2 draws" in printed
    assert "dynamax is not installed, so it is skipped." in printed
    assert ("hmmlearn is not installed, so it is skipped." in printed) != installed
    assert ("| hmmlearn, scaling |" in printed) == installed
    assert ("is aimed at: reached" in printed.partition("the rest")[0]) == installed
