"""Modes, maximum likelihood and evidence of rankings with ties.

They are compared with optimisers, quadrature and numerical derivatives of the likelihoods by
enumeration in `lib.tied_rankings`, and with an enumeration of directions.
"""

import csv
from collections.abc import Callable
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from lib.bounds import SEED, z_limit
from lib.places import SHARED_DATA
from lib.season_oracles import grid_integral, slope
from lib.size import draws
from lib.tied_rankings import Floats, davidson_luce, unknown_order
from scipy.optimize import linprog, minimize
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.stats import dirichlet, gamma

import luce
from luce import ConditionalCounts, Gamma, Posterior
from luce.counts.contests import contests_of_pairs
from luce.errors import DataError, MethodError, NoMaximumError, NotExactError
from luce.estimates import Estimate, Mode
from luce.estimates.event_evidence import log_evidence_if_equal
from luce.model.model import Model

Rankings = dict[tuple[tuple[int, ...], ...], int]
MODELS = ["unknown", "davidson-luce"]
PRIOR = np.array([1.7, 2.3, 3.0, 1.4])
OWN = {"tie2": Gamma(1.5, 1.2), "tie3": Gamma(2.0, 3.0)}
DRAWS = draws(compiled=1000, plain=60)

# Rankings of three with their numbers, not symmetric.
OF_THREE: Rankings = {
    ((0, 1), (2,)): 2,
    ((2,), (0, 1)): 1,
    ((0, 1, 2),): 1,
    ((1,), (0,), (2,)): 3,
    ((2,), (1,), (0,)): 1,
}

pytestmark = pytest.mark.filterwarnings("ignore::luce.ConvergenceWarning")


def random_rankings(rng: np.random.Generator, n: int, number: int, ties: float = 0.3) -> Rankings:
    """Rank some of n categories at random, neighbours tied now and then."""
    found: Rankings = {}
    for _ in range(number):
        order = rng.permutation(n)[: rng.integers(2, n + 1)]
        cuts = np.flatnonzero(rng.random(len(order) - 1) > ties) + 1
        ranking = tuple(tuple(sorted(part.tolist())) for part in np.split(order, cuts))
        found[ranking] = found.get(ranking, 0) + 1
    return found


def of_four() -> Rankings:
    """Rankings of four, with a tie of three."""
    rankings = random_rankings(np.random.default_rng(11), 4, 14)
    return {**rankings, ((0, 1, 3), (2,)): 2, ((1, 2, 3), (0,)): 1}


def counts_of(rankings: Rankings, ties: str, labels: str = "abcd") -> ConditionalCounts:
    texts = {
        " > ".join(" = ".join(labels[i] for i in tied) for tied in ranking): number
        for ranking, number in rankings.items()
    }
    return luce.from_rankings(texts, ties=ties, unranked="absent", categories=list(labels))


def names_of(rankings: Rankings, ties: str) -> list[str]:
    most = max(len(tied) for ranking in rankings for tied in ranking)
    return [f"tie{d}" for d in range(2, most + 1)] if ties == "davidson-luce" else []


def log_likelihood(rankings: Rankings, ties: str, p: Floats, own: dict[str, Any]) -> Floats:
    """The log likelihood by enumeration."""
    delta = np.stack([np.ones(p.shape[:-1]), *(np.asarray(x) for x in own.values())], axis=-1)
    one = davidson_luce if ties == "davidson-luce" else None
    return np.asarray(
        sum(
            m * np.log(one(p, delta, ranking) if one else unknown_order(p, ranking))
            for ranking, m in rankings.items()
        )
    )


def read(z: Floats, n: int, names: list[str]) -> tuple[Floats, dict[str, float]]:
    logs = np.r_[0.0, z[: n - 1]]
    p = np.exp(logs - np.logaddexp.reduce(logs))
    return p, dict(zip(names, np.exp(z[n - 1 :]).tolist(), strict=True))


def largest(
    f: Callable[[Floats, dict[str, float]], float], n: int, names: list[str]
) -> tuple[Floats, dict[str, float], float]:
    """Maximise a function of p and parameters by an optimiser with numerical slopes."""

    def height(z: Floats) -> float:
        return f(*read(z, n, names))

    z = np.zeros(n - 1 + len(names))
    for _ in range(3):
        z = minimize(
            lambda z: -height(z),
            z,
            jac=lambda z: -slope(height, z),
            method="BFGS",
            options={"gtol": 1e-10},
        ).x
    return *read(z, n, names), height(z)


def differences(found: Mode, p: Floats, own: dict[str, float]) -> float:
    parts = [np.abs(found.values - p).max(), *(abs(found.parameters[k] - own[k]) for k in own)]
    return float(max(parts))


@pytest.mark.parametrize("ties", MODELS)
def test_the_likelihood_is_largest_where_an_optimiser_finds_it(ties: str) -> None:
    rankings, names = of_four(), names_of(of_four(), ties)
    p, own, height = largest(
        lambda p, x: float(log_likelihood(rankings, ties, p, x)), len("abcd"), names
    )
    found = luce.maximum_likelihood(counts_of(rankings, ties))
    assert list(found.parameters) == names
    assert differences(found, p, own) < 1e-7
    assert found.log_likelihood == pytest.approx(height, abs=1e-9)
    assert float(found.sel(category="b")) == found.values[1]
    other = MODELS[1 - MODELS.index(ties)]
    assert np.abs(luce.maximum_likelihood(counts_of(rankings, other)).values - p).max() > 1e-3


@pytest.mark.parametrize("scale", ["simplex", "log-odds"])
@pytest.mark.parametrize("ties", MODELS)
def test_a_mode_is_where_an_optimiser_finds_it(ties: str, scale: str) -> None:
    rankings, names, less = of_four(), names_of(of_four(), ties), float(scale == "simplex")

    def density(p: Floats, x: dict[str, float]) -> float:
        value = float(log_likelihood(rankings, ties, p, x)) + float((PRIOR - less) @ np.log(p))
        return value + sum(
            (OWN[name].shape - less) * np.log(x[name]) - OWN[name].rate * x[name] for name in x
        )

    p, own, _ = largest(density, 4, names)
    posterior = Posterior(counts_of(rankings, ties), PRIOR, tie=OWN if names else None)
    assert differences(posterior.mode(scale), p, own) < 1e-7
    other = "simplex" if scale == "log-odds" else "log-odds"
    assert differences(posterior.mode(other), p, own) > 1e-3


@pytest.mark.parametrize("ties", MODELS)
def test_other_outcomes_beside_rankings(ties: str) -> None:
    """Three outcomes were a or b, one a among all: the first alone are not concave."""
    rankings, names = of_four(), names_of(of_four(), ties)

    def height(p: Floats, x: dict[str, float]) -> float:
        more = 3 * np.log(p[0] + p[1]) + np.log(p[0])
        return float(log_likelihood(rankings, ties, p, x) + more)

    p, own, most = largest(height, 4, names)
    counts = counts_of(rankings, ties).observe_group(["a", "b"], 3).observe({"a": 1})
    found = luce.maximum_likelihood(counts)
    assert differences(found, p, own) < 1e-7
    assert found.log_likelihood == pytest.approx(most, abs=1e-9)
    assert differences(luce.maximum_likelihood(counts_of(rankings, ties)), p, own) > 1e-3


@pytest.mark.parametrize("ties", MODELS)
def test_standard_errors_are_those_of_the_numerical_information(ties: str) -> None:
    rankings, names = of_four(), names_of(of_four(), ties)
    found = luce.maximum_likelihood(counts_of(rankings, ties))

    def height(z: Floats) -> float:
        return float(log_likelihood(rankings, ties, *read(z, 4, names)))

    odds = np.log(found.values[1:] / found.values[0])
    z = np.r_[odds, np.log([found.parameters[name] for name in names])]
    information = -np.array([slope(lambda y, k=k: slope(height, y)[k], z) for k in range(len(z))])
    expected = np.sqrt(np.diag(np.linalg.inv((information + information.T) / 2)))
    errors = found.standard_errors("log-odds", reference="a").values[1:]
    assert errors == pytest.approx(expected[:3], rel=1e-5)
    logs = found.parameter_standard_errors("log")
    assert list(logs) == names
    assert list(logs.values()) == pytest.approx(expected[3:], rel=1e-5)
    if names:  # without the parameters' share, strengths would look too certain
        alone = np.sqrt(np.diag(np.linalg.inv(information[:3, :3])))
        assert not np.allclose(errors, alone, rtol=1e-5)


@pytest.mark.skipif(not SHARED_DATA.exists(), reason="the shared data is not there")
def test_davidson_s_puddings_are_rankings_of_two() -> None:
    with (SHARED_DATA / "pudding_tie_item" / "pudding.csv").open() as file:
        rows = list(csv.DictReader(file))
    rankings: Rankings = {}
    for row in rows:
        i, j = int(row["i"]) - 1, int(row["j"]) - 1
        rankings[(i,), (j,)] = int(row["w_ij"])
        rankings[(j,), (i,)] = int(row["w_ji"])
        rankings[((i, j),)] = int(row["t_ij"])
    found = luce.maximum_likelihood(counts_of(rankings, "davidson-luce", "abcdef"))
    truth = [0.138803, 0.173002, 0.161747, 0.165373, 0.158685, 0.202389]
    assert found.values == pytest.approx(truth, abs=1e-6)
    assert found.parameters == pytest.approx({"tie2": 0.746823}, abs=1e-6)
    assert found.log_likelihood == pytest.approx(-809.7095, abs=1e-4)


def test_rankings_of_two_are_davidson_s_contests() -> None:
    rankings: Rankings = {
        ((0,), (1,)): 5,
        ((1,), (0,)): 2,
        ((0, 1),): 3,
        ((1,), (2,)): 4,
        ((2,), (1,)): 1,
        ((0, 2),): 2,
        ((2,), (0,)): 2,
    }
    meetings = [(0, 1), (1, 2), (0, 2)]
    results = [
        [rankings.get(outcome, 0) for outcome in (((i,), (j,)), ((j,), (i,)), ((i, j),))]
        for i, j in meetings
    ]
    first, second = np.array(meetings).T
    nobody = np.zeros(3, np.int64)
    contests = contests_of_pairs(
        3, first, second, nobody, np.array(results, float), "davidson", False
    )
    ranked = luce.maximum_likelihood(counts_of(rankings, "davidson-luce", "abc"))
    paired = luce.maximum_likelihood(ConditionalCounts("abc").with_events(contests))
    assert ranked.values == pytest.approx(paired.values, abs=1e-9)
    assert ranked.parameters["tie2"] == pytest.approx(paired.parameters["tie"], abs=1e-9)
    assert ranked.log_likelihood == pytest.approx(paired.log_likelihood, abs=1e-9)


# -- parameters and categories on the boundary ------------------------------------------------


def test_known_parameters_stay() -> None:
    rankings = of_four()
    counts = counts_of(rankings, "davidson-luce")
    p, own, _ = largest(
        lambda p, x: float(log_likelihood(rankings, "davidson-luce", p, {"tie2": 0.5, **x})),
        4,
        ["tie3"],
    )
    found = luce.maximum_likelihood(counts, tie={"tie2": 0.5})
    assert found.parameters["tie2"] == 0.5
    assert differences(found, p, own) < 1e-7
    assert list(found.parameter_standard_errors()) == ["tie3"]
    assert luce.maximum_likelihood(counts, tie=0.5).parameters == {"tie2": 0.5, "tie3": 0.5}
    with pytest.raises(DataError, match="a likelihood takes values, no priors"):
        luce.maximum_likelihood(counts, tie=Gamma(1, 1))  # type: ignore[arg-type]
    with pytest.raises(DataError, match="the data has no parameter 'tie'"):
        luce.maximum_likelihood(counts_of(rankings, "unknown"), tie=0.5)


def test_ties_that_never_occurred_have_no_weight() -> None:
    """There were ties of three, and none of two."""
    rankings: Rankings = {
        ((0, 1, 2),): 2,
        ((0,), (1,), (2,)): 3,
        ((2,), (0,), (1,)): 2,
        ((1,), (2,), (0,)): 1,
    }
    found = luce.maximum_likelihood(counts_of(rankings, "davidson-luce", "abc"))
    assert found.parameters["tie2"] == 0.0
    p, own, height = largest(
        lambda p, x: float(log_likelihood(rankings, "davidson-luce", p, {"tie2": 0.0, **x})),
        3,
        ["tie3"],
    )
    assert differences(found, p, own) < 1e-7
    assert found.log_likelihood == pytest.approx(height, abs=1e-9)
    assert np.isnan(found.parameter_standard_errors()["tie2"])


@pytest.mark.parametrize("ties", MODELS)
def test_who_was_never_placed_is_at_zero(ties: str) -> None:
    among: Rankings = {((0, 1),): 2, ((0,), (1,)): 3, ((1,), (0,)): 2}
    found = luce.maximum_likelihood(
        counts_of({(*ranking, (2,)): m for ranking, m in among.items()}, ties, "abc")
    )
    assert found.at_zero == ("c",)
    assert found.log_odds.values[2] == -np.inf
    if ties == "davidson-luce":
        alone = luce.maximum_likelihood(counts_of(among, ties, "ab"))
        assert found.values[:2] == pytest.approx(alone.values, abs=1e-9)
        assert found.parameters == pytest.approx(alone.parameters, abs=1e-9)
    else:  # a tie of both says nothing about them once the third is at 0
        assert found.values[:2] == pytest.approx([0.6, 0.4], abs=1e-9)


# -- where there is no maximum ---------------------------------------------------------------


def steps_of(rankings: Rankings) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    """List who was placed, and who was still there, at each step of the rankings."""
    steps = []
    for ranking in rankings:
        for k, tied in enumerate(ranking):
            steps.append((tied, tuple(i for later in ranking[k:] for i in later)))
    return steps


def has_maximum_of_blocks(rankings: Rankings, n: int) -> bool:
    """Tell whether everybody came before everybody, directly or through others."""
    pairs = [
        (i, j) for tied, there in steps_of(rankings) for i in tied for j in there if j not in tied
    ]
    rows, columns = np.array(pairs).reshape(-1, 2).T
    graph = coo_array((np.ones(len(rows)), (rows, columns)), (n, n))
    return bool(connected_components(graph, connection="strong")[0] == 1)


def has_maximum_of_choices(rankings: Rankings, n: int) -> bool:
    """Tell whether no direction keeps all that was chosen ahead of all that could have been."""
    most = len(names_of(rankings, "davidson-luce")) + 1

    def form(tied: tuple[int, ...]) -> Floats:
        g = np.zeros(n + most - 1)
        g[list(tied)] = 1 / len(tied)
        if len(tied) > 1:
            g[n + len(tied) - 2] = 1.0
        return g

    rows = np.array(
        [
            form(tied) - form(other)
            for tied, there in steps_of(rankings)
            for d in range(1, min(most, len(there)) + 1)
            for other in combinations(there, d)
        ]
    )
    found = linprog(-rows.sum(axis=0), A_ub=-rows, b_ub=np.zeros(len(rows)), bounds=(-1, 1))
    if (rows @ found.x).max() > 1e-7:
        return False
    return bool(np.linalg.matrix_rank(rows) == rows.shape[1] - 1)


@pytest.mark.parametrize("ties", MODELS)
def test_a_maximum_is_found_exactly_where_there_is_one(ties: str) -> None:
    """Everybody was placed and every size of tie occurred, so nothing is on the boundary."""
    rng, verdicts = np.random.default_rng(5), []
    while len(verdicts) < 40:
        rankings = random_rankings(rng, 4, int(rng.integers(3, 8)), ties=0.4)
        steps = [(tied, there) for tied, there in steps_of(rankings) if len(there) > len(tied) > 0]
        if ties == "davidson-luce":
            steps = [(tied, there) for tied, there in steps_of(rankings) if len(there) > 1]
        sizes = {len(tied) for tied, _ in steps}
        if {i for tied, _ in steps for i in tied} != set(range(4)) or (
            ties == "davidson-luce" and sizes != set(range(1, max(sizes) + 1))
        ):
            continue
        expected = (has_maximum_of_blocks if ties == "unknown" else has_maximum_of_choices)(
            rankings, 4
        )
        try:
            found = luce.maximum_likelihood(counts_of(rankings, ties))
            assert expected, rankings
            assert not found.at_zero
        except NoMaximumError:
            assert not expected, rankings
        verdicts.append(expected)
    assert 5 < sum(verdicts) < 35


def test_the_words_name_who_ran_away() -> None:
    with pytest.raises(NoMaximumError, match="'c', 'd' never came before or tied with any") as none:
        luce.maximum_likelihood(
            counts_of(
                {
                    ((0, 1), (2,), (3,)): 1,
                    ((0,), (1,), (3,), (2,)): 1,
                    ((1,), (0,), (2,), (3,)): 1,
                    ((2, 3),): 1,
                },
                "davidson-luce",
            )
        )
    assert none.value.groups == [["a", "b"], ["c", "d"]]
    with pytest.raises(
        NoMaximumError, match="'c', 'd' never came before any of the other 2"
    ) as none:
        luce.maximum_likelihood(
            counts_of(
                {
                    ((0, 1), (2,), (3,)): 1,
                    ((1,), (0,), (3,), (2,)): 1,
                    ((0,), (1,), (2, 3)): 1,
                },
                "unknown",
            )
        )
    assert none.value.groups == [["a", "b"], ["c", "d"]]
    with pytest.raises(NoMaximumError, match="the larger tie2, the better, since wherever 2 could"):
        luce.maximum_likelihood(counts_of({((0, 1),): 3}, "davidson-luce", "ab"))
    with pytest.raises(NoMaximumError, match="were never compared with each other") as none:
        luce.maximum_likelihood(
            counts_of(
                {((0, 1),): 1, ((0,), (1,)): 1, ((1,), (0,)): 1, ((2,), (3,)): 1, ((3,), (2,)): 1},
                "davidson-luce",
            )
        )
    assert none.value.groups == [["a", "b"], ["c", "d"]]


# -- the evidence ----------------------------------------------------------------------------


def evidence_by_grid(ties: str, prior: Floats, own: dict[str, Gamma]) -> float:
    def log_posterior(p: Floats, x: dict[str, Any]) -> Floats:
        value = log_likelihood(OF_THREE, ties, p, x) + np.log(p) @ (prior - 1)
        value = value + dirichlet.logpdf([1 / 3] * 3, prior) - (prior - 1).sum() * np.log(1 / 3)
        for name, each in own.items():
            value = value + gamma.logpdf(x[name], each.shape, scale=1 / each.rate)
        return np.asarray(value)

    return grid_integral(log_posterior, list(own), 22 if own else 60)


def errors_off(estimate: Estimate, truth: float) -> float:
    return abs(float(estimate) - truth) / float(estimate.standard_error)


@pytest.mark.filterwarnings("ignore::luce.errors.EvidenceWarning")
@pytest.mark.parametrize("ties", MODELS)
def test_the_evidence_is_the_integral(ties: str) -> None:
    prior, own = PRIOR[:3], OWN if ties == "davidson-luce" else {}
    counts = counts_of(OF_THREE, ties, "abc")
    posterior = Posterior(counts, prior, tie=own or None)
    found = posterior.log_evidence(DRAWS, seed=1000 * SEED + 1, progress=False)
    assert found.method == "bridge"
    assert errors_off(found, evidence_by_grid(ties, prior, own)) < z_limit(2)
    # The same measure tells the evidence of other priors.
    assert errors_off(found, evidence_by_grid(ties, prior + 0.4, own)) > z_limit(2)
    with pytest.raises(NotExactError, match="evidence of rankings with"):
        posterior.log_evidence(method="exact")
    with pytest.raises(MethodError, match="Chib's method is not offered for rankings with"):
        posterior.log_evidence(method="chib")


@pytest.mark.parametrize("ties", MODELS)
def test_the_evidence_of_equal_strengths(ties: str) -> None:
    """The parameters are summed over on a grid of the test's own."""
    own = OWN if ties == "davidson-luce" else {}
    counts = counts_of(OF_THREE, ties, "abc")
    found = log_evidence_if_equal(Model(counts, 1.0, parameters={"tie": own} if own else {}))
    x = np.exp(np.linspace(-14, 4, 500))
    names = list(own)
    grid = dict(zip(names, np.meshgrid(*[x] * len(names), indexing="ij"), strict=True))
    shape = grid[names[0]].shape if names else ()
    heights = np.exp(log_likelihood(OF_THREE, ties, np.full((*shape, 3), 1 / 3), grid))
    for name in names:
        density = gamma.pdf(grid[name], own[name].shape, scale=1 / own[name].rate)
        heights = heights * density * grid[name] * np.log(x[1] / x[0])
    assert found == pytest.approx(float(np.log(heights.sum())), abs=1e-5)
    if names:
        four = counts_of({**of_four(), ((0, 1, 2, 3),): 1}, ties)
        with pytest.raises(MethodError, match="Give values of some parameters"):
            luce.hypothesis(Posterior(four), all_equal=True, progress=False)
