"""Goodness of fit against iterative proportional fitting, scipy, and the algebra of residuals."""

import numpy as np
import pandas as pd
import pytest
from lib.bounds import SEED, z_limit
from lib.size import draws as number_of_draws
from lib.table_oracles import CHESS, IQD, SHIFTS, array, fitted_by_proportions
from scipy.stats import chi2, chi2_contingency

import luce
from luce import ConditionalCounts, Posterior
from luce.errors import ConfoundedHomeWarning, DataError, LuceError, MethodError, NoMaximumError
from luce.hypotheses import FitTest, goodness_of_fit
from luce.hypotheses.cells import Fit, cells_of

FULL = np.array([[12, 5, 9], [3, 8, 14], [6, 6, 2], [20, 11, 4]])


def counts_of(table: object) -> ConditionalCounts:
    return luce.from_table(array(table), categories=range(np.shape(table)[1]))


def expected_of(fit: FitTest, shape: tuple[int, int]) -> np.ndarray:
    out = np.zeros(shape)
    out[fit.cells["sample"].values, fit.cells["outcome"].values] = fit.cells["expected"].values
    return out


@pytest.mark.parametrize(
    "table", [IQD, SHIFTS, CHESS, FULL.tolist()], ids=["iqd", "shifts", "chess", "full"]
)
def test_quasi_independence_is_fitted_as_by_proportions(table: list[list[float]]) -> None:
    given, fitted = array(table), fitted_by_proportions(table)
    fit = goodness_of_fit(counts_of(table), apart=True)
    assert expected_of(fit, given.shape) == pytest.approx(fitted, abs=1e-6)
    seen = np.nan_to_num(given) > 0
    g2 = 2 * (given[seen] * np.log(given[seen] / fitted[seen])).sum()
    x2 = np.nansum((given - fitted) ** 2 / np.where(fitted > 0, fitted, 1))
    assert fit.deviance == pytest.approx(g2, abs=1e-6)
    assert fit.pearson == pytest.approx(x2, abs=1e-5)
    r, c = given.shape
    freedom = (r - 1) * (c - 1) - int(np.isnan(given).sum())
    assert fit.degrees_of_freedom == freedom
    assert fit.p_deviance == pytest.approx(chi2.sf(g2, freedom), rel=1e-5)
    if np.isnan(given).any():  # negative control: impossible cells counted as possible
        assert fit.degrees_of_freedom != (r - 1) * (c - 1)


def test_a_full_table_as_scipy_has_it() -> None:
    fit = goodness_of_fit(counts_of(FULL), apart=True)
    for name, kind in (("pearson", "pearson"), ("deviance", "log-likelihood")):
        found = chi2_contingency(FULL, correction=False, lambda_=kind)
        assert getattr(fit, name) == pytest.approx(found.statistic, abs=1e-8)
        assert getattr(fit, f"p_{name}") == pytest.approx(found.pvalue, rel=1e-7)
    n = FULL.sum()
    expected = found.expected_freq
    spread = (1 - FULL.sum(axis=1, keepdims=True) / n) * (1 - FULL.sum(axis=0) / n)
    adjusted = (FULL - expected) / np.sqrt(expected * spread)
    assert fit.cells["adjusted"].values == pytest.approx(adjusted.ravel(), abs=1e-6)
    assert fit.cells["pearson"].values == pytest.approx(
        ((FULL - expected) / np.sqrt(expected)).ravel(), abs=1e-8
    )
    assert (fit.cells["pearson"].values ** 2).sum() == pytest.approx(fit.pearson)
    assert (fit.cells["deviance"].values ** 2).sum() == pytest.approx(fit.deviance)


def test_samples_of_one_set_are_added_up_and_that_is_said() -> None:
    pooled = goodness_of_fit(counts_of(FULL))
    assert pooled.degrees_of_freedom == 0
    assert pooled.deviance == pytest.approx(0, abs=1e-9)
    assert "4 samples of 1 set were added up by set; apart=True compares them too." in str(pooled)
    assert "There are no degrees of freedom: the model fits any such data." in str(pooled)
    assert np.isnan(pooled.p_pearson)
    apart = str(goodness_of_fit(counts_of(FULL), apart=True))
    assert "added up" not in apart
    assert "no degrees" not in apart
    duels = luce.from_pairs(
        [("a", "b")] * 6 + [("b", "c")] * 4 + [("c", "a"), ("b", "a"), ("c", "b")]
    )
    assert "added up" not in str(goodness_of_fit(duels))  # a row has one outcome: nothing is hidden


def test_log_likelihood_is_that_of_the_counts() -> None:
    counts = counts_of(IQD)
    fit = goodness_of_fit(counts)
    assert fit.log_likelihood == pytest.approx(luce.maximum_likelihood(counts).log_likelihood)


def test_the_note_on_small_expected_counts_counts_them() -> None:
    fit = goodness_of_fit(counts_of(IQD))
    small = int((fit.cells["expected"].values < 5).sum())
    assert small > 0
    assert f"{small} of 19 cells have expected counts below 5" in str(fit)
    assert "below 5" not in str(
        goodness_of_fit(counts_of([[50, 60, 70], [20, 30, 90]]), apart=True)
    )


# -- the end of the model ------------------------------------------------------------------


def test_who_never_won_is_fitted_in_the_limit() -> None:
    """a and b met; both always beat c and d, who met too: two separate fits, and certain wins."""
    ab, cd = {"a": 7, "b": 3}, {"c": 2, "d": 6}
    counts = ConditionalCounts("abcd").observe(ab, within="ab").observe(cd, within="cd")
    counts = counts.observe({"a": 5}, within="ac").observe({"b": 4}, within="bd")
    counts = counts.observe({"a": 6, "b": 2}, within="abc")
    fit = goodness_of_fit(counts)
    frame = fit.to_pandas().set_index(["given", "outcome"])
    share = 13 / 18  # a's in all that a and b shared
    assert frame.loc[("{a, b, c}", "a"), "expected"] == pytest.approx(8 * share)
    assert frame.loc[("{a, b, c}", "c"), "expected"] == 0
    assert frame.loc[("{a, c}", "a"), "expected"] == 5
    assert frame.loc[("{c, d}", "c"), "expected"] == pytest.approx(2)
    assert fit.degrees_of_freedom == 1  # two samples of a and b, one parameter
    assert "3 of 11 cells are fitted at 0" in str(fit)
    with pytest.raises(NoMaximumError):
        luce.maximum_likelihood(counts)
    # The limit is approached: c and d ever weaker.
    p = np.array([share, 1 - share, 1e-9 * 2 / 8, 1e-9 * 6 / 8])
    near = float(counts.log_likelihood(p / p.sum()))
    assert fit.log_likelihood == pytest.approx(near, abs=1e-6)


def test_groups_that_never_met_are_fitted_apart() -> None:
    counts = counts_of([[3, 5, np.nan, np.nan], [np.nan, np.nan, 4, 9]])
    fit = goodness_of_fit(counts)
    assert (fit.degrees_of_freedom, fit.deviance) == (0, pytest.approx(0, abs=1e-9))


def test_a_category_never_seen_takes_no_freedom() -> None:
    with_zero = np.c_[FULL, np.zeros(4)]
    fit = goodness_of_fit(counts_of(with_zero), apart=True)
    assert fit.degrees_of_freedom == 6
    assert fit.deviance == pytest.approx(goodness_of_fit(counts_of(FULL), apart=True).deviance)
    assert "4 of 16 cells are fitted at 0" in str(fit)


# -- groups, weights, contests -------------------------------------------------------------


def test_teams_are_cells_of_two_sides() -> None:
    matches = {
        "side1": [["a", "b"], ["a", "c"], ["b", "c"], ["a"]],
        "side2": [["c", "d"], ["b"], ["d"], ["d"]],
        "wins1": [6, 5, 4, 3],
        "wins2": [2, 0, 3, 4],
    }
    counts = luce.from_teams(matches)
    fit = goodness_of_fit(counts)
    p = luce.maximum_likelihood(counts).probabilities
    a, b, c, d = (float(p.sel(category=x)) for x in "abcd")
    chances = [(a + b) / (a + b + c + d), (a + c) / (a + b + c), (b + c) / (b + c + d), a / (a + d)]
    games = np.array([8, 5, 7, 7])
    wins = np.array([6, 5, 4, 3])
    expected = games * chances
    g2 = 2 * (wins * np.log(wins / expected)).sum()
    losses = games - wins
    g2 += 2 * sum(x * np.log(x / e) for x, e in zip(losses, games - expected, strict=True) if x)
    assert fit.deviance == pytest.approx(g2, abs=1e-6)
    assert len(fit.cells["cell"]) == 8
    assert fit.degrees_of_freedom == 4 - 3


def test_weighted_sets() -> None:
    counts = ConditionalCounts("abc").observe({"a": 9, "b": 4}, within={"a": 2, "b": 1})
    counts = counts.observe({"b": 5, "c": 7}, within="bc").observe({"a": 6, "c": 3}, within="ac")
    fit = goodness_of_fit(counts)
    p = luce.maximum_likelihood(counts).values
    shares = fit.to_pandas().set_index(["given", "outcome"])["expected"]
    assert shares["{2 a, b}", "a"] == pytest.approx(13 * 2 * p[0] / (2 * p[0] + p[1]))
    assert fit.degrees_of_freedom == 1


GAMES = pd.DataFrame(
    [(h, a, r) for h, a, rs in [
        ("x", "y", "HHDA"), ("y", "x", "HDDA"), ("x", "z", "HHHA"), ("z", "x", "AADH"),
        ("y", "z", "HDHA"), ("z", "y", "HHDA"),
    ] for r in rs],
    columns=["home", "away", "result"],
)  # fmt: skip


@pytest.mark.parametrize(("ties", "home"), [("davidson", "first"), ("rao-kupper", None)])
def test_contests_by_meeting(ties: str, home: str | None) -> None:
    counts = luce.from_pairs(GAMES, ties=ties, home=home)
    fit = goodness_of_fit(counts)
    best = luce.maximum_likelihood(counts)
    assert fit.log_likelihood == pytest.approx(best.log_likelihood)
    meetings = len(counts.events)
    unknowns = 2 + len(best.parameters)
    assert fit.degrees_of_freedom == 2 * meetings - unknowns
    assert set(fit.cells["outcome"].values) == {"first", "second", "tie"}
    # The score equation of ties: as many are expected as there were.
    cells = fit.to_pandas()
    tied = cells[cells.outcome == "tie"]
    if ties == "davidson":
        assert tied.expected.sum() == pytest.approx(tied.observed.sum(), abs=1e-5)
    run = Posterior(counts).sample(200, seed=SEED, progress=False)
    assert goodness_of_fit(run, seed=1).fitted_to == "draws"  # a run of contests knows its cells


def test_home_that_cannot_be_told_takes_no_freedom() -> None:
    """All games at home of the first: with two sides, home and strength are one parameter."""
    one_way = GAMES[(GAMES.home == "x") & (GAMES.away == "y")]
    with pytest.warns(ConfoundedHomeWarning):
        counts = luce.from_pairs(one_way, ties="davidson", home="first")
    with pytest.raises(NoMaximumError, match="Give draws"):
        goodness_of_fit(counts)


# -- simulated p-values --------------------------------------------------------------------


def test_the_bootstrap_of_a_known_sampling_distribution() -> None:
    """Two binomials with one parameter: the p-value is a sum over all results."""
    table = [[7, 3], [3, 9]]
    counts = counts_of(table)
    number = number_of_draws(2000, 200)
    fit = goodness_of_fit(counts, apart=True, replicates=number, seed=SEED, progress=False)

    def pearson(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        p = (a + b) / 22
        with np.errstate(invalid="ignore"):
            x2 = (a / 10 - b / 12) ** 2 / (p * (1 - p) * (1 / 10 + 1 / 12))
        return np.nan_to_num(x2)

    a, b = np.arange(11)[:, None], np.arange(13)
    from scipy.stats import binom

    chance = binom.pmf(a, 10, 10 / 22) * binom.pmf(b, 12, 10 / 22)
    observed = pearson(np.array(7), np.array(3))
    truth = float(chance[pearson(a, b) >= observed - 1e-9].sum())
    p = fit.simulated["pearson"]
    error = np.sqrt(truth * (1 - truth) / number)
    assert abs(float(p) - truth) < z_limit(2) * error + 1 / number
    assert p.standard_error == pytest.approx(error, rel=0.3)
    # Negative control: the data replicated from other probabilities.
    other = float((binom.pmf(a, 10, 0.9) * binom.pmf(b, 12, 0.2))[pearson(a, b) >= observed].sum())
    assert abs(float(p) - other) > z_limit(2) * error + 1 / number


def test_the_posterior_predictive_p_value_by_quadrature() -> None:
    """Two samples of two categories, uniform prior: a mean over p of a sum over results."""
    table = [[6, 1], [4, 8]]
    counts = counts_of(table)
    draws = Posterior(counts).sample(number_of_draws(2000, 200), seed=SEED, progress=False)
    fit = goodness_of_fit(counts, draws, apart=True, seed=SEED, progress=False)
    from scipy.special import roots_legendre
    from scipy.stats import beta, binom

    x, w = roots_legendre(60)
    p, w = (x + 1) / 2, w / 2 * beta.pdf((x + 1) / 2, 11, 10)
    a, b = np.arange(8)[:, None, None], np.arange(13)[:, None]

    def pearson(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        return ((a - 7 * p) ** 2 / 7 + (b - 12 * p) ** 2 / 12) / (p * (1 - p))

    chance = binom.pmf(a, 7, p) * binom.pmf(b, 12, p)
    extreme = pearson(a, b) >= pearson(np.array(6), np.array(4)) * (1 - 1e-9)
    truth = float((w * (chance * extreme).sum(axis=(0, 1))).sum())
    found = fit.simulated["pearson"]
    assert abs(float(found) - truth) < z_limit(2) * float(found.standard_error)
    assert fit.degrees_of_freedom is None
    # Negative control: the asymptotic p-value of a fit with a parameter less.
    other = goodness_of_fit(counts, apart=True).p_pearson
    assert abs(float(found) - other) > z_limit(2) * float(found.standard_error)
    again = goodness_of_fit(Posterior(counts), 300, apart=True, seed=3, progress=False)
    assert again.cells["expected"].values == pytest.approx(fit.cells["expected"].values, rel=0.05)


def test_draws_that_are_thinned_or_doubtful_are_told_of() -> None:
    counts = counts_of(SHIFTS)
    posterior = Posterior(counts)
    many = posterior.sample(600, chains=4, seed=1, progress=False)
    assert "Replicated from 2,000 of the 2,400 draws" in str(goodness_of_fit(counts, many, seed=1))
    few = posterior.sample(500, chains=4, seed=1, progress=False)
    assert goodness_of_fit(counts, few, seed=1).notes == ()
    duels = ConditionalCounts("abc").observe({"a": 3, "b": 1}, within="ab")
    duels = duels.observe({"b": 2, "c": 2}, within="bc").observe({"c": 1, "a": 4}, within="ac")
    how = {"chains": 2, "seed": 1, "method": "waiting-times", "warmup": 0, "progress": False}
    with pytest.warns(luce.ConvergenceWarning):
        short = Posterior(duels).sample(3, **how)  # type: ignore[arg-type]
    assert "do not trust these draws" in str(goodness_of_fit(duels, short, seed=1)).lower()


def test_a_p_value_without_a_replicate_is_a_bound() -> None:
    """Rows that are opposite, and one probability for both: no replicate is as far."""
    counts = counts_of([[60, 0], [0, 60]])
    run = Posterior(counts).sample(250, chains=4, seed=1, progress=False)
    told = str(goodness_of_fit(counts, run, apart=True, seed=1, progress=False))
    assert "posterior predictive p below 0.001" in told
    assert "p = 0" not in told
    mild = str(goodness_of_fit(counts_of([[6, 4], [5, 5]]), run, apart=True, seed=1))
    assert "posterior predictive p = 0." in mild


def test_draws_of_other_order_are_put_in_order() -> None:
    counts = counts_of(SHIFTS)
    run = Posterior(ConditionalCounts([2, 0, 1]) + counts).sample(500, seed=1, progress=False)
    fit = goodness_of_fit(counts, run, seed=1)
    own = goodness_of_fit(counts)
    assert fit.cells["expected"].values == pytest.approx(own.cells["expected"].values, abs=1.5)


# -- degrees of freedom --------------------------------------------------------------------


def test_the_number_of_parameters_is_a_rank() -> None:
    """The slopes of log π have as many independent columns as there are parameters."""
    for table in (IQD, SHIFTS, FULL.tolist()):
        fit: Fit = cells_of(counts_of(table), apart=True).fit()
        assert fit.slopes is not None
        assert np.linalg.matrix_rank(fit.slopes[fit.probabilities > 0]) == fit.n_parameters


# -- refusals ------------------------------------------------------------------------------


OVERLAPPING = ConditionalCounts("abc").observe({"a": 3}).observe_group("ab", 4)
REFUSED: dict[str, tuple[object, dict[str, object], type[LuceError], str]] = {
    "nothing": (ConditionalCounts("abc"), {}, DataError, "no outcome was recorded"),
    "a list": ([1, 2], {}, DataError, "list was given"),
    "exponents": (
        ConditionalCounts.from_exponents("ab", {"a": 1, ("a", "b"): -1}), {}, DataError,
        "hold totals",
    ),
    "overlap": (OVERLAPPING, {}, DataError, "overlap: 'a' is in several"),
    "fractions": (counts_of([[1.5, 2], [3, 1]]), {"replicates": 5}, DataError, "fractions"),
    "replicates": (counts_of(FULL), {"replicates": -1}, MethodError, "replicates"),
    "both": (
        counts_of(FULL), {"replicates": 5, "draws": [[[0.2, 0.3, 0.5]]]}, MethodError, "one of",
    ),
    "number": (counts_of(FULL), {"draws": 5}, DataError, "no posterior"),
    "labels": (
        ConditionalCounts("xy").observe({"x": 1, "y": 2}), {"draws": [[[0.2, 0.3, 0.5]]]},
        DataError, "'x'",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused(name: str) -> None:
    data, options, error, words = REFUSED[name]
    with pytest.raises(error, match=words):
        goodness_of_fit(data, progress=False, **options)  # type: ignore[arg-type]


def test_a_run_of_sets_needs_its_counts() -> None:
    run = Posterior(counts_of(FULL)).sample(50, seed=1, progress=False)
    with pytest.raises(DataError, match=r"goodness_of_fit\(counts, draws=run\)"):
        goodness_of_fit(run)


def test_odd_labels_and_one_draw() -> None:
    odd = {("a", 1): 3, "x\ny": 2, 7: 4}
    counts = ConditionalCounts(list(odd)).observe(odd)
    counts = counts.observe({7: 1, ("a", 1): 5}, without=["x\ny"])
    fit = goodness_of_fit(counts)
    assert "\ny" not in str(fit)
    assert len(fit.to_pandas()) == 5
    one = Posterior(counts).sample(1, chains=1, warmup=5, seed=1, progress=False)
    assert goodness_of_fit(counts, one, seed=1).fitted_to == "draws"
