"""A report on transitions: base, matrix with structural zeros, data, trust, the same again."""

import re
from html import unescape
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr
from lib.report_runs import printouts, table_of, text_of
from lib.size import draws

import luce
from luce.cli import main
from luce.reports.findings import TransitionFindings, find
from luce.reports.provenance import python_lines
from luce.reports.run_page import write_report
from luce.reports.trust import judge

pytestmark = pytest.mark.filterwarnings("ignore::luce.ConvergenceWarning")

SEQUENCES = ["abcabcabacbcabca", "bcbabcacbabc", "cabcbacbacba"]


def fitted(model: luce.HDPTransitions, **how: Any) -> xr.DataTree:
    """Fit three short sequences."""
    how = {"chains": 2, "warmup": 20, "seed": 3, "progress": False, **how}
    return model.fit([list(each) for each in SEQUENCES], draws(compiled=400, plain=20), **how)


@pytest.fixture(scope="module")
def run() -> xr.DataTree:
    """Draw with one forbidden transition, and a concentration that is drawn too."""
    return fitted(luce.HDPTransitions(list("abcd"), luce.Gamma(2, 1), 3.0, forbidden=[("d", "a")]))


@pytest.fixture(scope="module")
def open_ended() -> xr.DataTree:
    """Draw with the number of states left open, both concentrations being drawn."""
    return fitted(luce.HDPTransitions("nonparametric", luce.Gamma(2, 1), luce.Gamma(1, 1)))


@pytest.fixture(scope="module")
def page(run: xr.DataTree, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write the page with its pictures."""
    return luce.report(run, tmp_path_factory.mktemp("transitions") / "a.html")


LEAD = (
    r"(No state is likely to be the most popular destination: )(\w) is it with probability "
    r"([\d.]+) ; next comes (\w) with ([\d.]+)\."
)


def best_of(base: xr.DataArray) -> np.ndarray:
    """Count the draws in which each state is the most popular destination, as a share."""
    x = base.transpose("chain", "draw", "state").values.reshape(-1, base.sizes["state"])
    return np.array([(x.argmax(axis=1) == i).mean() for i in range(x.shape[1])])


def is_true_of(base: xr.DataArray, said: str) -> bool:
    """Read who is the most popular destination, and who is next, and compare with the draws."""
    lead = re.search(LEAD, said)
    assert lead, said
    best, states = best_of(base), base["state"].values.tolist()
    first, second = (int(i) for i in np.argsort(-best)[:2])
    told = [(states[i], f"{best[i]:.3f}") for i in (first, second)]
    return bool(best[first] < 2 / 3 and [lead.groups()[1:3], lead.groups()[3:]] == told)


def test_the_base_is_the_answer(run: xr.DataTree, page: Path) -> None:
    base = run.posterior["base"]
    found = table_of(page)
    means = base.mean(("chain", "draw"))
    order = np.argsort(-means.to_numpy(), kind="stable")
    assert found["State"] == ["abcd"[i] for i in order]
    np.testing.assert_allclose([float(x) for x in found["Mean"]], means.to_numpy()[order])
    low = base.quantile(0.05, ("chain", "draw")).to_numpy()[order]
    np.testing.assert_allclose([float(x) for x in found["90 % interval"]], low)
    largest = (base.argmax("state") == int(order[0])).mean().item()
    assert float(found["P(best)"][0]) == pytest.approx(largest)
    said = text_of(page)
    assert "4 states, 37 transitions" in said
    assert is_true_of(base, said)
    lead = re.search(LEAD, said)
    assert lead
    for old, new in ((f": {lead[2]} is", f": {lead[4]} is"), (lead[3], "0.123")):  # controls
        assert not is_true_of(base, lead[0].replace(old, new))


def test_the_matrix_has_structural_zeros(run: xr.DataTree, page: Path) -> None:
    found = table_of(page, 2)
    pairs = list(zip(found["From"], found["To"], strict=True))
    assert set(pairs) == {(i, j) for i in "abcd" for j in "abcd" if i != j} - {("d", "a")}
    rows = run.posterior["rows"]
    counts = run.observed_data["transition_counts"]
    for k, (i, j) in enumerate(pairs):
        here = {"source": i, "state": j}
        assert float(found["Mean"][k]) == pytest.approx(float(rows.sel(here).mean()))
        assert float(found["Seen"][k]) == float(counts.sel(here))
    assert found["Mean"] == sorted(found["Mean"], key=float, reverse=True)
    assert "5 transitions cannot occur and have probability 0." in text_of(page)
    described = [unescape(alt) for alt in re.findall(r'alt="([^"]*)"', page.read_text())]
    assert len(described) == 4
    assert described[0].startswith("Base probability of each state, mean and 90 % interval")
    likely = rows.mean(("chain", "draw")).sel(source="a")
    to, chance = str(likely.idxmax().item()), float(likely.max())
    assert f"from \u2068a\u2069 to \u2068{to}\u2069 {chance:.3f}" in described[1]


def test_data_model_and_parameters_are_told(run: xr.DataTree, page: Path) -> None:
    said = text_of(page)
    assert "Different transitions seen 6 of 11 that can occur" in said
    assert "Transitions that cannot occur 5, self-loops among them" in said
    assert "Never left 1: d" in said
    assert "Never entered 1: d" in said
    assert "its prior is a gamma distribution of shape 2 and rate 1. γ is fixed at 3." in said
    assert "hierarchical-gibbs : a Gibbs sampler" in said
    values = run.posterior["concentration"].to_numpy()
    low, high = np.quantile(values, [0.05, 0.95])
    assert f"concentration {values.mean():.3g} {low:.3g} to {high:.3g}" in said
    assert "`initial`" not in said


def test_open_ended_models_have_a_remainder(open_ended: xr.DataTree, tmp_path: Path) -> None:
    written, _ = write_report(open_ended, tmp_path / "a.html")
    said = text_of(written)
    assert "3 states, 37 transitions" in said
    assert "remainder all states that have not occurred yet, together" in said
    assert "First states of sequences 3, drawn from the base" in said
    assert "The number of states is open" in said
    assert "remainder" in table_of(written)["State"]
    parameters = find(open_ended, 0.9).parameters
    assert parameters is not None
    assert set(parameters.categories) == {"concentration", "base_concentration"}


def test_rows_that_were_not_kept_are_missed(tmp_path: Path) -> None:
    run = fitted(luce.HDPTransitions(list("abc"), 1.0, 2.0, self_loops="kept"), rows=False)
    written = luce.report(run, tmp_path / "a.html", pictures=False)
    said = text_of(written)
    assert "fit again with rows=True" in said
    assert "Transitions that cannot occur 0" in said
    assert "Parameters of the model" not in said
    assert "There are no pictures" in said


def test_one_state_moves_nowhere_else(tmp_path: Path) -> None:
    model = luce.HDPTransitions(["a"], 1.0, 2.0, self_loops="kept")
    run = model.fit([list("aaa")], 40, chains=2, seed=1, progress=False)
    page, verdict = write_report(run, tmp_path / "a.html", title="One")
    assert "a is the only destination." in text_of(page).replace(" .", ".")
    assert verdict.kind == "good"  # nothing varies


def test_tables_are_cut(run: xr.DataTree) -> None:
    from luce.page.document import Page
    from luce.reports import transitions
    from luce.reports.pictures import PictureSizes, write_transition_pictures

    page, found = Page("x"), find(run, 0.9)
    assert isinstance(found, TransitionFindings)
    transitions.write_table(page, found, most=3)
    transitions.write_rows(page, found, most=4)
    write_transition_pictures(page, found, PictureSizes(states=2, described=1))
    html = page.to_html()
    assert "The last one is left out." in html
    assert "The 7 least probable are left out." in html
    assert "the first 2 of 4 states; × cannot occur." in html
    assert "3 more states follow" in html


@pytest.mark.compiled
def test_the_verdict_is_that_of_the_checks() -> None:
    model = luce.HDPTransitions(list("abcd"), luce.Gamma(2, 1), 3.0)
    long = model.fit([list(each) for each in SEQUENCES], 4000, seed=1, progress=False)
    assert judge(find(long, 0.9)).kind == "good"
    long.posterior["concentration"][0] += 10  # a chain that never met the others
    bad = judge(find(long, 0.9))
    assert bad.kind == "bad"
    (rhat,) = [check for check in bad.checks if check.what == "R-hat"]
    assert "the concentration" in str(rhat.found)


def test_a_saved_run_is_reported_by_the_command(run: xr.DataTree, tmp_path: Path) -> None:
    luce.save(run, tmp_path / "days.nc")
    verdict = judge(find(run, 0.9))
    code = main(["report", str(tmp_path / "days.nc")])
    assert code == (3 if verdict.kind == "bad" else 0)
    written = tmp_path / "days.html"
    assert "days: 4 states, 37 transitions" in text_of(written)
    lines = next(text for text in printouts(written) if text.startswith("import luce"))
    space: dict[str, Any] = {}
    exec(lines, space)
    np.testing.assert_array_equal(space["again"].posterior["rows"], run.posterior["rows"])


@pytest.mark.parametrize("name", ["run", "open_ended"])
def test_the_lines_give_the_same_draws(
    name: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    run = request.getfixturevalue(name)
    lines = python_lines(find(run, 0.9), None)
    assert lines is not None
    space: dict[str, Any] = {"run": run}
    exec("\n".join(line for line in lines if "luce.load" not in line), space)
    for variable in run.posterior.data_vars:
        np.testing.assert_array_equal(space["again"].posterior[variable], run.posterior[variable])
    assert "\n".join(lines) in printouts(luce.report(run, tmp_path / "a.html", pictures=False))
