"""What must hold of all data: random data, changed in a way whose effect is known.

Elsewhere: threads of each method (test_sampling, test_engine, test_hdp, test_concentration), chunks
(test_sampling), draws on a disk against draws in memory (test_streaming), counts against a sum by
brute force (test_conditional_counts), closed forms against 60 digits (test_exact).
"""

import math
import os
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from lib.bounds import SEED
from lib.random_data import Term, entered, nested_terms_over, priors_over, terms_over, tried
from scipy import stats

from luce import ConditionalCounts, Posterior

pytestmark = pytest.mark.filterwarnings("ignore::luce.ConvergenceWarning")  # runs are short here


def draws_of(posterior: Posterior, **how: Any) -> np.ndarray:
    run = posterior.sample(30, chains=2, warmup=20, seed=SEED, progress=False, **how)
    return np.asarray(run.posterior["probabilities"].values)


@st.composite
def cases(draw: st.DrawFn, nested: bool, least: float = 0.25) -> tuple[list[Term], list[float]]:
    n = draw(st.integers(2, 7))
    terms = draw(nested_terms_over(n) if nested else terms_over(n))
    return terms, draw(priors_over(n, least))


# -- permutation -----------------------------------------------------------------------------------


def permuted(prior: list[float], order: list[int]) -> list[float]:
    return [prior[i] for i in order]


@tried(40)
@given(cases(nested=True), st.randoms(use_true_random=False))
def test_permuting_labels_permutes_what_is_exact(case: Any, rng: Any) -> None:
    terms, prior = case
    order = rng.sample(range(len(prior)), len(prior))
    here = Posterior(entered(len(prior), terms), prior)
    there = Posterior(entered(order, terms), permuted(prior, order))
    np.testing.assert_allclose(there.mean(), here.mean()[order], rtol=1e-11)
    np.testing.assert_allclose(there.variance(), here.variance()[order], rtol=1e-9)
    assert float(there.log_evidence()) == pytest.approx(float(here.log_evidence()), abs=1e-9)


@tried(20)
@given(cases(nested=False, least=1.25), st.randoms(use_true_random=False))
def test_permuting_labels_permutes_density_mode_and_cores(case: Any, rng: Any) -> None:
    terms, prior = case
    n = len(prior)
    assume(not any(term.group for term in terms))  # with grouped outcomes there may be two modes
    order = rng.sample(range(n), n)
    here = Posterior(entered(n, terms), prior)
    there = Posterior(entered(order, terms), permuted(prior, order))
    p = np.random.default_rng(rng.randrange(2**32)).dirichlet(np.ones(n), 5)
    np.testing.assert_allclose(there.log_density(p[:, order]), here.log_density(p), rtol=1e-10)
    for scale in ("simplex", "log-odds"):
        np.testing.assert_allclose(
            np.asarray(there.mode(scale)), np.asarray(here.mode(scale))[order], atol=1e-8
        )
    sizes = [sorted((c.n_atoms, c.n_sets) for c in p.structure.cores) for p in (here, there)]
    assert sizes[0] == sizes[1]


# -- splitting and merging -------------------------------------------------------------------------


def split(terms: list[Term], n: int, share: float) -> list[Term]:
    """Category n-1 becomes n-1 and n, with this share of its outcomes and the rest."""
    last, new = n - 1, n

    def both(members: tuple[int, ...]) -> tuple[int, ...]:
        return (*members, new) if last in members else members

    found = []
    for inside, seen, group, times in terms:
        apart = dict(seen)
        if last in seen:
            apart[last], apart[new] = seen[last] * share, seen[last] * (1 - share)
        found.append(Term(both(inside), apart, both(group), times))
    return found


@tried(40)
@given(cases(nested=True), st.integers(0, 4), st.floats(0.05, 0.95))
def test_a_category_split_is_the_whole_and_a_beta_share(
    case: Any, quarter: int, prior_share: float
) -> None:
    """Merged again, mean and variance are those of the whole; the evidence gains a Beta's."""
    terms, prior = case
    n = len(prior)
    whole = Posterior(entered(n, terms), prior)
    a = prior[-1] * prior_share, prior[-1] * (1 - prior_share)
    apart = Posterior(entered(n + 1, split(terms, n, quarter / 4)), [*prior[:-1], *a])
    mean, variance = apart.mean(), apart.variance()
    np.testing.assert_allclose([*mean[:-2], mean[-2:].sum()], whole.mean(), rtol=1e-10)
    np.testing.assert_allclose(variance[:-2], whole.variance()[:-1], rtol=1e-8)
    # Var(p1) and Var(p2) follow from those of the whole and of the share, a Beta of its own.
    c = a + apart.counts.category_counts[-2:]
    share = stats.beta(*c)
    square = (whole.variance() + whole.mean() ** 2)[-1]
    np.testing.assert_allclose(
        variance[-2] + mean[-2] ** 2, square * (share.var() + share.mean() ** 2), rtol=1e-8
    )
    gain = math.lgamma(c[0]) + math.lgamma(c[1]) - math.lgamma(c.sum())
    gain -= math.lgamma(a[0]) + math.lgamma(a[1]) - math.lgamma(sum(a))
    assert float(apart.log_evidence()) == pytest.approx(
        float(whole.log_evidence()) + gain, abs=1e-8
    )


@tried(30)
@given(cases(nested=False), st.integers(0, 4), st.floats(0.05, 0.95), st.floats(0.01, 0.99))
def test_splitting_leaves_the_density_and_the_cores(
    case: Any, quarter: int, prior_share: float, r: float
) -> None:
    """Holds where sets overlap too: log f(.., xr, x(1-r)) = log f(.., x) + log Beta(r) - log x."""
    terms, prior = case
    n = len(prior)
    whole = Posterior(entered(n, terms), prior)
    a = np.array([prior[-1] * prior_share, prior[-1] * (1 - prior_share)])
    apart = Posterior(entered(n + 1, split(terms, n, quarter / 4)), [*prior[:-1], *a])
    p = np.random.default_rng(SEED).dirichlet(np.ones(n))
    seen = apart.counts.category_counts[-2:]
    shared = stats.beta(*a).logpdf(r) + seen @ np.log([r, 1 - r]) - math.log(p[-1])
    found = apart.log_density([*p[:-1], p[-1] * r, p[-1] * (1 - r)])
    assert float(found) == pytest.approx(float(whole.log_density(p)) + shared, abs=1e-8)
    cores = [[(c.n_atoms, c.n_sets) for c in post.structure.cores] for post in (apart, whole)]
    assert cores[0] == cores[1]


def standard_errors_apart(prior: list[float]) -> float:
    """How far merged draws of a split category are from draws of the whole, at the worst."""
    terms = [Term((0, 1, 4), {0: 3.0, 1: 1.0, 4: 6.0}), Term((1, 2, 3), {1: 2.0, 3: 5.0}),
             Term((2, 3, 4), {2: 1.0, 4: 4.0})]  # fmt: skip
    whole = Posterior(entered(5, terms), [0.7, 1.5, 0.4, 1.0, 2.0])
    apart = Posterior(entered(6, split(terms, 5, 0.5)), prior)
    assert not whole.structure.is_exact
    runs = [p.sample(4000, seed=2 * SEED + k, progress=False, method="waiting-times")
            .posterior["probabilities"].values for k, p in enumerate([whole, apart])]  # fmt: skip
    merged = np.concatenate([runs[1][..., :-2], runs[1][..., -2:].sum(-1, keepdims=True)], -1)
    worst = 0.0
    for power in (1, 2):
        both = [x**power for x in (runs[0], merged)]
        # Batches of 400 draws are as good as independent: sweeps here forget in some ten.
        batches = [x.reshape(-1, 400, 5).mean(1) for x in both]
        error = np.sqrt(sum(b.var(0, ddof=1) / len(b) for b in batches))
        worst = max(worst, float((np.abs(batches[0].mean(0) - batches[1].mean(0)) / error).max()))
    return worst


# Ten comparisons with 78 degrees of freedom at least 39 of which are sure (Welch).
BOUND = float(stats.t(39).isf(1e-4 / 10 / 2))


def test_draws_of_a_split_category_are_those_of_the_whole() -> None:
    assert standard_errors_apart([0.7, 1.5, 0.4, 1.0, 0.5, 1.5]) < BOUND


def test_control_a_prior_that_is_copied_and_not_split_is_found() -> None:
    assert standard_errors_apart([0.7, 1.5, 0.4, 1.0, 2.0, 2.0]) > BOUND


# -- what changes nothing, and what doubles --------------------------------------------------------


@tried(10)
@given(cases(nested=False), st.data())
def test_adding_nothing_changes_nothing(case: Any, data: st.DataObject) -> None:
    terms, prior = case
    n = len(prior)
    counts = entered(n, terms)
    some = data.draw(st.lists(st.integers(0, n - 1), min_size=1, unique=True))
    same = {
        "zeros": counts.observe(dict.fromkeys(some, 0), within=some),
        "no group": counts.observe_group(some, 0),
        "no ranking": counts.observe_ranking(some, 0),
        "no data": counts + ConditionalCounts(n),
        "none before": ConditionalCounts(n) + counts,
    }
    draws = draws_of(Posterior(counts, prior))
    for name, other in same.items():
        assert other == counts, name
        assert other.digest == counts.digest, name
        assert other.n_outcomes == counts.n_outcomes, name
        np.testing.assert_array_equal(draws_of(Posterior(other, prior)), draws, name)


@tried(10)
@given(cases(nested=False), st.data())
def test_outcomes_that_had_to_be_say_nothing(case: Any, data: st.DataObject) -> None:
    """Given a set of one category, or the whole set, an outcome of that set was certain."""
    terms, prior = case
    n = len(prior)
    counts = entered(n, terms)
    i = data.draw(st.integers(0, n - 1))
    certain = counts.observe({i: 3}, within=[i]).observe_group(range(n), 2)
    certain = certain.observe_group([i], 4, within=[i])
    assert certain == counts
    assert certain.digest == counts.digest
    assert certain.n_outcomes == counts.n_outcomes + 9
    np.testing.assert_array_equal(
        draws_of(Posterior(certain, prior)), draws_of(Posterior(counts, prior))
    )
    assert counts.observe({i: 3}, within=range(n)) == counts.observe({i: 3})


@tried(30)
@given(cases(nested=False))
def test_data_added_to_itself_is_doubled_counts(case: Any) -> None:
    terms, prior = case
    n = len(prior)
    counts = entered(n, terms)
    twice = entered(n, [
        Term(t.inside, {i: 2 * c for i, c in t.seen.items()}, t.group, 2 * t.times) for t in terms
    ])  # fmt: skip
    assert counts + counts == twice
    assert (counts + counts).digest == twice.digest
    p = np.random.default_rng(SEED).dirichlet(np.ones(n))
    flat = float(Posterior(ConditionalCounts(n), prior).log_density(p))
    once, doubled = (float(Posterior(c, prior).log_density(p)) - flat for c in (counts, twice))
    assert doubled == pytest.approx(2 * once, abs=1e-9)


@st.composite
def three_of_data(draw: st.DrawFn) -> tuple[list[ConditionalCounts], list[float]]:
    n = draw(st.integers(2, 6))
    some = [entered(n, draw(terms_over(n, 3))) for _ in range(3)]
    return some, draw(priors_over(n, 1.25))


@tried(30)
@given(three_of_data())
def test_the_order_of_addition_does_not_matter(case: Any) -> None:
    (a, b, c), prior = case
    sums = [a + b + c, a + (b + c), (c + a) + b, sum([b, a, c])]
    p = np.random.default_rng(SEED).dirichlet(np.ones(len(prior)), 3)
    first = Posterior(sums[0], prior)
    for other in sums[1:]:
        assert other == sums[0]
        assert other.digest == sums[0].digest
        assert other.n_outcomes == sums[0].n_outcomes
        posterior = Posterior(other, prior)
        np.testing.assert_allclose(posterior.log_density(p), first.log_density(p), rtol=1e-11)
        assert posterior.structure.is_exact == first.structure.is_exact
        if first.structure.is_exact:
            np.testing.assert_allclose(posterior.mean(), first.mean(), rtol=1e-12)


# -- threads ---------------------------------------------------------------------------------------


@tried(8)
@given(cases(nested=False), st.sampled_from(["auto", "waiting-times", "hidden-counts"]))
def test_one_thread_draws_what_four_draw(case: Any, method: str) -> None:
    terms, prior = case
    posterior = Posterior(entered(len(prior), terms), prior)
    one, four = (
        posterior.sample(40, chains=5, warmup=20, seed=SEED, method=method, threads=k,
                         progress=False)
        for k in (1, 4)
    )  # fmt: skip
    for group in ("posterior", "sample_stats"):
        for name, values in one[group].data_vars.items():
            np.testing.assert_array_equal(values, four[group][name])


@pytest.mark.slow
def test_all_this_of_many_more_data() -> None:
    """The same tests, each with twenty times the examples."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", __file__]
    more = {**os.environ, "LUCE_TEST_EXAMPLES": "20"}
    done = subprocess.run(command, env=more, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
