"""Simulation-based calibration and held-out predictions, of small designs."""

import itertools
from collections.abc import Mapping
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pytest
from scipy.stats import binom

import luce
from luce import ConditionalCounts, DirichletProcess, Gamma, Posterior
from luce.answers.rank_uniformity import band_of, p_value_of, ranks_of
from luce.calibration import replications as calibration_runs
from luce.calibration.design import Design, Truth, log_likelihoods, quantity_names
from luce.errors import DataError

pytestmark = pytest.mark.filterwarnings("ignore::luce.ConvergenceWarning")

QUIET: dict[str, Any] = {"seed": 3, "progress": False}
DUELS = ConditionalCounts("abc").observe({"a": 4}, within="ab").observe({"b": 4}, within="bc")
FULL = ConditionalCounts(["<b>", "c"]).observe({"c": 5})


@pytest.fixture
def short_chains(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few sweeps discarded, and few between draws."""
    monkeypatch.setattr(calibration_runs, "_WARMUP", 10)
    monkeypatch.setattr(calibration_runs, "_MOST_THIN", 4)


# -- the test of uniformity -------------------------------------------------------------


@pytest.mark.parametrize(("replications", "draws"), [(4, 3), (1, 2), (5, 1)])
def test_p_values_are_those_of_all_samples_listed(replications: int, draws: int) -> None:
    samples = list(itertools.product(range(draws + 1), repeat=replications))
    tails = np.empty((draws, replications + 1))
    number = np.arange(replications + 1)
    for k in range(draws):
        share = (k + 1) / (draws + 1)
        tails[k] = np.minimum(
            binom.cdf(number, replications, share), binom.sf(number - 1, replications, share)
        )
    own = [min(tails[k, sum(r <= k for r in s)] for k in range(draws)) for s in samples]
    for sample, statistic in list(zip(samples, own, strict=True))[::5]:
        exact = np.mean(np.array(own) <= statistic * (1 + 1e-9))
        assert p_value_of(np.array(sample), draws) == pytest.approx(exact, abs=1e-12)


def test_a_line_leaves_the_band_when_its_p_value_is_below_the_level() -> None:
    rng, left = np.random.default_rng(1), 0
    least, most = band_of(40, 7, 0.2)
    for _ in range(40):
        ranks = rng.integers(8, size=40)
        below = np.cumsum(np.bincount(ranks, minlength=8))[:-1]
        leaves = bool(((below < least) | (below > most)).any())
        assert leaves == (p_value_of(ranks, 7) <= 0.2)
        left += leaves
    assert 1 <= left <= 20


def test_the_smallest_p_values_keep_their_digits() -> None:
    """All of 40 ranks are the lowest: the tail at the first place is 8^-40."""
    p = p_value_of(np.zeros(40, np.int64), 7)
    assert 8.0**-40 <= p <= 14 * 8.0**-40
    assert p_value_of(np.arange(64), 63) == 1.0


def test_equal_values_are_ranked_at_random() -> None:
    rng = np.random.default_rng(2)
    found = [int(ranks_of(np.zeros(1), np.zeros((3, 1)), rng)[0]) for _ in range(60)]
    assert set(found) == {0, 1, 2, 3}
    assert ranks_of(np.array([0.5]), np.array([[0.1], [0.9], [0.2]]), rng).tolist() == [2]


# -- designs ----------------------------------------------------------------------------


def test_totals_of_every_set_are_kept_and_outcomes_follow_the_truth() -> None:
    counts = ConditionalCounts("abcd").observe({"a": 7}, within="ab").observe({"c": 5})
    design, rng = Design(counts, None, 1.0), np.random.default_rng(1)
    truth = Truth(np.log([0.4, 0.2, 0.3, 0.1]), None)
    new = [design.record(rng, truth) for _ in range(100)]
    assert {c.n_outcomes for c in new} == {12.0}
    assert all(np.array_equal(c.sets.exponent, counts.sets.exponent) for c in new)
    mean = 7 * np.array([2 / 3, 1 / 3, 0, 0]) + 5 * np.exp(truth.log_p)
    found = np.mean([c.category_counts for c in new], axis=0)
    np.testing.assert_allclose(found, mean, atol=5 * np.sqrt(12 / 4 / 100))


def test_truths_are_draws_of_the_prior() -> None:
    rng = np.random.default_rng(1)
    plain = Design(DUELS, None, [1.0, 2.0, 5.0])
    p = np.exp([plain.draw_truth(rng).log_p for _ in range(300)])
    np.testing.assert_allclose(p.sum(axis=1), 1, rtol=1e-12)
    np.testing.assert_allclose(p.mean(axis=0), np.array([1, 2, 5]) / 8, atol=0.06)
    drawn = Design(DUELS, None, Gamma(4.0, 2.0))
    truths = [drawn.draw_truth(rng).concentration for _ in range(300)]
    assert np.mean(truths) == pytest.approx(2.0, abs=5 * 1 / np.sqrt(300))  # type: ignore[arg-type]
    tiny = Design(DUELS, None, 1e-5).draw_truth(rng).log_p
    assert tiny.min() < -1000
    assert np.isfinite(tiny).all()


def test_priors_in_words() -> None:
    for prior, words in (
        (1.5, "Dirichlet(1.5)"),
        ([1.0, 2.0, 5.0], "Dirichlet(1 to 5)"),
        (Gamma(2.0, 1.0), "Dirichlet(a), a ~ "),
        (DirichletProcess(2.0, {"a": 0.5, "b": 0.3, "c": 0.2}), "DirichletProcess("),
    ):
        assert Design(DUELS, None, prior).prior_words.startswith(words)
    assert quantity_names(("a", 2), True) == [
        "p of 'a'", "p of 2", "the log likelihood", "the concentration",
    ]  # fmt: skip


def test_the_log_likelihood_is_right_where_probabilities_underflow() -> None:
    counts = ConditionalCounts("abcd").observe({"a": 3, "b": 2}, within="ab")
    usual = np.log([[0.1, 0.2, 0.3, 0.4], [0.7, 0.1, 0.1, 0.1]])
    expected = [5 * np.log(1 / 3) + 2 * np.log(2), 3 * np.log(7 / 8) + 2 * np.log(1 / 8)]
    np.testing.assert_allclose(log_likelihoods(usual, counts), expected, rtol=1e-12)
    tiny = np.array([-2000.0, -1999.0, -0.5, np.log1p(-np.exp(-0.5))])
    truth = -3 * np.log1p(np.e) - 2 * np.log1p(1 / np.e)
    assert float(log_likelihoods(tiny, counts)) == pytest.approx(truth, rel=1e-10)
    plain = ConditionalCounts("abcd").observe({"b": 2})
    np.testing.assert_allclose(log_likelihoods(usual, plain), 2 * usual[:, 1], rtol=1e-12)


# -- the check --------------------------------------------------------------------------


def test_right_draws_pass_and_the_verdict_is_told() -> None:
    good = luce.calibration.check_calibration(FULL, replications=60, draws=15, level=1e-4, **QUIET)
    assert good.passed
    assert (good.replications, good.draws) == (60, 15)
    assert str(good) == repr(good)
    assert str(good).startswith("calibration passed at level 0.0001: p = ")
    assert "among 15 draws" in str(good)
    assert "method         exact" in str(good)
    assert "<b>" not in good._repr_html_()
    assert good.quantities == ["p of '<b>'", "p of 'c'", "the log likelihood"]
    again = luce.calibration.check_calibration(FULL, replications=60, draws=15, level=1e-4, **QUIET)
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
    bad = luce.calibration.check_calibration(
        of_other_data, replications=60, draws=15, categories="ab", **QUIET
    )
    assert not bad.passed
    assert bad.p_value < 0.01
    assert str(bad).startswith("calibration rejected at level 0.01: p = ")
    assert "of_other_data, a function" in str(bad)
    axes = bad.plot()
    assert axes.get_legend() is not None
    plt.close(axes.figure)


def ranked(rng: np.random.Generator, p: Mapping[Any, float]) -> ConditionalCounts:
    """Two rankings of three: exponential times, the faster the more probable."""
    counts = ConditionalCounts("abc")
    for _ in range(2):
        times = {label: rng.exponential() / share for label, share in p.items()}
        counts = counts.observe_ranking(sorted(times, key=lambda label: times[label]))
    return counts


@pytest.mark.usefixtures("short_chains")
def test_chains_are_spaced_until_nearly_independent() -> None:
    options = {"replications": 3, "draws": 7, "reduce": False, **QUIET}
    found = luce.calibration.check_calibration(ranked, categories="abc", **options)
    assert found.ranks.attrs["method"] == "waiting-times"
    assert 1 <= found.ranks.attrs["largest_thin"] <= 4
    assert 0 <= found.ranks["probabilities"].values.max() <= 7
    again = luce.calibration.check_calibration(ranked, categories="abc", **options)
    assert again.ranks.equals(found.ranks)


@pytest.mark.usefixtures("short_chains")
def test_a_concentration_that_is_drawn_is_ranked_too() -> None:
    found = luce.calibration.check_calibration(
        DUELS, Gamma(3.0, 1.0), replications=2, draws=7, **QUIET
    )
    assert found.ranks["concentration"].shape == (2,)
    assert found.quantities[-1] == "the concentration"
    assert found._columns.shape == (2, 5)
    assert 0 < found.p_value <= 1


@pytest.mark.usefixtures("short_chains")
def test_chains_that_do_not_mix_are_said_so() -> None:
    seed = np.random.SeedSequence(5).spawn(2)[1]
    with pytest.warns(luce.ConvergenceWarning, match="the chains did not mix"):
        found = luce.calibration.check_calibration(
            DUELS, 0.5, replications=2, draws=7, method="metropolis", seed=seed, progress=False
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


@pytest.mark.usefixtures("short_chains")
def test_methods_that_differ_are_counted() -> None:
    found = luce.calibration.check_calibration(
        now_and_then, replications=6, draws=7, categories="abc", method="waiting-times", **QUIET
    )
    assert "exact (" in found.ranks.attrs["method"]
    assert found.ranks.attrs["method"].count("(") == 2


def unsure(rng: np.random.Generator, p: Mapping[Any, float]) -> ConditionalCounts:
    return ConditionalCounts("ba")


@pytest.mark.parametrize(
    ("design", "options", "words"),
    [
        ({"a": 3}, {}, "must be ConditionalCounts"),
        (DUELS, {"categories": "ab"}, "of their own"),
        (unsure, {}, "needs categories="),
        (unsure, {"categories": "ab"}, "in another order"),
        (lambda rng, p: 3, {"categories": "ab"}, "returned int"),
        (ConditionalCounts("abc").observe_group("ab", 2), {}, "grouped outcomes"),
        (ConditionalCounts("abc").observe({"a": 0.5}, within="ab"), {}, "whole numbers"),
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


# -- held-out predictions ---------------------------------------------------------------


def test_predicted_and_observed_shares_are_those_of_loops() -> None:
    p = np.random.default_rng(4).dirichlet([3.0, 2.0, 1.0], (2, 8))
    held_out = [(0, [0, 1], 3), (1, [1, 0], 1), (2, None, 1), (0, None, 2), (2, [1, 2], 0)]
    table = luce.answers.reliability(p, held_out, bins=4)
    flat = p.reshape(-1, 3)
    pair = (flat[:, :2] / flat[:, :2].sum(axis=1, keepdims=True)).mean(axis=0)
    q = np.r_[pair, flat.mean(axis=0)]
    k, number = np.array([3, 1, 2, 0, 1.0]), np.array([4, 4, 3, 3, 3.0])
    np.testing.assert_allclose(table["predicted"], q, rtol=1e-12)
    np.testing.assert_allclose(table["observed"], k / number, rtol=1e-12)
    assert table["set"].values.tolist() == [0, 0, 1, 1, 1]
    for b in range(4):
        inside = (q >= b / 4) & (q < (b + 1) / 4)
        weight = number[inside].sum()
        assert table["bin_number"].values[b] == weight
        if not weight:
            assert np.isnan(table["bin_predicted"].values[b])
            continue
        assert table["bin_observed"].values[b] == pytest.approx(k[inside].sum() / weight)
        spread = 0.0
        for cells, total in ((slice(0, 2), 4), (slice(2, 5), 3)):
            share = q[cells][inside[cells]].sum()
            spread += total * share * (1 - share)
        assert table["bin_error"].values[b] == pytest.approx(np.sqrt(spread) / weight)
    assert float(table["log_score"]) == pytest.approx(
        float((k[k > 0] * np.log(q[k > 0])).sum()) / 7
    )
    brier = sum(
        k[i] * (((cells - np.eye(len(cells))[j]) ** 2).sum())
        for start, cells in ((0, q[:2]), (2, q[2:]))
        for j, i in enumerate(range(start, start + len(cells)))
    )
    assert float(table["brier_score"]) == pytest.approx(float(brier) / 7)


def test_outcomes_that_cannot_be_read() -> None:
    p = np.full((1, 2, 3), 1 / 3)
    for outcomes, words in (
        ([], "no outcomes were given"),
        ([(0, None)], r"a triple \(label, within, count\) is needed"),
        ([3], "a triple"),
        ([(0, [1, 2], 1)], "outside the set it was recorded in: 1, 2"),
        ([(7, None, 1)], "outcome 1 = 7 is not a category"),
    ):
        with pytest.raises(DataError, match=words):
            luce.answers.reliability(p, outcomes)  # type: ignore[arg-type]
    for bins in (0, 2.0, True):
        with pytest.raises(DataError, match="a whole number from 1 on"):
            luce.answers.reliability(p, [(0, None, 1)], bins=bins)  # type: ignore[arg-type]


def test_a_replication_draws_what_posterior_sample_draws() -> None:
    """Nearly independent draws of plain counts have a Dirichlet's mean."""
    drawer = calibration_runs.NearlyIndependent(200)
    data = Posterior(ConditionalCounts("ab").observe({"a": 3}), [1.0, 2.0])
    draws, method, thin, mixed = drawer(data, np.random.SeedSequence(1))
    assert (method, thin, mixed, draws.shape) == ("exact", 1, True, (200, 3))
    assert np.exp(draws[:, 0]).mean() == pytest.approx(4 / 6, abs=4.5 * np.sqrt(8 / 36 / 7 / 200))
    np.testing.assert_allclose(draws[:, 2], 3 * draws[:, 0], rtol=1e-9)
