"""Predictive densities and replicates, against loops and closed forms."""

from __future__ import annotations

import math

import numpy as np
import pytest
import xarray as xr
from lib.answer_cases import (
    NAMES,
    PLAIN,
    SEED,
    check,
    data_over,
    deep_logs,
    dirichlet,
    draws_of,
    tree_of,
)
from lib.bounds import FALSE_ALARM
from lib.oracles import log_likelihood
from scipy.special import betaln, gammaln
from scipy.stats import chi2, norm

import luce
from luce import ConditionalCounts, Posterior
from luce.errors import DataError
from luce.estimates.estimate import Estimate


def family_of(counts: ConditionalCounts) -> dict[frozenset[int], float]:
    sets = counts.sets
    return {
        frozenset(sets.set_members(t).tolist()): float(sets.exponent[t]) for t in range(sets.n_sets)
    }


def test_log_predictive_is_that_of_loops() -> None:
    x = dirichlet([0.7, 1.0, 2.0, 3.0, 1.5])
    counts = data_over(NAMES)
    family = family_of(counts)
    logs = [
        log_likelihood(p, counts.category_counts.tolist(), family)
        for p in x.reshape(-1, 5).tolist()
    ]
    top = max(logs)
    weights = [math.exp(v - top) for v in logs]
    found = luce.log_predictive(draws_of(x), counts)
    assert isinstance(found, Estimate)
    assert float(found) == pytest.approx(
        top + math.log(math.fsum(weights) / len(weights)), rel=1e-12
    )
    effective = math.fsum(weights) ** 2 / math.fsum(w * w for w in weights)
    assert found.details["effective_draws"] == pytest.approx(effective)
    # Another order of the categories, with the same data, is the same question.
    other = ConditionalCounts(NAMES[::-1]) + counts
    again = luce.log_predictive(draws_of(x), other)
    assert float(again) == pytest.approx(float(found), rel=1e-12)
    empty = luce.log_predictive(draws_of(x), ConditionalCounts(NAMES))
    assert (empty.value, empty.standard_error) == (0, 0)
    assert empty.details == {"effective_draws": 100}


def test_log_predictive_where_probabilities_underflow() -> None:
    logs = deep_logs()
    counts = ConditionalCounts(NAMES).observe({"b": 2, "d": 1}, within="bd")
    counts = counts.observe_group("bd", 1).observe({"b": 1}, without="ace")
    v = logs.reshape(-1, 5)
    pair = np.logaddexp(v[:, 1], v[:, 3])
    each = 3 * v[:, 1] + v[:, 3] - 4 * pair + pair
    truth = np.logaddexp.reduce(each) - math.log(len(each))
    found = luce.log_predictive(tree_of(logs), counts)
    assert float(found) == pytest.approx(truth, rel=1e-12)
    impossible = ConditionalCounts(NAMES).observe({"b": 1})
    bare = tree_of(logs)["posterior"]["probabilities"]
    assert luce.log_predictive(bare, impossible).value == -np.inf


def test_log_predictive_of_a_dirichlet_and_its_error() -> None:
    """Dirichlet-multinomial, and Beta-binomial of a share; errors as large as they say."""
    a = np.array([2.0, 3.0, 1.5])
    plain = ConditionalCounts("abc").observe({"a": 2, "b": 1})
    pair = ConditionalCounts("abc").observe({"a": 2, "b": 1}, within="ab")
    after = a + [2, 1, 0]
    truths = {
        "plain": gammaln(a.sum()) - gammaln(a).sum() - gammaln(after.sum()) + gammaln(after).sum(),
        "pair": betaln(4.0, 4.0) - betaln(2.0, 3.0),
    }
    wrong = betaln(4.0, 4.0) - betaln(2.5, 2.5)
    z: dict[str, list[float]] = {"plain": [], "pair": [], "wrong": []}
    for seed in range(20):
        draws = draws_of(dirichlet(a.tolist(), draws=1000, chains=4, seed=100 + seed))
        for name, counts in (("plain", plain), ("pair", pair)):
            found = luce.log_predictive(draws, counts)
            z[name].append((float(found) - float(truths[name])) / found.standard_error)
        z["wrong"].append((float(found) - float(wrong)) / found.standard_error)
    bound = norm.isf(FALSE_ALARM / 8)  # four comparisons, two-sided
    for name in ("plain", "pair"):
        assert abs(sum(z[name])) / math.sqrt(20) < bound
        squares = sum(v * v for v in z[name])  # chi-square with 20 degrees of freedom
        assert chi2.ppf(FALSE_ALARM / 8, 20) < squares < chi2.isf(FALSE_ALARM / 8, 20)
    assert abs(sum(z["wrong"])) / math.sqrt(20) > bound


def test_the_error_of_certain_and_of_few_predictions() -> None:
    twice = ConditionalCounts(4).observe({0: 2})
    one = np.full((1, 6, 4), 0.25)
    certain = luce.log_predictive(one, twice)
    assert (certain.standard_error, float(certain)) == (0.0, pytest.approx(2 * math.log(0.25)))
    assert math.isnan(luce.log_predictive(one[:, :3], twice).standard_error)
    assert (
        luce.log_predictive(PLAIN, ConditionalCounts("abcd").observe({"b": 2})).standard_error > 0
    )


def test_data_of_probability_0_or_unknown() -> None:
    seen = ConditionalCounts("abc").observe({"c": 1})
    never = luce.log_predictive(draws_of(np.array([[[0.5, 0.5, 0.0]]])), seen)
    assert (float(never), never.details["effective_draws"]) == (-np.inf, 0.0)
    nothing = draws_of(np.array([[[1.0, 0.0, 0.0]]]))
    grouped = luce.log_predictive(nothing, ConditionalCounts("abc").observe_group("bc", 1))
    assert float(grouped) == -np.inf
    with pytest.raises(DataError, match="the likelihood cannot be computed"):
        luce.log_predictive(nothing, ConditionalCounts("abc").observe({"b": 1}, within="bc"))


def test_data_that_cannot_be_predicted() -> None:
    for data, words in (
        ({"a": 1}, "must be ConditionalCounts; dict was given"),
        (ConditionalCounts("abcx"), r"has 4 categories, the draws have 4.*not so 'x'"),
        (ConditionalCounts("abc"), "has 3 categories, the draws have 4"),
    ):
        with pytest.raises(DataError, match=words):
            luce.log_predictive(PLAIN, data)  # type: ignore[arg-type]
    with pytest.raises(DataError, match="each draw must add up to 1"):
        luce.log_predictive(PLAIN * 0.5, ConditionalCounts("abcd").observe({"a": 1}))


def test_replicates_keep_the_design() -> None:
    counts = ConditionalCounts(NAMES).observe_ranking("cab", 2).observe({"d": 3, "a": 1})
    counts = counts.observe({"e": 4}, without="a")
    draws = draws_of(dirichlet([1.0, 2.0, 3.0, 1.0, 1.0]))
    found = luce.answers.posterior_predictive(draws, counts, seed=SEED)
    assert found.dims == ("chain", "draw", "outcome")
    for t in [-1, *range(counts.sets.n_sets)]:
        part = found.isel(outcome=np.flatnonzero(found["set"].values == t))
        members = counts.sets.set_members(t) if t >= 0 else np.arange(5)
        total = -counts.sets.exponent[t] if t >= 0 else 4
        assert part["category"].values.tolist() == [NAMES[i] for i in members]
        assert (part["total"] == total).all()
        assert (part.sum("outcome") == total).all()
    assert found["given"].values[found["set"].values == -1].tolist() == ["all"] * 5
    described = set(found["given"].values.tolist())
    assert described & {"{a, b}", "{b, a}"}
    assert "all but {a}" in described
    again = luce.answers.posterior_predictive(draws, counts, seed=SEED)
    xr.testing.assert_identical(again, found)
    assert not again.equals(luce.answers.posterior_predictive(draws, counts, seed=SEED + 1))


def test_replicates_are_dirichlet_multinomial() -> None:
    a = np.array([2.0, 3.0, 1.5])
    draws = draws_of(dirichlet(a.tolist(), draws=10_000, chains=4, seed=6))
    counts = ConditionalCounts("abc").observe({"a": 7}, within="ab").observe({"c": 5})
    found = luce.answers.posterior_predictive(draws, counts, seed=SEED + 7)

    def moments(m: int, i: int, total: float) -> tuple[float, float]:
        q = a[i] / total
        return m * q, m * q * (1 - q) * (total + m) / (total + 1)

    truth = np.array(
        [moments(7, 0, 5.0), moments(7, 1, 5.0), *[moments(5, i, 6.5) for i in range(3)]]
    )
    values = found.values.reshape(-1, 5).astype(float)
    errors = np.sqrt(truth[:, 1] / 40_000)
    means = values.mean(axis=0), truth[:, 0], errors, truth[[1, 0, 2, 3, 4], 0]
    centred = (values - values.mean(axis=0)) ** 2
    errors = centred.std(axis=0) / 200
    q = truth[:, 0] / [7, 7, 5, 5, 5]
    binomial = truth[:, 0] * (1 - q)  # as if the draws were one and the same
    check(means, (centred.mean(axis=0), truth[:, 1], errors, binomial))


def test_designs_that_cannot_be_replicated() -> None:
    draws = draws_of(dirichlet([1.0, 2.0, 3.0]))
    empty = ConditionalCounts("abc")
    for design, words in (
        (empty.observe_group("ab", 1), "grouped outcomes"),
        (empty.observe({"a": 1.5}, within="ab"), r"1\.5 outcomes given all but {c}; whole numbers"),
        (empty, "records nothing"),
        (ConditionalCounts("abx").observe({"a": 1}), "not so 'x'"),
        (ConditionalCounts("ab").observe({"a": 1}), "2 categories, the draws have 3"),
        ({"a": 1}, "must be ConditionalCounts; dict"),
    ):
        with pytest.raises(DataError, match=words):
            luce.answers.posterior_predictive(draws, design, 1)  # type: ignore[arg-type]
    huge = luce.answers.posterior_predictive(draws, empty.observe({"a": 1e15}), 1)
    assert (huge.sum("outcome") == 10**15).all()


def test_replicates_are_attached_to_a_run() -> None:
    counts = ConditionalCounts("abc").observe({"a": 4, "b": 1}, within="ab").observe({"c": 2})
    run = Posterior(counts).sample(10, chains=2, seed=1, progress=False)
    before = run.copy()
    found = luce.answers.attach_posterior_predictive(run, seed=3)
    assert run.identical(before)
    replicates = luce.answers.posterior_predictive(run, counts, seed=3)
    xr.testing.assert_identical(found["posterior_predictive"]["counts"], replicates)
    design = ConditionalCounts("abc").observe({"a": 9})
    other = luce.answers.attach_posterior_predictive(run, design, seed=3)
    assert (other["posterior_predictive"]["counts"].sum("outcome") == 9).all()
    with pytest.raises(DataError, match="a run is the DataTree"):
        luce.answers.attach_posterior_predictive(PLAIN, design)  # type: ignore[arg-type]
