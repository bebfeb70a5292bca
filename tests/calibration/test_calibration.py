"""Simulation-based calibration: every method on every shape of data, and samplers that are wrong.

A grid of cells passes if no p-value is below 1e-4 divided by the number of cells: a right library
fails once in ten thousand runs.  LUCE_TEST_SEED moves all seeds.
"""

import itertools
import os
from collections.abc import Mapping
from typing import Any

import mpmath
import numpy as np
import pytest
from lib import calibration_controls as controls
from lib import calibration_grid as grid

import luce
from luce.answers.rank_uniformity import band_of, p_value_of, ranks_of
from luce.calibration.design import log_likelihoods

SEED = int(os.environ.get("LUCE_TEST_SEED", "0"))
LEVEL = 1e-4

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
    ("pairs, concentration drawn", "auto"),
]
# Controls of the default run, and how many replications show that they are wrong.
QUICK_CONTROLS = {
    "draws of the prior": 60,
    "waiting times skipped": 150,
    "hidden counts, trials for failures": 150,
    "concentration drawn, rate doubled": 120,
}


# -- the test of uniformity -----------------------------------------------------------------------


def brute_tails(n: int, draws: int) -> list[list[float]]:
    """For each place and number of ranks there: the smaller binomial tail."""
    found = []
    for k in range(draws):
        share = mpmath.mpf(k + 1) / (draws + 1)
        pmf = [mpmath.binomial(n, c) * share**c * (1 - share) ** (n - c) for c in range(n + 1)]
        found.append([float(min(sum(pmf[: c + 1]), sum(pmf[c:]))) for c in range(n + 1)])
    return found


@pytest.mark.parametrize(("replications", "draws"), [(4, 3), (3, 5), (1, 2), (6, 1)])
def test_p_values_are_those_of_all_samples_listed(replications: int, draws: int) -> None:
    samples = list(itertools.product(range(draws + 1), repeat=replications))
    tails = brute_tails(replications, draws)
    statistics = np.array(
        [min(tails[k][sum(r <= k for r in s)] for k in range(draws)) for s in samples]
    )
    for sample, own in zip(samples, statistics, strict=True):
        exact = np.mean(statistics <= own * (1 + 1e-9))
        assert p_value_of(np.array(sample), draws) == pytest.approx(exact, abs=1e-12)


def test_a_line_leaves_the_band_when_its_p_value_is_below_the_level() -> None:
    rng, left = np.random.default_rng(SEED), 0
    least, most = band_of(50, 15, 0.2)
    for _ in range(200):
        ranks = rng.integers(16, size=50)
        below = np.cumsum(np.bincount(ranks, minlength=16))[:-1]
        leaves = bool(((below < least) | (below > most)).any())
        assert leaves == (p_value_of(ranks, 15) <= 0.2)
        left += leaves
    assert 0 < left < 200


@pytest.mark.parametrize("shape", [(0.7, 0.7), (1.5, 1.5), (1.0, 1.4)], ids=str)
def test_ranks_that_are_not_uniform_are_rejected(shape: tuple[float, float]) -> None:
    """Too narrow, too wide and shifted posteriors; uniform ranks pass beside them."""
    rng = np.random.default_rng(SEED)
    assert p_value_of(np.minimum((64 * rng.beta(*shape, 1500)).astype(int), 63), 63) < LEVEL
    assert p_value_of(rng.integers(64, size=1500), 63) > LEVEL / 3


def test_the_smallest_p_values_keep_their_digits() -> None:
    ranks = np.zeros(40, np.int64)
    assert p_value_of(ranks, 63) == pytest.approx(2 * 64.0**-40, rel=1e-6, abs=0)


def test_equal_values_are_ranked_at_random() -> None:
    rng = np.random.default_rng(SEED)
    ranks = np.array([ranks_of(np.zeros(1), np.zeros((7, 1)), rng)[0] for _ in range(2000)])
    assert p_value_of(ranks, 7) > LEVEL
    always_below = np.array([(np.zeros((7, 1)) < 0).sum() for _ in range(20)])
    assert p_value_of(always_below, 7) < LEVEL


# -- the grid -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("shape", "method"),
    [pytest.param(*each, marks=pytest.mark.slow if k % 2 else ()) for k, each in enumerate(QUICK)],
)
def test_right_samplers_pass(shape: str, method: str) -> None:
    found = grid.check(SHAPES[shape], method, 60, 7 + SEED, draws=15)
    assert found.p_value > LEVEL / len(QUICK), found


@pytest.mark.parametrize("name", QUICK_CONTROLS)
def test_wrong_samplers_are_rejected(name: str) -> None:
    found = controls.check(name, QUICK_CONTROLS[name], 7 + SEED, draws=15)
    assert found.p_value < LEVEL / len(QUICK), found
    assert not found.passed


def test_ranks_of_probabilities_alone_do_not_see_draws_of_the_prior() -> None:
    found = controls.check("draws of the prior", 120, 7 + SEED)
    assert float(found.p_values["probabilities"].min()) > LEVEL / 4
    assert float(found.p_values["log_likelihood"]) < LEVEL


def test_a_gibbs_step_is_calibrated() -> None:
    assert grid.gibbs_step(150, 7 + SEED, 15).p_value > LEVEL
    assert grid.gibbs_step(600, 7 + SEED, 15, wrong=True).p_value < LEVEL


@pytest.mark.slow
@pytest.mark.parametrize("shape", grid.SHAPES, ids=lambda shape: shape.name)
def test_every_method_is_calibrated_on_every_shape(shape: grid.Shape) -> None:
    found = dict(grid.cells(shape, 1000, 2026 + SEED))
    for method in shape.refused:
        with pytest.raises(luce.errors.MethodError):
            grid.check(shape, method, 1000, 2026 + SEED)
    p_values = {method: each.p_value for method, each in found.items()}
    assert min(p_values.values()) > LEVEL / CELLS, p_values
    for each in found.values():
        assert each.ranks.attrs["unmixed_replications"] <= 10, each


@pytest.mark.slow
@pytest.mark.parametrize("name", grid.OTHERS)
def test_other_samplers_are_calibrated(name: str) -> None:
    assert grid.OTHERS[name](1000, 2026 + SEED).p_value > LEVEL / CELLS
    assert grid.OTHERS[name](1000, 2026 + SEED, wrong=True).p_value < LEVEL / CELLS


@pytest.mark.slow
@pytest.mark.parametrize("name", controls.CONTROLS)
def test_every_control_is_rejected(name: str) -> None:
    assert controls.check(name, 1000, 2026 + SEED).p_value < LEVEL / CELLS


# -- what is asked, and what is answered ----------------------------------------------------------

DUELS = luce.ConditionalCounts([("a", 1), None, 2.5]).observe({None: 6}, within=[("a", 1), None])


def test_any_labels_the_same_seed_and_where_it_comes_from() -> None:
    one, two, other = (
        luce.calibration.check_calibration(
            DUELS, 2.0, replications=20, draws=9, seed=seed, progress=False
        )
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


def test_totals_of_every_set_are_kept_and_outcomes_follow_the_truth() -> None:
    from luce.calibration.design import Design

    counts = luce.ConditionalCounts("abcd").observe({"a": 7}, within="ab").observe({"c": 5})
    counts = counts.observe({"d": 4}, without="a")
    design, rng = Design(counts, None, 1.0), np.random.default_rng(SEED)
    truth = design.draw_truth(rng)
    new = [design.record(rng, truth) for _ in range(400)]
    assert {c.n_outcomes for c in new} == {16.0}
    assert all(np.array_equal(c.sets.exponent, counts.sets.exponent) for c in new)
    p = np.exp(truth.log_p)
    mean = np.zeros(4)
    variance = np.zeros(4)
    for members, total in (([0, 1], 7), ([0, 1, 2, 3], 5), ([1, 2, 3], 4)):
        share = p[members] / p[members].sum()
        mean[members] += total * share
        variance[members] += total * share * (1 - share)
    z = (np.mean([c.category_counts for c in new], axis=0) - mean) / np.sqrt(variance / 400)
    assert np.abs(z).max() < 4.4  # four comparisons, 1e-5 together
    assert len({c.digest for c in new}) > 20


def test_the_log_likelihood_is_right_where_probabilities_underflow() -> None:
    counts = luce.ConditionalCounts("abcd").observe({"a": 3, "b": 2}, within="ab")
    counts = counts.observe({"c": 4}, without="a").observe({"a": 1, "d": 2})
    usual = np.log([[0.1, 0.2, 0.3, 0.4], [0.7, 0.1, 0.1, 0.1]])
    judge = luce.Posterior(counts, 1.0).log_density(np.exp(usual))
    assert log_likelihoods(usual, counts) - judge == pytest.approx(-np.log(6))
    tiny = np.array([-2000.0, -1999.0, -0.5, np.log1p(-np.exp(-0.5))])
    with mpmath.workdps(400):
        p = [mpmath.exp(mpmath.mpf(float(x))) for x in tiny]
        sets = -5 * mpmath.log(p[0] + p[1]) - 4 * mpmath.log(p[1] + p[2] + p[3])
        outcomes = 4 * tiny[0] + 2 * tiny[1] + 4 * tiny[2] + 2 * tiny[3]
        truth = float(sets + outcomes)
    assert float(log_likelihoods(tiny, counts)) == pytest.approx(truth, rel=1e-12)


def test_a_verdict_in_words_in_html_and_as_a_picture() -> None:
    counts = luce.ConditionalCounts(["<b>", "c"]).observe({"c": 5})
    good = luce.calibration.check_calibration(
        counts, replications=200, seed=SEED, level=1e-4, progress=False
    )
    bad = controls.check("draws of the prior", 100, SEED)
    assert str(good).startswith("calibration passed at level 0.0001: p = ")
    assert str(bad).startswith("calibration rejected at level 0.01: p = ")
    assert "the log likelihood" in str(bad)
    assert "<b>" not in good._repr_html_()
    good_ax, bad_ax = good.plot(), bad.plot()
    assert good_ax.get_legend() is None
    assert bad_ax.get_legend().get_texts()[0].get_text() == "the log likelihood"


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
        (DUELS, {"replications": 0}, "replications = 0"),
        (DUELS, {"draws": 1.5}, "draws = 1.5"),
        (DUELS, {"level": 1.0}, "level = 1.0"),
        (DUELS, {"method": "magic"}, "method = 'magic'"),
    ],
)
def test_what_cannot_be_checked_is_refused(
    design: Any, options: dict[str, Any], words: str
) -> None:
    with pytest.raises(luce.LuceError, match=words):
        luce.calibration.check_calibration(
            design, **{"replications": 2, "progress": False, **options}
        )


def test_chains_that_do_not_mix_are_said_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("luce.calibration.replications._MOST_THIN", 1)
    with pytest.warns(luce.ConvergenceWarning, match="did not mix"):
        luce.calibration.check_calibration(
            grid.duels("abcd", "ab bc cd", 2), 0.5, replications=10, method="metropolis", seed=SEED,
            progress=False,
        )  # fmt: skip
