"""Runs at a glance."""

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from lib.fragments import cells, drawn, faults

import luce
from luce.errors import DataError


def run_of(labels: list[object], draws: int = 100) -> xr.DataTree:
    counts = luce.ConditionalCounts(labels)
    counts = counts.observe({label: i for i, label in enumerate(labels)})
    return luce.Posterior(counts).sample(draws, seed=1, progress=False)


def test_what_a_run_holds_is_told(tmp_path: Path) -> None:
    run = run_of(["a", "<b>", ("c", 1)])
    found = luce.overview(run)
    assert found.sentences == (
        "4 chains of 100 draws, 3 categories; method exact, seed 1.",
        str(luce.answers.diagnostics.verdict(run)),
    )
    table = luce.summary(run, sort=True)
    assert str(found).endswith(str(table))
    html = found._repr_html_()
    assert faults(html) == []
    assert [row[0] for row in cells(html)[1:]] == ["('c', 1)", "<b>", "a"]
    assert len(drawn(html, "polyline")) == 3 * 4
    luce.save(run, tmp_path / "run.nc")
    assert str(luce.overview(luce.load(tmp_path / "run.nc"))) == str(found)


def test_lines_are_means_over_parts_of_the_chains() -> None:
    run = run_of(["a", "b", "c"], 103)
    found = luce.overview(run)
    p = run["posterior"]["probabilities"].transpose("category", "chain", "draw")
    p = p.sel(category=found.summary.categories).values
    edges = np.linspace(0, 103, 41).astype(int)
    parts = [p[:, :, a:b].mean(axis=2) for a, b in pairwise(edges)]
    np.testing.assert_allclose(found.courses, np.stack(parts, axis=2))


def test_bad_draws_are_said_to_be_bad() -> None:
    run = run_of(["a", "b"])
    p = run["posterior"]["probabilities"].values
    p[:2] = [0.9, 0.1]
    del run.attrs["independent_draws"]
    said = luce.overview(run).sentences[1]
    assert said != str(luce.answers.diagnostics.verdict(run_of(["a", "b"])))
    assert "never moved" in said or "R-hat" in said


def test_many_categories_and_few_draws() -> None:
    many = luce.overview(run_of(list(range(50)), 7))
    html = many._repr_html_()
    assert faults(html) == []
    assert html.count("<tr>") == 21
    assert "... and 30 more categories" in html
    assert many.courses.shape == (20, 4, 7)
    assert luce.overview(run_of(["a", "b"], 1)).courses.shape == (2, 4, 1)


def test_parameters_stand_below() -> None:
    games = {"home": ["a", "b"] * 5, "away": ["b", "a"] * 5, "result": [*"HDHAD"] * 2}
    counts = luce.from_pairs(games, ties="davidson", home="first")
    html = luce.overview(luce.Posterior(counts).sample(200, seed=1, progress=False))._repr_html_()
    assert faults(html) == []
    assert [row[0] for row in cells(html, 1)] == ["parameter", "home", "tie"]
    assert "interval" not in cells(html, 1)[0]


def test_what_is_no_run_is_refused() -> None:
    with pytest.raises(DataError, match=r"run must be what Posterior\.sample returned.*ndarray"):
        luce.overview(np.full((4, 10, 2), 0.5))  # type: ignore[arg-type]
