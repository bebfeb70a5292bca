"""The density against SciPy, direct sums, and many digits."""

import json
import math
from pathlib import Path
from typing import Any

import mpmath
import numpy as np
import pytest
import scipy.stats as stats
from hypothesis import given, settings
from hypothesis import strategies as st
from lib.oracles import canonical_form, log_likelihood
from lib.places import SHARED_DATA as DATA

from luce import ConditionalCounts, Posterior
from luce.errors import DataError
from luce.model import density

# A sum of k terms is exact within k half-units in the last place; here a few dozen terms.
ROUNDING = 64 * np.finfo(float).eps


def random_data(rng: np.random.Generator, n: int) -> tuple[ConditionalCounts, list[Any]]:
    """Outcomes, groups and rankings, and the terms they amount to."""
    counts, terms = ConditionalCounts(n), []
    for _ in range(int(rng.integers(0, 8))):
        within = rng.permutation(n)[: int(rng.integers(1, n + 1))].tolist()
        kind = rng.integers(3)
        if kind == 0:
            seen = dict(zip(within, rng.integers(0, 9, len(within)) / 4, strict=True))
            counts = counts.observe(seen, within=within)
            terms += [((i,), c) for i, c in seen.items()] + [(within, -sum(seen.values()))]
        elif kind == 1:
            group, times = within[: int(rng.integers(1, len(within) + 1))], int(rng.integers(4))
            counts = counts.observe_group(group, times, within=within)
            terms += [(group, times), (within, -times)]
        else:
            counts = counts.observe_ranking(within, 1.5)
            for place, i in enumerate(within):
                terms += [((i,), 1.5), (within[place:], -1.5)]
    return counts, terms


@pytest.mark.parametrize("n", [1, 2, 5, 40])
def test_log_prior_is_the_dirichlet_density(n: int) -> None:
    rng = np.random.default_rng(n)
    a = rng.uniform(0.05, 30, n)
    p = rng.dirichlet(np.full(n, 1.3), 6)
    p /= p.sum(axis=1, keepdims=True)
    found = density.log_prior(p, a)
    if n == 1:  # SciPy asks for two categories; on one the density is 1
        assert found.tolist() == [0.0] * 6
        return
    expected = [stats.dirichlet.logpdf(row, a) for row in p]
    # Both add up terms as large as gammaln(sum of a), each with its rounding.
    largest = max(abs(math.lgamma(a.sum())), np.abs((a - 1) * np.log(p)).max())
    np.testing.assert_allclose(found, expected, rtol=0, atol=2 * n * 8e-16 * largest)


@settings(max_examples=200, deadline=None, derandomize=True)
@given(st.integers(1, 12), st.integers(0, 2**32 - 1))
def test_log_likelihood_is_the_direct_sum(n: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    counts, terms = random_data(rng, n)
    p = rng.dirichlet(np.full(n, 0.7))
    p = np.maximum(p, 1e-12)
    p /= p.sum()
    truth = canonical_form(n, terms)
    # Terms of either sign may cancel: rounding is relative to their absolute sum.
    size = log_likelihood(
        p.tolist(), [abs(c) for c in truth.counts], {s: -abs(e) for s, e in truth.family.items()}
    )
    weight = sum(map(abs, truth.counts)) + sum(map(abs, truth.family.values()))
    found = float(counts.log_likelihood(p))
    expected = log_likelihood(p.tolist(), truth.counts, truth.family)
    # An excluded mass is subtracted from 1 and may lose four digits (density._CANCELLED).
    assert abs(found - expected) <= ROUNDING * (abs(size) + 1e4 * weight + 1)


def test_log_posterior_is_the_sum_of_the_two() -> None:
    counts = ConditionalCounts(3).observe({0: 2, 1: 1}, within=[0, 1])
    p = [0.2, 0.3, 0.5]
    a = np.asarray([0.5, 2.0, 3.0])
    by_hand = stats.dirichlet.logpdf(p, a) + 2 * math.log(0.2 / 0.5) + math.log(0.3 / 0.5)
    assert Posterior(counts, a).log_density(p) == pytest.approx(by_hand, rel=1e-14)


def test_shapes_of_batches() -> None:
    rng = np.random.default_rng(3)
    counts, _ = random_data(rng, 5)
    counts = counts.observe_ranking([4, 1, 2, 0]).observe({3: 2}, without=[0])
    posterior = Posterior(counts, [1.0, 2.0, 0.5, 1.5, 3.0])
    p = rng.dirichlet(np.ones(5), (2, 3))
    batch = posterior.log_density(p)
    assert batch.shape == (2, 3)
    one_by_one = [[posterior.log_density(row) for row in block] for block in p]
    np.testing.assert_allclose(batch, one_by_one, rtol=1e-13)
    assert posterior.log_density(p[0, 0]).shape == ()
    assert posterior.log_density(p[:0]).shape == (0, 3)
    assert posterior.log_density(p[0, 0].tolist()) == posterior.log_density(p[0, 0])


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ([0.5, 0.6, 0.1], ("1.2", "add up to 1")),
        ([0.7, 0.6, -0.3], ("-0.3", "non-negative")),
        ([0.5, 0.5, float("nan")], ("nan", "add up to 1")),
        ([[0.2, 0.3, 0.5], [0.2, 0.3, 0.4]], ("0.9", "add up to 1")),
        ([0.5, 0.5], ("(2,)", "(..., 3)")),
        ([], ("(0,)", "(..., 3)")),
        (1.0, ("()", "(..., 3)")),
        ([0.25, 0.25, 0.25, 0.25], ("(4,)", "(..., 3)")),
        ([float("inf"), 0.0, 0.0], ("inf", "add up to 1")),
    ],
)
def test_probabilities_off_the_simplex_are_refused(given: Any, said: tuple[str, ...]) -> None:
    posterior = Posterior(ConditionalCounts(3).observe({0: 1}, within=[0, 1]))
    with pytest.raises(DataError) as caught:
        posterior.log_density(given)
    assert [s for s in said if s not in str(caught.value)] == []


def test_rounded_probabilities_are_accepted() -> None:
    p = np.float32([0.1, 0.2, 0.7])  # adds up to 1 within single precision
    assert abs(float(p.astype(float).sum()) - 1) > 1e-9  # otherwise this would test nothing
    posterior = Posterior(ConditionalCounts(3).observe({0: 1}))
    assert posterior.log_density(p) == pytest.approx(math.log(2 * 0.1), abs=1e-6)


@pytest.mark.parametrize("rest", [1e-2, 1e-5, 1e-9, 1e-13, 1e-200])
def test_a_small_kept_mass_is_not_lost(rest: float) -> None:
    # Nearly everything is excluded: 1 - p_0 would have few digits left, or none.
    n = 12
    shares = np.arange(1.0, n) / np.arange(1.0, n).sum()
    p = np.r_[1.0 - rest, rest * shares]
    counts = ConditionalCounts(n).observe({5: 3}, without=[0]).observe({4: 2}, without=[0, 5])
    with mpmath.workdps(50):
        exact = [mpmath.mpf(float(x)) for x in p]
        kept = mpmath.fsum(exact[1:])
        truth = 3 * mpmath.log(exact[5] / kept)
        truth += 2 * mpmath.log(exact[4] / (kept - exact[5]))
    # 1 - p_0 may keep 12 digits at the least, and logarithms turn relative error into absolute.
    assert float(counts.log_likelihood(p)) == pytest.approx(float(truth), abs=5 * 1e-11)


def test_zero_probabilities() -> None:
    counts = ConditionalCounts(4).observe({0: 2}, within=[0, 1])
    # A category never seen may have probability 0; one that was seen may not.
    assert counts.log_likelihood([0.5, 0, 0.5, 0]) == 0.0
    assert counts.log_likelihood([0.5, 0.5, 0, 0]) == pytest.approx(2 * math.log(0.5))
    assert counts.log_likelihood([0.0, 0.5, 0.5, 0]) == -math.inf
    grouped = ConditionalCounts(4).observe_group([0, 1], 1)
    assert grouped.log_likelihood([0, 0, 0.5, 0.5]) == -math.inf
    flat = np.ones(4)
    assert density.log_prior([1.0, 0, 0, 0], flat) == pytest.approx(math.log(6))
    sparse, dense = np.asarray([1.0, 0.5, 1, 1]), np.asarray([1.0, 1.5, 1, 1])
    assert density.log_prior([1.0, 0, 0, 0], sparse) == math.inf
    assert density.log_prior([1.0, 0, 0, 0], dense) == -math.inf


def test_a_set_and_its_outcomes_all_at_zero() -> None:
    # 0/0: the outcome is impossible where it was seen, whatever the set's probability.
    counts = ConditionalCounts(3).observe({0: 2}, within=[0, 1])
    assert counts.log_likelihood([0.0, 0.0, 1.0]) == -math.inf


def references() -> list[Path]:
    return sorted(DATA.glob("*/terms.json")) if DATA.is_dir() else []


@pytest.mark.skipif(not references(), reason="the shared data sets are not on this machine")
@pytest.mark.parametrize("path", references(), ids=lambda p: p.parent.name)
def test_published_data_at_uniform_probabilities(path: Path) -> None:
    terms = json.loads(path.read_text())
    truth = json.loads((path.parent / "truth.json").read_text())["computed"]
    n = len(terms["items"])
    exponents = {tuple(members): power for members, power in terms["brackets"]}
    counts = ConditionalCounts.from_exponents(n, exponents)
    found = float(counts.log_likelihood(np.full(n, 1 / n)))
    assert found == pytest.approx(truth["loglik_uniform"], rel=1e-11)  # given with 13 digits
    if "mle" in truth:
        best = np.asarray([truth["mle"][name] for name in terms["items"]], float)
        found = float(counts.log_likelihood(best / best.sum()))
        # At a maximum the ten digits of the estimate cost nothing to first order.
        assert found == pytest.approx(truth["loglik_mle"], rel=1e-9)


def test_the_boundary_is_never_undefined() -> None:
    # Exponent 0.5 + 1 - 1 of a seen category: the density is 0 there, though the prior's is not.
    seen = Posterior(ConditionalCounts("abc").observe({"a": 1}), 0.5)
    assert seen.log_density([0.0, 0.5, 0.5]) == -np.inf
    group = Posterior(ConditionalCounts("abcd").observe_group("ab", 2, within="abc"))
    assert group.log_density([0.0, 0.0, 0.0, 1.0]) == -np.inf
    with pytest.raises(DataError, match="must be numbers"):
        seen.log_density("x")
