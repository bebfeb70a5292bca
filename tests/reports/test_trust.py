"""The verdict on the draws: bounds, checks, and reasons."""

import warnings
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from lib.report_runs import checks_of, duels, sampled, text_of
from lib.toy_plans import check_draws

import luce
from luce.reports import trust
from luce.reports.findings import find

pytestmark = pytest.mark.filterwarnings("ignore::luce.ConvergenceWarning")


def made_up(p: np.ndarray, independent: int = 0) -> xr.DataTree:
    """Make a run of given draws of three categories."""
    run = sampled(luce.ConditionalCounts("abc").observe({"a": 2}), 4)
    dims = ("chain", "draw", "category")
    draws = xr.DataArray(p, {"category": list("abc")}, dims, "probabilities")
    groups = {name: run[name].to_dataset() for name in ("constant_data", "observed_data")}
    tree = xr.DataTree.from_dict(
        {"posterior": xr.Dataset({"probabilities": draws}), "sample_stats": xr.Dataset(), **groups}
    )
    tree.attrs.update(run.attrs, independent_draws=independent)
    return tree


WHITE = np.random.default_rng(1).dirichlet(np.ones(3), (4, 500))


def one_chain_apart(first: float) -> np.ndarray:
    """Chains that agree but for the first, of another concentration."""
    p = WHITE.copy()
    p[0] = np.random.default_rng(2).dirichlet([first, 1.0, 1.0], 500)
    return p


def test_verdicts_on_chains() -> None:
    white, shifted, apart = WHITE, one_chain_apart(1.4), one_chain_apart(9.0)
    assert trust.judge(find(made_up(white), 0.9)).kind == "good"
    worst = luce.summary(made_up(shifted))["r_hat"].max()
    assert 1.01 < worst < 1.05
    found = checks_of(made_up(shifted))
    assert found["R-hat"].kind == "mixed"
    assert found["R-hat"].found[0] == f"{worst:.3f} ("
    assert trust.judge(find(made_up(apart), 0.9)).kind == "bad"
    alone = checks_of(made_up(white[:1]))["Draws"]
    assert (alone.kind, alone.wanted) == ("mixed", "one chain has no other to agree with")
    short = checks_of(made_up(white[:, :3]))
    assert [short[w].kind for w in ("R-hat", "Effective sample size")] == ["bad", "bad"]
    assert short["R-hat"].found == "cannot be computed from 3 draws a chain"
    assert short["Monte Carlo error of the mean"].kind == "bad"
    assert short["Effective sample size"].found == "cannot be computed from 3 draws a chain"


def test_verdicts_on_independent_draws() -> None:
    white = np.random.default_rng(1).dirichlet(np.ones(3), (4, 120))
    found = checks_of(made_up(white, 1))
    assert {what: check.kind for what, check in found.items()} == {"Draws": "good"}
    few = trust.judge(find(made_up(white[:, :10], 1), 0.9))
    assert (few.kind, few.headline) == ("mixed", "Trust the draws with care")


def test_categories_that_never_moved_are_named() -> None:
    stuck = WHITE.copy()
    stuck[1, :, 2] = 0.25
    found = checks_of(made_up(stuck))
    assert found["Movement"].kind == "bad"
    assert found["Movement"].found[0].text == "c"
    assert found["R-hat"].found[0] == "inf ("
    assert "Movement" not in checks_of(made_up(WHITE))  # the control


@pytest.mark.parametrize("correlation", [0.0, 0.8, 0.85, 0.99])
def test_the_report_is_of_one_mind_with_the_warning(correlation: float) -> None:
    """On either side of the bound: bad on the page where sampling would warn, and nowhere else."""
    p = WHITE.copy()
    for t in range(1, 500):
        p[:, t] = correlation * p[:, t - 1] + (1 - correlation) * p[:, t]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        check_draws(p)
    warned = any(issubclass(w.category, luce.ConvergenceWarning) for w in caught)
    assert (trust.judge(find(made_up(p), 0.9)).kind == "bad") == warned
    assert warned == (correlation > 0.5)


def test_the_reason_of_a_verdict_is_given(tmp_path: Path) -> None:
    for k, (p, independent, words) in enumerate(
        [
            (WHITE, 0, "and they have."),
            (one_chain_apart(1.4), 0, "They nearly have; more draws would make sure."),
            (one_chain_apart(9.0), 0, "They have not: take more draws, or another method."),
            (WHITE[:, :10], 1, "which is large here: take more draws."),
        ]
    ):
        page = luce.report(made_up(p, independent), tmp_path / f"{k}.html", pictures=False)
        assert words in text_of(page)


def test_accepted_proposals_and_interruptions_are_told() -> None:
    run = sampled(duels(list("abcd")), 20, method="metropolis", warmup=5)
    least = run["sample_stats"]["accepted"].mean("draw").to_numpy().min()
    check = checks_of(run)["Accepted proposals of a chain"]
    assert check.found == f"{100 * least:.2g} %"
    assert check.kind == ("good" if least >= trust.LEAST_ACCEPTANCE else "bad")
    run.attrs["interrupted"] = 1
    words = checks_of(run)["Interrupted"].found
    assert words == "Ctrl-C ended the run after 20 draws of each chain"


@pytest.mark.compiled
def test_a_single_long_chain_is_not_enough() -> None:
    run = sampled(duels(list("abcd")), 2000, chains=1, method="waiting-times")
    assert trust.judge(find(run, 0.9)).kind == "mixed"  # one chain has nobody to agree with


@pytest.mark.compiled
@pytest.mark.slow
def test_a_concentration_that_did_not_meet_is_bad() -> None:
    run = sampled(duels(list("abcdef")), 2000, luce.Gamma(2, 1), chains=4)
    assert trust.judge(find(run, 0.9)).kind == "good"
    run.posterior["concentration"][0] += 10  # a chain that never met the others
    assert trust.judge(find(run, 0.9)).kind == "bad"
