"""The table of a run, against ArviZ and the other answers."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import arviz_stats
import numpy as np
import pytest
import xarray as xr
from arviz_stats.base import array_stats
from lib.answer_cases import (
    LABELS,
    SEED,
    Floats,
    cases,
    deep_logs,
    dirichlet,
    draws_of,
    tree_of,
)
from lib.size import draws as size
from xarray.core import indexing

import luce
from luce import ConditionalCounts, Posterior
from luce.answers.summaries import Summary
from luce.answers.view import roles_of
from luce.errors import DataError

pytestmark = pytest.mark.filterwarnings("ignore::luce.ConvergenceWarning")

AXES = {"chain_axis": 0, "draw_axis": 1}
COLUMNS = [
    "mean",
    "sd",
    "eti90_lb",
    "eti90_ub",
    "p_best",
    "rank",
    "rank_lb",
    "rank_ub",
    "ess_bulk",
    "ess_tail",
    "r_hat",
    "mcse_mean",
]


@pytest.fixture(scope="module")
def draws() -> xr.DataTree:
    counts = luce.ConditionalCounts(["a", "bb", "ccc", "d"])
    counts = counts.observe({"a": 4, "bb": 1}, without=["d"]).observe({"ccc": 3}, without=["a"])
    return luce.Posterior(counts, [0.5, 1.0, 2.0, 1.5]).sample(1000, seed=SEED + 1, progress=False)


def test_summary_columns_are_those_of_arviz(draws: xr.DataTree) -> None:
    p = draws["posterior"]["probabilities"].values
    table = luce.summary(draws)
    assert isinstance(table, Summary)
    assert list(table.categories) == ["a", "bb", "ccc", "d"]
    assert list(table.columns) == COLUMNS
    flat = p.reshape(-1, 4)
    np.testing.assert_allclose(table["mean"], flat.mean(axis=0))
    np.testing.assert_allclose(table["sd"], flat.std(axis=0))
    np.testing.assert_allclose(table["eti90_lb"], np.quantile(flat, 0.05, axis=0))
    np.testing.assert_allclose(table["eti90_ub"], np.quantile(flat, 0.95, axis=0))
    assert table.parameters is None


@pytest.mark.parametrize("ci_prob", [0.9, 0.5])
@pytest.mark.parametrize("n_draws", [3, 4, 5, 7, 8, 9, 200, 201])
@pytest.mark.parametrize("chains", [1, 4])
def test_summary_diagnostics_are_those_of_arviz(ci_prob: float, n_draws: int, chains: int) -> None:
    """With ties, two values only, and a chain that never moves.

    A category that never moves is worth nothing, where arviz-stats counts all its draws.
    """
    rng = np.random.default_rng(SEED + n_draws)
    x = rng.dirichlet([1.0, 2.0, 3.0, 1.0, 1.0], size=(chains, n_draws))
    x[:, :, 1] = x[:, :, 1].round(1)
    x[:, :, 2] = np.where(x[:, :, 2] > 0.3, 0.75, 0.25)
    x[0, :, 3] = 0.125
    x[:, :, 4] = 0.0625
    table = luce.summary(x, ci_prob)
    tail = round((1 - ci_prob) / 2, 15)  # 0.05, not 0.04999999999999999
    with np.errstate(divide="ignore", invalid="ignore"):
        bulk, mean = array_stats.ess(x, **AXES), array_stats.mcse(x, **AXES)
        rest = array_stats.ess(x, method="tail", prob=(tail, 1 - tail), **AXES)
        rhat = array_stats.rhat(x, **AXES)
    still = np.ptp(x, axis=(0, 1)) == 0
    assert n_draws < 4 or (bulk[still] == chains * (n_draws // 2) * 2).all()
    bulk[still] = rest[still] = mean[still] = np.nan
    np.testing.assert_allclose(table["ess_bulk"], bulk, rtol=1e-12)
    np.testing.assert_allclose(table["ess_tail"], rest, rtol=1e-12)
    np.testing.assert_allclose(table["r_hat"], rhat, rtol=1e-12)
    np.testing.assert_allclose(table["mcse_mean"], mean, rtol=1e-12)


def test_figures_of_probabilities_too_small_for_doubles() -> None:
    """Ranks are those of the logarithms; the error of a mean does not vanish with its size."""
    rng = np.random.default_rng(SEED)
    logs = np.stack([rng.normal(-900, 9, (4, 200)), rng.normal(-60, 1, (4, 200))], axis=2)
    dims = ("chain", "draw", "category")
    variables = {"probabilities": (dims, np.exp(logs)), "log_probabilities": (dims, logs)}
    run = xr.DataTree.from_dict({"/posterior": xr.Dataset(variables)})
    table = luce.summary(run)
    assert (table["mean"][0], np.isnan(table["mcse_mean"][0])) == (0, True)
    np.testing.assert_allclose(table["ess_bulk"], array_stats.ess(logs, **AXES))
    np.testing.assert_allclose(table["r_hat"], array_stats.rhat(logs, **AXES))
    units = array_stats.mcse(1e20 * np.exp(logs), **AXES)[1]
    assert table["mcse_mean"][1] == pytest.approx(1e-20 * units)
    alone = luce.summary(np.exp(logs))  # the control: without logarithms there is nothing to rank
    assert np.isnan(alone["ess_bulk"][0])


def test_columns_are_named_as_in_arviz(draws: xr.DataTree) -> None:
    theirs = arviz_stats.summary(draws, ci_prob=0.9, ci_kind="eti", round_to="none")
    table = luce.summary(draws).to_pandas()
    shared = [name for name in theirs.columns if name not in ("ess_tail", "mcse_sd")]
    np.testing.assert_allclose(table[shared], theirs[shared], rtol=1e-12)
    for ci_prob, name in ((0.95, "eti95"), (0.945, "eti94.5"), (0.5, "eti50")):
        assert list(luce.summary(draws, ci_prob).columns)[2:4] == [f"{name}_lb", f"{name}_ub"]


def test_summary_accepts_any_order_of_dimensions(draws: xr.DataTree) -> None:
    variable = draws["posterior"]["probabilities"].transpose("category", "draw", "chain")
    turned = xr.DataTree.from_dict({"/posterior": xr.Dataset({"probabilities": variable})})
    one, other = luce.summary(turned), luce.summary(draws)
    np.testing.assert_array_equal(one["ess_bulk"], other["ess_bulk"])


def test_summary_as_text(draws: xr.DataTree) -> None:
    lines = str(luce.summary(draws)).splitlines()
    assert lines[0].split() == ["category", *COLUMNS]
    assert [line.split()[0] for line in lines[1:]] == ["a", "bb", "ccc", "d"]
    assert len({len(line) for line in lines}) == 1  # columns line up
    row = dict(zip(lines[0].split()[1:], lines[2].split()[1:], strict=True))
    table = luce.summary(draws)
    assert float(row["mean"]) == pytest.approx(table["mean"][1], rel=1e-3)
    ess = float(row["ess_bulk"].replace(",", ""))
    assert ess == pytest.approx(table["ess_bulk"][1], abs=0.51)
    assert row["r_hat"] == f"{table['r_hat'][1]:.3f}"
    assert str(table) == repr(table) == table.to_text()


def test_summary_of_many_categories_is_cut() -> None:
    columns = {"mean": np.linspace(0, 1, 1234)}
    table = Summary(list(range(1234)), columns)
    assert len(str(table).splitlines()) == 42
    assert str(table).endswith("... and 1,194 more categories")
    assert len(table.to_text(most=2000).splitlines()) == 1235


@pytest.mark.parametrize(
    "thing",
    [
        xr.DataTree(),
        xr.DataTree.from_dict({"/posterior": xr.Dataset({"x": ("chain", [1.0])})}),
        xr.DataTree.from_dict({"/posterior": xr.Dataset({"probabilities": ("draw", [1.0])})}),
        {"prior": 1},
        {"posterior": {"probabilities": [1.0]}},
        np.ones((100, 2)),
        [1.0],
        None,
    ],
    ids=["empty tree", "other names", "other dimensions", "dict", "dicts", "array", "list", "None"],
)
def test_summary_of_anything_else_is_refused(thing: object) -> None:
    with pytest.raises(luce.errors.DataError, match="not draws"):
        luce.summary(thing)  # type: ignore[arg-type]


# -- draws are read once ----------------------------------------------------------------


class Counting(xr.backends.BackendArray):
    """An array on a disk, say, that counts the numbers read from it."""

    def __init__(self, values: Floats) -> None:
        self.values, self.shape, self.dtype, self.read = values, values.shape, values.dtype, 0

    def __getitem__(self, key: Any) -> Any:
        def read(key: Any) -> Any:
            found = self.values[key]
            self.read += found.size
            return found

        support = indexing.IndexingSupport.BASIC
        return indexing.explicit_indexing_adapter(key, self.shape, support, read)


@pytest.mark.parametrize("logs", [False, True], ids=["probabilities", "with logs"])
def test_summary_reads_the_draws_once(logs: bool) -> None:
    p = dirichlet([1.0, 2.0, 3.0])
    arrays = {"probabilities": Counting(p), "concentration": Counting(p[:, :, 0] + 1)}
    if logs:
        arrays["log_probabilities"] = Counting(np.log(p))
    dims = ("chain", "draw", "category")
    stored = {
        name: xr.Variable(dims[: len(array.shape)], indexing.LazilyIndexedArray(array))
        for name, array in arrays.items()
    }
    run = xr.DataTree.from_dict({"/posterior": xr.Dataset(stored, {"category": list("abc")})})
    assert all(array.read == 0 for array in arrays.values())
    table = luce.summary(run)
    assert all(array.read == array.values.size for array in arrays.values())
    np.testing.assert_allclose(table["mean"], p.mean(axis=(0, 1)), rtol=1e-14)
    view = luce.answers.DrawsView.of(run)
    for _ in range(2):  # a view is read once for all questions
        luce.summary(view), luce.rank_probabilities(view), luce.elo(view)
    assert all(array.read == 2 * array.values.size for array in arrays.values())
    luce.rank_probabilities(run)  # the control: a run is read again
    assert all(array.read == 3 * array.values.size for array in arrays.values())


# -- parameters -------------------------------------------------------------------------


def test_a_drawn_concentration_is_summarised(draws: xr.DataTree) -> None:
    counts = ConditionalCounts("abc").observe({"a": 3, "b": 1}).observe({"c": 2}, within="ac")
    run = Posterior(counts, luce.Gamma(2.0, 1.0)).sample(
        size(200, 20), chains=2, seed=1, progress=False
    )
    drawn = run["posterior"]["concentration"].values
    table = luce.summary(run, counts=counts)
    below = table.parameters
    assert below is not None
    assert below.categories == ["concentration"]
    assert list(below.columns) == [
        "mean", "sd", "eti90_lb", "eti90_ub", "ess_bulk", "ess_tail", "r_hat", "mcse_mean",
    ]  # fmt: skip
    assert below["mean"][0] == pytest.approx(drawn.mean(), rel=1e-12)
    assert below["eti90_ub"][0] == pytest.approx(np.quantile(drawn, 0.95), rel=1e-12)
    assert below["ess_bulk"][0] == array_stats.ess(drawn, **AXES)
    assert below["r_hat"][0] == array_stats.rhat(drawn, **AXES)
    lines = str(table).splitlines()
    assert lines[4:6] == ["", str(below).splitlines()[0]]
    assert lines[5].split()[0] == "parameter"
    assert lines[6].split()[0] == "concentration"
    assert table.to_html().count("<table>") == 2
    assert ">concentration<" in table.to_html()
    assert luce.summary(run, sort=True).categories[0] == "a"
    alone = luce.summary(run["posterior"]["probabilities"])
    assert alone.parameters is None
    for name in alone.columns:
        np.testing.assert_array_equal(alone[name], table[name])


def test_parameters_in_frames() -> None:
    below = Summary(["concentration"], {"mean": np.array([2.0])}, None, "parameter")
    columns = {"mean": np.array([0.25, 0.75]), "rank_lb": np.array([1, 2])}
    columns["prior_only"] = np.array([False, True])
    frame = Summary(["a", "b"], columns, below).to_pandas()
    assert frame.index.tolist() == ["a", "b", "concentration"]
    assert frame["role"].tolist() == ["competitor", "competitor", "parameter"]
    assert frame["mean"].tolist() == [0.25, 0.75, 2.0]
    assert frame["prior_only"].tolist() == [False, True, False]
    assert np.isnan(frame.loc["concentration", "rank_lb"])
    pytest.importorskip("polars")
    other = Summary(["a", "b"], columns, below).to_polars()
    assert other["category"].to_list() == frame.index.tolist()
    assert other["role"].to_list() == frame["role"].tolist()


def test_roles_that_a_run_declares() -> None:
    """Competitors of another name, an array of parameters, and a table that is left out."""
    rng = np.random.default_rng(SEED)
    sample, index = ("chain", "draw"), {"state": ["x", "y", "z"], "side": ["home", "away"]}
    variables = {
        "strength": (
            (*sample, "state"),
            rng.dirichlet(np.ones(3), (2, 30)),
            {"role": "competitor"},
        ),
        "weight": ((*sample, "side"), rng.gamma(1, size=(2, 30, 2)), {"role": "parameter"}),
        "log_scale": (sample, rng.normal(size=(2, 30))),
        "table": ((*sample, "state", "side"), rng.normal(size=(2, 30, 3, 2))),
        "hidden": (sample, rng.normal(size=(2, 30)), {"role": "latent"}),
    }
    run = xr.DataTree.from_dict({"/posterior": xr.Dataset(variables, index)})
    assert roles_of(run) == {
        "strength": "competitor", "weight": "parameter", "log_scale": "parameter",
        "table": "latent", "hidden": "latent",
    }  # fmt: skip
    table = luce.summary(run)
    assert table.categories == ["x", "y", "z"]
    assert table.parameters is not None
    assert table.parameters.categories == ["weight[home]", "weight[away]", "log_scale"]
    np.testing.assert_allclose(table.parameters["mean"][:2], variables["weight"][1].mean((0, 1)))
    assert luce.rank_probabilities(run)["category"].values.tolist() == ["x", "y", "z"]
    run["posterior"]["weight"].attrs["role"] = "king"
    with pytest.raises(DataError, match=r"'weight'\] declares the role 'king'"):
        luce.summary(run)
    run["posterior"]["weight"].attrs["role"] = "competitor"
    with pytest.raises(DataError, match="several variables of competitors: 'strength', 'weight'"):
        luce.summary(run)


def test_an_hdp_is_summarised_by_its_base() -> None:
    model = luce.HDPTransitions(["a", "b", "c"], luce.Gamma(2, 1), luce.Gamma(1, 1))
    fitted = model.fit(list("abcabcaab"), 20, chains=2, seed=1, progress=False)
    assert "probabilities" not in fitted["posterior"]
    table = luce.summary(fitted)
    base = fitted["posterior"]["base"]
    assert table.categories == base["state"].values.tolist()
    np.testing.assert_allclose(table["mean"], base.mean(("chain", "draw")))
    assert table["p_best"].sum() == pytest.approx(1)
    assert table.parameters is not None
    assert table.parameters.categories == ["concentration", "base_concentration"]


# -- ranks, marks, some of the categories -----------------------------------------------


@pytest.fixture(scope="module")
def table() -> Summary:
    counts = ConditionalCounts("abcd").observe({"a": 1, "c": 4}, within="abc")
    draws = Posterior(counts, [0.5, 1.0, 2.0, 1.5]).sample(200, seed=SEED + 9, progress=False)
    return luce.summary(draws, 0.95, counts=counts)


def test_summary_has_the_ranks(table: Summary) -> None:
    counts = ConditionalCounts("abcd").observe({"a": 1, "c": 4}, within="abc")
    draws = Posterior(counts, [0.5, 1.0, 2.0, 1.5]).sample(200, seed=SEED + 9, progress=False)
    ranks = luce.answers.expected_ranks(draws, 0.95)
    np.testing.assert_array_equal(table["p_best"], luce.probability_best(draws))
    np.testing.assert_array_equal(table["rank"], ranks["mean"])
    np.testing.assert_array_equal(table["rank_lb"], ranks["lower"])
    np.testing.assert_array_equal(table["rank_ub"], ranks["upper"])
    flat = draws["posterior"]["probabilities"].values.reshape(-1, 4)
    np.testing.assert_allclose(table["eti95_ub"], np.quantile(flat, 0.975, axis=0))
    assert list(table.columns)[-1] == "prior_only"
    assert table["prior_only"].tolist() == [False, False, False, True]
    words = [line.split()[-1] for line in str(table).splitlines()]
    assert words == ["prior_only", "no", "no", "no", "yes"]
    by_rank = luce.summary(draws, 0.95, counts=counts, sort=True)
    order = np.argsort(ranks["mean"].values)
    assert by_rank.categories == [table.categories[i] for i in order]
    for name in table.columns:
        np.testing.assert_array_equal(by_rank[name], table[name][order])
    with pytest.raises(DataError, match="give the counts that the draws were made from"):
        luce.summary(draws, counts=ConditionalCounts("abx"))


@cases
def test_summary_shares_first_places_among_ties(x: Floats) -> None:
    table = luce.summary(draws_of(x))
    np.testing.assert_allclose(table["p_best"], luce.probability_best(x), rtol=1e-13)


def test_summary_uses_logs_for_ranks() -> None:
    table = luce.summary(tree_of(deep_logs()))
    assert table["mean"][1] == table["mean"][3] == 0
    assert table["rank"][1] != table["rank"][3]


def test_the_summary_of_some_keeps_their_probabilities() -> None:
    run = Posterior(
        ConditionalCounts(["a", "b", "tie", "c"])
        .observe({"a": 3, "tie": 4}, within=["a", "b", "tie"])
        .observe({"c": 2, "tie": 1}, within=["b", "c", "tie"])
    ).sample(size(400, 20), seed=3, progress=False)
    everybody, some = luce.summary(run), luce.summary(run, among=["c", "a", "b"])
    assert some.categories == ["a", "b", "c"]
    where = [everybody.categories.index(label) for label in some.categories]
    for column in ("mean", "sd", "eti90_lb", "ess_bulk", "ess_tail", "r_hat", "mcse_mean"):
        np.testing.assert_allclose(some[column], everybody[column][where])
    np.testing.assert_allclose(some["p_best"], luce.probability_best(run, among=["c", "a", "b"]))
    assert some["p_best"].sum() == pytest.approx(1.0)
    assert some["rank"].max() <= 3


# -- forms of the table -----------------------------------------------------------------


def test_summary_as_html() -> None:
    labels = ["<script>alert(1)</script>", 'a"b', "x & y"]
    html = luce.summary(draws_of(dirichlet([1.0, 2.0, 3.0]), labels))._repr_html_()
    assert "<script>" not in html
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in html
    assert "x &amp; y" in html
    assert html.count("<tr>") == 4
    long = Summary(list(range(1234)), {"mean": np.linspace(0, 1, 1234)})
    assert long._repr_html_().count("<tr>") == 21
    assert long._repr_html_().endswith("<p>... and 1,214 more categories</p>")
    assert long.to_html(most=2).count("<tr>") == 3


@pytest.mark.parametrize("labels", LABELS.values(), ids=list(LABELS))
def test_summary_as_frames(labels: list[Any]) -> None:
    table = luce.summary(draws_of(dirichlet([0.7, 1.0, 2.0, 3.0, 1.5]), labels))
    frame = table.to_pandas()
    assert frame.index.tolist() == labels
    assert frame.index.name == "category"
    assert list(frame.columns) == list(table.columns)
    np.testing.assert_array_equal(frame["rank"], table["rank"])
    pytest.importorskip("polars")
    frame = table.to_polars()
    assert frame.columns == ["category", *table.columns]
    assert frame["category"].to_list() == labels
    np.testing.assert_array_equal(frame["p_best"].to_numpy(), table["p_best"])


@pytest.mark.parametrize("package", ["pandas", "polars"])
def test_frames_of_a_package_that_is_not_there(
    package: str, table: Summary, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ModuleNotFoundError, match=f"pip install {package}"):
        getattr(table, f"to_{package}")()


def test_frames_are_not_loaded_before_they_are_asked_for() -> None:
    code = "import sys, luce; print([m for m in ('pandas', 'polars') if m in sys.modules])"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout == "[]\n"


def test_printed_numbers_are_those_a_person_would_write() -> None:
    x = np.full((1, 5000, 3), [0.6, 0.3, 0.1])
    x[0, 0] = [0.3, 0.6, 0.1]
    text = luce.summary(x).to_text(most=2)
    assert [line.split()[5] for line in text.splitlines()[1:3]] == [">0.999", "<0.001"]
    assert text.endswith("\n... and 1 more category")
    assert luce.summary(x).to_text(most=1).endswith("\n... and 2 more categories")
    assert luce.summary(x[:, 1:]).to_text().splitlines()[1].split()[5] == "1"  # in every draw


@pytest.mark.filterwarnings("error")
def test_one_draw_has_no_diagnostics() -> None:
    counts = luce.from_pairs([("a", "b"), ("b", "c"), ("c", "a")])
    run = luce.Posterior(counts).sample(1, chains=1, seed=SEED, method="rejection", progress=False)
    table = luce.summary(run).to_pandas()
    assert table[["ess_bulk", "ess_tail", "r_hat", "mcse_mean"]].isna().all(axis=None)


def test_a_sorted_summary_is_in_the_order_of_groups_and_pictures() -> None:
    rng = np.random.default_rng(SEED)
    logs = rng.normal(0, 0.1, (2, 50, 4)) + np.array([2.0, 1.0, 0.5, 0.0])
    logs[:, :10, 3] += 5  # rarely far better: the largest mean, the worst expected rank but one
    x = np.exp(logs) / np.exp(logs).sum(axis=2, keepdims=True)
    found = luce.summary(x, sort=True).categories
    above = (x[:, :, None, :] > x[:, :, :, None]).sum(axis=3).mean(axis=(0, 1))
    assert found == np.argsort(above, kind="stable").tolist()
    assert found == luce.answers.expected_order(x)
    assert found == [label for group in luce.tie_groups(x) for label in group]
    assert found != np.argsort(-x.mean(axis=(0, 1)), kind="stable").tolist()
