"""Transitions whose rows share a base: against quadrature, against the joint distribution."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from lib.bounds import SEED, z_limit
from lib.hdp_oracles import (
    Floats,
    Point,
    Truth,
    plain_rows,
    plain_sweep,
    quadrature,
    simulate_counts,
)

import luce
from luce import Gamma, HDPTransitions
from luce.errors import DataError
from luce.sequences import HDPState

pytestmark = pytest.mark.compiled

DIAGONAL = np.eye(3, dtype=bool)

# Counts, α, γ, and what a quadrature by somebody else said: E[β], or the sd of β_0.
CASES: list[tuple[Any, float, float, list[float]]] = [
    ([[0, 50, 50], [90, 0, 10], [90, 10, 0]], 6.0, 6.0, [0.565, 0.217, 0.217]),
    ([[0, 50, 50], [50, 0, 0], [50, 0, 0]], 20.0, 6.0, [0.857, 0.072, 0.072]),
    ([[0, 30, 2], [25, 0, 5], [4, 3, 0]], 3.0, 3.0, [0.163]),
]
# Two entries forbidden in one row, so that hidden counts must be spread.
MASK = np.eye(4, dtype=bool)
MASK[0, 1] = MASK[2, 0] = True
MASKED = np.array([[0, 0, 9, 1], [4, 0, 2, 0], [0, 7, 0, 1], [2, 2, 0, 0]], float)


def against(truth: Truth, base: Floats, rows: Floats) -> Floats:
    """|z| of means, variances, row means and covariances; draws are (chain, draw, ...)."""
    n = base.shape[2]
    centred = base - truth.mean
    watched = [base, centred**2]
    expected = [truth.mean, truth.sd**2]
    for i in range(n):
        moving = [j for j in range(n) if np.ptp(rows[..., i, j]) > 0 and truth.rows[i, j] < 1]
        watched += [rows[..., i, moving], centred[..., moving] * rows[..., i, moving]]
        expected += [truth.rows[i, moving], truth.covariance[i, moving]]
    values = np.concatenate(watched, axis=2)
    error = luce.answers.diagnostics.mcse(values).to_numpy()
    return np.abs(values.mean(axis=(0, 1)) - np.concatenate(expected)) / error


# -- against quadrature ---------------------------------------------------------------------


@pytest.mark.parametrize(("counts", "alpha", "gamma", "known"), CASES)
def test_base_and_rows_agree_with_quadrature(
    counts: Any, alpha: float, gamma: float, known: list[float]
) -> None:
    truth = quadrature(np.array(counts, float), DIAGONAL, alpha, gamma)
    others = truth.mean if len(known) == 3 else truth.sd[:1]
    np.testing.assert_allclose(others, known, atol=6e-4)
    run = HDPTransitions(3, alpha, gamma).fit(np.array(counts), 10_000, seed=SEED, progress=False)
    base, rows = (run.posterior[name].to_numpy() for name in ("base", "rows"))
    z = against(truth, base, rows)
    assert z.max() < z_limit(len(z)), z
    for i in range(3):
        assert (rows[..., i, i] == 0.0).all()


def test_masks_agree_with_quadrature() -> None:
    truth = quadrature(MASKED, MASK, 4.0, 5.0)
    finer = quadrature(MASKED, MASK, 4.0, 5.0, points=61)
    np.testing.assert_allclose(truth.covariance, finer.covariance, atol=1e-6)
    model = HDPTransitions(4, 4.0, 5.0, forbidden={0: [1], 2: [0]})
    run = model.fit(MASKED, 10_000, seed=SEED, progress=False)
    base, rows = (run.posterior[name].to_numpy() for name in ("base", "rows"))
    z = against(truth, base, rows)
    assert z.max() < z_limit(len(z)), z
    assert (rows[..., MASK] == 0.0).all()
    np.testing.assert_allclose(rows.sum(axis=-1), 1.0)


@pytest.mark.slow
@pytest.mark.parametrize(
    "fault", ["", "trials", "rows first", pytest.param("by_base", marks=pytest.mark.slow)]
)
def test_faults_are_seen_by_quadrature(fault: str) -> None:
    """The same sweep in plain NumPy is right; with one fault it is not."""
    rng = np.random.default_rng([SEED, 3])
    hard = fault == "by_base"  # to see
    counts, forbidden, alpha, gamma = MASKED, MASK, 1.0 if hard else 4.0, 5.0
    truth = quadrature(counts, forbidden, alpha, gamma)
    draws = 6000 if hard else 1500
    base, rows = np.empty((1, draws, 4)), np.empty((1, draws, 4, 4))
    switch = {fault: True} if fault in ("trials", "by_base") else {}
    point = Point(np.full(4, 0.25), np.zeros((4, 4)), alpha, gamma)
    for d in range(-50, draws):
        old, none = point.base, np.zeros(4)
        point = plain_sweep(rng, counts, none, forbidden, point, None, **switch)
        if d >= 0:
            base[0, d], rows[0, d] = point.base, point.rows
            if fault == "rows first":
                rows[0, d] = plain_rows(rng, counts, forbidden, old, alpha)
    z = against(truth, base, rows)
    assert (z.max() > z_limit(len(z))) == bool(fault), z
    if fault == "rows first":  # each alone looks right
        assert z[:8].max() < z_limit(len(z))


# -- the joint distribution of parameters and data (Geweke 2004) ------------------------------

PRIORS = ((3.0, 1.0), (4.0, 1.5))
GAMMAS = tuple(Gamma(*p) for p in PRIORS)


def compare(successive: Floats, independent: Floats) -> Floats:
    """|z| of means over chains (chain, step, statistic) against independent draws."""
    means = successive.mean(axis=1)
    error = means.var(axis=0, ddof=1) / len(means) + independent.var(axis=0) / len(independent)
    return np.abs(means.mean(axis=0) - independent.mean(axis=0)) / np.sqrt(error)


def weak_statistics(point: Point, counts: Floats) -> list[float]:
    base, rows = point.base, point.rows
    return [
        np.log(point.alpha), np.log(point.gamma), point.alpha * point.gamma, base[0], base[1],
        (base**2).sum(), rows[0, 2], base[2] * rows[0, 2], base[3] * rows[1, 3],
        counts[:, 1].sum(), float((counts > 0).sum()), base[0] * counts[1, 0],
        float((rows @ base).sum()),
    ]  # fmt: skip


def prior_point(rng: np.random.Generator) -> Point:
    alpha, gamma = (rng.gamma(r) / b for r, b in PRIORS)
    base = np.maximum(rng.dirichlet(np.full(4, gamma / 4)), 1e-290)
    return Point(base, plain_rows(rng, np.zeros((4, 4)), MASK, base, alpha), alpha, gamma)


Step = Callable[[np.random.Generator, Floats, Floats, Point], Point]


@cache
def independent_draws(data: int) -> Floats:
    rng = np.random.default_rng([SEED, 4, data])
    drawn = []
    for _ in range(4000):
        point = prior_point(rng)
        drawn.append(weak_statistics(point, simulate_counts(rng, *point[:2], data)[0]))
    return np.array(drawn)


def joint(step: Step, chains: int, length: int, data: int) -> Floats:
    """|z| of a sampler that alternates with simulated data; chains start in equilibrium."""
    rng = np.random.default_rng([SEED, 5, data])
    independent = independent_draws(data)
    kept = np.empty((chains, length, independent.shape[1]))
    for c in range(chains):
        point = prior_point(rng)
        for d in range(length):
            counts, starts = simulate_counts(rng, *point[:2], data)
            point = step(rng, counts, starts, point)
            kept[c, d] = weak_statistics(point, counts)
    return compare(kept, independent)


def our_step(rng: np.random.Generator, counts: Floats, starts: Floats, point: Point) -> Point:
    model = HDPTransitions(4, *GAMMAS, forbidden=[(0, 1), (2, 0)])
    state = HDPState(np.log(point.base), point.rows, point.alpha, point.gamma, (0, 1, 2, 3))
    new, _ = model.resample(rng, counts, state, starts)
    base = np.maximum(new.base, 1e-290)  # kept as a number here, not as a logarithm
    return Point(base, new.rows, new.concentration, new.base_concentration)


def our_step_rows_first(
    rng: np.random.Generator, counts: Floats, starts: Floats, point: Point
) -> Point:
    new = our_step(rng, counts, starts, point)
    return new._replace(rows=plain_rows(rng, counts, MASK, point.base, point.alpha))


def plain_step(trials: bool) -> Step:
    def step(rng: np.random.Generator, counts: Floats, starts: Floats, point: Point) -> Point:
        return plain_sweep(rng, counts, starts, MASK, point, PRIORS, trials=trials)

    return step


@pytest.mark.slow
@pytest.mark.parametrize("data", [pytest.param(4, marks=pytest.mark.slow), 12])
def test_the_joint_distribution_is_left_as_it_is(data: int) -> None:
    z = joint(our_step, 200, 12, data)
    assert z.max() < z_limit(len(z)), z


@pytest.mark.slow
def test_rows_before_the_base_change_the_joint_distribution() -> None:
    z = joint(our_step_rows_first, 200, 12, 4)
    assert z.max() > z_limit(len(z)), z


@pytest.mark.slow
@pytest.mark.parametrize("trials", [False, True])
def test_counting_trials_changes_the_joint_distribution(trials: bool) -> None:
    z = joint(plain_step(trials), 100, 15, 12)
    assert (z.max() > z_limit(len(z))) == trials, z


# -- the nonparametric form -------------------------------------------------------------------

OPEN = HDPTransitions("nonparametric", *GAMMAS)
STICKS = 150  # of the simulation: what is left has (γ / (1 + γ))^150 of the mass


def open_statistics(
    base: Floats, rows: Floats, counts: Floats, starts: Floats, alpha: float, gamma: float
) -> list[float]:
    """`base` ends with the remainder; all states have counts or a start."""
    first = int(np.argmax(starts))
    entered = float(counts.sum(axis=0) @ base[:-1])
    return [
        np.log(alpha), np.log(gamma), alpha * gamma, len(counts), base[-1], (base[:-1] ** 2).sum(),
        base[first], rows[first, -1], rows[first, -1] * base[-1], entered,
        float(rows[first, :-1] @ base[:-1]), counts.max(),
    ]  # fmt: skip


def open_prior(rng: np.random.Generator, length: int) -> list[float]:
    """Sticks, rows over them, a sequence; then only what occurred keeps its name."""
    alpha, gamma = (rng.gamma(r) / b for r, b in PRIORS)
    left = np.exp(np.r_[0.0, np.cumsum(np.log1p(-rng.random(STICKS)) / gamma)])
    base = np.maximum(-np.diff(left), 1e-290)
    path = [int(np.searchsorted(np.cumsum(base), rng.random() * base.sum()))]
    rows: dict[int, Floats] = {}
    for u in rng.random(length + 1):
        here = path[-1]
        if here not in rows:
            mask = (np.arange(STICKS) == here)[None]
            rows[here] = plain_rows(rng, np.zeros((1, STICKS)), mask, base, alpha)[0]
        path.append(int(np.searchsorted(np.cumsum(rows[here]), u * rows[here].sum())))
    used = sorted(set(path[:-1]))
    place = [used.index(i) for i in path[:-1]]
    counts, starts = np.zeros((len(used), len(used))), np.eye(len(used))[place[0]]
    np.add.at(counts, (place[:-1], place[1:]), 1.0)
    few = np.array([rows[i][used] for i in used])
    return open_statistics(
        np.r_[base[used], 1 - base[used].sum()],
        np.hstack([few, 1 - few.sum(axis=1, keepdims=True)]), counts, starts, alpha, gamma,
    )  # fmt: skip


def open_data(
    rng: np.random.Generator, state: HDPState, length: int, at_once: bool = False
) -> tuple[HDPState, Floats, Floats]:
    """A sequence that names states as it comes upon them.

    What falls on the remainder need not fall on the next stick: the same u is looked up again.
    `at_once` forgets that.
    """
    path: list[int] = []
    for u in rng.random(length + 1):
        here = -1
        while here < 0:
            law = state.base if not path else state.rows[path[-1]]
            here = int(np.searchsorted(np.cumsum(law), u * law.sum(), side="right"))
            if here >= len(state.states):
                state = OPEN.break_off(rng, state)
                here = len(state.states) - 1 if at_once else -1
        path.append(here)
    n = len(state.states)
    counts = np.zeros((n, n))
    np.add.at(counts, (path[:-1], path[1:]), 1.0)
    return state, counts, np.eye(n)[path[0]]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fault", "length", "chains"),
    [
        ("", 10, 120),
        pytest.param("starts not told", 3, 220, marks=pytest.mark.slow),
        pytest.param("", 10, 1500, marks=pytest.mark.slow),
        pytest.param("at once", 10, 1500, marks=pytest.mark.slow),
    ],
)
def test_direct_assignment_leaves_the_joint_distribution(
    fault: str, length: int, chains: int
) -> None:
    """States come and go."""
    rng = np.random.default_rng([SEED, 6])
    steps = 8
    independent = np.array([open_prior(rng, length) for _ in range(max(2000, 8 * chains))])
    kept = np.empty((chains, steps, independent.shape[1]))
    made = lost = 0
    for c in range(chains):
        state = OPEN.initial_state(rng)
        for d in range(steps):
            before = len(state.states)
            state, counts, starts = open_data(rng, state, length, fault == "at once")
            made += len(state.states) - before
            told = starts
            if fault == "starts not told":
                told = starts * (counts.sum(axis=0) == 0)
            state, info = OPEN.resample(rng, counts, state, told)
            lost += len(counts) - len(info.kept)
            counts, starts = counts[np.ix_(info.kept, info.kept)], starts[info.kept]
            kept[c, d] = open_statistics(
                state.base, state.rows, counts, starts, state.concentration,
                state.base_concentration,
            )  # fmt: skip
    assert made > chains
    assert lost > chains
    z = compare(kept, independent)
    assert (z.max() > z_limit(len(z))) == bool(fault), z


def test_the_nonparametric_fit_is_the_limit_of_weak_ones() -> None:
    """With 200 states to choose from, a weak limit hardly differs; with 4 it does."""
    counts = np.array([[0, 6, 1], [5, 0, 3], [2, 1, 0]])
    run = OPEN.fit(counts, 8000, seed=SEED, progress=False)
    assert run.posterior["state"].to_numpy().tolist() == [0, 1, 2, "remainder"]
    ours = run.posterior["base"].to_numpy()
    np.testing.assert_allclose(ours.sum(axis=2), 1.0)

    def z_against(n: int) -> float:
        padded = np.zeros((n, n))
        padded[:3, :3] = counts
        weak = HDPTransitions(n, *GAMMAS)
        other = weak.fit(padded, 1000, seed=SEED + 1, rows=False, progress=False)
        theirs = other.posterior["base"].to_numpy()[:, :, :3]
        errors = [luce.answers.diagnostics.mcse(x).to_numpy() for x in (ours[:, :, :3], theirs)]
        gap = ours[:, :, :3].mean(axis=(0, 1)) - theirs.mean(axis=(0, 1))
        return float(np.abs(gap / np.hypot(*errors)).max())

    assert z_against(200) < z_limit(3)
    assert z_against(4) > z_limit(3)


# -- what users see ---------------------------------------------------------------------------


def test_resampling_is_pure_and_repeatable() -> None:
    model = HDPTransitions(4, *GAMMAS, forbidden=MASK)
    state = model.initial_state(np.random.default_rng(1))
    before = (state.log_base.copy(), state.rows.copy(), MASKED.copy())
    results = [model.resample(np.random.default_rng(s), MASKED, state)[0] for s in (2, 2, 3)]
    np.testing.assert_array_equal(results[0].rows, results[1].rows)
    np.testing.assert_array_equal(results[0].log_base, results[1].log_base)
    assert not np.array_equal(results[0].rows, results[2].rows)
    for old, now in zip(before, (state.log_base, state.rows, MASKED), strict=True):
        np.testing.assert_array_equal(old, now)
    for result in results:
        assert (result.rows[MASK] == 0.0).all()


def test_a_run_is_the_same_in_any_number_of_threads() -> None:
    model = HDPTransitions(["x", "y", "z"], *GAMMAS)
    walks = [list("xyzyxzyx"), list("zzyyyx")]
    runs = [model.fit(walks, 3000, seed=3, threads=t, progress=False) for t in (1, 4)]
    assert runs[0].posterior.to_dataset().equals(runs[1].posterior.to_dataset())
    assert runs[0].observed_data["transition_counts"].sum() == 9
    names = {"base", "log_base", "rows", "concentration", "base_concentration"}
    assert set(runs[0].posterior.data_vars) == names
    expected = {"seed", "warmup", "method", "prior", "data", "data_digest", "sampling_time",
                "interrupted", "inference_library", "created_at"}  # fmt: skip
    assert expected <= set(runs[0].attrs)


def test_states_without_counts_are_removed() -> None:
    rng = np.random.default_rng(SEED)
    state = OPEN.initial_state(rng, 5)
    counts = np.zeros((5, 5))
    counts[1, 3] = counts[3, 1] = 4
    new, info = OPEN.resample(rng, counts, state, [0, 1, 0, 0, 0])
    assert new.states == (1, 3)
    assert info.kept.tolist() == [1, 3]
    assert new.rows.shape == (2, 3)
    assert new.rows.diagonal().tolist() == [0.0, 0.0]
    assert OPEN.break_off(rng, new).states == (1, 3, 4)
    empty, _ = OPEN.resample(rng, np.zeros((5, 5)), state)
    assert empty.states == ()
    assert empty.remainder == 1.0


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: HDPTransitions(1), "from 0 nothing is allowed"),
        (lambda: HDPTransitions(["a", "b"], forbidden={"b": ["a"]}), "from 'b' nothing is allowed"),
        (lambda: HDPTransitions("many"), "'nonparametric' is needed"),
        (lambda: HDPTransitions("nonparametric", forbidden=[(0, 1)]), "cannot be told apart"),
        (lambda: HDPTransitions(3, self_loops="maybe"), "'removed' or 'kept'"),
        (lambda: HDPTransitions(3, concentration=0.0), "a positive number or a luce.Gamma"),
        (lambda: HDPTransitions(3, base_concentration="1"), "a number is needed"),
        (lambda: HDPTransitions(3, forbidden=np.zeros((2, 2), bool)), "forbidden has shape"),
        (lambda: HDPTransitions(3).fit(np.array([[0, 0.5, 1], [1, 0, 1], [1, 1, 0]])), "whole"),
        (lambda: HDPTransitions(3).fit([5, 6, 5]), "not in"),
        (lambda: resample(HDPTransitions(2), [[0, 1], [-1, 0]]), "not negative"),
        (lambda: resample(HDPTransitions(2), [[3, 1], [1, 0]]), "3 transitions from 0 to 0"),
        (lambda: resample(HDPTransitions(2), [[0, 1, 1], [1, 0, 1]]), "has shape"),
        (lambda: resample(OPEN, [[0, 1], [0, 0]], 2), "left but never entered"),
        (lambda: OPEN.fit(np.array([[0, 1], [0, 0]])), "left but never entered"),
        (lambda: HDPTransitions(2).break_off(None, None), "from the start"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said(call: Callable[[], object], words: str) -> None:
    with pytest.raises(DataError, match=words):
        call()


def resample(model: HDPTransitions, counts: Any, n: int = 0) -> Any:
    rng = np.random.default_rng(1)
    return model.resample(rng, counts, model.initial_state(rng, n))


def test_self_loops_may_be_kept() -> None:
    """Then nothing is hidden, and with α → ∞ the base is the prior's with all counts as tables."""
    model = HDPTransitions(2, 1e9, 3.0, self_loops="kept")
    run = model.fit(np.array([[5, 1], [0, 2]]), 4000, seed=SEED, progress=False)
    base = run.posterior["base"].to_numpy()[:, :, 0]
    error = np.sqrt(6.5 * 4.5 / 11**2 / 12 / base.size)
    assert abs(base.mean() - 6.5 / 11) < z_limit(1) * error
    assert abs(base.mean() - 5.5 / 10) > z_limit(1) * error


@pytest.mark.parametrize("scale", [1e-8, 1e-3, 1e3, 1e8])
def test_extreme_concentrations_and_counts(scale: float) -> None:
    counts = np.array([[0, 1e15, 1], [7, 0, 0], [0, 1, 0]])
    for alpha, gamma in ((scale, 1.0), (1.0, scale), (Gamma(1e-2, 1e-2), Gamma(1e-2, 1e2))):
        model = HDPTransitions(3, alpha, gamma)
        rng = np.random.default_rng(SEED)
        state = model.initial_state(rng)
        for _ in range(40):
            state, info = model.resample(rng, counts, state)
            assert np.isfinite(state.log_base).all()
            assert np.isfinite(state.rows).all()
            assert (state.rows.diagonal() == 0.0).all()
            np.testing.assert_allclose(state.rows.sum(axis=1), 1.0)
            assert np.isfinite(info.tables).all()
            assert (info.log_hidden_counts < np.inf).all()


@pytest.mark.slow
@pytest.mark.parametrize(("counts", "alpha", "gamma", "known"), CASES)
def test_a_million_sweeps(counts: Any, alpha: float, gamma: float, known: list[float]) -> None:
    run = HDPTransitions(3, alpha, gamma).fit(
        np.array(counts), 1_000_000, chains=1, seed=SEED, rows=False, progress=False
    )
    base = run.posterior["log_base"].to_numpy()
    assert np.isfinite(base).all()
    truth = quadrature(np.array(counts, float), DIAGONAL, alpha, gamma)
    error = luce.answers.diagnostics.mcse(np.exp(base)).to_numpy()
    z = np.abs(np.exp(base).mean(axis=(0, 1)) - truth.mean) / error
    assert z.max() < z_limit(3)


@pytest.mark.slow
def test_a_sweep_costs_at_most_three_times_its_uniforms() -> None:
    path = Path(__file__).parents[2] / "benchmarks" / "hdp.py"
    spec = importlib.util.spec_from_file_location("hdp_benchmark", path)
    assert spec is not None
    assert spec.loader is not None
    benchmark = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(benchmark)
    assert benchmark.measure(200, 1_000_000, 30)[2] < 3.0
