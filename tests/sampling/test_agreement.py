"""Every method, reduced or raw, against truths that share no code with luce, in mean and variance.

Each run has many short independent chains, so that standard errors come from the spread of chain
means and need no theory of autocorrelation.  LUCE_TEST_SEED sweeps all seeds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from lib import bounds
from lib.bounds import z_limit
from lib.sampling_oracles import (
    Case,
    Floats,
    Moments,
    assert_agree,
    chain_moments,
    gibbs,
    importance,
    quadrature,
    z_scores,
)

from luce import ConditionalCounts, Posterior
from luce.kernels import KERNELS, Kernel
from luce.kernels.hamiltonian import Metric
from luce.kernels.independence import Proposal
from luce.kernels.log_powers import make_powers
from luce.kernels.problem import Problem, gamma_spreads
from luce.kernels.rejection import Envelope

pytestmark = pytest.mark.compiled

SEED = 1000 * bounds.SEED
ALL10 = tuple(range(10))


def but(n: int, *excluded: int) -> tuple[int, ...]:
    return tuple(i for i in range(n) if i not in excluded)


def paper(n: int) -> Case:
    half = n // 2
    picks = tuple((j, 10, but(n, (j - 1) % half)) for j in range(half))
    return Case(f"Johnson and Willsky, n = {n}", (2.0,) * n, picks)


THREE = {
    "three": Case(
        "two overlapping truncated terms and one full one",
        (0.7, 1.3, 2.1),
        ((0, 3, (0, 1)), (1, 1, (0, 1)), (1, 2, (1, 2)), (2, 4, (1, 2)), (2, 1, (0, 1, 2))),
    ),
    "three-sparse": Case(
        "two overlapping truncated terms, almost no prior",
        (0.05, 0.08, 0.06),
        ((0, 2, (0, 1)), (1, 1, (0, 1)), (1, 1, (1, 2)), (2, 3, (1, 2))),
    ),
    "three-wide": Case(
        "shapes below those whose gammas stay within doubles",
        (0.03, 0.07, 0.05),
        ((1, 1, (0, 1)), (1, 1, (1, 2)), (2, 2, (1, 2))),
    ),
    "three-groups": Case(
        "grouped outcomes that overlap each other and a truncated term",
        (1.5, 0.8, 1.1),
        ((0, 2, (0, 2)), (1, 1, (0, 1, 2))),
        (((0, 1), 4, (0, 1, 2)), ((1, 2), 2, (0, 1, 2))),
    ),
}

LARGER = {
    "paper-10": paper(10),
    "paper-20": paper(20),
    "asymmetric": Case(
        "the paper's design with unequal prior, counts and truncated sets",
        (2.0, 0.6, 1.0, 3.5, 0.9, 1.7, 1.1, 2.2, 1.2, 1.4),
        (
            (0, 12, but(10, 4)),
            (1, 3, but(10, 0)),
            (2, 7, but(10, 1, 5)),
            (3, 1, but(10, 2)),
            (4, 20, but(10, 3, 8, 9)),
            (8, 4, but(10, 1, 5)),
            (7, 2, ALL10),
        ),
    ),
    "star": Case(
        "each set leaves out one category, two are never left out, nothing is equal",
        (0.9, 2.0, 1.3, 0.7, 3.0, 1.6),
        (
            (1, 3, but(6, 0)),
            (0, 7, but(6, 2)),
            (3, 1, but(6, 1)),
            (4, 12, but(6, 3)),
            (2, 4, but(6, 0)),
            (5, 2, but(6)),
        ),
    ),
    "sparse": Case(
        "the paper's design, unequal counts, concentration 0.05",
        (0.05,) * 10,
        tuple((j, k, but(10, (j - 1) % 5)) for j, k in enumerate((10, 4, 7, 2, 12))),
    ),
    "groups": Case(
        "teams: against each other, inside a larger set, nested, and all but one",
        (1.0, 0.7, 1.4, 2.0, 0.9, 1.1, 1.6),
        ((0, 3, (0, 1)), (5, 2, (4, 5, 6)), (2, 1, but(7, 0)), (3, 2, (1, 3))),
        (
            ((0, 1), 5, (0, 1, 2, 3)),
            ((2, 3), 3, (0, 1, 2, 3)),
            ((1, 4), 2, (1, 4, 5)),
            ((1, 2, 4), 4, but(7)),
            (but(7, 6), 6, but(7)),
            (but(7, 3), 7, but(7)),
            (but(7, 3, 5), 3, but(7)),
        ),
    ),
    "rankings": Case(
        "four rankings that overlap, of all and of some",
        (1.0, 1.5, 0.8, 2.0, 1.2, 0.9, 1.1, 1.3),
        rankings=(
            ((3, 0, 5, 1), 2.0),
            ((0, 1, 2, 3, 4, 5, 6, 7), 1.0),
            ((7, 5, 3, 1), 1.0),
            ((6, 2, 4, 0, 3), 3.0),
        ),
    ),
    "mixture": Case(
        "rankings, groups, truncated and full terms together",
        (0.8, 1.0, 1.9, 0.7, 1.2, 2.5, 0.9, 1.0, 1.4),
        ((4, 6, but(9, 0)), (0, 2, but(9, 4, 5)), (8, 5, but(9)), (6, 3, (2, 6, 7))),
        (((0, 1, 2), 3, but(9, 8)), ((6, 7), 2, but(9)), (but(9, 1), 4, but(9))),
        (((2, 7, 1, 0), 1.0), ((8, 3, 5, 7, 6), 2.0)),
    ),
    "fractional": Case(
        "weighted outcomes; of three grouped ones 1.4 are conditioned away: a net power of 1.6",
        (1.2, 0.6, 0.9, 1.5, 0.8, 1.0),
        (
            (0, 0.9, (0, 1)),
            (1, 0.5, (0, 1)),
            (1, 0.3, (1, 2, 3)),
            (3, 2.25, (1, 2, 3)),
            (4, 1.7, but(6, 0)),
            (5, 0.01, (3, 5)),
        ),
        (((0, 1), 3, but(6)), ((3, 4), 2, but(6, 0))),
        (((5, 4, 2), 0.5),),
    ),
    "tree": Case(
        "sets that nest: one ranking, a group inside it, a set apart from it, full outcomes",
        (0.8, 1.6, 1.1, 0.6, 2.2, 1.3, 0.9),
        ((5, 4, (5, 6)), (6, 1, (5, 6)), (4, 2, but(7))),
        (((0, 1), 3, (0, 1, 2)), ((5, 6), 2, but(7))),
        (((3, 2, 0, 1), 2.0),),
    ),
}

CASES = THREE | LARGER
GIBBS = ("auto", "waiting-times", "hidden-counts")

# A proposal Dir(β p) with β p_i far below 1 throws p_i to 0 or a long way up: at concentrations
# of 0.05 Metropolis stays near one corner for thousands of steps, and its chains never meet.
METROPOLIS = tuple(name for name in CASES if name not in ("three-sparse", "three-wide", "sparse"))

# Methods that need a curvature have no shapes below 0.05: there θ = log λ falls to where λ = exp θ
# is no double, and its slope with it.  Independence Metropolis has no grouped outcomes either; a
# proposal around the mode misses the corners where concentrations are 0.05.
HAMILTONIAN = tuple(name for name in CASES if name != "three-wide")
INDEPENDENCE = tuple(
    name for name in HAMILTONIAN if not CASES[name].groups and "sparse" not in name
)

# Each set leaves out one category; of "asymmetric" that is true of its atoms alone.
REJECTION = (
    *((name, reduce) for name in ("three", "paper-10", "paper-20", "star")
      for reduce in (True, False)),
    ("asymmetric", True),
)  # fmt: skip


@cache
def truth(name: str) -> Moments:
    case = CASES[name]
    if name in THREE:
        return quadrature(case)
    if name.startswith("paper"):
        return importance(case, SEED + 1)
    return gibbs(case, SEED + 2)


@cache
def posterior(name: str) -> Posterior:
    case = CASES[name]
    counts = ConditionalCounts(case.n)
    for i, k, within in case.picks:
        counts = counts.observe({i: k}, **_condition(case.n, within))
    for group, k, within in case.groups:
        counts = counts.observe_group(group, k, **_condition(case.n, within))
    for order, k in case.rankings:
        counts = counts.observe_ranking(order, k)
    return Posterior(counts, case.concentration)


def _condition(n: int, within: tuple[int, ...]) -> dict[str, list[int]]:
    """Say a large set by what it lacks, as a person would."""
    lacks = [i for i in range(n) if i not in within]
    return {"without": lacks} if 0 < len(lacks) <= n // 2 else {"within": list(within)}


def moments(name: str, method: str, reduce: bool, draws: int = 600, chains: int = 40) -> Moments:
    tree = posterior(name).sample(
        draws,
        chains=chains,
        warmup=max(200, draws // 4),
        seed=SEED + 3,
        method=method,
        reduce=reduce,
        progress=False,
    )
    return chain_moments(tree["posterior"]["probabilities"].values)


SLOW = pytest.mark.slow
OFTEN = ("three", "three-wide", "three-groups", "asymmetric", "star", "sparse", "mixture")


def some_often(names: Iterable[str]) -> list[Any]:
    return [name if name in OFTEN else pytest.param(name, marks=SLOW) for name in names]


@pytest.mark.parametrize(
    "reduce", [pytest.param(True, id="reduced"), pytest.param(False, id="raw", marks=SLOW)]
)
@pytest.mark.parametrize(
    "method", ["auto", "waiting-times", pytest.param("hidden-counts", marks=SLOW)]
)
@pytest.mark.parametrize("name", some_often(CASES))
def test_gibbs(name: str, method: str, reduce: bool) -> None:
    # Where sets are small, hidden counts move slowly.
    draws = 1500 if method == "hidden-counts" else 600
    assert_agree(moments(name, method, reduce, draws), truth(name))


@pytest.mark.slow
@pytest.mark.parametrize("reduce", [True, False], ids=["reduced", "raw"])
@pytest.mark.parametrize("name", METROPOLIS)
def test_metropolis(name: str, reduce: bool) -> None:
    assert_agree(moments(name, "metropolis", reduce, draws=4000), truth(name))


@pytest.mark.parametrize("reduce", [True, False], ids=["reduced", "raw"])
@pytest.mark.parametrize("name", HAMILTONIAN)
def test_hamiltonian(name: str, reduce: bool) -> None:
    assert_agree(moments(name, "hamiltonian", reduce), truth(name))


@pytest.mark.parametrize("name", ["three", "three-groups", "star", "rankings", "groups", "mixture"])
def test_hamiltonian_in_a_diagonal_metric(name: str, swap: Swap) -> None:
    """A metric changes how well a chain mixes, never what it draws."""
    swap("hamiltonian", misfitted("hamiltonian", make_diagonal))
    assert_agree(moments(name, "hamiltonian", True, draws=1000), truth(name))


@pytest.mark.parametrize("name", INDEPENDENCE)
def test_independence(name: str) -> None:
    assert_agree(moments(name, "independence", True, draws=2000), truth(name))


@pytest.mark.parametrize(("name", "reduce"), REJECTION)
def test_rejection(name: str, reduce: bool) -> None:
    assert_agree(moments(name, "rejection", reduce), truth(name))


@pytest.mark.parametrize(("name", "beta"), [("paper-10", 160.0), ("rankings", 60.0)])
def test_metropolis_with_a_given_proposal(name: str, beta: float) -> None:
    tree = posterior(name).sample(
        4000,
        chains=40,
        warmup=1000,
        seed=SEED + 4,
        method="metropolis",
        reduce=False,
        proposal_concentration=beta,
        progress=False,
    )
    assert_agree(chain_moments(tree["posterior"]["probabilities"].values), truth(name))


def test_exact_draws_against_closed_form_and_reference() -> None:
    post = posterior("tree")
    assert post.structure.is_exact
    value = np.stack([post.mean(), post.variance()])
    closed = Moments(value, np.zeros_like(value), np.inf)
    assert_agree(gibbs(CASES["tree"], SEED + 5), closed)
    assert_agree(moments("tree", "exact", True, draws=2000), closed)


@pytest.mark.parametrize("method", [*GIBBS, "metropolis"])
def test_raw_kernels_against_closed_form(method: str) -> None:
    post = posterior("tree")
    value = np.stack([post.mean(), post.variance()])
    draws = 4000 if method == "metropolis" else 1000
    closed = Moments(value, np.zeros_like(value), np.inf)
    assert_agree(moments("tree", method, False, draws), closed)


# -- the truths themselves --------------------------------------------------------------


@pytest.mark.parametrize("name", ["three", "three-groups"])
def test_quadrature_does_not_depend_on_its_step(name: str) -> None:
    fine = quadrature(CASES[name], step=0.11).value
    np.testing.assert_allclose(quadrature(CASES[name]).value, fine, rtol=0, atol=1e-9)


def test_quadrature_of_one_truncated_term() -> None:
    """π_0 ~ Beta(a_0, a_1 + a_2), the rest shared in Dirichlet(a_1 + 2, a_2) proportions."""
    a, b, c = 0.05, 0.3, 0.2
    first, total = a / (a + b + c), a + b + c
    share, rest = (b + 2) / (b + c + 2), (b + c) / total
    rest_square = rest * (b + c + 1) / (total + 1)
    share_square = share * (b + 3) / (b + c + 3)
    mean = [first, rest * share, rest * (1 - share)]
    variance = rest_square * share_square - (rest * share) ** 2
    found = quadrature(Case("the paper's n = 3", (a, b, c), ((1, 2, (1, 2)),))).value
    np.testing.assert_allclose(found[0], mean, rtol=0, atol=1e-8)
    np.testing.assert_allclose(found[1, 0], first * (1 - first) / (total + 1), rtol=0, atol=1e-8)
    np.testing.assert_allclose(found[1, 1], variance, rtol=0, atol=1e-8)


@pytest.mark.parametrize("name", ["three", "three-sparse", "three-groups"])
def test_reference_gibbs_against_quadrature(name: str) -> None:
    assert_agree(gibbs(CASES[name], SEED + 6), truth(name))


@pytest.mark.parametrize("name", ["paper-10", "paper-20"])
def test_reference_gibbs_against_importance_sampling(name: str) -> None:
    assert_agree(gibbs(CASES[name], SEED + 7, chains=200), truth(name))


# -- negative controls: what is wrong must be seen to be wrong ---------------------------


def plain_hidden_counts(trials: bool = False, uniform: bool = False) -> Kernel:
    """A slow sweep of hidden counts; `trials` counts recorded outcomes too, as trials."""

    def advance(
        bits: npt.NDArray[np.uint64],
        problem: Problem,
        fit: None,
        state: Floats,
        tuning: Floats,
        adapt: bool,
        out: Floats,
        stat: Floats,
        space: object,
    ) -> None:
        assert not problem.wide
        rng = _generator(bits)
        inside, p, m = _expanded(problem), state.copy(), problem.waits
        for d in range(len(out)):
            h = rng.poisson(rng.standard_gamma(m) / (inside @ p) * (1 - inside @ p))
            extra = np.zeros(len(p))
            for t in range(len(m)):
                outside = p * (1 - inside[t])
                extra += rng.multinomial(h[t] + int(m[t]) * trials, outside / outside.sum())
            extra += _split(rng, problem, inside, p, uniform)
            p = rng.dirichlet(problem.shape + extra)
            out[d], stat[d] = p, h.sum()
        state[:] = p

    return Kernel(advance, "hidden_count", general=True)


def plain_waiting_times(frozen: bool = False, uniform: bool = False) -> Kernel:
    """A slow sweep of waiting times; `frozen` leaves the total at 1, where normalising put it."""

    def advance(
        bits: npt.NDArray[np.uint64],
        problem: Problem,
        fit: None,
        state: Floats,
        tuning: Floats,
        adapt: bool,
        out: Floats,
        stat: Floats,
        space: object,
    ) -> None:
        assert not problem.wide
        rng = _generator(bits)
        inside, p = _expanded(problem), state.copy()
        for d in range(len(out)):
            total = 1.0 if frozen else rng.standard_gamma(problem.total_shape)
            times = rng.standard_gamma(problem.waits) / (inside @ p)
            extra = _split(rng, problem, inside, p, uniform)
            p = rng.standard_gamma(problem.shape + extra) / (total + times @ inside)
            p /= p.sum()
            out[d], stat[d] = p, times.sum()
        state[:] = p

    return Kernel(advance, "waiting_time", general=True)


def _generator(bits: npt.NDArray[np.uint64]) -> np.random.Generator:
    """A generator seeded by a chain's bits, which move on so that the next call gets another."""
    rng = np.random.default_rng(bits.copy())
    bits[:] = rng.integers(0, 2**63, len(bits), np.uint64)
    return rng


def _expanded(problem: Problem) -> Floats:
    rows = []
    for k, complement in enumerate(problem.complement):
        for t in range(problem.set_start[k], problem.set_start[k + 1]):
            row = np.full(len(problem.shape), float(complement))
            row[problem.members[problem.nest_start[k] : problem.set_end[t]]] = not complement
            rows.append(row)
    return np.asarray(rows)


def _split(
    rng: np.random.Generator, problem: Problem, inside: Floats, p: Floats, uniform: bool
) -> Floats:
    extra = np.zeros(len(p))
    for t in np.flatnonzero(problem.groups):
        weight = inside[t] if uniform else inside[t] * p
        extra += rng.multinomial(int(problem.groups[t]), weight / weight.sum())
    return extra


def altered(method: str, alter: Callable[[Problem], Problem]) -> Kernel:
    """The real kernel on a problem that is not the one it was given."""
    kernel = KERNELS[method]

    def advance(bits: npt.NDArray[np.uint64], problem: Problem, *rest: object) -> None:
        kernel.advance(bits, alter(problem), *rest)  # type: ignore[arg-type]

    return kernel._replace(advance=advance)


def misfitted(method: str, alter: Callable[[Any], Any]) -> Kernel:
    """The real kernel with a fit that is not the one it was given."""
    kernel = KERNELS[method]

    def advance(bits: Any, problem: Any, fit: Any, *rest: Any) -> None:
        kernel.advance(bits, problem, alter(fit), *rest)

    return kernel._replace(advance=advance)


def drop_a_count(problem: Problem) -> Problem:
    shape = problem.shape.copy()
    shape[np.argmax(shape)] -= 1.0
    return problem._replace(shape=shape)


def drop_a_count_and_its_spread(problem: Problem) -> Problem:
    fewer = drop_a_count(problem)
    return fewer._replace(spread=gamma_spreads(fewer.shape))


def lower_the_bound(fit: Envelope) -> Envelope:
    """An envelope that cuts through the posterior: where it is above, too little is kept."""
    return fit._replace(log_bound=fit.log_bound - 1.0)


def judge_by_other_powers(fit: Metric) -> Metric:
    """Paths that are right, accepted as if sets had half as many outcomes."""
    powers = fit.powers._replace(power=0.5 * fit.powers.power)
    return fit._replace(powers=powers)


def make_diagonal(fit: Metric) -> Metric:
    """Widths of each atom, made unequal, in place of a matrix."""
    assert fit.root is not None
    scale = np.sqrt((fit.root**2).sum(axis=0)) * np.linspace(0.4, 1.1, len(fit.root))
    return fit._replace(root=None, root_transposed=None, scale=scale, length=3.0, jitter=0.3)


def exchange_groups(fit: Metric) -> Metric:
    """Numbers of grouped outcomes given to other groups, in paths and in acceptance alike."""
    exponent = fit.exponent.copy()
    grouped = np.flatnonzero(exponent < 0)
    exponent[grouped] = np.roll(exponent[grouped], 1)
    return fit._replace(exponent=exponent, powers=make_powers(exponent))


def weigh_by_other_powers(fit: Proposal) -> Proposal:
    """Proposals weighed as if sets had fewer outcomes."""
    return fit._replace(powers=fit.powers._replace(power=0.95 * fit.powers.power))


def total_of_the_prior_alone(problem: Problem) -> Problem:
    """Gamma(sum alpha), as if outcomes given the full set had not been dropped with that set."""
    return problem._replace(total_shape=sum(CASES["mixture"].concentration))


def forget_a_group(problem: Problem) -> Problem:
    groups = problem.groups.copy()
    groups[np.argmax(groups)] = 0.0
    return problem._replace(groups=groups)


# Slow sweeps are affordable in this number, and at this number wrong ones are seen.
_PLAIN = {"draws": 250, "chains": 24}


Swap = Callable[[str, Kernel], None]


@pytest.fixture
def swap(monkeypatch: pytest.MonkeyPatch) -> Iterator[Swap]:
    """Put another kernel in a method's place; a posterior remembers how it was drawn before."""

    def put(method: str, kernel: Kernel) -> None:
        monkeypatch.setitem(KERNELS, method, kernel)
        posterior.cache_clear()

    yield put
    posterior.cache_clear()


@pytest.mark.parametrize(
    ("name", "method", "kernel"),
    [
        pytest.param("mixture", "waiting-times", plain_waiting_times(), id="waiting-times"),
        pytest.param(
            "paper-10", "hidden-counts", plain_hidden_counts(), id="hidden-counts", marks=SLOW
        ),
        pytest.param(
            "three-groups", "hidden-counts", plain_hidden_counts(), id="groups", marks=SLOW
        ),
    ],
)
def test_plain_kernels_agree(name: str, method: str, kernel: Kernel, swap: Swap) -> None:
    """So that the controls below fail for what was broken in them, and for nothing else."""
    swap(method, kernel)
    assert_agree(moments(name, method, True, **_PLAIN), truth(name))


@pytest.mark.parametrize(
    ("name", "method", "kernel"),
    [
        pytest.param(
            "paper-10",
            "waiting-times",
            altered("waiting-times", drop_a_count),
            id="a count dropped, waiting times",
        ),
        pytest.param(
            "paper-10",
            "hidden-counts",
            altered("hidden-counts", drop_a_count),
            id="a count dropped, hidden counts",
        ),
        pytest.param(
            "star", "rejection", misfitted("rejection", lower_the_bound), id="envelope too low"
        ),
        pytest.param(
            "star",
            "hamiltonian",
            altered("hamiltonian", drop_a_count_and_its_spread),
            id="a count dropped, Hamiltonian moves",
        ),
        pytest.param(
            "rankings",
            "hamiltonian",
            misfitted("hamiltonian", judge_by_other_powers),
            id="accepted by other powers",
        ),
        pytest.param(
            "groups",
            "hamiltonian",
            misfitted("hamiltonian", exchange_groups),
            id="groups exchanged, Hamiltonian moves",
        ),
        pytest.param(
            "rankings",
            "independence",
            misfitted("independence", weigh_by_other_powers),
            id="proposals weighed by other powers",
        ),
        pytest.param(
            "star",
            "independence",
            altered("independence", drop_a_count),
            id="a count dropped, independence",
        ),
        pytest.param(
            "mixture",
            "waiting-times",
            altered("waiting-times", total_of_the_prior_alone),
            id="total from the prior alone",
        ),
        pytest.param(
            "groups",
            "waiting-times",
            altered("waiting-times", forget_a_group),
            id="a group forgotten",
        ),
        pytest.param(
            "paper-10",
            "hidden-counts",
            plain_hidden_counts(trials=True),
            id="trials instead of hidden counts",
        ),
        pytest.param(
            "three", "waiting-times", plain_waiting_times(frozen=True), id="total not redrawn"
        ),
        pytest.param(
            "groups",
            "waiting-times",
            plain_waiting_times(uniform=True),
            id="groups split evenly, waiting times",
            marks=SLOW,
        ),
        pytest.param(
            "three-groups",
            "hidden-counts",
            plain_hidden_counts(uniform=True),
            id="groups split evenly, hidden counts",
            marks=SLOW,
        ),
    ],
)
@pytest.mark.filterwarnings("ignore::luce.ConvergenceWarning")  # some do not mix either
def test_negative_control_broken_kernel(name: str, method: str, kernel: Kernel, swap: Swap) -> None:
    plain = kernel.advance.__qualname__.startswith("plain")
    swap(method, kernel)
    found = moments(name, method, True, **(_PLAIN if plain else {}))
    with pytest.raises(AssertionError, match=r"\|z\| ="):
        assert_agree(found, truth(name))


def test_negative_control_metropolis_without_a_count(swap: Swap) -> None:
    swap("metropolis", altered("metropolis", drop_a_count))
    with pytest.raises(AssertionError, match=r"\|z\| ="):
        assert_agree(moments("asymmetric", "metropolis", True, draws=4000), truth("asymmetric"))


def test_negative_control_exact_draws_of_other_data() -> None:
    counts = posterior("tree").counts.observe({5: 1}, within=[5, 6])
    post = Posterior(counts, CASES["tree"].concentration)
    value = np.stack([post.mean(), post.variance()])
    with pytest.raises(AssertionError, match=r"\|z\| ="):
        assert_agree(
            moments("tree", "exact", True, draws=2000),
            Moments(value, np.zeros_like(value), np.inf),
        )


def test_negative_control_variance_alone() -> None:
    """Means that are right do not hide a variance that is wrong by a tenth."""
    right = moments("asymmetric", "waiting-times", True)
    wrong = Moments(right.value * [[1.0], [1.1]], right.error, right.freedom)
    z = z_scores(wrong, truth("asymmetric"))
    assert z[0].max() < z_limit(z.size) < z[1].max()
