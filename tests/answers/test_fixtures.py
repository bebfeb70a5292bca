"""Predicted fixtures are those of loops over draws, and of quadrature."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import xarray as xr
from lib.answer_cases import dirichlet, draws_of
from lib.bounds import SEED, z_limit
from lib.contest_runs import MODELS, chances, counts_of, each_draw, made_up

import luce
from luce.errors import DataError

Side = str | tuple[str, ...] | dict[str, float]


def strength(p: dict[str, float], side: Side) -> float:
    weights = side if isinstance(side, dict) else dict.fromkeys(side, 1.0)
    return sum(weight * p[label] for label, weight in weights.items())


@pytest.mark.parametrize(("ties", "home"), MODELS)
@pytest.mark.parametrize(
    ("first", "second"), [("a", "b"), (("a", "c"), "b"), ({"a": 0.5, "b": 2.0}, "c")]
)
def test_probabilities_are_those_of_loops(
    ties: str | None, home: bool, first: Side, second: Side
) -> None:
    run = made_up(ties, home)
    for place, name in enumerate([None, "first", "second"][: 3 if home else 1]):
        rows = [
            chances(strength(p, first), strength(p, second), ties, values, place)
            for p, values in each_draw(run)
        ]
        found = luce.predict(run, first, second, name, ci_prob=0.8)
        assert found["result"].values.tolist() == ["first", "tie", "second"]
        np.testing.assert_allclose(found.values, np.mean(rows, axis=0), rtol=1e-12)
        np.testing.assert_allclose(found["sd"].values, np.std(rows, axis=0), atol=1e-14)
        for coordinate, q in (("lower", 0.1), ("upper", 0.9)):
            ends = np.quantile(rows, q, axis=0)
            np.testing.assert_allclose(found[coordinate].values, ends, rtol=1e-12)
        every = luce.predict(run, first, second, name, all_draws=True)
        assert every.dims == ("chain", "draw", "result")
        np.testing.assert_allclose(every.values.reshape(-1, 3), rows, rtol=1e-12, atol=1e-15)


def test_ties_and_advantages_that_are_categories() -> None:
    x = dirichlet([2.0, 3.0, 1.0, 0.5])
    draws = draws_of(x).assign_attrs(tie_categories=["c"], home_categories=["d"])
    a, b, t, h = (x[..., k] for k in range(4))
    whole = a + b + t
    expected = np.stack([a / whole, t / whole, b / whole], axis=-1)
    neutral = luce.predict(draws, "a", "b", all_draws=True)
    np.testing.assert_allclose(neutral.values, expected, rtol=1e-12)
    at_home = luce.predict(draws, "a", "b", "second", all_draws=True)
    expected = np.stack([a, t, b + h], axis=-1) / (whole + h)[..., None]
    np.testing.assert_allclose(at_home.values, expected, rtol=1e-12)


def test_without_ties_it_is_who_beats_whom() -> None:
    draws = draws_of(dirichlet([2.0, 3.0, 1.0]))
    found = luce.predict(draws, "a", "c", all_draws=True)
    np.testing.assert_allclose(found.sel(result="first"), luce.beats(draws, "a", "c"), rtol=1e-12)
    assert not found.sel(result="tie").values.any()


def test_many_fixtures_are_labelled() -> None:
    run = made_up("davidson", True)
    found = luce.predict(run, ["a", ("a", "b"), "b"], "c", ["first", None, "second"])
    assert found.dims == ("fixture", "result")
    assert found["first_side"].values.tolist() == ["a", ("a", "b"), "b"]
    assert found["second_side"].values.tolist() == ["c"] * 3
    assert found["at_home"].values.tolist() == ["first", "none", "second"]
    for k, (side, home) in enumerate([("a", "first"), (("a", "b"), None), ("b", "second")]):
        np.testing.assert_allclose(found[k], luce.predict(run, side, "c", home), rtol=1e-12)
    one = luce.predict(run, np.array(["a"]), ["b"])
    assert one.shape == (1, 3)
    # A block of fixtures at a time, a block of draws at a time.
    view = luce.answers.DrawsView.of(run, block=2**11)
    again = luce.predict(view, ["a", ("a", "b"), "b"], "c", ["first", None, "second"])
    np.testing.assert_allclose(again.values, found.values, rtol=1e-12)


@pytest.mark.filterwarnings("ignore::luce.ConvergenceWarning")
def test_a_parameter_that_is_known_was_not_drawn() -> None:
    posterior = luce.Posterior(counts_of("davidson", True), home=1.3, tie=0.7)
    run = posterior.sample(20, chains=2, warmup=20, seed=1, progress=False)
    assert set(run["posterior"].data_vars) == {"probabilities"}
    known = {"home": 1.3, "tie": 0.7}
    rows = [chances(p["a"], p["b"], "davidson", known, 1) for p, _ in each_draw(run)]
    found = luce.predict(run, "a", "b", "first")
    np.testing.assert_allclose(found.values, np.mean(rows, axis=0), rtol=1e-12)


def test_tiny_probabilities_are_predicted_from_logarithms() -> None:
    logs = np.log(dirichlet([2.0, 3.0])) - [0.0, 2000.0]
    run = xr.DataTree.from_dict(
        {
            "/posterior": xr.Dataset(
                {
                    "probabilities": draws_of(np.exp(logs)),
                    "log_probabilities": draws_of(logs),
                    "tie": (("chain", "draw"), np.full(logs.shape[:2], 3.0)),
                }
            ),
            "/observed_data": xr.Dataset(
                attrs={"events": "contests", "ties": "rao-kupper", "home_effect": 0}
            ),
        }
    )
    np.testing.assert_allclose(luce.predict(run, "a", "b").values, [1, 0, 0], atol=1e-300)


@pytest.mark.compiled
@pytest.mark.filterwarnings("ignore::luce.ConvergenceWarning")
def test_a_run_predicts_as_quadrature_does() -> None:
    """Two sides, Davidson's ties, home known: an integral over the share and over ν."""
    games = [("a", "b", 1, 3, 1, 2), ("b", "a", 1, 2, 2, 1), ("a", "b", 0, 1, 0, 1)]
    counts = counts_of("davidson", True, games, "ab")
    run = luce.Posterior(counts, [1.5, 2.0], home=1.4, tie=luce.Gamma(2.0, 1.5)).sample(
        5000, seed=SEED + 5, progress=False
    )
    share = (np.arange(2000) + 0.5)[:, None] / 2000
    nu = np.exp(np.linspace(-9, 3.5, 2001))[None, :]
    log_density = 0.5 * np.log(share) + np.log1p(-share) + 2 * np.log(nu) - 1.5 * nu

    def results(at_home: int) -> Any:
        a, b = share * (1.4 if at_home == 1 else 1), (1 - share) * (1.4 if at_home == 2 else 1)
        tied = nu * np.sqrt(a * b)
        return np.stack([a + 0 * nu, tied, b + 0 * nu]) / (a + b + tied)

    for first, _, at_home, won, lost, tied in games:
        numbers = (won, tied, lost) if first == "a" else (lost, tied, won)
        place = at_home if first == "a" else 2
        log_density = log_density + np.tensordot(numbers, np.log(results(place)), 1)
    weight = np.exp(log_density - log_density.max())
    truth = (results(2) * weight).sum(axis=(1, 2)) / weight.sum()
    every = luce.predict(run, "a", "b", "second", all_draws=True)
    found = every.mean(("chain", "draw")).values
    error = luce.answers.diagnostics.mcse(every.rename(result="category")).values
    assert np.abs((found - truth) / error).max() < z_limit(3)
    wrong = luce.predict(run, "a", "b", "first").values
    assert np.abs((wrong - truth) / error).max() > z_limit(3)


NO_HOME = made_up("davidson", False)


def of_data_unknown() -> xr.DataTree:
    return xr.DataTree.from_dict(
        {"/posterior": made_up("davidson", False)["posterior"].to_dataset()}
    )


def of_rankings() -> xr.DataTree:
    run = made_up("davidson", False)
    run["observed_data"].attrs["events"] = "rankings"
    return run


def of_lost_draws() -> xr.DataTree:
    run = made_up("davidson", False)
    kept = run["posterior"].to_dataset().drop_vars("tie")
    return xr.DataTree.from_dict(
        {"/posterior": kept, "/observed_data": run["observed_data"].to_dataset()}
    )


def with_two_ties() -> xr.DataArray:
    return draws_of(dirichlet([1.0, 2.0, 1.0, 1.0])).assign_attrs(tie_categories=["c", "d"])


@pytest.mark.parametrize(
    ("ask", "words"),
    [
        (lambda: luce.predict(NO_HOME, "a", "b", "first"), "has no home advantage.*home=None"),
        (lambda: luce.predict(NO_HOME, "a", "b", "third"), "home = 'third'"),
        (lambda: luce.predict(NO_HOME, "a", "a"), "'a' is on both sides"),
        (lambda: luce.predict(NO_HOME, "a", ("b", "b")), "names a category twice"),
        (lambda: luce.predict(NO_HOME, "a", {"b": 0.0}), "not positive"),
        (lambda: luce.predict(NO_HOME, "a", ()), "is empty"),
        (lambda: luce.predict(NO_HOME, "a", "x"), "'x' in second is not a category; the cat"),
        (lambda: luce.predict(NO_HOME, ["a"], ["b", "c"]), "first has 1, second has 2"),
        (lambda: luce.predict(NO_HOME, [], "c"), "no fixtures"),
        (lambda: luce.predict(NO_HOME, "a", "b", ci_prob=2), "ci_prob = 2"),
        (lambda: luce.predict(of_data_unknown(), "a", "b"), "hold 'tie', but not the data"),
        (lambda: luce.predict(of_rankings(), "a", "b"), "has rankings"),
        (lambda: luce.predict(of_lost_draws(), "a", "b"), "parameter 'tie', but these draws"),
        (lambda: luce.predict(with_two_ties(), "a", "b"), "several categories are marked as tie"),
    ],
)
def test_what_cannot_be_predicted_is_refused(ask: Callable[[], Any], words: str) -> None:
    with pytest.raises(DataError, match=words):
        ask()


def test_a_label_that_is_nearly_right_is_guessed() -> None:
    draws = draws_of(dirichlet([1.0, 2.0]), ["Arsenal", "Burnley"])
    with pytest.raises(DataError, match="did you mean 'Arsenal'"):
        luce.predict(draws, "Arsenl", "Burnley")
    marked = draws.assign_attrs(tie_categories=["Burnley"])
    with pytest.raises(DataError, match="'Burnley' in second is no competitor"):
        luce.predict(marked, "Arsenal", "Burnley")
