"""Answers from a handful of draws, against loops and closed forms: ranks, odds, predictions."""

import copy
import itertools
import pickle
import sys
from collections.abc import Callable
from math import log
from typing import Any

import numpy as np
import pytest
import xarray as xr

import luce
from luce import ConditionalCounts, GibbsStep, Posterior
from luce.answers.given import read_draws
from luce.answers.new_categories import _expected
from luce.answers.summaries import Summary
from luce.answers.view import read_labelled
from luce.errors import DataError, MethodError
from luce.kernels import changing_counts
from luce.runs.tree import label_array

pytestmark = pytest.mark.filterwarnings("ignore::luce.ConvergenceWarning")

FEW: dict[str, Any] = {"chains": 2, "seed": 1, "progress": False}

Floats = np.ndarray[Any, np.dtype[np.float64]]


def labelled(values: Floats, labels: Any) -> xr.DataArray:
    return xr.DataArray(values, {"category": list(labels)}, ("chain", "draw", "category"))


def in_logs(logs: Floats, labels: str) -> xr.DataTree:
    """A run whose probabilities underflow, and that kept its logarithms."""
    dims = ("chain", "draw", "category")
    both = {"probabilities": (dims, np.exp(logs)), "log_probabilities": (dims, logs)}
    return xr.DataTree.from_dict({"/posterior": xr.Dataset(both, {"category": list(labels)})})


# Ties among the first draws, none among the others.
DRAWS = np.array(
    [[[0.4, 0.3, 0.2, 0.1], [0.3, 0.3, 0.3, 0.1], [0.25, 0.25, 0.25, 0.25], [0.1, 0.4, 0.4, 0.1]],
     [[0.7, 0.1, 0.15, 0.05], [0.2, 0.5, 0.2, 0.1], [0.6, 0.05, 0.25, 0.1], [0.5, 0.2, 0.2, 0.1]]]
)  # fmt: skip
TIED = labelled(DRAWS, "abcd")
PLAIN = labelled(np.random.default_rng(5).dirichlet([3.0, 2.0, 1.0, 0.5], (2, 10)), "abcd")


def ranks_by_hand(p: Floats) -> Floats:
    """Probability of each rank of each category, draw by draw: a tie shares its ranks."""
    flat = p.reshape(-1, p.shape[-1])
    table = np.zeros((len(flat), p.shape[-1], p.shape[-1]))
    for d, row in enumerate(flat):
        for i, own in enumerate(row):
            above, level = int((row > own).sum()), int((row == own).sum())
            table[d, i, above : above + level] = 1 / level
    return table


# -- ranks ------------------------------------------------------------------------------


@pytest.mark.parametrize("draws", [TIED, PLAIN], ids=["tied", "untied"])
def test_ranks_are_those_of_loops(draws: xr.DataArray) -> None:
    each = ranks_by_hand(draws.values)
    table = each.mean(axis=0)
    np.testing.assert_allclose(luce.rank_probabilities(draws).values, table, atol=1e-12)
    for k in (1, 2, 4):
        found = luce.probability_best(draws, k=k).values
        np.testing.assert_allclose(found, table[:, :k].sum(axis=1), atol=1e-12)
    places = np.arange(1, 5)
    found = luce.answers.expected_ranks(draws, interval=0.5)
    mean = table @ places
    np.testing.assert_allclose(found["mean"].values, mean, atol=1e-12)
    np.testing.assert_allclose(found["sd"].values, np.sqrt(table @ places**2 - mean**2), atol=1e-9)
    assert (found["lower"] <= found["upper"]).all()
    order = luce.answers.expected_order(draws)
    assert order == ["abcd"[i] for i in np.argsort(mean, kind="stable")]


def test_ranks_among_some() -> None:
    found = luce.rank_probabilities(TIED, among=["d", "b"])
    assert found["category"].values.tolist() == ["b", "d"]
    np.testing.assert_allclose(
        found.values, ranks_by_hand(DRAWS[:, :, [1, 3]]).mean(axis=0), atol=1e-12
    )
    assert luce.answers.expected_order(TIED, among="dc") == ["c", "d"]


def test_who_cannot_be_told_from_the_first_is_in_one_group() -> None:
    draws = [[[0.5, 0.1, 0.4], [0.4, 0.1, 0.5], [0.5, 0.1, 0.4], [0.5, 0.2, 0.3]]]
    assert luce.tie_groups(draws) == [[0, 2], [1]]
    assert luce.tie_groups(draws, probability=0.7) == [[0], [2], [1]]
    for bad in (0.5, 1.1, "much"):
        with pytest.raises(DataError, match=r"above 0\.5 and at most 1"):
            luce.tie_groups(draws, probability=bad)  # type: ignore[arg-type]
    for k in (0, 5, True, 1.0):
        with pytest.raises(DataError, match="a whole number from 1 to 4"):
            luce.probability_best(TIED, k=k)


def test_logarithms_tell_apart_what_underflows() -> None:
    run = in_logs(np.array([[[-1e-5, -900.0, -800.0], [-1e-5, -700.0, -1200.0]]]), "abc")
    assert (run["posterior"]["probabilities"].values[0, 0, 1:] == 0).all()
    np.testing.assert_allclose(
        luce.rank_probabilities(run).values, [[1, 0, 0], [0, 0.5, 0.5], [0, 0.5, 0.5]]
    )
    wins = luce.answers.win_matrix(run).values
    assert wins[1, 2] == pytest.approx(0.5, abs=1e-12)
    assert wins[0, 1] == pytest.approx(1)
    assert luce.beats(run, "b", "c").values.tolist()[0] == pytest.approx([0, 1], abs=1e-12)


# -- duels ------------------------------------------------------------------------------


def test_duels_are_those_of_loops() -> None:
    p = PLAIN.values
    np.testing.assert_allclose(
        luce.beats(PLAIN, "a", "c").values, p[..., 0] / (p[..., 0] + p[..., 2]), rtol=1e-12
    )
    matrix = luce.answers.win_matrix(PLAIN).values
    for i, j in itertools.product(range(4), repeat=2):
        expected = (p[..., i] / (p[..., i] + p[..., j])).mean()
        assert matrix[i, j] == pytest.approx(expected, rel=1e-10)
    assert luce.answers.win_matrix(PLAIN, among="bd").values[0, 1] == pytest.approx(matrix[1, 3])
    with pytest.raises(DataError, match="name two categories"):
        luce.beats(PLAIN, "a", "a")
    with pytest.raises(DataError, match="b = 'x' is not a category"):
        luce.beats(PLAIN, "a", "x")
    with pytest.raises(DataError, match="is not a category"):
        luce.beats(PLAIN, [], "a")  # type: ignore[arg-type]


def test_what_was_stored_as_0_is_refused() -> None:
    zeros = labelled(np.array([[[1.0, 0.0, 0.0]]]), "abc")
    asked: list[Callable[[], object]] = [
        lambda: luce.answers.win_matrix(zeros), lambda: luce.beats(zeros, "b", "c"),
        lambda: luce.log_odds(zeros), lambda: luce.shares(zeros, among="bc"),
    ]  # fmt: skip
    for ask in asked:
        with pytest.raises(DataError, match="0 in some draws, too small to be stored"):
            ask()


# -- scales -----------------------------------------------------------------------------


def test_shares_log_odds_and_elo_are_those_of_loops() -> None:
    p = PLAIN.values
    offered = luce.shares(PLAIN, among="ca")
    assert offered["category"].values.tolist() == ["c", "a"]
    np.testing.assert_allclose(
        offered.values, p[..., [2, 0]] / p[..., [0, 2]].sum(axis=2, keepdims=True), rtol=1e-12
    )
    groups = luce.shares(PLAIN, groups={"odd": "ac", "rest": ["d"]})
    assert groups["group"].values.tolist() == ["odd", "rest"]
    np.testing.assert_allclose(groups.sel(group="odd"), p[..., 0] + p[..., 2], rtol=1e-12)
    numbered = luce.shares(PLAIN, groups={1: "ac", "rest": ["d"]})  # type: ignore[dict-item]
    assert numbered["group"].values.tolist() == [1, "rest"]
    logs = np.log(p)
    centred = logs - logs.mean(axis=2, keepdims=True)
    np.testing.assert_allclose(luce.log_odds(PLAIN).values, centred, atol=1e-12)
    against = luce.log_odds(PLAIN, reference="b", among="ab").values
    np.testing.assert_allclose(against, logs[..., :2] - logs[..., [1]], atol=1e-12)
    rating = luce.elo(PLAIN, at=1000).values
    np.testing.assert_allclose(rating, 1000 + 400 / log(10) * centred, rtol=1e-12)
    named = luce.log_odds(labelled(p[..., :2], ["mean", "b"])).values
    assert (named[..., 0] == 0).all()


def test_scales_that_cannot_be_read() -> None:
    with pytest.raises(DataError, match="groups must map names to labels"):
        luce.shares(PLAIN, groups={})
    with pytest.raises(DataError, match="'b' in groups\\['g'\\] is not on offer"):
        luce.shares(PLAIN, among="ac", groups={"g": "ab"})
    with pytest.raises(DataError, match="among is empty"):
        luce.shares(PLAIN, among=[])
    for at in (np.inf, "high"):
        with pytest.raises(DataError, match="a finite number is needed"):
            luce.elo(PLAIN, at=at)  # type: ignore[arg-type]
    for interval in (0.0, 1.0, "wide"):
        with pytest.raises(DataError, match="a number between 0 and 1"):
            luce.answers.intervals(PLAIN, interval)  # type: ignore[arg-type]
    with pytest.raises(DataError, match="dimensions chain and draw is needed"):
        luce.answers.intervals(PLAIN.isel(chain=0))
    with pytest.raises(DataError, match="no draws"):
        luce.answers.intervals(PLAIN.isel(draw=slice(0)))
    with pytest.raises(DataError, match=r"some are negative, the least being -0\.5"):
        luce.rank_probabilities([[[1.5, -0.5]]])


def test_intervals_are_quantiles_of_all_draws() -> None:
    found = luce.answers.intervals(PLAIN.transpose("category", "draw", "chain"), 0.5)
    flat = PLAIN.values.reshape(-1, 4)
    np.testing.assert_allclose(found["mean"], flat.mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(found["sd"], flat.std(axis=0), rtol=1e-12)
    np.testing.assert_allclose(found["lower"], np.quantile(flat, 0.25, axis=0), rtol=1e-12)
    run = Posterior(ConditionalCounts("ab").observe({"a": 3})).sample(20, **FEW)
    own = luce.answers.intervals(run["posterior"]["probabilities"])
    xr.testing.assert_allclose(luce.answers.intervals(run), own)


# -- predictions ------------------------------------------------------------------------

NEW = ConditionalCounts("dcba").observe({"a": 2, "b": 1}, within="ab").observe({"c": 1, "d": 2})
NEW = NEW.observe_group("bc", 2)


def log_likelihood_by_hand(p: Floats) -> Floats:
    a, b, c, d = np.moveaxis(p, -1, 0)
    pair = 2 * np.log(a) + np.log(b) - 3 * np.log(a + b)
    return np.asarray(pair + np.log(c) + 2 * np.log(d) + 2 * np.log(b + c))


def test_the_log_predictive_is_the_mean_likelihood() -> None:
    found = luce.log_predictive(PLAIN, NEW)
    weights = np.exp(log_likelihood_by_hand(PLAIN.values))
    assert found == pytest.approx(np.log(weights.mean()), rel=1e-10)
    assert found.effective_draws == pytest.approx(weights.sum() ** 2 / (weights**2).sum())
    assert 0 < found.standard_error < 2
    assert found.value == float(found)
    for other in (pickle.loads(pickle.dumps(found)), copy.deepcopy(found)):
        assert repr(other) == repr(found)
    plain = ConditionalCounts("abcd").observe({"b": 2})
    assert luce.log_predictive(PLAIN, plain) == pytest.approx(
        np.log((PLAIN.values[..., 1] ** 2).mean()), rel=1e-10
    )
    one = np.full((1, 6, 4), 0.25)
    certain = luce.log_predictive(one, ConditionalCounts(4).observe({0: 2}))
    assert (certain.standard_error, float(certain)) == (0.0, pytest.approx(2 * log(0.25)))
    few = luce.log_predictive(one[:, :3], ConditionalCounts(4).observe({0: 2}))
    assert np.isnan(few.standard_error)


def test_the_log_predictive_where_probabilities_underflow() -> None:
    logs = np.array([[[np.log1p(-np.exp(-0.5)), -0.5, -900.0, -901.0]] * 4])
    pair = ConditionalCounts("abcd").observe({"c": 1}, within="cd")
    found = luce.log_predictive(in_logs(logs, "abcd"), pair)
    assert found == pytest.approx(-np.log1p(np.exp(-1)), rel=1e-10)
    seen = ConditionalCounts("abc").observe({"c": 1})
    never = luce.log_predictive(labelled(np.array([[[0.5, 0.5, 0.0]]]), "abc"), seen)
    assert (float(never), never.effective_draws) == (-np.inf, 0.0)
    nothing = labelled(np.array([[[1.0, 0.0, 0.0]]]), "abc")
    grouped = luce.log_predictive(nothing, ConditionalCounts("abc").observe_group("bc", 1))
    assert float(grouped) == -np.inf
    with pytest.raises(DataError, match="the likelihood cannot be computed"):
        luce.log_predictive(nothing, ConditionalCounts("abc").observe({"b": 1}, within="bc"))


def test_data_that_cannot_be_predicted() -> None:
    with pytest.raises(DataError, match="must be ConditionalCounts; dict was given"):
        luce.log_predictive(PLAIN, {"a": 1})  # type: ignore[arg-type]
    with pytest.raises(DataError, match=r"has 4 categories, the draws have 4.*not so 'x'"):
        luce.log_predictive(PLAIN, ConditionalCounts("abcx"))
    with pytest.raises(DataError, match="has 3 categories, the draws have 4"):
        luce.log_predictive(PLAIN, ConditionalCounts("abc"))
    with pytest.raises(DataError, match="each draw must add up to 1"):
        luce.log_predictive(PLAIN * 0.5, ConditionalCounts("abcd").observe({"a": 1}))


def test_replicates_keep_the_design() -> None:
    design = ConditionalCounts("abcd").observe({"a": 4}, within="ab").observe({"c": 3})
    found = luce.answers.posterior_predictive(PLAIN, design, seed=2)
    assert found["category"].values.tolist() == list("ababcd")
    assert found["total"].values.tolist() == [4, 4, 3, 3, 3, 3]
    sums = found.groupby("set").sum("outcome")
    assert (sums.sel(set=0) == 4).all()
    assert (sums.sel(set=-1) == 3).all()
    again = luce.answers.posterior_predictive(PLAIN, design, seed=2)
    xr.testing.assert_identical(found, again)
    assert (found != luce.answers.posterior_predictive(PLAIN, design, seed=3)).any()
    for bad, words in (
        (ConditionalCounts("abcd"), "records nothing"),
        (design.observe_group("bc", 1), "grouped outcomes"),
        (design.observe({"c": 0.5}, within="cd"), "whole numbers up to"),
    ):
        with pytest.raises(DataError, match=words):
            luce.answers.posterior_predictive(PLAIN, bad)


# -- summaries --------------------------------------------------------------------------


def test_a_summary_is_a_table_of_these_answers() -> None:
    counts = ConditionalCounts("abcd").observe({"a": 3, "b": 1}, within="ab")
    table = luce.summary(PLAIN, 0.8, counts=counts, sort=True)
    flat = PLAIN.values.reshape(-1, 4)
    order = np.argsort(-flat.mean(axis=0))
    assert table.categories == ["abcd"[i] for i in order]
    np.testing.assert_allclose(table["mean"], flat.mean(axis=0)[order], rtol=1e-12)
    np.testing.assert_allclose(table["10%"], np.quantile(flat, 0.1, axis=0)[order], rtol=1e-12)
    best = luce.probability_best(PLAIN).values
    np.testing.assert_allclose(table["p_best"], best[order], rtol=1e-12)
    assert dict(zip(table.categories, table["prior_only"], strict=True)) == {
        "a": False, "b": False, "c": True, "d": True,
    }  # fmt: skip
    assert str(table) == repr(table) == table.to_text()
    assert " yes" in str(table)
    few = table.to_text(most=1).splitlines()
    assert len(few) == 3
    assert few[-1] == "... and 3 more categories"
    some = luce.summary(PLAIN, among=["d", "b"])
    assert some.categories == ["b", "d"]
    with pytest.raises(DataError, match="give the counts that the draws were made from"):
        luce.summary(PLAIN, counts=ConditionalCounts("abx"))


def test_a_summary_as_html_and_as_frames() -> None:
    table = Summary(["<b>", "c"], {"mean": np.array([0.25, 0.75]), "ess": np.array([12.0, 1e4])})
    html = table._repr_html_()
    assert "<b>" not in html
    assert "<td>10,000</td>" in html
    assert "<p>... and 1 more categories</p>" in table.to_html(most=1)
    assert float(table.to_frame().loc["c", "mean"]) == 0.75
    polars = table.to_frame("polars")
    assert polars["category"].to_list() == ["<b>", "c"]
    odd = Summary([("a", 1), "c"], {"mean": np.array([0.25, 0.75])})
    assert odd.to_frame("polars")["category"].to_list() == [("a", 1), "c"]
    assert odd.to_frame().index.tolist() == [("a", 1), "c"]
    with pytest.raises(MethodError, match="backend = 'excel' was given"):
        table.to_frame("excel")


def test_a_frame_of_a_package_that_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "polars", None)
    table = Summary(["a"], {"mean": np.array([1.0])})
    with pytest.raises(ModuleNotFoundError, match="pip install polars"):
        table.to_frame("polars")


def test_the_same_data_under_several_priors() -> None:
    counts = ConditionalCounts("ab").observe({"a": 3})
    found = luce.workflows.sensitivity(counts, [1, 9], 200, **FEW)
    means = found["mean"].sel(category="a").to_numpy()
    np.testing.assert_allclose(means, [4 / 5, 12 / 21], atol=0.06)
    alone = luce.summary(Posterior(counts, 9.0).sample(200, **FEW))
    assert found["mean"].sel(category="a", concentration=9) == alone["mean"][0]
    assert found["p_best"].sum("category").values == pytest.approx([1, 1])
    for bad in ([], [1.0, 1.0]):
        with pytest.raises(DataError, match="one or more different numbers"):
            luce.workflows.sensitivity(counts, bad)


# -- what data can compare --------------------------------------------------------------


def test_categories_are_linked_by_sets() -> None:
    counts = (
        ConditionalCounts("abcde").observe({"a": 1}, within="ab").observe({"d": 2}, within="cd")
    )
    assert luce.comparable_groups(counts) == [["a", "b"], ["c", "d"], ["e"]]
    assert luce.counts.prior_only(counts) == ["e"]
    wide = counts.observe({"b": 1}, without="de").observe({"b": 1}, without="ae")
    assert luce.comparable_groups(wide) == [["a", "b", "c", "d"], ["e"]]
    everybody = counts.observe({"a": 0.5})
    assert luce.comparable_groups(everybody) == [list("abcde")]
    assert luce.counts.prior_only(everybody) == []
    with pytest.raises(DataError, match="dict was given"):
        luce.comparable_groups({"a": 1})  # type: ignore[arg-type]


# -- categories not yet seen ------------------------------------------------------------

ANTS = ConditionalCounts(["ant", "bee", "remainder"]).observe({"ant": 3, "bee": 1})


def test_new_categories_are_sticks_of_the_remainder() -> None:
    run = Posterior(ANTS, luce.DirichletProcess(1.0)).sample(20, **FEW)
    rest = run["posterior"]["probabilities"].sel(category="remainder")
    atoms = luce.answers.draw_new_atoms(run, 5, seed=2)
    whole = atoms["probabilities"].sum("atom") + atoms["remainder"]
    np.testing.assert_allclose(whole, rest, rtol=1e-12)
    xr.testing.assert_identical(atoms, luce.answers.draw_new_atoms(run, 5, seed=2))
    np.testing.assert_allclose(luce.answers.expected_new(run, 1), rest, rtol=1e-8)
    assert (luce.answers.expected_new(run, 9) > luce.answers.expected_new(run, 3)).all()


@pytest.mark.parametrize(("q", "g", "m"), [(0.3, 1.0, 4), (0.9, 0.2, 7), (1.0, 3.0, 5)])
def test_new_categories_are_expected_as_the_sum_says(q: float, g: float, m: int) -> None:
    """Outcome j + 1 is new with q E[g / (g + B)], B binomial of those before."""
    from scipy.stats import binom

    truth = 0.0
    for j in range(m):
        b = np.arange(j + 1)
        truth += q * float(binom.pmf(b, j, q) @ (g / (g + b)))
    assert _expected(np.array([q]), np.array([g]), float(m))[0] == pytest.approx(truth, rel=1e-8)
    assert len(_expected(np.empty(0), np.empty(0), float(m))) == 0


def test_a_concentration_that_is_drawn_scales_new_categories() -> None:
    process = luce.DirichletProcess(luce.Gamma(2.0, 1.0))
    run = Posterior(ANTS, process).sample(10, warmup=5, **FEW)
    rest = run["posterior"]["probabilities"].sel(category="remainder")
    scale = run["posterior"]["concentration"]
    found, expected = luce.answers.expected_new(run, 2), np.empty(rest.shape)
    expected[:] = rest + rest * (1 - rest) + rest * rest * scale / (scale + 1)
    np.testing.assert_allclose(found, expected, rtol=1e-8)
    with pytest.raises(DataError, match="this run has no remainder"):
        luce.answers.expected_new(Posterior(ANTS).sample(10, **FEW), 2)


# -- transitions ------------------------------------------------------------------------


def test_rows_are_put_together_with_zeros_where_nothing_goes() -> None:
    rng = np.random.default_rng(3)
    two = {s: rng.dirichlet(np.ones(2), (1, 4)) for s in "abc"}
    runs = {s: labelled(two[s], [t for t in "abc" if t != s]) for s in "abc"}
    found = luce.answers.transition_matrix(runs)
    assert found.dims == ("chain", "draw", "source", "target")
    np.testing.assert_allclose(found.sum("target"), 1, rtol=1e-12)
    assert (found.sel(source="b", target="b") == 0).all()
    np.testing.assert_array_equal(found.sel(source="b", target="c"), two["b"][..., 1])
    numbered = luce.answers.transition_matrix(
        {0: labelled(two["a"], [0, 1]), 1: labelled(two["b"], [0, 1])}
    )
    assert numbered["source"].values.tolist() == [0, 1]


def test_rows_that_do_not_fit() -> None:
    rows = luce.from_transitions("abcabcacb", rows="separate")
    runs = {state: Posterior(row).sample(10, **FEW) for state, row in rows.items()}
    with pytest.raises(DataError, match="drawn with the same seed"):
        luce.answers.transition_matrix(runs)
    with pytest.raises(DataError, match="a mapping from states"):
        luce.answers.transition_matrix({})
    p = np.full((1, 4, 2), 0.5)
    with pytest.raises(DataError, match="differ in chains and draws"):
        luce.answers.transition_matrix({"a": labelled(p, "ab"), "b": labelled(p[:, :2], "ab")})
    with pytest.raises(DataError, match="lead to 'c', for which there are no draws"):
        luce.answers.transition_matrix({"a": labelled(p, "ab"), "b": labelled(p, "bc")})


# -- draws and their labels -------------------------------------------------------------


def test_labels_of_any_kind_come_back() -> None:
    for labels in (["a", "b"], [1, 2], [1.5, 2.0], [1, "b"], [10**30, 2], ["a\0", "b"], [(1,), 2]):
        array = label_array(labels)
        assert array.tolist() == labels
        run = Posterior(ConditionalCounts(labels).observe({labels[0]: 2})).sample(10, **FEW)
        assert list(read_labelled(run).categories) == labels
    assert label_array(np.array([3, 4])).tolist() == [3, 4]


def test_a_run_knows_where_it_came_from() -> None:
    pairs = ConditionalCounts("abc").observe({"a": 3, "b": 1}, within="ab")
    pairs = pairs.observe({"b": 2, "c": 2}, within="bc")
    run = Posterior(pairs, [1.0, 2.0, 0.5]).sample(
        10, method="metropolis", warmup=5, thin=2, keep=["c", "a"], chains=2, progress=False,
        seed=np.random.SeedSequence(7).spawn(2)[1],
    )  # fmt: skip
    attributes = run.attrs
    assert attributes["method"] == "metropolis"
    assert (attributes["warmup"], attributes["thin"], attributes["kept_categories"]) == (5, 2, 2)
    assert (attributes["seed"], list(attributes["seed_spawn_key"])) == ("7", [1])
    assert attributes["prior"] == "Dirichlet, see constant_data"
    assert attributes["core_methods"] == ["metropolis"]
    assert len(attributes["proposal_concentration"]) == 2
    assert attributes["data_digest"] == pairs.digest
    assert sorted(run["posterior"]["category"].values.tolist()) == ["a", "c"]
    np.testing.assert_array_equal(run["constant_data"]["concentration"], [1.0, 2.0, 0.5])
    drawn = Posterior(pairs, luce.Gamma(2.0, 1.0)).sample(10, warmup=5, **FEW)
    assert list(drawn.attrs["concentration_prior"]) == [2.0, 1.0]
    assert (drawn["posterior"]["concentration"] > 0).all()


def test_logarithms_are_kept_when_asked_for() -> None:
    counts = ConditionalCounts("ab").observe({"a": 3})
    run = Posterior(counts).sample(10, log_probabilities=True, **FEW)
    values = run["posterior"]
    np.testing.assert_allclose(
        np.exp(values["log_probabilities"]), values["probabilities"], rtol=1e-12
    )
    assert read_labelled(run).are_logs
    bare = read_labelled(values["probabilities"])
    assert not bare.are_logs
    np.testing.assert_array_equal(bare.values, read_draws(run).values)


def test_blocks_do_not_show(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Callable[[], Any]] = [
        lambda: luce.rank_probabilities(TIED), lambda: luce.answers.win_matrix(PLAIN),
        lambda: luce.answers.expected_ranks(TIED)["upper"], lambda: luce.log_odds(PLAIN),
    ]  # fmt: skip
    whole = [ask() for ask in asked]
    for module in ("labelled_draws", "ranks"):
        monkeypatch.setattr(f"luce.{module}.BLOCK", 9)
    for ask, expected in zip(asked, whole, strict=True):
        np.testing.assert_allclose(ask().values, expected.values, rtol=1e-12)


# -- one Gibbs step ---------------------------------------------------------------------

STEP = GibbsStep(4, within=[[0, 1, 2], [1, 2, 3], [0, 3], [0, 1, 2, 3], [2]])
P, N, M = np.full(4, 0.25), np.ones(4), np.array([1.0, 1, 1, 0, 0])


@pytest.mark.parametrize("concentration", [1.0, [1.0, 2.0, 0.5, 3.0], 1e-3])
def test_a_step_is_a_vector_of_probabilities(concentration: Any) -> None:
    one = STEP(np.random.default_rng(1), P, (N, M), concentration)
    assert one.sum() == pytest.approx(1)
    assert one.min() >= 0
    np.testing.assert_array_equal(STEP(np.random.default_rng(1), P, (N, M), concentration), one)
    assert (STEP(np.random.default_rng(2), P, (N, M), concentration) != one).any()


def test_outcomes_within_one_category_or_all_of_them_say_nothing() -> None:
    """Given that 2 came, 2 came; so its gammas are those of data without that."""
    base = STEP(np.random.default_rng(1), P, (N, M), 1.0)
    sure = STEP(np.random.default_rng(1), P, (N + [0, 0, 5, 0], M + [0, 0, 0, 0, 5]), 1.0)
    np.testing.assert_allclose(sure, base, rtol=1e-12)
    free = STEP(np.random.default_rng(1), P, (N, M + [0, 0, 0, 3, 0]), 1.0)
    np.testing.assert_allclose(free, base, rtol=1e-12)


def test_rows_of_a_batch_are_steps_of_their_own() -> None:
    rows = np.random.default_rng(3).dirichlet(np.ones(4), 3)
    counts = (np.tile(N, (3, 1)), np.tile(M, (3, 1)))
    found = STEP(np.random.default_rng(1), rows, counts, np.ones((3, 4)))
    np.testing.assert_allclose(found.sum(axis=1), 1, rtol=1e-12)
    np.testing.assert_array_equal(STEP(np.random.default_rng(1), rows, counts, 1.0), found)
    np.testing.assert_array_equal(STEP(np.random.default_rng(1), rows, counts, N), found)


def test_long_runs_of_steps_have_the_posteriors_mean() -> None:
    """Outcomes that could be anything: a Dirichlet with shapes a + n, drawn independently."""
    step, rng, seen = GibbsStep(3, within=[[0, 1, 2]]), np.random.default_rng(4), [4.0, 1.0, 2.0]
    p, total = np.full(3, 1 / 3), np.zeros(3)
    for _ in range(300):
        p = step(rng, p, (seen, [7.0]), 1.0)
        total += p
    c = np.array(seen) + 1
    sd = np.sqrt(c * (10 - c) / 100 / 11 / 300)
    assert (np.abs(total / 300 - c / 10) < 4.5 * sd).all()


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ((P[:3], N, M, N), changing_counts.WRONG_SIZE),
        ((P, N, M, np.ones(2)), changing_counts.WRONG_SIZE),
        ((P, N, M, 1e-3 * N), changing_counts.NEEDS_LOGS),
        ((P * 2, N, M, N), changing_counts.BAD_PROBABILITIES),
        ((P, -N, M, N), changing_counts.BAD_COUNTS),
        ((P, N, 3 * M, N), changing_counts.TOO_FEW),
        ((P, N, M, 0 * N), changing_counts.BAD_CONCENTRATION),
    ],
)
def test_compiled_code_is_told_what_is_wrong(arguments: Any, code: int) -> None:
    out, bits = np.zeros(4), GibbsStep.bits(np.random.default_rng(1))
    before = bits.copy()
    assert STEP.compiled(bits, STEP.arrays, *arguments, out, None) == code
    assert not out.any()
    np.testing.assert_array_equal(bits, before)
