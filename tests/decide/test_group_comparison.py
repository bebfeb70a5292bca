"""Groups: the Bayes factor, differences and their intervals, and every sentence about them."""

import dataclasses
import pickle
import re
from collections.abc import Callable
from itertools import combinations
from math import exp, lgamma, log
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest
from lib.bounds import SEED, z_limit
from lib.evidence_cases import by_quadrature
from lib.size import draws
from scipy import integrate, stats
from scipy.special import digamma, polygamma

import luce
from luce import ConditionalCounts, Posterior
from luce.decide import GroupComparison
from luce.errors import DataError, EvidenceWarning, MethodError

# Few draws are enough for most tests here.
pytestmark = [
    pytest.mark.filterwarnings("ignore::luce.ConvergenceWarning"),
    pytest.mark.filterwarnings("ignore::luce.errors.EvidenceWarning"),
]

QUIET: dict[str, Any] = {"progress": False, "seed": 100 * SEED + 1}
PRIOR = {"a": 0.8, "b": 2.0, "c": 1.3}


def polls(**seen: dict[str, float]) -> dict[str, ConditionalCounts]:
    """Make groups of plain outcomes, of a, b and c."""
    return {name: ConditionalCounts("abc").observe(own) for name, own in seen.items()}


NORTH_SOUTH = polls(north={"a": 60, "b": 30, "c": 10}, south={"a": 35, "b": 45, "c": 20})
THREE = {**NORTH_SOUTH, **polls(east={"a": 5, "b": 9, "c": 1})}


def pairs(*seen: dict[str, float]) -> ConditionalCounts:
    """Make duels among three, that need a simulated core."""
    counts = ConditionalCounts([0, 1, 2])
    for one, other, wins, losses in seen:
        counts = counts.observe({one: wins, other: losses}, within=[one, other])
    return counts


DUELS = {
    "first": pairs((0, 1, 9, 4), (1, 2, 6, 6), (0, 2, 7, 2)),
    "second": pairs((0, 1, 3, 8), (1, 2, 5, 3), (0, 2, 2, 2)),
}


# -- evidence --------------------------------------------------------------------------------------


def log_multinomial_evidence(seen: list[float], prior: list[float]) -> float:
    """The Dirichlet-multinomial, without its coefficient."""
    rise = sum(lgamma(a + n) - lgamma(a) for a, n in zip(prior, seen, strict=True))
    return rise + lgamma(sum(prior)) - lgamma(sum(prior) + sum(seen))


def expected_log_factor(groups: dict[str, ConditionalCounts], prior: list[float]) -> float:
    own = [counts.category_counts.tolist() for counts in groups.values()]
    several = sum(log_multinomial_evidence(seen, prior) for seen in own)
    return several - log_multinomial_evidence(np.sum(own, axis=0).tolist(), prior)


@pytest.mark.parametrize("groups", [NORTH_SOUTH, THREE])
def test_the_factor_of_plain_outcomes_is_a_closed_form(
    groups: dict[str, ConditionalCounts],
) -> None:
    found = luce.compare_groups(groups, concentration=PRIOR, draws=20, chains=1, **QUIET)
    prior = list(PRIOR.values())
    truth = expected_log_factor(groups, prior)
    assert float(found.bayes_factor.log) == pytest.approx(truth, abs=1e-9)
    assert (found.bayes_factor.method, found.bayes_factor.standard_error) == ("exact", 0.0)
    assert found.probability_several == pytest.approx(1 / (1 + exp(-truth)))
    assert set(found.sensitivity) == {0.5, 2.0}
    for times, factor in found.sensitivity.items():
        scaled = [times * a for a in prior]
        assert float(factor.log) == pytest.approx(expected_log_factor(groups, scaled), abs=1e-9)
    several, one = (found.bayes_factor.details[name] for name in ("several", "one"))
    assert float(several) - float(one) == pytest.approx(truth, abs=1e-9)
    assert set(several.details["groups"]) == set(groups)


def test_the_factor_of_duels_agrees_with_quadrature() -> None:
    size = draws(compiled=1000, plain=40)
    prior = [0.8, 1.5, 1.1]
    found = luce.compare_groups(DUELS, concentration=prior, draws=size, **QUIET)
    total = DUELS["first"] + DUELS["second"]
    truth = sum(by_quadrature(Posterior(c, prior)) for c in DUELS.values())
    truth -= by_quadrature(Posterior(total, prior))
    error = float(found.bayes_factor.log.standard_error)
    assert 0 < error < 0.2

    def is_right(value: float) -> bool:
        return abs(value - truth) < z_limit() * error

    assert is_right(float(found.bayes_factor.log))
    # Controls: the evidence of a group is forgotten; the sign of the factor is wrong.
    assert not is_right(float(found.bayes_factor.log) - by_quadrature(Posterior(DUELS["first"])))
    assert not is_right(-float(found.bayes_factor.log))
    parts = found.bayes_factor.details
    errors = [e.standard_error for e in parts["several"].details["groups"].values()]
    assert error == pytest.approx(np.hypot(np.hypot(*errors), parts["one"].standard_error))
    assert not found.sensitivity
    assert "sensitivity=True says how much" in str(found)


def test_sensitivity_is_computed_on_demand() -> None:
    size = draws(compiled=200, plain=20)
    options = {"draws": size, **QUIET}
    found = luce.compare_groups(DUELS, sensitivity=True, **options)
    again = luce.compare_groups(DUELS, concentration=2.0, sensitivity=False, **options)
    assert float(found.sensitivity[2.0].log) == float(again.bayes_factor.log)  # one seed
    assert not again.sensitivity
    none = luce.compare_groups(NORTH_SOUTH, sensitivity=False, draws=20, **QUIET)
    assert not none.sensitivity


SEASON = {
    "year": [*["old"] * 18, *["new"] * 18],
    "home": ["Ajax", "Bari", "Como", "Ajax", "Bari", "Como"] * 6,
    "away": ["Bari", "Como", "Ajax", "Como", "Ajax", "Bari"] * 6,
    "result": [*"HHDHAD", *"HDAHDH", *"DHAHAD", *"HAHHHH", *"AHHDHA", *"HHADHH"],
}


def test_parameters_are_common_or_separate_as_strengths_are() -> None:
    size = draws(compiled=500, plain=20)
    options: dict[str, Any] = {"ties": "davidson", "home": "first"}
    found = luce.compare_groups(
        SEASON, "year", draws=size, home_prior=luce.Gamma(3, 2), **options, **QUIET
    )
    rows = {k: v for k, v in SEASON.items() if k != "year"}
    parts = {
        name: luce.from_pairs({k: v[place] for k, v in rows.items()}, **options)
        for name, place in (("old", slice(18)), ("new", slice(18, 36)))
    }
    priors = {"home": luce.Gamma(3, 2)}
    several = [
        Posterior(counts, **priors).log_evidence(size, seed=SEED + 5, progress=False)
        for counts in parts.values()
    ]
    one = Posterior(luce.from_pairs(rows, **options), **priors).log_evidence(
        size, seed=SEED + 6, progress=False
    )
    truth = sum(map(float, several)) - float(one)
    error = np.sqrt(sum(e.standard_error**2 for e in [*several, one, found.bayes_factor.log]))
    assert abs(float(found.bayes_factor.log) - truth) < z_limit() * error
    assert found.likelihood_ratio is not None
    assert found.likelihood_ratio.degrees_of_freedom == 4  # two shares, home and tie
    assert found.parameters is not None
    assert found.parameters["parameter"].values.tolist() == ["home", "tie"]
    logs = [np.log(run["posterior"]["home"].values.ravel()) for run in found.runs.values()]
    assert found.parameters["mean"].values[0, 0] == pytest.approx((logs[0] - logs[1]).mean())
    assert "Differences in logarithms of parameters" in str(found)
    known = luce.compare_groups(
        SEASON, "year", draws=20, home_prior=1.2, tie_prior=0.5, **options, **QUIET
    )
    assert known.parameters is None
    assert known.likelihood_ratio is not None
    assert known.likelihood_ratio.degrees_of_freedom == 2


# -- differences -----------------------------------------------------------------------------------


def test_differences_of_two_categories_are_those_of_betas() -> None:
    size = draws(compiled=5000, plain=200)
    seen = {"x": (7, 12), "y": (5, 3)}
    groups = {g: ConditionalCounts("sf").observe({"s": s, "f": f}) for g, (s, f) in seen.items()}
    found = luce.compare_groups(
        groups, concentration={"s": 1.5, "f": 0.7}, draws=size, chains=4, **QUIET
    )
    (a, b), (c, d) = ((s + 1.5, f + 0.7) for s, f in seen.values())
    one, other = stats.beta(a, b), stats.beta(c, d)
    logs = (digamma(a) - digamma(b) - digamma(c) + digamma(d)) / 2  # against the mean of the two
    spread = np.sqrt(sum(polygamma(1, x) for x in (a, b, c, d))) / 2
    above = integrate.quad(lambda x: one.pdf(x) * other.cdf(x), 0, 1)[0]
    truths = {
        "probabilities": (one.mean() - other.mean(), np.hypot(one.std(), other.std())),
        "log-odds": (logs, spread),
    }

    def all_right(contrast_of: Callable[[Any], Any]) -> bool:
        z = []
        for scale, (mean, sd) in truths.items():
            s = contrast_of(found.differences(scale).sel(category="s").isel(contrast=0))
            z.append((float(s["mean"]) - mean) / (sd / np.sqrt(4 * size)))
            z.append((float(s["p_positive"]) - above) / np.sqrt(above * (1 - above) / (4 * size)))
            assert float(s["sd"]) == pytest.approx(sd, rel=z_limit() * 1.2 / np.sqrt(4 * size))
        return bool((np.abs(z) < z_limit(4)).all())

    assert all_right(lambda s: s)
    assert not all_right(lambda s: s.assign(mean=-s["mean"]))  # the other way round
    assert not all_right(lambda s: s.assign(p_positive=1 - s["p_positive"]))
    low, high = (
        float(found.probabilities[side].sel(category="s")[0]) for side in ("lower", "upper")
    )
    within = integrate.quad(
        lambda x: one.pdf(x) * (other.cdf(x - low) - other.cdf(x - high)), 0, 1, limit=200
    )[0]
    assert within == pytest.approx(0.9, abs=z_limit() * np.sqrt(2 * 0.05 * 0.95 / (4 * size)))


def test_contrasts_with_the_rest_are_with_the_mean_of_the_others() -> None:
    found = luce.compare_groups(THREE, contrasts="rest", draws=50, **QUIET)
    assert found.log_odds["contrast"].values.tolist() == [f"{g} - rest" for g in THREE]
    logs = {}
    for name, run in found.runs.items():
        own = np.log(run["posterior"]["probabilities"].values.reshape(-1, 3))
        logs[name] = own - own.mean(axis=1, keepdims=True)
    expected = (logs["south"] - (logs["north"] + logs["east"]) / 2).mean(axis=0)
    np.testing.assert_allclose(found.log_odds["mean"].sel(contrast="south - rest"), expected)
    with pytest.raises(MethodError, match="contrasts = 'all' was given; 'pairs', 'rest'"):
        luce.compare_groups(THREE, contrasts="all")


# -- calibration -----------------------------------------------------------------------------------


class Replication(NamedTuple):
    several: bool
    log_factor: float
    one_by_one: bool  # are all true differences inside their intervals?
    at_once: bool


PRIOR_OF_SHARES = np.array([1.5, 0.7, 1.1, 2.0])
SIZES = (25, 40, 15)


def replicate(rng: np.random.Generator) -> Replication:
    """Draw a model, its strengths and data; compare, and look whether the truth is inside."""
    several = bool(rng.random() < 0.5)
    p = rng.dirichlet(PRIOR_OF_SHARES, 3)
    if not several:
        p[1:] = p[0]
    groups = {
        g: ConditionalCounts(4).observe(dict(enumerate(rng.multinomial(n, own).tolist())))
        for g, (n, own) in enumerate(zip(SIZES, p, strict=True))
    }
    found = luce.compare_groups(
        groups,
        concentration=PRIOR_OF_SHARES,
        sensitivity=False,
        draws=400,
        chains=1,
        seed=int(rng.integers(2**31)),
        progress=False,
    )
    truth = np.array([p[i] - p[j] for i, j in combinations(range(3), 2)])

    def inside(low: str, high: str) -> bool:
        x = found.probabilities
        return bool(((x[low].values <= truth) & (truth <= x[high].values)).all())

    return Replication(
        several,
        float(found.bayes_factor.log),
        inside("lower", "upper"),
        inside("simultaneous_lower", "simultaneous_upper"),
    )


@pytest.fixture(scope="module", params=[170, pytest.param(1200, marks=pytest.mark.slow)])
def replications(request: pytest.FixtureRequest) -> list[Replication]:
    rng = np.random.default_rng([SEED, 7])
    return [replicate(rng) for _ in range(draws(compiled=request.param, plain=60))]


def test_simultaneous_intervals_hold_at_once(replications: list[Replication]) -> None:
    """Groups drawn from the prior: all true differences are inside as often as is said."""
    own = [r for r in replications if r.several]

    def held(inside: list[bool]) -> bool:
        return abs(np.mean(inside) - 0.9) < z_limit() * np.sqrt(0.9 * 0.1 / len(own))

    assert held([r.at_once for r in own])
    assert not held([r.one_by_one for r in own])  # the control


def test_the_probability_of_several_is_calibrated(replications: list[Replication]) -> None:
    """Models drawn with probability 1/2 each: P(several) adds up to the number of several."""
    several = np.array([r.several for r in replications], float)
    logs = np.array([r.log_factor for r in replications])

    def is_calibrated(logs: Any) -> bool:
        p = 1 / (1 + np.exp(-logs))
        parts = [p < np.inf, (p > 0.02) & (p < 0.5), (p >= 0.5) & (p < 0.98)]
        z = [
            (several[k] - p[k]).sum() / np.sqrt((p[k] * (1 - p[k])).sum()) for k in parts if k.any()
        ]
        return bool((np.abs(z) < z_limit(3)).all())

    assert is_calibrated(logs)
    # Controls: a factor ten times too large, or too small; and its inverse.
    for wrong in (logs + log(10), logs - log(10), -logs):
        assert not is_calibrated(wrong)
    # Mostly, the right model is favoured.
    assert np.mean(logs[several == 0] < 0) > 0.75
    assert np.mean(logs[several == 1] > 0) > 0.75


# -- sentences -------------------------------------------------------------------------------------


def differences_of(found: GroupComparison, scale: str) -> Any:
    """Compute the draws of all differences from the runs, shape (draw, contrast, category)."""
    values = {}
    for name, run in found.runs.items():
        p = run["posterior"]["probabilities"].values
        p = p.reshape(-1, p.shape[-1])
        logs = np.log(p)
        values[name] = p if scale == "probabilities" else logs - logs.mean(axis=1, keepdims=True)
    return np.stack([values[a] - values[b] for a, b in combinations(values, 2)], axis=1)


GRADES = {
    "not worth more than a bare mention": (1, 3),
    "positive evidence": (3, 20),
    "strong evidence": (20, 150),
    "very strong evidence": (150, np.inf),
}


def check_evidence_sentences(found: GroupComparison, log_factor: float, text: str) -> None:
    """Check the verdict and the probability in a text against a log Bayes factor."""
    sentence = re.search(
        r"The data is ([\d.e+]+) times as probable under (\w+) .*: (.*)\.$", text, re.M
    )
    assert sentence is not None
    times, model, grade = sentence.groups()
    assert model == ("separate" if log_factor > 0 else "common")
    assert float(times) == pytest.approx(exp(abs(log_factor)), rel=0.01)
    low, high = GRADES[grade]
    assert low <= exp(abs(log_factor)) < high
    said = re.search(
        r"log Bayes factor  (-?[\d.]+).*probability of several (\S+) if it was 0\.5", text
    )
    assert said is not None
    assert float(said[1]) == pytest.approx(log_factor, rel=1e-3)
    if said[2][0] not in "<>":
        assert float(said[2]) == pytest.approx(1 / (1 + exp(-log_factor)), abs=6e-4)


def check_difference_sentences(found: GroupComparison, scale: str, text: str) -> None:
    """Check the sentences on differences in a text against the draws in the runs."""
    d = differences_of(found, scale)
    d = d.reshape(len(d), -1)
    low, high = np.quantile(d, [0.05, 0.95], axis=0)
    called = (low > 0) | (high < 0)
    wrong = np.where(low > 0, (d <= 0).mean(axis=0), (d >= 0).mean(axis=0))[called].sum()
    one = re.search(
        r"One by one: (\d+) of (\d+) differences in (\S+) ha(?:s|ve) a 90 % interval without 0"
        r"(?:; expected wrong signs among them: (below )?(\S+)\.)?",
        text,
    )
    assert one is not None
    assert (int(one[1]), int(one[2]), one[3].rstrip(".")) == (called.sum(), d.shape[1], scale)
    assert (one[5] is None) == (called.sum() == 0)
    assert (one[4] is not None) == (called.any() and wrong == 0)
    if one[5] is not None:
        assert float(one[5]) == pytest.approx(wrong or 1 / len(d), rel=0.06)
    at_once = re.search(r"for all with probability 90 %; (\d+) (?:is|are) without 0", text)
    assert at_once is not None
    x = found.differences(scale)
    low, high = (x[f"simultaneous_{side}"].values.ravel() for side in ("lower", "upper"))
    assert int(at_once[1]) == ((low > 0) | (high < 0)).sum()
    inside = ((low <= d) & (d <= high)).all(axis=1).mean()
    assert 0.9 - 1e-9 <= inside <= 0.9 + 2 / len(d)
    rows = re.findall(r"^ +(\w) +(?:\w+ - \w+  )? *(-?\S+) +\S+ ", text, re.M)
    means = [abs(float(mean)) for _, mean in rows]
    assert len(means) == d.shape[1]
    assert means == sorted(means, reverse=True)
    assert means == pytest.approx(np.sort(np.abs(d.mean(axis=0)))[::-1], rel=1e-3)


@pytest.mark.parametrize("scale", ["log-odds", "probabilities"])
@pytest.mark.parametrize(
    "groups", [NORTH_SOUTH, THREE, polls(x={"a": 4, "b": 2}, y={"a": 5, "b": 2, "c": 1})]
)
def test_every_sentence_is_true_of_the_draws(groups: Any, scale: str) -> None:
    found = luce.compare_groups(groups, concentration=PRIOR, draws=500, **QUIET)
    text = found.to_text(scale)
    check_evidence_sentences(found, expected_log_factor(groups, list(PRIOR.values())), text)
    check_difference_sentences(found, scale, text)


def test_false_sentences_are_found() -> None:
    """Controls: each sentence is told of a comparison of which it is false."""
    groups = THREE
    found = luce.compare_groups(groups, draws=500, **QUIET)
    text, truth = str(found), expected_log_factor(groups, [1.0] * 3)
    lies = {
        "separate strengths for each group as under common": "common strengths as under separate",
        "positive evidence": "strong evidence",
        "probability of several 0.": "probability of several 0.0",
    }
    for told, lie in lies.items():
        assert told in text
        with pytest.raises(AssertionError):
            check_evidence_sentences(found, truth, text.replace(told, lie))
    with pytest.raises(AssertionError):
        check_evidence_sentences(found, -truth, text)
    numbers = re.search(r"One by one: (\d+) of .* them: (\S+)\.\nAt once: .*; (\d+) ", text)
    assert numbers is not None
    for k in (1, 2, 3):
        a, b = numbers.span(k)
        with pytest.raises(AssertionError):
            check_difference_sentences(found, "log-odds", f"{text[:a]}7{text[b:]}")
    for name in ("simultaneous_lower", "simultaneous_upper"):
        narrow = dataclasses.replace(
            found, log_odds=found.log_odds.assign({name: 0.9 * found.log_odds[name]})
        )
        with pytest.raises(AssertionError):
            check_difference_sentences(narrow, "log-odds", text)
    swapped = dataclasses.replace(
        found, runs=dict(zip(found.runs, reversed(found.runs.values()), strict=True))
    )
    with pytest.raises(AssertionError):
        check_difference_sentences(swapped, "log-odds", text)


def test_the_monte_carlo_error_is_told_where_it_matters() -> None:
    found = luce.compare_groups(NORTH_SOUTH, draws=20, **QUIET)

    def verdict(value: float, error: float) -> str:
        factor = luce.hypotheses.BayesFactor.of_log(luce.estimates.Estimate(value, error, "bridge"))
        return dataclasses.replace(found, bayes_factor=factor).verdict

    assert "leaves open whether" in verdict(0.1, 0.06)
    assert "leaves open whether" in verdict(-0.1, 0.06)
    assert "leaves open" not in verdict(0.1, 0.04)
    assert verdict(log(19), 0.1).endswith(
        "positive evidence, or strong evidence: the Monte Carlo error leaves it open"
    )
    assert verdict(log(19), 0.001).endswith(": positive evidence")
    assert verdict(0.0, 0.0).startswith("The data is equally probable under separate and")
    assert "1.01 times" in verdict(0.01, 0.0)
    assert verdict(-2000.0, 0.1).startswith("The data is exp(2000) times as probable under common")
    huge = luce.hypotheses.BayesFactor.of_log(luce.estimates.Estimate(-2000.0, 0.1, "bridge"))
    assert dataclasses.replace(found, bayes_factor=huge).probability_several == 0.0
    assert verdict(5.0, float("nan")).endswith("its Monte Carlo error is not known")


def test_simultaneous_intervals_hold_the_single_ones() -> None:
    found = luce.compare_groups(THREE, draws=200, ci_prob=0.8, **QUIET)
    for x in (found.log_odds, found.probabilities):
        assert (x["simultaneous_lower"] <= x["lower"]).all()
        assert (x["simultaneous_upper"] >= x["upper"]).all()
        assert x.attrs["ci_prob"] == 0.8
    # One difference, seen twice with opposite signs: its interval is the single one.
    two = {g: ConditionalCounts("ab").observe({"a": a, "b": 9}) for g, a in (("x", 3), ("y", 8))}
    alone = luce.compare_groups(two, draws=500, **QUIET).probabilities
    assert alone.attrs["stretch"] == pytest.approx(1.0, abs=0.01)


# -- data, labels, refusals ------------------------------------------------------------------------


def test_frames_and_files_are_split_by_a_column(tmp_path: Path) -> None:
    rows = {"g": list("AABBB"), "winner": list("xyxyy"), "loser": list("yzzxz")}
    path = tmp_path / "games.csv"
    pd.DataFrame(rows).to_csv(path, sep=";", index=False)
    options: dict[str, Any] = {"draws": 50, **QUIET}
    counts = {
        g: luce.from_pairs(
            {
                k: [v for v, own in zip(rows[k], rows["g"], strict=True) if own == g]
                for k in ("winner", "loser")
            },
            categories="xyz",
        )
        for g in "AB"
    }
    expected = luce.compare_groups(counts, **options)
    for found in (
        luce.compare_groups(rows, "g", **options),
        luce.compare_groups(pd.DataFrame(rows), "g", "pairs", **options),
        luce.compare_groups(str(path), "g", delimiter=";", **options),
    ):
        assert found.log_odds.identical(expected.log_odds)
        assert float(found.bayes_factor.log) == float(expected.bayes_factor.log)
        assert str(found) == str(expected)


def test_the_same_seed_gives_the_same_answer() -> None:
    options: dict[str, Any] = {"draws": 50, "progress": False}
    one, again, other = (luce.compare_groups(DUELS, seed=s, **options) for s in (3, 3, 4))
    assert str(one) == str(again) != str(other)
    assert (one.seed, other.seed) == ("3", "4")
    seeded = luce.compare_groups(DUELS, **options)
    assert str(luce.compare_groups(DUELS, seed=int(seeded.seed), **options)) == str(seeded)
    # Groups of the same data have draws of their own.
    twins = luce.compare_groups({1: DUELS["first"], "1": DUELS["first"]}, seed=3, **options)
    assert float(twins.log_odds["sd"].min()) > 0


def test_unequal_categories_are_refused_or_aligned() -> None:
    groups = {**NORTH_SOUTH, "west": ConditionalCounts("bad").observe({"a": 9, "b": 4, "d": 7})}
    with pytest.raises(DataError, match="'north' lacks 'd'; 'south' lacks 'd'; 'west' lacks 'c'"):
        luce.compare_groups(groups)
    found = luce.compare_groups(groups, align=True, draws=300, **QUIET)
    assert found.log_odds["category"].values.tolist() == ["a", "b"]
    text = str(found)
    assert "Not compared, since group west has no data on it: c." in text
    assert "Probabilities are shares among the 2 categories that are compared." in text
    shares = []
    for name in ("north", "west"):
        p = found.runs[name]["posterior"]["probabilities"]
        shares.append(
            p.sel(category="a").values / p.sel(category=["a", "b"]).sum("category").values
        )
    mean = found.probabilities["mean"].sel(contrast="north - west", category="a")
    assert float(mean) == pytest.approx((shares[0] - shares[1]).mean())
    # West's outcomes are given a, b and d: c does not enter, and its share has the prior.
    west = found.runs["west"]["posterior"]["probabilities"].sel(category="c").values
    assert west.mean() == pytest.approx(0.25, abs=z_limit() * np.sqrt(0.25 * 0.75 / 5 / west.size))
    # The same labels in another order are the same categories.
    turned = {
        "north": NORTH_SOUTH["north"],
        "south": ConditionalCounts("cab") + NORTH_SOUTH["south"],
    }
    options: dict[str, Any] = {"draws": 30, **QUIET}
    plain = luce.compare_groups(NORTH_SOUTH, **options)
    assert str(luce.compare_groups(turned, **options)) == str(plain)


def test_effects_are_no_competitors() -> None:
    games = {
        "g": list("AAAABBBB"),
        "item1": list("abcabcab"),
        "item2": list("bcabcaca"),
        "outcome": [*"ab", "tie", "a", "c", "tie", "a", "tie"],
    }
    games["outcome"][4] = "b"
    found = luce.compare_groups(games, "g", "pairs", ties="entity", draws=100, **QUIET)
    assert found.log_odds["category"].values.tolist() == ["a", "b", "c"]
    assert "Not compared, being no competitors: tie." in str(found)


def test_what_rests_on_the_prior_is_said() -> None:
    apart = ConditionalCounts("abcd").observe({"a": 3, "b": 1}, within="ab")
    apart = apart.observe({"c": 2, "d": 2}, within="cd")
    whole = ConditionalCounts("abcd").observe({"a": 3, "b": 1, "c": 4, "d": 2})
    found = luce.compare_groups({"apart": apart, "whole": whole}, draws=20, **QUIET)
    assert "The data of group apart does not tell {a, b} from {c, d}: there its prior does." in str(
        found
    )
    assert found.likelihood_ratio is None
    assert "likelihood ratio  none: in group 'apart', " in str(found)
    assert "Draws of group whole: " in str(found)  # 80 are few
    assert "Draws of group" not in str(luce.compare_groups(NORTH_SOUTH, **QUIET))


def test_a_single_draw_is_told_of() -> None:
    found = luce.compare_groups(NORTH_SOUTH, draws=1, chains=1, **QUIET)
    assert "1 draw in all; at least" in str(found)
    assert found.log_odds.attrs["stretch"] == 1.0


@pytest.mark.parametrize(
    ("groups", "words"),
    [
        ({}, "0 groups given"),
        ({"a": ConditionalCounts("ab").observe({"a": 1})}, "1 group given: 'a'; two are needed"),
        ({"a": NORTH_SOUTH["north"], "b": ConditionalCounts("abc")}, "group 'b' has no outcomes"),
        ({"a": NORTH_SOUTH["north"], "b": np.zeros((4, 10, 3))}, "group 'b' is ndarray; Cond"),
        ([1, 2], "list was given. A file or a frame needs by="),
        ("games.csv", "str was given. A file or a frame needs by="),
        ({"winner": ["a"], "loser": ["b"]}, "'winner' is list; .* a mapping of columns needs by="),
        (
            {g: ConditionalCounts("a").observe({"a": 2}) for g in "xy"},
            "data on 0 common categories; two are needed",
        ),
    ],
)
def test_what_cannot_be_compared_is_refused(groups: Any, words: str) -> None:
    with pytest.raises(DataError, match=words):
        luce.compare_groups(groups)


def test_other_refusals() -> None:
    with pytest.raises(DataError, match="kind, ties: such options are for rows"):
        luce.compare_groups(NORTH_SOUTH, kind="pairs", ties="half")
    for prior in (
        luce.Gamma(2, 1),
        luce.DirichletProcess(1.0, base={"a": 0.5, "b": 0.3, "c": 0.2}),
    ):
        with pytest.raises(DataError, match="Dirichlet prior whose concentration is a number"):
            luce.compare_groups(NORTH_SOUTH, concentration=prior)  # type: ignore[arg-type]
    with pytest.raises(DataError, match="ci_prob = 90"):
        luce.compare_groups(NORTH_SOUTH, ci_prob=90)
    rows = {"item1": ["a", "b"], "item2": ["b", "a"], "outcome": ["a", "tie"]}
    models = {
        "davidson": luce.from_pairs(rows, ties="davidson"),
        "plain": luce.from_pairs({k: v[:1] for k, v in rows.items()}),
    }
    with pytest.raises(DataError, match=r"'davidson' has 'tie'; 'plain' has none\. One model"):
        luce.compare_groups(models)
    models["plain"] = luce.from_pairs(rows, ties="rao-kupper")
    with pytest.raises(DataError, match="cannot share their strengths: "):
        luce.compare_groups(models)
    many = dict.fromkeys(range(46), NORTH_SOUTH["north"])
    with pytest.raises(MethodError, match="46 groups make 1,035 pairs; at most 1,000"):
        luce.compare_groups(many)
    found = luce.compare_groups(NORTH_SOUTH, draws=20, **QUIET)
    with pytest.raises(MethodError, match="scale = 'elo' was given; 'log-odds', 'prob"):
        found.differences("elo")


def test_doubts_of_evidences_name_the_group() -> None:
    with pytest.warns(EvidenceWarning) as said:
        luce.compare_groups(DUELS, draws=4, chains=2, **QUIET)
    of = [str(w.message).split(": log evidence")[0] for w in said]
    assert of == ["all groups together", "group 'first'", "group 'second'"]


def test_odd_labels_and_tables() -> None:
    labels = [("x", 1), 2.5, "\x1b[31m"]
    groups = {
        ("g", k): ConditionalCounts(labels).observe(dict(zip(labels, seen, strict=True)))
        for k, seen in enumerate([(5, 3, 2), (1, 4, 4)])
    }
    found = luce.compare_groups(groups, draws=50, **QUIET)
    assert "\x1b" not in str(found)
    frame = found.to_pandas("probabilities")
    assert set(frame["category"]) == set(labels)
    assert found.log_odds["first"].values.tolist() == [("g", 0)]
    again = pickle.loads(pickle.dumps(found))
    assert str(again) == str(found) == repr(found)
    assert len(found.to_text(most=1).splitlines()) < len(str(found).splitlines())
    assert "... and 2 more differences" in found.to_text(most=1)
