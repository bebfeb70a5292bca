"""Designs: truths are draws of the prior, and data are simulated from truths."""

import mpmath
import numpy as np
import pytest
from lib.bounds import SEED, z_limit
from lib.contest_runs import chances, counts_of

import luce
from luce import ConditionalCounts, DirichletProcess, Gamma
from luce.calibration.design import Design, log_likelihoods, quantity_names
from luce.counts.contests import Contests

DUELS = ConditionalCounts("abc").observe({"a": 4}, within="ab").observe({"b": 4}, within="bc")


def test_totals_of_every_set_are_kept_and_outcomes_follow_the_truth() -> None:
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
    names = ["p of 'a'", "p of 2", "the log likelihood", "the concentration"]
    assert quantity_names(("a", 2), True) == names


@pytest.mark.parametrize("ties", ["davidson", "rao-kupper", None])
def test_meetings_of_contests_are_kept_and_results_follow_the_truth(ties: str | None) -> None:
    counts = counts_of(ties, True)
    design = Design(counts, None, 2.0, {"home": Gamma(3.0, 2.0), "tie": None})
    rng = np.random.default_rng(SEED + 2)
    truth = design.draw_truth(rng)
    assert set(truth.parameters) == set(counts.parameters)
    new = [design.record(rng, truth) for _ in range(400)]
    contests = [c.events for c in new]
    old = counts.events
    assert isinstance(old, Contests)
    p = dict(zip("abc", np.exp(truth.log_p).tolist(), strict=True))
    comparisons = 3 * len(old)
    for t, total in enumerate(old.results.sum(axis=1)):
        results = np.array([c.results[t] for c in contests])  # type: ignore[union-attr]
        assert (results.sum(axis=1) == total).all()
        a, b = ("abc"[i] for i in old.members[2 * t : 2 * t + 2])
        won, tied, lost = chances(p[a], p[b], ties, truth.parameters, int(old.at_home[t]))
        q = np.array([won, lost, tied])
        seen = q > 0
        z = (results.mean(axis=0) - total * q)[seen] / np.sqrt(total * q * (1 - q) / 400)[seen]
        assert np.abs(z).max() < z_limit(comparisons)
        assert not results[:, ~seen].any()
    # The log likelihood is that of the results, one by one.
    expected = 0.0
    first = contests[0]
    assert isinstance(first, Contests)
    for t in range(len(first)):
        a, b = ("abc"[i] for i in first.members[2 * t : 2 * t + 2])
        q = np.array(chances(p[a], p[b], ties, truth.parameters, int(first.at_home[t])))[[0, 2, 1]]
        seen = first.results[t] > 0
        expected += float(first.results[t][seen] @ np.log(q[seen]))
    found = float(log_likelihoods(truth.log_p, new[0], truth.parameters))
    assert found == pytest.approx(expected)


def test_truths_of_parameters_are_draws_of_their_priors() -> None:
    design = Design(counts_of("rao-kupper", True), None, 1.0, {"home": 1.7, "tie": Gamma(4.0, 2.0)})
    rng = np.random.default_rng(SEED + 3)
    truths = [design.draw_truth(rng).parameters for _ in range(400)]
    assert {each["home"] for each in truths} == {1.7}
    excess = np.array([each["tie"] - 1 for each in truths])
    assert excess.min() > 0
    assert abs(excess.mean() - 2.0) < z_limit() * 1.0 / np.sqrt(400)
    with pytest.raises(luce.errors.DataError, match="fractions of results"):
        Design(counts_of("davidson", True, [("a", "b", 1, 0.5, 1, 0)]), None, 1.0)


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
    plain = luce.ConditionalCounts("abcd").observe({"b": 2})
    np.testing.assert_allclose(log_likelihoods(usual, plain), 2 * usual[:, 1], rtol=1e-12)
