"""Closed forms against quadrature, a recursion in 60 digits, and textbook formulas."""

import itertools
import json
import math
import pickle

import mpmath
import numpy as np
import pytest
import scipy.stats as stats
from hypothesis import given, settings
from hypothesis import strategies as st
from lib.oracles import Family, Moments, overlap, simplex_quadrature, tree_moments
from lib.places import SHARED_DATA as DATA

from luce import ConditionalCounts, Posterior
from luce.errors import DataError, NotExactError
from luce.paper.examples import paper_posterior


def agree(posterior: Posterior, truth: Moments, rtol: float = 1e-12) -> None:
    np.testing.assert_allclose(posterior.mean(), truth.mean, rtol=rtol)
    np.testing.assert_allclose(posterior.variance(), truth.variance, rtol=rtol, atol=1e-300)
    # The evidence is a sum of log-gammas; rounding is relative to the largest of them.
    size = max(1.0, abs(truth.log_evidence), math.lgamma(posterior.concentration.sum() + 1e-9))
    assert float(posterior.log_evidence()) == pytest.approx(
        truth.log_evidence, abs=1e2 * rtol * size
    )


def family_of(counts: ConditionalCounts) -> Family:
    sets = counts.sets
    listed = [frozenset(sets.set_members(t).tolist()) for t in range(sets.n_sets)]
    return dict(zip(listed, sets.exponent.tolist(), strict=True))


# -- the oracles themselves ---------------------------------------------------------------------


def test_quadrature_of_a_plain_dirichlet() -> None:
    a, seen = np.asarray([0.35, 2.0, 1.4]), np.asarray([3.0, 0.0, 7.5])
    found = simplex_quadrature({frozenset([i]): c for i, c in enumerate(seen)}, a)
    np.testing.assert_allclose(found.mean, stats.dirichlet.mean(a + seen), rtol=1e-12)
    np.testing.assert_allclose(found.variance, stats.dirichlet.var(a + seen), rtol=1e-11)
    by_hand = sum(math.lgamma(x) for x in a + seen) - math.lgamma((a + seen).sum())
    by_hand -= sum(math.lgamma(x) for x in a) - math.lgamma(a.sum())
    assert found.log_evidence == pytest.approx(by_hand, abs=1e-12)


def test_quadrature_does_not_depend_on_the_order_of_categories() -> None:
    # Overlapping sets, a grouped outcome among them, and an integrable singularity.
    a = [0.4, 0.7, 1.3]
    exponents = {frozenset([0]): 3.0, frozenset([1]): 4.0}
    exponents |= {frozenset([0, 1]): -6.5, frozenset([1, 2]): 2.0}
    first = simplex_quadrature(exponents, a)
    for order in itertools.permutations(range(3)):
        moved = {frozenset(order[i] for i in s): e for s, e in exponents.items()}
        found = simplex_quadrature(moved, [a[order.index(i)] for i in range(3)])
        np.testing.assert_allclose(found.mean[list(order)], first.mean, rtol=1e-12)
        assert found.log_evidence == pytest.approx(first.log_evidence, abs=1e-12)


def test_quadrature_of_published_chess_data() -> None:
    """Hankin's B(chess) = 1.442828e-28, the integral without the prior's constant Gamma(3)."""
    powers = {(0,): 30, (1,): 36, (2,): 22, (0, 1): -35, (0, 2): -18, (1, 2): -35}
    found = simplex_quadrature({frozenset(s): e for s, e in powers.items()}, [1.0, 1.0, 1.0])
    assert math.exp(found.log_evidence) / 2 == pytest.approx(1.442828e-28, rel=1e-5)


def test_recursion_is_quadrature_of_four_categories() -> None:
    a, seen = [2.0, 2.5, 3.0, 2.2], [3.0, 1.0, 0.0, 2.0]
    exponents = {frozenset([0, 1]): -3.5, frozenset([0, 1, 3]): -1.25}
    by_recursion = tree_moments(exponents, seen, a)
    single = {frozenset([i]): c for i, c in enumerate(seen)}
    by_integral = simplex_quadrature(exponents | single, a)
    np.testing.assert_allclose(by_recursion.mean, by_integral.mean, rtol=1e-10)
    np.testing.assert_allclose(by_recursion.variance, by_integral.variance, rtol=1e-9)
    assert by_recursion.log_evidence == pytest.approx(by_integral.log_evidence, abs=1e-10)


# -- closed forms ---------------------------------------------------------------------------------


THREE = {
    "kept pair": ConditionalCounts(3).observe({0: 4, 1: 1.5}, within=[0, 1]),
    "without one": ConditionalCounts(3).observe({1: 7}, without=[0]).observe({0: 2, 2: 1}),
    "group": ConditionalCounts(3).observe_group([1, 2], 5).observe({2: 2.5, 0: 1}),
    "ranking": ConditionalCounts(3).observe_ranking([2, 0, 1], 3).observe_ranking([1, 0], 2),
    "no data": ConditionalCounts(3),
    "much data": ConditionalCounts(3).observe({0: 90, 2: 40}, within=[0, 2]),
}


@pytest.mark.parametrize("name", THREE)
@pytest.mark.parametrize("concentration", [[0.4, 1.7, 0.9], [1.0, 1.0, 1.0], [3.0, 0.6, 8.0]])
def test_three_categories_by_quadrature(name: str, concentration: list[float]) -> None:
    counts = THREE[name]
    single = {frozenset([i]): float(c) for i, c in enumerate(counts.category_counts)}
    truth = simplex_quadrature(family_of(counts) | single, concentration)
    agree(Posterior(counts, concentration), truth, rtol=1e-9)


def test_one_truncated_term_by_hand() -> None:
    """The truncated part I has mass Beta(sum of a over I, over the rest); then two Dirichlets.

    The paper's display of this case leaves out the Beta factor.
    """
    a = np.asarray([0.5, 2.0, 1.2, 3.3, 0.9])
    out, kept = [1, 4], [0, 2, 3]
    seen = np.asarray([3.0, 0.0, 1.0, 2.5, 0.0])
    counts = ConditionalCounts(5).observe({0: 3, 2: 1, 3: 2.5}, without=out)
    mass = stats.beta(a[out].sum(), a[kept].sum())
    mean, square = np.empty(5), np.empty(5)
    for part, first, second in [
        (out, mass.mean(), mass.moment(2)),
        (kept, 1 - mass.mean(), 1 - 2 * mass.mean() + mass.moment(2)),
    ]:
        c = (a + seen)[part]
        mean[part] = first * stats.dirichlet.mean(c)
        square[part] = second * (stats.dirichlet.var(c) + stats.dirichlet.mean(c) ** 2)
    # The evidence is that of the kept part alone: what is truncated says nothing.
    c, b = (a + seen)[kept], a[kept]
    log_evidence = sum(map(math.lgamma, c)) - math.lgamma(c.sum())
    log_evidence -= sum(map(math.lgamma, b)) - math.lgamma(b.sum())
    agree(Posterior(counts, a), Moments(mean, square - mean**2, log_evidence), rtol=1e-13)


@st.composite
def nested_data(draw: st.DrawFn) -> tuple[ConditionalCounts, list[float]]:
    """Outcomes given sets that nest or are disjoint: halves of halves of a random order."""
    n = draw(st.integers(1, 12))
    order = draw(st.permutations(range(n)))
    counts = ConditionalCounts(n)
    stack = [list(order)]
    while stack:
        part = stack.pop()
        kind = draw(st.sampled_from(["none", "seen", "seen", "group", "ranking"]))
        if kind == "seen":
            seen = {i: draw(st.integers(0, 40)) / 4 for i in part}
            counts = counts.observe(seen, within=part)
        elif kind == "group":
            counts = counts.observe_group(part, draw(st.integers(1, 9)))
        elif kind == "ranking":  # its sets nest in one another, so nothing may lie inside
            counts = counts.observe_ranking(part, draw(st.integers(1, 3)))
            continue
        if len(part) > 1:
            cut = draw(st.integers(1, len(part) - 1))
            stack += [part[:cut], part[cut:]]
    return counts, draw(st.lists(st.floats(0.01, 50.0), min_size=n, max_size=n))


@settings(max_examples=100, deadline=None, derandomize=True)
@given(nested_data())
def test_random_trees_by_recursion(case: tuple[ConditionalCounts, list[float]]) -> None:
    counts, concentration = case
    family = family_of(counts)
    assert not any(overlap(s, t) for s, t in itertools.combinations(family, 2))
    truth = tree_moments(family, counts.category_counts.tolist(), concentration)
    posterior = Posterior(counts, concentration)
    assert posterior.structure.is_exact
    agree(posterior, truth, rtol=1e-11)


def test_one_category() -> None:
    posterior = Posterior(ConditionalCounts(["only"]).observe({"only": 3}), 2.0)
    assert posterior.mean().values.tolist() == [1.0]
    assert posterior.variance().values.tolist() == [0.0]
    assert float(posterior.log_evidence()) == 0.0


def test_no_data_is_the_prior() -> None:
    a = np.asarray([0.2, 3.0, 1.1, 0.7])
    posterior = Posterior(ConditionalCounts(4), a)
    np.testing.assert_allclose(posterior.mean(), stats.dirichlet.mean(a), rtol=1e-15)
    np.testing.assert_allclose(posterior.variance(), stats.dirichlet.var(a), rtol=1e-14)
    assert float(posterior.log_evidence()) == 0.0


# -- extremes -------------------------------------------------------------------------------------


def test_the_prior_survives_huge_counts() -> None:
    # 1e15 outcomes given {0, 1}: the mass of that set is as under the prior, Beta(0.003, 0.004),
    # and (0.003 + 1e15) - 1e15 would be 0.
    a = [1e-3, 2e-3, 4e-3]
    counts = ConditionalCounts(3).observe({0: 7e14, 1: 3e14}, within=[0, 1])
    truth = tree_moments({frozenset([0, 1]): -1e15}, [7e14, 3e14, 0.0], a)
    posterior = Posterior(counts, a)
    np.testing.assert_allclose(posterior.mean(), truth.mean, rtol=1e-13)
    np.testing.assert_allclose(posterior.variance(), truth.variance, rtol=1e-13)
    assert posterior.mean()[2] == pytest.approx(4 / 7, rel=1e-14)
    # Shares of 1e15 outcomes: gammaln(1e15) is 3e16, so a few units of the evidence are lost.
    size = math.lgamma(1e15)
    assert abs(float(posterior.log_evidence()) - truth.log_evidence) <= 8 * 2.3e-16 * size


def test_the_variance_within_huge_counts() -> None:
    # The split of {0, 1} is known to 1e-8, far below what 1 - mean could show.
    a = [1e-3, 2e-3, 4e-3, 1e6]
    seen = [1e15, 0.0, 2.0, 0.0]
    counts = ConditionalCounts(4).observe({0: 1e15}, within=[0, 1]).observe({2: 2})
    truth = tree_moments({frozenset([0, 1]): -1e15}, seen, a)
    posterior = Posterior(counts, a)
    np.testing.assert_allclose(posterior.mean(), truth.mean, rtol=1e-13)
    np.testing.assert_allclose(posterior.variance(), truth.variance, rtol=1e-12)


@pytest.mark.parametrize("concentration", [1e-3, 1.0, 1e6])
def test_extreme_concentrations(concentration: float) -> None:
    n = 200
    counts = ConditionalCounts(n).observe_ranking(range(0, n, 2), 2).observe_group([1, 3, 5], 4)
    a = concentration * (1 + np.arange(n) / n)
    truth = tree_moments(family_of(counts), counts.category_counts.tolist(), a.tolist())
    posterior = Posterior(counts, a)
    np.testing.assert_allclose(posterior.mean(), truth.mean, rtol=1e-11)
    np.testing.assert_allclose(posterior.variance(), truth.variance, rtol=1e-11)
    # Log-gammas of the order of gammaln(sum of a) cancel against each other.
    size = max(1.0, float(mpmath.loggamma(a.sum())))
    assert float(posterior.log_evidence()) == pytest.approx(truth.log_evidence, abs=1e-13 * size)


# -- invariances ----------------------------------------------------------------------------------


def test_permuting_labels_permutes_results() -> None:
    counts = ConditionalCounts("abcde").observe({"a": 3, "c": 1}, within="ace")
    counts = counts.observe_group("ac", 2).observe({"b": 1.5})
    prior = dict(zip("abcde", [0.5, 1.0, 2.0, 0.7, 3.0], strict=True))
    here = Posterior(counts, prior)
    there = Posterior(ConditionalCounts("dcbea") + counts, prior)
    move = ["abcde".index(x) for x in "dcbea"]
    np.testing.assert_allclose(there.mean(), here.mean()[move], rtol=1e-14)
    np.testing.assert_allclose(there.variance(), here.variance()[move], rtol=1e-13)
    assert float(there.log_evidence()) == pytest.approx(float(here.log_evidence()), rel=1e-14)


def test_lumping_two_categories_adds_their_means() -> None:
    # x and y are always together in the sets: as one category they are their sum.
    apart = ConditionalCounts("axyb").observe({"a": 2, "x": 3, "y": 1}, without="b")
    lumped = ConditionalCounts("azb").observe({"a": 2, "z": 4}, without="b")
    fine = Posterior(apart, [1.5, 0.5, 0.25, 2.0])
    coarse = Posterior(lumped, [1.5, 0.75, 2.0])
    mean = fine.mean()
    np.testing.assert_allclose(coarse.mean(), [mean[0], mean[1] + mean[2], mean[3]], rtol=1e-14)
    np.testing.assert_allclose(coarse.variance()[[0, 2]], fine.variance()[[0, 3]], rtol=1e-13)


def test_evidence_chains() -> None:
    """Evidence of everything = evidence of the first part times that of the second given it."""
    first = ConditionalCounts(4).observe({0: 2, 1: 5, 2: 1, 3: 4})
    second = ConditionalCounts(4).observe({1: 3, 2: 2}, within=[1, 2])
    a = np.asarray([0.5, 1.5, 2.0, 1.0])
    both = float(Posterior(first + second, a).log_evidence())
    then = float(Posterior(second, a + first.category_counts).log_evidence())
    assert both == pytest.approx(float(Posterior(first, a).log_evidence()) + then, rel=1e-13)


# -- evidence as a number, and where there is no closed form --------------------------------------


def test_log_evidence_is_a_number_with_a_standard_error() -> None:
    found = Posterior(ConditionalCounts(2).observe({0: 1}), [3.0, 1.0]).log_evidence()
    assert float(found) == pytest.approx(math.log(3 / 4), rel=1e-14)
    assert (found.value, found.standard_error, found.method) == (float(found), 0.0, "exact")
    assert pickle.loads(pickle.dumps(found)) == found
    assert repr(found) == "-0.2876820725 (exact)"


def test_means_and_variances_have_labels() -> None:
    posterior = Posterior(ConditionalCounts("abc").observe({"b": 2}, without="a"), 2.0)
    for found, value in ((posterior.mean(), 4 / 9), (posterior.variance(), None)):
        assert found.dims == ("category",)
        assert found["category"].values.tolist() == list("abc")
        assert value is None or float(found.sel(category="b")) == pytest.approx(value)


@pytest.mark.parametrize("quantity", ["mean", "variance", "log_evidence"])
def test_cores_have_no_closed_form(quantity: str) -> None:
    options = {"method": "exact"} if quantity == "log_evidence" else {}
    instead = 'method="auto"' if quantity == "log_evidence" else "sample()"
    posterior = paper_posterior(10)
    with pytest.raises(NotExactError) as caught:
        getattr(posterior, quantity)(**options)
    assert caught.value.cores == 1
    assert "5 sets overlap among 6 groups" in str(caught.value)
    assert instead in str(caught.value)
    two = ConditionalCounts(8)
    for pair in ([0, 1], [1, 2], [4, 5], [5, 6]):
        two = two.observe({pair[0]: 1}, within=pair)
    with pytest.raises(NotExactError) as caught:
        getattr(Posterior(two), quantity)(**options)
    assert caught.value.cores == 2
    # Workers send their errors home pickled.
    assert pickle.loads(pickle.dumps(caught.value)).cores == 2


# -- the prior ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (0.0, ("'a'", "0", "positive")),
        (-1.0, ("'a'", "-1", "positive")),
        (float("nan"), ("'a'", "nan", "positive and finite")),
        (float("inf"), ("'a'", "inf", "finite")),
        ([1.0, 2.0], ("(2,)", "3")),
        ([1.0, 0.0, 2.0], ("'b'", "0", "positive")),
        ([[1.0, 1.0, 1.0]], ("(1, 3)", "3")),
        ("much", ("'much'", "numbers")),
        ({"a": 1.0, "b": 2.0}, ("1 are missing", "'c'")),
        ({"a": 1.0, "b": 2.0, "c": 1.0, "x": 4.0}, ("1 are not categories",)),
        ({"a": 1.0, "b": 2.0, "c": -1.0}, ("'c'", "-1", "positive")),
    ],
)
def test_bad_concentrations_are_refused(given: object, said: tuple[str, ...]) -> None:
    with pytest.raises(DataError) as caught:
        Posterior(ConditionalCounts("abc"), given)  # type: ignore[arg-type]
    assert [s for s in said if s not in str(caught.value)] == []


def test_only_counts_have_a_posterior() -> None:
    with pytest.raises(DataError, match=r"dict was given.*ConditionalCounts"):
        Posterior({"a": 1})  # type: ignore[arg-type]


def test_concentration_in_its_three_forms() -> None:
    counts = ConditionalCounts("abc")
    one = Posterior(counts, {"c": 3, "a": 1, "b": 2})
    other = Posterior(counts, np.asarray([1.0, 2.0, 3.0]))
    assert one.concentration.tolist() == other.concentration.tolist() == [1.0, 2.0, 3.0]
    assert Posterior(counts, 2).concentration.tolist() == [2.0, 2.0, 2.0]
    given = np.asarray([1.0, 2.0, 3.0])
    kept = Posterior(counts, given)
    given[0] = 9.0
    assert kept.concentration.tolist() == [1.0, 2.0, 3.0]
    assert not kept.concentration.flags.writeable


# -- real data ----------------------------------------------------------------------------------


@pytest.mark.skipif(not DATA.is_dir(), reason="the shared data sets are not on this machine")
def test_published_data_and_what_is_exact_of_it() -> None:
    """hyper2's B() of Dirichlet(1, 2, 3, 4), and which published sets need simulation."""
    toys = json.loads((DATA / "dirichlet_toys" / "truth.json").read_text())
    published = next(p for p in toys["published"] if "Dirichlet(1,2,3,4)" in p["quantity"])
    counts = ConditionalCounts.from_exponents("abcd", {"b": 1, "c": 2, "d": 3})
    found = math.exp(float(Posterior(counts).log_evidence()) - math.lgamma(4))
    assert found == pytest.approx(published["value"], rel=1e-8)  # printed with nine digits
    exact = []
    for path in sorted(DATA.glob("*/terms.json")):
        terms = json.loads(path.read_text())
        exponents = {tuple(members): power for members, power in terms["brackets"]}
        posterior = Posterior(ConditionalCounts.from_exponents(len(terms["items"]), exponents))
        if posterior.structure.is_exact:
            exact.append(path.parent.name)
        else:
            with pytest.raises(NotExactError):
                posterior.log_evidence(method="exact")
    assert exact == []  # all of them have overlapping sets


def test_rounding_of_large_fractions_is_not_data() -> None:
    # Three sets of fractions that cancel: what is left of the sums is rounding, and with a prior of
    # 1e-3 it would decide everything.  Nothing was learnt about abc against d and e: 3 to 2.
    share = dict(zip("abc", (1e15 / 3, 1e15 / 7, 1e15 / 11), strict=True))
    counts = ConditionalCounts("abcde").observe(share, within="abc").observe(share, within="abc")
    counts = counts.observe({"a": share["a"], "b": share["b"]}, within="ab")
    assert Posterior(counts, 1e-3).mean()[:3].sum() == pytest.approx(0.6, rel=1e-9)
