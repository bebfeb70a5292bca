"""One sweep in somebody's loop, and rows that share a base, on tiny problems."""

import os
from typing import Any

import numpy as np
import pytest
from lib.oracles import simplex_quadrature

import luce
from luce import ConditionalCounts, Gamma, GibbsStep, HDPTransitions
from luce.errors import DataError

pytestmark = pytest.mark.filterwarnings("ignore::luce.ConvergenceWarning")
SEED = int(os.environ.get("LUCE_TEST_SEED", "0"))


def test_a_batch_of_sweeps_is_near_the_truth() -> None:
    """Sweeps of 40 chains at once, started from the prior; |z| of six means."""
    step = GibbsStep(3, within=[[0, 1], [1, 2], [0, 2]])
    counts = ([5.0, 7.0, 4.0], [7.0, 5.0, 4.0])
    exponents = {frozenset([0]): 5.0, frozenset([1]): 7.0, frozenset([2]): 4.0}
    exponents |= {frozenset([0, 1]): -7.0, frozenset([1, 2]): -5.0, frozenset([0, 2]): -4.0}
    prior = np.array([0.8, 1.5, 1.1])
    rng = np.random.default_rng([SEED, 1])
    p = rng.dirichlet(prior, 40)
    log_p = np.log(p)
    table = [np.broadcast_to(c, (40, 3)) for c in counts]
    kept, kept_logs = [], []
    for k in range(40):
        p = step(rng, p, tuple(table), prior)
        log_p = step.log_step(rng, log_p, tuple(table), prior)
        if k >= 10:
            kept.append(p)
            kept_logs.append(np.exp(log_p))
    truth = simplex_quadrature(exponents, prior.tolist()).mean
    del exponents[frozenset((0, 2))]
    wrong = simplex_quadrature(exponents, prior.tolist()).mean
    for draws in (np.array(kept), np.array(kept_logs)):
        np.testing.assert_allclose(draws.sum(axis=2), 1, rtol=1e-12)
        means = draws.mean(axis=0)  # a chain each, and chains are independent
        error = means.std(axis=0, ddof=1) / np.sqrt(40)
        assert np.abs((means.mean(axis=0) - truth) / error).max() < 6
        assert np.abs((means.mean(axis=0) - wrong) / error).max() > 6


def test_tables_and_totals_are_the_same_step() -> None:
    step = GibbsStep("abcd", without=[["a"], ["b"], ["c"], ["d"]])
    table = np.array([[0, 3, 1, 2], [4, 0, 0, 1], [2, 2, 0, 5], [1, 0, 3, 0]])
    totals = (table.sum(axis=0).astype(float), table.sum(axis=1).astype(float))
    p = np.full(4, 0.25)
    one = step(np.random.default_rng(2), p, table, 1.3)
    other = step(np.random.default_rng(2), p, totals, 1.3)
    np.testing.assert_array_equal(one, other)
    small = step.log_step(np.random.default_rng(2), np.log(p), table, 1e-4)
    assert np.isfinite(small).all()
    np.testing.assert_allclose(np.exp(small).sum(), 1, rtol=1e-12)
    with pytest.raises(luce.LuceError, match="shape"):
        step(np.random.default_rng(2), p, np.ones((3, 4)), 1.0)


def test_sets_of_data_in_every_form() -> None:
    counts = ConditionalCounts("abcdef").observe_ranking("cabdef").observe({"f": 2}, without="ab")
    counts = counts.observe({"e": 1, "d": 2}, within="de").observe({"a": 3}, without="f")
    step = GibbsStep.of(counts)
    outcomes, waits = step.totals(counts)
    rng = np.random.default_rng([SEED, 3])
    for a in (1.0, np.linspace(0.01, 0.3, 6)):
        given = np.tile(outcomes, (5, 1)), np.tile(waits, (5, 1))
        p = step(rng, np.full((5, 6), 1 / 6), given, a)
        np.testing.assert_allclose(p.sum(axis=1), 1, rtol=1e-12)
        assert len(np.unique(p[:, 0])) == 5
    with pytest.raises(luce.LuceError, match="group"):
        GibbsStep.of(counts.observe_group("ab", 9))


COUNTS = np.array([[0, 9, 2], [4, 0, 7], [1, 3, 0]])


@pytest.mark.parametrize("self_loops", ["removed", "kept"])
@pytest.mark.parametrize("scale", [2.0, Gamma(2.0, 1.0)])
def test_rows_keep_what_is_forbidden_at_zero(scale: Any, self_loops: str) -> None:
    model = HDPTransitions(list("xyz"), scale, scale, {"x": ["z"]}, self_loops)
    rng = np.random.default_rng([SEED, 4])
    state = model.initial_state(rng)
    counts = COUNTS * ~model.forbidden
    for _ in range(5):
        state, info = model.resample(rng, counts, state)
        np.testing.assert_allclose(state.base.sum(), 1, rtol=1e-12)
        np.testing.assert_allclose(state.rows.sum(axis=1), 1, rtol=1e-12)
        assert (state.rows[model.forbidden] == 0).all()
        assert info is not None
    with pytest.raises(DataError, match="forbidden"):
        model.resample(rng, np.ones((3, 3)) * np.array([[0, 0, 1], [1, 0, 1], [1, 1, 0]]), state)


def test_more_transitions_make_a_row_surer() -> None:
    """Means over 60 sweeps: a state that everybody moves to has the largest base."""
    model = HDPTransitions(3, 3.0, 3.0)
    rng = np.random.default_rng([SEED, 5])
    state = model.initial_state(rng)
    counts = np.array([[0, 40, 1], [20, 0, 1], [5, 30, 0]])
    base = np.zeros(3)
    for _ in range(60):
        state, _ = model.resample(rng, counts, state)
        base += state.base / 60
    assert base.argmax() == 1
    assert base.argmin() == 2


def test_states_come_and_go() -> None:
    model = HDPTransitions("nonparametric", Gamma(2.0, 1.0), 2.0)
    rng = np.random.default_rng([SEED, 6])
    state = model.initial_state(rng, 2)
    state = model.break_off(rng, state)
    assert len(state.states) == 3
    counts = np.array([[0, 4, 0], [5, 0, 0], [0, 0, 0]])
    state, info = model.resample(rng, counts, state, np.array([1, 0, 0]))
    assert list(info.kept) == [0, 1]
    np.testing.assert_allclose(state.rows.sum(axis=1), 1, rtol=1e-12)
    assert "nonparametric" in repr(model)


@pytest.mark.parametrize("how", ["labels", "nonparametric", "kept"])
def test_a_fit_of_transitions(how: str) -> None:
    states = ["abcabacb" * 3, "cba" * 4]
    model = {
        "labels": HDPTransitions(list("abc"), 2.0, Gamma(2.0, 1.0)),
        "nonparametric": HDPTransitions("nonparametric", Gamma(2.0, 1.0), 2.0),
        "kept": HDPTransitions(list("abc"), Gamma(2.0, 2.0), 2.0, self_loops="kept"),
    }[how]
    given: dict[str, Any] = {"draws": 20, "chains": 2, "seed": SEED + 1, "progress": False}
    one, two = (model.fit(list(map(list, states)), threads=t, **given) for t in (1, 2))
    for name in one.posterior.data_vars:
        np.testing.assert_array_equal(one.posterior[name], two.posterior[name])
    total = one.posterior["rows"].sum(one.posterior["rows"].dims[-1])
    np.testing.assert_allclose(total, 1, rtol=1e-9)


def test_what_a_model_cannot_be() -> None:
    for given, words in [
        ({"n_states": "many"}, "nonparametric"),
        ({"n_states": 3, "self_loops": "some"}, "self_loops"),
        ({"n_states": "nonparametric", "forbidden": {0: [1]}}, "forbids self-loops or nothing"),
        ({"n_states": 3, "concentration": -1.0}, "concentration"),
        ({"n_states": 2, "forbidden": [(0, 1)]}, "state"),
    ]:
        with pytest.raises(DataError, match=words):
            HDPTransitions(**given)
    with pytest.raises(luce.LuceError, match="Generator"):
        HDPTransitions(3).initial_state(7)  # type: ignore[arg-type]
