"""The predictive check: replicated counts, and what the model cannot make."""

from dataclasses import replace
from html import unescape
from pathlib import Path

import pytest
import xarray as xr
from lib.report_runs import sampled, text_of

import luce
from luce.page.document import Page
from luce.reports import pictures, predictive_check
from luce.reports.findings import ChoiceFindings, find

pytestmark = pytest.mark.filterwarnings("ignore::luce.ConvergenceWarning")


def test_grouped_and_too_large_data_have_no_check(tmp_path: Path, chains: xr.DataTree) -> None:
    counts = luce.ConditionalCounts("abc").observe_group("ab", 3).observe({"c": 1})
    said = text_of(luce.report(sampled(counts, 20), tmp_path / "a.html", pictures=False))
    assert "No posterior predictive check: " in said
    found, page = find(chains, 0.9), Page("x")
    assert isinstance(found, ChoiceFindings)
    check = predictive_check.replicate(found, most_cells=100)
    predictive_check.write_check(page, found, check)
    assert "check: the data has 13 cells, too many to replicate" in page.to_html()


def test_a_predictive_check_finds_what_the_model_cannot_make() -> None:
    """Draws of other data: what was recorded lies outside all replicates."""
    labels = [chr(97 + i) for i in range(14)]
    posterior = luce.Posterior(luce.ConditionalCounts(labels).observe(dict.fromkeys(labels, 40)))
    run = posterior.sample(40, chains=2, seed=1, progress=False)
    found = find(run, 0.9)
    assert isinstance(found, ChoiceFindings)
    wrong = luce.ConditionalCounts(labels).observe({c: 20 + 3 * k for k, c in enumerate(labels)})
    found = replace(found, posterior=luce.Posterior(wrong))
    check = predictive_check.replicate(found)
    assert not isinstance(check, str)
    assert check.replicated.sum(axis=1).tolist() == [wrong.n_outcomes] * 80
    low, high = check.ends(0.9)
    out = (check.recorded < low) | (check.recorded > high)
    assert check.surprise[check.names.index("a")] == 0  # 20 of 40 were recorded
    page = Page("check")
    predictive_check.write_check(page, found, check)
    pictures.write_check_picture(page, found, check)
    html = unescape(page.to_html())
    assert f"recorded count of {(~out).sum()} of 14 categories lies within the 90 %" in html
    assert f"{(~out).sum()} of 14 categories; outside: " in html
    assert (", 1 more." in html) == (out.sum() == 11)
