"""`luce.update`: the posterior of old and new data, by weights and by new draws.

Truths are closed forms of trees, written here, and quadrature (`lib.sampling_oracles`); errors are
in Monte Carlo standard errors, which rest on the order of the draws.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from lib.bounds import FALSE_ALARM, SEED, z_limit
from lib.sampling_oracles import Case, Term, quadrature
from scipy.stats import chi2

import luce
from luce import ConditionalCounts, Gamma, Posterior
from luce.answers.diagnostics import mcse, verdict
from luce.decide import Update, update
from luce.errors import ConvergenceWarning, DataError, MethodError

DRAWS = 1000


def counts_of(terms: Sequence[Term], labels: str = "abc") -> ConditionalCounts:
    counts = ConditionalCounts(labels)
    for outcome, count, within in terms:
        members, among = ([labels[i] for i in numbers] for numbers in (outcome, within))
        counts = counts.observe_group(members, count, within=among)
    return counts


def split(terms: Sequence[Term], rng: np.random.Generator, share: float) -> Any:
    """Old and new data: each outcome is an old one with this probability."""
    old = [term._replace(count=float(rng.binomial(int(term.count), share))) for term in terms]
    new = [a._replace(count=a.count - b.count) for a, b in zip(terms, old, strict=True)]
    return counts_of(old), counts_of(new)


def values(run: Any, mean: np.ndarray) -> np.ndarray:
    """Probabilities, and squares of their distance from the true means; (chain, draw, value)."""
    p = run.posterior["probabilities"].values
    return np.concatenate([p, (p - mean) ** 2], axis=-1)


def z_scores(x: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """Distances of means from the truth, in the standard errors of draws in this order."""
    return np.asarray((x.mean(axis=(0, 1)) - truth.ravel()) / mcse(x).values)


# -- agreement with a fit of all data, by quadrature ------------------------------------------------

CASES = [
    Case(
        "duels that overlap, and outcomes among all",
        (0.8, 1.5, 2.0),
        picks=((0, 6, (0, 1)), (1, 9, (0, 1)), (1, 8, (1, 2)), (2, 5, (1, 2)), (0, 7, (0, 1, 2))),
    ),
    Case(
        "teams of two against one, and rankings",
        (1.2, 0.7, 1.0),
        picks=((2, 4, (0, 2)), (0, 12, (0, 2)), (1, 3, (0, 1, 2))),
        groups=(((0, 1), 8, (0, 1, 2)), ((1, 2), 5, (0, 1, 2))),
    ),
]


def splits_agree(case: Case, number: int, seed: int) -> tuple[np.ndarray, set[str]]:
    """z-scores of updates by random splits of the data, (split, value), and the ways taken."""
    truth = quadrature(case).value
    prior = dict(zip("abc", case.concentration, strict=True))
    found, ways = [], set()
    for k in range(number):
        rng = np.random.default_rng([SEED, seed, k])
        old, new = split(case.terms, rng, rng.uniform(0.3, 1.0))
        run = Posterior(old, prior).sample(DRAWS, seed=int(rng.integers(2**31)), progress=False)
        run = update(run, new, seed=k, progress=False)
        assert verdict(run).kind != "bad"
        ways.add(Update.of(run).way)
        found.append(z_scores(values(run, truth[0]), truth))
    return np.array(found), ways


def assert_calibrated(z: np.ndarray) -> None:
    """Neither one score nor the sum of the squares of one value's scores is beyond chance."""
    assert np.abs(z).max() < z_limit(z.size)
    assert (z**2).sum(axis=0).max() < chi2.isf(FALSE_ALARM / z.shape[1], len(z))


@pytest.mark.compiled
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.desc)
def test_updates_agree_with_all_data(case: Case) -> None:
    z, ways = splits_agree(case, 25, 1)
    assert ways == {"reweighted", "sampled"}
    assert_calibrated(z)


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.desc)
def test_updates_agree_with_all_data_over_a_thousand_splits(case: Case) -> None:
    z, ways = splits_agree(case, 1000, 2)
    assert ways == {"reweighted", "sampled"}
    assert_calibrated(z)


@pytest.mark.compiled
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.desc)
def test_the_comparison_sees_forgotten_and_doubled_data(case: Case) -> None:
    truth = quadrature(case).value
    prior = dict(zip("abc", case.concentration, strict=True))
    old, new = split(case.terms, np.random.default_rng(5), 0.5)
    run = Posterior(old, prior).sample(DRAWS, seed=1, progress=False)
    right = update(run, new, seed=1, progress=False)
    for wrong in (run, update(right, new, seed=2, progress=False)):
        with pytest.raises(AssertionError):
            assert_calibrated(z_scores(values(wrong, truth[0]), truth)[None])
    assert_calibrated(z_scores(values(right, truth[0]), truth)[None])


# -- exact trees, and what copies of draws are worth -------------------------------------------------

ALPHA = np.array([0.7, 1.6, 1.1, 2.3])
SEEN = np.array([9.0, 6.0, 4.0, 5.0])  # of which 8 given {a, b} and 7 given {a, b, c}


def tree_truth() -> np.ndarray:
    """Mean and variance of p: shares of a tree of beta distributions."""
    shape = ALPHA + SEEN
    ab, abc = shape[:2].sum() - 8, shape[:3].sum() - 8 - 7
    splits = [(shape[0], shape[1]), (ab, shape[2]), (abc, shape[3])]  # a of ab, ab of abc, abc

    def moments(a: float, b: float) -> tuple[float, float]:
        return a / (a + b), a * (a + 1) / ((a + b) * (a + b + 1))

    inner, outer = np.array([moments(*s) for s in splits]), []
    other = np.array([moments(b, a) for a, b in splits])
    outer.append(inner[0] * inner[1] * inner[2])
    outer.append(other[0] * inner[1] * inner[2])
    outer.append(other[1] * inner[2])
    outer.append(other[2])
    mean, square = np.array(outer).T
    return np.stack([mean, square - mean**2])


def tree_data(rng: np.random.Generator, share: float) -> tuple[Any, Any]:
    """The tree's data, each outcome old with this probability."""
    parts = [
        ({"a": 5, "b": 3}, "ab"),
        ({"a": 2, "b": 2, "c": 3}, "abc"),
        ({"a": 2, "b": 1, "c": 1, "d": 5}, "abcd"),
    ]
    old = new = ConditionalCounts("abcd")
    for seen, within in parts:
        first = {label: int(rng.binomial(n, share)) for label, n in seen.items()}
        old = old.observe(first, within=within)
        new = new.observe({x: n - first[x] for x, n in seen.items()}, within=within)
    return old, new


def tree_scores(number: int, *, shuffled: bool) -> np.ndarray:
    truth, found = tree_truth(), []
    for k in range(number):
        rng = np.random.default_rng([SEED, 7, k])
        old, new = tree_data(rng, 0.8)
        run = Posterior(old, dict(zip("abcd", ALPHA, strict=True))).sample(500, seed=k)
        run = update(run, new, seed=k)
        if Update.of(run).way == "sampled":
            continue
        x = values(run, truth[0])
        if shuffled:
            x = rng.permutation(x.reshape(-1, 8)).reshape(x.shape)
        found.append(z_scores(x, truth))
    return np.array(found)


def test_errors_of_reweighted_trees_are_those_that_the_draws_tell() -> None:
    z = tree_scores(120, shuffled=False)
    assert len(z) > 60
    assert_calibrated(z)


def test_draws_in_random_order_would_hide_that_they_are_copies() -> None:
    with pytest.raises(AssertionError):
        assert_calibrated(tree_scores(120, shuffled=True))
