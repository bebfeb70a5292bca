"""Transitions with a common base on tiny problems: rows, states that come and go, a short fit."""

from typing import Any

import numpy as np
import pytest
from lib.bounds import SEED

import luce
from luce import Gamma, HDPTransitions
from luce.errors import DataError

pytestmark = pytest.mark.filterwarnings("ignore::luce.ConvergenceWarning")

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
