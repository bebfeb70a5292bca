"""Simulation-based calibration: every method on every shape of data, and samplers that are wrong.

A grid of cells passes if no p-value is below 1e-4 divided by the number of cells: a right library
fails once in ten thousand runs.  LUCE_TEST_SEED moves all seeds.
"""

from collections.abc import Mapping
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pytest
from lib import calibration_controls as controls
from lib import calibration_grid as grid
from lib.bounds import FALSE_ALARM, SEED

import luce
from luce import ConditionalCounts, Gamma
from luce.calibration import check_calibration
from luce.calibration.replications import NearlyIndependent
from luce.model.model import Model

pytestmark = pytest.mark.filterwarnings("ignore::luce.ConvergenceWarning")


SHAPES = {shape.name: shape for shape in grid.SHAPES}
CELLS = sum(len(grid.METHODS) - len(s.refused) for s in grid.SHAPES) + len(grid.OTHERS)

# Cells of the default run: each method once or more, on shapes that differ.
QUICK = [
    ("full counts", "auto"),
    ("nested sets", "waiting-times"),
    ("all but one", "hidden-counts"),
    ("all but one", "rejection"),
    ("pairs", "hamiltonian"),
    ("rankings", "waiting-times"),
    ("a core in a tree", "metropolis"),
    ("pairs, concentration drawn", "hamiltonian"),
    ("Rao-Kupper ties", "hamiltonian"),
    ("Davidson's ties", "waiting-times"),
]
# Controls of the default run, and how many replications show that they are wrong.
QUICK_CONTROLS = {
    "draws of the prior": 60,
    "waiting times skipped": 150,
    "hidden counts, trials for failures": 150,
    "concentration drawn, rate doubled": 120,
    "ties of Rao and Kupper, rates doubled": 250,
}


QUIET: dict[str, Any] = {"seed": SEED + 3, "progress": False}
SHORT = {**QUIET, "warmup": 10, "most_thin": 4}  # few sweeps discarded, and few between draws
FEW = ConditionalCounts("abc").observe({"a": 4}, within="ab").observe({"b": 4}, within="bc")
FULL = ConditionalCounts(["<b>", "c"]).observe({"c": 5})


# -- the grid --------------------------------------------------------------------------------------


@pytest.mark.compiled
@pytest.mark.parametrize(
    ("shape", "method"),
    [pytest.param(*each, marks=pytest.mark.slow if k % 2 else ()) for k, each in enumerate(QUICK)],
)
def test_right_samplers_pass(shape: str, method: str) -> None:
    found = grid.check(SHAPES[shape], method, 60, 7 + SEED, draws=15)
    assert found.p_value > FALSE_ALARM / len(QUICK), found


@pytest.mark.compiled
@pytest.mark.parametrize("name", QUICK_CONTROLS)
def test_wrong_samplers_are_rejected(name: str) -> None:
    found = controls.check(name, QUICK_CONTROLS[name], 7 + SEED, draws=15)
    assert found.p_value < FALSE_ALARM / len(QUICK), found
    assert not found.passed


@pytest.mark.compiled
def test_ranks_of_probabilities_alone_do_not_see_draws_of_the_prior() -> None:
    found = controls.check("draws of the prior", 120, 7 + SEED)
    assert float(found.p_values["probabilities"].min()) > FALSE_ALARM / 4
    assert float(found.p_values["log_likelihood"]) < FALSE_ALARM


@pytest.mark.compiled
def test_a_gibbs_step_is_calibrated() -> None:
    assert grid.gibbs_step(150, 7 + SEED, 15).p_value > FALSE_ALARM
    assert grid.gibbs_step(600, 7 + SEED, 15, wrong=True).p_value < FALSE_ALARM


@pytest.mark.slow
@pytest.mark.parametrize("shape", grid.SHAPES, ids=lambda shape: shape.name)
def test_every_method_is_calibrated_on_every_shape(shape: grid.Shape) -> None:
    found = dict(grid.cells(shape, 1000, 2026 + SEED))
    for method in shape.refused:
        with pytest.raises(luce.errors.MethodError):
            grid.check(shape, method, 1000, 2026 + SEED)
    p_values = {method: each.p_value for method, each in found.items()}
    assert min(p_values.values()) > FALSE_ALARM / CELLS, p_values
    for each in found.values():
        assert each.ranks.attrs["unmixed_replications"] <= 10, each


@pytest.mark.slow
@pytest.mark.parametrize("name", grid.OTHERS)
def test_other_samplers_are_calibrated(name: str) -> None:
    assert grid.OTHERS[name](1000, 2026 + SEED).p_value > FALSE_ALARM / CELLS
    assert grid.OTHERS[name](1000, 2026 + SEED, wrong=True).p_value < FALSE_ALARM / CELLS


@pytest.mark.slow
@pytest.mark.parametrize("name", controls.CONTROLS)
def test_every_control_is_rejected(name: str) -> None:
    assert controls.check(name, 1000, 2026 + SEED).p_value < FALSE_ALARM / CELLS


# -- verdicts --------------------------------------------------------------------------------------


DUELS = luce.ConditionalCounts([("a", 1), None, 2.5]).observe({None: 6}, within=[("a", 1), None])


def test_any_labels_the_same_seed_and_where_it_comes_from() -> None:
    one, two, other = (
        check_calibration(DUELS, 2.0, replications=20, draws=9, seed=seed, progress=False)
        for seed in (3, 3, 4)
    )
    assert one.ranks.identical(two.ranks)
    assert not one.ranks.equals(other.ranks)
    assert one.ranks["category"].values.tolist() == [("a", 1), None, 2.5]
    assert one.ranks.attrs["inference_library_version"] == luce.__version__
    assert (one.ranks.attrs["seed"], one.ranks.attrs["prior"]) == ("3", "Dirichlet(2)")
    assert one.ranks.attrs["method"] == "exact"
    assert one.replications == 20
    assert 0 <= one.ranks.to_array().min() <= one.ranks.to_array().max() <= 9


@pytest.mark.compiled
def test_a_verdict_in_words_in_html_and_as_a_picture() -> None:
    counts = luce.ConditionalCounts(["<b>", "c"]).observe({"c": 5})
    good = check_calibration(counts, replications=200, seed=SEED, level=1e-4, progress=False)
    bad = controls.check("draws of the prior", 100, SEED)
    assert str(good).startswith("calibration passed at level 0.0001: p = ")
    assert str(bad).startswith("calibration rejected at level 0.01: p = ")
    assert "the log likelihood" in str(bad)
    assert "<b>" not in good._repr_html_()
    good_ax, bad_ax = good.plot(), bad.plot()
    assert good_ax.get_legend() is None
    assert bad_ax.get_legend().get_texts()[0].get_text() == "the log likelihood"


def test_right_draws_pass_and_the_verdict_is_told() -> None:
    good = check_calibration(FULL, replications=60, draws=15, level=1e-4, **QUIET)
    assert good.passed
    assert (good.replications, good.draws) == (60, 15)
    assert str(good) == repr(good)
    assert str(good).startswith("calibration passed at level 0.0001: p = ")
    assert "among 15 draws" in str(good)
    assert "method         exact" in str(good)
    assert "<b>" not in good._repr_html_()
    assert good.quantities == ["p of '<b>'", "p of 'c'", "the log likelihood"]
    again = check_calibration(FULL, replications=60, draws=15, level=1e-4, **QUIET)
    assert again.ranks.equals(good.ranks)
    values = [good.p_values["probabilities"].values, [float(good.p_values["log_likelihood"])]]
    assert good.p_value == min(1.0, 3 * np.concatenate(values).min())
    ranks = good.ranks["probabilities"].values
    assert 0 <= ranks.min() <= ranks.max() <= 15
    # Of two probabilities one is small where the other is large.
    np.testing.assert_array_equal(ranks.sum(axis=1), 15)
    axes = good.plot()
    assert axes.get_legend() is None
    plt.close(axes.figure)


def of_other_data(rng: np.random.Generator, p: Mapping[Any, float]) -> ConditionalCounts:
    """Five outcomes of the wrong category, whatever p says."""
    return ConditionalCounts("ab").observe({"b": 5})


def test_wrong_data_are_rejected() -> None:
    bad = check_calibration(of_other_data, replications=60, draws=15, categories="ab", **QUIET)
    assert not bad.passed
    assert bad.p_value < 0.01
    assert str(bad).startswith("calibration rejected at level 0.01: p = ")
    assert "of_other_data, a function" in str(bad)
    axes = bad.plot()
    assert axes.get_legend() is not None
    plt.close(axes.figure)


# -- chains ----------------------------------------------------------------------------------------


def ranked(rng: np.random.Generator, p: Mapping[Any, float]) -> ConditionalCounts:
    """Two rankings of three: exponential times, the faster the more probable."""
    counts = ConditionalCounts("abc")
    for _ in range(2):
        times = {label: rng.exponential() / share for label, share in p.items()}
        counts = counts.observe_ranking(sorted(times, key=lambda label: times[label]))
    return counts


def test_chains_are_spaced_until_nearly_independent() -> None:
    options = {"replications": 3, "draws": 7, "reduce": False, **SHORT}
    found = check_calibration(ranked, categories="abc", **options)
    assert found.ranks.attrs["method"] == "waiting-times"
    assert 1 <= found.ranks.attrs["largest_thin"] <= 4
    assert 0 <= found.ranks["probabilities"].values.max() <= 7
    again = check_calibration(ranked, categories="abc", **options)
    assert again.ranks.equals(found.ranks)


def test_a_concentration_that_is_drawn_is_ranked_too() -> None:
    found = check_calibration(FEW, Gamma(3.0, 1.0), replications=2, draws=7, **SHORT)
    assert found.ranks["concentration"].shape == (2,)
    assert found.quantities[-1] == "the concentration"
    assert found.columns.shape == (2, 5)
    assert 0 < found.p_value <= 1


def test_parameters_of_contests_are_ranked_too() -> None:
    contests = grid.contests("davidson", True)
    options: dict[str, Any] = {"replications": 3, "draws": 7, **SHORT}
    found = check_calibration(contests, 1.5, home=Gamma(3.0, 2.0), **options)
    assert found.quantities == [
        "p of 'a'",
        "p of 'b'",
        "p of 'c'",
        "the log likelihood",
        "home",
        "tie",
    ]
    assert found.columns.shape == (3, 6)
    np.testing.assert_array_equal(found.columns[:, 4], found.ranks["home"].values)
    np.testing.assert_array_equal(found.columns[:, 5], found.ranks["tie"].values)
    told = "Dirichlet(1.5), home Gamma(shape=3.0, rate=2.0), tie Gamma(shape=1.0, rate=1.0)"
    assert found.ranks.attrs["prior"] == told
    known = check_calibration(contests, 1.5, home=1.2, tie=0.5, **options)
    assert known.quantities[-1] == "the log likelihood"


def test_chains_that_do_not_mix_are_said_so() -> None:
    seed = np.random.SeedSequence(5).spawn(2)[1]
    with pytest.warns(luce.ConvergenceWarning, match="the chains did not mix"):
        found = check_calibration(
            FEW, 0.5, replications=2, draws=7, method="metropolis", **{**SHORT, "seed": seed}
        )
    assert found.ranks.attrs["unmixed_replications"] > 0
    assert found.ranks.attrs["seed_spawn_key"] == [1]
    assert "up to 4 sweeps between draws" in str(found)


def now_and_then(rng: np.random.Generator, p: Mapping[Any, float]) -> ConditionalCounts:
    """Either one set or two that overlap."""
    share = p["a"] / (p["a"] + p["b"])
    won = int(rng.binomial(2, share))
    counts = ConditionalCounts("abc").observe({"a": won, "b": 2 - won}, within="ab")
    if rng.random() < 0.5:
        return counts
    won = int(rng.binomial(2, p["b"] / (p["b"] + p["c"])))
    return counts.observe({"b": won, "c": 2 - won}, within="bc")


def test_methods_that_differ_are_counted() -> None:
    found = check_calibration(
        now_and_then, replications=6, draws=7, categories="abc", method="waiting-times", **SHORT
    )
    assert "exact (" in found.ranks.attrs["method"]
    assert found.ranks.attrs["method"].count("(") == 2


def test_a_replication_draws_what_posterior_sample_draws() -> None:
    """Nearly independent draws of plain counts have the mean of a Dirichlet."""
    drawer = NearlyIndependent(200)
    data = Model(ConditionalCounts("ab").observe({"a": 3}), [1.0, 2.0])
    draws, method, thin, mixed = drawer(data, np.random.SeedSequence(1))
    assert (method, thin, mixed, draws.shape) == ("exact", 1, True, (200, 3))
    assert np.exp(draws[:, 0]).mean() == pytest.approx(4 / 6, abs=4.5 * np.sqrt(8 / 36 / 7 / 200))
    np.testing.assert_allclose(draws[:, 2], 3 * draws[:, 0], rtol=1e-9)


# -- refusals --------------------------------------------------------------------------------------


def unsure(rng: np.random.Generator, p: Mapping[Any, float]) -> luce.ConditionalCounts:
    return luce.ConditionalCounts("ba")


@pytest.mark.parametrize(
    ("design", "options", "words"),
    [
        ({"a": 3}, {}, "must be ConditionalCounts"),
        (DUELS, {"categories": "ab"}, "of their own"),
        (unsure, {}, "needs categories="),
        (unsure, {"categories": "ab"}, "in another order"),
        (lambda rng, p: 3, {"categories": "ab"}, "returned int"),
        (luce.ConditionalCounts("abc").observe_group("ab", 2), {}, "grouped outcomes"),
        (luce.ConditionalCounts("abc").observe({"a": 0.5}, within="ab"), {}, "whole numbers"),
        (lambda rng, p: grid.contests(None, True), {"categories": "abc"}, "whose parameters"),
        (DUELS, {"home": 1.5}, "has no parameter 'home'"),
        (DUELS, {"replications": 0}, "replications = 0"),
        (DUELS, {"draws": 1.5}, "draws = 1.5"),
        (DUELS, {"level": 1.0}, "level = 1.0"),
        (DUELS, {"warmup": -1}, "warmup = -1"),
        (DUELS, {"most_thin": 0}, "most_thin = 0"),
        (DUELS, {"method": "magic"}, "method = 'magic'"),
    ],
)
def test_what_cannot_be_checked_is_refused(
    design: Any, options: dict[str, Any], words: str
) -> None:
    with pytest.raises(luce.LuceError, match=words):
        check_calibration(design, **{"replications": 2, "progress": False, **options})
