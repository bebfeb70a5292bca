"""Posterior means without bias: against quadrature, with faults that the same comparison finds."""

from typing import Any

import numpy as np
import pytest
from lib.bounds import SEED, z_limit
from lib.contest_cases import ALL, posterior_of
from lib.contest_oracles import contest_quadrature, functionals
from lib.oracles import simplex_quadrature
from lib.size import draws

import luce
from luce import ConditionalCounts, Posterior
from luce.errors import DataError, MethodError
from luce.estimates.estimate import Estimate
from luce.sampling.meeting_times import child
from luce.sampling.replicates import BLOCK, repeat
from luce.workflows.unbiased_means import CoupledMeans, weights

ALPHA = (0.8, 1.5, 2.0)
DUELS = {frozenset("ab"): {"a": 4, "b": 1}, frozenset("bc"): {"b": 3, "c": 2}}
PATH = {**DUELS, frozenset("cd"): {"c": 1, "d": 5}}
GROUPED = {("ab", 3, "abc"), ("ca", 2, "abcd")}


def counts_of(terms: Any, labels: str, groups: Any = ()) -> ConditionalCounts:
    counts = ConditionalCounts(labels)
    for within, won in terms.items():
        counts = counts.observe(won, within=sorted(within))
    for outcome, number, within in groups:
        counts = counts.observe_group(list(outcome), number, within=list(within))
    return counts


def truth_of(terms: Any, labels: str, alpha: Any, groups: Any = ()) -> Any:
    exponents: dict[frozenset[int], float] = {}

    def add(members: Any, power: float) -> None:
        key = frozenset(labels.index(x) for x in members)
        exponents[key] = exponents.get(key, 0.0) + power

    for within, won in terms.items():
        add(within, -sum(won.values()))
        for label, number in won.items():
            add([label], number)
    for outcome, number, within in groups:
        add(outcome, number)
        add(within, -number)
    return simplex_quadrature(exponents, alpha).mean


def duels() -> Posterior:
    return Posterior(counts_of(DUELS, "abc"), ALPHA)


def scores(value: Any, error: Any, truth: Any) -> Any:
    return np.abs(np.asarray(value) - truth) / np.asarray(error)


def naive_weights(k: int, m: int, met: int) -> tuple[Any, Any]:
    """The sums of H, term by term, as they stand in its definition."""
    lag = k
    x, y = np.zeros(max(m, lag + met - 1) + 1), np.zeros(met)
    for q in range(k, m + 1):
        x[q] += 1
        j = 1
        while q + j * lag < lag + met:
            x[q + j * lag] += 1
            y[q + (j - 1) * lag] -= 1
            j += 1
    return x / (m - k + 1), y / (m - k + 1)


@pytest.mark.parametrize("k", [1, 2, 5])
@pytest.mark.parametrize("more", [0, 1, 12])
@pytest.mark.parametrize("met", [0, 1, 2, 9, 30])
def test_weights_are_those_of_the_definition(k: int, more: int, met: int) -> None:
    for found, wanted in zip(
        weights(k, k + more, met), naive_weights(k, k + more, met), strict=True
    ):
        np.testing.assert_allclose(found, wanted, atol=1e-14)
        assert found.shape == wanted.shape


def early(number: int, function: Any = None) -> Any:
    """H of pairs at k = m = 1, where chains are still far from the posterior."""
    pairs = CoupledMeans(
        duels().model, child(np.random.SeedSequence(SEED), 5), number, 1, 1, 10**5, function
    )
    return pairs, repeat(pairs)


@pytest.mark.compiled
def test_estimates_are_unbiased_from_the_first_sweep_on() -> None:
    _, rows = early(4000, lambda p: p)
    means, truth = rows[:, :3], truth_of(DUELS, "abc", ALPHA)
    error = means.std(axis=0, ddof=1) / np.sqrt(len(means))
    assert scores(means.mean(axis=0), error, truth).max() < z_limit(3)


@pytest.mark.compiled
def test_a_forgotten_correction_is_found() -> None:
    """Without the differences of X and Y, the mean is that of a chain after one sweep."""
    pairs, _ = early(1)
    chains, found = pairs.chains, []
    for number in range(4000):
        pair = chains.meet(child(pairs.seed, number), 1, 1, 10**5)
        found.append(chains.shares(pair.x)[0][1])
    means = np.array(found)
    error = means.std(axis=0, ddof=1) / np.sqrt(len(means))
    truth = truth_of(DUELS, "abc", ALPHA)[np.argsort(chains.expansion.product)]
    assert scores(means.mean(axis=0), error, truth).max() > z_limit(3)


CASES = {
    "path": (PATH, "abcd", (0.8, 1.5, 2.0, 0.6), ()),
    "grouped": (PATH, "abcd", (0.8, 1.5, 2.0, 0.6), tuple(sorted(GROUPED))),
    "little prior": (DUELS, "abc", (0.3, 0.4, 0.3), ()),
}


@pytest.mark.compiled
@pytest.mark.parametrize("name", CASES)
def test_estimates_agree_with_quadrature(name: str) -> None:
    terms, labels, alpha, groups = CASES[name]
    posterior, truth = Posterior(counts_of(terms, labels, groups), alpha), truth_of(*CASES[name])
    for function in (None, lambda p: p):
        found = luce.unbiased(posterior, function, replicates=1000, seed=SEED, progress=False)
        assert scores(found, found.standard_error, truth).max() < z_limit(8 * len(CASES))
    more = counts_of(terms, labels, groups).observe({"a": 1}, within="ab")
    other = luce.unbiased(Posterior(more, alpha), replicates=1000, seed=SEED, progress=False)
    assert scores(other, other.standard_error, truth).max() > z_limit(8 * len(CASES))


@pytest.mark.compiled
@pytest.mark.parametrize(
    "name",
    [
        "rao-kupper home",
        *(pytest.param(x, marks=pytest.mark.slow) for x in sorted(ALL) if x != "rao-kupper home"),
    ],
)
def test_contests_agree_with_quadrature(name: str) -> None:
    case = ALL[name]
    known = {k: x for k, x in case.priors.items() if not isinstance(x, tuple)}

    def together(p: Any, **drawn: Any) -> Any:
        home, tie = (drawn.get(k, known.get(k, 1.0) * np.ones(len(p))) for k in ("home", "tie"))
        return functionals(p, home, tie)

    found = luce.unbiased(posterior_of(case), together, replicates=1000, seed=SEED, progress=False)
    truth = contest_quadrature(case).value
    moves = truth[1] > 1e-20
    score = scores(found.value[moves], found.standard_error[moves], truth[0][moves])
    assert score.max() < z_limit(6 * len(ALL))


@pytest.mark.compiled
def test_categories_outside_the_core_are_averaged_in_closed_form() -> None:
    """What splits exactly costs no error: shares within a cell have none."""
    counts = counts_of(DUELS, "abcdef").observe({"d": 3, "e": 1}, within="de")
    counts = counts.observe({"f": 2, "d": 1}, without="abc")
    posterior = Posterior(counts, [0.8, 1.5, 2.0, 1.0, 0.5, 0.7])
    found = luce.unbiased(posterior, replicates=400, seed=SEED, progress=False)
    drawn = luce.unbiased(posterior, lambda p: p, replicates=400, seed=SEED, progress=False)
    both = np.hypot(found.standard_error.values, drawn.standard_error.values)
    assert (np.abs(found.value.values - drawn.value.values) < z_limit(6) * both).all()
    assert (found.standard_error.values <= drawn.standard_error.values * 1.2).all()
    exact = found.value.sel(category=list("def"))
    ratio = found.standard_error.sel(category=list("def")) / exact
    np.testing.assert_allclose(ratio, ratio[0], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(found.value.sum(), 1.0, rtol=1e-12)


def test_sets_that_nest_have_an_exact_answer() -> None:
    posterior = Posterior(ConditionalCounts("abc").observe({"b": 2}, without="a"), 2.0)
    found = luce.unbiased(posterior, progress=False)
    np.testing.assert_array_equal(found.value, posterior.mean())
    assert float(found.standard_error.max()) == 0.0
    assert found.method == "exact: the sets nest"
    drawn = luce.unbiased(posterior, lambda p: p[:, 0] > p[:, 1], replicates=50, seed=1)
    assert 0 < float(drawn) < 1
    assert drawn.standard_error > 0


def test_results_have_the_labels_of_the_function() -> None:
    import xarray as xr

    def best(p: Any) -> Any:
        return xr.DataArray(
            p == p.max(axis=1, keepdims=True),
            dims=("draw", "player"),
            coords={"player": list("xyz")},
        )

    found = luce.unbiased(duels(), best, replicates=50, seed=1, progress=False)
    assert isinstance(found, Estimate)
    assert found.value.dims == ("player",)
    np.testing.assert_allclose(found.value.sum(), 1.0)
    one = luce.unbiased(duels(), lambda p: p[:, 0], replicates=50, seed=1, progress=False)
    assert isinstance(one.value, float)
    low, high = one.interval()
    assert low < float(one) < high


@pytest.mark.compiled
def test_a_constant_is_its_own_mean() -> None:
    found = luce.unbiased(duels(), lambda p: p.sum(axis=1), replicates=30, seed=1, progress=False)
    assert float(found) == pytest.approx(1.0, abs=1e-12)
    assert found.standard_error < 1e-12


@pytest.mark.compiled
def test_labels_that_are_no_texts_are_kept() -> None:
    counts = ConditionalCounts([("a", 1), 2, None]).observe({2: 3, None: 1}, within=[2, None])
    counts = counts.observe({("a", 1): 3, 2: 1}, within=[("a", 1), 2])
    found = luce.unbiased(Posterior(counts), replicates=30, seed=1, progress=False)
    assert found.value["category"].values.tolist() == [("a", 1), 2, None]


def test_the_same_seed_gives_the_same_estimate_for_any_number_of_threads() -> None:
    number = draws(compiled=3 * BLOCK + 7, plain=BLOCK + 1)
    first, *others = (
        luce.unbiased(duels(), lambda p: p**2, replicates=number, seed=s, threads=t, progress=False)
        for s, t in ((4, 1), (4, 3), (5, 1))
    )
    np.testing.assert_array_equal(others[0].value, first.value)
    np.testing.assert_array_equal(others[0].standard_error, first.standard_error)
    assert (others[1].value != first.value).all()
    assert len(first.details["meeting_times"]) == number


def test_refusals_say_what_to_do() -> None:
    gamma = Posterior(counts_of(DUELS, "abc"), luce.Gamma(1, 1))
    tied = luce.from_rankings(["a = b > c", "c > a > b", "b > c = a"], ties="davidson-luce")
    run = duels().sample(10, seed=1, progress=False)
    for given, words in (
        (lambda: luce.unbiased(gamma), "Give the concentration as a number"),
        (lambda: luce.unbiased(Posterior(tied)), "no coupling is known of the Hamiltonian moves"),
        (lambda: luce.unbiased(run), "luce.posterior_of"),
        (lambda: luce.unbiased(duels(), 3), "give a function of probabilities"),
        (lambda: luce.unbiased(duels(), replicates=1), "at least 2"),
        (lambda: luce.unbiased(duels(), lambda p: p.mean(), replicates=2), "first dimension"),
        (lambda: luce.unbiased(duels(), lambda p: p * np.nan, replicates=2), "not finite"),
        (
            lambda: luce.unbiased(duels(), longest=1, replicates=2),
            "would be biased. Raise longest=",
        ),
    ):
        with pytest.raises((DataError, MethodError), match=words):
            given()


def test_what_is_printed_is_true() -> None:
    found = luce.unbiased(duels(), replicates=60, seed=1, progress=False)
    k, m = found.details["k"], found.details["m"]
    assert f"60 coupled pairs, k = lag = {k}, m = {m}" in str(found)
    assert f"{found.details['relative_cost']:.2g} times fewer sweeps" in str(found)
    times = found.details["meeting_times"]
    assert found.details["sweeps"] == (np.maximum(m, k + times - 1) + times).sum()
