"""Separate rows of a transition matrix: drawn, saved and gone on with as one run."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr
from lib.bounds import SEED, z_limit
from lib.oracles import simplex_quadrature
from lib.rows_of_transitions import CORES, FORBIDDEN, STATES, four_rows, shapes, streamed
from lib.streaming_runs import BrokenOff, same_numbers
from scipy.stats import beta

import luce
from luce import ConditionalCounts
from luce.answers.diagnostics import verdict
from luce.errors import DataError
from luce.sequences import SeparateRows

pytestmark = pytest.mark.filterwarnings("ignore::luce.ConvergenceWarning")


def cells(run: Any) -> Any:
    """All draws of the matrix, shape (draw, source, state)."""
    rows = run.posterior["rows"].values
    return rows.reshape(-1, *rows.shape[2:])


def worst_moment(x: Any, truth: Any) -> float:
    """Largest error of means and of squares, in standard errors of independent draws."""
    free = (truth > 0) & (truth < truth.sum(axis=1, keepdims=True))
    total = truth.sum(axis=1, keepdims=True)
    mean = (truth / total)[free]
    square = (truth * (truth + 1) / (total * (total + 1)))[free]
    scores = []
    for power, wanted in ((1, mean), (2, square)):
        values = x[:, free] ** power
        scores.append((values.mean(axis=0) - wanted) / (values.std(axis=0) / np.sqrt(len(x))))
    return float(np.abs(scores).max())


def worst_quantile(x: Any, truth: Any, p: float) -> float:
    """Largest distance of the share of draws below a quantile of the beta law from p."""
    free = (truth > 0) & (truth < truth.sum(axis=1, keepdims=True))
    rest = truth.sum(axis=1, keepdims=True) - truth
    at = beta.ppf(p, truth[free], rest[free])
    share = (x[:, free] <= at).mean(axis=0)
    return float(np.abs(share - p).max() / np.sqrt(p * (1 - p) / len(x)))


@pytest.mark.compiled
def test_rows_are_dirichlet_distributions() -> None:
    """Moments, and intervals by quantiles of beta laws; the controls are off by one outcome."""
    run = four_rows().sample(5000, seed=SEED, progress=False)
    x, truth = cells(run), shapes()
    wrong = truth.copy()
    wrong[2, 1] += 1
    limit = z_limit(2 * int((truth > 0).sum()) + 3 * int((truth > 0).sum()))
    assert worst_moment(x, truth) < limit < worst_moment(x, wrong)
    for p in (0.05, 0.5, 0.95):
        assert worst_quantile(x, truth, p) < limit
    assert worst_quantile(x, wrong, 0.5) > limit
    assert (x[:, FORBIDDEN] == 0).all()
    assert (x[:, 3, 0] == 1).all()  # the only move from a jump


def correlation(x: Any) -> float:
    """Largest correlation of entries of different rows, in its standard errors."""
    free = x.std(axis=0) > 1e-12
    source = np.nonzero(free)[0]
    r = np.corrcoef(x[:, free].T)
    return float(np.abs(r[source[:, None] != source]).max() * np.sqrt(len(x)))


@pytest.mark.compiled
def test_rows_are_independent_of_each_other() -> None:
    row = ConditionalCounts("ab").observe({"a": 3, "b": 2})
    x = cells(SeparateRows({"a": row, "b": row}).sample(4000, seed=SEED, progress=False))
    one = luce.Posterior(row).sample(4000, seed=SEED, progress=False)
    same = one.posterior["probabilities"].values.reshape(-1, 1, 2)
    limit = z_limit(4)
    assert correlation(x) < limit < correlation(np.concatenate([same, same], axis=1))


@pytest.mark.parametrize("method", ["auto", "waiting-times"])
@pytest.mark.parametrize("model", [four_rows(), SeparateRows(CORES, 0.7)], ids=["exact", "cores"])
def test_rows_have_the_draws_of_posteriors_with_spawned_seeds(
    model: SeparateRows, method: str
) -> None:
    how: dict[str, Any] = {"draws": 30, "chains": 2, "warmup": 20, "method": method}
    run = model.sample(seed=SEED, progress=False, **how)
    seeds = np.random.SeedSequence(SEED).spawn(len(model.sources))
    logs = "log_rows" in run.posterior
    for (state, posterior), seed in zip(model.posteriors.items(), seeds, strict=True):
        alone = posterior.sample(seed=seed, progress=False, log_probabilities=logs, **how)
        row = run.posterior["rows"].sel(source=state, state=list(posterior.counts.categories))
        np.testing.assert_array_equal(row.values, alone.posterior["probabilities"].values)
    first = luce.Posterior(model.posteriors[model.sources[0]].counts)
    other = first.sample(seed=SEED, progress=False, **how).posterior["probabilities"].values
    place = [list(model.states).index(x) for x in first.counts.categories]
    assert (run.posterior["rows"].values[:, :, 0][..., place] != other).any()  # the control


@pytest.mark.compiled
def test_rows_with_sets_agree_with_quadrature() -> None:
    """Means of two simulated rows; the control leaves a set out."""
    model = SeparateRows(CORES, 0.7)
    run = model.sample(4000, chains=8, seed=SEED, progress=False)
    assert "exact" in run.attrs["row_methods"]
    assert run.attrs["row_methods"][0] != "exact"

    def score(i: int, terms: dict[frozenset[int], float]) -> float:
        truth = simplex_quadrature(terms, [0.7] * 3)
        x = run.posterior["rows"].values[:, :, i]
        each = x.mean(axis=1)  # chains are independent
        ess = [float(luce.answers.diagnostics.ess(x)[j]) for j in range(3)]
        sd = x.std(axis=(0, 1)) / np.sqrt(ess)
        return float(np.abs((each.mean(axis=0) - np.asarray(truth.mean)) / sd).max())

    def terms_of(counts: ConditionalCounts) -> dict[frozenset[int], float]:
        place = {label: k for k, label in enumerate(counts.categories)}
        return {frozenset(place[x] for x in t.members): t.exponent for t in counts.terms()}

    limit = z_limit(6)
    for i, state in ((0, "a"), (2, "c")):
        terms = terms_of(CORES[state])
        assert score(i, terms) < limit
        broken = {s: e for s, e in terms.items() if s != frozenset([0, 1])}
        assert score(i, broken) > limit


@pytest.mark.parametrize("suffix", [".nc", ".zarr"])
@pytest.mark.parametrize("model", [four_rows(), SeparateRows(CORES, 0.7)], ids=["exact", "cores"])
def test_runs_come_back_from_files(model: SeparateRows, suffix: str, tmp_path: Path) -> None:
    run, path = streamed(model), tmp_path / f"run{suffix}"
    luce.save(run, path)
    loaded = luce.load(path)
    xr.testing.assert_identical(loaded, run)
    back = SeparateRows.of_run(loaded)
    assert list(back.states) == list(model.states)
    np.testing.assert_array_equal(back.forbidden, model.forbidden)
    np.testing.assert_array_equal(back.concentration, model.concentration)
    for state, posterior in model.posteriors.items():
        assert back.posteriors[state].counts == posterior.counts
    assert str(verdict(loaded)) == str(verdict(run))


@pytest.mark.parametrize("model", [four_rows(), SeparateRows(CORES, 0.7)], ids=["exact", "cores"])
def test_draws_on_a_disk_are_those_in_memory(
    model: SeparateRows, tmp_path: Path, breaking: Any
) -> None:
    memory = streamed(model)
    assert same_numbers(streamed(model, tmp_path / "whole.zarr", quantiles=[0.5]), memory)
    folder = tmp_path / "run.zarr"
    breaking(4)
    with pytest.raises(BrokenOff):
        streamed(model, folder)
    breaking(10**9)
    assert same_numbers(luce.resume(folder, progress=False), memory)
    assert not same_numbers(streamed(model, seed=4), memory)


def test_draws_go_on_until_they_are_enough() -> None:
    run = four_rows().sample(30, chains=2, seed=1, until=200, progress=False)
    assert run.posterior.sizes["draw"] == 120
    longer = four_rows().sample(120, chains=2, seed=1, progress=False)
    np.testing.assert_array_equal(run.posterior["rows"], longer.posterior["rows"])


def test_data_that_was_changed_is_refused() -> None:
    run = four_rows().sample(5, seed=1, progress=False)
    changed = run.copy()
    changed["observed_data"] = run["observed_data"].to_dataset().copy(deep=True)
    changed["observed_data"]["transition_counts"].values[0, 1] += 1
    with pytest.raises(DataError, match="not the data that this run was drawn from"):
        SeparateRows.of_run(changed)
    with pytest.raises(DataError, match="not 'separate-rows'"):
        SeparateRows.of_run(luce.Posterior(ConditionalCounts(2)).sample(5, seed=1))
    for ask in (luce.summary, luce.rank_probabilities, luce.posterior_of):
        with pytest.raises(DataError, match="transition_summary"):
            ask(run)  # type: ignore[operator]


@pytest.mark.compiled
def test_structural_zeros_need_not_move_and_other_entries_must() -> None:
    """The verdict on rows that are simulated; the control is a chain that stands still."""
    rows = {**CORES, "b": ConditionalCounts("a").observe({"a": 2})}
    run = SeparateRows(rows, 0.7).sample(
        2000, seed=SEED, method="waiting-times", log_probabilities=False, progress=False
    )
    assert run.attrs["independent_draws"] == 0
    assert "log_rows" not in run.posterior
    told = verdict(run)
    assert (told.kind, told.still) != ("bad", ())
    assert not told.still
    assert told.ess > 400
    values = run.posterior["rows"].values.copy()
    values[1, :, 0] = values[1, 0, 0]
    run.posterior["rows"].values[:] = values
    assert verdict(run).still == ("the rows[a, a]", "the rows[a, b]", "the rows[a, c]")


def test_any_labels_and_states_that_are_only_entered() -> None:
    rows = {
        ("x", 1): ConditionalCounts([None, ("x", 1), 2.5]).observe({2.5: 3}),
        2.5: ConditionalCounts([("x", 1), None]).observe({None: 1}),
    }
    model = SeparateRows(rows)
    assert list(model.states) == [("x", 1), 2.5, None]
    assert model.forbidden.tolist() == [[False, False, False], [False, True, False]]
    np.testing.assert_array_equal(model.counts, [[0, 3, 0], [0, 0, 1]])
    run = model.sample(5, chains=1, seed=1, progress=False)
    np.testing.assert_allclose(run.posterior["rows"].sum("state"), 1)
    assert list(SeparateRows.of_run(run).states) == list(model.states)


def test_rows_that_are_none_are_refused() -> None:
    row = ConditionalCounts("ab").observe({"a": 1})
    games = {"white": ["a", "b"], "black": ["b", "a"], "result": ["1-0", "0-1"]}
    contests = luce.from_pairs(games, home="first")
    for given, words in (
        ({}, "an empty mapping was given"),
        (row, "a single vector of probabilities"),
        ({"a": 3}, "the row of 'a' is int"),
        ({"a": contests}, "the row of 'a' has contests"),
    ):
        with pytest.raises(DataError, match=words):
            SeparateRows(given)  # type: ignore[arg-type]
    for prior, words in (
        (luce.Gamma(1, 1), "of known concentration; .* was given"),
        ({"b": 1.0}, "missing: 'a'; no such rows: 'b'"),
        (-1.0, "the row of 'a': "),
    ):
        with pytest.raises(DataError, match=words):
            SeparateRows({"a": row}, prior)  # type: ignore[arg-type]
    with pytest.raises(luce.LuceError, match="until="):
        SeparateRows({"a": row}).sample(5, until="converged", to="x.zarr")


def test_states_are_named_in_the_order_of_the_rows() -> None:
    assert list(four_rows().states) == STATES
