"""Predictive densities and replicates, against loops and closed forms."""

from __future__ import annotations

import math
from typing import Any

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
from lib.bounds import FALSE_ALARM, z_limit
from lib.evidence_cases import by_quadrature, observed
from lib.maximum_cases import races
from lib.oracles import log_likelihood
from lib.size import draws as size
from scipy.special import betaln, gammaln
from scipy.stats import chi2, norm

import luce
from luce import ConditionalCounts, Posterior
from luce.errors import DataError, EvidenceWarning, MethodError
from luce.estimates.estimate import Estimate
from luce.estimates.weights import log_mean

few_draws = pytest.mark.filterwarnings("ignore::luce.errors.EvidenceWarning")


def family_of(counts: ConditionalCounts) -> dict[frozenset[int], float]:
    sets = counts.sets
    return {
        frozenset(sets.set_members(t).tolist()): float(sets.exponent[t]) for t in range(sets.n_sets)
    }


@few_draws
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
    # Autocorrelation may take some away.
    assert 0 < found.details["effective_draws"] <= effective * (1 + 1e-12)
    # Another order of the categories, with the same data, is the same question.
    other = ConditionalCounts(NAMES[::-1]) + counts
    again = luce.log_predictive(draws_of(x), other)
    assert float(again) == pytest.approx(float(found), rel=1e-12)
    empty = luce.log_predictive(draws_of(x), ConditionalCounts(NAMES))
    assert (empty.value, empty.standard_error) == (0, 0)
    assert empty.details == {"effective_draws": 2, "pareto_k": -np.inf}


@few_draws
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
    with pytest.warns(EvidenceWarning, match=r"rests on \d+ of the draws alone \(Pareto k nan"):
        few = luce.log_predictive(PLAIN, ConditionalCounts("abcd").observe({"b": 2}))
    assert math.isnan(few.standard_error)


def test_data_of_probability_0_or_unknown() -> None:
    seen = ConditionalCounts("abc").observe({"c": 1})
    with pytest.warns(EvidenceWarning, match="rests on 0 of the draws alone"):
        never = luce.log_predictive(draws_of(np.array([[[0.5, 0.5, 0.0]]])), seen)
    assert (float(never), never.details["effective_draws"]) == (-np.inf, 0.0)
    nothing = draws_of(np.array([[[1.0, 0.0, 0.0]]]))
    with pytest.warns(EvidenceWarning, match="rests on 0 of the draws alone"):
        grouped = luce.log_predictive(nothing, ConditionalCounts("abc").observe_group("bc", 1))
    assert float(grouped) == -np.inf
    with pytest.raises(DataError, match="the likelihood cannot be computed"):
        luce.log_predictive(nothing, ConditionalCounts("abc").observe({"b": 1}, within="bc"))


# -- new data that moves the posterior far ----------------------------------------------


def mean_over_draws(run: xr.DataTree, new: ConditionalCounts) -> Estimate:
    """The mean of likelihoods with its standard error, whether it can be trusted or not."""
    return log_mean(luce.answers.log_likelihood(run, [new]).values[..., 0], "draws")


def errors_off(found: list[Estimate], truth: float) -> list[float]:
    return [(float(each) - truth) / float(each.standard_error) for each in found]


def test_much_new_data_over_nested_sets_is_predicted_in_closed_form() -> None:
    a = np.linspace(0.6, 2.0, 30)
    old, new = np.arange(30.0) % 4, (7 * np.arange(30.0)) % 11

    def log_beta(c: np.ndarray) -> float:
        return float(gammaln(c).sum() - gammaln(c.sum()))

    before, after = (ConditionalCounts(30).observe(dict(enumerate(x))) for x in (old, new))
    truth = log_beta(a + old + new) - log_beta(a + old)
    run = Posterior(before, a).sample(1000, seed=SEED + 1, progress=False)
    found = luce.log_predictive(run, after)
    assert (found.method, found.standard_error) == ("exact", 0.0)
    assert float(found) == pytest.approx(truth, rel=1e-12)
    assert found.details["effective_draws"] == np.inf
    mean = mean_over_draws(run, after)
    assert found.details["pareto_k"] == mean.details["pareto_k"] > 0.7
    assert abs(errors_off([mean], truth)[0]) > z_limit(1)


OLD = observed(3, ({0: 3, 1: 2}, [0, 1]), ({1: 1, 2: 3}, [1, 2]))
NEW = observed(3, ({0: 27, 1: 270}, [0, 1]), ({1: 120, 2: 24}, [1, 2]), ({0: 9, 2: 66}, [0, 2]))


@pytest.mark.compiled
def test_much_new_data_over_overlapping_sets_is_predicted_by_evidences() -> None:
    """Against quadrature; the mean over draws fails by the same measure."""
    prior, runs = [0.9, 1.4, 0.8], 12
    truth = by_quadrature(Posterior(OLD + NEW, prior)) - by_quadrature(Posterior(OLD, prior))
    found, means = [], []
    for seed in range(runs):
        run = Posterior(OLD, prior).sample(250, seed=SEED + seed, progress=False)
        found.append(luce.log_predictive(run, NEW, seed=SEED + 500 + seed, progress=False))
        means.append(mean_over_draws(run, NEW))
    assert {each.method for each in found} == {"evidences"}
    assert min(each.details["pareto_k"] for each in found) > 0.5
    low, high = chi2.ppf(FALSE_ALARM / 4, runs), chi2.isf(FALSE_ALARM / 4, runs)
    squares, without = (sum(z * z for z in errors_off(each, truth)) for each in (found, means))
    assert low < squares < high
    assert not low < without < high


@pytest.mark.compiled
def test_a_block_of_races_is_predicted_as_well_as_is_said() -> None:
    """20 races of 30 drivers out of 40, after 10 of them; against Chib's method."""
    rng = np.random.default_rng([SEED, 18])
    before = after = ConditionalCounts(40)
    for number, order in enumerate(races(rng, 40, 30, 30)):
        if number < 10:
            before = before.observe_ranking(order)
        else:
            after = after.observe_ranking(order)
    options: dict[str, Any] = {"method": "chib", "seed": SEED + 3, "progress": False}
    old, both = (Posterior(x).log_evidence(2000, **options) for x in (before, before + after))
    truth, error = float(both) - float(old), math.hypot(old.standard_error, both.standard_error)
    bound, far = z_limit(3), 0.0
    for seed in range(3):
        run = Posterior(before).sample(500, seed=SEED + seed, progress=False)
        found = luce.log_predictive(run, after, seed=SEED + 100 + seed, progress=False)
        assert found.method == "evidences"
        assert abs(float(found) - truth) < bound * math.hypot(found.standard_error, error)
        assert found.standard_error < 0.05
        mean = mean_over_draws(run, after)
        assert mean.details["effective_draws"] < 200
        far = max(far, abs(float(mean) - truth) / math.hypot(mean.standard_error, error))
    assert far > bound


@pytest.mark.compiled
def test_new_data_under_a_prior_on_the_concentration_is_predicted_in_steps() -> None:
    """Against an integral over the concentration; the mean over draws fails by the same measure."""
    old, new = np.array([3.0, 1, 0, 2, 1]), np.array([2.0, 60, 1, 4, 120])
    grid = np.exp(np.linspace(-9, 6, 4001))
    weight = np.log(grid) + np.log(grid) - 2 * grid  # a Gamma(2, 2) density, per log a

    def log_integral(seen: np.ndarray) -> float:
        own = gammaln(grid[:, None] + seen).sum(axis=1) - gammaln(5 * grid + seen.sum())
        own += gammaln(5 * grid) - 5 * gammaln(grid)
        return float(np.logaddexp.reduce(own + weight))

    truth = log_integral(old + new) - log_integral(old)
    before, after = (ConditionalCounts(5).observe(dict(enumerate(x))) for x in (old, new))
    found, means = [], []
    for seed in range(6):
        posterior = Posterior(before, luce.Gamma(2.0, 2.0))
        run = posterior.sample(1000, seed=SEED + seed, progress=False)
        found.append(luce.log_predictive(run, after, seed=SEED + 100 + seed, progress=False))
        means.append(mean_over_draws(run, after))
    assert {each.method for each in found} == {"steps"}
    shares = found[0].details["shares"]
    assert len(shares) > 2
    assert shares == sorted(shares)
    assert shares[-1] == 1
    low, high = chi2.ppf(FALSE_ALARM / 4, 6), chi2.isf(FALSE_ALARM / 4, 6)
    squares, without = (sum(z * z for z in errors_off(each, truth)) for each in (found, means))
    assert low < squares < high
    assert not low < without < high


@pytest.mark.compiled
def test_steps_with_parts_of_grouped_outcomes_end_at_the_evidences() -> None:
    """The control leaves a piece of the new data out."""
    grouped = NEW.observe_group([1, 2], 7)
    run = Posterior(OLD).sample(1000, seed=SEED + 8, progress=False)
    steps = luce.log_predictive(run, grouped, method="steps", seed=SEED + 9, progress=False)
    bridged = luce.log_predictive(run, grouped, method="evidences", progress=False)
    wrong = luce.log_predictive(run, NEW, method="evidences", progress=False)
    error = math.hypot(steps.standard_error, bridged.standard_error)
    assert abs(float(steps) - float(bridged)) < z_limit() * error
    assert abs(float(steps) - float(wrong)) > z_limit() * error


@pytest.mark.filterwarnings("ignore::luce.ConvergenceWarning")
def test_steps_that_cannot_be_made_are_told() -> None:
    counts = ConditionalCounts("abc").observe({"a": 2, "b": 1})
    run = Posterior(counts, luce.Gamma(2.0, 2.0)).sample(4, chains=1, seed=SEED, progress=False)
    new = ConditionalCounts("abc").observe({"c": 40})
    with pytest.warns(EvidenceWarning, match="after 1 step with .* of the new data the mean"):
        assert math.isnan(luce.log_predictive(run, new).standard_error)
    run["posterior"]["probabilities"].values[:] = [0.5, 0.5, 0.0]
    with pytest.raises(MethodError, match="probability 0 in all draws"):
        luce.log_predictive(run, new, method="steps")


@pytest.mark.compiled
def test_the_same_question_has_the_same_answer() -> None:
    run = Posterior(OLD).sample(200, seed=SEED, progress=False)
    one, same = (luce.log_predictive(run, NEW, method="evidences") for _ in range(2))
    assert one == same
    assert one.details["after"] == same.details["after"]
    assert one != luce.log_predictive(run, NEW, method="evidences", seed=1)
    with pytest.raises(
        MethodError, match="method = 'chib'; choose one of auto, draws, evidences, steps"
    ):
        luce.log_predictive(run, NEW, method="chib")


def test_without_the_model_a_doubtful_mean_is_told() -> None:
    """The value stays, its error is not known, and the warning says what to do."""
    run = Posterior(OLD).sample(size(1000, 60), seed=SEED, progress=False)
    bare = run["posterior"]["probabilities"]
    for draws, options, why in (
        (bare, {}, "a run is the DataTree that Posterior.sample returns; DataArray was given"),
        (run, {"method": "draws"}, r"its error is not known\. Give the run"),
    ):
        with pytest.warns(EvidenceWarning, match=why) as caught:
            found = luce.log_predictive(draws, NEW, **options)  # type: ignore[arg-type]
        assert float(found) == pytest.approx(float(mean_over_draws(run, NEW)), rel=1e-12)
        assert math.isnan(found.standard_error)
        assert found.details["pareto_k"] > 0.5
        (warning,) = (w.message for w in caught if isinstance(w.message, EvidenceWarning))
        assert warning.estimates["draws"] is found
    with pytest.raises(DataError, match="a run is the DataTree"):
        luce.log_predictive(bare, NEW, method="evidences")


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
