"""Data and model: sets, groups, priors and methods; technical words only where they fold."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr
from lib.report_runs import checks_of, duels, sampled, text_of

import luce
from luce.page.document import Name
from luce.reports.run_page import write_report

pytestmark = pytest.mark.filterwarnings("ignore::luce.ConvergenceWarning")


def test_sets_groups_and_priors_are_told(tmp_path: Path) -> None:
    counts = luce.ConditionalCounts("abcdefghij")
    counts = counts.observe({"a": 3, "b": 4}, within="ab").observe({"c": 2}, within="cd")
    counts = counts.observe({"e": 5, "f": 1}, without="a")
    how: dict[str, Any] = {"method": "waiting-times", "warmup": 2}
    run = sampled(counts, 10, np.linspace(1, 2, 10), **how)
    said = text_of(luce.report(run, tmp_path / "a.html", pictures=False))
    assert "concentrations from 1 to 2, 15 together" in said
    assert "{a, b} given 2 7" in said
    assert "all but {a} given 9 6" in said
    apart = luce.ConditionalCounts("abcdefgh").observe({"a": 3, "b": 1}, within="ab")
    apart = apart.observe({"c": 1, "d": 4}, within="cd")
    said = text_of(luce.report(sampled(apart, 10, 2.0, **how), tmp_path / "b.html", pictures=False))
    assert "as much as 2 outcomes of each would weigh" in said
    assert "within 6 groups only" in said
    assert "Groups of categories that the data compares" in said
    assert "4: " in said  # the categories known from the prior alone


def test_what_is_too_much_is_counted(tmp_path: Path) -> None:
    labels = [f"player {i}" for i in range(36)]
    counts = luce.ConditionalCounts(labels)
    for i in range(0, 36, 2):
        counts = counts.observe({labels[i]: 2, labels[i + 1]: 1}, within=labels[i : i + 2])
    counts = counts.observe_group(labels[:8], 5, within=labels[:10])
    run = sampled(counts, 10, method="waiting-times", warmup=2)
    said = text_of(luce.report(run, tmp_path / "a.html", pictures=False))
    assert "The sets with the most outcomes; 10 more are not shown" in said
    assert "and 2 more} grouped 8 5" in said
    assert "within 14 groups only" in said  # ten, and 13 pairs
    assert "Groups of categories that the data compares; 4 smaller ones are not shown" in said


def test_every_core_is_told_with_its_method(tmp_path: Path) -> None:
    counts = luce.ConditionalCounts("abcdefgh")
    for some in ("abc", "def"):
        for pair in (some[:2], some[1:], some[::2]):
            counts = counts.observe({pair[0]: 2, pair[1]: 1}, within=pair)
    run = sampled(counts, 20, method="waiting-times", warmup=5)
    cores = luce.posterior_of(run).structure.cores
    assert len(cores) == 2
    said = text_of(luce.report(run, tmp_path / "a.html", pictures=False))
    assert "Only the parts of the data where sets overlap without nesting were simulated" in said
    assert "sets overlap in 2 places" in said
    for q, core in enumerate(cores, 1):
        assert f"{q} {core.n_atoms} {core.n_sets} waiting-times asked for" in said


def test_technical_words_only_stand_where_they_fold(
    exact: xr.DataTree, chains: xr.DataTree, tmp_path: Path
) -> None:
    for run in (exact, chains):
        html = (
            luce.report(run, tmp_path / "a.html", pictures=False).read_text().split("</style>")[1]
        )
        (folded,) = re.findall(r'<details class="more">.*?</details>', html, re.S)
        assert re.search(r"\batoms\b", folded, re.I)
        assert re.search(r"\bcores?\b", folded, re.I)
        assert not re.search(r"\b(atom|core)s?\b", html.replace(folded, ""), re.I)
    exact_page = text_of(luce.report(exact, tmp_path / "b.html", pictures=False))
    assert "the sets nest, so every draw is exact" in exact_page


def test_a_drawn_concentration_is_told_and_judged(tmp_path: Path) -> None:
    run = sampled(duels(list("abc")), 30, luce.Gamma(2, 1), warmup=5)
    page, _ = write_report(run, tmp_path / "a.html", pictures=False)
    drawn = run.posterior["concentration"].to_numpy()
    low, high = np.quantile(drawn, [0.05, 0.95])
    said = text_of(page)
    assert "gamma distribution of shape 2 and rate 1" in said
    assert f"posterior mean {drawn.mean():.3g}, with 90 % between {low:.3g} and {high:.3g}" in said
    apart = run.copy(deep=True)
    apart.posterior["concentration"][0] += 10  # a chain that never met the others
    assert checks_of(apart)["R-hat"].found[1] == Name("the concentration")  # type: ignore[index]
