"""The verdict on the draws: bounds, checks, and reasons."""

from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from lib.report_runs import checks_of, duels, sampled, text_of

import luce
from luce.reports import trust
from luce.reports.findings import find
from luce.sampling import convergence

pytestmark = pytest.mark.filterwarnings("ignore::luce.ConvergenceWarning")


def test_the_thresholds_are_those_of_the_warning() -> None:
    """A run that was not warned about cannot be called bad for another bound."""
    for name in ("ENOUGH_ESS", "LARGEST_RHAT", "LEAST_ACCEPTANCE"):
        assert getattr(trust, name) is getattr(convergence, name)


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
    alone = checks_of(made_up(white[:1]))["R-hat"]
    assert (alone.kind, alone.found) == ("mixed", "cannot be computed from 1 chain of 500 draws")
    short = checks_of(made_up(white[:, :3]))
    assert [short[w].kind for w in ("R-hat", "Effective sample size")] == ["bad", "bad"]
    assert short["R-hat"].found == "cannot be computed from 4 chains of 3 draws"
    assert short["Monte Carlo error of the mean"].kind == "bad"
    assert short["Effective sample size"].found == "cannot be computed from 3 draws a chain"


def test_verdicts_on_independent_draws() -> None:
    white = np.random.default_rng(1).dirichlet(np.ones(3), (4, 120))
    found = checks_of(made_up(white, 1))
    assert {found[w].kind for w in ("Draws", "Effective sample size")} == {"good"}
    assert found["R-hat"].kind == "neutral"
    few = trust.judge(find(made_up(white[:, :10], 1), 0.9))
    assert (few.kind, few.headline) == ("mixed", "Trust the draws with care")
    three = checks_of(made_up(white[:, :3], 1))
    assert three["R-hat"].found == "not computed"
    assert three["Effective sample size"].kind == "mixed"


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
