"""Published data: every raw file is read as its likelihood, and gives the published estimates."""

import csv
from collections.abc import Iterator, Mapping
from math import lgamma, log
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from lib.published_data import (
    BY_NAME,
    DATA,
    SETS,
    Published,
    brackets_of,
    from_brackets,
    load,
    published,
    records,
)
from scipy.optimize import minimize
from scipy.stats import chi2

import luce
from luce import ConditionalCounts, Posterior
from luce._types import Label
from luce.errors import NoMaximumError

pytestmark = pytest.mark.skipif(not DATA.exists(), reason="the published data are not here")

Row = dict[str, float]  # counts of the alternatives that were possible

NO_MAXIMUM = ["rowing", "karate", "flatlizards"]
ON_THE_BOUNDARY = ["moto"]  # who never won is at 0
ALL = pytest.mark.parametrize("data", SETS, ids=str)
ESTIMATED = pytest.mark.parametrize(
    "data", [data for data in SETS if str(data) not in NO_MAXIMUM + ON_THE_BOUNDARY], ids=str
)


def log_likelihood(counts: ConditionalCounts, p: Any) -> float:
    """The log density less that of the prior, which is (n - 1)! everywhere."""
    return float(Posterior(counts, 1.0).log_density(p)) - lgamma(counts.n_categories)


def estimate(data: Published) -> dict[str, float]:
    """The maximum-likelihood estimate by item."""
    items, _ = brackets_of(f"{data.name}/{data.terms}")
    return dict(zip(items, luce.maximum_likelihood(data.counts).values.tolist(), strict=True))


@ALL
def test_the_raw_file_is_the_published_likelihood(data: Published) -> None:
    items, brackets = brackets_of(f"{data.name}/{data.terms}")
    reference = from_brackets([data.labels(item) for item in items], brackets)
    assert data.counts == reference
    assert data.counts.digest == reference.digest


TABLES = [data for data in SETS if "records" not in data.read.__code__.co_names]


@pytest.mark.parametrize(
    "data", [d for d in TABLES if list((DATA / d.name).glob("*.csv"))], ids=str
)
def test_the_raw_file_as_a_table_with_white_space(data: Published, tmp_path: Path) -> None:
    """As R's write.table writes it: texts in quotes, NA, no name above the names of rows."""
    for file in (DATA / data.name).glob("*.csv"):
        with file.open(newline="") as opened:
            header, *rows = csv.reader(opened)
        lines = [header[1:] if header[0] == "" else header, *rows]
        text = "\n".join(" ".join(map(as_in_r, line)) for line in lines)
        (tmp_path / file.name).write_text(text + "\n")
    assert ConditionalCounts(data.counts.categories) + data.read(tmp_path) == data.counts


def as_in_r(value: str) -> str:
    return "NA" if value == "" else value if value.isdigit() else f'"{value}"'


@ALL
def test_the_log_likelihood_of_equal_probabilities(data: Published) -> None:
    items, brackets = brackets_of(f"{data.name}/{data.terms}")
    expected = sum(power * log(len(members) / len(items)) for members, power in brackets)
    n = len(items)
    assert log_likelihood(data.counts, np.full(n, 1 / n)) == pytest.approx(expected, abs=1e-6)
    if "loglik_uniform" in data.truth:
        assert expected == pytest.approx(data.truth["loglik_uniform"], abs=1e-6)


@ESTIMATED
def test_the_mode_is_the_reference_estimate(data: Published) -> None:
    assert data.truth.get("mle_is_interior_and_unique", True)
    found = luce.maximum_likelihood(data.counts)
    assert found.at_zero == ()
    assert estimate(data) == pytest.approx(data.truth["mle"], abs=1e-6)
    np.testing.assert_allclose(Posterior(data.counts, 1.0).mode(), found.probabilities, atol=1e-9)
    assert found.log_likelihood == pytest.approx(data.truth["loglik_mle"], abs=1e-6)
    judged = log_likelihood(data.counts, found.probabilities)
    assert found.log_likelihood == pytest.approx(judged, abs=1e-9)


@pytest.mark.parametrize("name", NO_MAXIMUM)
def test_where_no_maximum_exists_the_mode_says_so(name: str) -> None:
    data = BY_NAME[name]
    assert data.truth["mle_is_interior_and_unique"] is False
    with pytest.raises(NoMaximumError, match=r"no (single )?mode") as caught:
        Posterior(data.counts, 1.0).mode()
    place = {label: k for k, group in enumerate(caught.value.groups) for label in group}
    for winner, losers in wins_of(data):
        assert all(place[winner] <= place[loser] for loser in losers if loser in place)
    assert np.isfinite(Posterior(data.counts, 1.5).mode()).all()


def wins_of(data: Published) -> Iterator[tuple[Label, list[Label]]]:
    """Who won against whom in the raw files of contests, bouts and heats."""
    folder = DATA / data.name
    if data.name == "rowing":
        for line in (folder / "rowing.txt").read_text().splitlines():
            order = line.split()
            yield from ((order[k], order[k + 1 :]) for k in range(len(order)))
    elif data.name == "flatlizards":
        yield from ((row["winner"], [row["loser"]]) for row in records(folder / "flatlizards.csv"))
    else:
        for row in records(folder / "karate.csv"):
            sides = [(row["karateka1"], row["wins1"]), (row["karateka2"], row["wins2"])]
            for (one, points), (other, _) in (sides, sides[::-1]):
                yield from [(one, [other])] * (int(points) > 0)


def test_the_maximum_of_moto_is_on_the_boundary() -> None:
    data = BY_NAME["moto"]
    found = estimate(data)
    assert [rider for rider, p in found.items() if p == 0] == ["Lecuona"]
    assert found == pytest.approx(published("moto", "hyper2 moto_maxp"), abs=1e-4)
    best = log_likelihood(data.counts, list(found.values()))
    assert best == pytest.approx(data.truth["loglik_supremum_approached"], abs=1e-6)


def test_every_published_set_is_here() -> None:
    # Without a raw file, or with several of their own; see the tests below.
    others = {
        "choix_testcases",
        "hyper2_misc",
        "counterstrike",
        "extensions_weighted",
        "football",
        "hsmm",
    }
    assert {data.name for data in SETS} | others == {d.name for d in DATA.iterdir() if d.is_dir()}


@pytest.mark.parametrize(
    ("name", "quantity", "off"),
    [
        ("chess", "MLE", 5e-6),
        ("icons", "MLE", 1e-5),
        ("dirichlet_toys", "MLE of L1+L2", 1e-5),
        ("salad", "worths summing to 1", 1e-5),
        ("volvo", "MLE", 5e-5),
        ("eurodance", "MLE", 5e-6),
        ("crimes", "MLE by EM", 6e-4),
        ("tennis", "MLE, no ghost", 1e-6),
        ("tennis-ghost", "MLE, ghost", 2e-5),
    ],
)
def test_published_estimates(name: str, quantity: str, off: float) -> None:
    data = BY_NAME[name]
    assert estimate(data) == pytest.approx(published(data.name, quantity), abs=off)


@pytest.mark.parametrize(
    ("name", "quantity", "base", "off"),
    [
        ("citations", "BT log-abilities", "Biometrika", 1e-6),
        ("salad", "PL log-worth", "A", 1e-4),
    ],
)
def test_published_logarithms(name: str, quantity: str, base: str, off: float) -> None:
    found = estimate(BY_NAME[name])
    expected = published(name, quantity)
    assert {x: log(found[x] / found[base]) for x in expected} == pytest.approx(expected, abs=off)


@pytest.mark.parametrize(
    ("name", "quantity", "off"),
    [
        ("icons", "loglik at MLE", 1e-6),
        ("mtc_modechoice", "constants-only loglik", 0.05),
    ],
)
def test_published_largest_log_likelihoods(name: str, quantity: str, off: float) -> None:
    data = BY_NAME[name]
    found = log_likelihood(data.counts, list(estimate(data).values()))
    assert found == pytest.approx(published(name, quantity), abs=off)


@pytest.mark.parametrize(
    ("name", "quantity", "off"),
    [
        ("chess", "loglik at (1/3,1/3,1/3)", 1e-6),
        ("icons", "loglik at uniform", 1e-5),
        ("mtc_modechoice", "loglik at uniform p", 1e-6),
    ],
)
def test_published_log_likelihoods_of_equal_probabilities(
    name: str, quantity: str, off: float
) -> None:
    counts = BY_NAME[name].counts
    n = counts.n_categories
    expected = published(name, quantity)
    assert log_likelihood(counts, np.full(n, 1 / n)) == pytest.approx(expected, abs=off)


@pytest.mark.parametrize(
    ("name", "base", "off"), [("citations", "Biometrika", 1e-8), ("salad", "A", 5e-5)]
)
def test_published_standard_errors(name: str, base: str, off: float) -> None:
    expected = published(name, "standard errors")
    found = luce.maximum_likelihood(BY_NAME[name].counts)
    errors = found.standard_errors("log-odds", base, among=list(expected))
    assert errors.values.tolist() == pytest.approx(list(expected.values()), abs=off)


def test_deviances_and_the_test_of_equal_strengths() -> None:
    salad, icons = BY_NAME["salad"], BY_NAME["icons"]
    deviance = -2 * log_likelihood(salad.counts, list(estimate(salad).values()))
    assert deviance == pytest.approx(published("salad", "-2 loglik"), abs=0.01)
    best = log_likelihood(icons.counts, list(estimate(icons).values()))
    support = best - log_likelihood(icons.counts, np.full(6, 1 / 6))
    expected = published("icons", "LR test")
    assert [support, chi2.sf(2 * support, 5)] == pytest.approx(expected, abs=1e-5)


def test_the_ghost_of_tennis_gains_support() -> None:
    plain, ghost = (
        log_likelihood(data.counts, list(estimate(data).values()))
        for data in (BY_NAME["tennis"], BY_NAME["tennis-ghost"])
    )
    assert ghost - plain == pytest.approx(published("tennis", "support(ghost"), abs=2e-5)


def rows_of(path: str, *, diagonal: bool = True) -> list[Row]:
    """The rows of a raw table of counts: what was possible in each, and how often it came."""
    rows = []
    for record in records(DATA / path):
        name = record.pop("", None)
        row = {x: float(v) for x, v in record.items() if v not in ("", "NA")}
        rows.append(row if diagonal or name is None else {x: row[x] for x in row if x != name})
    return rows


def pairs_in(rows: list[Row]) -> list[Row]:
    """Write a square table of wins as a row for each two."""
    names = list(rows[0])
    return [
        {a: rows[i][b], b: rows[j][a]}
        for i, a in enumerate(names) for j, b in enumerate(names) if i < j
    ]  # fmt: skip


def fit(rows: list[Row], p: Mapping[str, float]) -> list[float]:
    """G2, X2 and degrees of freedom of one vector of probabilities for all rows."""
    g2 = x2 = 0.0
    for row in rows:
        within, total = sum(p[x] for x in row), sum(row.values())
        for x, seen in row.items():
            fitted = total * p[x] / within
            g2 += 2 * seen * log(seen / fitted) if seen else 0.0
            x2 += (seen - fitted) ** 2 / fitted
    return [g2, x2, sum(len(row) - 1 for row in rows) - (len(p) - 1)]


def best_of(counts: ConditionalCounts) -> dict[str, float]:
    return dict(zip(counts.categories, Posterior(counts, 1.0).mode().values.tolist(), strict=True))


def test_goodness_of_fit_of_tables() -> None:
    for name, file, quantity in [
        ("frogs", "frogs.csv", "BT goodness of fit"),
        ("purum", "purum.csv", "quasi-independence G2, X2, df: purum"),
        ("purum", "khulen.csv", "quasi-independence G2, X2, df: khulen"),
    ]:
        best = best_of(luce.read(DATA / name / file, "table"))
        found = fit(rows_of(f"{name}/{file}"), best)
        assert found == pytest.approx(published(name, quantity), abs=1e-4), file


def test_goodness_of_fit_of_citations() -> None:
    g2, _, free = fit(
        pairs_in(rows_of("citations/citations.csv")), best_of(BY_NAME["citations"].counts)
    )
    assert [g2, free] == pytest.approx(published("citations", "residual deviance"), abs=1e-6)


def test_quasi_independence_of_transitions() -> None:
    path = "mobility_glass/glass.csv"
    glass = fit(rows_of(path, diagonal=False), best_of(BY_NAME["mobility_glass"].counts))
    expected = BY_NAME["mobility_glass"].truth["quasi_independence"]
    assert glass == pytest.approx([expected[k] for k in ("G2", "X2", "df")], abs=1e-5)

    path = "mobility_glass/glass_vcdExtra_variant.csv"
    variant = fit(rows_of(path, diagonal=False), best_of(luce.read(DATA / path, "transitions")))
    expected = published("mobility_glass", "quasi-independence G2, X2, df (vcdExtra")
    assert variant == pytest.approx(expected, abs=1e-3)

    strata = BY_NAME["strata_transitions"]
    rows = []
    for record in records(DATA / "strata_transitions" / "transitions.csv"):
        state = record.pop("from")
        rows.append({x: float(v) for x, v in record.items() if x != state})
    # striplog's own 35.7369 is not converged.
    expected = strata.truth["quasi_independence"]
    found = fit(rows, best_of(strata.counts))
    assert found == pytest.approx([expected[k] for k in ("G2", "X2", "df")], abs=1e-5)


def test_transitions_with_a_posterior_for_each_row() -> None:
    rows = luce.read(DATA / "mvad_transitions" / "mvad_jump_counts.csv", "transitions",
                     rows="separate")  # fmt: skip
    assert isinstance(rows, dict)
    for record in records(DATA / "mvad_transitions" / "mvad_jump_counts.csv"):
        state = record.pop("from")
        moves = {x: int(v) for x, v in record.items() if v}
        by_hand = ConditionalCounts([x for x in record if x != state]).observe(moves)
        assert rows[state] == by_hand


def test_the_integral_and_the_slope_of_chess() -> None:
    counts = BY_NAME["chess"].counts
    node, weight = np.polynomial.legendre.leggauss(60)
    node, weight = (node + 1) / 2, weight / 2
    # A triangle is a square whose one side is drawn together.
    first, rest = np.meshgrid(node, node, indexing="ij")
    p = np.stack([first, (1 - first) * rest, (1 - first) * (1 - rest)], axis=-1)
    likelihood = np.exp(Posterior(counts, 1.0).log_density(p)) / 2
    integral = (likelihood * (1 - first) * np.outer(weight, weight)).sum()
    assert integral == pytest.approx(published("chess", "B(chess)"), rel=1e-5)
    assert integral == pytest.approx(BY_NAME["chess"].truth["B_exact_quadrature"], rel=1e-10)

    def slope(of: str, step: float = 1e-4) -> float:
        moved = np.array([float(x == of) - float(x == "Topalov") for x in counts.categories])
        ends = (log_likelihood(counts, np.full(3, 1 / 3) + k * step * moved) for k in (1, -1))
        return float(np.subtract(*ends)) / (2 * step)

    expected = published("chess", "d loglik / d(p_Anand, p_Karpov)")
    assert [slope("Anand"), slope("Karpov")] == pytest.approx(expected, abs=1e-4)


def constrained(counts: ConditionalCounts, **constraint: Any) -> float:
    """The largest log likelihood where a constraint holds."""
    n = counts.n_categories
    one = {"type": "eq", "fun": lambda p: p.sum() - 1}
    found = minimize(
        lambda p: -log_likelihood(counts, np.asarray(p) / p.sum()), np.full(n, 1 / n),
        method="SLSQP", bounds=[(1e-3, 1)] * n, constraints=[one, constraint],
        options={"ftol": 1e-13, "maxiter": 500},
    )  # fmt: skip
    return float(-found.fun)


def test_constrained_maxima_of_icons() -> None:
    counts = BY_NAME["icons"].counts
    at = {x: i for i, x in enumerate(counts.categories)}
    truth = BY_NAME["icons"].truth
    for other in ("L", "PB", "THC", "OA", "WAIS"):
        best = constrained(counts, type="eq", fun=lambda p, j=at[other]: p[at["NB"]] - p[j])
        assert best == pytest.approx(truth["max_loglik_under_equality"][f"NB={other}"], abs=1e-6)
    sixth = constrained(counts, type="eq", fun=lambda p: p[at["NB"]] - 1 / 6)
    assert sixth == pytest.approx(truth["constrained"]["NB=1/6"]["loglik"], abs=1e-6)
    assert sixth == pytest.approx(published("icons", "max loglik with NB=1/6"), abs=0.01)
    ahead = constrained(counts, type="ineq", fun=lambda p: p[at["OA"]] - p[at["THC"]])
    assert ahead == pytest.approx(published("icons", "max loglik with p_OA>=p_THC"), abs=1e-5)
    third = constrained(counts, type="ineq", fun=lambda p: p[at["OA"]] + p[at["WAIS"]] - 1 / 3)
    assert third == pytest.approx(published("icons", "max loglik with p_OA+p_WAIS"), abs=1e-5)


def test_samples_of_all_categories_are_dirichlet() -> None:
    tables = load("dirichlet_toys/toys.json")
    last = luce.from_table({x: [n] for x, n in tables["L4"]["counts"].items()})
    uniform = log_likelihood(last, np.full(4, 1 / 4))
    best = log_likelihood(last, Posterior(last, 1.0).mode())
    p_value = chi2.sf(2 * (best - uniform), 3)
    expected = published("dirichlet_toys", "L4: loglik")
    assert [uniform, best, p_value] == pytest.approx(expected, abs=1e-4)
    counts = luce.from_table(np.array([[0, 1, 2, 3]]))
    integral = np.exp(Posterior(counts, 1.0).log_evidence().value - lgamma(4))
    assert integral == pytest.approx(published("dirichlet_toys", "B(Dirichlet"), abs=1e-12)
    mean = Posterior(luce.from_table(np.array([[0, 1, 2]])), 1.0).mean()
    assert mean.values == pytest.approx(published("dirichlet_toys", "mean of Dirichlet"))


def choix(name: str) -> ConditionalCounts:
    case = load(f"choix_testcases/{name}.json")
    items = range(case["n_items"])
    if "pairwise" in name:
        return luce.from_pairs(case["data"], categories=items)
    if "rankings" in name:
        return luce.from_rankings(case["data"], unranked="absent", categories=items)
    picks = {"chosen": [x for x, _ in case["data"]], "losers": [x for _, x in case["data"]]}
    return luce.from_choices(picks, categories=items)


@pytest.mark.parametrize("number", [1, 2])
@pytest.mark.parametrize("kind", ["pairwise", "rankings", "top1"])
def test_estimates_of_choix(kind: str, number: int) -> None:
    name = f"testcase-{kind}-{number}"
    counts = choix(name)
    mode = Posterior(counts, 1.0).mode()
    expected = np.array(load(f"choix_testcases/{name}.json")["ml_est"])
    # choix stops where it is near enough, so that our likelihood is never below its own.
    assert np.log(mode) - np.log(mode).mean() == pytest.approx(expected, abs=1e-4)
    theirs = np.exp(expected) / np.exp(expected).sum()
    assert log_likelihood(counts, mode) >= log_likelihood(counts, theirs) - 1e-14


@pytest.mark.parametrize("strength", [1, 10])
def test_choicerank_of_a_network(strength: int) -> None:
    network = load("choix_testcases/choicerank-8nodes.json")
    powers: dict[object, float] = dict(enumerate(map(float, network["traffic_in"])))
    for node, users in enumerate(network["traffic_out"]):
        next_nodes = tuple(b for a, b in network["edges"] if a == node)
        powers[next_nodes] = powers.get(next_nodes, 0.0) - users
    counts = ConditionalCounts.from_exponents(8, powers)
    found = np.log(Posterior(counts, strength + 1.0).mode())
    assert found - found.mean() == pytest.approx(network[f"map_alpha{strength}"], abs=1e-4)


MISC = sorted(path.stem for path in (DATA / "hyper2_misc").glob("*.json"))


@pytest.mark.parametrize("name", MISC)
def test_likelihoods_of_hyper2(name: str) -> None:
    items, brackets = brackets_of(f"hyper2_misc/{name}.json")
    truth = load(f"hyper2_misc/{name}.json")
    counts = from_brackets(list(items), brackets)
    n = len(items)
    uniform = log_likelihood(counts, np.full(n, 1 / n))
    assert uniform == pytest.approx(truth["loglik_uniform"], abs=1e-6)
    if name == "rowing_minimal":
        with pytest.raises(NoMaximumError, match="none of a later one ever won"):
            luce.maximum_likelihood(counts)
        return
    found = luce.maximum_likelihood(counts)
    assert found.log_likelihood == pytest.approx(truth["loglik_max"], abs=1e-6)
    if "hyper2_maxp" in truth:
        assert found.log_likelihood > truth["loglik_at_hyper2_maxp"] - 1e-9
    assert (found.at_zero == ()) is truth["interior_maximum"]
    if truth["interior_maximum"]:
        by_item = dict(zip(items, found.values.tolist(), strict=True))
        assert by_item == pytest.approx(truth["mle"], abs=1e-6)
    for label in found.at_zero:  # a little more would be less likely
        more = 1e-3 * (np.arange(n) == items.index(label))
        assert log_likelihood(counts, (1 - 1e-3) * found.values + more) < (found.log_likelihood)


def test_the_boundary_maximum_of_counterstrike() -> None:
    items, brackets = brackets_of("counterstrike/terms.json")
    truth = load("counterstrike/truth.json")["computed"]
    counts = from_brackets(list(items), brackets)
    uniform = log_likelihood(counts, np.full(10, 1 / 10))
    assert uniform == pytest.approx(truth["loglik_uniform"], abs=1e-6)
    best = published("counterstrike", "hyper2 counterstrike_maxp")
    found = luce.maximum_likelihood(counts)
    assert set(found.at_zero) == {x for x, p in best.items() if p < 1e-5}
    assert dict(zip(items, found.values.tolist(), strict=True)) == pytest.approx(best, abs=2e-5)
    assert found.log_likelihood == pytest.approx(truth["loglik_supremum_approached"], abs=1e-6)
    p = np.array([best[x] for x in items])
    assert found.log_likelihood > log_likelihood(counts, p / p.sum())
